#include "runtime/goodput/account.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/core/spread.h"
#include "runtime/goodput/job_file.h"

typedef struct attempt { /* one whose ranks left records */
    const pod_job_part *part;
    int n_parts, number, ranks;
    int64_t first_step;    /* -1: not known */
    int64_t ideal;         /* of its steps; 0: not known */
    int64_t kept;          /* the last step that a checkpoint of this attempt keeps; -1: none */
    int launch;            /* that it belongs to, from 1; 0: none */
    pod_stamp launch_end;  /* 0: not known */
    pod_stamp begin, last; /* last: sign of life */
    pod_stamp end;         /* its ranks had the time from begin to end */
    bool ended_well, was_disrupted, follows_disruption, runs;
    int64_t cut; /* steps beyond are lost; of one that runs: not saved yet */
} attempt;

typedef struct accounting {
    const pod_job *job;
    attempt *attempt;
    int n; /* at least 1 */
    pod_stamp *scratch;
    pod_account *sum;
    pod_account_piece_fn *tell; /* NULL: nobody asks for the pieces */
    void *told;
    /* The part at hand: */
    const attempt *of;
    int rank;
    pod_stamp until; /* it is accounted up to there */
    int64_t n_kept, n_lost, n_unsaved;
} accounting;

static pod_stamp later(pod_stamp a, pod_stamp b) { return a > b ? a : b; }
static pod_stamp earlier(pod_stamp a, pod_stamp b) { return a < b ? a : b; }

/* ---- attempts, from the records of their ranks ---- */

static pod_status check_part(const pod_job *j, const attempt *a, const pod_job_part *p)
{
    if (p->head.ranks != a->ranks)
        return pod_fail(POD_E_FORMAT, "%s: attempt %d, rank %d: is of %d ranks, another of %d",
                        j->dir, a->number, p->head.rank, p->head.ranks, a->ranks);
    if (p->first_step >= 0 && a->first_step >= 0 && p->first_step != a->first_step)
        return pod_fail(POD_E_FORMAT,
                        "%s: attempt %d, rank %d: goes on from step %" PRId64
                        ", another from %" PRId64,
                        j->dir, a->number, p->head.rank, p->first_step, a->first_step);
    return POD_OK;
}

/* A rank says that all went well only when all agreed; one that was killed behind that, or that
 * could not say it any more, changes nothing. */
static void note_ends(attempt *a)
{
    bool is_ok = false, was_stopped = false, failed = false, ended = a->launch_end != 0;
    for (const pod_job_part *p = a->part; p < a->part + a->n_parts; p++) {
        is_ok |= p->end == POD_JOB_END_OK;
        was_stopped |= p->end == POD_JOB_END_STOPPED;
        failed |= p->end == POD_JOB_END_FAILED;
        ended |= p->end != POD_JOB_END_NONE;
    }
    a->ended_well = is_ok && !was_stopped && !failed;
    a->was_disrupted = failed || !(is_ok || was_stopped);
    a->runs = !ended;
}

static pod_status gather(const pod_job *j, const pod_job_part *part, attempt *a)
{
    const pod_job_part *const all_end = j->part + j->n_parts;
    *a = (attempt){.part = part,
                   .number = part->head.attempt,
                   .ranks = part->head.ranks,
                   .first_step = -1,
                   .kept = -1,
                   .begin = part->head.begin};
    for (const pod_job_part *p = part; p < all_end && p->head.attempt == a->number; p++) {
        POD_TRY(check_part(j, a, p));
        a->n_parts++;
        if (p->first_step >= 0) a->first_step = p->first_step;
        if (p->ideal > 0) a->ideal = p->ideal;
        for (int64_t i = 0; i < p->n_kept; i++)
            if (p->kept[i] > a->kept) a->kept = p->kept[i];
        a->begin = earlier(a->begin, p->head.begin);
        a->last = later(a->last, p->last);
    }
    for (int i = 0; i < j->n_attempts; i++) {
        if (j->attempt[i].attempt != a->number) continue;
        a->begin = earlier(a->begin, j->attempt[i].begin);
        a->launch = j->attempt[i].launch;
        a->launch_end = j->attempt[i].end;
        a->last = later(a->last, a->launch_end);
    }
    note_ends(a);
    return POD_OK;
}

/* Within a process time does not go back, whoever sets the clock; what lay between two of them is
 * not known then, nor how long the job had its ranks. */
static pod_status fail_overlap(const pod_job *j, const attempt *a)
{
    return pod_fail(
        POD_E_FORMAT,
        "%s/job: attempt %d begins %.9g s before attempt %d was last seen: a clock was "
        "set back, or two hosts' differ; without launch.jsonl and the files of attempts "
        "up to %d in job/ the rest can be accounted",
        j->dir, a->number, pod_stamp_seconds(a[-1].last - a->begin), a[-1].number, a[-1].number);
}

static pod_status gather_all(accounting *x)
{
    const pod_job *j = x->job;
    for (const pod_job_part *p = j->part; p < j->part + j->n_parts;) {
        attempt *a = &x->attempt[x->n];
        POD_TRY(gather(j, p, a));
        if (x->n > 0 && (a->number <= a[-1].number || a->begin < a[-1].last))
            return fail_overlap(j, a);
        p += a->n_parts;
        x->n++;
    }
    if (j->launch_begin != 0) x->attempt[0].begin = earlier(x->attempt[0].begin, j->launch_begin);
    return POD_OK;
}

/* Attempts that began, whether or not a rank of theirs left a record. */
static void count_attempts(const accounting *x)
{
    const pod_job *j = x->job;
    pod_account *sum = x->sum;
    sum->n_attempts = x->n;
    for (int i = 0; i < x->n; i++)
        sum->n_disruptions += x->attempt[i].was_disrupted && !x->attempt[i].runs;
    for (int i = 0; i < j->n_attempts; i++) {
        const pod_job_attempt *l = &j->attempt[i];
        bool has_record = false;
        for (int k = 0; k < x->n; k++) has_record |= x->attempt[k].number == l->attempt;
        sum->n_attempts += !has_record;
        sum->n_disruptions += !has_record && (l->end != 0 || i + 1 < j->n_attempts);
    }
}

static void place_ends(const accounting *x, pod_stamp now)
{
    const pod_job *j = x->job;
    attempt *const last = &x->attempt[x->n - 1];
    for (int i = 0; i + 1 < x->n; i++) {
        attempt *a = &x->attempt[i];
        a->runs = false;
        const bool is_held = a->was_disrupted && a->launch == a[1].launch;
        a->end = is_held ? a[1].begin : a->last;
        a[1].follows_disruption = a->was_disrupted;
    }
    const int newest = j->n_attempts > 0 ? j->attempt[j->n_attempts - 1].attempt : 0;
    if (now == 0 || newest > last->number) last->runs = false;
    last->end = last->runs ? later(now, last->last) : last->last;
    for (int i = 0; i < j->n_attempts && last->was_disrupted; i++)
        last->end = later(last->end, later(j->attempt[i].begin, j->attempt[i].end));
    x->sum->runs = last->runs;
    x->sum->begin = x->attempt[0].begin;
    x->sum->end = last->end;
}

static int64_t last_step_of(const attempt *a)
{
    int64_t last = a->first_step;
    for (const pod_job_part *p = a->part; p < a->part + a->n_parts; p++)
        if (p->n_steps > 0 && p->step[p->n_steps - 1].step > last)
            last = p->step[p->n_steps - 1].step;
    return last;
}

/* A rank may die between the move of the folder's pointer and the record of it. A checkpoint of
 * more steps than were done is another job's. */
static void ask_folder(const accounting *x)
{
    attempt *const last = &x->attempt[x->n - 1];
    const int64_t kept = x->job->kept;
    if (kept > last->kept && kept <= last_step_of(last)) last->kept = kept;
}

/* What an attempt did counts up to the least step that a later one went on from. Where none did, it
 * is what the attempt's checkpoints keep. */
static void place_cuts(const accounting *x)
{
    int64_t resumed = -1;
    ask_folder(x);
    for (int i = x->n - 1; i >= 0; i--) {
        attempt *a = &x->attempt[i];
        a->cut = a->kept;
        if (resumed >= 0)
            a->cut = resumed;
        else if (a->ended_well)
            a->cut = INT64_MAX;
        if (a->first_step >= 0 && (resumed < 0 || a->first_step < resumed)) resumed = a->first_step;
    }
}

/* ---- one rank of one attempt ---- */

/* The median over its steps but the first; 0: there is no other. */
static pod_stamp usual_of_part(const accounting *x, const pod_job_part *p)
{
    if (!p || p->n_steps < 2) return 0;
    const int64_t n = p->n_steps - 1;
    for (int64_t i = 0; i < n; i++) x->scratch[i] = pod_job_step_work(&p->step[i + 1]);
    return pod_spread_middle(x->scratch, n);
}

static int by_rank(const void *rank, const void *part)
{
    return *(const int *)rank - ((const pod_job_part *)part)->head.rank;
}

/* Parts stand by rank; a rank that left none is not among them. */
static const pod_job_part *part_of(const attempt *a, int rank)
{
    return bsearch(&rank, a->part, (size_t)a->n_parts, sizeof a->part[0], by_rank);
}

/* 0: it tells nothing of the steps of `like`, or has none. */
static pod_stamp usual_of(const accounting *x, const attempt *a, const attempt *like, int rank)
{
    const bool is_alike = a->ranks == like->ranks && a->ideal == like->ideal;
    return is_alike ? usual_of_part(x, part_of(a, rank)) : 0;
}

/* In this attempt; where it has too few, in the nearest earlier one of the same work on as many
 * ranks, then in a later one; 0: not known. */
static pod_stamp usual_step(const accounting *x, int at, int rank)
{
    const attempt *own = &x->attempt[at];
    pod_stamp usual = 0;
    for (int i = at; i >= 0 && usual == 0; i--) usual = usual_of(x, &x->attempt[i], own, rank);
    for (int i = at + 1; i < x->n && usual == 0; i++)
        usual = usual_of(x, &x->attempt[i], own, rank);
    return usual;
}

static void emit(accounting *x, pod_job_span span, pod_stamp end, bool is_unsaved)
{
    const attempt *a = x->of;
    const pod_account_piece piece = {.rank = x->rank,
                                     .ranks = a->ranks,
                                     .attempt = a->number,
                                     .mesh = a->part->head.mesh,
                                     .was_disrupted = a->was_disrupted && !a->runs,
                                     .span = span,
                                     .is_unsaved = is_unsaved,
                                     .ideal = a->ideal,
                                     .begin = x->until,
                                     .end = end};
    if (end <= x->until) return;
    x->sum->by_span[span] += end - x->until;
    if (is_unsaved) x->sum->unsaved += end - x->until;
    if (x->tell) x->tell(x->told, &piece);
    x->until = end;
}

/* Pieces follow one another; what lies between them is OTHER. */
static void put(accounting *x, pod_job_span span, pod_stamp begin, pod_stamp length)
{
    emit(x, POD_JOB_OTHER, begin, false);
    emit(x, span, begin + length, false);
}

/* `excess` of its work is start-up. */
static void put_step(accounting *x, const pod_job_step *s, pod_stamp excess)
{
    const attempt *a = x->of;
    const bool is_kept = s->step <= a->cut, is_unsaved = !is_kept && a->runs;
    put(x, POD_JOB_INPUT_WAIT, s->begin, s->input);
    put(x, POD_JOB_BUILD, s->begin + s->input, excess);
    emit(x, is_kept || is_unsaved ? POD_JOB_STEP : POD_JOB_LOST_STEP, s->end - s->save, is_unsaved);
    emit(x, POD_JOB_SAVE, s->end, false);
    x->n_kept += is_kept;
    x->n_unsaved += is_unsaved;
    x->n_lost += !is_kept && !is_unsaved;
    if (is_kept && s->step > x->sum->max_productive_step) x->sum->max_productive_step = s->step;
}

static pod_status check_order(const accounting *x, const char *what, pod_stamp begin)
{
    if (begin >= x->until) return POD_OK;
    return pod_fail(POD_E_FORMAT,
                    "%s: attempt %d, rank %d: %s begins %" PRId64
                    " ns before what precedes it ends",
                    x->job->dir, x->of->number, x->rank, what, x->until - begin);
}

static pod_status take_step(accounting *x, const pod_job_part *p, int64_t i, pod_stamp usual)
{
    char what[48];
    const pod_job_step *s = &p->step[i];
    const int64_t before = i > 0 ? p->step[i - 1].step : p->first_step;
    const pod_stamp work = pod_job_step_work(s);
    snprintf(what, sizeof what, "step %" PRId64, s->step);
    POD_TRY(check_order(x, what, s->begin));
    if (s->step <= before || p->first_step < 0)
        return pod_fail(POD_E_FORMAT, "%s: attempt %d, rank %d: %s follows step %" PRId64,
                        x->job->dir, x->of->number, x->rank, what, before);
    put_step(x, s, i == 0 && usual > 0 && work > usual ? work - usual : 0);
    return POD_OK;
}

/* Spans and steps as they follow one another. */
static pod_status take_records(accounting *x, const pod_job_part *p, pod_stamp usual)
{
    for (int64_t m = 0, s = 0; m < p->n_marks || s < p->n_steps;) {
        const pod_job_mark *mark = &p->mark[m];
        if (m == p->n_marks || (s < p->n_steps && p->step[s].begin < mark->begin)) {
            POD_TRY(take_step(x, p, s++, usual));
            continue;
        }
        POD_TRY(check_order(x, pod_job_span_name(mark->span), mark->begin));
        put(x, mark->span, mark->begin, mark->end - mark->begin);
        m++;
    }
    return POD_OK;
}

/* What follows a rank's last record. In an attempt that was not disrupted: mpirun, which gives ranks
 * a second to leave once one of them answered 1. */
static void take_tail(accounting *x, const pod_job_part *p, pod_stamp usual)
{
    const attempt *a = x->of;
    if (!a->was_disrupted && p->end != POD_JOB_END_NONE)
        put(x, POD_JOB_SHUTDOWN, p->last, a->end - p->last);
    if (!a->was_disrupted || a->runs) return;
    if (p->n_steps > 0) {
        if (usual == 0) usual = pod_job_step_work(&p->step[0]);
        const pod_stamp seen = a->launch_end > x->until ? a->launch_end : a->end;
        emit(x, POD_JOB_LOST_STEP, x->until + earlier(usual, seen - x->until), false);
    }
    emit(x, POD_JOB_RECOVERY, a->end, false);
}

static pod_status take_part(accounting *x, int at)
{
    const attempt *a = x->of;
    const pod_job_part *p = part_of(a, x->rank);
    x->until = a->begin;
    x->n_kept = x->n_lost = x->n_unsaved = 0;
    if (p) {
        const pod_stamp usual = usual_step(x, at, x->rank);
        emit(x, a->follows_disruption ? POD_JOB_RECOVERY : POD_JOB_INIT, p->head.begin, false);
        POD_TRY(take_records(x, p, usual));
        take_tail(x, p, usual);
    } else if (a->was_disrupted && !a->runs) { /* it was gone before it could write */
        emit(x, POD_JOB_RECOVERY, a->end, false);
    }
    emit(x, POD_JOB_OTHER, a->end, false);
    return POD_OK;
}

/* ---- the sum ---- */

static pod_status add_wall(accounting *x, const attempt *a, int ranks)
{
    const pod_stamp took = a->end - a->begin, room = INT64_MAX - x->sum->wall;
    if (took > room / ranks)
        return pod_fail(POD_E_FORMAT, "%s: attempt %d: %d ranks for %.3g s: more than 2^63 ns",
                        x->job->dir, a->number, ranks, pod_stamp_seconds(took));
    x->sum->wall += took * ranks;
    return POD_OK;
}

/* Ranks do the same steps, but for what a kill leaves undone: the one that did most counts. */
static pod_status add_attempt(accounting *x, int at, int only_rank)
{
    const attempt *a = x->of = &x->attempt[at];
    int64_t kept = 0, lost = 0, unsaved = 0;
    const int begin = only_rank < 0 ? 0 : only_rank, end = only_rank < 0 ? a->ranks : begin + 1;
    if (begin >= a->ranks) return POD_OK;
    POD_TRY(add_wall(x, a, end - begin));
    for (x->rank = begin; x->rank < end; x->rank++) {
        POD_TRY(take_part(x, at));
        if (x->n_kept > kept) kept = x->n_kept;
        if (x->n_lost > lost) lost = x->n_lost;
        if (x->n_unsaved > unsaved) unsaved = x->n_unsaved;
    }
    x->sum->n_steps += kept;
    x->sum->n_lost_steps += lost;
    x->sum->n_unsaved_steps += unsaved;
    return POD_OK;
}

static pod_status add_all(accounting *x, pod_stamp now, int only_rank)
{
    pod_account *sum = x->sum;
    POD_TRY(gather_all(x));
    place_ends(x, now);
    count_attempts(x);
    place_cuts(x);
    for (int i = 0; i < x->n; i++) {
        if (x->attempt[i].ranks > sum->n_ranks) sum->n_ranks = x->attempt[i].ranks;
        POD_TRY(add_attempt(x, i, only_rank));
    }
    if (only_rank >= sum->n_ranks)
        return pod_fail(POD_E_INVALID, "%s: rank %d of a job with %d ranks", x->job->dir, only_rank,
                        sum->n_ranks);
    if (only_rank >= 0) sum->n_ranks = 1;
    return POD_OK;
}

static pod_status account(const pod_job *j, int only_rank, pod_stamp now,
                          pod_account_piece_fn *tell, void *told, pod_account *out)
{
    pod_account sum = {0};
    accounting x = {.job = j, .sum = &sum, .tell = tell, .told = told};
    int64_t most = 0;
    if (j->n_parts == 0)
        return pod_fail(POD_E_FORMAT, "%s/job: no rank of any attempt left a record", j->dir);
    for (int i = 0; i < j->n_parts; i++)
        if (j->part[i].n_steps > most) most = j->part[i].n_steps;
    x.attempt = calloc((size_t)j->n_parts, sizeof *x.attempt);
    x.scratch = malloc((size_t)(most + 1) * sizeof *x.scratch);
    const pod_status status = x.attempt && x.scratch
                                  ? add_all(&x, now, only_rank)
                                  : pod_fail(POD_E_NOMEM, "%s: out of memory", j->dir);
    free(x.attempt);
    free(x.scratch);
    if (status == POD_OK) *out = sum;
    return status;
}

pod_status pod_account_of(const pod_job *j, pod_stamp now, pod_account *out)
{
    return account(j, -1, now, NULL, NULL, out);
}

pod_status pod_account_rank(const pod_job *j, int rank, pod_stamp now, pod_account *out)
{
    POD_ASSERT(rank >= 0, "rank %d", rank);
    return account(j, rank, now, NULL, NULL, out);
}

pod_status pod_account_walk(const pod_job *j, pod_stamp now, pod_account_piece_fn *tell, void *told)
{
    pod_account sum;
    return account(j, -1, now, tell, told, &sum);
}

pod_status pod_account_before(const pod_job *j, int number, pod_account *out)
{
    pod_job before = *j;
    pod_job_part *part = malloc((size_t)(j->n_parts + 1) * sizeof *part);
    if (!part) return pod_fail(POD_E_NOMEM, "%s: out of memory", j->dir);
    int n = 0;
    while (n < j->n_parts && j->part[n].head.attempt < number) n++;
    if (n > 0) memcpy(part, j->part, (size_t)n * sizeof *part);
    for (; n < j->n_parts && j->part[n].head.attempt == number; n++) {
        part[n] = j->part[n];
        part[n].n_marks = part[n].n_steps = part[n].n_kept = 0;
        part[n].last = part[n].head.begin;
    }
    before.part = part;
    before.n_parts = n;
    const bool is_there = n > 0 && part[n - 1].head.attempt == number;
    const pod_status status =
        is_there ? pod_account_rank(&before, 0, part[n - 1].head.begin, out)
                 : pod_fail(POD_E_FORMAT, "%s/job: no record of attempt %d", j->dir, number);
    free(part);
    return status;
}

pod_account pod_account_add(const pod_account *before, const pod_job_log *l, pod_stamp now)
{
    pod_account a = *before;
    const bool runs = l->ended == 0;
    const pod_stamp wall = (runs ? now : l->ended) - l->begun;
    pod_stamp rest = wall;
    if (a.n_attempts == 0) a = (pod_account){.n_attempts = 1, .begin = l->begun};
    for (int s = 0; s < POD_JOB_OTHER; s++) {
        a.by_span[s] += l->by_span[s];
        rest -= l->by_span[s];
    }
    POD_ASSERT(rest >= 0, "spans take %" PRId64 " ns more than the job", -rest);
    a.by_span[POD_JOB_OTHER] += rest;
    a.n_ranks = 1;
    a.runs = runs;
    a.wall += wall;
    a.end = l->begun + wall;
    a.unsaved = l->unsaved;
    a.n_steps += l->n_steps - l->n_unsaved;
    a.n_unsaved_steps = runs ? l->n_unsaved : 0;
    a.n_lost_steps += runs ? 0 : l->n_unsaved;
    if (l->kept_step > a.max_productive_step) a.max_productive_step = l->kept_step;
    return a;
}

/* ---- stretches of its time ---- */

typedef struct stretches {
    pod_account *x;
    int n;
} stretches;

static void add_piece(void *ctx, const pod_account_piece *p)
{
    const stretches *s = ctx;
    for (pod_account *x = s->x; x < s->x + s->n; x++) {
        const pod_stamp took = earlier(p->end, x->end) - later(p->begin, x->begin);
        if (took <= 0) continue;
        x->wall += took;
        x->by_span[p->span] += took;
        if (p->is_unsaved) x->unsaved += took;
    }
}

pod_status pod_account_fill(const pod_job *j, pod_stamp now, pod_account x[], int n)
{
    pod_account all;
    stretches s = {x, n};
    for (int i = 0; i < n; i++) x[i] = (pod_account){.begin = x[i].begin, .end = x[i].end};
    POD_TRY(account(j, -1, now, add_piece, &s, &all));
    for (int i = 0; i < n; i++) {
        x[i].runs = all.runs;
        x[i].n_steps = all.n_steps;
        x[i].n_unsaved_steps = all.n_unsaved_steps;
    }
    return POD_OK;
}

pod_status pod_account_cut(const pod_job *j, pod_stamp now, pod_stamp begin, pod_stamp end,
                           pod_account x[], int n)
{
    const pod_stamp part = (end - begin) / n, left = (end - begin) % n;
    for (int i = 0; i < n; i++) {
        x[i].begin = begin + part * i + (i < left ? i : left);
        x[i].end = begin + part * (i + 1) + (i + 1 < left ? i + 1 : left);
    }
    return pod_account_fill(j, now, x, n);
}

/* ---- figures ---- */

pod_stamp pod_account_productive(const pod_account *a)
{
    return a->by_span[POD_JOB_STEP] - a->unsaved;
}

bool pod_account_awaits_save(const pod_account *a)
{
    return a->runs && a->n_unsaved_steps > 0 && a->n_steps == 0;
}

double pod_account_runtime_goodput(const pod_account *a)
{
    if (a->wall <= 0 || pod_account_awaits_save(a)) return (double)NAN;
    return (double)pod_account_productive(a) / (double)a->wall;
}
