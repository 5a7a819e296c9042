#include "runtime/goodput/advice.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what saves took -------------------------------------------------------------------------- */

static void count_kept(const pod_job_part *p, pod_saves *s)
{
    s->n_kept += p->n_kept;
    for (int64_t i = 0; i < p->n_kept && p->n_steps > 0; i++) {
        const int64_t at = p->kept[i] - p->step[0].step;
        if (at < 0 || at + 1 >= p->n_steps || p->step[at].step != p->kept[i]) continue;
        s->n_seen++;
        s->n_sync += p->kept_at[i] < p->step[at + 1].begin;
        s->writing_s += pod_stamp_seconds(p->kept_at[i] - p->step[at].end);
    }
}

/* What follows the last step of an attempt is a save that its end asked for. */
static void count_part(const pod_job_part *p, pod_saves *s)
{
    const pod_stamp last = p->n_steps > 0 ? p->step[p->n_steps - 1].begin : 0;
    for (int64_t i = 0; i < p->n_marks; i++) {
        const pod_job_mark *m = &p->mark[i];
        if (m->span != POD_JOB_SAVE || m->begin >= last) continue;
        s->cost_s += pod_stamp_seconds(m->end - m->begin);
        s->n++;
    }
    for (int64_t i = 0; i < p->n_steps; i++) {
        const pod_job_step *x = &p->step[i];
        s->cost_s += pod_stamp_seconds(x->save);
        s->n += x->save > 0;
        s->steps_s += pod_stamp_seconds(x->end - x->begin - x->save);
    }
    s->n_steps += p->n_steps;
    count_kept(p, s);
}

/* ---- which saves failed ---------------------------------------------------------------------------- */

typedef struct begun { /* the saves of one attempt, as its rank 0 tells */
    int64_t n;
    int64_t last;         /* its step; -1: there is none */
    int64_t open[2];      /* not whole, and may be under way yet: the later one first; -1 */
    int64_t n_failed, at; /* at: the step of the latest that failed; -1 */
} begun;

static void give_up(begun *b, int64_t step)
{
    if (step < 0) return;
    b->n_failed++;
    if (step > b->at) b->at = step;
}

static int by_step(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool is_kept(const pod_job_part *p, int64_t step)
{
    return p->n_kept > 0 && bsearch(&step, p->kept, (size_t)p->n_kept, sizeof step, by_step);
}

/* One may be written and one wait while a third begins; and behind one that is whole none is. */
static void begin_save(const pod_job_part *p, int64_t step, begun *b)
{
    if (step == b->last) return; /* the wait for it */
    b->last = step;
    b->n++;
    if (is_kept(p, step)) {
        give_up(b, b->open[1]);
        give_up(b, b->open[0]);
        b->open[0] = b->open[1] = -1;
        return;
    }
    give_up(b, b->open[1]);
    b->open[1] = b->open[0];
    b->open[0] = step;
}

/* Of what stands behind the last step, from mark m on. Where training failed, one span is but the
 * wait for what may have been under way: a save at the end has one of its own, before that. */
static bool is_save(const pod_job_part *p, int64_t m, bool is_behind)
{
    int64_t n = p->mark[m].span == POD_JOB_SAVE;
    if (n == 0 || !is_behind || p->end != POD_JOB_END_FAILED) return n > 0;
    while (++m < p->n_marks) n += p->mark[m].span == POD_JOB_SAVE;
    return n > 1;
}

static begun saves_of_part(const pod_job_part *p)
{
    begun b = {.last = -1, .open = {-1, -1}, .at = -1};
    int64_t done = p->first_step, m = 0;
    for (int64_t i = 0; i <= p->n_steps; i++) {
        for (; m < p->n_marks && (i == p->n_steps || p->mark[m].begin < p->step[i].begin); m++)
            if (done > p->first_step && is_save(p, m, i == p->n_steps)) begin_save(p, done, &b);
        if (i == p->n_steps) break;
        done = p->step[i].step;
        if (p->step[i].save > 0) begin_save(p, done, &b);
    }
    if (p->end == POD_JOB_END_NONE) return b; /* what it died in is no save that failed */
    give_up(&b, b.open[1]);
    give_up(&b, b.open[0]);
    return b;
}

/* Where the attempt behind `end` - 1 went on from; -1: there was none that got there. */
static int64_t gone_on_from(const pod_job *j, int end)
{
    for (int i = end; i < j->n_parts; i++)
        if (j->part[i].first_step >= 0) return j->part[i].first_step;
    return -1;
}

static void add_lost(const pod_job_part *p, int64_t from, int64_t to, pod_saves *s)
{
    int64_t n = 0;
    for (int64_t i = p->n_steps - 1; i >= 0 && p->step[i].step > from; i--) {
        if (p->step[i].step > to) continue;
        s->failed_s += pod_stamp_seconds(pod_job_step_work(&p->step[i]));
        n++;
    }
    if (p->head.rank == 0) s->n_failed_steps += n;
}

pod_saves pod_saves_of(const pod_job *j)
{
    pod_saves s = {0};
    int64_t kept = 0;
    for (int first = 0, end; first < j->n_parts; first = end) {
        begun b = {.at = -1};
        bool ended_well = false;
        end = pod_job_attempt_end(j, first);
        for (const pod_job_part *p = j->part + first; p < j->part + end; p++) {
            count_part(p, &s);
            ended_well |= p->end == POD_JOB_END_OK;
            if (p->head.rank == 0) b = saves_of_part(p);
            for (int64_t i = 0; i < p->n_kept; i++)
                if (p->kept[i] > kept) kept = p->kept[i];
        }
        s.n_begun += b.n;
        s.n_failed += b.n_failed;
        int64_t from = gone_on_from(j, end);
        if (from < 0) from = ended_well ? b.at : kept;
        for (int i = first; i < end; i++) add_lost(&j->part[i], from, b.at, &s);
    }
    return s;
}

/* ---- proposals ------------------------------------------------------------------------------- */

typedef struct adviser {
    pod_arena *arena;
    const pod_job *job;
    const pod_account *sum;
    const pod_stragglers *pace;
    pod_advice best[POD_MAX_ADVICE]; /* by gain */
    int n;
    pod_status status;
} adviser;

static double seconds_of(const adviser *v, pod_job_span s)
{
    return pod_stamp_seconds(v->sum->by_span[s]);
}

static double wall_s(const adviser *v) { return pod_stamp_seconds(v->sum->wall); }

static void propose(adviser *v, double gain, const char *fmt, ...) POD_PRINTF(3, 4);

static void propose(adviser *v, double gain, const char *fmt, ...)
{
    if (!(gain >= POD_ADVICE_LEAST) || v->status != POD_OK) return;
    int at = v->n;
    while (at > 0 && v->best[at - 1].gain < gain) at--;
    if (at == POD_MAX_ADVICE) return;
    va_list args;
    va_start(args, fmt);
    const char *text = pod_arena_vtext(v->arena, fmt, args);
    va_end(args);
    if (!text) {
        v->status = POD_E_NOMEM;
        return;
    }
    if (v->n < POD_MAX_ADVICE) v->n++;
    for (int i = v->n - 1; i > at; i--) v->best[i] = v->best[i - 1];
    v->best[at] = (pod_advice){gain, text};
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* The share of time that saving at an interval and doing steps again costs, to first order. Least at
 * Young's interval, sqrt(2 save mtbf) (study/job_model.h). */
static double overhead(double save_s, double mtbf_s, double interval_s)
{
    return save_s / interval_s + interval_s / (2 * mtbf_s);
}

/* No sooner than a step is done, and the checkpoint before is whole. */
static void advise_interval(adviser *v, const pod_saves *s)
{
    if (v->sum->n_disruptions == 0 || s->n == 0 || s->n_steps == 0) return;
    const double step_s = (s->steps_s + s->cost_s) / (double)s->n_steps;
    const double save_s = s->cost_s / (double)s->n;
    const double now_s = (s->steps_s + s->cost_s) / (double)s->n;
    const double writing_s = s->n_seen > 0 ? s->writing_s / (double)s->n_seen : 0;
    const double mtbf_s = wall_s(v) / v->sum->n_ranks / v->sum->n_disruptions;
    const double best_s = fmax(sqrt(2 * save_s * mtbf_s), fmax(step_s, writing_s));
    const double gain = overhead(save_s, mtbf_s, now_s) - overhead(save_s, mtbf_s, best_s);
    char every[32];
    snprintf(every, sizeof every, "%.0f steps", best_s / step_s);
    if (strcmp(every, "1 steps") == 0) snprintf(every, sizeof every, "step");
    propose(v, gain,
            "checkpoints every %s (%.3g s) instead of every %.0f (%.3g s) as it was on the mean: "
            "%.1f points of runtime "
            "goodput. A save costs %.3g s and is whole after %.3g s, a disruption comes every %.3g "
            "s; Young's interval is sqrt(2 x %.3g x %.3g)",
            every, best_s, now_s / step_s, now_s, 100 * gain, save_s, writing_s, mtbf_s, save_s,
            mtbf_s);
}

static void advise_saving(adviser *v)
{
    const pod_saves s = pod_saves_of(v->job);
    const double lost_s = seconds_of(v, POD_JOB_LOST_STEP);
    if (s.n_seen > 0 && s.n_sync == s.n_seen)
        propose(v, s.cost_s / wall_s(v),
                "asynchronous checkpoints (--checkpoint async) would win back up to %.4g s of rank "
                "time, %.1f points of runtime goodput: training stood still until each of %" PRId64
                " was whole",
                s.cost_s, 100 * s.cost_s / wall_s(v), s.n_seen);
    advise_interval(v, &s);
    if (s.n_failed > 0)
        propose(v, s.failed_s / wall_s(v),
                "checkpoints that become whole (a full disk? train's warnings tell): %" PRId64
                " of %" PRId64 " failed, which cost %.4g s of rank time, %.1f points of runtime "
                "goodput: %" PRId64 " steps that they would have kept were lost",
                s.n_failed, s.n_begun, s.failed_s, 100 * s.failed_s / wall_s(v), s.n_failed_steps);
    if (s.n == 0 && s.n_kept == 0)
        propose(v, lost_s / wall_s(v),
                "checkpoints while it trains (--checkpoint-every) would keep up to %.4g s of rank "
                "time, %.1f points of runtime goodput: %" PRId64 " steps were lost, none was saved",
                lost_s, 100 * lost_s / wall_s(v), v->sum->n_lost_steps);
}

/* ---- recovery -------------------------------------------------------------------------------- */

typedef struct recovery { /* rank time */
    const pod_job *job;
    pod_stamp pauses; /* that the launcher made between attempts */
    pod_stamp starts; /* from there to ranks' records, or of attempts that left none */
} recovery;

static pod_stamp overlap(const pod_account_piece *p, pod_stamp begin, pod_stamp end)
{
    const pod_stamp from = p->begin > begin ? p->begin : begin, to = p->end < end ? p->end : end;
    return to > from ? to - from : 0;
}

/* A start of its own stands at an attempt's begin; behind an attempt's end, those of attempts that
 * left no record. A launch that goes on with a disrupted one has a start like a restart's, but no
 * pause before it. */
static void take_recovery(void *ctx, const pod_account_piece *p)
{
    recovery *r = ctx;
    for (int i = 0; i < r->job->n_attempts && p->span == POD_JOB_RECOVERY; i++) {
        const pod_job_attempt *l = &r->job->attempt[i];
        const bool follows = i > 0 && l->launch == l[-1].launch && l[-1].end != 0;
        if (follows) r->pauses += overlap(p, l[-1].end, l->begin);
        if (l->attempt != p->attempt)
            r->starts += overlap(p, l->begin, l->end);
        else if (p->begin <= l->begin)
            r->starts += p->end - p->begin;
    }
}

/* Nothing else tells how long it takes until an end is seen. */
static void advise_recovery(adviser *v)
{
    const double recovery_s = seconds_of(v, POD_JOB_RECOVERY);
    const int n = v->sum->n_disruptions;
    const char *plural = n == 1 ? "" : "s";
    if (v->job->n_attempts == 0) {
        propose(v, recovery_s / wall_s(v),
                "minipod launch, which begins again by itself: behind %d disruption%s nothing ran "
                "for %.4g s of rank time, up to %.1f points of runtime goodput",
                n, plural, recovery_s, 100 * recovery_s / wall_s(v));
        return;
    }
    recovery r = {.job = v->job};
    if (v->status == POD_OK) v->status = pod_account_walk(v->job, 0, take_recovery, &r);
    const double pauses_s = pod_stamp_seconds(r.pauses), starts_s = pod_stamp_seconds(r.starts);
    propose(
        v, recovery_s / wall_s(v),
        "a shorter recovery: %d disruption%s cost %.4g s of rank time until ranks were back, up "
        "to %.1f points of runtime goodput: %.4g s until the end was seen (--watchdog), %.4g s "
        "of pauses (--backoff), %.4g s of starts",
        n, plural, recovery_s, 100 * recovery_s / wall_s(v),
        fmax(0, recovery_s - pauses_s - starts_s), pauses_s, starts_s);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void advise_input(adviser *v)
{
    const double waits_s = seconds_of(v, POD_JOB_INPUT_WAIT);
    propose(v, waits_s / wall_s(v),
            "more --input-threads, or for a file that is not kept whole a larger --data-cache: "
            "waits for "
            "input took "
            "%.4g s of rank time, up to %.1f points of runtime goodput",
            waits_s, 100 * waits_s / wall_s(v));
}

static void advise_start(adviser *v)
{
    static const pod_job_span starts[] = {POD_JOB_INIT, POD_JOB_PREP, POD_JOB_BUILD,
                                          POD_JOB_RESTORE};
    double start_s = 0;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        start_s += seconds_of(v, starts[i]);
    const double share = start_s / wall_s(v), longer = start_s / (2 * wall_s(v) - start_s);
    propose(
        v, share - longer,
        "a longer run: starting took %.4g s of rank time in %d attempt%s, %.1f %%; with twice the "
        "rest behind it %.1f %%, %.1f points",
        start_s, v->sum->n_attempts, v->sum->n_attempts == 1 ? "" : "s", 100 * share, 100 * longer,
        100 * (share - longer));
}

static void advise_evaluation(adviser *v)
{
    const double eval_s = seconds_of(v, POD_JOB_EVAL), gain = eval_s / wall_s(v) / 2;
    propose(v, gain,
            "half as many evaluations (--eval-every): they took %.4g s of rank time, %.1f points "
            "would be won",
            eval_s, 100 * gain);
}

/* Steps are the job's productive time but for what is counted elsewhere. */
static double share_of_steps(const adviser *v, double part_s)
{
    if (v->pace->steps_s <= 0) return 0;
    return part_s / v->pace->steps_s * seconds_of(v, POD_JOB_STEP) / wall_s(v);
}

static void advise_straggler(adviser *v)
{
    const pod_stragglers *p = v->pace;
    const double steps = (double)p->n_steps;
    int worst = -1;
    for (int r = 0; p->rank && r < p->n_ranks; r++)
        if (p->rank[r].is_slow && (worst < 0 || p->rank[r].factor > p->rank[worst].factor))
            worst = r;
    if (worst < 0) return;
    propose(v, share_of_steps(v, p->gain_s),
            "rank %d as fast as the others%s: steps %.1f %% shorter (%.4g ms instead of %.4g)",
            worst, p->n_slow > 1 ? ", and the other slow ones" : "", 100 * p->gain_s / p->steps_s,
            1e3 * (p->steps_s - p->gain_s) / steps, 1e3 * p->steps_s / steps);
}

static void advise_reduce(adviser *v)
{
    const pod_stragglers *p = v->pace;
    const double steps = (double)p->n_steps;
    propose(
        v, share_of_steps(v, p->exposed_s),
        "less to all-reduce in the open (--wire bf16, a larger --batch, --algo from coll "
        "--autotune): %.4g ms of a step's %.4g ms are waited for by every rank, up to %.1f %% of "
        "program goodput",
        1e3 * p->exposed_s / steps, 1e3 * p->steps_s / steps, 100 * p->exposed_s / p->steps_s);
}

pod_status pod_advise(pod_arena *a, const pod_job *j, const pod_account *sum,
                      const pod_stragglers *s, pod_advice out[POD_MAX_ADVICE], int *n)
{
    adviser v = {.arena = a, .job = j, .sum = sum, .pace = s};
    if (sum->wall > 0) {
        advise_saving(&v);
        advise_recovery(&v);
        advise_input(&v);
        advise_start(&v);
        advise_evaluation(&v);
        advise_straggler(&v);
        advise_reduce(&v);
    }
    for (int i = 0; i < v.n; i++) out[i] = v.best[i];
    *n = v.n;
    return v.status;
}
