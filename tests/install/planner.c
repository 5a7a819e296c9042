/* Says how many operations a published network takes an image, and how long a core of a pod takes
 * for them at best: with the inner library alone, which needs neither MPI nor HDF5. */
#include <stdio.h>

#include "models/model.h"
#include "runtime/machine/machine.h"
#include "runtime/ops/op.h"

static double flops_of(pod_arena *arena, const pod_model *m)
{
    const int64_t dim[] = {1, m->h, m->w, m->c};
    const pod_model_args args = {
        .n_classes = m->n_classes, .bn_epsilon = 1e-5f, .dropout = -1, .survival = -1};
    pod_graph *g;
    double flops = 0;
    if (pod_graph_create(arena, &g) != POD_OK) return 0;
    m->build(g, m->param, pod_input(g, "images", pod_type_of(POD_F32, 4, dim), 0), &args);
    if (pod_graph_finish(g) != POD_OK) return 0;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++)
        flops += pod_op_cost_in(g, pod_graph_node(g, i)).matrix_flops;
    return flops;
}

int main(void)
{
    static pod_machine machine;
    pod_arena *arena;
    const pod_model *m = pod_model_find("resnet50");
    if (!m || pod_machine_load("tpu-v3", &machine) != POD_OK) return 1;
    if (pod_arena_create(NULL, &arena) != POD_OK) return 1;
    const double flops = flops_of(arena, m);
    printf("%.2f GFLOPs, %.0f us\n", 1e-9 * flops,
           1e6 * flops / pod_machine_peak_flop_per_s(&machine, POD_BF16));
    pod_arena_destroy(arena);
    return 0;
}
