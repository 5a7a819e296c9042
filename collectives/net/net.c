#include "collectives/net/net.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/mesh/route.h"

double pod_net_message_s(const pod_net *net, const pod_mesh *m, int from, int to, double bytes)
{
    if (from == to) return 0;
    const pod_coord a = pod_mesh_coord(m, from), b = pod_mesh_coord(m, to);
    double seconds = net->message_s, slowest = 0;
    for (int d = 0; d < m->n_dims; d++) {
        const int hops = abs(pod_route_along(m, d, a.at[d], b.at[d], true));
        seconds += hops * net->link_latency_s[d];
        if (hops > 0 && bytes / net->link_bytes_per_s[d] > slowest)
            slowest = bytes / net->link_bytes_per_s[d];
    }
    return seconds + slowest;
}

double pod_net_reduce_s(const pod_net *net, double bytes)
{
    return bytes / net->reduce_bytes_per_s;
}

double pod_net_all_to_all_s(const pod_net *net, const pod_mesh *m, const pod_group *g, double bytes)
{
    const int size = pod_group_size(m, g), first = pod_group_member(m, g, 0, 0);
    const pod_coord from = pod_mesh_coord(m, first);
    int hops[POD_MESH_MAX_DIMS] = {0};
    double alone_s = 0, queue_s = 0;
    for (int i = 1; i < size; i++) {
        const int member = pod_group_member(m, g, 0, i);
        const pod_coord to = pod_mesh_coord(m, member);
        for (int d = 0; d < m->n_dims; d++)
            hops[d] += abs(pod_route_along(m, d, from.at[d], to.at[d], true));
        const double s = pod_net_message_s(net, m, first, member, bytes);
        if (s > alone_s) alone_s = s;
    }
    for (int d = 0; d < m->n_dims; d++) {
        const int a_link = (hops[d] + 1) / 2; /* of two directions */
        const double s = (a_link - 1) * bytes / net->link_bytes_per_s[d];
        if (a_link > 0 && s > queue_s) queue_s = s;
    }
    const double prepare_s = size > 2 ? (size - 2) * net->message_s : 0;
    return alone_s + (queue_s > prepare_s ? queue_s : prepare_s);
}

void pod_net_fan_add(pod_net_fan *f, const pod_net *net, const pod_mesh *m, int from, int to,
                     double bytes, bool from_one)
{
    pod_coord at = pod_mesh_coord(m, from);
    const pod_coord end = pod_mesh_coord(m, to);
    pod_hop hop;
    bool is_first = true;
    for (int d = 0; d < m->n_dims; d++) {
        if (!pod_route_next(m, &at, &end, &hop) || hop.dim != d) continue;
        const bool is_last =
            d == m->n_dims - 1 || memcmp(&at.at[d + 1], &end.at[d + 1],
                                         (size_t)(m->n_dims - d - 1) * sizeof at.at[0]) == 0;
        f->at_link[d][hop.dir < 0] += from_one ? is_first : is_last;
        at.at[d] = end.at[d];
        is_first = false;
    }
    const double alone_s = pod_net_message_s(net, m, from, to, bytes);
    if (alone_s > f->alone_s) f->alone_s = alone_s;
    f->n++;
}

double pod_net_fan_s(const pod_net_fan *f, const pod_net *net, double bytes, bool from_one)
{
    double queue_s = 0;
    for (int d = 0; d < POD_MESH_MAX_DIMS; d++) {
        for (int side = 0; side < 2; side++) {
            const double s = (f->at_link[d][side] - 1) * bytes / net->link_bytes_per_s[d];
            if (f->at_link[d][side] > 0 && s > queue_s) queue_s = s;
        }
    }
    const double prepare_s = from_one && f->n > 0 ? (f->n - 1) * net->message_s : 0;
    return f->alone_s + (queue_s > prepare_s ? queue_s : prepare_s);
}
