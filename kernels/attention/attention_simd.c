/* Attention in vectors, compiled once for each instruction set.
 *
 * A head's tokens are copied to the cache (attention_operands.h) as operands of small matmuls
 * (attention_tiles.h), in float32 or, if the tensors are bf16 and the CPU has AVX512_BF16, in
 * pairs of bf16. Sizes are counted in elements of 32 bits: a float32, or two bf16 that are
 * neighbours along the dimension that is summed over. D2 and S2 are D and a number of tokens S in
 * elements; for pairs these are halves, rounded up, and 0 is the partner of a number that has
 * none.
 *
 *   rows     (S, LD2)          left operand of a sum over D
 *   panels   (D2, PANEL)       right operand of a sum over D: PANEL tokens side by side
 *   stacks   (S2, LD)          right operand of a sum over tokens
 *
 * LD and LD2 are D and D2 with a few zeros behind. Rows and stacks of float32 are the same.
 *
 *   forward    for blocks of ROWS queries            k in panels and v in stacks, of a whole head
 *                for blocks of FORWARD_KEYS keys:     scores, probabilities, o += p v
 *
 *   backward   for blocks of BACKWARD_KEYS keys       q and do in rows and stacks, of a whole head;
 *                                                     of the block k and v in panels, k in stacks
 *                for blocks of ROWS queries:          p and ds; dv += p^T do, dk += ds^T q,
 *                                                     dq += ds k
 *
 * The maximum and the sum of a row's exponentials are corrected from one block of keys to the next
 * (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). Blocks of scores are
 * (ROWS, SCORES_LD); their columns are keys. Keys that a query does not see have p = ds = 0.
 *
 * Scores are float32. p g and ds overwrite the scores and the do v that they are made of. As pairs
 * they are rounded to bf16:
 *
 *   forward    p g   in pairs of keys
 *   backward   p g   in pairs of queries, in every other row
 *              ds    the same for dk; in pairs of keys, from column DS_ROWS on, for dq
 *
 * The sum of a row's exponentials, and with it lse, is of float32 before they are rounded. So this
 * rounding adds at most 2^-8 sum_j p g |v| to the error of o. Divided by the sum of rounded
 * exponentials it could be twice as much. */
#include <math.h>
#include <string.h>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_operands.h"
#include "kernels/attention/attention_tiles.h"
#include "kernels/base/rng.h"
#include "kernels/base/simd/philox.h"

enum {
    ROWS = 64,
    FORWARD_KEYS = POD_ATTENTION_CHAIN,
    BACKWARD_KEYS = 128,
    SCORES_LD = FORWARD_KEYS + LINE,
    DS_ROWS = BACKWARD_KEYS
};

_Static_assert(ROWS % 2 == 0, "blocks begin with a pair");
_Static_assert(FORWARD_KEYS % PANEL == 0 && BACKWARD_KEYS % PANEL == 0, "keys fill whole panels");
_Static_assert(DS_ROWS + BACKWARD_KEYS / 2 <= SCORES_LD, "a row has room for ds twice");

/* The scratch, and the elements of it that are in use; base is NULL while they are only counted. */
typedef struct memory {
    float *base;
    int64_t used;
} memory;

static float *take(memory *m, int64_t elements)
{
    float *at = m->base ? m->base + m->used : NULL;
    m->used += pod_round_up(elements, LINE);
    return at;
}

typedef struct room {
    float *k_panels, *v_panels, *k_stacks, *v_stacks;
    float *q_rows, *d_o_rows; /* of a block of queries; in backward of all */
    float *q_stacks, *d_o_stacks;
    float *score, *d_score; /* scores of a block of queries, then p; and ds: (ROWS, SCORES_LD) */
    float *out;             /* o of a block of queries; dq of all: (.., LD) */
    float *dk, *dv;         /* of a block of keys: (BACKWARD_KEYS, LD) */
    float *max, *sum;       /* of a block of queries */
    float *delta;           /* of all queries */
    float *gate;            /* of a row of scores; in backward of two */
} room;

static room forward_room(const pod_attention_shape *s, memory *m)
{
    const pod_dtype type = operand_type(s->t);
    const int64_t d2 = elements_of(type, s->d), ld = row_elements(s->d);
    room r = {.k_panels = take(m, panels_elements(s->sk, d2))};
    r.v_stacks = take(m, elements_of(type, s->sk) * ld);
    r.q_rows = take(m, ROWS * row_elements(d2));
    r.score = take(m, ROWS * SCORES_LD);
    r.out = take(m, ROWS * ld);
    r.max = take(m, ROWS);
    r.sum = take(m, ROWS);
    r.gate = take(m, FORWARD_KEYS);
    return r;
}

static room backward_room(const pod_attention_shape *s, memory *m)
{
    const pod_dtype type = operand_type(s->t);
    const int64_t d2 = elements_of(type, s->d), ld = row_elements(s->d), ld2 = row_elements(d2);
    const bool in_pairs = type == POD_BF16;
    room r = {.k_panels = take(m, panels_elements(BACKWARD_KEYS, d2))};
    r.v_panels = take(m, panels_elements(BACKWARD_KEYS, d2));
    r.k_stacks = take(m, elements_of(type, BACKWARD_KEYS) * ld);
    r.q_rows = take(m, s->sq * ld2);
    r.d_o_rows = take(m, s->sq * ld2);
    r.q_stacks = in_pairs ? take(m, elements_of(type, s->sq) * ld) : r.q_rows;
    r.d_o_stacks = in_pairs ? take(m, elements_of(type, s->sq) * ld) : r.d_o_rows;
    r.score = take(m, ROWS * SCORES_LD);
    r.d_score = take(m, ROWS * SCORES_LD);
    r.out = take(m, s->sq * ld);
    r.dk = take(m, BACKWARD_KEYS * ld);
    r.dv = take(m, BACKWARD_KEYS * ld);
    r.delta = take(m, s->sq);
    r.gate = take(m, 2 * BACKWARD_KEYS);
    return r;
}

static size_t attention_scratch_bytes(const pod_attention_shape *s)
{
    memory forward = {0}, backward = {0};
    (void)forward_room(s, &forward);
    (void)backward_room(s, &backward);
    return sizeof(float) * (size_t)pod_max(forward.used, backward.used);
}

/* ---- one head ------------------------------------------------------------------------------ */

typedef struct head {
    const pod_attention_shape *s;
    const pod_attention_inputs *in;
    int64_t n, h, ld, ld2;
    float q_factor, sum_factor; /* of q, and of sums over D or queries that q is in */
    pod_attention_part part;
    room room;
} head;

/* The scale goes into float32 q, but into the sums of pairs: q scaled would be rounded again. */
static head head_of(const pod_attention_shape *s, const pod_attention_inputs *in, room r)
{
    const pod_dtype type = operand_type(s->t);
    const bool in_pairs = type == POD_BF16;
    return (head){.s = s,
                  .in = in,
                  .ld = row_elements(s->d),
                  .ld2 = row_elements(elements_of(type, s->d)),
                  .q_factor = in_pairs ? 1 : s->scale,
                  .sum_factor = in_pairs ? s->scale : 1,
                  .room = r};
}

/* Token number `begin` of all of a batch and those behind it. */
POD_INLINE tokens tokens_from(const head *a, pod_dtype t, int64_t begin, int64_t count)
{
    const int64_t first = (begin * a->s->heads + a->h) * a->s->d;
    return (tokens){t, first, a->s->heads * a->s->d, count, a->s->d};
}

/* Queries from number i of the part on; keys from number j on. */
POD_INLINE tokens queries_of(const head *a, pod_dtype t, int64_t i, int64_t count)
{
    return tokens_from(a, t, a->n * a->s->sq + a->part.q + i, count);
}

POD_INLINE tokens keys_of(const head *a, pod_dtype t, int64_t j, int64_t count)
{
    return tokens_from(a, t, a->n * a->s->sk + a->part.k + j, count);
}

static int64_t lse_at(const head *a, int64_t i)
{
    return (a->n * a->s->heads + a->h) * a->s->sq + a->part.q + i;
}

/* score (queries, keys) = factor times the rows of queries by the panels of keys */
POD_INLINE void multiply_scores(const head *a, pod_dtype m, int64_t queries, int64_t keys,
                                float factor, const float *rows, const float *panels, float *score)
{
    const int64_t d2 = elements_of(m, a->s->d);
    multiply(&(small_matmul){.m = m,
                             .rows = queries,
                             .cols = keys,
                             .depth = d2,
                             .a = rows,
                             .lda = a->ld2,
                             .b = panels,
                             .b_step = PANEL,
                             .b_panel = PANEL * d2,
                             .c = score,
                             .ldc = SCORES_LD,
                             .factor = factor});
}

/* out (queries, D) = or += p (queries, S2 of keys) by the stacks of keys */
POD_INLINE void multiply_by_keys(const head *a, pod_dtype m, int64_t queries, int64_t keys,
                                 const float *p, const float *stacks, bool adds, float *out)
{
    multiply(&(small_matmul){.m = m,
                             .rows = queries,
                             .cols = a->s->d,
                             .depth = elements_of(m, keys),
                             .a = p,
                             .lda = SCORES_LD,
                             .b = stacks,
                             .b_step = a->ld,
                             .b_panel = PANEL,
                             .c = out,
                             .ldc = a->ld,
                             .adds = adds,
                             .factor = 1});
}

/* out (keys, D) += p (S2 of queries, keys) transposed by the stacks of queries */
POD_INLINE void add_by_queries(const head *a, pod_dtype m, int64_t queries, int64_t keys,
                               const float *p, const float *stacks, float *out)
{
    multiply(&(small_matmul){.m = m,
                             .rows = keys,
                             .cols = a->s->d,
                             .depth = elements_of(m, queries),
                             .a = p,
                             .lda = per_element(m) * SCORES_LD,
                             .trans_a = true,
                             .b = stacks,
                             .b_step = a->ld,
                             .b_panel = PANEL,
                             .c = out,
                             .ldc = a->ld,
                             .adds = true});
}

/* Writes g of query i and of `count` keys from `first` on to `gate`. `first` is a multiple of
 * 4 LANES, and `count` is rounded up to one. */
static void draw_gates(const head *a, int64_t i, int64_t first, int64_t count, float *gate)
{
    enum { NUMBERS = 4 * POD_VEC_LANES };
    const float rate = a->s->rate;
    const uint32_t key[2] = {(uint32_t)a->in->draws[a->n], a->s->layer};
    const pod_vec least = pod_vec_all(rate * 0x1p24f), zero = pod_vec_all(0);
    const pod_vec kept = pod_vec_all(1 / (1 - rate));
    for (int64_t j = 0; j < count; j += NUMBERS) {
        pod_vec number[4];
        pod_vec_philox(key, (uint32_t)((first + j) / 4), (uint32_t)(a->part.q + i), (uint32_t)a->h,
                       POD_STREAM_DROPOUT, number);
        for (int k = 0; k < 4; k++)
            pod_vec_store(POD_F32, gate, j + k * POD_VEC_LANES, POD_VEC_LANES,
                          pod_vec_select(pod_vec_gt(least, number[k]), zero, kept));
    }
}

/* ---- forward ------------------------------------------------------------------------------- */

POD_INLINE float lanes_sum(pod_vec v)
{
    float lane[POD_VEC_LANES];
    pod_vec_store(POD_F32, lane, 0, POD_VEC_LANES, v);
    for (int half = POD_VEC_LANES / 2; half > 0; half /= 2)
        for (int k = 0; k < half; k++) lane[k] += lane[k + half];
    return lane[0];
}

/* Rows of scores end in whole panels: what lies beyond the n-th element of a vector is there. */
POD_INLINE float row_max(const float *x, int64_t count, float max)
{
    const pod_vec lowest = pod_vec_all(-INFINITY);
    pod_vec m = lowest;
    float lane[POD_VEC_LANES];
    POD_VEC_EACH(POD_VEC_LANES, count, i, n, {
        const pod_vec v = pod_vec_load(POD_F32, x, i, POD_VEC_LANES);
        m = pod_vec_max(pod_vec_first(n, v, lowest), m);
    });
    pod_vec_store(POD_F32, lane, 0, POD_VEC_LANES, m);
    for (int k = 0; k < POD_VEC_LANES; k++) max = lane[k] > max ? lane[k] : max;
    return max;
}

/* Writes zeros to numbers begin to end - 1 of a row of type m. */
POD_INLINE void row_clear(pod_dtype m, float *x, int64_t begin, int64_t end)
{
    const size_t bytes = pod_dtype_bytes(m);
    if (begin < end) memset((char *)x + (size_t)begin * bytes, 0, (size_t)(end - begin) * bytes);
}

/* x[j] becomes e^(x[j] - max) for the keys seen, times the gate if it drops, and 0 for the others,
 * of type m; returns the sum of the exponentials. */
POD_INLINE float row_exp(pod_dtype m, bool drops, float *x, int64_t seen, int64_t width, float max,
                         const float *gate)
{
    const pod_vec top = pod_vec_all(max), zero = pod_vec_all(0);
    pod_vec sum = zero;
    POD_VEC_EACH(POD_VEC_LANES, seen, i, n, {
        const pod_vec below = pod_vec_sub(pod_vec_load(POD_F32, x, i, POD_VEC_LANES), top);
        const pod_vec e = pod_vec_first(n, pod_vec_exp(below), zero);
        sum = pod_vec_add(sum, e);
        pod_vec gated = e;
        if (drops) gated = pod_vec_mul(e, pod_vec_load(POD_F32, gate, i, POD_VEC_LANES));
        pod_vec_store(m, x, i, POD_VEC_LANES, gated);
    });
    row_clear(m, x, pod_round_up(seen, POD_VEC_LANES), pod_round_up(width, per_element(m)));
    return lanes_sum(sum);
}

POD_INLINE void row_scale(float *x, int64_t count, float by)
{
    const pod_vec factor = pod_vec_all(by);
    for (int64_t i = 0; i < count; i += POD_VEC_LANES)
        pod_vec_store(POD_F32, x, i, POD_VEC_LANES,
                      pod_vec_mul(pod_vec_load(POD_F32, x, i, POD_VEC_LANES), factor));
}

/* The scores of query i and `width` keys from j on become probabilities times the sum so far, and
 * times the gates. */
POD_INLINE void soften_row(const head *a, pod_dtype m, int64_t i, int64_t row, int64_t j,
                           int64_t width)
{
    const room *r = &a->room;
    float *x = r->score + row * SCORES_LD;
    const int64_t seen = pod_max(0, pod_min(width, pod_attention_seen(a->s, &a->part, i) - j));
    const float before = r->max[row], max = row_max(x, seen, before);
    if (j > 0 && max > before) {
        const float shrink = expf(before - max);
        r->sum[row] *= shrink;
        row_scale(r->out + row * a->ld, a->ld, shrink);
    }
    r->max[row] = max;
    if (a->s->rate > 0) {
        draw_gates(a, i, j, seen, r->gate);
        r->sum[row] += row_exp(m, true, x, seen, width, max, r->gate);
    } else {
        r->sum[row] += row_exp(m, false, x, seen, width, max, NULL);
    }
}

/* o and lse of the queries from i on */
POD_INLINE void forward_block(const head *a, pod_dtype t, int64_t i, int64_t queries, void *o,
                              float *lse)
{
    const pod_attention_shape *s = a->s;
    const room *r = &a->room;
    const pod_dtype m = operand_type(t);
    const int64_t keys = pod_attention_seen(s, &a->part, i + queries - 1);
    for (int64_t row = 0; row < queries; row++) r->max[row] = -INFINITY, r->sum[row] = 0;
    load_rows(m, queries_of(a, t, i, queries), a->in->q, a->q_factor, a->ld2, r->q_rows);
    for (int64_t j = 0; j < keys; j += FORWARD_KEYS) {
        const int64_t width = pod_min(keys - j, FORWARD_KEYS);
        const float *panels = r->k_panels + j * elements_of(m, s->d);
        const float *stacks = r->v_stacks + elements_of(m, j) * a->ld;
        multiply_scores(a, m, queries, width, a->sum_factor, r->q_rows, panels, r->score);
        for (int64_t row = 0; row < queries; row++) soften_row(a, m, i + row, row, j, width);
        multiply_by_keys(a, m, queries, width, r->score, stacks, j > 0, r->out);
    }
    for (int64_t row = 0; row < queries; row++) {
        const double sum = (double)r->sum[row];
        row_scale(r->out + row * a->ld, a->ld, (float)(1 / sum));
        lse[lse_at(a, i + row)] = (float)((double)r->max[row] + log(sum));
    }
    store_rows(queries_of(a, t, i, queries), r->out, 1, a->ld, o);
}

POD_INLINE void forward_part(const head *a, pod_dtype t, void *o, float *lse)
{
    const pod_attention_part *part = &a->part;
    const tokens keys = keys_of(a, t, 0, part->keys);
    if (part->keys == 0) {
        memset(a->room.out, 0, sizeof(float) * (size_t)a->ld);
        for (int64_t i = 0; i < part->sq; i++) {
            store_rows(queries_of(a, t, i, 1), a->room.out, 1, a->ld, o);
            lse[lse_at(a, i)] = 0;
        }
        return;
    }
    load_panels(operand_type(t), keys, a->in->k, a->room.k_panels);
    load_stacks(operand_type(t), keys, a->in->v, a->ld, a->room.v_stacks);
    for (int64_t i = 0; i < part->sq; i += ROWS)
        forward_block(a, t, i, pod_min(ROWS, part->sq - i), o, lse);
}

static void attention_forward(const pod_attention_shape *s, const pod_attention_inputs *in, void *o,
                              float *lse, void *scratch)
{
    memory m = {scratch, 0};
    head a = head_of(s, in, forward_room(s, &m));
    for (a.n = 0; a.n < s->n; a.n++)
        for (a.h = 0; a.h < s->heads; a.h++) {
            a.part = (pod_attention_part){0};
            for (int64_t r = 0; pod_attention_next_part(s, in, a.n, r, &a.part); r++)
                POD_TYPED(s->t, forward_part(&a, T, o, lse));
        }
}

/* ---- backward ------------------------------------------------------------------------------ */

/* delta of all queries */
POD_INLINE void make_delta(tokens of, const void *d_o, const void *o, float *delta)
{
    for (int64_t r = 0; r < of.count; r++) {
        pod_vec sum = pod_vec_all(0);
        const int64_t at = of.first + r * of.stride;
        fetch_next(&of, o, at);
        POD_VEC_EACH(POD_VEC_LANES, of.d, i, n, {
            sum = pod_vec_fma(pod_vec_load(of.t, d_o, at + i, n), pod_vec_load(of.t, o, at + i, n),
                              sum);
        });
        delta[r] = lanes_sum(sum);
    }
}

/* A query as a block of keys needs it: how many of them it sees, and its numbers. */
typedef struct query {
    int64_t seen;
    float lse, delta;
    const float *gate;
} query;

/* p g and ds of a query and some keys. */
typedef struct slopes {
    pod_vec p, ds;
} slopes;

/* Computes them from scores and do v of keys i to i + n - 1; 0 in the lanes behind these. */
POD_INLINE slopes slopes_at(const query *of, bool drops, const float *score, const float *d_score,
                            int64_t i, int n)
{
    const pod_vec zero = pod_vec_all(0), top = pod_vec_all(of->lse);
    const pod_vec below = pod_vec_sub(pod_vec_load(POD_F32, score, i, POD_VEC_LANES), top);
    const pod_vec e = pod_vec_first(n, pod_vec_exp(below), zero);
    pod_vec slope = pod_vec_first(n, pod_vec_load(POD_F32, d_score, i, POD_VEC_LANES), zero);
    pod_vec gated = e;
    if (drops) {
        const pod_vec g = pod_vec_load(POD_F32, of->gate, i, POD_VEC_LANES);
        gated = pod_vec_mul(e, g);
        slope = pod_vec_mul(slope, g);
    }
    return (slopes){gated, pod_vec_mul(e, pod_vec_sub(slope, pod_vec_all(of->delta)))};
}

/* Turns a row of scores into p g and a row of do v into ds. */
POD_INLINE void slope_row(const query *of, bool drops, float *p, float *ds, int64_t width)
{
    POD_VEC_EACH(POD_VEC_LANES, of->seen, i, n, {
        const slopes at = slopes_at(of, drops, p, ds, i, n);
        pod_vec_store(POD_F32, p, i, POD_VEC_LANES, at.p);
        pod_vec_store(POD_F32, ds, i, POD_VEC_LANES, at.ds);
    });
    row_clear(POD_F32, p, pod_round_up(of->seen, POD_VEC_LANES), width);
    row_clear(POD_F32, ds, pod_round_up(of->seen, POD_VEC_LANES), width);
}

/* The same of two rows. The first row gets p g and ds in pairs of queries, and each row its ds in
 * pairs of keys. The first sees n0 of the keys from i on, the second n1. */
POD_INLINE void slope_pair_at(const query of[2], bool drops, float *p, float *ds, int64_t i, int n0,
                              int n1)
{
    const slopes even = slopes_at(&of[0], drops, p, ds, i, n0);
    const slopes odd = slopes_at(&of[1], drops, p + SCORES_LD, ds + SCORES_LD, i, n1);
    pod_vec16_store(p, 2 * i, POD_VEC16_LANES, pod_vec16_join(even.p, odd.p));
    pod_vec16_store(ds, 2 * i, POD_VEC16_LANES, pod_vec16_join(even.ds, odd.ds));
    pod_vec_store(POD_BF16, ds + DS_ROWS, i, POD_VEC_LANES, even.ds);
    pod_vec_store(POD_BF16, ds + SCORES_LD + DS_ROWS, i, POD_VEC_LANES, odd.ds);
}

POD_INLINE int seen_lanes(const query *of, int64_t i)
{
    return (int)pod_max(0, pod_min(of->seen - i, POD_VEC_LANES));
}

POD_INLINE void slope_pair(const query of[2], bool drops, float *p, float *ds, int64_t width)
{
    const int64_t both = pod_min(of[0].seen, of[1].seen), some = pod_max(of[0].seen, of[1].seen);
    int64_t i = 0;
    for (; i + POD_VEC_LANES <= both; i += POD_VEC_LANES)
        slope_pair_at(of, drops, p, ds, i, POD_VEC_LANES, POD_VEC_LANES);
    for (; i < some; i += POD_VEC_LANES)
        slope_pair_at(of, drops, p, ds, i, seen_lanes(&of[0], i), seen_lanes(&of[1], i));
    row_clear(POD_F32, p, i, width);
    row_clear(POD_F32, ds, i, width);
    row_clear(POD_BF16, ds + DS_ROWS, i, pod_round_up(width, 2));
    row_clear(POD_BF16, ds + SCORES_LD + DS_ROWS, i, pod_round_up(width, 2));
}

typedef struct gradients {
    const void *o, *d_o;
    const float *lse;
    void *dq, *dk, *dv;
} gradients;

static query query_at(const head *a, const gradients *x, int64_t i, int64_t j, int64_t width)
{
    const int64_t seen = pod_attention_seen(a->s, &a->part, i) - j;
    return (query){.seen = pod_max(0, pod_min(width, seen)),
                   .lse = x->lse[lse_at(a, i)],
                   .delta = a->room.delta[i]};
}

/* The scores of the block's queries from i on and of `width` keys from j on become p g and ds. */
POD_INLINE void slope_block(const head *a, const gradients *x, pod_dtype m, bool drops, int64_t i,
                            int64_t queries, int64_t j, int64_t width)
{
    const room *r = &a->room;
    for (int64_t row = 0; row < queries; row += per_element(m)) {
        float *p = r->score + row * SCORES_LD, *ds = r->d_score + row * SCORES_LD;
        query of[2] = {query_at(a, x, i + row, j, width)};
        of[1] = of[0];
        if (m == POD_BF16 && row + 1 < queries)
            of[1] = query_at(a, x, i + row + 1, j, width);
        else
            of[1].seen = 0;
        for (int k = 0; drops && k < per_element(m); k++) {
            float *gate = r->gate + k * BACKWARD_KEYS;
            draw_gates(a, i + row + k, j, pod_max(of[0].seen, of[1].seen), gate);
            of[k].gate = gate;
        }
        if (m == POD_BF16)
            slope_pair(of, drops, p, ds, width);
        else
            slope_row(&of[0], drops, p, ds, width);
    }
}

/* Adds what the queries from i on give to dk and dv of the keys from j on, and what these give to
 * dq. */
POD_INLINE void backward_block(const head *a, pod_dtype m, const gradients *x, int64_t i,
                               int64_t queries, int64_t j, int64_t keys)
{
    const room *r = &a->room;
    const int64_t last = pod_attention_seen(a->s, &a->part, i + queries - 1);
    const int64_t width = pod_min(keys, last - j), at = elements_of(m, i) * a->ld;
    if (width <= 0) return;
    multiply_scores(a, m, queries, width, a->sum_factor, r->q_rows + i * a->ld2, r->k_panels,
                    r->score);
    multiply_scores(a, m, queries, width, 1, r->d_o_rows + i * a->ld2, r->v_panels, r->d_score);
    if (a->s->rate > 0)
        slope_block(a, x, m, true, i, queries, j, width);
    else
        slope_block(a, x, m, false, i, queries, j, width);
    add_by_queries(a, m, queries, width, r->score, r->d_o_stacks + at, r->dv);
    add_by_queries(a, m, queries, width, r->d_score, r->q_stacks + at, r->dk);
    multiply_by_keys(a, m, queries, width, r->d_score + (m == POD_BF16 ? DS_ROWS : 0), r->k_stacks,
                     j > 0, r->out + i * a->ld);
}

/* Rows and stacks of all queries, and delta. */
POD_INLINE void load_queries(const head *a, pod_dtype m, tokens queries, const gradients *x)
{
    const room *r = &a->room;
    load_rows(m, queries, a->in->q, a->q_factor, a->ld2, r->q_rows);
    load_rows(m, queries, x->d_o, 1, a->ld2, r->d_o_rows);
    if (m == POD_BF16) {
        load_stacks(m, queries, a->in->q, a->ld, r->q_stacks);
        load_stacks(m, queries, x->d_o, a->ld, r->d_o_stacks);
    }
    make_delta(queries, x->d_o, x->o, r->delta);
}

POD_INLINE void backward_part(const head *a, pod_dtype t, const gradients *x)
{
    const pod_attention_shape *s = a->s;
    const room *r = &a->room;
    const pod_attention_part *part = &a->part;
    const pod_dtype m = operand_type(t);
    const tokens queries = queries_of(a, t, 0, part->sq);
    if (part->keys == 0) memset(r->out, 0, sizeof(float) * (size_t)(part->sq * a->ld));
    load_queries(a, m, queries, x);
    for (int64_t j = 0; j < part->sk; j += BACKWARD_KEYS) {
        const int64_t in_block = pod_min(BACKWARD_KEYS, part->sk - j);
        const int64_t keys = pod_max(0, pod_min(in_block, part->keys - j));
        const tokens all = keys_of(a, t, j, in_block);
        const tokens real = keys_of(a, t, j, keys);
        load_panels(m, real, a->in->k, r->k_panels);
        load_panels(m, real, a->in->v, r->v_panels);
        load_stacks(m, real, a->in->k, a->ld, r->k_stacks);
        memset(r->dk, 0, sizeof(float) * (size_t)(in_block * a->ld));
        memset(r->dv, 0, sizeof(float) * (size_t)(in_block * a->ld));
        for (int64_t i = 0; i < part->sq && keys > 0; i += ROWS)
            backward_block(a, m, x, i, pod_min(ROWS, part->sq - i), j, keys);
        store_rows(all, r->dk, a->sum_factor, a->ld, x->dk);
        store_rows(all, r->dv, 1, a->ld, x->dv);
    }
    store_rows(queries, r->out, s->scale, a->ld, x->dq);
}

static void attention_backward(const pod_attention_shape *s, const pod_attention_inputs *in,
                               const void *o, const float *lse, const void *d_o, void *dq, void *dk,
                               void *dv, void *scratch)
{
    memory m = {scratch, 0};
    const gradients x = {o, d_o, lse, dq, dk, dv};
    head a = head_of(s, in, backward_room(s, &m));
    for (a.n = 0; a.n < s->n; a.n++)
        for (a.h = 0; a.h < s->heads; a.h++) {
            a.part = (pod_attention_part){0};
            for (int64_t r = 0; pod_attention_next_part(s, in, a.n, r, &a.part); r++)
                POD_TYPED(s->t, backward_part(&a, T, &x));
        }
}

const pod_attention_kernels POD_ISA(pod__attention_kernels) = {
    POD_ISA_SET, attention_scratch_bytes, attention_forward, attention_backward, HAS_PAIRS};
