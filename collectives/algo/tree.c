#include "collectives/algo/tree.h"

#include "collectives/algo/sum.h"

static const pod_span whole = {POD_BUF_MAIN, 0};

static int size_of(const pod__tree *t) { return pod_group_size(t->mesh, t->group); }

/* This rank's place, counted from the root. */
static int own_place(const pod__tree *t)
{
    int size = size_of(t);
    return (pod_group_index(t->mesh, t->group, t->rank) - t->root + size) % size;
}

static int rank_at(const pod__tree *t, int place)
{
    int index = (place + t->root) % size_of(t);
    return pod_group_member(t->mesh, t->group, t->rank, index);
}

int pod__tree_reach(int size, int place)
{
    int reach = 1;
    while (reach < size && !(place & reach)) reach *= 2;
    return reach;
}

int32_t pod__tree_reduce(const pod__tree *t, pod_sched *s, int32_t after)
{
    int place = own_place(t);
    int reach = pod__tree_reach(size_of(t), place);
    int n_children = 0;
    for (int child = 1; child < reach && place + child < size_of(t); child *= 2) n_children++;
    for (int k = 0; k < n_children; k++)
        after = pod__sum_receive(s, t->dtype, k, n_children, rank_at(t, place + (1 << k)), t->tag,
                                 t->count, after);
    return place == 0
               ? after
               : pod_sched_send(s, rank_at(t, place - reach), t->tag, whole, t->count, after);
}

void pod__tree_broadcast(const pod__tree *t, pod_sched *s, int32_t after)
{
    int place = own_place(t);
    int reach = pod__tree_reach(size_of(t), place);
    if (place != 0)
        after = pod_sched_recv(s, rank_at(t, place - reach), t->tag, whole, t->count, after);
    for (int child = reach / 2; child > 0; child /= 2)
        if (place + child < size_of(t))
            pod_sched_send(s, rank_at(t, place + child), t->tag, whole, t->count, after);
}

double pod__tree_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                         bool reduces)
{
    const double bytes = (double)(args->count * (int64_t)pod_dtype_bytes(args->dtype));
    const pod__tree tree = {.mesh = m, .group = &args->group, .root = args->root};
    double seconds = 0;
    for (int reach = 1; reach < size_of(&tree); reach *= 2)
        seconds += pod_net_message_s(net, m, rank_at(&tree, reach), rank_at(&tree, 0), bytes) +
                   (reduces ? pod_net_reduce_s(net, bytes) : 0);
    return seconds;
}
