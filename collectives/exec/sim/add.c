/* A simulation is made, and collectives are added to it. */
#include <stdlib.h>

#include "collectives/exec/sim/core.h"
#include "kernels/base/assert.h"

/* ---- the machine ---------------------------------------------------------------------------- */

static pod_status take_cores(pod_sim *sim)
{
    const int n_ranks = pod_mesh_size(&sim->classes.mesh);
    sim->sender = POD_ARENA_NEW(sim->arena, pod_busy, sim->n_slots);
    sim->unit = POD_ARENA_NEW(sim->arena, pod_busy, sim->n_slots);
    sim->rank = POD_ARENA_NEW(sim->arena, int32_t, sim->n_slots);
    sim->next =
        POD_ARENA_NEW(sim->arena, pod__sim_next, 2 * sim->classes.mesh.n_dims * sim->n_slots);
    sim->name = POD_ARENA_NEW(sim->arena, int32_t, sim->n_slots);
    sim->core_named = POD_ARENA_NEW(sim->arena, int32_t, sim->n_cores);
    sim->core_of = POD_ARENA_NEW(sim->arena, int32_t, n_ranks);
    sim->column_of = POD_ARENA_NEW(sim->arena, int32_t, n_ranks);
    sim->column_rank = POD_ARENA_NEW(sim->arena, int32_t, sim->n_columns);
    sim->coord = POD_ARENA_NEW(sim->arena, pod_coord, n_ranks);
    if (!sim->sender || !sim->unit || !sim->rank || !sim->next || !sim->name || !sim->core_named ||
        !sim->core_of || !sim->column_of || !sim->column_rank || !sim->coord)
        return POD_E_NOMEM;
    for (int i = 0; i < sim->n_slots; i++) sim->rank[i] = -1;
    for (int k = 0; k < sim->n_columns; k++) sim->column_rank[k] = -1;
    if (sim->n_cores == sim->classes.n_classes && sim->classes.n_twins == 1) return POD_OK;
    sim->moved_by = POD_ARENA_NEW(sim->arena, pod_coord, sim->n_slots);
    return sim->moved_by ? POD_OK : POD_E_NOMEM;
}

/* Who lies with whom: those a shift apart. Where nobody is alike, those along dimensions that wrap
 * come near to it. */
static pod_sim_classes layout_of(const pod_sim_classes *c)
{
    pod_sim_classes layout = *c;
    if (c->n_alike > 1) return layout;
    layout.n_classes = 1;
    for (int d = 0; d < c->mesh.n_dims; d++) {
        if (c->mesh.wraps[d]) layout.shift[d] = 1;
        layout.n_classes *= layout.shift[d];
    }
    layout.n_alike = c->n_classes / layout.n_classes;
    return layout;
}

static int slot_of(const pod_sim *sim, const pod_sim_classes *layout, int rank)
{
    int member = 0, stride = 1;
    for (int d = 0; d < layout->mesh.n_dims; d++) {
        member += sim->coord[rank].at[d] / layout->shift[d] * stride;
        stride *= layout->mesh.extent[d] / layout->shift[d];
    }
    return pod_sim_class_of(layout, rank) << sim->n_member_bits | member;
}

static void find_neighbors(pod_sim *sim)
{
    const pod_mesh *m = &sim->classes.mesh;
    for (int side = 0; side < 2 * m->n_dims; side++)
        for (int k = 0; k < sim->n_slots; k++) {
            if (sim->rank[k] < 0) continue;
            pod_hop hop = {side / 2, side % 2 ? -1 : 1};
            int to = pod_mesh_neighbor(m, sim->rank[k], hop.dim, hop.dir);
            if (to < 0 && m->extent[hop.dim] == 2) { /* for twins (classes.h) */
                hop.dir = -hop.dir;
                to = pod_mesh_neighbor(m, sim->rank[k], hop.dim, hop.dir);
            }
            sim->next[side * sim->n_slots + k] = (pod__sim_next){
                to < 0 ? -1 : sim->core_of[to], pod_links_kept(sim->links, sim->rank[k], hop)};
        }
}

static pod_status number_cores(pod_sim *sim, bool is_each, const pod_sim_classes *layout)
{
    const pod_sim_classes *c = &sim->classes;
    const int n_ranks = pod_mesh_size(&c->mesh);
    for (int r = 0; r < n_ranks; r++) {
        const int class_number = pod_sim_class_of(c, r);
        sim->coord[r] = pod_mesh_coord(&c->mesh, r);
        const int k = is_each ? slot_of(sim, layout, r) : class_number;
        const bool is_first = pod_sim_class_rank(c, class_number) == r;
        sim->core_of[r] = k;
        sim->column_of[r] = k >> sim->n_column_shift;
        if (is_first && sim->column_rank[sim->column_of[r]] < 0)
            sim->column_rank[sim->column_of[r]] = r;
        if (!is_each && !is_first) continue;
        const int first = sim->column_rank[sim->column_of[r]];
        sim->rank[k] = r;
        sim->name[k] = is_each ? r : class_number;
        sim->core_named[sim->name[k]] = k;
        for (int d = 0; d < c->mesh.n_dims && sim->moved_by; d++)
            sim->moved_by[k].at[d] = sim->coord[r].at[d] - sim->coord[first].at[d];
    }
    POD_TRY(
        pod_links_create(sim->arena, &sim->net, &c->mesh, sim->core_of, sim->n_slots, &sim->links));
    find_neighbors(sim);
    return POD_OK;
}

static pod_status fill(pod_sim *sim)
{
    const int n_ranks = pod_mesh_size(&sim->classes.mesh);
    if (n_ranks > POD__SIM_MAX_RANKS)
        return pod_fail(POD_E_UNSUPPORTED, "simulation: %d ranks, at most %d", n_ranks,
                        POD__SIM_MAX_RANKS);
    const bool is_each = sim->n_cores == n_ranks;
    const pod_sim_classes layout = layout_of(&sim->classes);
    while (is_each && 1 << sim->n_member_bits < layout.n_alike) sim->n_member_bits++;
    sim->n_slots = is_each ? layout.n_classes << sim->n_member_bits : sim->n_cores;
    while (1 << sim->n_slot_bits < sim->n_slots) sim->n_slot_bits++;
    sim->slot_mask = (1u << sim->n_slot_bits) - 1;
    if (sim->classes.n_alike > 1)
        sim->n_column_shift = sim->n_member_bits + (sim->classes.n_twins == 2);
    sim->n_columns = sim->n_slots >> sim->n_column_shift;
    POD_TRY(take_cores(sim));
    POD_TRY(number_cores(sim, is_each, &layout));
    POD_TRY(pod_engine_create(NULL, &sim->engine));
    POD_TRY(pod__sim_set_places(sim));
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
    if (sim) pod_engine_destroy(sim->engine);
    pod_arena_destroy(a);
    return status;
}

pod_status pod_sim_create(const pod_net *net, const pod_mesh *m, pod_sim **out)
{
    const pod_sim_classes each = pod_sim_classes_of_each(m);
    return pod_sim_create_alike(net, &each, false, out);
}

/* Cores along the first dimension share the links of the others. */
static pod_status links_of_chip(const pod_sim *sim, const int link[], int n, int **out, int *n_out)
{
    const int n_ranks = pod_mesh_size(&sim->classes.mesh), n_cores = sim->classes.mesh.extent[0];
    int *all = POD_ARENA_NEW(sim->arena, int, (int64_t)n *n_cores);
    if (!all) return POD_E_NOMEM;
    *n_out = 0;
    for (int i = 0; i < n; i++) {
        const bool is_own = link[i] / n_ranks < 2; /* of the first dimension, up and down */
        const int first = link[i] - link[i] % n_cores;
        for (int c = 0; c < n_cores; c++)
            if (!is_own || first + c == link[i]) all[(*n_out)++] = first + c;
    }
    *out = all;
    return POD_OK;
}

pod_status pod_sim_fail_links(pod_sim *sim, const int link[], int n)
{
    POD_ASSERT(sim->n_colls == 0 && sim->n_meant == 1 && !sim->detours,
               "links fail of a simulation with %d collectives, of %d ranks each", sim->n_colls,
               sim->n_meant);
    const pod_mesh *m = &sim->classes.mesh;
    int *all = NULL;
    if (!sim->net.is_chip_shared || m->n_dims < POD_MESH_MAX_DIMS)
        return pod_detours_create(sim->arena, m, link, n, &sim->detours);
    POD_TRY(links_of_chip(sim, link, n, &all, &n));
    return pod_detours_create(sim->arena, m, all, n, &sim->detours);
}

void pod_sim_destroy(pod_sim *sim)
{
    if (!sim) return;
    for (int i = 0; i < sim->n_colls; i++) pod__sim_put_state(sim, sim->coll[i]);
    for (pod__sim_shared *s = sim->shared; s; s = s->next) pod__sim_plan_free(s->plan);
    free(sim->source);
    pod_engine_destroy(sim->engine);
    pod_arena_destroy(sim->arena);
}

int pod_sim_n_cores(const pod_sim *sim) { return sim->n_cores; }

int pod_sim_core_of(const pod_sim *sim, int rank) { return sim->name[sim->core_of[rank]]; }

/* ---- collectives ---------------------------------------------------------------------------- */

static pod_status make_room(pod_sim *sim)
{
    if (sim->n_colls < sim->coll_capacity) return POD_OK;
    if (sim->n_colls == POD__SIM_MAX_COLLS)
        return pod_fail(POD_E_UNSUPPORTED, "simulation: more than %d collectives",
                        POD__SIM_MAX_COLLS);
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
    pod__sim_known *known = POD_ARENA_NEW(sim->arena, pod__sim_known, n);
    if (!known) return POD_E_NOMEM;
    sim->known = known;
    sim->known_capacity = n;
    return POD_OK;
}

static pod_status add_coll(pod_sim *sim, const pod__sim_shared *s, double scale, pod_sim_coll **out)
{
    const int64_t n_names = (int64_t)s->plan->n_places << sim->n_slot_bits;
    if (n_names > UINT32_MAX || s->plan->n_places >= 1 << POD__SIM_PLACE_BITS)
        return pod_fail(POD_E_UNSUPPORTED, "simulation: %d steps on each of %d ranks",
                        (int)s->plan->n_places, sim->n_cores);
    POD_TRY(make_room(sim));
    POD_TRY(make_known_room(sim, s->plan->n_most_known));
    pod_sim_coll *c = POD_ARENA_NEW(sim->arena, pod_sim_coll, 1);
    if (!c) return POD_E_NOMEM;
    const int n_meant = sim->classes.n_alike * sim->classes.n_twins; /* by a column */
    *c = (pod_sim_coll){.number = (uint32_t)sim->n_colls,
                        .n_places = s->plan->n_places,
                        .n_words = s->plan->n_words,
                        .step = s->plan->step,
                        .plan = s->plan,
                        .scale = scale,
                        .n_messages = s->plan->n_messages * n_meant,
                        .message_bytes = scale * s->plan->message_bytes * n_meant};
    c->part = POD_ARENA_NEW(sim->arena, pod__sim_part, sim->n_slots);
    c->group = POD_ARENA_NEW(sim->arena, pod__sim_group, s->plan->n_syncs);
    if (!c->part || !c->group) return POD_E_NOMEM;
    sim->coll[sim->n_colls++] = c;
    *out = c;
    return POD_OK;
}

static pod_status build_shared(pod_sim *sim, const pod__sim_origin *from, pod__sim_shared **out)
{
    pod__sim_shared *s = POD_ARENA_NEW(sim->arena, pod__sim_shared, 1);
    if (!s) return POD_E_NOMEM;
    *s = (pod__sim_shared){.algo = from->algo, .args = from->args};
    POD_TRY(pod__sim_plan_build(sim, from, &s->plan));
    s->next = sim->shared; /* from here on the simulation frees the plan, whatever fails */
    sim->shared = s;
    /* A SYNC that takes no time joins all that share at one. */
    if (s->plan->n_syncs > 0) POD_TRY(pod_engine_set_places(sim->engine, NULL));
    *out = s;
    return POD_OK;
}

pod_status pod_sim_add(pod_sim *sim, const pod_sched *const all[], pod_dtype t, pod_sim_coll **out)
{
    pod__sim_shared *s;
    const pod__sim_origin from = {.args.dtype = t, .given = all};
    POD_TRY(build_shared(sim, &from, &s));
    return add_coll(sim, s, 1, out);
}

/* ---- what is shared ------------------------------------------------------------------------- */

/* Whether two schedules of a rank have the same steps, with messages `scale` times as long. */
static bool same_steps(const pod_sched *a, const pod_sched *b, double scale)
{
    int32_t n, n_too;
    const pod_step *x = pod_sched_steps(a, &n), *y = pod_sched_steps(b, &n_too);
    if (n != n_too) return false;
    for (int32_t i = 0; i < n; i++) {
        const double off = (double)y[i].count - scale * (double)x[i].count;
        if (x[i].kind != y[i].kind || x[i].tag != y[i].tag || x[i].after[0] != y[i].after[0] ||
            x[i].after[1] != y[i].after[1] || off < -1 - scale || off > 1 + scale ||
            (pod_step_is_message(&x[i]) && x[i].peer != y[i].peer))
            return false;
    }
    return true;
}

/* Whether what is known of s will do for `args`, scaled: looked up for the first class, the one in
 * the middle and the last. */
static pod_status is_scaled(const pod_sim *sim, const pod__sim_shared *s, const pod_coll_args *args,
                            bool *out)
{
    const int n = sim->classes.n_classes, some[] = {0, n / 2, n - 1};
    const pod_mesh *m = &sim->classes.mesh;
    pod_arena *work;
    pod_status status = POD_OK;
    POD_TRY(pod_arena_create(NULL, &work));
    *out = true;
    for (int i = 0; i < 3 && *out; i++) {
        const int rank = pod_sim_class_rank(&sim->classes, some[i]);
        const pod_sched *own, *other;
        POD_TRY_GOTO(status, pod_coll_build(work, s->algo, m, rank, args, &own), done);
        POD_TRY_GOTO(status, pod_coll_build(work, s->algo, m, rank, &s->args, &other), done);
        *out = same_steps(other, own, (double)args->count / (double)s->args.count);
    }
done:
    pod_arena_destroy(work);
    return status;
}

/* Rounding must not grow to more than a few elements. */
static bool may_be_scaled(const pod_sim *sim, int64_t from, int64_t to)
{
    return sim->classes.is_near && from > 0 && to / 4 <= from && from / 4 <= to;
}

static pod_status find_shared(const pod_sim *sim, const pod_coll_algo *algo,
                              const pod_coll_args *args, pod__sim_shared **out)
{
    pod__sim_shared *scaled = NULL;
    for (pod__sim_shared *s = sim->shared; s; s = s->next) {
        if (s->algo != algo || !pod__sim_same_but_count(&s->args, args)) continue;
        *out = s;
        if (s->args.count == args->count) return POD_OK;
        bool does = false;
        if (!scaled && may_be_scaled(sim, s->args.count, args->count))
            POD_TRY(is_scaled(sim, s, args, &does));
        if (does) scaled = s;
    }
    *out = scaled;
    return POD_OK;
}

pod_status pod_sim_add_algo(pod_sim *sim, const pod_coll_algo *algo, const pod_coll_args *args,
                            pod_sim_coll **out)
{
    pod__sim_shared *s = NULL;
    POD_TRY(find_shared(sim, algo, args, &s));
    const pod__sim_origin from = {.algo = algo, .args = *args};
    if (!s) POD_TRY(build_shared(sim, &from, &s));
    const bool is_same = s->args.count == args->count;
    return add_coll(sim, s, is_same ? 1 : (double)args->count / (double)s->args.count, out);
}
