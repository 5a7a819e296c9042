/* A start of MPI that took long, and the cause that is known: Open MPI looks up the name of its host,
 * and waits for a name server where /etc/hosts does not have the name. */
#ifndef MINIPOD_BENCH_SLOW_START_H
#define MINIPOD_BENCH_SLOW_START_H

#include <stdbool.h>
#include <stddef.h>

enum { POD_SLOW_START_BYTES = 512 };

/* Whether the start of MPI took long on a host whose name is not in this file of hosts, which need
 * not be there; then `text` says so in one line. */
bool pod_slow_start(double seconds, const char *hostname, const char *hosts_path,
                    char text[POD_SLOW_START_BYTES]);

#endif
