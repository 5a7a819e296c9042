/* Each family of languages.def trains two steps on the check executor, which proves its plan, on one
 * core and on a mesh of 2x2, in float32 and bfloat16: the networks made small, lines of one family
 * being the same. Both meshes take the same path but for rounding, and so do fused programs and
 * those as built. Sequences have lengths of their own. */
#include <math.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/base/rng.h"
#include "models/language.h"
#include "runtime/exec/exec.h"
#include "runtime/task/network.h"
#include "tests/harness/check.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"

enum {
    BATCH = 8,
    SEQ_LEN = 6,
    MASKED = 3,
    TOKENS = 40,
    N_STEPS = 2,
    MAX_RANKS = 4,
    MAX_INPUTS = 12
};
static const pod_language_size small = {2, 32, 4, 64, 8};

typedef struct how {
    const pod_language *model;
    pod_dtype precision;
    float dropout; /* negative: the model's own */
    bool plain;    /* attention */
    bool unfused;  /* the program */
} how;

static pod_network_out build(const void *ctx, pod_graph *g, const pod_network_in *in)
{
    const how *h = ctx;
    const pod_language_in read = pod_language_read(g);
    const pod_language_args args = {.n_tokens = in->data->n_tokens,
                                    .travel = h->precision,
                                    .draws = in->draws,
                                    .dropout = h->dropout,
                                    .plain_attention = h->plain};
    const pod_language_out y = h->model->build(g, &small, &read, &args);
    return (pod_network_out){.hidden = y.hidden, .table = y.table, .bias = y.bias, .next = y.next};
}

static const pod_setup setup = {.batch = BATCH,
                                .seq_len = SEQ_LEN,
                                .max_masked = MASKED,
                                .label_smoothing = 0.1f,
                                .hparams = {.momentum = 0.9f}};
static const pod_dataset_info data = {.n_tokens = TOKENS};

static const pod_program *compile(const how *h, const char *mesh)
{
    const pod_network net = {
        .name = h->model->name, .task = pod_task_find(h->model->task), .build = build, .ctx = h};
    const pod_target target = {.name = "test", .cpu = pod_cpu_features()};
    pod_arena *a = pod_test_arena();
    pod_setup s = setup;
    pod_compile_args args = {.target = &target,
                             .fusion = !h->unfused,
                             .tile_bytes = 64 << 10,
                             .bucket_bytes = 64 << 10,
                             .guard_bytes = 64};
    pod_coll_rules *rules;
    pod_graph *g = NULL;
    const pod_program *p = NULL;
    s.precision = h->precision;
    s.optim = pod_optim_find("sgd");
    POD_CHECK_OK(pod_mesh_parse(mesh, &args.mesh));
    POD_CHECK_OK(pod_coll_rules_parse(a, "allreduce:0-:torus2d;0-:ring", &rules));
    args.rules = rules;
    POD_CHECK(net.task, "%s: there is no task '%s'", h->model->name, h->model->task);
    pod_status status = pod_network_graph(&net, &s, &data, true, a, &g);
    if (status == POD_OK) status = pod_compile(g, BATCH, &args, a, &p);
    POD_CHECK(status == POD_OK, "%s on %s in %s: %s", h->model->name, mesh,
              pod_dtype_name(h->precision), status == POD_OK ? "" : pod_error_text());
    return p;
}

typedef struct job {
    int32_t ints[MAX_INPUTS][BATCH * SEQ_LEN];
    float weights[BATCH * SEQ_LEN], lr, step;
    pod_store *store[MAX_RANKS];
    const void *feed[MAX_INPUTS * MAX_RANKS];
    int n_ranks;
} job;

/* Of ids that are below it, lengths and places in a sequence, classes of pairs. */
static int32_t draw(pod_rng *r, const char *field)
{
    const bool is_length = strstr(field, "lengths") != NULL;
    const uint64_t below = is_length || strcmp(field, "positions") == 0               ? SEQ_LEN
                           : strcmp(field, "segments") == 0 || !strcmp(field, "next") ? 2
                                                                                      : TOKENS;
    return (int32_t)pod_rng_below(r, below) + is_length;
}

static void start(job *j, const pod_program *p)
{
    *j = (job){.lr = 0.02f, .n_ranks = pod_mesh_size(&p->mesh)};
    for (int i = 0; i < p->n_inputs; i++) {
        const char *name = p->input[i].name;
        const pod_type *t = &p->slot[p->input[i].value.id].type;
        const int64_t count = pod_shape_count(&t->shape);
        pod_rng r = pod_rng_at(strlen(name), (pod_place){.stream = POD_STREAM_TEST});
        const char *from = t->shape.n_dims == 0
                               ? (const char *)(strcmp(name, "lr") ? &j->step : &j->lr)
                           : t->dtype == POD_F32 ? (const char *)j->weights
                                                 : (const char *)j->ints[i];
        for (int64_t k = 0; k < count && t->dtype == POD_I32; k++) j->ints[i][k] = draw(&r, name);
        for (int64_t k = 0; k < count && t->shape.n_dims > 0 && t->dtype == POD_F32; k++)
            j->weights[k] = (float)(k % 3) / (float)count;
        for (int n = 0; n < j->n_ranks; n++)
            j->feed[i * j->n_ranks + n] =
                from + (t->shape.n_dims > 0 ? (int64_t)n * count / j->n_ranks * 4 : 0);
    }
    for (int r = 0; r < j->n_ranks; r++) POD_CHECK_OK(pod_store_create(p, r, 3, &j->store[r]));
}

static void train(const how *h, const char *mesh, double loss[N_STEPS])
{
    static job j;
    const pod_program *p = compile(h, mesh);
    for (int s = 0; s < N_STEPS; s++) loss[s] = (double)NAN;
    if (!p) return;
    start(&j, p);
    for (int s = 0; s < N_STEPS; s++) {
        double out[POD_MAX_SUMS] = {0};
        j.step++;
        const pod_status status = pod_check_step(p, j.store, j.feed, out);
        POD_CHECK(status == POD_OK, "%s on %s in %s: %s", h->model->name, mesh,
                  pod_dtype_name(h->precision), status == POD_OK ? "" : pod_error_text());
        loss[s] = out[POD_NET_LOSS];
    }
    for (int r = 0; r < j.n_ranks; r++) {
        POD_CHECK(pod_store_hash(j.store[r]) == pod_store_hash(j.store[0]),
                  "%s on %s: rank %d has other weights than rank 0", h->model->name, mesh, r);
        if (r > 0) pod_store_destroy(j.store[r]);
    }
    pod_store_destroy(j.store[0]);
}

/* `a` on one core and `b` on four; each family, made small. */
static void train_all(how a, how b, double tolerance)
{
    int n;
    const pod_language *m = pod_languages(&n);
    for (int i = 0; i < n; i++) {
        double one[N_STEPS], four[N_STEPS];
        if (i > 0 && m[i].build == m[i - 1].build) continue; /* the same network, made small */
        a.model = b.model = &m[i];
        train(&a, "1x1", one);
        train(&b, "2x2", four);
        for (int s = 0; s < N_STEPS; s++)
            POD_CHECK(isfinite(one[s]) && fabs(four[s] - one[s]) <= tolerance * one[s],
                      "%s in %s, step %d: a loss of %.6f on 2x2, %.6f on 1x1", m[i].name,
                      pod_dtype_name(a.precision), s + 1, four[s], one[s]);
        POD_CHECK(one[1] < one[0], "%s: the loss rose from %.6f to %.6f", m[i].name, one[0],
                  one[1]);
    }
}

static void test_f32(void)
{
    const how own = {.precision = POD_F32, .dropout = -1};
    train_all(own, own, 1e-5);
}

static void test_bf16(void)
{
    const how own = {.precision = POD_BF16, .dropout = -1};
    train_all(own, own, 0.01);
}

/* Attention with scores in memory: beside the fused one, and with dropout. */
static void test_plain(void)
{
    const how fused = {.precision = POD_F32}, plain = {.precision = POD_F32, .plain = true};
    const how drops = {.precision = POD_BF16, .dropout = -1, .plain = true};
    train_all(fused, plain, 1e-5);
    train_all(drops, drops, 0.01);
}

static void test_fusion(void)
{
    const how fused = {.precision = POD_F32}, plain = {.precision = POD_F32, .unfused = true};
    train_all(fused, plain, 1e-5);
}

/* Backward makes each layer's gelu again, so that its result does not stay. */
static void test_gelu(void)
{
    for (pod_dtype d = POD_F32; d <= POD_BF16; d++) {
        const pod_language *bert = pod_language_find("bert-tiny");
        const how fused = {.model = bert, .precision = d, .dropout = -1};
        how plain = fused;
        plain.unfused = true;
        const pod_program *p = compile(&fused, "1x1"), *q = compile(&plain, "1x1");
        if (!p || !q) return;
        CU_ASSERT_EQUAL(pod_test_n_instrs(p, "gelu"), pod_test_n_instrs(q, "gelu") + small.layers);
    }
}

POD_TEST_SUITE("models.language_steps", {"float32", test_f32}, {"bfloat16", test_bf16},
               {"plain attention", test_plain}, {"fused programs", test_fusion},
               {"gelu in backward", test_gelu});
