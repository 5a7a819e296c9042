/* What can go wrong as a program of several ranks starts, and is seen by each of them alone. */
#ifndef MINIPOD_BENCH_START_H
#define MINIPOD_BENCH_START_H

#include <stdbool.h>
#include <stddef.h>

typedef char *pod_env_find(const char *name); /* getenv, or a test's */

/* n programs of one rank each where one job of n ranks was meant: srun without PMIx, or the mpirun of
 * another MPI, starts them so, and none of them knows of the others. For a job that has one rank by
 * MPI's word: whether its environment, as a launcher leaves it to those that it starts, speaks of
 * more. Then `text` says so: "1 rank, but PMI_SIZE says 4: ...". The shell of an allocation, which
 * may start what it likes, is not what a launcher started. */
bool pod_other_launcher(pod_env_find *find, char *text, size_t bytes);

enum { POD_SLOW_START_BYTES = 512 };

/* Open MPI looks up the name of its host, and waits for a name server if /etc/hosts does not have the
 * name. Whether the start of MPI took long on a host whose name is not in this file of hosts, which
 * need not be there; then `text` says so in one line. */
bool pod_slow_start(double seconds, const char *hostname, const char *hosts_path,
                    char text[POD_SLOW_START_BYTES]);

#endif
