/* The tasks of text on made data, by a small network of attention on the check executor: the same loss
 * on every mesh and for every number of micro-steps, though sequences have different numbers of
 * tokens; perplexity by hand. */
#include <math.h>
#include <string.h>

#include "collectives/algo/rules.h"
#include "kernels/base/cpu.h"
#include "runtime/data/text/cipher.h"
#include "runtime/data/text/next_tokens.h"
#include "runtime/data/text/phrases.h"
#include "runtime/data/text/sentence_pairs.h"
#include "runtime/exec/store.h"
#include "runtime/task/network.h"
#include "tests/harness/check.h"
#include "tests/harness/harness.h"

enum { BATCH = 16, SEQ = 16, HIDDEN = 16, STEPS = 20, MAX_RANKS = 8, MAX_INPUTS = 16 };

/* ---- networks -------------------------------------------------------------------------------- */

static pod_value new_table(pod_graph *g, const pod_network_in *in, float scale)
{
    return pod_weight(g, "table", (pod_shape){2, {in->data->n_tokens, HIDDEN}},
                      (pod_init){POD_INIT_NORMAL, scale}, POD_ROLE_WEIGHT);
}

static pod_network_out attend(pod_graph *g, const pod_network_in *in, bool is_pairs)
{
    const pod_value table = new_table(g, in, 0.3f);
    const int read = is_pairs ? POD_PAIRS_TARGET : POD_NEXT_IDS;
    const int seen = is_pairs ? POD_PAIRS_SOURCE : POD_NEXT_IDS;
    const pod_value lengths = in->field[is_pairs ? POD_PAIRS_SOURCE_LENGTHS : POD_NEXT_LENGTHS];
    const pod_value x = pod_embed_rows(g, in->field[read], table, POD_F32);
    const pod_value y = pod_embed_rows(g, in->field[seen], table, POD_F32);
    const pod_attention_attr attr = {.n_heads = 2, .causal = !is_pairs};
    const bool is_packed = pod_graph_type(g, lengths)->shape.n_dims > 1;
    const pod_value told =
        is_packed ? pod_attention_packed(g, x, y, y, in->field[POD_PAIRS_TARGET_LENGTHS], lengths,
                                         (pod_value){0}, attr)
                  : pod_attention(g, x, y, y, lengths, (pod_value){0}, attr);
    return (pod_network_out){.hidden = pod_layer_norm(g, pod_add(g, x, told), 1e-6f),
                             .table = table};
}

static pod_network_out build_text(const void *ctx, pod_graph *g, const pod_network_in *in)
{
    (void)ctx;
    return attend(g, in, false);
}

static pod_network_out build_pairs(const void *ctx, pod_graph *g, const pod_network_in *in)
{
    (void)ctx;
    return attend(g, in, true);
}

/* Knows how often words occur, and nothing else: its logits are a bias. */
static pod_network_out build_guesser(const void *ctx, pod_graph *g, const pod_network_in *in)
{
    (void)ctx;
    const pod_value table = new_table(g, in, 0);
    const pod_value bias = pod_weight(g, "bias", (pod_shape){1, {in->data->n_tokens}},
                                      (pod_init){.kind = POD_INIT_ZERO}, POD_ROLE_BIAS);
    return (pod_network_out){.hidden = pod_embed_rows(g, in->field[POD_NEXT_IDS], table, POD_F32),
                             .table = table,
                             .bias = bias};
}

/* ---- a run ----------------------------------------------------------------------------------- */

typedef struct run {
    const pod_network *net;
    const pod_text_set *text;
    pod_samples samples;
    int64_t n_parts; /* of a sample of pairs */
    bool train;
    const char *mesh;
    int accumulate;
    const pod_program *program;
    pod_store *store[MAX_RANKS];
    char *row[POD_MAX_FIELDS]; /* (BATCH, row) */
    double weight;             /* the sum of the batch's weights */
    float lr, step;
} run;

static void compile(run *r)
{
    static const pod_target target = {.name = "test", .cpu = POD_CPU_REFERENCE_ONLY};
    const pod_dataset_info data = {.name = "made",
                                   .n_tokens = pod_text_set_info(r->text)->vocab->n};
    pod_coll_rules *rules;
    pod_setup s = {.batch = BATCH,
                   .precision = POD_F32,
                   .seq_len = SEQ,
                   .pack = r->n_parts,
                   .label_smoothing = -1,
                   .optim = pod_optim_find("adamw"),
                   .hparams = {.beta1 = 0.9f, .beta2 = 0.99f, .epsilon = 1e-3f},
                   .compile = {.bucket_bytes = 1024, .accumulate = r->accumulate}};
    POD_NEED_OK(pod_mesh_parse(r->mesh, &s.compile.mesh));
    POD_NEED_OK(pod_coll_rules_parse(pod_test_arena(), "allreduce:0-:ring", &rules));
    s.compile.rules = rules;
    POD_NEED_OK(
        pod_network_compile(r->net, &s, &data, r->train, &target, pod_test_arena(), &r->program));
    for (int i = 0; i < pod_mesh_size(&s.compile.mesh); i++)
        POD_NEED_OK(pod_store_create(r->program, i, 5, &r->store[i]));
}

/* The first samples; in training the weights are divided by their sum, as runtime/train does it. */
static void fill(run *r)
{
    const pod_form *form = &r->samples.form;
    void *scratch = pod_arena_get(pod_test_arena(), 64, r->samples.scratch_bytes);
    for (int f = 0; f < form->n_fields; f++)
        r->row[f] = pod_arena_get(pod_test_arena(), 64,
                                  (size_t)(BATCH * pod_field_row_bytes(&form->field[f])));
    for (int i = 0; i < BATCH; i++) {
        void *at[POD_MAX_FIELDS];
        for (int f = 0; f < form->n_fields; f++)
            at[f] = r->row[f] + i * pod_field_row_bytes(&form->field[f]);
        POD_CHECK_OK(r->samples.fill(&r->samples, 0, i, at, scratch));
    }
    float *weight = (float *)(void *)r->row[r->net->task->mean_over];
    r->weight = 0;
    for (int i = 0; i < BATCH * SEQ; i++) r->weight += (double)weight[i];
    for (int i = 0; r->train && i < BATCH * SEQ; i++) weight[i] /= (float)r->weight;
}

static void feed(const run *r, const void *feeds[])
{
    const pod_form *form = &r->samples.form;
    const int n_ranks = pod_mesh_size(&r->program->mesh);
    for (int k = 0; k < n_ranks; k++) {
        for (int f = 0; f < form->n_fields; f++) {
            const int input = pod_program_find_input(r->program, form->field[f].name);
            const int64_t bytes = pod_field_row_bytes(&form->field[f]);
            if (input >= 0) feeds[input * n_ranks + k] = r->row[f] + k * (BATCH / n_ranks) * bytes;
        }
        if (!r->train) continue;
        feeds[pod_program_find_input(r->program, "lr") * n_ranks + k] = &r->lr;
        feeds[pod_program_find_input(r->program, "step") * n_ranks + k] = &r->step;
    }
}

static void close(run *r)
{
    for (int k = 0; k < pod_mesh_size(&r->program->mesh); k++) pod_store_destroy(r->store[k]);
}

/* ---- any mesh -------------------------------------------------------------------------------- */

static double train(run *r)
{
    const void *feeds[MAX_INPUTS * MAX_RANKS];
    double out[POD_MAX_SUMS];
    compile(r);
    fill(r);
    feed(r, feeds);
    r->lr = 0.01f;
    for (int i = 0; i < STEPS; i++) {
        r->step = (float)i + 1;
        POD_CHECK_OK(pod_check_step(r->program, r->store, feeds, out));
    }
    close(r);
    return out[POD_NET_LOSS];
}

static void check_meshes(run *r)
{
    static const char *const meshes[] = {"1x1", "1x1", "1x1", "2x1", "2x2", "2x2", "4x2"};
    static const int accumulate[] = {1, 2, 8, 1, 1, 2, 2};
    double want = 0;
    r->train = true;
    for (int i = 0; i < 7; i++) {
        r->mesh = meshes[i];
        r->accumulate = accumulate[i];
        const double loss = train(r);
        if (i == 0) want = loss;
        POD_CHECK(fabs(loss - want) <= 1e-5 * want, "%s, %s, %d micro-steps: loss %.9g, want %.9g",
                  r->net->task->name, r->mesh, r->accumulate, loss, want);
    }
    POD_CHECK(want < 0.9 * log(25), "loss %g: learned nothing", want);
}

static void text_is_the_same_on_any_mesh(void)
{
    pod_phrases_options o = {20, {4, 2}};
    const pod_network net = {.name = "text", .task = &pod_task_language_model, .build = build_text};
    pod_text_set *t;
    run r = {.net = &net};
    POD_NEED_OK(pod_phrases_open(&o, 3, NULL, &t));
    r.text = t;
    POD_NEED_OK(pod_next_tokens_open(t, POD_SPLIT_TRAIN, SEQ, pod_test_arena(), &r.samples));
    CU_ASSERT_FATAL(r.samples.n >= BATCH);
    check_meshes(&r);
    pod_text_set_close(t);
}

/* Each alone in a sample, or two together. */
static void pairs_on_meshes(int64_t n_parts)
{
    pod_cipher_options o = {10, {40, 4}};
    const pod_network net = {.name = "pairs", .task = &pod_task_translate, .build = build_pairs};
    pod_text_set *t;
    run r = {.net = &net};
    POD_NEED_OK(pod_cipher_open(&o, 3, NULL, &t));
    r.text = t;
    POD_NEED_OK(
        pod_sentence_pairs_open(t, POD_SPLIT_TRAIN, SEQ, n_parts, pod_test_arena(), &r.samples));
    r.n_parts = n_parts;
    check_meshes(&r);
    pod_text_set_close(t);
}

static void pairs_are_the_same_on_any_mesh(void)
{
    pairs_on_meshes(1);
    pairs_on_meshes(2);
}

/* ---- perplexity ------------------------------------------------------------------------------ */

/* With probability p of each word: e to the mean of -log p over the words that occur. */
static void perplexity_by_hand(void)
{
    pod_phrases_options o = {20, {20, 2}};
    const pod_network net = {
        .name = "guesser", .task = &pod_task_language_model, .build = build_guesser};
    pod_text_set *t;
    run r = {.net = &net, .mesh = "2x1", .accumulate = 1};
    const void *feeds[MAX_INPUTS * MAX_RANKS];
    double out[POD_MAX_SUMS], metric[POD_MAX_METRICS], sum = 0, total = 0;
    POD_NEED_OK(pod_phrases_open(&o, 3, NULL, &t));
    r.text = t;
    POD_NEED_OK(pod_next_tokens_open(t, POD_SPLIT_TRAIN, SEQ, pod_test_arena(), &r.samples));
    compile(&r);
    fill(&r);
    feed(&r, feeds);
    POD_CHECK_OK(pod_check_step(r.program, r.store, feeds, out));
    double loss = pod_task_language_model.measure(out, BATCH, metric);
    POD_CHECK(fabs(metric[0] - 25) < 1e-3, "perplexity %g of 25 equal tokens", metric[0]);
    CU_ASSERT(fabs(exp(loss) - metric[0]) < 1e-9);
    const int bias = pod_store_find(r.store[0], "bias");
    for (int v = 0; v < 25; v++) total += v + 1;
    for (int k = 0; k < 2; k++)
        for (int v = 0; v < 25; v++) pod_store_data(r.store[k], bias)[v] = logf((float)v + 1);
    const int32_t *answer = (const int32_t *)(const void *)r.row[POD_NEXT_ANSWERS];
    for (int i = 0; i < BATCH * SEQ; i++) sum += log((answer[i] + 1) / total);
    POD_CHECK_OK(pod_check_step(r.program, r.store, feeds, out));
    loss = pod_task_language_model.measure(out, BATCH, metric);
    const double want = exp(-sum / r.weight);
    POD_CHECK(fabs(metric[0] - want) < 1e-5 * want, "perplexity %.9g, want %.9g", metric[0], want);
    close(&r);
    pod_text_set_close(t);
}

POD_TEST_SUITE("runtime.text_tasks", {"text", text_is_the_same_on_any_mesh},
               {"pairs", pairs_are_the_same_on_any_mesh}, {"perplexity", perplexity_by_hand});
