/* What `minipod goodput` shows of each run alone: attempts, windows, stragglers, what would help. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "bench/goodput/goodput.h"

enum { TEXT_BYTES = 160, MAX_RANK_ROWS = 64 };

static const char *plural(int64_t n) { return n == 1 ? "" : "s"; }

/* ---- attempts -------------------------------------------------------------------------------- */

static const pod_column attempt_columns[] = {
    {"attempt", "", false},  {"ranks", "", false},  {"begin", "s", false}, {"took", "s", false},
    {"from", "step", false}, {"to", "step", false}, {"ended", "", true},   {"what", "", true}};

typedef struct attempt_row { /* what launcher and ranks of an attempt tell together */
    int number, ranks;
    pod_stamp begin, end;
    int64_t from, to; /* steps; -1: not known */
    const char *ended, *what;
} attempt_row;

/* What ended an attempt is what its first rank that failed says. */
static void join_part(attempt_row *a, const pod_job_part *p)
{
    static const char *const ends[] = {[POD_JOB_END_NONE] = "no end",
                                       [POD_JOB_END_OK] = "ok",
                                       [POD_JOB_END_STOPPED] = "stopped",
                                       [POD_JOB_END_FAILED] = "failed"};
    const int64_t to = p->n_steps > 0 ? p->step[p->n_steps - 1].step : p->first_step;
    const bool failed = p->end == POD_JOB_END_FAILED;
    a->ranks = p->head.ranks;
    if (a->begin == 0 || p->head.begin < a->begin) a->begin = p->head.begin;
    if (p->last > a->end) a->end = p->last;
    if (p->first_step >= 0) a->from = p->first_step;
    if (to > a->to) a->to = to;
    if (!a->ended || (p->end != POD_JOB_END_NONE && *a->what == '\0')) a->ended = ends[p->end];
    if (failed && *a->what == '\0') a->what = p->end_text;
}

static void join_launch(attempt_row *a, const pod_job_attempt *l)
{
    if (a->begin == 0 || l->begin < a->begin) a->begin = l->begin;
    if (l->end > a->end) a->end = l->end;
    if (*l->reason) a->ended = l->reason;
    if (*l->text) a->what = l->text;
}

/* As one line of a table, whatever a log had. */
static void add_text(pod_table *t, const char *text)
{
    char line[TEXT_BYTES];
    snprintf(line, sizeof line, "%s", *text ? text : "-");
    pod_line_flatten(line);
    pod_table_add(t, "%s", line);
}

static void add_attempt(pod_table *t, const attempt_row *a, pod_stamp job_begin)
{
    pod_table_row(t, "%d\t%.0f\t%.3f\t%.3f\t%.0f\t%.0f", a->number,
                  pod_known(a->ranks > 0, a->ranks), pod_stamp_seconds(a->begin - job_begin),
                  pod_known(a->end != 0, pod_stamp_seconds(a->end - a->begin)),
                  pod_known(a->from >= 0, (double)a->from), pod_known(a->to >= 0, (double)a->to));
    add_text(t, a->ended ? a->ended : "");
    add_text(t, a->what);
}

/* Attempts of which only the launcher tells, and those that nobody launched, stand there too. */
static void add_attempts(pod_table *t, const pod_run_account *r)
{
    const pod_job *j = &r->job;
    for (int p = 0, l = 0; p < j->n_parts || l < j->n_attempts;) {
        const bool has_part = p < j->n_parts, has_launch = l < j->n_attempts;
        int number = has_part ? j->part[p].head.attempt : j->attempt[l].attempt;
        if (has_launch && j->attempt[l].attempt < number) number = j->attempt[l].attempt;
        attempt_row a = {.number = number, .from = -1, .to = -1, .what = ""};
        while (p < j->n_parts && j->part[p].head.attempt == number) join_part(&a, &j->part[p++]);
        if (has_launch && j->attempt[l].attempt == number) join_launch(&a, &j->attempt[l++]);
        add_attempt(t, &a, r->sum.begin);
    }
}

/* A rank whose log is empty or was lost is accounted all the same, as one that did nothing. */
static void note_gaps(pod_table *t, const pod_run_account *r)
{
    const pod_job *j = &r->job;
    for (int p = 0; p < j->n_parts;) {
        const pod_job_head *head = &j->part[p].head;
        int n = 0, n_cut = 0, n_torn = 0;
        bool is_ok = false;
        for (; p < j->n_parts && j->part[p].head.attempt == head->attempt; p++, n++) {
            n_cut += j->part[p].end == POD_JOB_END_NONE;
            n_torn += j->part[p].is_torn;
            is_ok |= j->part[p].end == POD_JOB_END_OK;
        }
        if (r->sum.runs && p == j->n_parts) return; /* ranks may be on their way */
        if (n < head->ranks)
            pod_table_note(t,
                           "attempt %d: %d of %d ranks left no log that is begun: their time is in "
                           "the figures, not what they did with it",
                           head->attempt, head->ranks - n, head->ranks);
        if (is_ok && n_cut > 0)
            pod_table_note(t,
                           "attempt %d: it came to its end, but the logs of %d of %d ranks have "
                           "none: they are cut off",
                           head->attempt, n_cut, head->ranks);
        else if (n_torn > 0)
            pod_table_note(t,
                           "attempt %d: the last line of the logs of %d of %d ranks is cut off and "
                           "left out, as a kill leaves it",
                           head->attempt, n_torn, head->ranks);
    }
}

/* "mesh 2x2", or "meshes 2x2, 2x1": the ones it was on. */
static const char *print_meshes(const pod_run_account *r, char text[TEXT_BYTES])
{
    if (r->n_meshes < 2) {
        snprintf(text, TEXT_BYTES, "mesh %s", r->mesh);
        return text;
    }
    size_t n = (size_t)snprintf(text, TEXT_BYTES, "meshes");
    for (int i = 0; i < r->n_meshes && n < TEXT_BYTES; i++)
        n += (size_t)snprintf(text + n, TEXT_BYTES - n, "%s %s", i ? "," : "", r->on[i].mesh);
    return text;
}

static pod_status print_attempts(const pod_run_account *r, FILE *to)
{
    char meshes[TEXT_BYTES];
    pod_table *t;
    POD_TRY(pod_table_create(attempt_columns, N_COLUMNS(attempt_columns), &t));
    pod_table_note(t, "%s: %s on %s; %d attempt%s, %d disruption%s%s", r->name, r->model,
                   print_meshes(r, meshes), r->sum.n_attempts, plural(r->sum.n_attempts),
                   r->sum.n_disruptions, plural(r->sum.n_disruptions),
                   r->sum.runs ? "; it still runs" : "");
    if (r->saves.n_failed > 0)
        pod_table_note(
            t, "%s: %" PRId64 " of %" PRId64 " checkpoints failed: the run's warnings tell why",
            r->name, r->saves.n_failed, r->saves.n_begun);
    note_gaps(t, r);
    add_attempts(t, r);
    return pod_table_finish(t, to, "");
}

/* ---- windows --------------------------------------------------------------------------------- */

static const pod_column window_columns[] = {
    {"window", "", true},         {"wall", "rank-s", false}, {"productive", "rank-s", false},
    {"unsaved", "rank-s", false}, {"goodput", "%", false},   {"most_of_the_rest", "", true},
    {"share", "%", false}};

static pod_job_span find_worst(const pod_account *x)
{
    pod_job_span worst = POD_JOB_OTHER;
    for (pod_job_span s = 0; s < POD_N_JOB_SPANS; s++)
        if (s != POD_JOB_STEP && x->by_span[s] > x->by_span[worst]) worst = s;
    return worst;
}

static void add_window(pod_table *t, int seconds, const pod_account *x)
{
    const pod_job_span worst = find_worst(x);
    char name[32] = "cumulative";
    if (seconds) snprintf(name, sizeof name, "last %d s", seconds);
    pod_table_row(t, "%s\t%.3f\t%.3f\t%.3f\t%.2f\t%s\t%.2f", name, pod_stamp_seconds(x->wall),
                  pod_stamp_seconds(pod_account_productive(x)), pod_stamp_seconds(x->unsaved),
                  100 * pod_account_runtime_goodput(x), pod_job_span_name(worst),
                  100 * (double)x->by_span[worst] / (double)x->wall);
}

static pod_status print_windows(const pod_run_account *r, FILE *to)
{
    pod_table *t;
    POD_TRY(pod_table_create(window_columns, N_COLUMNS(window_columns), &t));
    pod_table_note(t, "%s: runtime goodput by window%s", r->name,
                   pod_account_awaits_save(&r->sum) ? "; not known: nothing saved yet" : "");
    for (int i = 0; i < POD_N_WINDOWS; i++)
        if (r->window[i].wall > 0) add_window(t, pod_window_s[i], &r->window[i]);
    return pod_table_finish(t, to, "");
}

/* ---- stragglers ------------------------------------------------------------------------------ */

static const pod_column pace_columns[] = {{"rank", "", false},       {"own", "ms", false},
                                          {"waits", "ms", false},    {"input", "ms", false},
                                          {"no_core", "ms", false},  {"relative", "", false},
                                          {"individual", "", false}, {"verdict", "", true}};

static void add_pace(pod_table *t, int rank, const pod_rank_pace *k)
{
    pod_table_row(t, "%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f", rank, 1e3 * k->own_s,
                  1e3 * k->reduce_s, 1e3 * k->input_s, 1e3 * k->core_wait_s, k->relative,
                  k->individual);
    if (k->is_slow && k->is_throughout)
        pod_table_add(t, "slow: %.2f times the others", k->factor);
    else if (k->is_slow)
        pod_table_add(t, "slow in steps %" PRId64 " to %" PRId64 ": %.2f times the others", k->from,
                      k->until, k->factor);
    else if (k->waits_for >= 0)
        pod_table_add(t, "waits %.3f ms a step for rank %d", 1e3 * k->waits_s, k->waits_for);
    else
        pod_table_add(t, "-");
}

static void note_verdict(pod_table *t, const pod_run_account *r)
{
    const pod_stragglers *s = &r->pace;
    char slow[TEXT_BYTES] = "";
    size_t n = 0;
    for (int i = 0; i < s->n_ranks && n + 16 < sizeof slow; i++)
        if (s->rank[i].is_slow)
            n += (size_t)snprintf(slow + n, sizeof slow - n, "%s%d", n ? ", " : "", i);
    if (s->n_steps < POD_STRAGGLER_MIN_STEPS)
        pod_table_note(t, "%" PRId64 " steps are too few to tell a straggler: want %d", s->n_steps,
                       POD_STRAGGLER_MIN_STEPS);
    else if (s->n_slow == 0)
        pod_table_note(t,
                       "no straggler: ranks' own times scatter by %.1f %%, none keeps above the "
                       "others'",
                       100 * s->scatter);
    else
        pod_table_note(t, "slow: rank%s %s; without %s steps would be %.1f %% shorter",
                       plural(s->n_slow), slow, s->n_slow > 1 ? "them" : "it",
                       100 * s->gain_s / s->steps_s);
}

static void note_crowd(pod_table *t, const pod_run_account *r)
{
    const int ranks = r->pace.n_ranks, cores = r->program.cores;
    bool is_known = false;
    for (int i = 0; i < r->pace.n_ranks; i++) is_known |= r->pace.rank[i].core_wait_s > 0;
    if (is_known)
        pod_table_note(t,
                       "no_core: could have run and others had the cores, in all of the step; it "
                       "is taken off own in proportion");
    else if (cores > 0 && ranks > cores)
        pod_table_note(t,
                       "%d ranks share %d core%s: own times hold waits for a core too, and a slow "
                       "rank shows less than it is",
                       ranks, cores, plural(cores));
}

static pod_status print_pace(const pod_run_account *r, FILE *to)
{
    const pod_stragglers *s = &r->pace;
    pod_table *t;
    POD_TRY(pod_table_create(pace_columns, N_COLUMNS(pace_columns), &t));
    pod_table_note(t,
                   "%s: %" PRId64
                   " steps of %d ranks, medians; own = step - waits for all-reduces - "
                   "waits for input - copies to save",
                   r->name, s->n_steps, s->n_ranks);
    note_crowd(t, r);
    for (int i = 0; i < s->n_ranks; i++)
        if (s->n_ranks <= MAX_RANK_ROWS || s->rank[i].is_slow) add_pace(t, i, &s->rank[i]);
    pod_table_footer(t);
    note_verdict(t, r);
    return pod_table_finish(t, to, "");
}

/* ---- all ------------------------------------------------------------------------------------- */

static void print_advice(const pod_run_account *r, FILE *to)
{
    if (r->n_advice == 0) {
        fprintf(to, "# %s: nothing that its log tells of would have won 1 %% of its time\n",
                r->name);
        return;
    }
    fprintf(to, "# %s: what would have helped most, as its log tells\n", r->name);
    for (int i = 0; i < r->n_advice; i++)
        fprintf(to, "#   %d. %5.1f %%  %s\n", i + 1, 100 * r->advice[i].gain, r->advice[i].text);
}

pod_status pod_goodput_print_run(const pod_run_account *r, FILE *to)
{
    fputc('\n', to);
    POD_TRY(print_attempts(r, to));
    fputc('\n', to);
    POD_TRY(print_windows(r, to));
    if (r->pace.rank) {
        fputc('\n', to);
        POD_TRY(print_pace(r, to));
    }
    fputc('\n', to);
    print_advice(r, to);
    return POD_OK;
}

static const pod_column fleet_columns[] = {{"job", "", true},
                                           {"asked", "rank-s", false},
                                           {"together", "rank-s", false},
                                           {"partial", "rank-s", false},
                                           {"queue", "s", false},
                                           {"scheduling", "%", false}};

pod_status pod_goodput_print_fleet(const pod_fleet *f, FILE *to)
{
    pod_table *t;
    POD_TRY(pod_table_create(fleet_columns, N_COLUMNS(fleet_columns), &t));
    pod_table_note(t, "%s: scheduling goodput = together / %s", f->path,
                   f->has_capacity ? "capacity; of a job: / asked"
                                   : "asked: the file tells no capacity");
    if (f->capacity_s > 0)
        pod_table_note(t,
                       "all jobs: %.3f / %.3f rank-s = %.2f %%; held while ranks were missing: "
                       "%.3f",
                       f->together_s, f->capacity_s, 100 * pod_fleet_goodput(f), f->partial_s);
    else
        pod_table_note(t, "all jobs: not known: no rank had any time");
    for (int i = 0; i < f->n_jobs; i++) {
        const pod_fleet_job *j = &f->job[i];
        add_text(t, j->name);
        pod_table_row(t, "%.3f\t%.3f\t%.3f\t%.3f\t%.2f", j->asked_s, j->together_s, j->partial_s,
                      j->queue_s, 100 * j->together_s / j->asked_s);
    }
    return pod_table_finish(t, to, "");
}
