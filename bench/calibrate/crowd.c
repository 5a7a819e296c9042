/* How much longer a step takes while the other cores of this host are as busy: they share caches
 * and memory. Each thread trains a network of its own; one of them is timed, alone and in company
 * by turns. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bench/calibrate/calibrate.h"

enum { MAX_CROWD = 64 };

typedef struct crowd { /* of one network, on so many cores */
    int n;             /* the first is timed */
    pod_probing probing[MAX_CROWD];

    bool is_over; /* for the others */
    int n_threads;
    pthread_t thread[MAX_CROWD];
    struct member {
        const struct crowd *of;
        pod_probing *own;
    } member[MAX_CROWD];
} crowd;

static void *keep_busy(void *arg)
{
    const struct member *m = arg;
    while (!__atomic_load_n(&m->of->is_over, __ATOMIC_RELAXED))
        if (pod_exec_step(m->own->exec, NULL) != POD_OK) break;
    return NULL;
}

static pod_status gather(crowd *c)
{
    c->is_over = false;
    for (c->n_threads = 0; c->n_threads < c->n - 1; c->n_threads++) {
        struct member *m = &c->member[c->n_threads];
        *m = (struct member){c, &c->probing[1 + c->n_threads]};
        const int failed = pthread_create(&c->thread[c->n_threads], NULL, keep_busy, m);
        if (failed) return pod_fail(POD_E_NOMEM, "calibrate: no thread: %s", strerror(failed));
    }
    return POD_OK;
}

static void disperse(crowd *c)
{
    __atomic_store_n(&c->is_over, true, __ATOMIC_RELAXED);
    while (c->n_threads > 0) pthread_join(c->thread[--c->n_threads], NULL);
}

static pod_status time_step(crowd *c, double *least_s)
{
    POD_TRY(pod_probing_run(&c->probing[0]));
    const double s = c->probing[0].step_s;
    if (*least_s == 0 || s < *least_s) *least_s = s; /* other work can only make it longer */
    return POD_OK;
}

static pod_status take_turns(crowd *c, double *factor)
{
    enum { N_TURNS = 6 };
    double alone_s = 0, crowded_s = 0;
    for (int i = 0; i < N_TURNS; i++) {
        POD_TRY(time_step(c, &alone_s));
        pod_status s = gather(c);
        if (s == POD_OK) s = time_step(c, &crowded_s);
        disperse(c);
        if (s != POD_OK) return s;
    }
    *factor = crowded_s > alone_s ? pod_four_digits(crowded_s / alone_s) : 1;
    return POD_OK;
}

static pod_status measure(const pod_probe *p, int64_t batch, size_t tile_bytes,
                          const pod_machine *m, pod_comm *alone, double *factor)
{
    crowd *c = calloc(1, sizeof *c);
    if (!c) return pod_fail(POD_E_NOMEM, "calibrate: out of memory");
    pod_status s = POD_OK;
    c->n = m->physical_cores > MAX_CROWD ? MAX_CROWD : (int)m->physical_cores;
    for (int i = 0; s == POD_OK && i < c->n; i++)
        s = pod_probing_open(p, m, alone, batch, tile_bytes, &c->probing[i]);
    if (s == POD_OK) s = take_turns(c, factor);
    for (int i = 0; i < c->n; i++) pod_probing_close(&c->probing[i]);
    free(c);
    return s;
}

/* Whose weights and values are beyond the second cache. */
static const pod_probe dense = {POD_PROBE_DENSE, 512, 28, "bf16", "sgd"};

pod_status pod_calibrate_crowd(pod_machine *m, pod_comm *alone)
{
    enum { DENSE_BATCH = 256 };
    int n;
    const pod_probe *image = pod_probes(&n);
    POD_TRY(measure(image, pod_probe_batch(image, POD_PROBE_FAR), POD_PROBE_TILE, m, alone,
                    &m->crowded));
    return measure(&dense, DENSE_BATCH, 0, m, alone, &m->crowded_memory);
}
