#include "bench/launch_run.h"

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

#include "bench/launch_next.h"
#include "bench/launch_sweep.h"

static const double grace_s = 5;     /* between SIGTERM and SIGKILL */
static const double patience_s = 30; /* with ranks that know that one of them is missing */

static const char mark_name[] = "MINIPOD_LAUNCHED_BY";

static const int caught[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1};

enum { N_CAUGHT = sizeof caught / sizeof caught[0] };

struct pod_launch_run {
    pod_clock clock;
    char mark[96]; /* an entry of the environment */
    int wake;      /* a byte comes out for each signal */
    int to_guard;
    pid_t guard;
    struct sigaction before[N_CAUGHT];
    int n_asked; /* to stop */
};

typedef struct attempt {
    const pod_launch_plan *plan;
    pid_t pid;
    int err;      /* mpirun's standard error comes out here; -1: it is closed */
    int n_served; /* how many of the requests to stop were passed on */
    bool is_ended, is_ending, is_killed;
    int status; /* waitpid's */
    double ending_since_s, grown_at_s;
    double lost_at_s; /* when a rank was heard to be missing; 0: none was */
    int64_t log_bytes;
    pod_launch_scanner scanner;
    pod_launch_outcome *out;
} attempt;

static double now_s(const pod_launch_run *r) { return pod_time_seconds(pod_clock_now(&r->clock)); }

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

/* What the person has switched off, as nohup does, stays off. */
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
    return POD_OK;
}

static void release_signals(pod_launch_run *r)
{
    for (int i = 0; i < N_CAUGHT; i++) sigaction(caught[i], &r->before[i], NULL);
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
    (void)n; /* it is gone: nothing hangs on it but what follows this one's sudden end */
}

static void release_guard(pod_launch_run *r)
{
    close(r->to_guard);
    while (waitpid(r->guard, NULL, 0) < 0 && errno == EINTR) continue;
}

pod_status pod_launch_run_open(const pod_clock *clock, pod_launch_run **out)
{
    pod_launch_run *r = calloc(1, sizeof *r);
    if (!r) return pod_fail(POD_E_NOMEM, "launch: out of memory");
    r->clock = *clock;
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

void pod_launch_run_close(pod_launch_run *r)
{
    if (!r) return;
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

/* In a group of its own, so that a terminal's Ctrl-C reaches this process alone. */
static int spawn(const pod_launch_plan *plan, int err, pid_t *pid)
{
    extern char **environ;
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed) return failed;
    failed = posix_spawnattr_init(&how);
    if (!failed) {
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
        posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
        posix_spawnattr_setpgroup(&how, 0);
        failed = posix_spawnp(pid, plan->argv[0], &files, &how, (char *const *)plan->argv, environ);
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static pod_status start(pod_launch_run *r, attempt *a)
{
    int fd[2];
    POD_TRY(make_pipe(fd));
    fflush(stdout);
    const int failed = spawn(a->plan, fd[1], &a->pid);
    close(fd[1]);
    if (failed) {
        close(fd[0]);
        return pod_fail(POD_E_INVALID, "--mpirun: '%s' cannot be started: %s", a->plan->argv[0],
                        strerror(failed));
    }
    tell_guard(r, a->pid);
    a->err = fd[0];
    fcntl(a->err, F_SETFL, O_NONBLOCK);
    a->scanner = pod_launch_scanner_start();
    a->grown_at_s = now_s(r);
    a->out->begin = pod_clock_stamp(&r->clock);
    return POD_OK;
}

static void put_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        const ssize_t put = write(fd, bytes, n);
        if (put < 0 && errno != EINTR) return; /* nobody listens */
        if (put > 0) bytes += put, n -= (size_t)put;
    }
}

/* Standard error passes through as it comes. */
static void pass_errors(attempt *a)
{
    char bytes[4096];
    while (a->err >= 0) {
        const ssize_t n = read(a->err, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) return;
        if (n <= 0) {
            close(a->err);
            a->err = -1;
            return;
        }
        put_all(STDERR_FILENO, bytes, (size_t)n);
        pod_launch_scanner_feed(&a->scanner, bytes, (size_t)n);
    }
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

static void pass_requests(const pod_launch_run *r, attempt *a)
{
    if (a->n_served == r->n_asked) return;
    if (a->n_served == 0) kill(a->pid, SIGUSR1);
    if (r->n_asked > 1) end_hard(r, a);
    a->n_served = r->n_asked;
}

static bool is_lost(const attempt *a)
{
    return a->scanner.heard.rank >= 0 || a->scanner.heard.overdue[0] != '\0';
}

static int64_t bytes_of_logs(const pod_launch_plan *plan)
{
    char prefix[32];
    const int length = snprintf(prefix, sizeof prefix, "attempt-%03d.", plan->attempt);
    DIR *dir = opendir(plan->log_dir);
    if (!dir) return 0;
    int64_t bytes = 0;
    struct stat st;
    for (const struct dirent *e; (e = readdir(dir));)
        if (strncmp(e->d_name, prefix, (size_t)length) == 0 &&
            fstatat(dirfd(dir), e->d_name, &st, 0) == 0)
            bytes += st.st_size;
    closedir(dir);
    return bytes;
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
        a->out->stalled = true;
        a->out->quiet_s = now - a->grown_at_s;
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
    if (a->is_ending || is_lost(a)) return MOST / 10;
    if (a->plan->stall_s <= 0) return -1;
    const double eighth = a->plan->stall_s * 1000 / 8;
    return eighth < LEAST ? LEAST : eighth > MOST ? MOST : (int)eighth;
}

static void watch(pod_launch_run *r, attempt *a)
{
    for (reap(a); !a->is_ended; reap(a)) {
        struct pollfd fd[2] = {{.fd = r->wake, .events = POLLIN}, {.fd = a->err, .events = POLLIN}};
        poll(fd, 2, time_to_listen(a)); /* a negative fd is passed over */
        take_signals(r);
        pass_requests(r, a);
        pass_errors(a);
        watch_loss(r, a);
        watch_logs(r, a);
        watch_ending(r, a);
    }
}

static void take_outcome(const pod_launch_run *r, attempt *a)
{
    pod_launch_outcome *out = a->out;
    out->end = pod_clock_stamp(&r->clock);
    out->heard = a->scanner.heard;
    if (WIFSIGNALED(a->status)) out->launcher_signal = WTERMSIG(a->status);
    out->exit_code = WIFSIGNALED(a->status) ? POD_LAUNCH_BY_SIGNAL + out->launcher_signal
                                            : WEXITSTATUS(a->status);
}

pod_status pod_launch_run_attempt(pod_launch_run *r, const pod_launch_plan *plan,
                                  pod_launch_outcome *out)
{
    *out = (pod_launch_outcome){0};
    attempt a = {.plan = plan, .out = out};
    POD_TRY(start(r, &a));
    watch(r, &a);
    const bool is_clean = WIFEXITED(a.status) && WEXITSTATUS(a.status) == 0;
    if (!is_clean) pod_launch_kill_marked(r->mark);
    pass_errors(&a);
    if (a.err >= 0) close(a.err);
    if (!is_clean) pod_launch_sweep(a.pid);
    tell_guard(r, 0);
    take_outcome(r, &a);
    return POD_OK;
}
