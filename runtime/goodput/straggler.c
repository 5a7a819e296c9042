#include "runtime/goodput/straggler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/spread.h"

/* The compared steps: S of them, of R ranks. */
typedef struct paces {
    int n_ranks;
    int64_t n_steps;
    int64_t *step;                            /* (S) their numbers */
    double *own, *reduce, *input, *core_wait; /* (S, R) seconds; own above 0 */
    double *excess;                           /* (S, R) log of own / median of the other ranks' */
    double *column;                           /* (max(S, R)) to sort in */
    double steps_s, exposed_s;
} paces;

typedef struct stretch { /* of compared steps; end excluded; none where both are 0 */
    int64_t begin, end;
    double sum;
} stretch;

static bool is_within(stretch x, int64_t s) { return s >= x.begin && s < x.end; }

/* ---- which steps ----------------------------------------------------------------------------- */

/* Whether every rank of the attempt left a file. */
static bool is_whole(const pod_job *j, int first, int end)
{
    if (end - first != j->part[first].head.ranks) return false;
    for (int i = first; i < end; i++)
        if (j->part[i].head.rank != i - first) return false;
    return true;
}

/* What it waited for a core in all of the step is taken off in proportion: it waits as much for one
 * while it looks for messages. */
static double own_time_s(const pod_job_step *s)
{
    const pod_stamp took = s->end - s->begin, alone = took - s->core_wait;
    const pod_stamp own = took - s->reduce - s->input - s->save;
    const double on_cores = took > 0 ? (double)alone / (double)took : 1;
    return pod_stamp_seconds(own) * on_cores > 1e-9 ? pod_stamp_seconds(own) * on_cores : 1e-9;
}

static double take_step(paces *p, const pod_job_part *part, const int64_t at[])
{
    double longest_s = 0;
    pod_stamp least_wait = INT64_MAX;
    for (int r = 0; r < p->n_ranks; r++) {
        const pod_job_step *of = &part[r].step[at[r]];
        const int64_t i = p->n_steps * p->n_ranks + r;
        p->own[i] = own_time_s(of);
        p->reduce[i] = pod_stamp_seconds(of->reduce);
        p->input[i] = pod_stamp_seconds(of->input);
        p->core_wait[i] = pod_stamp_seconds(of->core_wait);
        if (of->reduce < least_wait) least_wait = of->reduce;
        longest_s = fmax(longest_s, pod_stamp_seconds(of->end - of->begin));
    }
    p->exposed_s += pod_stamp_seconds(least_wait);
    p->step[p->n_steps] = part[0].step[at[0]].step;
    return longest_s;
}

/* The steps that all ranks of an attempt did, but its first one; a log on a full disk may lack some.
 * `at` (n_ranks) is which of each rank's steps. */
static void take_steps(paces *p, const pod_job_part *part, int64_t at[])
{
    for (int r = 0; r < p->n_ranks; r++) at[r] = 1;
    for (; at[0] < part[0].n_steps; at[0]++) {
        const int64_t step = part[0].step[at[0]].step;
        bool is_there = true;
        for (int r = 1; r < p->n_ranks; r++) {
            while (at[r] < part[r].n_steps && part[r].step[at[r]].step < step) at[r]++;
            is_there &= at[r] < part[r].n_steps && part[r].step[at[r]].step == step;
        }
        if (!is_there) continue;
        p->steps_s += take_step(p, part, at);
        p->n_steps++;
    }
}

/* Attempts may have had other meshes: those with the count of ranks that has most steps count, of
 * equal ones the first. */
static int pick_ranks(const pod_job *j)
{
    int64_t most = -1;
    int ranks = 0;
    for (int first = 0; first < j->n_parts; first = pod_job_attempt_end(j, first)) {
        int64_t n = 0;
        for (int i = first; i < j->n_parts; i = pod_job_attempt_end(j, i))
            if (j->part[i].head.ranks == j->part[first].head.ranks && j->part[i].head.rank == 0)
                n += j->part[i].n_steps;
        if (n <= most) continue;
        most = n;
        ranks = j->part[first].head.ranks;
    }
    return ranks;
}

static pod_status take_paces(pod_arena *a, const pod_job *j, paces *p)
{
    *p = (paces){.n_ranks = pick_ranks(j)};
    if (p->n_ranks == 0 || p->n_ranks > j->n_parts) return POD_OK;
    int64_t *at = POD_ARENA_NEW(a, int64_t, p->n_ranks), most = 1;
    for (int i = 0; i < j->n_parts; i++)
        if (j->part[i].head.rank == 0) most += j->part[i].n_steps;
    const int64_t n = most * p->n_ranks;
    p->step = POD_ARENA_NEW(a, int64_t, most);
    p->own = POD_ARENA_NEW(a, double, n);
    p->reduce = POD_ARENA_NEW(a, double, n);
    p->input = POD_ARENA_NEW(a, double, n);
    p->core_wait = POD_ARENA_NEW(a, double, n);
    p->excess = POD_ARENA_NEW(a, double, n);
    p->column = POD_ARENA_NEW(a, double, most > p->n_ranks ? most : p->n_ranks);
    if (!at || !p->step || !p->own || !p->reduce || !p->input || !p->core_wait || !p->excess ||
        !p->column)
        return POD_E_NOMEM;
    for (int first = 0, end; first < j->n_parts; first = end) {
        end = pod_job_attempt_end(j, first);
        if (is_whole(j, first, end) && end - first == p->n_ranks)
            take_steps(p, &j->part[first], at);
    }
    return POD_OK;
}

/* ---- how they differ ------------------------------------------------------------------------- */

static double median_of(double *values, int64_t n) { return pod_spread_of(values, n).median; }

/* Of rank r's values, steps begin .. end - 1. */
static double median_of_rank(const paces *p, const double *values, int r, stretch in)
{
    for (int64_t s = in.begin; s < in.end; s++)
        p->column[s - in.begin] = values[s * p->n_ranks + r];
    return median_of(p->column, in.end - in.begin);
}

/* How many of n sorted values are below x. */
static int count_below(const double sorted[], int n, double x)
{
    int low = 0, high = n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (sorted[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The median of sorted values without the one that equals `own`. */
static double median_without(const double sorted[], int n, double own)
{
    const int at = count_below(sorted, n, own);
    const int low = (n - 2) / 2, high = (n - 1) / 2; /* of the n - 1 others */
    return (sorted[low + (low >= at)] + sorted[high + (high >= at)]) / 2;
}

static void compare_ranks(paces *p)
{
    const int n = p->n_ranks;
    for (int64_t s = 0; s < p->n_steps; s++) {
        const double *own = p->own + s * n;
        memcpy(p->column, own, (size_t)n * sizeof own[0]);
        (void)pod_spread_of(p->column, n); /* sorts */
        for (int r = 0; r < n; r++)
            p->excess[s * n + r] = log(own[r] / median_without(p->column, n, own[r]));
    }
}

/* ---- who is slow ----------------------------------------------------------------------------- */

/* Where a rank's excess is high, in deviations and at most MOST of them, as far as its sum falls by
 * DRIFT a step (Page, 1954). What is less than LEAST of a step is equal. */
static stretch find_stretch(const paces *p, int r, double scatter)
{
    const double drift = 0.5, most = 2, least = 0.015;
    stretch best = {0}, now = {0};
    for (int64_t s = 0; s < p->n_steps; s++) {
        const double excess = p->excess[s * p->n_ranks + r] / fmax(scatter, least);
        if (now.sum <= 0) now = (stretch){.begin = s};
        now.sum += fmax(-most, fmin(most, excess)) - drift;
        now.end = s + 1;
        if (now.sum > best.sum) best = now;
    }
    return best;
}

/* The median outside of the stretch; infinite where nothing is. */
static double median_outside(const paces *p, int r, stretch x)
{
    int64_t n = 0;
    if (x.end - x.begin == p->n_steps) return (double)INFINITY;
    for (int64_t s = 0; s < p->n_steps; s++)
        if (!is_within(x, s)) p->column[n++] = p->excess[s * p->n_ranks + r];
    return median_of(p->column, n);
}

/* Standard deviation of a rank's excess, from its absolute deviations from its median within the
 * stretch and outside. */
static double scatter_of(const paces *p, int r, stretch x)
{
    const double inside = median_of_rank(p, p->excess, r, x), outside = median_outside(p, r, x);
    for (int64_t s = 0; s < p->n_steps; s++)
        p->column[s] = fabs(p->excess[s * p->n_ranks + r] - (is_within(x, s) ? inside : outside));
    return 1.4826 * median_of(p->column, p->n_steps);
}

/* That of the middle rank, the lower one where there are two: first round one median each, by which
 * stretches are found, then round the medians of these. */
static pod_status find_scatter(const paces *p, pod_arena *a, double *out)
{
    const stretch all = {0, p->n_steps, 0};
    double *scatter = POD_ARENA_NEW(a, double, p->n_ranks), rough = 0;
    if (!scatter) return POD_E_NOMEM;
    for (int pass = 0; pass < 2; pass++) {
        for (int r = 0; r < p->n_ranks; r++)
            scatter[r] = scatter_of(p, r, pass == 0 ? all : find_stretch(p, r, rough));
        (void)pod_spread_of(scatter, p->n_ranks);
        rough = scatter[(p->n_ranks - 1) / 2];
    }
    *out = rough;
    return POD_OK;
}

/* Whether the median excess of the stretch is no chance: more than `deviations` of what it comes to
 * where ranks are alike. Ranks that share cores scatter by as much as the step, and one that got no
 * core for some steps gets none in the next ones either: LASTING steps tell no more than one. */
static bool is_late(const paces *p, int r, stretch x, double scatter, double deviations)
{
    const double lasting = 6, n = (double)(x.end - x.begin);
    return median_of_rank(p, p->excess, r, x) >=
           fmax(log(POD_STRAGGLER_LEAST), deviations * scatter * sqrt(lasting / n));
}

/* A stretch is the best of many, so it has to stand out more than all steps. */
static stretch find_slow(const paces *p, int r, double scatter)
{
    const stretch all = {0, p->n_steps, 0}, none = {0};
    const stretch x = find_stretch(p, r, scatter);
    if (p->n_steps < POD_STRAGGLER_MIN_STEPS) return none;
    if (x.end - x.begin >= POD_STRAGGLER_MIN_STEPS &&
        median_outside(p, r, x) < median_of_rank(p, p->excess, r, x) / 2 &&
        is_late(p, r, x, scatter, 7.5))
        return x;
    return is_late(p, r, all, scatter, 4) ? all : none;
}

/* A rank's own times against its history: the last 100 steps and the 1,000 before them; of fewer
 * steps the later half and the earlier one. */
static double score_of_history(const paces *p, int r)
{
    const int64_t n = p->n_steps, n_last = n < 200 ? n / 2 : 100;
    const stretch last = {n - n_last, n, 0};
    const stretch before = {n - n_last > 1000 ? n - n_last - 1000 : 0, n - n_last, 0};
    const double now = median_of_rank(p, p->own, r, last);
    return now > 0 ? fmin(1, median_of_rank(p, p->own, r, before) / now) : 1;
}

/* Outside of the stretch against inside, what slows all ranks taken out. */
static double score_of_stretch(const paces *p, int r, stretch x)
{
    return fmin(1, exp(median_outside(p, r, x) - median_of_rank(p, p->excess, r, x)));
}

static pod_rank_pace judge(const paces *p, int r, stretch slow)
{
    const stretch all = {0, p->n_steps, 0};
    pod_rank_pace k = {.own_s = median_of_rank(p, p->own, r, all),
                       .reduce_s = median_of_rank(p, p->reduce, r, all),
                       .input_s = median_of_rank(p, p->input, r, all),
                       .core_wait_s = median_of_rank(p, p->core_wait, r, all),
                       .factor = 1,
                       .waits_for = -1};
    k.is_slow = slow.end > slow.begin;
    k.is_throughout = slow.end - slow.begin == p->n_steps;
    const bool is_for_a_while = k.is_slow && !k.is_throughout;
    const double excess = median_of_rank(p, p->excess, r, is_for_a_while ? slow : all);
    k.relative = fmin(1, exp(-excess));
    k.individual = is_for_a_while ? score_of_stretch(p, r, slow) : score_of_history(p, r);
    if (!k.is_slow) return k;
    k.factor = exp(excess);
    k.from = p->step[slow.begin];
    k.until = p->step[slow.end - 1];
    return k;
}

/* ---- who waits ------------------------------------------------------------------------------- */

typedef struct verdicts {
    pod_rank_pace *rank; /* (R) */
    stretch *slow;       /* (R) */
    int *last;           /* (S) the slow rank that is last in a step; -1: none is slow in it */
    double *waits_s;     /* (R) for the slow rank at hand, of all its steps */
    double *most_s;      /* (R) the most that the rank waits for any */
    double gain_s;
} verdicts;

/* The slow rank that is last in a step, -1: none is slow in it; what the step would win if those
 * that are slow were as fast as the others goes to *gain_s. */
static int find_last(const paces *p, const verdicts *v, int64_t s, double *gain_s)
{
    const double *own = p->own + s * p->n_ranks;
    int last = -1;
    double longest = 0, would_be = 0;
    for (int r = 0; r < p->n_ranks; r++) {
        const bool slow = is_within(v->slow[r], s);
        longest = fmax(longest, own[r]);
        would_be = fmax(would_be, slow ? own[r] / v->rank[r].factor : own[r]);
        if (slow && (last < 0 || own[r] > own[last])) last = r;
    }
    *gain_s = longest - would_be;
    return last;
}

/* What others wait for one slow rank: the steps in which it is the last lie in its own stretch. */
static void find_waits_for(const paces *p, verdicts *v, int slow)
{
    const int n = p->n_ranks;
    memset(v->waits_s, 0, (size_t)n * sizeof v->waits_s[0]);
    for (int64_t s = v->slow[slow].begin; s < v->slow[slow].end; s++) {
        const double *reduce = p->reduce + s * n;
        if (v->last[s] != slow) continue;
        for (int r = 0; r < n; r++) /* what the last one waits for itself is the way of the data */
            if (!is_within(v->slow[r], s)) v->waits_s[r] += fmax(0, reduce[r] - reduce[slow]);
    }
    for (int r = 0; r < n; r++) {
        v->rank[r].waits_s += v->waits_s[r] / (double)p->n_steps;
        if (v->waits_s[r] <= v->most_s[r]) continue;
        v->most_s[r] = v->waits_s[r];
        v->rank[r].waits_for = slow;
    }
}

static pod_status find_waits(const paces *p, pod_arena *a, verdicts *v)
{
    v->last = POD_ARENA_NEW(a, int, p->n_steps);
    v->waits_s = POD_ARENA_NEW(a, double, p->n_ranks);
    v->most_s = POD_ARENA_NEW(a, double, p->n_ranks);
    if (!v->last || !v->waits_s || !v->most_s) return POD_E_NOMEM;
    for (int64_t s = 0; s < p->n_steps; s++) {
        double gain_s;
        v->last[s] = find_last(p, v, s, &gain_s);
        if (v->last[s] >= 0) v->gain_s += gain_s;
    }
    for (int r = 0; r < p->n_ranks; r++)
        if (v->rank[r].is_slow) find_waits_for(p, v, r);
    return POD_OK;
}

static pod_status judge_all(const paces *p, pod_arena *a, pod_stragglers *out)
{
    const int n = p->n_ranks;
    double scatter;
    verdicts v = {.rank = POD_ARENA_NEW(a, pod_rank_pace, n), .slow = POD_ARENA_NEW(a, stretch, n)};
    if (!v.rank || !v.slow) return POD_E_NOMEM;
    POD_TRY(find_scatter(p, a, &scatter));
    for (int r = 0; r < n; r++) {
        v.slow[r] = find_slow(p, r, scatter);
        v.rank[r] = judge(p, r, v.slow[r]);
        out->n_slow += v.rank[r].is_slow;
    }
    if (out->n_slow > 0) POD_TRY(find_waits(p, a, &v));
    out->rank = v.rank;
    out->scatter = scatter;
    out->gain_s = v.gain_s;
    return POD_OK;
}

pod_status pod_stragglers_of(pod_arena *a, const pod_job *j, pod_stragglers *out)
{
    paces p;
    pod_stragglers found = {0};
    POD_TRY(take_paces(a, j, &p));
    found.n_ranks = p.n_ranks;
    found.n_steps = p.n_steps;
    found.steps_s = p.steps_s;
    found.exposed_s = p.exposed_s;
    if (p.n_ranks >= 2 && p.n_steps >= 2) {
        compare_ranks(&p);
        POD_TRY(judge_all(&p, a, &found));
    }
    *out = found;
    return POD_OK;
}

/* ---- how steps stray -------------------------------------------------------------------------- */

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
static double longest_s(const pod_job_part *first, const pod_job_part *end, int64_t i)
{
    pod_stamp longest = 0;
    for (const pod_job_part *p = first; p < end; p++) {
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
    for (int first = 0, end; first < j->n_parts; first = end) {
        const pod_job_part *p = &j->part[first];
        end = pod_job_attempt_end(j, first);
        for (int64_t i = 1; i < p->n_steps; i++) step_s[n++] = longest_s(p, j->part + end, i);
    }
    const pod_status status = pod_deviation_of_steps(step_s, n, out);
    free(step_s);
    return status;
}
