/* Collectives drawn at random: mesh, group, count, type, shared memory, pieces, algorithm. Whatever
 * applies must verify, run in one process, and leave exactly what the collective's definition says,
 * which is written down here once more, from algo.h alone.
 *
 * A case is drawn from its number, so that a failure names all it takes to see it again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectives/algo/algo.h"
#include "collectives/exec/exec_local.h"
#include "kernels/base/bf16.h"
#include "kernels/base/rng.h"
#include "tests/harness/harness.h"

enum { SEED = 20261121, N_CASES = 3000, MAX_RANKS = 48, GUARD = 3, TEXT_BYTES = 240 };

typedef struct scene {
    uint32_t number;
    pod_mesh mesh;
    const pod_coll_algo *algo;
    pod_coll_args args;
    int n_ranks, size;
    bool is_exact;    /* small whole numbers, of which every sum is exact */
    double **initial; /* (n_ranks, count + GUARD) what each rank brings */
} scene;

/* ---- drawing ------------------------------------------------------------------------------- */

static int below(pod_rng *rng, int n) { return (int)pod_rng_below(rng, (uint64_t)n); }

static int divisor(pod_rng *rng, int n)
{
    int d = 1 + below(rng, n);
    while (n % d) d--;
    return d;
}

static pod_mesh draw_mesh(pod_rng *rng)
{
    pod_mesh m = {.n_dims = 1 + below(rng, POD_MESH_MAX_DIMS)};
    int room = 1 + below(rng, MAX_RANKS);
    for (int d = 0; d < m.n_dims; d++) {
        m.extent[d] = d + 1 < m.n_dims ? 1 + below(rng, room) : room;
        /* Half of the meshes have powers of two only, for the algorithms that want them. */
        if (pod_rng_u32(rng) % 2)
            while (m.extent[d] & (m.extent[d] - 1)) m.extent[d] &= m.extent[d] - 1;
        room /= m.extent[d];
        m.wraps[d] = pod_rng_u32(rng) % 4 != 0;
    }
    return m;
}

static pod_group draw_group(pod_rng *rng, const pod_mesh *m)
{
    if (pod_rng_u32(rng) % 3) return pod_group_all(m);
    pod_group g = {.dims = pod_rng_u32(rng) % (1u << m->n_dims)};
    for (int d = 0; d < m->n_dims; d++) {
        g.tile[d] = divisor(rng, m->extent[d]);
        g.step[d] = divisor(rng, g.tile[d]);
    }
    return g;
}

static int64_t draw_count(pod_rng *rng, pod_coll coll, int size)
{
    const int kind = below(rng, 5);
    int64_t count = kind == 0   ? below(rng, 3)
                    : kind == 1 ? below(rng, size + 2)
                    : kind == 2 ? (int64_t)size * below(rng, 8)
                                : below(rng, 400);
    return coll == POD_ALLTOALL ? count / size * size : count;
}

static scene draw(uint32_t number)
{
    pod_rng rng = pod_rng_at(SEED, (pod_place){.stream = POD_STREAM_TEST, .step = number});
    int n_algos;
    const pod_coll_algo *algos = pod_coll_algos(&n_algos);
    scene s = {.number = number, .mesh = draw_mesh(&rng)};
    s.algo = &algos[below(&rng, n_algos)];
    s.n_ranks = pod_mesh_size(&s.mesh);
    s.args.coll = s.algo->coll;
    s.args.group = draw_group(&rng, &s.mesh);
    s.size = pod_group_size(&s.mesh, &s.args.group);
    s.args.dtype = (const pod_dtype[]){POD_F32, POD_F32, POD_BF16, POD_BINNED}[below(&rng, 4)];
    s.args.count = draw_count(&rng, s.args.coll, s.size);
    s.args.root = pod_coll_has_root(s.args.coll) ? below(&rng, s.size) : 0;
    s.args.node_size = (const int[]){0, 1, s.n_ranks, divisor(&rng, s.n_ranks)}[below(&rng, 4)];
    s.args.chunk_bytes = pod_rng_u32(&rng) % 2 ? 0 : 1 + below(&rng, 300);
    s.is_exact = pod_rng_u32(&rng) % 4 != 0;
    return s;
}

static const char *describe(const scene *s, char text[TEXT_BYTES])
{
    char mesh[POD_MESH_TEXT_BYTES];
    const pod_group *g = &s->args.group;
    snprintf(text, TEXT_BYTES,
             "case %u: %s %s of %" PRId64
             " %s on %s, group 0x%x tiles %d %d %d steps %d %d %d, root %d, nodes of %d, pieces of "
             "%" PRId64,
             (unsigned)s->number, pod_coll_name(s->args.coll), s->algo->name, s->args.count,
             pod_dtype_name(s->args.dtype), pod_mesh_print(&s->mesh, mesh, sizeof mesh),
             (unsigned)g->dims, g->tile[0], g->tile[1], g->tile[2], g->step[0], g->step[1],
             g->step[2], s->args.root, s->args.node_size, s->args.chunk_bytes);
    return text;
}

/* ---- what must come out -------------------------------------------------------------------- */

/* Sums over all ranks are below 2^8 where they are exact, which bf16 holds. */
static double **make_initial(const scene *s)
{
    const int64_t n = s->args.count + GUARD;
    double **initial = malloc((size_t)s->n_ranks * sizeof *initial);
    for (int r = 0; r < s->n_ranks; r++) {
        pod_rng rng =
            pod_rng_at(s->number, (pod_place){.stream = POD_STREAM_TEST, .sample = (uint64_t)r});
        initial[r] = malloc((size_t)n * sizeof *initial[r]);
        for (int64_t i = 0; i < n; i++)
            initial[r][i] = s->is_exact
                                ? below(&rng, 11) - 5
                                : (double)pod_bf16_to_f32(pod_bf16_from_f32(pod_rng_normal(&rng)));
    }
    return initial;
}

static int member(const scene *s, int rank, int index)
{
    return pod_group_member(&s->mesh, &s->args.group, rank, index);
}

static double sum_of(const scene *s, int rank, int64_t i)
{
    double sum = 0;
    for (int k = 0; k < s->size; k++) sum += s->initial[member(s, rank, k)][i];
    return sum;
}

/* Early blocks are longer by one. */
static int block_of(const scene *s, int64_t i)
{
    const int64_t n = s->args.count / s->size, n_long = s->args.count % s->size;
    return (int)(i < n_long * (n + 1) ? i / (n + 1) : n_long + (i - n_long * (n + 1)) / n);
}

/* Whether element i of a rank is defined, and what it is then. */
static bool expected(const scene *s, int rank, int64_t i, double *want)
{
    const int own = pod_group_index(&s->mesh, &s->args.group, rank), block = block_of(s, i);
    const int64_t block_count = s->args.count / s->size;
    switch (s->args.coll) {
    case POD_ALLREDUCE: *want = sum_of(s, rank, i); return true;
    case POD_REDUCE_SCATTER:
        if (block == own) *want = sum_of(s, rank, i);
        return block == own;
    case POD_ALLGATHER: *want = s->initial[member(s, rank, block)][i]; return true;
    case POD_BROADCAST: *want = s->initial[member(s, rank, s->args.root)][i]; return true;
    case POD_ALLTOALL:
        *want = s->initial[member(s, rank, block)][own * block_count + i % block_count];
        return true;
    case POD_REDUCE: *want = sum_of(s, rank, i); return own == s->args.root;
    case POD_SENDRECV:
        *want = s->initial[member(s, rank, (own + s->size - 1) % s->size)][i];
        return true;
    case POD_N_COLLS: break;
    }
    return false;
}

/* ---- a case -------------------------------------------------------------------------------- */

static void **make_buffers(const scene *s)
{
    const int64_t n = s->args.count + GUARD;
    void **buf = malloc((size_t)s->n_ranks * sizeof *buf);
    for (int r = 0; r < s->n_ranks; r++) {
        buf[r] = malloc((size_t)n * pod_dtype_bytes(s->args.dtype));
        for (int64_t i = 0; i < n; i++) pod_test_put(s->args.dtype, buf[r], i, s->initial[r][i]);
    }
    return buf;
}

static bool moves_only(pod_coll coll)
{
    return coll == POD_ALLGATHER || coll == POD_BROADCAST || coll == POD_ALLTOALL ||
           coll == POD_SENDRECV;
}

static void check_values(const scene *s, void *const buf[])
{
    const pod_dtype t = s->args.dtype;
    int64_t n_wrong = 0;
    for (int r = 0; r < s->n_ranks; r++) {
        for (int64_t i = 0; i < s->args.count + GUARD; i++) {
            const bool is_guard = i >= s->args.count;
            double want = is_guard ? s->initial[r][i] : 0;
            if (!is_guard && !s->is_exact && !moves_only(s->args.coll)) continue;
            if (!is_guard && !expected(s, r, i, &want)) continue;
            n_wrong += pod_test_get(t, buf[r], i) != want;
        }
    }
    char text[TEXT_BYTES];
    POD_CHECK(n_wrong == 0, "%s: %" PRId64 " elements are wrong", describe(s, text), n_wrong);
}

/* All members hold the same bits after an all-reduce, however its sums round. */
static void check_same_bits(const scene *s, void *const buf[])
{
    const size_t bytes = (size_t)s->args.count * pod_dtype_bytes(s->args.dtype);
    int n_differ = 0;
    for (int r = 0; r < s->n_ranks; r++)
        n_differ += memcmp(buf[r], buf[member(s, r, 0)], bytes) != 0;
    char text[TEXT_BYTES];
    POD_CHECK(n_differ == 0, "%s: %d ranks differ from their first", describe(s, text), n_differ);
}

static void free_all(void **rows, int n)
{
    for (int r = 0; r < n; r++) free(rows[r]);
    free(rows);
}

static void run_case(scene *s)
{
    char text[TEXT_BYTES];
    pod_arena *arena;
    POD_CHECK_OK(pod_arena_create(NULL, &arena));
    const pod_sched *const *all = NULL;
    pod_status status = pod_coll_build_all(arena, s->algo, &s->mesh, &s->args, &all);
    if (status == POD_OK) status = pod_sched_verify(all, s->n_ranks);
    s->initial = make_initial(s);
    void **buf = make_buffers(s);
    if (status == POD_OK) status = pod_sched_run_local(all, s->n_ranks, s->args.dtype, buf);
    POD_CHECK(status == POD_OK, "%s: %s", describe(s, text), pod_error_text());
    if (status == POD_OK) {
        check_values(s, buf);
        if (s->args.coll == POD_ALLREDUCE) check_same_bits(s, buf);
    }
    free_all(buf, s->n_ranks);
    free_all((void **)s->initial, s->n_ranks);
    pod_arena_destroy(arena);
}

static void test_random(void)
{
    int n_algos;
    const pod_coll_algo *algos = pod_coll_algos(&n_algos);
    int *n_run = calloc((size_t)n_algos, sizeof *n_run);
    for (uint32_t number = 0; number < N_CASES; number++) {
        scene s = draw(number);
        const char *reason = s.algo->why_not(&s.mesh, &s.args);
        if (!reason) {
            run_case(&s);
            n_run[s.algo - algos]++;
            continue;
        }
        pod_arena *arena;
        POD_CHECK_OK(pod_arena_create(NULL, &arena));
        const pod_sched *one;
        POD_CHECK_FAILS(pod_coll_build(arena, s.algo, &s.mesh, 0, &s.args, &one), POD_E_INVALID,
                        reason);
        pod_arena_destroy(arena);
    }
    for (int i = 0; i < n_algos; i++)
        POD_CHECK(n_run[i] >= 5, "%s %s applied in %d cases only", pod_coll_name(algos[i].coll),
                  algos[i].name, n_run[i]);
    free(n_run);
}

POD_TEST_SUITE("algo", {"random", test_random});
