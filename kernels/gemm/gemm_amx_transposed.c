/* A^T B with a long k, a weight gradient: much is read for few sums. By squares of 32 x 32, as in
 * gemm_amx.c, but the other way round:
 *
 *   for blocks of columns n, of rows m, of depth k        the next one is fetched into L2 meanwhile
 *     A's block, transposed, into L2
 *     for panels of 32 columns: B's piece, into L1
 *       for panels of 32 rows: A's piece, streamed        by tile loads that leave L1 to B
 *         a square of sums, where it waits for the next block; the last one goes to C */
#include "kernels/base/arith.h"
#include "kernels/base/simd/tile_amx.h"
#include "kernels/gemm/gemm_amx.h"
#include "kernels/gemm/gemm_avx512bf16_epilogue.h"

bool pod__amx_is_transposed(const pod_gemm_call *c)
{
    const int64_t long_k = 2048; /* from here on what is read counts more than where sums go */
    return c->trans_a && !c->trans_b && !(c->fused & POD_GEMM_PACKED_B) && c->shape.k >= long_k;
}

/* A part of n, a multiple of 32: parts as even as that allows, of `max` at most. */
static int64_t even_part(int64_t n, int64_t max)
{
    const int64_t n_panels = panels(n), n_parts = (n + max - 1) / max;
    return n_parts ? (n_panels + n_parts - 1) / n_parts * PANEL : PANEL;
}

typedef pod__gemm_block block;

/* The depth of a block keeps the piece that squares share, and two squares, within L1; rows and
 * columns keep both blocks, and the squares between them, within L2. */
static block whole_block(const pod_gemm_call *c)
{
    const int64_t rows = 512, columns = 512, depth = 384;
    return (block){.rows = even_part(c->shape.m, rows),
                   .columns = even_part(c->shape.n, columns),
                   .depth = even_part(c->shape.k, depth)};
}

/* Regions of the scratch, in bytes from its start. */
typedef struct layout {
    size_t sums, a, b, end;
} layout;

static layout layout_of(const block *whole)
{
    const int64_t n_rows = panels(whole->rows), n_columns = panels(whole->columns);
    const int64_t piece = whole->depth / STEP * STEP_BYTES;
    layout at = {.sums = 0, .a = (size_t)(n_rows * n_columns * SQUARE_BYTES)};
    at.b = at.a + (size_t)(n_rows * piece);
    at.end = at.b + (size_t)piece;
    return at;
}

/* Rows of lines on their way into a cache, so many lines a step. */
typedef struct fetching {
    const char *row;
    int64_t row_bytes, lines, line, rows; /* line: the next one of the row; rows: still to come */
    int64_t a_step;
} fetching;

POD_INLINE void fetch(fetching *f, bool into_l2)
{
    int64_t n = f->a_step;
    while (n > 0 && f->rows > 0) {
        const int64_t end = pod_min(f->lines, f->line + n);
        n -= end - f->line;
        for (int64_t i = f->line; i < end; i++)
            into_l2 ? _mm_prefetch(f->row + i * LINE, _MM_HINT_T1)
                    : __builtin_prefetch(f->row + i * LINE, 1);
        f->line = end;
        if (end < f->lines) return;
        f->line = 0, f->row += f->row_bytes, f->rows--;
    }
}

/* So many rows of lines within so many steps. Set in place: reading what was just copied stalls. */
POD_INLINE void begin_fetching(fetching *f, const void *row, int64_t row_bytes, int64_t lines,
                               int64_t rows, int64_t steps)
{
    f->row = row;
    f->row_bytes = row_bytes;
    f->lines = lines;
    f->line = 0;
    f->rows = rows;
    f->a_step = (lines * rows + steps - 1) / steps;
}

/* What is done in the shadow of the tiles. */
typedef struct meanwhile {
    epilogue before;   /* the square that was multiplied last */
    fetching a, b;     /* of the next block, into L2 */
    fetching sums, to; /* of the next square, into L1 */
} meanwhile;

/* Tiles 0 1 of the square, below them 2 3; `tall` and `wide`: it has more than 16 rows, columns. */
POD_INLINE void multiply(const char *a, const char *b, int64_t steps, meanwhile *other, bool tall,
                         bool wide)
{
    const int64_t rows_a_step = (PANEL + steps - 1) / steps;
    for (int64_t step = 0; step < steps; step++, a += STEP_BYTES, b += STEP_BYTES) {
        _tile_loadd(6, b, LINE);
        _tile_stream_loadd(4, a, LINE);
        _tile_dpbf16ps(0, 4, 6);
        if (wide) {
            _tile_loadd(7, b + TILE_BYTES, LINE);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (tall) {
            _tile_stream_loadd(5, a + TILE_BYTES, LINE);
            _tile_dpbf16ps(2, 5, 6);
            if (wide) _tile_dpbf16ps(3, 5, 7);
        }
        run_epilogue(&other->before, rows_a_step);
        fetch(&other->a, true);
        fetch(&other->b, true);
        fetch(&other->sums, false);
        fetch(&other->to, false);
    }
    run_epilogue(&other->before, PANEL);
}

/* One square through one block of k, into `sums`, on top of what they hold if it `adds`. */
POD_INLINE void run_square_of(const char *a, const char *b, int64_t steps, meanwhile *other,
                              float *sums, bool adds, bool tall, bool wide)
{
    if (adds) {
        _tile_loadd(0, sums, 2 * LINE);
        if (wide) _tile_loadd(1, sums + 16, 2 * LINE);
        if (tall) _tile_loadd(2, sums + 16 * PANEL, 2 * LINE);
        if (tall && wide) _tile_loadd(3, sums + 16 * PANEL + 16, 2 * LINE);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    multiply(a, b, steps, other, tall, wide);
    _tile_stored(0, sums, 2 * LINE);
    if (wide) _tile_stored(1, sums + 16, 2 * LINE);
    if (tall) _tile_stored(2, sums + 16 * PANEL, 2 * LINE);
    if (tall && wide) _tile_stored(3, sums + 16 * PANEL + 16, 2 * LINE);
}

/* Out of line, so that the loops have registers of their own. */
__attribute__((noinline)) static void run_square(const char *a, const char *b, int64_t steps,
                                                 meanwhile *other, float *sums, bool adds,
                                                 bool tall, bool wide)
{
    if (tall)
        wide ? run_square_of(a, b, steps, other, sums, adds, true, true)
             : run_square_of(a, b, steps, other, sums, adds, true, false);
    else
        wide ? run_square_of(a, b, steps, other, sums, adds, false, true)
             : run_square_of(a, b, steps, other, sums, adds, false, false);
}

/* One product of the batch. */
typedef struct product {
    const pod_gemm_call *call;
    block whole;
    layout at;
    char *scratch;
    const pod_bf16 *a, *b;
    void *c;
    meanwhile other;
} product;

/* How the square at (m, n) leaves when its sums are whole. */
static epilogue epilogue_whole(const product *p, const block *of, int64_t m, int64_t n,
                               const float *sums)
{
    const pod_gemm_call *call = p->call;
    const int64_t at = m * call->ldc + n;
    epilogue l = {.sums = sums,
                  .bias = call->fused & POD_GEMM_BIAS ? call->bias + n : NULL,
                  .to = (char *)p->c + at * (int64_t)pod_dtype_bytes(call->c_dtype),
                  .plus_ld = call->ldc,
                  .to_ld = call->ldc,
                  .rows = pod_min(of->m + of->rows - m, PANEL),
                  .columns = pod_min(of->n + of->columns - n, PANEL),
                  .type = call->c_dtype,
                  .relu = call->fused & POD_GEMM_RELU};
    if (call->beta > 0.0f) l.plus = l.to;
    l.is_plain = l.type == POD_F32 && l.columns == PANEL && !l.bias && !l.relu;
    return l;
}

/* The next block's rows of A and B, spread over what this one takes. */
static void begin_fetching_block(product *p, const block *now, const block *next)
{
    const pod_gemm_call *c = p->call;
    const int64_t n_rows = panels(now->rows), n_columns = panels(now->columns);
    const int64_t steps = pod__amx_steps(now->depth) * (n_rows * n_columns + n_rows + n_columns);
    const int64_t bytes = (int64_t)sizeof(pod_bf16);
    begin_fetching(&p->other.a, p->a + next->k * c->lda + next->m, c->lda * bytes,
                   panels(next->rows), next->depth, steps);
    begin_fetching(&p->other.b, p->b + next->k * c->ldb + next->n, c->ldb * bytes,
                   panels(next->columns), next->depth, steps);
}

/* The square behind (m, n): its sums, and where they go after the last block. */
static void begin_fetching_square(product *p, const block *of, int64_t m, int64_t n,
                                  const float *sums)
{
    const pod_gemm_call *c = p->call;
    const int64_t steps = pod__amx_steps(of->depth), bytes = (int64_t)pod_dtype_bytes(c->c_dtype);
    if (of->k > 0)
        begin_fetching(&p->other.sums, sums, SQUARE_BYTES, SQUARE_BYTES / LINE, 1, steps);
    if (of->k + of->depth < c->shape.k) return;
    const bool is_below = m + PANEL < of->m + of->rows;
    const int64_t next_m = is_below ? m + PANEL : of->m, next_n = is_below ? n : n + PANEL;
    begin_fetching(&p->other.to, (const char *)p->c + (next_m * c->ldc + next_n) * bytes,
                   c->ldc * bytes, PANEL * bytes / LINE, PANEL, steps);
}

/* A panel of B by all of A's that were transposed. */
static void run_column(product *p, const block *of, int64_t n, const char *a, const char *b)
{
    const int64_t steps = pod__amx_steps(of->depth), n_rows = panels(of->rows);
    const bool is_last = of->k + of->depth >= p->call->shape.k;
    float *sums = (void *)(p->scratch + p->at.sums + (n - of->n) / PANEL * n_rows * SQUARE_BYTES);
    for (int64_t m = of->m; m < of->m + of->rows; m += PANEL) {
        begin_fetching_square(p, of, m, n, sums + PANEL * PANEL);
        run_square(a, b, steps, &p->other, sums, of->k > 0, of->m + of->rows - m > 16,
                   of->n + of->columns - n > 16);
        if (is_last) p->other.before = epilogue_whole(p, of, m, n, sums);
        a += steps * STEP_BYTES, sums += PANEL * PANEL;
    }
}

/* Columns of a matrix (k, .) into a panel, a step at a time, while the next block is fetched. */
static void pack_panel(product *p, pod__amx_block columns, bool is_a, char *panel)
{
    const int64_t depth = columns.rows, row_bytes = columns.ld * (int64_t)sizeof(pod_bf16);
    for (int64_t k = 0; k < depth; k += STEP, panel += STEP_BYTES) {
        columns.rows = pod_min(depth - k, STEP);
        is_a ? pod__amx_pack_a_transposed(&columns, panel) : pod__amx_pack_b(&columns, panel);
        columns.data = (const char *)columns.data + STEP * row_bytes;
        fetch(&p->other.a, true);
        fetch(&p->other.b, true);
    }
}

static void run_block(product *p, const block *of)
{
    const int64_t lda = p->call->lda, ldb = p->call->ldb;
    const int64_t piece = pod__amx_steps(of->depth) * STEP_BYTES;
    char *a = p->scratch + p->at.a, *b = p->scratch + p->at.b;
    for (int64_t m = 0; m < of->rows; m += PANEL)
        pack_panel(p,
                   (pod__amx_block){POD_BF16, p->a + of->k * lda + of->m + m, lda, of->depth,
                                    pod_min(of->rows - m, PANEL)},
                   true, a + m / PANEL * piece);
    for (int64_t n = 0; n < of->columns; n += PANEL) {
        pack_panel(p,
                   (pod__amx_block){POD_BF16, p->b + of->k * ldb + of->n + n, ldb, of->depth,
                                    pod_min(of->columns - n, PANEL)},
                   false, b);
        pod_amx_order();
        run_column(p, of, of->n + n, a, b);
    }
}

static void run_product(product *p)
{
    const pod_gemm_shape s = p->call->shape;
    block now, next = {0};
    for (bool has_next = pod__gemm_block_at(&next, &p->whole, s); has_next;) {
        now = next;
        has_next = pod__gemm_block_next(&next, &p->whole, s);
        p->other.a.rows = p->other.b.rows = 0;
        if (has_next) begin_fetching_block(p, &now, &next);
        run_block(p, &now);
    }
    run_epilogue(&p->other.before, PANEL);
}

size_t pod__amx_transposed_bytes(const pod_gemm_call *call)
{
    const block whole = whole_block(call);
    return layout_of(&whole).end;
}

void pod__amx_run_transposed(const pod_gemm_call *call, void *scratch)
{
    product p = {.call = call, .whole = whole_block(call), .scratch = scratch};
    p.at = layout_of(&p.whole);
    pod_amx_begin();
    for (int64_t i = 0; i < call->n_batch; i++) {
        const pod__gemm_operands x = pod__gemm_operands_at(call, i);
        p.a = x.a, p.b = x.b, p.c = x.c;
        run_product(&p);
    }
    pod_amx_end();
}
