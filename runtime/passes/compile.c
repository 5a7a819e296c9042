/* The passes of passes.def, one after the other. */
#include "runtime/passes/plan.h"

static pod_pass_fn *const passes[] = {
#define POD_PASS(name) pod__pass_##name,
#include "runtime/passes/passes.def"
};

static int tile_of(const pod_compile_args *args, int dim)
{
    const pod_group *g = &args->bn_group;
    if ((g->dims >> dim & 1u) == 0) return 1;
    return g->tile[dim] ? g->tile[dim] : args->mesh.extent[dim];
}

static bool is_cut(const pod_compile_args *args, int dim)
{
    const int tile = tile_of(args, dim);
    return tile > 1 && tile < args->mesh.extent[dim];
}

/* The micro-steps are one more dimension of the mesh, behind the others. */
static void spread_out(pod_plan *plan)
{
    const pod_compile_args *args = plan->args;
    pod_mesh *m = &plan->spread;
    m->n_dims = 0;
    for (int d = 0; d < args->mesh.n_dims; d++) {
        const int tile = tile_of(args, d);
        if (tile > 1) plan->group |= (uint8_t)(1u << m->n_dims);
        if (is_cut(args, d)) m->extent[m->n_dims++] = tile;
        m->extent[m->n_dims++] = args->mesh.extent[d] / (is_cut(args, d) ? tile : 1);
    }
    plan->cores = pod_mask_all(m);
    if (args->accumulate <= 1) return;
    plan->in_time = (uint8_t)(1u << m->n_dims);
    m->extent[m->n_dims++] = args->accumulate;
}

pod_group pod__group_of(const pod_plan *plan, uint8_t mask)
{
    pod_group g = {0};
    int bit = 0; /* of the spread's dimension */
    for (int d = 0; d < plan->args->mesh.n_dims; d++) {
        if (!is_cut(plan->args, d)) {
            g.dims |= (uint32_t)(mask >> bit++ & 1u) << d;
            continue;
        }
        const bool within = mask >> bit & 1u, from_tile_to_tile = mask >> (bit + 1) & 1u;
        bit += 2;
        if (within || from_tile_to_tile) g.dims |= 1u << d;
        if (within && !from_tile_to_tile) g.tile[d] = tile_of(plan->args, d);
        if (!within && from_tile_to_tile) g.step[d] = tile_of(plan->args, d);
    }
    return g;
}

uint8_t pod__mask_of_collective(const pod_graph *g, const pod_node *n, int i)
{
    const pod_type *in = pod_graph_type(g, n->in[i]), *out = pod_graph_type(g, pod_node_out(n, i));
    const unsigned stays = out->sum | out->vary;
    return (uint8_t)(((in->sum | in->vary) & ~stays) | in->shard.over);
}

static pod_status compile(const pod_graph *g, int64_t batch, const pod_compile_args *args,
                          bool recompute, pod_arena *arena, const pod_program **out)
{
    pod_plan *plan = POD_ARENA_NEW(arena, pod_plan, 1);
    if (!plan) return POD_E_NOMEM;
    *plan = (pod_plan){
        .arena = arena, .args = args, .built = g, .recompute = recompute, .batch = batch};
    spread_out(plan);
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) POD_TRY(passes[i](plan));
    *out = plan->program;
    return POD_OK;
}

/* Only the memory plan shows whether recomputing pays, so both programs are planned. */
pod_status pod_compile(const pod_graph *g, int64_t batch, const pod_compile_args *args,
                       pod_arena *arena, const pod_program **out)
{
    const pod_program *plain, *again;
    POD_TRY(compile(g, batch, args, false, arena, &plain));
    *out = plain;
    if (!args->recompute) return POD_OK;
    POD_TRY(compile(g, batch, args, true, arena, &again));
    if (again->step_bytes < plain->step_bytes) *out = again;
    return POD_OK;
}
