#include "collectives/algo/ideal.h"

#include <math.h>

/* Links between neighbours along dim, one way, of all that is joined by them. */
static double links_along(const pod_mesh *m, int dim)
{
    const int extent = m->extent[dim];
    const int a_line = extent == 1 ? 0 : m->wraps[dim] ? extent : extent - 1;
    return (double)(pod_mesh_size(m) / extent) * a_line;
}

/* How many cores have each link along dim for their own together. */
static int sharers(const pod_net *net, const pod_mesh *m, int dim)
{
    return net->is_chip_shared && m->n_dims == POD_MESH_MAX_DIMS && dim > 0 ? m->extent[0] : 1;
}

/* The mesh with all dimensions but some contracted: parts whose inside costs nothing. */
typedef struct parts {
    int n, n_cores;     /* how many parts, and cores of each */
    double all_links;   /* bytes a second of the links between parts, both ways */
    double into_corner; /* of those into the part that has the fewest */
} parts;

static parts contract(const pod_net *net, const pod_mesh *m, uint32_t kept)
{
    parts p = {.n = 1};
    for (int d = 0; d < m->n_dims; d++)
        if (kept >> d & 1) p.n *= m->extent[d];
    p.n_cores = pod_mesh_size(m) / p.n;
    for (int d = 0; d < m->n_dims; d++) {
        if (!(kept >> d & 1) || m->extent[d] == 1) continue;
        const double rate = net->link_bytes_per_s[d] / sharers(net, m, d);
        p.all_links += 2 * links_along(m, d) * rate;
        /* A core among several sees all links of its chip. */
        p.into_corner += (m->wraps[d] ? 2 : 1) * fmax(p.n_cores * rate, net->link_bytes_per_s[d]);
    }
    return p;
}

/* What must come in to one of n equal parts, or in a reduce-scatter go out of it. */
static double bytes_in(pod_coll coll, double bytes, const parts *p)
{
    if (coll == POD_ALLREDUCE || pod_coll_has_root(coll)) return bytes;
    const double buffers = coll == POD_ALLTOALL ? p->n_cores : 1; /* those have nothing alike */
    return buffers * bytes * (p->n - 1) / p->n;
}

/* Of a sendrecv only what comes in to each core counts: others need not be far. */
static double corner_and_traffic_s(const pod_net *net, const pod_mesh *m, pod_coll coll,
                                   double bytes)
{
    const uint32_t all = (1u << m->n_dims) - 1;
    double most = 0;
    if (coll == POD_SENDRECV) return bytes / contract(net, m, all).into_corner;
    for (uint32_t kept = 1; kept < 1u << m->n_dims; kept++) {
        const parts p = contract(net, m, kept);
        const double moves = (coll == POD_ALLREDUCE ? 2.0 : 1.0) * (p.n - 1);
        if (p.n == 1) continue;
        most = fmax(most, bytes_in(coll, bytes, &p) / p.into_corner);
        most = fmax(most, moves * bytes / p.all_links);
    }
    return most;
}

/* From one end to the other, or from the root. */
static double far_s(const pod_net *net, const pod_mesh *m, const pod_coll_args *args)
{
    const pod_coord root = pod_mesh_coord(m, args->root);
    double s = net->message_s;
    if (args->coll == POD_SENDRECV) return s;
    for (int d = 0; d < m->n_dims; d++) {
        const int last = m->extent[d] - 1, at = pod_coll_has_root(args->coll) ? root.at[d] : 0;
        const int hops = m->wraps[d] ? m->extent[d] / 2 : at > last - at ? at : last - at;
        s += hops * net->link_latency_s[d];
    }
    return s;
}

static double halves_s(const pod_net *net, const pod_mesh *m, double bytes)
{
    const double n = pod_mesh_size(m);
    double most = 0;
    for (int d = 0; d < m->n_dims; d++) {
        const int extent = m->extent[d], half = extent / 2;
        const double here = n * half / extent, there = n - here;
        const double links = (m->wraps[d] ? 2 : 1) * n / extent / sharers(net, m, d);
        if (half > 0)
            most = fmax(most, here * there * bytes / n / (links * net->link_bytes_per_s[d]));
    }
    return most;
}

double pod_coll_ideal_s(const pod_net *net, const pod_mesh *m, const pod_coll_args *args)
{
    const double bytes = (double)args->count * (double)pod_dtype_bytes(args->dtype);
    if (pod_mesh_size(m) == 1 || args->count == 0) return 0;
    const double s = fmax(far_s(net, m, args), corner_and_traffic_s(net, m, args->coll, bytes));
    return args->coll == POD_ALLTOALL ? fmax(s, halves_s(net, m, bytes)) : s;
}
