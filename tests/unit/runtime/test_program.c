/* Graph -> program -> the check executor, which plays all ranks and proves the memory plan. */
#include <math.h>
#include <string.h>

#include "collectives/algo/rules.h"
#include "kernels/base/cpu.h"
#include "kernels/base/rng.h"
#include "runtime/exec/exec.h"
#include "runtime/ops/ops.h"
#include "runtime/optim/optim.h"
#include "runtime/passes/passes.h"
#include "tests/harness/harness.h"

enum { BATCH = 24, CLASSES = 5, H = 6, W = 6, C = 2, STEPS = 4 };

typedef struct net_case {
    const char *name;
    bool with_bn;
    pod_value (*logits)(pod_graph *g, pod_value images);
} net_case;

static pod_value perceptron(pod_graph *g, pod_value images)
{
    pod_value x = pod_reshape(g, images, (pod_shape){2, {BATCH, H * W * C}});
    pod_scope_begin(g, "fc1");
    x = pod_relu(g, pod_dense(g, x, 17, true));
    pod_scope_end(g);
    pod_scope_begin(g, "fc2");
    x = pod_dense(g, x, CLASSES, true);
    pod_scope_end(g);
    return x;
}

static pod_value conv(pod_graph *g, const char *name, pod_value x, int64_t k, int stride, bool bn)
{
    pod_scope_begin(g, "%s", name);
    int64_t c = pod_graph_failed(g) ? 1 : pod_graph_type(g, x)->shape.dim[3];
    pod_value w = pod_weight(g, "w", (pod_shape){4, {k, 3, 3, c}}, (pod_init){POD_INIT_HE, 1.0f},
                             POD_ROLE_WEIGHT);
    x = pod_conv2d(g, x, w, (pod_conv2d_attr){.stride = stride, .pad = 1});
    if (bn)
        x = pod_batchnorm(
            g, x,
            (pod_batchnorm_attr){
                .momentum = 0.9f, .eps = 1e-3f, .train = true, .gamma = {POD_INIT_ONE, 1.0f}});
    pod_scope_end(g);
    return x;
}

static pod_value residual(pod_graph *g, pod_value images, bool bn)
{
    pod_value x = pod_relu(g, conv(g, "stem", images, 4, 1, bn));
    pod_value y = pod_relu(g, conv(g, "a", x, 4, 1, bn));
    x = pod_relu(g, pod_add(g, conv(g, "b", y, 4, 1, bn), x));
    x = pod_relu(g, conv(g, "down", x, 6, 2, bn));
    x = pod_mean_pool(g, x);
    pod_scope_begin(g, "fc");
    x = pod_dense(g, x, CLASSES, true);
    pod_scope_end(g);
    return x;
}

static pod_value plain_residual(pod_graph *g, pod_value images)
{
    return residual(g, images, false);
}
static pod_value bn_residual(pod_graph *g, pod_value images) { return residual(g, images, true); }

static const net_case nets[] = {
    {"perceptron", false, perceptron},
    {"residual", false, plain_residual},
    {"residual with batch norm", true, bn_residual},
};

static pod_status build(pod_arena *a, const net_case *net, pod_dtype precision, pod_graph **out)
{
    static const float mean[C] = {0.4f, 0.5f}, std[C] = {0.25f, 0.3f};
    pod_graph *g;
    POD_TRY(pod_graph_create(a, &g));
    pod_value images = pod_input(g, "images", pod_type_of(POD_U8, 4, (int64_t[]){BATCH, H, W, C}));
    pod_value labels = pod_input(g, "labels", pod_type_of(POD_I32, 1, (int64_t[]){BATCH}));
    pod_value logits = net->logits(g, pod_normalize(g, images, mean, std, precision));
    pod_value loss =
        pod_softmax_loss(g, pod_cast(g, logits, POD_F32), labels,
                         (pod_softmax_loss_attr){.smoothing = 0.1f, .scale = 1.0f / BATCH});
    pod_output(g, "loss", loss);
    pod_output(g, "correct", pod_count_correct(g, pod_cast(g, logits, POD_F32), labels));
    POD_TRY(pod_graph_finish(g));
    pod_value *grad = POD_ARENA_NEW(a, pod_value, pod_graph_n_variables(g));
    POD_TRY(pod_pass_grad(g, loss, grad));
    pod_hparams hp = {.momentum = 0.9f, .weight_decay = 1e-3f, .trust = 0.02f, .epsilon = 1e-6f};
    POD_TRY(pod_pass_update(g, grad, pod_optim_find("lars"), &hp));
    POD_TRY(pod_graph_finish(g));
    *out = g;
    return POD_OK;
}

static pod_status compile(pod_arena *a, const net_case *net, pod_dtype precision, pod_mesh mesh,
                          int64_t bucket_bytes, size_t guard_bytes, uint32_t cpu,
                          const pod_program **out)
{
    static pod_target target;
    pod_graph *g = NULL;
    pod_coll_rules *rules;
    target = (pod_target){"test", cpu};
    POD_TRY(build(a, net, precision, &g));
    POD_TRY(pod_coll_rules_parse(a, "allreduce:0-256:tree;256-:torus2d", &rules));
    pod_compile_args args = {.mesh = mesh,
                             .target = &target,
                             .rules = rules,
                             .bucket_bytes = bucket_bytes,
                             .guard_bytes = guard_bytes};
    return pod_compile(g, BATCH, &args, a, out);
}

enum { MAX_RANKS = 12 };

typedef struct job {
    pod_store *store[MAX_RANKS];
    const void *feed[4 * MAX_RANKS];
    uint8_t images[BATCH * H * W * C];
    int32_t labels[BATCH];
    float lr, step;
    int n_ranks;
} job;

static void start_job(job *j, const pod_program *p)
{
    j->n_ranks = pod_mesh_size(&p->mesh);
    pod_rng rng = pod_rng_at(7, (pod_place){.stream = POD_STREAM_TEST});
    for (int i = 0; i < BATCH; i++) {
        j->labels[i] = (int32_t)pod_rng_below(&rng, CLASSES);
        for (int k = 0; k < H * W * C; k++)
            j->images[i * H * W * C + k] =
                (uint8_t)(40 * j->labels[i] * (k % 3) / 2 + (int)pod_rng_below(&rng, 90));
    }
    int local = BATCH / j->n_ranks;
    for (int r = 0; r < j->n_ranks; r++) {
        POD_CHECK_OK(pod_store_create(p, 3, &j->store[r]));
        j->feed[0 * j->n_ranks + r] = j->images + r * local * H * W * C;
        j->feed[1 * j->n_ranks + r] = j->labels + r * local;
        j->feed[2 * j->n_ranks + r] = &j->lr;
        j->feed[3 * j->n_ranks + r] = &j->step;
    }
}

static void end_job(job *j)
{
    for (int r = 0; r < j->n_ranks; r++) pod_store_destroy(j->store[r]);
}

static double train(job *j, const pod_program *p)
{
    double outputs[2] = {0};
    for (int step = 0; step < STEPS; step++) {
        j->lr = 0.5f;
        j->step = (float)(step + 1);
        POD_CHECK_OK(pod_check_step(p, j->store, j->feed, outputs));
    }
    for (int r = 1; r < j->n_ranks; r++)
        POD_CHECK(pod_store_hash(j->store[r]) == pod_store_hash(j->store[0]),
                  "rank %d has other weights than rank 0", r);
    return outputs[0];
}

static const char *const meshes[] = {"1x1", "1x2", "2x2", "3x1", "4x2", "2x2x3", "6"};

static double train_on(const net_case *net, pod_dtype precision, const char *mesh_text,
                       int64_t bucket_bytes, size_t guard_bytes, uint32_t cpu)
{
    pod_arena *a;
    pod_mesh mesh;
    const pod_program *p;
    static job j;
    double loss = NAN;
    if (pod_arena_create(NULL, &a) != POD_OK) return loss;
    POD_CHECK_OK(pod_mesh_parse(mesh_text, &mesh));
    pod_status s = compile(a, net, precision, mesh, bucket_bytes, guard_bytes, cpu, &p);
    POD_CHECK(s == POD_OK, "%s on %s: %s", net->name, mesh_text, pod_error_text());
    if (s == POD_OK) {
        start_job(&j, p);
        loss = train(&j, p);
        end_job(&j);
    }
    pod_arena_destroy(a);
    return loss;
}

/* Same path whatever the mesh, but for rounding; batch norm's statistics are a core's own. */
static void test_meshes(void)
{
    for (size_t n = 0; n < sizeof nets / sizeof nets[0]; n++) {
        double alone = train_on(&nets[n], POD_F32, "1x1", 1 << 20, 64, POD_CPU_REFERENCE_ONLY);
        for (size_t m = 0; m < sizeof meshes / sizeof meshes[0]; m++)
            for (int64_t bucket = 1; bucket <= 1 << 20; bucket <<= 10) {
                double loss =
                    train_on(&nets[n], POD_F32, meshes[m], bucket, 64, POD_CPU_REFERENCE_ONLY);
                double bound = nets[n].with_bn ? 1.0 : 1e-5;
                POD_CHECK(fabs(loss - alone) <= bound * alone, "%s on %s: loss %.9g, alone %.9g",
                          nets[n].name, meshes[m], loss, alone);
            }
    }
}

/* Guards move slots and must not move results; this CPU's kernels agree with the reference. */
static void test_targets(void)
{
    for (size_t n = 0; n < sizeof nets / sizeof nets[0]; n++) {
        double ref = train_on(&nets[n], POD_F32, "2x2", 4096, 64, POD_CPU_REFERENCE_ONLY);
        double same = train_on(&nets[n], POD_F32, "2x2", 4096, 0, POD_CPU_REFERENCE_ONLY);
        double fast = train_on(&nets[n], POD_F32, "2x2", 4096, 64, pod_cpu_features());
        double bf16 = train_on(&nets[n], POD_BF16, "2x2", 4096, 64, pod_cpu_features());
        POD_CHECK(same == ref, "%s: %.9g without guards, %.9g with", nets[n].name, same, ref);
        POD_CHECK(fabs(fast - ref) < 1e-4 * ref, "%s: %.9g fast, %.9g reference", nets[n].name,
                  fast, ref);
        POD_CHECK(fabs(bf16 - ref) < 0.1 * ref, "%s: %.9g in bf16, %.9g in f32", nets[n].name, bf16,
                  ref);
    }
}

/* A plan in which two live slots overlap must not pass. */
static void test_planted_overlap(void)
{
    pod_arena *a;
    pod_mesh mesh;
    const pod_program *p;
    static job j;
    double outputs[2];
    if (pod_arena_create(NULL, &a) != POD_OK) return;
    POD_CHECK_OK(pod_mesh_parse("2x1", &mesh));
    POD_CHECK_OK(compile(a, &nets[1], POD_F32, mesh, 1 << 20, 0, POD_CPU_REFERENCE_ONLY, &p));
    start_job(&j, p);
    int n_found = 0, n_planted = 0;
    for (int32_t s = 0; s < p->n_slots; s++) {
        const pod_slot *slot = &p->slot[s];
        if (slot->space != POD_SPACE_STEP || slot->root != s || slot->first == slot->last) continue;
        /* Another slot alive at the same time, moved onto this one. */
        for (int32_t o = s + 1; o < p->n_slots; o++) {
            const pod_slot *other = &p->slot[o];
            bool is_alone = other->space == POD_SPACE_STEP && other->root == o;
            for (int32_t k = 0; k < p->n_slots; k++)
                if (k != o && p->slot[k].root == o) is_alone = false;
            if (!is_alone || other->first <= slot->first || other->first >= slot->last) continue;
            pod_program bad = *p;
            pod_slot *slots = pod_arena_copy(a, p->slot, 16, sizeof *slot * (size_t)p->n_slots);
            if (!slots) continue;
            slots[o].offset = slot->offset;
            bad.slot = slots;
            bad.step_bytes += p->step_bytes;
            pod_status status = pod_check_step(&bad, j.store, j.feed, outputs);
            n_planted++;
            n_found += status == POD_E_MISMATCH || status == POD_E_NUMERIC;
            break;
        }
    }
    POD_CHECK(n_planted >= 10 && n_found == n_planted, "%d of %d planted overlaps were found",
              n_found, n_planted);
    end_job(&j);
    pod_arena_destroy(a);
}

static void test_plan(void)
{
    pod_arena *a;
    pod_mesh mesh;
    const pod_program *p, *again;
    if (pod_arena_create(NULL, &a) != POD_OK) return;
    POD_CHECK_OK(pod_mesh_parse("2x2", &mesh));
    POD_CHECK_OK(compile(a, &nets[2], POD_F32, mesh, 512, 0, pod_cpu_features(), &p));
    POD_CHECK_OK(compile(a, &nets[2], POD_F32, mesh, 512, 0, pod_cpu_features(), &again));
    POD_CHECK(p->fingerprint == again->fingerprint, "one graph, two fingerprints");
    POD_CHECK_OK(compile(a, &nets[2], POD_F32, mesh, 1024, 0, pod_cpu_features(), &again));
    POD_CHECK(p->fingerprint != again->fingerprint, "other buckets, same fingerprint");
    for (int32_t x = 0; x < p->n_slots; x++)
        for (int32_t y = x + 1; y < p->n_slots; y++) {
            const pod_slot *s = &p->slot[x], *t = &p->slot[y];
            bool own = s->root == x && t->root == y && s->space == t->space &&
                       (s->space == POD_SPACE_STEP || s->space == POD_SPACE_WINDOW);
            bool together = own && s->first <= t->last && t->first <= s->last;
            bool overlap = s->offset < t->offset + t->bytes && t->offset < s->offset + s->bytes;
            POD_CHECK(!(together && overlap), "slots %d and %d share memory", (int)x, (int)y);
        }
    int n_starts = 0;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        if (p->instr[i].kind != POD_I_COLL_START) continue;
        n_starts++;
        int32_t wait = i;
        while (wait < p->n_instrs && !(p->instr[wait].kind == POD_I_COLL_WAIT &&
                                       p->instr[wait].ticket == p->instr[i].ticket))
            wait++;
        POD_CHECK(wait < p->n_instrs, "collective %d is never waited for", (int)p->instr[i].ticket);
    }
    POD_CHECK(n_starts == p->n_colls && n_starts > 2, "%d starts of %d collectives", n_starts,
              (int)p->n_colls);
    pod_arena_destroy(a);
}

static void test_refusals(void)
{
    pod_arena *a;
    pod_mesh mesh;
    const pod_program *p;
    if (pod_arena_create(NULL, &a) != POD_OK) return;
    POD_CHECK_OK(pod_mesh_parse("5x1", &mesh));
    POD_CHECK_FAILS(compile(a, &nets[0], POD_F32, mesh, 512, 0, 0, &p), POD_E_INVALID,
                    "batch: 24 does not divide by the 5 cores");
    pod_arena_destroy(a);
}

static CU_TestInfo tests[] = {{"all meshes follow one path", test_meshes},
                              {"targets and guards", test_targets},
                              {"planted overlaps are found", test_planted_overlap},
                              {"the plan", test_plan},
                              {"refusals", test_refusals},
                              CU_TEST_INFO_NULL};
CU_SuiteInfo pod_test_suites[] = {{"program", NULL, NULL, NULL, NULL, tests}, CU_SUITE_INFO_NULL};
