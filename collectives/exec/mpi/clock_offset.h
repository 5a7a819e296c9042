/* Offsets of the ranks' clocks to rank 0's, measured by round trips of messages (as in NTP: Mills,
 * RFC 5905, section 8). The quickest of some tens of round trips is used; the error is at most half
 * of its time. Between two measurements the offset is interpolated linearly. */
#ifndef MINIPOD_COLLECTIVES_EXEC_MPI_CLOCK_OFFSET_H
#define MINIPOD_COLLECTIVES_EXEC_MPI_CLOCK_OFFSET_H

#include <stdint.h>

#include "collectives/exec/comm.h"

typedef struct pod_clock_source { /* a clock of this rank; its unit is that of all values below */
    int64_t (*now)(const void *ctx);
    const void *ctx;
} pod_clock_source;

typedef struct pod_clock_offset {
    int64_t at;         /* time of the measurement, on this rank's clock */
    int64_t offset;     /* rank 0's clock minus this one; 0 on rank 0 */
    int64_t round_trip; /* the shortest */
} pod_clock_offset;

/* Measures the ranks one after another, while the others sleep, under comm's watchdog. Fails with
 * E_UNSUPPORTED if MPI has no more tags, and with E_NOMEM. Collective. */
POD_MUST pod_status pod_clock_offset_find(pod_comm *c, const pod_clock_source *own,
                                          pod_clock_offset *out);

/* Returns the offset at time `at` of this rank's clock, interpolated between two measurements. */
int64_t pod_clock_offset_at(const pod_clock_offset *early, const pod_clock_offset *late,
                            int64_t at);

#endif
