/* collective_end CARRIER END: ranks that run an all-reduce again and again, until at the 20th time
 * the last but one begins it and ends:
 *
 *     killed   as by the system for want of memory
 *     gone     with exit code 0, nothing said
 *     late     not at all: it comes after 2.5 s, and all goes on; patience is 1 s
 *
 * CARRIER is mpi, shm, or direct: shm with an algorithm that only meets. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectives/algo/algo.h"
#include "collectives/exec/coll_run.h"

enum { COUNT = 100000, N_RUNS = 30, LAST_RUN = 20 };

static void must(pod_status status)
{
    if (status == POD_OK) return;
    fprintf(stderr, "%s\n", pod_error_text());
    exit(2);
}

static void end(const char *how)
{
    if (strcmp(how, "killed") == 0) raise(SIGKILL);
    if (strcmp(how, "gone") == 0) _Exit(0);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    const char *carrier = argv[1], *how = argv[2];
    pod_comm *c;
    must(pod_comm_open(&c));
    pod_comm_set_patience(c, 1);
    const int rank = pod_comm_rank(c), size = pod_comm_size(c);
    const pod_mesh m = {1, {size}, {true}, {false}};
    const pod_coll_args args = {.coll = POD_ALLREDUCE,
                                .dtype = POD_F32,
                                .count = COUNT,
                                .group = pod_group_all(&m),
                                .node_size = pod_comm_node_size(c)};
    const char *name = strcmp(carrier, "direct") == 0 ? "direct" : "ring";
    pod_arena *arena;
    const pod_sched *s;
    pod_window *w;
    pod_coll_run *run;
    must(pod_arena_create(NULL, &arena));
    must(pod_coll_build(arena, pod_coll_find(POD_ALLREDUCE, name), &m, rank, &args, &s));
    must(pod_window_create(c, COUNT * sizeof(float), &w));
    void *buf = pod_window_data(w);
    if (strcmp(carrier, "mpi") == 0)
        must(pod_coll_run_create_mpi(c, s, POD_F32, buf, "allreduce ring 400K", &run));
    else
        must(pod_coll_run_create_shm(c, s, POD_F32, w, buf, "allreduce ring 400K", &run));
    const struct timespec delay = {2, 500000000};
    for (int i = 1; i <= N_RUNS; i++) {
        const bool is_last = i == LAST_RUN && rank == size - 2;
        if (is_last && strcmp(how, "late") == 0) nanosleep(&delay, NULL);
        pod_coll_run_start(run);
        if (is_last) end(how);
        pod_coll_run_wait(run);
    }
    pod_coll_run_destroy(run);
    pod_window_destroy(w);
    pod_arena_destroy(arena);
    pod_comm_close(c);
    return 0;
}
