/* The products of amx_dw/pairs.h, two images and two lines at a time: "a block".
 *
 *   transposed   (2 halves of a line, 16 channels, 16 columns, 2 images)   A tiles of a line of dy
 *   paired   (34 columns, 16 channels, 2 images)                       B tiles of a line of x, as
 *                                                                      they begin at column s
 *
 *   sums[1, s] += transposed l     * paired l          line l, if there is one before
 *   sums[2, s] += transposed l - 1 * paired l
 *   sums[0, s] += transposed l     * paired l - 1
 *
 * Sums that lie near each other in this list share what they load. The nine are more than there are
 * tiles: two passes go over a block, the first with sums[1 and 2, 0 and 1], the second with the
 * others, and every other block begins with the second, so that its sums stay where they are. */
#include "kernels/conv/amx_dw/pairs.h"

#include <immintrin.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/simd/avx512.h"
#include "kernels/base/simd/tile_amx.h"
#include "kernels/conv/amx_dw/transpose.h"

enum {
    C = 16,
    COLUMNS = 32,
    LINE_VALUES = COLUMNS * C, /* of an image */
    ROW = 64,                  /* bytes: of a tile */
    TILE = 16 * ROW,
    PAIRED = 2 * TILE, /* where it begins in a line as packed */
    LINE = PAIRED + (COLUMNS + 2) * ROW,
    LINES = 2,            /* of a block */
    RING = 2 * LINES + 1, /* lines as packed: a block, the next one, the line before */
    SUMS_ROW = 9 * C,     /* of dw (16, 3, 3, 16) */
    COLUMNS_PIECE = 4
};

/* What a block reads and writes. */
typedef struct block {
    bool first;                  /* of its images: there is no line before */
    const char *line[LINES + 1]; /* as packed: the one before, then its own */
    char *next[LINES];           /* where the next block's are packed, from: */
    const pod_bf16 *x[2], *dy[2];
    __m512 scale, shift, least;
} block;

/* ---- lines are packed ------------------------------------------------------------------------- */

/* 16 channels of one pixel of two images, as pairs. */
POD_INLINE __m512i paired(const pod_bf16 *first, const pod_bf16 *second)
{
    const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i order = _mm512_or_si512(
        number, _mm512_slli_epi32(_mm512_add_epi32(number, _mm512_set1_epi32(16)), 16));
    const __m512i both =
        _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256((const void *)first)),
                           _mm256_loadu_si256((const void *)second), 1);
    return _mm512_permutexvar_epi16(order, both);
}

/* max of a NaN: the second. */
POD_INLINE __m512i changed(const block *b, __m512i pairs)
{
    const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i order = _mm512_or_si512(
        number, _mm512_slli_epi32(_mm512_add_epi32(number, _mm512_set1_epi32(16)), 16));
    const __m512 first = pod_vec16_even(pairs), second = pod_vec16_odd(pairs);
    const __m512i y = (__m512i)_mm512_cvtne2ps_pbh(
        _mm512_max_ps(b->least, _mm512_fmadd_ps(second, b->scale, b->shift)),
        _mm512_max_ps(b->least, _mm512_fmadd_ps(first, b->scale, b->shift)));
    return _mm512_permutexvar_epi16(order, y);
}

/* Columns of line i of the next block. */
POD_INLINE void pair(const block *b, int64_t i, int64_t piece, bool changes)
{
    const int64_t at = i * LINE_VALUES + piece * COLUMNS_PIECE * C;
    const pod_bf16 *first = b->x[0] + at, *second = b->x[1] + at;
    char *to = b->next[i] + PAIRED + (1 + piece * COLUMNS_PIECE) * ROW;
    for (int64_t j = 0; j < COLUMNS_PIECE; j += 2) { /* of the block behind the next one */
        _mm_prefetch((const char *)(first + LINES * LINE_VALUES + j * C), _MM_HINT_T0);
        _mm_prefetch((const char *)(second + LINES * LINE_VALUES + j * C), _MM_HINT_T0);
    }
#pragma GCC unroll 4
    for (int64_t j = 0; j < COLUMNS_PIECE; j++) {
        const __m512i v = paired(first + j * C, second + j * C);
        _mm512_store_si512((void *)(to + j * ROW), changes ? changed(b, v) : v);
    }
}

/* 8 channels of 16 columns of line i. */
POD_INLINE void turn(const block *b, int64_t i, int64_t half, int64_t eight)
{
    const int64_t at = i * LINE_VALUES + half * 16 * C + eight * 8, quarter = 4 * C;
    __m512i v[8];
#pragma GCC unroll 8
    for (int j = 0; j < 8; j++) {
        const pod_bf16 *from = b->dy[j % 2] + at + j / 2 * C;
        v[j] = _mm512_castsi128_si512(_mm_loadu_si128((const void *)from));
        v[j] = _mm512_inserti32x4(v[j], _mm_loadu_si128((const void *)(from + quarter)), 1);
        v[j] = _mm512_inserti32x4(v[j], _mm_loadu_si128((const void *)(from + 2 * quarter)), 2);
        v[j] = _mm512_inserti32x4(v[j], _mm_loadu_si128((const void *)(from + 3 * quarter)), 3);
    }
    pod__dw_transpose_8(v, (pod_bf16 *)(void *)(b->next[i] + half * TILE + eight * 8 * ROW));
}

static void pack_line(const block *b, int64_t i, bool changes)
{
    for (int64_t piece = 0; piece < 8; piece++) pair(b, i, piece, changes);
    for (int64_t j = 0; j < 4; j++) turn(b, i, j / 2, j % 2);
}

/* ---- products ------------------------------------------------------------------------------- */

#define TRANSPOSED(tile, l)   _tile_loadd(tile, b->line[l] + half * TILE, ROW)
#define PAIRED_AT(tile, l, s) _tile_loadd(tile, b->line[l] + PAIRED + (half * 16 + (s)) * ROW, ROW)

/* Piece by piece between the products of line i: of the next block's line i. What is left of that
 * is packed where the passes change. */
POD_INLINE void pack_piece(const block *b, int64_t i, int64_t pass, int64_t half, int64_t piece,
                           bool changes)
{
    if (piece == 0 && half == 0) turn(b, i, 0, pass);
    if (piece % 2 == 1) pair(b, i, pass * 4 + half * 2 + piece / 2, changes);
    pod_amx_order();
}

#define PIECE(i) pack_piece(b, line, pass, half, i, changes)

/* The transposed line is in tile `now`, the one before in tile `before`. */
#define FIRST_LINE(i, now, before)                     \
    do {                                               \
        const int64_t line = i;                        \
        const bool has_before = line > 0 || !b->first; \
        TRANSPOSED(now, line + 1);                     \
        PAIRED_AT(6, line + 1, 0);                     \
        PAIRED_AT(7, line + 1, 1);                     \
        _tile_dpbf16ps(0, now, 6);                     \
        PIECE(0);                                      \
        if (has_before) _tile_dpbf16ps(2, before, 6);  \
        PIECE(1);                                      \
        _tile_dpbf16ps(1, now, 7);                     \
        PIECE(2);                                      \
        if (has_before) _tile_dpbf16ps(3, before, 7);  \
        PIECE(3);                                      \
    } while (0)

POD_INLINE void pass_first(const block *b, int64_t half, bool changes)
{
    const int64_t pass = 0;
    TRANSPOSED(5, 0);
    for (int64_t i = 0; i < LINES; i += 2) {
        FIRST_LINE(i, 4, 5);
        FIRST_LINE(i + 1, 5, 4);
    }
}

#define SECOND_LINE(i, now, before)                    \
    do {                                               \
        const int64_t line = i;                        \
        const bool has_before = line > 0 || !b->first; \
        TRANSPOSED(now, line + 1);                     \
        PAIRED_AT(7, line + 1, 2);                     \
        _tile_dpbf16ps(3, now, 7);                     \
        PIECE(0);                                      \
        if (has_before) {                              \
            _tile_dpbf16ps(4, before, 7);              \
            PAIRED_AT(7, line, 0);                     \
            _tile_dpbf16ps(0, now, 7);                 \
        }                                              \
        PIECE(1);                                      \
        if (has_before) {                              \
            PAIRED_AT(7, line, 1);                     \
            _tile_dpbf16ps(1, now, 7);                 \
        }                                              \
        PIECE(2);                                      \
        if (has_before) {                              \
            PAIRED_AT(7, line, 2);                     \
            _tile_dpbf16ps(2, now, 7);                 \
        }                                              \
        PIECE(3);                                      \
    } while (0)

POD_INLINE void pass_second(const block *b, int64_t half, bool changes)
{
    const int64_t pass = 1;
    TRANSPOSED(6, 0);
    for (int64_t i = 0; i < LINES; i += 2) {
        SECOND_LINE(i, 5, 6);
        SECOND_LINE(i + 1, 6, 5);
    }
}

POD_INLINE void multiply_first(const block *b, bool changes)
{
    pass_first(b, 0, changes);
    pass_first(b, 1, changes);
}

POD_INLINE void multiply_second(const block *b, bool changes)
{
    pass_second(b, 0, changes);
    pass_second(b, 1, changes);
}

#define SUM(r, s)        (sums + (3 * (r) + (s)) * C)
#define TAKE(tile, r, s) _tile_loadd(tile, SUM(r, s), SUMS_ROW * sizeof(float))
#define KEEP(tile, r, s) _tile_stored(tile, SUM(r, s), SUMS_ROW * sizeof(float))

POD_INLINE void take_first(const float *sums)
{
    TAKE(0, 1, 0);
    TAKE(1, 1, 1);
    TAKE(2, 2, 0);
    TAKE(3, 2, 1);
}

/* Tiles are loaded as late as they can be, and stored as soon. */
POD_INLINE void change_to_second(const block *b, float *sums)
{
    KEEP(0, 1, 0);
    TAKE(0, 0, 0);
    turn(b, 0, 1, 0);
    KEEP(1, 1, 1);
    TAKE(1, 0, 1);
    turn(b, 0, 1, 1);
    KEEP(2, 2, 0);
    TAKE(2, 0, 2);
    turn(b, 1, 1, 0);
    KEEP(3, 2, 1);
    TAKE(3, 1, 2);
    TAKE(4, 2, 2);
    turn(b, 1, 1, 1);
    pod_amx_order();
}

POD_INLINE void change_to_first(const block *b, float *sums)
{
    KEEP(0, 0, 0);
    TAKE(0, 1, 0);
    turn(b, 0, 1, 0);
    KEEP(1, 0, 1);
    TAKE(1, 1, 1);
    turn(b, 0, 1, 1);
    KEEP(2, 0, 2);
    TAKE(2, 2, 0);
    turn(b, 1, 1, 0);
    KEEP(3, 1, 2);
    TAKE(3, 2, 1);
    KEEP(4, 2, 2);
    turn(b, 1, 1, 1);
    pod_amx_order();
}

POD_INLINE void keep_first(float *sums)
{
    KEEP(0, 1, 0);
    KEEP(1, 1, 1);
    KEEP(2, 2, 0);
    KEEP(3, 2, 1);
}

POD_INLINE void keep_second(float *sums)
{
    KEEP(0, 0, 0);
    KEEP(1, 0, 1);
    KEEP(2, 0, 2);
    KEEP(3, 1, 2);
    KEEP(4, 2, 2);
}

/* ---- blocks --------------------------------------------------------------------------------- */

typedef struct run {
    const pod_conv_call *call;
    int64_t n_blocks, of_image;
    char *ring;
} run;

static char *packed(const run *r, int64_t line) { return r->ring + line % RING * LINE; }

/* Block e, of those with one line after the other as packed; behind the last one that itself is packed
 * once more. */
static void place(const run *r, int64_t e, block *b)
{
    const pod_conv_call *call = r->call;
    const int64_t next = e + 1 < r->n_blocks ? e + 1 : e,
                  image_values = call->shape.h * LINE_VALUES;
    const int64_t at =
        next / r->of_image * 2 * image_values + next % r->of_image * LINES * LINE_VALUES;
    b->first = e % r->of_image == 0;
    for (int64_t i = 0; i <= LINES; i++) b->line[i] = packed(r, (e + 1) * LINES + i);
    for (int64_t i = 0; i < LINES; i++) b->next[i] = packed(r, (e + 2) * LINES + 1 + i);
    for (int i = 0; i < 2; i++) {
        b->x[i] = (const pod_bf16 *)call->a + at + i * image_values;
        b->dy[i] = (const pod_bf16 *)call->b + at + i * image_values;
    }
}

POD_INLINE void run_blocks(const run *r, bool changes)
{
    const pod_conv_call *call = r->call;
    float *sums = call->out;
    block b = {.least = _mm512_setzero_ps()};
    if (changes) {
        b.scale = _mm512_loadu_ps(call->x_scale), b.shift = _mm512_loadu_ps(call->x_shift);
        if (!(call->fused & POD_CONV_RELU_X)) b.least = _mm512_set1_ps(-__builtin_inff());
    }
    place(r, -1, &b);
    for (int64_t i = 0; i < LINES; i++) pack_line(&b, i, changes);
    pod_amx_order();
    take_first(sums);
    for (int64_t e = 0; e < r->n_blocks; e++) {
        place(r, e, &b);
        if (e % 2 == 0) {
            multiply_first(&b, changes);
            change_to_second(&b, sums);
            multiply_second(&b, changes);
        } else {
            multiply_second(&b, changes);
            change_to_first(&b, sums);
            multiply_first(&b, changes);
        }
    }
    if (r->n_blocks % 2 == 0)
        keep_first(sums);
    else
        keep_second(sums);
}

static void run_copied(const run *r) { run_blocks(r, false); }
static void run_changed(const run *r) { run_blocks(r, true); }

/* ---- the kernel ----------------------------------------------------------------------------- */

bool pod__dw_pairs_takes(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    return s->c == C && s->k == C && s->r == 3 && s->s == 3 && s->stride == 1 && s->pad_h == 1 &&
           s->pad_w == 1 && s->w == COLUMNS && s->q == COLUMNS && s->p == s->h &&
           s->h % LINES == 0 && s->n % 2 == 0 && s->n > 0;
}

size_t pod__dw_pairs_scratch_bytes(void) { return RING * LINE; }

void pod__dw_pairs_run(const pod_conv_call *call, void *scratch)
{
    const pod_conv_shape *s = &call->shape;
    const run r = {.call = call,
                   .n_blocks = s->n / 2 * (s->h / LINES),
                   .of_image = s->h / LINES,
                   .ring = memset(scratch, 0, pod__dw_pairs_scratch_bytes())};
    memset(call->out, 0, SUMS_ROW * C * sizeof(float));
    pod_amx_begin();
    if (call->fused & POD_CONV_AFFINE_X)
        run_changed(&r);
    else
        run_copied(&r);
    pod_amx_end();
}
