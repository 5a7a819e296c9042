/* The products of amx_few/pairs.h, and between them, so that the tile unit waits for nothing,
 * in pieces: the next step's lines are packed, and what was multiplied is stored. */
#include "kernels/conv/amx_few/pairs.h"

#include <immintrin.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/simd/avx512.h"
#include "kernels/base/simd/tile_amx.h"

enum {
    C = 16,
    LINE_VALUES = 32 * C, /* of the image or the output */
    LINE_BYTES = LINE_VALUES * (int)sizeof(pod_bf16),
    BLOCK = POD__AMX_LINE_BYTES, /* two pixels */
    TILE = POD__AMX_TILE_BYTES,
    TILE_FLOATS = 16 * 16,
    PARTS = 4 /* sums and squares of even channels and of odd ones */
};

typedef pod__pairs_run run;

/* ---- lines are packed ------------------------------------------------------------------------- */

typedef struct channels {
    __m512 scale, shift;
    __m512i least; /* as integers: values up to it become zero, but NaNs are above */
} channels;

static channels channels_of(const pod_conv_call *call)
{
    channels x = {.least = _mm512_set1_epi16(INT16_MIN)};
    if (!(call->fused & POD_CONV_AFFINE_X)) return x;
    const int16_t minus_infinity = (int16_t)0xff80;
    x.scale = _mm512_loadu_ps(call->x_scale);
    x.shift = _mm512_loadu_ps(call->x_shift);
    if (call->fused & POD_CONV_RELU_X) x.least = _mm512_set1_epi16(minus_infinity);
    return x;
}

/* The tile unit leaves floating point one port, whole numbers two: so as many of these as can be. */
POD_INLINE __m512i block_of(const channels *x, const char *from, bool changes)
{
    const __m512i v = _mm512_loadu_si512(from);
    if (!changes) return v;
    const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i first = _mm512_slli_epi32(number, 16); /* of a float the upper half is a value */
    const __m512i second = _mm512_slli_epi32(_mm512_add_epi32(number, _mm512_set1_epi32(16)), 16);
    const __m512i low = _mm512_maskz_permutexvar_epi16(0xaaaaaaaa, first, v);
    const __m512i high = _mm512_maskz_permutexvar_epi16(0xaaaaaaaa, second, v);
    const __m512i y =
        (__m512i)_mm512_cvtne2ps_pbh(_mm512_fmadd_ps(_mm512_castsi512_ps(high), x->scale, x->shift),
                                     _mm512_fmadd_ps(_mm512_castsi512_ps(low), x->scale, x->shift));
    return _mm512_maskz_mov_epi16(_mm512_cmpgt_epi16_mask(y, x->least), y);
}

/* Block i of both lines of a step. */
POD_INLINE void pack(const channels *x, const char *from, char *to, int64_t i, bool changes)
{
    from += i * BLOCK, to += i * BLOCK;
    const __m512i upper = block_of(x, from, changes);
    const __m512i lower = block_of(x, from + LINE_BYTES, changes);
    _mm_prefetch(from + 2 * LINE_BYTES, _MM_HINT_T0);
    _mm_prefetch(from + 3 * LINE_BYTES, _MM_HINT_T0);
    _mm512_store_si512((void *)(to + POD__PAIRS_UPPER), upper);
    _mm512_store_si512((void *)(to + POD__PAIRS_LOWER), lower);
    _mm512_store_si512((void *)(to + POD__PAIRS_BEFORE + BLOCK),
                       _mm512_shuffle_i64x2(upper, lower, 0xee));
    if (i > 0)
        _mm512_store_si512((void *)(to + POD__PAIRS_BEHIND - BLOCK),
                           _mm512_shuffle_i64x2(upper, lower, 0x44));
}

/* ---- what was multiplied is stored ------------------------------------------------------------- */

/* How: bit by bit known when compiled. */
enum { CHANGES = 1, SUMS = 2, OTHER = 4 /* there is a bias, or ReLU, or output is streamed */ };

typedef struct epilogue {
    __m512 sums[PARTS];
    __mmask16 numbers;
} epilogue;

POD_INLINE void sum_up(epilogue *x, __m512i y)
{
    const __m512 even = pod_vec16_even(y), odd = pod_vec16_odd(y);
    x->sums[0] = _mm512_add_ps(x->sums[0], even);
    x->sums[1] = _mm512_add_ps(x->sums[1], odd);
    x->sums[2] = _mm512_fmadd_ps(even, even, x->sums[2]);
    x->sums[3] = _mm512_fmadd_ps(odd, odd, x->sums[3]);
}

POD_INLINE void change_otherwise(const run *r, __m512 *even, __m512 *odd)
{
    const unsigned fused = r->call->fused;
    if (fused & POD_CONV_BIAS) {
        const __m512 bias = _mm512_loadu_ps(r->call->bias);
        *even = _mm512_add_ps(*even, bias);
        *odd = _mm512_add_ps(*odd, bias);
    }
    if (fused & POD_CONV_RELU) { /* of a NaN: the second */
        *even = _mm512_max_ps(_mm512_setzero_ps(), *even);
        *odd = _mm512_max_ps(_mm512_setzero_ps(), *odd);
    }
}

/* Two pixels. */
POD_INLINE void store_row(const run *r, epilogue *x, const float *values, pod_bf16 *out, int how)
{
    __m512 even = _mm512_load_ps(values), odd = _mm512_load_ps(values + TILE_FLOATS);
    if (!(how & SUMS)) x->numbers = _mm512_mask_cmp_ps_mask(x->numbers, even, odd, _CMP_ORD_Q);
    if (how & OTHER) change_otherwise(r, &even, &odd);
    const __m512i y = (__m512i)_mm512_cvtne2ps_pbh(odd, even);
    if (how & OTHER && r->streams) {
        _mm512_stream_si512((void *)out, y);
    } else {
        _mm_prefetch((const char *)(out + 2 * LINE_VALUES), _MM_HINT_T0);
        _mm512_storeu_si512(out, y);
    }
    if (how & SUMS) sum_up(x, y);
}

/* A line's sums go to doubles: no term passes more than 16 roundings before. */
POD_INLINE void end_sums(double *totals, epilogue *x)
{
    for (int i = 0; i < PARTS; i++) {
        double *to = totals + i * 16;
        const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(x->sums[i]));
        const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(x->sums[i], 1));
        _mm512_store_pd(to, _mm512_add_pd(_mm512_load_pd(to), low));
        _mm512_store_pd(to + 8, _mm512_add_pd(_mm512_load_pd(to + 8), high));
    }
}

/* All rows of a line have left, some with what is not a number: once more. */
static __attribute__((noinline)) void store_fixed_up(const run *r, float *values, pod_bf16 *out)
{
    epilogue x = {.numbers = 0};
    pod__pairs_fix_up(r, (out - (pod_bf16 *)r->call->out) / LINE_VALUES, values);
    for (int64_t i = 0; i < 16; i++)
        store_row(r, &x, values + i * C, out + i * 2 * C, SUMS | OTHER);
    if (r->call->fused & POD_CONV_SUMS) end_sums(r->totals, &x);
}

/* ---- products ------------------------------------------------------------------------------- */

/* What a step reads and writes. */
typedef struct place {
    const char *now, *weights, *from; /* its lines as packed; the next step's */
    char *next;                       /* where these are packed */
    float *values;
    pod_bf16 *ended[2]; /* the lines that the step before ended: even one and odd one */
    double *totals;
} place;

/* Row by row of 32: the even line's 16, which were multiplied last, then the odd one's. */
POD_INLINE void run_epilogue(const run *r, const place *at, epilogue *x, int64_t row, int how)
{
    float *values = at->values + (row < 16 ? 2 * TILE_FLOATS : 0);
    pod_bf16 *out = at->ended[row / 16];
    store_row(r, x, values + row % 16 * C, out + row % 16 * 2 * C, how);
    if (row % 16 < 15) return;
    if (how & SUMS) x->numbers = _mm512_cmp_ps_mask(x->sums[2], x->sums[3], _CMP_ORD_Q);
    if (x->numbers != UINT16_MAX)
        store_fixed_up(r, values, out);
    else if (how & SUMS)
        end_sums(at->totals, x);
    for (int i = 0; i < PARTS; i++) x->sums[i] = _mm512_setzero_ps();
    x->numbers = UINT16_MAX;
}

/* A 16th of what there is to do beside the products. */
POD_INLINE void do_piece(const run *r, const place *at, const channels *in, epilogue *out,
                         int64_t piece, int how)
{
    pack(in, at->from, at->next, piece, how & CHANGES);
    run_epilogue(r, at, out, 2 * piece, how);
    run_epilogue(r, at, out, 2 * piece + 1, how);
    pod_amx_order();
}

/* Tiles 0 and 1 are even and odd outputs of the first line, 2 and 3 of the second; 4 and 5 are
 * lines, 6 and 7 filters. */
#define LINES(tile, where) _tile_loadd(tile, at->now + (where), BLOCK)
#define WEIGHTS(tile, i)   _tile_loadd(tile, at->weights + (i)*TILE, BLOCK)
#define SIDE(i)            (POD__PAIRS_SIDE + (i))

#define MULTIPLY(c, a, b) _tile_dpbf16ps(c, a, b)
#define STORE(tile, i)                                       \
    _tile_stored(tile, at->values + (i)*TILE_FLOATS, BLOCK); \
    _tile_zero(tile)
#define PIECE(i) do_piece(r, at, in, out, i, how)

/* The first step of an image ends no line before it, the last begins no second one. A tile of C has
 * every fourth product, for one takes as long as three or four; and what a product reads is loaded
 * as early as a tile is free, for what waits keeps what follows from being begun. */
POD_INLINE void step(const run *r, const place *at, const channels *in, epilogue *out, bool first,
                     bool last, int how)
{
    LINES(4, POD__PAIRS_BEFORE);
    LINES(5, POD__PAIRS_BEHIND);
    WEIGHTS(6, SIDE(0));
    WEIGHTS(7, SIDE(2));
    if (!first) MULTIPLY(0, 4, 6);
    WEIGHTS(6, SIDE(1));
    PIECE(0);
    MULTIPLY(2, 4, 7);
    WEIGHTS(7, SIDE(3));
    LINES(4, POD__PAIRS_UPPER);
    PIECE(1);
    if (!first) MULTIPLY(1, 5, 6);
    WEIGHTS(6, 4);
    PIECE(2);
    MULTIPLY(3, 5, 7);
    WEIGHTS(7, 5);
    LINES(5, POD__PAIRS_LOWER);
    if (!first) MULTIPLY(0, 4, 6);
    PIECE(3);
    MULTIPLY(2, 5, 6);
    WEIGHTS(6, 2);
    PIECE(4);
    if (!first) MULTIPLY(1, 4, 7);
    PIECE(5);
    MULTIPLY(3, 5, 7);
    WEIGHTS(7, 3);
    STORE(0, 0);
    MULTIPLY(0, 5, 6);
    PIECE(6);
    MULTIPLY(2, 4, 6);
    WEIGHTS(6, 0);
    PIECE(7);
    STORE(1, 1);
    MULTIPLY(1, 5, 7);
    PIECE(8);
    MULTIPLY(3, 4, 7);
    WEIGHTS(7, 1);
    MULTIPLY(0, 4, 6);
    PIECE(9);
    STORE(2, 2);
    if (!last) MULTIPLY(2, 5, 6);
    WEIGHTS(6, SIDE(4));
    PIECE(10);
    MULTIPLY(1, 4, 7);
    LINES(4, POD__PAIRS_BEFORE);
    PIECE(11);
    STORE(3, 3);
    if (!last) MULTIPLY(3, 5, 7);
    WEIGHTS(7, SIDE(6));
    LINES(5, POD__PAIRS_BEHIND);
    MULTIPLY(0, 4, 6);
    WEIGHTS(6, SIDE(5));
    PIECE(12);
    if (!last) MULTIPLY(2, 4, 7);
    WEIGHTS(7, SIDE(7));
    PIECE(13);
    MULTIPLY(1, 5, 6);
    PIECE(14);
    if (!last) MULTIPLY(3, 5, 7);
    PIECE(15);
}

POD_INLINE char *packed(const run *r, int64_t e) { return r->ring + (e & 1) * POD__PAIRS_BYTES; }

/* Before the first step no line has ended: zeros are stored where others will be. */
POD_INLINE place place_of(const run *r, int64_t e)
{
    const int64_t last = r->n_lines / 2 - 1;
    place at = {
        .now = packed(r, e), .weights = r->weights, .values = r->values, .totals = r->totals};
    at.from = (const char *)r->call->a + (e < last ? e + 1 : last) * 2 * LINE_BYTES;
    at.next = packed(r, e + 1);
    for (int64_t i = 0, line = 2 * e - 2; i < 2; i++, line++)
        at.ended[i] = (pod_bf16 *)r->call->out + (line < 0 ? 0 : line) * LINE_VALUES;
    return at;
}

POD_INLINE void run_steps(const run *r, int how)
{
    const channels in = channels_of(r->call);
    const int64_t n = r->n_lines / 2, of_image = r->h / 2;
    const char *image = r->call->a;
    epilogue out = {.numbers = UINT16_MAX};
    for (int64_t i = 0; i < 16; i++) pack(&in, image, packed(r, 0), i, how & CHANGES);
    pod_amx_order();
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (int64_t e = 0, i = 0; e < n; e++) {
        const place at = place_of(r, e);
        step(r, &at, &in, &out, i == 0, i == of_image - 1, how);
        if (e == 0) memset(r->totals, 0, PARTS * 16 * sizeof *r->totals);
        if (++i == of_image) i = 0;
    }
    const place at = place_of(r, n);
    _tile_stored(0, at.values, BLOCK);
    _tile_stored(1, at.values + TILE_FLOATS, BLOCK);
    for (int64_t row = 0; row < 32; row++) run_epilogue(r, &at, &out, row, how);
}

#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define DEFINE(how) \
    static void run_##how(const run *r) { run_steps(r, how); }
EACH(DEFINE)
#undef DEFINE

static void (*const run_how[])(const run *r) = {
#define ENTRY(how) run_##how,
    EACH(ENTRY)
#undef ENTRY
};

/* ---- the kernel ----------------------------------------------------------------------------- */

bool pod__few_pairs_takes(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    return s->c == C && s->k == C && s->r == 3 && s->s == 3 && s->stride == 1 && s->pad_h == 1 &&
           s->pad_w == 1 && s->w == 32 && s->q == 32 && s->p == s->h && s->h % 2 == 0 &&
           call->pass != POD_CONV_WEIGHT_GRAD;
}

typedef struct layout {
    size_t values, totals, weights, end;
} layout;

static layout layout_of(const pod_conv_call *call)
{
    layout at = {.values = 2 * POD__PAIRS_BYTES};
    at.totals = at.values + 4 * TILE_FLOATS * sizeof(float);
    at.weights = at.totals + PARTS * 16 * sizeof(double);
    at.end = at.weights + (call->fused & POD_CONV_PACKED_W ? 0 : pod__few_pairs_packed_bytes());
    return at;
}

size_t pod__few_pairs_scratch_bytes(const pod_conv_call *call) { return layout_of(call).end; }

/* Output that is larger than the cache is gone from it when it is read again. */
static bool streams(const run *r)
{
    const int64_t least = 4 * 1024 * 1024;
    return (uintptr_t)r->call->out % BLOCK == 0 && r->n_lines * LINE_BYTES >= least;
}

/* A part has every second channel: those of the first pixel of a pair, then those of the second. */
static void store_sums(const run *r)
{
    for (int64_t k = 0; k < C; k++) {
        const double *sum = r->totals + k % 2 * 16 + k / 2, *sum_sq = sum + 32;
        r->call->sum[k] = (float)(sum[0] + sum[8]);
        r->call->sum_sq[k] = (float)(sum_sq[0] + sum_sq[8]);
    }
}

void pod__few_pairs_run(const pod_conv_call *call, void *scratch)
{
    const layout at = layout_of(call);
    const bool keeps_sums = call->fused & POD_CONV_SUMS;
    char *room = scratch;
    run r = {.call = call, .h = call->shape.h, .weights = call->b, .ring = scratch};
    r.n_lines = call->shape.n * r.h;
    r.values = (void *)(room + at.values);
    r.totals = memset(room + at.totals, 0, PARTS * 16 * sizeof(double));
    r.streams = streams(&r);
    memset(r.ring, 0, at.values);
    if (!(call->fused & POD_CONV_PACKED_W)) {
        pod__few_pairs_pack(call, POD_BF16, call->b, room + at.weights);
        r.weights = room + at.weights;
    }
    const bool is_other = r.streams || call->fused & (POD_CONV_BIAS | POD_CONV_RELU);
    const int how = (call->fused & POD_CONV_AFFINE_X ? CHANGES : 0) | (keeps_sums ? SUMS : 0) |
                    (is_other ? OTHER : 0);
    pod_amx_begin();
    if (r.n_lines > 0) run_how[how](&r);
    _mm_sfence();
    pod_amx_end();
    if (keeps_sums) store_sums(&r);
}
