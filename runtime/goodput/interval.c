#include "runtime/goodput/interval.h"

#include <math.h>

typedef struct filling {
    pod_interval *x;
    int n;
    bool has_kept, has_unsaved; /* steps */
} filling;

static void take_piece(void *ctx, const pod_account_piece *p)
{
    filling *f = ctx;
    f->has_unsaved |= p->is_unsaved;
    f->has_kept |= p->span == POD_JOB_STEP && !p->is_unsaved;
    for (int i = 0; i < f->n; i++) {
        pod_interval *x = &f->x[i];
        const pod_stamp from = p->begin > x->begin ? p->begin : x->begin;
        const pod_stamp until = p->end < x->end ? p->end : x->end;
        if (until <= from) continue;
        x->wall += until - from;
        x->by_span[p->span] += until - from;
        if (p->is_unsaved) x->unsaved += until - from;
    }
}

pod_status pod_intervals_fill(const pod_job *j, pod_stamp now, pod_interval x[], int n)
{
    filling f = {.x = x, .n = n};
    for (int i = 0; i < n; i++) x[i] = (pod_interval){.begin = x[i].begin, .end = x[i].end};
    POD_TRY(pod_account_walk(j, now, take_piece, &f));
    for (int i = 0; i < n; i++) x[i].awaits_save = f.has_unsaved && !f.has_kept;
    return POD_OK;
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

pod_stamp pod_interval_productive(const pod_interval *x)
{
    return x->by_span[POD_JOB_STEP] - x->unsaved;
}

double pod_interval_goodput(const pod_interval *x)
{
    if (x->wall <= 0 || x->awaits_save) return (double)NAN;
    return (double)pod_interval_productive(x) / (double)x->wall;
}
