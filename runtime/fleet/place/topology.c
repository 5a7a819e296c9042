#include "runtime/fleet/place/topology.h"

#include <stdio.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/parse.h"
#include "runtime/core/words.h"

/* The pods that are known by name, from the same sources as the machine files of the same names. */
static const struct {
    const char *name, *is;
} known[] = {{"tpu-v2", "torus:16x16"}, {"tpu-v3", "torus:32x32"}, {"tpu-v4", "cubes:64"}};

static const char *const kinds[] = {"pool", "nodes", "cubes", "torus", "mesh"};

enum {
    N_KNOWN = sizeof known / sizeof known[0],
    N_KINDS = sizeof kinds / sizeof kinds[0],
    TEXT_BYTES = 64
};

static void set_group(pod_topology *t, int n_groups, int x, int y, int z)
{
    t->n_groups = n_groups;
    t->extent[0] = x;
    t->extent[1] = y;
    t->extent[2] = z;
    t->group_cells = x * y * z;
    t->n_cells = n_groups * t->group_cells;
}

static void set_host(pod_topology *t, int x, int y, int z)
{
    t->host[0] = x;
    t->host[1] = y;
    t->host[2] = z;
    t->chips_per_cell = x * y * z;
}

static pod_status unknown(const char *text)
{
    const char *names[N_KNOWN + N_KINDS];
    for (int i = 0; i < N_KNOWN; i++) names[i] = known[i].name;
    for (int i = 0; i < N_KINDS; i++) names[N_KNOWN + i] = kinds[i];
    const char *near = pod_nearest_name(text, names, N_KNOWN + N_KINDS);
    return pod_fail(POD_E_INVALID,
                    "pods: there is no pod '%.40s'%s%s; want tpu-v2, tpu-v3, tpu-v4, pool:N, "
                    "nodes:NxG, cubes:N, torus:XxY or mesh:XxY",
                    text, near ? "; did you mean " : "", near ? near : "");
}

static pod_status build(const char *text, const char *kind, const int64_t d[], int n,
                        pod_topology *t)
{
    const bool is_grid = strcmp(kind, "torus") == 0 || strcmp(kind, "mesh") == 0;
    const int wanted_least = is_grid || strcmp(kind, "nodes") == 0 ? 2 : 1;
    const int wanted_most = is_grid ? 3 : wanted_least;
    int64_t cells = strcmp(kind, "cubes") == 0 ? 16 : 1;
    if (n < wanted_least || n > wanted_most)
        return pod_fail(POD_E_INVALID, "pods: '%.40s' has %d numbers, want %d%s", text, n,
                        wanted_least, is_grid ? " or 3" : "");
    for (int i = 0; i < n; i++) cells *= pod_min(d[i], 4 * POD_TOPOLOGY_MAX_CELLS + 1);
    if (is_grid) cells = pod_div_up(cells, 4);
    if (cells > POD_TOPOLOGY_MAX_CELLS)
        return pod_fail(POD_E_INVALID, "pods: '%.40s' is more than %d hosts or GPUs", text,
                        POD_TOPOLOGY_MAX_CELLS);
    const int first = (int)d[0], second = n > 1 ? (int)d[1] : 1, third = n > 2 ? (int)d[2] : 1;
    set_host(t, 1, 1, 1);
    if (strcmp(kind, "pool") == 0) {
        t->kind = POD_TOPOLOGY_POOL;
        set_group(t, 1, first, 1, 1);
    } else if (strcmp(kind, "nodes") == 0) {
        t->kind = POD_TOPOLOGY_NODES;
        set_group(t, first, second, 1, 1);
    } else if (strcmp(kind, "cubes") == 0) {
        t->kind = POD_TOPOLOGY_CUBES;
        set_group(t, first, 2, 2, 4);
        set_host(t, 2, 2, 1);
    } else if (first % 2 || second % 2) {
        return pod_fail(POD_E_INVALID, "pods: '%.40s' does not divide into hosts of 2x2 chips",
                        text);
    } else {
        t->kind = POD_TOPOLOGY_GRID;
        set_group(t, 1, first / 2, second / 2, third);
        set_host(t, 2, 2, 1);
        t->wraps = strcmp(kind, "torus") == 0;
    }
    return POD_OK;
}

pod_status pod_topology_parse(const char *text, pod_topology *out)
{
    pod_topology t = {0};
    char kind[TEXT_BYTES];
    int64_t d[POD_TOPOLOGY_DIMS];
    int n;
    const char *is = text;
    for (int i = 0; i < N_KNOWN; i++)
        if (strcmp(known[i].name, text) == 0) is = known[i].is;
    const char *colon = strchr(is, ':');
    const size_t kind_bytes = colon ? (size_t)(colon - is) : strlen(is);
    if (kind_bytes >= sizeof kind || strlen(text) >= sizeof t.name) return unknown(text);
    memcpy(kind, is, kind_bytes);
    kind[kind_bytes] = '\0';
    bool is_kind = false;
    for (int i = 0; i < N_KINDS; i++) is_kind |= strcmp(kinds[i], kind) == 0;
    if (!is_kind || !colon) return unknown(text);
    POD_TRY(pod_parse_dims("pods", colon + 1, POD_TOPOLOGY_DIMS, d, &n));
    snprintf(t.name, sizeof t.name, "%s", text);
    POD_TRY(build(text, kind, d, n, &t));
    *out = t;
    return POD_OK;
}

int pod_topology_boxes(const pod_topology *t, int n_cells, pod_box box[], int room)
{
    int n = 0;
    for (int z = 1; z <= t->extent[2] && z <= n_cells; z++)
        for (int y = 1; y <= t->extent[1] && y * z <= n_cells; y++) {
            const int x = n_cells / (y * z);
            if (x < 1 || x > t->extent[0] || x * y * z != n_cells) continue;
            const pod_box b = {{x, y, z}};
            int at = n < room ? n++ : room;
            for (; at > 0 && pod_box_surface(&box[at - 1]) > pod_box_surface(&b); at--)
                if (at < room) box[at] = box[at - 1];
            if (at < room) box[at] = b;
        }
    return n;
}

int pod_topology_cells_for(const pod_topology *t, int64_t chips)
{
    pod_box box;
    const int64_t cells = pod_div_up(chips, t->chips_per_cell);
    if (chips < 1 || cells > t->n_cells) return 0;
    if (t->kind == POD_TOPOLOGY_POOL || t->kind == POD_TOPOLOGY_NODES) return (int)cells;
    if (t->kind == POD_TOPOLOGY_CUBES && cells > t->group_cells)
        return (int)pod_round_up(cells, t->group_cells);
    for (int n = (int)cells; n <= t->group_cells; n++)
        if (pod_topology_boxes(t, n, &box, 1) > 0) return n;
    return 0;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

enum { CUBE_SIDE = 4 /* chips */ };

static bool has_boxes(const pod_topology *t)
{
    return t->kind == POD_TOPOLOGY_CUBES || t->kind == POD_TOPOLOGY_GRID;
}

static pod_slice_shape sorted(pod_slice_shape s)
{
    int *x = s.extent;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < 2; i++)
            if (x[i] > x[i + 1]) {
                const int larger = x[i];
                x[i] = x[i + 1];
                x[i + 1] = larger;
            }
    return s;
}

const char *pod_slice_shape_print(const pod_topology *t, const pod_slice_shape *shape,
                                  char text[POD_SLICE_SHAPE_BYTES])
{
    const pod_slice_shape s = sorted(*shape);
    const int *x = s.extent;
    text[0] = '\0';
    if (!pod_slice_shape_is_known(shape)) return text;
    if (t->kind == POD_TOPOLOGY_GRID && t->extent[2] == 1)
        snprintf(text, POD_SLICE_SHAPE_BYTES, "%dx%d", x[1], x[2]);
    else
        snprintf(text, POD_SLICE_SHAPE_BYTES, "%dx%dx%d", x[0], x[1], x[2]);
    return text;
}

bool pod_box_has_shape(const pod_topology *t, const pod_box *b, const pod_slice_shape *s)
{
    pod_slice_shape of;
    for (int d = 0; d < POD_TOPOLOGY_DIMS; d++) of.extent[d] = b->extent[d] * t->host[d];
    const pod_slice_shape x = sorted(of), y = sorted(*s);
    return memcmp(x.extent, y.extent, sizeof x.extent) == 0;
}

int pod_topology_cells_of(const pod_topology *t, const pod_slice_shape *s)
{
    enum { ROOM = 64 };
    pod_box box[ROOM];
    int64_t chips = 1;
    bool is_of_cubes = t->kind == POD_TOPOLOGY_CUBES;
    for (int d = 0; d < POD_TOPOLOGY_DIMS; d++) {
        chips *= s->extent[d]; /* at most 2^24 in all: jobs_csv.c */
        is_of_cubes = is_of_cubes && s->extent[d] % CUBE_SIDE == 0;
    }
    if (!has_boxes(t) || chips % t->chips_per_cell != 0 || chips > pod_topology_chips(t)) return 0;
    const int n_cells = (int)(chips / t->chips_per_cell);
    if (is_of_cubes) return n_cells;
    const int n = pod_topology_boxes(t, n_cells, box, ROOM);
    for (int i = 0; i < n; i++)
        if (pod_box_has_shape(t, &box[i], s)) return n_cells;
    return 0;
}

bool pod_topology_shape_for(const pod_topology *t, int n_cells, pod_slice_shape *out)
{
    const bool is_of_cubes = t->kind == POD_TOPOLOGY_CUBES && n_cells > t->group_cells;
    const int n = is_of_cubes ? n_cells / t->group_cells : n_cells;
    const pod_topology of_cubes = {.extent = {n, n, n}};
    pod_box b;
    if (!has_boxes(t) || pod_topology_boxes(is_of_cubes ? &of_cubes : t, n, &b, 1) == 0)
        return false;
    for (int d = 0; d < POD_TOPOLOGY_DIMS; d++)
        out->extent[d] = b.extent[d] * (is_of_cubes ? CUBE_SIDE : t->host[d]);
    return true;
}

/* The extent of a box is the number of its coordinates, also across the edge of a torus. */
pod_slice_shape pod_topology_shape_of(const pod_topology *t, const int cells[], int n_cells)
{
    pod_slice_shape s = {{0}};
    if (!has_boxes(t) || n_cells > t->group_cells) {
        pod_topology_shape_for(t, n_cells, &s);
        return s;
    }
    int stride = 1;
    for (int d = 0; d < POD_TOPOLOGY_DIMS; d++) {
        for (int at = 0; at < t->extent[d]; at++) {
            bool found = false;
            for (int i = 0; i < n_cells && !found; i++)
                found = cells[i] / stride % t->extent[d] == at;
            s.extent[d] += found ? t->host[d] : 0;
        }
        stride *= t->extent[d];
    }
    return s;
}
