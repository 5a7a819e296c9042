/* Broadcast of much data: the root scatters blocks over a binomial tree, and a ring gathers them.
 *
 * Members are counted from the root on: their place. Block b is that of place b; on its way there
 * the scatter leaves it with those above b in the tree, and the ring brings it to nobody who has
 * it. So every rank receives the buffer once, and the root sends it about twice, where in the tree
 * alone it sends it log2(size) times. Barnett, Gupta, Payne, Shuler, van de Geijn and Watts,
 * "Interprocessor collective communication library (InterCom)", 1994. */
#include "collectives/algo/algorithms.h"
#include "collectives/algo/tree/tree.h"

enum { TAG_SCATTER, TAG_RING };

typedef struct ring_place {
    const pod_mesh *mesh;
    const pod_coll_args *args;
    int rank, size, place;
} ring_place;

static int rank_at(const ring_place *p, int place)
{
    return pod_group_member(p->mesh, &p->args->group, p->rank, (place + p->args->root) % p->size);
}

/* The blocks from `first` on, to `end` or the last. */
static pod_range blocks_of(const ring_place *p, int first, int end)
{
    const pod_range low = pod_block(p->args->count, p->size, first);
    const pod_range high = pod_block(p->args->count, p->size, (end < p->size ? end : p->size) - 1);
    return (pod_range){low.first, high.first + high.count - low.first};
}

/* Whether the scatter brings this block to this place. */
static bool is_scattered_to(const ring_place *p, int block, int place)
{
    return block >= place && block < place + pod__tree_reach(p->size, place);
}

static int32_t scatter(const ring_place *p, pod_sched *s)
{
    const int reach = pod__tree_reach(p->size, p->place);
    int32_t came = POD_NO_STEP;
    if (p->place != 0) {
        const pod_range own = blocks_of(p, p->place, p->place + reach);
        came = pod_sched_recv(s, rank_at(p, p->place - reach), TAG_SCATTER,
                              (pod_span){POD_BUF_MAIN, own.first}, own.count, POD_NO_STEP);
    }
    for (int child = reach / 2; child > 0; child /= 2) {
        const int place = p->place + child;
        if (place >= p->size) continue;
        const pod_range given = blocks_of(p, place, place + child);
        pod_sched_send(s, rank_at(p, place), TAG_SCATTER, (pod_span){POD_BUF_MAIN, given.first},
                       given.count, came);
    }
    return came;
}

/* In round k the block of the place k behind moves on. What the scatter left here moves on in its
 * turn as well, not before what came until then: that has farther to go. */
static void gather(const ring_place *p, pod_sched *s, int32_t scattered)
{
    const int next = (p->place + 1) % p->size, before = (p->place + p->size - 1) % p->size;
    int32_t came = POD_NO_STEP;
    for (int k = 0; k < p->size - 1; k++) {
        const int sent = (p->place + p->size - k) % p->size;
        const pod_range out = blocks_of(p, sent, sent + 1);
        if (!is_scattered_to(p, sent, next) && out.count > 0)
            pod_sched_add(s, (pod_step){.kind = POD_STEP_SEND,
                                        .peer = rank_at(p, next),
                                        .tag = TAG_RING + k,
                                        .after = {came, scattered},
                                        .src = {POD_BUF_MAIN, out.first},
                                        .count = out.count});
        const int received = (before + p->size - k) % p->size;
        const pod_range in = blocks_of(p, received, received + 1);
        if (!is_scattered_to(p, received, p->place) && in.count > 0)
            came = pod_sched_recv(s, rank_at(p, before), TAG_RING + k,
                                  (pod_span){POD_BUF_MAIN, in.first}, in.count, POD_NO_STEP);
    }
}

pod_status pod__scatter_ring_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                   pod_sched *out)
{
    const int size = pod_group_size(m, &args->group);
    const int place = (pod_group_index(m, &args->group, rank) - args->root + size) % size;
    const ring_place p = {m, args, rank, size, place};
    gather(&p, out, scatter(&p, out));
    return POD_OK;
}
