/* Products in AVX-512 float32: C by squares of 14 x 32, 28 sums in registers, an element of A
 * broadcast to a row of B at a time. bfloat16 operands are widened as they are packed.
 *
 *   for blocks of columns n, of rows m, of depth k    B's block (depth, n) stays in L2
 *     for 14 rows: A's piece (14, depth), into L1
 *       for panels of 32 columns of B (depth, 32): a square of C
 *
 * A is not transposed. Between blocks of k sums wait in C where it is float32, else in scratch.
 * Packed B is panels as long as k, float32: [panel][k][32], zeros beyond N. */
#include <immintrin.h>

#include "kernels/base/simd_avx512.h"
#include "kernels/gemm/gemm_kernels.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    ROWS = 14,
    PANEL = 32,
    DEPTH = 384,
    MAX_ROWS = 36 * ROWS,
    MAX_COLUMNS = 1024,
    AHEAD = 16 /* rows of B that are asked for before they are read */
};

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t panels(int64_t n) { return (n + PANEL - 1) / PANEL; }

/* Regions of the scratch, in floats from its start. */
typedef struct layout {
    int64_t a, b, sums, end;
} layout;

static layout layout_of(const pod_gemm_call *c)
{
    const int64_t columns = panels(smaller(c->shape.n, MAX_COLUMNS)) * PANEL;
    const int64_t depth = smaller(c->shape.k, DEPTH);
    const bool sums_wait = c->c_dtype == POD_BF16 && c->shape.k > DEPTH;
    layout at = {.a = 0, .b = ROWS * DEPTH};
    at.sums = at.b + (c->fused & POD_GEMM_PACKED_B ? 0 : columns * depth);
    at.end = at.sums + (sums_wait ? smaller(c->shape.m, MAX_ROWS) * columns : 0);
    return at;
}

/* How a square leaves: `plus` (rows plus_ld apart, NULL: nothing) + sums + bias, at `to`. */
typedef struct leaving {
    const float *plus, *bias;
    void *to;
    int64_t plus_ld, to_ld, columns;
    pod_dtype type;
    bool relu;
} leaving;

INLINE void leave(__m512 v, const leaving *l, int64_t row, int64_t column)
{
    const int n = (int)smaller(l->columns - column, POD_VEC_LANES);
    const __mmask16 mask = pod__first(n);
    if (l->plus)
        v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, l->plus + row * l->plus_ld + column));
    if (l->bias) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, l->bias + column));
    if (l->relu)
        v = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ), v);
    pod_vec_store(l->type, l->to, row * l->to_ld + column, n, v);
}

/* `rows` rows by `vectors` vectors, both known to the compiler. */
INLINE void run_square(const float *a, const float *b, int64_t depth, const leaving *l, int rows,
                       int vectors)
{
    __m512 sum[ROWS][2];
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = _mm512_setzero_ps();
    for (int64_t k = 0; k < depth; k++, a++, b += PANEL) {
        _mm_prefetch((const char *)(b + AHEAD * PANEL), _MM_HINT_T0);
        _mm_prefetch((const char *)(b + AHEAD * PANEL + 16), _MM_HINT_T0);
        const __m512 b0 = _mm512_loadu_ps(b);
        const __m512 b1 = vectors > 1 ? _mm512_loadu_ps(b + 16) : b0;
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++) {
            const __m512 x = _mm512_set1_ps(a[i * DEPTH]);
            sum[i][0] = _mm512_fmadd_ps(x, b0, sum[i][0]);
            if (vectors > 1) sum[i][1] = _mm512_fmadd_ps(x, b1, sum[i][1]);
        }
    }
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        leave(sum[i][0], l, i, 0);
        if (vectors > 1) leave(sum[i][1], l, i, 16);
    }
}

static void run_any_square(const float *a, const float *b, int64_t depth, const leaving *l,
                           int64_t rows)
{
    const bool wide = l->columns > 16;
    switch (rows) {
    case 14: wide ? run_square(a, b, depth, l, 14, 2) : run_square(a, b, depth, l, 14, 1); return;
    case 8: wide ? run_square(a, b, depth, l, 8, 2) : run_square(a, b, depth, l, 8, 1); return;
    case 4: wide ? run_square(a, b, depth, l, 4, 2) : run_square(a, b, depth, l, 4, 1); return;
    default: wide ? run_square(a, b, depth, l, 1, 2) : run_square(a, b, depth, l, 1, 1);
    }
}

/* The height of the next square where `rows` are left. */
static int64_t height(int64_t rows) { return rows >= 14 ? 14 : rows >= 8 ? 8 : rows >= 4 ? 4 : 1; }

/* A block of a product: rows m, columns n, depth k. */
typedef struct block {
    int64_t m, rows, n, columns, k, depth;
} block;

/* `columns` columns, `depth` deep, of a B that is stored (n, k): into a panel. */
static void pack_across(const pod_gemm_call *c, pod_dtype from, const void *b, const block *of,
                        int64_t column, int64_t columns, float *out)
{
    for (int64_t i = 0; columns < PANEL && i < of->depth * PANEL; i++) out[i] = 0.0f;
    for (int64_t n = 0; n < columns; n++)
        for (int64_t k = 0; k < of->depth; k += POD_VEC_LANES) {
            const int count = (int)smaller(of->depth - k, POD_VEC_LANES);
            float lane[POD_VEC_LANES];
            _mm512_storeu_ps(lane, pod_vec_load(from, b, (column + n) * c->ldb + of->k + k, count));
            for (int i = 0; i < count; i++) out[(k + i) * PANEL + n] = lane[i];
        }
}

static void pack_b_panels(const pod_gemm_call *c, pod_dtype from, const void *b, const block *of,
                          float *out)
{
    for (int64_t n = 0; n < of->columns; n += PANEL, out += of->depth * PANEL) {
        const int64_t width = smaller(of->columns - n, PANEL), column = of->n + n;
        const __m512 none = _mm512_setzero_ps();
        if (c->trans_b) {
            pack_across(c, from, b, of, column, width, out);
            continue;
        }
        const int low = (int)smaller(width, 16), high = (int)(width - low);
        for (int64_t k = 0; k < of->depth; k++) {
            const int64_t at = (of->k + k) * c->ldb + column;
            _mm512_storeu_ps(out + k * PANEL, pod_vec_load(from, b, at, low));
            _mm512_storeu_ps(out + k * PANEL + 16,
                             high > 0 ? pod_vec_load(from, b, at + 16, high) : none);
        }
    }
}

static void pack_a(const pod_gemm_call *c, const void *a, int64_t m, int64_t rows, const block *of,
                   float *out)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < of->depth; k += POD_VEC_LANES) {
            const int n = (int)smaller(of->depth - k, POD_VEC_LANES);
            const int64_t at = (m + i) * c->lda + of->k + k;
            _mm512_storeu_ps(out + i * DEPTH + k, pod_vec_load(c->ab_dtype, a, at, n));
        }
}

/* One product of the batch. */
typedef struct product {
    const pod_gemm_call *call;
    layout at;
    float *scratch;
    const void *a, *b;
    void *c;
} product;

static leaving leaving_of(const product *p, const block *of, int64_t m, int64_t n)
{
    const pod_gemm_call *call = p->call;
    const bool is_first = of->k == 0, is_last = of->k + of->depth >= call->shape.k;
    leaving l = {.columns = smaller(of->n + of->columns - n, PANEL), .to_ld = call->ldc};
    if (is_last && call->fused & POD_GEMM_BIAS) l.bias = call->bias + n;
    l.relu = is_last && call->fused & POD_GEMM_RELU;
    const int64_t at = m * call->ldc + n;
    if (call->c_dtype == POD_F32) {
        l.to = (float *)p->c + at;
        l.plus_ld = call->ldc;
        if (!is_first || call->beta > 0.0f) l.plus = l.to;
        return l;
    }
    const int64_t columns = panels(of->columns) * PANEL;
    float *wait = p->scratch + p->at.sums + (m - of->m) * columns + n - of->n;
    l.type = is_last ? POD_BF16 : POD_F32;
    l.to = is_last ? (void *)((pod_bf16 *)p->c + at) : wait;
    if (!is_last) l.to_ld = columns;
    l.plus_ld = columns;
    if (!is_first) l.plus = wait;
    return l;
}

static void run_block(const product *p, const block *of)
{
    const pod_gemm_call *c = p->call;
    float *room_a = p->scratch + p->at.a, *room_b = p->scratch + p->at.b;
    const float *b = room_b;
    int64_t panel_floats = of->depth * PANEL;
    if (c->fused & POD_GEMM_PACKED_B) {
        panel_floats = c->shape.k * PANEL;
        b = (const float *)p->b + of->n / PANEL * panel_floats + of->k * PANEL;
    } else {
        pack_b_panels(c, c->ab_dtype, p->b, of, room_b);
    }
    for (int64_t m = of->m, rows; m < of->m + of->rows; m += rows) {
        rows = height(of->m + of->rows - m);
        pack_a(c, p->a, m, rows, of, room_a);
        for (int64_t n = 0; n < of->columns; n += PANEL) {
            const leaving l = leaving_of(p, of, m, of->n + n);
            run_any_square(room_a, b + n / PANEL * panel_floats, of->depth, &l, rows);
        }
    }
}

static void run_product(const product *p)
{
    const pod_gemm_shape s = p->call->shape;
    block at = {0};
    for (at.n = 0; at.n < s.n; at.n += MAX_COLUMNS) {
        at.columns = smaller(s.n - at.n, MAX_COLUMNS);
        for (at.m = 0; at.m < s.m; at.m += MAX_ROWS) {
            at.rows = smaller(s.m - at.m, MAX_ROWS);
            at.k = 0;
            do { /* also once for k = 0, which gives beta C */
                at.depth = smaller(s.k - at.k, DEPTH);
                run_block(p, &at);
                at.k += DEPTH;
            } while (at.k < s.k);
        }
    }
}

/* It refuses where OpenBLAS was measured to be faster: operands that lie across; few rows; what it
 * multiplies in short products without packing; what is so large that its blocks pay off. */
const char *pod__gemm_avx512_why_not(const pod_gemm_call *call)
{
    const pod_gemm_shape s = call->shape;
    const double m = (double)s.m, n = (double)s.n, k = (double)s.k;
    const double short_product = 1 << 14, large_product = 1 << 28;
    if (call->trans_a) return "A is transposed";
    if (call->trans_b && !(call->fused & POD_GEMM_PACKED_B))
        return "B is transposed and not packed";
    if (s.m < 128 || s.n < 64 || s.k < 64) return "fewer than 128 rows, or n or k below 64";
    if (m * n < short_product || m * k < short_product || n * k < short_product)
        return "two dimensions make less than 2^14";
    return m * n * k > large_product ? "more than 2^28 multiply-adds" : NULL;
}

size_t pod__gemm_avx512_scratch_bytes(const pod_gemm_call *call)
{
    return (size_t)layout_of(call).end * sizeof(float);
}

void pod__gemm_avx512_run(const pod_gemm_call *call, void *scratch)
{
    product p = {.call = call, .at = layout_of(call), .scratch = scratch};
    const int64_t ab_bytes = (int64_t)pod_dtype_bytes(call->ab_dtype);
    const int64_t c_bytes = (int64_t)pod_dtype_bytes(call->c_dtype);
    for (int64_t i = 0; i < call->n_batch; i++) {
        p.a = (const char *)call->a + i * call->stride_a * ab_bytes;
        p.b = (const char *)call->b + i * call->stride_b * ab_bytes;
        p.c = (char *)call->c + i * call->stride_c * c_bytes;
        run_product(&p);
    }
}

size_t pod__gemm_avx512_packed_bytes(const pod_gemm_call *call)
{
    return (size_t)(panels(call->shape.n) * PANEL * call->shape.k) * sizeof(float);
}

void pod__gemm_avx512_pack(const pod_gemm_call *call, pod_dtype from, const void *b, void *packed)
{
    const block all = {.columns = call->shape.n, .depth = call->shape.k};
    pack_b_panels(call, from, b, &all, packed);
    if (from == call->ab_dtype) return;
    const __m512i upper = _mm512_set1_epi32((int)0xffff0000); /* the bfloat16 of a float32 */
    float *out = packed;
    for (int64_t i = 0; i < panels(all.columns) * PANEL * all.depth; i += POD_VEC_LANES) {
        const __m512i rounded = pod__vec_round(_mm512_loadu_ps(out + i));
        _mm512_storeu_si512(out + i, _mm512_and_si512(rounded, upper));
    }
}
