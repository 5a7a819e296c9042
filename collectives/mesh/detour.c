#include "collectives/mesh/detour.h"

#include <stdint.h>

#include "kernels/base/assert.h"

enum { FAR = INT32_MAX };

struct pod_detours {
    pod_arena *arena;
    pod_mesh mesh;
    int n_ranks;
    bool *has_failed;    /* by link */
    uint8_t **next_side; /* (n_ranks, n_ranks) by where to, then by where: 2 dim + down; NULL where
                            not prepared */
    int32_t *n_hops;     /* (n_ranks) for one search */
    int32_t *queue;      /* (n_ranks) */
};

static pod_hop hop_of(int side) { return (pod_hop){side / 2, side % 2 ? -1 : 1}; }

static int side_of(pod_hop hop) { return 2 * hop.dim + (hop.dir < 0); }

/* The rank behind a link; -1 where there is none, or none that works. */
static int behind(const pod_detours *d, int rank, int side)
{
    const pod_hop hop = hop_of(side);
    const int next = pod_mesh_neighbor(&d->mesh, rank, hop.dim, hop.dir);
    if (next < 0 || next == rank || d->has_failed[pod_route_link(&d->mesh, rank, hop)]) return -1;
    return next;
}

static pod_status fail(pod_detours *d, int link)
{
    char text[POD_LINK_TEXT_BYTES], mesh[POD_MESH_TEXT_BYTES];
    const int rank = link % d->n_ranks;
    const pod_hop hop = hop_of(link / d->n_ranks);
    const int next = pod_mesh_neighbor(&d->mesh, rank, hop.dim, hop.dir);
    if (next < 0 || next == rank)
        return pod_fail(POD_E_INVALID, "mesh %s has no link %s",
                        pod_mesh_print(&d->mesh, mesh, sizeof mesh),
                        pod_route_link_print(&d->mesh, link, text, sizeof text));
    d->has_failed[link] = true;
    d->has_failed[pod_route_link(&d->mesh, next, (pod_hop){hop.dim, -hop.dir})] = true;
    return POD_OK;
}

/* n_hops of all ranks to one; answers how many can get there. */
static int search(const pod_detours *d, int to)
{
    int n = 1;
    for (int r = 0; r < d->n_ranks; r++) d->n_hops[r] = FAR;
    d->n_hops[to] = 0;
    d->queue[0] = to;
    for (int i = 0; i < n; i++)
        for (int side = 0; side < 2 * d->mesh.n_dims; side++) {
            const int next = behind(d, d->queue[i], side);
            if (next < 0 || d->n_hops[next] < FAR) continue;
            d->n_hops[next] = d->n_hops[d->queue[i]] + 1;
            d->queue[n++] = next;
        }
    return n;
}

static pod_status check_whole(const pod_detours *d)
{
    char mesh[POD_MESH_TEXT_BYTES];
    int cut_off = 0;
    if (search(d, 0) == d->n_ranks) return POD_OK;
    while (d->n_hops[cut_off] < FAR) cut_off++;
    return pod_fail(POD_E_INVALID,
                    "mesh %s: without the links that have failed no way leads from core 0 to core "
                    "%d",
                    pod_mesh_print(&d->mesh, mesh, sizeof mesh), cut_off);
}

pod_status pod_detours_create(pod_arena *a, const pod_mesh *m, const int link[], int n,
                              pod_detours **out)
{
    pod_detours *d = POD_ARENA_NEW(a, pod_detours, 1);
    if (!d) return POD_E_NOMEM;
    *d = (pod_detours){.arena = a, .mesh = *m, .n_ranks = pod_mesh_size(m)};
    d->has_failed = POD_ARENA_NEW(a, bool, pod_route_n_links(m));
    d->next_side = POD_ARENA_NEW(a, uint8_t *, d->n_ranks);
    d->n_hops = POD_ARENA_NEW(a, int32_t, d->n_ranks);
    d->queue = POD_ARENA_NEW(a, int32_t, d->n_ranks);
    if (!d->has_failed || !d->next_side || !d->n_hops || !d->queue) return POD_E_NOMEM;
    for (int i = 0; i < n; i++) POD_TRY(fail(d, link[i]));
    POD_TRY(check_whole(d));
    *out = d;
    return POD_OK;
}

bool pod_detours_meets(const pod_detours *d, int from, int to)
{
    const pod_mesh *m = &d->mesh;
    const pod_coord end = pod_mesh_coord(m, to);
    pod_coord at = pod_mesh_coord(m, from);
    pod_hop hop;
    while (pod_route_next(m, &at, &end, &hop)) {
        if (d->has_failed[pod_route_link(m, pod_mesh_rank(m, at), hop)]) return true;
        at.at[hop.dim] = (at.at[hop.dim] + hop.dir + m->extent[hop.dim]) % m->extent[hop.dim];
    }
    return false;
}

static bool is_nearer(const pod_detours *d, int rank, int side)
{
    const int next = behind(d, rank, side);
    return next >= 0 && d->n_hops[next] == d->n_hops[rank] - 1;
}

static int side_from(const pod_detours *d, int rank, const pod_coord *to)
{
    const pod_coord at = pod_mesh_coord(&d->mesh, rank);
    pod_hop hop;
    if (!pod_route_next(&d->mesh, &at, to, &hop)) return 0; /* is there */
    if (is_nearer(d, rank, side_of(hop))) return side_of(hop);
    int side = 0;
    while (side < 2 * d->mesh.n_dims && !is_nearer(d, rank, side)) side++;
    POD_ASSERT(side < 2 * d->mesh.n_dims, "no way leads on from core %d", rank);
    return side;
}

pod_status pod_detours_prepare(pod_detours *d, int to)
{
    if (d->next_side[to]) return POD_OK;
    uint8_t *next_side = POD_ARENA_NEW(d->arena, uint8_t, d->n_ranks);
    if (!next_side) return POD_E_NOMEM;
    const pod_coord end = pod_mesh_coord(&d->mesh, to);
    search(d, to);
    for (int r = 0; r < d->n_ranks; r++) next_side[r] = (uint8_t)side_from(d, r, &end);
    d->next_side[to] = next_side;
    return POD_OK;
}

bool pod_detours_has(const pod_detours *d, int to) { return d->next_side[to]; }

pod_hop pod_detours_next(const pod_detours *d, int at, int to)
{
    POD_DCHECK(d->next_side[to], "ways to core %d are not prepared", to);
    return hop_of(d->next_side[to][at]);
}
