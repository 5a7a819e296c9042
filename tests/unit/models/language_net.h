/* Language models in tests: their graphs without a task, and the interpreter of one, with weights. */
#ifndef MINIPOD_TESTS_UNIT_MODELS_LANGUAGE_NET_H
#define MINIPOD_TESTS_UNIT_MODELS_LANGUAGE_NET_H

#include "kernels/base/cpu.h"
#include "kernels/base/hash.h"
#include "kernels/base/rng.h"
#include "models/language.h"
#include "runtime/ops/op.h"
#include "tests/harness/harness.h"
#include "tests/harness/interp.h"

static inline pod_value net_ints(pod_graph *g, const char *name, int n_dims, const int64_t dim[])
{
    return pod_input(g, name, pod_type_of(POD_I32, n_dims, dim), 0);
}

static inline pod_language_args net_args(int64_t n_tokens)
{
    return (pod_language_args){.n_tokens = n_tokens, .travel = POD_F32, .dropout = -1};
}

static inline pod_graph *net_graph(void)
{
    pod_graph *g = NULL;
    POD_NEED_OK(pod_graph_create(pod_test_arena(), &g));
    return g;
}

static inline void net_put(pod_interp *it, pod_value v, int64_t count, const int32_t x[])
{
    memcpy(pod_interp_data(it, v), x, sizeof *x * (size_t)count);
}

/* As the store begins, but nothing is truncated; the same numbers for the same name, so that programs
 * of one network agree. */
static inline void net_fill_weights(pod_interp *it, const pod_graph *g)
{
    for (int i = 0; i < pod_graph_n_variables(g); i++) {
        const pod_variable_info *v = pod_graph_variable(g, i);
        const float scale = v->init.scale;
        float *x = pod_interp_data(it, v->value);
        pod_rng r = pod_rng_at(pod_hash_text(POD_HASH_START, v->name),
                               (pod_place){.stream = POD_STREAM_TEST});
        for (int64_t k = 0; k < pod_shape_count(&pod_graph_type(g, v->value)->shape); k++)
            x[k] = v->init.kind == POD_INIT_NORMAL || v->init.kind == POD_INIT_TRUNCATED
                       ? scale * pod_rng_normal(&r)
                   : v->init.kind == POD_INIT_UNIFORM ? scale * (2 * pod_rng_uniform(&r) - 1)
                   : v->init.kind == POD_INIT_ONE     ? 1
                                                      : 0;
    }
}

static inline void net_close(void *it) { pod_interp_destroy(it); }

/* Closed when the test ends. */
static inline pod_interp *net_open(pod_graph *g)
{
    pod_interp *it = NULL;
    POD_NEED_OK(pod_graph_finish(g));
    POD_NEED_OK(pod_interp_create(g, pod_cpu_features(), &it));
    pod_test_at_end(net_close, it);
    net_fill_weights(it, g);
    return it;
}

/* Parameters, and multiply-adds with those of the loss of (n, s) answers. */
typedef struct net_sizes {
    int64_t parameters;
    double macs;
} net_sizes;

static inline net_sizes net_sizes_of(pod_graph *g, pod_language_out y, int64_t n, int64_t s)
{
    pod_vocab_sums sums;
    pod_value answers = net_ints(g, "answers", 2, (const int64_t[]){n, s});
    pod_value weights = pod_input(g, "weights", pod_type_of(POD_F32, 2, (int64_t[]){n, s}), 0);
    pod_vocab_head(g, y.hidden, y.table, y.bias, answers, weights, 0, &sums);
    POD_CHECK_OK(pod_graph_finish(g));
    net_sizes z = {0};
    for (int i = 0; i < pod_graph_n_variables(g); i++)
        z.parameters += pod_shape_count(&pod_graph_type(g, pod_graph_variable(g, i)->value)->shape);
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++)
        z.macs += pod_op_cost_in(g, pod_graph_node(g, i)).matrix_flops / 2;
    return z;
}

#endif
