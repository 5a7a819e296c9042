#include "bench/launch/log.h"

static void look_at(const pod_job_part *p, pod_launch_log *l)
{
    l->began_now = true;
    if (p->first_step > l->step) l->step = p->first_step;
    if (p->n_steps > 0) l->step = p->step[p->n_steps - 1].step;
    l->stopped = p->end == POD_JOB_END_STOPPED;
    l->finished = p->end == POD_JOB_END_OK;
    if (p->end == POD_JOB_END_FAILED && p->end_text) l->failure = p->end_text;
}

pod_launch_log pod_launch_log_of(const pod_job *j, int attempt)
{
    pod_launch_log l = {.is_read = true, .failure = ""};
    for (int i = 0; i < j->n_parts; i++) {
        const pod_job_part *p = &j->part[i];
        if (p->head.rank != 0 || p->head.attempt > attempt) continue;
        l.began = true;
        if (p->first_step >= 0 && p->first_step < l.kept) l.kept = p->first_step;
        for (int64_t k = 0; k < p->n_kept; k++)
            if (p->kept[k] > l.kept) l.kept = p->kept[k];
        if (p->head.attempt == attempt) look_at(p, &l);
    }
    return l;
}

int pod_launch_log_struck(const pod_job *j, int attempt, const pod_fault fault[], int n_faults)
{
    for (int i = 0; i < j->n_parts; i++) {
        const pod_job_part *p = &j->part[i];
        if (p->head.attempt != attempt || p->end != POD_JOB_END_NONE || p->n_faults == 0) continue;
        const int last = p->fault[p->n_faults - 1];
        if (last >= 0 && last < n_faults && fault[last].kind == POD_FAULT_KILL) return p->head.rank;
    }
    return -1;
}
