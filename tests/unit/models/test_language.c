/* Language models: sizes as published. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/language.h"
#include "runtime/ops/op.h"
#include "runtime/task/network.h"
#include "tests/harness/harness.h"

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

POD_TEST_SUITE("models.language", {"sizes", sizes_are_as_published},
               {"too_long", too_long_is_refused});
