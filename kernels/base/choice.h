/* How one kernel of a table is chosen: by what the CPU has, by the caller's wish, and by how
 * fast each was measured on calls of this kind. Nothing is timed here: the same call on the same
 * CPU with the same rates gives the same kernel.
 *
 *   1. The reference, where the features are POD_CPU_REFERENCE_ONLY.
 *   2. Of the kernels that the CPU can run and that do not refuse the call, the first that is named
 *      in `impl`; where none is named, of those that are not advised against, the one with the
 *      highest rate for the call's kind.
 *   3. Among equals, and those without a rate, the one that stands first in its table. The
 *      reference is chosen only where nothing else applies.
 *
 * A kind is "family.type.what", like "gemm.bf16.large"; its family says which there are. */
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

/* Adds or replaces one. E_INVALID for a name that is empty, too long or not a word; E_NOMEM when
 * there is no room. */
POD_MUST pod_status pod_rates_set(pod_rates *r, const char *kind, const char *kernel,
                                  double gflop_per_s);

typedef struct pod_choice {
    uint32_t cpu;           /* POD_CPU_ bits, or POD_CPU_REFERENCE_ONLY */
    const char *impl;       /* names of kernels joined by commas; NULL or "": no wish */
    const pod_rates *rates; /* NULL: the built-in ones */
} pod_choice;

typedef struct pod_candidate { /* a line of a kernel table, asked about a call */
    const char *name;
    uint32_t needs;
    const char *refusal; /* NULL: it takes the call */
    const char *slow; /* why another is faster for this call, whatever the rates; NULL: it is not */
    const char *rated_as; /* its name among rates where that differs; NULL: it does not */
} pod_candidate;

/* From `measured`, else from the built-in table (rates.def), else 0. `measured` may be NULL. */
double pod_rates_find(const pod_rates *measured, const char *kind, const pod_candidate *kernel);
/* Whether it is from `measured`. */
bool pod_rates_has(const pod_rates *measured, const char *kind, const pod_candidate *kernel);

/* The index of the kernel chosen; the last of the n candidates is the reference. */
int pod_choose(const pod_choice *how, const char *kind, const pod_candidate *candidate, int n);

#endif
