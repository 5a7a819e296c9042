/* The contents of a step's memory at its peak, and the bytes that a step moves. Both are read from
 * the planned program; nothing is run. */
#ifndef MINIPOD_RUNTIME_PROGRAM_FOOTPRINT_H
#define MINIPOD_RUNTIME_PROGRAM_FOOTPRINT_H

#include "runtime/program/program.h"

typedef enum pod_use {
    POD_USE_KEPT,     /* made by forward, read by backward */
    POD_USE_PASSING,  /* made by forward, not read by backward */
    POD_USE_BACKWARD, /* made by backward: gradients */
    POD_USE_SUM,      /* added up over micro-steps, outside a bucket */
    POD_USE_COPY,     /* copies of weights, in another type or order */
    POD_USE_UPDATE,   /* made after backward */
    POD_USE_SCRATCH,  /* scratch of one instruction */
    POD_N_USES
} pod_use;

const char *pod_use_name(pod_use u);

typedef struct pod_alive { /* a root slot in the step's slab */
    int32_t slot, maker;   /* the instruction that first writes to it */
    pod_use use;
    size_t bytes;
} pod_alive;

typedef struct pod_footprint {
    int32_t peak; /* the instruction at which most of the step's slab is alive */
    size_t alive_bytes, use_bytes[POD_N_USES]; /* at the peak */
    const pod_alive *alive;                    /* at the peak, largest first; in the arena */
    int32_t n_alive;
    size_t total_bytes; /* of a core: both slabs, variables and states */
    double moved_bytes; /* read and written by the instructions of a step, without collectives */
} pod_footprint;

/* Fails with E_NOMEM only. */
POD_MUST pod_status pod_footprint_of(const pod_program *p, pod_arena *arena, pod_footprint *out);

#endif
