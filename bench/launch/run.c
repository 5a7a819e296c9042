#include "bench/launch/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/launch/next.h"
#include "bench/launch/relay.h"
#include "bench/launch/sweep.h"
#include "bench/launch/warn.h"
#include "kernels/base/limits.h"
#include "runtime/goodput/job_name.h"

static const double grace_s = 5;     /* between SIGTERM and SIGKILL */
static const double again_s = 0.5;   /* before the second request to stop, while ranks begin */
static const double patience_s = 30; /* with ranks that know that one of them is missing */
static const double reader_s = 3;    /* before a restart, with who reads what was printed */

static const char mark_name[] = "MINIPOD_LAUNCHED_BY";

static const int caught[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};

enum { N_CAUGHT = sizeof caught / sizeof caught[0] };

struct pod_launch_run {
    pod_clock clock;
    pod_log *log;
    char mark[96];    /* an entry of the environment */
    double stopped_s; /* in which this process was stopped while an attempt ran */
    int wake;         /* a byte comes out for each signal */
    int to_guard;
    pid_t guard; /* 0: it is gone */
    struct sigaction before[N_CAUGHT], pipe_before;
    pod_launch_relay out, err; /* of the attempt that has ended: what is not passed on yet */
    int n_asked;               /* to stop */
    bool is_alone;             /* nobody reads standard output any more, and that was said */
};

typedef struct attempt {
    const pod_launch_plan *plan;
    pid_t pid;
    pod_launch_relay out,
        err;      /* mpirun's standard output, unless it has this process's; and error */
    int n_served; /* how many of the requests to stop were passed on */
    bool is_ended, is_ending, is_killed;
    int status;    /* waitpid's */
    bool is_heard; /* ranks that have begun were asked to stop */
    double ending_since_s, grown_at_s, asked_at_s;
    double again_s;   /* from the last request to stop to the next one */
    double lost_at_s; /* when a rank was heard to be missing; 0: none was */
    int64_t log_bytes;
    pod_launch_scanner scanner;
    pod_launch_outcome *outcome;
} attempt;

/* Patience counts by this: a suspended job loses none. */
static double now_s(const pod_launch_run *r)
{
    return pod_time_seconds(pod_clock_now(&r->clock)) - r->stopped_s;
}

/* ---- signals ---- */

/* A handler is told nothing but its signal. */
static volatile sig_atomic_t wake_fd = -1;

static void wake(int signal_number)
{
    const int reason = errno;
    const unsigned char byte = (unsigned char)signal_number;
    const ssize_t n = write((int)wake_fd, &byte, 1); /* a full pipe wakes as well */
    (void)n;
    errno = reason;
}

static pod_status make_pipe(int fd[2])
{
    if (pipe(fd) != 0) return pod_fail(POD_E_IO, "launch: no pipe: %s", strerror(errno));
    for (int i = 0; i < 2; i++) fcntl(fd[i], F_SETFD, FD_CLOEXEC);
    return POD_OK;
}

/* What the person has switched off, as nohup does, stays off. Who reads what is printed may go (`|
 * head`): that ends no job, so a write to nobody is told by its answer alone. */
static pod_status catch_signals(pod_launch_run *r)
{
    int fd[2];
    POD_TRY(make_pipe(fd));
    for (int i = 0; i < 2; i++) fcntl(fd[i], F_SETFL, O_NONBLOCK);
    r->wake = fd[0];
    wake_fd = fd[1];
    struct sigaction own = {.sa_handler = wake, .sa_flags = SA_RESTART | SA_NOCLDSTOP};
    sigemptyset(&own.sa_mask);
    for (int i = 0; i < N_CAUGHT; i++) {
        sigaction(caught[i], NULL, &r->before[i]);
        if (r->before[i].sa_handler != SIG_IGN || caught[i] == SIGCHLD)
            sigaction(caught[i], &own, NULL);
    }
    own.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &own, &r->pipe_before);
    return POD_OK;
}

static void release_signals(pod_launch_run *r)
{
    for (int i = 0; i < N_CAUGHT; i++) sigaction(caught[i], &r->before[i], NULL);
    sigaction(SIGPIPE, &r->pipe_before, NULL);
    close((int)wake_fd);
    close(r->wake);
    wake_fd = -1;
}

static void take_signals(pod_launch_run *r)
{
    unsigned char byte[64];
    ssize_t n;
    while ((n = read(r->wake, byte, sizeof byte)) > 0)
        for (ssize_t i = 0; i < n; i++) r->n_asked += byte[i] != SIGCHLD;
}

/* ---- the guard: a process that outlives this one ---- */

static void end_orphan(pid_t job, const char *mark)
{
    const struct timespec tick = {.tv_nsec = 100000000};
    kill(-job, SIGTERM);
    for (double waited_s = 0; waited_s < grace_s && kill(job, 0) == 0; waited_s += 0.1)
        nanosleep(&tick, NULL);
    pod_launch_kill_marked(mark);
    pod_launch_sweep(job);
}

/* Is told of each mpirun, and 0 when there is none. */
static _Noreturn void guard(int from, const char *mark)
{
    setpgid(0, 0); /* what ends a whole group shall not end this */
    pid_t job = 0, told;
    while (read(from, &told, sizeof told) == (ssize_t)sizeof told) job = told;
    if (job > 0) end_orphan(job, mark);
    _exit(0);
}

static pod_status start_guard(pod_launch_run *r)
{
    int fd[2];
    POD_TRY(make_pipe(fd));
    r->guard = fork();
    if (r->guard == 0) {
        close(fd[1]);
        guard(fd[0], r->mark);
    }
    close(fd[0]);
    r->to_guard = fd[1];
    if (r->guard > 0) return POD_OK;
    close(fd[1]);
    return pod_fail(POD_E_IO, "launch: no second process: %s", strerror(errno));
}

static void tell_guard(const pod_launch_run *r, pid_t job)
{
    const ssize_t n = write(r->to_guard, &job, sizeof job);
    (void)n; /* it is gone: reap_guard says so */
}

/* Nothing hangs on it but what follows this one's own sudden end. */
static void reap_guard(pod_launch_run *r)
{
    if (r->guard == 0 || waitpid(r->guard, NULL, WNOHANG) == 0) return;
    r->guard = 0;
    pod_launch_warn(r->log,
                    "launch: the process that would end the ranks if this one were killed is gone; "
                    "the job continues");
}

static void release_guard(pod_launch_run *r)
{
    close(r->to_guard);
    while (r->guard != 0 && waitpid(r->guard, NULL, 0) < 0 && errno == EINTR) continue;
}

pod_status pod_launch_run_open(const pod_clock *clock, pod_log *log, pod_launch_run **out)
{
    pod_launch_run *r = calloc(1, sizeof *r);
    if (!r) return pod_fail(POD_E_NOMEM, "launch: out of memory");
    r->clock = *clock;
    r->log = log;
    r->out.from = r->err.from = -1;
    snprintf(r->mark, sizeof r->mark, "%s=%ld.%lld", mark_name, (long)getpid(),
             (long long)clock->stamp);
    pod_status s = start_guard(r); /* before the handlers, which it shall not have */
    if (s != POD_OK) goto no_guard;
    POD_TRY_GOTO(s, catch_signals(r), no_signals);
    if (setenv(mark_name, strchr(r->mark, '=') + 1, 1) == 0) {
        *out = r;
        return POD_OK;
    }
    s = pod_fail(POD_E_NOMEM, "launch: no memory for the environment");
    release_signals(r);
no_signals:
    release_guard(r);
no_guard:
    free(r);
    return s;
}

static void close_relays(pod_launch_run *r)
{
    pod_launch_relay_close(&r->out);
    pod_launch_relay_close(&r->err);
    r->out.n = r->err.n = 0;
}

void pod_launch_run_close(pod_launch_run *r)
{
    if (!r) return;
    close_relays(r);
    release_signals(r);
    release_guard(r);
    unsetenv(mark_name);
    free(r);
}

bool pod_launch_run_asked_to_stop(const pod_launch_run *r) { return r->n_asked > 0; }

bool pod_launch_run_pause(pod_launch_run *r, double seconds)
{
    const double until_s = now_s(r) + seconds;
    take_signals(r);
    for (double left_s = seconds; left_s > 0 && r->n_asked == 0; left_s = until_s - now_s(r)) {
        struct pollfd fd = {.fd = r->wake, .events = POLLIN};
        poll(&fd, 1, (int)(left_s * 1000) + 1);
        take_signals(r);
    }
    return r->n_asked == 0;
}

/* ---- an attempt ---- */

/* A terminal and a file are the job's own standard output: its ranks look for a terminal. A pipe is
 * read here, for its reader may go, which would be the end of mpirun. */
static bool passes_output(void)
{
    struct stat st;
    return fstat(STDOUT_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

static int spawn_with(const pod_launch_run *r, const attempt *a, const int to[2],
                      posix_spawn_file_actions_t *files, posix_spawnattr_t *how, pid_t *pid)
{
    extern char **environ;
    sigset_t usual;
    short flags = POSIX_SPAWN_SETPGROUP;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    if (r->pipe_before.sa_handler != SIG_IGN) flags |= POSIX_SPAWN_SETSIGDEF;
    posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (to[0] >= 0) posix_spawn_file_actions_adddup2(files, to[0], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(files, to[1], STDERR_FILENO);
    posix_spawnattr_setflags(how, flags);
    posix_spawnattr_setpgroup(how, 0);
    posix_spawnattr_setsigdefault(how, &usual);
    const char *const *argv = a->plan->argv;
    return posix_spawnp(pid, argv[0], files, how, (char *const *)argv, environ);
}

/* In a group of its own, so that a terminal's Ctrl-C reaches this process alone. to: where its
 * output goes, -1 for this process's, and its errors. */
static int spawn(const pod_launch_run *r, attempt *a, const int to[2])
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) return failed;
    failed = posix_spawnattr_init(&how);
    if (!failed) {
        failed = spawn_with(r, a, to, &files, &how, &a->pid);
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static pod_status open_pipes(bool for_output, int out[2], int err[2])
{
    POD_TRY(make_pipe(err));
    if (!for_output) return POD_OK;
    const pod_status s = make_pipe(out);
    if (s != POD_OK) {
        close(err[0]);
        close(err[1]);
    }
    return s;
}

static pod_status start(pod_launch_run *r, attempt *a)
{
    int out[2] = {-1, -1}, err[2];
    POD_TRY(open_pipes(passes_output(), out, err));
    fflush(stdout);
    a->scanner = pod_launch_scanner_start();
    a->out = pod_launch_relay_start(out[0], r->is_alone ? -1 : STDOUT_FILENO, NULL);
    a->err = pod_launch_relay_start(err[0], STDERR_FILENO, &a->scanner);
    const int failed = spawn(r, a, (const int[2]){out[1], err[1]});
    if (out[1] >= 0) close(out[1]);
    close(err[1]);
    if (failed) {
        pod_launch_relay_close(&a->out);
        pod_launch_relay_close(&a->err);
        return pod_fail(POD_E_INVALID, "mpirun: '%s' cannot be started: %s", a->plan->argv[0],
                        strerror(failed));
    }
    tell_guard(r, a->pid);
    a->grown_at_s = now_s(r);
    a->outcome->begin = pod_clock_stamp(&r->clock);
    return POD_OK;
}

/* What was printed passes through as it comes. */
static void pass_on(pod_launch_run *r, pod_launch_relay *out, pod_launch_relay *err)
{
    pod_launch_relay_pass(out);
    pod_launch_relay_pass(err);
    if (out->to >= 0 || r->is_alone) return;
    r->is_alone = true;
    pod_launch_warn(r->log, "launch: standard output: %s: output is dropped, the job continues",
                    strerror(out->reason));
}

/* Who asks twice to stop waits for no reader. */
void pod_launch_run_pass_rest(pod_launch_run *r, bool goes_on)
{
    const double until_s = now_s(r) + reader_s;
    double left_s = reader_s;
    pass_on(r, &r->out, &r->err);
    while ((r->out.n > 0 || r->err.n > 0) && r->n_asked < 2 && left_s > 0) {
        struct pollfd fd[3] = {{.fd = r->wake, .events = POLLIN},
                               pod_launch_relay_wants(&r->out),
                               pod_launch_relay_wants(&r->err)};
        poll(fd, 3, goes_on ? (int)(left_s * 1000) + 1 : -1);
        take_signals(r);
        pass_on(r, &r->out, &r->err);
        if (goes_on) left_s = until_s - now_s(r);
    }
    if (left_s <= 0 && (r->out.n > 0 || r->err.n > 0))
        pod_launch_warn(r->log,
                        "launch: nobody reads the rest of what the attempt printed: it is dropped");
    close_relays(r);
}

static void reap(attempt *a)
{
    const pid_t ended = waitpid(a->pid, &a->status, WNOHANG);
    a->is_ended = ended == a->pid || (ended < 0 && errno == ECHILD);
}

static void end_hard(const pod_launch_run *r, attempt *a)
{
    if (a->is_ending) return;
    a->is_ending = true;
    a->ending_since_s = now_s(r);
    kill(-a->pid, SIGTERM);
}

static bool is_lost(const attempt *a)
{
    return a->scanner.heard.rank >= 0 || a->scanner.heard.overdue[0] != '\0';
}

static int64_t bytes_of_logs(const pod_launch_plan *plan)
{
    pod_job_name name;
    DIR *dir = opendir(plan->log_dir);
    if (!dir) return 0;
    int64_t bytes = 0;
    struct stat st;
    for (const struct dirent *e; (e = readdir(dir));)
        if (pod_job_name_parse(e->d_name, &name) && name.attempt == plan->attempt &&
            fstatat(dirfd(dir), e->d_name, &st, 0) == 0)
            bytes += st.st_size;
    closedir(dir);
    return bytes;
}

static bool can_hear(const attempt *a)
{
    return a->plan->log_dir[0] == '\0' || bytes_of_logs(a->plan) > 0;
}

/* What mpirun is asked before it has ranks is lost: it is asked again, once one has begun its log
 * for the last time. Each request makes it print a line, so they become rare. */
static void ask_to_stop(const pod_launch_run *r, attempt *a)
{
    a->is_heard = can_hear(a);
    a->again_s = a->n_served == 0 ? again_s : 2 * a->again_s;
    a->asked_at_s = now_s(r);
    kill(a->pid, SIGUSR1);
}

static void pass_requests(const pod_launch_run *r, attempt *a)
{
    const bool is_unheard = a->n_served > 0 && !a->is_heard && !a->is_ending;
    const bool is_again = is_unheard && (now_s(r) - a->asked_at_s > a->again_s || can_hear(a));
    if ((a->n_served == 0 && r->n_asked > 0) || is_again) ask_to_stop(r, a);
    if (r->n_asked > 1) end_hard(r, a);
    a->n_served = r->n_asked;
}

static void watch_logs(const pod_launch_run *r, attempt *a)
{
    if (a->plan->stall_s <= 0 || a->is_ending || is_lost(a)) return;
    const int64_t bytes = bytes_of_logs(a->plan);
    const double now = now_s(r);
    if (bytes != a->log_bytes) {
        a->log_bytes = bytes;
        a->grown_at_s = now;
    } else if (now - a->grown_at_s > a->plan->stall_s) {
        a->outcome->stalled = true;
        a->outcome->quiet_s = now - a->grown_at_s;
        end_hard(r, a);
    }
}

/* A job that has lost a rank ends by itself; where it does not, it is ended. */
static void watch_loss(const pod_launch_run *r, attempt *a)
{
    if (!is_lost(a) || a->is_ending) return;
    const double stall_s = a->plan->stall_s, now = now_s(r);
    const double most_s = stall_s > 0 && stall_s < patience_s ? stall_s : patience_s;
    if (a->lost_at_s == 0) a->lost_at_s = now;
    if (now - a->lost_at_s > most_s) end_hard(r, a);
}

static void watch_ending(const pod_launch_run *r, attempt *a)
{
    if (!a->is_ending || a->is_killed || now_s(r) - a->ending_since_s < grace_s) return;
    a->is_killed = true;
    pod_launch_kill_marked(r->mark);
}

/* How long there is nothing to do but to listen, in milliseconds; -1: for ever. */
static int time_to_listen(const attempt *a)
{
    enum { LEAST = 20, MOST = 1000 };
    if (a->is_ending || is_lost(a) || (a->n_served > 0 && !a->is_heard)) return MOST / 10;
    if (a->plan->stall_s <= 0) return -1;
    const double eighth = a->plan->stall_s * 1000 / 8;
    return eighth < LEAST ? LEAST : eighth > MOST ? MOST : (int)eighth;
}

/* Who listens for so much longer than it wants to is stopped meanwhile, with the job as a rule. */
static void listen_to(pod_launch_run *r, attempt *a)
{
    const double begin_s = now_s(r), most_s = 1;
    struct pollfd fd[3] = {{.fd = r->wake, .events = POLLIN},
                           pod_launch_relay_wants(&a->out),
                           pod_launch_relay_wants(&a->err)};
    const int timeout_ms = time_to_listen(a);
    poll(fd, 3, timeout_ms); /* a negative fd is passed over */
    const double extra_s = now_s(r) - begin_s - 1e-3 * timeout_ms;
    if (timeout_ms >= 0 && extra_s > most_s) r->stopped_s += extra_s;
}

static void watch(pod_launch_run *r, attempt *a)
{
    for (reap(a); !a->is_ended; reap(a)) {
        listen_to(r, a);
        take_signals(r);
        reap_guard(r);
        pass_requests(r, a);
        pass_on(r, &a->out, &a->err);
        watch_loss(r, a);
        watch_logs(r, a);
        watch_ending(r, a);
    }
}

static void take_outcome(const pod_launch_run *r, attempt *a)
{
    pod_launch_outcome *out = a->outcome;
    out->end = pod_clock_stamp(&r->clock);
    out->was_ended = a->is_ending;
    out->has_logs = a->plan->log_dir[0] != '\0' && bytes_of_logs(a->plan) > 0;
    if (WIFSIGNALED(a->status)) out->launcher_signal = WTERMSIG(a->status);
    out->exit_code = WIFSIGNALED(a->status) ? POD_LAUNCH_BY_SIGNAL + out->launcher_signal
                                            : WEXITSTATUS(a->status);
}

/* All that printed is gone: what a reader does not take now can wait. */
static void keep_rest(pod_launch_run *r, attempt *a)
{
    pass_on(r, &a->out, &a->err);
    a->outcome->heard = a->scanner.heard;
    r->out = a->out;
    r->err = a->err;
    r->err.listener = NULL;
}

pod_status pod_launch_run_attempt(pod_launch_run *r, const pod_launch_plan *plan,
                                  pod_launch_outcome *out)
{
    *out = (pod_launch_outcome){0};
    attempt a = {.plan = plan, .outcome = out};
    const int64_t n_kills = pod_limit_memory_kills();
    POD_TRY(start(r, &a));
    watch(r, &a);
    const bool is_clean = WIFEXITED(a.status) && WEXITSTATUS(a.status) == 0;
    if (!is_clean) pod_launch_kill_marked(r->mark);
    take_outcome(r, &a);
    out->lacked_memory = pod_limit_memory_kills() > n_kills;
    keep_rest(r, &a);
    if (!is_clean) pod_launch_sweep(a.pid);
    tell_guard(r, 0);
    return POD_OK;
}
