/* Dissemination: in round k of n a rank tells its maximum to the one 2^k behind it, and after
 * n = ceil(log2 ranks) rounds knows all. Larger ones only come again: any number of ranks will do.
 *
 * The rounds are a pipeline. In each turn a rank sends one word for every round, of as many votes:
 *
 *     turn      t          t+1        t+2
 *     vote t    round 0    round 1    round 2    known at turn t+3, on 5 to 8 ranks
 *     vote t-1  round 1    round 2    known at turn t+2
 *
 * and takes in what was sent to it in the turn before. So nobody waits for ranks that are no more
 * than a turn behind, and no two messages of one vote need be told apart: MPI keeps their order. */
#include "collectives/exec/watch/vote.h"

#include <stdlib.h>

#include "collectives/exec/mpi/comm_mpi.h"
#include "collectives/exec/watch/watch.h"

enum { MAX_ROUNDS = 31 };

struct pod_vote {
    pod_comm *comm;
    int n_rounds;
    uint64_t n_turns;
    int from[MAX_ROUNDS];       /* whose word comes in round k */
    uint32_t known[MAX_ROUNDS]; /* sent in round k: the maximum after k rounds of its vote */
    uint32_t came[MAX_ROUNDS];
    bool is_here[MAX_ROUNDS];
    int n_missing;
    MPI_Request send[MAX_ROUNDS], receive[MAX_ROUNDS]; /* started anew at each turn */
};

static int list_awaited(const void *of, int rank[], int max)
{
    const pod_vote *v = of;
    int n = 0;
    for (int k = 0; k < v->n_rounds && n < max; k++)
        if (!v->is_here[k]) rank[n++] = v->from[k];
    return n;
}

static bool has_all(void *of)
{
    pod_vote *v = of;
    int n, at[MAX_ROUNDS], all_sent;
    if (v->n_missing > 0) {
        MPI_Testsome(v->n_rounds, v->receive, &n, at, MPI_STATUSES_IGNORE);
        for (int i = 0; i < n; i++) v->is_here[at[i]] = true;
        v->n_missing -= n;
    }
    if (v->n_missing > 0) return false;
    MPI_Testall(v->n_rounds, v->send, &all_sent, MPI_STATUSES_IGNORE);
    return all_sent;
}

/* What was sent in the turn before. */
static void take_in(pod_vote *v)
{
    pod__watch w = {
        .comm = v->comm, .what = "vote", .number = v->n_turns, .awaited = list_awaited, .of = v};
    pod__watch_until(&w, has_all, v);
}

static void send_on(pod_vote *v)
{
    for (int k = 0; k < v->n_rounds; k++) v->is_here[k] = false;
    v->n_missing = v->n_rounds;
    MPI_Startall(v->n_rounds, v->receive);
    MPI_Startall(v->n_rounds, v->send);
}

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

uint32_t pod_vote_turn(pod_vote *v, uint32_t mine)
{
    if (v->n_rounds == 0) return mine;
    if (v->n_turns > 0) take_in(v);
    v->n_turns++;
    const int last = v->n_rounds - 1;
    const uint32_t all = larger(v->known[last], v->came[last]);
    for (int k = last; k > 0; k--) v->known[k] = larger(v->known[k - 1], v->came[k - 1]);
    v->known[0] = mine;
    send_on(v);
    return all;
}

static void prepare(pod_vote *v, int tag)
{
    const int rank = pod_comm_rank(v->comm), size = pod_comm_size(v->comm);
    MPI_Comm world = pod__comm_world(v->comm);
    for (int k = 0; (int64_t)1 << k < size; k++) {
        const int far = 1 << k;
        v->from[k] = (rank + size - far) % size;
        MPI_Send_init(&v->known[k], 1, MPI_UINT32_T, (rank + far) % size, tag, world, &v->send[k]);
        MPI_Recv_init(&v->came[k], 1, MPI_UINT32_T, v->from[k], tag, world, &v->receive[k]);
        v->n_rounds++;
    }
}

pod_status pod_vote_open(pod_comm *c, pod_vote **out)
{
    int tag;
    pod_vote *v = calloc(1, sizeof *v);
    pod_status status =
        pod_comm_agree(c, v ? POD_OK : pod_fail(POD_E_NOMEM, "vote: %zu bytes", sizeof *v));
    if (status == POD_OK) status = pod__comm_take_tags(c, 1, &tag);
    if (status != POD_OK) {
        free(v);
        return status;
    }
    v->comm = c;
    prepare(v, tag);
    *out = v;
    return POD_OK;
}

void pod_vote_close(pod_vote *v)
{
    if (!v) return;
    if (v->n_turns > 0) take_in(v);
    for (int k = 0; k < v->n_rounds; k++) {
        MPI_Request_free(&v->send[k]);
        MPI_Request_free(&v->receive[k]);
    }
    pod__comm_give_tags(v->comm);
    free(v);
}
