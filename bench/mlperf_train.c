/* The runs of `minipod mlperf`, one after the other: each is this program once more, in a process group
 * of its own, so that a terminal's Ctrl-C comes here alone and is passed on. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/command.h"
#include "bench/mlperf.h"
#include "runtime/core/file.h"

enum { OURS = 5 }; /* words beside the person's: the program, --seed, --out, what they are */

static const struct {
    pod_command_form form;
} commands[] = {
#define POD_COMMAND(name, bit, ranks, args, max_args, summary, ...) \
    {{#name, (bit), (args), (max_args), (summary)}},
#include "bench/commands.def"
};

/* ---- what is repeated ---- */

static const pod_command_form *find_form(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(commands[i].form.name, name) == 0) return &commands[i].form;
    return NULL;
}

static pod_status check_train(const pod_config *c)
{
    static const pod_opt ours[] = {POD_OPT_SEED, POD_OPT_OUT, POD_OPT_RESUME};
    int n;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        if (pod_config_source(c, ours[i]) == POD_FROM_COMMAND_LINE)
            return pod_fail(POD_E_INVALID, "%s: is set for each run, it cannot be train's",
                            pod_options(&n)[ours[i]].name);
    if (!(pod_config_double(c, POD_OPT_TARGET) > 0))
        return pod_fail(POD_E_INVALID, "target: train has none, so there is no time to it");
    return POD_OK;
}

/* train, or launch -- train: read here as it will be read there, so that what is wrong is said before
 * anything runs. */
static pod_status read_command(int n, char *const words[], pod_config **train)
{
    extern char **environ;
    pod_config *c;
    const pod_command_form *form = n > 0 ? find_form(words[0]) : NULL;
    if (!form || (form->bit != POD_CMD_TRAIN && form->bit != POD_CMD_LAUNCH))
        return pod_fail(POD_E_INVALID,
                        "repeats train, or launch -- train, found '%.80s'; like mlperf --out DIR --"
                        " launch -n 4 -- train ...",
                        n > 0 ? words[0] : "");
    POD_TRY(pod_config_from_args(form, n - 1, words + 1, environ, &c));
    if (form->bit == POD_CMD_LAUNCH) {
        const int n_args = pod_config_n_args(c);
        pod_config_destroy(c);
        return read_command(n_args, words + n - n_args, train);
    }
    const pod_status s = check_train(c);
    if (s == POD_OK)
        *train = c;
    else
        pod_config_destroy(c);
    return s;
}

static pod_status make_argv(const pod_config *c, pod_arena *a, char ***out)
{
    const int n = pod_config_n_args(c);
    char self[POD_PATH_BYTES];
    char **argv = POD_ARENA_NEW(a, char *, n + OURS + 1);
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return pod_fail(POD_E_IO, "/proc/self/exe: this program cannot be found");
    self[length] = '\0';
    if (!argv) return POD_E_NOMEM;
    for (int i = 0; i <= n; i++) {
        argv[i] = pod_arena_text(a, "%s", i == 0 ? self : pod_config_arg(c, i - 1));
        if (!argv[i]) return POD_E_NOMEM;
    }
    *out = argv;
    return POD_OK;
}

/* ---- a run ---- */

static const int asks_to_stop[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};
enum { N_ASKS = sizeof asks_to_stop / sizeof asks_to_stop[0] };

static pod_status start(char *const argv[], bool to_stderr, const sigset_t *usual, pid_t *pid)
{
    extern char **environ;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) return pod_fail(POD_E_NOMEM, "%s: %s", argv[0], strerror(failed));
    failed = posix_spawnattr_init(&how);
    if (!failed) {
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (to_stderr) posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
        posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
        posix_spawnattr_setpgroup(&how, 0);
        posix_spawnattr_setsigmask(&how, usual);
        failed = posix_spawn(pid, argv[0], &files, &how, argv, environ);
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&files);
    return failed ? pod_fail(POD_E_IO, "%s: %s", argv[0], strerror(failed)) : POD_OK;
}

/* Until it has ended; what asks this process to stop is passed on. */
static void wait_for(pid_t pid, const sigset_t *heard, int *status, bool *is_asked)
{
    for (;;) {
        const pid_t ended = waitpid(pid, status, WNOHANG);
        if (ended == pid || (ended < 0 && errno == ECHILD)) return;
        int signal_heard;
        if (sigwait(heard, &signal_heard) != 0 || signal_heard == SIGCHLD) continue;
        *is_asked = true;
        kill(pid, signal_heard);
    }
}

static pod_status run_once(char *const argv[], pod_log *log, int *code, bool *is_asked)
{
    sigset_t heard, usual;
    int status = 0;
    pid_t pid;
    sigemptyset(&heard);
    sigaddset(&heard, SIGCHLD);
    for (int i = 0; i < N_ASKS; i++) sigaddset(&heard, asks_to_stop[i]);
    sigprocmask(SIG_BLOCK, &heard, &usual);
    fflush(log->out);
    const pod_status s = start(argv, log->out == stderr, &usual, &pid);
    if (s == POD_OK) wait_for(pid, &heard, &status, is_asked);
    sigprocmask(SIG_SETMASK, &usual, NULL);
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : POD_EXIT_FAILED;
    return s;
}

/* ---- all of them ---- */

typedef struct repeat {
    pod_log *log;
    pod_arena *arena;
    char **argv; /* with room for what is ours behind the person's n_words */
    int n_words;
    const char **folder;
    int64_t first_seed;
    int exit_code; /* of the run that was not done */
} repeat;

/* Runs that are there are looked at before any is trained. */
static pod_status find_done(repeat *t, const pod_config *train, const char *out, int n,
                            pod_mlperf_run run[])
{
    for (int i = 0; i < n; i++) {
        t->folder[i] = pod_arena_text(t->arena, "%s/run-%d", out, i);
        if (!t->folder[i]) return POD_E_NOMEM;
        if (pod_mlperf_read(t->arena, t->folder[i], &run[i]) == POD_OK)
            POD_TRY(pod_mlperf_check_settings(&run[i], train, t->first_seed + i));
    }
    return POD_OK;
}

/* Whether it came to its end. */
static pod_status train_one(repeat *t, int i, pod_mlperf_run *run, bool *is_done)
{
    char **ours = t->argv + 1 + t->n_words;
    bool is_asked = false;
    int code;
    ours[0] = pod_arena_text(t->arena, "--seed");
    ours[1] = pod_arena_text(t->arena, "%" PRId64, t->first_seed + i);
    ours[2] = pod_arena_text(t->arena, "--out");
    ours[3] = pod_arena_text(t->arena, "%s", t->folder[i]);
    if (!ours[0] || !ours[1] || !ours[2] || !ours[3]) return POD_E_NOMEM;
    POD_TRY(run_once(t->argv, t->log, &code, &is_asked));
    *is_done = !is_asked && pod_mlperf_read(t->arena, t->folder[i], run) == POD_OK;
    if (*is_done) return POD_OK;
    t->exit_code = code == POD_EXIT_USAGE ? POD_EXIT_USAGE : POD_EXIT_FAILED;
    pod_log_say(t->log, POD_LOG_ERROR, "%s: %s; the same command goes on with this run",
                t->folder[i], is_asked ? "was asked to stop" : "did not come to its end");
    return POD_OK;
}

static pod_status train_all(repeat *t, int n, pod_mlperf_run run[], int *n_done)
{
    int n_missed = 0;
    for (*n_done = 0; *n_done < n && n_missed <= POD_SCORE_MAX_MISSES; ++*n_done) {
        const int i = *n_done;
        bool is_done = run[i].folder;
        pod_log_say(t->log, POD_LOG_INFO, "run %d of %d: %s%s", i + 1, n, t->folder[i],
                    is_done ? " is there" : "");
        if (!is_done) POD_TRY(train_one(t, i, &run[i], &is_done));
        if (!is_done) return POD_OK;
        n_missed += !run[i].has_reached;
        pod_log_say(t->log, POD_LOG_INFO,
                    "%s: seed %" PRId64 " %s its target after %.3f s, %g epochs, accuracy %.4f",
                    t->folder[i], run[i].seed, run[i].has_reached ? "reached" : "missed",
                    run[i].run_s, run[i].epochs, run[i].accuracy);
    }
    if (*n_done < n)
        pod_log_say(t->log, POD_LOG_WARNING,
                    "%d runs missed their target: with %d more there is no score either", n_missed,
                    n - *n_done);
    return POD_OK;
}

pod_status pod_mlperf_train(const pod_config *c, pod_log *log, pod_arena *a, pod_mlperf_run run[],
                            int n, int *n_done, int *exit_code)
{
    const char *out = pod_config_text(c, POD_OPT_OUT);
    repeat t = {.log = log,
                .arena = a,
                .n_words = pod_config_n_args(c),
                .folder = POD_ARENA_NEW(a, const char *, n),
                .first_seed = pod_config_int(c, POD_OPT_SEED)};
    pod_config *train;
    if (!t.folder) return POD_E_NOMEM;
    POD_TRY(make_argv(c, a, &t.argv));
    POD_TRY(read_command(t.n_words, t.argv + 1, &train));
    pod_status s = find_done(&t, train, out, n, run);
    pod_config_destroy(train);
    if (s == POD_OK) s = pod_dir_make(out);
    if (s == POD_OK) s = train_all(&t, n, run, n_done);
    *exit_code = t.exit_code;
    return s;
}
