#include "collectives/exec/watch/roster.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/exec/mpi/comm_mpi.h"

/* More than ranks that wait let pass between two looks (watch.c, wait.c). */
static const int64_t ANSWER_NS = 500000000;

typedef enum note { CALL, ANSWER, END } note;

struct pod__roster {
    pod_comm *comm;
    int64_t called_ns; /* 0: this rank has not called */
    bool is_called;    /* by one who will speak */
    bool has_answered[];
};

pod_status pod__roster_create(pod_comm *c, pod__roster **out)
{
    const size_t bytes = sizeof(pod__roster) + (size_t)pod_comm_size(c) * sizeof(bool);
    pod__roster *r = calloc(1, bytes);
    if (!r) return pod_fail(POD_E_NOMEM, "roster: %zu bytes", bytes);
    r->comm = c;
    *out = r;
    return POD_OK;
}

void pod__roster_destroy(pod__roster *r) { free(r); }

void pod__roster_forget(pod__roster *r)
{
    if (!pod__roster_is_ending(r)) return;
    r->called_ns = 0;
    r->is_called = false;
    memset(r->has_answered, 0, (size_t)pod_comm_size(r->comm) * sizeof r->has_answered[0]);
}

/* Nobody waits for it to be sent: a rank that hangs takes nothing. */
static void send(const pod__roster *r, int rank, note which)
{
    static const int notes[] = {CALL, ANSWER, END};
    MPI_Request sent;
    MPI_Isend(&notes[which], 1, MPI_INT, rank, pod__comm_roster_tag(r->comm),
              pod__comm_world(r->comm), &sent);
    MPI_Request_free(&sent);
}

static void send_to_others(const pod__roster *r, note which)
{
    for (int i = 0; i < pod_comm_size(r->comm); i++)
        if (i != pod_comm_rank(r->comm)) send(r, i, which);
}

/* Who calls waits too. */
static void take(pod__roster *r, int rank, note which)
{
    const bool is_first = r->called_ns == 0 || rank < pod_comm_rank(r->comm);
    r->has_answered[rank] = true;
    if (which == END || (which == CALL && is_first)) r->is_called = true;
    if (which == CALL) send(r, rank, ANSWER);
}

void pod__roster_listen(pod__roster *r)
{
    MPI_Comm world = pod__comm_world(r->comm);
    const int tag = pod__comm_roster_tag(r->comm);
    int is_here;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, tag, world, &is_here, &status);
    while (is_here) {
        int which;
        MPI_Recv(&which, 1, MPI_INT, status.MPI_SOURCE, tag, world, MPI_STATUS_IGNORE);
        take(r, status.MPI_SOURCE, (note)which);
        MPI_Iprobe(MPI_ANY_SOURCE, tag, world, &is_here, &status);
    }
}

pod__roster_state pod__roster_call(pod__roster *r, int64_t now_ns)
{
    if (r->is_called) return POD__ROSTER_CALLED;
    if (r->called_ns == 0) {
        /* What came until now answers an earlier call. */
        memset(r->has_answered, 0, (size_t)pod_comm_size(r->comm) * sizeof r->has_answered[0]);
        r->called_ns = now_ns;
        send_to_others(r, CALL);
    }
    return now_ns - r->called_ns < ANSWER_NS ? POD__ROSTER_OPEN : POD__ROSTER_OVER;
}

void pod__roster_end(pod__roster *r) { send_to_others(r, END); }

bool pod__roster_has_answered(const pod__roster *r, int rank)
{
    return rank == pod_comm_rank(r->comm) || r->has_answered[rank];
}

bool pod__roster_is_ending(const pod__roster *r) { return r->is_called || r->called_ns != 0; }
