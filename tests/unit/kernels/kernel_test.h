/* What the tests of the kernel families share: which sets run here, tensors in guarded memory, and
 * equality of bits. */
#ifndef MINIPOD_TESTS_UNIT_KERNELS_KERNEL_TEST_H
#define MINIPOD_TESTS_UNIT_KERNELS_KERNEL_TEST_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "tests/harness/harness.h"

/* Whether this program runs the kernel; what the CPU lacks is a skip, and is said. */
static inline bool kernel_runs(const char *family, const char *name, uint32_t needs)
{
    char what[64];
    snprintf(what, sizeof what, "%s %s", family, name);
    pod_test_doing("%s", what);
    if (!(needs & ~pod_cpu_features())) return pod_test_tries(needs);
    pod_test_skip(what, "this CPU lacks the instructions");
    return false;
}

/* Runs what follows for each set of a family that this CPU can run; test_sets.c tells of the others. */
#define EACH_SET(family, k)                                                                      \
    for (const pod_##family *const *k##_at = pod_##family##_sets(), *k; (k = *k##_at); k##_at++) \
        if (k->needs & ~pod_cpu_features()) {                                                    \
        } else

/* A tensor with a guard page behind it. */
typedef struct tensor {
    pod_dtype t;
    int64_t count;
    void *data;
} tensor;

static inline size_t tensor_bytes(const tensor *x)
{
    return pod_dtype_bytes(x->t) * (size_t)x->count;
}

static inline tensor tensor_new(pod_dtype t, int64_t count)
{
    tensor x = {t, count, NULL};
    x.data = pod_test_guard(tensor_bytes(&x));
    return x;
}

static inline tensor tensor_random(uint64_t seed, pod_dtype t, int64_t count)
{
    tensor x = tensor_new(t, count);
    pod_test_fill(seed, count, t, x.data);
    return x;
}

static inline tensor tensor_copy(const tensor *of)
{
    tensor x = tensor_new(of->t, of->count);
    memcpy(x.data, of->data, tensor_bytes(of));
    return x;
}

static inline void tensor_free(tensor *x)
{
    pod_test_guard_free(x->data, tensor_bytes(x));
    x->data = NULL;
}

/* A tensor that is freed at the end of its block. */
#define TENSOR __attribute__((cleanup(tensor_free))) tensor

static inline double tensor_get(const tensor *x, int64_t i)
{
    return pod_test_get(x->t, x->data, i);
}

/* Puts NaNs, infinities, zeros of both signs and large values among the elements. */
static inline void tensor_sprinkle(tensor *x)
{
    const double odd_ones[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0.0, -0.0, 3e38};
    for (int64_t i = 0; i < 6; i++)
        if (i * 7 + 2 < x->count) pod_test_put(x->t, x->data, i * 7 + 2, odd_ones[i]);
}

static inline bool tensor_has_bits(const tensor *x, const tensor *of)
{
    return x->count == of->count && memcmp(x->data, of->data, tensor_bytes(x)) == 0;
}

/* The same bits, but for which NaN it is: with two NaNs among the operands that is the compiler's
 * choice. */
static inline void tensor_check_same(const char *name, const tensor *got, const tensor *want)
{
    const size_t bytes = pod_dtype_bytes(got->t);
    int64_t n_wrong = 0, first = 0;
    CU_PASS("");
    if (tensor_has_bits(got, want)) return;
    for (int64_t i = got->count - 1; i >= 0; i--) {
        const size_t at = (size_t)i * bytes;
        if (memcmp((char *)got->data + at, (char *)want->data + at, bytes) == 0) continue;
        if (isnan(tensor_get(got, i)) && isnan(tensor_get(want, i))) continue;
        n_wrong++;
        first = i;
    }
    POD_CHECK(n_wrong == 0, "%s: %lld of %lld elements, first %lld: %.9g, want %.9g", name,
              (long long)n_wrong, (long long)got->count, (long long)first, tensor_get(got, first),
              tensor_get(want, first));
}

/* A float32 tensor against double values and bounds. */
static inline void tensor_check_near(const char *name, const tensor *got, const double *want,
                                     const double *bound)
{
    pod_test_compare(name, got->count, got->t, got->data, want, bound);
}

/* Bound of a value stored as t whose float32 evaluation rounds intermediate results that sum up to
 * `rounded` in magnitude (the value itself included). */
static inline double bound_rounded(pod_dtype t, double rounded, double value)
{
    const double f32 = pod_test_roundoff(POD_F32) * rounded * 1.001 + 0x1p-149;
    if (t == POD_F32) return f32;
    return f32 + pod_test_roundoff(t) * (fabs(value) + f32) + 0x1p-126;
}

#endif
