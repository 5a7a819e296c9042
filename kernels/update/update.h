/* The elementwise updates of optimizers, in one pass over a weight (float32, `count` elements).
 * kernels/reduce computes norms. Weights w and states s, v, m are updated in place; g is only read.
 *
 *   momentum_outer  e = g + decay w;  v = momentum v + e;  d = nesterov ? e + momentum v : v;
 *                   w = w - rate d        (the rate outside: PyTorch's SGD, and the MLPerf
 *                                          reference's LARS with rate = lr trust)
 *   momentum_inner  e = rate (g + decay w);  v = momentum v + e;
 *                   d = nesterov ? e + momentum v : v;
 *                   w = w - d             (the rate inside: the LARS of You et al. 2017)
 *   adam_step       m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;
 *                   u = (m / c1) / (sqrt(v / c2) + eps) + decay w;
 *                   w = w - rate u        (AdamW; c1 = 1 - b1^step, c2 = 1 - b2^step)
 *   rmsprop         e = g + decay w;  s = rho s + (1 - rho) e^2;
 *                   v = momentum v + (rate e) / sqrt(s + eps);  w = w - v
 *                                         (Hinton 2012 as in TensorFlow 1: eps inside the root)
 *
 * LAMB's rate depends on norms of w and u, so it takes two passes: adam_norms, or adam_direction if
 * the norms are exact sums; then adam_descend:
 *
 *   adam_norms      m and v as above;  w_sq = sum of w^2,  u_sq = sum of u^2
 *   adam_descend    u of m and v as above;  w = w - rate u
 *   adam_direction  m and v as above;  stores u, of which the caller computes sums
 *
 * The sums of adam_norms have the bits of sum_sq of the set of the same name in kernels/reduce. All
 * other results have the same bits in every set: each operation above is rounded to float32, in the
 * order written; division by c1 or c2 is multiplication by its float32 inverse. */
#ifndef MINIPOD_KERNELS_UPDATE_UPDATE_H
#define MINIPOD_KERNELS_UPDATE_UPDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/cpu.h"

typedef struct pod_adam_attr {
    float beta1, beta2, correction1, correction2, eps, decay;
} pod_adam_attr;

typedef struct pod_rmsprop_attr {
    float rho, momentum, eps, decay;
} pod_rmsprop_attr;

typedef struct pod_update {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    void (*momentum_outer)(int64_t count, float rate, float momentum, float decay, bool nesterov,
                           const float *g, float *v, float *w);
    void (*momentum_inner)(int64_t count, float rate, float momentum, float decay, bool nesterov,
                           const float *g, float *v, float *w);
    void (*rmsprop)(int64_t count, const pod_rmsprop_attr *attr, float rate, const float *g,
                    float *s, float *v, float *w);
    void (*adam_step)(int64_t count, const pod_adam_attr *attr, float rate, const float *g,
                      float *m, float *v, float *w);
    void (*adam_norms)(int64_t count, const pod_adam_attr *attr, const float *g, const float *w,
                       float *m, float *v, float *w_sq, float *u_sq);
    void (*adam_direction)(int64_t count, const pod_adam_attr *attr, const float *g, const float *w,
                           float *m, float *v, float *u);
    void (*adam_descend)(int64_t count, const pod_adam_attr *attr, float rate, const float *m,
                         const float *v, float *w);
} pod_update;

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_update *const *pod_update_sets(void);
const pod_update *pod_update_pick(uint32_t cpu);

#endif
