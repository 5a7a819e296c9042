/* An all-reduce of 400 KB among all ranks, as training makes one, for programs whose ranks end or
 * hang in it. Included once a program. */
#ifndef MINIPOD_TESTS_MPI_RING_RUN_H
#define MINIPOD_TESTS_MPI_RING_RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algo/algo.h"
#include "collectives/exec/coll_run.h"

enum { RING_COUNT = 100000 };

static void must(pod_status status)
{
    if (status == POD_OK) return;
    fprintf(stderr, "%s\n", pod_error_text());
    exit(2);
}

typedef struct ring_run {
    pod_arena *arena;
    pod_window *window;
    pod_coll_run *run;
} ring_run;

/* CARRIER is mpi, shm, or direct: shm with an algorithm that only meets. Collective. */
static ring_run ring_run_open(pod_comm *c, const char *carrier)
{
    static const char label[] = "allreduce ring 400K";
    const pod_mesh m = {.n_dims = 1, .extent = {pod_comm_size(c)}, .wraps = {true}};
    const pod_coll_args args = {.coll = POD_ALLREDUCE,
                                .dtype = POD_F32,
                                .count = RING_COUNT,
                                .group = pod_group_all(&m),
                                .node_size = pod_comm_node_size(c)};
    const char *name = strcmp(carrier, "direct") == 0 ? "direct" : "ring";
    const pod_coll_algo *algo = pod_coll_find(POD_ALLREDUCE, name);
    const pod_sched *s;
    ring_run r;
    must(pod_arena_create(NULL, &r.arena));
    must(pod_coll_build(r.arena, algo, &m, pod_comm_rank(c), &args, &s));
    must(pod_window_create(c, RING_COUNT * sizeof(float), &r.window));
    void *buf = pod_window_data(r.window);
    if (strcmp(carrier, "mpi") == 0)
        must(pod_coll_run_create_mpi(c, s, POD_F32, buf, label, &r.run));
    else
        must(pod_coll_run_create_shm(c, s, POD_F32, r.window, buf, label, &r.run));
    return r;
}

static void ring_run_close(ring_run *r)
{
    pod_coll_run_destroy(r->run);
    pod_window_destroy(r->window);
    pod_arena_destroy(r->arena);
}

#endif
