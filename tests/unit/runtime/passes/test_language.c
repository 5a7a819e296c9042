/* What a language model is made of, as programs on the check executor: a table that is looked up and
 * projected onto, rows that are picked out of sequences, and the loss over the vocabulary, whose
 * mean is over the weights of the whole batch, however they are spread. */
#include <math.h>
#include <string.h>

#include "collectives/algo/rules.h"
#include "kernels/base/cpu.h"
#include "runtime/exec/exec.h"
#include "runtime/ops/ops.h"
#include "runtime/passes/passes.h"
#include "tests/harness/check.h"
#include "tests/harness/harness.h"

enum { N = 8, S = 6, P = 3, H = 16, V = 41, STEPS = 3, MAX_RANKS = 8, MAX_FEEDS = 6 };
enum { N_PLACES = 2 * (1 + 2 + 3) };
enum { LOSS, WEIGHT, CORRECT, N_OUTPUTS };

static const char *const meshes[] = {"1x1", "2x1", "2x2", "4x2"};

/* The batch of every step. Sequence i has i % 4 places, none in every fourth: cores have very different
 * shares. The weights of all places add up to 1, as training feeds them. */
typedef struct batch {
    int32_t ids[N][S], places[N][P], labels[N][P];
    float weights[N][P];
} batch;

static void fill(batch *b)
{
    memset(b, 0, sizeof *b);
    for (int i = 0; i < N; i++) {
        for (int s = 0; s < S; s++) b->ids[i][s] = (i * 11 + s * s * 7) % V;
        for (int p = 0; p < P && p < i % 4; p++) {
            b->places[i][p] = (i + 2 * p) % S;
            b->labels[i][p] = b->ids[i][b->places[i][p]];
            b->weights[i][p] = 1.0f / N_PLACES;
        }
    }
}

static pod_value input(pod_graph *g, const char *name, pod_dtype t, int64_t width)
{
    return pod_input(g, name, pod_type_of(t, 2, (const int64_t[]){N, width}), 0);
}

static pod_graph *build(pod_arena *a, pod_dtype travel, float smoothing)
{
    pod_graph *g;
    POD_CHECK_OK(pod_graph_create(a, &g));
    pod_value ids = input(g, "ids", POD_I32, S), places = input(g, "places", POD_I32, P);
    pod_value labels = input(g, "labels", POD_I32, P), weights = input(g, "weights", POD_F32, P);
    pod_value table = pod_weight(g, "table", (pod_shape){2, {V, H}},
                                 (pod_init){POD_INIT_NORMAL, 0.3f}, POD_ROLE_WEIGHT);
    pod_value bias = pod_weight(g, "bias", (pod_shape){1, {V}}, (pod_init){.kind = POD_INIT_ZERO},
                                POD_ROLE_BIAS);
    pod_value x = pod_layer_norm(g, pod_embed_rows(g, ids, table, travel), 1e-6f);
    x = pod_reshape(g, pod_gather_rows(g, x, places), (pod_shape){2, {N * P, H}});
    x = pod_gelu(g, pod_dense(g, x, H, true), POD_GELU_TANH);
    x = pod_tanh(g, pod_reshape(g, x, (pod_shape){3, {N, P, H}}));
    pod_vocab_sums sums;
    pod_value loss = pod_vocab_head(g, x, table, bias, labels, weights, smoothing, &sums);
    pod_output(g, "loss", loss);
    pod_output(g, "weight", sums.weight);
    pod_output(g, "correct", sums.correct);
    pod_value grad[16];
    POD_CHECK_OK(pod_pass_grad(g, loss, grad));
    POD_CHECK_OK(pod_pass_update(g, grad, pod_optim_find("lamb"),
                                 &(pod_hparams){.beta1 = 0.5f, .beta2 = 0.5f, .epsilon = 1e-3f}));
    POD_CHECK_OK(pod_graph_finish(g));
    return g;
}

typedef struct setting {
    const char *mesh;
    pod_dtype travel;
    uint32_t cpu;
    bool fusion, shard_update, recompute;
    int accumulate; /* micro-steps; 0: one, as 1 */
    float smoothing;
} setting;

static const pod_program *compile(const setting *s)
{
    pod_arena *a = pod_test_arena();
    const pod_target target = {.name = "test", .cpu = s->cpu};
    pod_coll_rules *rules;
    const pod_program *p = NULL;
    pod_compile_args args = {.target = &target,
                             .bucket_bytes = 512,
                             .guard_bytes = 64,
                             .fusion = s->fusion,
                             .recompute = s->recompute,
                             .accumulate = s->accumulate,
                             .shard_update = s->shard_update};
    POD_CHECK_OK(pod_mesh_parse(s->mesh, &args.mesh));
    POD_CHECK_OK(pod_coll_rules_parse(a, "allreduce:0-:ring", &rules));
    args.rules = rules;
    POD_CHECK_OK(pod_compile(build(a, s->travel, s->smoothing), N, &args, a, &p));
    return p;
}

static bool has_instr(const pod_program *p, const char *op)
{
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (strcmp(p->instr[i].op, op) == 0) return true;
    return false;
}

typedef struct named {
    const char *name;
    const void *data;
} named;

/* Trains; outputs of the last step. Ranks end with the same weights. */
static void train(const setting *s, double out[N_OUTPUTS])
{
    const pod_program *p = compile(s);
    const int n_ranks = pod_mesh_size(&p->mesh), local = N / n_ranks;
    const float lr = 0.05f;
    float at = 0;
    const void *feeds[MAX_FEEDS * MAX_RANKS];
    pod_store *store[MAX_RANKS];
    batch b;
    fill(&b);
    for (int r = 0; r < n_ranks; r++) {
        const int first = r * local;
        const named all[MAX_FEEDS] = {{"ids", b.ids[first]},
                                      {"places", b.places[first]},
                                      {"labels", b.labels[first]},
                                      {"weights", b.weights[first]},
                                      {"lr", &lr},
                                      {"step", &at}};
        for (int i = 0; i < MAX_FEEDS; i++) {
            const int input = pod_program_find_input(p, all[i].name);
            if (input >= 0) feeds[input * n_ranks + r] = all[i].data;
        }
        POD_CHECK_OK(pod_store_create(p, r, 5, &store[r]));
    }
    for (int step = 0; step < STEPS; step++) {
        at = (float)step + 1;
        POD_CHECK_OK(pod_check_step(p, store, feeds, out));
    }
    for (int r = 1; r < n_ranks; r++)
        POD_CHECK(pod_store_hash(store[r]) == pod_store_hash(store[0]), "%s: rank %d differs",
                  s->mesh, r);
    for (int r = 0; r < n_ranks; r++) pod_store_destroy(store[r]);
    POD_CHECK(has_instr(p, "add") != s->fusion, "%s: gradients of the table", s->mesh);
    POD_CHECK(has_instr(p, "vocab_loss_both") == (s->fusion && s->cpu != POD_CPU_REFERENCE_ONLY),
              "%s: loss and gradients in one", s->mesh);
}

/* Meshes, micro-steps, fused or not: within roundings of float32, or of bfloat16 where values travel in that. */
static void test_meshes(void)
{
    static const pod_dtype travel[] = {POD_F32, POD_BF16};
    for (int i = 0; i < 8; i++) {
        setting s = {.travel = travel[i % 2],
                     .cpu = i / 2 % 2 ? pod_cpu_features() : POD_CPU_REFERENCE_ONLY,
                     .smoothing = i / 4 ? 0.1f : 0};
        double want[N_OUTPUTS], got[N_OUTPUTS];
        for (int m = 0; m < 4; m++) {
            s.mesh = meshes[m];
            s.fusion = m % 2 == 1;
            s.shard_update = m > 1;
            s.recompute = m == 3;
            s.accumulate = m == 1 ? 4 : m == 2 ? 2 : 1;
            train(&s, m ? got : want);
            if (m == 0) continue;
            const double bound = (s.travel == POD_BF16 ? 0x1p-6 : 1e-5) * want[LOSS];
            POD_CHECK(fabs(got[LOSS] - want[LOSS]) <= bound, "%s %s: loss %.9g, want %.9g", s.mesh,
                      pod_dtype_name(s.travel), got[LOSS], want[LOSS]);
            POD_CHECK(fabs(got[WEIGHT] - 1) < 1e-6, "%s: weight %g", s.mesh, got[WEIGHT]);
            POD_CHECK(s.travel == POD_BF16 || fabs(got[CORRECT] - want[CORRECT]) < 1e-6,
                      "%s: %g correct, want %g", s.mesh, got[CORRECT], want[CORRECT]);
        }
    }
}

/* Before training the loss is about log V; it falls. */
static void test_learns(void)
{
    const setting s = {.mesh = "2x1", .travel = POD_F32, .cpu = pod_cpu_features(), .fusion = true};
    double out[N_OUTPUTS];
    train(&s, out);
    POD_CHECK(out[LOSS] > 0 && out[LOSS] < 0.95 * log(V), "loss %g after %d steps, log V is %g",
              out[LOSS], STEPS, log(V));
}

POD_TEST_SUITE("language", {"meshes", test_meshes}, {"learns", test_learns});
