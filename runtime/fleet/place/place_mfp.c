/* Maximal free partition: the free box that leaves the largest free box.
 *
 *   E. Krevat, J. G. Castanos, J. E. Moreira, "Job scheduling for the BlueGene/L system", JSSPP 2002
 *
 * A box that does not touch the largest free box leaves it, and is taken at once. */
#include <string.h>

#include "runtime/fleet/place/grid.h"

static int volume(const pod_box *b) { return b->extent[0] * b->extent[1] * b->extent[2]; }

/* The largest free box of the loaded grid that has more than `least` cells; its volume, or `least`. */
static int largest_free(const pod__grid *g, int least, pod__spot *out)
{
    const int *e = g->extent;
    pod__spot s = {0};
    for (int z = e[2]; z >= 1; z--)
        for (int y = e[1]; y >= 1; y--)
            for (int x = e[0]; x >= 1 && x * y * z > least; x--) {
                s = (pod__spot){.box = {{x, y, z}}};
                do {
                    if (pod__grid_taken(g, &s) > 0) continue;
                    least = volume(&s.box);
                    *out = s;
                    break;
                } while (pod__grid_next(g, &s, false));
            }
    return least;
}

static void mark(uint8_t *room, const pod__grid *g, const pod__spot *s, uint8_t value)
{
    const int *e = g->extent;
    for (int z = 0; z < s->box.extent[2]; z++)
        for (int y = 0; y < s->box.extent[1]; y++)
            for (int x = 0; x < s->box.extent[0]; x++)
                room[(((s->base[2] + z) % e[2]) * e[1] + (s->base[1] + y) % e[1]) * e[0] +
                     (s->base[0] + x) % e[0]] = value;
}

/* Whether they have a cell in common; `room` is cleared again. */
static bool touches(uint8_t *room, const pod__grid *g, const pod__spot *a, const pod__spot *b)
{
    const int *e = g->extent;
    bool found = false;
    mark(room, g, a, 1);
    for (int z = 0; z < b->box.extent[2]; z++)
        for (int y = 0; y < b->box.extent[1]; y++)
            for (int x = 0; x < b->box.extent[0]; x++)
                found |= room[(((b->base[2] + z) % e[2]) * e[1] + (b->base[1] + y) % e[1]) * e[0] +
                              (b->base[0] + x) % e[0]];
    mark(room, g, a, 0);
    return found;
}

/* What is left of the largest free box of the pod with `s` taken. */
static int left_with(pod__choice *c, int pod, const pod__spot *s, int least)
{
    const pod_topology *t = c->occupancy->topology;
    pod__spot ignored;
    memcpy(c->room, &c->occupancy->taken[pod * t->n_cells], (size_t)t->n_cells);
    mark(c->room, c->grid, s, 1);
    pod__grid_load(c->grid, t, c->room);
    const int left = largest_free(c->grid, least, &ignored);
    pod__grid_load(c->grid, t, &c->occupancy->taken[pod * t->n_cells]);
    return left;
}

/* The best spot of one loaded pod; what it takes off the largest free box, or -1. */
static int choose_in_pod(pod__choice *c, int pod, pod__spot *out)
{
    pod__spot largest = {0};
    const int before = largest_free(c->grid, 0, &largest);
    const size_t n_cells = (size_t)c->occupancy->topology->n_cells;
    int most_left = -1;
    if (before < c->n_cells) return -1;
    for (int b = 0; b < c->n_boxes; b++) {
        pod__spot s = {.box = c->box[b]};
        do {
            if (pod__grid_taken(c->grid, &s) > 0) continue;
            memset(c->room, 0, n_cells);
            if (!touches(c->room, c->grid, &largest, &s)) {
                *out = s;
                return 0;
            }
            const int left = left_with(c, pod, &s, most_left < 0 ? 0 : most_left);
            if (left <= most_left) continue;
            most_left = left;
            *out = s;
        } while (pod__grid_next(c->grid, &s, false));
    }
    return most_left < 0 ? -1 : before - most_left;
}

bool pod__choose_mfp(pod__choice *c)
{
    int least = -1;
    for (int pod = 0; pod < c->occupancy->n_pods && least != 0; pod++) {
        pod__spot s;
        if (!pod__choice_load(c, pod)) continue;
        const int taken = choose_in_pod(c, pod, &s);
        if (taken < 0 || (least >= 0 && taken >= least)) continue;
        least = taken;
        c->spot = s;
        c->pod = pod;
    }
    return least >= 0;
}
