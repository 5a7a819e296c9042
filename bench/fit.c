#include "bench/fit.h"

double pod_fit_bytes(const pod_planned *p, const pod_program *program)
{
    return (double)(program->step_bytes + program->window_bytes + program->store_bytes) +
           pod_planned_fed_bytes(p);
}

static pod_status needs(pod_planned *p, int64_t batch, double *bytes)
{
    pod_arena *a;
    const pod_program *program;
    POD_TRY(pod_arena_create(NULL, &a));
    const int64_t asked = p->setup.batch;
    p->setup.batch = batch;
    pod_status s = pod_network_compile(&p->net, &p->setup, &p->data, true, &p->target, a, &program);
    if (s == POD_OK) *bytes = pod_fit_bytes(p, program);
    p->setup.batch = asked;
    pod_arena_destroy(a);
    return s;
}

/* Doubled until it does not fit, then halved between; memory grows with the batch. */
pod_status pod_fit_largest(pod_planned *p, double limit_bytes, pod_fit *out)
{
    enum { MAX_BATCH = 1 << 24 };
    pod_fit f = {.unit = (int64_t)pod_mesh_size(&p->setup.mesh) * p->setup.accumulate};
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
