/* Combining: the reference against arithmetic, every set against the reference bit by bit, on
 * elements of any bits. */
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

static bool runs(const pod_combine *k) { return !(k->needs & ~pod_cpu_features()); }

static void test_sets(void)
{
    int n;
    const pod_combine *sets = pod_combine_sets(&n);
    for (int i = 0; i < n; i++) {
        kernel_runs("combine", sets[i].name, sets[i].needs);
        POD_CHECK(pod_combine_pick(sets[i].needs) == &sets[i], "%s is not picked", sets[i].name);
    }
    CU_ASSERT_STRING_EQUAL(pod_combine_pick(POD_CPU_REFERENCE_ONLY)->name, "ref");
}

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
    int n;
    const pod_combine *sets = pod_combine_sets(&n);
    for (int s = 0; s < n - 1; s++) {
        if (!runs(&sets[s])) continue;
        for (size_t i = 0; i < N_COUNTS; i++)
            for (size_t j = 0; j < sizeof shifts / sizeof shifts[0]; j++)
                if (counts[i] < 10000 || shifts[j] == 13) check(&sets[s], counts[i], shifts[j]);
    }
}

/* ---- add ------------------------------------------------------------------------------------- */

static void check_add(const pod_combine *k, int64_t count, int64_t shift, pod_dtype t,
                      pod_dtype t_sum, bool in_place)
{
    char name[96];
    snprintf(name, sizeof name, "%s add %s to %s%s, %lld at %lld", k->name, pod_dtype_name(t),
             pod_dtype_name(t_sum), in_place ? " in place" : "", (long long)count,
             (long long)shift);
    tensor from_all = tensor_any(1, t, count + 3), own_all = tensor_any(2, t_sum, count + ROOM);
    tensor sum_all = tensor_new(t_sum, count + 2 * shift), want = tensor_new(t_sum, count);
    tensor was = tensor_copy(&own_all);
    const tensor from = tensor_part(&from_all, 3, count), own = tensor_part(&own_all, shift, count);
    const tensor sum = in_place ? own : tensor_part(&sum_all, 2 * shift, count);
    reference()->add(count, t, from.data, t_sum, own.data, want.data);
    k->add(count, t, from.data, t_sum, own.data, sum.data);
    check_same(name, &sum, &want);
    check_rest(name, &own_all, &was, shift, in_place ? count : 0);
    tensor_free(&from_all), tensor_free(&own_all), tensor_free(&was);
    tensor_free(&sum_all), tensor_free(&want);
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
    char name[96];
    snprintf(name, sizeof name, "%s add_all %s %d to %d%s, %lld at %lld", k->name,
             pod_dtype_name(t), n_in, n_out, in_place ? " in place" : "", (long long)count,
             (long long)shift);
    for (int j = 0; j < n_in; j++) {
        in_all[j] = tensor_any((uint64_t)j, t, count + (j == 0 ? ROOM : 0));
        in[j] = tensor_part(&in_all[j], j == 0 ? shift : 0, count).data;
    }
    for (int j = 0; j < n_out; j++) {
        out_all[j] = tensor_new(t, count + j % 3);
        out[j] = in_place && j < n_in ? (void *)(uintptr_t)in[j]
                                      : tensor_part(&out_all[j], j % 3, count).data;
    }
    tensor want = tensor_new(t, count), was = tensor_copy(&in_all[0]);
    reference()->add_all(count, t, n_in, in, 1, &want.data);
    k->add_all(count, t, n_in, in, n_out, out);
    for (int j = 0; j < n_out; j++) {
        const tensor got = {t, count, out[j]};
        check_same(name, &got, &want);
    }
    check_rest(name, &in_all[0], &was, shift, in_place ? count : 0);
    for (int j = 0; j < n_in; j++) tensor_free(&in_all[j]);
    for (int j = 0; j < n_out; j++) tensor_free(&out_all[j]);
    tensor_free(&want), tensor_free(&was);
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
    char name[96];
    snprintf(name, sizeof name, "%s convert %s to %s, %lld at %lld", k->name,
             pod_dtype_name(t_from), pod_dtype_name(t_to), (long long)count, (long long)shift);
    tensor from_all = tensor_any(5, t_from, count + shift), want = tensor_new(t_to, count);
    tensor got_all = tensor_new(t_to, count + 1);
    const tensor from = tensor_part(&from_all, shift, count), got = tensor_part(&got_all, 1, count);
    reference()->convert(count, t_from, from.data, t_to, want.data);
    k->convert(count, t_from, from.data, t_to, got.data);
    check_same(name, &got, &want);
    tensor_free(&from_all), tensor_free(&want), tensor_free(&got_all);
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
    int n;
    const pod_combine *sets = pod_combine_sets(&n);
    for (int s = 0; s < n; s++) {
        if (!runs(&sets[s])) continue;
        float sum[2];
        pod_bf16 sum_b;
        void *out[2] = {&sum[0], &sum[1]}, *out_b[1] = {&sum_b};
        sets[s].add_all(1, POD_F32, 3, in_f, 2, out);
        CU_ASSERT(sum[0] == 16777213.0f && sum[1] == 16777213.0f);
        sets[s].add(1, POD_F32, &f[2], POD_F32, &f[0], &sum[0]);
        CU_ASSERT(sum[0] == 16777212.0f);
        sets[s].add_all(1, POD_BF16, 3, in_b, 1, out_b);
        CU_ASSERT(pod_bf16_to_f32(sum_b) == 258.0f);
        sets[s].add(1, POD_BF16, &b[1], POD_BF16, &b[0], &sum_b); /* a tie, to even */
        CU_ASSERT(pod_bf16_to_f32(sum_b) == 256.0f);
        sets[s].add(1, POD_BF16, &b[1], POD_F32, &f[0], &sum[0]);
        CU_ASSERT(sum[0] == 16777216.0f);
        pod_binned big;
        sets[s].convert(1, POD_F32, &f[0], POD_BINNED, &big);
        sets[s].add(1, POD_BINNED, &big, POD_BINNED, &big, &big);
        sets[s].convert(1, POD_BINNED, &big, POD_F32, &sum[0]);
        CU_ASSERT(sum[0] == 33554430.0f);
        sets[s].convert(1, POD_BF16, &b[0], POD_F32, &sum[1]);
        CU_ASSERT(sum[1] == 256.0f);
        sets[s].convert(1, POD_F32, &f[0], POD_BF16, &sum_b);
        CU_ASSERT(pod_bf16_to_f32(sum_b) == 16777216.0f);
    }
}

static CU_TestInfo tests[] = {{"sets", test_sets},       {"arithmetic", test_arithmetic},
                              {"add", test_add},         {"add_all", test_add_all},
                              {"convert", test_convert}, CU_TEST_INFO_NULL};

CU_SuiteInfo pod_test_suites[] = {{"combine", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
