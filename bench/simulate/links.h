/* The load of every link in a simulated step: as CSV, and as a drawing of the mesh. */
#ifndef MINIPOD_BENCH_SIMULATE_LINKS_H
#define MINIPOD_BENCH_SIMULATE_LINKS_H

#include "bench/simulate/simulated.h"
#include "runtime/core/log.h"

/* links.csv and, where gnuplot is installed, links.svg in the folder. */
POD_MUST pod_status pod_simulate_write_links(const pod_planned *p, const pod_simulated *s,
                                             const char *folder, pod_log *log);

#endif
