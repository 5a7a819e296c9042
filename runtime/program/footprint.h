/* Describes what fills the memory of a step at its peak, and how many bytes a step moves. Both
 * follow from the program; nothing is run. */
#ifndef MINIPOD_RUNTIME_PROGRAM_FOOTPRINT_H
#define MINIPOD_RUNTIME_PROGRAM_FOOTPRINT_H

#include "runtime/program/program.h"

typedef enum pod_use {
    POD_USE_KEPT,     /* computed in forward, read in backward */
    POD_USE_PASSING,  /* computed in forward, not read in backward */
    POD_USE_BACKWARD, /* computed in backward: gradients */
    POD_USE_SUM,      /* accumulated over micro-steps, outside a bucket */
    POD_USE_COPY,     /* copies of weights, in another type or packed */
    POD_USE_UPDATE,   /* computed in phase REDUCE or UPDATE */
    POD_USE_SCRATCH,  /* scratch of one instruction */
    POD_N_USES
} pod_use;

const char *pod_use_name(pod_use u);

typedef struct pod_alive { /* a root slot in the slab of the step */
    int32_t slot, maker;   /* maker: the instruction that first writes to it */
    pod_use use;
    size_t bytes;
} pod_alive;

typedef struct pod_footprint {
    int32_t peak; /* the first instruction at which most bytes of the step's slab are alive */
    size_t alive_bytes, use_bytes[POD_N_USES]; /* at the peak */
    const pod_alive *alive;                    /* at the peak, largest first; in the arena */
    int32_t n_alive;
    size_t total_bytes; /* of one core: both slabs, and variables with optimizer states */
    double moved_bytes; /* read and written by the instructions of a step, without collectives */
} pod_footprint;

/* Fails with E_NOMEM only. */
POD_MUST pod_status pod_footprint_of(const pod_program *p, pod_arena *arena, pod_footprint *out);

#endif
