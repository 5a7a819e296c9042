/* Ops as programs run them: the small networks of probes.def are trained for some steps, and each
 * of their instructions tells how long its op takes at that size.
 *
 * Images are probed three times: with many samples, where values come from memory, in tiles and not;
 * and with few, so that they come from the core's cache, as within a tile. What a tile takes
 * beyond its ops out of the cache is what it waits for memory: tile_gb_per_s. Ops that never run in
 * tiles are kept from the first alone, since between their turns a step leaves nothing of
 * theirs in the cache. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/calibrate/calibrate.h"
#include "runtime/exec/host_ops.h"

/* ---- what is kept of it ---- */

enum { MAX_CALLS = 8192 };

typedef struct measured { /* a call, and how often it was made */
    pod_op_time call;
    int n;
    bool is_usual; /* in a program as they are compiled to train: with tiles */
} measured;

typedef struct gathering { /* of equal calls the mean */
    int n;
    measured at[MAX_CALLS];
} gathering;

static bool is_same_call(const pod_op_time *a, const pod_op_time *b)
{
    return strcmp(a->op, b->op) == 0 && strcmp(a->impl, b->impl) == 0 && a->dtype == b->dtype &&
           memcmp(a->columns, b->columns, sizeof a->columns) == 0 &&
           memcmp(a->width, b->width, sizeof a->width) == 0 && a->flops == b->flops &&
           a->bytes == b->bytes;
}

static pod_status keep(gathering *g, const pod_op_time *call, bool is_usual)
{
    for (int i = 0; i < g->n; i++) {
        measured *known = &g->at[i];
        if (!is_same_call(&known->call, call)) continue;
        if (known->is_usual == is_usual)
            known->call.us += (call->us - known->call.us) / ++known->n;
        else if (is_usual)
            *known = (measured){*call, 1, true};
        return POD_OK;
    }
    if (g->n == MAX_CALLS) return pod_fail(POD_E_NOMEM, "more than %d calls of ops", MAX_CALLS);
    g->at[g->n++] = (measured){*call, 1, is_usual};
    return POD_OK;
}

/* Those that the others do not tell within a share of their time, or a fifth of a microsecond. False:
 * there is no room for them. */
static bool thin_out(const gathering *g, double share, pod_op_times *out)
{
    out->n = 0;
    for (int i = 0; i < g->n; i++) {
        pod_op_time call = g->at[i].call;
        const double told = pod_op_times_of_kernel(out, &call), off = fabs(told - call.us);
        call.us = pod_four_digits(call.us);
        if (told > 0 && (off <= share * call.us || off < 0.2)) continue;
        if (out->n == POD_MAX_OP_TIMES) return false;
        out->at[out->n++] = call;
    }
    return true;
}

static pod_status keep_all(gathering *g, const pod_probing *q, size_t tile_bytes,
                           bool only_by_sample)
{
    for (int32_t i = 0; i < q->program->n_instrs; i++) {
        const pod_instr *instr = &q->program->instr[i];
        if (instr->n_works != 1 || instr->n_tiles != 1 || q->us[i] <= 0) continue;
        if (only_by_sample && !pod_op_find(instr->op)->by_sample) continue;
        pod_op_time point = pod_work_call(instr->work);
        point.us = q->us[i];
        POD_TRY(keep(g, &point, tile_bytes > 0));
    }
    return POD_OK;
}

static void keep_least(const pod_probing *q, double *us)
{
    for (int32_t i = 0; i < q->program->n_instrs; i++)
        if (q->program->instr[i].n_works == 1 && q->us[i] > 0 && (*us == 0 || q->us[i] < *us))
            *us = q->us[i];
}

/* ---- all networks ---- */

static pod_status probe_ops(const pod_probe *p, pod_machine *m, pod_comm *comm, int64_t batch,
                            size_t tile_bytes, bool is_cached, gathering *g)
{
    pod_probing q;
    pod_status s = pod_probing_open(p, m, comm, batch, tile_bytes, &q);
    if (s == POD_OK) s = pod_probing_run(&q);
    if (s == POD_OK) s = keep_all(g, &q, tile_bytes, is_cached);
    if (s == POD_OK) keep_least(&q, &m->instr_overhead_us);
    pod_probing_close(&q);
    return s;
}

static pod_status probe_sizes(const pod_probe *p, pod_machine *m, pod_comm *comm, gathering *g)
{
    static const int64_t dense_batch[] = {32, 128, 512};
    if (p->kind == POD_PROBE_DENSE) {
        for (size_t i = 0; i < sizeof dense_batch / sizeof dense_batch[0]; i++)
            POD_TRY(probe_ops(p, m, comm, dense_batch[i], 0, false, g));
        return POD_OK;
    }
    const int64_t far = pod_probe_batch(p, POD_PROBE_FAR),
                  cached = pod_probe_batch(p, POD_PROBE_CACHED);
    POD_TRY(probe_ops(p, m, comm, far, POD_PROBE_TILE, false, g));
    POD_TRY(probe_ops(p, m, comm, far, 0, false, g));
    return probe_ops(p, m, comm, cached, 0, true, g);
}

typedef struct excess { /* of tiles, over their ops out of the cache */
    double bytes, us;
} excess;

static pod_status probe_tiles(const pod_probe *p, const pod_machine *m, pod_comm *comm, excess *e)
{
    pod_probing q;
    const int64_t batch = pod_probe_batch(p, POD_PROBE_FAR);
    pod_status s = pod_probing_open(p, m, comm, batch, POD_PROBE_TILE, &q);
    if (s == POD_OK) s = pod_probing_run(&q);
    for (int32_t i = 0; s == POD_OK && i < q.program->n_instrs; i++) {
        const pod_instr *instr = &q.program->instr[i];
        if (instr->n_tiles < 2) continue;
        e->bytes += instr->cost.bytes_read + instr->cost.bytes_written;
        const pod_host_time works = pod_host_works(m, instr);
        e->us += q.us[i] - 1e6 * (works.matrix_s + works.vector_s);
    }
    pod_probing_close(&q);
    return s;
}

static pod_status probe_all(pod_call *call, pod_machine *m, pod_comm *comm, gathering *g)
{
    int n, n_done = 0, n_again = 0;
    excess e = {0};
    const pod_probe *probes = pod_probes(&n);
    for (int i = 0; i < n; i++) n_again += probes[i].kind == POD_PROBE_RESIDUAL;
    pod_log_say(call->log, POD_LOG_INFO, "timing ops in %d small networks", n);
    pod_progress_begin(call->log, "timing ops", "networks", 0, n + n_again);
    for (int i = 0; i < n; i++) {
        POD_TRY(probe_sizes(&probes[i], m, comm, g));
        pod_progress_at(call->log, ++n_done, "%s", probes[i].precision);
    }
    for (double share = 0.03; !thin_out(g, share, &m->op_time);) share *= 2;
    for (int i = 0; i < n; i++) {
        if (probes[i].kind != POD_PROBE_RESIDUAL) continue;
        POD_TRY(probe_tiles(&probes[i], m, comm, &e));
        pod_progress_at(call->log, ++n_done, "%s, in tiles", probes[i].precision);
    }
    pod_progress_end(call->log);
    m->instr_overhead_us = pod_four_digits(m->instr_overhead_us);
    if (e.us > 0) m->tile_gb_per_s = pod_four_digits(1e-3 * e.bytes / e.us);
    return POD_OK;
}

pod_status pod_calibrate_ops(pod_call *call, pod_comm *alone, pod_machine *m)
{
    gathering *g = calloc(1, sizeof *g);
    if (!g) return pod_fail(POD_E_NOMEM, "calibrate: out of memory");
    pod_status s = probe_all(call, m, alone, g);
    free(g);
    return s;
}
