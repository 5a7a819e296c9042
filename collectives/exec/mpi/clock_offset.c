#include "collectives/exec/mpi/clock_offset.h"

#include "collectives/exec/mpi/comm_mpi.h"

enum { EXCHANGES = 32 };

static const char what[] = "measurement of clocks";

typedef struct exchange { /* with one other rank */
    pod_comm *comm;
    int other, tag;
} exchange;

static void send(const exchange *e, const int64_t *numbers, int n)
{
    MPI_Request sent;
    MPI_Isend(numbers, n, MPI_INT64_T, e->other, e->tag, pod__comm_world(e->comm), &sent);
    pod__comm_complete(e->comm, &sent, what);
}

static MPI_Request begin_receive(const exchange *e, int64_t *numbers, int n)
{
    MPI_Request came;
    MPI_Irecv(numbers, n, MPI_INT64_T, e->other, e->tag, pod__comm_world(e->comm), &came);
    return came;
}

static void receive(const exchange *e, int64_t *numbers, int n)
{
    MPI_Request came = begin_receive(e, numbers, n);
    pod__comm_complete(e->comm, &came, what);
}

/* Rank 0: says when it got each message and when it answered. */
static void answer(const exchange *e, const pod_clock_source *own)
{
    send(e, NULL, 0);
    for (int i = 0; i < EXCHANGES; i++) {
        int64_t got_and_sent[2];
        receive(e, NULL, 0);
        got_and_sent[0] = own->now(own->ctx);
        got_and_sent[1] = own->now(own->ctx);
        send(e, got_and_sent, 2);
    }
}

static void ask(const exchange *e, const pod_clock_source *own, pod_clock_offset *out)
{
    MPI_Request is_my_turn = begin_receive(e, NULL, 0);
    pod__comm_complete_napping(e->comm, &is_my_turn, what);
    for (int i = 0; i < EXCHANGES; i++) {
        int64_t there[2];
        const int64_t sent = own->now(own->ctx);
        send(e, NULL, 0);
        receive(e, there, 2);
        const int64_t got = own->now(own->ctx);
        const int64_t round_trip = got - sent - (there[1] - there[0]);
        if (i > 0 && round_trip >= out->round_trip) continue;
        const int64_t early = there[0] - sent, late = there[1] - got;
        *out = (pod_clock_offset){
            .at = got, .offset = early + (late - early) / 2, .round_trip = round_trip};
    }
}

static void wait_for_others(pod_comm *c)
{
    MPI_Request all_are_here;
    MPI_Ibarrier(pod__comm_world(c), &all_are_here);
    pod__comm_complete_napping(c, &all_are_here, what);
}

pod_status pod_clock_offset_find(pod_comm *c, const pod_clock_source *own, pod_clock_offset *out)
{
    exchange e = {.comm = c};
    POD_TRY(pod__comm_open_mailbox(c)); /* by which a death is found */
    POD_TRY(pod__comm_take_tags(c, 1, &e.tag));
    pod__comm_count_call(c);
    *out = (pod_clock_offset){.at = own->now(own->ctx)};
    if (pod_comm_rank(c) > 0)
        ask(&e, own, out);
    else
        for (e.other = 1; e.other < pod_comm_size(c); e.other++) answer(&e, own);
    pod__comm_give_tags(c);
    wait_for_others(c);
    return POD_OK;
}

int64_t pod_clock_offset_at(const pod_clock_offset *early, const pod_clock_offset *late, int64_t at)
{
    if (late->at == early->at) return early->offset;
    const double gained = (double)(late->offset - early->offset);
    const double share = (double)(at - early->at) / (double)(late->at - early->at);
    return early->offset + (int64_t)(gained * share);
}
