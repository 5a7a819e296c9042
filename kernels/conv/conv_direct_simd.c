/* The kernels of conv_direct.h, compiled once for each instruction set. */
#include <stdbool.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/simd/simd.h"
#include "kernels/conv/conv_direct.h"
#include "kernels/conv/conv_kernels.h"

#define POD_DIRECT(what) POD_JOIN(pod__conv_direct_, POD_SIMD, _##what)

/* Registers: the sums, a row of filters, and the element that is broadcast. */
enum {
    LANES = POD_VEC_LANES,
    PANEL = 2 * LANES,
    WIDE_ROWS = LANES == 16 ? 14 : 6,    /* windows of a square of two vectors */
    NARROW_ROWS = LANES == 16 ? 16 : 12, /* of one */
    DW_ROWS = LANES / 2,                 /* filters of a square of the weight gradient */
    DW_VECTORS = 3,
    CACHE_LINE = 64,                          /* bytes */
    TRANSPOSED_ELEMENTS = LANES == 16 ? 9 : 6 /* by one or two vectors of filters */
};

/* What is multiplied (conv_direct.h): vectors hold elements of 32 bits, of one number or two. */
#ifdef __AVX512BF16__
typedef pod_bf16 number;
enum { PAIR = 2 };
static const pod_dtype number_type = POD_BF16;

/* Each lane gains the products of both numbers of x and y. */
POD_INLINE pod_vec multiply_add(pod_vec x, pod_vec y, pod_vec sum)
{
    return _mm512_dpbf16_ps(sum, (__m512bh)x, (__m512bh)y);
}

/* The element that begins at x, in all lanes; and one of that number only. */
POD_INLINE pod_vec element_at(const number *x)
{
    float element;
    memcpy(&element, x, sizeof element);
    return pod_vec_all(element);
}
POD_INLINE pod_vec single_at(const number *x)
{
    return _mm512_castsi512_ps(_mm512_set1_epi32(x->bits));
}

/* multiply_add of the element at x, which takes no register and no instruction of its own so. */
POD_INLINE pod_vec multiply_add_at(const number *x, pod_vec y, pod_vec sum)
{
    typedef const struct __attribute__((packed, may_alias)) {
        number of[PAIR];
    } element;
    __asm__("vdpbf16ps %2%{1to16%}, %1, %0" : "+v"(sum) : "v"(y), "m"(*(element *)x));
    return sum;
}

/* Elements of the lanes of a and b, which are rounded. */
POD_INLINE pod_vec element_of(pod_vec a, pod_vec b)
{
    return _mm512_castsi512_ps(pod_vec16_join(a, b));
}

/* Elements of n numbers each that stand at i and at j; below 0: zeros. n <= PANEL. */
POD_INLINE pod_vec2 elements_at(pod_dtype t, const void *data, int64_t i, int64_t j, int n)
{
    (void)t;
    const __m512i first =
        _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6,
                         37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(LANES));
    const pod_vec16 a = i < 0 ? _mm512_setzero_si512() : pod_vec16_load(data, i, n);
    const pod_vec16 b = j < 0 ? _mm512_setzero_si512() : pod_vec16_load(data, j, n);
    return (pod_vec2){_mm512_castsi512_ps(_mm512_permutex2var_epi16(a, first, b)),
                      _mm512_castsi512_ps(_mm512_permutex2var_epi16(a, second, b))};
}

/* Elements of n numbers, rounded, that follow each other from `at` on. */
POD_INLINE pod_vec elements_from(pod_dtype t, const void *w, int64_t at, int n)
{
    if (t == POD_BF16) return _mm512_castsi512_ps(pod_vec16_load(w, at, n));
    const int first = n < LANES ? n : LANES;
    return _mm512_castsi512_ps(pod_vec16_narrow(pod_vec_load(POD_F32, w, at, first),
                                                pod_vec_load(POD_F32, w, at + first, n - first)));
}
#else
typedef float number;
enum { PAIR = 1 };
static const pod_dtype number_type = POD_F32;

POD_INLINE pod_vec multiply_add(pod_vec x, pod_vec y, pod_vec sum)
{
    return pod_vec_fma(x, y, sum);
}
POD_INLINE pod_vec element_at(const number *x) { return pod_vec_all(*x); }
POD_INLINE pod_vec multiply_add_at(const number *x, pod_vec y, pod_vec sum)
{
    return pod_vec_fma(pod_vec_all(*x), y, sum);
}
POD_INLINE pod_vec single_at(const number *x) { return pod_vec_all(*x); }
POD_INLINE pod_vec element_of(pod_vec a, pod_vec b) { return (void)b, a; }
POD_INLINE pod_vec2 elements_at(pod_dtype t, const void *data, int64_t i, int64_t j, int n)
{
    (void)j;
    return pod_vec2_load_flat(t, data, i, n);
}
POD_INLINE pod_vec elements_from(pod_dtype t, const void *w, int64_t at, int n)
{
    return pod_vec_load(t, w, at, n);
}
#endif

static const pod__direct_isa isa = {LANES, PAIR};

static bool is_paired(const pod__direct *d) { return PAIR > d->per; }

static int64_t clamp(int64_t i, int64_t min, int64_t max)
{
    return i < min ? min : i > max ? max : i;
}
static void zero(float *to, int64_t count) { memset(to, 0, sizeof *to * (size_t)count); }

/* Images [n, n + images), lines [p, p + lines) of each. */
typedef struct block {
    int64_t n, images, p, lines;
} block;

/* Runs the statements for every block of d. */
#define EACH_BLOCK(d, b, ...)                                   \
    for (block b = {0}; b.n < (d)->n_images; b.n += b.images) { \
        b.images = pod_min((d)->images, (d)->n_images - b.n);   \
        for (b.p = 0; b.p < (d)->view.p; b.p += b.lines) {      \
            b.lines = pod_min((d)->lines, (d)->view.p - b.p);   \
            __VA_ARGS__                                         \
        }                                                       \
    }

#include "kernels/conv/conv_direct_dw.inc"
#include "kernels/conv/conv_direct_filters.inc"
#include "kernels/conv/conv_direct_strip.inc"

/* ---- the kernel ----------------------------------------------------------------------------- */

const char *POD_DIRECT(why_not)(const pod_conv_call *call)
{
    return pod__direct_why_not(call, isa);
}

size_t POD_DIRECT(scratch_bytes)(const pod_conv_call *call)
{
    return (size_t)pod__direct_room_of(call, isa).end * sizeof(float);
}

size_t POD_DIRECT(packed_bytes)(const pod_conv_call *call)
{
    return (size_t)pod_div_up(pod__direct_packed(call, isa), 16) * 16 * sizeof(float);
}

void POD_DIRECT(pack)(const pod_conv_call *call, pod_dtype from, const void *w, void *packed)
{
    pack_filters(call, from, w, packed);
}

static void run_weight_grad(const pod_conv_call *call, float *strip)
{
    const pod_conv_shape *s = &call->shape;
    float *side = strip + pod__direct_room_of(call, isa).side;
    if (s->n == 0) zero(call->out, s->k * s->r * s->s * s->c);
    for (int64_t i = 0; i < pod__direct_parts(call, isa); i++) {
        const pod__direct d = pod__direct_part(call, i, isa);
        bool adds = false;
        EACH_BLOCK(&d, b, {
            fill_strip(call, &d, &b, strip);
            pack_dy(call, &d, &b, side);
            add_block(&d, &b, strip, side, adds, (float *)call->out + d.first_filter * d.depth);
            adds = true;
        });
    }
}

/* Pixels that no window sees, or that windows see with some of the remainders only. */
static void zero_unseen(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    const int64_t count = s->n * s->h * s->w * s->c;
    if (call->pass == POD_CONV_INPUT_GRAD && (s->r < s->stride || s->s < s->stride))
        memset(call->out, 0, (size_t)count * pod_dtype_bytes(call->dtype));
}

static void convolve(const pod_conv_call *call, const pod__direct *d, const float *weights,
                     number *strip, double *sums)
{
    EACH_BLOCK(d, b, {
        const number *x = d->in_place ? place_of(d, &b) : strip;
        fetching next = fetching_of(d, &b);
        if (!d->in_place) fill_strip(call, d, &b, strip);
        for (int64_t k = 0; k < d->width; k += PANEL)
            run_panel(call, d, &b, x, weights + k * d->depth, k, &next, sums);
    });
}

static void run_filters(const pod_conv_call *call, float *scratch)
{
    const pod__direct_room room = pod__direct_room_of(call, isa);
    const int64_t channels = pod_div_up(call->shape.k, LANES) * LANES;
    const float *weights = call->b;
    double *sums = (void *)(scratch + room.sums);
    const bool has_sums = call->fused & POD_CONV_SUMS;
    if (!(call->fused & POD_CONV_PACKED_W)) {
        pack_filters(call, call->dtype, call->b, scratch + room.weights);
        weights = scratch + room.weights;
    }
    if (has_sums) memset(sums, 0, 2 * sizeof *sums * (size_t)channels);
    zero_unseen(call);
    for (int64_t i = 0; i < pod__direct_parts(call, isa); i++) {
        const pod__direct d = pod__direct_part(call, i, isa);
        convolve(call, &d, weights, (number *)scratch, sums);
        weights += pod__direct_part_packed(&d, isa);
    }
    for (int64_t k = 0; has_sums && k < call->shape.k; k++) {
        call->sum[k] = (float)sums[k];
        call->sum_sq[k] = (float)sums[channels + k];
    }
}

void POD_DIRECT(run)(const pod_conv_call *call, void *scratch)
{
    if (call->pass == POD_CONV_WEIGHT_GRAD)
        run_weight_grad(call, scratch);
    else
        run_filters(call, scratch);
}
