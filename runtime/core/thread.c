#include "runtime/core/thread.h"

#include <signal.h>
#include <string.h>

pod_status pod_thread_start(pthread_t *out, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(out, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) return pod_fail(POD_E_NOMEM, "a thread: %s", strerror(failed));
    return POD_OK;
}
