/* Best fit: of the free boxes of least surface the one whose faces touch most taken cells and
 * borders; of several that touch as many, the first. */
#include "runtime/fleet/place/grid.h"

/* A face of a box of the grid, one cell thick, on the low or the high side. */
static int face_taken(const pod__grid *g, const pod__spot *s, int d, bool is_high)
{
    pod__spot face = *s;
    int at = is_high ? s->base[d] + s->box.extent[d] : s->base[d] - 1;
    int n_cells = 1;
    for (int k = 0; k < POD_TOPOLOGY_DIMS; k++)
        if (k != d) n_cells *= s->box.extent[k];
    if (s->box.extent[d] == g->extent[d]) return n_cells; /* its own other side, or the border */
    if (!g->wraps && (at < 0 || at >= g->extent[d])) return n_cells;
    face.base[d] = (at + g->extent[d]) % g->extent[d];
    face.box.extent[d] = 1;
    return pod__grid_taken(g, &face);
}

static int contact(const pod__grid *g, const pod__spot *s)
{
    int n = 0;
    for (int d = 0; d < POD_TOPOLOGY_DIMS; d++)
        n += face_taken(g, s, d, false) + face_taken(g, s, d, true);
    return n;
}

static int surface(const pod_box *b)
{
    return b->extent[0] * b->extent[1] + b->extent[1] * b->extent[2] + b->extent[2] * b->extent[0];
}

bool pod__choose_best(pod__choice *c)
{
    int most = -1, least_surface = 0;
    for (int b = 0; b < c->n_boxes; b++) {
        if (most >= 0 && surface(&c->box[b]) > least_surface) break;
        for (int pod = 0; pod < c->occupancy->n_pods; pod++) {
            if (!pod__choice_load(c, pod)) continue;
            pod__spot s = {.box = c->box[b]};
            do {
                if (pod__grid_taken(c->grid, &s) > 0) continue;
                const int n = contact(c->grid, &s);
                if (n <= most) continue;
                most = n;
                least_surface = surface(&c->box[b]);
                c->spot = s;
                c->pod = pod;
            } while (pod__grid_next(c->grid, &s, false));
        }
    }
    return most >= 0;
}
