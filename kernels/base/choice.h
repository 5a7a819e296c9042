/* Chooses a kernel from a table: by the CPU's features, by the caller's preference, and by measured
 * rates for calls of this kind. Nothing is timed here: the same call on the same CPU with the same
 * rates gives the same kernel.
 *
 *   1. The reference, if the features are POD_CPU_REFERENCE_ONLY.
 *   2. Of the kernels that the CPU can run and that take the call, the first one named in `impl`;
 *      if none is named, of those that are not `slow` for the call, the one with the highest rate
 *      for the call's kind.
 *   3. Among kernels with equal rates or without a rate, the first in the table. The reference is
 *      chosen only if it is named, or if every other kernel refuses the call or is slow for it.
 *
 * The kind of a call is a text "family.type.what" such as "gemm.bf16.large", for which rates are
 * measured; each family of kernels defines its kinds. */
#ifndef MINIPOD_KERNELS_BASE_CHOICE_H
#define MINIPOD_KERNELS_BASE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/status.h"

enum {
    POD_RATE_KIND_BYTES = 32,
    POD_RATE_KERNEL_BYTES = 24,
    POD_MAX_RATES = 256,
    POD_MAX_CANDIDATES = 16
};

typedef struct pod_rate {
    char kind[POD_RATE_KIND_BYTES], kernel[POD_RATE_KERNEL_BYTES];
    double gflop_per_s;
} pod_rate;

typedef struct pod_rates { /* a value without pointers */
    int32_t n;
    pod_rate rate[POD_MAX_RATES];
} pod_rates;

/* Adds or replaces a rate. Fails with E_INVALID for a name that is empty, too long or not a word,
 * and with E_NOMEM if there are POD_MAX_RATES rates already. */
POD_MUST pod_status pod_rates_set(pod_rates *r, const char *kind, const char *kernel,
                                  double gflop_per_s);

typedef struct pod_choice {
    uint32_t cpu;           /* POD_CPU_ bits, or POD_CPU_REFERENCE_ONLY */
    const char *impl;       /* preferred kernels, joined by commas; NULL or "": none */
    const pod_rates *rates; /* measured rates; NULL: the built-in ones */
} pod_choice;

typedef struct pod_candidate { /* a kernel of a table and its answer to a call */
    const char *name;
    uint32_t needs;
    const char *refusal;  /* NULL: it takes the call */
    const char *slow;     /* why another is faster for this call, whatever the rates, or NULL */
    const char *rated_as; /* its name in rates; NULL: `name` */
} pod_candidate;

/* Returns the rate in `measured`, which may be NULL, else in the built-in table (rates.def), else
 * 0. */
double pod_rates_find(const pod_rates *measured, const char *kind, const pod_candidate *kernel);
/* Returns whether `measured` has that rate. */
bool pod_rates_has(const pod_rates *measured, const char *kind, const pod_candidate *kernel);

/* Returns the index of the chosen kernel; the last of the n candidates is the reference. */
int pod_choose(const pod_choice *how, const char *kind, const pod_candidate *candidate, int n);

#endif
