/* How far the clocks of ranks are from that of rank 0, measured by messages that go there and back
 * (as NTP does: Mills, RFC 5905, section 8): of some tens the quickest one counts, and an offset is
 * wrong by at most half of its round trip. Measured twice, what a clock gained in between is
 * spread evenly. */
#ifndef MINIPOD_COLLECTIVES_EXEC_MPI_CLOCK_OFFSET_H
#define MINIPOD_COLLECTIVES_EXEC_MPI_CLOCK_OFFSET_H

#include <stdint.h>

#include "collectives/exec/comm.h"

typedef struct pod_clock_source { /* a clock of this rank, in units of its own */
    int64_t (*now)(const void *ctx);
    const void *ctx;
} pod_clock_source;

typedef struct pod_clock_offset {
    int64_t at;         /* by this rank's clock */
    int64_t offset;     /* rank 0's clock less this one's: 0 on rank 0 */
    int64_t round_trip; /* the least */
} pod_clock_offset;

/* Collective: ranks in turn, those whose turn it is not sleep; all of it under comm's watchdog.
 * E_UNSUPPORTED when MPI has no more tags, E_NOMEM. */
POD_MUST pod_status pod_clock_offset_find(pod_comm *c, const pod_clock_source *own,
                                          pod_clock_offset *out);

/* At `at` of this rank's clock, by what was found earlier and later. */
int64_t pod_clock_offset_at(const pod_clock_offset *early, const pod_clock_offset *late,
                            int64_t at);

#endif
