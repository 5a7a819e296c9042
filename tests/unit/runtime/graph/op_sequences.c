/* runtime/ops: positions, dropout, and the two forms of attention. */
#include <math.h>

#include "kernels/base/cpu.h"
#include "tests/harness/harness.h"
#include "tests/unit/runtime/graph/op_cases.h"

/* Vaswani et al. 2017, section 3.5: sines in front, cosines behind. */
void op_sinusoids_are_of_positions(void)
{
    enum { FIRST = -1, N = 5, H = 8 };
    pod_graph *g = NULL;
    pod_interp *it = NULL;
    POD_CHECK_OK(pod_graph_create(pod_test_arena(), &g));
    pod_value y = pod_sinusoids(g, FIRST, N, H);
    POD_CHECK_OK(pod_interp_create(g, pod_cpu_features(), &it));
    pod_interp_run(it, -1);
    for (int p = 0; p < N; p++)
        for (int i = 0; i < H / 2; i++) {
            const double angle = (FIRST + p) * pow(10000, -i / (H / 2 - 1.0));
            CU_ASSERT_DOUBLE_EQUAL(pod_interp_get(it, y, p * H + i), sin(angle), 1e-7);
            CU_ASSERT_DOUBLE_EQUAL(pod_interp_get(it, y, p * H + H / 2 + i), cos(angle), 1e-7);
        }
    pod_interp_destroy(it);
}

/* A token's place in its part: an empty part, ends that fall, more than there are tokens. */
void op_parts_have_positions(void)
{
    enum { N = 2, P = 3, S = 7 };
    static const int32_t ends[N * P] = {2, 2, 5, 4, 3, 9};
    static const int32_t want[N * S] = {0, 1, 0, 1, 2, 0, 0, 0, 1, 2, 3, 0, 1, 2};
    pod_graph *g = NULL;
    pod_interp *it = NULL;
    POD_CHECK_OK(pod_graph_create(pod_test_arena(), &g));
    pod_value of = pod_input(g, "ends", pod_type_of(POD_I32, 2, (int64_t[]){N, P}), 0);
    pod_value at = pod_part_positions(g, of, S);
    POD_CHECK_OK(pod_interp_create(g, pod_cpu_features(), &it));
    memcpy(pod_interp_data(it, of), ends, sizeof ends);
    pod_interp_run(it, -1);
    CU_ASSERT(memcmp(pod_interp_data(it, at), want, sizeof want) == 0);
    pod_interp_destroy(it);
}

/* Each element, or each sample, is left out with the rate asked for and otherwise made larger; the
 * draws and the scope decide, not the place in the batch. Each sample has its positions. */
void op_some_are_left_out(void)
{
    enum { N = 4000, C = 6 };
    const float rate = 0.3f;
    pod_graph *g = NULL;
    pod_interp *it = NULL;
    POD_CHECK_OK(pod_graph_create(pod_test_arena(), &g));
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 2, (int64_t[]){N, C}), 0);
    pod_value draws = pod_input(g, "draws", pod_type_of(POD_I32, 1, (int64_t[]){N}), 0);
    pod_value y = pod_dropout(g, x, draws, rate), z = pod_drop_samples(g, x, draws, rate);
    pod_value rows = pod_dropout(g, pod_reshape(g, x, (pod_shape){2, {2 * N, C / 2}}), draws, rate);
    pod_value positions = pod_positions(g, x, C);
    pod_scope_begin(g, "other");
    pod_value other = pod_drop_samples(g, x, draws, rate);
    pod_scope_end(g);
    CU_ASSERT_EQUAL(pod_dropout(g, x, draws, 0).id, x.id);
    POD_CHECK_OK(pod_interp_create(g, pod_cpu_features(), &it));
    for (int i = 0; i < N * C; i++) ((float *)pod_interp_data(it, x))[i] = 1;
    for (int i = 0; i < N; i++) /* the second half repeats the first */
        ((int32_t *)pod_interp_data(it, draws))[i] =
            (int32_t)((uint32_t)(i % (N / 2)) * 747796405u);
    pod_interp_run(it, -1);
    int n_left[C] = {0}, n_samples = 0, n_both = 0;
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < C; c++) {
            const double at = pod_interp_get(it, y, i * C + c);
            const double whole = pod_interp_get(it, z, i * C + c);
            n_left[c] += at > 0;
            CU_ASSERT(at == 0 || at == (double)(1 / (1 - rate)));
            CU_ASSERT(at == pod_interp_get(it, rows, i * C + c));
            CU_ASSERT_EQUAL(((const int32_t *)pod_interp_data(it, positions))[i * C + c], c);
            CU_ASSERT(whole == pod_interp_get(it, z, i * C));
            CU_ASSERT(at == pod_interp_get(it, y, i % (N / 2) * C + c));
        }
        const bool kept = pod_interp_get(it, z, i * C) > 0;
        n_samples += kept;
        n_both += kept && pod_interp_get(it, other, i * C) > 0;
    }
    /* 2,000 independent draws, counted twice: 5 standard deviations */
    const double bound = 5 * 2 * sqrt(2000 * 0.3 * 0.7);
    for (int c = 0; c < C; c++)
        POD_CHECK(fabs(n_left[c] - 0.7 * N) < bound, "%d of %d stay", n_left[c], N);
    POD_CHECK(fabs(n_samples - 0.7 * N) < bound, "%d of %d samples stay", n_samples, N);
    POD_CHECK(fabs(n_both - 0.49 * N) < bound, "%d of %d samples stay in both", n_both, N);
    pod_interp_destroy(it);
}

/* ---- attention: fused and plain ------------------------------------------------------------- */

enum { SEQUENCES = 3, QUERIES = 7, KEYS = 9, PARTS = 3, FEATURES = 6, HEADS = 2 };

/* Parts of every kind: empty, of one token, up to the end, with padding behind; of queries and of
 * keys. */
static const int32_t lengths[SEQUENCES] = {KEYS, 0, 4};
static const int32_t q_ends[SEQUENCES * PARTS] = {3, 4, 7, 0, 5, 5, 2, 4, 6};
static const int32_t k_ends[SEQUENCES * PARTS] = {2, 6, 9, 1, 4, 8, 5, 5, 8};

typedef struct mask {
    const char *name;
    int64_t n_queries;
    const int32_t *q, *k; /* k alone: lengths */
    bool causal;
} mask;

static pod_value ints(pod_graph *g, const char *name, const int32_t *of)
{
    const int64_t dim[] = {SEQUENCES, PARTS};
    return of ? pod_input(g, name, pod_type_of(POD_I32, of == lengths ? 1 : 2, dim), 0)
              : (pod_value){0};
}

static pod_value attend(pod_graph *g, const pod_value qkv[3], pod_value q, pod_value k,
                        const mask *m, bool plain)
{
    const pod_attention_attr attr = {.n_heads = HEADS, .causal = m->causal, .plain = plain};
    const pod_value none = {0};
    return m->q ? pod_attention_packed(g, qkv[0], qkv[1], qkv[2], q, k, none, attr)
                : pod_attention(g, qkv[0], qkv[1], qkv[2], k, none, attr);
}

static void check_forms(const mask *m, uint32_t cpu)
{
    const int64_t q_dim[] = {SEQUENCES, m->n_queries, FEATURES};
    const int64_t k_dim[] = {SEQUENCES, m->n_queries == QUERIES ? KEYS : m->n_queries, FEATURES};
    pod_graph *g = NULL;
    pod_interp *it = NULL;
    POD_CHECK_OK(pod_graph_create(pod_test_arena(), &g));
    pod_value q = ints(g, "q_ends", m->q), k = m->q == m->k ? q : ints(g, "k_ends", m->k);
    const pod_value qkv[] = {op_input(g, "q", POD_F32, 3, q_dim),
                             op_input(g, "k", POD_F32, 3, k_dim),
                             op_input(g, "v", POD_F32, 3, k_dim)};
    pod_value fused = attend(g, qkv, q, k, m, false), plain = attend(g, qkv, q, k, m, true);
    POD_CHECK_OK(pod_interp_create(g, cpu, &it));
    op_fill(it, g, 9, false);
    const size_t bytes = sizeof(int32_t) * SEQUENCES * (m->k == lengths ? 1 : PARTS);
    if (m->q) memcpy(pod_interp_data(it, q), m->q, bytes);
    if (m->k && m->k != m->q) memcpy(pod_interp_data(it, k), m->k, bytes);
    pod_interp_run(it, -1);
    for (int64_t i = 0; i < SEQUENCES * m->n_queries * FEATURES; i++) {
        const double want = pod_interp_get(it, fused, i), got = pod_interp_get(it, plain, i);
        /* a mean of numbers below 1, whose weights are off by 2^-19 at most */
        POD_CHECK(fabs(got - want) <= 0x1p-18,
                  "%s: element %d is %.9g in plain attention, not %.9g", m->name, (int)i, got,
                  want);
    }
    pod_interp_destroy(it);
}

void op_attention_has_two_forms(void)
{
    static const mask masks[] = {{"all keys", QUERIES, NULL, NULL, false},
                                 {"lengths", QUERIES, NULL, lengths, false},
                                 {"causal", KEYS, NULL, lengths, true},
                                 {"packed", QUERIES, q_ends, k_ends, false},
                                 {"packed, causal", KEYS, k_ends, k_ends, true}};
    for (int t = 0; t < OP_N_TARGETS; t++)
        for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++)
            check_forms(&masks[i], op_target_cpu(t));
}
