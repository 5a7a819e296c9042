#include "runtime/exec/host_ops.h"

#include <stdio.h>

static void measure_shape(const pod_shape *s, int32_t *columns, int32_t *width)
{
    *columns = s->n_dims > 0 ? (int32_t)s->dim[s->n_dims - 1] : 1;
    *width = s->n_dims > 1 ? (int32_t)s->dim[s->n_dims - 2] : 1;
}

pod_op_time pod_work_call(const pod_work *w)
{
    const pod_cost *c = &w->cost;
    pod_op_time call = {.dtype = (int32_t)w->dtype,
                        .flops = c->matrix_flops > 0 ? c->matrix_flops : c->vector_ops,
                        .bytes = c->bytes_read + c->bytes_written};
    snprintf(call.op, sizeof call.op, "%s", w->op);
    snprintf(call.impl, sizeof call.impl, "%s", w->impl);
    measure_shape(&w->from, &call.columns[0], &call.width[0]);
    measure_shape(&w->to, &call.columns[1], &call.width[1]);
    return call;
}

static double peak_flop_per_s(const pod_machine *m, pod_dtype t)
{
    return 1e9 * (t == POD_BF16 ? m->peak_bf16_gflop_per_s : m->peak_f32_gflop_per_s);
}

/* For calls that no probe timed: the least time that the machine can take. */
static double roofline_s(const pod_machine *m, const pod_work *w)
{
    const double matrix_s = w->cost.matrix_flops / peak_flop_per_s(m, w->dtype);
    const double memory_s =
        (w->cost.bytes_read + w->cost.bytes_written) / (1e9 * m->copy_memory_gb_per_s);
    return matrix_s > memory_s ? matrix_s : memory_s;
}

static double probed_s(const pod_machine *m, const pod_work *w)
{
    const pod_op_time call = pod_work_call(w);
    return 1e-6 * pod_op_times_estimate(&m->op_time, &call);
}

bool pod_work_is_probed(const pod_machine *m, const pod_work *w) { return probed_s(m, w) > 0; }

static double work_s(const pod_machine *m, const pod_work *w)
{
    const double s = probed_s(m, w);
    return s > 0 ? s : roofline_s(m, w);
}

pod_host_time pod_host_works(const pod_machine *m, const pod_instr *instr)
{
    pod_host_time t = {0};
    for (int32_t i = 0; i < instr->n_works; i++) {
        const pod_work *w = &instr->work[i];
        double *unit = w->cost.matrix_flops > 0 ? &t.matrix_s : &t.vector_s;
        *unit += instr->n_tiles * work_s(m, w);
        /* A sum of each tile but the first is added: two reads and a write, in the cache. */
        t.vector_s += (instr->n_tiles - 1) * 3 * w->sum_bytes / (1e9 * m->copy_l2_gb_per_s);
    }
    return t;
}
