/* What the operating system and its like do to the times of a machine: each instruction of each
 * core and step takes a factor of its own, log-normal with mean 1. So alone a core takes as long as
 * ever on average; that cores wait for the slowest of them is what noise costs. A factor depends
 * only on where it stands (kernels/base/rng.h), and grows or shrinks with `share` from the same
 * draw. */
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
