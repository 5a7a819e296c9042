/* The models: trained parameters and multiply-adds against sums made by hand or published, shapes
 * at several image sizes, what weights start as, what is left out in training, and what is refused.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "models/model.h"
#include "runtime/ops/op.h"
#include "tests/harness/harness.h"
#include "tests/harness/interp.h"

enum { BATCH = 2 };

typedef struct built {
    pod_arena *arena;
    pod_graph *graph;
    pod_value logits;
} built;

static pod_model_args args_of(int64_t n_classes, bool train)
{
    return (pod_model_args){.n_classes = n_classes,
                            .train = train,
                            .bn_momentum = 0.9f,
                            .bn_epsilon = 1e-5f,
                            .dropout = -1,
                            .survival = -1};
}

static built build(const char *name, const int64_t hwc[3], int64_t n_classes, pod_dtype travelling,
                   bool train)
{
    built b = {0};
    b.arena = pod_test_arena();
    POD_CHECK_OK(pod_graph_create(b.arena, &b.graph));
    const pod_model *m = pod_model_find(name);
    POD_CHECK(m != NULL, "there is no model '%s'", name);
    const pod_type type = pod_type_of(travelling, 4, (int64_t[]){BATCH, hwc[0], hwc[1], hwc[2]});
    const pod_model_args args = args_of(n_classes, train);
    b.logits = m->build(b.graph, m->param, pod_input(b.graph, "images", type, 0), &args);
    return b;
}

static int64_t n_trained(const pod_graph *g)
{
    int64_t n = 0;
    for (int i = 0; i < pod_graph_n_variables(g); i++) {
        const pod_variable_info *v = pod_graph_variable(g, i);
        if (v->role == POD_ROLE_WEIGHT || v->role == POD_ROLE_NORM || v->role == POD_ROLE_BIAS)
            n += pod_shape_count(&pod_graph_type(g, v->value)->shape);
    }
    return n;
}

/* Of one image. */
static double multiply_adds(const pod_graph *g)
{
    double flops = 0;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++)
        flops += pod_op_cost_in(g, pod_graph_node(g, i)).matrix_flops;
    return flops / 2 / BATCH;
}

/* A 3x3 convolution of c to k channels without bias, a 1x1, and the two weights of a batch norm. */
#define CONV3(c, k) (9 * (c) * (k))
#define CONV1(c, k) ((c) * (k))
#define BN(c)       (2 * (c))

/* The residual networks for small images with n units a stage and 10 classes, stem and stages one
 * line each; p1, p2, p3 are the pixels of the stages. */
#define SMALL_PARAMETERS(c, n)                                                               \
    (CONV3(c, 16) + BN(16) + 2 * (n) * (CONV3(16, 16) + BN(16)) + CONV3(16, 32) +            \
     (2 * (n)-1) * CONV3(32, 32) + 2 * (n)*BN(32) + CONV1(16, 32) + BN(32) + CONV3(32, 64) + \
     (2 * (n)-1) * CONV3(64, 64) + 2 * (n)*BN(64) + CONV1(32, 64) + BN(64) + 64 * 10 + 10)
#define SMALL_MACS(c, n, p1, p2, p3)                                        \
    ((p1) * (CONV3(c, 16) + 2 * (n)*CONV3(16, 16)) +                        \
     (p2) * (CONV3(16, 32) + (2 * (n)-1) * CONV3(32, 32) + CONV1(16, 32)) + \
     (p3) * (CONV3(32, 64) + (2 * (n)-1) * CONV3(64, 64) + CONV1(32, 64)) + 64 * 10)

static const struct {
    const char *name;
    int64_t hwc[3], n_classes, parameters, multiply_adds;
} counts[] = {
    {"mlp",
     {28, 28, 1},
     10,
     784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10,
     784 * 512 + 512 * 256 + 256 * 10},
    /* Stem 144 + 32; stages 13824 + 192, 50688 + 384 + 512 + 64, 202752 + 768 + 2048 + 128; dense
     * 650. Multiply-adds 112896; 10838016, 9934848 + 100352, the same; 640. */
    {"resnet20", {28, 28, 1}, 10, 272186, 31021952},
    {"resnet8", {32, 32, 3}, 10, SMALL_PARAMETERS(3, 1), SMALL_MACS(3, 1, 1024, 256, 64)},
    {"resnet14", {32, 32, 3}, 10, SMALL_PARAMETERS(3, 2), SMALL_MACS(3, 2, 1024, 256, 64)},
    {"resnet20", {32, 32, 3}, 10, SMALL_PARAMETERS(3, 3), SMALL_MACS(3, 3, 1024, 256, 64)},
    {"resnet32", {32, 32, 3}, 10, SMALL_PARAMETERS(3, 5), SMALL_MACS(3, 5, 1024, 256, 64)},
    {"resnet44", {32, 32, 3}, 10, SMALL_PARAMETERS(3, 7), SMALL_MACS(3, 7, 1024, 256, 64)},
    {"resnet56", {32, 32, 3}, 10, SMALL_PARAMETERS(3, 9), SMALL_MACS(3, 9, 1024, 256, 64)},
    /* torchvision's resnet50: 25,557,032 parameters, 4.09 GMAC */
    {"resnet50", {224, 224, 3}, 1000, 25557032, 4089184256},
    /* DeiT-Ti. With 196 patches, or 64 of 4x4 pixels: 196 768 192 multiply-adds, 12 layers of
     * 197 (4 192^2 + 8 192^2) + 2 197^2 192, and the last layer. */
    {"vit-tiny", {224, 224, 3}, 1000, 5717416, 1253683200},
    {"vit-tiny", {32, 32, 3}, 10, 5362762, 365107584},
};

static void parameters_and_multiply_adds(void)
{
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        built b = build(counts[i].name, counts[i].hwc, counts[i].n_classes, POD_BF16, true);
        POD_CHECK_OK(pod_graph_finish(b.graph));
        int64_t n = n_trained(b.graph);
        POD_CHECK(n == counts[i].parameters, "%s: %" PRId64 " parameters, want %" PRId64,
                  counts[i].name, n, counts[i].parameters);
        double macs = multiply_adds(b.graph);
        POD_CHECK(macs == (double)counts[i].multiply_adds, "%s: %.0f multiply-adds, want %" PRId64,
                  counts[i].name, macs, counts[i].multiply_adds);
    }
}

/* Parameters as published with TensorFlow's code (efficientnet_builder); multiply-adds in millions,
 * from the same tables with SAME padding, squeeze-and-excite and the last layer. */
static void efficientnets(void)
{
    static const struct {
        int64_t size, parameters, millions;
    } want[] = {{224, 5288548, 386},    {240, 7794184, 687},   {260, 9109994, 994},
                {300, 12233232, 1827},  {380, 19341616, 4394}, {456, 30389784, 10266},
                {528, 43040704, 19068}, {600, 66347960, 37746}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        char name[32];
        snprintf(name, sizeof name, "efficientnet-b%d", (int)i);
        built b = build(name, (int64_t[]){want[i].size, want[i].size, 3}, 1000, POD_BF16, true);
        POD_CHECK_OK(pod_graph_finish(b.graph));
        const int64_t n = n_trained(b.graph);
        POD_CHECK(n == want[i].parameters, "%s: %" PRId64 " parameters, want %" PRId64, name, n,
                  want[i].parameters);
        const double macs = multiply_adds(b.graph) / 1e6;
        POD_CHECK(fabs(macs - (double)want[i].millions) <= 0.5,
                  "%s: %.3f million multiply-adds, want %" PRId64, name, macs, want[i].millions);
    }
}

/* An EfficientNet of small images, as trained with something left out. */
static built build_with_draws(const char *name, const pod_model_args *args)
{
    built b = {0};
    b.arena = pod_test_arena();
    POD_CHECK_OK(pod_graph_create(b.arena, &b.graph));
    pod_model_args with_draws = *args;
    with_draws.draws = pod_input(b.graph, "draws", pod_type_of(POD_I32, 1, (int64_t[]){BATCH}), 0);
    pod_value x =
        pod_input(b.graph, "x", pod_type_of(POD_F32, 4, (int64_t[]){BATCH, 64, 48, 3}), 0);
    const pod_model *m = pod_model_find(name);
    b.logits = m->build(b.graph, m->param, x, args->train ? &with_draws : args);
    POD_CHECK_OK(pod_graph_finish(b.graph));
    return b;
}

/* Wider and deeper than B0 by the factors of B3 is B3; in evaluation nothing is left out. */
static void scaled_by_hand(void)
{
    for (int train = 0; train < 2; train++) {
        pod_model_args args = args_of(1000, train);
        args.width = 1.2, args.depth = 1.4;
        built b = build_with_draws("efficientnet-b0", &args);
        CU_ASSERT_EQUAL(n_trained(b.graph), 12233232);
        int n_masks = 0;
        for (int32_t i = 0; i < pod_graph_n_nodes(b.graph); i++)
            n_masks += strcmp(pod_graph_node(b.graph, i)->op->name, "drop") == 0;
        CU_ASSERT_EQUAL(n_masks,
                        train ? 20 : 0); /* 26 units, 7 of them without a shortcut; logits */
    }
}

/* Every model of the table at every size it takes, with grey and with colour, in both types. */
static void logits_at_many_sizes(void)
{
    static const int64_t sizes[][3] = {{4, 4, 1},   {28, 28, 1}, {32, 32, 3},
                                       {33, 47, 3}, {40, 32, 4}, {224, 224, 3}};
    int n;
    const pod_model *m = pod_models(&n);
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            if (strcmp(m[i].name, "resnet50") == 0 && sizes[k][0] < 32) continue;
            for (int bf16 = 0; bf16 < 2; bf16++) {
                built b = build(m[i].name, sizes[k], 7, bf16 ? POD_BF16 : POD_F32, k % 2 == 0);
                POD_CHECK_OK(pod_graph_finish(b.graph));
                if (b.logits.id) {
                    const pod_type *t = pod_graph_type(b.graph, b.logits);
                    POD_CHECK(t->dtype == POD_F32 && t->shape.n_dims == 2 &&
                                  t->shape.dim[0] == BATCH && t->shape.dim[1] == 7,
                              "%s: logits (%d, %d) of %s", m[i].name, (int)t->shape.dim[0],
                              (int)t->shape.dim[1], pod_dtype_name(t->dtype));
                }
                CU_ASSERT_STRING_EQUAL(pod_graph_scope(b.graph), "");
            }
        }
}

/* A network's name counts its convolutions and products, shortcuts aside. */
static void depth_is_the_name(void)
{
    int n;
    const pod_model *m = pod_models(&n);
    for (int i = 0; i < n; i++) {
        if (strncmp(m[i].name, "resnet", strlen("resnet")) != 0) continue;
        built b = build(m[i].name, (int64_t[]){m[i].h, m[i].w, m[i].c}, 10, POD_F32, true);
        int layers = 0;
        for (int32_t k = 0; k < pod_graph_n_nodes(b.graph); k++) {
            const pod_node *node = pod_graph_node(b.graph, k);
            layers += (strcmp(node->op->name, "conv2d") == 0 && !strstr(node->label, "shortcut")) ||
                      strcmp(node->op->name, "matmul") == 0;
        }
        POD_CHECK(layers == m[i].param, "%s has %d layers", m[i].name, layers);
    }
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* Only ResNet-50's last scale of each of its 16 units starts at 0; moving statistics move in
 * training and stay in evaluation. */
static void variables(void)
{
    for (int train = 0; train < 2; train++)
        for (int deep = 0; deep < 2; deep++) {
            built b =
                build(deep ? "resnet50" : "resnet20", (int64_t[]){32, 32, 3}, 10, POD_F32, train);
            POD_CHECK_OK(pod_graph_finish(b.graph));
            int zero_scales = 0, scales = 0, moving = 0;
            for (int i = 0; i < pod_graph_n_variables(b.graph); i++) {
                const pod_variable_info *v = pod_graph_variable(b.graph, i);
                bool is_scale = ends_with(v->name, "/gamma");
                bool zero = deep && ends_with(v->name, "/conv3/gamma");
                scales += is_scale;
                zero_scales += is_scale && v->init.kind == POD_INIT_ZERO;
                moving += v->role == POD_ROLE_MOVING;
                POD_CHECK(!is_scale || v->init.kind == (zero ? POD_INIT_ZERO : POD_INIT_ONE),
                          "%s starts as %d", v->name, (int)v->init.kind);
                POD_CHECK((v->assigned.id != 0) == (train && v->role == POD_ROLE_MOVING),
                          "%s becomes %d", v->name, (int)v->assigned.id);
            }
            CU_ASSERT_EQUAL(zero_scales, deep ? 16 : 0);
            CU_ASSERT_EQUAL(scales, deep ? 53 : 21);
            CU_ASSERT_EQUAL(moving, 2 * scales);
        }
}

static const pod_variable_info *find_variable(const pod_graph *g, const char *name)
{
    for (int i = 0; i < pod_graph_n_variables(g); i++)
        if (strcmp(pod_graph_variable(g, i)->name, name) == 0) return pod_graph_variable(g, i);
    return NULL;
}

/* TensorFlow's efficientnet_model.py: filters are normal of variance 2 / fan-out, the fan-out of a
 * depthwise filter being that of one channel; squeeze-and-excite is made of 1x1 convolutions; the
 * last layer is uniform in +-1 / sqrt(classes). Of B0, at 1000 classes. */
static void efficientnet_starts(void)
{
    static const struct {
        const char *name;
        pod_init_kind kind;
        double scale_sq;
    } want[] = {{"stem/w", POD_INIT_NORMAL, 2.0 / (3 * 3 * 32)},
                {"stage1/unit1/depthwise/w", POD_INIT_NORMAL, 2.0 / (3 * 3)},
                {"stage1/unit1/project/w", POD_INIT_NORMAL, 2.0 / 16},
                {"stage2/unit2/expand/w", POD_INIT_NORMAL, 2.0 / (6 * 24)},
                {"stage3/unit1/depthwise/w", POD_INIT_NORMAL, 2.0 / (5 * 5)},
                {"stage3/unit1/squeeze_excite/reduce/w", POD_INIT_NORMAL, 2.0 / 6},
                {"stage3/unit1/squeeze_excite/reduce/b", POD_INIT_ZERO, 0},
                {"stage3/unit1/squeeze_excite/expand/w", POD_INIT_NORMAL, 2.0 / (6 * 24)},
                {"stage3/unit1/squeeze_excite/expand/b", POD_INIT_ZERO, 0},
                {"stage3/unit2/project/gamma", POD_INIT_ONE, 1},
                {"head/w", POD_INIT_NORMAL, 2.0 / 1280},
                {"logits/w", POD_INIT_UNIFORM, 1.0 / 1000},
                {"logits/b", POD_INIT_ZERO, 0}};
    built b = build("efficientnet-b0", (int64_t[]){64, 64, 3}, 1000, POD_BF16, true);
    POD_CHECK_OK(pod_graph_finish(b.graph));
    for (size_t k = 0; k < sizeof want / sizeof want[0]; k++) {
        const pod_variable_info *v = find_variable(b.graph, want[k].name);
        POD_CHECK(v != NULL, "there is no %s", want[k].name);
        if (!v) continue;
        POD_CHECK(v->init.kind == want[k].kind, "%s starts as %d, want %d", v->name,
                  (int)v->init.kind, (int)want[k].kind);
        const double scale = (double)v->init.scale;
        POD_CHECK(want[k].kind == POD_INIT_ZERO || fabs(scale - sqrt(want[k].scale_sq)) < 1e-6,
                  "%s starts with %g, want %g", v->name, scale, sqrt(want[k].scale_sq));
    }
}

typedef struct mask { /* what a drop of a model does to many samples */
    double rate;
    bool by_sample; /* all channels of a sample together */
} mask;

/* What is kept is made larger by 1 / (1 - rate), from which the rate is known. */
static mask mask_of(const pod_node *n)
{
    enum { N = 256, C = 16 };
    mask m = {.rate = -1, .by_sample = true};
    pod_arena *arena = pod_test_arena();
    pod_graph *g;
    pod_interp *it = NULL;
    POD_CHECK_OK(pod_graph_create(arena, &g));
    const pod_value draws = pod_input(g, "draws", pod_type_of(POD_I32, 1, (int64_t[]){N}), 0);
    const pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 2, (int64_t[]){N, C}), 0);
    const pod_value gate =
        pod_op_add1(g, n->op, n->attr, n->attr_bytes, (const pod_value[]){x, draws}, 2);
    POD_CHECK_OK(pod_graph_finish(g));
    POD_CHECK_OK(pod_interp_create(g, pod_cpu_features(), &it));
    for (int i = 0; i < N; i++)
        ((int32_t *)pod_interp_data(it, draws))[i] = (int32_t)((uint32_t)i * 747796405u);
    for (int i = 0; i < N * C; i++) ((float *)pod_interp_data(it, x))[i] = 1;
    pod_interp_run(it, -1);
    for (int64_t i = 0; i < N * C; i++) {
        const double kept = pod_interp_get(it, gate, i);
        if (kept > 0) m.rate = 1 - 1 / kept;
        m.by_sample &= kept == pod_interp_get(it, gate, i - i % C);
    }
    pod_interp_destroy(it);
    return m;
}

/* The rate of a unit grows with the number of units before it, as in TensorFlow's code, by which
 * the last of n, had it a shortcut, would be left out with (n - 1) / n of the whole rate; units of
 * other channels or another size than what they read have no shortcut and stay. Then what the last
 * layer reads. */
static void what_is_left_out(void)
{
    static const struct {
        const char *name;
        float dropout, survival; /* as asked for; -1: not */
        int n_units, before[7];  /* of each stage */
        double want_dropout, want_drop;
        int n_masks;
    } cases[] = {{"efficientnet-b0", -1, -1, 16, {0, 1, 3, 5, 8, 11, 15}, 0.2, 0.2, 10},
                 {"efficientnet-b0-32", 0.5f, 0.4f, 16, {0, 1, 3, 5, 8, 11, 15}, 0.5, 0.6, 10},
                 {"efficientnet-b4", -1, -1, 32, {0, 2, 6, 10, 16, 22, 30}, 0.4, 0.2, 26}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        pod_model_args args = args_of(10, true);
        args.dropout = cases[k].dropout, args.survival = cases[k].survival;
        built b = build_with_draws(cases[k].name, &args);
        int n_masks = 0;
        for (int32_t i = 0; i < pod_graph_n_nodes(b.graph); i++) {
            const pod_node *n = pod_graph_node(b.graph, i);
            int stage, unit;
            if (strcmp(n->op->name, "drop") != 0) continue;
            const bool of_unit = sscanf(n->label, "stage%d/unit%d", &stage, &unit) == 2;
            CU_ASSERT(of_unit || strcmp(n->label, "logits") == 0);
            const mask m = mask_of(n);
            const double place = of_unit ? cases[k].before[stage - 1] + unit - 1 : 0;
            const double want =
                of_unit ? cases[k].want_drop * place / cases[k].n_units : cases[k].want_dropout;
            POD_CHECK(fabs(m.rate - want) < 1e-6, "%s: %s is left out with %g, want %g",
                      cases[k].name, n->label, m.rate, want);
            POD_CHECK(m.by_sample == of_unit, "%s: %s by sample %d", cases[k].name, n->label,
                      m.by_sample);
            n_masks++;
        }
        POD_CHECK(n_masks == cases[k].n_masks, "%s: %d masks", cases[k].name, n_masks);
    }
}

/* DeiT-S and DeiT-B are as many times as wide; their parameters as in timm. The rate with which a half of
 * a block is left out for a sample grows linearly from 0 to 0.1, that of the last block. */
static void vision_transformers(void)
{
    static const struct {
        double width;
        int64_t parameters;
    } sizes[] = {{1, 5717416}, {2, 22050664}, {4, 86567656}};
    enum { BLOCKS = 12 };
    pod_model_args args = args_of(1000, true);
    const pod_model *m = pod_model_find("vit-tiny");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        pod_graph *g;
        const pod_type images = pod_type_of(POD_F32, 4, (int64_t[]){BATCH, 224, 224, 3});
        args.width = sizes[i].width;
        POD_CHECK_OK(pod_graph_create(pod_test_arena(), &g));
        m->build(g, m->param, pod_input(g, "images", images, 0), &args);
        POD_CHECK_OK(pod_graph_finish(g));
        POD_CHECK(n_trained(g) == sizes[i].parameters, "width %g: %" PRId64 " parameters",
                  sizes[i].width, n_trained(g));
    }
    args.width = 0;
    built b = build_with_draws("vit-tiny", &args);
    int n_masks = 0;
    for (int32_t i = 0; i < pod_graph_n_nodes(b.graph); i++) {
        const pod_node *n = pod_graph_node(b.graph, i);
        int block = -1;
        if (strcmp(n->op->name, "drop") != 0) continue;
        CU_ASSERT(sscanf(n->label, "blocks/%d/", &block) == 1);
        const mask drop = mask_of(n);
        POD_CHECK(drop.by_sample && fabs(drop.rate - 0.1 * block / (BLOCKS - 1)) < 1e-6,
                  "%s is left out with %g", n->label, drop.rate);
        n_masks++;
    }
    CU_ASSERT_EQUAL(n_masks, 2 * (BLOCKS - 1));
}

static void small_images_are_refused(void)
{
    static const struct {
        const char *name;
        int64_t hwc[3];
        const char *text;
    } cases[] = {
        {"resnet20", {3, 28, 1}, "resnet20: images are 3x28, need at least 4x4"},
        {"resnet8", {28, 1, 1}, "resnet8: images are 28x1, need at least 4x4"},
        {"resnet50", {224, 31, 3}, "resnet50: images are 224x31, need at least 32x32"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        built b = build(cases[i].name, cases[i].hwc, 10, POD_F32, true);
        POD_CHECK_FAILS(pod_graph_finish(b.graph), POD_E_SHAPE, cases[i].text);
        CU_ASSERT_EQUAL(b.logits.id, 0);
    }
}

static void other_inputs_are_refused(void)
{
    int n;
    const pod_model *m = pod_models(&n);
    for (int i = 0; i < n; i++) {
        pod_arena *arena = pod_test_arena();
        pod_graph *g;
        POD_CHECK_OK(pod_graph_create(arena, &g));
        pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 2, (int64_t[]){BATCH, 784}), 0);
        const pod_model_args args = args_of(10, true);
        CU_ASSERT_EQUAL(m[i].build(g, m[i].param, x, &args).id, 0);
        POD_CHECK_FAILS(pod_graph_finish(g), POD_E_SHAPE, "images are (2, 784), need (N, H, W, C)");
    }
    CU_ASSERT_PTR_NULL(pod_model_find("resnet21"));
}

POD_TEST_SUITE("models", {"parameters_and_multiply_adds", parameters_and_multiply_adds},
               {"efficientnets", efficientnets}, {"scaled_by_hand", scaled_by_hand},
               {"logits_at_many_sizes", logits_at_many_sizes},
               {"depth_is_the_name", depth_is_the_name}, {"variables", variables},
               {"efficientnet_starts", efficientnet_starts}, {"what_is_left_out", what_is_left_out},
               {"vision_transformers", vision_transformers},
               {"small_images_are_refused", small_images_are_refused},
               {"other_inputs_are_refused", other_inputs_are_refused});
