#include "tests/unit/collectives/coll_cases.h"

#include <inttypes.h>
#include <stdio.h>

#include "collectives/algo/ring/path.h"

pod_mesh coll_mesh(const char *text)
{
    pod_mesh m = {0};
    POD_CHECK_OK(pod_mesh_parse(text, &m));
    return m;
}

coll_built coll_build(const char *algo, const pod_mesh *m, const pod_coll_args *args)
{
    coll_built b = {NULL, NULL};
    POD_CHECK_OK(pod_arena_create(NULL, &b.arena));
    POD_CHECK_OK(pod_coll_build_all(b.arena, pod_coll_find(args->coll, algo), m, args, &b.all));
    return b;
}

void coll_built_end(coll_built *b) { pod_arena_destroy(b->arena); }

typedef struct trial {
    const pod_mesh *mesh;
    const pod_coll_algo *algo;
    const pod_coll_args *args;
    bool is_exact;
    coll_data data;
    char what[280];
} trial;

/* ---- inputs --------------------------------------------------------------------------------- */

static float small_number(int rank, int64_t i)
{
    const uint64_t mixed = ((uint64_t)rank * 1000003 + (uint64_t)i + 1) * 0x9e3779b97f4a7c15u;
    return (float)((int)((mixed >> 40) % 11) - 5);
}

coll_data coll_data_make(int n_ranks, int64_t count, pod_dtype t, bool is_exact)
{
    coll_data d = {n_ranks, count, t, malloc((size_t)n_ranks * sizeof *d.buf),
                   malloc((size_t)n_ranks * sizeof *d.initial)};
    const int64_t n = count + COLL_GUARD;
    for (int r = 0; r < n_ranks; r++) {
        d.buf[r] = malloc((size_t)n * pod_dtype_bytes(t));
        d.initial[r] = malloc((size_t)n * sizeof *d.initial[r]);
        if (!is_exact) pod_test_fill((uint64_t)r + 1, n, POD_F32, d.initial[r]);
        for (int64_t i = 0; i < n; i++) {
            const float x = is_exact ? small_number(r, i) : d.initial[r][i];
            pod_test_put(t, d.buf[r], i, (double)x);
            d.initial[r][i] = is_exact ? x : (float)pod_test_get(t, d.buf[r], i);
        }
    }
    return d;
}

void coll_data_free(coll_data *d)
{
    for (int r = 0; r < d->n_ranks; r++) {
        free(d->buf[r]);
        free(d->initial[r]);
    }
    free(d->buf);
    free(d->initial);
}

/* ---- what must come out --------------------------------------------------------------------- */

static bool adds_up(pod_coll coll)
{
    return coll == POD_ALLREDUCE || coll == POD_REDUCE || coll == POD_REDUCE_SCATTER;
}

/* Where the result of member `own` has to do with the buffer of member k; there, element i is made of
 * the other's element i + *shift. */
static pod_range taken_from(const pod_coll_args *args, int size, int own, int k, int64_t *shift)
{
    const pod_range whole = {0, args->count}, nothing = {0, 0};
    *shift = 0;
    switch (args->coll) {
    case POD_ALLGATHER: return pod_block(args->count, size, k);
    case POD_ALLTOALL:
        *shift = (own - k) * (args->count / size);
        return pod_block(args->count, size, k);
    case POD_BROADCAST: return k == args->root ? whole : nothing;
    case POD_SENDRECV: return k == (own + size - 1) % size ? whole : nothing;
    default: return whole;
    }
}

/* Where the result of a member is defined. */
static pod_range result_range(const pod_coll_args *args, int size, int own)
{
    if (args->coll == POD_REDUCE && own != args->root) return (pod_range){0, 0};
    if (args->coll == POD_REDUCE_SCATTER) return pod_block(args->count, size, own);
    return (pod_range){0, args->count};
}

/* want (count), in double precision; bound (count): a sum of p terms has p - 1 roundings in whatever
 * order it is made. The same for a whole group but after an all-to-all or a sendrecv. */
static void work_out(const coll_data *d, const pod_mesh *m, const pod_coll_args *args, int rank,
                     double *want, double *bound)
{
    const int size = pod_group_size(m, &args->group);
    const int own = pod_group_index(m, &args->group, rank);
    const double u = adds_up(args->coll) ? (size - 1) * pod_test_roundoff(POD_F32) : 0;
    for (int64_t i = 0; i < d->count; i++) want[i] = bound[i] = 0;
    for (int k = 0; k < size; k++) {
        int64_t shift;
        const float *x = d->initial[pod_group_member(m, &args->group, rank, k)];
        const pod_range range = taken_from(args, size, own, k, &shift);
        for (int64_t i = range.first; i < range.first + range.count; i++) {
            want[i] += (double)x[i + shift];
            bound[i] += fabs((double)x[i + shift]) * u / (1 - u);
        }
    }
}

/* ---- how often sums are rounded ------------------------------------------------------------- */

static bool has_sums(const pod_sched *s)
{
    int32_t n;
    const pod_step *step = pod_sched_steps(s, &n);
    for (int32_t i = 0; i < n; i++)
        if (step[i].kind == POD_STEP_RECV_REDUCE || step[i].kind == POD_STEP_REDUCE_FROM ||
            step[i].kind == POD_STEP_REDUCE_ALL)
            return true;
    return false;
}

/* Nobody adds what comes from a rank that has sums itself: each sum is rounded where it ends. */
static bool rounds_once(const pod_sched *const *all, int n_ranks)
{
    for (int r = 0; r < n_ranks; r++) {
        int32_t n;
        const pod_step *step = pod_sched_steps(all[r], &n);
        for (int32_t i = 0; i < n; i++)
            if (step[i].kind == POD_STEP_RECV_REDUCE && has_sums(all[step[i].peer])) return false;
    }
    return true;
}

static bool overlaps(const pod_step *a, pod_span x, const pod_step *b, pod_span y)
{
    return x.buf == y.buf && a->count > 0 && b->count > 0 && x.first < y.first + b->count &&
           y.first < x.first + a->count;
}

/* A sum of bf16 that goes nowhere before more is added to it stays in float32, in POD_BUF_SUM: one
 * that is rounded at every addition is found here, within what any bound allows. */
static int count_needless(const pod_sched *s)
{
    int n = 0;
    int32_t n_steps;
    const pod_step *step = pod_sched_steps(s, &n_steps);
    for (int32_t j = 0; j < n_steps; j++) {
        const pod_step *to = &step[j];
        if (to->kind != POD_STEP_RECV_REDUCE || to->src.buf == POD_BUF_SUM) continue;
        for (int32_t i = j - 1; i >= 0; i--) {
            const pod_step *from = &step[i];
            if (from->kind == POD_STEP_SEND && overlaps(from, from->src, to, to->src)) break;
            if (from->kind != POD_STEP_RECV_REDUCE || !overlaps(from, from->dst, to, to->src))
                continue;
            n++;
            break;
        }
    }
    return n;
}

/* Whether a rank may round a sum and then add to it: if the table says so, or in a ring on a line,
 * where two directions meet. */
static bool may_round(const trial *t)
{
    return t->algo->rounds_partials ||
           (strcmp(t->algo->name, "ring") == 0 && pod__path_of(t->mesh, t->args->group).is_line);
}

/* Turns the bound of a sum in float32, (p - 1) u S / (1 - (p - 1) u), into that of one in bf16. A
 * sum that is rounded once is off by that, and then by u_bf16 of itself. Else every addition of the
 * p - 1 may be rounded, first to float32. */
static void widen_bound(bool is_once, int size, int64_t count, const double *want, double *bound)
{
    const double u = pod_test_roundoff(POD_F32), u_bf16 = pod_test_roundoff(POD_BF16);
    const double single = (size - 1) * u, each = (size - 1) * (u_bf16 + u + u * u_bf16);
    for (int64_t i = 0; i < count; i++) {
        if (is_once)
            bound[i] += u_bf16 * (fabs(want[i]) + bound[i]);
        else if (size > 1)
            bound[i] *= (1 - single) / single * each / (1 - each);
    }
}

/* ---- a case --------------------------------------------------------------------------------- */

static void describe(trial *t)
{
    char mesh[POD_MESH_TEXT_BYTES];
    const pod_coll_args *a = t->args;
    const pod_group *g = &a->group;
    snprintf(
        t->what, sizeof t->what,
        "%s %s of %" PRId64
        " %s on %s%s, group 0x%x tiles %d %d %d steps %d %d %d, root %d, nodes of %d, chunks of "
        "%" PRId64 "%s",
        pod_coll_name(a->coll), t->algo->name, a->count, pod_dtype_name(a->dtype),
        pod_mesh_print(t->mesh, mesh, sizeof mesh), t->mesh->is_of_chips ? " of chips" : "",
        (unsigned)g->dims, g->tile[0], g->tile[1], g->tile[2], g->step[0], g->step[1], g->step[2],
        a->root, a->node_size, a->chunk_bytes, t->is_exact ? ", exact" : "");
}

/* How many elements of one rank are not what they must be; those behind the buffer count as well. */
static int64_t count_wrong(const trial *t, int rank, const double *want, const double *bound)
{
    const coll_data *d = &t->data;
    const pod_range range = result_range(t->args, pod_group_size(t->mesh, &t->args->group),
                                         pod_group_index(t->mesh, &t->args->group, rank));
    int64_t n_wrong = 0;
    for (int64_t i = range.first; i < range.first + range.count; i++)
        n_wrong += !(fabs(pod_test_get(d->dtype, d->buf[rank], i) - want[i]) <=
                     (t->is_exact ? 0 : bound[i]));
    for (int64_t i = d->count; i < d->count + COLL_GUARD; i++)
        n_wrong += pod_test_get(d->dtype, d->buf[rank], i) != (double)d->initial[rank][i];
    return n_wrong;
}

static void check_values(const trial *t, bool is_once)
{
    const pod_group *g = &t->args->group;
    const coll_data *d = &t->data;
    double *want = malloc(2 * (size_t)(d->count + 1) * sizeof *want), *bound = want + d->count + 1;
    const int size = pod_group_size(t->mesh, g);
    for (int first = 0; first < d->n_ranks; first++) {
        if (pod_group_index(t->mesh, g, first) != 0) continue;
        for (int k = 0; k < size; k++) {
            const int rank = pod_group_member(t->mesh, g, first, k);
            if (k == 0 || t->args->coll == POD_ALLTOALL || t->args->coll == POD_SENDRECV) {
                work_out(d, t->mesh, t->args, rank, want, bound);
                if (d->dtype == POD_BF16) widen_bound(is_once, size, d->count, want, bound);
            }
            const int64_t n = count_wrong(t, rank, want, bound);
            POD_CHECK(n == 0, "%s: rank %d has %" PRId64 " wrong", t->what, rank, n);
        }
    }
    free(want);
}

/* Members of a group hold the same bits after an all-reduce. */
static void check_same_bits(const trial *t)
{
    const coll_data *d = &t->data;
    int n_differ = 0;
    for (int rank = 0; rank < d->n_ranks; rank++) {
        const int first = pod_group_member(t->mesh, &t->args->group, rank, 0);
        n_differ +=
            memcmp(d->buf[rank], d->buf[first], (size_t)d->count * pod_dtype_bytes(d->dtype)) != 0;
    }
    POD_CHECK(n_differ == 0, "%s: %d ranks differ from their first", t->what, n_differ);
}

void coll_check(const pod_mesh *m, const pod_coll_algo *algo, const pod_coll_args *args,
                bool is_exact)
{
    const int n_ranks = pod_mesh_size(m);
    const bool is_bf16 = args->dtype == POD_BF16;
    trial t = {.mesh = m, .algo = algo, .args = args, .is_exact = is_exact};
    describe(&t);
    COLL_BUILT b = coll_build(algo->name, m, args);
    t.data = coll_data_make(n_ranks, args->count, args->dtype, is_exact);
    pod_status status = b.all ? pod_sched_verify(b.all, n_ranks) : POD_E_INVALID;
    if (status == POD_OK) status = pod_sched_run_local(b.all, n_ranks, args->dtype, t.data.buf);
    POD_CHECK(status == POD_OK, "%s: %s", t.what, pod_error_text());
    for (int r = 0; status == POD_OK && is_bf16 && !may_round(&t) && r < n_ranks; r++) {
        const int n = count_needless(b.all[r]);
        POD_CHECK(n == 0,
                  "%s: rank %d rounds %d sums and then adds to them, need 0: keep them in "
                  "POD_BUF_SUM (pod__sum_receive), or say ROUNDED in algorithms.def",
                  t.what, r, n);
    }
    if (status == POD_OK) check_values(&t, is_bf16 && rounds_once(b.all, n_ranks));
    if (status == POD_OK && args->coll == POD_ALLREDUCE) check_same_bits(&t);
    coll_data_free(&t.data);
}
