/* Convolutions of few channels, by units of 16 rows of two tiles. While unit i is multiplied
 *
 *   unit i - 2   leaves: it is read back, changed, summed up and stored
 *   unit i - 1   is stored from its tiles, which are not those of unit i
 *   unit i + 1   has laid what its windows see and no unit has seen before
 *
 * all of it in small pieces between the products, so that the tile unit waits for none of it. */
#include <string.h>

#include "kernels/base/tile_amx.h"
#include "kernels/conv/conv_amx_few.h"

#define INLINE static inline __attribute__((always_inline))

enum {
    BLOCK = POD__AMX_LINE_BYTES, /* bytes: two pixels */
    PIECE = POD__FEW_PIECE,      /* blocks */
    ROWS_PIECE = 4,
    TILE_FLOATS = 16 * 16, /* of C */
    SUM_PARTS = 4          /* sums and squares of even channels and of odd ones */
};

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t up(int64_t n, int64_t of) { return (n + of - 1) / of; }
static int64_t lines_of(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/* ---- laying lines --------------------------------------------------------------------------- */

typedef struct laying {
    const pod__few *few;
    const pod_conv_call *call;
    char *ring;
    const char *zeros;
    /* of a block: bit i stands for value i of its two pixels, folded: of one row of them */
    const uint32_t *masks;
    int64_t inner, inner_end;  /* the pieces between are whole in the image */
    __m512 scale[2], shift[2]; /* of even channels and of odd ones, of two pixels */
    __m512i place[POD__FEW_ROWS];
    __mmask32 takes[POD__FEW_ROWS];
    int64_t n, row, piece;     /* the next one */
    int64_t n_lines, n_pieces; /* laid */
    char *to;
    const char *from[POD__FEW_ROWS];
} laying;

INLINE char *ring_line(const pod__few *x, char *ring, int64_t number)
{
    return ring + (number & (x->n_ring - 1)) * x->pitch;
}

static const char *image_row(const laying *l, int64_t h)
{
    const pod__amx_view *v = &l->few->view;
    if (h < 0 || h >= v->h) return l->zeros;
    return (const char *)l->call->a + (((l->n * v->h + h) * v->w + v->left) * v->c) * 2;
}

static void begin_line(laying *l)
{
    const pod__amx_view *v = &l->few->view;
    l->piece = 0;
    l->to = ring_line(l->few, l->ring, l->n_lines);
    if (l->few->folds)
        for (int64_t r = 0; r < v->r; r++) l->from[r] = image_row(l, v->top + l->row * v->step + r);
    else
        l->from[0] = image_row(l, l->few->first + l->row);
}

static void end_line(laying *l)
{
    l->n_lines++;
    if (++l->row == l->few->n_seen) l->row = 0, l->n++;
    begin_line(l);
}

INLINE __m512 changed(__m512i x, __m512 scale, __m512 shift, bool rectified)
{
    const __m512 v = _mm512_fmadd_ps(_mm512_castsi512_ps(x), scale, shift);
    return rectified ? _mm512_max_ps(_mm512_setzero_ps(), v) : v; /* of a NaN: the second */
}

/* Even channels and odd ones are changed apart and put together again. */
INLINE __m512i changed_block(const laying *l, __m512i x, bool rectified)
{
    const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i together = _mm512_or_si512(
        number, _mm512_slli_epi32(_mm512_add_epi32(number, _mm512_set1_epi32(16)), 16));
    const __m512i high = _mm512_set1_epi32((int32_t)0xffff0000);
    const __m512 even = changed(_mm512_slli_epi32(x, 16), l->scale[0], l->shift[0], rectified);
    const __m512 odd = changed(_mm512_and_si512(x, high), l->scale[1], l->shift[1], rectified);
    return _mm512_permutexvar_epi16(together, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

INLINE void lay_blocks(const laying *l, bool changes, bool rectified, bool is_inner)
{
    __m512i block[PIECE];
    const int64_t first = l->piece * PIECE;
    const char *from = l->from[0] + first * BLOCK;
    for (int i = 0; i < PIECE; i++) {
        const __mmask32 mask = is_inner ? UINT32_MAX : l->masks[first + i];
        block[i] = is_inner ? _mm512_loadu_si512(from + i * BLOCK)
                            : _mm512_maskz_loadu_epi16(mask, from + i * BLOCK);
        if (changes) block[i] = changed_block(l, block[i], rectified);
        if (changes && !is_inner) block[i] = _mm512_maskz_mov_epi16(mask, block[i]);
    }
    for (int i = 0; i < PIECE; i++)
        _mm512_store_si512((void *)(l->to + (first + i) * BLOCK), block[i]);
}

INLINE void lay_piece_as(const laying *l, bool changes, bool rectified)
{
    if (l->piece >= l->inner && l->piece < l->inner_end)
        lay_blocks(l, changes, rectified, true);
    else
        lay_blocks(l, changes, rectified, false);
}

/* A pixel as laid: the values of one column of a window, row by row. */
INLINE void fold_blocks(const laying *l)
{
    const int64_t rows = l->few->view.r, bytes = l->few->view.c * 4, first = l->piece * PIECE;
    __m512i block[PIECE];
    for (int i = 0; i < PIECE; i++) block[i] = _mm512_setzero_si512();
    for (int64_t r = 0; r < rows; r++)
        for (int i = 0; i < PIECE; i++) {
            const __m512i x =
                _mm512_maskz_loadu_epi16(l->masks[first + i], l->from[r] + (first + i) * bytes);
            block[i] = _mm512_mask_permutexvar_epi16(block[i], l->takes[r], l->place[r], x);
        }
    for (int i = 0; i < PIECE; i++)
        _mm512_store_si512((void *)(l->to + (first + i) * BLOCK), block[i]);
}

static void lay_piece(laying *l)
{
    if (l->few->folds)
        fold_blocks(l);
    else if (!(l->call->fused & POD_CONV_AFFINE_X))
        lay_piece_as(l, false, false);
    else if (l->call->fused & POD_CONV_RELU_X)
        lay_piece_as(l, true, true);
    else
        lay_piece_as(l, true, false);
    l->n_pieces++;
    if (++l->piece == l->few->n_pieces) end_line(l);
}

INLINE void lay(laying *l, int64_t n_pieces)
{
    while (l->n_pieces < n_pieces) lay_piece(l);
}

/* ---- what leaves ---------------------------------------------------------------------------- */

/* 16 rows of two tiles, or fewer. */
typedef struct unit {
    const char *window[POD__FEW_ROWS]; /* rows of the first window, as laid */
    int64_t n_pieces;                  /* laid for it and all before it */
    pod_bf16 *out;
    int64_t n_rows; /* 0: there is no unit */
    bool has_half;  /* of its last row the first pixel is stored only */
} unit;

typedef struct sums {
    __m512 part[SUM_PARTS];
} sums;

typedef struct leaving {
    const pod__few *few;
    const unit *unit;
    float *values;       /* two tiles */
    int64_t row, n_rows; /* the next one, all */
    unsigned fused;
    bool streams;
    const char *weights;
    __m512 bias[2];
    sums sums;
    double *totals; /* (SUM_PARTS, 16) */
} leaving;

/* What is not a number is worked out again from its window alone: what lies beside that met zeros,
 * and these make no zeros of what is not finite. */
static __m512 window_sum(const leaving *x, int64_t row, int64_t half)
{
    const pod__amx_view *v = &x->few->view;
    const int64_t first = v->step == 1 ? half : 0; /* pixel */
    __m512 sum = _mm512_setzero_ps();
    for (int64_t r = 0; r < x->few->window_rows; r++)
        for (int64_t i = first * 8; i < (first + v->s) * 8; i++) {
            const char *weights = x->weights + (r * 4 + i / 16 * 2 + half) * POD__AMX_TILE_BYTES;
            int32_t two;
            memcpy(&two, x->unit->window[r] + row * BLOCK + i * 4, sizeof two);
            sum = _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_epi32(two),
                                   (__m512bh)_mm512_load_si512(weights + i % 16 * BLOCK));
        }
    return sum;
}

static __attribute__((noinline)) void mend_rows(const leaving *x, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++)
        for (int64_t half = 0; half < 2; half++)
            _mm512_store_ps(x->values + half * TILE_FLOATS + i * 16, window_sum(x, i, half));
}

INLINE void sum_up(sums *s, __m512i y)
{
    const __m512 even = _mm512_castsi512_ps(_mm512_slli_epi32(y, 16));
    const __m512 odd =
        _mm512_castsi512_ps(_mm512_and_si512(y, _mm512_set1_epi32((int32_t)0xffff0000)));
    s->part[0] = _mm512_add_ps(s->part[0], even);
    s->part[1] = _mm512_add_ps(s->part[1], odd);
    s->part[2] = _mm512_fmadd_ps(even, even, s->part[2]);
    s->part[3] = _mm512_fmadd_ps(odd, odd, s->part[3]);
}

/* What one unit summed up goes to doubles: no term passes more than 16 roundings before. */
INLINE void end_sums(leaving *x)
{
    for (int i = 0; i < SUM_PARTS; i++) {
        double *to = x->totals + i * 16;
        const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x->sums.part[i]));
        const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x->sums.part[i], 1));
        _mm512_store_pd(to, _mm512_add_pd(_mm512_load_pd(to), low));
        _mm512_store_pd(to + 8, _mm512_add_pd(_mm512_load_pd(to + 8), high));
        x->sums.part[i] = _mm512_setzero_ps();
    }
}

/* Two pixels of 16 filters, or one of 32. */
typedef struct pair {
    __m512 low, high;
} pair;

INLINE __m512i finished(const leaving *x, pair p, bool changes)
{
    if (changes && x->fused & POD_CONV_BIAS) {
        p.low = _mm512_add_ps(p.low, x->bias[0]);
        p.high = _mm512_add_ps(p.high, x->bias[1]);
    }
    if (changes && x->fused & POD_CONV_RELU) {
        p.low = _mm512_max_ps(_mm512_setzero_ps(), p.low); /* of a NaN: the second */
        p.high = _mm512_max_ps(_mm512_setzero_ps(), p.high);
    }
    return (__m512i)_mm512_cvtne2ps_pbh(p.high, p.low);
}

INLINE pair pair_at(const leaving *x, int64_t row)
{
    const float *from = x->values + row * 16;
    return (pair){_mm512_load_ps(from), _mm512_load_ps(from + TILE_FLOATS)};
}

/* n rows, without what is behind the last pixel of one that has half. Whether all were numbers;
 * unless they are taken as they are, sums are kept then only. */
INLINE bool finish_as(leaving *x, int64_t n, bool has_half, bool as_they_are, bool changes,
                      bool keeps_sums)
{
    pod_bf16 *out = x->unit->out + x->row * 32;
    __mmask16 numbers = UINT16_MAX;
    sums s = x->sums;
#pragma GCC unroll 4
    for (int64_t i = 0; i < n - has_half; i++) {
        const pair p = pair_at(x, x->row + i);
        numbers = _mm512_mask_cmp_ps_mask(numbers, p.low, p.high, _CMP_ORD_Q);
        const __m512i y = finished(x, p, changes);
        if (x->streams)
            _mm512_stream_si512((void *)(out + i * 32), y);
        else
            _mm512_storeu_si512(out + i * 32, y);
        if (keeps_sums) sum_up(&s, y);
    }
    if (has_half) {
        const pair p = pair_at(x, x->row + n - 1);
        numbers = _mm512_mask_cmp_ps_mask(numbers, p.low, p.low, _CMP_ORD_Q);
        const __m512i y = _mm512_maskz_mov_epi16(UINT16_MAX, finished(x, p, changes));
        _mm512_mask_storeu_epi16(out + (n - 1) * 32, UINT16_MAX, y);
        if (keeps_sums) sum_up(&s, y);
    }
    const bool good = as_they_are || numbers == UINT16_MAX;
    if (good && keeps_sums) x->sums = s;
    return good;
}

INLINE bool finish_rows(leaving *x, int64_t n, bool has_half, bool as_they_are)
{
    const bool changes = x->fused & (POD_CONV_BIAS | POD_CONV_RELU);
    if (x->fused & POD_CONV_SUMS)
        return changes ? finish_as(x, n, has_half, as_they_are, true, true)
                       : finish_as(x, n, has_half, as_they_are, false, true);
    return changes ? finish_as(x, n, has_half, as_they_are, true, false)
                   : finish_as(x, n, has_half, as_they_are, false, false);
}

/* The slow way: any number of rows, of which some are no numbers. */
static __attribute__((noinline)) void finish_few(leaving *x, int64_t n, bool has_half)
{
    if (finish_rows(x, n, has_half, false)) return;
    mend_rows(x, x->row, x->row + n);
    finish_rows(x, n, has_half, true);
}

/* The next rows, or what is left of them. */
static void finish_piece(leaving *x)
{
    const int64_t left = x->n_rows - x->row;
    if (left <= 0) return;
    const bool has_half = left <= ROWS_PIECE && x->unit->has_half;
    if (left < ROWS_PIECE || has_half || !finish_rows(x, ROWS_PIECE, false, false))
        finish_few(x, smaller(left, ROWS_PIECE), has_half);
    x->row += ROWS_PIECE;
    if (left <= ROWS_PIECE && x->fused & POD_CONV_SUMS) end_sums(x);
}

static void finish(leaving *x)
{
    while (x->row < x->n_rows) finish_piece(x);
}

static void begin_leaving(leaving *x, const unit *u, float *values)
{
    x->unit = u;
    x->values = values;
    x->row = 0;
    x->n_rows = u->n_rows;
}

/* ---- products ------------------------------------------------------------------------------- */

typedef struct run {
    pod__few few;
    const pod_conv_call *call;
    const char *weights, *zeros;
    char *ring;
    int64_t n, p, i; /* the next unit: of image n, line p */
} run;

INLINE void store_tiles(int which, float *values)
{
    if (which == 0) {
        _tile_stored(0, values, BLOCK);
        _tile_stored(1, values + TILE_FLOATS, BLOCK);
    } else {
        _tile_stored(2, values, BLOCK);
        _tile_stored(3, values + TILE_FLOATS, BLOCK);
    }
}

/* A unit in tiles 0 and 1 or, which 1, in 2 and 3; those of the other pair, which is before, go to
 * `values`. */
INLINE void multiply_as(int which, const run *r, const unit *u, laying *l, int64_t n_pieces,
                        leaving *x, float *values)
{
    const char *weights = r->weights;
    const int64_t n_chunks = 2 * r->few.window_rows;
    const int64_t to_lay = n_pieces - l->n_pieces, lay_at_once = (to_lay + n_chunks - 1) / n_chunks;
    pod_amx_order();
    if (which == 0) {
        _tile_zero(0);
        _tile_zero(1);
    } else {
        _tile_zero(2);
        _tile_zero(3);
    }
    for (int64_t i = 0; i < n_chunks; i++, weights += 2 * POD__AMX_TILE_BYTES) {
        _tile_loadd(4, u->window[i / 2] + i % 2 * BLOCK, BLOCK);
        _tile_loadd(6, weights, BLOCK);
        _tile_loadd(7, weights + POD__AMX_TILE_BYTES, BLOCK);
        if (which == 0) {
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
        } else {
            _tile_dpbf16ps(2, 4, 6);
            _tile_dpbf16ps(3, 4, 7);
        }
        if (i == n_chunks / 3) store_tiles(1 - which, values);
        lay(l, smaller(n_pieces, l->n_pieces + lay_at_once));
        finish_piece(x);
    }
    finish(x);
}

static void multiply(int64_t i, const run *r, const unit *u, laying *l, int64_t n_pieces,
                     leaving *x, float *values)
{
    if (i % 2 == 0)
        multiply_as(0, r, u, l, n_pieces, x, values);
    else
        multiply_as(1, r, u, l, n_pieces, x, values);
}

/* What is stored piece by piece is read piece by piece: wider loads would wait for the stores. */
static void place_unit(run *r, unit *u)
{
    const pod__few *x = &r->few;
    const pod__amx_view *v = &x->view;
    u->n_rows = 0;
    u->n_pieces = 0;
    if (r->n == v->n) return;
    const int64_t row = r->i * POD__AMX_ROWS, pixels = v->step == 1 ? 2 : 1;
    u->n_rows = smaller(POD__AMX_ROWS, x->n_rows - row);
    u->out = (pod_bf16 *)r->call->out + ((r->n * v->p + r->p) * v->q + row * pixels) * v->width;
    u->has_half = (row + u->n_rows) * pixels > v->q;
    for (int64_t i = 0; i < x->window_rows; i++) {
        const int64_t h = x->folds ? r->p : v->top + r->p * v->step + i;
        const int64_t number = r->n * x->n_seen + h - x->first;
        const bool is_laid = x->folds || (h >= 0 && h < v->h);
        u->window[i] = is_laid ? ring_line(x, r->ring, number) + row * BLOCK : r->zeros;
        if (is_laid) u->n_pieces = number * x->n_pieces + up(row + u->n_rows + 1, PIECE);
    }
    if (++r->i < x->n_units) return;
    r->i = 0;
    if (++r->p < v->p) return;
    r->p = 0;
    r->n++;
}

static void run_units(run *r, laying *l, leaving *x, float *values)
{
    unit units[4];
    float *const halves[] = {values, values + 2 * TILE_FLOATS};
    place_unit(r, &units[0]);
    lay(l, units[0].n_pieces);
    int64_t i = 0;
    for (; units[i % 4].n_rows > 0; i++) {
        unit *next = &units[(i + 1) % 4];
        place_unit(r, next);
        multiply(i, r, &units[i % 4], l, next->n_pieces, x, halves[(i + 1) % 2]);
        if (i > 0) begin_leaving(x, &units[(i - 1) % 4], halves[(i - 1) % 2]);
    }
    if (i == 0) return;
    finish(x);
    i--;
    if (i % 2 == 0)
        store_tiles(0, halves[0]);
    else
        store_tiles(1, halves[1]);
    begin_leaving(x, &units[i % 4], halves[i % 2]);
    finish(x);
}

/* ---- the kernel ----------------------------------------------------------------------------- */

typedef struct layout {
    int64_t zeros, values, totals, masks, weights, end;
} layout;

static layout layout_of(const pod__few *x, unsigned fused)
{
    layout at = {.zeros = x->n_ring * x->pitch};
    at.values = at.zeros + x->pitch;
    at.totals = at.values + 4 * TILE_FLOATS * (int64_t)sizeof(float);
    at.masks = at.totals + SUM_PARTS * 16 * (int64_t)sizeof(double);
    at.weights = at.masks + lines_of(x->n_pieces * PIECE * (int64_t)sizeof(uint32_t));
    at.end = at.weights + (fused & POD_CONV_PACKED_W ? 0 : (int64_t)pod__few_weight_bytes(x));
    return at;
}

size_t pod__few_scratch_bytes(const pod_conv_call *call)
{
    const pod__few x = pod__few_of(call);
    return (size_t)layout_of(&x, call->fused).end;
}

static void place_masks(const pod__few *x, uint32_t *masks)
{
    const pod__amx_view *v = &x->view;
    const uint32_t pixel = (1u << v->c) - 1;
    for (int64_t i = 0; i < x->n_pieces * PIECE; i++) {
        const int64_t w = v->left + 2 * i;
        masks[i] =
            (w >= 0 && w < v->w ? pixel : 0) | (w + 1 >= 0 && w + 1 < v->w ? pixel << v->c : 0);
    }
}

/* Where the values of two pixels of a row go: from 2 C that follow each other. */
static void place_rows(laying *l)
{
    const pod__amx_view *v = &l->few->view;
    for (int64_t r = 0; r < v->r; r++) {
        uint16_t from[32] = {0};
        l->takes[r] = 0;
        for (int64_t i = 0; i < 2 * v->c; i++) {
            const int64_t to = i / v->c * POD__FEW_CHANNELS + r * v->c + i % v->c;
            from[to] = (uint16_t)i;
            l->takes[r] |= 1u << to;
        }
        l->place[r] = _mm512_loadu_si512(from);
    }
}

static bool is_inner(const uint32_t *masks, int64_t piece)
{
    uint32_t all = UINT32_MAX;
    for (int64_t i = 0; i < PIECE; i++) all &= masks[piece * PIECE + i];
    return all == UINT32_MAX;
}

static laying laying_of(const run *r, uint32_t *masks)
{
    laying l = {.few = &r->few, .call = r->call, .ring = r->ring, .zeros = r->zeros};
    place_masks(&r->few, masks);
    l.masks = masks;
    while (l.inner < r->few.n_pieces && !is_inner(masks, l.inner)) l.inner++;
    l.inner_end = l.inner;
    while (l.inner_end < r->few.n_pieces && is_inner(masks, l.inner_end)) l.inner_end++;
    if (r->few.folds) place_rows(&l);
    if (r->call->fused & POD_CONV_AFFINE_X) {
        const __m512i even =
            _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
        const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
        const __m512 scale = _mm512_loadu_ps(r->call->x_scale);
        const __m512 shift = _mm512_loadu_ps(r->call->x_shift);
        l.scale[0] = _mm512_permutexvar_ps(even, scale);
        l.scale[1] = _mm512_permutexvar_ps(odd, scale);
        l.shift[0] = _mm512_permutexvar_ps(even, shift);
        l.shift[1] = _mm512_permutexvar_ps(odd, shift);
    }
    begin_line(&l);
    return l;
}

/* Output that is larger than the cache is gone from it when it is read again. */
static bool streams(const run *r)
{
    const pod__amx_view *v = &r->few.view;
    const int64_t least = 4 * 1024 * 1024, line_bytes = v->q * v->width * 2;
    return line_bytes % BLOCK == 0 && (uintptr_t)r->call->out % BLOCK == 0 &&
           v->n * v->p * line_bytes >= least;
}

static leaving leaving_of(const run *r, double *totals)
{
    leaving x = {.few = &r->few,
                 .weights = r->weights,
                 .fused = r->call->fused,
                 .streams = streams(r),
                 .totals = totals};
    memset(totals, 0, SUM_PARTS * 16 * sizeof *totals);
    if (x.fused & POD_CONV_BIAS) {
        x.bias[0] = _mm512_loadu_ps(r->call->bias);
        x.bias[1] = _mm512_loadu_ps(r->call->bias + (r->few.view.width - 16));
    }
    return x;
}

/* A part has every second channel: those of the first half of a row, then those of the second. */
static void store_sums(const pod_conv_call *call, const double *totals)
{
    for (int64_t k = 0; k < call->shape.k; k++) {
        const double *sum = totals + k % 2 * 16 + k / 2, *sum_sq = sum + 32;
        const bool twice = call->shape.k == 16;
        call->sum[k] = (float)(sum[0] + (twice ? sum[8] : 0.0));
        call->sum_sq[k] = (float)(sum_sq[0] + (twice ? sum_sq[8] : 0.0));
    }
}

void pod__few_run(const pod_conv_call *call, void *scratch)
{
    char *room = scratch;
    run r = {.few = pod__few_of(call), .call = call, .weights = call->b, .ring = scratch};
    const layout at = layout_of(&r.few, call->fused);
    double *totals = (void *)(room + at.totals);
    r.zeros = memset(room + at.zeros, 0, (size_t)r.few.pitch);
    if (!(call->fused & POD_CONV_PACKED_W) && call->shape.n > 0) {
        pod__few_pack(call, POD_BF16, call->b, room + at.weights);
        r.weights = room + at.weights;
    }
    laying l = laying_of(&r, (void *)(room + at.masks));
    leaving x = leaving_of(&r, totals);
    pod_amx_begin();
    run_units(&r, &l, &x, (void *)(room + at.values));
    _mm_sfence();
    pod_amx_end();
    if (call->fused & POD_CONV_SUMS) store_sums(call, totals);
}
