/* real: one rank's part of a program, on this host. Pointers are resolved once, at open; a step
 * walks the instructions, and lets the collectives in flight advance between them. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "collectives/exec/coll_run.h"
#include "kernels/base/assert.h"
#include "runtime/exec/exec.h"
#include "runtime/exec/finite.h"

enum { SLAB_ALIGN = 64, WHAT_BYTES = 96 };

/* Times for a core that is slowed down on purpose. */
static const pod_time PS_PER_NS = 1000, PS_PER_S = 1000000000000;
static const pod_time LEAST_DEBT = 200000000;  /* before it sleeps */
static const pod_time LONGEST_NAP = 100000000; /* while others need it to go on with a collective */

typedef struct feed_ref { /* a pointer that follows the host's data */
    const void **where;
    int32_t input;
    size_t offset, advance; /* bytes; the latter with each micro-step */
    const char *first;      /* where it points in the first one */
} feed_ref;

typedef struct bound { /* an instruction with its pointers */
    const void *attr;
    const void **in;
    void **out;
    void *scratch;
} bound;

typedef struct step_memory { /* of executors whose steps take turns */
    pod_arena *arena;
    char *slab;
    pod_window *window;
    int n_users;
} step_memory;

struct pod_exec {
    const pod_program *program;
    pod_store *store;
    pod_comm *comm;
    pod_clock clock;
    pod_arena *arena;
    step_memory *memory; /* shared */
    bound *bound;
    feed_ref *ref;
    int n_refs;
    pod_coll_run **coll;          /* by collective */
    pod_time *started;            /* by collective */
    int32_t *in_flight;           /* collectives, in the order of their starts */
    pod_coll_run **run_in_flight; /* theirs */
    int n_in_flight;
    double *output;
    float **rows;    /* by output; NULL: it is a scalar */
    double slowness; /* 1: as fast as it is */
    pod_time debt;   /* that a slow core would still have worked */
};

/* ---- opening ---- */

static pod_status find_variables(const pod_exec *e, int *store_index)
{
    const pod_program *p = e->program;
    for (int i = 0; i < p->n_variables; i++) {
        const pod_program_variable *v = &p->variable[i];
        store_index[i] = pod_store_find(e->store, v->name);
        if (store_index[i] < 0)
            return pod_fail(POD_E_MISMATCH, "store: has no variable '%s'", v->name);
        const int64_t need = pod_type_part(&v->type, pod_comm_rank(e->comm)).count;
        if (pod_store_count(e->store, store_index[i]) != need)
            return pod_fail(POD_E_MISMATCH, "store: '%s' has %" PRId64 " elements, need %" PRId64,
                            v->name, pod_store_count(e->store, store_index[i]), need);
    }
    return POD_OK;
}

static void *slot_memory(pod_exec *e, const int *store_index, int32_t index)
{
    const pod_slot *s = &e->program->slot[index];
    const size_t offset =
        s->offset + pod_program_part(e->program, index, pod_comm_rank(e->comm)).offset;
    switch (s->space) {
    case POD_SPACE_INPUT: return NULL; /* set by feed */
    case POD_SPACE_STORE: return (char *)pod_store_data(e->store, store_index[s->index]) + offset;
    case POD_SPACE_STEP: return e->memory->slab + offset;
    case POD_SPACE_WINDOW: return (char *)pod_window_data(e->memory->window) + offset;
    }
    return NULL;
}

static int count_feed_refs(const pod_program *p)
{
    int n = 0;
    for (int32_t i = 0; i < p->n_instrs; i++)
        for (int j = 0; j < p->instr[i].n_in; j++)
            n += p->slot[p->instr[i].in[j]].space == POD_SPACE_INPUT;
    return n;
}

/* Returns the elements of a fetched value's rows; 0 for a scalar. */
static int64_t n_in_rows(const pod_program *p, const pod_instr *fetch)
{
    const pod_slot *s = &p->slot[fetch->in[0]];
    return s->type.shape.n_dims == 2 ? (int64_t)(s->bytes / sizeof(float)) : 0;
}

static pod_status bind_instr(pod_exec *e, const int *store_index, int32_t i)
{
    const pod_instr *instr = &e->program->instr[i];
    bound *b = &e->bound[i];
    b->in = POD_ARENA_NEW(e->arena, const void *, instr->n_in);
    b->out = POD_ARENA_NEW(e->arena, void *, instr->n_out);
    b->attr = pod_program_attr(e->program, i, pod_comm_rank(e->comm), e->arena);
    if (!b->in || !b->out || (instr->attr && !b->attr)) return POD_E_NOMEM;
    for (int j = 0; j < instr->n_in; j++) {
        const pod_slot *s = &e->program->slot[instr->in[j]];
        b->in[j] = slot_memory(e, store_index, instr->in[j]);
        if (s->space == POD_SPACE_INPUT)
            e->ref[e->n_refs++] = (feed_ref){
                .where = &b->in[j], .input = s->index, .offset = s->offset, .advance = s->advance};
    }
    for (int k = 0; k < instr->n_out; k++) b->out[k] = slot_memory(e, store_index, instr->out[k]);
    if (instr->kind == POD_I_FETCH && n_in_rows(e->program, instr) > 0) {
        e->rows[instr->ticket] = POD_ARENA_NEW(e->arena, float, n_in_rows(e->program, instr));
        if (!e->rows[instr->ticket]) return POD_E_NOMEM;
    }
    if (instr->scratch >= 0) b->scratch = slot_memory(e, store_index, instr->scratch);
    return POD_OK;
}

static pod_status take_tables(pod_exec *e)
{
    const pod_program *p = e->program;
    e->bound = POD_ARENA_NEW(e->arena, bound, p->n_instrs);
    e->ref = POD_ARENA_NEW(e->arena, feed_ref, count_feed_refs(p));
    e->coll = POD_ARENA_NEW(e->arena, pod_coll_run *, p->n_colls);
    e->started = POD_ARENA_NEW(e->arena, pod_time, p->n_colls);
    e->in_flight = POD_ARENA_NEW(e->arena, int32_t, p->n_colls);
    e->run_in_flight = POD_ARENA_NEW(e->arena, pod_coll_run *, p->n_colls);
    e->output = POD_ARENA_NEW(e->arena, double, p->n_outputs);
    e->rows = POD_ARENA_NEW(e->arena, float *, p->n_outputs);
    bool ok = e->bound && e->ref && e->coll && e->started && e->in_flight && e->run_in_flight &&
              e->output && e->rows;
    return ok ? POD_OK : POD_E_NOMEM;
}

/* The steps that a rank does alone; ranks agree on the result before they open collectives
 * together. */
static pod_status bind_own(pod_exec *e, const pod_sched **sched)
{
    const pod_program *p = e->program;
    int *store_index = POD_ARENA_NEW(e->arena, int, p->n_variables);
    if (!sched || !store_index) return POD_E_NOMEM;
    POD_TRY(find_variables(e, store_index));
    for (int32_t i = 0; i < p->n_instrs; i++) POD_TRY(bind_instr(e, store_index, i));
    for (int32_t i = 0; i < p->n_colls; i++)
        POD_TRY(pod_coll_build(e->arena, p->coll[i].algo, &p->mesh, pod_comm_rank(e->comm),
                               &p->coll[i].args, &sched[i]));
    return POD_OK;
}

static const char *label_of(const pod_program *p, int32_t coll)
{
    int32_t i = 0;
    while (p->instr[i].kind != POD_I_COLL_START || p->instr[i].ticket != coll) i++;
    return p->instr[i].label;
}

static pod_status bind_all(pod_exec *e)
{
    POD_TRY(pod_comm_same(e->comm, "the program", &e->program->fingerprint,
                          sizeof e->program->fingerprint));
    const int32_t n_colls = e->program->n_colls;
    const pod_sched **sched = POD_ARENA_NEW(e->arena, const pod_sched *, n_colls);
    POD_TRY(pod_comm_agree(e->comm, take_tables(e)));
    POD_TRY(pod_comm_agree(e->comm, bind_own(e, sched)));
    for (int32_t i = 0; i < n_colls; i++) {
        const pod_program_coll *coll = &e->program->coll[i];
        const pod_slot *buffer = &e->program->slot[coll->slot];
        char what[WHAT_BYTES];
        snprintf(what, sizeof what, "%s %s of %zu bytes, %s", pod_coll_name(coll->args.coll),
                 coll->algo->name, buffer->bytes, label_of(e->program, i));
        POD_TRY(pod_coll_run_create_shm(e->comm, sched[i], coll->args.dtype, e->memory->window,
                                        (char *)pod_window_data(e->memory->window) + buffer->offset,
                                        what, &e->coll[i]));
    }
    return POD_OK;
}

/* The slab is touched here, so that the first step does not pay for its pages. */
static pod_status take_slab(size_t bytes, step_memory **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    step_memory *m = POD_ARENA_NEW(arena, step_memory, 1);
    if (m) *m = (step_memory){.arena = arena, .slab = pod_arena_get(arena, SLAB_ALIGN, bytes)};
    if (m && m->slab) {
        *out = m;
        return POD_OK;
    }
    pod_arena_destroy(arena);
    return pod_fail(POD_E_NOMEM,
                    "no memory for the %.1f MiB that a step of this network wants of a core: a "
                    "smaller batch, --accumulate or --recompute want less, and `explain memory` "
                    "tells how much",
                    (double)bytes / (1 << 20));
}

static void release_memory(step_memory *m)
{
    if (!m || --m->n_users > 0) return;
    pod_window_destroy(m->window);
    pod_arena_destroy(m->arena);
}

static pod_status take_memory(const pod_program *const p[], int n, pod_comm *comm,
                              step_memory **out)
{
    size_t step_bytes = 0, window_bytes = 0;
    for (int i = 0; i < n; i++) {
        if (p[i]->step_bytes > step_bytes) step_bytes = p[i]->step_bytes;
        if (p[i]->window_bytes > window_bytes) window_bytes = p[i]->window_bytes;
    }
    step_memory *m = NULL;
    pod_status status = pod_comm_agree(comm, take_slab(step_bytes, &m));
    if (m) m->n_users = 1;
    if (status == POD_OK) status = pod_window_create(comm, window_bytes, &m->window);
    if (status == POD_OK)
        *out = m;
    else
        release_memory(m);
    return status;
}

static pod_status create(const pod_program *p, pod_store *store, pod_comm *comm, pod_clock clock,
                         step_memory *memory, pod_exec **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_exec *e = POD_ARENA_NEW(arena, pod_exec, 1);
    if (!e) {
        pod_arena_destroy(arena);
        return POD_E_NOMEM;
    }
    *e = (pod_exec){.program = p,
                    .store = store,
                    .comm = comm,
                    .clock = clock,
                    .arena = arena,
                    .memory = memory,
                    .slowness = 1};
    memory->n_users++;
    *out = e;
    return POD_OK;
}

static pod_status open_one(const pod_program *p, pod_store *store, pod_comm *comm, pod_clock clock,
                           step_memory *memory, pod_exec **out)
{
    POD_ASSERT(pod_mesh_size(&p->mesh) == pod_comm_size(comm), "a mesh of %d cores on %d ranks",
               pod_mesh_size(&p->mesh), pod_comm_size(comm));
    pod_exec *e = NULL;
    pod_status status = pod_comm_agree(comm, create(p, store, comm, clock, memory, &e));
    if (e && status == POD_OK) status = bind_all(e);
    if (status == POD_OK)
        *out = e;
    else
        pod_exec_close(e);
    return status;
}

pod_status pod_exec_open_all(const pod_program *const p[], int n, pod_store *store, pod_comm *comm,
                             pod_clock clock, pod_exec *out[])
{
    step_memory *memory;
    POD_TRY(take_memory(p, n, comm, &memory));
    int n_open = 0;
    pod_status status = POD_OK;
    while (n_open < n && status == POD_OK) {
        status = open_one(p[n_open], store, comm, clock, memory, &out[n_open]);
        n_open += status == POD_OK;
    }
    while (status != POD_OK && n_open > 0) pod_exec_close(out[--n_open]);
    release_memory(memory); /* each of them has it */
    return status;
}

pod_status pod_exec_open(const pod_program *p, pod_store *store, pod_comm *comm, pod_clock clock,
                         pod_exec **out)
{
    return pod_exec_open_all(&p, 1, store, comm, clock, out);
}

void pod_exec_close(pod_exec *e)
{
    if (!e) return;
    for (int32_t i = 0; e->coll && i < e->program->n_colls; i++) pod_coll_run_destroy(e->coll[i]);
    release_memory(e->memory);
    pod_arena_destroy(e->arena);
}

/* ---- running ---- */

void pod_exec_feed(pod_exec *e, int input, const void *data)
{
    for (int i = 0; i < e->n_refs; i++) {
        feed_ref *r = &e->ref[i];
        if (r->input == input) *r->where = r->first = (const char *)data + r->offset;
    }
}

/* At the beginning of a micro-step, inputs advance to its samples. */
static void move_feeds(pod_exec *e, pod_turn turn)
{
    if (e->program->repeat.count == 1 || turn.instr != e->program->repeat.first) return;
    for (int i = 0; i < e->n_refs; i++) {
        const feed_ref *r = &e->ref[i];
        if (r->advance > 0) *r->where = r->first + (size_t)turn.micro_step * r->advance;
    }
}

double pod_exec_output(const pod_exec *e, int output)
{
    POD_ASSERT(output >= 0 && output < e->program->n_outputs, "output %d of %d", output,
               (int)e->program->n_outputs);
    return e->output[output];
}

const float *pod_exec_rows(const pod_exec *e, int output)
{
    POD_ASSERT(output >= 0 && output < e->program->n_outputs && e->rows[output],
               "output %d of %d has no rows", output, (int)e->program->n_outputs);
    return e->rows[output];
}

static void poll_in_flight(pod_exec *e)
{
    for (int i = 0; i < e->n_in_flight; i++) (void)pod_coll_run_poll(e->run_in_flight[i]);
}

void pod_exec_set_slowness(pod_exec *e, double factor)
{
    POD_ASSERT(factor >= 1, "a core that is %g times as slow", factor);
    e->slowness = factor;
    if (factor <= 1) e->debt = 0;
}

/* A sleep lasts longer than it is told to: small debts wait for others, and what was slept too much
 * is a debt below zero. */
static void fall_behind(pod_exec *e, pod_time worked)
{
    e->debt += (pod_time)((double)worked * (e->slowness - 1));
    if (e->debt < LEAST_DEBT) return;
    const pod_time begin = pod_clock_now(&e->clock);
    pod_time slept = 0;
    for (; slept < e->debt; slept = pod_clock_now(&e->clock) - begin) {
        const pod_time left = e->debt - slept;
        const pod_time nap = e->n_in_flight > 0 && left > LONGEST_NAP ? LONGEST_NAP : left;
        const struct timespec t = {.tv_sec = (time_t)(nap / PS_PER_S),
                                   .tv_nsec = (long)(nap % PS_PER_S / PS_PER_NS)};
        nanosleep(&t, NULL);
        poll_in_flight(e);
    }
    e->debt -= slept;
}

static void compute(pod_exec *e, const pod_instr *instr, const bound *b)
{
    if (e->slowness <= 1) {
        instr->run(b->attr, b->in, b->out, b->scratch);
        return;
    }
    const pod_time begin = pod_clock_now(&e->clock);
    instr->run(b->attr, b->in, b->out, b->scratch);
    fall_behind(e, pod_clock_now(&e->clock) - begin);
}

static void start_collective(pod_exec *e, int32_t c)
{
    e->started[c] = pod_clock_now(&e->clock);
    e->run_in_flight[e->n_in_flight] = e->coll[c];
    e->in_flight[e->n_in_flight++] = c;
    pod_coll_run_start(e->coll[c]);
}

/* While one is waited for, the others advance too. */
static void wait_collective(pod_exec *e, int32_t c)
{
    int kept = 0;
    for (int i = 0; i < e->n_in_flight; i++) {
        if (e->in_flight[i] == c) continue;
        e->run_in_flight[kept] = e->run_in_flight[i];
        e->in_flight[kept++] = e->in_flight[i];
    }
    e->n_in_flight = kept;
    pod_coll_run_wait_among(e->coll[c], e->run_in_flight, kept);
}

static void fetch(pod_exec *e, const pod_instr *instr, const void *from)
{
    float *rows = e->rows[instr->ticket], value;
    if (rows) {
        memcpy(rows, from, (size_t)n_in_rows(e->program, instr) * sizeof *rows);
        return;
    }
    memcpy(&value, from, sizeof value);
    e->output[instr->ticket] = (double)value;
}

static void run_instr(pod_exec *e, int32_t i)
{
    const pod_instr *instr = &e->program->instr[i];
    const bound *b = &e->bound[i];
    switch (instr->kind) {
    case POD_I_RUN: compute(e, instr, b); break;
    case POD_I_COLL_START: start_collective(e, instr->ticket); break;
    case POD_I_COLL_WAIT: wait_collective(e, instr->ticket); break;
    case POD_I_FETCH: fetch(e, instr, b->in[0]); break;
    }
    if (instr->kind == POD_I_RUN) poll_in_flight(e);
}

static void record(pod_exec *e, pod_timeline *tl, int32_t i, pod_time begin, pod_time end)
{
    const pod_instr *instr = &e->program->instr[i];
    pod_timeline_add(tl, POD_LANE_COMPUTE, instr->phase, i, begin, end);
    if (instr->kind == POD_I_COLL_WAIT)
        pod_timeline_add(tl, POD_LANE_COMM, POD_PHASE_REDUCE, i, e->started[instr->ticket], end);
}

static bool loss_is_lost(const pod_exec *e, int32_t i)
{
    const pod_instr *instr = &e->program->instr[i];
    return instr->kind == POD_I_FETCH && instr->ticket == 0 && !isfinite(e->output[0]);
}

/* All ranks have the same loss and the same program, so all have started the same collectives. */
static void drain(pod_exec *e)
{
    while (e->n_in_flight > 0) wait_collective(e, e->in_flight[0]);
}

pod_status pod_exec_step(pod_exec *e, pod_timeline *tl)
{
    pod_time begin = tl ? pod_clock_now(&e->clock) : 0;
    const int64_t n_turns = pod_program_n_turns(e->program);
    for (int64_t n = 0; n < n_turns; n++) {
        const pod_turn turn = pod_program_turn(e->program, n);
        const int32_t i = turn.instr;
        move_feeds(e, turn);
        run_instr(e, i);
        if (tl) {
            pod_time end = pod_clock_now(&e->clock);
            record(e, tl, i, begin, end);
            begin = end;
        }
        if (loss_is_lost(e, i)) {
            drain(e);
            return pod_fail(POD_E_NUMERIC, "%s is %g", e->program->output[0], e->output[0]);
        }
    }
    return POD_OK;
}

/* ---- looking for the fault ---- */

/* The first variable of the store that is not finite, pod_store_n if all are. */
static int32_t first_bad_variable(const pod_exec *e)
{
    int32_t i = 0;
    while (i < pod_store_n(e->store) &&
           pod__all_finite(POD_F32, pod_store_data(e->store, i), pod_store_count(e->store, i)))
        i++;
    return i;
}

static bool writes_bad_value(const pod_exec *e, int32_t i)
{
    const pod_instr *instr = &e->program->instr[i];
    for (int k = 0; instr->kind == POD_I_RUN && k < instr->n_out; k++) {
        const pod_slot *s = &e->program->slot[instr->out[k]];
        int64_t count = pod_program_part(e->program, instr->out[k], pod_comm_rank(e->comm)).count;
        if (!pod__all_finite(s->type.dtype, e->bound[i].out[k], count)) return true;
    }
    return false;
}

/* The first turn in which this rank writes what is not finite; n_turns if there is none. */
static int64_t first_bad_turn(pod_exec *e)
{
    const int64_t n_turns = pod_program_n_turns(e->program);
    int64_t found = n_turns;
    for (int64_t n = 0; n < n_turns; n++) {
        const pod_turn turn = pod_program_turn(e->program, n);
        move_feeds(e, turn);
        run_instr(e, turn.instr);
        if (found == n_turns && writes_bad_value(e, turn.instr)) found = n;
        if (loss_is_lost(e, turn.instr)) break;
    }
    drain(e);
    return found;
}

/* The least (index, rank) over all ranks, as one number that a double holds exactly. */
static void agree_first(pod_exec *e, int64_t mine, int64_t *index, int *rank)
{
    const int64_t size = pod_comm_size(e->comm);
    double key = -(double)(mine * size + pod_comm_rank(e->comm));
    pod_comm_max(e->comm, &key, 1);
    *index = (int64_t)-key / size;
    *rank = (int)((int64_t)-key % size);
}

pod_status pod_exec_find_fault(pod_exec *e, int64_t step)
{
    int64_t first;
    int rank;
    agree_first(e, first_bad_variable(e), &first, &rank);
    if (first < pod_store_n(e->store))
        return pod_fail(POD_E_NUMERIC,
                        "step %" PRId64 ": '%s' was not finite before the step began", step,
                        pod_store_variable(e->store, (int)first)->name);
    agree_first(e, first_bad_turn(e), &first, &rank);
    if (first == pod_program_n_turns(e->program))
        return pod_fail(POD_E_NUMERIC, "step %" PRId64 ": the sum of the loss over cores overflows",
                        step);
    const pod_turn turn = pod_program_turn(e->program, first);
    const pod_instr *instr = &e->program->instr[turn.instr];
    return pod_fail(POD_E_NUMERIC,
                    "step %" PRId64 ": the first output that is not finite is that of %s '%s' "
                    "(instruction %d, %s, kernel %s) on rank %d",
                    step, instr->op, instr->label, (int)turn.instr, pod_phase_name(instr->phase),
                    instr->impl, rank);
}
