#include "runtime/goodput/saves.h"

/* ---- what they took -------------------------------------------------------------------------- */

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

/* ---- which failed ---------------------------------------------------------------------------- */

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

static bool is_kept(const pod_job_part *p, int64_t step)
{
    int64_t low = 0, high = p->n_kept; /* they grow */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (p->kept[middle] < step)
            low = middle + 1;
        else
            high = middle;
    }
    return low < p->n_kept && p->kept[low] == step;
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
        for (end = first;
             end < j->n_parts && j->part[end].head.attempt == j->part[first].head.attempt; end++) {
            const pod_job_part *p = &j->part[end];
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
