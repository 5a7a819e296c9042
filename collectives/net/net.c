#include "collectives/net/net.h"

#include <stdlib.h>

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
