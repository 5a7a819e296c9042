/* bfloat16 products in AMX tiles: C by squares of 32 x 32, two tiles of A by two of B, so that four
 * products are in flight and every tile loaded is used twice.
 *
 *   for blocks of columns n, of rows m, of depth k        B's block stays in L2
 *     for panels of 32 rows: A's piece, into L1           as it lies where tiles can read it
 *       for panels of 32 columns: B's piece, streamed     by tile loads that leave L1 to A
 *         a square of sums, into scratch; the one before goes to C meanwhile
 *
 * Between blocks of k sums wait in C where it is float32, else in scratch. */
#include "kernels/gemm/gemm_amx.h"
#include "kernels/base/arith.h"
#include "kernels/base/simd/tile_amx.h"
#include "kernels/gemm/gemm_avx512bf16_epilogue.h"
#include "kernels/gemm/gemm_kernels.h"

/* The depth of a block keeps A's piece and two squares within L1; rows and columns keep both
 * blocks, and the squares between them, within L2. */
static const int64_t max_steps = 20, max_rows = 512, max_columns = 512;

/* Blocks of k as even as whole steps allow. */
static int64_t block_depth(int64_t k)
{
    const int64_t steps = pod__amx_steps(k), n_blocks = (steps + max_steps - 1) / max_steps;
    return n_blocks ? (steps + n_blocks - 1) / n_blocks * STEP : STEP;
}

/* Regions of the scratch, in bytes from its start. */
typedef struct layout {
    size_t squares, a, b, sums, end;
} layout;

static layout layout_of(const pod_gemm_call *c)
{
    const int64_t depth = block_depth(c->shape.k), piece = depth / STEP * STEP_BYTES;
    const int64_t n_columns = panels(pod_min(c->shape.n, max_columns));
    const int64_t n_rows = panels(pod_min(c->shape.m, max_rows));
    const bool sums_wait = c->c_dtype == POD_BF16 && c->shape.k > depth;
    layout at = {.squares = 0, .a = (size_t)2 * SQUARE_BYTES};
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

/* Tiles 0 1 of the square, below them 2 3; `tall` and `wide`: it has more than 16 rows, columns. */
POD_INLINE void multiply(const a_piece *a, const char *b, int64_t steps, epilogue *before,
                         bool tall, bool wide)
{
    const char *upper = a->at, *lower = upper + 16 * a->row_bytes;
    const int64_t rows_a_step = steps < 1 ? 0 : (PANEL + steps - 1) / steps;
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
        run_epilogue(before, rows_a_step);
        upper += a->step_bytes, lower += a->step_bytes, b += STEP_BYTES;
    }
    run_epilogue(before, PANEL);
}

/* One square through one block of k, into `sums`, while `before` leaves. */
POD_INLINE void run_square(const a_piece *a, const char *b, int64_t steps, epilogue *before,
                           float *sums, bool tall, bool wide)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    multiply(a, b, steps, before, tall, wide);
    _tile_stored(0, sums, 2 * LINE);
    if (wide) _tile_stored(1, sums + 16, 2 * LINE);
    if (tall) _tile_stored(2, sums + 16 * PANEL, 2 * LINE);
    if (tall && wide) _tile_stored(3, sums + 16 * PANEL + 16, 2 * LINE);
}

/* One product of the batch. */
typedef struct product {
    const pod_gemm_call *call;
    layout at;
    char *scratch;
    const pod_bf16 *a;
    const void *b; /* packed, or bfloat16 */
    void *c;
    epilogue before; /* the square that was multiplied last */
    int parity;
} product;

typedef pod__gemm_block block;

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

/* Where the square at (m, n) waits for the next block of k; NULL: in C. */
static float *room_to_wait(const product *p, const block *of, int64_t m, int64_t n)
{
    if (p->call->c_dtype == POD_F32) return NULL;
    const int64_t index = (m - of->m) / PANEL * panels(of->columns) + (n - of->n) / PANEL;
    return (void *)(p->scratch + p->at.sums + index * SQUARE_BYTES);
}

static void run_block(product *p, const block *of)
{
    const pod__b_pieces b = pod__amx_pieces_of_b(p->call, p->b, of, p->scratch + p->at.b);
    const int64_t steps = pod__amx_steps(of->depth);
    for (int64_t m = of->m; m < of->m + of->rows; m += PANEL) {
        const int64_t rows = pod_min(of->m + of->rows - m, PANEL);
        const a_piece a = piece_of_a(p, of, m, rows);
        pod_amx_order();
        const char *b_at = b.at;
        for (int64_t n = of->n; n < of->n + of->columns; n += PANEL, b_at += b.panel_bytes) {
            float *sums = (void *)(p->scratch + p->at.squares + p->parity * SQUARE_BYTES);
            const bool wide = of->n + of->columns - n > 16;
            if (rows > 16)
                wide ? run_square(&a, b_at, steps, &p->before, sums, true, true)
                     : run_square(&a, b_at, steps, &p->before, sums, true, false);
            else
                wide ? run_square(&a, b_at, steps, &p->before, sums, false, true)
                     : run_square(&a, b_at, steps, &p->before, sums, false, false);
            p->before = epilogue_of(p->call, p->c, of, m, rows, n, sums, room_to_wait(p, of, m, n));
            p->parity = !p->parity;
        }
    }
}

const char *pod__gemm_amx_why_not(const pod_gemm_call *call)
{
    return call->ab_dtype == POD_BF16 ? NULL : "A and B are float32, tiles take bfloat16";
}

size_t pod__gemm_amx_scratch_bytes(const pod_gemm_call *call)
{
    return pod__amx_is_transposed(call) ? pod__amx_transposed_bytes(call) : layout_of(call).end;
}

void pod__gemm_amx_run(const pod_gemm_call *call, void *scratch)
{
    if (pod__amx_is_transposed(call)) {
        pod__amx_run_transposed(call, scratch);
        return;
    }
    const pod_gemm_shape s = call->shape;
    const block whole = {.rows = max_rows, .columns = max_columns, .depth = block_depth(s.k)};
    product p = {.call = call, .at = layout_of(call), .scratch = scratch};
    pod_amx_begin();
    for (int64_t i = 0; i < call->n_batch; i++) {
        const pod__gemm_operands x = pod__gemm_operands_at(call, i);
        block at = {0};
        p.a = x.a, p.b = x.b, p.c = x.c;
        for (bool more = pod__gemm_block_at(&at, &whole, s); more;
             more = pod__gemm_block_next(&at, &whole, s))
            run_block(&p, &at);
        run_epilogue(&p.before, PANEL);
    }
    pod_amx_end();
}

size_t pod__gemm_amx_packed_bytes(const pod_gemm_call *call) { return pod__amx_packed_bytes(call); }

void pod__gemm_amx_pack(const pod_gemm_call *call, pod_dtype from, const void *b, void *packed)
{
    pod__amx_pack_whole_b(call, from, b, packed);
}
