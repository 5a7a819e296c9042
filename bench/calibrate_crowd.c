/* How much longer a step takes while the other cores of this host are as busy: they share caches
 * and memory. Each thread trains a network of its own; one of them is timed. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "bench/calibrate_probe.h"

enum { MAX_CROWD = 64 };

typedef struct crowd {
    int n; /* threads beside this one */
    bool is_over;
    pthread_t thread[MAX_CROWD];
    pod_probing probing[MAX_CROWD];
    struct member {
        struct crowd *of;
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
    for (; c->n < MAX_CROWD && c->probing[c->n].exec; c->n++) {
        c->member[c->n] = (struct member){c, &c->probing[c->n]};
        const int failed = pthread_create(&c->thread[c->n], NULL, keep_busy, &c->member[c->n]);
        if (failed) return pod_fail(POD_E_NOMEM, "calibrate: no thread: %s", strerror(failed));
    }
    return POD_OK;
}

static void disperse(crowd *c)
{
    __atomic_store_n(&c->is_over, true, __ATOMIC_RELAXED);
    for (int i = 0; i < c->n; i++) pthread_join(c->thread[i], NULL);
}

/* Of a network that works in tiles, as images do. */
static pod_status open(const pod_machine *m, pod_comm *alone, pod_probing *out)
{
    int n;
    const pod_probe *p = pod_probes(&n);
    return pod_probing_open(p, m, alone, pod_probe_batch(p, POD_PROBE_FAR), POD_PROBE_TILE, out);
}

/* The best of some rounds: other work on this host can only make them longer. */
static pod_status run_rounds(pod_probing *q, double *step_s)
{
    enum { N_ROUNDS = 6 };
    *step_s = 0;
    for (int i = 0; i < N_ROUNDS; i++) {
        POD_TRY(pod_probing_run(q));
        if (i == 0 || q->step_s < *step_s) *step_s = q->step_s;
    }
    return POD_OK;
}

static pod_status measure(const pod_machine *m, pod_comm *alone, crowd *c, double *step_s)
{
    pod_probing q;
    pod_status s = open(m, alone, &q);
    if (s == POD_OK) s = gather(c);
    if (s == POD_OK) s = run_rounds(&q, step_s);
    disperse(c);
    pod_probing_close(&q);
    return s;
}

pod_status pod_calibrate_crowd(pod_machine *m, pod_comm *alone)
{
    crowd *nobody = calloc(2, sizeof *nobody), *all = nobody + 1;
    if (!nobody) return pod_fail(POD_E_NOMEM, "calibrate: out of memory");
    const int n_others = m->physical_cores > MAX_CROWD ? MAX_CROWD : (int)m->physical_cores - 1;
    double alone_s = 0, crowded_s = 0;
    pod_status s = measure(m, alone, nobody, &alone_s);
    for (int i = 0; s == POD_OK && i < n_others; i++) s = open(m, alone, &all->probing[i]);
    if (s == POD_OK) s = measure(m, alone, all, &crowded_s);
    for (int i = 0; i < n_others; i++) pod_probing_close(&all->probing[i]);
    if (s == POD_OK) m->crowded = crowded_s > alone_s ? pod_four_digits(crowded_s / alone_s) : 1;
    free(nobody);
    return s;
}
