#include "collectives/algo/tree/tree.h"

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

/* When a place has the sum of those below it: its children's come in turn. */
static double reduced_s(const pod_net *net, const pod__tree *t, double bytes, int place)
{
    const int size = size_of(t), reach = pod__tree_reach(size, place);
    double seconds = 0;
    for (int child = place + 1; child < size && child - place < reach; child += child - place) {
        const double came_s =
            reduced_s(net, t, bytes, child) +
            pod_net_message_s(net, t->mesh, rank_at(t, child), rank_at(t, place), bytes);
        seconds = (came_s > seconds ? came_s : seconds) + pod_net_reduce_s(net, bytes);
    }
    return seconds;
}

/* How long after a place has the data the last of those below it has. */
static double spread_s(const pod_net *net, const pod__tree *t, double bytes, int place)
{
    const int size = size_of(t);
    double seconds = 0, leaves_s = 0;
    for (int hop = pod__tree_reach(size, place) / 2; hop > 0; hop /= 2) {
        const int child = place + hop;
        if (child >= size) continue;
        const double s =
            leaves_s + spread_s(net, t, bytes, child) +
            pod_net_message_s(net, t->mesh, rank_at(t, place), rank_at(t, child), bytes);
        if (s > seconds) seconds = s;
        leaves_s += net->message_s;
    }
    return seconds;
}

double pod__tree_seconds(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                         bool reduces)
{
    const double bytes = (double)(args->count * (int64_t)pod_dtype_bytes(args->dtype));
    const pod__tree tree = {.mesh = m, .group = &args->group, .root = args->root};
    return reduces ? reduced_s(net, &tree, bytes, 0) : spread_s(net, &tree, bytes, 0);
}
