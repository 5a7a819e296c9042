#include "runtime/goodput/deviation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/spread.h"

/* The smallest value that `share` of the sorted ones do not exceed. */
static double quantile(const double sorted[], int64_t n, double share)
{
    const int64_t at = (int64_t)ceil(share * (double)n) - 1;
    return sorted[at < 0 ? 0 : at];
}

/* Of sorted values; `off` has room for n. */
static double mean_undisturbed(const double sorted[], int64_t n, double median, double off[])
{
    for (int64_t i = 0; i < n; i++) off[i] = fabs(sorted[i] - median);
    const double most = 3 * 1.4826 * pod_spread_of(off, n).median;
    double sum = 0;
    int64_t n_near = 0;
    for (int64_t i = 0; i < n; i++) {
        if (fabs(sorted[i] - median) > most) continue;
        sum += sorted[i];
        n_near++;
    }
    return n_near > 0 ? sum / (double)n_near : median;
}

/* Into `room` (2 n): the last n_last of n, sorted. */
static pod_spread sort_last(const double step_s[], int64_t n, int64_t n_last, double room[])
{
    memcpy(room, step_s + (n - n_last), (size_t)n_last * sizeof room[0]);
    return pod_spread_of(room, n_last);
}

pod_status pod_deviation_of_steps(const double step_s[], int64_t n, pod_deviation *out)
{
    const double unknown = (double)NAN;
    pod_deviation d = {.n_steps = n,
                       .n_recent = n < POD_DEVIATION_RECENT ? n : POD_DEVIATION_RECENT,
                       .n_baseline = n < POD_DEVIATION_BASELINE ? n : POD_DEVIATION_BASELINE,
                       .median_s = unknown,
                       .undisturbed_s = unknown,
                       .recent_s = unknown,
                       .baseline_s = unknown,
                       .deviation = unknown};
    if (n > 0) {
        double *room = malloc((size_t)n * 2 * sizeof room[0]);
        if (!room) return pod_fail(POD_E_NOMEM, "step deviation: out of memory");
        d.median_s = sort_last(step_s, n, n, room).median;
        d.undisturbed_s = mean_undisturbed(room, n, d.median_s, room + n);
        d.baseline_s = sort_last(step_s, n, d.n_baseline, room).median;
        (void)sort_last(step_s, n, d.n_recent, room);
        d.recent_s = quantile(room, d.n_recent, 0.9);
        if (d.baseline_s > 0) d.deviation = d.recent_s / d.baseline_s - 1;
        free(room);
    }
    *out = d;
    return POD_OK;
}

/* Step i of a part, by the slowest rank that tells of it. Ranks of an attempt do the same steps. */
static double longest_s(const pod_job *j, const pod_job_part *first, int64_t i)
{
    pod_stamp longest = 0;
    for (const pod_job_part *p = first; p < j->part + j->n_parts; p++) {
        if (p->head.attempt != first->head.attempt) break;
        if (i >= p->n_steps || p->step[i].step != first->step[i].step) continue;
        const pod_stamp took = p->step[i].end - p->step[i].begin;
        if (took > longest) longest = took;
    }
    return pod_stamp_seconds(longest);
}

pod_status pod_deviation_of(const pod_job *j, pod_deviation *out)
{
    int64_t n = 0, room = 1;
    for (int i = 0; i < j->n_parts; i++) room += j->part[i].n_steps;
    double *step_s = malloc((size_t)room * sizeof step_s[0]);
    if (!step_s) return pod_fail(POD_E_NOMEM, "step deviation: out of memory");
    for (int first = 0; first < j->n_parts;) {
        const pod_job_part *p = &j->part[first];
        for (int64_t i = 1; i < p->n_steps; i++) step_s[n++] = longest_s(j, p, i);
        while (first < j->n_parts && j->part[first].head.attempt == p->head.attempt) first++;
    }
    const pod_status status = pod_deviation_of_steps(step_s, n, out);
    free(step_s);
    return status;
}
