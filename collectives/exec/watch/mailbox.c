#include "collectives/exec/watch/mailbox.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "collectives/exec/shm/window.h"
#include "collectives/exec/watch/host.h"
#include "kernels/base/cpu.h"

enum { CACHE_LINE = 64 };

typedef struct place { /* of a rank, in its part of the window */
    _Alignas(CACHE_LINE) uint32_t doorbell;
    _Alignas(CACHE_LINE) pthread_mutex_t life; /* its rank holds it */
    int found_dead;                            /* rank + 1 of whom it found dead, and then ended */
    uint32_t is_ending;                        /* of the node's first rank: speaks for all */
    _Alignas(CACHE_LINE) int64_t looked_ns;    /* while it waits, else 0 */
    int64_t step;
    pod_cpu_set cpus;
} place;

struct pod__mailbox {
    pod_comm *comm;
    pod_window *window;
    place *own, *first; /* of this rank, and of the first of the node */
    bool is_crowded;
};

static place *place_of(const pod__mailbox *b, int rank)
{
    return pod_window_data_of(b->window, rank);
}

static void find_places(pod__mailbox *b)
{
    int first = 0;
    while (!pod_comm_shares_node(b->comm, first)) first++;
    b->own = place_of(b, pod_comm_rank(b->comm));
    b->first = place_of(b, first);
}

/* Bound ranks have a CPU each and together as many as there are of them. */
static bool find_crowd(const pod__mailbox *b)
{
    pod_cpu_set all = {{0}};
    int n_ranks = 0;
    for (int r = 0; r < pod_comm_size(b->comm); r++) {
        if (!pod_comm_shares_node(b->comm, r)) continue;
        const pod_cpu_set *own = &place_of(b, r)->cpus;
        for (size_t i = 0; i < sizeof all.bits / sizeof all.bits[0]; i++)
            all.bits[i] |= own->bits[i];
        n_ranks++;
    }
    return n_ranks > pod_cpu_set_count(&all);
}

static pod_status begin_life(place *own)
{
    pthread_mutexattr_t a;
    int failed = pthread_mutexattr_init(&a);
    if (!failed) {
        pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
        failed = pthread_mutex_init(&own->life, &a);
        pthread_mutexattr_destroy(&a);
    }
    if (!failed) failed = pthread_mutex_lock(&own->life);
    return failed
               ? pod_fail(POD_E_UNSUPPORTED, "mailbox: no lock between processes: error %d", failed)
               : POD_OK;
}

static pod_status show_place(pod__mailbox *b)
{
    place *own = b->own;
    pod_cpu_allowed(&own->cpus);
    pod_status status = begin_life(own);
    const bool is_held = status == POD_OK;
    status = pod_comm_agree(b->comm, status);
    if (status != POD_OK && is_held) pthread_mutex_unlock(&own->life);
    return status;
}

pod_status pod__mailbox_open(pod_comm *c, pod__mailbox **out)
{
    pod__mailbox *b = malloc(sizeof *b);
    pod_status status =
        pod_comm_agree(c, b ? POD_OK : pod_fail(POD_E_NOMEM, "mailbox: %zu bytes", sizeof *b));
    if (status != POD_OK) goto failed;
    *b = (pod__mailbox){.comm = c};
    POD_TRY_GOTO(status, pod_window_create(c, sizeof(place), &b->window), failed);
    find_places(b);
    POD_TRY_GOTO(status, show_place(b), no_life);
    pod_window_sync(b->window);
    b->is_crowded = find_crowd(b);
    *out = b;
    return POD_OK;
no_life:
    pod_window_destroy(b->window);
failed:
    free(b);
    return status;
}

void pod__mailbox_close(pod__mailbox *b)
{
    if (!b) return;
    pthread_mutex_unlock(&b->own->life);
    pod_window_destroy(b->window);
    free(b);
}

bool pod__mailbox_is_crowded(const pod__mailbox *b) { return b->is_crowded; }

int pod__mailbox_find_dead(const pod__mailbox *b)
{
    const int own = pod_comm_rank(b->comm);
    for (int r = 0; r < pod_comm_size(b->comm); r++) {
        if (r == own || !pod_comm_shares_node(b->comm, r)) continue;
        place *its = place_of(b, r);
        int state = pthread_mutex_trylock(&its->life);
        if (state == EOWNERDEAD) {
            int dead = its->found_dead ? its->found_dead - 1 : r;
            b->own->found_dead = dead + 1;
            return dead;
        }
        if (state == 0) pthread_mutex_unlock(&its->life); /* it has closed */
    }
    return -1;
}

void pod__mailbox_show_wait(const pod__mailbox *b, int64_t looked_ns)
{
    __atomic_store_n(&b->own->looked_ns, looked_ns, __ATOMIC_RELAXED);
}

void pod__mailbox_show_step(const pod__mailbox *b, int64_t step)
{
    __atomic_store_n(&b->own->step, step, __ATOMIC_RELAXED);
}

int64_t pod__mailbox_wait_of(const pod__mailbox *b, int rank)
{
    return __atomic_load_n(&place_of(b, rank)->looked_ns, __ATOMIC_RELAXED);
}

int64_t pod__mailbox_step_of(const pod__mailbox *b, int rank)
{
    return __atomic_load_n(&place_of(b, rank)->step, __ATOMIC_RELAXED);
}

bool pod__mailbox_claim_end(const pod__mailbox *b)
{
    return __atomic_exchange_n(&b->first->is_ending, 1, __ATOMIC_RELAXED) == 0;
}

bool pod__mailbox_is_ending(const pod__mailbox *b)
{
    return __atomic_load_n(&b->first->is_ending, __ATOMIC_RELAXED);
}

uint32_t *pod__mailbox_doorbell(const pod__mailbox *b, int rank)
{
    return &place_of(b, rank)->doorbell;
}

void pod__doorbell_ring(uint32_t *doorbell)
{
    if (__atomic_exchange_n(doorbell, 0, __ATOMIC_RELAXED)) pod__host_wake(doorbell);
}
