/* Faults as a person writes them: `kind:key=value,...`, several joined by `;`.
 *
 *     slow:rank=2,factor=1.5,from=50;kill:rank=3,step=120
 *
 * Steps count from 1. A fault strikes once in a job: what struck in one attempt does not strike
 * again when the step is done again. Slow is no blow but a state: it holds in every attempt. */
#ifndef MINIPOD_RUNTIME_CORE_FAULT_H
#define MINIPOD_RUNTIME_CORE_FAULT_H

#include <stdint.h>
#include <stdio.h>

#include "kernels/base/status.h"

typedef enum pod_fault_kind {
#define POD_FAULT(id, name, keys, more, what) POD_FAULT_##id,
#include "runtime/core/fault.def"
    POD_N_FAULT_KINDS
} pod_fault_kind;

typedef struct pod_fault { /* what was not given is 0 */
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
void pod_fault_help(FILE *to); /* a line a kind, with its keys */

enum { POD_FAULT_TEXT_BYTES = 192 };
/* As a person would write it, without the keys that may be left out and were; returns `text`. */
const char *pod_fault_print(const pod_fault *f, char text[POD_FAULT_TEXT_BYTES]);

/* How many there are in `text` into *n. E_INVALID, naming the part, for what is no fault, a key
 * that it does not take or that is missing or stands twice, a value out of range, two that slow a
 * rank at the same step, more than POD_MAX_FAULTS. */
POD_MUST pod_status pod_faults_parse(const char *text, pod_fault out[POD_MAX_FAULTS], int *n);

/* E_INVALID where it strikes none of so many; `what` is one of them, "rank" or "core". */
POD_MUST pod_status pod_fault_check_rank(const pod_fault *f, int n, const char *what);

#endif
