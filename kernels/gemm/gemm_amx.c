/* bfloat16 products in AMX tiles: C by squares of 32 x 32, two tiles of A by two of B, so that four
 * products are in flight and every tile loaded is used twice.
 *
 *   for blocks of columns n, of rows m, of depth k        B's block stays in L2
 *     for panels of 32 rows: A's piece, into L1           as it lies where tiles can read it
 *       for panels of 32 columns: B's piece, streamed     by tile loads that leave L1 to A
 *         a square of sums, into scratch; the one before leaves for C meanwhile
 *
 * Between blocks of k sums wait in C where it is float32, else in scratch.
 *
 * A^T B with a long k, a weight gradient, reads much for few sums, and goes the other way round:
 *
 *   for blocks of columns n, of rows m, of depth k        the next one is fetched into L2 meanwhile
 *     A's block, turned, into L2
 *     for panels of 32 columns: B's piece, into L1
 *       for panels of 32 rows: A's piece, streamed
 *         a square of sums, where it waits for the next block; the last one leaves for C */
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

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t panels(int64_t n) { return (n + PANEL - 1) / PANEL; }

/* A part of n, a multiple of 32: parts as even as that allows, of `max` at most. */
static int64_t even_part(int64_t n, int64_t max)
{
    const int64_t n_panels = panels(n), n_parts = (n + max - 1) / max;
    return n_parts ? (n_panels + n_parts - 1) / n_parts * PANEL : PANEL;
}

/* Whether A and B both lie along k, which is so long that what is read counts more than where the
 * sums go: then each is read once, a block ahead of the products. */
static bool is_turned(const pod_gemm_call *c)
{
    return c->trans_a && !c->trans_b && !(c->fused & POD_GEMM_PACKED_B) && c->shape.k >= 2048;
}

/* Rows m, columns n, depth k of a product. */
typedef struct block {
    int64_t m, rows, n, columns, k, depth;
} block;

/* The depth of a block keeps the piece that squares share, and two squares, within L1; rows and
 * columns keep both blocks, and the squares between them, within L2. */
static block whole_block(const pod_gemm_call *c)
{
    const int64_t rows = 512, columns = 512, depth = is_turned(c) ? 384 : 640;
    return (block){.rows = even_part(c->shape.m, rows),
                   .columns = even_part(c->shape.n, columns),
                   .depth = even_part(c->shape.k, depth)};
}

/* Regions of the scratch, in bytes from its start. */
typedef struct layout {
    size_t squares, a, b, sums, end;
} layout;

static layout layout_of(const pod_gemm_call *c)
{
    const block whole = whole_block(c);
    const int64_t n_rows = panels(whole.rows), n_columns = panels(whole.columns);
    const int64_t piece = whole.depth / STEP * STEP_BYTES;
    int64_t a_bytes = piece, b_bytes = c->fused & POD_GEMM_PACKED_B ? 0 : n_columns * piece;
    if (is_turned(c)) a_bytes = n_rows * piece, b_bytes = piece;
    layout at = {.squares = 0, .a = (size_t)2 * SQUARE_BYTES};
    at.b = at.a + (size_t)a_bytes;
    at.sums = at.b + (size_t)b_bytes;
    const bool sums_wait = is_turned(c) || (c->c_dtype == POD_BF16 && c->shape.k > whole.depth);
    at.end = at.sums + (sums_wait ? (size_t)(n_rows * n_columns * SQUARE_BYTES) : 0);
    return at;
}

/* Where two tiles of A lie, 16 rows each, and how far it is to the next step. */
typedef struct a_piece {
    const char *at;
    int64_t row_bytes, step_bytes;
} a_piece;

#define INLINE   static inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

/* A square of sums on its way to memory, a few rows a step while the next square is multiplied: so
 * C's lines are fetched in its shadow. All addresses are of the next row. */
typedef struct leaving {
    const float *sums, *plus, *bias; /* plus: what C held, NULL: it does not count */
    void *to;
    int64_t plus_ld, to_ld, rows, columns;
    pod_dtype type;
    bool relu, is_plain; /* plain: whole rows of float32, as they are or added to what `to` holds */
} leaving;

INLINE __m512 finished(__m512 v, const leaving *l, int64_t column, __mmask16 mask)
{
    if (l->plus) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, l->plus + column));
    if (l->bias) v = _mm512_add_ps(v, _mm512_maskz_loadu_ps(mask, l->bias + column));
    if (l->relu)
        v = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(v, _mm512_setzero_ps(), _CMP_NLE_UQ), v);
    return v;
}

static void leave_row(leaving *l)
{
    const __mmask32 mask = l->columns < PANEL ? (1u << l->columns) - 1u : UINT32_MAX;
    const __mmask16 mask_low = (__mmask16)mask, mask_high = (__mmask16)(mask >> 16);
    const __m512 low = finished(_mm512_load_ps(l->sums), l, 0, mask_low);
    const __m512 high = finished(_mm512_load_ps(l->sums + 16), l, 16, mask_high);
    l->sums += PANEL;
    if (l->plus) l->plus += l->plus_ld;
    if (l->type == POD_BF16) {
        _mm512_mask_storeu_epi16(l->to, mask, (__m512i)_mm512_cvtne2ps_pbh(high, low));
        l->to = (pod_bf16 *)l->to + l->to_ld;
    } else {
        _mm512_mask_storeu_ps(l->to, mask_low, low);
        _mm512_mask_storeu_ps((float *)l->to + 16, mask_high, high);
        l->to = (float *)l->to + l->to_ld;
    }
}

INLINE void leave_plain(leaving *l, int64_t n, bool adds)
{
    const float *sums = l->sums;
    float *to = l->to;
    const int64_t ld = l->to_ld;
    for (int64_t i = 0; i < n; i++, sums += PANEL, to += ld) {
        __m512 low = _mm512_load_ps(sums), high = _mm512_load_ps(sums + 16);
        if (adds) {
            low = _mm512_add_ps(low, _mm512_loadu_ps(to));
            high = _mm512_add_ps(high, _mm512_loadu_ps(to + 16));
        }
        _mm512_storeu_ps(to, low);
        _mm512_storeu_ps(to + 16, high);
    }
    l->sums = sums;
    l->to = to;
}

/* The next rows of it, `max` at most. */
INLINE void leave(leaving *l, int64_t max)
{
    const int64_t n = smaller(l->rows, max);
    if (l->is_plain && l->plus) {
        leave_plain(l, n, true);
    } else if (l->is_plain) {
        leave_plain(l, n, false);
    } else {
        for (int64_t i = 0; i < n; i++) leave_row(l);
    }
    l->rows -= n;
}

/* Rows of lines on their way into a cache, so many lines a step. */
typedef struct fetching {
    const char *row;
    int64_t row_bytes, lines, line, rows; /* line: the next one of the row; rows: still to come */
    int64_t a_step;
} fetching;

INLINE void fetch(fetching *f, bool into_l2)
{
    int64_t n = f->a_step;
    while (n > 0 && f->rows > 0) {
        const int64_t end = smaller(f->lines, f->line + n);
        n -= end - f->line;
        for (int64_t i = f->line; i < end; i++)
            into_l2 ? _mm_prefetch(f->row + i * LINE, _MM_HINT_T1)
                    : __builtin_prefetch(f->row + i * LINE, 1);
        f->line = end;
        if (end < f->lines) return;
        f->line = 0, f->row += f->row_bytes, f->rows--;
    }
}

/* What is done in the shadow of the tiles. */
typedef struct meanwhile {
    leaving before;    /* the square that was multiplied last */
    fetching a, b;     /* of the next block, into L2 */
    fetching sums, to; /* of the next square, into L1 */
} meanwhile;

/* Tiles 0 1 of the square, below them 2 3; `tall` and `wide`: it has more than 16 rows, columns.
 * The panel that other squares do not share leaves L1 to the one they do. */
INLINE void multiply(const a_piece *a, const char *b, int64_t steps, meanwhile *other, bool tall,
                     bool wide, bool shares_b)
{
    const int64_t row_bytes = a->row_bytes, step_bytes = a->step_bytes;
    const char *upper = a->at, *lower = upper + 16 * row_bytes;
    const int64_t rows_a_step = steps < 1 ? 0 : (PANEL + steps - 1) / steps;
    for (int64_t step = 0; step < steps; step++) {
        if (shares_b) {
            _tile_loadd(6, b, LINE);
            _tile_stream_loadd(4, upper, LINE);
        } else {
            _tile_stream_loadd(6, b, LINE);
            _tile_loadd(4, upper, row_bytes);
        }
        _tile_dpbf16ps(0, 4, 6);
        if (wide) {
            if (shares_b)
                _tile_loadd(7, b + TILE_BYTES, LINE);
            else
                _tile_stream_loadd(7, b + TILE_BYTES, LINE);
            _tile_dpbf16ps(1, 4, 7);
        }
        if (tall) {
            if (shares_b)
                _tile_stream_loadd(5, lower, LINE);
            else
                _tile_loadd(5, lower, row_bytes);
            _tile_dpbf16ps(2, 5, 6);
            if (wide) _tile_dpbf16ps(3, 5, 7);
        }
        leave(&other->before, rows_a_step);
        if (shares_b) {
            fetch(&other->a, true);
            fetch(&other->b, true);
            fetch(&other->sums, false);
            fetch(&other->to, false);
        }
        upper += step_bytes, lower += step_bytes, b += STEP_BYTES;
    }
    leave(&other->before, PANEL);
}

/* One square through one block of k, into `sums`, on top of what they hold if it `adds`. */
INLINE void run_square_of(const a_piece *a, const char *b, int64_t steps, meanwhile *other,
                          float *sums, bool adds, bool tall, bool wide, bool shares_b)
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
    multiply(a, b, steps, other, tall, wide, shares_b);
    _tile_stored(0, sums, 2 * LINE);
    if (wide) _tile_stored(1, sums + 16, 2 * LINE);
    if (tall) _tile_stored(2, sums + 16 * PANEL, 2 * LINE);
    if (tall && wide) _tile_stored(3, sums + 16 * PANEL + 16, 2 * LINE);
}

/* Kept out of line: the loops are at their best with registers of their own. */
NOINLINE static void run_square(const a_piece *a, const char *b, int64_t steps, meanwhile *other,
                                float *sums, bool tall, bool wide)
{
    if (tall)
        wide ? run_square_of(a, b, steps, other, sums, false, true, true, false)
             : run_square_of(a, b, steps, other, sums, false, true, false, false);
    else
        wide ? run_square_of(a, b, steps, other, sums, false, false, true, false)
             : run_square_of(a, b, steps, other, sums, false, false, false, false);
}

NOINLINE static void run_turned_square(const a_piece *a, const char *b, int64_t steps,
                                       meanwhile *other, float *sums, bool adds, bool tall,
                                       bool wide)
{
    if (tall)
        wide ? run_square_of(a, b, steps, other, sums, adds, true, true, true)
             : run_square_of(a, b, steps, other, sums, adds, true, false, true);
    else
        wide ? run_square_of(a, b, steps, other, sums, adds, false, true, true)
             : run_square_of(a, b, steps, other, sums, adds, false, false, true);
}

/* One product of the batch. */
typedef struct product {
    const pod_gemm_call *call;
    bool turned, adds_in_scratch; /* sums of one block of k to those of the block before */
    block whole;
    layout at;
    char *scratch;
    const pod_bf16 *a;
    const void *b; /* packed, or bfloat16 */
    void *c;
    meanwhile other;
    int parity;
} product;

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

/* How the square at (m, n) leaves after this block of k. */
static leaving leaving_of(const product *p, const block *of, int64_t m, int64_t n,
                          const float *sums)
{
    const pod_gemm_call *call = p->call;
    const bool is_first = of->k == 0, is_last = of->k + of->depth >= call->shape.k;
    const int64_t at = m * call->ldc + n;
    leaving l = {.sums = sums,
                 .rows = smaller(of->m + of->rows - m, PANEL),
                 .columns = smaller(of->n + of->columns - n, PANEL)};
    if (is_last && call->fused & POD_GEMM_BIAS) l.bias = call->bias + n;
    l.relu = is_last && call->fused & POD_GEMM_RELU;
    if (call->c_dtype == POD_F32) {
        l.to = (float *)p->c + at;
        l.to_ld = l.plus_ld = call->ldc;
        if ((!is_first && !p->turned) || call->beta > 0.0f) l.plus = l.to;
    } else {
        l.to = (pod_bf16 *)p->c + at;
        l.to_ld = call->ldc;
        l.type = POD_BF16;
    }
    if (p->adds_in_scratch) {
        const int64_t index = (m - of->m) / PANEL * panels(of->columns) + (n - of->n) / PANEL;
        float *wait = (void *)(p->scratch + p->at.sums + index * SQUARE_BYTES);
        if (!is_last) l.to = wait, l.to_ld = PANEL, l.type = POD_F32;
        if (!is_first) l.plus = wait, l.plus_ld = PANEL;
    }
    l.is_plain = l.type == POD_F32 && l.columns == PANEL && (!l.plus || l.plus == l.to) &&
                 !l.bias && !l.relu;
    return l;
}

static void run_block(product *p, const block *of)
{
    const b_pieces b = pieces_of_b(p, of);
    const int64_t steps = pod__amx_steps(of->depth);
    for (int64_t m = of->m; m < of->m + of->rows; m += PANEL) {
        const int64_t rows = smaller(of->m + of->rows - m, PANEL);
        const a_piece a = piece_of_a(p, of, m, rows);
        pod_amx_order();
        const char *b_at = b.at;
        for (int64_t n = of->n; n < of->n + of->columns; n += PANEL, b_at += b.panel_bytes) {
            float *sums = (void *)(p->scratch + p->at.squares + p->parity * SQUARE_BYTES);
            const bool wide = of->n + of->columns - n > 16;
            run_square(&a, b_at, steps, &p->other, sums, rows > 16, wide);
            p->other.before = leaving_of(p, of, m, n, sums);
            p->parity = !p->parity;
        }
    }
}

/* ---- blocks in order: k innermost, then m, n ---- */

static void limit(block *b, const block *whole, pod_gemm_shape s)
{
    b->rows = smaller(s.m - b->m, whole->rows);
    b->columns = smaller(s.n - b->n, whole->columns);
    b->depth = smaller(s.k - b->k, whole->depth);
}

/* The block behind b; false: there is none. One block is there also for k = 0, which gives
 * beta C. */
static bool advance(block *b, const block *whole, pod_gemm_shape s)
{
    b->k += whole->depth;
    if (b->k >= s.k) b->k = 0, b->m += whole->rows;
    if (b->m >= s.m) b->m = 0, b->n += whole->columns;
    limit(b, whole, s);
    return b->n < s.n;
}

/* The next block's rows of A and B, spread over the steps of this one. */
static void begin_fetching(product *p, const block *now, const block *next)
{
    const pod_gemm_call *c = p->call;
    const int64_t n_rows = panels(now->rows), n_columns = panels(now->columns);
    const int64_t n_steps = pod__amx_steps(now->depth) * (n_rows * n_columns + n_rows + n_columns);
    const int64_t a_lines = panels(next->rows), b_lines = panels(next->columns);
    const int64_t bytes = (int64_t)sizeof(pod_bf16);
    meanwhile *o = &p->other;
    o->a = (fetching){.row = (const char *)(p->a + next->k * c->lda + next->m),
                      .row_bytes = c->lda * bytes,
                      .lines = a_lines,
                      .rows = next->depth,
                      .a_step = (next->depth * a_lines + n_steps - 1) / n_steps};
    o->b = (fetching){.row = (const char *)p->b + (next->k * c->ldb + next->n) * bytes,
                      .row_bytes = c->ldb * bytes,
                      .lines = b_lines,
                      .rows = next->depth,
                      .a_step = (next->depth * b_lines + n_steps - 1) / n_steps};
}

/* The square behind (m, n) in the order of run_turned_block: what it adds to, where it goes. */
static void begin_fetching_square(product *p, const block *of, int64_t m, int64_t n,
                                  const float *sums)
{
    const pod_gemm_call *c = p->call;
    const int64_t steps = pod__amx_steps(of->depth), bytes = (int64_t)pod_dtype_bytes(c->c_dtype);
    const bool is_last = of->k + of->depth >= c->shape.k, is_below = m + PANEL < of->m + of->rows;
    const int64_t next_m = is_below ? m + PANEL : of->m, next_n = is_below ? n : n + PANEL;
    p->other.sums = (fetching){.row = (const char *)sums,
                               .lines = SQUARE_BYTES / LINE,
                               .rows = of->k > 0,
                               .a_step = (SQUARE_BYTES / LINE + steps - 1) / steps};
    p->other.to = (fetching){.row = (const char *)p->c + (next_m * c->ldc + next_n) * bytes,
                             .row_bytes = c->ldc * bytes,
                             .lines = PANEL * bytes / LINE,
                             .rows = is_last ? PANEL : 0,
                             .a_step = (PANEL * PANEL * bytes / LINE + steps - 1) / steps};
}

/* A panel of B by all of A's that were turned. */
static void run_turned_column(product *p, const block *of, int64_t n, const char *a, const char *b)
{
    const int64_t steps = pod__amx_steps(of->depth), n_rows = panels(of->rows);
    const bool is_last = of->k + of->depth >= p->call->shape.k;
    float *sums = (void *)(p->scratch + p->at.sums + (n - of->n) / PANEL * n_rows * SQUARE_BYTES);
    for (int64_t m = of->m; m < of->m + of->rows; m += PANEL) {
        const a_piece turned = {a, LINE, STEP_BYTES};
        begin_fetching_square(p, of, m, n, sums + PANEL * PANEL);
        run_turned_square(&turned, b, steps, &p->other, sums, of->k > 0, of->m + of->rows - m > 16,
                          of->n + of->columns - n > 16);
        if (is_last) p->other.before = leaving_of(p, of, m, n, sums);
        a += steps * STEP_BYTES, sums += PANEL * PANEL;
    }
}

/* Columns of a matrix (k, .) into a panel, a step at a time, while the next block is fetched. */
static void lay_panel(product *p, pod__amx_block columns, bool is_a, char *panel)
{
    const int64_t depth = columns.rows, row_bytes = columns.ld * (int64_t)sizeof(pod_bf16);
    for (int64_t k = 0; k < depth; k += STEP, panel += STEP_BYTES) {
        columns.rows = smaller(depth - k, STEP);
        is_a ? pod__amx_pack_a_transposed(&columns, panel) : pod__amx_pack_b(&columns, panel);
        columns.data = (const char *)columns.data + STEP * row_bytes;
        fetch(&p->other.a, true);
        fetch(&p->other.b, true);
    }
}

/* A^T B: both are read once a block, out of L2. A's panels are turned for all of the block, B's
 * are laid one at a time, into L1. */
static void run_turned_block(product *p, const block *of)
{
    const pod_gemm_call *c = p->call;
    const pod_bf16 *a_from = p->a + of->k * c->lda,
                   *b_from = (const pod_bf16 *)p->b + of->k * c->ldb;
    char *a = p->scratch + p->at.a, *b = p->scratch + p->at.b;
    const int64_t piece = pod__amx_steps(of->depth) * STEP_BYTES;
    for (int64_t i = 0; i < of->rows; i += PANEL)
        lay_panel(p,
                  (pod__amx_block){POD_BF16, a_from + of->m + i, c->lda, of->depth,
                                   smaller(of->rows - i, PANEL)},
                  true, a + i / PANEL * piece);
    for (int64_t i = 0; i < of->columns; i += PANEL) {
        lay_panel(p,
                  (pod__amx_block){POD_BF16, b_from + of->n + i, c->ldb, of->depth,
                                   smaller(of->columns - i, PANEL)},
                  false, b);
        pod_amx_order();
        run_turned_column(p, of, of->n + i, a, b);
    }
}

static void run_turned(product *p)
{
    const pod_gemm_shape s = p->call->shape;
    block now = {0}, next = {0};
    limit(&next, &p->whole, s);
    for (bool has_next = true; has_next;) {
        now = next;
        has_next = advance(&next, &p->whole, s);
        p->other.a.rows = p->other.b.rows = 0;
        if (has_next) begin_fetching(p, &now, &next);
        run_turned_block(p, &now);
    }
}

static void run_product(product *p)
{
    const pod_gemm_shape s = p->call->shape;
    if (s.m == 0 || s.n == 0) return;
    if (p->turned) {
        run_turned(p);
    } else {
        block at = {0};
        limit(&at, &p->whole, s);
        do run_block(p, &at);
        while (advance(&at, &p->whole, s));
    }
    leave(&p->other.before, PANEL);
}

const char *pod__gemm_amx_why_not(const pod_gemm_call *call)
{
    return call->ab_dtype == POD_BF16 ? NULL : "A and B are float32, tiles take bfloat16";
}

size_t pod__gemm_amx_scratch_bytes(const pod_gemm_call *call) { return layout_of(call).end; }

void pod__gemm_amx_run(const pod_gemm_call *call, void *scratch)
{
    product p = {.call = call,
                 .turned = is_turned(call),
                 .whole = whole_block(call),
                 .at = layout_of(call),
                 .scratch = scratch};
    p.adds_in_scratch = !p.turned && p.at.end > p.at.sums;
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
