/* What a machine's interconnect costs: the numbers that closed forms and the simulator share.
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

#include "collectives/mesh/group.h"
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

/* Messages of `bytes` from each member of a group to every other, all leaving together, until the
 * last has come: links carry what goes through them on average, as they do where all dimensions
 * wrap. */
double pod_net_all_to_all_s(const pod_net *net, const pod_mesh *m, const pod_group *g,
                            double bytes);

/* Messages of `bytes` between one rank and others, all leaving together: a value, begun as 0. What
 * they share are the links at that rank. */
typedef struct pod_net_fan {
    int n, at_link[POD_MESH_MAX_DIMS][2];
    double alone_s; /* of the farthest, by itself */
} pod_net_fan;

void pod_net_fan_add(pod_net_fan *f, const pod_net *net, const pod_mesh *m, int from, int to,
                     double bytes, bool from_one); /* from_one: `from` is the one rank, else `to` */
/* Until the last has come. */
double pod_net_fan_s(const pod_net_fan *f, const pod_net *net, double bytes, bool from_one);

#endif
