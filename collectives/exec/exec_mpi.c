/* Carries a schedule out over MPI's point-to-point messages.
 *
 * Everything is prepared at creation: who waits for whom, memory for what is received before it is
 * added, room for every request. A run is then a queue of steps that may begin and a list of
 * messages in flight; poll tests the list and begins what has become ready. Long messages travel in
 * parts with one tag, which MPI keeps in order, and a part is added as soon as it is here. */
#include <string.h>

#include "collectives/exec/coll_run.h"
#include "collectives/exec/comm_mpi.h"
#include "collectives/exec/run_kind.h"
#include "kernels/base/arena.h"
#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"
#include "kernels/reduce/reduce.h"

enum {
    PART_ELEMENTS = 1 << 22, /* of a message; far below what an int counts */
    ALIGN_ELEMENTS = 16,     /* of memory for what is received: a cache line */
    NONE = -1
};

typedef struct part { /* of a message in flight */
    int32_t step;
    int64_t first; /* element of the message */
    int count;
} part;

typedef struct mpi_run {
    pod_coll_run base;
    pod_arena *arena; /* everything below, and this */
    pod_comm *comm;
    const pod_reduce *reduce;
    const pod_step *steps;
    int32_t n_steps;
    int first_tag;
    float *memory[POD_N_BUFS];
    float **received; /* (n_steps) what a RECV_REDUCE receives, before it is added */

    /* Lists of edges by their tail; edge 2 i + j is the j-th `after` of step i. */
    int32_t *dependent, *next_dependent; /* (n_steps), (2 n_steps) */

    /* The state of a run. */
    int32_t *n_waits; /* (n_steps) steps that it still waits for */
    int32_t *n_parts; /* (n_steps) parts in flight */
    int32_t *ready;   /* (n_steps) a queue: those from n_begun to n_ready may begin */
    int32_t n_ready, n_begun;
    MPI_Request *request; /* (all parts) */
    part *part;           /* (all parts) */
    int *completed;       /* (all parts) */
    int n_in_flight;
} mpi_run;

/* ---- running ------------------------------------------------------------------------------- */

static float *place_of(const mpi_run *r, pod_span at) { return r->memory[at.buf] + at.first; }

static void make_ready(mpi_run *r, int32_t i) { r->ready[r->n_ready++] = i; }

static void finish_step(mpi_run *r, int32_t i)
{
    for (int32_t e = r->dependent[i]; e != NONE; e = r->next_dependent[e])
        if (--r->n_waits[e / 2] == 0) make_ready(r, e / 2);
}

static void post_part(mpi_run *r, int32_t i, part p)
{
    const pod_step *s = &r->steps[i];
    MPI_Comm world = pod__comm_world(r->comm);
    int tag = r->first_tag + s->tag;
    MPI_Request *request = &r->request[r->n_in_flight];
    if (s->kind == POD_STEP_SEND) {
        MPI_Isend(place_of(r, s->src) + p.first, p.count, MPI_FLOAT, s->peer, tag, world, request);
    } else {
        float *to = s->kind == POD_STEP_RECV ? place_of(r, s->dst) : r->received[i];
        MPI_Irecv(to + p.first, p.count, MPI_FLOAT, s->peer, tag, world, request);
    }
    r->part[r->n_in_flight++] = p;
    r->n_parts[i]++;
}

static void begin_message(mpi_run *r, int32_t i)
{
    int64_t count = r->steps[i].count;
    for (int64_t first = 0; first < count; first += PART_ELEMENTS) {
        int64_t left = count - first;
        post_part(r, i, (part){i, first, left < PART_ELEMENTS ? (int)left : PART_ELEMENTS});
    }
}

static void begin_step(mpi_run *r, int32_t i)
{
    const pod_step *s = &r->steps[i];
    bool is_message = s->kind != POD_STEP_COPY && s->kind != POD_STEP_JOIN;
    bool has_source = s->kind == POD_STEP_COPY || s->kind == POD_STEP_RECV_REDUCE;
    if (has_source && s->count > 0 && place_of(r, s->dst) != place_of(r, s->src))
        memcpy(place_of(r, s->dst), place_of(r, s->src), (size_t)s->count * sizeof(float));
    if (is_message && s->count > 0)
        begin_message(r, i);
    else
        finish_step(r, i);
}

static void begin_ready(mpi_run *r)
{
    while (r->n_begun < r->n_ready) begin_step(r, r->ready[r->n_begun++]);
}

static void finish_part(mpi_run *r, const part *p)
{
    const pod_step *s = &r->steps[p->step];
    if (s->kind == POD_STEP_RECV_REDUCE)
        r->reduce->accumulate(p->count, r->received[p->step] + p->first,
                              place_of(r, s->dst) + p->first);
    if (--r->n_parts[p->step] == 0) finish_step(r, p->step);
}

/* Closes the gaps that finished messages left in the list. */
static void close_gaps(mpi_run *r)
{
    int n = 0;
    for (int k = 0; k < r->n_in_flight; k++) {
        if (r->request[k] == MPI_REQUEST_NULL) continue;
        r->request[n] = r->request[k];
        r->part[n++] = r->part[k];
    }
    r->n_in_flight = n;
}

static void start_run(pod_coll_run *base)
{
    mpi_run *r = (mpi_run *)base;
    POD_ASSERT(r->n_in_flight == 0, "a collective was started with %d messages in flight",
               r->n_in_flight);
    r->n_ready = r->n_begun = 0;
    for (int32_t i = 0; i < r->n_steps; i++) {
        const int32_t *after = r->steps[i].after;
        r->n_waits[i] = (after[0] != POD_NO_STEP) + (after[1] != POD_NO_STEP);
        if (r->n_waits[i] == 0) make_ready(r, i);
    }
    begin_ready(r);
}

static bool poll_run(pod_coll_run *base)
{
    mpi_run *r = (mpi_run *)base;
    int n_completed = 1;
    while (r->n_in_flight > 0 && n_completed > 0) {
        MPI_Testsome(r->n_in_flight, r->request, &n_completed, r->completed, MPI_STATUSES_IGNORE);
        for (int k = 0; k < n_completed; k++) finish_part(r, &r->part[r->completed[k]]);
        if (n_completed > 0) close_gaps(r);
        begin_ready(r);
    }
    return r->n_in_flight == 0;
}

static void destroy_run(pod_coll_run *base)
{
    mpi_run *r = (mpi_run *)base;
    POD_ASSERT(r->n_in_flight == 0, "a collective was destroyed with %d messages in flight",
               r->n_in_flight);
    pod__comm_give_tags(r->comm);
    pod_arena_destroy(r->arena);
}

static const pod__run_kind mpi_kind = {start_run, poll_run, destroy_run};

/* ---- preparing ----------------------------------------------------------------------------- */

static pod_status check_peers(const mpi_run *r)
{
    int size = pod_comm_size(r->comm);
    for (int32_t i = 0; i < r->n_steps; i++)
        if (r->steps[i].peer < 0 || r->steps[i].peer >= size)
            return pod_fail(POD_E_INVALID, "collective: step %d names rank %d of %d", (int)i,
                            r->steps[i].peer, size);
    return POD_OK;
}

static void link_steps(mpi_run *r)
{
    for (int32_t i = 0; i < r->n_steps; i++) r->dependent[i] = NONE;
    for (int32_t i = 0; i < r->n_steps; i++) {
        for (int32_t j = 0; j < 2; j++) {
            int32_t after = r->steps[i].after[j];
            if (after == POD_NO_STEP) continue;
            r->next_dependent[2 * i + j] = r->dependent[after];
            r->dependent[after] = 2 * i + j;
        }
    }
}

static pod_status make_state(mpi_run *r)
{
    int64_t n_parts = 0;
    for (int32_t i = 0; i < r->n_steps; i++)
        n_parts += (r->steps[i].count + PART_ELEMENTS - 1) / PART_ELEMENTS;
    r->dependent = POD_ARENA_NEW(r->arena, int32_t, r->n_steps);
    r->next_dependent = POD_ARENA_NEW(r->arena, int32_t, 2 * (size_t)r->n_steps);
    r->n_waits = POD_ARENA_NEW(r->arena, int32_t, r->n_steps);
    r->n_parts = POD_ARENA_NEW(r->arena, int32_t, r->n_steps);
    r->ready = POD_ARENA_NEW(r->arena, int32_t, r->n_steps);
    r->received = POD_ARENA_NEW(r->arena, float *, r->n_steps);
    r->request = POD_ARENA_NEW(r->arena, MPI_Request, n_parts);
    r->part = POD_ARENA_NEW(r->arena, part, n_parts);
    r->completed = POD_ARENA_NEW(r->arena, int, n_parts);
    bool have_all = r->dependent && r->next_dependent && r->n_waits && r->n_parts && r->ready &&
                    r->received && r->request && r->part && r->completed;
    return have_all ? POD_OK : POD_E_NOMEM;
}

/* is_before[j]: step i comes after step j. */
static void mark_before(const mpi_run *r, int32_t i, bool *is_before)
{
    memset(is_before, false, (size_t)r->n_steps);
    is_before[i] = true;
    for (int32_t j = i; j >= 0; j--)
        for (int k = 0; is_before[j] && k < 2; k++)
            if (r->steps[j].after[k] != POD_NO_STEP) is_before[r->steps[j].after[k]] = true;
}

/* Steps that come after one another share a place to receive in: the memory stays small, and warm.
 * place[i] says which one; n_of_place[] how many elements it needs. */
static int32_t assign_places(const mpi_run *r, bool *is_before, int32_t *holder, int32_t *place,
                             int64_t *n_of_place)
{
    int32_t n_places = 0;
    for (int32_t i = 0; i < r->n_steps; i++) {
        if (r->steps[i].kind != POD_STEP_RECV_REDUCE) continue;
        mark_before(r, i, is_before);
        int32_t p = 0;
        while (p < n_places && !is_before[holder[p]]) p++;
        if (p == n_places) n_of_place[n_places++] = 0;
        if (r->steps[i].count > n_of_place[p]) n_of_place[p] = r->steps[i].count;
        holder[p] = i;
        place[i] = p;
    }
    return n_places;
}

static pod_status make_places(mpi_run *r)
{
    bool *is_before = POD_ARENA_NEW(r->arena, bool, r->n_steps);
    int32_t *holder = POD_ARENA_NEW(r->arena, int32_t, r->n_steps);
    int32_t *place = POD_ARENA_NEW(r->arena, int32_t, r->n_steps);
    int64_t *n_of_place = POD_ARENA_NEW(r->arena, int64_t, r->n_steps);
    float **memory = POD_ARENA_NEW(r->arena, float *, r->n_steps);
    if (!is_before || !holder || !place || !n_of_place || !memory) return POD_E_NOMEM;
    int32_t n_places = assign_places(r, is_before, holder, place, n_of_place);
    for (int32_t p = 0; p < n_places; p++) {
        memory[p] = pod_arena_get(r->arena, ALIGN_ELEMENTS * sizeof(float),
                                  (size_t)n_of_place[p] * sizeof(float));
        if (!memory[p]) return POD_E_NOMEM;
    }
    for (int32_t i = 0; i < r->n_steps; i++)
        if (r->steps[i].kind == POD_STEP_RECV_REDUCE) r->received[i] = memory[place[i]];
    return POD_OK;
}

static pod_status prepare(mpi_run *r, const pod_sched *s, pod_dtype t, void *buf)
{
    if (t != POD_F32)
        return pod_fail(POD_E_UNSUPPORTED, "collective: elements are %s, the executor takes f32",
                        pod_dtype_name(t));
    POD_TRY(pod_sched_finish(s));
    r->steps = pod_sched_steps(s, &r->n_steps);
    r->reduce = pod_reduce_pick(pod_cpu_features());
    r->memory[POD_BUF_MAIN] = buf;
    r->memory[POD_BUF_SCRATCH] = pod_arena_get(r->arena, ALIGN_ELEMENTS * sizeof(float),
                                               (size_t)pod_sched_scratch_count(s) * sizeof(float));
    if (!r->memory[POD_BUF_SCRATCH]) return POD_E_NOMEM;
    POD_TRY(check_peers(r));
    POD_TRY(make_state(r));
    POD_TRY(make_places(r));
    link_steps(r);
    return POD_OK;
}

static pod_status create_alone(pod_comm *c, const pod_sched *s, pod_dtype t, void *buf,
                               mpi_run **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    mpi_run *r = POD_ARENA_NEW(arena, mpi_run, 1);
    pod_status status = r ? POD_OK : POD_E_NOMEM;
    if (status != POD_OK) goto failed;
    *r = (mpi_run){.base.kind = &mpi_kind, .arena = arena, .comm = c};
    POD_TRY_GOTO(status, prepare(r, s, t, buf), failed);
    *out = r;
    return POD_OK;
failed:
    pod_arena_destroy(arena);
    return status;
}

pod_status pod_coll_run_create_mpi(pod_comm *c, const pod_sched *s, pod_dtype t, void *buf,
                                   pod_coll_run **out)
{
    mpi_run *r = NULL;
    pod_status status = pod_comm_agree(c, create_alone(c, s, t, buf, &r));
    if (status == POD_OK) status = pod__comm_take_tags(c, pod_sched_n_tags(s), &r->first_tag);
    if (status != POD_OK) {
        if (r) pod_arena_destroy(r->arena);
        return status;
    }
    *out = &r->base;
    return POD_OK;
}
