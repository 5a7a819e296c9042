#include "bench/calibrate/calibrate.h"

#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/base/rng.h"
#include "runtime/core/spread.h"

enum { WARM_UP = 2, N_CLASSES = 10 };

int64_t pod_probe_batch(const pod_probe *p, double bytes)
{
    static const int widest[] = {
        [POD_PROBE_RESIDUAL] = 1, [POD_PROBE_BOTTLENECK] = 4, [POD_PROBE_INVERTED] = 6};
    const int element_bytes = strcmp(p->precision, "bf16") == 0 ? 2 : 4;
    const double sample = (double)(p->image * p->image * p->channels * widest[p->kind]);
    const int64_t n = (int64_t)(bytes / (sample * element_bytes));
    return n > 0 ? n : 1;
}

static pod_status set_up(pod_probing *q, const pod_machine *m, int64_t batch, size_t tile_bytes)
{
    const pod_probe *p = q->probe;
    const double mean[3] = {0.5, 0.5, 0.5}, std[3] = {0.25, 0.25, 0.25};
    const bool is_bf16 = strcmp(p->precision, "bf16") == 0;
    const pod_dataset_info data = {.name = "",
                                   .height = p->image,
                                   .width = p->image,
                                   .channels = p->kind == POD_PROBE_DENSE ? 1 : 3,
                                   .n_classes = N_CLASSES,
                                   .mean = mean,
                                   .std = std};
    const pod_target target = {
        .name = "host", .cpu = pod_cpu_features(), .impl = "", .rates = &m->kernel_rate};
    pod_coll_rules *rules;
    POD_TRY(pod_coll_rules_parse(q->arena, POD_COLL_RULES_DEFAULT, &rules));
    q->setup = (pod_setup){.compile = {.mesh = {.n_dims = 1, .extent = {1}},
                                       .rules = rules,
                                       .accumulate = 1,
                                       .fusion = true,
                                       .tile_bytes = tile_bytes,
                                       .bucket_bytes = POD_PROBE_FAR,
                                       .wire = POD_F32,
                                       .node_size = 1},
                           .model = "",
                           .data = "",
                           .batch = batch,
                           .precision = is_bf16 ? POD_BF16 : POD_F32,
                           .bf16_products = strcmp(p->precision, "bf16-conv") == 0,
                           .optim = pod_optim_find(p->optimizer),
                           .hparams = {.momentum = 0.9f,
                                       .weight_decay = 1e-4f,
                                       .trust = 1e-3f,
                                       .beta1 = 0.9f,
                                       .beta2 = 0.999f,
                                       .rho = 0.9f,
                                       .epsilon = 1e-3f}};
    const pod_network net = pod_probe_network(p);
    POD_TRY(pod_network_compile(&net, &q->setup, &data, true, &target, q->arena, &q->program));
    POD_TRY(pod_store_create(q->program, 0, 1, &q->store));
    return pod_exec_open(q->program, q->store, q->comm, q->clock, &q->exec);
}

static pod_status feed(pod_probing *q)
{
    static const float lr = 1e-6f, step = 1;
    const pod_probe *p = q->probe;
    const int64_t n = q->setup.batch, pixels = n * p->image * p->image * 3;
    uint8_t *images = POD_ARENA_NEW(q->arena, uint8_t, pixels);
    int32_t *labels = POD_ARENA_NEW(q->arena, int32_t, n);
    int32_t *draws = POD_ARENA_NEW(q->arena, int32_t, n);
    if (!images || !labels || !draws) return POD_E_NOMEM;
    pod_rng rng = pod_rng_at(1, (pod_place){.stream = POD_STREAM_TEST});
    for (int64_t i = 0; i < pixels; i++) images[i] = (uint8_t)pod_rng_below(&rng, 256);
    for (int64_t i = 0; i < n; i++) {
        labels[i] = (int32_t)(i % N_CLASSES);
        draws[i] = (int32_t)pod_rng_u32(&rng);
    }
    pod_exec_feed(q->exec, POD_NET_IMAGES, images);
    pod_exec_feed(q->exec, POD_NET_LABELS, labels);
    pod_exec_feed(q->exec, pod_program_find_input(q->program, "draws"), draws);
    pod_exec_feed(q->exec, pod_program_find_input(q->program, "lr"), &lr);
    pod_exec_feed(q->exec, pod_program_find_input(q->program, "step"), &step);
    return POD_OK;
}

pod_status pod_probing_open(const pod_probe *p, const pod_machine *m, pod_comm *alone,
                            int64_t batch, size_t tile_bytes, pod_probing *out)
{
    *out = (pod_probing){.probe = p, .comm = alone, .clock = pod_clock_start()};
    POD_TRY(pod_arena_create(NULL, &out->arena));
    POD_TRY(set_up(out, m, batch, tile_bytes));
    return feed(out);
}

void pod_probing_close(pod_probing *q)
{
    pod_timeline_destroy(q->timeline);
    pod_exec_close(q->exec);
    pod_store_destroy(q->store);
    pod_arena_destroy(q->arena);
}

static pod_status run_steps(pod_probing *q)
{
    const pod_timeline_plan plan = {.max_steps = POD_PROBE_STEPS,
                                    .max_events = q->program->n_instrs + 1,
                                    .kept_steps = POD_PROBE_STEPS};
    pod_timeline_destroy(q->timeline); /* of an earlier run */
    q->timeline = NULL;
    POD_TRY(pod_timeline_create(&plan, &q->timeline));
    for (int i = 0; i < WARM_UP; i++) POD_TRY(pod_exec_step(q->exec, NULL));
    for (int i = 0; i < POD_PROBE_STEPS; i++) {
        pod_timeline_begin_step(q->timeline, i, pod_clock_now(&q->clock));
        POD_TRY(pod_exec_step(q->exec, q->timeline));
        pod_timeline_end_step(q->timeline, pod_clock_now(&q->clock));
    }
    return POD_OK;
}

/* Other work on this host can only make a step longer. */
static double lower_quartile(double *us)
{
    (void)pod_spread_of(us, POD_PROBE_STEPS); /* sorts */
    return us[POD_PROBE_STEPS / 4];
}

static pod_status take_times(pod_probing *q)
{
    const int32_t n_instrs = q->program->n_instrs;
    pod_event *event = POD_ARENA_NEW(q->arena, pod_event, pod_timeline_kept_room(q->timeline));
    double *us = POD_ARENA_NEW(q->arena, double, n_instrs *POD_PROBE_STEPS);
    q->us = POD_ARENA_NEW(q->arena, double, n_instrs);
    if (!event || !us || !q->us) return POD_E_NOMEM;
    q->step_s = 0;
    const int64_t n = pod_timeline_copy_kept(q->timeline, event);
    for (int64_t i = 0; i < n; i++)
        us[event[i].instr * POD_PROBE_STEPS + event[i].step] +=
            1e6 * pod_time_seconds(event[i].end - event[i].begin);
    for (int32_t i = 0; i < n_instrs; i++) {
        q->us[i] = lower_quartile(us + i * POD_PROBE_STEPS);
        q->step_s += 1e-6 * q->us[i];
    }
    return POD_OK;
}

pod_status pod_probing_run(pod_probing *q)
{
    POD_TRY(run_steps(q));
    return take_times(q);
}
