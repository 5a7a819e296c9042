/* Divides the chip-time of pods into categories, in chip-nanoseconds, which sum to the capacity
 * exactly.
 *
 * After each pass of the scheduler the free and healthy chips are divided into three categories.
 * FRAGMENTED are the chips that waiting jobs could use if shapes did not matter, in the queue's
 * order up to the first job that would not fit. Of the others, POLICY are as many as the other
 * waiting jobs ask for (they wait because of the order, a reservation, or too few chips for the
 * head of the queue). The rest is NO_DEMAND. */
#ifndef MINIPOD_RUNTIME_FLEET_LEDGER_H
#define MINIPOD_RUNTIME_FLEET_LEDGER_H

#include "runtime/goodput/job_log.h"

/* 64 bits do not hold the chip-nanoseconds of a large fleet over months. */
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
void pod_ledger_take(pod_ledger *from, const pod_ledger *what); /* subtracts `what` */
pod_chip_ns pod_ledger_together(const pod_ledger *l);           /* all spans */
pod_chip_ns pod_ledger_sum(const pod_ledger *l); /* all categories, which is the capacity */

#endif
