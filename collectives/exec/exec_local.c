#include "collectives/exec/exec_local.h"

#include <stdbool.h>

#include "collectives/exec/add_received.h"
#include "collectives/sched/order.h"
#include "kernels/base/cpu.h"
#include "kernels/combine/combine.h"

enum { ALIGN_BYTES = 64 };

/* What a run is made of. */
typedef struct local_run {
    const pod_sched *const *all;
    pod_dtype dtype;
    const pod_combine *combine;
    char *(*memory)[POD_N_BUFS]; /* (n_ranks) */
} local_run;

static pod_status find_memory(pod_arena *work, int n_ranks, void *const buf[], local_run *run)
{
    run->memory = pod_arena_get_array(work, _Alignof(char *), sizeof *run->memory, (size_t)n_ranks);
    if (!run->memory) return POD_E_NOMEM;
    for (int r = 0; r < n_ranks; r++) {
        const int64_t count[POD_N_BUFS] = {0, pod_sched_scratch_count(run->all[r]),
                                           pod_sched_sum_count(run->all[r])};
        run->memory[r][POD_BUF_MAIN] = buf[r];
        for (int b = POD_BUF_SCRATCH; b < POD_N_BUFS; b++) {
            const size_t bytes = pod_dtype_bytes(pod_sched_dtype((pod_buf)b, run->dtype));
            run->memory[r][b] = pod_arena_get_array(work, ALIGN_BYTES, bytes, (size_t)count[b]);
            if (!run->memory[r][b]) return POD_E_NOMEM;
        }
    }
    return POD_OK;
}

static void *place_of(const local_run *run, int rank, pod_span at)
{
    const size_t bytes = pod_dtype_bytes(pod_sched_dtype(at.buf, run->dtype));
    return run->memory[rank][at.buf] + (size_t)at.first * bytes;
}

/* The sum of `src` over the ranks that share with this one, to `dst` on this one or on all. */
static void reduce_shared(const local_run *run, int rank, const pod_step *s)
{
    int n;
    const int *shared = pod_sched_shared(run->all[rank], &n);
    const void *in[POD_COMBINE_MAX_INPUTS];
    void *out[POD_COMBINE_MAX_INPUTS] = {place_of(run, rank, s->dst)};
    const bool is_all = s->kind == POD_STEP_REDUCE_ALL;
    for (int k = 0; k < n; k++) {
        in[k] = place_of(run, shared[k], s->src);
        if (is_all) out[k] = place_of(run, shared[k], s->dst);
    }
    pod_combine_all(run->combine, pod_sched_op(run->all[rank]), s->count, run->dtype, n, in,
                    is_all ? n : 1, out);
}

static void receive(const local_run *run, const pod_sched_event *e, const pod_step *s)
{
    int32_t n;
    const pod_span sent = pod_sched_steps(run->all[s->peer], &n)[e->send_step].src;
    const void *received = place_of(run, s->peer, sent);
    void *dst = place_of(run, e->rank, s->dst);
    if (s->kind == POD_STEP_RECV)
        run->combine->convert(s->count, run->dtype, received, run->dtype, dst);
    else
        pod__add_received(run->combine, pod_sched_op(run->all[e->rank]), s, run->dtype, s->count,
                          received, place_of(run, e->rank, s->src), dst);
}

static void run_event(const local_run *run, const pod_sched_event *e)
{
    int32_t n;
    const pod_step *s = &pod_sched_steps(run->all[e->rank], &n)[e->step];
    if (s->count == 0) return;
    if (e->send_step != POD_NO_STEP)
        receive(run, e, s);
    else if (s->kind == POD_STEP_COPY)
        run->combine->convert(
            s->count, pod_sched_dtype(s->src.buf, run->dtype), place_of(run, e->rank, s->src),
            pod_sched_dtype(s->dst.buf, run->dtype), place_of(run, e->rank, s->dst));
    else if (s->kind == POD_STEP_DIVIDE)
        pod_combine_divide(run->combine, s->count, pod_sched_dtype(s->dst.buf, run->dtype), s->peer,
                           place_of(run, e->rank, s->dst));
    else
        reduce_shared(run, e->rank, s);
}

pod_status pod_sched_run_local(const pod_sched *const all[], int n_ranks, pod_dtype t,
                               void *const buf[])
{
    for (int r = 0; r < n_ranks; r++)
        if (pod_redop_why_not(pod_sched_op(all[r]), t))
            return pod_fail(POD_E_UNSUPPORTED, "collective: %s",
                            pod_redop_why_not(pod_sched_op(all[r]), t));
    local_run run = {.all = all, .dtype = t, .combine = pod_combine_pick(pod_cpu_features())};
    pod_arena *work;
    POD_TRY(pod_arena_create(NULL, &work));
    pod_sched_order order;
    pod_status status;
    POD_TRY_GOTO(status, pod_sched_order_build(work, all, n_ranks, &order), done);
    POD_TRY_GOTO(status, find_memory(work, n_ranks, buf, &run), done);
    for (int32_t i = 0; i < order.n_events; i++) run_event(&run, &order.event[i]);
done:
    pod_arena_destroy(work);
    return status;
}
