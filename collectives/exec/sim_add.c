/* A simulation is made, and collectives are added to it. */
#include <stdlib.h>

#include "collectives/exec/sim.h"
#include "kernels/base/assert.h"

enum {
    MAX_COLLS = 1 << (POD__SIM_KIND_SHIFT - POD__SIM_COLL_SHIFT),
    MAX_RANKS = 1 << (POD__SIM_COLL_SHIFT - POD__SIM_FAR_SHIFT)
};

/* ---- the machine ---------------------------------------------------------------------------- */

static pod_status take_cores(pod_sim *sim)
{
    const int n_ranks = pod_mesh_size(&sim->classes.mesh);
    sim->core = POD_ARENA_NEW(sim->arena, pod__sim_core, sim->n_cores);
    sim->rank = POD_ARENA_NEW(sim->arena, int32_t, sim->n_cores);
    sim->class_of = POD_ARENA_NEW(sim->arena, int32_t, sim->n_cores);
    sim->core_of = POD_ARENA_NEW(sim->arena, int32_t, n_ranks);
    sim->coord = POD_ARENA_NEW(sim->arena, pod_coord, n_ranks);
    if (!sim->core || !sim->rank || !sim->class_of || !sim->core_of || !sim->coord)
        return POD_E_NOMEM;
    if (sim->n_cores == sim->classes.n_classes) return POD_OK;
    sim->moved_by = POD_ARENA_NEW(sim->arena, pod_coord, sim->n_cores);
    return sim->moved_by ? POD_OK : POD_E_NOMEM;
}

static pod_status number_cores(pod_sim *sim, int32_t first[])
{
    const pod_sim_classes *c = &sim->classes;
    const int n_ranks = pod_mesh_size(&c->mesh);
    for (int r = 0; r < n_ranks; r++) {
        const int class_number = pod_sim_class_of(c, r);
        sim->coord[r] = pod_mesh_coord(&c->mesh, r);
        sim->core_of[r] = sim->moved_by ? r : class_number;
        first[r] = sim->moved_by ? r : pod_sim_class_rank(c, class_number);
        if (first[r] != r) continue;
        const int k = sim->core_of[r];
        sim->rank[k] = r;
        sim->class_of[k] = class_number;
        for (int d = 0; d < c->mesh.n_dims && sim->moved_by; d++)
            sim->moved_by[k].at[d] = sim->coord[r].at[d] / c->shift[d] * c->shift[d];
    }
    return pod_links_create(sim->arena, &sim->net, &c->mesh, first, &sim->links);
}

static pod_status fill(pod_sim *sim)
{
    const int n_ranks = pod_mesh_size(&sim->classes.mesh);
    if (n_ranks > MAX_RANKS)
        return pod_fail(POD_E_UNSUPPORTED, "simulation: %d ranks, at most %d", n_ranks, MAX_RANKS);
    while (1 << sim->n_core_bits < sim->n_cores) sim->n_core_bits++;
    POD_TRY(take_cores(sim));
    int32_t *first = POD_ARENA_NEW(sim->arena, int32_t, n_ranks);
    if (!first) return POD_E_NOMEM;
    POD_TRY(number_cores(sim, first));
    POD_TRY(pod_engine_create(NULL, &sim->engine));
    sim->message_ps = pod_ps(sim->net.message_s);
    sim->sync_ps = pod_ps(sim->net.sync_s);
    return POD_OK;
}

pod_status pod_sim_create_alike(const pod_net *net, const pod_sim_classes *classes,
                                bool one_of_each, pod_sim **out)
{
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    pod_status status = POD_E_NOMEM;
    pod_sim *sim = POD_ARENA_NEW(a, pod_sim, 1);
    if (!sim) goto failed;
    *sim = (pod_sim){.arena = a,
                     .net = *net,
                     .classes = *classes,
                     .n_cores = one_of_each ? classes->n_classes : pod_mesh_size(&classes->mesh),
                     .n_meant = one_of_each ? classes->n_alike : 1};
    POD_TRY_GOTO(status, fill(sim), failed);
    *out = sim;
    return POD_OK;
failed:
    pod_arena_destroy(a);
    return status;
}

pod_status pod_sim_create(const pod_net *net, const pod_mesh *m, pod_sim **out)
{
    const pod_sim_classes each = pod_sim_classes_of_each(m);
    return pod_sim_create_alike(net, &each, false, out);
}

void pod_sim_destroy(pod_sim *sim)
{
    if (!sim) return;
    for (int i = 0; i < sim->n_colls; i++) free(sim->coll[i]->state);
    for (pod__sim_shared *s = sim->shared; s; s = s->next) {
        pod__sim_costs_free(&s->costs);
        pod__sim_plan_free(s->plan);
    }
    pod_engine_destroy(sim->engine);
    pod_arena_destroy(sim->arena);
}

int pod_sim_n_cores(const pod_sim *sim) { return sim->n_cores; }

/* ---- collectives ---------------------------------------------------------------------------- */

static pod_status make_room(pod_sim *sim)
{
    if (sim->n_colls < sim->coll_capacity) return POD_OK;
    if (sim->n_colls == MAX_COLLS)
        return pod_fail(POD_E_UNSUPPORTED, "simulation: more than %d collectives", MAX_COLLS);
    const int capacity = sim->coll_capacity ? 2 * sim->coll_capacity : 4;
    pod_sim_coll **coll = POD_ARENA_NEW(sim->arena, pod_sim_coll *, capacity);
    if (!coll) return POD_E_NOMEM;
    for (int i = 0; i < sim->n_colls; i++) coll[i] = sim->coll[i];
    sim->coll = coll;
    sim->coll_capacity = capacity;
    return POD_OK;
}

static pod_status make_known_room(pod_sim *sim, int32_t n)
{
    if (n <= sim->known_capacity) return POD_OK;
    uint32_t *known = POD_ARENA_NEW(sim->arena, uint32_t, n);
    if (!known) return POD_E_NOMEM;
    sim->known = known;
    sim->known_capacity = n;
    return POD_OK;
}

static pod_status add_coll(pod_sim *sim, const pod__sim_shared *s, pod_sim_coll **out)
{
    const int64_t n_names = (int64_t)s->plan->n_places << sim->n_core_bits;
    if (n_names > UINT32_MAX)
        return pod_fail(POD_E_UNSUPPORTED, "simulation: %d steps on each of %d ranks",
                        (int)s->plan->n_places, sim->n_cores);
    POD_TRY(make_room(sim));
    POD_TRY(make_known_room(sim, s->plan->n_most_known));
    pod_sim_coll *c = POD_ARENA_NEW(sim->arena, pod_sim_coll, 1);
    if (!c) return POD_E_NOMEM;
    *c = (pod_sim_coll){.number = (uint32_t)sim->n_colls,
                        .plan = s->plan,
                        .cost = s->costs.cost,
                        .n_messages = s->costs.n_messages * sim->classes.n_alike,
                        .message_bytes = s->costs.message_bytes * sim->classes.n_alike};
    c->part = POD_ARENA_NEW(sim->arena, pod__sim_part, sim->n_cores);
    c->group = POD_ARENA_NEW(sim->arena, pod__sim_group, s->plan->n_syncs);
    if (!c->part || !c->group) return POD_E_NOMEM;
    sim->coll[sim->n_colls++] = c;
    *out = c;
    return POD_OK;
}

/* Plan and costs of schedules, one of each class. */
static pod_status build_shared(pod_sim *sim, const pod_sched *const all[], pod_dtype t,
                               pod__sim_shared **out)
{
    pod__sim_shared *s = POD_ARENA_NEW(sim->arena, pod__sim_shared, 1);
    if (!s) return POD_E_NOMEM;
    POD_TRY(pod__sim_plan_build(sim->arena, &sim->classes, all, &s->plan));
    const pod_status status = pod__sim_costs_create(s->plan, &s->costs);
    if (status != POD_OK) {
        pod__sim_plan_free(s->plan);
        return status;
    }
    for (int k = 0; k < sim->classes.n_classes; k++)
        pod__sim_costs_put(s->plan, &sim->net, k, all[k], t, &s->costs);
    s->next = sim->shared;
    sim->shared = s;
    *out = s;
    return POD_OK;
}

pod_status pod_sim_add(pod_sim *sim, const pod_sched *const all[], pod_dtype t, pod_sim_coll **out)
{
    pod__sim_shared *s;
    POD_TRY(build_shared(sim, all, t, &s));
    return add_coll(sim, s, out);
}

static pod_status build_algo(pod_sim *sim, const pod_coll_algo *algo, const pod_coll_args *args,
                             pod__sim_shared **out)
{
    const pod_sim_classes *c = &sim->classes;
    pod_arena *work;
    pod_status status = POD_E_NOMEM;
    POD_TRY(pod_arena_create(NULL, &work));
    const pod_sched **all = POD_ARENA_NEW(work, const pod_sched *, c->n_classes);
    if (!all) goto done;
    for (int k = 0; k < c->n_classes; k++)
        POD_TRY_GOTO(status,
                     pod_coll_build(work, algo, &c->mesh, pod_sim_class_rank(c, k), args, &all[k]),
                     done);
    POD_TRY_GOTO(status, build_shared(sim, all, args->dtype, out), done);
    (*out)->algo = algo;
    (*out)->args = *args;
done:
    pod_arena_destroy(work);
    return status;
}

pod_status pod_sim_add_algo(pod_sim *sim, const pod_coll_algo *algo, const pod_coll_args *args,
                            pod_sim_coll **out)
{
    pod__sim_shared *s = sim->shared;
    while (s && !(s->algo == algo && s->args.count == args->count &&
                  pod__sim_same_but_count(&s->args, args)))
        s = s->next;
    if (!s) POD_TRY(build_algo(sim, algo, args, &s));
    return add_coll(sim, s, out);
}
