#include "collectives/exec/watch/stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "collectives/exec/watch/watch.h"

static const int asks[] = {SIGUSR1, SIGUSR2, SIGXCPU, SIGPIPE};

static volatile sig_atomic_t is_asked;

static void warn_unread(void)
{
    static const char text[] =
        "minipod: standard output has no reader any more: stopping after this step\n";
    const ssize_t n = write(STDERR_FILENO, text, sizeof text - 1);
    (void)n; /* its reader may have gone as well */
}

static void note_ask(int signal_number)
{
    static volatile sig_atomic_t is_warned;
    const int reason = errno;
    struct pollfd out = {.fd = STDOUT_FILENO};
    const bool is_pipe = signal_number == SIGPIPE;
    if (!is_pipe || (poll(&out, 1, 0) == 1 && (out.revents & POLLERR))) is_asked = 1;
    if (is_pipe && is_asked && !is_warned) {
        is_warned = 1;
        warn_unread();
    }
    errno = reason;
}

/* Each by itself: a terminal's SIGINT may come with mpirun's SIGTERM behind it. */
static bool take_first_end(int signal_number)
{
    static volatile sig_atomic_t is_taken[32]; /* by number: those of watch.h are below */
    if (is_taken[signal_number]) return false;
    is_taken[signal_number] = 1;
    is_asked = 1;
    return true;
}

void pod_stop_hear(void)
{
    struct sigaction before, ask = {.sa_handler = note_ask, .sa_flags = SA_RESTART};
    sigemptyset(&ask.sa_mask);
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++)
        if (sigaction(asks[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(asks[i], &ask, NULL);
}

void pod_stop_install(void)
{
    pod_stop_hear();
    pod__watch_install();
    pod__watch_ask_before_end(take_first_end);
}

bool pod_stop_asked(void) { return is_asked; }
