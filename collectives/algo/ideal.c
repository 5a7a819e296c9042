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

/* Bytes a second of all links, both ways. */
static double all_links(const pod_net *net, const pod_mesh *m)
{
    double sum = 0;
    for (int d = 0; d < m->n_dims; d++)
        sum += 2 * links_along(m, d) * net->link_bytes_per_s[d] / sharers(net, m, d);
    return sum;
}

/* Bytes a second into the core that has the fewest links, along dimensions from `first` on. */
static double corner_links(const pod_net *net, const pod_mesh *m, int first)
{
    double sum = 0;
    for (int d = first; d < m->n_dims; d++)
        if (m->extent[d] > 1) sum += (m->wraps[d] ? 2 : 1) * net->link_bytes_per_s[d];
    return sum;
}

/* What must come in to a part of the mesh, one of `n_parts` that are equal, or in a reduce-scatter
 * go out of it. */
static double bytes_in(pod_coll coll, double bytes, double n_parts)
{
    return coll == POD_ALLREDUCE || coll == POD_BROADCAST ? bytes : bytes * (n_parts - 1) / n_parts;
}

static double corner_s(const pod_net *net, const pod_mesh *m, pod_coll coll, double bytes)
{
    const int n = pod_mesh_size(m), cores = sharers(net, m, m->n_dims - 1);
    const double core_s = bytes_in(coll, bytes, n) / corner_links(net, m, 0);
    if (cores == 1 || cores == n) return core_s;
    const double buffers =
        coll == POD_ALLTOALL ? cores : 1; /* those of a chip have nothing alike */
    return fmax(core_s, buffers * bytes_in(coll, bytes, n / cores) / corner_links(net, m, 1));
}

static double traffic_s(const pod_net *net, const pod_mesh *m, pod_coll coll, double bytes)
{
    const double moves = (coll == POD_ALLREDUCE ? 2.0 : 1.0) * (pod_mesh_size(m) - 1);
    return moves * bytes / all_links(net, m);
}

/* From one end to the other, or from the root. */
static double far_s(const pod_net *net, const pod_mesh *m, const pod_coll_args *args)
{
    const pod_coord root = pod_mesh_coord(m, args->root);
    double s = net->message_s;
    for (int d = 0; d < m->n_dims; d++) {
        const int last = m->extent[d] - 1, at = args->coll == POD_BROADCAST ? root.at[d] : 0;
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
    const double s = fmax(far_s(net, m, args), corner_s(net, m, args->coll, bytes));
    if (args->coll == POD_ALLTOALL) return fmax(s, halves_s(net, m, bytes));
    return fmax(s, traffic_s(net, m, args->coll, bytes));
}
