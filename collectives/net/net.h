/* The interconnect of a machine: the numbers from which the simulator computes times.
 *
 * A mesh has a link in each direction between neighbours along each dimension. A message goes
 * dimension by dimension, by the shorter way if the dimension wraps (mesh/route.h), and its head
 * moves on hop by hop without waiting for its tail:
 *
 *     t = message_s + sum over hops of latency + bytes / bandwidth of its slowest link
 *
 * while each link on the way is held for bytes / its bandwidth from the time when the head enters
 * it. If a link is held, the head waits in front of it, first come first served except for
 * preferred messages (net/busy.h); the links behind it become free nevertheless (net/links.h).
 *
 * A sender prepares one message at a time: of several messages that could leave together, the k-th
 * leaves after k message_s. This delays no other work of the rank. A send is complete when its tail
 * has entered the first link.
 *
 * Adding a received message takes bytes / reduce_bytes_per_s more. A rank adds and copies one after
 * another, except for preferred work; sending and receiving continue meanwhile. */
#ifndef MINIPOD_COLLECTIVES_NET_NET_H
#define MINIPOD_COLLECTIVES_NET_NET_H

#include <stdbool.h>

#include "collectives/mesh/mesh.h"

typedef struct pod_net { /* a value; with a rate of INFINITY, work takes no time */
    double link_bytes_per_s[POD_MESH_MAX_DIMS]; /* of a link, in one direction */
    double link_latency_s[POD_MESH_MAX_DIMS];   /* per hop */
    double message_s;          /* time of the sender before the first byte leaves */
    double reduce_bytes_per_s; /* of adding received data (RECV_REDUCE) */
    double memory_bytes_per_s; /* bytes read and written by COPY, REDUCE_FROM and REDUCE_ALL */
    double sync_s;             /* of a SYNC, after the last rank has begun it */
    bool is_chip_shared;       /* three dimensions: cores of a chip (the first) share its links */
} pod_net;

#endif
