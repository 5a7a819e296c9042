/* Starts threads that block all signals, so that the main thread receives them. */
#ifndef MINIPOD_RUNTIME_CORE_THREAD_H
#define MINIPOD_RUNTIME_CORE_THREAD_H

#include <pthread.h>

#include "kernels/base/status.h"

/* Fails with POD_E_NOMEM and the system's reason. */
POD_MUST pod_status pod_thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);

#endif
