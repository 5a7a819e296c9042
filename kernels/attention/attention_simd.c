/* Attention in float32 vectors, compiled once for each instruction set.
 *
 * A head's tokens are converted to float32 in the cache: as rows (token, LD), where LD is D with a few
 * zeros behind, and, where they are the right operand of scores, as panels (D, PANEL) of PANEL tokens.
 *
 *   forward    for blocks of ROWS queries             k in panels and v in rows, of a whole head
 *                for blocks of FORWARD_KEYS keys:      scores, probabilities, o += p v
 *
 *   backward   for blocks of BACKWARD_KEYS keys        q and do in rows, of a whole head; k and v of the
 *                                                      block in panels, k in rows
 *                for blocks of ROWS queries:           p and ds, dv += p^T do, dk += ds^T q, dq += ds k
 *
 * The maximum and the sum of a row's exponentials are corrected from one block of keys to the next
 * (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018). Blocks of scores are
 * (ROWS, SCORES_LD); their columns are keys. Keys that a query does not see have p = ds = 0. */
#include <math.h>
#include <string.h>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_tiles.h"
#include "kernels/base/rng.h"
#include "kernels/base/simd/philox.h"
#include "kernels/base/simd/transpose.h"

enum {
    ROWS = 64,
    FORWARD_KEYS = POD_ATTENTION_CHAIN,
    BACKWARD_KEYS = 128,
    LINE = 16, /* floats of a cache line */
    LINE_BYTES = 64,
    SCORES_LD = FORWARD_KEYS + LINE
};

/* Rows of an odd number of cache lines, so that few of them share a set of the cache. */
static int64_t row_floats(int64_t d) { return (pod_round_up(d, PANEL) / LINE | 1) * LINE; }

static int64_t panels_floats(int64_t tokens, int64_t d) { return pod_round_up(tokens, PANEL) * d; }

/* The scratch, and the floats of it that are in use; base is NULL while they are only counted. */
typedef struct memory {
    float *base;
    int64_t used;
} memory;

static float *take(memory *m, int64_t floats)
{
    float *at = m->base ? m->base + m->used : NULL;
    m->used += pod_round_up(floats, LINE);
    return at;
}

typedef struct room {
    float *k_panels, *v_panels, *k_rows, *v_rows;
    float *q, *d_o;         /* rows of a block of queries; in backward of all */
    float *score, *d_score; /* its scores, then p; and ds: (ROWS, SCORES_LD) */
    float *out;             /* o of a block of queries; dq of all: (.., LD) */
    float *dk, *dv;         /* of a block of keys: (BACKWARD_KEYS, LD) */
    float *max, *sum;       /* of a block of queries */
    float *delta;           /* of all queries */
    float *gate;            /* of a row of scores */
} room;

static room forward_room(const pod_attention_shape *s, memory *m)
{
    const int64_t ld = row_floats(s->d);
    room r = {.k_panels = take(m, panels_floats(s->sk, s->d))};
    r.v_rows = take(m, s->sk * ld);
    r.q = take(m, ROWS * ld);
    r.score = take(m, ROWS * SCORES_LD);
    r.out = take(m, ROWS * ld);
    r.max = take(m, ROWS);
    r.sum = take(m, ROWS);
    r.gate = take(m, FORWARD_KEYS);
    return r;
}

static room backward_room(const pod_attention_shape *s, memory *m)
{
    const int64_t ld = row_floats(s->d);
    room r = {.k_panels = take(m, panels_floats(BACKWARD_KEYS, s->d))};
    r.v_panels = take(m, panels_floats(BACKWARD_KEYS, s->d));
    r.k_rows = take(m, BACKWARD_KEYS * ld);
    r.q = take(m, s->sq * ld);
    r.d_o = take(m, s->sq * ld);
    r.score = take(m, ROWS * SCORES_LD);
    r.d_score = take(m, ROWS * SCORES_LD);
    r.out = take(m, s->sq * ld);
    r.dk = take(m, BACKWARD_KEYS * ld);
    r.dv = take(m, BACKWARD_KEYS * ld);
    r.delta = take(m, s->sq);
    r.gate = take(m, BACKWARD_KEYS);
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
    int64_t n, h, ld;
    pod_attention_part part;
    room room;
} head;

/* The queries of a head, or its keys. */
typedef struct tokens {
    pod_dtype t;
    int64_t first, stride, count, d; /* elements from one token to the next */
} tokens;

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

/* The next head is beside this one in memory: fetches its row into L2 while this head is computed. */
POD_INLINE void fetch_next(const tokens *of, const void *x, int64_t at)
{
    const int64_t bytes = of->d * (int64_t)pod_dtype_bytes(of->t);
    const char *next = (const char *)x + at * (int64_t)pod_dtype_bytes(of->t) + bytes;
    for (int64_t i = 0; i < bytes; i += LINE_BYTES) _mm_prefetch(next + i, _MM_HINT_T1);
}

/* out (count, LD) = factor x */
POD_INLINE void load_rows(tokens of, const void *x, float factor, int64_t ld, float *out)
{
    const pod_vec by = pod_vec_all(factor), zero = pod_vec_all(0);
    for (int64_t r = 0; r < of.count; r++, out += ld) {
        const int64_t at = of.first + r * of.stride;
        fetch_next(&of, x, at);
        POD_VEC_EACH(POD_VEC_LANES, of.d, i, n, {
            const pod_vec v = pod_vec_mul(by, pod_vec_load(of.t, x, at + i, n));
            pod_vec_store(POD_F32, out, i, POD_VEC_LANES, v);
        });
        for (int64_t i = pod_round_up(of.d, POD_VEC_LANES); i < ld; i += POD_VEC_LANES)
            pod_vec_store(POD_F32, out, i, POD_VEC_LANES, zero);
    }
}

/* x = factor rows (count, LD) */
POD_INLINE void store_rows(tokens of, const float *rows, float factor, int64_t ld, void *x)
{
    const pod_vec by = pod_vec_all(factor);
    for (int64_t r = 0; r < of.count; r++, rows += ld) {
        const int64_t at = of.first + r * of.stride;
        fetch_next(&of, x, at);
        POD_VEC_EACH(POD_VEC_LANES, of.d, i, n, {
            const pod_vec v = pod_vec_load(POD_F32, rows, i, POD_VEC_LANES);
            pod_vec_store(of.t, x, at + i, n, pod_vec_mul(by, v));
        });
    }
}

/* out[panel][d][PANEL], zeros beyond the last token */
POD_INLINE void load_panels(tokens of, const void *x, float *out)
{
    for (int64_t begin = 0; begin < of.count; begin += POD_VEC_LANES) {
        for (int64_t r = begin; r < pod_min(begin + POD_VEC_LANES, of.count); r++)
            fetch_next(&of, x, of.first + r * of.stride);
        float *half = out + begin / PANEL * PANEL * of.d + begin % PANEL;
        POD_VEC_EACH(POD_VEC_LANES, of.d, i, n, {
            pod_vec row[POD_VEC_LANES];
            for (int r = 0; r < POD_VEC_LANES; r++)
                row[r] = begin + r < of.count
                             ? pod_vec_load(of.t, x, of.first + (begin + r) * of.stride + i, n)
                             : pod_vec_all(0);
            pod_vec_transpose(row);
            for (int k = 0; k < n; k++)
                pod_vec_store(POD_F32, half, (i + k) * PANEL, POD_VEC_LANES, row[k]);
        });
    }
    if (pod_round_up(of.count, POD_VEC_LANES) % PANEL == 0) return;
    float *half = out + of.count / PANEL * PANEL * of.d + POD_VEC_LANES;
    for (int64_t i = 0; i < of.d; i++)
        pod_vec_store(POD_F32, half, i * PANEL, POD_VEC_LANES, pod_vec_all(0));
}

/* score (queries, keys) = the rows q by the panels of keys */
static void multiply_scores(const head *a, int64_t queries, int64_t keys, const float *q,
                            const float *panels, float *score)
{
    multiply(&(small_matmul){.rows = queries,
                             .cols = keys,
                             .depth = a->s->d,
                             .a = q,
                             .lda = a->ld,
                             .b = panels,
                             .b_step = PANEL,
                             .b_panel = PANEL * a->s->d,
                             .c = score,
                             .ldc = SCORES_LD});
}

/* out (queries, D) = or += p (queries, keys) by the rows of keys */
static void multiply_by_keys(const head *a, int64_t queries, int64_t keys, const float *p,
                             const float *rows, bool adds, float *out)
{
    multiply(&(small_matmul){.rows = queries,
                             .cols = a->s->d,
                             .depth = keys,
                             .a = p,
                             .lda = SCORES_LD,
                             .b = rows,
                             .b_step = a->ld,
                             .b_panel = PANEL,
                             .c = out,
                             .ldc = a->ld,
                             .adds = adds});
}

/* out (keys, D) += p (queries, keys) transposed by the rows of queries */
static void add_by_queries(const head *a, int64_t queries, int64_t keys, const float *p,
                           const float *rows, float *out)
{
    multiply(&(small_matmul){.rows = keys,
                             .cols = a->s->d,
                             .depth = queries,
                             .a = p,
                             .lda = SCORES_LD,
                             .trans_a = true,
                             .b = rows,
                             .b_step = a->ld,
                             .b_panel = PANEL,
                             .c = out,
                             .ldc = a->ld,
                             .adds = true});
}

/* Writes g of query i and the keys from `first` on, a multiple of 4 LANES, to the room's gates. */
static void draw_gates(const head *a, int64_t i, int64_t first, int64_t count)
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
            pod_vec_store(POD_F32, a->room.gate, j + k * POD_VEC_LANES, POD_VEC_LANES,
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

/* Writes zeros to elements begin to end - 1 of a row. */
POD_INLINE void row_clear(float *x, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) x[i] = 0;
}

/* x[j] becomes e^(x[j] - max) for the keys seen, 0 for the others; returns their sum. */
POD_INLINE float row_exp(float *x, int64_t seen, int64_t width, float max)
{
    const pod_vec top = pod_vec_all(max), zero = pod_vec_all(0);
    pod_vec sum = zero;
    POD_VEC_EACH(POD_VEC_LANES, seen, i, n, {
        const pod_vec below = pod_vec_sub(pod_vec_load(POD_F32, x, i, POD_VEC_LANES), top);
        const pod_vec e = pod_vec_first(n, pod_vec_exp(below), zero);
        pod_vec_store(POD_F32, x, i, POD_VEC_LANES, e);
        sum = pod_vec_add(sum, e);
    });
    row_clear(x, pod_round_up(seen, POD_VEC_LANES), width);
    return lanes_sum(sum);
}

POD_INLINE void row_scale(float *x, int64_t count, float by)
{
    const pod_vec factor = pod_vec_all(by);
    for (int64_t i = 0; i < count; i += POD_VEC_LANES)
        pod_vec_store(POD_F32, x, i, POD_VEC_LANES,
                      pod_vec_mul(pod_vec_load(POD_F32, x, i, POD_VEC_LANES), factor));
}

POD_INLINE void row_gate(float *x, int64_t count, const float *gate)
{
    for (int64_t i = 0; i < count; i += POD_VEC_LANES)
        pod_vec_store(POD_F32, x, i, POD_VEC_LANES,
                      pod_vec_mul(pod_vec_load(POD_F32, x, i, POD_VEC_LANES),
                                  pod_vec_load(POD_F32, gate, i, POD_VEC_LANES)));
}

/* The scores of query i and `width` keys from j on become probabilities times the sum so far. */
static void soften_row(const head *a, int64_t i, int64_t row, int64_t j, int64_t width)
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
    r->sum[row] += row_exp(x, seen, width, max);
    if (!(a->s->rate > 0) || seen == 0) return;
    draw_gates(a, i, j, seen);
    row_gate(x, seen, r->gate);
}

/* o and lse of the queries from i on */
POD_INLINE void forward_block(const head *a, pod_dtype t, int64_t i, int64_t queries, void *o,
                              float *lse)
{
    const pod_attention_shape *s = a->s;
    const room *r = &a->room;
    const int64_t keys = pod_attention_seen(s, &a->part, i + queries - 1);
    for (int64_t row = 0; row < queries; row++) r->max[row] = -INFINITY, r->sum[row] = 0;
    load_rows(queries_of(a, t, i, queries), a->in->q, s->scale, a->ld, r->q);
    for (int64_t j = 0; j < keys; j += FORWARD_KEYS) {
        const int64_t width = pod_min(keys - j, FORWARD_KEYS);
        multiply_scores(a, queries, width, r->q, r->k_panels + j * s->d, r->score);
        for (int64_t row = 0; row < queries; row++) soften_row(a, i + row, row, j, width);
        multiply_by_keys(a, queries, width, r->score, r->v_rows + j * a->ld, j > 0, r->out);
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
    load_panels(keys, a->in->k, a->room.k_panels);
    load_rows(keys, a->in->v, 1, a->ld, a->room.v_rows);
    for (int64_t i = 0; i < part->sq; i += ROWS)
        forward_block(a, t, i, pod_min(ROWS, part->sq - i), o, lse);
}

static void attention_forward(const pod_attention_shape *s, const pod_attention_inputs *in, void *o,
                              float *lse, void *scratch)
{
    memory m = {scratch, 0};
    head a = {.s = s, .in = in, .ld = row_floats(s->d), .room = forward_room(s, &m)};
    for (a.n = 0; a.n < s->n; a.n++)
        for (a.h = 0; a.h < s->heads; a.h++) {
            a.part = (pod_attention_part){0};
            for (int64_t r = 0; pod_attention_next_part(s, in, a.n, r, &a.part); r++)
                POD_TYPED(s->t, forward_part(&a, T, o, lse));
        }
}

/* ---- backward ------------------------------------------------------------------------------ */

/* delta of all queries, from rows of do and from o */
POD_INLINE void make_delta(tokens of, const float *d_o, const void *o, int64_t ld, float *delta)
{
    for (int64_t r = 0; r < of.count; r++, d_o += ld) {
        pod_vec sum = pod_vec_all(0);
        const int64_t at = of.first + r * of.stride;
        fetch_next(&of, o, at);
        POD_VEC_EACH(POD_VEC_LANES, of.d, i, n, {
            sum = pod_vec_fma(pod_vec_load(POD_F32, d_o, i, POD_VEC_LANES),
                              pod_vec_load(of.t, o, at + i, n), sum);
        });
        delta[r] = lanes_sum(sum);
    }
}

/* From scores to p g, from do v to ds, of a row whose first `seen` keys are seen. */
POD_INLINE void slope_row(bool drops, float *p, float *ds, int64_t seen, int64_t width, float lse,
                          float delta, const float *gate)
{
    const pod_vec top = pod_vec_all(lse), shift = pod_vec_all(delta), zero = pod_vec_all(0);
    POD_VEC_EACH(POD_VEC_LANES, seen, i, n, {
        const pod_vec below = pod_vec_sub(pod_vec_load(POD_F32, p, i, POD_VEC_LANES), top);
        const pod_vec e = pod_vec_first(n, pod_vec_exp(below), zero);
        pod_vec slope = pod_vec_first(n, pod_vec_load(POD_F32, ds, i, POD_VEC_LANES), zero);
        pod_vec gated = e;
        if (drops) {
            const pod_vec g = pod_vec_load(POD_F32, gate, i, POD_VEC_LANES);
            gated = pod_vec_mul(e, g);
            slope = pod_vec_mul(slope, g);
        }
        pod_vec_store(POD_F32, p, i, POD_VEC_LANES, gated);
        pod_vec_store(POD_F32, ds, i, POD_VEC_LANES, pod_vec_mul(e, pod_vec_sub(slope, shift)));
    });
    row_clear(p, pod_round_up(seen, POD_VEC_LANES), width);
    row_clear(ds, pod_round_up(seen, POD_VEC_LANES), width);
}

typedef struct gradients {
    const void *o, *d_o;
    const float *lse;
    void *dq, *dk, *dv;
} gradients;

/* Adds what the queries from i on give to dk and dv of the keys from j on, and what these give to
 * dq. */
static void backward_block(const head *a, const gradients *x, int64_t i, int64_t queries, int64_t j,
                           int64_t keys)
{
    const pod_attention_shape *s = a->s;
    const room *r = &a->room;
    const int64_t last = pod_attention_seen(s, &a->part, i + queries - 1);
    const int64_t width = pod_min(keys, last - j);
    const float *q = r->q + i * a->ld, *d_o = r->d_o + i * a->ld;
    if (width <= 0) return;
    multiply_scores(a, queries, width, q, r->k_panels, r->score);
    multiply_scores(a, queries, width, d_o, r->v_panels, r->d_score);
    for (int64_t row = 0; row < queries; row++) {
        const int64_t at = i + row;
        const int64_t seen = pod_max(0, pod_min(width, pod_attention_seen(s, &a->part, at) - j));
        const float lse = x->lse[lse_at(a, at)], delta = r->delta[at];
        float *p = r->score + row * SCORES_LD, *ds = r->d_score + row * SCORES_LD;
        if (s->rate > 0) {
            draw_gates(a, at, j, seen);
            slope_row(true, p, ds, seen, width, lse, delta, r->gate);
        } else {
            slope_row(false, p, ds, seen, width, lse, delta, NULL);
        }
    }
    add_by_queries(a, queries, width, r->score, d_o, r->dv);
    add_by_queries(a, queries, width, r->d_score, q, r->dk);
    multiply_by_keys(a, queries, width, r->d_score, r->k_rows, j > 0, r->out + i * a->ld);
}

POD_INLINE void backward_part(const head *a, pod_dtype t, const gradients *x)
{
    const pod_attention_shape *s = a->s;
    const room *r = &a->room;
    const pod_attention_part *part = &a->part;
    const tokens queries = queries_of(a, t, 0, part->sq);
    if (part->keys == 0) memset(r->out, 0, sizeof(float) * (size_t)(part->sq * a->ld));
    load_rows(queries, a->in->q, s->scale, a->ld, r->q);
    load_rows(queries, x->d_o, 1, a->ld, r->d_o);
    make_delta(queries, r->d_o, x->o, a->ld, r->delta);
    for (int64_t j = 0; j < part->sk; j += BACKWARD_KEYS) {
        const int64_t in_block = pod_min(BACKWARD_KEYS, part->sk - j);
        const int64_t keys = pod_max(0, pod_min(in_block, part->keys - j));
        const tokens all = keys_of(a, t, j, in_block);
        const tokens real = keys_of(a, t, j, keys);
        load_panels(real, a->in->k, r->k_panels);
        load_panels(real, a->in->v, r->v_panels);
        load_rows(real, a->in->k, 1, a->ld, r->k_rows);
        memset(r->dk, 0, sizeof(float) * (size_t)(in_block * a->ld));
        memset(r->dv, 0, sizeof(float) * (size_t)(in_block * a->ld));
        for (int64_t i = 0; i < part->sq && keys > 0; i += ROWS)
            backward_block(a, x, i, pod_min(ROWS, part->sq - i), j, keys);
        store_rows(all, r->dk, 1, a->ld, x->dk);
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
    head a = {.s = s, .in = in, .ld = row_floats(s->d), .room = backward_room(s, &m)};
    for (a.n = 0; a.n < s->n; a.n++)
        for (a.h = 0; a.h < s->heads; a.h++) {
            a.part = (pod_attention_part){0};
            for (int64_t r = 0; pod_attention_next_part(s, in, a.n, r, &a.part); r++)
                POD_TYPED(s->t, backward_part(&a, T, &x));
        }
}

const pod_attention_kernels POD_ISA(pod__attention_kernels) = {
    POD_ISA_SET, attention_scratch_bytes, attention_forward, attention_backward};
