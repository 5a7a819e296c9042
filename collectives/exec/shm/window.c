#include "collectives/exec/shm/window.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/exec/mpi/comm_mpi.h"
#include "collectives/exec/shm/segment.h"
#include "kernels/base/assert.h"

enum { PAGE_BYTES = 4096, LEAST_PART_BYTES = 1 << 20 }; /* the flags of hundreds of runs */

/* Each rank's part begins at another place of a page. The ways of a first-level cache are a page
 * each: if all parts began at one, a sum over sixteen ranks would find none of the lines again
 * that it has just read when it stores to them. */
enum { SHIFT_BYTES = 256, N_SHIFTS = PAGE_BYTES / SHIFT_BYTES };

struct pod_window {
    pod_comm *comm;
    pod__segment *segment;
    size_t offset, bytes; /* in each rank's part of the segment; of this rank */
};

/* What the largest of this node wants, in whole pages, and one to shift it in. */
static size_t agree_on_bytes(pod_comm *c, size_t bytes)
{
    uint64_t most = bytes + (bytes == 0);
    MPI_Request found;
    MPI_Iallreduce(MPI_IN_PLACE, &most, 1, MPI_UINT64_T, MPI_MAX, pod__comm_node(c), &found);
    pod__comm_complete(c, &found, "sharing of memory");
    return (most + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES + PAGE_BYTES;
}

static size_t room_in(const pod__segment *s) { return s ? s->part_bytes - s->used_bytes : 0; }

/* In the segment that the comm has open, or in `fresh`. All of a node find the same. */
static pod_status take_place(pod_window *w, size_t bytes, pod__segment *fresh)
{
    pod__segment *s = *pod__comm_segment(w->comm);
    if (room_in(s) >= bytes) {
        free(fresh);
        s->n_users++;
    } else {
        s = fresh;
        POD_TRY(pod__segment_open(w->comm, bytes < LEAST_PART_BYTES ? LEAST_PART_BYTES : bytes, s));
    }
    w->segment = s;
    w->offset = s->used_bytes;
    s->used_bytes += bytes;
    return POD_OK;
}

/* The next windows go where more room is left. */
static void settle(pod_comm *c, pod__segment *s)
{
    pod__segment **open = pod__comm_segment(c);
    pod__segment_settle(s);
    if (s == *open || room_in(s) <= room_in(*open)) return;
    pod__segment_release(*open);
    s->n_users++;
    *open = s;
}

pod_status pod_window_create(pod_comm *c, size_t bytes, pod_window **out)
{
    pod__comm_count_call(c);
    pod_window *w = calloc(1, sizeof *w);
    pod__segment *fresh = calloc(1, sizeof *fresh);
    pod_status status = pod_comm_agree(
        c, w && fresh ? POD_OK : pod_fail(POD_E_NOMEM, "shared memory: none for its own table"));
    if (status != POD_OK) {
        free(fresh);
        free(w);
        return status;
    }
    *w = (pod_window){.comm = c, .bytes = bytes};
    status = pod_comm_agree(c, take_place(w, agree_on_bytes(c, bytes), fresh));
    if (status != POD_OK) {
        pod__segment_release(w->segment ? w->segment : fresh);
        free(w);
        return status;
    }
    settle(c, w->segment);
    memset(pod_window_data(w), 0, bytes); /* so that no step is the first to touch it */
    pod_window_sync(w);
    *out = w;
    return POD_OK;
}

void pod_window_destroy(pod_window *w)
{
    if (!w) return;
    pod__segment_release(w->segment);
    free(w);
}

static char *part_of(const pod_window *w, int node_rank)
{
    return w->segment->base + (size_t)node_rank * w->segment->part_bytes + w->offset +
           (size_t)(node_rank % N_SHIFTS) * SHIFT_BYTES;
}

void *pod_window_data(const pod_window *w)
{
    return part_of(w, pod__comm_node_rank(w->comm, pod_comm_rank(w->comm)));
}

size_t pod_window_bytes(const pod_window *w) { return w->bytes; }

void *pod_window_data_of(const pod_window *w, int rank)
{
    int i = pod__comm_node_rank(w->comm, rank);
    POD_ASSERT(i >= 0, "the window of rank %d, which is of another node", rank);
    return part_of(w, i);
}

/* Who enters the barrier has written; who leaves it reads. */
void pod_window_sync(pod_window *w)
{
    MPI_Request all_are_here;
    pod__comm_count_call(w->comm);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    MPI_Ibarrier(pod__comm_node(w->comm), &all_are_here);
    pod__comm_complete(w->comm, &all_are_here, "sharing of memory");
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
