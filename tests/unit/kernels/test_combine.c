/* Combining: the reference against arithmetic, every set against the reference bit by bit, on
 * elements of any bits. */
#include <math.h>
#include <stdlib.h>

#include "kernels/base/bf16.h"
#include "kernels/base/binned.h"
#include "kernels/base/rng.h"
#include "kernels/combine/combine.h"
#include "tests/unit/kernels/kernel_test.h"

static const int64_t counts[] = {0,  1,  2,   8,   15,  16,  17,  31,  33,   47,
                                 64, 65, 127, 128, 129, 191, 257, 513, 1001, 100003};
enum { N_COUNTS = sizeof counts / sizeof counts[0], ROOM = 40 /* above every shift */ };

static const pod_dtype types[] = {POD_F32, POD_BF16, POD_BINNED};

/* ---- elements of any bits, wherever they lie ------------------------------------------------ */

/* A sum of two numbers, far apart or not, up to 2^15 times. */
static pod_binned binned_any(uint64_t two, uint32_t how)
{
    uint32_t bits[2] = {(uint32_t)two, (uint32_t)(two >> 32)};
    if (how & 0x10) bits[1] = (bits[1] & 0x83ffffff) | (bits[0] & 0x7c000000);
    float f[2];
    memcpy(f, bits, sizeof f);
    pod_binned sum = pod_binned_add(pod_binned_from_f32(f[0]), pod_binned_from_f32(f[1]));
    for (uint32_t i = how & 0xf; i > 0; i--) sum = pod_binned_add(sum, sum);
    return sum;
}

/* All exponents, NaNs with a payload, subnormals. */
static tensor tensor_any(uint64_t seed, pod_dtype t, int64_t count)
{
    tensor x = tensor_new(t, count);
    pod_rng rng = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST});
    for (int64_t i = 0; t == POD_BINNED && i < count; i++)
        ((pod_binned *)x.data)[i] = binned_any(pod_rng_u64(&rng), pod_rng_u32(&rng));
    if (t == POD_BINNED) return x;
    for (size_t i = 0; i < tensor_bytes(&x); i += 8) {
        const uint64_t bits = pod_rng_u64(&rng);
        const size_t left = tensor_bytes(&x) - i;
        memcpy((char *)x.data + i, &bits, left < sizeof bits ? left : sizeof bits);
    }
    return x;
}

/* `count` elements from `shift` on. Borrowed. */
static tensor tensor_part(const tensor *x, int64_t shift, int64_t count)
{
    return (tensor){x->t, count, (char *)x->data + shift * (int64_t)pod_dtype_bytes(x->t)};
}

/* What stands before and behind a part is as it was. */
static void check_rest(const char *name, const tensor *got, const tensor *was, int64_t shift,
                       int64_t count)
{
    const size_t bytes = pod_dtype_bytes(got->t);
    const size_t end = (size_t)(shift + count) * bytes;
    const bool same =
        memcmp(got->data, was->data, (size_t)shift * bytes) == 0 &&
        memcmp((char *)got->data + end, (char *)was->data + end, tensor_bytes(got) - end) == 0;
    POD_CHECK(same, "%s: written beside what it was given", name);
}

static void check_same(const char *name, const tensor *got, const tensor *want)
{
    if (got->t != POD_BINNED)
        tensor_check_same(name, got, want);
    else
        POD_CHECK(memcmp(got->data, want->data, tensor_bytes(got)) == 0, "%s: other bits", name);
}

static const pod_combine *reference(void) { return pod_combine_pick(POD_CPU_REFERENCE_ONLY); }

typedef void (*try_fn)(const pod_combine *k, int64_t count, int64_t shift);

/* Each set that runs here, but for the reference, at each count and some places. */
static void each_case(try_fn check)
{
    const int64_t shifts[] = {0, 7, 13};
    EACH_SET(combine, set)
        for (size_t i = 0; set->needs && i < N_COUNTS; i++)
            for (size_t j = 0; j < sizeof shifts / sizeof shifts[0]; j++)
                if (counts[i] < 10000 || shifts[j] == 13) check(set, counts[i], shifts[j]);
}

/* ---- add ------------------------------------------------------------------------------------- */

static void check_add(const pod_combine *k, int64_t count, int64_t shift, pod_dtype t,
                      pod_dtype t_sum, bool in_place)
{
    const char *name = pod_test_text("%s add %s to %s%s, %lld at %lld", k->name, pod_dtype_name(t),
                                     pod_dtype_name(t_sum), in_place ? " in place" : "",
                                     (long long)count, (long long)shift);
    TENSOR from_all = tensor_any(1, t, count + 3), own_all = tensor_any(2, t_sum, count + ROOM);
    TENSOR sum_all = tensor_new(t_sum, count + 2 * shift), want = tensor_new(t_sum, count);
    TENSOR was = tensor_copy(&own_all);
    const tensor from = tensor_part(&from_all, 3, count), own = tensor_part(&own_all, shift, count);
    const tensor sum = in_place ? own : tensor_part(&sum_all, 2 * shift, count);
    reference()->add(count, t, from.data, t_sum, own.data, want.data);
    k->add(count, t, from.data, t_sum, own.data, sum.data);
    check_same(name, &sum, &want);
    check_rest(name, &own_all, &was, shift, in_place ? count : 0);
}

static void check_adds(const pod_combine *k, int64_t count, int64_t shift)
{
    for (int in_place = 0; in_place < 2; in_place++) {
        check_add(k, count, shift, POD_F32, POD_F32, in_place);
        check_add(k, count, shift, POD_BF16, POD_BF16, in_place);
        check_add(k, count, shift, POD_BF16, POD_F32, in_place);
        check_add(k, count, shift, POD_BINNED, POD_BINNED, in_place);
    }
}

static void test_add(void) { each_case(check_adds); }

/* ---- add_all --------------------------------------------------------------------------------- */

/* Output k is input k when that is asked for and there is one. */
static void check_all(const pod_combine *k, int64_t count, int64_t shift, pod_dtype t, int n_in,
                      int n_out, bool in_place)
{
    static tensor in_all[POD_COMBINE_MAX_INPUTS], out_all[POD_COMBINE_MAX_INPUTS];
    const void *in[POD_COMBINE_MAX_INPUTS];
    void *out[POD_COMBINE_MAX_INPUTS];
    const char *name =
        pod_test_text("%s add_all %s %d to %d%s, %lld at %lld", k->name, pod_dtype_name(t), n_in,
                      n_out, in_place ? " in place" : "", (long long)count, (long long)shift);
    for (int j = 0; j < n_in; j++) {
        in_all[j] = tensor_any((uint64_t)j, t, count + (j == 0 ? ROOM : 0));
        in[j] = tensor_part(&in_all[j], j == 0 ? shift : 0, count).data;
    }
    for (int j = 0; j < n_out; j++) {
        out_all[j] = tensor_new(t, count + j % 3);
        out[j] = in_place && j < n_in ? (void *)(uintptr_t)in[j]
                                      : tensor_part(&out_all[j], j % 3, count).data;
    }
    TENSOR want = tensor_new(t, count), was = tensor_copy(&in_all[0]);
    reference()->add_all(count, t, n_in, in, 1, &want.data);
    k->add_all(count, t, n_in, in, n_out, out);
    for (int j = 0; j < n_out; j++) {
        const tensor got = {t, count, out[j]};
        check_same(name, &got, &want);
    }
    check_rest(name, &in_all[0], &was, shift, in_place ? count : 0);
    for (int j = 0; j < n_in; j++) tensor_free(&in_all[j]);
    for (int j = 0; j < n_out; j++) tensor_free(&out_all[j]);
}

static void check_alls(const pod_combine *k, int64_t count, int64_t shift)
{
    const int n_buffers[][2] = {{1, 1}, {1, 3}, {2, 2}, {3, 1}, {4, 4}, {5, 7}, {8, 8}, {16, 16}};
    for (size_t i = 0; i < sizeof n_buffers / sizeof n_buffers[0]; i++) {
        if (count > 10000 && n_buffers[i][0] != 3) continue; /* long enough with three */
        if (n_buffers[i][0] > 4 && shift % 13) continue;     /* two places do */
        for (int v = 0; v < 6; v++)
            check_all(k, count, shift, types[v / 2], n_buffers[i][0], n_buffers[i][1], v & 1);
    }
    if (count == 257 && shift == 13)
        check_all(k, count, shift, POD_F32, POD_COMBINE_MAX_INPUTS, POD_COMBINE_MAX_INPUTS, true);
}

static void test_add_all(void) { each_case(check_alls); }

/* ---- convert --------------------------------------------------------------------------------- */

static void check_convert(const pod_combine *k, int64_t count, int64_t shift, pod_dtype t_from,
                          pod_dtype t_to)
{
    const char *name =
        pod_test_text("%s convert %s to %s, %lld at %lld", k->name, pod_dtype_name(t_from),
                      pod_dtype_name(t_to), (long long)count, (long long)shift);
    TENSOR from_all = tensor_any(5, t_from, count + shift), want = tensor_new(t_to, count);
    TENSOR got_all = tensor_new(t_to, count + 1);
    const tensor from = tensor_part(&from_all, shift, count), got = tensor_part(&got_all, 1, count);
    reference()->convert(count, t_from, from.data, t_to, want.data);
    k->convert(count, t_from, from.data, t_to, got.data);
    check_same(name, &got, &want);
}

static void check_converts(const pod_combine *k, int64_t count, int64_t shift)
{
    for (int v = 0; v < 3; v++) {
        check_convert(k, count, shift, POD_F32, types[v]);
        check_convert(k, count, shift, types[v], POD_F32);
        check_convert(k, count, shift, types[v], types[v]);
    }
}

static void test_convert(void) { each_case(check_converts); }

/* ---- the reference --------------------------------------------------------------------------- */

/* Whole numbers that a float32 holds; in bf16 they are added before they are rounded, once. */
static void test_arithmetic(void)
{
    const float f[3] = {16777215.0f, 1.0f, -3.0f};
    const void *in_f[3] = {&f[0], &f[1], &f[2]};
    pod_bf16 b[3];
    const void *in_b[3] = {&b[0], &b[1], &b[2]};
    for (int i = 0; i < 3; i++) b[i] = pod_bf16_from_f32((const float[]){256, 1, 1}[i]);
    EACH_SET(combine, set) {
        float sum[2];
        pod_bf16 sum_b;
        void *out[2] = {&sum[0], &sum[1]}, *out_b[1] = {&sum_b};
        set->add_all(1, POD_F32, 3, in_f, 2, out);
        CU_ASSERT(sum[0] == 16777213.0f && sum[1] == 16777213.0f);
        set->add(1, POD_F32, &f[2], POD_F32, &f[0], &sum[0]);
        CU_ASSERT(sum[0] == 16777212.0f);
        set->add_all(1, POD_BF16, 3, in_b, 1, out_b);
        CU_ASSERT(pod_bf16_to_f32(sum_b) == 258.0f);
        set->add(1, POD_BF16, &b[1], POD_BF16, &b[0], &sum_b); /* a tie, to even */
        CU_ASSERT(pod_bf16_to_f32(sum_b) == 256.0f);
        set->add(1, POD_BF16, &b[1], POD_F32, &f[0], &sum[0]);
        CU_ASSERT(sum[0] == 16777216.0f);
        pod_binned big;
        set->convert(1, POD_F32, &f[0], POD_BINNED, &big);
        set->add(1, POD_BINNED, &big, POD_BINNED, &big, &big);
        set->convert(1, POD_BINNED, &big, POD_F32, &sum[0]);
        CU_ASSERT(sum[0] == 33554430.0f);
        set->convert(1, POD_BF16, &b[0], POD_F32, &sum[1]);
        CU_ASSERT(sum[1] == 256.0f);
        set->convert(1, POD_F32, &f[0], POD_BF16, &sum_b);
        CU_ASSERT(pod_bf16_to_f32(sum_b) == 16777216.0f);
    }
}

/* ---- by any operation ------------------------------------------------------------------------- */

static const pod_dtype all_types[] = {POD_F32, POD_BF16, POD_F16, POD_F64, POD_I8,    POD_U8,
                                      POD_I32, POD_U32,  POD_I64, POD_U64, POD_BINNED};
enum { N_ALL_TYPES = sizeof all_types / sizeof all_types[0] };

static double plain(pod_redop op, double a, double b)
{
    switch (op) {
    case POD_PROD: return a * b;
    case POD_MAX: return a > b ? a : b;
    case POD_MIN: return a < b ? a : b;
    default: return a + b;
    }
}

/* On small whole numbers every type gives what arithmetic gives. */
static void test_operations(void)
{
    const pod_combine *k = pod_combine_pick(pod_cpu_features());
    for (int t = 0; t < N_ALL_TYPES; t++)
        for (int op = 0; op < POD_N_OPS; op++) {
            if (pod_redop_why_not((pod_redop)op, all_types[t])) continue;
            TENSOR a = tensor_new(all_types[t], 1001), b = tensor_new(all_types[t], 1001);
            TENSOR c = tensor_new(all_types[t], 1001);
            for (int i = 0; i < 1001; i++) {
                pod_test_put(all_types[t], a.data, i, i % 11 + 1);
                pod_test_put(all_types[t], b.data, i, i % 7 + 1);
            }
            const void *const in[] = {a.data, b.data, a.data};
            pod_combine_all(k, (pod_redop)op, 1001, all_types[t], 3, in, 1, &c.data);
            pod_combine_two(k, (pod_redop)op, 1001, all_types[t], b.data, all_types[t], a.data,
                            a.data);
            int n_wrong = 0;
            for (int i = 0; i < 1001; i++) {
                const double two = plain((pod_redop)op, i % 11 + 1, i % 7 + 1);
                n_wrong += pod_test_get(all_types[t], a.data, i) != two;
                const double three = plain((pod_redop)op, two, i % 11 + 1);
                /* 11 x 7 x 11 is no number of these */
                const double limit = all_types[t] == POD_I8                               ? 127
                                     : all_types[t] == POD_BF16 || all_types[t] == POD_U8 ? 255
                                                                                          : 1e9;
                n_wrong += three <= limit && pod_test_get(all_types[t], c.data, i) != three;
            }
            POD_CHECK(n_wrong == 0, "%s of %s: %d wrong", pod_redop_name((pod_redop)op),
                      pod_dtype_name(all_types[t]), n_wrong);
        }
}

/* Any bits: as the reference, also where elements lie odd. */
static void check_fold(const pod_combine *k, int64_t count, int64_t shift)
{
    for (int t = 0; t < N_ALL_TYPES; t++)
        for (int op = POD_PROD; op < POD_AVG; op++) {
            const pod_dtype type = all_types[t];
            if (count > 1000 || pod_redop_why_not((pod_redop)op, type)) continue;
            TENSOR from = tensor_any(1, type, count + 3),
                   own_all = tensor_any(2, type, count + ROOM);
            TENSOR want = tensor_new(type, count);
            const tensor own = tensor_part(&own_all, shift, count);
            const void *data = tensor_part(&from, 3, count).data;
            pod_combine_two(reference(), (pod_redop)op, count, type, data, type, own.data,
                            want.data);
            pod_combine_two(k, (pod_redop)op, count, type, data, type, own.data, own.data);
            check_same(pod_redop_name((pod_redop)op), &own, &want);
        }
}

static void test_folds(void) { each_case(check_fold); }

static void test_divide(void)
{
    const pod_combine *k = pod_combine_pick(pod_cpu_features());
    for (int t = 0; t < N_ALL_TYPES; t++) {
        const pod_dtype type = all_types[t];
        if (type == POD_BINNED) continue;
        const bool is_float =
            type == POD_F32 || type == POD_BF16 || type == POD_F16 || type == POD_F64;
        char data[8];
        pod_test_put(type, data, 0, 10);
        pod_combine_divide(k, 1, type, 4, data);
        POD_CHECK(pod_test_get(type, data, 0) == (is_float ? 2.5 : 2), "10 / 4 in %s",
                  pod_dtype_name(type));
    }
}

/* Every half there is comes back; ties go to even, what is too large to infinity. */
static void test_halves(void)
{
    static const float edges[][2] = {{1 + 0x1p-11f, 1},    {1 + 0x3p-11f, 1 + 0x1p-9f},
                                     {65519, 65504},       {65520, INFINITY},
                                     {0x1p-25f, 0},        {0x1.8p-25f, 0x1p-24f},
                                     {0x3p-25f, 0x1p-23f}, {-0x1p-15f, -0x1p-15f}};
    int n_wrong = 0;
    EACH_SET(combine, set) {
        for (uint32_t bits = 0; bits < 0x10000; bits += 16) {
            uint16_t half[16], back[16];
            float wide[16];
            for (int i = 0; i < 16; i++) half[i] = (uint16_t)(bits + (uint32_t)i);
            set->convert(16, POD_F16, half, POD_F32, wide);
            set->convert(16, POD_F32, wide, POD_F16, back);
            for (int i = 0; i < 16; i++) {
                const bool is_nan = (half[i] & 0x7fff) > 0x7c00;
                n_wrong += back[i] != (is_nan ? half[i] | 0x200 : half[i]);
            }
        }
        for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++) {
            float in[16] = {edges[i][0]}, out[16];
            uint16_t half[16];
            set->convert(16, POD_F32, in, POD_F16, half);
            set->convert(16, POD_F16, half, POD_F32, out);
            POD_CHECK(out[0] == edges[i][1], "%s: %a became %a", set->name, (double)in[0],
                      (double)out[0]);
        }
    }
    CU_ASSERT_EQUAL(n_wrong, 0);
}

POD_TEST_SUITE("combine", {"arithmetic", test_arithmetic}, {"add", test_add},
               {"add_all", test_add_all}, {"convert", test_convert},
               {"operations", test_operations}, {"folds", test_folds}, {"divide", test_divide},
               {"halves", test_halves});
