/* Carries a schedule out: what its steps wait for, and when the run is done.
 *
 * Everything is prepared at creation. A run is then a queue of steps that may begin, and what the
 * carriers have in flight; poll looks only at the latter, and begins what has become ready. */
#include "collectives/exec/run.h"

#include <string.h>

#include "collectives/exec/watch/watch.h"
#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"

/* ---- running ------------------------------------------------------------------------------- */

void pod__run_finish(pod_coll_run *r, int32_t step)
{
    r->n_changes++;
    for (int32_t e = r->dependent[step]; e != POD__NONE; e = r->next_dependent[e])
        if (--r->n_waits[e / 2] == 0) r->ready[r->n_ready++] = e / 2;
}

static void copy(pod_coll_run *r, const pod_step *s)
{
    r->combine->convert(s->count, pod_sched_dtype(s->src.buf, r->type), pod__run_place(r, s->src),
                        pod_sched_dtype(s->dst.buf, r->type), pod__run_place(r, s->dst));
}

static void begin_step(pod_coll_run *r, int32_t i)
{
    const pod_step *s = &r->steps[i];
    switch ((pod__carrier)r->carrier[i]) {
    case POD__BY_SHM: pod__shm_begin(r, i); return;
    case POD__BY_MPI: pod__mpi_begin(r, i); return;
    case POD__BY_ITSELF: break;
    }
    if (s->kind == POD_STEP_COPY) copy(r, s);
    if (s->kind == POD_STEP_DIVIDE)
        pod_combine_divide(r->combine, s->count, pod_sched_dtype(s->dst.buf, r->type), s->peer,
                           pod__run_place(r, s->dst));
    pod__run_finish(r, i);
}

void pod__run_begin_ready(pod_coll_run *r)
{
    while (r->n_begun < r->n_ready) begin_step(r, r->ready[r->n_begun++]);
}

static bool is_done(const pod_coll_run *r)
{
    return r->mpi.n_in_flight == 0 && (!r->shm || pod__shm_is_idle(r));
}

void pod_coll_run_start(pod_coll_run *r)
{
    POD_ASSERT(is_done(r), "%s was started while it was in flight", r->what);
    r->epoch++;
    r->n_changes++;
    memcpy(r->n_waits, r->n_waits_at_start, (size_t)r->n_steps * sizeof r->n_waits[0]);
    memcpy(r->ready, r->ready_at_start, (size_t)r->n_ready_at_start * sizeof r->ready[0]);
    r->n_ready = r->n_ready_at_start;
    r->n_begun = 0;
    if (r->shm) pod__shm_start(r);
    pod__run_begin_ready(r);
}

bool pod_coll_run_poll(pod_coll_run *r)
{
    if (r->shm) pod__shm_poll(r);
    if (r->mpi.n_in_flight > 0) pod__mpi_poll(r);
    return is_done(r);
}

void pod_coll_run_destroy(pod_coll_run *r)
{
    if (!r) return;
    POD_ASSERT(is_done(r), "%s was destroyed while it was in flight", r->what);
    pod__mpi_close(r);
    if (r->shm) pod__shm_close(r);
    pod_arena_destroy(r->arena);
}

/* ---- preparing ----------------------------------------------------------------------------- */

/* A message without elements has no carrier: nothing is sent. */
static pod_status find_carrier(const pod_coll_run *r, bool has_window, int32_t i, uint8_t *out)
{
    const pod_step *s = &r->steps[i];
    const int size = pod_comm_size(r->comm);
    *out = POD__BY_ITSELF;
    switch (s->kind) {
    case POD_STEP_SEND:
    case POD_STEP_RECV:
    case POD_STEP_RECV_REDUCE:
        if (s->peer < 0 || s->peer >= size)
            return pod_fail(POD_E_INVALID, "%s: step %d names rank %d of %d", r->what, (int)i,
                            s->peer, size);
        if (s->count > 0)
            *out = has_window && pod_comm_shares_node(r->comm, s->peer) ? POD__BY_SHM : POD__BY_MPI;
        return POD_OK;
    case POD_STEP_SYNC:
    case POD_STEP_REDUCE_FROM:
    case POD_STEP_REDUCE_ALL:
        if (!has_window)
            return pod_fail(POD_E_UNSUPPORTED,
                            "%s: step %d is a %s, which needs shared memory, not messages", r->what,
                            (int)i, pod_step_kind_name(s->kind));
        *out = POD__BY_SHM;
        return POD_OK;
    default: return POD_OK;
    }
}

static pod_status find_carriers(pod_coll_run *r, bool has_window)
{
    r->carrier = POD_ARENA_NEW(r->arena, uint8_t, r->n_steps);
    if (!r->carrier) return POD_E_NOMEM;
    for (int32_t i = 0; i < r->n_steps; i++)
        POD_TRY(find_carrier(r, has_window, i, &r->carrier[i]));
    return POD_OK;
}

static pod_status make_state(pod_coll_run *r)
{
    r->dependent = POD_ARENA_NEW(r->arena, int32_t, r->n_steps);
    r->next_dependent = POD_ARENA_NEW(r->arena, int32_t, 2 * (size_t)r->n_steps);
    r->n_waits_at_start = POD_ARENA_NEW(r->arena, uint8_t, r->n_steps);
    r->ready_at_start = POD_ARENA_NEW(r->arena, int32_t, r->n_steps);
    r->n_waits = POD_ARENA_NEW(r->arena, uint8_t, r->n_steps);
    r->ready = POD_ARENA_NEW(r->arena, int32_t, r->n_steps);
    bool have_all = r->dependent && r->next_dependent && r->n_waits_at_start && r->ready_at_start &&
                    r->n_waits && r->ready;
    return have_all ? POD_OK : POD_E_NOMEM;
}

static void link_steps(pod_coll_run *r)
{
    for (int32_t i = 0; i < r->n_steps; i++) {
        r->dependent[i] = POD__NONE;
        for (int32_t j = 0; j < 2; j++) {
            int32_t after = r->steps[i].after[j];
            if (after == POD_NO_STEP) continue;
            r->n_waits_at_start[i]++;
            r->next_dependent[2 * i + j] = r->dependent[after];
            r->dependent[after] = 2 * i + j;
        }
        if (r->n_waits_at_start[i] == 0) r->ready_at_start[r->n_ready_at_start++] = i;
    }
}

/* Memory that no other rank reads; over_shm has SCRATCH where they do. */
static pod_status make_memory(pod_coll_run *r, const pod_sched *s, bool has_window, void *buf)
{
    const int64_t count[POD_N_BUFS] = {0, has_window ? 0 : pod_sched_scratch_count(s),
                                       pod_sched_sum_count(s)};
    for (int b = 0; b < POD_N_BUFS; b++) {
        r->element_bytes[b] = pod_dtype_bytes(pod_sched_dtype((pod_buf)b, r->type));
        r->memory[b] = b == POD_BUF_MAIN
                           ? buf
                           : pod_arena_get_array(r->arena, POD__CACHE_LINE, r->element_bytes[b],
                                                 (size_t)count[b]);
        if (!r->memory[b] && b != POD_BUF_MAIN) return POD_E_NOMEM;
    }
    return POD_OK;
}

static pod_status prepare(pod_coll_run *r, const pod_sched *s, pod_window *w, void *buf)
{
    r->op = pod_sched_op(s);
    if (pod_redop_why_not(r->op, r->type))
        return pod_fail(POD_E_UNSUPPORTED, "%s: %s", r->what, pod_redop_why_not(r->op, r->type));
    POD_TRY(pod_sched_finish(s));
    r->steps = pod_sched_steps(s, &r->n_steps);
    r->combine = pod_combine_pick(pod_cpu_features());
    POD_TRY(make_memory(r, s, w != NULL, buf));
    POD_TRY(find_carriers(r, w != NULL));
    POD_TRY(pod__mpi_prepare(r));
    if (w) POD_TRY(pod__shm_prepare(r, s, w));
    POD_TRY(make_state(r));
    link_steps(r);
    return POD_OK;
}

static pod_status create_alone(pod_comm *c, const pod_sched *s, pod_dtype t, pod_window *w,
                               void *buf, const char *what, pod_coll_run **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_coll_run *r = POD_ARENA_NEW(arena, pod_coll_run, 1);
    const char *name = pod_arena_text(arena, "%s", what);
    pod_status status = r && name ? POD_OK : POD_E_NOMEM;
    if (status != POD_OK) goto failed;
    *r = (pod_coll_run){.arena = arena, .comm = c, .what = name, .type = t};
    POD_TRY_GOTO(status, prepare(r, s, w, buf), failed);
    *out = r;
    return POD_OK;
failed:
    pod_arena_destroy(arena);
    return status;
}

static pod_status create(pod_comm *c, const pod_sched *s, pod_dtype t, pod_window *w, void *buf,
                         const char *what, pod_coll_run **out)
{
    pod__watch_install();
    POD_TRY(pod__comm_open_mailbox(c));
    pod_coll_run *r = NULL;
    pod_status status = pod_comm_agree(c, create_alone(c, s, t, w, buf, what, &r));
    if (status != POD_OK) {
        if (r) pod_arena_destroy(r->arena);
        return status;
    }
    if (w) status = pod__shm_connect(r);
    if (status == POD_OK) status = pod__mpi_connect(r, pod_sched_n_tags(s));
    if (status != POD_OK) {
        pod_coll_run_destroy(r);
        return status;
    }
    *out = r;
    return POD_OK;
}

pod_status pod_coll_run_create_shm(pod_comm *c, const pod_sched *s, pod_dtype t, pod_window *w,
                                   void *buf, const char *what, pod_coll_run **out)
{
    return create(c, s, t, w, buf, what, out);
}

pod_status pod_coll_run_create_mpi(pod_comm *c, const pod_sched *s, pod_dtype t, void *buf,
                                   const char *what, pod_coll_run **out)
{
    return create(c, s, t, NULL, buf, what, out);
}
