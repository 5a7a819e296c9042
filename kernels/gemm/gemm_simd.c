/* Matrix products in float32 vectors, compiled for AVX2 and for AVX-512.
 *
 * C is cut into tiles of TILE_ROWS x 2 vectors; for each k an element of A is broadcast to a row of
 * B. bfloat16 operands are widened as they are packed.
 *
 *   for blocks of columns n, of rows m, of depth k    B's block (depth, n) stays in L2
 *     for PIECES pieces of TILE_ROWS rows: A's (rows, depth), packed
 *       for panels of 2 vectors of B (depth, PANEL)
 *         for these pieces: a tile of C
 *
 * A piece is packed [row][DEPTH], or [k][TILE_ROWS] where A is transposed: each is the order in
 * which A is read. One piece stays in L1, while B comes from L2; several come from L2, while a panel
 * of B stays in L1. Between blocks of k sums wait in C where it is float32, else in scratch.
 * Packed B is panels as long as k, float32: [panel][k][PANEL], zeros beyond N. */
#include "kernels/base/simd/simd.h"
#include "kernels/base/simd/transpose.h"
#include "kernels/gemm/blas.h"
#include "kernels/gemm/gemm_blocks.h"
#include "kernels/gemm/gemm_kernels.h"

#define ISA(name) POD_JOIN(pod__gemm_, POD_SIMD, _##name)

/* 2 TILE_ROWS sums stay in registers, beside B's two vectors; T(rows) for each height of a tile that
 * is compiled. Under AVX2 a block of B takes 384 KiB and the pieces of A 126 KiB, for L2 caches from
 * 512 KiB. */
#ifdef __AVX512F__
enum { TILE_ROWS = 14, DEPTH = 384, PIECES = 1, MAX_ROWS = 36 * TILE_ROWS, MAX_COLUMNS = 1024 };
enum { UNROLL = 1 };
#define TILE_HEIGHTS T(14) T(8) T(4) T(1)
#else
enum { TILE_ROWS = 6, DEPTH = 384, PIECES = 14, MAX_ROWS = 84 * TILE_ROWS, MAX_COLUMNS = 256 };
enum { UNROLL = 4 };
#define TILE_HEIGHTS T(6) T(4) T(2) T(1)
#endif

enum {
    PANEL = 2 * POD_VEC_LANES,
    AHEAD = 256 / POD_VEC_LANES, /* rows of B that are prefetched before they are read: 2 KiB */
    /* A transposed piece is written a whole vector a step, which may reach beyond its end; the next one
     * begins at a multiple of 64 bytes. */
    PIECE_FLOATS = TILE_ROWS * DEPTH + 16
};

static int64_t panels(int64_t n) { return (n + PANEL - 1) / PANEL; }

/* Regions of the scratch, in floats from its start. */
typedef struct layout {
    int64_t a, b, sums, end;
} layout;

static layout layout_of(const pod_gemm_call *c)
{
    const int64_t columns = panels(pod_min(c->shape.n, MAX_COLUMNS)) * PANEL;
    const int64_t depth = pod_min(c->shape.k, DEPTH);
    const bool sums_wait = c->c_dtype == POD_BF16 && c->shape.k > DEPTH;
    layout at = {.a = 0, .b = PIECES * PIECE_FLOATS};
    at.sums = at.b + (c->fused & POD_GEMM_PACKED_B ? 0 : columns * depth);
    at.end = at.sums + (sums_wait ? pod_min(c->shape.m, MAX_ROWS) * columns : 0);
    return at;
}

/* The end of a tile: `plus` (rows plus_ld apart, NULL: nothing) + sums + bias, to `to`. */
typedef struct epilogue {
    const float *plus, *bias;
    void *to;
    int64_t plus_ld, to_ld, columns;
    pod_dtype type;
    bool relu;
} epilogue;

POD_INLINE void store(pod_vec v, const epilogue *e, int64_t row, int64_t column)
{
    const int n = (int)pod_min(e->columns - column, POD_VEC_LANES);
    if (e->plus) v = pod_vec_add(v, pod_vec_load(POD_F32, e->plus, row * e->plus_ld + column, n));
    if (e->bias) v = pod_vec_add(v, pod_vec_load(POD_F32, e->bias, column, n));
    if (e->relu) v = pod_vec_select(pod_vec_not_le(v, pod_vec_all(0)), v, pod_vec_all(0));
    pod_vec_store(e->type, e->to, row * e->to_ld + column, n, v);
}

/* `rows` rows by `vectors` vectors of C, from A's elements row_step and k_step apart: all four are
 * known to the compiler. */
POD_INLINE void run_tile(const float *a, const float *b, int64_t depth, const epilogue *e, int rows,
                         int vectors, int row_step, int k_step)
{
    pod_vec sum[TILE_ROWS][2];
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = pod_vec_all(0);
#pragma GCC unroll UNROLL
    for (int64_t k = 0; k < depth; k++, a += k_step, b += PANEL) {
        if (PIECES == 1) { /* B comes from L2 */
            _mm_prefetch((const char *)(b + AHEAD * PANEL), _MM_HINT_T0);
            if (PANEL > 16) _mm_prefetch((const char *)(b + AHEAD * PANEL + 16), _MM_HINT_T0);
        }
        const pod_vec b0 = pod_vec_load(POD_F32, b, 0, POD_VEC_LANES);
        const pod_vec b1 =
            vectors > 1 ? pod_vec_load(POD_F32, b, POD_VEC_LANES, POD_VEC_LANES) : b0;
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++) {
            const pod_vec x = pod_vec_all(a[i * row_step]);
            sum[i][0] = pod_vec_fma(x, b0, sum[i][0]);
            if (vectors > 1) sum[i][1] = pod_vec_fma(x, b1, sum[i][1]);
        }
    }
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        store(sum[i][0], e, i, 0);
        if (vectors > 1) store(sum[i][1], e, i, POD_VEC_LANES);
    }
}

static void run_any_tile(const float *a, bool trans_a, const float *b, int64_t depth,
                         const epilogue *e, int64_t rows)
{
    const bool wide = e->columns > POD_VEC_LANES;
    switch (rows) {
#define T(height)                                              \
    case height:                                               \
        if (trans_a && wide)                                   \
            run_tile(a, b, depth, e, height, 2, 1, TILE_ROWS); \
        else if (trans_a)                                      \
            run_tile(a, b, depth, e, height, 1, 1, TILE_ROWS); \
        else if (wide)                                         \
            run_tile(a, b, depth, e, height, 2, DEPTH, 1);     \
        else                                                   \
            run_tile(a, b, depth, e, height, 1, DEPTH, 1);     \
        return;
        TILE_HEIGHTS
#undef T
    default: return;
    }
}

/* The height of the next tile where `rows` are left. */
static int64_t height_for(int64_t rows)
{
#define T(height) \
    if (rows >= (height)) return height;
    TILE_HEIGHTS
#undef T
    return 0;
}

typedef pod__gemm_block block;

/* Half a panel, at most LANES columns and `depth` deep, of a B that is stored (n, k). */
static void pack_across(const pod_gemm_call *c, pod_dtype from, const void *b, const block *of,
                        int64_t column, int64_t columns, float *out)
{
    for (int64_t k = 0; k < of->depth; k += POD_VEC_LANES) {
        const int count = (int)pod_min(of->depth - k, POD_VEC_LANES);
        pod_vec row[POD_VEC_LANES];
        for (int64_t n = 0; n < POD_VEC_LANES; n++)
            row[n] = n < columns ? pod_vec_load(from, b, (column + n) * c->ldb + of->k + k, count)
                                 : pod_vec_all(0);
        pod_vec_transpose(row);
        for (int i = 0; i < count; i++)
            pod_vec_store(POD_F32, out, (k + i) * PANEL, POD_VEC_LANES, row[i]);
    }
}

static void pack_b_panels(const pod_gemm_call *c, pod_dtype from, const void *b, const block *of,
                          float *out)
{
    for (int64_t n = 0; n < of->columns; n += PANEL, out += of->depth * PANEL) {
        const int64_t width = pod_min(of->columns - n, PANEL), column = of->n + n;
        const int low = (int)pod_min(width, POD_VEC_LANES), high = (int)(width - low);
        if (c->trans_b) {
            pack_across(c, from, b, of, column, low, out);
            pack_across(c, from, b, of, column + low, high, out + POD_VEC_LANES);
            continue;
        }
        for (int64_t k = 0; k < of->depth; k++) {
            const int64_t at = (of->k + k) * c->ldb + column;
            pod_vec_store(POD_F32, out, k * PANEL, POD_VEC_LANES, pod_vec_load(from, b, at, low));
            pod_vec_store(POD_F32, out, k * PANEL + POD_VEC_LANES, POD_VEC_LANES,
                          high > 0 ? pod_vec_load(from, b, at + POD_VEC_LANES, high)
                                   : pod_vec_all(0));
        }
    }
}

/* [row][DEPTH] */
static void pack_a(const pod_gemm_call *c, const void *a, int64_t m, int64_t rows, const block *of,
                   float *out)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < of->depth; k += POD_VEC_LANES) {
            const int n = (int)pod_min(of->depth - k, POD_VEC_LANES);
            const int64_t at = (m + i) * c->lda + of->k + k;
            pod_vec_store(POD_F32, out, i * DEPTH + k, POD_VEC_LANES,
                          pod_vec_load(c->ab_dtype, a, at, n));
        }
}

/* [k][TILE_ROWS], of an A that is stored (k, m). Each step overwrites what the one before it wrote
 * beyond its TILE_ROWS elements. */
static void pack_a_across(const pod_gemm_call *c, const void *a, int64_t m, const block *of,
                          float *out)
{
    const int n = (int)pod_min(c->shape.m - m, POD_VEC_LANES);
    for (int64_t k = 0; k < of->depth; k++)
        pod_vec_store(POD_F32, out, k * TILE_ROWS, POD_VEC_LANES,
                      pod_vec_load(c->ab_dtype, a, (of->k + k) * c->lda + m, n));
}

/* One product of the batch. */
typedef struct product {
    const pod_gemm_call *call;
    layout at;
    float *scratch;
    pod__gemm_operands x;
} product;

static epilogue epilogue_of(const product *p, const block *of, int64_t m, int64_t n)
{
    const pod_gemm_call *call = p->call;
    const bool is_first = of->k == 0, is_last = of->k + of->depth >= call->shape.k;
    epilogue e = {.columns = pod_min(of->n + of->columns - n, PANEL), .to_ld = call->ldc};
    if (is_last && call->fused & POD_GEMM_BIAS) e.bias = call->bias + n;
    e.relu = is_last && call->fused & POD_GEMM_RELU;
    const int64_t at = m * call->ldc + n;
    if (call->c_dtype == POD_F32) {
        e.to = (float *)p->x.c + at;
        e.plus_ld = call->ldc;
        if (!is_first || call->beta > 0.0f) e.plus = e.to;
        return e;
    }
    const int64_t columns = panels(of->columns) * PANEL;
    float *wait = p->scratch + p->at.sums + (m - of->m) * columns + n - of->n;
    e.type = is_last ? POD_BF16 : POD_F32;
    e.to = is_last ? (void *)((pod_bf16 *)p->x.c + at) : wait;
    if (!is_last) e.to_ld = columns;
    e.plus_ld = columns;
    if (!is_first) e.plus = wait;
    return e;
}

/* Packs the pieces of A from row m on, at most PIECES; returns the row after them. */
static int64_t pack_pieces(const product *p, const block *of, int64_t m)
{
    float *out = p->scratch + p->at.a;
    const int64_t end = of->m + of->rows;
    for (int i = 0; i < PIECES && m < end; i++, out += PIECE_FLOATS) {
        const int64_t rows = height_for(end - m);
        if (p->call->trans_a)
            pack_a_across(p->call, p->x.a, m, of, out);
        else
            pack_a(p->call, p->x.a, m, rows, of, out);
        m += rows;
    }
    return m;
}

static void run_block(const product *p, const block *of)
{
    const pod_gemm_call *c = p->call;
    float *room_b = p->scratch + p->at.b;
    const float *b = room_b;
    int64_t panel_floats = of->depth * PANEL;
    if (c->fused & POD_GEMM_PACKED_B) {
        panel_floats = c->shape.k * PANEL;
        b = (const float *)p->x.b + of->n / PANEL * panel_floats + of->k * PANEL;
    } else {
        pack_b_panels(c, c->ab_dtype, p->x.b, of, room_b);
    }
    for (int64_t first = of->m, end; first < of->m + of->rows; first = end) {
        end = pack_pieces(p, of, first);
        for (int64_t n = 0; n < of->columns; n += PANEL) {
            const float *a = p->scratch + p->at.a;
            for (int64_t m = first, rows; m < end; m += rows, a += PIECE_FLOATS) {
                const epilogue e = epilogue_of(p, of, m, of->n + n);
                rows = height_for(of->m + of->rows - m);
                run_any_tile(a, c->trans_a, b + n / PANEL * panel_floats, of->depth, &e, rows);
            }
        }
    }
}

size_t ISA(scratch_bytes)(const pod_gemm_call *call)
{
    return (size_t)layout_of(call).end * sizeof(float);
}

void ISA(run)(const pod_gemm_call *call, void *scratch)
{
    static const block whole = {.rows = MAX_ROWS, .columns = MAX_COLUMNS, .depth = DEPTH};
    const pod_gemm_shape s = call->shape;
    for (int64_t i = 0; i < call->n_batch; i++) {
        const product p = {call, layout_of(call), scratch, pod__gemm_operands_at(call, i)};
        block at = {0};
        for (bool more = pod__gemm_block_at(&at, &whole, s); more;
             more = pod__gemm_block_next(&at, &whole, s))
            run_block(&p, &at);
    }
}

size_t ISA(packed_bytes)(const pod_gemm_call *call)
{
    return (size_t)(panels(call->shape.n) * PANEL * call->shape.k) * sizeof(float);
}

void ISA(pack)(const pod_gemm_call *call, pod_dtype from, const void *b, void *packed)
{
    const block all = {.columns = call->shape.n, .depth = call->shape.k};
    pack_b_panels(call, from, b, &all, packed);
    if (from == call->ab_dtype) return;
    float *out = packed; /* rounded to bfloat16, as the call would have found it */
    for (int64_t i = 0; i < panels(all.columns) * PANEL * all.depth; i++)
        out[i] = pod_bf16_to_f32(pod_bf16_from_f32(out[i]));
}

const char *ISA(why_not)(const pod_gemm_call *call)
{
    (void)call;
    return NULL;
}

#ifdef __AVX512F__
/* Where OpenBLAS's AVX-512 kernels were measured to be faster: few rows, small products,
 * which it multiplies without packing, and products so large that its blocks pay off. */
const char *pod__gemm_avx512_slow(const pod_gemm_call *call)
{
    if (!(pod_blas_features() & POD_CPU_AVX512)) return NULL;
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
#endif
