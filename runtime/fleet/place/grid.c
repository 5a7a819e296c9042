#include "runtime/fleet/place/grid.h"

size_t pod__grid_sums(const pod_topology *t)
{
    size_t n = 1;
    for (int d = 0; d < POD_TOPOLOGY_DIMS; d++)
        n *= (size_t)(t->extent[d] * (t->wraps ? 2 : 1)) + 1;
    return n;
}

void pod__grid_load(pod__grid *g, const pod_topology *t, const uint8_t taken[])
{
    const int *e = t->extent;
    g->wraps = t->wraps;
    for (int d = 0; d < POD_TOPOLOGY_DIMS; d++) {
        g->extent[d] = e[d];
        g->span[d] = e[d] * (t->wraps && e[d] > 1 ? 2 : 1);
    }
    for (int z = 0; z < g->span[2]; z++)
        for (int y = 0; y < g->span[1]; y++) {
            const uint8_t *row = &taken[(z % e[2] * e[1] + y % e[1]) * e[0]];
            const int *below = pod__grid_sum(g, 0, y + 1, z),
                      *behind = pod__grid_sum(g, 0, y, z + 1), *both = pod__grid_sum(g, 0, y, z);
            int *to = pod__grid_sum(g, 0, y + 1, z + 1), line = 0;
            for (int x = 0; x < g->span[0]; x++) {
                line += row[x < e[0] ? x : x - e[0]] != 0;
                to[x + 1] = line + below[x + 1] + behind[x + 1] - both[x + 1];
            }
        }
}

bool pod__grid_next(const pod__grid *g, pod__spot *s, bool aligned)
{
    for (int d = 0; d < POD_TOPOLOGY_DIMS; d++) {
        /* A box that fills a line is the same wherever it begins. */
        const bool fills = s->box.extent[d] == g->extent[d];
        const int last = g->wraps && !aligned ? g->extent[d] - 1 : g->extent[d] - s->box.extent[d];
        s->base[d] += aligned ? s->box.extent[d] : 1;
        if (!fills && s->base[d] <= last) return true;
        s->base[d] = 0;
    }
    return false;
}

void pod__grid_cells(const pod__grid *g, const pod__spot *s, int at, int cells[])
{
    const int *e = g->extent;
    for (int z = 0; z < s->box.extent[2]; z++)
        for (int y = 0; y < s->box.extent[1]; y++)
            for (int x = 0; x < s->box.extent[0]; x++)
                *cells++ = at +
                           (((s->base[2] + z) % e[2]) * e[1] + (s->base[1] + y) % e[1]) * e[0] +
                           (s->base[0] + x) % e[0];
}

bool pod__choice_load(pod__choice *c, int i)
{
    const pod_occupancy *o = c->occupancy;
    if (o->n_free[i] < c->n_cells) return false;
    pod__grid_load(c->grid, o->topology, &o->taken[i * o->topology->n_cells]);
    return true;
}

bool pod__choose_free(pod__choice *c, bool aligned)
{
    for (int pod = 0; pod < c->occupancy->n_pods; pod++) {
        if (!pod__choice_load(c, pod)) continue;
        for (int b = 0; b < c->n_boxes; b++) {
            pod__spot s = {.box = c->box[b]};
            do {
                if (pod__grid_taken(c->grid, &s) > 0) continue;
                c->spot = s;
                c->pod = pod;
                return true;
            } while (pod__grid_next(c->grid, &s, aligned));
        }
    }
    return false;
}
