/* Runs of `minipod fleet --levers`: a run is a seed and a set of levers; runs share nothing but the
 * simulated steps, and go to threads. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "bench/fleet/fleet.h"
#include "kernels/base/arith.h"
#include "runtime/core/thread.h"

typedef struct crew {
    const pod_fleet_runs *runs;
    atomic_int next, n_done;
    atomic_int status; /* of the first that failed */
    pthread_mutex_t lock;
    char text[512]; /* why */
} crew;

static void outcome_of(const pod_fleet_study *s, pod_fleet_figures *out)
{
    pod_fleet_segment all, class[POD_FLEET_CLASSES];
    pod_ledger l;
    pod_fleet_sum(s, &all);
    pod_fleet_sum_classes(s, class);
    pod_fleet_ledger(s, &l);
    const double capacity_h = pod_chip_hours(l.capacity);
    out->value[POD_FLEET_SCHEDULING] = all.together_h / capacity_h;
    out->value[POD_FLEET_RUNTIME] = all.productive_h / all.together_h;
    out->value[POD_FLEET_PROGRAM] = all.ideal_h / all.productive_h;
    out->value[POD_FLEET_GOODPUT] = all.ideal_h / capacity_h;
    for (int c = 0; c < POD_FLEET_CLASSES; c++) {
        out->value[POD_FLEET_OF_CLASS + c] = pod_fleet_scheduling(&class[c]);
        out->value[POD_FLEET_ONCE_STARTED + c] = pod_fleet_scheduling_once_started(&class[c]);
    }
}

static pod_status run_one(const pod_fleet_runs *r, int at, pod_fleet_figures *out)
{
    pod_arena *a;
    pod_fleet_study s;
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_fleet_case x = {.config = r->config,
                              .steps = r->steps,
                              .seed = r->seed + (uint64_t)(at % r->n_seeds),
                              .levers = r->set[at / r->n_seeds]};
    pod_status status = pod_fleet_study_of(&x, a, &s);
    if (status == POD_OK) status = pod_fleet_study_run(&s, a, false, NULL);
    if (status == POD_OK) outcome_of(&s, out);
    pod_arena_destroy(a);
    return status;
}

static void fail(crew *c, pod_status s)
{
    pthread_mutex_lock(&c->lock);
    if (atomic_load(&c->status) == POD_OK) {
        snprintf(c->text, sizeof c->text, "%s", pod_error_text());
        atomic_store(&c->status, s);
    }
    pthread_mutex_unlock(&c->lock);
}

static void *work(void *arg)
{
    crew *c = arg;
    const pod_fleet_runs *r = c->runs;
    for (int at; (at = atomic_fetch_add(&c->next, 1)) < r->n_sets * r->n_seeds;) {
        const pod_status s =
            atomic_load(&c->status) == POD_OK ? run_one(r, at, &r->out[at]) : POD_OK;
        if (s != POD_OK) fail(c, s);
        atomic_fetch_add(&c->n_done, 1);
    }
    return NULL;
}

static int count_threads(int n_runs)
{
    enum { MOST = 64 };
    const long n = sysconf(_SC_NPROCESSORS_ONLN);
    return (int)pod_max(1, pod_min(pod_min(n, MOST), n_runs));
}

/* The caller's thread shows the progress. */
pod_status pod_fleet_run_all(const pod_fleet_runs *r, pod_log *log)
{
    enum { MOST = 64 };
    crew shared = {.runs = r}, *c = &shared;
    const int n_runs = r->n_sets * r->n_seeds, n_threads = count_threads(n_runs);
    const struct timespec nap = {.tv_nsec = 50000000};
    pthread_t thread[MOST];
    int n_started = 0;
    pod_status s = POD_OK;
    pthread_mutex_init(&c->lock, NULL);
    pod_progress_begin(log, "levers", "runs", 0, n_runs);
    while (n_started < n_threads && s == POD_OK) {
        s = pod_thread_start(&thread[n_started], work, c);
        n_started += s == POD_OK;
    }
    if (n_started > 0) s = POD_OK; /* fewer do as well */
    while (n_started > 0 && atomic_load(&c->n_done) < n_runs) {
        pod_progress_at(log, atomic_load(&c->n_done), "%d threads", n_started);
        nanosleep(&nap, NULL);
    }
    for (int i = 0; i < n_started; i++) pthread_join(thread[i], NULL);
    pod_progress_end(log);
    pthread_mutex_destroy(&c->lock);
    if (s == POD_OK && atomic_load(&c->status) != POD_OK) {
        pod_error_set(c->text);
        s = (pod_status)atomic_load(&c->status);
    }
    return s;
}
