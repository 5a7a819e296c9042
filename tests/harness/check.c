#include "tests/harness/check.h"

#include <string.h>

#include "collectives/exec/exec_local.h"
#include "kernels/base/hash.h"
#include "runtime/exec/finite.h"

enum { NAN_BYTE = 0xff, CANARY = 0xa5, SLAB_ALIGN = 64 };

typedef struct core { /* one rank's memory and what is known of it */
    char *step_slab, *window;
    pod_store *store;
    const int *store_index;
    const void *const *feed; /* by input, n_ranks apart */
    uint64_t *hash;          /* by slot, views left out: of what was written; 0: nothing readable */
    void **aside;            /* by collective: the buffer while it is in flight */
    const void **attr;       /* by instruction */
} core;

typedef struct check {
    const pod_program *p;
    pod_arena *arena;
    int n_ranks;
    int32_t micro_step;
    core *core;
    bool *is_written;               /* by slot: some instruction writes it */
    bool *in_flight;                /* by collective */
    const pod_sched *const **sched; /* by collective: of all ranks */
} check;

/* Eight bytes at a time: every slot is hashed at every read. */
static uint64_t hash_of(const void *data, size_t bytes)
{
    uint64_t h = POD_HASH_START, word;
    const char *p = data;
    for (; bytes >= sizeof word; p += sizeof word, bytes -= sizeof word) {
        memcpy(&word, p, sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return pod_hash_bytes(h, p, bytes) | 1; /* never 0 */
}

static char *base_of(const check *c, int rank, int32_t slot)
{
    const pod_slot *s = &c->p->slot[slot];
    const core *k = &c->core[rank];
    switch (s->space) {
    case POD_SPACE_INPUT: {
        /* Inputs are only read. */
        union {
            const void *from;
            char *to;
        } feed = {.from = k->feed[(size_t)s->index * (size_t)c->n_ranks]};
        return feed.to + s->offset + (size_t)c->micro_step * s->advance;
    }
    case POD_SPACE_STORE:
        return (char *)pod_store_data(k->store, k->store_index[s->index]) + s->offset;
    case POD_SPACE_STEP: return k->step_slab + s->offset;
    case POD_SPACE_WINDOW: return k->window + s->offset;
    }
    return NULL;
}

/* What the rank holds of the slot's value. */
static char *memory_of(const check *c, int rank, int32_t slot)
{
    return base_of(c, rank, slot) + pod_program_part(c->p, slot, rank).offset;
}

static size_t bytes_of(const check *c, int rank, int32_t slot)
{
    return (size_t)pod_program_part(c->p, slot, rank).count *
           pod_dtype_bytes(c->p->slot[slot].type.dtype);
}

static pod_status fault(const check *c, pod_status status, int rank, int32_t i, const char *what)
{
    const pod_instr *instr = &c->p->instr[i];
    return pod_fail(status, "instruction %d, %s '%s' (kernel %s), rank %d: %s", (int)i, instr->op,
                    instr->label, instr->impl, rank, what);
}

/* What a slot holds is known from here on. A view has no entry of its own: it shows what the slot
 * it was made from holds, and is stale once something else was written there. */
static void note_written(const check *c, int rank, int32_t slot)
{
    c->core[rank].hash[slot] = hash_of(memory_of(c, rank, slot), bytes_of(c, rank, slot));
}

/* NULL: the slot holds what was written to it last. */
static const char *what_is_wrong(const check *c, int rank, int32_t slot)
{
    const int32_t shown = c->p->slot[slot].shows;
    const uint64_t known = c->core[rank].hash[shown];
    if (known == 0) return "reads what was never written";
    if (known != hash_of(memory_of(c, rank, shown), bytes_of(c, rank, shown)))
        return "reads what something else has overwritten";
    return NULL;
}

static pod_status verify_reads(const check *c, int rank, int32_t i)
{
    const pod_instr *instr = &c->p->instr[i];
    for (int j = 0; j < instr->n_in; j++) {
        const char *wrong = what_is_wrong(c, rank, instr->in[j]);
        if (wrong) return fault(c, POD_E_MISMATCH, rank, i, wrong);
    }
    return POD_OK;
}

static bool is_also_read(const check *c, int rank, const pod_instr *instr, const char *memory)
{
    for (int j = 0; j < instr->n_in; j++)
        if (memory_of(c, rank, instr->in[j]) == memory) return true;
    return false;
}

static char *guard_of(const check *c, int rank, int32_t slot)
{
    const pod_slot *root = &c->p->slot[c->p->slot[slot].root];
    if (root->space != POD_SPACE_STEP && root->space != POD_SPACE_WINDOW) return NULL;
    return base_of(c, rank, c->p->slot[slot].root) + root->bytes;
}

static void spoil(const check *c, int rank, int32_t slot, const pod_instr *instr)
{
    char *memory = memory_of(c, rank, slot), *guard = guard_of(c, rank, slot);
    if (!is_also_read(c, rank, instr, memory)) memset(memory, NAN_BYTE, bytes_of(c, rank, slot));
    if (guard) memset(guard, CANARY, c->p->guard_bytes);
}

static bool guard_is_whole(const check *c, int rank, int32_t slot)
{
    const char *guard = guard_of(c, rank, slot);
    for (size_t b = 0; guard && b < c->p->guard_bytes; b++)
        if ((unsigned char)guard[b] != CANARY) return false;
    return true;
}

/* Whether the slot lies in a buffer that belongs to a collective now. */
static bool is_in_flight(const check *c, int32_t slot)
{
    const pod_slot *s = &c->p->slot[slot];
    for (int32_t k = 0; s->space == POD_SPACE_WINDOW && k < c->p->n_colls; k++) {
        const pod_slot *buffer = &c->p->slot[c->p->coll[k].slot];
        if (c->in_flight[k] && s->offset < buffer->offset + buffer->bytes &&
            buffer->offset < s->offset + s->bytes)
            return true;
    }
    return false;
}

static pod_status run_one(const check *c, int rank, int32_t i)
{
    const pod_instr *instr = &c->p->instr[i];
    const void *in[POD_MAX_VALUES];
    void *out[POD_MAX_OUT];
    POD_TRY(verify_reads(c, rank, i));
    for (int j = 0; j < instr->n_in; j++) in[j] = memory_of(c, rank, instr->in[j]);
    for (int k = 0; k < instr->n_out; k++) {
        out[k] = memory_of(c, rank, instr->out[k]);
        if (is_in_flight(c, instr->out[k]))
            return fault(c, POD_E_MISMATCH, rank, i, "writes into a buffer in flight");
        spoil(c, rank, instr->out[k], instr);
    }
    if (instr->scratch >= 0) spoil(c, rank, instr->scratch, instr);
    instr->run(c->core[rank].attr[i], in, out,
               instr->scratch >= 0 ? memory_of(c, rank, instr->scratch) : NULL);
    if (instr->scratch >= 0 && !guard_is_whole(c, rank, instr->scratch))
        return fault(c, POD_E_MISMATCH, rank, i, "wrote behind its scratch");
    for (int k = 0; k < instr->n_out; k++) {
        const pod_slot *s = &c->p->slot[instr->out[k]];
        if (!guard_is_whole(c, rank, instr->out[k]))
            return fault(c, POD_E_MISMATCH, rank, i, "wrote behind its output");
        const int64_t count = pod_program_part(c->p, instr->out[k], rank).count;
        if (!pod__all_finite(s->type.dtype, out[k], count))
            return fault(c, POD_E_NUMERIC, rank, i, "an output is not finite");
        note_written(c, rank, instr->out[k]);
    }
    return POD_OK;
}

/* Whether the slot is a core's own part of the bucket in slot `bucket`. */
static bool is_part_of(const check *c, int32_t slot, int32_t bucket)
{
    const pod_slot *s = &c->p->slot[slot];
    return s->root == bucket && s->shows == slot && c->is_written[slot];
}

/* All parts must be there. In flight the buffer is the collective's: no read or write of others. */
static pod_status start(const check *c, int32_t i)
{
    const int32_t coll = c->p->instr[i].ticket, slot = c->p->coll[coll].slot;
    const size_t bytes = c->p->slot[slot].bytes;
    c->in_flight[coll] = true;
    for (int r = 0; r < c->n_ranks; r++) {
        for (int32_t s = 0; s < c->p->n_slots; s++) {
            const char *wrong = is_part_of(c, s, slot) ? what_is_wrong(c, r, s) : NULL;
            if (wrong) return fault(c, POD_E_MISMATCH, r, i, wrong);
        }
        char *memory = memory_of(c, r, slot);
        memcpy(c->core[r].aside[coll], memory, bytes);
        memset(memory, NAN_BYTE, bytes);
    }
    return POD_OK;
}

static bool is_untouched(const char *memory, size_t bytes)
{
    for (size_t b = 0; b < bytes; b++)
        if ((unsigned char)memory[b] != NAN_BYTE) return false;
    return true;
}

static pod_status finish(const check *c, int32_t i, void **buffers)
{
    const int32_t coll = c->p->instr[i].ticket;
    const pod_program_coll *pc = &c->p->coll[coll];
    const size_t bytes = c->p->slot[pc->slot].bytes;
    c->in_flight[coll] = false;
    for (int r = 0; r < c->n_ranks; r++) buffers[r] = c->core[r].aside[coll];
    POD_TRY(pod_sched_run_local(c->sched[coll], c->n_ranks, pc->args.dtype, buffers));
    for (int r = 0; r < c->n_ranks; r++) {
        if (!is_untouched(memory_of(c, r, pc->slot), bytes))
            return fault(c, POD_E_MISMATCH, r, i, "its buffer was written to while in flight");
        memcpy(memory_of(c, r, pc->slot), buffers[r], bytes);
        for (int32_t s = 0; s < c->p->n_slots; s++) {
            if (c->p->slot[s].root != pc->slot || c->p->slot[s].shows != s) continue;
            if (is_part_of(c, s, pc->slot))
                c->core[r].hash[s] = 0; /* a core's own part is gone */
            else
                note_written(c, r, s);
        }
    }
    return POD_OK;
}

/* What came into the micro-steps is read in the next one, too. */
static bool is_dead(const check *c, const pod_slot *slot, int32_t i)
{
    const pod_repeat *r = &c->p->repeat;
    const bool goes_on = i >= r->first && i < r->end && c->micro_step + 1 < r->count;
    return slot->last == i && !(goes_on && slot->first < r->first);
}

static void spoil_dead(const check *c, int32_t i)
{
    for (int32_t s = 0; s < c->p->n_slots; s++) {
        const pod_slot *slot = &c->p->slot[s];
        bool is_slab = slot->space == POD_SPACE_STEP || slot->space == POD_SPACE_WINDOW;
        if (!is_slab || slot->root != s || !is_dead(c, slot, i)) continue;
        for (int r = 0; r < c->n_ranks; r++) memset(base_of(c, r, s), NAN_BYTE, slot->bytes);
    }
}

static pod_status fetch(const check *c, int32_t i, double outputs[])
{
    const pod_instr *instr = &c->p->instr[i];
    const bool has_rows = c->p->slot[instr->in[0]].type.shape.n_dims == 2;
    float first = 0, value;
    for (int r = 0; r < c->n_ranks; r++) {
        POD_TRY(verify_reads(c, r, i));
        if (has_rows) continue;
        memcpy(&value, memory_of(c, r, instr->in[0]), sizeof value);
        if (r == 0) first = value;
        if (memcmp(&first, &value, sizeof first) != 0)
            return fault(c, POD_E_MISMATCH, r, i, "differs from rank 0");
    }
    outputs[instr->ticket] = (double)first;
    return POD_OK;
}

static pod_status take_core(check *c, int rank, pod_store *store, const void *const feeds[])
{
    const pod_program *p = c->p;
    core *k = &c->core[rank];
    int *index = POD_ARENA_NEW(c->arena, int, p->n_variables);
    k->step_slab = pod_arena_get(c->arena, SLAB_ALIGN, p->step_bytes);
    k->window = pod_arena_get(c->arena, SLAB_ALIGN, p->window_bytes);
    k->hash = POD_ARENA_NEW(c->arena, uint64_t, p->n_slots);
    k->aside = POD_ARENA_NEW(c->arena, void *, p->n_colls);
    k->attr = POD_ARENA_NEW(c->arena, const void *, p->n_instrs);
    if (!index || !k->step_slab || !k->window || !k->hash || !k->aside || !k->attr)
        return POD_E_NOMEM;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        k->attr[i] = pod_program_attr(p, i, rank, c->arena);
        if (p->instr[i].attr && !k->attr[i]) return POD_E_NOMEM;
    }
    k->store = store;
    k->store_index = index;
    k->feed = feeds + rank;
    memset(k->step_slab, NAN_BYTE, p->step_bytes);
    memset(k->window, NAN_BYTE, p->window_bytes);
    for (int v = 0; v < p->n_variables; v++) {
        index[v] = pod_store_find(store, p->variable[v].name);
        if (index[v] < 0)
            return pod_fail(POD_E_MISMATCH, "store: has no variable '%s'", p->variable[v].name);
    }
    for (int32_t i = 0; i < p->n_colls; i++) {
        k->aside[i] = pod_arena_get(c->arena, SLAB_ALIGN, p->slot[p->coll[i].slot].bytes);
        if (!k->aside[i]) return POD_E_NOMEM;
    }
    for (int32_t s = 0; s < p->n_slots; s++) {
        const pod_slot *slot = &p->slot[s];
        if (slot->root == s && (slot->space == POD_SPACE_INPUT || slot->space == POD_SPACE_STORE))
            note_written(c, rank, s);
    }
    return POD_OK;
}

static pod_status prepare(check *c, pod_store *const stores[], const void *const feeds[])
{
    const pod_program *p = c->p;
    c->core = POD_ARENA_NEW(c->arena, core, c->n_ranks);
    c->is_written = POD_ARENA_NEW(c->arena, bool, p->n_slots);
    c->in_flight = POD_ARENA_NEW(c->arena, bool, p->n_colls);
    c->sched = POD_ARENA_NEW(c->arena, const pod_sched *const *, p->n_colls);
    if (!c->core || !c->is_written || !c->in_flight || !c->sched) return POD_E_NOMEM;
    for (int32_t i = 0; i < p->n_instrs; i++)
        for (int k = 0; p->instr[i].kind == POD_I_RUN && k < p->instr[i].n_out; k++)
            c->is_written[p->instr[i].out[k]] = true;
    for (int32_t i = 0; i < p->n_colls; i++)
        POD_TRY(pod_coll_build_all(c->arena, p->coll[i].algo, &p->mesh, &p->coll[i].args,
                                   &c->sched[i]));
    for (int r = 0; r < c->n_ranks; r++) POD_TRY(take_core(c, r, stores[r], feeds));
    return POD_OK;
}

/* Inputs move on; what the last micro-step made is not to be read in this one. */
static void begin_micro_step(check *c, pod_turn turn)
{
    const pod_repeat *repeat = &c->p->repeat;
    if (repeat->count == 1 || turn.instr != repeat->first) return;
    c->micro_step = turn.micro_step;
    for (int32_t s = 0; s < c->p->n_slots; s++) {
        const pod_slot *slot = &c->p->slot[s], *root = &c->p->slot[slot->root];
        const bool is_slab = root->space == POD_SPACE_STEP || root->space == POD_SPACE_WINDOW;
        const bool is_inner = is_slab && root->first >= repeat->first && root->first < repeat->end;
        for (int r = 0; r < c->n_ranks; r++) {
            if (slot->space == POD_SPACE_INPUT && slot->root == s) note_written(c, r, s);
            if (is_inner) c->core[r].hash[s] = 0;
        }
    }
}

static pod_status run_all(check *c, double outputs[])
{
    void **buffers = POD_ARENA_NEW(c->arena, void *, c->n_ranks);
    if (!buffers) return POD_E_NOMEM;
    const int64_t n_turns = pod_program_n_turns(c->p);
    for (int64_t n = 0; n < n_turns; n++) {
        const pod_turn turn = pod_program_turn(c->p, n);
        const int32_t i = turn.instr;
        const pod_instr *instr = &c->p->instr[i];
        begin_micro_step(c, turn);
        switch (instr->kind) {
        case POD_I_RUN:
            for (int r = 0; r < c->n_ranks; r++) POD_TRY(run_one(c, r, i));
            break;
        case POD_I_COLL_START: POD_TRY(start(c, i)); break;
        case POD_I_COLL_WAIT: POD_TRY(finish(c, i, buffers)); break;
        case POD_I_FETCH: POD_TRY(fetch(c, i, outputs)); break;
        }
        spoil_dead(c, i);
    }
    return POD_OK;
}

pod_status pod_check_step(const pod_program *p, pod_store *const stores[],
                          const void *const feeds[], double outputs[])
{
    check c = {.p = p, .n_ranks = pod_mesh_size(&p->mesh)};
    POD_TRY(pod_arena_create(NULL, &c.arena));
    pod_status status = prepare(&c, stores, feeds);
    if (status == POD_OK) status = run_all(&c, outputs);
    pod_arena_destroy(c.arena);
    return status;
}
