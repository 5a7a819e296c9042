/* explain schedule: the --collective of --size bytes of float32 over --mesh (2x2 where that is
 * auto): why this algorithm, what rank 0 does in it, and who holds what after each round. Where all
 * ranks have few enough steps for an answer at once, the whole is verified, too. On a
 * --machine with a virtual clock the mesh wraps as it does there, and each core has memory of its
 * own.
 *
 * explain algorithms: the table of those of the collective, with what each is good for, or why it
 * refuses this mesh and size. */
#include <inttypes.h>
#include <string.h>

#include "bench/explain/explain.h"
#include "collectives/algo/rules.h"
#include "kernels/base/parse.h"
#include "runtime/machine/machine_net.h"

enum {
    MAX_DRAWN_RANKS = 64, /* what pod_sched_draw takes */
    MAX_VERIFIED_STEPS = 2 << 20,
    VERDICT_BYTES = 96
};

/* What the options ask for. */
typedef struct subject {
    pod_machine machine;
    pod_mesh mesh;
    pod_coll_args args;
} subject;

static pod_status subject_from(const pod_explain *e, subject *out)
{
    const char *mesh = pod_config_text(e->config, POD_OPT_MESH);
    const char *collective = pod_config_text(e->config, POD_OPT_COLLECTIVE);
    const int64_t count = pod_config_size(e->config, POD_OPT_SIZE) / (int64_t)sizeof(float);
    subject s = {.args = {.dtype = POD_F32,
                          .count = count,
                          .chunk_bytes = pod_config_size(e->config, POD_OPT_CHUNK)}};
    POD_TRY(pod_machine_load(pod_config_text(e->config, POD_OPT_MACHINE), &s.machine));
    POD_TRY(pod_mesh_parse(strcmp(mesh, "auto") == 0 ? "2x2" : mesh, &s.mesh));
    const bool is_pod = pod_machine_is_virtual(&s.machine);
    if (is_pod) POD_TRY(pod_machine_wrap_mesh(&s.machine, &s.mesh));
    const int n_ranks = pod_mesh_size(&s.mesh);
    if (!pod_coll_parse(collective, &s.args.coll))
        return pod_fail(POD_E_INVALID, "collective: there is no '%s'", collective);
    if (s.args.coll == POD_ALLTOALL) s.args.count -= count % n_ranks;
    s.args.group = pod_group_all(&s.mesh);
    s.args.node_size = is_pod ? 1 : pod_planned_node_size(e->config, n_ranks);
    *out = s;
    return POD_OK;
}

static pod_status draw(pod_explain *e, const pod_coll_algo *algo, const subject *x)
{
    const int n_ranks = pod_mesh_size(&x->mesh);
    if (n_ranks > MAX_DRAWN_RANKS) {
        printf("# not drawn: %d ranks, at most %d are\n", n_ranks, MAX_DRAWN_RANKS);
        return POD_OK;
    }
    /* One element a block shows it all, and the lines stay short. */
    pod_coll_args args = x->args;
    if (args.count > n_ranks) args.count = n_ranks;
    const pod_sched *const *all;
    POD_TRY(pod_coll_build_all(e->arena, algo, &x->mesh, &args, &all));
    printf("# who holds what, drawn for %" PRId64 " elements\n", args.count);
    POD_TRY(pod_sched_draw(stdout, all, n_ranks));
    return POD_OK;
}

/* --algo is a name of this collective, or rules. */
static pod_status pick(pod_explain *e, subject *x, const pod_coll_algo **out)
{
    const char *text = pod_config_text(e->config, POD_OPT_ALGO);
    const pod_coll_algo *named = pod_coll_find(x->args.coll, text);
    if (named) {
        if (!named->why_not(&x->mesh, &x->args))
            printf("%s %s: %s\n", pod_coll_name(named->coll), named->name, named->good_for);
        *out = named;
        return POD_OK;
    }
    pod_coll_rules *rules;
    if (!*text && pod_machine_is_virtual(&x->machine))
        POD_TRY(pod_planned_pod_rules(&x->machine, &x->mesh, true, e->arena, &rules));
    else
        POD_TRY(pod_coll_rules_load(e->arena, *text ? text : POD_COLL_RULES_DEFAULT, &rules));
    pod_coll_explain(stdout, rules, &x->mesh, &x->args);
    *out = pod_coll_pick(rules, &x->mesh, &x->args);
    return POD_OK;
}

/* All ranks, of `n_steps` steps each; or says that they are too many. */
static pod_status verify(pod_explain *e, const pod_coll_algo *algo, const subject *x,
                         int32_t n_steps, char verdict[VERDICT_BYTES])
{
    const int n_ranks = pod_mesh_size(&x->mesh);
    const int64_t n_all = (int64_t)n_ranks * n_steps;
    const pod_sched *const *all;
    if (n_all > MAX_VERIFIED_STEPS) {
        snprintf(verdict, VERDICT_BYTES, "not verified: %" PRId64 " steps in all, at most %d are",
                 n_all, MAX_VERIFIED_STEPS);
        return POD_OK;
    }
    POD_TRY(pod_coll_build_all(e->arena, algo, &x->mesh, &x->args, &all));
    POD_TRY(pod_sched_verify(all, n_ranks));
    snprintf(verdict, VERDICT_BYTES, "all ranks verified");
    return POD_OK;
}

pod_status pod_explain_schedule(pod_explain *e)
{
    subject x;
    const pod_coll_algo *algo = NULL;
    const pod_sched *first;
    char verdict[VERDICT_BYTES];
    int32_t n_steps;
    POD_TRY(subject_from(e, &x));
    POD_TRY(pick(e, &x, &algo));
    POD_TRY(pod_coll_build(e->arena, algo, &x.mesh, 0, &x.args, &first));
    pod_sched_steps(first, &n_steps);
    POD_TRY(verify(e, algo, &x, n_steps, verdict));
    printf("\n# rank 0 of mesh %s, %" PRId64 " elements; %s\n", POD_MESH_TEXT(&x.mesh),
           x.args.count, verdict);
    pod_sched_print(stdout, 0, first);
    putchar('\n');
    return draw(e, algo, &x);
}

pod_status pod_explain_algorithms(pod_explain *e)
{
    static const pod_column columns[] = {{"collective", "", true},
                                         {"algorithm", "", true},
                                         {"applies", "", true},
                                         {"good for, or why not", "", true}};
    int n;
    const pod_coll_algo *algos = pod_coll_algos(&n);
    subject x;
    pod_table *t;
    POD_TRY(subject_from(e, &x));
    POD_TRY(pod_table_create(POD_COLUMNS(columns), &t));
    const char *mesh = POD_MESH_TEXT(&x.mesh), *size = POD_SIZE_TEXT(4 * x.args.count);
    if (pod_machine_is_virtual(&x.machine))
        pod_table_note(t, "mesh %s of %s, %s, each core has memory of its own", mesh,
                       x.machine.name, size);
    else
        pod_table_note(t,
                       "mesh %s of hosts (--machine says others), %s, %d ranks of a node share "
                       "memory (--node)",
                       mesh, size, x.args.node_size);
    for (int i = 0; i < n; i++) {
        pod_coll_args args = x.args;
        args.coll = algos[i].coll;
        if (pod_config_is_set(e->config, POD_OPT_COLLECTIVE) && args.coll != x.args.coll) continue;
        const char *why_not = algos[i].why_not(&x.mesh, &args);
        pod_table_row(t, "%s\t%s\t%s\t%s", pod_coll_name(args.coll), algos[i].name,
                      why_not ? "no" : "yes", why_not ? why_not : algos[i].good_for);
    }
    return pod_table_finish(t, stdout, "");
}
