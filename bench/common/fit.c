#include "bench/common/fit.h"

#include "runtime/exec/cost.h"

static pod_status bytes_of(const pod_planned *p, const pod_program *program, int64_t batch,
                           double *bytes)
{
    if (pod_machine_is_virtual(&p->machine)) {
        size_t held;
        POD_TRY(pod_cost_memory(&p->machine, program, &held));
        *bytes = (double)held;
    } else {
        const pod_rank_memory m = pod_planned_rank_memory(p, program, batch);
        *bytes = (double)pod_rank_memory_total(&m);
    }
    return POD_OK;
}

pod_status pod_fit_bytes(const pod_planned *p, const pod_program *program, double *bytes)
{
    return bytes_of(p, program, p->setup.batch, bytes);
}

static pod_status needs(const pod_planned *p, int64_t batch, double *bytes)
{
    pod_arena *a;
    const pod_program *program;
    POD_TRY(pod_arena_create(NULL, &a));
    pod_setup setup = p->setup;
    setup.batch = batch;
    pod_status s = pod_network_compile(&p->net, &setup, &p->data, true, &p->target, a, &program);
    if (s == POD_OK) s = bytes_of(p, program, batch, bytes);
    pod_arena_destroy(a);
    return s;
}

/* Doubled until it does not fit, then halved between; memory grows with the batch. */
pod_status pod_fit_largest(const pod_planned *p, double limit_bytes, pod_fit *out)
{
    enum { MAX_BATCH = 1 << 24 };
    pod_fit f = {.unit =
                     (int64_t)pod_mesh_size(&p->setup.compile.mesh) * p->setup.compile.accumulate};
    int64_t yes = 0, no = 1;
    double bytes;
    while (no * f.unit <= MAX_BATCH) {
        POD_TRY(needs(p, no * f.unit, &bytes));
        if (bytes > limit_bytes) break;
        f.bytes = bytes;
        yes = no;
        no *= 2;
    }
    while (no - yes > 1) {
        const int64_t middle = yes + (no - yes) / 2;
        POD_TRY(needs(p, middle * f.unit, &bytes));
        if (bytes <= limit_bytes) {
            f.bytes = bytes;
            yes = middle;
        } else {
            no = middle;
        }
    }
    f.batch = yes * f.unit;
    *out = f;
    return POD_OK;
}
