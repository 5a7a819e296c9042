/* Learning-rate schedules: pure functions of the step.
 *
 * Steps count from 0: step s makes the (s+1)-th update. A linear warm-up gives base s /
 * warmup_steps for s < warmup_steps, so that the very first update of a warmed-up run has rate 0,
 * as in the MLPerf reference and in TensorFlow's EfficientNet. With a warmup_start of k the warm-up
 * runs from step k on: its rate is base (s - k) / warmup_steps, at least 0. With e = k +
 * warmup_steps, from s = e on:
 *
 *   constant  base
 *   poly      (base - end) (1 - p/T)^power + end,  p = min(max(1, s - e), T),
 *             T = train_steps - e + 1, but base itself at the end of a warm-up:
 *             TensorFlow's LARS schedule, MLPerf reference. The last step of a run has p = T - 2
 *             and is slightly above `end`. from_start: (base - end) (1 - s/train_steps)^power +
 *             end, which counts from step 0 and so falls at the end of a warm-up: MLPerf's BERT.
 *   exp       base decay_rate^floor(s / decay_steps): stairs that count from step 0, under the
 *             warm-up too, as in TensorFlow's EfficientNet; after it the rate has already fallen by
 *             the stairs of the warm-up.
 *   cosine    end + (base - end) (1 + cos(pi q)) / 2,  q = (s - e) / (train_steps - e), at most 1:
 *             one period of Loshchilov and Hutter 2017.
 *   noam      base sqrt(w / max(s - k, w)), w = warmup_steps, at least 1. base is the highest rate;
 *             in Vaswani et al. 2017, section 5.3, it is H^-0.5 w^-0.5. */
#ifndef MINIPOD_RUNTIME_OPTIM_LR_H
#define MINIPOD_RUNTIME_OPTIM_LR_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/status.h"

#define POD_LR_MAP(X)       \
    X(CONSTANT, "constant") \
    X(POLY, "poly")         \
    X(EXP, "exp")           \
    X(COSINE, "cosine")     \
    X(NOAM, "noam")

typedef enum pod_lr_kind {
#define POD_X(id, name) POD_LR_##id,
    POD_LR_MAP(POD_X)
#undef POD_X
        POD_N_LR_KINDS
} pod_lr_kind;

typedef struct pod_lr {
    pod_lr_kind kind;
    double base, end;     /* `end`: poly and cosine */
    int64_t warmup_steps; /* 0: none */
    int64_t train_steps;  /* of the whole run, warm-up included: poly and cosine */
    double power;         /* poly */
    bool from_start;      /* poly */
    int64_t warmup_start; /* may be negative */
    double decay_rate;    /* exp: factor of one stair */
    double decay_steps;   /* exp: length of a stair, > 0; 2.4 epochs need not be whole steps */
} pod_lr;

/* Returns the rate of a step >= 0; after train_steps poly and cosine stay at `end`. */
double pod_lr_at(const pod_lr *lr, int64_t step);

const char *pod_lr_print(pod_lr_kind kind); /* "poly" */
/* Fails with E_INVALID, and names the text and the kinds. */
POD_MUST pod_status pod_lr_parse(const char *text, pod_lr_kind *out);

#endif
