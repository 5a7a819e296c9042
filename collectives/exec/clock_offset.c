#include "collectives/exec/clock_offset.h"

#include <time.h>

#include "collectives/exec/comm_mpi.h"

enum { EXCHANGES = 32 };

static const struct timespec between_looks = {.tv_nsec = 200000};

/* Without taking a core from the two whose turn it is. */
static void wait_for_turn(pod_comm *c, int tag)
{
    MPI_Comm world = pod__comm_world(c);
    for (int is_here = 0; !is_here;) {
        MPI_Iprobe(0, tag, world, &is_here, MPI_STATUS_IGNORE);
        if (!is_here) nanosleep(&between_looks, NULL);
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 0, tag, world, MPI_STATUS_IGNORE);
}

/* Rank 0: says when it got each message and when it answered. */
static void answer(pod_comm *c, int rank, int tag, const pod_clock_source *own)
{
    MPI_Comm world = pod__comm_world(c);
    MPI_Send(NULL, 0, MPI_BYTE, rank, tag, world);
    for (int i = 0; i < EXCHANGES; i++) {
        int64_t got_and_sent[2];
        MPI_Recv(NULL, 0, MPI_BYTE, rank, tag, world, MPI_STATUS_IGNORE);
        got_and_sent[0] = own->now(own->ctx);
        got_and_sent[1] = own->now(own->ctx);
        MPI_Send(got_and_sent, 2, MPI_INT64_T, rank, tag, world);
    }
}

static void ask(pod_comm *c, int tag, const pod_clock_source *own, pod_clock_offset *out)
{
    MPI_Comm world = pod__comm_world(c);
    wait_for_turn(c, tag);
    for (int i = 0; i < EXCHANGES; i++) {
        int64_t there[2];
        const int64_t sent = own->now(own->ctx);
        MPI_Send(NULL, 0, MPI_BYTE, 0, tag, world);
        MPI_Recv(there, 2, MPI_INT64_T, 0, tag, world, MPI_STATUS_IGNORE);
        const int64_t got = own->now(own->ctx);
        const int64_t round_trip = got - sent - (there[1] - there[0]);
        if (i > 0 && round_trip >= out->round_trip) continue;
        const int64_t early = there[0] - sent, late = there[1] - got;
        *out = (pod_clock_offset){
            .at = got, .offset = early + (late - early) / 2, .round_trip = round_trip};
    }
}

pod_status pod_clock_offset_find(pod_comm *c, const pod_clock_source *own, pod_clock_offset *out)
{
    int tag;
    POD_TRY(pod__comm_take_tags(c, 1, &tag));
    *out = (pod_clock_offset){.at = own->now(own->ctx)};
    if (pod_comm_rank(c) > 0)
        ask(c, tag, own, out);
    else
        for (int r = 1; r < pod_comm_size(c); r++) answer(c, r, tag, own);
    pod__comm_give_tags(c);
    pod_comm_barrier_idle(c);
    return POD_OK;
}

int64_t pod_clock_offset_at(const pod_clock_offset *early, const pod_clock_offset *late, int64_t at)
{
    if (late->at == early->at) return early->offset;
    const double gained = (double)(late->offset - early->offset);
    const double share = (double)(at - early->at) / (double)(late->at - early->at);
    return early->offset + (int64_t)(gained * share);
}
