#include "collectives/net/links.h"

#include <math.h>

#include "collectives/net/busy.h"

typedef struct link { /* none in two lines of a cache */
    _Alignas(32) pod_busy busy;
    int64_t busy_ps;
    double bytes; /* whole ones: their sum is exact */
} link;

struct pod_links {
    pod_mesh mesh;
    int n_owners; /* their links are kept, those of a side together */
    int64_t latency_ps[POD_MESH_MAX_DIMS];
    double s_per_byte[POD_MESH_MAX_DIMS];
    int32_t *owner[2]; /* (n_ranks) by number: along dimension 0; and along the others, whose links
                          cores of a chip may share: they take those of its first core */
    link *link;        /* (2 n_dims, n_owners) */
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

static pod_status take_owners(pod_arena *a, pod_links *l, bool is_chip_shared,
                              const int32_t owner[])
{
    const int n_ranks = pod_mesh_size(&l->mesh), n_cores = l->mesh.extent[0];
    int32_t *own = POD_ARENA_NEW(a, int32_t, n_ranks), *chip = own;
    if (is_chip_shared) chip = POD_ARENA_NEW(a, int32_t, n_ranks);
    if (!own || !chip) return POD_E_NOMEM;
    for (int r = 0; r < n_ranks; r++) {
        own[r] = owner[r];
        if (is_chip_shared) chip[r] = owner[r / n_cores * n_cores];
    }
    l->owner[0] = own;
    l->owner[1] = chip;
    return POD_OK;
}

pod_status pod_links_create(pod_arena *a, const pod_net *net, const pod_mesh *m,
                            const int32_t owner[], int n_owners, pod_links **out)
{
    POD_TRY(check_net(net, m));
    pod_links *l = POD_ARENA_NEW(a, pod_links, 1);
    if (!l) return POD_E_NOMEM;
    *l = (pod_links){.mesh = *m, .n_owners = n_owners};
    for (int d = 0; d < m->n_dims; d++) {
        l->latency_ps[d] = pod_ps(net->link_latency_s[d]);
        l->s_per_byte[d] = 1 / net->link_bytes_per_s[d];
    }
    const bool is_chip_shared = net->is_chip_shared && m->n_dims == POD_MESH_MAX_DIMS;
    POD_TRY(take_owners(a, l, is_chip_shared, owner));
    l->link = POD_ARENA_NEW(a, link, 2 * m->n_dims * l->n_owners);
    if (!l->link) return POD_E_NOMEM;
    *out = l;
    return POD_OK;
}

static link *link_of(const pod_links *l, int rank, int side)
{
    return &l->link[side * l->n_owners + l->owner[side > 1][rank]];
}

static int side_of(pod_hop hop) { return 2 * hop.dim + (hop.dir < 0); }

int pod_links_kept(const pod_links *l, int rank, pod_hop hop)
{
    return (int)(link_of(l, rank, side_of(hop)) - l->link);
}

void pod_links_pass(pod_links *l, int kept, int dim, double bytes, bool is_preferred,
                    pod_transit *t)
{
    link *via = &l->link[kept];
    const int64_t held_ps = pod_ps(bytes * l->s_per_byte[dim]);
    const int64_t latency_ps = l->latency_ps[dim];
    const int64_t start_ps = pod_busy_take(&via->busy, t->head_ps, held_ps, is_preferred);
    if (start_ps > t->head_ps) {
        l->wait_ps = pod_ps_add(l->wait_ps, start_ps - t->head_ps);
        l->n_waits++;
    }
    /* A link may be faster than the one before: it is held as long as it needs, and the tail comes
     * no earlier than it can. */
    t->left_ps = pod_later(t->tail_ps, pod_ps_add(start_ps, held_ps));
    t->tail_ps = pod_ps_add(t->left_ps, latency_ps);
    t->head_ps = pod_ps_add(start_ps, latency_ps);
    via->busy_ps = pod_ps_add(via->busy_ps, held_ps);
    via->bytes += bytes;
}

static const link *link_numbered(const pod_links *l, int number)
{
    const int n_ranks = pod_mesh_size(&l->mesh);
    return link_of(l, number % n_ranks, number / n_ranks);
}

int64_t pod_links_busy_ps(const pod_links *l, int number)
{
    return link_numbered(l, number)->busy_ps;
}

double pod_links_bytes(const pod_links *l, int number) { return link_numbered(l, number)->bytes; }

pod_links_use pod_links_used(const pod_links *l)
{
    pod_links_use use = {.wait_ps = l->wait_ps, .n_waits = l->n_waits};
    for (int i = 0; i < 2 * l->mesh.n_dims * l->n_owners; i++) {
        use.total_ps = pod_ps_add(use.total_ps, l->link[i].busy_ps);
        use.bytes += l->link[i].bytes;
    }
    for (int i = 0; i < pod_route_n_links(&l->mesh); i++) {
        const int64_t busy_ps = pod_links_busy_ps(l, i);
        if (busy_ps <= use.busy_ps) continue;
        use.busy_ps = busy_ps;
        use.busiest = i;
    }
    return use;
}

void pod_links_fetch(const pod_links *l, int kept) { __builtin_prefetch(&l->link[kept], 1); }
