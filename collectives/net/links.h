/* The links of a machine while messages pass: which is held until when, and how long it was used.
 *
 * A message that comes to a busy link waits there; who came first goes first (net/busy.h). It waits
 * in the node, so that the links behind it become free when its tail has passed. */
#ifndef MINIPOD_COLLECTIVES_NET_LINKS_H
#define MINIPOD_COLLECTIVES_NET_LINKS_H

#include <stdint.h>

#include "collectives/mesh/route.h"
#include "collectives/net/net.h"
#include "kernels/base/arena.h"

typedef struct pod_links pod_links;

/* In the arena, all free. The links of rank r are kept as those of owner[r], one of n_owners: ranks
 * that one stands for have the same. Links of owners with near numbers lie together. E_INVALID for
 * a net with a rate or time that is none; E_NOMEM. */
POD_MUST pod_status pod_links_create(pod_arena *a, const pod_net *net, const pod_mesh *m,
                                     const int32_t owner[], int n_owners, pod_links **out);

typedef struct pod_transit { /* a message on its way */
    int64_t head_ps;         /* when its head came to where it is */
    int64_t tail_ps;         /* when the whole of it will have come there */
    int64_t left_ps;         /* when its tail will have left the rank before */
} pod_transit;

/* The hop's link, as it is kept: those that are kept as one have one number. */
int pod_links_kept(const pod_links *l, int rank, pod_hop hop);

/* Takes the head, which is at that link's near end at the time t->head_ps, one hop on, along
 * dimension `dim`; what is preferred waits for its like alone (net/busy.h). Calls for a link come in
 * the order of head_ps. */
void pod_links_pass(pod_links *l, int kept, int dim, double bytes, bool is_preferred,
                    pod_transit *t);

void pod_links_fetch(const pod_links *l, int kept); /* asks the cache for it */

typedef struct pod_links_use {
    int busiest;      /* link; the first of those that were used as long */
    int64_t busy_ps;  /* how long it was held */
    int64_t total_ps; /* the same of all links together */
    double bytes;     /* that all links carried, together: a message counts at each */
    int64_t wait_ps;  /* that messages waited for links, all together */
    int64_t n_waits;  /* times that one waited */
} pod_links_use;

pod_links_use pod_links_used(const pod_links *l); /* since create */
int64_t pod_links_busy_ps(const pod_links *l, int link);
double pod_links_bytes(const pod_links *l, int link); /* that it carried */

#endif
