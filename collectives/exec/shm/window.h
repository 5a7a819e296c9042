/* Memory of this rank that the other ranks of its node can read and write. Collectives over shared
 * memory work on buffers in it, without copying them. */
#ifndef MINIPOD_COLLECTIVES_EXEC_SHM_WINDOW_H
#define MINIPOD_COLLECTIVES_EXEC_SHM_WINDOW_H

#include "collectives/exec/comm.h"

typedef struct pod_window pod_window;

/* Creates a window of `bytes` zeroed bytes on this rank; ranks may give different sizes, but each
 * rank of a node uses as much memory as the largest. Fails with E_NOMEM, also if the node has too
 * little memory. Collective. */
POD_MUST pod_status pod_window_create(pod_comm *c, size_t bytes, pod_window **out);
/* Call it when no run of this rank uses the window; those of other ranks may. All ranks call it,
 * but do not wait for each other. NULL is allowed. */
void pod_window_destroy(pod_window *w);

void *pod_window_data(const pod_window *w); /* this rank's own; aligned to 256 bytes */
size_t pod_window_bytes(const pod_window *w);
/* Returns the address, in this process, of the data of another rank of this node. */
void *pod_window_data_of(const pod_window *w, int rank);

/* Makes all writes to the window before this call, by any rank of the node, visible to all ranks
 * after it. For set-up. Collective. */
void pod_window_sync(pod_window *w);

#endif
