/* Rows by number: every set against plain loops that add in the order of the header, to the bit. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/base/assert.h"
#include "kernels/embed/embed.h"
#include "tests/unit/kernels/kernel_test.h"

enum { FEW, SPREAD, ALL_SAME, ENDS, N_PATTERNS }; /* of numbers below `rows` */
enum { EVERY = 3 };                               /* of ids, is POD_NO_TOKEN where there are any */

static tensor numbers(int pattern, int64_t count, int64_t rows)
{
    tensor x = tensor_new(POD_I32, count);
    int32_t *id = x.data;
    for (int64_t i = 0; i < count; i++)
        id[i] = (int32_t)(pattern == FEW        ? i % 3 % rows
                          : pattern == SPREAD   ? i * 7919 % rows
                          : pattern == ALL_SAME ? rows - 1
                                                : i % 2 * (rows - 1));
    return x;
}

static void remove_some(tensor *ids, int64_t count)
{
    for (int64_t i = 0; i < count; i += EVERY) ((int32_t *)ids->data)[i] = POD_NO_TOKEN;
}

/* Element j of the row that id i looks up: its index in the table; -1 for POD_NO_TOKEN. */
static int64_t place_of(const tensor *ids, int64_t i, int64_t h)
{
    const int32_t id = ((int32_t *)ids->data)[i / h];
    return id == POD_NO_TOKEN ? -1 : id * h + i % h;
}

static const char *name_of(const pod_embed *k, const char *what, pod_dtype t, int pattern,
                           int64_t n, int64_t h)
{
    return pod_test_text("%s %s %s, numbers %d, (%lld, %lld)", k->name, what, pod_dtype_name(t),
                         pattern, (long long)n, (long long)h);
}

static void check_lookup(const pod_embed *k, int pattern, bool with_none, pod_dtype t, int64_t n,
                         int64_t v, int64_t h)
{
    TENSOR id = numbers(pattern, n, v), table = tensor_random(1, POD_F32, v * h);
    TENSOR y = tensor_new(t, n * h), want = tensor_new(t, n * h);
    tensor_sprinkle(&table);
    if (with_none) remove_some(&id, n);
    for (int64_t i = 0; i < n * h; i++) {
        const int64_t at = place_of(&id, i, h);
        pod_test_put(t, want.data, i, at < 0 ? 0 : tensor_get(&table, at));
    }
    k->lookup(n, v, h, id.data, table.data, t, y.data);
    tensor_check_same(name_of(k, "lookup", t, pattern, n, h), &y, &want);
}

/* Alone, with more, and in its memory. */
static void check_lookup_grad(const pod_embed *k, int pattern, bool with_none, pod_dtype t,
                              int64_t n, int64_t v, int64_t h)
{
    const char *name = name_of(k, "lookup_grad", t, pattern, n, h);
    TENSOR id = numbers(pattern, n, v), dy = tensor_random(2, t, n * h);
    TENSOR more = tensor_random(3, POD_F32, v * h), got = tensor_new(POD_F32, v * h);
    TENSOR alone = tensor_new(POD_F32, v * h), added = tensor_copy(&more);
    tensor_sprinkle(&dy);
    memset(alone.data, 0, tensor_bytes(&alone));
    if (with_none) remove_some(&id, n);
    for (int64_t i = 0; i < n * h; i++) {
        const int64_t at = place_of(&id, i, h);
        if (at < 0) continue;
        ((float *)alone.data)[at] += (float)tensor_get(&dy, i);
        ((float *)added.data)[at] += (float)tensor_get(&dy, i);
    }
    k->lookup_grad(n, v, h, id.data, t, dy.data, NULL, got.data);
    tensor_check_same(name, &got, &alone);
    k->lookup_grad(n, v, h, id.data, t, dy.data, more.data, got.data);
    tensor_check_same(name, &got, &added);
    k->lookup_grad(n, v, h, id.data, t, dy.data, more.data, more.data);
    tensor_check_same(name, &more, &added);
}

static void check_gather(const pod_embed *k, int pattern, pod_dtype t, pod_gather_shape s)
{
    const char *name = name_of(k, "gather", t, pattern, s.n * s.p, s.h);
    const int64_t n_x = s.n * s.s * s.h, n_y = s.n * s.p * s.h;
    TENSOR place = numbers(pattern, s.n * s.p, s.s), x = tensor_random(4, t, n_x);
    TENSOR y = tensor_new(t, n_y), want_y = tensor_new(t, n_y), dy = tensor_random(5, t, n_y);
    TENSOR dx = tensor_new(t, n_x), want_dx = tensor_new(t, n_x), sum = tensor_new(POD_F32, n_x);
    memset(sum.data, 0, tensor_bytes(&sum));
    for (int64_t i = 0; i < n_y; i++) {
        const int64_t row = i / s.h, from = row / s.p * s.s + ((int32_t *)place.data)[row];
        pod_test_put(t, want_y.data, i, tensor_get(&x, from * s.h + i % s.h));
        ((float *)sum.data)[from * s.h + i % s.h] += (float)tensor_get(&dy, i);
    }
    for (int64_t i = 0; i < n_x; i++) pod_test_put(t, want_dx.data, i, tensor_get(&sum, i));
    k->gather(&s, t, place.data, x.data, y.data);
    tensor_check_same(name, &y, &want_y);
    k->gather_grad(&s, t, place.data, dy.data, dx.data);
    tensor_check_same(name, &dx, &want_dx);
}

static void test_tables(void)
{
    static const int64_t shapes[][3] = {{0, 3, 5},  {1, 1, 1},    {7, 5, 16},  {40, 9, 33},
                                        {5, 4, 64}, {30, 20, 17}, {3, 2, 1100}};
    EACH_SET(embed, set)
        for (size_t i = 0; i < 2 * sizeof shapes / sizeof shapes[0]; i++)
            for (int pattern = 0; pattern < N_PATTERNS; pattern++) {
                const int64_t *s = shapes[i / 2];
                const pod_dtype t = i % 2 ? POD_BF16 : POD_F32;
                for (int none = 0; none < 2; none++) {
                    check_lookup(set, pattern, none, t, s[0], s[1], s[2]);
                    check_lookup_grad(set, pattern, none, t, s[0], s[1], s[2]);
                }
            }
}

static void test_sequences(void)
{
    static const pod_gather_shape shapes[] = {{0, 4, 2, 8},   {1, 1, 1, 1}, {2, 5, 7, 16},
                                              {3, 6, 2, 33},  {1, 3, 0, 4}, {2, 20, 20, 40},
                                              {1, 2, 3, 2065}};
    EACH_SET(embed, set)
        for (size_t i = 0; i < 2 * sizeof shapes / sizeof shapes[0]; i++)
            for (int pattern = 0; pattern < N_PATTERNS; pattern++)
                check_gather(set, pattern, i % 2 ? POD_BF16 : POD_F32, shapes[i / 2]);
}

/* Small wholes among large ones: another order of the terms would give another sum. */
static void test_order_of_terms(void)
{
    const int32_t id[4] = {1, 1, 1, 1};
    const float dy[4] = {0x1p24f, 1, 1, -0x1p24f}, reversed[4] = {-0x1p24f, 1, 1, 0x1p24f};
    EACH_SET(embed, set) {
        float got[2], backward[2];
        set->lookup_grad(4, 2, 1, id, POD_F32, dy, NULL, got);
        set->lookup_grad(4, 2, 1, id, POD_F32, reversed, NULL, backward);
        CU_ASSERT(got[0] == 0 && got[1] == 0 && backward[1] == 2);
    }
}

static void use(const pod_embed *k, int function, int32_t number)
{
    const float row[3] = {0};
    const pod_gather_shape s = {1, 3, 1, 1};
    float out[3];
    switch (function) {
    case 0: k->lookup(1, 3, 1, &number, row, POD_F32, out); break;
    case 1: k->lookup_grad(1, 3, 1, &number, POD_F32, row, NULL, out); break;
    case 2: k->gather(&s, POD_F32, &number, row, out); break;
    default: k->gather_grad(&s, POD_F32, &number, row, out);
    }
}

static void end_child(void) { _exit(77); }

/* A number of no row ends the job instead of reading what is not there; -1 is one of ids alone. */
static void test_numbers_out_of_range(void)
{
    static const int32_t numbers_tried[] = {-2, 3, INT32_MAX, 2, POD_NO_TOKEN};
    EACH_SET(embed, set)
        for (int i = 0; i < 20; i++) {
            const int32_t number = numbers_tried[i % 5];
            const bool is_right = number == 2 || (number == POD_NO_TOKEN && i / 5 < 2);
            const pid_t child = fork();
            if (child == 0) {
                (void)!freopen("/dev/null", "w", stderr);
                pod_assert_install(end_child, -1);
                use(set, i / 5, number);
                _exit(0);
            }
            int status = 0;
            CU_ASSERT(child > 0 && waitpid(child, &status, 0) == child);
            POD_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (is_right ? 0 : 77),
                      "%s, function %d, number %d: status %d", set->name, i / 5, (int)number,
                      status);
        }
}

POD_TEST_SUITE("embed", {"tables", test_tables}, {"sequences", test_sequences},
               {"order_of_terms", test_order_of_terms},
               {"numbers_out_of_range", test_numbers_out_of_range});
