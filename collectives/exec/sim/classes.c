#include "collectives/exec/sim/classes.h"

#include "collectives/exec/sim/core.h"
#include "collectives/mesh/route.h"
#include "kernels/base/assert.h"

enum {
    BUDGET_STEPS = 64 << 10, /* compared of all collectives together */
    LEAST_RANKS = 4          /* compared of each whatever it costs */
};

pod_sim_classes pod_sim_classes_of_each(const pod_mesh *m)
{
    pod_sim_classes c = {.mesh = *m, .n_classes = pod_mesh_size(m), .n_alike = 1, .n_twins = 1};
    for (int d = 0; d < m->n_dims; d++) c.shift[d] = m->extent[d];
    return c;
}

int pod_sim_class_of(const pod_sim_classes *c, int rank)
{
    int number = 0, stride = 1;
    for (int d = 0; d < c->mesh.n_dims; d++) {
        number += rank % c->mesh.extent[d] % c->shift[d] * stride;
        stride *= c->shift[d];
        rank /= c->mesh.extent[d];
    }
    return number;
}

int pod_sim_class_rank(const pod_sim_classes *c, int class_number)
{
    POD_DCHECK(class_number >= 0 && class_number < c->n_classes, "class %d of %d", class_number,
               c->n_classes);
    int rank = 0, stride = 1;
    for (int d = 0; d < c->mesh.n_dims; d++) {
        rank += class_number % c->shift[d] * stride;
        stride *= c->mesh.extent[d];
        class_number /= c->shift[d];
    }
    return rank;
}

/* ---- schedules to compare ------------------------------------------------------------------- */

typedef struct source { /* of the schedules of a collective */
    const pod_coll_algo *algo;
    const pod_coll_args *args;
    int n_compared; /* ranks that are to be */
} source;

typedef struct search {
    const pod_mesh *mesh;
    const pod_coord *coord; /* (n_ranks) */
    int n_ranks;
    pod_sim_likeness likeness;
    pod_arena *scratch; /* for the schedules that are compared */
} search;

static pod_status sched_of(const search *at, const source *s, int rank, const pod_sched **out)
{
    return pod_coll_build(at->scratch, s->algo, at->mesh, rank, s->args, out);
}

static int moved(const search *at, int rank, int dim, int by)
{
    pod_coord c = at->coord[rank];
    c.at[dim] = (c.at[dim] + by + at->mesh->extent[dim]) % at->mesh->extent[dim];
    return pod_mesh_rank(at->mesh, c);
}

/* ---- likeness ------------------------------------------------------------------------------- */

/* Whether `a` lies from `b` as c from d. */
static bool lies_alike(const search *at, int a, int b, int c, int d)
{
    for (int i = 0; i < at->mesh->n_dims; i++) {
        const int extent = at->mesh->extent[i];
        const int far = at->coord[a].at[i] - at->coord[b].at[i];
        const int far_too = at->coord[c].at[i] - at->coord[d].at[i];
        if ((far - far_too) % extent != 0) return false;
    }
    return true;
}

static void hop_on(const search *at, pod_coord *c, pod_hop hop)
{
    const int extent = at->mesh->extent[hop.dim];
    c->at[hop.dim] = (c->at[hop.dim] + hop.dir + extent) % extent;
}

/* Along an open dimension of two ranks, up from one is down from the other. */
static bool is_turned(const search *at, pod_hop hop)
{
    return at->mesh->extent[hop.dim] == 2 && !at->mesh->wraps[hop.dim];
}

static bool goes_alike(const search *at, int from, int to, int from_too, int to_too)
{
    pod_coord a = at->coord[from], b = at->coord[from_too];
    pod_hop hop, hop_too;
    while (pod_route_next(at->mesh, &a, &at->coord[to], &hop)) {
        if (!pod_route_next(at->mesh, &b, &at->coord[to_too], &hop_too)) return false;
        if (hop.dim != hop_too.dim || (hop.dir != hop_too.dir && !is_turned(at, hop))) return false;
        hop_on(at, &a, hop);
        hop_on(at, &b, hop_too);
    }
    return true;
}

static bool steps_alike(const search *at, int rank, const pod_step *a, int other, const pod_step *b)
{
    if (a->kind != b->kind || a->tag != b->tag || a->src.buf != b->src.buf ||
        a->dst.buf != b->dst.buf || a->count > b->count + 1 || b->count > a->count + 1)
        return false;
    if (at->likeness == POD_SIM_EQUAL &&
        (a->count != b->count || a->after[0] != b->after[0] || a->after[1] != b->after[1]))
        return false;
    if (!pod_step_is_message(a)) return true;
    const bool exist =
        a->peer >= 0 && a->peer < at->n_ranks && b->peer >= 0 && b->peer < at->n_ranks;
    return exist && lies_alike(at, a->peer, rank, b->peer, other) &&
           (a->kind != POD_STEP_SEND || goes_alike(at, rank, a->peer, other, b->peer));
}

static bool are_alike(const search *at, int rank, const pod_sched *a, int other, const pod_sched *b)
{
    int32_t n, n_too;
    int n_shared, n_shared_too;
    const pod_step *step = pod_sched_steps(a, &n), *step_too = pod_sched_steps(b, &n_too);
    pod_sched_shared(a, &n_shared);
    pod_sched_shared(b, &n_shared_too);
    if (n != n_too || n_shared > 0 || n_shared_too > 0) return false;
    for (int32_t i = 0; i < n; i++)
        if (!steps_alike(at, rank, &step[i], other, &step_too[i])) return false;
    return true;
}

/* ---- the search ----------------------------------------------------------------------------- */

/* The k-th rank to compare: the root, who is before it, the last, then others all over the mesh. */
static int choose(const search *at, const source *s, int k, int dim, int by)
{
    if (s->n_compared == at->n_ranks) return k;
    const int root = s->args ? pod_group_member(at->mesh, &s->args->group, 0, s->args->root) : 0;
    if (k == 0) return root;
    if (k == 1) return moved(at, root, dim, -by);
    if (k == 2) return at->n_ranks - 1;
    return (int)((uint64_t)k * 2654435761u % (uint64_t)at->n_ranks);
}

static pod_status holds(const search *at, source list[], int n, int dim, int by, bool *out)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < list[i].n_compared; k++) {
            const pod_sched *a = NULL, *b = NULL;
            const int rank = choose(at, &list[i], k, dim, by), other = moved(at, rank, dim, by);
            POD_TRY(sched_of(at, &list[i], rank, &a));
            POD_TRY(sched_of(at, &list[i], other, &b));
            *out = are_alike(at, rank, a, other, b);
            pod_arena_reset(at->scratch);
            if (!*out) return POD_OK;
        }
    }
    *out = true;
    return POD_OK;
}

static pod_status find_shift(const search *at, source list[], int n, int dim, int *shift)
{
    const int extent = at->mesh->extent[dim];
    for (int by = 1; by < extent; by++) {
        bool does;
        if (extent % by != 0) continue;
        POD_TRY(holds(at, list, n, dim, by, &does));
        if (!does) continue;
        *shift = by;
        return POD_OK;
    }
    return POD_OK;
}

/* Cores of a chip are never alike where they take turns on its links. */
static bool may_be_alike(const pod_net *net, const pod_mesh *m, int dim)
{
    const bool is_core = dim == 0 && m->n_dims == POD_MESH_MAX_DIMS;
    return m->wraps[dim] && !(is_core && net->is_chip_shared);
}

/* Who is a rank away in no time could still have a say in what happens at a moment. */
static bool hops_take_time(const pod_net *net, const pod_mesh *m)
{
    for (int d = 0; d < m->n_dims; d++)
        if (m->extent[d] > 1 && !(net->link_latency_s[d] >= 1e-12)) return false;
    return true;
}

/* Two ranks along an open dimension are not alike: their links differ. But they may have the same
 * schedule, shifted. */
static pod_status find_twins(const search *at, source list[], int n, pod_sim_classes *c)
{
    search exact = *at;
    bool does;
    if (c->n_alike == 1 || c->shift[0] != 2 || at->mesh->extent[0] != 2 || at->mesh->wraps[0])
        return POD_OK;
    exact.likeness = POD_SIM_EQUAL;
    POD_TRY(holds(&exact, list, n, 0, 1, &does));
    if (does) c->n_twins = 2;
    return POD_OK;
}

static pod_status find(const pod_net *net, const search *at, source list[], int n,
                       pod_sim_classes *out)
{
    pod_sim_classes c = pod_sim_classes_of_each(at->mesh);
    for (int d = 0; d < at->mesh->n_dims && hops_take_time(net, at->mesh); d++)
        if (may_be_alike(net, at->mesh, d)) POD_TRY(find_shift(at, list, n, d, &c.shift[d]));
    c.n_classes = 1;
    for (int d = 0; d < at->mesh->n_dims; d++) c.n_classes *= c.shift[d];
    c.n_alike = at->n_ranks / c.n_classes;
    c.is_near = at->likeness == POD_SIM_NEARLY;
    POD_TRY(find_twins(at, list, n, &c));
    *out = c;
    return POD_OK;
}

static pod_status begin_search(pod_arena *a, const pod_mesh *m, pod_sim_likeness likeness,
                               search *out)
{
    const int n_ranks = pod_mesh_size(m);
    pod_coord *coord = POD_ARENA_NEW(a, pod_coord, n_ranks);
    if (!coord) return POD_E_NOMEM;
    for (int r = 0; r < n_ranks; r++) coord[r] = pod_mesh_coord(m, r);
    *out = (search){.mesh = m, .coord = coord, .n_ranks = n_ranks, .likeness = likeness};
    return POD_OK;
}

/* ---- collectives by name -------------------------------------------------------------------- */

static bool same_group(const pod_group *a, const pod_group *b)
{
    if (a->dims != b->dims) return false;
    for (int d = 0; d < POD_MESH_MAX_DIMS; d++)
        if (a->step[d] != b->step[d] || a->tile[d] != b->tile[d]) return false;
    return true;
}

bool pod__sim_same_but_count(const pod_coll_args *a, const pod_coll_args *b)
{
    return a->coll == b->coll && a->dtype == b->dtype && a->root == b->root &&
           same_group(&a->group, &b->group) && a->node_size == b->node_size &&
           a->chunk_bytes == b->chunk_bytes;
}

static bool is_new(const source list[], int n, const source *s)
{
    for (int i = 0; i < n; i++)
        if (list[i].algo == s->algo && list[i].args->count == s->args->count &&
            pod__sim_same_but_count(list[i].args, s->args))
            return false;
    return true;
}

/* All that are different. */
static pod_status begin_sources(const search *at, const pod_coll_algo *const algo[],
                                const pod_coll_args args[], source list[], int *n)
{
    int n_new = 0;
    for (int i = 0; i < *n; i++) {
        const source s = {.algo = algo[i], .args = &args[i]};
        if (is_new(list, n_new, &s)) list[n_new++] = s;
    }
    for (int i = 0; i < n_new; i++) {
        const pod_sched *first = NULL;
        int32_t n_steps;
        POD_TRY(sched_of(at, &list[i], 0, &first));
        pod_sched_steps(first, &n_steps);
        pod_arena_reset(at->scratch);
        const int most = BUDGET_STEPS / n_new / (n_steps + 1);
        list[i].n_compared = most < LEAST_RANKS ? LEAST_RANKS : most;
        if (list[i].n_compared > at->n_ranks) list[i].n_compared = at->n_ranks;
    }
    *n = n_new;
    return POD_OK;
}

pod_status pod_sim_classes_find(const pod_net *net, const pod_mesh *m,
                                const pod_coll_algo *const algo[], const pod_coll_args args[],
                                int n, pod_sim_likeness likeness, pod_sim_classes *out)
{
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    search at = {0};
    pod_status status = POD_E_NOMEM;
    source *list = POD_ARENA_NEW(a, source, n);
    if (!list) goto done;
    POD_TRY_GOTO(status, begin_search(a, m, likeness, &at), done);
    POD_TRY_GOTO(status, pod_arena_create(NULL, &at.scratch), done);
    POD_TRY_GOTO(status, begin_sources(&at, algo, args, list, &n), done);
    POD_TRY_GOTO(status, find(net, &at, list, n, out), done);
done:
    pod_arena_destroy(at.scratch);
    pod_arena_destroy(a);
    return status;
}
