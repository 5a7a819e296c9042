#include "runtime/measure/straggler.h"

#include <math.h>
#include <string.h>

#include "runtime/core/spread.h"

#define MARGIN 1.03 /* times another's own time is as long */

/* The compared steps: S of them, of R ranks. */
typedef struct paces {
    int n_ranks;
    int64_t n_steps;
    int64_t *step;                            /* (S) their numbers */
    double *own, *reduce, *input, *core_wait; /* (S, R) seconds; own above 0 */
    double *excess;                           /* (S, R) log of own / median of the other ranks' */
    double *place;  /* (S, R) among the ranks of the step, 0 in the middle */
    double *column; /* (max(S, R)) to sort in */
    double steps_s, exposed_s;
} paces;

typedef struct stretch { /* of compared steps; end excluded; none where both are 0 */
    int64_t begin, end;
    double sum;
} stretch;

static bool is_within(stretch x, int64_t s) { return s >= x.begin && s < x.end; }

/* ---- which steps ----------------------------------------------------------------------------- */

/* Parts first .. answer - 1 are one attempt's. */
static int end_of_attempt(const pod_job *j, int first)
{
    int end = first + 1;
    while (end < j->n_parts && j->part[end].head.attempt == j->part[first].head.attempt) end++;
    return end;
}

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

/* The steps that all ranks of an attempt did, but its first one: takes them where `take`, else only
 * counts them. `at` (n_ranks) is which of each rank's steps. */
static void walk_steps(paces *p, const pod_job_part *part, int64_t at[], bool take)
{
    for (int r = 0; r < p->n_ranks; r++) at[r] = 1;
    for (;;) {
        int64_t latest = INT64_MIN;
        for (int r = 0; r < p->n_ranks; r++) {
            if (at[r] >= part[r].n_steps) return;
            if (part[r].step[at[r]].step > latest) latest = part[r].step[at[r]].step;
        }
        int n_there = 0;
        for (int r = 0; r < p->n_ranks; r++)
            if (part[r].step[at[r]].step == latest) n_there++;
        if (n_there == p->n_ranks) {
            if (take) p->steps_s += take_step(p, part, at);
            p->n_steps++;
        }
        for (int r = 0; r < p->n_ranks; r++)
            at[r] += n_there == p->n_ranks || part[r].step[at[r]].step < latest;
    }
}

static void walk_attempts(paces *p, const pod_job *j, int64_t at[], bool take)
{
    p->n_steps = 0;
    for (int first = 0, end; first < j->n_parts; first = end) {
        end = end_of_attempt(j, first);
        if (is_whole(j, first, end) && end - first == p->n_ranks)
            walk_steps(p, &j->part[first], at, take);
    }
}

/* Attempts may have had other meshes: those with the count of ranks that has most steps count. */
static int pick_ranks(const pod_job *j)
{
    int picked = 0;
    int64_t most = 0;
    for (int i = 0; i < j->n_parts; i++) {
        int64_t n_steps = 0;
        const int ranks = j->part[i].head.ranks;
        for (int k = 0; k < j->n_parts; k++)
            if (j->part[k].head.ranks == ranks && j->part[k].head.rank == 0)
                n_steps += j->part[k].n_steps;
        if (n_steps > most) {
            most = n_steps;
            picked = ranks;
        }
        while (i + 1 < j->n_parts && j->part[i + 1].head.attempt == j->part[i].head.attempt) i++;
    }
    return picked;
}

static pod_status take_paces(pod_arena *a, const pod_job *j, paces *p)
{
    *p = (paces){.n_ranks = pick_ranks(j)};
    if (p->n_ranks == 0 || p->n_ranks > j->n_parts) return POD_OK;
    int64_t *at = POD_ARENA_NEW(a, int64_t, p->n_ranks);
    if (!at) return POD_E_NOMEM;
    walk_attempts(p, j, at, false);
    const int64_t n = p->n_steps * p->n_ranks;
    p->step = POD_ARENA_NEW(a, int64_t, p->n_steps);
    p->own = POD_ARENA_NEW(a, double, n);
    p->reduce = POD_ARENA_NEW(a, double, n);
    p->input = POD_ARENA_NEW(a, double, n);
    p->core_wait = POD_ARENA_NEW(a, double, n);
    p->excess = POD_ARENA_NEW(a, double, n);
    p->place = POD_ARENA_NEW(a, double, n);
    p->column = POD_ARENA_NEW(a, double, p->n_steps > p->n_ranks ? p->n_steps : p->n_ranks);
    if (!p->step || !p->own || !p->reduce || !p->input || !p->core_wait || !p->excess ||
        !p->place || !p->column)
        return POD_E_NOMEM;
    walk_attempts(p, j, at, true);
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

/* Where own time stands among the others, what is within MARGIN as equal: of n ranks that are alike
 * it has mean 0 and a variance of at most 1, whatever the times are distributed like. */
static double place_among(const double sorted[], int n, double own)
{
    const int below = count_below(sorted, n, own / MARGIN);
    const int n_equal = count_below(sorted, n, own * MARGIN) - below; /* itself included */
    const double middle = (n - 1) / 2.0, deviation = sqrt(((double)n * n - 1) / 12);
    return (below + (n_equal - 1) / 2.0 - middle) / deviation;
}

static void compare_ranks(paces *p)
{
    const int n = p->n_ranks;
    for (int64_t s = 0; s < p->n_steps; s++) {
        const double *own = p->own + s * n;
        memcpy(p->column, own, (size_t)n * sizeof own[0]);
        (void)pod_spread_of(p->column, n); /* sorts */
        for (int r = 0; r < n; r++) {
            p->excess[s * n + r] = log(own[r] / median_without(p->column, n, own[r]));
            p->place[s * n + r] = place_among(p->column, n, own[r]);
        }
    }
}

/* ---- what chance does ------------------------------------------------------------------------ */

/* The stretch of steps in which the places are high, as far as their sum falls by DRIFT a step. */
static stretch find_stretch(const paces *p, int r)
{
    const double drift = 0.5;
    stretch best = {0}, now = {0};
    for (int64_t s = 0; s < p->n_steps; s++) {
        if (now.sum <= 0) now = (stretch){.begin = s};
        now.sum += p->place[s * p->n_ranks + r] - drift;
        now.end = s + 1;
        if (now.sum > best.sum) best = now;
    }
    return best;
}

/* How many steps in a row tell no more than one, since a rank that was late in one is late in the
 * next: 1 + 2 x the correlations of steps 1, 2, ... apart, as far as chance does not make as much of
 * so few steps; round the mean within the stretch and the mean outside. */
static double memory_of(const paces *p, int r, stretch x)
{
    enum { MOST_APART = 256 };
    const int64_t S = p->n_steps, n_within = x.end - x.begin, count[2] = {S - n_within, n_within};
    double sum[2] = {0}, squares = 0, memory = 1, *off = p->column;
    for (int64_t s = 0; s < S; s++) sum[is_within(x, s)] += p->place[s * p->n_ranks + r];
    for (int64_t s = 0; s < S; s++) {
        const int side = is_within(x, s);
        off[s] = p->place[s * p->n_ranks + r] - sum[side] / (double)count[side];
        squares += off[s] * off[s];
    }
    for (int64_t apart = 1; apart < S / 4 && apart <= MOST_APART && squares > 0; apart++) {
        double products = 0;
        for (int64_t s = apart; s < S; s++) products += off[s] * off[s - apart];
        if (products < 2 / sqrt((double)S) * squares) break;
        memory += 2 * products / squares;
    }
    return memory;
}

/* Standard deviation of a rank's excess, from the median's absolute deviation. */
static double scatter_of(const paces *p, int r)
{
    const stretch all = {0, p->n_steps, 0};
    const double middle = median_of_rank(p, p->excess, r, all);
    for (int64_t s = 0; s < p->n_steps; s++)
        p->column[s] = fabs(p->excess[s * p->n_ranks + r] - middle);
    return 1.4826 * median_of(p->column, p->n_steps);
}

typedef struct noise { /* of the middle rank, the lower one where there are two */
    double scatter, memory;
} noise;

static pod_status find_noise(const paces *p, pod_arena *a, noise *out)
{
    const int n = p->n_ranks;
    double *scatter = POD_ARENA_NEW(a, double, n), *memory = POD_ARENA_NEW(a, double, n);
    if (!scatter || !memory) return POD_E_NOMEM;
    for (int r = 0; r < n; r++) {
        scatter[r] = scatter_of(p, r);
        memory[r] = memory_of(p, r, find_stretch(p, r));
    }
    (void)pod_spread_of(scatter, n);
    (void)pod_spread_of(memory, n);
    *out = (noise){.scatter = scatter[(n - 1) / 2], .memory = memory[(n - 1) / 2]};
    return POD_OK;
}

/* ---- who is slow ----------------------------------------------------------------------------- */

/* The sum of its places, inside of the stretch or outside. */
static double sum_places(const paces *p, int r, stretch x, bool inside)
{
    double sum = 0;
    for (int64_t s = 0; s < p->n_steps; s++)
        if (is_within(x, s) == inside) sum += p->place[s * p->n_ranks + r];
    return sum;
}

/* Whether the steps outside of the stretch tell of another pace than those inside. */
static bool differs_outside(const paces *p, int r, stretch x, noise of)
{
    const double enough = 3, n_in = (double)(x.end - x.begin), n_out = (double)p->n_steps - n_in;
    if (n_out < 1) return false;
    const double by = sum_places(p, r, x, true) / n_in - sum_places(p, r, x, false) / n_out;
    return by >= enough * sqrt(of.memory * (1 / n_in + 1 / n_out));
}

/* Of S steps of R ranks that are alike the largest sum of a stretch passes m x memory with a chance of
 * less than S R exp(-m): ENOUGH is where that is 1 in 100 jobs, a bound that is far from reached. The
 * mean of all steps is 4 of its deviations above 0 once in 30,000 ranks. */
static stretch find_slow(const paces *p, int r, noise of)
{
    const double enough = log(100.0 * (double)p->n_steps * p->n_ranks);
    const double enough_of_all = 4, least = log(POD_STRAGGLER_LEAST);
    const stretch all = {0, p->n_steps, 0}, none = {0};
    stretch x = find_stretch(p, r);
    if (p->n_steps < POD_STRAGGLER_MIN_STEPS) return none;
    const bool stands_out = x.sum >= enough * of.memory;
    if (!stands_out || !differs_outside(p, r, x, of)) x = all;
    const double sum = sum_places(p, r, all, true);
    if (!stands_out && sum < enough_of_all * sqrt((double)p->n_steps * of.memory)) return none;
    return median_of_rank(p, p->excess, r, x) >= least ? x : none;
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
    int64_t n = 0;
    for (int64_t s = 0; s < p->n_steps; s++)
        if (!is_within(x, s)) p->column[n++] = p->excess[s * p->n_ranks + r];
    const double outside = median_of(p->column, n);
    return fmin(1, exp(outside - median_of_rank(p, p->excess, r, x)));
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
    double *waits;       /* (R, R) of a row's rank for a column's, seconds of all steps */
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

static void find_waits(const paces *p, verdicts *v)
{
    const int n = p->n_ranks;
    for (int64_t s = 0; s < p->n_steps; s++) {
        double gain_s;
        const int last = find_last(p, v, s, &gain_s);
        if (last < 0) continue;
        v->gain_s += gain_s;
        const double *reduce = p->reduce + s * n;
        for (int r = 0; r < n; r++) /* what the last one waits for itself is the way of the data */
            if (!is_within(v->slow[r], s))
                v->waits[r * n + last] += fmax(0, reduce[r] - reduce[last]);
    }
    for (int r = 0; r < n; r++) {
        double sum_s = 0, most_s = 0;
        for (int other = 0; other < n; other++) {
            const double waits_s = v->waits[r * n + other];
            sum_s += waits_s;
            if (waits_s > most_s) v->rank[r].waits_for = other;
            most_s = fmax(most_s, waits_s);
        }
        v->rank[r].waits_s = sum_s / (double)p->n_steps;
    }
}

static pod_status judge_all(const paces *p, pod_arena *a, pod_stragglers *out)
{
    const int n = p->n_ranks;
    noise of;
    verdicts v = {.rank = POD_ARENA_NEW(a, pod_rank_pace, n),
                  .slow = POD_ARENA_NEW(a, stretch, n),
                  .waits = POD_ARENA_NEW(a, double, (int64_t)n *n)};
    if (!v.rank || !v.slow || !v.waits) return POD_E_NOMEM;
    POD_TRY(find_noise(p, a, &of));
    for (int r = 0; r < n; r++) {
        v.slow[r] = find_slow(p, r, of);
        v.rank[r] = judge(p, r, v.slow[r]);
        out->n_slow += v.rank[r].is_slow;
    }
    if (out->n_slow > 0) find_waits(p, &v);
    out->rank = v.rank;
    out->scatter = of.scatter;
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
