#define _GNU_SOURCE /* memfd_create */
#include "collectives/exec/shm/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectives/exec/mpi/comm_mpi.h"
#include "kernels/base/limits.h"

typedef struct file_name { /* by which others find a file without a name */
    long pid;
    int fd;
    uint64_t device, inode;
} file_name;

static pod_status fail_memory(const char *what, size_t bytes, int reason)
{
    return pod_fail(POD_E_NOMEM, "shared memory: cannot %s %.3f GB: %s", what, 1e-9 * (double)bytes,
                    strerror(reason));
}

static pod_status make_file(size_t bytes, file_name *name)
{
    struct stat st;
    const int fd = memfd_create("minipod", MFD_CLOEXEC);
    if (fd < 0) return fail_memory("make a file of", bytes, errno);
    if (ftruncate(fd, (off_t)bytes) != 0 || fstat(fd, &st) != 0) {
        const int reason = errno;
        close(fd);
        return fail_memory("make a file of", bytes, reason);
    }
    *name = (file_name){.pid = (long)getpid(), .fd = fd, .device = st.st_dev, .inode = st.st_ino};
    return POD_OK;
}

/* Of another process, whose number may mean another one here where containers hide processes. */
static pod_status open_file(const file_name *name, int *fd)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", name->pid, name->fd);
    *fd = open(path, O_RDWR | O_CLOEXEC);
    if (*fd < 0)
        return pod_fail(POD_E_NOMEM, "shared memory: cannot open %s of another rank: %s", path,
                        strerror(errno));
    if (fstat(*fd, &st) == 0 && st.st_dev == name->device && st.st_ino == name->inode)
        return POD_OK;
    close(*fd);
    return pod_fail(POD_E_NOMEM,
                    "shared memory: %s belongs to another program: the ranks of a node run in "
                    "containers that hide their processes from each other; start them in one",
                    path);
}

/* A signal may come while pages are taken. */
static int reserve(int fd, size_t offset, size_t bytes)
{
    int failed;
    do failed = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
    while (failed == EINTR);
    return failed;
}

static pod_status map_file(pod__segment *s, int rank, int fd)
{
    const size_t bytes = s->part_bytes * (size_t)s->n_ranks;
    const int failed = reserve(fd, s->part_bytes * (size_t)rank, s->part_bytes);
    if (failed) return fail_memory("reserve a part of", s->part_bytes, failed);
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) return fail_memory("map", bytes, errno);
    s->base = base;
    return POD_OK;
}

/* A rank by itself shares with nobody, and may have large pages. */
static pod_status map_alone(pod__segment *s)
{
    void *base =
        mmap(NULL, s->part_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return fail_memory("reserve", s->part_bytes, errno);
    s->base = base;
    return POD_OK;
}

static pod_status map_together(pod_comm *c, pod__segment *s, int rank)
{
    pod_status status = POD_OK;
    MPI_Request spread;
    file_name name = {.fd = -1};
    if (rank == 0) status = make_file(s->part_bytes * (size_t)s->n_ranks, &name);
    MPI_Ibcast(&name, sizeof name, MPI_BYTE, 0, pod__comm_node(c), &spread);
    pod__comm_complete(c, &spread, "sharing of memory");
    if (name.fd < 0) return status; /* the first rank says why */
    if (rank == 0) {
        s->fd = name.fd;
        return map_file(s, rank, s->fd);
    }
    int fd;
    POD_TRY(open_file(&name, &fd));
    status = map_file(s, rank, fd);
    close(fd);
    return status;
}

/* More than there is would not be refused by the kernel: it would end processes. */
static pod_status check_room(double bytes)
{
    const double limit = pod_limit_memory();
    if (bytes <= limit) return POD_OK;
    return pod_fail(POD_E_NOMEM,
                    "shared memory: the ranks of a node need %.3f GB, it has %.3f GB of memory",
                    1e-9 * bytes, 1e-9 * limit);
}

pod_status pod__segment_open(pod_comm *c, size_t part_bytes, pod__segment *s)
{
    int rank;
    *s = (pod__segment){.part_bytes = part_bytes, .n_users = 1, .fd = -1};
    MPI_Comm_rank(pod__comm_node(c), &rank);
    MPI_Comm_size(pod__comm_node(c), &s->n_ranks);
    POD_TRY(check_room((double)part_bytes * s->n_ranks)); /* all of a node find the same */
    return s->n_ranks > 1 ? map_together(c, s, rank) : map_alone(s);
}

void pod__segment_settle(pod__segment *s)
{
    if (s->fd >= 0) close(s->fd);
    s->fd = -1;
}

void pod__segment_release(pod__segment *s)
{
    if (!s || --s->n_users > 0) return;
    pod__segment_settle(s);
    if (s->base) munmap(s->base, s->part_bytes * (size_t)s->n_ranks);
    free(s);
}
