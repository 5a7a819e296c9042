#include "runtime/fleet/place/place.h"

#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/assert.h"
#include "runtime/fleet/place/grid.h"

static const pod_placement placements[] = {
#define POD_PLACEMENT(name, about) {#name, (about), pod__choose_##name},
#include "runtime/fleet/place/placements.def"
};

enum { N_PLACEMENTS = sizeof placements / sizeof placements[0] };

struct pod_placer {
    const pod_placement *how;
    const pod_topology *topology;
    pod__grid grid;
    uint8_t *room; /* a pod's cells */
};

/* ---- occupancy ------------------------------------------------------------------------------- */

pod_status pod_occupancy_create(pod_arena *a, const pod_topology *t, int n_pods, pod_occupancy *out)
{
    pod_occupancy o = {.topology = t, .n_pods = n_pods};
    o.taken = POD_ARENA_NEW(a, uint8_t, pod_occupancy_cells(&o));
    o.n_free = POD_ARENA_NEW(a, int, n_pods);
    o.group_free = POD_ARENA_NEW(a, int, n_pods * t->n_groups);
    const int n_all = pod_occupancy_cells(&o);
    int *pod_of = POD_ARENA_NEW(a, int, n_all), *group_of = POD_ARENA_NEW(a, int, n_all);
    if (!o.taken || !o.n_free || !o.group_free || !pod_of || !group_of) return POD_E_NOMEM;
    for (int i = 0; i < n_all; i++) {
        pod_of[i] = i / t->n_cells;
        group_of[i] = i / t->group_cells;
    }
    o.pod_of = pod_of;
    o.group_of = group_of;
    for (int i = 0; i < n_pods; i++) o.n_free[i] = t->n_cells;
    for (int g = 0; g < n_pods * t->n_groups; g++) o.group_free[g] = t->group_cells;
    *out = o;
    return POD_OK;
}

void pod_occupancy_copy(pod_occupancy *to, const pod_occupancy *from)
{
    memcpy(to->taken, from->taken, (size_t)pod_occupancy_cells(from));
    memcpy(to->n_free, from->n_free, sizeof to->n_free[0] * (size_t)from->n_pods);
    memcpy(to->group_free, from->group_free,
           sizeof to->group_free[0] * (size_t)(from->n_pods * from->topology->n_groups));
}

void pod_occupancy_set(pod_occupancy *o, int cell, bool is_taken)
{
    POD_ASSERT((o->taken[cell] != 0) != is_taken, "cell %d is %s already", cell,
               is_taken ? "taken" : "free");
    o->taken[cell] = is_taken;
    o->n_free[o->pod_of[cell]] += is_taken ? -1 : 1;
    o->group_free[o->group_of[cell]] += is_taken ? -1 : 1;
}

/* ---- the table ------------------------------------------------------------------------------- */

const pod_placement *pod_placement_find(const char *name)
{
    for (int i = 0; i < N_PLACEMENTS; i++)
        if (strcmp(placements[i].name, name) == 0) return &placements[i];
    return NULL;
}

const pod_placement *pod_placement_at(int i) { return i < N_PLACEMENTS ? &placements[i] : NULL; }
const char *pod_placement_name(const pod_placement *p) { return p->name; }
const char *pod_placement_about(const pod_placement *p) { return p->about; }

static bool is_first(const pod_placer *p) { return p->how->choose == pod__choose_first; }
static bool is_buddy(const pod_placer *p) { return p->how->choose == pod__choose_buddy; }

pod_status pod_placer_create(pod_arena *a, const pod_placement *how, const pod_topology *t,
                             pod_placer **out)
{
    pod_placer *p = POD_ARENA_NEW(a, pod_placer, 1);
    if (!p) return POD_E_NOMEM;
    *p = (pod_placer){.how = how, .topology = t};
    p->grid.sum = POD_ARENA_NEW(a, int, pod__grid_sums(t));
    p->room = POD_ARENA_NEW(a, uint8_t, t->n_cells);
    if (!p->grid.sum || !p->room) return POD_E_NOMEM;
    *out = p;
    return POD_OK;
}

/* ---- cells that are alike -------------------------------------------------------------------- */

/* The pod with the fewest free groups that has enough (first fit: the first); -1: none. */
static int pick_pod(const pod_placer *p, const int n_free[], int n_pods, int n_needed)
{
    int best = -1;
    for (int i = 0; i < n_pods; i++) {
        if (n_free[i] < n_needed || (best >= 0 && n_free[i] >= n_free[best])) continue;
        best = i;
        if (is_first(p)) break;
    }
    return best;
}

static bool find_in_pool(const pod_placer *p, const pod_occupancy *o, int n_cells,
                         const uint8_t *prefer, int cells[])
{
    const int pod = pick_pod(p, o->n_free, o->n_pods, n_cells);
    const int from = pod * o->topology->n_cells, until = from + o->topology->n_cells;
    int n = 0;
    if (pod < 0) return false;
    for (int pass = prefer ? 0 : 1; pass < 2; pass++)
        for (int i = from; i < until && n < n_cells; i++)
            if (!o->taken[i] && (!prefer || (prefer[i] != 0) == (pass == 0))) cells[n++] = i;
    return true;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

/* The boxes within a group that a slice may have. */
static int list_boxes(const pod_placer *p, const pod_slice *slice, pod_box box[POD__MAX_BOXES])
{
    const bool is_any = !pod_slice_shape_is_known(&slice->shape);
    int n = pod_topology_boxes(p->topology, slice->n_cells, box, POD__MAX_BOXES), n_kept = 0;
    if (!is_buddy(p) && is_any) return n;
    for (int i = 0; i < n; i++) {
        const int *e = box[i].extent;
        if (is_buddy(p) &&
            !(is_power_of_two(e[0]) && is_power_of_two(e[1]) && is_power_of_two(e[2])))
            continue;
        if (is_any || pod_box_has_shape(p->topology, &box[i], &slice->shape))
            box[n_kept++] = box[i];
    }
    return n_kept;
}

/* ---- nodes and cubes ------------------------------------------------------------------------- */

/* The free cells of a group, at most n. */
static int take_of_group(const pod_occupancy *o, int group, int n, int cells[])
{
    const int from = group * o->topology->group_cells;
    int found = 0;
    for (int i = from; i < from + o->topology->group_cells && found < n; i++)
        if (!o->taken[i]) cells[found++] = i;
    return found;
}

/* Consolidated: up to a node's GPUs in the node with the fewest free that has them; more in whole
 * free nodes, and the rest in the other node with the most free. Ties: the lowest. */
static bool find_in_nodes(const pod_occupancy *o, int pod, int n_cells, int cells[])
{
    const pod_topology *t = o->topology;
    const int per_node = t->group_cells, first = pod * t->n_groups, until = first + t->n_groups;
    const int n_whole = n_cells / per_node, n_rest = n_cells % per_node;
    int n_found = 0, node = -1, node_free = 0;
    for (int g = first; g < until; g++) {
        const int n_free = o->group_free[g];
        if (n_found < n_whole && n_free == per_node) {
            take_of_group(o, g, per_node, &cells[per_node * n_found++]);
            continue;
        }
        if (n_free < n_rest) continue;
        const bool is_better = n_whole > 0 ? n_free > node_free : n_free < node_free;
        if (node >= 0 && !is_better) continue;
        node = g;
        node_free = n_free;
    }
    if (n_found < n_whole || (n_rest > 0 && node < 0)) return false;
    if (n_rest > 0) take_of_group(o, node, n_rest, &cells[per_node * n_found]);
    return true;
}

/* Whole cubes: those that are preferred first. */
static bool find_cubes(const pod_occupancy *o, int pod, int n_cubes, const uint8_t *prefer,
                       int cells[])
{
    const pod_topology *t = o->topology;
    int n = 0;
    for (int pass = prefer ? 0 : 1; pass < 2; pass++)
        for (int g = pod * t->n_groups; g < (pod + 1) * t->n_groups && n < n_cubes; g++) {
            const bool is_preferred = prefer && prefer[g * t->group_cells];
            if (o->group_free[g] < t->group_cells || (prefer && is_preferred != (pass == 0)))
                continue;
            take_of_group(o, g, t->group_cells, &cells[t->group_cells * n++]);
        }
    return n == n_cubes;
}

/* A box within the cube of the fewest free hosts that has it, so that whole cubes are broken last. */
static bool find_in_cube(pod_placer *p, const pod_occupancy *o, int pod, const pod_slice *slice,
                         int cells[])
{
    const pod_topology *t = o->topology;
    pod_box box[POD__MAX_BOXES];
    const int n_boxes = list_boxes(p, slice, box);
    for (int n_free = slice->n_cells; n_free <= t->group_cells; n_free++)
        for (int g = pod * t->n_groups; g < (pod + 1) * t->n_groups; g++) {
            if (o->group_free[g] != n_free) continue;
            pod__grid_load(&p->grid, t, &o->taken[g * t->group_cells]);
            for (int b = 0; b < n_boxes; b++) {
                pod__spot s = {.box = box[b]};
                do {
                    if (pod__grid_taken(&p->grid, &s) > 0) continue;
                    pod__grid_cells(&p->grid, &s, g * t->group_cells, cells);
                    return true;
                } while (pod__grid_next(&p->grid, &s, is_buddy(p)));
            }
        }
    return false;
}

/* The pods with enough free cells, the fewest first; first fit takes them as they come. */
static bool find_in_groups(pod_placer *p, const pod_occupancy *o, const pod_slice *slice,
                           const uint8_t *prefer, int cells[])
{
    const pod_topology *t = o->topology;
    const int n_cells = slice->n_cells;
    int last_free = 0, last = -1;
    for (;;) {
        int pod = -1;
        for (int i = 0; i < o->n_pods; i++) {
            const int n = is_first(p) ? 0 : o->n_free[i];
            const bool is_later = n > last_free || (n == last_free && i > last);
            if (o->n_free[i] < n_cells || !is_later) continue;
            if (pod < 0 || n < (is_first(p) ? 0 : o->n_free[pod])) pod = i;
        }
        if (pod < 0) return false;
        last = pod;
        last_free = is_first(p) ? 0 : o->n_free[pod];
        bool found;
        if (t->kind == POD_TOPOLOGY_NODES)
            found = find_in_nodes(o, pod, n_cells, cells);
        else if (n_cells >= t->group_cells)
            found = find_cubes(o, pod, n_cells / t->group_cells, prefer, cells);
        else
            found = find_in_cube(p, o, pod, slice, cells);
        if (found) return true;
    }
}

/* ---- grids ----------------------------------------------------------------------------------- */

static bool find_box(pod_placer *p, const pod_occupancy *o, const pod_slice *slice, int cells[])
{
    pod_box box[POD__MAX_BOXES];
    pod__choice c = {.occupancy = o,
                     .grid = &p->grid,
                     .room = p->room,
                     .box = box,
                     .n_boxes = list_boxes(p, slice, box),
                     .n_cells = slice->n_cells};
    if (!p->how->choose(&c)) return false;
    pod__grid_cells(c.grid, &c.spot, c.pod * o->topology->n_cells, cells);
    return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

int pod_placer_cells_for(const pod_placer *p, int64_t chips)
{
    const pod_topology *t = p->topology;
    int n = pod_topology_cells_for(t, chips);
    const bool has_boxes =
        t->kind == POD_TOPOLOGY_GRID || (t->kind == POD_TOPOLOGY_CUBES && n <= t->group_cells);
    if (!is_buddy(p) || !has_boxes || n == 0) return n;
    int power = 1;
    while (power < n) power *= 2;
    pod_box box[POD__MAX_BOXES];
    const pod_slice slice = {.n_cells = power};
    return list_boxes(p, &slice, box) > 0 ? power : 0;
}

int pod_placer_cells_of(const pod_placer *p, const pod_slice_shape *s)
{
    const pod_slice slice = {pod_topology_cells_of(p->topology, s), *s};
    pod_box box[POD__MAX_BOXES];
    const bool is_box = slice.n_cells > 0 && slice.n_cells <= p->topology->group_cells;
    return is_box && list_boxes(p, &slice, box) == 0 ? 0 : slice.n_cells;
}

bool pod_placer_find(pod_placer *p, const pod_occupancy *o, pod_slice slice, const uint8_t *prefer,
                     int cells[])
{
    switch (o->topology->kind) {
    case POD_TOPOLOGY_POOL: return find_in_pool(p, o, slice.n_cells, prefer, cells);
    case POD_TOPOLOGY_GRID: return find_box(p, o, &slice, cells);
    case POD_TOPOLOGY_NODES:
    case POD_TOPOLOGY_CUBES: return find_in_groups(p, o, &slice, prefer, cells);
    }
    return false;
}
