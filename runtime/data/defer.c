#include "runtime/data/defer.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static const int ends[POD_N_DEFERRED] = {SIGINT, SIGTERM, SIGHUP};

/* The last one that came. A handler is told nothing but its signal. To block signals instead would
 * take all threads, also those that BLAS starts. */
static atomic_int came;

static void note(int signal_number) { came = signal_number; }

void pod__signals_defer(pod_deferred *out)
{
    struct sigaction now, own = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&own.sa_mask);
    for (int i = 0; i < POD_N_DEFERRED; i++)
        out->is_deferred[i] = sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL &&
                              sigaction(ends[i], &own, NULL) == 0;
}

void pod__signals_restore(const pod_deferred *deferred)
{
    struct sigaction end = {.sa_handler = SIG_DFL};
    sigemptyset(&end.sa_mask);
    for (int i = 0; i < POD_N_DEFERRED; i++)
        if (deferred->is_deferred[i]) sigaction(ends[i], &end, NULL);
    const int signal_number = atomic_exchange(&came, 0);
    if (signal_number) raise(signal_number);
}

bool pod__signal_came(void) { return came != 0; }

pod_status pod__signals_check(const char *path)
{
    return pod__signal_came() ? pod_fail(POD_E_WRITE, "%s: not written: ended by a signal", path)
                              : POD_OK;
}
