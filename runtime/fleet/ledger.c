#include "runtime/fleet/ledger.h"

const char *pod_idle_name(pod_idle i)
{
    static const char *const names[] = {
#define POD_X(name, text, what) [POD_IDLE_##name] = (text),
        POD_IDLE_MAP(POD_X)
#undef POD_X
    };
    return names[i];
}

const char *pod_idle_about(pod_idle i)
{
    static const char *const texts[] = {
#define POD_X(name, text, what) [POD_IDLE_##name] = (what),
        POD_IDLE_MAP(POD_X)
#undef POD_X
    };
    return texts[i];
}

void pod_ledger_add(pod_ledger *to, const pod_ledger *from)
{
    to->capacity += from->capacity;
    for (int i = 0; i < POD_N_IDLE; i++) to->idle[i] += from->idle[i];
    for (int s = 0; s < POD_N_JOB_SPANS; s++) to->span[s] += from->span[s];
}

void pod_ledger_take(pod_ledger *from, const pod_ledger *what)
{
    from->capacity -= what->capacity;
    for (int i = 0; i < POD_N_IDLE; i++) from->idle[i] -= what->idle[i];
    for (int s = 0; s < POD_N_JOB_SPANS; s++) from->span[s] -= what->span[s];
}

pod_chip_ns pod_ledger_together(const pod_ledger *l)
{
    pod_chip_ns sum = 0;
    for (int s = 0; s < POD_N_JOB_SPANS; s++) sum += l->span[s];
    return sum;
}

pod_chip_ns pod_ledger_sum(const pod_ledger *l)
{
    pod_chip_ns sum = pod_ledger_together(l);
    for (int i = 0; i < POD_N_IDLE; i++) sum += l->idle[i];
    return sum;
}
