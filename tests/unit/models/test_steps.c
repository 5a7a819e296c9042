/* Each model of models.def trains on the check executor, which proves its plan, on one core and on a
 * mesh of 2x2, in float32 and bfloat16: two steps. The large EfficientNets take one step in float32,
 * ResNet-50 one in bfloat16 on one core, since it cannot be made small; their other programs are
 * compiled. With batch norm over all cores both meshes take the same path but for rounding, which the
 * many layers of an EfficientNet amplify from the second step on. Images are small, EfficientNets
 * narrow. */
#include <math.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/base/rng.h"
#include "models/model.h"
#include "runtime/data/images/image_samples.h"
#include "runtime/exec/exec.h"
#include "runtime/task/network.h"
#include "tests/harness/check.h"
#include "tests/harness/harness.h"

enum {
    SIDE = 8,
    MAX_SIDE = 32,
    MAX_C = 3,
    BATCH = 8,
    CLASSES = 4,
    N_STEPS = 2,
    MAX_RANKS = 4,
    MAX_INPUTS = 8
};

static bool is_resnet50(const pod_model *m) { return strcmp(m->name, "resnet50") == 0; }

static bool is_large(const pod_model *m)
{
    return is_resnet50(m) || (m->scales && m->param % 8 > 0);
}

static int64_t side_of(const pod_model *m) { return is_resnet50(m) ? MAX_SIDE : SIDE; }

static pod_network_out build(const void *ctx, pod_graph *g, const pod_network_in *in)
{
    const pod_model *m = ctx;
    const pod_model_args args = {.n_classes = in->data->n_classes,
                                 .train = in->train,
                                 .bn_momentum = 0.9f,
                                 .bn_epsilon = 1e-2f,
                                 .draws = in->draws,
                                 .dropout = 0.2f,
                                 .survival = 0.8f,
                                 .width = m->scales ? 0.1 : 0};
    return (pod_network_out){.logits = m->build(g, m->param, in->field[POD_FIELD_IMAGES], &args)};
}

static const pod_program *compile(pod_arena *a, const pod_model *m, const char *mesh,
                                  pod_dtype precision)
{
    static const double mean[] = {0.4, 0.5, 0.6}, std[] = {0.25, 0.3, 0.35};
    const pod_dataset_info data = {.height = side_of(m),
                                   .width = side_of(m),
                                   .channels = m->c,
                                   .n_classes = CLASSES,
                                   .mean = mean,
                                   .std = std};
    const pod_network net = {
        .name = m->name, .task = &pod_task_image_classification, .build = build, .ctx = m};
    const pod_setup setup = {.batch = BATCH,
                             .precision = precision,
                             .optim = pod_optim_find("sgd"),
                             .hparams = {.momentum = 0.9f}};
    const pod_target target = {.name = "test", .cpu = pod_cpu_features()};
    pod_compile_args args = {.target = &target,
                             .fusion = true,
                             .tile_bytes = 64 << 10,
                             .bucket_bytes = 64 << 10,
                             .guard_bytes = 64};
    pod_coll_rules *rules;
    pod_graph *g;
    const pod_program *p = NULL;
    POD_CHECK_OK(pod_mesh_parse(mesh, &args.mesh));
    POD_CHECK_OK(pod_coll_rules_parse(a, "allreduce:0-:torus2d;0-:ring", &rules));
    args.rules = rules;
    if (pod_mesh_size(&args.mesh) > 1)
        POD_CHECK_OK(pod_group_tiles(&args.mesh, pod_mesh_size(&args.mesh), &args.bn_group));
    pod_status s = pod_network_graph(&net, &setup, &data, true, a, &g);
    if (s == POD_OK) s = pod_compile(g, BATCH, &args, a, &p);
    POD_CHECK(s == POD_OK, "%s on %s in %s: %s", m->name, mesh, pod_dtype_name(precision),
              s == POD_OK ? "" : pod_error_text());
    return p;
}

typedef struct job {
    uint8_t images[BATCH * MAX_SIDE * MAX_SIDE * MAX_C];
    int32_t labels[BATCH], draws[BATCH];
    float lr, step;
    pod_store *store[MAX_RANKS];
    const void *feed[MAX_INPUTS * MAX_RANKS];
    int n_ranks;
} job;

static void feed(job *j, const pod_program *p, const char *name, const void *data, size_t bytes)
{
    const int input = pod_program_find_input(p, name);
    for (int r = 0; input >= 0 && r < j->n_ranks; r++)
        j->feed[input * j->n_ranks + r] = (const char *)data + (size_t)r * bytes;
}

static void start(job *j, const pod_program *p, int64_t pixels)
{
    const size_t local = BATCH / (size_t)pod_mesh_size(&p->mesh);
    pod_rng rng = pod_rng_at(7, (pod_place){.stream = POD_STREAM_TEST});
    *j = (job){.lr = 0.02f, .n_ranks = pod_mesh_size(&p->mesh)};
    for (size_t i = 0; i < sizeof j->images; i++) j->images[i] = (uint8_t)pod_rng_below(&rng, 256);
    for (int i = 0; i < BATCH; i++)
        j->labels[i] = i % CLASSES, j->draws[i] = (int32_t)pod_rng_below(&rng, 1000);
    feed(j, p, "images", j->images, local * (size_t)pixels);
    feed(j, p, "labels", j->labels, local * sizeof *j->labels);
    feed(j, p, "draws", j->draws, local * sizeof *j->draws);
    feed(j, p, "lr", &j->lr, 0);
    feed(j, p, "step", &j->step, 0);
    for (int r = 0; r < j->n_ranks; r++) POD_CHECK_OK(pod_store_create(p, r, 3, &j->store[r]));
}

/* The losses of the steps. */
static void train(pod_arena *a, const pod_model *m, const char *mesh, pod_dtype precision,
                  double loss[N_STEPS])
{
    static job j;
    const pod_program *p = compile(a, m, mesh, precision);
    for (int s = 0; s < N_STEPS; s++) loss[s] = (double)NAN;
    if (!p) return;
    start(&j, p, side_of(m) * side_of(m) * m->c);
    for (int s = 0; s < (is_large(m) ? 1 : N_STEPS); s++) {
        double out[2] = {0};
        j.step++;
        const pod_status status = pod_check_step(p, j.store, j.feed, out);
        POD_CHECK(status == POD_OK, "%s on %s in %s: %s", m->name, mesh, pod_dtype_name(precision),
                  status == POD_OK ? "" : pod_error_text());
        loss[s] = out[POD_NET_LOSS];
    }
    for (int r = 0; r < j.n_ranks; r++) {
        POD_CHECK(pod_store_hash(j.store[r]) == pod_store_hash(j.store[0]),
                  "%s on %s in %s: rank %d has other weights than rank 0", m->name, mesh,
                  pod_dtype_name(precision), r);
        if (r > 0) pod_store_destroy(j.store[r]);
    }
    pod_store_destroy(j.store[0]);
}

static void check_loss(const pod_model *m, pod_dtype precision, double one, double four,
                       double tolerance)
{
    POD_CHECK(isfinite(one) && fabs(four - one) <= tolerance * one,
              "%s in %s: a loss of %.6f on 2x2, %.6f on 1x1", m->name, pod_dtype_name(precision),
              four, one);
}

static void check_model(const pod_model *m, pod_dtype precision, double tolerance)
{
    const bool runs = !is_large(m) || (precision == POD_BF16) == is_resnet50(m);
    double one[N_STEPS], four[N_STEPS];
    pod_arena *a = pod_test_arena();
    if (runs)
        train(a, m, "1x1", precision, one);
    else
        (void)compile(a, m, "1x1", precision);
    if (!runs || is_resnet50(m))
        (void)compile(a, m, "2x2", precision);
    else
        train(a, m, "2x2", precision, four);
    if (runs && is_resnet50(m)) POD_CHECK(isfinite(one[0]), "%s: a loss of %g", m->name, one[0]);
    if (runs && !is_resnet50(m)) check_loss(m, precision, one[0], four[0], tolerance);
    if (!is_large(m)) check_loss(m, precision, one[1], four[1], m->scales ? 1 : tolerance);
}

static void test_f32(void)
{
    int n;
    const pod_model *m = pod_models(&n);
    for (int i = 0; i < n; i += POD_TEST_EVERY) check_model(&m[i], POD_F32, 1e-3);
}

static void test_bf16(void)
{
    int n;
    const pod_model *m = pod_models(&n);
    for (int i = 0; i < n; i += POD_TEST_EVERY) check_model(&m[i], POD_BF16, 0.05);
}

POD_TEST_SUITE("models.steps", {"float32", test_f32}, {"bfloat16", test_bf16});
