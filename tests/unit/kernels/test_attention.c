/* Attention: every set against the formulas of the header in double, with the errors that float32 can
 * have made, and bf16 where a set rounds to it; these formulas against finite differences; and the
 * gates of dropout bit by bit. */
#include <stdlib.h>

#include "kernels/attention/attention.h"
#include "kernels/base/rng.h"
#include "tests/unit/kernels/kernel_test.h"

static const double U = 0x1p-24;

/* ---- a problem ----------------------------------------------------------------------------- */

enum { MAX_N = 6 };

typedef struct problem {
    pod_attention_shape s;
    bool with_lengths;
    int32_t length[MAX_N], draw[MAX_N];
    double rounding; /* of p g and ds, by the sets that are tested */
    tensor q, k, v, d_o;
} problem;

static int64_t queries_count(const pod_attention_shape *s)
{
    return s->n * s->sq * s->heads * s->d;
}
static int64_t keys_count(const pod_attention_shape *s) { return s->n * s->sk * s->heads * s->d; }

static problem problem_make(const pod_attention_shape *s, bool with_lengths)
{
    problem p = {.s = *s, .with_lengths = with_lengths};
    const int64_t lengths[MAX_N] = {s->sk, 0, 1, s->sk / 2 + 1, -2, s->sk + 5};
    for (int i = 0; i < MAX_N; i++) {
        p.length[i] = (int32_t)lengths[i];
        p.draw[i] = 1000 * i - 77;
    }
    p.q = tensor_random(1, s->t, queries_count(s));
    p.k = tensor_random(2, s->t, keys_count(s));
    p.v = tensor_random(3, s->t, keys_count(s));
    p.d_o = tensor_random(4, s->t, queries_count(s));
    return p;
}

static void problem_free(problem *p)
{
    tensor *all[] = {&p->q, &p->k, &p->v, &p->d_o};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) tensor_free(all[i]);
}
#define PROBLEM __attribute__((cleanup(problem_free))) problem

static pod_attention_inputs inputs_of(const problem *p)
{
    return (pod_attention_inputs){.q = p->q.data,
                                  .k = p->k.data,
                                  .v = p->v.data,
                                  .lengths = p->with_lengths ? p->length : NULL,
                                  .draws = p->draw};
}

static const char *problem_name(const char *set, const char *what, const problem *p)
{
    const pod_attention_shape *s = &p->s;
    return pod_test_text("%s %s %s (%lld, %lld to %lld, %lld x %lld)%s%s%s", set, what,
                         pod_dtype_name(s->t), (long long)s->n, (long long)s->sq, (long long)s->sk,
                         (long long)s->heads, (long long)s->d, s->causal ? " causal" : "",
                         s->rate > 0 ? " drops" : "", p->with_lengths ? " lengths" : "");
}

/* As the header says, number by number. */
static double gate(const problem *p, int64_t n, int64_t h, int64_t i, int64_t j)
{
    const uint32_t key[2] = {(uint32_t)p->draw[n], p->s.layer};
    const uint32_t counter[4] = {(uint32_t)j / 4, (uint32_t)i, (uint32_t)h, POD_STREAM_DROPOUT};
    uint32_t word[4];
    if (!(p->s.rate > 0)) return 1;
    pod_philox(key, counter, word);
    return (double)(word[j % 4] >> 8) * 0x1p-24 >= (double)p->s.rate ? (double)(1 / (1 - p->s.rate))
                                                                     : 0;
}

/* ---- the formulas in double ---------------------------------------------------------------- */

/* One head of one sequence as (S, D) numbers, the matrices (Sq, Sk) of all that stands between, and
 * how far off each may be. Results have a bound each. */
typedef struct plain {
    int64_t sq, sk, d, heads, n, h;
    double *q, *k, *v, *d_o;           /* in */
    double *s, *p, *g, *s_off, *p_off; /* (Sq, Sk); p_off is relative */
    double *o, *lse, *dq, *dk, *dv;    /* out */
    double *o_off, *lse_off, *dq_off, *dk_off, *dv_off;
    double *block;
} plain;

static plain plain_make(const problem *p)
{
    const int64_t sq = p->s.sq, sk = p->s.sk, d = p->s.d;
    plain x = {.sq = sq, .sk = sk, .d = d, .heads = p->s.heads};
    double **const all[] = {&x.q, &x.d_o,   &x.o,     &x.dq,     &x.o_off,  &x.dq_off, &x.k,
                            &x.v, &x.dk,    &x.dv,    &x.dk_off, &x.dv_off, &x.s,      &x.p,
                            &x.g, &x.s_off, &x.p_off, &x.lse,    &x.lse_off};
    double *at = x.block =
        calloc((size_t)(6 * sq * d + 6 * sk * d + 5 * sq * sk + 2 * sq), sizeof *at);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        *all[i] = at;
        at += i < 6 ? sq * d : i < 12 ? sk * d : i < 17 ? sq * sk : sq;
    }
    return x;
}

static void plain_read(plain *x, const problem *p, int64_t n, int64_t h)
{
    x->n = n, x->h = h;
    for (int64_t i = 0; i < x->sq * x->d; i++) {
        const int64_t at = ((n * x->sq + i / x->d) * x->heads + h) * x->d + i % x->d;
        x->q[i] = tensor_get(&p->q, at), x->d_o[i] = tensor_get(&p->d_o, at);
    }
    for (int64_t i = 0; i < x->sk * x->d; i++) {
        const int64_t at = ((n * x->sk + i / x->d) * x->heads + h) * x->d + i % x->d;
        x->k[i] = tensor_get(&p->k, at), x->v[i] = tensor_get(&p->v, at);
    }
}

/* Sum of products of two rows, and of their sizes. */
static double dot(int64_t d, const double *x, const double *y, double *size)
{
    double sum = 0;
    *size = 0;
    for (int64_t i = 0; i < d; i++) sum += x[i] * y[i], *size += fabs(x[i] * y[i]);
    return sum;
}

static int64_t seen_by(const problem *p, int64_t n, int64_t i)
{
    int64_t keys = p->with_lengths ? p->length[n] : p->s.sk;
    keys = keys < 0 ? 0 : keys > p->s.sk ? p->s.sk : keys;
    return p->s.causal && keys > i + 1 ? i + 1 : keys;
}

/* Roundings of a sum over keys or queries: within a block, from block to block, and around it. */
static double chain(int64_t count)
{
    const int64_t block = count < POD_ATTENTION_CHAIN ? count : POD_ATTENTION_CHAIN;
    return (double)(block + (count + 63) / 64) + 6;
}

static void plain_forward(plain *x, const problem *p)
{
    const int64_t d = x->d;
    for (int64_t i = 0; i < x->sq; i++) {
        const int64_t seen = seen_by(p, x->n, i), row = i * x->sk;
        double max = -INFINITY, sum = 0, off = 0, size;
        for (int64_t j = 0; j < x->sk; j++) x->p[row + j] = 0;
        for (int64_t j = 0; j < seen; j++) {
            x->s[row + j] = (double)p->s.scale * dot(d, x->q + i * d, x->k + j * d, &size);
            x->s_off[row + j] = (double)(d + 2) * U * fabs((double)p->s.scale) * size;
            x->g[row + j] = gate(p, x->n, x->h, i, j);
            max = fmax(max, x->s[row + j]);
        }
        for (int64_t j = 0; j < seen; j++) sum += exp(x->s[row + j] - max);
        x->lse[i] = seen ? max + log(sum) : 0;
        for (int64_t j = 0; j < seen; j++) {
            x->p[row + j] = exp(x->s[row + j] - max) / sum;
            /* the exponential, its argument, and the same once more from block to block */
            x->p_off[row + j] = x->s_off[row + j] + 2 * U * (max - x->s[row + j]) + 8 * U;
            off += x->p[row + j] * x->p_off[row + j];
        }
        off += chain(seen) * U;
        x->lse_off[i] = seen ? off + U * fabs(x->lse[i]) : 0;
        for (int64_t e = 0; e < d; e++) {
            double o = 0, o_off = 0;
            for (int64_t j = 0; j < seen; j++) {
                const double term = x->p[row + j] * x->g[row + j] * x->v[j * d + e];
                o += term;
                o_off += fabs(term) * (x->p_off[row + j] + chain(seen) * U + p->rounding);
            }
            x->o[i * d + e] = o;
            x->o_off[i * d + e] = o_off + fabs(o) * off;
        }
    }
}

/* From o and lse as they are given: the same for the kernel. */
static void plain_backward(plain *x, const problem *p, const double *o, const double *lse)
{
    const int64_t d = x->d;
    const double scale = (double)p->s.scale;
    memset(x->dk, 0, sizeof(double) * (size_t)(4 * x->sk * d)); /* dk, dv and their bounds */
    for (int64_t i = 0; i < x->sq; i++) {
        double delta_size, *dq = x->dq + i * d, *dq_off = x->dq_off + i * d;
        const double delta = dot(d, x->d_o + i * d, o + i * d, &delta_size);
        for (int64_t e = 0; e < d; e++) dq[e] = dq_off[e] = 0;
        for (int64_t j = 0; j < seen_by(p, x->n, i); j++) {
            const int64_t at = i * x->sk + j;
            double size;
            const double dp = x->g[at] * dot(d, x->d_o + i * d, x->v + j * d, &size);
            const double prob = exp(x->s[at] - lse[i]), ds = prob * (dp - delta);
            const double off = x->s_off[at] + U * fabs(x->s[at] - lse[i]) + 6 * U;
            const double ds_off =
                prob * (off * fabs(dp - delta) + (double)(d + 3) * U * x->g[at] * size +
                        (double)(d + 3) * U * delta_size);
            const double of_keys = chain(x->sk) * U, of_queries = chain(x->sq) * U;
            const double rounding = p->rounding * (fabs(ds) + ds_off);
            for (int64_t e = 0; e < d; e++) {
                const double of_q = scale * x->q[i * d + e], of_k = scale * x->k[j * d + e];
                const double of_v = prob * x->g[at] * x->d_o[i * d + e];
                dq[e] += ds * of_k;
                dq_off[e] += (ds_off + rounding + of_keys * fabs(ds)) * fabs(of_k);
                x->dk[j * d + e] += ds * of_q;
                x->dk_off[j * d + e] += (ds_off + rounding + of_queries * fabs(ds)) * fabs(of_q);
                x->dv[j * d + e] += of_v;
                x->dv_off[j * d + e] += (off + p->rounding + of_queries) * fabs(of_v);
            }
        }
    }
}

/* ---- every set ----------------------------------------------------------------------------- */

/* Numbers and bounds for a whole tensor, from those of its heads. */
typedef struct wanted {
    double *value, *bound;
    int64_t count;
} wanted;

static wanted wanted_make(int64_t count)
{
    double *all = calloc((size_t)(2 * count), sizeof *all);
    return (wanted){all, all + count, count};
}

static void wanted_put(wanted *w, const plain *x, int64_t tokens, pod_dtype t, const double *value,
                       const double *off)
{
    for (int64_t i = 0; i < tokens * x->d; i++) {
        const int64_t at = ((x->n * tokens + i / x->d) * x->heads + x->h) * x->d + i % x->d;
        w->value[at] = value[i];
        w->bound[at] = bound_rounded(t, 1.01 * off[i] / U, value[i]);
    }
}

enum { O, LSE, DQ, DK, DV, N_WANTED };

static void check_set(const pod_attention_kernels *set, const problem *p, const tensor *o,
                      const tensor *lse, const wanted w[N_WANTED])
{
    static const char *const names[] = {"o", "lse", "dq", "dk", "dv"};
    const pod_attention_shape *s = &p->s;
    const pod_attention_inputs in = inputs_of(p);
    TENSOR scratch = tensor_new(POD_U8, (int64_t)set->scratch_bytes(s));
    TENSOR got_o = tensor_new(s->t, o->count), got_lse = tensor_new(POD_F32, lse->count);
    TENSOR dq = tensor_new(s->t, p->q.count), dk = tensor_new(s->t, p->k.count);
    TENSOR dv = tensor_new(s->t, p->k.count);
    const tensor *const got[] = {&got_o, &got_lse, &dq, &dk, &dv};
    pod_test_doing("%s", problem_name(set->name, "forward", p));
    set->forward(s, &in, got_o.data, got_lse.data, scratch.data);
    pod_test_doing("%s", problem_name(set->name, "backward", p));
    memset(scratch.data, 0xff, tensor_bytes(&scratch));
    set->backward(s, &in, o->data, lse->data, p->d_o.data, dq.data, dk.data, dv.data, scratch.data);
    for (int i = 0; i < N_WANTED; i++)
        tensor_check_near(problem_name(set->name, names[i], p), got[i], w[i].value, w[i].bound);
}

/* Runs what follows for the sets of this CPU that round as the problem says. */
#define EACH_SET_OF(p, set)                                                       \
    EACH_SET(attention_kernels, set)                                              \
        if ((pod_attention_rounding(set, (p)->s.t) > 0) != ((p)->rounding > 0)) { \
        } else

static bool has_sets(const problem *p)
{
    EACH_SET_OF(p, set) { return true; }
    return false;
}

static void check_problem(const pod_attention_shape *s, bool with_lengths, double rounding)
{
    PROBLEM p = problem_make(s, with_lengths);
    p.rounding = rounding;
    if (!has_sets(&p)) return;
    TENSOR o = tensor_new(s->t, p.q.count), lse = tensor_new(POD_F32, s->n * s->heads * s->sq);
    wanted w[N_WANTED];
    for (int i = 0; i < N_WANTED; i++)
        w[i] = wanted_make(i == LSE ? lse.count : i == DK || i == DV ? p.k.count : p.q.count);
    plain x = plain_make(&p);
    double *of_row = malloc(sizeof(double) * (size_t)(s->sq * s->d + s->sq));
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t h = 0; h < s->heads; h++) {
            plain_read(&x, &p, n, h);
            plain_forward(&x, &p);
            wanted_put(&w[O], &x, s->sq, s->t, x.o, x.o_off);
            for (int64_t i = 0; i < s->sq; i++) {
                const int64_t at = (n * s->heads + h) * s->sq + i;
                w[LSE].value[at] = x.lse[i];
                w[LSE].bound[at] = 1.01 * x.lse_off[i];
                pod_test_put(POD_F32, lse.data, at, x.lse[i]);
                of_row[s->sq * s->d + i] = tensor_get(&lse, at);
            }
            for (int64_t i = 0; i < s->sq * s->d; i++) {
                const int64_t at = ((n * s->sq + i / s->d) * s->heads + h) * s->d + i % s->d;
                pod_test_put(s->t, o.data, at, x.o[i]);
                of_row[i] = tensor_get(&o, at);
            }
            plain_backward(&x, &p, of_row, of_row + s->sq * s->d);
            wanted_put(&w[DQ], &x, s->sq, s->t, x.dq, x.dq_off);
            wanted_put(&w[DK], &x, s->sk, s->t, x.dk, x.dk_off);
            wanted_put(&w[DV], &x, s->sk, s->t, x.dv, x.dv_off);
        }
    EACH_SET_OF(&p, set) { check_set(set, &p, &o, &lse, w); }
    for (int i = 0; i < N_WANTED; i++) free(w[i].value);
    free(of_row);
    free(x.block);
}

static const struct {
    int64_t n, sq, sk, heads, d;
    bool causal;
    float rate;
    bool lengths;
} shapes[] = {
    {1, 1, 1, 1, 1, false, 0, false},      {2, 1, 1, 3, 8, true, .5f, false},
    {6, 7, 7, 2, 20, false, 0, true},      {6, 9, 9, 1, 8, true, .25f, true},
    {1, 64, 64, 1, 64, false, 0, false},   {1, 70, 70, 2, 65, false, .1f, false},
    {4, 17, 33, 1, 32, false, .1f, true},  {4, 35, 12, 2, 20, false, 0, true},
    {1, 70, 130, 1, 128, false, 0, false}, {1, 131, 131, 1, 32, true, 0, false},
    {1, 5, 300, 1, 8, false, .1f, false},  {1, 290, 290, 1, 1, true, .1f, false},
    {1, 200, 3, 1, 20, false, 0, false},   {3, 13, 13, 1, 64, true, 0, true},
};

static void test_shapes(void)
{
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (pod_dtype t = POD_F32; t <= POD_BF16; t++) {
            const pod_attention_shape s = {.n = shapes[i].n,
                                           .sq = shapes[i].sq,
                                           .sk = shapes[i].sk,
                                           .heads = shapes[i].heads,
                                           .d = shapes[i].d,
                                           .t = t,
                                           .scale = 2 / sqrtf((float)shapes[i].d),
                                           .causal = shapes[i].causal,
                                           .rate = shapes[i].rate,
                                           .layer = 7};
            check_problem(&s, shapes[i].lengths, 0);
            check_problem(&s, shapes[i].lengths, pod_test_roundoff(POD_BF16));
        }
}

/* ---- the formulas themselves --------------------------------------------------------------- */

/* sum of do o, which has do as the gradient of o */
static double loss(plain *x, const problem *p)
{
    double size;
    plain_forward(x, p);
    return dot(x->sq * x->d, x->d_o, x->o, &size);
}

/* A central difference in double is off by about h^2 and by 2^-53 / h. */
static void test_differences(void)
{
    const double h = 1e-5;
    const pod_attention_shape s = {.n = 4,
                                   .sq = 5,
                                   .sk = 5,
                                   .heads = 1,
                                   .d = 3,
                                   .scale = 0.75f,
                                   .causal = true,
                                   .rate = 0.25f};
    PROBLEM p = problem_make(&s, true);
    plain x = plain_make(&p), moved = plain_make(&p);
    for (int64_t n = 0; n < s.n; n++) {
        plain_read(&x, &p, n, 0);
        plain_read(&moved, &p, n, 0);
        plain_forward(&x, &p);
        plain_backward(&x, &p, x.o, x.lse);
        double *const at[] = {moved.q, moved.k, moved.v}, *const grad[] = {x.dq, x.dk, x.dv};
        for (int which = 0; which < 3; which++)
            for (int64_t i = 0; i < s.sq * s.d; i++) {
                const double here = at[which][i];
                at[which][i] = here + h;
                const double above = loss(&moved, &p);
                at[which][i] = here - h;
                const double got = (above - loss(&moved, &p)) / (2 * h);
                at[which][i] = here;
                POD_CHECK(fabs(got - grad[which][i]) < 1e-8,
                          "sequence %d, input %d, %d: %g, not %g", (int)n, which, (int)i,
                          grad[which][i], got);
            }
    }
    free(x.block);
    free(moved.block);
}

/* ---- dropout ------------------------------------------------------------------------------- */

enum { SIDE = 64, HEADS = 2, SEQUENCES = 2 };

/* q = 0 gives every key 1 / SIDE; v and do are unit matrices, so that o and the transpose of dv are p
 * times the gates. */
static problem gate_problem(pod_dtype t)
{
    const pod_attention_shape s = {.n = SEQUENCES,
                                   .sq = SIDE,
                                   .sk = SIDE,
                                   .heads = HEADS,
                                   .d = SIDE,
                                   .t = t,
                                   .scale = 1,
                                   .rate = 0.1f,
                                   .layer = 0xabcdef01u};
    problem p = problem_make(&s, false);
    for (int64_t i = 0; i < p.q.count; i++) {
        const int64_t token = i / (SIDE * HEADS) % SIDE;
        pod_test_put(t, p.q.data, i, 0);
        pod_test_put(t, p.v.data, i, token == i % SIDE);
        pod_test_put(t, p.d_o.data, i, token == i % SIDE);
    }
    return p;
}

static void check_gates(pod_dtype t)
{
    PROBLEM p = gate_problem(t);
    const pod_attention_inputs in = inputs_of(&p);
    const int64_t count = p.q.count, n_rows = (int64_t)SEQUENCES * HEADS * SIDE;
    TENSOR o = tensor_new(t, count), lse = tensor_new(POD_F32, n_rows);
    TENSOR dq = tensor_new(t, count), dk = tensor_new(t, count), dv = tensor_new(t, count);
    int64_t n_dropped = 0, n_alike = 0, n_same_row = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t n = i / (SIDE * HEADS * SIDE), h = i / SIDE % HEADS;
        const int64_t query = i / (SIDE * HEADS) % SIDE, key = i % SIDE;
        const bool dropped = !(gate(&p, n, h, query, key) > 0);
        n_dropped += dropped;
        n_alike += dropped == !(gate(&p, n, 1 - h, query, key) > 0);
        n_same_row += dropped == !(gate(&p, 1 - n, h, query, key) > 0);
    }
    /* 5 standard deviations of 16384 draws of probability 0.1, and of 0.82 = 0.1^2 + 0.9^2 */
    CU_ASSERT(fabs((double)n_dropped - 0.1 * (double)count) < 5 * sqrt(0.09 * (double)count));
    CU_ASSERT(fabs((double)n_alike - 0.82 * (double)count) < 5 * sqrt(0.15 * 2 * (double)count));
    CU_ASSERT(fabs((double)n_same_row - 0.82 * (double)count) < 5 * sqrt(0.15 * 2 * (double)count));
    EACH_SET(attention_kernels, set) {
        TENSOR scratch = tensor_new(POD_U8, (int64_t)set->scratch_bytes(&p.s));
        set->forward(&p.s, &in, o.data, lse.data, scratch.data);
        set->backward(&p.s, &in, o.data, lse.data, p.d_o.data, dq.data, dk.data, dv.data,
                      scratch.data);
        int64_t n_wrong = 0;
        for (int64_t i = 0; i < count; i++) {
            const int64_t n = i / (SIDE * HEADS * SIDE), h = i / SIDE % HEADS;
            const int64_t query = i / (SIDE * HEADS) % SIDE, key = i % SIDE;
            const int64_t turned = ((n * SIDE + key) * HEADS + h) * SIDE + query;
            const bool kept = gate(&p, n, h, query, key) > 0;
            n_wrong += kept != (tensor_get(&o, i) > 0) || kept != (tensor_get(&dv, turned) > 0);
        }
        POD_CHECK(n_wrong == 0, "%s %s: %lld gates differ", set->name, pod_dtype_name(t),
                  (long long)n_wrong);
    }
}

static void test_gates(void)
{
    check_gates(POD_F32);
    check_gates(POD_BF16);
}

/* ---- what a result does not depend on ------------------------------------------------------ */

static void test_sequences_alone(void)
{
    const pod_attention_shape s = {
        .n = 3, .sq = 19, .sk = 19, .heads = 2, .d = 8, .t = POD_BF16, .scale = 0.5f, .rate = 0.1f};
    PROBLEM p = problem_make(&s, false);
    const int64_t each = s.sq * s.heads * s.d, rows = s.heads * s.sq;
    TENSOR o = tensor_new(s.t, p.q.count), lse = tensor_new(POD_F32, s.n * rows);
    TENSOR last_o = tensor_new(s.t, each), last_lse = tensor_new(POD_F32, rows);
    EACH_SET(attention_kernels, set) {
        TENSOR scratch = tensor_new(POD_U8, (int64_t)set->scratch_bytes(&s));
        pod_attention_inputs in = inputs_of(&p);
        set->forward(&s, &in, o.data, lse.data, scratch.data);
        pod_attention_shape one = s;
        one.n = 1;
        in.q = (const uint16_t *)in.q + 2 * each;
        in.k = (const uint16_t *)in.k + 2 * each;
        in.v = (const uint16_t *)in.v + 2 * each;
        in.draws += 2;
        set->forward(&one, &in, last_o.data, last_lse.data, scratch.data);
        CU_ASSERT(memcmp((uint16_t *)o.data + 2 * each, last_o.data, tensor_bytes(&last_o)) == 0);
        CU_ASSERT(memcmp((float *)lse.data + 2 * rows, last_lse.data, tensor_bytes(&last_lse)) ==
                  0);
    }
}

/* ---- packed sequences: more in test_attention_parts.c --------------------------------------- */

/* Gates count queries in the whole sequence, so that parts do not share them. */
static void check_gates_of_parts(pod_dtype t)
{
    PROBLEM p = gate_problem(t);
    enum { HALF = SIDE / 2 };
    static const int32_t ends[SEQUENCES * 2] = {HALF, SIDE, HALF, SIDE};
    pod_attention_inputs in = inputs_of(&p);
    in.q_ends = in.k_ends = ends;
    p.s.n_parts = 2;
    TENSOR o = tensor_new(t, p.q.count);
    TENSOR lse = tensor_new(POD_F32, (int64_t)SEQUENCES * HEADS * SIDE);
    EACH_SET(attention_kernels, set) {
        TENSOR scratch = tensor_new(POD_U8, (int64_t)set->scratch_bytes(&p.s));
        set->forward(&p.s, &in, o.data, lse.data, scratch.data);
        int64_t n_wrong = 0;
        for (int64_t i = 0; i < p.q.count; i++) {
            const int64_t n = i / (SIDE * HEADS * SIDE), h = i / SIDE % HEADS;
            const int64_t query = i / (SIDE * HEADS) % SIDE, key = i % SIDE;
            const bool is_seen = query / HALF == key / HALF;
            n_wrong +=
                (is_seen && gate(&p, n, h, query, key % HALF) > 0) != (tensor_get(&o, i) > 0);
        }
        POD_CHECK(n_wrong == 0, "%s %s: %lld gates differ", set->name, pod_dtype_name(t),
                  (long long)n_wrong);
    }
}

static void test_gates_of_parts(void)
{
    check_gates_of_parts(POD_F32);
    check_gates_of_parts(POD_BF16);
}

POD_TEST_SUITE("attention", {"shapes", test_shapes}, {"differences", test_differences},
               {"gates", test_gates}, {"sequences_alone", test_sequences_alone},
               {"gates of parts", test_gates_of_parts});
