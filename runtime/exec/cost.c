#include "runtime/exec/cost.h"

const char *pod_bound_name(pod_bound b)
{
    static const char *const name[POD_N_BOUNDS] = {"matrix", "vector", "memory", "overhead"};
    return name[b];
}

void pod__cost_bound(pod_instr_time *t)
{
    const double unit[] = {[POD_BOUND_MATRIX] = t->matrix_s,
                           [POD_BOUND_VECTOR] = t->vector_s,
                           [POD_BOUND_MEMORY] = t->memory_s};
    pod_bound most = POD_BOUND_MATRIX;
    for (pod_bound b = POD_BOUND_VECTOR; b <= POD_BOUND_MEMORY; b++)
        if (unit[b] > unit[most]) most = b;
    t->seconds = t->overhead_s + unit[most];
    t->bound = t->overhead_s > unit[most] ? POD_BOUND_OVERHEAD : most;
}

pod_status pod_cost_program(const pod_machine *m, const pod_program *p, pod_instr_time time[])
{
    return pod_machine_is_virtual(m) ? pod__cost_pod(m, p, time) : pod__cost_host(m, p, time);
}
