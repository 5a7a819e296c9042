/* Instructions on a host, at the rates that calibrate measured on it. */
#include "runtime/exec/cost.h"

static pod_status need(const pod_machine *m, const char *key, double value)
{
    if (value > 0) return POD_OK;
    return pod_fail(POD_E_INVALID, "machine %s: its file has no %s, which a simulation needs",
                    m->name, key);
}

pod_status pod__cost_host(const pod_machine *m, const pod_program *p, pod_instr_time time[])
{
    POD_TRY(need(m, "peak_bf16_gflop_per_s", m->peak_bf16_gflop_per_s));
    POD_TRY(need(m, "copy_memory_gb_per_s", m->copy_memory_gb_per_s));
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const pod_cost *c = &p->instr[i].cost;
        time[i] = (pod_instr_time){.matrix_s = c->matrix_flops / (1e9 * m->peak_bf16_gflop_per_s),
                                   .memory_s = (c->bytes_read + c->bytes_written) /
                                               (1e9 * m->copy_memory_gb_per_s)};
        pod__cost_bound(&time[i]);
    }
    return POD_OK;
}
