/* bfloat16 products in AVX512_BF16, without AMX: C by squares of at most 14 x 32, 28 sums in
 * registers, a pair (k, k + 1) of A broadcast to the pairs of B at a time.
 *
 *   for blocks of columns n, of rows m, of depth k     B's block, in L2 or L3
 *     for pieces of 14 rows of A, in L1 or L2          as it lies, copied, or transposed
 *       for panels of 32 columns: B's piece, streamed
 *         a square of sums, which goes to C
 *
 * B's panels are those of gemm_amx.h. Between blocks of k sums wait in C where it is float32, else
 * in scratch. Whole rows leave from the registers. vdpbf16ps takes subnormals for zero, as tiles do. */
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/gemm/gemm_avx512bf16_epilogue.h"
#include "kernels/gemm/gemm_kernels.h"

enum {
    ROWS = 14,
    PAIR = 2, /* elements */
    PAIR_BYTES = 4,
    STEP_PAIRS = STEP / PAIR,
    MAX_DEPTH = 1024,
    MAX_COLUMNS = 256,
    MAX_COLUMNS_IN_PARTS = 512, /* where k is in parts */
    MAX_ROWS_IN_PARTS = 256,
    MAX_ROWS_OF_PACKED_B = 1024,
    ROW_BYTES = MAX_DEPTH * 2 + LINE, /* of a copied piece: rows do not meet in one set of L1 */
    WAITING_BYTES = ROWS * PANEL * (int)sizeof(float),
    GROUP = 8, /* pieces that are transposed at a time, so that lines are whole */
    TRANSPOSED_BYTES = MAX_DEPTH / PAIR * LINE + 2 * LINE,
};

typedef pod__gemm_block block;

/* The length of parts of n, `max` at most, as even as whole units allow. */
static int64_t even_part(int64_t n, int64_t max, int64_t unit)
{
    const int64_t n_units = (n + unit - 1) / unit, n_parts = pod_max((n + max - 1) / max, 1);
    return pod_max((n_units + n_parts - 1) / n_parts, 1) * unit;
}

static bool sums_wait(const pod_gemm_call *c)
{
    return c->c_dtype == POD_BF16 && c->shape.k > MAX_DEPTH;
}

/* Each part of k goes over C, or over the sums that wait for the next: these stay near where rows are
 * few, and A is read less often where columns are many. But B is packed once for each block of rows. */
static int64_t max_rows(const pod_gemm_call *c)
{
    if (c->shape.k <= MAX_DEPTH) return INT64_MAX;
    if (c->fused & POD_GEMM_PACKED_B) return MAX_ROWS_IN_PARTS;
    return sums_wait(c) ? MAX_ROWS_OF_PACKED_B : INT64_MAX;
}

/* A block of B stays in L2, or of several parts of k comes from L3, which is no slower. */
static block whole_block(const pod_gemm_call *c)
{
    const pod_gemm_shape s = c->shape;
    const int64_t columns = s.k > MAX_DEPTH ? MAX_COLUMNS_IN_PARTS : MAX_COLUMNS;
    return (block){.rows = s.m > max_rows(c) ? even_part(s.m, max_rows(c), ROWS) : pod_max(s.m, 1),
                   .columns = even_part(s.n, columns, PANEL),
                   .depth = even_part(s.k, MAX_DEPTH, STEP)};
}

static int64_t n_pieces(int64_t rows) { return (rows + ROWS - 1) / ROWS; }

/* A block's rows, cut into n pieces as even as can be: the first `longer` have a row more. */
typedef struct cut {
    int64_t n, rows, longer;
} cut;

static cut cut_of(int64_t rows)
{
    const int64_t n = n_pieces(rows);
    return (cut){n, rows / n, rows % n};
}

typedef struct piece {
    int64_t m, rows; /* m: counted from the block's first row */
} piece;

static piece piece_at(const cut *of, int64_t i)
{
    return (piece){i * of->rows + pod_min(i, of->longer), of->rows + (i < of->longer)};
}

/* Regions of the scratch, in bytes from its start. */
typedef struct layout {
    size_t square, a, b, sums, end;
} layout;

static layout layout_of(const pod_gemm_call *c)
{
    const block whole = whole_block(c);
    const int64_t n_squares = n_pieces(whole.rows) * panels(whole.columns);
    const bool packed = c->fused & POD_GEMM_PACKED_B;
    layout at = {.square = 0, .a = WAITING_BYTES};
    at.b = at.a + (size_t)(c->trans_a ? GROUP * TRANSPOSED_BYTES : ROWS * ROW_BYTES);
    at.sums =
        at.b + (packed ? 0 : (size_t)(panels(whole.columns) * whole.depth / STEP * STEP_BYTES));
    at.end = at.sums + (sums_wait(c) ? (size_t)(n_squares * WAITING_BYTES) : 0);
    return at;
}

/* ---- a square ---- */

/* Where a piece of A lies: from a row to the next, and from a pair of k to the next. */
typedef struct a_piece {
    const char *at;
    int64_t row_bytes, pair_bytes;
} a_piece;

POD_INLINE __m512bh pair_at(const char *p)
{
    int32_t pair;
    memcpy(&pair, p, sizeof pair);
    return (__m512bh)_mm512_set1_epi32(pair);
}

POD_INLINE void add_to_rows(__m512 (*sum)[2], const float *plus, int64_t plus_ld, int rows)
{
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        sum[i][0] = _mm512_add_ps(sum[i][0], _mm512_loadu_ps(plus + i * plus_ld));
        sum[i][1] = _mm512_add_ps(sum[i][1], _mm512_loadu_ps(plus + i * plus_ld + 16));
    }
}

POD_INLINE void rectify_rows(__m512 (*sum)[2], int rows)
{
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++)
        sum[i][0] = rectified(sum[i][0]), sum[i][1] = rectified(sum[i][1]);
}

/* Whole rows of it leave the registers at once. */
POD_INLINE void store_at_once(__m512 (*sum)[2], const epilogue *l, int rows)
{
    if (l->plus) add_to_rows(sum, l->plus, l->plus_ld, rows);
    if (l->bias) add_to_rows(sum, l->bias, 0, rows);
    if (l->relu) rectify_rows(sum, rows);
    if (l->type == POD_BF16) {
        pod_bf16 *to = l->to;
#pragma GCC unroll 14
        for (int i = 0; i < rows; i++)
            _mm512_storeu_si512(to + i * l->to_ld,
                                (__m512i)_mm512_cvtne2ps_pbh(sum[i][1], sum[i][0]));
        return;
    }
    float *to = l->to;
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        _mm512_storeu_ps(to + i * l->to_ld, sum[i][0]);
        _mm512_storeu_ps(to + i * l->to_ld + 16, sum[i][1]);
    }
}

/* `rows` rows by `vectors` vectors, both known to the compiler. Rows that are not whole go to `sums`,
 * 32 apart. */
POD_INLINE void run_square(const a_piece *a, const char *b, int64_t pairs, const epilogue *l,
                           float *sums, int rows, int vectors)
{
    __m512 sum[ROWS][2];
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = _mm512_setzero_ps();
    const char *at = a->at;
    const int64_t row = a->row_bytes, pair = a->pair_bytes;
    if (l->plus)
        for (int i = 0; i < rows; i++) {
            _mm_prefetch(l->plus + i * l->plus_ld, _MM_HINT_T0);
            _mm_prefetch(l->plus + i * l->plus_ld + 16, _MM_HINT_T0);
        }
    for (; pairs > 0; pairs -= STEP_PAIRS, b += STEP_BYTES) {
        const char *end = b + pod_min(pairs, STEP_PAIRS) * LINE;
        for (const char *line = b; line < end; line += LINE, at += pair) {
            _mm_prefetch(line + STEP_BYTES, _MM_HINT_T0);
            if (vectors > 1) _mm_prefetch(line + STEP_BYTES + TILE_BYTES, _MM_HINT_T0);
            const __m512bh b0 = (__m512bh)_mm512_load_si512(line);
            const __m512bh b1 = vectors > 1 ? (__m512bh)_mm512_load_si512(line + TILE_BYTES) : b0;
#pragma GCC unroll 14
            for (int i = 0; i < rows; i++) {
                const __m512bh x = pair_at(at + i * row);
                sum[i][0] = _mm512_dpbf16_ps(sum[i][0], x, b0);
                if (vectors > 1) sum[i][1] = _mm512_dpbf16_ps(sum[i][1], x, b1);
            }
        }
    }
    if (vectors > 1 && l->columns == PANEL) {
        store_at_once(sum, l, rows);
        return;
    }
#pragma GCC unroll 14
    for (int i = 0; i < rows; i++) {
        _mm512_store_ps(sums + i * PANEL, sum[i][0]);
        if (vectors > 1) _mm512_store_ps(sums + i * PANEL + 16, sum[i][1]);
    }
}

typedef void square_function(const a_piece *a, const char *b, int64_t pairs, const epilogue *l,
                             float *sums);

#define EACH_HEIGHT(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#define FUNCTIONS(rows)                                                                            \
    static void run_##rows##x16(const a_piece *a, const char *b, int64_t pairs, const epilogue *l, \
                                float *sums)                                                       \
    {                                                                                              \
        run_square(a, b, pairs, l, sums, rows, 1);                                                 \
    }                                                                                              \
    static void run_##rows##x32(const a_piece *a, const char *b, int64_t pairs, const epilogue *l, \
                                float *sums)                                                       \
    {                                                                                              \
        run_square(a, b, pairs, l, sums, rows, 2);                                                 \
    }
#define LINE_OF_TABLE(rows) [rows] = {run_##rows##x16, run_##rows##x32},
EACH_HEIGHT(FUNCTIONS)
static square_function *const squares[ROWS + 1][2] = {EACH_HEIGHT(LINE_OF_TABLE)};
#undef EACH_HEIGHT
#undef FUNCTIONS
#undef LINE_OF_TABLE

/* ---- A ---- */

/* One product of the batch. */
typedef struct product {
    const pod_gemm_call *call;
    block whole;
    layout at;
    char *scratch;
    const pod_bf16 *a;
    const void *b; /* packed, or bfloat16 */
    void *c;
} product;

/* Two rows of A^T, 14 elements at most, to pairs. */
POD_INLINE void transpose_pair(const pod_bf16 *even, const pod_bf16 *odd, __mmask16 in_even,
                               __mmask16 in_odd, char *out)
{
    const __m512i low = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(in_even, even));
    const __m512i high = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(in_odd, odd));
    _mm512_store_si512(out, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
}

/* Pieces `first` to `end` of A^T: [pair][m = 16][2] each. */
static void transpose_a(const product *p, const block *of, const cut *pieces, int64_t first,
                        int64_t end)
{
    const int64_t lda = p->call->lda, n = end - first, whole = of->depth / PAIR;
    int64_t m[GROUP];
    __mmask16 mask[GROUP];
    for (int64_t i = 0; i < n; i++) {
        const piece at = piece_at(pieces, first + i);
        m[i] = at.m;
        mask[i] = (__mmask16)((1u << at.rows) - 1u);
    }
    const pod_bf16 *row = p->a + of->k * lda + of->m;
    char *out = p->scratch + p->at.a;
    for (int64_t pair = 0; pair < whole; pair++, row += PAIR * lda, out += LINE)
        for (int64_t i = 0; i < n; i++)
            transpose_pair(row + m[i], row + lda + m[i], mask[i], mask[i],
                           out + i * TRANSPOSED_BYTES);
    if (of->depth % PAIR)
        for (int64_t i = 0; i < n; i++)
            transpose_pair(row + m[i], row + m[i], mask[i], 0, out + i * TRANSPOSED_BYTES);
}

static void copy_a(const pod_bf16 *a, int64_t lda, int64_t rows, int64_t depth, char *out)
{
    const int64_t whole = depth / STEP * STEP, rest = depth % STEP;
    for (int64_t i = 0; i < rows; i++, a += lda, out += ROW_BYTES) {
        for (int64_t k = 0; k < whole; k += STEP)
            _mm512_store_si512(out + k * 2, _mm512_loadu_si512(a + k));
        if (rest)
            _mm512_store_si512(out + whole * 2,
                               _mm512_maskz_loadu_epi16((1u << rest) - 1u, a + whole));
    }
}

/* Rows about a multiple of 4 KiB apart would all meet in one set of L1. Behind an odd row stands
 * what is not its own. */
static bool reads_a_as_it_lies(const pod_gemm_call *c, const block *of)
{
    const int64_t page = 4096, apart = c->lda * (int64_t)sizeof(pod_bf16) % page;
    return of->depth % PAIR == 0 && apart >= LINE && apart <= page - LINE;
}

/* The i-th piece of the block's rows; where A is transposed, its group was transposed. */
static a_piece piece_of_a(const product *p, const block *of, piece rows, int64_t i)
{
    char *room = p->scratch + p->at.a;
    if (p->call->trans_a) return (a_piece){room + i % GROUP * TRANSPOSED_BYTES, PAIR_BYTES, LINE};
    const int64_t lda = p->call->lda;
    const pod_bf16 *a = p->a + (of->m + rows.m) * lda + of->k;
    if (reads_a_as_it_lies(p->call, of))
        return (a_piece){(const char *)a, lda * (int64_t)sizeof *a, PAIR_BYTES};
    copy_a(a, lda, rows.rows, of->depth, room);
    return (a_piece){room, ROW_BYTES, PAIR_BYTES};
}

/* ---- the product ---- */

/* The i-th piece by all of the block's panels of B. */
static void run_piece(const product *p, const block *of, piece rows, int64_t i, pod__b_pieces b)
{
    const a_piece a = piece_of_a(p, of, rows, i);
    const int64_t m = of->m + rows.m;
    const int64_t pairs = (of->depth + 1) / PAIR, n_panels = panels(of->columns);
    float *sums = (void *)(p->scratch + p->at.square);
    float *waiting = sums_wait(p->call) ? (void *)(p->scratch + p->at.sums) : NULL;
    for (int64_t panel = 0; panel < n_panels; panel++) {
        const int64_t n = panel * PANEL;
        float *wait = waiting ? waiting + (i * n_panels + panel) * ROWS * PANEL : NULL;
        epilogue l = epilogue_of(p->call, p->c, of, m, rows.rows, of->n + n, sums, wait);
        squares[rows.rows][of->columns - n > 16](&a, b.at, pairs, &l, sums);
        if (l.columns < PANEL) run_epilogue(&l, rows.rows);
        b.at += b.panel_bytes;
    }
}

static void run_block(const product *p, const block *of)
{
    const pod__b_pieces b = pod__amx_pieces_of_b(p->call, p->b, of, p->scratch + p->at.b);
    const cut pieces = cut_of(of->rows);
    for (int64_t first = 0; first < pieces.n; first += GROUP) {
        const int64_t end = pod_min(pieces.n, first + GROUP);
        if (p->call->trans_a) transpose_a(p, of, &pieces, first, end);
        for (int64_t i = first; i < end; i++) run_piece(p, of, piece_at(&pieces, i), i, b);
    }
}

const char *pod__gemm_avx512bf16_why_not(const pod_gemm_call *c)
{
    return c->ab_dtype == POD_BF16 ? NULL : "A and B are float32, it takes bfloat16";
}

/* OpenBLAS was measured to be faster: where most of a square would be padding, and
 * where packing operands, or a float32 C, takes longer than multiplying. */
const char *pod__gemm_avx512bf16_slow(const pod_gemm_call *c)
{
    static const struct {
        int64_t rows, n, k; /* with fewer rows it takes at least this n and k */
        const char *why;
    } least[] = {{4, 128, 64, "fewer than 4 rows, n below 128 or k below 64"},
                 {8, 64, 16, "fewer than 8 rows, n below 64 or k below 16"},
                 {16, 12, 4, "fewer than 16 rows, n below 12 or k below 4"},
                 {INT64_MAX, 8, 0, "fewer than 8 columns"}};
    const pod_gemm_shape s = c->shape;
    for (size_t i = 0; i < sizeof least / sizeof least[0]; i++)
        if (s.m < least[i].rows && (s.n < least[i].n || s.k < least[i].k)) return least[i].why;
    if (c->trans_a && s.n < 12) return "A is transposed, fewer than 12 columns";
    if (c->trans_b && s.m < 16 && s.n < 32)
        return "B is transposed, fewer than 16 rows and 32 columns";
    if (c->c_dtype == POD_BF16) return NULL;
    if (s.k < 16) return "C is float32, k below 16";
    if (s.n < 64 && s.k < (c->trans_a ? 256 : 64))
        return "C is float32, fewer than 64 columns, k below 64 (256 where A is transposed)";
    return NULL;
}

size_t pod__gemm_avx512bf16_scratch_bytes(const pod_gemm_call *call) { return layout_of(call).end; }

void pod__gemm_avx512bf16_run(const pod_gemm_call *call, void *scratch)
{
    product p = {
        .call = call, .whole = whole_block(call), .at = layout_of(call), .scratch = scratch};
    for (int64_t i = 0; i < call->n_batch; i++) {
        const pod__gemm_operands x = pod__gemm_operands_at(call, i);
        block at = {0};
        p.a = x.a, p.b = x.b, p.c = x.c;
        for (bool more = pod__gemm_block_at(&at, &p.whole, call->shape); more;
             more = pod__gemm_block_next(&at, &p.whole, call->shape))
            run_block(&p, &at);
    }
}

size_t pod__gemm_avx512bf16_packed_bytes(const pod_gemm_call *call)
{
    return pod__amx_packed_bytes(call);
}

void pod__gemm_avx512bf16_pack(const pod_gemm_call *call, pod_dtype from, const void *b,
                               void *packed)
{
    pod__amx_pack_whole_b(call, from, b, packed);
}
