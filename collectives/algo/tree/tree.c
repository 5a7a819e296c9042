/* Moves along a binomial tree over the members of a group, of the whole buffer.
 *
 * Members are counted from the root on: their place. The parent of a place lacks its lowest bit
 * that is set, so the tree is right for any number of members and ceil(log2(size)) messages deep:
 *
 *     0 -- 1        reduce: up, a parent adds its nearest child first
 *     |--- 2 -- 3   broadcast: down, a parent serves its farthest child first
 *     '--- 4 -- 5
 *
 * An all-reduce is a reduce to member 0 and a broadcast from it. */
#include "collectives/algo/tree/tree.h"

#include "collectives/algo/algorithms.h"

enum { TAG_REDUCE, TAG_BROADCAST };

typedef struct tree {
    const pod_mesh *mesh;
    const pod_group *group;
    int rank; /* of the mesh */
    int root; /* index in the group */
    int64_t count;
    pod_dtype dtype;
} tree;

static const pod_span whole = {POD_BUF_MAIN, 0};

static int size_of(const tree *t) { return pod_group_size(t->mesh, t->group); }

/* This rank's place, counted from the root. */
static int own_place(const tree *t)
{
    int size = size_of(t);
    return (pod_group_index(t->mesh, t->group, t->rank) - t->root + size) % size;
}

static int rank_at(const tree *t, int place)
{
    int index = (place + t->root) % size_of(t);
    return pod_group_member(t->mesh, t->group, t->rank, index);
}

int32_t pod__sum_receive(pod_sched *s, pod_dtype dtype, int k, int n, int peer, int tag,
                         int64_t count, int32_t after)
{
    if (count == 0) return after;
    const pod_buf between =
        pod_sched_dtype(POD_BUF_SUM, dtype) == dtype ? POD_BUF_MAIN : POD_BUF_SUM;
    return pod_sched_add(s, (pod_step){.kind = POD_STEP_RECV_REDUCE,
                                       .peer = peer,
                                       .tag = tag,
                                       .after = {after, POD_NO_STEP},
                                       .src = {k == 0 ? POD_BUF_MAIN : between, 0},
                                       .dst = {k == n - 1 ? POD_BUF_MAIN : between, 0},
                                       .count = count});
}

int pod__tree_reach(int size, int place)
{
    int reach = 1;
    while (reach < size && !(place & reach)) reach *= 2;
    return reach;
}

/* Begins after `after`; answers the step with which this rank's part ends: the root has the sum,
 * another member has handed its part on and may overwrite it. */
static int32_t reduce(const tree *t, pod_sched *s, int32_t after)
{
    int place = own_place(t);
    int reach = pod__tree_reach(size_of(t), place);
    int n_children = 0;
    for (int child = 1; child < reach && place + child < size_of(t); child *= 2) n_children++;
    for (int k = 0; k < n_children; k++)
        after = pod__sum_receive(s, t->dtype, k, n_children, rank_at(t, place + (1 << k)),
                                 TAG_REDUCE, t->count, after);
    return place == 0
               ? after
               : pod_sched_send(s, rank_at(t, place - reach), TAG_REDUCE, whole, t->count, after);
}

static void broadcast(const tree *t, pod_sched *s, int32_t after)
{
    int place = own_place(t);
    int reach = pod__tree_reach(size_of(t), place);
    if (place != 0)
        after = pod_sched_recv(s, rank_at(t, place - reach), TAG_BROADCAST, whole, t->count, after);
    for (int child = reach / 2; child > 0; child /= 2)
        if (place + child < size_of(t))
            pod_sched_send(s, rank_at(t, place + child), TAG_BROADCAST, whole, t->count, after);
}

pod_status pod__tree_build(const pod_mesh *m, int rank, const pod_coll_args *args, pod_sched *out)
{
    const tree t = {m,           &args->group, rank, args->coll == POD_ALLREDUCE ? 0 : args->root,
                    args->count, args->dtype};
    int32_t after = POD_NO_STEP;
    if (args->coll != POD_BROADCAST) after = reduce(&t, out, after);
    if (args->coll != POD_REDUCE) broadcast(&t, out, after);
    return POD_OK;
}
