#include "runtime/exec/cost_join.h"

#include <string.h>

#include "kernels/base/assert.h"

enum { NONE = -1 };

typedef struct value {           /* by slot; of a view nothing: it is what it shows */
    int32_t maker;               /* instruction, or NONE: it is there from the start */
    int32_t wait;                /* for the collective that works on it where it lies, or NONE */
    int32_t first_user, n_users; /* in join.user */
} value;

typedef struct work { /* by instruction that runs */
    pod_sweep sweep;
    bool is_made_again; /* by its readers: nothing of it is stored */
    pod_list roots;     /* slots that it reads from memory, also for what it makes again */
    pod_list all;       /* itself, and what it makes again */
    int32_t group;      /* its lead, or NONE */
    int32_t next;       /* member of that group, in order */
} work;

typedef struct join {
    const pod_program *p;
    const double *bytes;
    pod_arena *arena;
    value *value;
    work *work;
    int32_t *user; /* instructions that read a value, by value */
    int32_t *last; /* by lead: the last member */
    int32_t *mark; /* by slot or instruction: of what it was last seen */
    int32_t stamp;
    int32_t *list; /* being made, of which n are filled */
    int32_t n, cap;
} join;

static int32_t shown(const pod_program *p, int32_t slot)
{
    while (p->slot[slot].shows != slot) slot = p->slot[slot].shows;
    return slot;
}

static bool is_product(const pod_instr *i) { return i->cost.matrix_flops > 0; }

/* ---- who makes and reads what ---------------------------------------------------------------- */

/* A variable that is assigned at the end is not made by that: it was read before. */
static void note_makers(join *j)
{
    bool *was_read = (bool *)j->list; /* by slot */
    for (int32_t s = 0; s < j->p->n_slots; s++) {
        j->value[s].maker = j->value[s].wait = NONE;
        was_read[s] = false;
    }
    for (int32_t i = 0; i < j->p->n_instrs; i++) {
        const pod_instr *in = &j->p->instr[i];
        const pod_op *op = pod_op_find(in->op);
        j->work[i].sweep = op ? op->sweep : POD_SWEEP_OWN;
        for (int k = 0; k < in->n_in; k++) was_read[shown(j->p, in->in[k])] = true;
        for (int k = 0; k < in->n_out && in->kind == POD_I_RUN; k++) {
            const int32_t slot = shown(j->p, in->out[k]);
            if (!was_read[slot]) j->value[slot].maker = i;
        }
    }
}

static void note_waits(join *j)
{
    int32_t *wait = j->mark; /* by slot that a collective works on */
    for (int32_t s = 0; s < j->p->n_slots; s++) wait[s] = NONE;
    for (int32_t i = 0; i < j->p->n_instrs; i++)
        if (j->p->instr[i].kind == POD_I_COLL_WAIT) wait[j->p->instr[i].out[0]] = i;
    for (int32_t s = 0; s < j->p->n_slots; s++) {
        value *v = &j->value[s];
        if (wait[j->p->slot[s].root] > v->maker) v->wait = wait[j->p->slot[s].root];
    }
}

static pod_status note_users(join *j)
{
    int64_t n = 0;
    for (int32_t i = 0; i < j->p->n_instrs; i++)
        for (int k = 0; k < j->p->instr[i].n_in; k++, n++)
            j->value[shown(j->p, j->p->instr[i].in[k])].n_users++;
    j->user = POD_ARENA_NEW(j->arena, int32_t, n);
    if (!j->user) return POD_E_NOMEM;
    int32_t first = 0;
    for (int32_t s = 0; s < j->p->n_slots; s++) {
        j->value[s].first_user = first;
        first += j->value[s].n_users;
        j->value[s].n_users = 0;
    }
    for (int32_t i = 0; i < j->p->n_instrs; i++)
        for (int k = 0; k < j->p->instr[i].n_in; k++) {
            value *v = &j->value[shown(j->p, j->p->instr[i].in[k])];
            j->user[v->first_user + v->n_users++] = i;
        }
    return POD_OK;
}

/* ---- lists without repetition ---------------------------------------------------------------- */

static void begin_list(join *j)
{
    j->n = 0;
    j->stamp++;
}

static void add(join *j, int32_t x)
{
    if (j->mark[x] == j->stamp) return;
    POD_ASSERT(j->n < j->cap, "a list of more than %d", (int)j->cap);
    j->mark[x] = j->stamp;
    j->list[j->n++] = x;
}

static pod_status end_list(const join *j, pod_list *out)
{
    const size_t bytes = sizeof *j->list * (size_t)j->n;
    const int32_t *at = pod_arena_copy(j->arena, j->list, _Alignof(int32_t), bytes);
    if (!at && j->n > 0) return POD_E_NOMEM;
    *out = (pod_list){at, j->n};
    return POD_OK;
}

static const work *made_again(const join *j, int32_t slot)
{
    const int32_t maker = j->value[slot].maker;
    return maker >= 0 && j->work[maker].is_made_again ? &j->work[maker] : NULL;
}

static pod_status find_roots(join *j, int32_t i)
{
    const pod_instr *in = &j->p->instr[i];
    begin_list(j);
    for (int k = 0; k < in->n_in; k++) {
        const int32_t slot = shown(j->p, in->in[k]);
        const work *again = made_again(j, slot);
        if (!again) add(j, slot);
        for (int32_t r = 0; again && r < again->roots.n; r++) add(j, again->roots.at[r]);
    }
    POD_TRY(end_list(j, &j->work[i].roots));
    begin_list(j);
    add(j, i);
    for (int k = 0; k < in->n_in; k++) {
        const work *again = made_again(j, shown(j->p, in->in[k]));
        for (int32_t r = 0; again && r < again->all.n; r++) add(j, again->all.at[r]);
    }
    POD_TRY(end_list(j, &j->work[i].all));
    return POD_OK;
}

/* ---- what is made again by its readers ------------------------------------------------------- */

static bool reads(const join *j, int32_t instr, int32_t slot)
{
    const pod_instr *in = &j->p->instr[instr];
    for (int k = 0; k < in->n_in; k++)
        if (shown(j->p, in->in[k]) == slot) return true;
    return false;
}

/* The update may recompute its inputs element by element; nothing else of it is joined. */
static bool may_make_again(const join *j, int32_t maker, int32_t reader)
{
    const pod_instr *in = &j->p->instr[reader];
    const bool is_update = in->phase == POD_PHASE_UPDATE;
    if (in->kind != POD_I_RUN || is_update != (j->p->instr[maker].phase == POD_PHASE_UPDATE))
        return false;
    const pod_op *op = pod_op_find(in->op);
    if (is_update) return op && op->by_element;
    return is_product(in) || j->work[reader].sweep != POD_SWEEP_OWN;
}

/* Bytes that move if `made`, which instruction i makes, is stored: its roots once, itself written
 * once and read by all; and if it is not: its roots by every reader that does not read them
 * anyway. */
static bool moves_less(const join *j, int32_t i, int32_t made)
{
    const pod_list *roots = &j->work[i].roots;
    const value *v = &j->value[made];
    double stored = j->bytes[made] * (1 + v->n_users), not_stored = 0;
    for (int32_t r = 0; r < roots->n; r++) {
        stored += j->bytes[roots->at[r]];
        for (int32_t u = 0; u < v->n_users; u++)
            if (!reads(j, j->user[v->first_user + u], roots->at[r]))
                not_stored += j->bytes[roots->at[r]];
    }
    return not_stored <= stored;
}

static bool is_made_again(const join *j, int32_t i)
{
    const pod_instr *in = &j->p->instr[i];
    if (j->work[i].sweep != POD_SWEEP_EACH || in->n_out != 1) return false;
    const int32_t made = shown(j->p, in->out[0]);
    const value *v = &j->value[made];
    if (v->n_users == 0 || v->wait != NONE || j->p->slot[made].space == POD_SPACE_STORE)
        return false;
    for (int32_t u = 0; u < v->n_users; u++)
        if (!may_make_again(j, i, j->user[v->first_user + u])) return false;
    return moves_less(j, i, made);
}

/* ---- what runs with what it reads ------------------------------------------------------------ */

/* Instruction i reads what the collective has left of the value. */
static bool reads_result(const value *v, int32_t i) { return v->wait != NONE && i > v->wait; }

/* A sum over what its maker goes over, which nobody has before all of that was read. */
static bool is_sum(const join *j, int32_t slot)
{
    const int32_t maker = j->value[slot].maker;
    if (maker == NONE || j->work[maker].sweep != POD_SWEEP_SUMS) return false;
    const pod_instr *in = &j->p->instr[maker];
    double largest = 0;
    for (int k = 0; k < in->n_in; k++)
        if (j->bytes[shown(j->p, in->in[k])] > largest) largest = j->bytes[shown(j->p, in->in[k])];
    return j->bytes[slot] < largest / 2;
}

/* Group `lead` makes what i reads of the slot, or can have read it. */
static bool is_there_for(const join *j, int32_t slot, int32_t i, int32_t lead)
{
    const value *v = &j->value[slot];
    if (reads_result(v, i)) return v->wait < lead;
    if (v->maker == NONE || j->work[v->maker].group < lead) return true;
    return j->work[v->maker].group == lead && !is_sum(j, slot);
}

/* The group whose largest value the sweep goes over, if it may run along; else NONE. */
static int32_t host_of(const join *j, int32_t i)
{
    const pod_instr *in = &j->p->instr[i];
    const pod_list *roots = &j->work[i].roots;
    if (j->work[i].sweep == POD_SWEEP_OWN || in->phase == POD_PHASE_UPDATE) return NONE;
    int32_t largest = NONE;
    for (int32_t r = 0; r < roots->n; r++) {
        const value *v = &j->value[roots->at[r]];
        if (v->maker == NONE || reads_result(v, i)) continue;
        const int32_t lead = j->work[v->maker].group;
        bool fits = is_product(&j->p->instr[lead]) || j->work[lead].sweep != POD_SWEEP_OWN;
        for (int32_t q = 0; q < roots->n && fits; q++)
            fits = is_there_for(j, roots->at[q], i, lead);
        if (fits && (largest == NONE || j->bytes[roots->at[r]] > j->bytes[largest]))
            largest = roots->at[r];
    }
    return largest == NONE ? NONE : j->work[j->value[largest].maker].group;
}

static void group(join *j, int32_t i)
{
    const int32_t host = host_of(j, i);
    j->work[i].group = host == NONE ? i : host;
    j->work[i].next = NONE;
    if (host != NONE) j->work[j->last[host]].next = i;
    j->last[j->work[i].group] = i;
}

/* ---- what a group reads and writes ----------------------------------------------------------- */

/* All that read the value, or what is made again from it, are of the group. */
static bool stays_within(const join *j, int32_t slot, int32_t lead)
{
    const value *v = &j->value[slot];
    const bool is_kept = j->p->slot[slot].space == POD_SPACE_STORE;
    if (is_kept || v->wait != NONE || v->n_users == 0) return false;
    for (int32_t u = 0; u < v->n_users; u++) {
        const int32_t user = j->user[v->first_user + u];
        const pod_instr *in = &j->p->instr[user];
        if (in->kind != POD_I_RUN) return false;
        const bool again = j->work[user].is_made_again;
        if (again ? !stays_within(j, shown(j->p, in->out[0]), lead) : j->work[user].group != lead)
            return false;
    }
    return true;
}

static pod_status describe(join *j, int32_t lead, pod_joined *out)
{
    out->lead = lead;
    int32_t n_work = 0;
    for (int32_t i = lead; i != NONE; i = j->work[i].next) n_work += j->work[i].all.n;
    int32_t *all = POD_ARENA_NEW(j->arena, int32_t, n_work);
    if (!all) return POD_E_NOMEM;
    out->work = (pod_list){all, n_work};
    for (int32_t i = lead; i != NONE; i = j->work[i].next)
        for (int32_t k = 0; k < j->work[i].all.n; k++) *all++ = j->work[i].all.at[k];
    begin_list(j);
    for (int32_t i = lead; i != NONE; i = j->work[i].next)
        for (int32_t r = 0; r < j->work[i].roots.n; r++) {
            const value *v = &j->value[j->work[i].roots.at[r]];
            if (v->maker == NONE || reads_result(v, i) || j->work[v->maker].group != lead)
                add(j, j->work[i].roots.at[r]);
        }
    POD_TRY(end_list(j, &out->reads));
    begin_list(j);
    for (int32_t i = lead; i != NONE; i = j->work[i].next)
        for (int k = 0; k < j->p->instr[i].n_out; k++) {
            const int32_t slot = shown(j->p, j->p->instr[i].out[k]);
            if (!stays_within(j, slot, lead)) add(j, slot);
        }
    POD_TRY(end_list(j, &out->writes));
    return POD_OK;
}

/* ---- all together ---------------------------------------------------------------------------- */

static pod_status take_memory(join *j)
{
    const int32_t n_slots = j->p->n_slots, n_instrs = j->p->n_instrs;
    j->cap = n_slots > n_instrs ? n_slots : n_instrs;
    j->value = POD_ARENA_NEW(j->arena, value, n_slots);
    j->work = POD_ARENA_NEW(j->arena, work, n_instrs);
    j->last = POD_ARENA_NEW(j->arena, int32_t, n_instrs);
    j->mark = POD_ARENA_NEW(j->arena, int32_t, j->cap);
    j->list = POD_ARENA_NEW(j->arena, int32_t, j->cap);
    return j->value && j->work && j->last && j->mark && j->list ? POD_OK : POD_E_NOMEM;
}

pod_status pod_join(const pod_program *p, const double bytes[], pod_arena *arena,
                    const pod_joined **out, int32_t *n)
{
    join j = {.p = p, .bytes = bytes, .arena = arena};
    POD_TRY(take_memory(&j));
    note_makers(&j);
    note_waits(&j);
    POD_TRY(note_users(&j));
    memset(j.mark, 0, sizeof *j.mark * (size_t)j.cap);
    int32_t n_groups = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        if (p->instr[i].kind != POD_I_RUN) continue;
        POD_TRY(find_roots(&j, i));
        j.work[i].is_made_again = is_made_again(&j, i);
        if (j.work[i].is_made_again) continue;
        group(&j, i);
        n_groups += j.work[i].group == i;
    }
    pod_joined *joined = POD_ARENA_NEW(arena, pod_joined, n_groups);
    if (!joined) return POD_E_NOMEM;
    n_groups = 0;
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (p->instr[i].kind == POD_I_RUN && !j.work[i].is_made_again && j.work[i].group == i)
            POD_TRY(describe(&j, i, &joined[n_groups++]));
    *out = joined;
    *n = n_groups;
    return POD_OK;
}
