#include "collectives/exec/window.h"

#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "collectives/exec/comm_mpi.h"
#include "kernels/base/assert.h"

enum { ALIGN_BYTES = 4096 };

/* Where MPI keeps the memory that processes share. */
static const char shared_memory_dir[] = "/dev/shm";

struct pod_window {
    pod_comm *comm;
    MPI_Win win;
    size_t bytes;
    char *data[]; /* (ranks of the node) */
};

static int node_size(const pod_comm *c)
{
    int n;
    MPI_Comm_size(pod__comm_node(c), &n);
    return n;
}

/* Asked beforehand: where it is short MPI fails on one rank and leaves the others waiting, and what
 * is granted beyond what there is ends in a bus error at its first use. */
pod_status pod_window_check_room(pod_comm *c, size_t bytes)
{
    uint64_t wanted = bytes + ALIGN_BYTES;
    MPI_Request summed;
    pod__comm_count_call(c);
    MPI_Iallreduce(MPI_IN_PLACE, &wanted, 1, MPI_UINT64_T, MPI_SUM, pod__comm_node(c), &summed);
    pod__comm_complete(c, &summed, "sum of shared memory");
    struct statvfs fs;
    if (node_size(c) == 1 || statvfs(shared_memory_dir, &fs) != 0) return POD_OK;
    const uint64_t free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (wanted <= free_bytes) return POD_OK;
    return pod_fail(POD_E_NOMEM,
                    "shared memory: the ranks of a node need %.3f GB, %s has %.3f GB: make it "
                    "larger (of a container: --shm-size)",
                    1e-9 * (double)wanted, shared_memory_dir, 1e-9 * (double)free_bytes);
}

static pod_status create_alone(pod_comm *c, size_t bytes, pod_window **out)
{
    POD_TRY(pod_window_check_room(c, bytes));
    pod_window *w = calloc(1, sizeof *w + (size_t)node_size(c) * sizeof w->data[0]);
    if (!w) return pod_fail(POD_E_NOMEM, "shared memory: none for its own table");
    w->comm = c;
    w->bytes = bytes;
    *out = w;
    return POD_OK;
}

/* MPI promises no alignment: each rank takes the first boundary in its part, and tells where. */
static void find_parts(pod_window *w, char *base)
{
    const int n = node_size(w->comm);
    uint64_t skipped = (ALIGN_BYTES - (uintptr_t)base % ALIGN_BYTES) % ALIGN_BYTES;
    memset(base + skipped, 0, w->bytes); /* so that its pages are there, and near this rank */
    uint64_t *skipped_of = malloc((size_t)n * sizeof *skipped_of);
    POD_ASSERT(skipped_of, "no memory for %d numbers", n);
    MPI_Request told;
    MPI_Iallgather(&skipped, 1, MPI_UINT64_T, skipped_of, 1, MPI_UINT64_T, pod__comm_node(w->comm),
                   &told);
    pod__comm_complete(w->comm, &told, "sharing of memory");
    for (int i = 0; i < n; i++) {
        MPI_Aint bytes;
        int unit;
        char *part;
        MPI_Win_shared_query(w->win, i, &bytes, &unit, (void *)&part);
        w->data[i] = part + skipped_of[i];
    }
    free(skipped_of);
}

pod_status pod_window_create(pod_comm *c, size_t bytes, pod_window **out)
{
    pod_window *w = NULL;
    pod__comm_count_call(c);
    pod_status status = pod_comm_agree(c, create_alone(c, bytes, &w));
    if (status != POD_OK) {
        free(w);
        return status;
    }
    char *base;
    int failed = MPI_Win_allocate_shared((MPI_Aint)(bytes + ALIGN_BYTES), 1, MPI_INFO_NULL,
                                         pod__comm_node(c), (void *)&base, &w->win);
    if (failed)
        status = pod_fail(POD_E_NOMEM, "shared memory: MPI gives no window of %zu bytes", bytes);
    status = pod_comm_agree(c, status);
    if (status != POD_OK) {
        if (!failed) MPI_Win_free(&w->win);
        free(w);
        return status;
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, w->win); /* what MPI_Win_sync wants */
    find_parts(w, base);
    pod_window_sync(w);
    *out = w;
    return POD_OK;
}

static void wait_for_node(pod_window *w, const char *what)
{
    MPI_Request all_are_here;
    pod__comm_count_call(w->comm);
    MPI_Ibarrier(pod__comm_node(w->comm), &all_are_here);
    pod__comm_complete(w->comm, &all_are_here, what);
}

/* What MPI does to free it waits for the others where no watch sees it: they are waited for
 * before. */
void pod_window_destroy(pod_window *w)
{
    if (!w) return;
    wait_for_node(w, "freeing of shared memory");
    MPI_Win_unlock_all(w->win);
    MPI_Win_free(&w->win);
    free(w);
}

static int own_index(const pod_window *w)
{
    return pod__comm_node_rank(w->comm, pod_comm_rank(w->comm));
}

void *pod_window_data(const pod_window *w) { return w->data[own_index(w)]; }
size_t pod_window_bytes(const pod_window *w) { return w->bytes; }

void *pod_window_data_of(const pod_window *w, int rank)
{
    int i = pod__comm_node_rank(w->comm, rank);
    POD_ASSERT(i >= 0, "the window of rank %d, which is of another node", rank);
    return w->data[i];
}

void pod_window_sync(pod_window *w)
{
    MPI_Win_sync(w->win);
    wait_for_node(w, "sharing of memory");
    MPI_Win_sync(w->win);
}
