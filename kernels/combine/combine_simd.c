/* Elements in vectors, compiled once for each instruction set. Lanes do not mix, so every set gives
 * the bits of the reference.
 *
 * What is long goes in strips of STRIP vectors that stay in registers while the inputs pass by: few
 * enough that the lines of sixteen inputs are still in L1 when outputs in the same place write them
 * again. Bf16 is taken 32 bits at a time, as elements of even and of odd index: that widens at half
 * the cost of spreading neighbours. Before the strips stands what reaches a line of the cache,
 * since a vector across two lines counts twice. */
#include "kernels/base/simd/simd.h"
#include "kernels/combine/combine.h"
#include "kernels/combine/f16.h"

static const pod_combine *reference(void) { return pod_combine_pick(POD_CPU_REFERENCE_ONLY); }

#ifdef __AVX512F__
#include "kernels/combine/binned_avx512.h"
#else /* no vectors for them */
static void binned_add(int64_t count, const void *from, const void *own, void *sum)
{
    reference()->add(count, POD_BINNED, from, POD_BINNED, own, sum);
}

static void binned_add_all(int64_t count, int n_in, const void *const in[], int n_out,
                           void *const out[])
{
    reference()->add_all(count, POD_BINNED, n_in, in, n_out, out);
}

static void binned_from_f32(int64_t count, const void *from, void *to)
{
    reference()->convert(count, POD_F32, from, POD_BINNED, to);
}

static void binned_to_f32(int64_t count, const void *from, void *to)
{
    reference()->convert(count, POD_BINNED, from, POD_F32, to);
}
#endif

enum { STRIP = 4, LINE = 64 };

/* Elements before the next line, at most count. Bounds of shares seldom are bounds of lines. */
POD_INLINE int64_t to_line(pod_dtype t, const void *data, int64_t count)
{
    const int64_t head = (int64_t)(-(uintptr_t)data % LINE / pod_dtype_bytes(t));
    return head < count ? head : count;
}

POD_INLINE void strip_load(pod_dtype t, const void *data, int64_t i, pod_vec v[STRIP])
{
    if (t == POD_F32) {
        for (int u = 0; u < STRIP; u++)
            v[u] = pod_vec_load(POD_F32, data, i + u * POD_VEC_LANES, POD_VEC_LANES);
        return;
    }
    for (int u = 0; u < STRIP; u += 2) {
        const pod_vec16 pairs = pod_vec16_load(data, i + u * POD_VEC_LANES, POD_VEC16_LANES);
        v[u] = pod_vec16_even(pairs);
        v[u + 1] = pod_vec16_odd(pairs);
    }
}

POD_INLINE void strip_store(pod_dtype t, void *data, int64_t i, const pod_vec v[STRIP])
{
    if (t == POD_F32) {
        for (int u = 0; u < STRIP; u++)
            pod_vec_store(POD_F32, data, i + u * POD_VEC_LANES, POD_VEC_LANES, v[u]);
        return;
    }
    for (int u = 0; u < STRIP; u += 2)
        pod_vec16_store(data, i + u * POD_VEC_LANES, POD_VEC16_LANES,
                        pod_vec16_join(v[u], v[u + 1]));
}

POD_INLINE void strip_add(pod_vec sum[STRIP], const pod_vec v[STRIP])
{
    for (int u = 0; u < STRIP; u++) sum[u] = pod_vec_add(sum[u], v[u]);
}

/* The same as strips, for the elements from `first` to `last` at the ends. */
POD_INLINE void add_few(int64_t first, int64_t last, pod_dtype t, const void *from, pod_dtype t_sum,
                        const void *own, void *sum)
{
    POD_VEC_EACH(POD_VEC_LANES, last - first, i, n, {
        const pod_vec v = pod_vec_load(t, from, first + i, n);
        const pod_vec to = pod_vec_load(t_sum, own, first + i, n);
        pod_vec_store(t_sum, sum, first + i, n, pod_vec_add(to, v));
    });
}

POD_INLINE void add_as(int64_t count, pod_dtype t, const void *from, const void *own, void *sum)
{
    int64_t i = to_line(t, sum, count);
    add_few(0, i, t, from, t, own, sum);
    for (; i + STRIP * POD_VEC_LANES <= count; i += STRIP * POD_VEC_LANES) {
        pod_vec v[STRIP], to[STRIP];
        strip_load(t, own, i, to);
        strip_load(t, from, i, v);
        strip_add(to, v);
        strip_store(t, sum, i, to);
    }
    add_few(i, count, t, from, t, own, sum);
}

static void combine_add(int64_t count, pod_dtype t, const void *from, pod_dtype t_sum,
                        const void *own, void *sum)
{
    if (t == POD_F32)
        add_as(count, POD_F32, from, own, sum);
    else if (t == POD_BF16 && t_sum == POD_BF16)
        add_as(count, POD_BF16, from, own, sum);
    else if (t == POD_BF16)
        add_few(0, count, POD_BF16, from, POD_F32, own, sum);
    else
        binned_add(count, from, own, sum);
}

POD_INLINE void add_all_few(int64_t first, int64_t last, pod_dtype t, int n_in,
                            const void *const in[], int n_out, void *const out[])
{
    POD_VEC_EACH(POD_VEC_LANES, last - first, i, n, {
        pod_vec sum = pod_vec_load(t, in[0], first + i, n);
        for (int j = 1; j < n_in; j++) sum = pod_vec_add(sum, pod_vec_load(t, in[j], first + i, n));
        for (int k = 0; k < n_out; k++) pod_vec_store(t, out[k], first + i, n, sum);
    });
}

POD_INLINE void add_all_as(int64_t count, pod_dtype t, int n_in, const void *const in[], int n_out,
                           void *const out[])
{
    int64_t i = to_line(t, in[0], count);
    add_all_few(0, i, t, n_in, in, n_out, out);
    for (; i + STRIP * POD_VEC_LANES <= count; i += STRIP * POD_VEC_LANES) {
        pod_vec sum[STRIP], v[STRIP];
        strip_load(t, in[0], i, sum);
        for (int j = 1; j < n_in; j++) {
            strip_load(t, in[j], i, v);
            strip_add(sum, v);
        }
        for (int k = 0; k < n_out; k++) strip_store(t, out[k], i, sum);
    }
    add_all_few(i, count, t, n_in, in, n_out, out);
}

static void combine_add_all(int64_t count, pod_dtype t, int n_in, const void *const in[], int n_out,
                            void *const out[])
{
    if (t == POD_F32)
        add_all_as(count, POD_F32, n_in, in, n_out, out);
    else if (t == POD_BF16)
        add_all_as(count, POD_BF16, n_in, in, n_out, out);
    else
        binned_add_all(count, n_in, in, n_out, out);
}

POD_INLINE void convert_as(int64_t count, pod_dtype t_from, const void *from, pod_dtype t_to,
                           void *to)
{
    POD_VEC_EACH(POD_VEC2_LANES, count, i, n,
                 { pod_vec2_store_flat(t_to, to, i, n, pod_vec2_load_flat(t_from, from, i, n)); });
}

#ifdef __AVX512F__
enum { F16_LANES = 16 };
POD_INLINE void f16_widen(const void *from, float *to)
{
    _mm512_storeu_ps(to, _mm512_cvtph_ps(_mm256_loadu_si256(from)));
}
POD_INLINE void f16_narrow(const float *from, void *to)
{
    _mm256_storeu_si256(to, _mm512_cvtps_ph(_mm512_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
}
#else
enum { F16_LANES = 8 };
POD_INLINE void f16_widen(const void *from, float *to)
{
    _mm256_storeu_ps(to, _mm256_cvtph_ps(_mm_loadu_si128(from)));
}
POD_INLINE void f16_narrow(const float *from, void *to)
{
    _mm_storeu_si128(to, _mm256_cvtps_ph(_mm256_loadu_ps(from), _MM_FROUND_TO_NEAREST_INT));
}
#endif

static void f16_to_f32(int64_t count, const pod_f16 *from, float *to)
{
    int64_t i = 0;
    for (; i + F16_LANES <= count; i += F16_LANES) f16_widen(from + i, to + i);
    reference()->convert(count - i, POD_F16, from + i, POD_F32, to + i);
}

static void f16_from_f32(int64_t count, const float *from, pod_f16 *to)
{
    int64_t i = 0;
    for (; i + F16_LANES <= count; i += F16_LANES) f16_narrow(from + i, to + i);
    reference()->convert(count - i, POD_F32, from + i, POD_F16, to + i);
}

static void combine_convert(int64_t count, pod_dtype t_from, const void *from, pod_dtype t_to,
                            void *to)
{
    if (t_from == POD_F32 && t_to == POD_BF16)
        convert_as(count, POD_F32, from, POD_BF16, to);
    else if (t_from == POD_BF16 && t_to == POD_F32)
        convert_as(count, POD_BF16, from, POD_F32, to);
    else if (t_from == POD_F32 && t_to == POD_F16)
        f16_from_f32(count, from, to);
    else if (t_from == POD_F16 && t_to == POD_F32)
        f16_to_f32(count, from, to);
    else if (t_from == POD_F32 && t_to == POD_BINNED)
        binned_from_f32(count, from, to);
    else if (t_from == POD_BINNED && t_to == POD_F32)
        binned_to_f32(count, from, to);
    else
        reference()->convert(count, t_from, from, t_to, to);
}

#include "kernels/combine/combine_fold.inc"

const pod_combine POD_ISA(pod__combine) = {POD_ISA_SET, combine_add, combine_add_all,
                                           combine_convert, combine_fold};
