/* Inputs of the collective benchmark: what comes back right is told from what comes back wrong, and
 * sums are exact in any order, for bf16 too. Results are made here by plain loops. */
#include <stdlib.h>
#include <string.h>

#include "bench/coll/data.h"
#include "kernels/base/bf16.h"
#include "kernels/base/binned.h"
#include "tests/harness/harness.h"

enum { MAX_RANKS = 300, ALIGN = 4096 };

typedef struct world { /* all ranks of one case */
    pod_coll_args args;
    int n_ranks;
    pod_arena *arena;
    pod_coll_data *data;
    void *in[MAX_RANKS], *out[MAX_RANKS];
} world;

static void *take(world *w)
{
    void *memory =
        pod_arena_get(w->arena, ALIGN, pod_coll_data_bytes(w->args.count, w->args.dtype));
    return memory ? pod_coll_data_at(memory) : NULL;
}

static world make(pod_coll coll, pod_dtype t, int n_ranks, int64_t count)
{
    world w = {.args = {.coll = coll,
                        .dtype = t,
                        .count = count,
                        .root = coll == POD_REDUCE ? 1 % n_ranks : n_ranks / 2},
               .n_ranks = n_ranks};
    w.arena = pod_test_arena();
    POD_CHECK_OK(pod_coll_data_create(w.arena, &w.args, n_ranks, &w.data));
    for (int r = 0; r < n_ranks; r++) {
        w.in[r] = take(&w);
        w.out[r] = take(&w);
        pod_coll_data_fill(w.data, r, w.in[r]);
        pod_coll_data_clear(w.data, w.out[r]);
    }
    return w;
}

static float get(const world *w, const void *p, int64_t i)
{
    if (w->args.dtype == POD_BINNED) return pod_binned_to_f32(((const pod_binned *)p)[i]);
    return w->args.dtype == POD_BF16 ? pod_bf16_to_f32(((const pod_bf16 *)p)[i])
                                     : ((const float *)p)[i];
}

static void put(const world *w, void *p, int64_t i, float x)
{
    if (w->args.dtype == POD_BINNED)
        ((pod_binned *)p)[i] = pod_binned_from_f32(x);
    else if (w->args.dtype == POD_BF16)
        ((pod_bf16 *)p)[i] = pod_bf16_from_f32(x);
    else
        ((float *)p)[i] = x;
}

/* Rounded after every addition; from the last rank down where `is_downward`. */
static void sum(const world *w, int rank, pod_range part, bool is_downward)
{
    for (int64_t i = part.first; i < part.first + part.count; i++) {
        put(w, w->out[rank], i, 0);
        for (int k = 0; k < w->n_ranks; k++) {
            const int from = is_downward ? w->n_ranks - 1 - k : k;
            put(w, w->out[rank], i, get(w, w->out[rank], i) + get(w, w->in[from], i));
        }
    }
}

static void take_blocks(const world *w, int rank)
{
    for (int from = 0; from < w->n_ranks; from++) {
        const pod_range here = pod_block(w->args.count, w->n_ranks, from);
        const int64_t there = w->args.coll == POD_ALLTOALL
                                  ? pod_block(w->args.count, w->n_ranks, rank).first
                                  : here.first;
        for (int64_t i = 0; i < here.count; i++)
            put(w, w->out[rank], here.first + i, get(w, w->in[from], there + i));
    }
}

static void operate(const world *w)
{
    const pod_range all = {0, w->args.count};
    for (int r = 0; r < w->n_ranks; r++) {
        switch (w->args.coll) {
        case POD_ALLREDUCE: sum(w, r, all, r % 2); break;
        case POD_REDUCE_SCATTER: sum(w, r, pod_block(w->args.count, w->n_ranks, r), r % 2); break;
        case POD_BROADCAST:
            for (int64_t i = 0; i < w->args.count; i++)
                put(w, w->out[r], i, get(w, w->in[w->args.root], i));
            break;
        case POD_REDUCE:
            if (r == w->args.root) sum(w, r, all, r % 2);
            break;
        case POD_SENDRECV:
            memcpy(w->out[r], w->in[(r + w->n_ranks - 1) % w->n_ranks],
                   (size_t)w->args.count * pod_dtype_bytes(w->args.dtype));
            break;
        default: take_blocks(w, r);
        }
    }
}

static int64_t wrong(const world *w)
{
    int64_t n = 0;
    for (int r = 0; r < w->n_ranks; r++) n += pod_coll_data_wrong(w->data, r, w->out[r]);
    return n;
}

static const pod_dtype types[] = {POD_F32, POD_BF16, POD_BINNED};

enum { N_TYPES = sizeof types / sizeof types[0] };

static void check_right(pod_coll coll, pod_dtype t, int n_ranks, int64_t count)
{
    world w = make(coll, t, n_ranks, coll == POD_ALLTOALL ? count / n_ranks * n_ranks : count);
    operate(&w);
    POD_CHECK(wrong(&w) == 0, "%s %s, %d ranks, %ld elements: %ld wrong", pod_coll_name(coll),
              pod_dtype_name(t), n_ranks, (long)w.args.count, (long)wrong(&w));
}

static void right_results_are_right(void)
{
    static const struct {
        int n_ranks;
        int64_t count;
    } rows[] = {{1, 1},     {1, 37},   {2, 0},    {2, 1},     {3, 2},   {3, 20011},
                {5, 20000}, {16, 257}, {127, 37}, {129, 258}, {300, 37}};
    for (int c = 0; c < POD_N_COLLS; c++)
        for (int t = 0; t < N_TYPES; t++)
            for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
                check_right((pod_coll)c, types[t], rows[i].n_ranks, rows[i].count);
}

/* What a faulty collective leaves, in the result of rank 1 of 4. */
typedef enum fault {
    NOT_DONE,
    ONE_ELEMENT,
    TWO_SWAPPED,
    NEIGHBOURS_BLOCK,
    BEFORE,
    BEHIND,
    N_FAULTS
} fault;

static void plant(const world *w, fault f)
{
    void *out = w->out[1];
    const pod_range own = pod_block(w->args.count, w->n_ranks, 1);
    const float first = get(w, out, own.first);
    switch (f) {
    case NOT_DONE: pod_coll_data_fill(w->data, 1, out); break;
    case ONE_ELEMENT: put(w, out, own.first + own.count - 1, first == 1 ? 2 : 1); break;
    case TWO_SWAPPED: {
        int64_t other = own.first + 1;
        while (get(w, out, other) == first) other++;
        put(w, out, own.first, get(w, out, other));
        put(w, out, other, first);
        break;
    }
    case NEIGHBOURS_BLOCK:
        for (int64_t i = 0; i < own.count; i++)
            put(w, out, own.first + i, get(w, w->out[2], own.first + own.count + i));
        break;
    case BEFORE: ((char *)out)[-1] = 0; break;
    case BEHIND: put(w, out, w->args.count, 0); break;
    case N_FAULTS: break;
    }
}

static void check_wrong(pod_coll coll, pod_dtype t, fault f, int64_t count)
{
    world w = make(coll, t, 4, count);
    operate(&w);
    CU_ASSERT_EQUAL(wrong(&w), 0);
    plant(&w, f);
    POD_CHECK(wrong(&w) > 0, "%s %s of %ld: fault %d is not seen", pod_coll_name(coll),
              pod_dtype_name(t), (long)count, (int)f);
}

/* Blocks shorter and longer than the period of the values. */
static void wrong_results_are_wrong(void)
{
    for (int c = 0; c < POD_N_COLLS; c++)
        for (int t = 0; t < N_TYPES; t++)
            for (int f = 0; f < N_FAULTS; f++) {
                check_wrong((pod_coll)c, types[t], (fault)f, 200);
                check_wrong((pod_coll)c, types[t], (fault)f, 40000);
            }
}

/* A rank left out or added twice shows, whichever it is, however many there are. */
static void every_rank_counts(void)
{
    static const int ranks[] = {2, 16, 130, 300};
    for (int t = 0; t < N_TYPES; t++)
        for (size_t k = 0; k < sizeof ranks / sizeof ranks[0]; k++) {
            world w = make(POD_ALLREDUCE, types[t], ranks[k], 4);
            for (int left_out = 0; left_out < ranks[k]; left_out++) {
                sum(&w, 0, (pod_range){0, 4}, false);
                for (int64_t i = 0; i < 4; i++)
                    put(&w, w.out[0], i, get(&w, w.out[0], i) - get(&w, w.in[left_out], i));
                POD_CHECK(pod_coll_data_wrong(w.data, 0, w.out[0]) > 0,
                          "rank %d of %d is not missed", left_out, ranks[k]);
            }
        }
}

/* An all-reduce of any type by any operation, up or down the ranks, is right to the bit; with one
 * rank dropped it is not. */
static void check_operation(pod_redop op, pod_dtype t, int n_ranks)
{
    enum { COUNT = 20000 };
    const pod_combine *k = pod_combine_pick(pod_cpu_features());
    const pod_coll_args args = {.coll = POD_ALLREDUCE, .dtype = t, .op = op, .count = COUNT};
    world w = {.args = args, .n_ranks = n_ranks};
    w.arena = pod_test_arena();
    POD_CHECK_OK(pod_coll_data_create(w.arena, &w.args, n_ranks, &w.data));
    void *in = take(&w), *out = take(&w);
    for (int how = 0; how < 3; how++) { /* up, down, one rank less */
        for (int i = 0; i < n_ranks - (how == 2); i++) {
            const int from = how == 1 ? n_ranks - 1 - i : i;
            pod_coll_data_fill(w.data, from, i == 0 ? out : in);
            if (i > 0) pod_combine_two(k, op, COUNT, t, in, t, out, out);
        }
        if (op == POD_AVG) pod_combine_divide(k, COUNT, t, n_ranks, out);
        const int64_t n_wrong = pod_coll_data_wrong(w.data, 0, out);
        POD_CHECK((n_wrong > 0) == (how == 2), "%s of %s, %d ranks, case %d: %ld wrong",
                  pod_redop_name(op), pod_dtype_name(t), n_ranks, how, (long)n_wrong);
    }
}

static void every_operation(void)
{
    static const int ranks[] = {2, 3, 16, 40};
    int n = 0;
    for (int op = 0; op < POD_N_OPS; op++)
        for (int t = 0; t < POD_N_DTYPES; t++)
            for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++)
                if (n++ % POD_TEST_EVERY == 0 && !pod_redop_why_not((pod_redop)op, (pod_dtype)t))
                    check_operation((pod_redop)op, (pod_dtype)t, ranks[i]);
}

POD_TEST_SUITE("bench.coll_data", {"right results are right", right_results_are_right},
               {"wrong results are wrong", wrong_results_are_wrong},
               {"every rank counts", every_rank_counts}, {"every operation", every_operation});
