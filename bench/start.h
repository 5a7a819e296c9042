/* Problems at the start of a program with several ranks that each rank sees only by itself. */
#ifndef MINIPOD_BENCH_START_H
#define MINIPOD_BENCH_START_H

#include <stdbool.h>
#include <stddef.h>

typedef char *pod_env_find(const char *name); /* getenv, or a test's */

/* srun without PMIx, or the mpirun of another MPI, starts n programs of one rank each instead of
 * one job of n ranks, and none of them knows of the others. For a job that has one rank according
 * to MPI: returns whether variables that launchers set say that there are more; `text` then says
 * so: "1 rank, but PMI_SIZE says 4: ...". Variables that are also set in the shell of an allocation
 * do not count. */
bool pod_other_launcher(pod_env_find *find, char *text, size_t bytes);

enum { POD_SLOW_START_BYTES = 512 };

/* Open MPI looks up the name of its host, and waits for a name server if /etc/hosts lacks the name.
 * Returns whether the start of MPI took long and the hosts file, which need not exist, lacks the
 * host's name; `text` then says so in one line. */
bool pod_slow_start(double seconds, const char *hostname, const char *hosts_path,
                    char text[POD_SLOW_START_BYTES]);

#endif
