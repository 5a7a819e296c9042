/* Instructions on a host, from the times that calibrate measured of its ops: a core does one thing
 * after the other, and each op's time holds its arithmetic, its traffic and its call. Where several
 * cores work, they share caches and memory: crowded, crowded_memory. Where ranks outnumber cores,
 * they take turns. */
#include "runtime/exec/cost.h"
#include "runtime/exec/host_ops.h"

static pod_status need(const pod_machine *m, const char *key, double value)
{
    if (value > 0) return POD_OK;
    return pod_fail(POD_E_INVALID,
                    "machine %s: its file has no %s, which a simulation needs: run minipod "
                    "calibrate",
                    m->name, key);
}

static pod_status check(const pod_machine *m)
{
    if (m->why_unknown[0] != '\0') return pod_fail(POD_E_INVALID, "machine: %s", m->why_unknown);
    POD_TRY(need(m, "op_time", m->op_time.n));
    POD_TRY(need(m, "crowded", m->crowded));
    POD_TRY(need(m, "crowded_memory", m->crowded_memory));
    POD_TRY(need(m, "physical_cores", (double)m->physical_cores));
    POD_TRY(need(m, "instr_overhead_us", m->instr_overhead_us));
    POD_TRY(need(m, "peak_f32_gflop_per_s", m->peak_f32_gflop_per_s));
    POD_TRY(need(m, "peak_bf16_gflop_per_s", m->peak_bf16_gflop_per_s));
    POD_TRY(need(m, "copy_l2_gb_per_s", m->copy_l2_gb_per_s));
    return need(m, "copy_memory_gb_per_s", m->copy_memory_gb_per_s);
}

static pod_bound bound_of(const pod_instr_time *t)
{
    const double unit[POD_N_BOUNDS] = {t->matrix_s, t->vector_s, t->memory_s, t->overhead_s};
    pod_bound most = POD_BOUND_MATRIX;
    for (pod_bound b = POD_BOUND_VECTOR; b < POD_N_BOUNDS; b++)
        if (unit[b] > unit[most]) most = b;
    return most;
}

/* How much longer work takes when so many ranks do it on this host at a time, where it takes
 * `crowded` times as long when every core has some. */
static double slower(const pod_machine *m, double crowded, int ranks)
{
    const double cores = (double)m->physical_cores, busy = ranks < cores ? ranks : cores;
    const double shared = cores > 1 ? 1 + (crowded - 1) * (busy - 1) / (cores - 1) : 1;
    return shared * ranks / busy;
}

static void scale(pod_instr_time *t, double factor)
{
    t->matrix_s *= factor;
    t->vector_s *= factor;
    t->memory_s *= factor;
    t->overhead_s *= factor;
}

static pod_instr_time time_of(const pod_machine *m, const pod_instr *instr, int ranks)
{
    const double crowded = instr->n_tiles > 1 ? m->crowded : m->crowded_memory;
    const pod_host_time works = pod_host_works(m, instr);
    const double bytes = instr->cost.bytes_read + instr->cost.bytes_written;
    pod_instr_time t = {.matrix_s = works.matrix_s,
                        .vector_s = works.vector_s,
                        .flops = instr->cost.matrix_flops,
                        .vector_ops = instr->cost.vector_ops,
                        .bytes = bytes,
                        .n_joined = 1};
    if (instr->n_tiles > 1 && m->tile_gb_per_s > 0) t.memory_s = bytes / (1e9 * m->tile_gb_per_s);
    if (instr->n_works == 0) t.overhead_s = 1e-6 * m->instr_overhead_us;
    scale(&t, slower(m, crowded, ranks));
    t.seconds = t.matrix_s + t.vector_s + t.memory_s + t.overhead_s;
    t.bound = bound_of(&t);
    return t;
}

pod_status pod__cost_host(const pod_machine *m, const pod_program *p, pod_instr_time time[])
{
    POD_TRY(check(m));
    const int ranks = pod_mesh_size(&p->mesh);
    for (int32_t i = 0; i < p->n_instrs; i++) {
        const pod_instr *instr = &p->instr[i];
        time[i] = instr->kind == POD_I_RUN ? time_of(m, instr, ranks)
                                           : (pod_instr_time){.bound = POD_BOUND_OVERHEAD};
    }
    return POD_OK;
}
