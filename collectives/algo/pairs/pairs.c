#include "collectives/algo/pairs/pairs.h"

#include "collectives/algo/algorithms.h"
#include "kernels/base/assert.h"

pod__pairs pod__pairs_of(pod_range range, int first_tag, int32_t entry)
{
    return (pod__pairs){.range = range, .first_tag = first_tag, .last = entry};
}

void pod__pairs_add(pod__pairs *p, int peer, bool keeps_upper)
{
    POD_ASSERT(p->n_rounds < POD__PAIRS_MAX_ROUNDS, "round %d", p->n_rounds);
    p->peer[p->n_rounds] = peer;
    p->keeps_upper[p->n_rounds] = keeps_upper;
    p->sent[p->n_rounds++] = POD_NO_STEP;
}

/* ---- halving ------------------------------------------------------------------------------- */

/* One of the halves into which round `round` cuts what this rank and its peer hold. */
static pod_range half_of(const pod__pairs *p, int round, bool is_upper)
{
    const int size = 1 << p->n_rounds;
    int first = 0;
    for (int k = 0; k <= round; k++)
        if (k < round ? p->keeps_upper[k] : is_upper) first += size >> (k + 1);
    const pod_range low = pod_block(p->range.count, size, first);
    const pod_range high = pod_block(p->range.count, size, first + (size >> (round + 1)) - 1);
    return (pod_range){p->range.first + low.first, high.first + high.count - low.first};
}

static pod_span main_at(pod_range range) { return (pod_span){POD_BUF_MAIN, range.first}; }

void pod__pairs_reduce_scatter(pod__pairs *p, pod_sched *s)
{
    for (int k = 0; k < p->n_rounds; k++) {
        const int tag = p->first_tag + k;
        const pod_range kept = half_of(p, k, p->keeps_upper[k]);
        const pod_range given = half_of(p, k, !p->keeps_upper[k]);
        p->sent[k] = pod_sched_send(s, p->peer[k], tag, main_at(given), given.count, p->last);
        p->last = pod_sched_recv_reduce(s, p->peer[k], tag, main_at(kept), kept.count, p->last,
                                        POD_NO_STEP);
    }
}

void pod__pairs_allgather(pod__pairs *p, pod_sched *s)
{
    for (int k = p->n_rounds; k-- > 0;) {
        const int tag = p->first_tag + p->n_rounds + k;
        const pod_range held = half_of(p, k, p->keeps_upper[k]);
        const pod_range missing = half_of(p, k, !p->keeps_upper[k]);
        pod_sched_send(s, p->peer[k], tag, main_at(held), held.count, p->last);
        const int32_t came =
            pod_sched_recv(s, p->peer[k], tag, main_at(missing), missing.count, p->sent[k]);
        p->last = pod_sched_join(s, p->last, came);
    }
}

/* ---- exchange ------------------------------------------------------------------------------ */

void pod__pairs_exchange(pod__pairs *p, pod_sched *s)
{
    if (p->range.count == 0) return;
    pod_span now = {POD_BUF_MAIN, p->range.first}, next = {POD_BUF_SCRATCH, p->range.first};
    int32_t sent = POD_NO_STEP;
    for (int k = p->n_rounds; k-- > 0;) {
        const int tag = p->first_tag + k;
        /* The sum goes where the send of the round before came from. */
        const int32_t came = pod_sched_add(s, (pod_step){.kind = POD_STEP_RECV_REDUCE,
                                                         .peer = p->peer[k],
                                                         .tag = tag,
                                                         .after = {p->last, sent},
                                                         .src = now,
                                                         .dst = next,
                                                         .count = p->range.count});
        sent = pod_sched_send(s, p->peer[k], tag, now, p->range.count, p->last);
        p->last = came;
        const pod_span other = now;
        now = next;
        next = other;
    }
    if (now.buf == POD_BUF_MAIN) return;
    p->last = pod_sched_copy(s, now, next, p->range.count, pod_sched_join(s, p->last, sent));
}

/* ---- any number of members ----------------------------------------------------------------- */

int pod__log2_floor(int n)
{
    int log = 0;
    while (n >> (log + 1)) log++;
    return log;
}

static int index_of_place(const pod__fold *f, int place)
{
    return place < f->n_extra ? 2 * place + 1 : place + f->n_extra;
}

pod__fold pod__fold_of(const pod_mesh *m, const pod_group *g, int rank)
{
    const int size = pod_group_size(m, g), index = pod_group_index(m, g, rank);
    pod__fold f = {.mesh = m, .group = *g, .rank = rank, .n_rounds = pod__log2_floor(size)};
    f.n_extra = size - (1 << f.n_rounds);
    const bool is_folded = index < 2 * f.n_extra;
    f.place = !is_folded ? index - f.n_extra : index % 2 ? index / 2 : -1;
    f.partner = is_folded ? pod_group_member(m, g, rank, index ^ 1) : -1;
    return f;
}

void pod__fold_pairs(const pod__fold *f, pod__pairs *p)
{
    for (int bit = 1; bit < 1 << f->n_rounds; bit *= 2) {
        const int peer = index_of_place(f, f->place ^ bit);
        pod__pairs_add(p, pod_group_member(f->mesh, &f->group, f->rank, peer), f->place & bit);
    }
}

static const pod_span whole = {POD_BUF_MAIN, 0};

int32_t pod__fold_in(const pod__fold *f, pod_sched *s, int64_t count, int tag)
{
    if (f->partner < 0) return POD_NO_STEP;
    if (f->place < 0) return pod_sched_send(s, f->partner, tag, whole, count, POD_NO_STEP);
    return pod_sched_recv_reduce(s, f->partner, tag, whole, count, POD_NO_STEP, POD_NO_STEP);
}

void pod__fold_out(const pod__fold *f, pod_sched *s, int64_t count, int tag, int32_t after)
{
    if (f->partner < 0) return;
    if (f->place < 0)
        pod_sched_recv(s, f->partner, tag, whole, count, after);
    else
        pod_sched_send(s, f->partner, tag, whole, count, after);
}

/* ---- algorithms of them --------------------------------------------------------------------- */

enum { TAG_IN, TAG_OUT, TAG_ROUNDS };

/* A reduce-scatter by halving, nearest peers and largest halves first, and an all-gather the same
 * way back. 2 log2(size) rounds, in which every rank sends and receives 2 (size - 1) / size of the
 * buffer, as little as a ring. Where the size is no power of two the ranks beyond it act through a
 * neighbour, with the whole buffer in two more rounds. Rabenseifner, "Optimization of collective
 * reduction operations", ICCS 2004. */
pod_status pod__rabenseifner_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                   pod_sched *out)
{
    const pod__fold fold = pod__fold_of(m, &args->group, rank);
    const int32_t entry = pod__fold_in(&fold, out, args->count, TAG_IN);
    pod__pairs pairs = pod__pairs_of((pod_range){0, args->count}, TAG_ROUNDS, entry);
    if (fold.place >= 0) pod__fold_pairs(&fold, &pairs);
    pod__pairs_reduce_scatter(&pairs, out);
    pod__pairs_allgather(&pairs, out);
    pod__fold_out(&fold, out, args->count, TAG_OUT, pairs.last);
    return POD_OK;
}

/* In round k a rank and the one whose number differs in bit k exchange and add all they have.
 * log2(size) messages deep and no rank waits for a root; but each is of the whole buffer, for
 * little data. Where the size is no power of two the ranks beyond it act through a neighbour, in
 * two more rounds. Thakur, Rabenseifner and Gropp, "Optimization of collective communication
 * operations in MPICH", 2005, section 4.5. */
pod_status pod__recursive_doubling_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                                         pod_sched *out)
{
    const pod__fold fold = pod__fold_of(m, &args->group, rank);
    const int32_t entry = pod__fold_in(&fold, out, args->count, TAG_IN);
    pod__pairs pairs = pod__pairs_of((pod_range){0, args->count}, TAG_ROUNDS, entry);
    if (fold.place >= 0) pod__fold_pairs(&fold, &pairs);
    pod__pairs_exchange(&pairs, out);
    pod__fold_out(&fold, out, args->count, TAG_OUT, pairs.last);
    return POD_OK;
}

const char *pod__power_of_two_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    const int size = pod_group_size(m, &args->group);
    return size & (size - 1) ? "the number of ranks in the group is no power of two" : NULL;
}

/* A reduce-scatter by recursive halving, where block i is that of member i: a round for each bit of
 * the members' numbers, from the highest, so the farthest peers and the largest halves first.
 * Backwards, an all-gather by recursive doubling. log2(size) rounds, in which every rank sends and
 * receives (size - 1) / size of the buffer. Thakur, Rabenseifner and Gropp, as above, sections 4.1
 * and 4.2. */
pod_status pod__halving_build(const pod_mesh *m, int rank, const pod_coll_args *args,
                              pod_sched *out)
{
    pod__pairs pairs = pod__pairs_of((pod_range){0, args->count}, 0, POD_NO_STEP);
    const int index = pod_group_index(m, &args->group, rank);
    for (int bit = pod_group_size(m, &args->group) / 2; bit > 0; bit /= 2)
        pod__pairs_add(&pairs, pod_group_member(m, &args->group, rank, index ^ bit), index & bit);
    if (args->coll == POD_REDUCE_SCATTER)
        pod__pairs_reduce_scatter(&pairs, out);
    else
        pod__pairs_allgather(&pairs, out);
    return POD_OK;
}
