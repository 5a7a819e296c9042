/* explain schedule: the all-reduce of --size bytes of float32 over --mesh (2x2 where that is auto):
 * why this algorithm, what rank 0 does in it, and who holds what after each round. */
#include <inttypes.h>
#include <string.h>

#include "bench/explain.h"
#include "collectives/algo/rules.h"

enum { MAX_DRAWN_RANKS = 64 }; /* what pod_sched_draw takes */

static pod_coll_args allreduce(const pod_explain *e, const pod_mesh *m, int64_t count)
{
    return (pod_coll_args){.coll = POD_ALLREDUCE,
                           .dtype = POD_F32,
                           .count = count,
                           .group = pod_group_all(m),
                           .node_size = pod_explain_node_size(e, pod_mesh_size(m))};
}

static pod_status draw(pod_explain *e, const pod_coll_algo *algo, const pod_mesh *m, int64_t count)
{
    const int n_ranks = pod_mesh_size(m);
    if (n_ranks > MAX_DRAWN_RANKS) {
        printf("# not drawn: %d ranks, at most %d are\n", n_ranks, MAX_DRAWN_RANKS);
        return POD_OK;
    }
    /* One element a block shows it all, and the lines stay short. */
    if (count > n_ranks) count = n_ranks;
    const pod_coll_args args = allreduce(e, m, count);
    const pod_sched *const *all;
    POD_TRY(pod_coll_build_all(e->arena, algo, m, &args, &all));
    printf("# who holds what, drawn for %" PRId64 " elements\n", count);
    POD_TRY(pod_sched_draw(stdout, all, n_ranks));
    return POD_OK;
}

pod_status pod_explain_schedule(pod_explain *e)
{
    const char *rules_text = pod_config_text(e->config, POD_OPT_ALGO);
    const char *mesh_text = pod_config_text(e->config, POD_OPT_MESH);
    const int64_t bytes = pod_config_size(e->config, POD_OPT_SIZE);
    pod_mesh mesh;
    pod_coll_rules *rules;
    if (strcmp(mesh_text, "auto") == 0) mesh_text = "2x2";
    POD_TRY(pod_mesh_parse(mesh_text, &mesh));
    POD_TRY(
        pod_coll_rules_parse(e->arena, *rules_text ? rules_text : POD_COLL_RULES_DEFAULT, &rules));
    const pod_coll_args args = allreduce(e, &mesh, bytes / (int64_t)sizeof(float));
    const pod_coll_algo *algo = pod_coll_pick(rules, &mesh, &args);
    const pod_sched *const *all;
    POD_TRY(pod_coll_build_all(e->arena, algo, &mesh, &args, &all));
    POD_TRY(pod_sched_verify(all, pod_mesh_size(&mesh)));

    pod_coll_explain(stdout, rules, &mesh, &args);
    printf("\n# rank 0 of mesh %s, %" PRId64 " elements; all ranks verified\n", mesh_text,
           args.count);
    pod_sched_print(stdout, 0, all[0]);
    putchar('\n');
    POD_TRY(draw(e, algo, &mesh, args.count));
    return POD_OK;
}
