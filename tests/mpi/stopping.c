/* stopping: ranks that step until they are asked to stop, by a signal to one of them or to all, and
 * then stop behind the same step, which each prints. Two of three steps are waits for rank 0, so
 * that signals come in a wait. "stopping long" waits for rank 0 alone, which sleeps: for what a
 * second SIGTERM or SIGINT does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectives/exec/comm.h"
#include "collectives/exec/watch/stop.h"
#include "collectives/exec/watch/vote.h"

enum { MAX_STEPS = 100000 };

static void must(pod_status status)
{
    if (status == POD_OK) return;
    fprintf(stderr, "%s\n", pod_error_text());
    exit(2);
}

int main(int argc, char **argv)
{
    pod_comm *c;
    pod_vote *vote;
    must(pod_comm_open(&c));
    must(pod_comm_set_watchdog(c, 30));
    must(pod_vote_open(c, &vote));
    pod_stop_install();
    const bool is_long = argc > 1 && strcmp(argv[1], "long") == 0;
    printf("rank %d is pid %ld\n", pod_comm_rank(c), (long)getpid());
    fflush(stdout);
    for (unsigned left = 20; left > 0 && is_long && pod_comm_rank(c) == 0;) left = sleep(left);
    int step = 1;
    for (bool stops = false; step < MAX_STEPS && !stops; step++) {
        pod_comm_set_step(c, step);
        if (pod_comm_rank(c) == 0 && step % 3 > 0)
            nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        pod_comm_barrier(c);
        stops = pod_vote_turn(vote, pod_stop_asked()) > 0;
    }
    printf("rank %d stopped behind step %d\n", pod_comm_rank(c), step - 1);
    fflush(stdout); /* mpirun may kill it before MPI has ended */
    pod_vote_close(vote);
    pod_comm_close(c);
    return 0;
}
