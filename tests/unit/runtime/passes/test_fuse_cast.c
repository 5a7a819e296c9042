/* runtime/passes/fuse in --precision bf16-conv, where float32 travels between convolutions and
 * products in bf16: fused programs of models against plain ones, and what is left of the casts. */
#include <math.h>

#include "kernels/base/cpu.h"
#include "kernels/base/rng.h"
#include "models/model.h"
#include "runtime/data/images/image_samples.h"
#include "runtime/exec/exec.h"
#include "runtime/passes/passes.h"
#include "runtime/task/network.h"
#include "tests/harness/check.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

enum { BATCH = 16, SIDE = 16, PIXELS = SIDE * SIDE * 3, CLASSES = 10 };

/* A model on images small enough for the reference kernels. */
typedef struct small_model {
    const char *name;
    double width, depth;
    int roundings; /* to bf16, one behind another, on the way of a gradient; 0: too many */
} small_model;

/* A convolution or product rounds what it reads and what it makes, forward and backward: 4 of each
 * of nine and of the classifier, or of the three products of the MLP. EfficientNet's batch norms
 * make much of little on images of a few pixels: a rounding there has no bound. Its blocks are
 * compared in test_op_values.c, and here what its program does. */
static const small_model resnet = {"resnet8", 0, 0, 4 * (9 + 1)}, perceptron = {"mlp", 0, 0, 4 * 3},
                         efficient = {"efficientnet-b0-32", 0.25, 0.3, 0};

static pod_network_out build(const void *ctx, pod_graph *g, const pod_network_in *in)
{
    const small_model *m = ctx;
    const pod_model *model = pod_model_find(m->name);
    const pod_model_args args = {.n_classes = in->data->n_classes,
                                 .train = in->train,
                                 .bn_momentum = 0.9f,
                                 .bn_epsilon = 1e-3f,
                                 .bf16_products = true,
                                 .draws = in->draws,
                                 .survival = 1,
                                 .width = m->width,
                                 .depth = m->depth};
    return (pod_network_out){.logits =
                                 model->build(g, model->param, in->field[POD_FIELD_IMAGES], &args)};
}

static const pod_program *compile(pod_arena *a, const small_model *m, uint32_t cpu, bool fusion)
{
    static const double mean[] = {0.4, 0.5, 0.6}, std[] = {0.25, 0.3, 0.35};
    const pod_dataset_info data = {.height = SIDE,
                                   .width = SIDE,
                                   .channels = 3,
                                   .n_classes = CLASSES,
                                   .mean = mean,
                                   .std = std};
    const pod_network net = {
        .name = m->name, .task = &pod_task_image_classification, .build = build, .ctx = m};
    const pod_setup setup = {.batch = BATCH,
                             .precision = POD_F32,
                             .optim = pod_optim_find("sgd"),
                             .hparams = {.momentum = 0.9f}};
    const pod_target target = {.name = "test", .cpu = cpu};
    const pod_compile_args args = {.mesh = {.n_dims = 1, .extent = {1}},
                                   .target = &target,
                                   .fusion = fusion,
                                   .tile_bytes = 64 << 10,
                                   .bucket_bytes = 4096,
                                   .guard_bytes = 64};
    pod_graph *g = NULL;
    const pod_program *p = NULL;
    POD_CHECK_OK(pod_network_graph(&net, &setup, &data, true, a, &g));
    if (g) POD_CHECK_OK(pod_compile(g, BATCH, &args, a, &p));
    return p;
}

/* The loss at the last of some steps; *store is the caller's. */
static double train(const pod_program *p, int n_steps, pod_store **store)
{
    static uint8_t images[BATCH * PIXELS];
    int32_t labels[BATCH], draws[BATCH];
    float lr = 0.02f, step = 0;
    double out[2] = {0};
    const struct {
        const char *name;
        const void *data;
    } inputs[] = {
        {"images", images}, {"labels", labels}, {"draws", draws}, {"lr", &lr}, {"step", &step}};
    const void *feed[5] = {0};
    pod_rng rng = pod_rng_at(7, (pod_place){.stream = POD_STREAM_TEST});
    for (int i = 0; i < BATCH * PIXELS; i++) images[i] = (uint8_t)pod_rng_below(&rng, 256);
    for (int i = 0; i < BATCH; i++)
        labels[i] = i % CLASSES, draws[i] = (int32_t)pod_rng_below(&rng, 1000);
    for (int i = 0; i < 5; i++) {
        const int input = pod_program_find_input(p, inputs[i].name);
        if (input >= 0) feed[input] = inputs[i].data;
    }
    POD_CHECK_OK(pod_store_create(p, 0, 3, store));
    for (int s = 0; s < n_steps; s++) {
        step++;
        POD_CHECK_OK(pod_check_step(p, (pod_store *const[]){*store}, feed, out));
    }
    return out[POD_NET_LOSS];
}

static int count_of(const pod_program *p, const char *name, const char *refused)
{
    for (int32_t i = 0; i < p->n_fusions; i++) {
        const pod_fusion *f = &p->fusion[i];
        if (strcmp(f->name, name) != 0 || !f->refused != !refused) continue;
        if (!refused || strstr(f->refused, refused)) return f->n;
    }
    return 0;
}

/* |a - b| / |b - start| over the weights: of a first step, how far apart the gradients are. */
static double updates_apart(pod_store *a, pod_store *b, pod_store *start)
{
    double apart = 0, size = 0;
    for (int i = 0; i < pod_store_n(a); i++) {
        const pod_role role = pod_store_variable(a, i)->role;
        if (role == POD_ROLE_STATE || role == POD_ROLE_MOVING) continue;
        const char *name = pod_store_variable(a, i)->name;
        const float *x = pod_store_data(a, i), *y = pod_store_data(b, pod_store_find(b, name));
        const float *from = pod_store_data(start, pod_store_find(start, name));
        for (int64_t k = 0; k < pod_store_count(a, i); k++) {
            apart += pow((double)x[k] - (double)y[k], 2);
            size += pow((double)y[k] - (double)from[k], 2);
        }
    }
    return sqrt(apart / size);
}

/* Fused, some values are rounded to bf16 fewer times and sums are in another order: at each
 * rounding a value may fall to the other side. The loss is within what test_fuse.c grants bf16. */
static void check_numbers(const small_model *m, const pod_program *fused, const pod_program *plain)
{
    pod_store *store[5] = {NULL};
    train(fused, 1, &store[0]);
    train(plain, 1, &store[1]);
    train(plain, 0, &store[2]);
    const double apart = updates_apart(store[0], store[1], store[2]);
    POD_CHECK(apart <= m->roundings * pod_test_roundoff(POD_BF16), "%s: updates are %g apart",
              m->name, apart);
    const double got = train(fused, 2, &store[3]), want = train(plain, 2, &store[4]);
    POD_CHECK(fabs(got - want) <= 0.02 * want, "%s: loss %.9g fused, %.9g plain", m->name, got,
              want);
    for (int i = 0; i < 5; i++) pod_store_destroy(store[i]);
}

static void check_like_plain(const small_model *m, uint32_t cpu)
{
    pod_arena *a = pod_test_arena();
    const pod_program *fused = compile(a, m, cpu, true), *plain = compile(a, m, cpu, false);
    if (fused && plain) {
        if (m->roundings) check_numbers(m, fused, plain);
        CU_ASSERT_EQUAL(fused->model_flops, plain->model_flops);
        CU_ASSERT(pod_program_moved_bytes(fused) < pod_program_moved_bytes(plain));
    }
}

static void follows_the_plain_program(void)
{
    const uint32_t cpus[] = {POD_CPU_REFERENCE_ONLY, pod_cpu_features()};
    for (int c = 0; c < 2; c++) {
        check_like_plain(&resnet, cpus[c]);
        check_like_plain(&efficient, cpus[c]);
        check_like_plain(&perceptron, cpus[c]);
    }
}

/* Each of the nine convolutions sums its own output, and no batch norm reads or makes a copy of
 * what a convolution made or reads, but for z of a sum: it travels in float32. */
static void no_cast_is_between(void)
{
    const pod_program *p = compile(pod_test_arena(), &resnet, POD_CPU_REFERENCE_ONLY, true);
    if (p) {
        CU_ASSERT_EQUAL(count_of(p, "bn_cast", NULL), 9);
        CU_ASSERT_EQUAL(count_of(p, "conv_sums", NULL), 9);
        CU_ASSERT_EQUAL(count_of(p, "bn_prologue", NULL), 3);
        CU_ASSERT_EQUAL(count_of(p, "bn_grad_act", NULL), 4);
        CU_ASSERT_EQUAL(count_of(p, "bn_grad_sums_add", NULL), 2);
        CU_ASSERT_EQUAL(count_of(p, "bn_store", NULL), 9);
        CU_ASSERT_EQUAL(count_of(p, "cast_again", NULL), 2); /* of what shortcuts read too */
        CU_ASSERT_EQUAL(count_of(p, "bn_prologue", "add reads it too"), 1);
        CU_ASSERT_EQUAL(pod_test_n_instrs(p, "bn_sums") + pod_test_n_instrs(p, "bn_apply"), 0);
    }
}

/* A cast that more than batch norm reads stays, and it is said why. */
static void says_why_not(void)
{
    pod_arena *a = pod_test_arena();
    pod_graph *g;
    const pod_program *p = NULL;
    POD_CHECK_OK(pod_graph_create(a, &g));
    const pod_batchnorm_attr bn = {.eps = 1e-3f, .train = true, .gamma = {POD_INIT_ONE, 1}};
    pod_value x = pod_input(g, "x", pod_type_of(POD_BF16, 4, (const int64_t[]){4, 4, 4, 2}), 0);
    pod_value w = pod_weight(g, "w", (pod_shape){4, {2, 3, 3, 2}}, (pod_init){POD_INIT_HE, 1},
                             POD_ROLE_WEIGHT);
    pod_value y = pod_conv2d(g, x, w, (pod_conv2d_attr){.stride = 1, .pad = 1});
    y = pod_cast(g, y, POD_F32);
    pod_value n = pod_batchnorm(g, y, bn);
    pod_output(g, "y", pod_sum_sq(g, y)); /* not batch norm */
    pod_output(g, "n", pod_sum_sq(g, pod_cast(g, pod_cast(g, n, POD_BF16), POD_F32)));
    POD_CHECK_OK(pod_graph_finish(g));
    const pod_target target = {.name = "reference", .cpu = POD_CPU_REFERENCE_ONLY};
    const pod_compile_args args = {
        .mesh = {.n_dims = 1, .extent = {1}}, .target = &target, .fusion = true, .bucket_bytes = 1};
    POD_CHECK_OK(pod_compile(g, 4, &args, a, &p));
    if (p) {
        CU_ASSERT_EQUAL(count_of(p, "bn_cast", NULL), 0);
        CU_ASSERT_EQUAL(count_of(p, "bn_cast", "sum_sq reads it too"), 1);
        CU_ASSERT_EQUAL(count_of(p, "conv_sums", NULL), 0);
        CU_ASSERT_EQUAL(pod_test_n_instrs(p, "bn_sums"), 1);
    }
}

POD_TEST_SUITE("fuse_cast", {"follows the plain program", follows_the_plain_program},
               {"no cast is between", no_cast_is_between}, {"says why not", says_why_not});
