/* Memory that all ranks of a node share, with a part for each rank. For collectives/exec only.
 *
 * It is an anonymous file in the kernel's memory (memfd), so the size of /dev/shm does not limit
 * it, and it disappears with the ranks. Each rank reserves the pages of its part before any rank
 * uses them, so the pages are close to that rank, and missing memory is a status, not a bus
 * error. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SHM_SEGMENT_H
#define MINIPOD_COLLECTIVES_EXEC_SHM_SEGMENT_H

#include <stddef.h>

#include "collectives/exec/comm.h"

typedef struct pod__segment { /* windows are allocated in order, at the same offset of every part */
    char *base;
    size_t part_bytes, used_bytes; /* per rank */
    int n_ranks, n_users;
    int fd; /* open on the creating rank until all have mapped it; -1: closed */
} pod__segment;

/* Opens a segment with one user in `s`, which malloc allocated. Collective over the ranks of this
 * node, with the same size, a multiple of a page. The status is local: the ranks must agree on it,
 * and then all call pod__segment_settle, or pod__segment_release if one failed. */
POD_MUST pod_status pod__segment_open(pod_comm *c, size_t part_bytes, pod__segment *s);
void pod__segment_settle(pod__segment *s); /* all ranks have mapped it */
/* Removes one user; the last one unmaps and frees the segment. Local. NULL is allowed. */
void pod__segment_release(pod__segment *s);

#endif
