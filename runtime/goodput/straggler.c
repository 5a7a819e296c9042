#include "runtime/goodput/straggler.h"

#include <math.h>
#include <stdlib.h>
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
    double *off;    /* (S) likewise */
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

typedef struct tally { /* of an attempt, or of all with as many ranks */
    int ranks;
    int64_t n_steps; /* of rank 0 */
    int first;       /* which attempt it was that had so many first */
} tally;

static int by_ranks(const void *a, const void *b)
{
    const tally *x = a, *y = b;
    if (x->ranks != y->ranks) return x->ranks < y->ranks ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Attempts may have had other meshes: those with the count of ranks that has most steps count, of
 * equal ones the first. */
static pod_status pick_ranks(pod_arena *a, const pod_job *j, int *out)
{
    tally *all = POD_ARENA_NEW(a, tally, j->n_parts), most = {0};
    int n = 0;
    if (!all) return POD_E_NOMEM;
    for (int i = 0, end; i < j->n_parts; i = end, n++) {
        end = end_of_attempt(j, i);
        all[n] = (tally){.ranks = j->part[i].head.ranks, .first = n};
        if (j->part[i].head.rank == 0) all[n].n_steps = j->part[i].n_steps;
    }
    qsort(all, (size_t)n, sizeof *all, by_ranks);
    for (int i = 0, end; i < n; i = end) {
        tally sum = all[i];
        for (end = i + 1; end < n && all[end].ranks == sum.ranks; end++)
            sum.n_steps += all[end].n_steps;
        if (sum.n_steps > most.n_steps || (sum.n_steps == most.n_steps && sum.first < most.first))
            most = sum;
    }
    *out = most.ranks;
    return POD_OK;
}

static pod_status take_paces(pod_arena *a, const pod_job *j, paces *p)
{
    *p = (paces){0};
    POD_TRY(pick_ranks(a, j, &p->n_ranks));
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
    p->off = POD_ARENA_NEW(a, double, p->n_steps);
    if (!p->step || !p->own || !p->reduce || !p->input || !p->core_wait || !p->excess ||
        !p->place || !p->column || !p->off)
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
 * next: 1 + 2 x the correlations of steps 1, 2, ... apart, as far as chance does not make as much
 * of so few steps; round the mean within the stretch and the mean outside. */
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

/* Standard deviation of a rank's excess, from the absolute deviations from its median within its
 * stretch and those before and behind. */
static double scatter_of(const paces *p, int r, stretch x)
{
    const stretch part[3] = {{0, x.begin, 0}, x, {x.end, p->n_steps, 0}};
    for (int i = 0; i < 3; i++) {
        if (part[i].end == part[i].begin) continue;
        const double middle = median_of_rank(p, p->excess, r, part[i]);
        for (int64_t s = part[i].begin; s < part[i].end; s++)
            p->off[s] = fabs(p->excess[s * p->n_ranks + r] - middle);
    }
    return 1.4826 * median_of(p->off, p->n_steps);
}

/* The same for all ranks together, of few steps: of a chain in which each place takes a share of
 * the one before, that share is seen in differences, the squares of those over two steps / over
 * one - 1, and a pace that changes does not disturb them. It may be larger than what so few steps
 * show. */
static double memory_of_chain(const paces *p)
{
    const int n = p->n_ranks;
    const double errors = 3;
    double by_one = 0, by_two = 0;
    for (int64_t s = 0; s + 2 < p->n_steps; s++)
        for (int r = 0; r < n; r++) {
            const double *at = p->place + s * n + r;
            by_one += (at[n] - at[0]) * (at[n] - at[0]);
            by_two += (at[2 * n] - at[0]) * (at[2 * n] - at[0]);
        }
    const double seen = by_one > 0 ? by_two / by_one - 1 : 0;
    const double most = fmin(0.99, seen + errors / sqrt((double)p->n_steps * (n - 1)));
    return most > 0 ? (1 + most) / (1 - most) : 1;
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
        const stretch x = find_stretch(p, r);
        scatter[r] = scatter_of(p, r, x);
        memory[r] = memory_of(p, r, x);
    }
    (void)pod_spread_of(scatter, n);
    (void)pod_spread_of(memory, n);
    *out = (noise){.scatter = scatter[(n - 1) / 2],
                   .memory = fmax(memory[(n - 1) / 2], memory_of_chain(p))};
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

/* What the median excess of so many steps may come to by chance: `deviations` of its own, if what
 * makes a rank late lasts for `lasting` steps. */
static double chance_of(noise of, double deviations, double lasting, int64_t n_steps)
{
    return deviations * of.scatter * sqrt(lasting / (double)n_steps);
}

/* Of S steps of R ranks that are alike the largest sum of a stretch passes m x memory with a chance
 * of less than S R exp(-m): ENOUGH is where that is 1 in 100 jobs, a bound that is far from
 * reached. The mean of all steps is 4 of its deviations above 0 once in 30,000 ranks.
 *
 * Places do not tell by how much: a rank that holds the last one for a while, as ranks do that
 * share cores, is named only if it is as late as noise of that scatter does not make it, which
 * lasts for 3 steps at least. And one that is so late that not even noise of 10 steps would, at 6
 * deviations, is named whatever its places are: they say little of a few ranks. */
static stretch find_slow(const paces *p, int r, noise of)
{
    const double enough = log(100.0 * (double)p->n_steps * p->n_ranks);
    const double enough_of_all = 4, least = log(POD_STRAGGLER_LEAST);
    const stretch all = {0, p->n_steps, 0}, none = {0};
    stretch x = find_stretch(p, r);
    if (p->n_steps < POD_STRAGGLER_MIN_STEPS) return none;
    const bool stands_out = x.sum >= enough * of.memory;
    if (!stands_out || !differs_outside(p, r, x, of)) x = all;
    const double late = median_of_rank(p, p->excess, r, x);
    if (late < fmax(least, chance_of(of, 4, fmax(3, of.memory), x.end - x.begin))) return none;
    if (stands_out || late >= chance_of(of, 6, 10, p->n_steps)) return x;
    const double sum = sum_places(p, r, all, true);
    return sum >= enough_of_all * sqrt((double)p->n_steps * of.memory) ? x : none;
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
    noise of;
    verdicts v = {.rank = POD_ARENA_NEW(a, pod_rank_pace, n), .slow = POD_ARENA_NEW(a, stretch, n)};
    if (!v.rank || !v.slow) return POD_E_NOMEM;
    POD_TRY(find_noise(p, a, &of));
    for (int r = 0; r < n; r++) {
        v.slow[r] = find_slow(p, r, of);
        v.rank[r] = judge(p, r, v.slow[r]);
        out->n_slow += v.rank[r].is_slow;
    }
    if (out->n_slow > 0) POD_TRY(find_waits(p, a, &v));
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
