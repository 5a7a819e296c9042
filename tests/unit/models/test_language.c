/* BERT: sizes as published, and what each token sees. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/task/network.h"
#include "tests/unit/models/language_net.h"

static pod_network_out build(const void *ctx, pod_graph *g, const pod_network_in *in)
{
    const pod_language *m = ctx;
    const pod_language_in read = pod_language_read(g);
    const pod_language_args args = {
        .n_tokens = in->data->n_tokens, .travel = POD_F32, .draws = in->draws, .dropout = -1};
    const pod_language_out y = m->build(g, &m->size, &read, &args);
    return (pod_network_out){.hidden = y.hidden, .table = y.table, .bias = y.bias, .next = y.next};
}

static pod_graph *graph_of(const pod_language *m, int64_t n_tokens, int64_t seq_len,
                           int64_t max_masked)
{
    const pod_network net = {
        .name = m->name, .task = pod_task_find(m->task), .build = build, .ctx = m};
    const pod_setup s = {
        .batch = 2, .precision = POD_F32, .seq_len = seq_len, .max_masked = max_masked};
    const pod_dataset_info data = {.n_tokens = (int32_t)n_tokens};
    pod_graph *g = NULL;
    POD_NEED_OK(pod_network_graph(&net, &s, &data, false, pod_test_arena(), &g));
    return g;
}

/* Parameters with both heads, and forward multiply-adds of a sequence, as published
 * (google-research/bert, bert_config.json and modeling.py). */
static void sizes_are_as_published(void)
{
    static const struct {
        const char *name;
        int64_t parameters;
        double gmac_128, gmac_512; /* of 20 and of 76 predictions */
    } rows[] = {
        {"bert-tiny", 4433468, 0.1372, 0.6337},     {"bert-mini", 11267900, 0.5939, 2.7464},
        {"bert-small", 29058876, 1.9958, 8.7241},   {"bert-medium", 41668412, 3.6735, 16.2402},
        {"bert-base", 110106428, 11.6548, 50.1453}, {"bert-large", 336226108, 40.1071, 169.9598},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int is_long = 0; is_long < 2; is_long++) {
            const pod_language *m = pod_language_find(rows[i].name);
            const pod_graph *g = graph_of(m, 30522, is_long ? 512 : 128, is_long ? 76 : 20);
            int64_t parameters = 0;
            double flops = 0;
            for (int v = 0; v < pod_graph_n_variables(g); v++)
                parameters +=
                    pod_shape_count(&pod_graph_type(g, pod_graph_variable(g, v)->value)->shape);
            for (int32_t n = 0; n < pod_graph_n_nodes(g); n++)
                flops += pod_op_cost_in(g, pod_graph_node(g, n)).matrix_flops;
            const double gmac = flops / 2 / 2 * 1e-9;
            const double want = is_long ? rows[i].gmac_512 : rows[i].gmac_128;
            POD_CHECK(parameters == rows[i].parameters, "%s: %lld parameters", m->name,
                      (long long)parameters);
            POD_CHECK(fabs(gmac - want) < 0.6e-4 + 1e-4 * want, "%s: %.6f GMAC, want %.4f", m->name,
                      gmac, want);
        }
    CU_ASSERT_EQUAL(pod_graph_n_variables(graph_of(pod_language_find("bert-large"), 100, 16, 4)),
                    398);
}

static void too_long_is_refused(void)
{
    const pod_language *m = pod_language_find("bert-tiny");
    const pod_network net = {
        .name = m->name, .task = pod_task_find(m->task), .build = build, .ctx = m};
    const pod_setup s = {.batch = 2, .precision = POD_F32, .seq_len = 513, .max_masked = 4};
    const pod_dataset_info data = {.n_tokens = 100};
    pod_graph *g;
    POD_CHECK_FAILS(pod_network_graph(&net, &s, &data, true, pod_test_arena(), &g), POD_E_INVALID,
                    "sequences of 513 tokens, but the model has 512 positions");
}

/* A token, or its segment, changes all places of its sequence, and the answer for the next sentence. One
 * that is padding changes its own place alone. */
static void tokens_see_what_they_may(void)
{
    enum { N = 3, S = 6, V = 29, H = 32 };
    static const pod_language_size small = {2, H, 4, 64, S};
    static const int32_t lengths[N] = {6, 2, 4};
    static float before[N * S * H], next_before[N * 2];
    const int64_t rows[] = {N, S}, n = N;
    const pod_language_args args = net_args(V);
    pod_graph *g = net_graph();
    const pod_language_in in = {.ids = net_ints(g, "ids", 2, rows),
                                .segments = net_ints(g, "segments", 2, rows),
                                .lengths = net_ints(g, "lengths", 1, &n),
                                .positions = net_ints(g, "positions", 2, rows)};
    const pod_language_out y = pod_language_find("bert-tiny")->build(g, &small, &in, &args);
    pod_interp *it = net_open(g);
    int32_t *const changes[] = {pod_interp_data(it, in.ids), pod_interp_data(it, in.segments)};
    const float *after = pod_interp_data(it, y.hidden), *next = pod_interp_data(it, y.next);
    net_put(it, in.lengths, N, lengths);
    for (int i = 0; i < N * S; i++) {
        changes[0][i] = i * 7 % V;
        changes[1][i] = i % S > 2;
        ((int32_t *)pod_interp_data(it, in.positions))[i] = i % S;
    }
    pod_interp_run(it, -1);
    memcpy(before, after, sizeof before);
    memcpy(next_before, next, sizeof next_before);
    for (int k = 0; k < 2 * N * S; k++) {
        const int changed = k / 2, of = changed / S;
        const bool is_seen = changed % S < lengths[of];
        int32_t *x = &changes[k % 2][changed];
        const int32_t was = *x;
        *x = k % 2 ? 1 - was : (was + 1) % V;
        pod_interp_run(it, -1);
        *x = was;
        for (int i = 0; i < N * S; i++) {
            const bool sees = i == changed || (i / S == of && is_seen);
            POD_CHECK((memcmp(before + i * H, after + i * H, sizeof *before * H) == 0) == !sees,
                      "%s %d changed, place %d", k % 2 ? "segment" : "token", changed, i);
        }
        for (int i = 0; i < N; i++)
            POD_CHECK((memcmp(next_before + i * 2, next + i * 2, sizeof *next * 2) == 0) ==
                          !(i == of && is_seen),
                      "%s %d changed, next sentence of %d", k % 2 ? "segment" : "token", changed,
                      i);
    }
}

POD_TEST_SUITE("models.language", {"sizes", sizes_are_as_published},
               {"too_long", too_long_is_refused}, {"what_tokens_see", tokens_see_what_they_may});
