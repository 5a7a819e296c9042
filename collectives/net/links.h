/* The links of a machine during a simulation: until when each is held, and how much it was used.
 *
 * A message that arrives at a busy link waits, first come first served (net/busy.h). It waits in
 * the node, so the links behind it become free when its tail has passed. */
#ifndef MINIPOD_COLLECTIVES_NET_LINKS_H
#define MINIPOD_COLLECTIVES_NET_LINKS_H

#include <stdint.h>

#include "collectives/mesh/route.h"
#include "collectives/net/net.h"
#include "kernels/base/arena.h"

typedef struct pod_links pod_links;

/* Creates free links in the arena. Rank r uses the links of owner[r] (below n_owners): ranks that
 * one core stands for share links. Links of owners with close numbers are close in memory. Fails
 * with E_INVALID for a net with an invalid rate or time, and with E_NOMEM. */
POD_MUST pod_status pod_links_create(pod_arena *a, const pod_net *net, const pod_mesh *m,
                                     const int32_t owner[], int n_owners, pod_links **out);

typedef struct pod_transit { /* a message on its way */
    int64_t head_ps;         /* when its head arrived at the current rank */
    int64_t tail_ps;         /* when its tail will have arrived there */
    int64_t left_ps;         /* when its tail will have left the rank before */
} pod_transit;

/* Returns the index of a hop's link in memory; links that ranks share have the same one. */
int pod_links_kept(const pod_links *l, int rank, pod_hop hop);

/* Moves a message, whose head is at the start of the link at t->head_ps, one hop along dimension
 * `dim`; a preferred message waits only for preferred ones (net/busy.h). Calls for a link must be
 * in the order of head_ps. */
void pod_links_pass(pod_links *l, int kept, int dim, double bytes, bool is_preferred,
                    pod_transit *t);

void pod_links_fetch(const pod_links *l, int kept); /* prefetches it into the cache */

typedef struct pod_links_use {
    int busiest;      /* the link that was held longest; the first one of several */
    int64_t busy_ps;  /* time for which it was held */
    int64_t total_ps; /* the same, summed over links */
    double bytes;     /* summed over links: a message counts at each of its links */
    int64_t wait_ps;  /* sum of the times for which messages waited for links */
    int64_t n_waits;  /* number of such waits */
} pod_links_use;

pod_links_use pod_links_used(const pod_links *l); /* since create */
int64_t pod_links_busy_ps(const pod_links *l, int link);
double pod_links_bytes(const pod_links *l, int link); /* carried by it */

#endif
