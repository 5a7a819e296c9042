/* The runs of `minipod mlperf`, one after the other: each is this program once more. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/command.h"
#include "bench/config_share.h"
#include "bench/launch/launch.h"
#include "bench/report/mlperf.h"
#include "runtime/core/file.h"
#include "runtime/core/places.h"
#include "runtime/task/setup.h"

enum { OURS = 5 }; /* words beside the person's: the program, --seed, --out, what they are */

/* ---- what is repeated ---- */

static pod_status check_train(const pod_config *c)
{
    static const pod_opt ours[] = {POD_OPT_SEED, POD_OPT_OUT, POD_OPT_CSV, POD_OPT_JSON};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (pod_config_source(c, ours[i]) == POD_FROM_COMMAND_LINE)
            return pod_fail(POD_E_INVALID, "%s: cannot be train's, each run has its own",
                            pod_options[ours[i]].name);
    if (pod_config_is_set(c, POD_OPT_RESUME))
        return pod_fail(POD_E_INVALID,
                        "resume: each run begins anew, else its time were not whole");
    double target;
    POD_TRY(pod_setup_target(c, &target));
    if (!(target > 0))
        return pod_fail(POD_E_INVALID, "target: train has none, so there is no time to it");
    return POD_OK;
}

/* train, or launch -- train: read here as it will be read there, so that what is wrong is said
 * before anything runs. */
static pod_status read_command(pod_arena *a, int n, char *const words[], pod_config **train)
{
    extern char **environ;
    pod_config *c;
    const pod_command *command = n > 0 ? pod_command_find(words[0]) : NULL;
    const pod_command_form *form = command ? &command->form : NULL;
    if (!form || (form->bit != POD_CMD_TRAIN && form->bit != POD_CMD_LAUNCH))
        return pod_fail(POD_E_INVALID,
                        "repeats train, or launch -- train, found '%.80s'; like mlperf --out DIR --"
                        " launch -n 4 -- train ...",
                        n > 0 ? words[0] : "");
    POD_TRY(pod_config_from_args(form, n - 1, words + 1, environ, &c));
    if (form->bit == POD_CMD_LAUNCH) {
        char **inner = NULL;
        int n_inner = pod_config_n_args(c);
        const pod_status s =
            n_inner > 0 ? pod_config_command_words(c, a, &inner, &n_inner) : POD_OK;
        pod_config_destroy(c);
        POD_TRY(s);
        return read_command(a, n_inner, inner, train);
    }
    const pod_status s = check_train(c);
    if (s == POD_OK)
        *train = c;
    else
        pod_config_destroy(c);
    return s;
}

/* This program and the words, with room for ours. */
static pod_status make_argv(char *const words[], int n, pod_arena *a, char ***out)
{
    const char *self;
    char **argv = POD_ARENA_NEW(a, char *, n + OURS + 1);
    POD_TRY(pod_launch_self(a, &self));
    if (!argv) return POD_E_NOMEM;
    argv[0] = pod_arena_text(a, "%s", self);
    if (!argv[0]) return POD_E_NOMEM;
    memcpy(argv + 1, words, (size_t)n * sizeof *words);
    *out = argv;
    return POD_OK;
}

/* ---- the runs ---- */

typedef struct repeat {
    pod_log *log;
    pod_arena *arena;
    pod_launch_run *process;
    char **argv; /* with room for what is ours behind the person's n_words */
    int n_words;
    const char **folder;
    int64_t first_seed;
    int exit_code; /* of the run that was not done */
} repeat;

/* Runs that are there are looked at before any is trained; one that was stopped is none. */
static pod_status find_done(repeat *t, const pod_config *train, const char *out, int n,
                            pod_mlperf_run run[])
{
    for (int i = 0; i < n; i++) {
        char record[POD_PATH_BYTES];
        t->folder[i] = pod_arena_text(t->arena, "%s/run-%d", out, i);
        if (!t->folder[i]) return POD_E_NOMEM;
        POD_TRY(pod_path_join(t->folder[i], "run.json", record));
        if (access(record, F_OK) != 0) continue;
        POD_TRY(pod_mlperf_read(t->arena, t->folder[i], &run[i]));
        POD_TRY(pod_mlperf_check_settings(&run[i], train, t->first_seed + i));
        if (run[i].was_stopped) run[i].folder = NULL;
    }
    return POD_OK;
}

/* Whether it came to its end. */
static pod_status train_one(repeat *t, int i, pod_mlperf_run *run, bool *is_done)
{
    char **ours = t->argv + 1 + t->n_words;
    pod_launch_outcome outcome;
    const pod_launch_plan plan = {
        .argv = (const char *const *)t->argv, .log_dir = "", .to_stderr = t->log->out == stderr};
    ours[0] = pod_arena_text(t->arena, "--seed");
    ours[1] = pod_arena_text(t->arena, "%" PRId64, t->first_seed + i);
    ours[2] = pod_arena_text(t->arena, "--out");
    ours[3] = pod_arena_text(t->arena, "%s", t->folder[i]);
    if (!ours[0] || !ours[1] || !ours[2] || !ours[3]) return POD_E_NOMEM;
    fflush(t->log->out);
    POD_TRY(pod_launch_run_attempt(t->process, &plan, &outcome));
    pod_launch_run_pass_rest(t->process, true);
    *is_done = pod_mlperf_read(t->arena, t->folder[i], run) == POD_OK && !run->was_stopped;
    if (*is_done) return POD_OK;
    t->exit_code = outcome.exit_code == POD_EXIT_USAGE ? POD_EXIT_USAGE : POD_EXIT_FAILED;
    pod_log_say(
        t->log, POD_LOG_ERROR, "%s: %s; the same command begins this run anew", t->folder[i],
        pod_launch_run_asked_to_stop(t->process) ? "was asked to stop" : "did not come to its end");
    return POD_OK;
}

static pod_status train_all(repeat *t, int n, pod_mlperf_run run[], int *n_done)
{
    int n_missed = 0;
    for (*n_done = 0; *n_done < n && n_missed <= POD_SCORE_MAX_MISSES; ++*n_done) {
        const int i = *n_done;
        bool is_done = run[i].folder;
        if (pod_launch_run_asked_to_stop(t->process)) {
            t->exit_code = POD_EXIT_FAILED;
            pod_log_say(t->log, POD_LOG_ERROR,
                        "was asked to stop after %d of %d runs; the same command resumes", i, n);
            return POD_OK;
        }
        pod_log_say(t->log, POD_LOG_INFO, "run %d of %d: %s%s", i + 1, n, t->folder[i],
                    is_done ? " is there" : "");
        if (!is_done) POD_TRY(train_one(t, i, &run[i], &is_done));
        if (!is_done) return POD_OK;
        n_missed += !run[i].has_reached;
        pod_log_say(t->log, POD_LOG_INFO,
                    "%s: seed %" PRId64 " %s its target after %.3f s, %g epochs, %s %.*f",
                    t->folder[i], run[i].seed, run[i].has_reached ? "reached" : "missed",
                    run[i].run_s, run[i].epochs, run[i].metric,
                    pod_places_apart(run[i].value, run[i].target), run[i].value);
    }
    if (*n_done < n)
        pod_log_say(t->log, POD_LOG_WARNING,
                    "%d runs missed their target: with %d more there is no score either", n_missed,
                    n - *n_done);
    return POD_OK;
}

pod_status pod_mlperf_train(const pod_config *c, pod_log *log, const pod_clock *clock, pod_arena *a,
                            pod_mlperf_run run[], int n, int *n_done, int *exit_code)
{
    const char *out = pod_config_text(c, POD_OPT_OUT);
    repeat t = {.log = log,
                .arena = a,
                .folder = POD_ARENA_NEW(a, const char *, n),
                .first_seed = pod_config_int(c, POD_OPT_SEED)};
    pod_config *train;
    char **words;
    if (!t.folder) return POD_E_NOMEM;
    if (n < POD_SCORE_LEAST_RUNS)
        pod_log_say(log, POD_LOG_WARNING, "runs: a score wants at least %d, found %d",
                    POD_SCORE_LEAST_RUNS, n);
    POD_TRY(pod_config_command_words(c, a, &words, &t.n_words));
    POD_TRY(make_argv(words, t.n_words, a, &t.argv));
    POD_TRY(read_command(a, t.n_words, t.argv + 1, &train));
    pod_status s = find_done(&t, train, out, n, run);
    pod_config_destroy(train);
    if (s == POD_OK) s = pod_dir_make(out);
    if (s == POD_OK) s = pod_launch_run_open(clock, log, &t.process);
    if (s == POD_OK) s = train_all(&t, n, run, n_done);
    pod_launch_run_close(t.process);
    *exit_code = t.exit_code;
    return s;
}
