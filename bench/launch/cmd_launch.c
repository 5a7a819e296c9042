/* minipod launch: starts mpirun with a command of minipod, watches it, and begins training again
 * from its last whole checkpoint when it crashes, hangs or loses a rank. */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wordexp.h>

#include "bench/command.h"
#include "bench/config_share.h"
#include "bench/launch/launch.h"
#include "bench/result_files.h"
#include "kernels/base/cpu.h"
#include "kernels/base/limits.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/file.h"
#include "runtime/train/guard.h"

enum { MAX_ADDED = 8 }; /* words of ours beside the person's */
enum { NO_HOST = 255 }; /* mpirun's exit code where a host is not reached, which may come back */

static const double least_stall_s = 3600; /* unless another is asked for */

typedef struct launch {
    pod_call *call;
    pod_arena *arena;
    wordexp_t mpirun; /* the words of --mpirun, as a shell would have them */
    const char *self; /* this program */
    char **args;      /* the command that is launched, with its options */
    int n_args;
    pod_config *config; /* that command's */
    const char *out;    /* likewise its folder */
    bool is_job;        /* training with a folder: it has a log and can be begun again */
    int ranks, first_attempt, n_restarts;
    int n_restarted; /* since a checkpoint was reached that none before had */
    double pause_s;  /* before the attempt that runs */
    double stall_s;
    int64_t kept; /* step of the checkpoint that this job goes on from; 0: none */
    pod_launch_file *file;
    bool is_noted;                /* the begin of the attempt that runs stands in it */
    bool has_made_out, has_begun; /* its folder was not there before; an attempt has left a log */
    bool has_logs;                /* a rank has begun one, in whatever attempt */
    bool has_put_aside;           /* what an older job left in it, until it is settled */
    pod_launch_run *run;
} launch;

/* ---- what is launched ---- */

static pod_status fail_command(const char *name)
{
    if (pod_command_find(name))
        return pod_fail(POD_E_INVALID, "%s runs alone, only commands with ranks are launched",
                        name);
    const char *near = pod_command_nearest(name, true);
    return pod_fail(POD_E_INVALID, "'%.80s' is no command%s%s%s", name,
                    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* Its options are read here as its ranks will read them: what is wrong is said once, before
 * anything is started. */
static pod_status read_command(launch *l)
{
    extern char **environ;
    if (pod_config_n_args(l->call->config) == 0)
        return pod_fail(POD_E_INVALID,
                        "which command? like minipod launch -n 4 -- train --model mlp --out run");
    POD_TRY(pod_config_command_words(l->call->config, l->arena, &l->args, &l->n_args));
    const pod_command *command = pod_command_find(l->args[0]);
    if (!command || command->ranks != POD_WITH_RANKS) return fail_command(l->args[0]);
    const pod_command_form *form = &command->form;
    POD_TRY(pod_config_from_args(form, l->n_args - 1, l->args + 1, environ, &l->config));
    const bool only_asks =
        pod_config_bool(l->config, POD_OPT_HELP) || pod_config_bool(l->config, POD_OPT_VERSION);
    l->out = form->bit == POD_CMD_TRAIN ? pod_config_text(l->config, POD_OPT_OUT) : "";
    l->is_job = !only_asks && l->out[0] != '\0';
    if (pod_result_files_take_stdout(l->config)) l->call->log->out = stderr;
    if (form->bit != POD_CMD_TRAIN || only_asks) l->n_restarts = 0;
    if (l->is_job) POD_TRY(pod_result_files_check_out(l->out, form->bit));
    if (l->n_restarts > 0 && !l->is_job)
        return pod_fail(
            POD_E_INVALID,
            "out: train has none, so no checkpoint to begin again from; give it --out DIR,"
            " or launch --restarts 0");
    return POD_OK;
}

/* ---- settings ---- */

/* A hang among ranks is for their watchdog. What this one sees beyond is that nobody gets on: a log
 * does not grow either while a long evaluation goes well, so it waits for long. */
static double stall_of(const launch *l)
{
    const double given_s = pod_config_double(l->call->config, POD_OPT_STALL);
    const double watchdog_s = pod_config_double(l->config, POD_OPT_WATCHDOG);
    if (given_s >= 0 || watchdog_s == 0) return given_s > 0 ? given_s : 0;
    return 2 * watchdog_s > least_stall_s ? 2 * watchdog_s : least_stall_s;
}

static pod_status read_mpirun(launch *l)
{
    const char *text = pod_config_text(l->call->config, POD_OPT_MPIRUN);
    const int failed = wordexp(text, &l->mpirun, WRDE_NOCMD);
    if (failed) l->mpirun = (wordexp_t){0};
    if (failed == WRDE_NOSPACE) return pod_fail(POD_E_NOMEM, "mpirun: out of memory");
    if (failed)
        return pod_fail(POD_E_INVALID,
                        "mpirun: in '%s' a quote is not closed, or one of ;|&<>(){} not quoted",
                        text);
    if (l->mpirun.we_wordc == 0 || !*l->mpirun.we_wordv[0])
        return pod_fail(POD_E_INVALID, "mpirun: '%s' names no program", text);
    return POD_OK;
}

static const char *command_text(const launch *l)
{
    const char *text = l->args[0];
    for (int i = 1; text && i < l->n_args; i++)
        text = pod_arena_text(l->arena, "%s %s", text, l->args[i]);
    return text;
}

/* A job that goes on from its own folder keeps its log; any other begins anew. */
static pod_status open_log(launch *l)
{
    l->first_attempt = 1;
    if (!l->is_job) return POD_OK;
    if (pod_guard_goes_on(pod_config_text(l->config, POD_OPT_RESUME), l->out)) {
        POD_TRY(pod_job_last_attempt(l->out, &l->first_attempt));
        l->first_attempt++;
    }
    l->has_made_out = access(l->out, F_OK) != 0;
    if (l->first_attempt == 1) {
        POD_TRY(pod_job_put_aside(l->out));
        l->has_put_aside = true;
    }
    const char *command = command_text(l);
    if (!command) return POD_E_NOMEM;
    return pod_launch_file_open(l->out, command, l->ranks, l->call->clock.stamp, &l->file);
}

static pod_status set_up(launch *l)
{
    const pod_config *c = l->call->config;
    l->n_restarts = (int)pod_config_int(c, POD_OPT_RESTARTS);
    l->ranks = (int)pod_config_int(c, POD_OPT_RANKS);
    pod_cpu_set allowed;
    pod_cpu_allowed(&allowed);
    const int cores = pod_cpu_set_cores(&allowed);
    if (l->ranks == 0) l->ranks = pod_limit_cores();
    POD_TRY(read_command(l));
    POD_TRY(read_mpirun(l));
    POD_TRY(pod_launch_self(l->arena, &l->self));
    POD_TRY(pod_mpirun_as_root());
    if (l->ranks > cores) POD_TRY(pod_mpirun_share_cores());
    if (l->is_job) l->stall_s = stall_of(l);
    POD_TRY(open_log(l));
    return pod_launch_run_open(&l->call->clock, l->call->log, &l->run);
}

/* ---- an attempt ---- */

/* Until an attempt has begun, and where there is nothing to go on from, --resume stays what it was.
 * Ours overrides it since the last one counts; what stands behind a `--` is no option. */
static pod_status make_argv(const launch *l, int attempt, pod_arena *arena, const char ***out)
{
    const char **argv =
        POD_ARENA_NEW(arena, const char *, (int)l->mpirun.we_wordc + l->n_args + MAX_ADDED);
    const char *number[] = {pod_arena_text(arena, "%d", l->ranks),
                            pod_arena_text(arena, "%d", attempt)};
    if (!argv || !number[0] || !number[1]) return POD_E_NOMEM;
    int n = 0, end = 0;
    while (end < l->n_args && strcmp(l->args[end], "--") != 0) end++;
    for (size_t i = 0; i < l->mpirun.we_wordc; i++) argv[n++] = l->mpirun.we_wordv[i];
    argv[n++] = "-n";
    argv[n++] = number[0];
    argv[n++] = l->self;
    for (int i = 0; i < end; i++) argv[n++] = l->args[i];
    if (l->is_job) {
        argv[n++] = "--attempt";
        argv[n++] = number[1];
    }
    if (l->has_begun && l->kept > 0) {
        argv[n++] = "--resume";
        argv[n++] = "auto";
    }
    for (int i = end; i < l->n_args; i++) argv[n++] = l->args[i];
    *out = argv;
    return POD_OK;
}

/* A job goes on without a line of its log; the person is told. */
static void warn_of(const launch *l, pod_status s)
{
    if (s != POD_OK) pod_launch_warn(l->call->log, "%s", pod_error_text());
}

static pod_status run(launch *l, int attempt, pod_arena *arena, pod_launch_outcome *out)
{
    pod_launch_plan plan = {.log_dir = "", .attempt = attempt, .stall_s = l->stall_s};
    const char **argv;
    POD_TRY(make_argv(l, attempt, arena, &argv));
    plan.argv = argv;
    if (l->is_job) {
        plan.log_dir = pod_arena_text(arena, "%s/job", l->out);
        if (!plan.log_dir) return POD_E_NOMEM;
        const pod_status noted =
            pod_launch_file_put_begin(l->file, attempt, pod_clock_stamp(&l->call->clock));
        warn_of(l, noted);
        l->is_noted = noted == POD_OK;
    }
    return pod_launch_run_attempt(l->run, &plan, out);
}

static pod_launch_log read_log(const launch *l, int attempt, pod_arena *arena)
{
    pod_job job;
    const pod_launch_log none = {.failure = ""};
    if (!l->is_job) return none;
    const pod_status s = pod_job_read_rank(arena, l->out, 0, &job);
    warn_of(l, s);
    return s == POD_OK ? pod_launch_log_of(&job, attempt) : none;
}

/* What the folder has is what an attempt goes on from once one of this launch has begun its log:
 * before it does so, train puts an older job's checkpoints aside, and those of steps that are left
 * behind for what --resume names. */
static const char *resumes_from(const launch *l)
{
    const char *resume = pod_config_text(l->config, POD_OPT_RESUME);
    return l->has_begun || strcmp(resume, "auto") == 0 ? l->out : resume;
}

/* The checkpoint that train takes first need not be the latest that was saved: 'latest' may not
 * have moved to that. Whether it is whole is for train to find out. */
static int64_t latest_kept(const launch *l, const pod_launch_log *log, pod_arena *arena)
{
    const char *from = l->is_job ? resumes_from(l) : "";
    pod_checkpoint_list list;
    pod_checkpoint_info info;
    if (*from && pod_checkpoint_find(from, arena, NULL, &list) == POD_OK)
        for (int i = 0; i < list.n; i++)
            if (pod_checkpoint_read_info(list.folder[i], arena, &info) == POD_OK) return info.step;
    return l->has_begun && log->began ? log->kept : l->kept;
}

/* What neither mpirun nor the other ranks say of who died: mpirun's exit code may, and so may the
 * log of a rank that --fault killed. */
static void hear_more(const launch *l, int attempt, pod_arena *arena, pod_launch_outcome *o)
{
    pod_fault fault[POD_MAX_FAULTS];
    pod_job job;
    int n_faults = 0;
    if (o->exit_code == POD_EXIT_OK || o->heard.signal > 0) return;
    if (l->is_job &&
        pod_faults_parse(pod_config_text(l->config, POD_OPT_FAULT), fault, &n_faults) == POD_OK &&
        n_faults > 0 && pod_job_read(arena, l->out, &job) == POD_OK) {
        const int rank = pod_launch_log_struck(&job, attempt, fault, n_faults);
        if (rank >= 0 && (o->heard.rank < 0 || o->heard.rank == rank)) {
            o->heard.rank = rank;
            o->heard.signal = SIGKILL;
        }
    }
    if (!o->was_ended && o->launcher_signal == 0) pod_launch_hear_exit(o->exit_code, &o->heard);
}

/* ---- after it ---- */

/* Whether all that an attempt had done is kept: where it failed of something, that stays to be
 * told, and where its log cannot be read nobody knows. A checkpoint of more steps than it had done
 * is of those that it left behind. */
static bool is_saved(const pod_launch_log *log, int64_t kept)
{
    const int64_t saved = kept <= log->step ? kept : log->kept;
    return log->is_read && log->failure[0] == '\0' && (log->stopped || saved >= log->step);
}

static pod_launch_next decide(const launch *l, const pod_launch_outcome *o,
                              const pod_launch_log *log, int64_t kept)
{
    const pod_launch_seen seen = {
        .exit_code = o->exit_code,
        .killed = o->heard.rank >= 0 || pod_launch_signal_of(o->exit_code) > 0,
        .hung = o->stalled || o->heard.overdue[0] != '\0',
        .refused = o->heard.refused && !o->has_logs && !l->has_begun,
        .unstarted = l->is_job && !l->has_logs && o->exit_code != NO_HOST,
        .asked_to_stop = pod_launch_run_asked_to_stop(l->run),
        .stopped = log->stopped,
        .finished = log->finished,
        .is_saved = is_saved(log, kept),
        .progressed = kept > l->kept,
        .restarts_left = l->n_restarts - l->n_restarted,
        .first_pause_s = pod_config_double(l->call->config, POD_OPT_BACKOFF),
        .pause_s = l->pause_s,
    };
    return pod_launch_decide(&seen);
}

static void say_again(const launch *l, int attempt, const char *tale, const pod_launch_next *next)
{
    const bool saves = pod_config_int(l->config, POD_OPT_CHECKPOINT_EVERY) > 0;
    char from[64];
    snprintf(from, sizeof from, "the beginning%s", saves ? "" : ": --checkpoint-every is 0");
    if (l->kept > 0)
        snprintf(from, sizeof from, "step %" PRId64 ", if its checkpoint is whole", l->kept);
    pod_launch_warn(l->call->log, "attempt %d: %s; attempt %d in %g s from %s", attempt, tale,
                    attempt + 1, next->pause_s, from);
}

static pod_status fail_unstarted(pod_status s)
{
    return pod_fail(
        s, "no rank has begun: why stands above, and another attempt would fare no better");
}

/* The last attempt's own words are not said again: what it finds wrong, how it missed its target,
 * and why it failed when there are no restarts. */
static pod_status say_last(const launch *l, int attempt, const char *tale, bool refused,
                           const pod_launch_next *next)
{
    const bool is_failure = next->exit_code == POD_EXIT_FAILED;
    switch (next->reason) {
    case POD_LAUNCH_USAGE:
        if (attempt == l->first_attempt && refused) return fail_unstarted(POD_E_INVALID);
        if (attempt == l->first_attempt) return POD_OK;
        return pod_fail(POD_E_INVALID, "attempt %d: %s; its input cannot be used, so none follows",
                        attempt, tale);
    case POD_LAUNCH_MISSED: return POD_OK;
    case POD_LAUNCH_OK:
        if (attempt > l->first_attempt)
            pod_log_say(l->call->log, POD_LOG_INFO, "done in %d attempts", attempt);
        return POD_OK;
    case POD_LAUNCH_STOPPED:
        if (is_failure)
            return pod_fail(POD_E_COMM, "attempt %d: asked to stop, and ended before it could save",
                            attempt);
        pod_log_say(l->call->log, POD_LOG_INFO, "attempt %d: %s; train --resume auto resumes it",
                    attempt, tale);
        return POD_OK;
    case POD_LAUNCH_UNSTARTED: return l->n_restarts > 0 ? fail_unstarted(POD_E_COMM) : POD_OK;
    case POD_LAUNCH_FAILED:
        if (l->n_restarts == 0) return POD_OK;
        break;
    case POD_LAUNCH_KILLED:
    case POD_LAUNCH_HUNG: break;
    }
    if (l->n_restarts == 0 || pod_launch_run_asked_to_stop(l->run))
        return pod_fail(POD_E_COMM, "attempt %d: %s", attempt, tale);
    return pod_fail(POD_E_COMM,
                    "attempt %d: %s; none of %d restarts without progress is left: when its cause "
                    "is gone, train --resume auto resumes the job",
                    attempt, tale, l->n_restarts);
}

/* Of a launch of which nothing began: the job that it would have gone on with is as it was, and
 * where there was none a folder that looks like a run's would only mislead. What is not empty
 * stays. */
static void take_back(launch *l)
{
    static const char *const folders[] = {"job", "checkpoint"};
    char path[POD_PATH_BYTES];
    warn_of(l, pod_launch_file_take_back(l->file));
    pod_launch_file_close(l->file);
    l->file = NULL;
    if (l->first_attempt > 1) return;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if (pod_path_join(l->out, folders[i], path) == POD_OK) (void)rmdir(path);
    if (l->has_made_out) (void)rmdir(l->out);
}

/* One attempt, told of and written down. */
static pod_status attempt_once(launch *l, int attempt, pod_arena *arena, pod_launch_next *next)
{
    pod_launch_outcome o;
    POD_TRY(run(l, attempt, arena, &o));
    const pod_launch_log log = read_log(l, attempt, arena);
    l->has_begun = l->has_begun || log.began_now;
    const int64_t kept = latest_kept(l, &log, arena);
    hear_more(l, attempt, arena, &o);
    l->has_logs = l->has_logs || o.has_logs || log.began;
    if (kept > l->kept) l->n_restarted = 0;
    *next = decide(l, &o, &log, kept);
    l->n_restarted += next->again;
    l->kept = kept;
    const char *what = pod_launch_what(arena, next->reason, l->mpirun.we_wordv[0], &o, log.failure);
    const char *tale = what ? pod_launch_tell(arena, what, &o, log.step) : NULL;
    if (!tale) return POD_E_NOMEM;
    if (l->is_noted) /* an end without its begin would be no log */
        warn_of(l, pod_launch_file_put_end(l->file, attempt, o.end, o.exit_code,
                                           pod_launch_reason_text(next->reason), what));
    pod_launch_run_pass_rest(l->run, next->again);
    if (next->again) {
        say_again(l, attempt, tale, next);
        return POD_OK;
    }
    const bool is_none = next->reason == POD_LAUNCH_USAGE || next->reason == POD_LAUNCH_UNSTARTED;
    if (l->is_job && is_none && attempt == l->first_attempt && !l->has_begun) take_back(l);
    return say_last(l, attempt, tale, o.heard.refused, next);
}

static pod_status run_attempts(launch *l, int *exit_code)
{
    pod_launch_next next = {.again = true};
    for (int attempt = l->first_attempt; next.again; attempt++) {
        pod_arena *arena;
        POD_TRY(pod_arena_create(NULL, &arena));
        const pod_status s = attempt_once(l, attempt, arena, &next);
        pod_arena_destroy(arena);
        *exit_code = next.exit_code;
        POD_TRY(s);
        l->pause_s = next.pause_s;
        if (next.again && !pod_launch_run_pause(l->run, next.pause_s)) {
            pod_log_say(l->call->log, POD_LOG_INFO,
                        "stopped as it was asked to, before attempt %d; train --resume auto "
                        "resumes the job",
                        attempt + 1);
            *exit_code = POD_EXIT_OK;
            return POD_OK;
        }
    }
    return POD_OK;
}

/* What the launcher failed of, if it did, is said later. */
static void settle(const launch *l)
{
    const char *failure = pod_arena_text(l->arena, "%s", pod_error_text());
    if (l->has_begun) warn_of(l, pod_launch_goodput_close(l->arena, l->out, l->kept));
    if (l->has_put_aside) warn_of(l, pod_job_settle(l->out));
    if (failure) pod_error_set(failure);
}

static void release(launch *l)
{
    pod_launch_run_close(l->run);
    pod_launch_file_close(l->file);
    settle(l);
    pod_config_destroy(l->config);
    if (l->mpirun.we_wordv) wordfree(&l->mpirun);
}

pod_status pod_cmd_launch(pod_call *call, int *exit_code)
{
    launch l = {.call = call, .arena = call->arena};
    pod_status s = set_up(&l);
    if (s == POD_OK) s = run_attempts(&l, exit_code);
    release(&l);
    return s;
}
