/* Memory that all ranks of a node share, a part for each. For collectives/exec only.
 *
 * It is a file without a name in the kernel's memory: /dev/shm does not bound it, and nothing of it
 * outlives the ranks. Its pages are reserved before anybody touches them, each rank's by that rank,
 * so that they lie near it: what cannot be had is told by a status, not by a bus error. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SHM_SEGMENT_H
#define MINIPOD_COLLECTIVES_EXEC_SHM_SEGMENT_H

#include <stddef.h>

#include "collectives/exec/comm.h"

typedef struct pod__segment { /* windows take their places from its start on, on all ranks alike */
    char *base;
    size_t part_bytes, used_bytes; /* of each rank */
    int n_ranks, n_users;
    int fd; /* of who made it, until all have mapped it; -1: closed */
} pod__segment;

/* Into `s`, which malloc gave, with one user. Collective over the ranks of this node, which name
 * the same size, a multiple of a page. The status is local:
 * when all have agreed on it each calls _settle, or _release where one failed. */
POD_MUST pod_status pod__segment_open(pod_comm *c, size_t part_bytes, pod__segment *s);
void pod__segment_settle(pod__segment *s); /* all have it */
/* One user less; the last takes it down and frees it. Local. NULL is allowed. */
void pod__segment_release(pod__segment *s);

#endif
