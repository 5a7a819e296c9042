/* n programs of one rank each, where one job of n ranks was meant: srun without PMIx, or the mpirun
 * of another MPI, starts them so, and none of them knows of the others. */
#ifndef MINIPOD_BENCH_OTHER_LAUNCHER_H
#define MINIPOD_BENCH_OTHER_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

typedef char *pod_env_find(const char *name); /* getenv, or a test's */

/* For a job that has one rank by MPI's word: whether its environment, as a launcher leaves it to
 * those that it starts, speaks of more. Then `text` says so: "1 rank, but PMI_SIZE says 4: ...".
 * The shell of an allocation, which may start what it likes, is not what a launcher started. */
bool pod_other_launcher(pod_env_find *find, char *text, size_t bytes);

#endif
