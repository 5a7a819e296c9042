#include "runtime/fleet/attempt.h"

#include "kernels/base/arith.h"
#include "kernels/base/assert.h"

/* The intervals between saves: `n`, the first n - 1 of `every` steps. */
typedef struct intervals {
    int64_t n, last_steps;
    pod_stamp work, first, period, last; /* steps; and with the wait and the save: of the first,
                                            those between, and of the last unless it is the first */
} intervals;

static intervals intervals_of(const pod_attempt *a)
{
    const pod_job_sim_plan *p = a->plan;
    const int64_t left = p->n_steps - a->n_before;
    POD_DCHECK(left >= 1 && p->every >= 1, "%lld steps, saved every %lld", (long long)left,
               (long long)p->every);
    intervals v = {.n = pod_div_up(left, p->every)};
    v.last_steps = left - (v.n - 1) * p->every;
    v.work = (v.n > 1 ? p->every : v.last_steps) * p->step;
    v.first = v.work + p->save;
    v.period = pod_max(p->every * p->step, p->write) + p->save;
    v.last = pod_max(v.last_steps * p->step, p->write) + p->save;
    return v;
}

/* When save number c, from 1, has been copied, from the first step on. */
static pod_stamp copied_at(const intervals *v, int64_t c)
{
    const int64_t between = c == v->n ? c - 2 : c - 1;
    return v->first + (c > 1 ? between * v->period + (c == v->n ? v->last : 0) : 0);
}

static pod_stamp start_length(const pod_attempt *a)
{
    const pod_job_sim_plan *p = a->plan;
    return a->copy + p->launch + p->init + p->prep + p->build + (a->n_before > 0 ? p->restore : 0);
}

pod_stamp pod_attempt_length(const pod_attempt *a)
{
    const intervals v = intervals_of(a);
    const double longest = 4e18, about = (double)v.n * (double)v.period;
    if (about > longest) return INT64_MAX / 2;
    return start_length(a) + copied_at(&v, v.n) + a->plan->write;
}

/* Moves up to what is left to the span. */
static void spend(pod_attempt_state *s, pod_stamp *left, pod_stamp ns, pod_job_span span)
{
    const pod_stamp spent = pod_min(*left, ns);
    s->by_span[span] += spent;
    *left -= spent;
}

/* Counts the intervals whose save has been copied after `passed` of steps and saves. */
static int64_t count_copied(const intervals *v, pod_stamp passed)
{
    if (passed < v->first) return 0;
    if (passed >= copied_at(v, v->n)) return v->n;
    const int64_t between = v->period > 0 ? (passed - v->first) / v->period : v->n;
    return pod_min(1 + between, v->n - 1);
}

/* The steps of the first c intervals. */
static int64_t steps_of(const pod_attempt *a, const intervals *v, int64_t c)
{
    return c < v->n ? c * a->plan->every : a->plan->n_steps - a->n_before;
}

pod_attempt_state pod_attempt_at(const pod_attempt *a, pod_stamp elapsed)
{
    const pod_job_sim_plan *p = a->plan;
    pod_attempt_state s = {.n_kept = a->n_before, .n_done = a->n_before};
    pod_stamp left = elapsed;
    spend(&s, &left, a->copy, POD_JOB_SAVE);
    spend(&s, &left, p->launch, a->is_first ? POD_JOB_INIT : POD_JOB_RECOVERY);
    spend(&s, &left, p->init, POD_JOB_INIT);
    spend(&s, &left, p->prep, POD_JOB_PREP);
    spend(&s, &left, p->build, POD_JOB_BUILD);
    if (a->n_before > 0) spend(&s, &left, p->restore, POD_JOB_RESTORE);
    if (elapsed < start_length(a)) return s;

    const intervals v = intervals_of(a);
    const int64_t n_copied = count_copied(&v, left);
    const pod_stamp since_copy = left - (n_copied > 0 ? copied_at(&v, n_copied) : 0);
    const int64_t n_next = n_copied + 1 < v.n ? p->every : v.last_steps;
    const pod_stamp next = n_copied < v.n ? pod_min(since_copy, n_next * p->step) : 0;
    const int64_t n_whole = n_copied > 0 && since_copy < p->write ? n_copied - 1 : n_copied;
    const pod_stamp steps = steps_of(a, &v, n_copied) * p->step + next;
    s.by_span[POD_JOB_STEP] = steps;
    s.by_span[POD_JOB_SAVE] += left - steps;
    s.n_saves = n_whole;
    s.n_kept += steps_of(a, &v, n_whole);
    s.n_done += steps_of(a, &v, n_copied) + (p->step > 0 ? next / p->step : 0);
    s.unkept = steps - steps_of(a, &v, n_whole) * p->step;
    return s;
}
