#include "tests/harness/nets.h"
#include "tests/harness/check.h"

#include <math.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "runtime/data/images/image_samples.h"
#include "runtime/exec/exec.h"
#include "runtime/ops/ops.h"
#include "tests/harness/harness.h"

/* ---- networks ---- */

static pod_value dense(pod_graph *g, const char *name, pod_value x, int64_t units)
{
    pod_scope_begin(g, "%s", name);
    x = pod_dense(g, x, units, true);
    pod_scope_end(g);
    return x;
}

static pod_value perceptron(pod_graph *g, pod_value images, pod_value draws, int64_t n_classes,
                            bool train)
{
    (void)draws, (void)train;
    if (pod_graph_failed(g)) return images;
    const int64_t *dim = pod_graph_type(g, images)->shape.dim;
    pod_value x = pod_reshape(g, images, (pod_shape){2, {dim[0], dim[1] * dim[2] * dim[3]}});
    x = pod_relu(g, dense(g, "fc1", x, 17));
    return pod_cast(g, dense(g, "fc2", x, n_classes), POD_F32);
}

typedef struct form { /* of a convolution */
    int64_t filters;
    int stride;
    bool bn, train;
} form;

static pod_value conv(pod_graph *g, const char *name, pod_value x, form f)
{
    pod_scope_begin(g, "%s", name);
    int64_t c = pod_graph_failed(g) ? 1 : pod_graph_type(g, x)->shape.dim[3];
    pod_value w = pod_weight(g, "w", (pod_shape){4, {f.filters, 3, 3, c}},
                             (pod_init){POD_INIT_HE, 1.0f}, POD_ROLE_WEIGHT);
    x = pod_conv2d(g, x, w, (pod_conv2d_attr){.stride = f.stride, .pad = 1});
    if (f.bn)
        x = pod_batchnorm(
            g, x,
            (pod_batchnorm_attr){
                .momentum = 0.9f, .eps = 1e-3f, .train = f.train, .gamma = {POD_INIT_ONE, 1.0f}});
    pod_scope_end(g);
    return x;
}

static pod_value residual(pod_graph *g, pod_value images, int64_t n_classes, bool bn, bool train)
{
    const form same = {4, 1, bn, train}, down = {6, 2, bn, train};
    pod_value x = pod_relu(g, conv(g, "stem", images, same));
    pod_value y = pod_relu(g, conv(g, "a", x, same));
    x = pod_relu(g, pod_add(g, conv(g, "b", y, same), x));
    x = pod_relu(g, conv(g, "down", x, down));
    return pod_cast(g, dense(g, "fc", pod_mean_pool(g, x), n_classes), POD_F32);
}

static pod_value plain_residual(pod_graph *g, pod_value images, pod_value draws, int64_t n_classes,
                                bool train)
{
    (void)draws;
    return residual(g, images, n_classes, false, train);
}

static pod_value bn_residual(pod_graph *g, pod_value images, pod_value draws, int64_t n_classes,
                             bool train)
{
    (void)draws;
    return residual(g, images, n_classes, true, train);
}

/* A block of EfficientNet. */
static pod_value squeezed(pod_graph *g, pod_value images, pod_value draws, int64_t n_classes,
                          bool train)
{
    (void)draws;
    enum { WIDE = 6 };
    const pod_batchnorm_attr bn = {
        .momentum = 0.9f, .eps = 1e-3f, .train = train, .gamma = {POD_INIT_ONE, 1.0f}};
    pod_value x = pod_swish(g, conv(g, "stem", images, (form){WIDE, 1, true, train}));
    pod_scope_begin(g, "depthwise");
    pod_value w = pod_weight(g, "w", (pod_shape){3, {3, 3, WIDE}},
                             (pod_init){POD_INIT_NORMAL, 0.3f}, POD_ROLE_WEIGHT);
    pod_value y = pod_depthwise2d(g, x, w, (pod_conv2d_attr){.stride = 1, .same = true});
    y = pod_swish(g, pod_batchnorm(g, y, bn));
    pod_scope_end(g);
    pod_value s = pod_sigmoid(g, dense(g, "squeeze", pod_mean_pool(g, y), WIDE));
    y = conv(g, "project", pod_gate_by(g, y, s), (form){WIDE, 1, true, train});
    x = pod_add(g, y, x);
    return pod_cast(g, dense(g, "fc", pod_mean_pool(g, x), n_classes), POD_F32);
}

/* A residual unit that is left out of some samples, and of what the last layer reads some. */
static pod_value dropping(pod_graph *g, pod_value images, pod_value draws, int64_t n_classes,
                          bool train)
{
    const form same = {6, 1, false, train};
    pod_value x = pod_relu(g, conv(g, "stem", images, same));
    pod_value y = pod_relu(g, conv(g, "unit", x, same));
    if (draws.id) y = pod_drop_samples(g, y, draws, 0.4f);
    x = pod_mean_pool(g, pod_relu(g, pod_add(g, y, x)));
    pod_scope_begin(g, "dropout");
    if (draws.id) x = pod_dropout(g, x, draws, 0.3f);
    pod_scope_end(g);
    return pod_cast(g, dense(g, "fc", x, n_classes), POD_F32);
}

const pod_test_net pod_test_nets[POD_TEST_N_NETS] = {
    {"perceptron", false, perceptron},
    {"residual", false, plain_residual},
    {"residual with batch norm", true, bn_residual},
};
const pod_test_net pod_test_squeezed = {"squeeze and excite", true, squeezed};
const pod_test_net pod_test_dropping = {"dropping", false, dropping};

static pod_network_out build(const void *ctx, pod_graph *g, const pod_network_in *in)
{
    const pod_test_net *net = ctx;
    return (pod_network_out){.logits = net->logits(g, in->field[POD_FIELD_IMAGES], in->draws,
                                                   in->data->n_classes, in->train)};
}

pod_network pod_test_network(const pod_test_net *net)
{
    return (pod_network){
        .name = net->name, .task = &pod_task_image_classification, .build = build, .ctx = net};
}

/* ---- programs ---- */

static const double mean[POD_TEST_C] = {0.4, 0.5}, std[POD_TEST_C] = {0.25, 0.3};
static const pod_dataset_info data = {.height = POD_TEST_H,
                                      .width = POD_TEST_W,
                                      .channels = POD_TEST_C,
                                      .n_classes = POD_TEST_CLASSES,
                                      .mean = mean,
                                      .std = std};

pod_status pod_test_graph(pod_arena *a, const pod_test_plan *plan, pod_graph **out)
{
    const pod_network net = pod_test_network(plan->net);
    const pod_setup setup = {
        .batch = POD_TEST_BATCH,
        .precision = plan->precision,
        .label_smoothing = 0.1f,
        .ema = plan->ema,
        .optim = pod_optim_find(plan->optimizer ? plan->optimizer : "lars"),
        .hparams = {.momentum = 0.9f, .weight_decay = 1e-3f, .trust = 0.02f, .epsilon = 1e-6f}};
    return pod_network_graph(&net, &setup, &data, true, a, out);
}

pod_status pod_test_compile(pod_arena *a, const pod_test_plan *plan, const pod_program **out)
{
    pod_graph *g = NULL;
    pod_coll_rules *rules;
    pod_mesh mesh;
    const pod_target target = {.name = "test", .cpu = plan->cpu};
    POD_TRY(pod_mesh_parse(plan->mesh, &mesh));
    POD_TRY(pod_test_graph(a, plan, &g));
    const char *text = plan->rules ? plan->rules : "allreduce:0-256:tree;256-:torus2d";
    POD_TRY(pod_coll_rules_parse(a, text, &rules));
    const pod_compile_args args = {.mesh = mesh,
                                   .target = &target,
                                   .fusion = plan->fusion,
                                   .tile_bytes = plan->tile_bytes,
                                   .recompute = plan->recompute,
                                   .rules = rules,
                                   .bucket_bytes = plan->bucket_bytes,
                                   .wire = plan->wire,
                                   .shard_update = plan->shard_update,
                                   .node_size = plan->node_size,
                                   .wait_at_once = plan->wait_at_once,
                                   .accumulate = plan->accumulate,
                                   .bn_group = plan->bn_group,
                                   .guard_bytes = plan->guard_bytes};
    return pod_compile(g, POD_TEST_BATCH, &args, a, out);
}

const pod_program *pod_test_program(const pod_test_plan *plan)
{
    const pod_program *p = NULL;
    POD_CHECK_OK(pod_test_compile(pod_test_arena(), plan, &p));
    return p;
}

/* ---- jobs ---- */

static void feed_scalar(pod_test_job *j, const pod_program *p, const char *name, int rank,
                        const float *value)
{
    const int input = pod_program_find_input(p, name);
    if (input >= 0) j->feed[input * j->n_ranks + rank] = value;
}

void pod_test_job_start(pod_test_job *j, const pod_program *p)
{
    j->program = p;
    j->n_ranks = pod_mesh_size(&p->mesh);
    j->step = 0;
    pod_rng rng = pod_rng_at(7, (pod_place){.stream = POD_STREAM_TEST});
    for (int i = 0; i < POD_TEST_BATCH; i++) {
        j->labels[i] = (int32_t)pod_rng_below(&rng, POD_TEST_CLASSES);
        for (int k = 0; k < POD_TEST_PIXELS; k++)
            j->images[i * POD_TEST_PIXELS + k] =
                (uint8_t)(40 * j->labels[i] * (k % 3) / 2 + (int)pod_rng_below(&rng, 90));
    }
    const int local = POD_TEST_BATCH / j->n_ranks;
    for (int r = 0; r < j->n_ranks; r++) {
        POD_CHECK_OK(pod_store_create(p, r, 3, &j->store[r]));
        j->feed[POD_FIELD_IMAGES * j->n_ranks + r] = j->images + r * local * POD_TEST_PIXELS;
        j->feed[POD_FIELD_LABELS * j->n_ranks + r] = j->labels + r * local;
        feed_scalar(j, p, "lr", r, &j->lr);
        feed_scalar(j, p, "step", r, &j->step);
    }
}

void pod_test_job_end(pod_test_job *j)
{
    for (int r = 0; r < j->n_ranks; r++) pod_store_destroy(j->store[r]);
}

double pod_test_job_train(pod_test_job *j, int n_steps)
{
    double outputs[2] = {0};
    for (int step = 0; step < n_steps; step++) {
        j->lr = 0.5f;
        j->step++;
        POD_CHECK_OK(pod_check_step(j->program, j->store, j->feed, outputs));
    }
    for (int r = 1; r < j->n_ranks; r++)
        POD_CHECK(pod_store_hash(j->store[r]) == pod_store_hash(j->store[0]),
                  "rank %d has other weights than rank 0", r);
    return outputs[POD_NET_LOSS];
}

double pod_test_job_run(pod_test_job *j, const pod_test_plan *plan, int n_steps)
{
    pod_test_job_start(j, pod_test_program(plan));
    return pod_test_job_train(j, n_steps);
}

double pod_test_loss_of(const pod_test_plan *plan, int n_steps)
{
    static pod_test_job j;
    const double loss = pod_test_job_run(&j, plan, n_steps);
    pod_test_job_end(&j);
    return loss;
}

double pod_test_distance(pod_store *a, pod_store *b)
{
    double apart = 0, size = 0;
    for (int i = 0; i < pod_store_n(a); i++) {
        if (pod_store_variable(a, i)->role == POD_ROLE_STATE) continue;
        const float *x = pod_store_data(a, i);
        const float *y = pod_store_data(b, pod_store_find(b, pod_store_variable(a, i)->name));
        for (int64_t k = 0; k < pod_store_count(a, i); k++) {
            apart += ((double)x[k] - (double)y[k]) * ((double)x[k] - (double)y[k]);
            size += (double)y[k] * (double)y[k];
        }
    }
    return sqrt(apart / size);
}

int pod_test_n_instrs(const pod_program *p, const char *op)
{
    int n = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) n += strcmp(p->instr[i].op, op) == 0;
    return n;
}
