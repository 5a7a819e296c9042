/* What a machine's interconnect costs: the numbers that closed forms and the simulator share.
 *
 * A mesh has a link in each direction between neighbours along each dimension. A message goes
 * dimension by dimension, the shorter way round where the dimension wraps, and moves on hop by hop
 * without waiting for its tail:
 *
 *     t = message_s + sum over hops of latency + bytes / bandwidth of its slowest link
 *
 * while each link on the way is held for bytes / its bandwidth. What is received and added takes
 * bytes / reduce_bytes_per_s more; a rank adds one thing at a time. */
#ifndef MINIPOD_COLLECTIVES_NET_NET_H
#define MINIPOD_COLLECTIVES_NET_NET_H

#include <stdbool.h>

#include "collectives/mesh/mesh.h"

typedef struct pod_net {                        /* a value; a rate of INFINITY takes no time */
    double link_bytes_per_s[POD_MESH_MAX_DIMS]; /* of one link, one way */
    double link_latency_s[POD_MESH_MAX_DIMS];   /* a hop */
    double message_s;                           /* the sender's part before the first byte leaves */
    double reduce_bytes_per_s;                  /* of what is received and added (RECV_REDUCE) */
    double memory_bytes_per_s; /* read and written, of COPY, REDUCE_FROM and REDUCE_ALL */
    double sync_s;             /* of a SYNC, once the last rank has come */
    bool is_chip_shared; /* with three dimensions the cores along the first share the links of the
                            others, which are their chip's */
} pod_net;

/* A message that meets no other. 0 to oneself. */
double pod_net_message_s(const pod_net *net, const pod_mesh *m, int from, int to, double bytes);
double pod_net_reduce_s(const pod_net *net, double bytes); /* of adding what was received */

#endif
