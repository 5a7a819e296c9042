#include "runtime/trace/steptime.h"

#include <stddef.h>
#include <stdlib.h>

/* The spread of the pod_time that stands `offset` bytes into each row. */
static pod_spread spread_of_field(const pod_step_row *rows, int64_t n, size_t offset,
                                  double *values)
{
    for (int64_t i = 0; i < n; i++) {
        const pod_time *field = (const pod_time *)(const void *)((const char *)&rows[i] + offset);
        values[i] = pod_time_seconds(*field);
    }
    return pod_spread_of(values, n);
}

pod_status pod_step_stats_of(const pod_step_row *rows, int64_t n, pod_step_stats *out)
{
    double *values = malloc((size_t)(n > 0 ? n : 1) * sizeof values[0]);
    if (!values) return pod_fail(POD_E_NOMEM, "step statistics: out of memory");
    pod_step_stats s = {0};
    for (int64_t i = 0; i < n; i++) {
        values[i] = pod_time_seconds(rows[i].end - rows[i].begin);
        s.n_dropped += rows[i].n_dropped;
    }
    s.step = pod_spread_of(values, n);
    for (size_t p = 0; p < POD_N_PHASES; p++)
        s.phase[p] =
            spread_of_field(rows, n, offsetof(pod_step_row, phase) + p * sizeof(pod_time), values);
    s.other = spread_of_field(rows, n, offsetof(pod_step_row, other), values);
    s.comm = spread_of_field(rows, n, offsetof(pod_step_row, comm), values);
    free(values);
    *out = s;
    return POD_OK;
}

double pod_step_share(const pod_step_stats *s, pod_phase phase)
{
    return s->step.mean > 0 ? s->phase[phase].mean / s->step.mean : 0;
}

double pod_step_share_other(const pod_step_stats *s)
{
    return s->step.mean > 0 ? s->other.mean / s->step.mean : 0;
}
