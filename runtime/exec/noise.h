/* Noise in the times of a machine, as an operating system makes it: each instruction of each core
 * and step has its own factor, log-normal with mean 1. On average a core alone takes as long as
 * without noise; the cost of noise is that cores wait for the slowest of them. A factor depends
 * only on its coordinates (kernels/base/rng.h), and scales with `share` from the same draw. */
#ifndef MINIPOD_RUNTIME_EXEC_NOISE_H
#define MINIPOD_RUNTIME_EXEC_NOISE_H

#include <stdint.h>

typedef struct pod_noise { /* a value */
    double share;          /* standard deviation of the factor, its mean being 1; 0: no noise */
    uint64_t seed;
} pod_noise;

/* Above 0; 1 without noise. `turn` is the position of an instruction in the step, micro-steps
 * counted. */
double pod_noise_factor(const pod_noise *n, int core, int64_t step, int64_t turn);

#endif
