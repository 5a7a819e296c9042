#include "collectives/algo/algo.h"

#include <inttypes.h>
#include <string.h>

#include "collectives/algo/algorithms.h"
#include "kernels/base/assert.h"

enum { WHOLE, CHUNKS };        /* whether an algorithm takes a chunk */
enum { KEPT, ROUNDED, MOVES }; /* what becomes of a partial sum of bf16 or f16 */

static const pod_coll_algo algos[] = {
#define POD_COLL_ALGO(coll, name, build, needs, chunks, partial, good_for) \
    {name,                                                                 \
     coll,                                                                 \
     good_for,                                                             \
     (chunks),                                                             \
     (partial) == ROUNDED,                                                 \
     pod__##needs##_why_not,                                               \
     pod__##build##_build},
#include "collectives/algo/algorithms.def"
#undef POD_COLL_ALGO
};

const char *pod__any_why_not(const pod_mesh *m, const pod_coll_args *args)
{
    (void)m;
    (void)args;
    return NULL;
}

const char *pod_coll_name(pod_coll coll)
{
    static const char *const names[POD_N_COLLS] = {
        "allreduce", "reduce_scatter", "allgather", "broadcast", "alltoall", "reduce", "sendrecv"};
    return names[coll];
}

bool pod_coll_adds(pod_coll coll)
{
    return coll == POD_ALLREDUCE || coll == POD_REDUCE_SCATTER || coll == POD_REDUCE;
}

bool pod_coll_has_root(pod_coll coll) { return coll == POD_BROADCAST || coll == POD_REDUCE; }

bool pod_coll_parse(const char *name, pod_coll *out)
{
    for (int c = 0; c < POD_N_COLLS; c++) {
        const char *a = name, *b = pod_coll_name((pod_coll)c);
        for (; *a != '\0' && *b != '\0'; a++) {
            if (*a == '_') continue;
            b += *b == '_';
            if (*a != *b) break;
            b++;
        }
        if (*b != '\0' || (*a != '\0' && strcmp(a, "_perf") != 0)) continue;
        *out = (pod_coll)c;
        return true;
    }
    return false;
}

pod_range pod_block(int64_t count, int size, int index)
{
    POD_DCHECK(index >= 0 && index < size, "block %d of %d", index, size);
    int64_t short_count = count / size;
    int64_t n_long = count % size;
    int64_t n_long_before = index < n_long ? index : n_long;
    return (pod_range){index * short_count + n_long_before, short_count + (index < n_long)};
}

const pod_coll_algo *pod_coll_algos(int *n)
{
    *n = (int)(sizeof algos / sizeof algos[0]);
    return algos;
}

const pod_coll_algo *pod_coll_find(pod_coll coll, const char *name)
{
    for (size_t i = 0; i < sizeof algos / sizeof algos[0]; i++)
        if (algos[i].coll == coll && strcmp(algos[i].name, name) == 0) return &algos[i];
    return NULL;
}

static pod_status check_args(const pod_coll_algo *algo, const pod_mesh *m,
                             const pod_coll_args *args)
{
    POD_ASSERT(args->coll == algo->coll, "%s %s was asked for %s", pod_coll_name(algo->coll),
               algo->name, pod_coll_name(args->coll));
    POD_TRY(pod_group_verify(m, &args->group));
    int size = pod_group_size(m, &args->group);
    if (args->root < 0 || args->root >= size)
        return pod_fail(POD_E_INVALID, "%s: root %d in a group of %d", pod_coll_name(args->coll),
                        args->root, size);
    if (args->coll == POD_ALLTOALL && args->count % size != 0)
        return pod_fail(POD_E_INVALID, "alltoall: %" PRId64 " elements in %d equal blocks",
                        args->count, size);
    const char *reason = pod_redop_why_not(args->op, args->dtype);
    if (reason)
        return pod_fail(POD_E_INVALID, "%s: %s: %s", pod_coll_name(args->coll),
                        pod_redop_name(args->op), reason);
    reason = algo->why_not(m, args);
    if (reason)
        return pod_fail(POD_E_INVALID, "%s: %s refuses: %s", pod_coll_name(args->coll), algo->name,
                        reason);
    return POD_OK;
}

/* What of the buffer is this rank's result. */
static void divide(const pod_mesh *m, int rank, const pod_coll_args *args, pod_sched *s)
{
    const int size = pod_group_size(m, &args->group),
              index = pod_group_index(m, &args->group, rank);
    pod_range own = {0, args->count};
    if (args->coll == POD_REDUCE_SCATTER) own = pod_block(args->count, size, index);
    if (args->coll == POD_REDUCE && index != args->root) return;
    pod_sched_divide(s, (pod_span){POD_BUF_MAIN, own.first}, own.count, size);
}

static pod_status build_one(pod_arena *a, const pod_coll_algo *algo, const pod_mesh *m, int rank,
                            const pod_coll_args *args, const pod_sched **out)
{
    pod_sched *s;
    POD_TRY(pod_sched_create(a, args->count, &s));
    pod_sched_set_op(s, pod_coll_adds(args->coll) ? args->op : POD_SUM);
    POD_TRY(algo->build(m, rank, args, s));
    if (pod_sched_op(s) == POD_AVG) divide(m, rank, args, s);
    POD_TRY(pod_sched_finish(s));
    *out = s;
    return POD_OK;
}

pod_status pod_coll_build(pod_arena *a, const pod_coll_algo *algo, const pod_mesh *m, int rank,
                          const pod_coll_args *args, const pod_sched **out)
{
    POD_TRY(check_args(algo, m, args));
    return build_one(a, algo, m, rank, args, out);
}

pod_status pod_coll_build_all(pod_arena *a, const pod_coll_algo *algo, const pod_mesh *m,
                              const pod_coll_args *args, const pod_sched *const **out)
{
    POD_TRY(check_args(algo, m, args));
    int n_ranks = pod_mesh_size(m);
    const pod_sched **all = POD_ARENA_NEW(a, const pod_sched *, n_ranks);
    if (!all) return POD_E_NOMEM;
    for (int rank = 0; rank < n_ranks; rank++)
        POD_TRY(build_one(a, algo, m, rank, args, &all[rank]));
    *out = all;
    return POD_OK;
}
