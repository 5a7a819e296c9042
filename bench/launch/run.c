#include "bench/launch/launch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/command.h"
#include "kernels/base/limits.h"

static const double grace_s = 5;     /* between SIGTERM and SIGKILL */
static const double again_s = 0.5;   /* before the second request to stop, while ranks begin */
static const double patience_s = 30; /* with ranks that know that one of them is missing */
static const double reader_s = 3;    /* before a restart, with who reads what was printed */

static const char mark_name[] = "MINIPOD_LAUNCHED_BY";

static const int caught[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};

enum { N_CAUGHT = sizeof caught / sizeof caught[0] };

/* ---- what a job prints ---- */

/* Bytes of one descriptor go to another as they come, and are dropped once nobody reads them. Of two
 * pipes it waits for neither: the launcher has a job to watch while a reader (`| less`) stands still.
 * A terminal may take less than that at once, and a write to it then waits for its reader. */
typedef struct relay {
    int from;                     /* -1: there is nothing more to read, or never was */
    int to;                       /* borrowed; -1: nobody listens any more */
    int reason;                   /* errno of when that was found */
    pod_launch_scanner *listener; /* hears what passes; borrowed; NULL: none */
    size_t n;                     /* bytes that were read and not yet written */
    char bytes[4096]; /* PIPE_BUF: a pipe that can be written to takes so much, at once */
} relay;

static relay relay_start(int from, int to, pod_launch_scanner *listener)
{
    fcntl(from, F_SETFL, O_NONBLOCK);
    return (relay){.from = from, .to = to, .listener = listener};
}

static void relay_close(relay *r)
{
    if (r->from >= 0) close(r->from);
    r->from = -1;
}

static struct pollfd relay_wants(const relay *r)
{
    if (r->n > 0) return (struct pollfd){.fd = r->to, .events = POLLOUT};
    return (struct pollfd){.fd = r->from, .events = POLLIN};
}

static void relay_take(relay *r)
{
    const ssize_t n = read(r->from, r->bytes, sizeof r->bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
        relay_close(r);
        return;
    }
    if (r->listener) pod_launch_scanner_feed(r->listener, r->bytes, (size_t)n);
    r->n = r->to >= 0 ? (size_t)n : 0;
}

static void relay_give(relay *r)
{
    const ssize_t n = write(r->to, r->bytes, r->n);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n < 0) {
        r->reason = errno;
        r->to = -1;
        r->n = 0;
        return;
    }
    r->n -= (size_t)n;
    memmove(r->bytes, r->bytes + n, r->n);
}

static void relay_pass(relay *r)
{
    enum { MOST_TURNS = 256 }; /* the caller has other things to look after */
    for (int i = 0; i < MOST_TURNS; i++) {
        struct pollfd fd = relay_wants(r);
        if (fd.fd < 0 || poll(&fd, 1, 0) <= 0) return;
        if (r->n > 0)
            relay_give(r);
        else
            relay_take(r);
    }
}

/* ---- the launcher ---- */

struct pod_launch_run {
    pod_clock clock;
    pod_log *log;
    char mark[96];    /* an entry of the environment */
    double stopped_s; /* in which this process was stopped while an attempt ran */
    int wake;         /* a byte comes out for each signal */
    struct sigaction before[N_CAUGHT], pipe_before;
    relay out, err; /* of mpirun's standard output, unless it has this process's, and error */
    pod_launch_scanner scanner;
    int n_asked;   /* to stop */
    bool is_alone; /* nobody reads standard output any more, and that was said */
};

typedef struct attempt {
    const pod_launch_plan *plan;
    pid_t pid;
    int n_served; /* how many of the requests to stop were passed on */
    bool is_ended, is_ending, is_killed;
    int status;    /* waitpid's */
    bool is_heard; /* ranks that have begun were asked to stop */
    double ending_since_s, grown_at_s, asked_at_s;
    double again_s;   /* from the last request to stop to the next one */
    double lost_at_s; /* when a rank was heard to be missing; 0: none was */
    int64_t log_bytes;
    pod_launch_outcome *outcome;
} attempt;

/* Patience counts by this: a suspended job loses none. */
static double now_s(const pod_launch_run *r)
{
    return pod_time_seconds(pod_clock_now(&r->clock)) - r->stopped_s;
}

/* A pipe that can be written to takes a line at once. Signals cut a try short. */
static bool takes_lines(FILE *to)
{
    enum { TRIES = 10, TRY_MS = 100 };
    struct pollfd fd = {.fd = fileno(to), .events = POLLOUT};
    int n = 0;
    for (int i = 0; i < TRIES && n <= 0; i++) n = poll(&fd, 1, TRY_MS);
    return n > 0;
}

void pod_launch_warn(pod_log *log, const char *fmt, ...)
{
    char line[4096];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (log->err && takes_lines(log->err)) pod_log_say(log, POD_LOG_WARNING, "%s", line);
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

static void restore_signals(const pod_launch_run *r)
{
    for (int i = 0; i < N_CAUGHT; i++) sigaction(caught[i], &r->before[i], NULL);
    sigaction(SIGPIPE, &r->pipe_before, NULL);
}

static void release_signals(const pod_launch_run *r)
{
    restore_signals(r);
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

/* ---- opening ---- */

pod_status pod_launch_run_open(const pod_clock *clock, pod_log *log, pod_launch_run **out)
{
    pod_launch_run *r = calloc(1, sizeof *r);
    if (!r) return pod_fail(POD_E_NOMEM, "launch: out of memory");
    r->clock = *clock;
    r->log = log;
    r->out.from = r->err.from = -1;
    snprintf(r->mark, sizeof r->mark, "%s=%ld.%lld", mark_name, (long)getpid(),
             (long long)clock->stamp);
    pod_status s = POD_OK;
    if (setenv(mark_name, strchr(r->mark, '=') + 1, 1) != 0)
        s = pod_fail(POD_E_NOMEM, "launch: no memory for the environment");
    if (s == POD_OK) s = catch_signals(r);
    if (s == POD_OK)
        *out = r;
    else
        free(r);
    return s;
}

static void close_relays(pod_launch_run *r)
{
    relay_close(&r->out);
    relay_close(&r->err);
    r->out.n = r->err.n = 0;
}

void pod_launch_run_close(pod_launch_run *r)
{
    if (!r) return;
    close_relays(r);
    release_signals(r);
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

/* In a group of its own, so that a terminal's Ctrl-C reaches the launcher alone. The system asks it
 * to end, with its ranks, if the launcher dies. to: where its output goes, -1 for this process's, and
 * its errors. */
static _Noreturn void become_mpirun(const pod_launch_run *r, const pod_launch_plan *plan,
                                    pid_t launcher, const int to[2])
{
    restore_signals(r);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != launcher) _exit(POD_EXIT_FAILED);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
    if (to[0] >= 0 || plan->to_stderr) dup2(plan->to_stderr ? to[1] : to[0], STDOUT_FILENO);
    dup2(to[1], STDERR_FILENO);
    execvp(plan->argv[0], (char *const *)plan->argv);
    dprintf(STDERR_FILENO, "minipod launch: mpirun: '%s' cannot be started: %s\n", plan->argv[0],
            strerror(errno));
    _exit(POD_EXIT_USAGE);
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
    POD_TRY(open_pipes(!a->plan->to_stderr && passes_output(), out, err));
    fflush(stdout);
    r->scanner = pod_launch_scanner_start();
    r->out = relay_start(out[0], r->is_alone ? -1 : STDOUT_FILENO, NULL);
    r->err = relay_start(err[0], STDERR_FILENO, &r->scanner);
    const pid_t launcher = getpid();
    a->pid = fork();
    if (a->pid == 0) become_mpirun(r, a->plan, launcher, (const int[2]){out[1], err[1]});
    const int reason = errno;
    if (out[1] >= 0) close(out[1]);
    close(err[1]);
    if (a->pid < 0) {
        close_relays(r);
        return pod_fail(POD_E_IO, "launch: no second process: %s", strerror(reason));
    }
    setpgid(a->pid, a->pid); /* whichever of the two comes first */
    a->grown_at_s = now_s(r);
    a->outcome->begin = pod_clock_stamp(&r->clock);
    return POD_OK;
}

/* What was printed passes through as it comes. */
static void pass_on(pod_launch_run *r)
{
    relay_pass(&r->out);
    relay_pass(&r->err);
    if (r->out.to >= 0 || r->is_alone) return;
    r->is_alone = true;
    pod_launch_warn(r->log, "launch: standard output: %s: output is dropped, the job continues",
                    strerror(r->out.reason));
}

/* Who asks twice to stop waits for no reader. */
void pod_launch_run_pass_rest(pod_launch_run *r, bool goes_on)
{
    const double until_s = now_s(r) + reader_s;
    double left_s = reader_s;
    pass_on(r);
    while ((r->out.n > 0 || r->err.n > 0) && r->n_asked < 2 && left_s > 0) {
        struct pollfd fd[3] = {
            {.fd = r->wake, .events = POLLIN}, relay_wants(&r->out), relay_wants(&r->err)};
        poll(fd, 3, goes_on ? (int)(left_s * 1000) + 1 : -1);
        take_signals(r);
        pass_on(r);
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

static bool is_lost(const pod_launch_run *r)
{
    return r->scanner.heard.rank >= 0 || r->scanner.heard.overdue[0] != '\0';
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
    if (a->plan->stall_s <= 0 || a->is_ending || is_lost(r)) return;
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
    if (!is_lost(r) || a->is_ending) return;
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
static int time_to_listen(const pod_launch_run *r, const attempt *a)
{
    enum { LEAST = 20, MOST = 1000 };
    if (a->is_ending || is_lost(r) || (a->n_served > 0 && !a->is_heard)) return MOST / 10;
    if (a->plan->stall_s <= 0) return -1;
    const double eighth = a->plan->stall_s * 1000 / 8;
    return eighth < LEAST ? LEAST : eighth > MOST ? MOST : (int)eighth;
}

/* Who listens for so much longer than it wants to is stopped meanwhile, with the job as a rule. */
static void listen_to(pod_launch_run *r, const attempt *a)
{
    const double begin_s = now_s(r), most_s = 1;
    struct pollfd fd[3] = {
        {.fd = r->wake, .events = POLLIN}, relay_wants(&r->out), relay_wants(&r->err)};
    const int timeout_ms = time_to_listen(r, a);
    poll(fd, 3, timeout_ms); /* a negative fd is passed over */
    const double extra_s = now_s(r) - begin_s - 1e-3 * timeout_ms;
    if (timeout_ms >= 0 && extra_s > most_s) r->stopped_s += extra_s;
}

static void watch(pod_launch_run *r, attempt *a)
{
    for (reap(a); !a->is_ended; reap(a)) {
        listen_to(r, a);
        take_signals(r);
        pass_requests(r, a);
        pass_on(r);
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
    pass_on(r);
    out->heard = r->scanner.heard;
    r->err.listener = NULL;
    if (!is_clean) pod_launch_sweep(a.pid);
    return POD_OK;
}
