/* What an mpirun that was killed leaves on this host, and taking it away: processes, shared memory,
 * its session's folder. Only that of one job; other jobs that run are not touched. Ranks on other
 * hosts are ended by the daemons there, which miss mpirun. */
#ifndef MINIPOD_BENCH_LAUNCH_SWEEP_H
#define MINIPOD_BENCH_LAUNCH_SWEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Kills the processes of this user whose environment holds `entry`, "NAME=value", and looks again
 * until there are none, for some seconds. */
void pod_launch_kill_marked(const char *entry);

/* Removes Open MPI's session folder of `mpirun`, a process that has ended, and what its ranks have
 * in shared memory. */
void pod_launch_sweep(pid_t mpirun);

/* Whether a name in /dev/shm is one that Open MPI gives to memory of a job of this family: 16 bits
 * that an mpirun and its jobs have in common. */
bool pod_launch_is_left_by(const char *name, uint32_t family);

/* The family from the text of a session's contact.txt; false: there is none. */
bool pod_launch_family_of(const char *contact, uint32_t *family);
/* The same from the name of a session's folder of Open MPI 5; false: it is not that of this process
 * of this user. */
bool pod_launch_family_of_session(const char *folder, pid_t mpirun, uid_t user, uint32_t *family);

#endif
