/* What a machine's interconnect costs: the numbers that the simulator goes by.
 *
 * A mesh has a link in each direction between neighbours along each dimension. A message goes
 * dimension by dimension, the shorter way round where the dimension wraps (mesh/route.h), and its
 * head moves on hop by hop without waiting for its tail:
 *
 *     t = message_s + sum over hops of latency + bytes / bandwidth of its slowest link
 *
 * while each link on the way is held for bytes / its bandwidth from when the head enters it. At a
 * link that is held the head waits, first come first served but for what is preferred (net/busy.h);
 * those behind it become free all the same (net/links.h).
 *
 * A sender prepares one message at a time: of several that could leave together, the k-th leaves
 * k message_s later. Nothing else of the rank is busy meanwhile. A send is complete when its tail
 * has left the first link's near end.
 *
 * What is received and added takes bytes / reduce_bytes_per_s more. A rank adds and copies one
 * thing after the other, but for what is preferred; sending and receiving go on meanwhile. */
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

#endif
