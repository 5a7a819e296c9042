#include "runtime/measure/interval.h"

#include <math.h>

typedef struct filling {
    pod_interval *x;
    int n;
} filling;

static void take_piece(void *ctx, int rank, pod_job_span span, pod_stamp begin, pod_stamp end)
{
    (void)rank;
    const filling *f = ctx;
    for (int i = 0; i < f->n; i++) {
        pod_interval *x = &f->x[i];
        const pod_stamp from = begin > x->begin ? begin : x->begin;
        const pod_stamp until = end < x->end ? end : x->end;
        if (until <= from) continue;
        x->wall += until - from;
        x->by_span[span] += until - from;
    }
}

pod_status pod_intervals_fill(const pod_job *j, pod_stamp now, pod_interval x[], int n)
{
    filling f = {x, n};
    for (int i = 0; i < n; i++) x[i] = (pod_interval){.begin = x[i].begin, .end = x[i].end};
    return pod_account_walk(j, now, take_piece, &f);
}

pod_status pod_intervals_cut(const pod_job *j, pod_stamp now, pod_stamp begin, pod_stamp end,
                             pod_interval x[], int n)
{
    const pod_stamp part = (end - begin) / n, left = (end - begin) % n;
    for (int i = 0; i < n; i++) {
        x[i].begin = begin + part * i + (i < left ? i : left);
        x[i].end = begin + part * (i + 1) + (i + 1 < left ? i + 1 : left);
    }
    return pod_intervals_fill(j, now, x, n);
}

double pod_interval_goodput(const pod_interval *x)
{
    return x->wall > 0 ? (double)x->by_span[POD_JOB_STEP] / (double)x->wall : (double)NAN;
}
