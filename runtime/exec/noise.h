/* Noise in simulated times, like that of an operating system: each instruction instance of each
 * core and step has its own factor, log-normal with mean 1. On average a core alone takes as long
 * as without noise; a step takes longer because cores wait for the slowest of them. A factor is
 * drawn from (seed, core, step, turn) alone (kernels/base/rng.h); another `share` scales the same
 * draw. */
#ifndef MINIPOD_RUNTIME_EXEC_NOISE_H
#define MINIPOD_RUNTIME_EXEC_NOISE_H

#include <stdint.h>

typedef struct pod_noise { /* a value */
    double share;          /* standard deviation of the factor, its mean being 1; 0: no noise */
    uint64_t seed;
} pod_noise;

/* Returns the factor: above 0, and 1 without noise. `turn` is the number of the instruction
 * instance in its step (pod_program_turn). */
double pod_noise_factor(const pod_noise *n, int core, int64_t step, int64_t turn);

#endif
