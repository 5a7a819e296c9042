/* Accounts of random jobs: whatever happened to one, its seconds by category sum to the wall clock and
 * no step counts twice. */
#include <stdio.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "runtime/goodput/account.h"
#include "tests/harness/harness.h"

enum { MOST_ATTEMPTS = 5, MOST_RANKS = 8, MOST_STEPS = 12, MOST_RECORDS = 3 * MOST_STEPS };

typedef struct random_job {
    pod_job job;
    pod_job_part part[MOST_ATTEMPTS * MOST_RANKS];
    pod_job_attempt launched[MOST_ATTEMPTS];
    pod_job_mark mark[MOST_ATTEMPTS * MOST_RANKS][MOST_RECORDS];
    pod_job_step step[MOST_ATTEMPTS * MOST_RANKS][MOST_RECORDS];
    int64_t kept[MOST_ATTEMPTS][2];
    pod_stamp kept_at[2];
    int64_t last_done; /* by the last attempt */
    bool ended_well;
} random_job;

static bool closes(const pod_account *a)
{
    pod_stamp sum = 0;
    for (int s = 0; s < POD_N_JOB_SPANS; s++) {
        if (a->by_span[s] < 0) return false;
        sum += a->by_span[s];
    }
    return sum == a->wall && a->unsaved >= 0 && a->unsaved <= a->by_span[POD_JOB_STEP];
}

static pod_stamp some(pod_rng *r, uint64_t most) { return (pod_stamp)pod_rng_below(r, most + 1); }

/* One rank of an attempt that does `n` steps behind `first`: spans and steps with gaps between. A
 * rank that is killed leaves some of it. */
static void random_part(pod_rng *r, random_job *x, pod_job_part *p, int64_t n, bool is_killed)
{
    static const pod_job_span spans[] = {POD_JOB_EVAL, POD_JOB_SAVE, POD_JOB_PREP};
    const ptrdiff_t i = p - x->part;
    pod_stamp t = p->head.begin;
    int64_t left = is_killed ? (int64_t)pod_rng_below(r, (uint64_t)(2 * n + 3)) : INT64_MAX;
    p->mark = x->mark[i];
    p->step = x->step[i];
    for (int k = 0; k < 2 && left > 0; k++, left--) {
        const pod_stamp begin = t + some(r, 50);
        t = begin + some(r, 1000);
        x->mark[i][p->n_marks++] = (pod_job_mark){k ? POD_JOB_BUILD : POD_JOB_INIT, begin, t};
    }
    for (int64_t k = 0; k < n && left > 0; k++, left--) {
        pod_job_step *s = &x->step[i][p->n_steps++];
        *s = (pod_job_step){.step = p->first_step + 1 + k, .begin = t + some(r, 3)};
        s->input = some(r, 10);
        s->save = some(r, 10);
        s->end = t = s->begin + s->input + s->save + 90 + some(r, k == 0 ? 200 : 20);
        if (pod_rng_below(r, 4) != 0) continue;
        const pod_stamp begin = t + some(r, 9);
        t = begin + some(r, 300);
        x->mark[i][p->n_marks++] = (pod_job_mark){spans[pod_rng_below(r, 3)], begin, t};
    }
    p->last = t + some(r, 40);
    if (p->n_steps == 0 && is_killed && pod_rng_below(r, 2)) p->first_step = -1;
}

/* Answers when the attempt is over. */
static pod_stamp random_attempt(pod_rng *r, random_job *x, int attempt, int64_t *reached,
                                pod_stamp begin, pod_job_end_kind end)
{
    static const int counts[] = {1, 2, 3, 4, 8};
    pod_job *j = &x->job;
    const int ranks = counts[pod_rng_below(r, 5)];
    const int64_t first = *reached, n = (int64_t)pod_rng_below(r, MOST_STEPS);
    const int64_t kept = first + (int64_t)pod_rng_below(r, (uint64_t)n + 1);
    pod_stamp last = begin;
    const int missing = end == POD_JOB_END_NONE && ranks > 1 ? (int)pod_rng_below(r, 16) : -1;
    for (int rank = 0; rank < ranks; rank++) {
        if (rank == missing) continue;
        pod_job_part *p = &x->part[j->n_parts++];
        *p = (pod_job_part){.head = {.attempt = attempt + 1,
                                     .rank = rank,
                                     .ranks = ranks,
                                     .begin = begin + some(r, 500)},
                            .first_step = first,
                            .end = end};
        random_part(r, x, p, n, end == POD_JOB_END_NONE);
        if (p->last > last) last = p->last;
        if (rank > 0) continue;
        x->kept[attempt][0] = first;
        x->kept[attempt][1] = kept;
        p->n_kept = 2;
        p->kept = x->kept[attempt];
        p->kept_at = x->kept_at;
    }
    x->last_done = first + n;
    x->ended_well = end == POD_JOB_END_OK;
    *reached = end == POD_JOB_END_OK || end == POD_JOB_END_STOPPED ? first + n : kept;
    if (end == POD_JOB_END_NONE && pod_rng_below(r, 4) == 0)
        *reached = first; /* the checkpoint turned out to be damaged */
    return last;
}

static void make_random(pod_rng *r, random_job *x)
{
    pod_stamp t = 1763816000000000000 + some(r, 1000);
    int64_t reached = 0;
    *x = (random_job){0};
    pod_job *j = &x->job;
    *j = (pod_job){.dir = "dir", .part = x->part, .attempt = x->launched};
    const bool is_launched = pod_rng_below(r, 2), ends_well = pod_rng_below(r, 2);
    const int n = 1 + (int)pod_rng_below(r, MOST_ATTEMPTS);
    if (is_launched) j->launch_begin = t;
    for (int i = 0; i < n; i++) {
        pod_job_end_kind end = (pod_job_end_kind)pod_rng_below(r, 4);
        if (i + 1 == n && ends_well) end = POD_JOB_END_OK;
        const pod_stamp begin = t + some(r, 100);
        const pod_stamp over =
            random_attempt(r, x, i, &reached, begin + some(r, 100), end) + some(r, 300);
        if (is_launched && over > begin)
            x->launched[j->n_attempts++] = (pod_job_attempt){
                .attempt = i + 1, .launch = 1 + i / 3, .begin = begin, .end = over};
        t = over + some(r, 5000);
    }
}

/* Distinct steps of a rank, and how many records of steps it left. */
static int64_t count_steps(const pod_job *j, int rank, int64_t *n_records)
{
    bool done[MOST_ATTEMPTS * MOST_STEPS + 1] = {false};
    int64_t n = 0;
    *n_records = 0;
    for (int i = 0; i < j->n_parts; i++) {
        const pod_job_part *p = &j->part[i];
        if (p->head.rank != rank) continue;
        for (int64_t s = 0; s < p->n_steps; s++, (*n_records)++) {
            n += !done[p->step[s].step];
            done[p->step[s].step] = true;
        }
    }
    return n;
}

static bool has_in_all(const pod_job *j, int rank)
{
    for (int i = 0; i < j->n_parts; i++)
        if (j->part[i].head.ranks <= rank) return false;
    return true;
}

typedef struct pieces {
    int rank;
    pod_stamp free, wall, unsaved, by[POD_N_JOB_SPANS];
    bool has_hole;
} pieces;

static void take_piece(void *ctx, const pod_account_piece *piece)
{
    pieces *p = ctx;
    const pod_stamp took = piece->end - piece->begin;
    if (piece->rank == p->rank && piece->begin < p->free) p->has_hole = true; /* or they overlap */
    if (took <= 0 || (piece->is_unsaved && piece->span != POD_JOB_STEP)) p->has_hole = true;
    p->rank = piece->rank;
    p->free = piece->end;
    p->wall += took;
    p->by[piece->span] += took;
    if (piece->is_unsaved) p->unsaved += took;
}

static void check_pieces(uint64_t seed, const random_job *x, pod_stamp now, const pod_account *all)
{
    pieces p = {.rank = -1};
    POD_CHECK_OK(pod_account_walk(&x->job, now, take_piece, &p));
    POD_CHECK(!p.has_hole && p.wall == all->wall && p.unsaved == all->unsaved &&
                  memcmp(p.by, all->by_span, sizeof p.by) == 0,
              "job %d: its pieces do not sum to it", (int)seed);
}

static void check_random(uint64_t seed, const random_job *x, pod_stamp now)
{
    pod_account all = {0}, one = {0};
    pod_stamp wall = 0, by[POD_N_JOB_SPANS] = {0};
    POD_CHECK_OK(pod_account_of(&x->job, now, &all));
    POD_CHECK(closes(&all), "job %d does not close", (int)seed);
    check_pieces(seed, x, now, &all);
    POD_CHECK(all.runs || all.unsaved == 0, "job %d is over and has steps not saved", (int)seed);
    for (int rank = 0; rank < all.n_ranks; rank++) {
        int64_t n_records;
        const int64_t n_distinct = count_steps(&x->job, rank, &n_records);
        POD_CHECK_OK(pod_account_rank(&x->job, rank, now, &one));
        POD_CHECK(closes(&one), "job %d, rank %d does not close", (int)seed, rank);
        POD_CHECK(one.n_steps + one.n_lost_steps + one.n_unsaved_steps == n_records,
                  "job %d, rank %d: %d steps, %d records", (int)seed, rank, (int)one.n_steps,
                  (int)n_records);
        POD_CHECK(one.n_steps + one.n_unsaved_steps <= n_distinct,
                  "job %d, rank %d: a step counts twice", (int)seed, rank);
        if (x->ended_well && has_in_all(&x->job, rank))
            POD_CHECK(one.n_steps <= x->last_done && one.max_productive_step <= x->last_done,
                      "job %d, rank %d: %d steps of %d", (int)seed, rank, (int)one.n_steps,
                      (int)x->last_done);
        wall += one.wall;
        for (int s = 0; s < POD_N_JOB_SPANS; s++) by[s] += one.by_span[s];
    }
    POD_CHECK(wall == all.wall && memcmp(by, all.by_span, sizeof by) == 0,
              "job %d: its ranks do not sum to it", (int)seed);
}

static void random_jobs(void)
{
    static random_job x;
    for (uint64_t seed = 0; seed < 5000; seed++) {
        pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST});
        make_random(&r, &x);
        if (x.job.n_parts == 0) continue;
        check_random(seed, &x, 0);
        check_random(seed, &x, 1763816000000100000);
    }
}

POD_TEST_SUITE("runtime.account_random", {"random jobs", random_jobs});
