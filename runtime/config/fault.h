/* Faults to inject, as a user writes them: `kind:key=value,...`, several joined by `;`.
 *
 *     slow:rank=2,factor=1.5,from=50;kill:rank=3,step=120
 *
 * Steps count from 1. A fault is injected once in a job, and not again when a later attempt repeats
 * its step. `slow` is a state that lasts in every attempt. */
#ifndef MINIPOD_RUNTIME_CONFIG_FAULT_H
#define MINIPOD_RUNTIME_CONFIG_FAULT_H

#include <stdint.h>
#include <stdio.h>

#include "kernels/base/status.h"

typedef enum pod_fault_kind {
#define POD_FAULT(id, name, keys, more, what) POD_FAULT_##id,
#include "runtime/config/fault.def"
    POD_N_FAULT_KINDS
} pod_fault_kind;

typedef struct pod_fault { /* 0: not given */
    pod_fault_kind kind;
    int rank;
    int dim;             /* of the mesh, from 0 */
    double factor;       /* above 0 */
    int64_t step;        /* from 1 */
    int64_t from, until; /* steps, both included; until 0: to the end */
    int64_t write;       /* file operation of a save, from 1 */
    int64_t byte;        /* of a file; taken modulo its length */
} pod_fault;

enum { POD_MAX_FAULTS = 64 };

const char *pod_fault_name(pod_fault_kind k);
void pod_fault_help(FILE *to); /* prints one line per kind, with its keys */

enum { POD_FAULT_TEXT_BYTES = 192 };
/* Prints it as a user would write it, without optional keys that were not given; returns `text`. */
const char *pod_fault_print(const pod_fault *f, char text[POD_FAULT_TEXT_BYTES]);

/* Parses the faults in `text`; *n is their number. E_INVALID, with the word at fault, for an
 * unknown fault, a key that is unknown, missing or given twice, a value out of range, two faults
 * that slow a rank at the same step, or more than POD_MAX_FAULTS. */
POD_MUST pod_status pod_faults_parse(const char *text, pod_fault out[POD_MAX_FAULTS], int *n);

/* E_INVALID unless its rank is one of n; `what` is "rank" or "core", for the text. */
POD_MUST pod_status pod_fault_check_rank(const pod_fault *f, int n, const char *what);

#endif
