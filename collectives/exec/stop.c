#include "collectives/exec/stop.h"

#include <signal.h>

#include "collectives/exec/watch.h"

static volatile sig_atomic_t is_asked;

static void note_ask(int signal_number)
{
    (void)signal_number;
    is_asked = 1;
}

/* Each by itself: a terminal's SIGINT may come with mpirun's SIGTERM behind it. */
static bool take_first_end(int signal_number)
{
    static volatile sig_atomic_t is_taken[2];
    volatile sig_atomic_t *own = &is_taken[signal_number == SIGINT];
    if (*own) return false;
    *own = 1;
    is_asked = 1;
    return true;
}

void pod_stop_hear(void)
{
    struct sigaction ask = {.sa_handler = note_ask, .sa_flags = SA_RESTART};
    sigemptyset(&ask.sa_mask);
    sigaction(SIGUSR1, &ask, NULL);
}

void pod_stop_install(void)
{
    pod_stop_hear();
    pod__watch_install();
    pod__watch_ask_before_end(take_first_end);
}

bool pod_stop_asked(void) { return is_asked; }
