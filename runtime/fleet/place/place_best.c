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

/* Both faces. The box is free, so they have what is taken of a box that is longer by one on either side. */
static int faces_taken(const pod__grid *g, const pod__spot *s, int d)
{
    const int last = s->base[d] + s->box.extent[d];
    if (s->base[d] == 0 || last >= (g->wraps ? g->span[d] : g->extent[d]))
        return face_taken(g, s, d, false) + face_taken(g, s, d, true);
    pod__spot longer = *s;
    longer.base[d]--;
    longer.box.extent[d] += 2;
    return pod__grid_taken(g, &longer);
}

static int contact(const pod__grid *g, const pod__spot *s)
{
    int n = 0;
    for (int d = 0; d < POD_TOPOLOGY_DIMS; d++) n += faces_taken(g, s, d);
    return n;
}

/* The best spot of a box in the loaded pod; what it touches, or -1. */
static int choose_spot(const pod__grid *g, const pod_box *box, pod__spot *out)
{
    int most = -1;
    pod__spot s = {.box = *box};
    do {
        if (pod__grid_taken(g, &s) > 0) continue;
        const int n = contact(g, &s);
        if (n <= most) continue;
        most = n;
        *out = s;
    } while (pod__grid_next(g, &s, false));
    return most;
}

/* Of boxes that touch as many the first of the list, of pods the first. */
bool pod__choose_best(pod__choice *c)
{
    int most = -1, best = c->n_boxes, least_surface = 0;
    for (int pod = 0; pod < c->occupancy->n_pods; pod++) {
        if (!pod__choice_load(c, pod)) continue;
        for (int b = 0; b < c->n_boxes; b++) {
            pod__spot s;
            if (most >= 0 && pod_box_surface(&c->box[b]) > least_surface) break;
            const int n = choose_spot(c->grid, &c->box[b], &s);
            const bool is_smaller = most >= 0 && pod_box_surface(&c->box[b]) < least_surface;
            if (n < 0) continue;
            if (!is_smaller && (n < most || (n == most && b >= best))) continue;
            most = n;
            best = b;
            least_surface = pod_box_surface(&c->box[b]);
            c->spot = s;
            c->pod = pod;
        }
    }
    return most >= 0;
}
