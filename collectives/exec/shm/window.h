/* Memory of this rank that the other ranks of its node can read and write: where collectives over
 * shared memory find what they work on, so that nothing is copied to get there. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SHM_WINDOW_H
#define MINIPOD_COLLECTIVES_EXEC_SHM_WINDOW_H

#include "collectives/exec/comm.h"

typedef struct pod_window pod_window;

/* `bytes` on this rank, which need not be those of others, zeroed. E_NOMEM, also where the node has
 * too little memory. Takes what the largest of a node's ranks wants on each of them. Collective. */
POD_MUST pod_status pod_window_create(pod_comm *c, size_t bytes, pod_window **out);
/* No run of this rank uses it any more; others still may. All ranks come to it, and wait for none.
 * NULL is allowed. */
void pod_window_destroy(pod_window *w);

void *pod_window_data(const pod_window *w); /* this rank's own; aligned to 256 bytes */
size_t pod_window_bytes(const pod_window *w);
/* That of another rank of this node, as this process sees it. */
void *pod_window_data_of(const pod_window *w, int rank);

/* What a rank of the node wrote to any part of the window before it came here, all see behind it.
 * For set-up. Collective. */
void pod_window_sync(pod_window *w);

#endif
