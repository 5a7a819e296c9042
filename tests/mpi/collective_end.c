/* collective_end CARRIER END: ranks that run an all-reduce again and again, until at the 20th time
 * the last but one begins it, waits until the others wait, too, and ends:
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

#include "tests/mpi/ring_run.h"

enum { N_RUNS = 30, LAST_RUN = 20 };

static void nap(double seconds)
{
    const struct timespec t = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static void end(bool is_killed)
{
    nap(0.3);
    if (is_killed) raise(SIGKILL);
    _Exit(0);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    const char *carrier = argv[1], *how = argv[2];
    pod_comm *c;
    must(pod_comm_open(&c));
    pod_comm_set_patience(c, 1);
    const int rank = pod_comm_rank(c), size = pod_comm_size(c);
    ring_run ring = ring_run_open(c, carrier);
    const bool is_late = strcmp(how, "late") == 0, is_killed = strcmp(how, "killed") == 0;
    for (int i = 1; i <= N_RUNS; i++) {
        const bool is_last = i == LAST_RUN && rank == size - 2;
        if (is_last && is_late) nap(2.5);
        pod_coll_run_start(ring.run);
        if (is_last && !is_late) end(is_killed);
        pod_coll_run_wait(ring.run);
    }
    ring_run_close(&ring);
    pod_comm_close(c);
    return 0;
}
