/* What the control groups of this process allow it (Linux, versions 1 and 2): those of a container,
 * a Slurm job, a systemd unit. A limit holds for all processes of the group together. */
#ifndef MINIPOD_KERNELS_BASE_LIMITS_H
#define MINIPOD_KERNELS_BASE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CPU seconds a second, such as 0.5; HUGE_VAL where there is no quota. */
double pod_limit_cpus(void);
/* Physical cores that are worth a process or a thread each: those that this thread may run on, by its
 * binding, and no more than the quota rounded up. */
int pod_limit_cores(void);
/* Bytes of memory: the limit of the group, at most what the host has. */
double pod_limit_memory(void);
/* Processes of the group that the kernel killed since memory ran out; 0 where that is unknown. */
int64_t pod_limit_memory_kills(void);

typedef struct pod_limit_group {
    char folder[4096];  /* where the files of the group are */
    size_t mount_bytes; /* so much of it is the mount point: the folders above are of its parents */
    bool is_v2;
} pod_limit_group;

/* Finds the group of a controller ("cpu", "memory") in the texts of /proc/self/mountinfo and
 * /proc/self/cgroup; false where there is none. */
bool pod_limit_find_group(const char *mounts, const char *groups, const char *controller,
                          pod_limit_group *out);

#endif
