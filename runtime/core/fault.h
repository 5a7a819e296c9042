/* Faults as a person writes them: `kind:key=value,...`, several joined by `;`.
 *
 *     slow:rank=2,factor=1.5;slow:rank=5,factor=2 */
#ifndef MINIPOD_RUNTIME_CORE_FAULT_H
#define MINIPOD_RUNTIME_CORE_FAULT_H

#include "kernels/base/status.h"

typedef enum pod_fault_kind {
#define POD_FAULT(id, name, keys, more, what) POD_FAULT_##id,
#include "runtime/core/fault.def"
    POD_N_FAULT_KINDS
} pod_fault_kind;

typedef struct pod_fault { /* what was not given is 0 */
    pod_fault_kind kind;
    int rank;
    double factor; /* above 0 */
} pod_fault;

enum { POD_MAX_FAULTS = 64 };

const char *pod_fault_name(pod_fault_kind k);

/* How many there are in `text` into *n. E_INVALID, naming the part, for what is no fault, a key that
 * it does not take or that is missing or stands twice, a value out of range, more than
 * POD_MAX_FAULTS. */
POD_MUST pod_status pod_faults_parse(const char *text, pod_fault out[POD_MAX_FAULTS], int *n);

#endif
