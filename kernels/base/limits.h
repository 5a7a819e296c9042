/* The limits of this process's control groups (Linux, versions 1 and 2), which containers, Slurm
 * jobs and systemd units use. A limit applies to all processes of the group together. */
#ifndef MINIPOD_KERNELS_BASE_LIMITS_H
#define MINIPOD_KERNELS_BASE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the quota in CPU seconds per second, such as 0.5; HUGE_VAL without a quota. */
double pod_limit_cpus(void);
/* Returns how many processes or threads are useful: the physical cores that this thread may run on,
 * but not more than the quota rounded up. */
int pod_limit_cores(void);
/* Returns the bytes of memory that the group may use, at most those of the host. */
double pod_limit_memory(void);
/* Returns how many processes of the group the kernel has killed because memory ran out; 0 if
 * unknown. */
int64_t pod_limit_memory_kills(void);

typedef struct pod_limit_group {
    char folder[4096];  /* with the files of the group */
    size_t mount_bytes; /* length of the mount point in `folder`; folders between the two are parent
                           groups */
    bool is_v2;
} pod_limit_group;

/* Finds the group of a controller ("cpu", "memory") in the texts of /proc/self/mountinfo and
 * /proc/self/cgroup; false if there is none. */
bool pod_limit_find_group(const char *mounts, const char *groups, const char *controller,
                          pod_limit_group *out);

#endif
