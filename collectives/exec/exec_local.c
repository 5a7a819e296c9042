#include "collectives/exec/exec_local.h"

#include <string.h>

#include "collectives/sched/order.h"
#include "kernels/base/cpu.h"
#include "kernels/reduce/reduce.h"

typedef struct rank_memory {
    float *of[POD_N_BUFS];
} rank_memory;

static pod_status find_memory(pod_arena *work, const pod_sched *const all[], int n_ranks,
                              void *const buf[], rank_memory **out)
{
    rank_memory *memory = POD_ARENA_NEW(work, rank_memory, n_ranks);
    if (!memory) return POD_E_NOMEM;
    for (int r = 0; r < n_ranks; r++) {
        memory[r].of[POD_BUF_MAIN] = buf[r];
        memory[r].of[POD_BUF_SCRATCH] = POD_ARENA_NEW(work, float, pod_sched_scratch_count(all[r]));
        if (!memory[r].of[POD_BUF_SCRATCH]) return POD_E_NOMEM;
    }
    *out = memory;
    return POD_OK;
}

static float *place_of(const rank_memory *memory, pod_span at)
{
    return memory->of[at.buf] + at.first;
}

static void run_event(const pod_sched *const all[], const rank_memory *memory,
                      const pod_reduce *reduce, const pod_sched_event *e)
{
    int32_t n;
    const pod_step *s = &pod_sched_steps(all[e->rank], &n)[e->step];
    if (s->count == 0) return;
    const float *own = place_of(&memory[e->rank], s->src);
    float *dst = place_of(&memory[e->rank], s->dst);
    size_t bytes = (size_t)s->count * sizeof *dst;
    if (s->kind == POD_STEP_COPY) {
        memcpy(dst, own, bytes);
        return;
    }
    pod_span sent = pod_sched_steps(all[s->peer], &n)[e->send_step].src;
    const float *received = place_of(&memory[s->peer], sent);
    if (s->kind == POD_STEP_RECV) {
        memcpy(dst, received, bytes);
    } else {
        if (dst != own) memcpy(dst, own, bytes);
        reduce->accumulate(s->count, received, dst);
    }
}

pod_status pod_sched_run_local(const pod_sched *const all[], int n_ranks, pod_dtype t,
                               void *const buf[])
{
    if (t != POD_F32)
        return pod_fail(POD_E_UNSUPPORTED, "collective: elements are %s, the executor takes f32",
                        pod_dtype_name(t));
    const pod_reduce *reduce = pod_reduce_pick(pod_cpu_features());
    pod_arena *work;
    POD_TRY(pod_arena_create(NULL, &work));
    pod_sched_order order;
    rank_memory *memory;
    pod_status status;
    POD_TRY_GOTO(status, pod_sched_order_build(work, all, n_ranks, &order), done);
    POD_TRY_GOTO(status, find_memory(work, all, n_ranks, buf, &memory), done);
    for (int32_t i = 0; i < order.n_events; i++) run_event(all, memory, reduce, &order.event[i]);
done:
    pod_arena_destroy(work);
    return status;
}
