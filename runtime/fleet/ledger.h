/* Where the chip-time of pods went: every category in chip-nanoseconds, and their sum is capacity
 * exactly.
 *
 * What nobody holds is divided at any instant at which the scheduler is at rest: F chips are free and
 * healthy, jobs wait. Those that would fit if shapes did not matter, in the queue's order up to the
 * first that would not, make FRAGMENTED; of what is left, as much as waiting jobs ask for is POLICY
 * (the order, a reservation, or too few chips for the head); the rest is NO_DEMAND. */
#ifndef MINIPOD_RUNTIME_FLEET_LEDGER_H
#define MINIPOD_RUNTIME_FLEET_LEDGER_H

#include "runtime/goodput/job_log.h"

/* A large fleet over months is more than 64 bits hold. */
__extension__ typedef __int128 pod_chip_ns;

/* X(NAME, "name in files", "what it is") */
#define POD_IDLE_MAP(X)                                                     \
    X(DOWN, "DOWN", "failed hosts before their repair")                     \
    X(NO_DEMAND, "IDLE_NO_DEMAND", "free, and no waiting job asked for it") \
    X(FRAGMENTED, "IDLE_FRAGMENTED", "free, but in no shape that fits")     \
    X(POLICY, "IDLE_POLICY", "free while jobs wait: by the policy")         \
    X(ROUNDING, "ROUNDING", "slices larger than was asked for")             \
    X(PARTIAL, "PARTIAL", "jobs without some chips or a switch")

typedef enum pod_idle {
#define POD_X(name, text, what) POD_IDLE_##name,
    POD_IDLE_MAP(POD_X)
#undef POD_X
        POD_N_IDLE
} pod_idle;

const char *pod_idle_name(pod_idle i);
const char *pod_idle_about(pod_idle i);

typedef struct pod_ledger {
    pod_chip_ns capacity;
    pod_chip_ns idle[POD_N_IDLE];
    pod_chip_ns span[POD_N_JOB_SPANS]; /* of jobs with all their chips */
} pod_ledger;

void pod_ledger_add(pod_ledger *to, const pod_ledger *from);
void pod_ledger_take(pod_ledger *from, const pod_ledger *what); /* the inverse */
pod_chip_ns pod_ledger_together(const pod_ledger *l);           /* all spans */
pod_chip_ns pod_ledger_sum(const pod_ledger *l);                /* all categories: capacity */

#endif
