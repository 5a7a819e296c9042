#include "bench/calibrate/calibrate.h"

#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/base/rng.h"
#include "runtime/core/spread.h"
#include "runtime/data/images/image_samples.h"
#include "runtime/ops/ops.h"

/* ---- the networks ---------------------------------------------------------------------------- */

static const pod_probe probes[] = {
#define POD_PROBE(kind, channels, image, precision, optimizer) \
    {POD_PROBE_##kind, channels, image, precision, optimizer},
#include "bench/calibrate/probes.def"
};

const pod_probe *pod_probes(int *n)
{
    *n = sizeof probes / sizeof probes[0];
    return probes;
}

/* Float32 activations go through bfloat16 in products. */
static bool is_mixed(const pod_probe *p) { return strcmp(p->precision, "bf16-conv") == 0; }

static int64_t channels_of(const pod_graph *g, pod_value x)
{
    if (!x.id) return 1;
    const pod_shape *s = &pod_graph_type(g, x)->shape;
    return s->dim[s->n_dims - 1];
}

static pod_value norm(pod_graph *g, pod_value x)
{
    return pod_batchnorm(
        g, x,
        (pod_batchnorm_attr){
            .momentum = 0.9f, .eps = 1e-5f, .train = true, .gamma = {POD_INIT_ONE, 1.0f}});
}

static pod_value conv(pod_graph *g, const pod_probe *p, pod_value x, const char *name, int64_t c,
                      int k, int stride)
{
    pod_scope_begin(g, "%s", name);
    pod_value w = pod_weight(g, "w", (pod_shape){4, {c, k, k, channels_of(g, x)}},
                             (pod_init){POD_INIT_HE, 1.0f}, POD_ROLE_WEIGHT);
    if (is_mixed(p)) x = pod_cast(g, x, POD_BF16);
    x = pod_conv2d(g, x, w, (pod_conv2d_attr){.stride = stride, .pad = k / 2});
    if (is_mixed(p)) x = pod_cast(g, x, POD_F32);
    x = norm(g, x);
    pod_scope_end(g);
    return x;
}

static pod_value depthwise(pod_graph *g, pod_value x, int k, int stride)
{
    pod_scope_begin(g, "depthwise");
    pod_value w = pod_weight(g, "w", (pod_shape){3, {k, k, channels_of(g, x)}},
                             (pod_init){POD_INIT_NORMAL, 0.1f}, POD_ROLE_WEIGHT);
    x = pod_depthwise2d(g, x, w, (pod_conv2d_attr){.stride = stride, .same = true});
    x = pod_swish(g, norm(g, x));
    pod_scope_end(g);
    return x;
}

/* ---- units ---- */

static pod_value add_shortcut(pod_graph *g, const pod_probe *p, pod_value y, pod_value x,
                              int stride)
{
    const int64_t c = channels_of(g, y);
    if (channels_of(g, x) != c) x = conv(g, p, x, "shortcut", c, 1, stride);
    return pod_relu(g, pod_add(g, y, x));
}

static pod_value residual(pod_graph *g, const pod_probe *p, pod_value x, int64_t c, int stride)
{
    pod_value y = pod_relu(g, conv(g, p, x, "conv1", c, 3, stride));
    return add_shortcut(g, p, conv(g, p, y, "conv2", c, 3, 1), x, stride);
}

static pod_value bottleneck(pod_graph *g, const pod_probe *p, pod_value x, int64_t c, int stride)
{
    pod_value y = pod_relu(g, conv(g, p, x, "conv1", c, 1, 1));
    y = pod_relu(g, conv(g, p, y, "conv2", c, 3, stride));
    return add_shortcut(g, p, conv(g, p, y, "conv3", 4 * c, 1, 1), x, stride);
}

static pod_value dense(pod_graph *g, const char *name, pod_value x, int64_t units)
{
    pod_scope_begin(g, "%s", name);
    x = pod_dense(g, x, units, true);
    pod_scope_end(g);
    return x;
}

static pod_value gate(pod_graph *g, pod_value x)
{
    const int64_t c = channels_of(g, x);
    pod_scope_begin(g, "gate");
    pod_value s = pod_swish(g, dense(g, "reduce", pod_mean_pool(g, x), c / 24));
    s = pod_sigmoid(g, dense(g, "expand", s, c));
    x = pod_gate_by(g, x, s);
    pod_scope_end(g);
    return x;
}

static pod_value inverted(pod_graph *g, const pod_probe *p, pod_value x, pod_value draws, int64_t c,
                          int stride)
{
    const int filter = stride == 1 ? 3 : 5;
    pod_value y = pod_swish(g, conv(g, p, x, "expand", 6 * channels_of(g, x), 1, 1));
    y = gate(g, depthwise(g, y, filter, stride));
    y = conv(g, p, y, "project", c, 1, 1);
    if (stride > 1) return y;
    return pod_add(g, pod_drop_samples(g, y, draws, 0.2f), x);
}

/* ---- networks ---- */

static pod_value unit(pod_graph *g, const pod_probe *p, pod_value x, pod_value draws, int number)
{
    const int stride = number == 2 ? 2 : 1;
    const int64_t c = (number < 2 ? 1 : 2) * p->channels;
    pod_scope_begin(g, "unit%d", number);
    if (p->kind == POD_PROBE_RESIDUAL)
        x = residual(g, p, x, c, stride);
    else if (p->kind == POD_PROBE_BOTTLENECK)
        x = bottleneck(g, p, x, c, stride);
    else
        x = inverted(g, p, x, draws, c, stride);
    pod_scope_end(g);
    return x;
}

static pod_value image_layers(pod_graph *g, const pod_probe *p, pod_value x, pod_value draws)
{
    enum { N_UNITS = 4 };
    x = pod_relu(g, conv(g, p, x, "stem", p->channels, 3, 1));
    if (p->kind == POD_PROBE_BOTTLENECK)
        x = pod_max_pool(g, x, (pod_max_pool_attr){.window = 3, .stride = 1, .pad = 1});
    for (int i = 0; i < N_UNITS; i++) x = unit(g, p, x, draws, i);
    return pod_mean_pool(g, x);
}

static pod_value dense_layers(pod_graph *g, const pod_probe *p, pod_value x)
{
    const int64_t pixels = p->image * p->image;
    x = pod_reshape(g, x, (pod_shape){2, {pod_graph_type(g, x)->shape.dim[0], pixels}});
    x = pod_relu(g, dense(g, "hidden1", x, p->channels));
    x = pod_relu(g, dense(g, "hidden2", x, p->channels));
    return pod_relu(g, dense(g, "hidden3", x, p->channels / 2));
}

static pod_network_out build(const void *ctx, pod_graph *g, const pod_network_in *in)
{
    const pod_probe *p = ctx;
    const pod_value images = in->field[POD_FIELD_IMAGES];
    if (pod_graph_failed(g)) return (pod_network_out){.logits = {0}};
    pod_value x = p->kind == POD_PROBE_DENSE ? dense_layers(g, p, images)
                                             : image_layers(g, p, images, in->draws);
    x = dense(g, "logits", x, in->data->n_classes);
    return (pod_network_out){.logits = pod_cast(g, x, POD_F32)};
}

/* ---- some steps of one ----------------------------------------------------------------------- */

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
                                       .spares = POD_SPARES_DECAY | POD_SPARES_TRUST,
                                       .rho = 0.9f,
                                       .epsilon = 1e-3f}};
    const pod_network net = {
        .name = "probe", .task = &pod_task_image_classification, .build = build, .ctx = p};
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
    pod_exec_feed(q->exec, POD_FIELD_IMAGES, images);
    pod_exec_feed(q->exec, POD_FIELD_LABELS, labels);
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
