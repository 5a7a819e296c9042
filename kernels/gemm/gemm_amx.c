/* bfloat16 products in AMX tiles: C by squares of 32 x 32, two tiles of A by two of B, so that four
 * products are in flight and every tile loaded is used twice.
 *
 *   for blocks of columns n, of rows m, of depth k        B's block stays in L2
 *     for panels of 32 rows: A's piece, into L1           as it lies where tiles can read it
 *       for panels of 32 columns: B's piece, streamed     tile loads that leave L1 to A
 *         the square of C: from memory or zero, + A B, to memory
 *
 * Between blocks of k a square's sums wait in C where it is float32, else in scratch. Squares that
 * are cut, fused or rounded leave through a square of scratch (finish). */
#include <immintrin.h>

#include "kernels/base/tile_amx.h"
#include "kernels/gemm/gemm_amx.h"
#include "kernels/gemm/gemm_kernels.h"

enum {
    PANEL = POD__AMX_PANEL,
    STEP = POD__AMX_STEP,
    STEP_BYTES = POD__AMX_STEP_BYTES,
    LINE = 64,
    TILE_BYTES = 16 * LINE,
    SQUARE_BYTES = PANEL * PANEL * (int)sizeof(float),
};

/* The depth of a block keeps A's piece within L1; rows and columns keep both blocks, and the squares
 * between them, within L2. */
static const int64_t max_steps = 20, max_rows = 512, max_columns = 512;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t panels(int64_t n) { return (n + PANEL - 1) / PANEL; }

/* Blocks of k as even as whole steps allow. */
static int64_t block_depth(int64_t k)
{
    const int64_t steps = pod__amx_steps(k), n_blocks = (steps + max_steps - 1) / max_steps;
    return n_blocks ? (steps + n_blocks - 1) / n_blocks * STEP : STEP;
}

/* Regions of the scratch, in bytes from its start. */
typedef struct layout {
    size_t square, a, b, sums, end;
} layout;

static layout layout_of(const pod_gemm_call *c)
{
    const int64_t depth = block_depth(c->shape.k), piece = depth / STEP * STEP_BYTES;
    const int64_t n_columns = panels(smaller(c->shape.n, max_columns));
    const int64_t n_rows = panels(smaller(c->shape.m, max_rows));
    const bool sums_wait = c->c_dtype == POD_BF16 && c->shape.k > depth;
    layout at = {.square = 0, .a = SQUARE_BYTES};
    at.b = at.a + (size_t)piece;
    at.sums = at.b + (c->fused & POD_GEMM_PACKED_B ? 0 : (size_t)(n_columns * piece));
    at.end = at.sums + (sums_wait ? (size_t)(n_rows * n_columns * SQUARE_BYTES) : 0);
    return at;
}

/* Where two tiles of A lie, 16 rows each, and how far it is to the next step. */
typedef struct a_piece {
    const char *at;
    int64_t row_bytes, step_bytes;
} a_piece;

#define INLINE static inline __attribute__((always_inline))

/* Tiles 0 1 of the square, below them 2 3; `tall` and `wide`: it has more than 16 rows, columns. */
INLINE void multiply(const a_piece *a, const char *b, int64_t steps, bool tall, bool wide)
{
    const char *upper = a->at, *lower = upper + 16 * a->row_bytes;
    for (int64_t step = 0; step < steps; step++) {
        _tile_stream_loadd(6, b, LINE);
        _tile_loadd(4, upper, a->row_bytes);
        _tile_dpbf16ps(0, 4, 6);
        if (wide) {
            _tile_stream_loadd(7, b + TILE_BYTES, LINE);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (tall) {
            _tile_loadd(5, lower, a->row_bytes);
            _tile_dpbf16ps(2, 5, 6);
            if (wide) _tile_dpbf16ps(3, 5, 7);
        }
        upper += a->step_bytes, lower += a->step_bytes, b += STEP_BYTES;
    }
}

INLINE void begin_square(const float *from, int64_t ld, bool tall, bool wide)
{
    if (!from) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        return;
    }
    const int64_t row_bytes = ld * (int64_t)sizeof *from;
    _tile_loadd(0, from, row_bytes);
    if (wide) _tile_loadd(1, from + 16, row_bytes);
    if (tall) _tile_loadd(2, from + 16 * ld, row_bytes);
    if (tall && wide) _tile_loadd(3, from + 16 * ld + 16, row_bytes);
}

INLINE void end_square(float *into, int64_t ld, bool tall, bool wide)
{
    const int64_t row_bytes = ld * (int64_t)sizeof *into;
    _tile_stored(0, into, row_bytes);
    if (wide) _tile_stored(1, into + 16, row_bytes);
    if (tall) _tile_stored(2, into + 16 * ld, row_bytes);
    if (tall && wide) _tile_stored(3, into + 16 * ld + 16, row_bytes);
}

/* One square through one block of k: `into` = `from` (zero where that is NULL) + A B. */
typedef struct square {
    const float *from;
    float *into;
    int64_t ld, rows, columns;
} square;

INLINE void run_square(const square *s, const a_piece *a, const char *b, int64_t steps, bool tall,
                       bool wide)
{
    begin_square(s->from, s->ld, tall, wide);
    multiply(a, b, steps, tall, wide);
    end_square(s->into, s->ld, tall, wide);
}

static void run_any_square(const square *s, const a_piece *a, const char *b, int64_t steps)
{
    if (s->rows > 16)
        s->columns > 16 ? run_square(s, a, b, steps, true, true)
                        : run_square(s, a, b, steps, true, false);
    else
        s->columns > 16 ? run_square(s, a, b, steps, false, true)
                        : run_square(s, a, b, steps, false, false);
}

/* What is done to the sums of a square, and in which type they leave. */
typedef struct epilogue {
    bool adds, relu; /* what C held is added */
    const float *bias;
} epilogue;

INLINE __m512 finished(__m512 v, const epilogue *e, const float *c, __m512 bias, __mmask16 mask)
{
    if (e->adds) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, c));
    if (e->bias) v = _mm512_add_ps(v, bias);
    if (e->relu)
        v = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ), v);
    return v;
}

INLINE void finish_f32(const square *s, const epilogue *e, float *c, int64_t ldc, int64_t column)
{
    const int64_t n = s->columns - column;
    const __mmask16 mask = n < 16 ? (__mmask16)((1u << n) - 1u) : UINT16_MAX;
    const __m512 bias =
        e->bias ? _mm512_maskz_loadu_ps(mask, e->bias + column) : _mm512_undefined_ps();
    for (int64_t i = 0; i < s->rows; i++) {
        float *at = c + i * ldc + column;
        const __m512 v = _mm512_load_ps(s->into + i * PANEL + column);
        _mm512_mask_storeu_ps(at, mask, finished(v, e, at, bias, mask));
    }
}

INLINE void finish_bf16(const square *s, const epilogue *e, pod_bf16 *c, int64_t ldc)
{
    const __mmask32 mask = s->columns < PANEL ? (1u << s->columns) - 1u : UINT32_MAX;
    const __mmask16 mask_high = (__mmask16)(mask >> 16);
    __m512 bias_low = _mm512_setzero_ps(), bias_high = _mm512_setzero_ps();
    if (e->bias) {
        bias_low = _mm512_maskz_loadu_ps((__mmask16)mask, e->bias);
        bias_high = _mm512_maskz_loadu_ps(mask_high, e->bias + 16);
    }
    for (int64_t i = 0; i < s->rows; i++) {
        const float *v = s->into + i * PANEL;
        const __m512 low = finished(_mm512_load_ps(v), e, NULL, bias_low, 0);
        const __m512 high = finished(_mm512_load_ps(v + 16), e, NULL, bias_high, 0);
        _mm512_mask_storeu_epi16(c + i * ldc, mask, (__m512i)_mm512_cvtne2ps_pbh(high, low));
    }
}

/* One product of the batch. */
typedef struct product {
    const pod_gemm_call *call;
    layout at;
    char *scratch;
    const pod_bf16 *a;
    const void *b; /* packed, or bfloat16 */
    void *c;
} product;

/* Rows m, columns n, depth k of it. */
typedef struct block {
    int64_t m, rows, n, columns, k, depth;
} block;

/* B's pieces of a block: the first one, and from one to the next. */
typedef struct b_pieces {
    const char *at;
    int64_t panel_bytes;
} b_pieces;

static void pack_b_panel(const pod_gemm_call *call, pod_dtype from, const void *b, const block *of,
                         void *panel)
{
    const int64_t at = call->trans_b ? of->n * call->ldb + of->k : of->k * call->ldb + of->n;
    const char *data = (const char *)b + at * (int64_t)pod_dtype_bytes(from);
    if (call->trans_b)
        pod__amx_pack_b_transposed(&(pod__amx_block){from, data, call->ldb, of->columns, of->depth},
                                   panel);
    else
        pod__amx_pack_b(&(pod__amx_block){from, data, call->ldb, of->depth, of->columns}, panel);
}

static void pack_b_panels(const pod_gemm_call *call, pod_dtype from, const void *b, const block *of,
                          char *out)
{
    block panel = *of;
    for (int64_t n = 0; n < of->columns; n += PANEL) {
        panel.n = of->n + n;
        panel.columns = smaller(of->columns - n, PANEL);
        pack_b_panel(call, from, b, &panel, out);
        out += pod__amx_steps(of->depth) * STEP_BYTES;
    }
}

static b_pieces pieces_of_b(const product *p, const block *of)
{
    if (p->call->fused & POD_GEMM_PACKED_B) {
        const int64_t panel_bytes = pod__amx_steps(p->call->shape.k) * STEP_BYTES;
        const char *b = p->b;
        return (b_pieces){b + of->n / PANEL * panel_bytes + of->k / STEP * STEP_BYTES, panel_bytes};
    }
    char *room = p->scratch + p->at.b;
    pack_b_panels(p->call, POD_BF16, p->b, of, room);
    return (b_pieces){room, pod__amx_steps(of->depth) * STEP_BYTES};
}

/* Whether tiles may read this piece of A as it lies. Rows 2 KiB apart would all meet in a few sets
 * of L1; rows that do not start with a cache line cost two lines a load, which pays only where few
 * columns use them. */
static bool reads_a_as_it_lies(const product *p, const pod_bf16 *a, const block *of, int64_t rows)
{
    const int64_t row_bytes = p->call->lda * (int64_t)sizeof *a;
    if (p->call->trans_a || rows % 16 || of->depth % STEP) return false;
    if (of->columns <= 2 * PANEL) return true;
    return row_bytes % 2048 && row_bytes % LINE == 0 && (uintptr_t)a % LINE == 0;
}

static a_piece piece_of_a(const product *p, const block *of, int64_t m, int64_t rows)
{
    const int64_t lda = p->call->lda;
    const pod_bf16 *a = p->a + (p->call->trans_a ? of->k * lda + m : m * lda + of->k);
    if (reads_a_as_it_lies(p, a, of, rows))
        return (a_piece){(const char *)a, lda * (int64_t)sizeof *a, LINE};
    char *room = p->scratch + p->at.a;
    if (p->call->trans_a)
        pod__amx_pack_a_transposed(&(pod__amx_block){POD_BF16, a, lda, of->depth, rows}, room);
    else
        pod__amx_pack_a(&(pod__amx_block){POD_BF16, a, lda, rows, of->depth}, room);
    return (a_piece){room, LINE, STEP_BYTES};
}

/* The square at (m, n) through the block's depth: whole ones straight to memory, others by way of
 * scratch. */
static void to_f32(const product *p, const block *of, const a_piece *a, const char *b, square s,
                   int64_t m, int64_t n)
{
    const pod_gemm_call *call = p->call;
    const bool is_last = of->k + of->depth >= call->shape.k;
    float *c = (float *)p->c + m * call->ldc + n;
    const epilogue e = {.adds = of->k > 0 || call->beta > 0.0f,
                        .relu = is_last && (call->fused & POD_GEMM_RELU),
                        .bias = is_last && (call->fused & POD_GEMM_BIAS) ? call->bias + n : NULL};
    if (s.rows == PANEL && s.columns == PANEL && !e.relu && !e.bias) {
        s.from = e.adds ? c : NULL;
        s.into = c;
        s.ld = call->ldc;
        run_any_square(&s, a, b, pod__amx_steps(of->depth));
        return;
    }
    s.into = (void *)(p->scratch + p->at.square);
    run_any_square(&s, a, b, pod__amx_steps(of->depth));
    finish_f32(&s, &e, c, call->ldc, 0);
    if (s.columns > 16) finish_f32(&s, &e, c, call->ldc, 16);
}

static void to_bf16(const product *p, const block *of, const a_piece *a, const char *b, square s,
                    int64_t m, int64_t n)
{
    const pod_gemm_call *call = p->call;
    const bool is_last = of->k + of->depth >= call->shape.k;
    const int64_t index = (m - of->m) / PANEL * panels(of->columns) + (n - of->n) / PANEL;
    float *sums = (void *)(p->scratch + p->at.sums + index * SQUARE_BYTES);
    s.from = of->k > 0 ? sums : NULL;
    s.into = is_last ? (void *)(p->scratch + p->at.square) : sums;
    run_any_square(&s, a, b, pod__amx_steps(of->depth));
    if (!is_last) return;
    const epilogue e = {.relu = call->fused & POD_GEMM_RELU,
                        .bias = call->fused & POD_GEMM_BIAS ? call->bias + n : NULL};
    finish_bf16(&s, &e, (pod_bf16 *)p->c + m * call->ldc + n, call->ldc);
}

static void run_block(const product *p, const block *of)
{
    const b_pieces b = pieces_of_b(p, of);
    pod_amx_order();
    for (int64_t m = of->m; m < of->m + of->rows; m += PANEL) {
        const int64_t rows = smaller(of->m + of->rows - m, PANEL);
        const a_piece a = piece_of_a(p, of, m, rows);
        pod_amx_order();
        const char *b_at = b.at;
        for (int64_t n = of->n; n < of->n + of->columns; n += PANEL, b_at += b.panel_bytes) {
            const square s = {
                .rows = rows, .columns = smaller(of->n + of->columns - n, PANEL), .ld = PANEL};
            if (p->call->c_dtype == POD_F32)
                to_f32(p, of, &a, b_at, s, m, n);
            else
                to_bf16(p, of, &a, b_at, s, m, n);
        }
    }
}

static void run_product(const product *p)
{
    const pod_gemm_shape s = p->call->shape;
    const int64_t depth = block_depth(s.k);
    block at = {0};
    for (at.n = 0; at.n < s.n; at.n += max_columns) {
        at.columns = smaller(s.n - at.n, max_columns);
        for (at.m = 0; at.m < s.m; at.m += max_rows) {
            at.rows = smaller(s.m - at.m, max_rows);
            at.k = 0;
            do { /* also once for k = 0, which gives beta C */
                at.depth = smaller(s.k - at.k, depth);
                run_block(p, &at);
                at.k += depth;
            } while (at.k < s.k);
        }
    }
}

const char *pod__gemm_amx_why_not(const pod_gemm_call *call)
{
    return call->ab_dtype == POD_BF16 ? NULL : "A and B are float32, tiles take bfloat16";
}

size_t pod__gemm_amx_scratch_bytes(const pod_gemm_call *call) { return layout_of(call).end; }

void pod__gemm_amx_run(const pod_gemm_call *call, void *scratch)
{
    product p = {.call = call, .at = layout_of(call), .scratch = scratch};
    const int64_t c_bytes = (int64_t)pod_dtype_bytes(call->c_dtype);
    pod_amx_begin();
    for (int64_t i = 0; i < call->n_batch; i++) {
        p.a = (const pod_bf16 *)call->a + i * call->stride_a;
        p.b = (const pod_bf16 *)call->b + i * call->stride_b;
        p.c = (char *)call->c + i * call->stride_c * c_bytes;
        run_product(&p);
    }
    pod_amx_end();
}

size_t pod__gemm_amx_packed_bytes(const pod_gemm_call *call)
{
    return (size_t)(panels(call->shape.n) * pod__amx_steps(call->shape.k) * STEP_BYTES);
}

void pod__gemm_amx_pack(const pod_gemm_call *call, pod_dtype from, const void *b, void *packed)
{
    const block all = {.columns = call->shape.n, .depth = call->shape.k};
    pack_b_panels(call, from, b, &all, packed);
}
