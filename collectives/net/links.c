#include "collectives/net/links.h"

#include <math.h>

#include "collectives/net/engine.h"

typedef struct link {
    int64_t free_ps, busy_ps;
} link;

struct pod_links {
    pod_mesh mesh;
    int stride[POD_MESH_MAX_DIMS]; /* from a rank to the next along a dimension */
    int n_links;
    bool is_chip_shared;
    int64_t latency_ps[POD_MESH_MAX_DIMS];
    double s_per_byte[POD_MESH_MAX_DIMS];
    pod_coord *coord; /* (n_ranks) */
    link *link;       /* (n_links) */
    int64_t wait_ps, n_waits;
};

static pod_status check_rate(const char *what, double rate)
{
    if (rate > 0) return POD_OK;
    return pod_fail(POD_E_INVALID, "net: %s is %g, must be above 0", what, rate);
}

static pod_status check_time(const char *what, double seconds)
{
    if (seconds >= 0 && isfinite(seconds)) return POD_OK;
    return pod_fail(POD_E_INVALID, "net: %s is %g s, must be 0 or more", what, seconds);
}

static pod_status check_net(const pod_net *net, const pod_mesh *m)
{
    for (int d = 0; d < m->n_dims; d++) {
        POD_TRY(check_rate("a link's bandwidth", net->link_bytes_per_s[d]));
        POD_TRY(check_time("a link's latency", net->link_latency_s[d]));
    }
    POD_TRY(check_rate("the rate of sums", net->reduce_bytes_per_s));
    POD_TRY(check_rate("the rate of memory", net->memory_bytes_per_s));
    POD_TRY(check_time("the time before a message", net->message_s));
    POD_TRY(check_time("the time of a sync", net->sync_s));
    return POD_OK;
}

pod_status pod_links_create(pod_arena *a, const pod_net *net, const pod_mesh *m, pod_links **out)
{
    POD_TRY(check_net(net, m));
    const int n_ranks = pod_mesh_size(m), n_links = pod_route_n_links(m);
    pod_links *l = POD_ARENA_NEW(a, pod_links, 1);
    pod_coord *coord = POD_ARENA_NEW(a, pod_coord, n_ranks);
    link *links = POD_ARENA_NEW(a, link, n_links);
    if (!l || !coord || !links) return POD_E_NOMEM;
    *l = (pod_links){.mesh = *m,
                     .n_links = n_links,
                     .is_chip_shared = net->is_chip_shared && m->n_dims == POD_MESH_MAX_DIMS,
                     .coord = coord,
                     .link = links};
    int stride = 1;
    for (int d = 0; d < m->n_dims; d++) {
        l->stride[d] = stride;
        stride *= m->extent[d];
        l->latency_ps[d] = pod_ps(net->link_latency_s[d]);
        l->s_per_byte[d] = 1 / net->link_bytes_per_s[d];
    }
    for (int r = 0; r < n_ranks; r++) coord[r] = pod_mesh_coord(m, r);
    *out = l;
    return POD_OK;
}

/* The rank at which `hop` ends. */
static int end_of(const pod_links *l, int rank, pod_hop hop)
{
    const int at = l->coord[rank].at[hop.dim], extent = l->mesh.extent[hop.dim];
    int by = hop.dir;
    if (at + by < 0 || at + by == extent) by -= hop.dir * extent;
    return rank + by * l->stride[hop.dim];
}

/* Cores of a chip take the links of its first core. */
static link *link_of(const pod_links *l, int rank, pod_hop hop)
{
    const int owner = l->is_chip_shared && hop.dim > 0 ? rank - l->coord[rank].at[0] : rank;
    return &l->link[pod_route_link(&l->mesh, owner, hop)];
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

bool pod_links_pass(pod_links *l, pod_transit *t, int to, double bytes)
{
    pod_hop hop;
    if (!pod_route_next(&l->mesh, &l->coord[t->at], &l->coord[to], &hop)) return false;
    link *via = link_of(l, t->at, hop);
    const int64_t held_ps = pod_ps(bytes * l->s_per_byte[hop.dim]);
    const int64_t latency_ps = l->latency_ps[hop.dim];
    const int64_t start_ps = later(t->head_ps, via->free_ps);
    if (start_ps > t->head_ps) {
        l->wait_ps = pod_ps_add(l->wait_ps, start_ps - t->head_ps);
        l->n_waits++;
    }
    /* A link may be faster than the one before: it is held as long as it needs, and the tail comes
     * no earlier than it can. */
    t->left_ps = later(t->tail_ps, pod_ps_add(start_ps, held_ps));
    t->tail_ps = pod_ps_add(t->left_ps, latency_ps);
    t->head_ps = pod_ps_add(start_ps, latency_ps);
    t->at = end_of(l, t->at, hop);
    via->free_ps = pod_ps_add(start_ps, held_ps);
    via->busy_ps = pod_ps_add(via->busy_ps, held_ps);
    return true;
}

pod_links_use pod_links_used(const pod_links *l)
{
    pod_links_use use = {.wait_ps = l->wait_ps, .n_waits = l->n_waits};
    for (int i = 0; i < l->n_links; i++) {
        use.total_ps = pod_ps_add(use.total_ps, l->link[i].busy_ps);
        if (l->link[i].busy_ps <= use.busy_ps) continue;
        use.busy_ps = l->link[i].busy_ps;
        use.busiest = i;
    }
    return use;
}
