/* Operands of attention_simd.c's matmuls: tokens of a head are copied to rows, stacks and
 * panels, which that file's first comment describes, and results from rows to tokens. An element
 * has 32 bits, as in attention_tiles.h; m is the type of the numbers in it. */
#ifndef MINIPOD_KERNELS_ATTENTION_ATTENTION_OPERANDS_H
#define MINIPOD_KERNELS_ATTENTION_ATTENTION_OPERANDS_H

#include "kernels/attention/attention_tiles.h"
#include "kernels/base/arith.h"
#include "kernels/base/simd/transpose.h"

#ifdef POD_SIMD

enum { LINE = 16, /* elements of a cache line */ LINE_BYTES = 64 };

/* Rows of an odd number of cache lines, so that few of them share a set of the cache. */
static int64_t row_elements(int64_t d) { return (pod_round_up(d, PANEL) / LINE | 1) * LINE; }

static int64_t panels_elements(int64_t n_tokens, int64_t d)
{
    return pod_round_up(n_tokens, PANEL) * d;
}

/* The queries of a head, or its keys. */
typedef struct tokens {
    pod_dtype t;
    int64_t first, stride, count, d; /* first, stride and d count numbers of type t */
} tokens;

/* The next head is beside this one in memory: fetches its row into L2 while this is computed. */
POD_INLINE void fetch_next(const tokens *of, const void *x, int64_t at)
{
    const int64_t bytes = of->d * (int64_t)pod_dtype_bytes(of->t);
    const char *next = (const char *)x + at * (int64_t)pod_dtype_bytes(of->t) + bytes;
    for (int64_t i = 0; i < bytes; i += LINE_BYTES) _mm_prefetch(next + i, _MM_HINT_T1);
}

/* Writes zeros to elements begin to ld - 1 of a row, whole vectors of them. */
POD_INLINE void fill_row(float *row, int64_t begin, int64_t ld)
{
    for (int64_t i = begin; i < ld; i += POD_VEC_LANES)
        pod_vec_store(POD_F32, row, i, POD_VEC_LANES, pod_vec_all(0));
}

/* out (count, LD) = factor x */
POD_INLINE void load_floats(tokens of, const void *x, float factor, int64_t ld, float *out)
{
    const pod_vec by = pod_vec_all(factor);
    for (int64_t r = 0; r < of.count; r++, out += ld) {
        const int64_t at = of.first + r * of.stride;
        fetch_next(&of, x, at);
        POD_VEC_EACH(POD_VEC_LANES, of.d, i, n, {
            const pod_vec v = pod_vec_mul(by, pod_vec_load(of.t, x, at + i, n));
            pod_vec_store(POD_F32, out, i, POD_VEC_LANES, v);
        });
        fill_row(out, pod_round_up(of.d, POD_VEC_LANES), ld);
    }
}

/* out (count, LD2) = x, which is bf16 */
POD_INLINE void copy_pairs(tokens of, const void *x, int64_t ld2, float *out)
{
    for (int64_t r = 0; r < of.count; r++, out += ld2) {
        const int64_t at = of.first + r * of.stride;
        fetch_next(&of, x, at);
        POD_VEC_EACH(POD_VEC16_LANES, of.d, i, n,
                     { pod_vec16_store(out, i, POD_VEC16_LANES, pod_vec16_load(x, at + i, n)); });
        fill_row(out, pod_round_up(of.d, POD_VEC16_LANES) / 2, ld2);
    }
}

/* out (pairs of tokens, LD): an element has a number of an even token and one of the next. */
POD_INLINE void stack_pairs(tokens of, const void *x, int64_t ld, float *out)
{
    for (int64_t r = 0; r < of.count; r += 2, out += ld) {
        const int64_t at = of.first + r * of.stride;
        const bool has_odd = r + 1 < of.count;
        fetch_next(&of, x, at);
        if (has_odd) fetch_next(&of, x, at + of.stride);
        POD_VEC_EACH(POD_VEC_LANES, of.d, i, n, {
            const pod_vec even = pod_vec_load(POD_BF16, x, at + i, n);
            const pod_vec odd =
                has_odd ? pod_vec_load(POD_BF16, x, at + of.stride + i, n) : pod_vec_all(0);
            pod_vec16_store(out, 2 * i, POD_VEC16_LANES, pod_vec16_rejoin(even, odd));
        });
        fill_row(out, pod_round_up(of.d, POD_VEC_LANES), ld);
    }
}

POD_INLINE void load_rows(pod_dtype m, tokens of, const void *x, float factor, int64_t ld2,
                          float *out)
{
    if (m == POD_BF16)
        copy_pairs(of, x, ld2, out);
    else
        load_floats(of, x, factor, ld2, out);
}

POD_INLINE void load_stacks(pod_dtype m, tokens of, const void *x, int64_t ld, float *out)
{
    if (m == POD_BF16)
        stack_pairs(of, x, ld, out);
    else
        load_floats(of, x, 1, ld, out);
}

/* x = factor rows (count, LD) */
POD_INLINE void store_rows(tokens of, const float *rows, float factor, int64_t ld, void *x)
{
    const pod_vec by = pod_vec_all(factor);
    for (int64_t r = 0; r < of.count; r++, rows += ld) {
        const int64_t at = of.first + r * of.stride;
        fetch_next(&of, x, at);
        POD_VEC_EACH(POD_VEC_LANES, of.d, i, n, {
            const pod_vec v = pod_vec_load(POD_F32, rows, i, POD_VEC_LANES);
            pod_vec_store(of.t, x, at + i, n, pod_vec_mul(by, v));
        });
    }
}

/* The elements of n numbers from x[at] on */
POD_INLINE pod_vec load_elements(pod_dtype m, pod_dtype t, const void *x, int64_t at, int n)
{
#ifdef __AVX512BF16__
    if (m == POD_BF16) return _mm512_castsi512_ps(pod_vec16_load(x, at, n));
#endif
    (void)m;
    return pod_vec_load(t, x, at, n);
}

/* out[panel][d2][PANEL], zeros beyond the last token */
POD_INLINE void load_panels(pod_dtype m, tokens of, const void *x, float *out)
{
    const int64_t d2 = elements_of(m, of.d);
    for (int64_t begin = 0; begin < of.count; begin += POD_VEC_LANES) {
        for (int64_t r = begin; r < pod_min(begin + POD_VEC_LANES, of.count); r++)
            fetch_next(&of, x, of.first + r * of.stride);
        float *half = out + begin / PANEL * PANEL * d2 + begin % PANEL;
        POD_VEC_EACH(POD_VEC_LANES * per_element(m), of.d, i, n, {
            float *to = half + i / per_element(m) * PANEL;
            pod_vec row[POD_VEC_LANES];
            for (int r = 0; r < POD_VEC_LANES; r++) {
                const int64_t at = of.first + (begin + r) * of.stride + i;
                row[r] = begin + r < of.count ? load_elements(m, of.t, x, at, n) : pod_vec_all(0);
            }
            pod_vec_transpose(row);
            for (int k = 0; k < elements_of(m, n); k++)
                pod_vec_store(POD_F32, to, k * PANEL, POD_VEC_LANES, row[k]);
        });
    }
    if (pod_round_up(of.count, POD_VEC_LANES) % PANEL == 0) return;
    float *half = out + of.count / PANEL * PANEL * d2 + POD_VEC_LANES;
    for (int64_t i = 0; i < d2; i++)
        pod_vec_store(POD_F32, half, i * PANEL, POD_VEC_LANES, pod_vec_all(0));
}

#endif
#endif
