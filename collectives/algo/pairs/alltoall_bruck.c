/* All-to-all in ceil(log2(size)) rounds, for small blocks.
 *
 * A block that has to go j members further on goes there in the bits of j: in round k all blocks
 * whose j has bit k move 2^k members on, gathered into one message. So a rank sends about size / 2
 * blocks a round, more than pairwise in all, in fewer messages. What comes in stays where it came,
 * in SCRATCH, until it moves on or is home. Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient
 * algorithms for all-to-all communications in multiport message-passing systems", 1997. */
#include "collectives/algo/algorithms.h"

typedef struct travel { /* the block that has j members to go: from here on, or from elsewhere */
    pod_span at;
    int32_t came; /* the step that put it there */
    int32_t left; /* the step after which the place where it began may be written */
} travel;

/* Gathers the blocks with this bit at `gathered`, one after the other. Answers the last step. */
static int32_t gather(pod_sched *s, travel *blocks, int size, int bit, int64_t count,
                      pod_span gathered)
{
    int32_t step = POD_NO_STEP;
    for (int j = bit; j < size; j++) {
        if (!(j & bit)) continue;
        step = pod_sched_add(s, (pod_step){.kind = POD_STEP_COPY,
                                           .after = {blocks[j].came, step},
                                           .src = blocks[j].at,
                                           .dst = gathered,
                                           .count = count});
        if (blocks[j].at.buf == POD_BUF_MAIN) blocks[j].left = step;
        gathered.first += count;
    }
    return step;
}

static int n_with_bit(int size, int bit)
{
    const int beyond = size % (2 * bit) - bit;
    return size / (2 * bit) * bit + (beyond > 0 ? beyond : 0);
}

static void move_blocks(const pod_mesh *m, const pod_group *g, int rank, pod_sched *s,
                        travel *blocks, int64_t count)
{
    const int size = pod_group_size(m, g), index = pod_group_index(m, g, rank);
    pod_span gathered = {POD_BUF_SCRATCH, 0};
    for (int bit = 1, tag = 0; bit < size; bit *= 2, tag++) {
        const int64_t moved = n_with_bit(size, bit) * count;
        const int to = pod_group_member(m, g, rank, (index + bit) % size);
        const int from = pod_group_member(m, g, rank, (index - bit + size) % size);
        const int32_t is_gathered = gather(s, blocks, size, bit, count, gathered);
        pod_sched_send(s, to, tag, gathered, moved, is_gathered);
        pod_span place = {POD_BUF_SCRATCH, gathered.first + moved};
        gathered.first += 2 * moved;
        const int32_t came = pod_sched_recv(s, from, tag, place, moved, POD_NO_STEP);
        for (int j = bit; j < size; j++) {
            if (!(j & bit)) continue;
            blocks[j].at = place;
            blocks[j].came = came;
            place.first += count;
        }
    }
}

pod_status pod__alltoall_bruck_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                     pod_sched *out)
{
    const pod_group *g = &args->group;
    const int size = pod_group_size(m, g), index = pod_group_index(m, g, rank);
    const int64_t count = args->count / size;
    if (count == 0) return POD_OK;
    travel *blocks = POD_ARENA_NEW(pod_sched_arena(out), travel, size);
    if (!blocks) return POD_E_NOMEM;
    for (int j = 0; j < size; j++)
        blocks[j] = (travel){{POD_BUF_MAIN, (index + j) % size * count}, POD_NO_STEP, POD_NO_STEP};
    move_blocks(m, g, rank, out, blocks, count);
    for (int j = 1; j < size; j++) {
        /* It came from the member j behind, and stands where the block for that member stood. */
        const pod_span home = {POD_BUF_MAIN, (index - j + size) % size * count};
        pod_sched_add(out, (pod_step){.kind = POD_STEP_COPY,
                                      .after = {blocks[j].came, blocks[size - j].left},
                                      .src = blocks[j].at,
                                      .dst = home,
                                      .count = count});
    }
    return POD_OK;
}
