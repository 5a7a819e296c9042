/* A search by the programs of a network gives what a search by its whole decoder gives, which reads each
 * hypothesis from its beginning, on any number of ranks. A small Transformer before training. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algo/rules.h"
#include "kernels/base/cpu.h"
#include "kernels/embed/embed.h"
#include "models/language.h"
#include "runtime/core/clock.h"
#include "runtime/data/text/sentence_pairs.h"
#include "runtime/data/text/text_set.h"
#include "runtime/search/beam.h"
#include "runtime/search/translator.h"
#include "runtime/task/network.h"
#include "runtime/text/detokenize.h"
#include "tests/harness/harness.h"
#include "tests/harness/interp.h"
#include "tests/mpi/ranks.h"

enum { MAX_SEQ = 60, WIDTH = 3, LAYERS = 2, HIDDEN = 32, MAX_LINE = 512 };
static const double ALPHA = 0.6;
static const pod_language_size small = {LAYERS, HIDDEN, 4, 64, 0};

static const pod_language *model(void) { return pod_language_find("transformer-tiny"); }

static pod_language_args args_of(const pod_dataset_info *data)
{
    return (pod_language_args){.n_tokens = data->n_tokens, .travel = POD_F32, .dropout = -1};
}

static pod_network_out build(const void *ctx, pod_graph *g, const pod_network_in *in)
{
    (void)ctx;
    const pod_language_in read = pod_language_read(g);
    const pod_language_args args = args_of(in->data);
    const pod_language_out y = model()->build(g, &small, &read, &args);
    return (pod_network_out){.hidden = y.hidden, .table = y.table};
}

static void encode(const void *ctx, pod_graph *g, const pod_network_in *in, pod_value source[])
{
    (void)ctx;
    const pod_language_in read = pod_language_read(g);
    const pod_language_args args = args_of(in->data);
    model()->search->encode(g, &small, &read, &args, source);
}

static pod_value step(const void *ctx, pod_graph *g, const pod_network_step *in, pod_value rows[])
{
    (void)ctx;
    const pod_language_step read = {in->token, in->count, in->lengths, in->source, in->earlier};
    const pod_language_args args = args_of(in->data);
    return model()->search->step(g, &small, &read, &args, rows);
}

static const pod_network network = {
    .name = "small",
    .task = &pod_task_translate,
    .build = build,
    .search = {.n_values = 2 * LAYERS, .hidden = HIDDEN, .encode = encode, .step = step}};

/* ---- by the whole decoder -------------------------------------------------------------------- */

typedef struct whole {
    pod_graph *g;
    pod_interp *it;
    pod_value source, lengths, target, target_lengths;
    pod_language_out out;
    int64_t n_tokens, seq_len;
} whole;

static pod_value integers(pod_graph *g, const char *name, int64_t width)
{
    const int64_t dim[] = {WIDTH, width};
    return pod_input(g, name, pod_type_of(POD_I32, width ? 2 : 1, dim), 0);
}

/* With the weights of the store. */
static void open_whole(whole *w, const pod_dataset_info *data, int64_t seq_len, pod_store *store)
{
    const pod_language_args args = args_of(data);
    POD_CHECK_OK(pod_graph_create(pod_test_arena(), &w->g));
    w->n_tokens = data->n_tokens;
    w->seq_len = seq_len;
    w->source = integers(w->g, "source", seq_len);
    w->lengths = integers(w->g, "source_lengths", 0);
    w->target = integers(w->g, "target", seq_len);
    w->target_lengths = integers(w->g, "target_lengths", 0);
    const pod_language_in in = pod_language_read(w->g);
    w->out = model()->build(w->g, &small, &in, &args);
    POD_CHECK_OK(pod_graph_finish(w->g));
    POD_CHECK_OK(pod_interp_create(w->g, pod_cpu_features(), &w->it));
    for (int i = 0; i < pod_graph_n_variables(w->g); i++) {
        const pod_variable_info *v = pod_graph_variable(w->g, i);
        const int at = pod_store_find(store, v->name);
        memcpy(pod_interp_data(w->it, v->value), pod_store_data(store, at),
               sizeof(float) * (size_t)pod_store_count(store, at));
    }
}

/* The logits of the token at `place` of each hypothesis (WIDTH, SEQ). */
static void find_logits(whole *w, const int32_t hypothesis[WIDTH][MAX_SEQ], int64_t place,
                        float logits[])
{
    int32_t *target = pod_interp_data(w->it, w->target);
    int32_t *length = pod_interp_data(w->it, w->target_lengths);
    for (int b = 0; b < WIDTH; b++) {
        length[b] = (int32_t)place + 1;
        for (int64_t i = 0; i < w->seq_len; i++)
            target[b * w->seq_len + i] = i == 0       ? POD_NO_TOKEN
                                         : i <= place ? hypothesis[b][i - 1]
                                                      : 0;
    }
    pod_interp_run(w->it, -1);
    for (int b = 0; b < WIDTH; b++)
        for (int64_t v = 0; v < w->n_tokens; v++) {
            double sum = 0;
            for (int64_t h = 0; h < HIDDEN; h++)
                sum += pod_interp_get(w->it, w->out.hidden, (b * w->seq_len + place) * HIDDEN + h) *
                       pod_interp_get(w->it, w->out.table, v * HIDDEN + h);
            logits[b * w->n_tokens + v] = (float)sum;
        }
}

static void search_whole(whole *w, const int32_t source[], int32_t length, pod_beam *beam)
{
    int32_t hypothesis[WIDTH][MAX_SEQ] = {{0}}, before[WIDTH][MAX_SEQ];
    int64_t parent[WIDTH];
    const int64_t most = length + POD_SEARCH_MORE_TOKENS,
                  limit = most < w->seq_len ? most : w->seq_len;
    float *logits = POD_ARENA_NEW(pod_test_arena(), float, WIDTH * w->n_tokens);
    for (int b = 0; b < WIDTH; b++) {
        memcpy((int32_t *)pod_interp_data(w->it, w->source) + b * w->seq_len, source,
               (size_t)w->seq_len * sizeof *source);
        ((int32_t *)pod_interp_data(w->it, w->lengths))[b] = length;
    }
    pod_beam_begin(beam, &limit);
    for (int64_t place = 0; !pod_beam_is_done(beam); place++) {
        find_logits(w, (const int32_t(*)[MAX_SEQ])hypothesis, place, logits);
        POD_CHECK_OK(pod_beam_advance(beam, logits, parent));
        memcpy(before, hypothesis, sizeof before);
        for (int b = 0; b < WIDTH; b++) {
            memcpy(hypothesis[b], before[parent[b]], sizeof before[0]);
            hypothesis[b][place] = pod_beam_tokens(beam)[b];
        }
    }
}

/* Each line of the file ends with the translation that the whole decoder finds. */
static void check_file(const char *path, const pod_dataset *data, const pod_samples *samples,
                       int64_t seq_len, pod_store *store)
{
    whole w;
    pod_beam *beam;
    pod_chars text = {0};
    char line[MAX_LINE];
    const pod_vocab *vocab = pod_text_set_info(data->text)->vocab;
    const pod_beam_plan plan = {.n_sentences = 1,
                                .width = WIDTH,
                                .n_tokens = data->info.n_tokens,
                                .room = seq_len,
                                .start = POD_NO_TOKEN,
                                .end = vocab->special[POD_SEP],
                                .alpha = ALPHA};
    open_whole(&w, &data->info, seq_len, store);
    POD_CHECK_OK(pod_beam_create(&plan, pod_test_arena(), &beam));
    FILE *f = fopen(path, "r");
    POD_CHECK(f != NULL, "%s: no file", path);
    for (int64_t i = 0; f && i < samples->n; i++) {
        int32_t source[MAX_SEQ], length, target[MAX_SEQ], target_length, answers[MAX_SEQ];
        float weights[MAX_SEQ];
        void *const row[] = {source, &length, target, &target_length, answers, weights};
        int64_t n;
        POD_CHECK_OK(samples->fill(samples, 0, i, row, NULL));
        search_whole(&w, source, length, beam);
        const int32_t *token = pod_beam_answer(beam, 0, &n, NULL);
        POD_CHECK_OK(pod_detokenize(vocab, n, token, &text));
        const char *got = fgets(line, sizeof line, f) ? strrchr(line, '\t') : NULL;
        POD_CHECK(got && strncmp(got + 1, text.text, text.n) == 0 && got[1 + text.n] == '\n',
                  "sentence %d: '%s', by the whole decoder '%s'", (int)i, got ? got + 1 : "",
                  text.text);
    }
    POD_CHECK(f && !fgets(line, sizeof line, f), "more lines");
    if (f) fclose(f);
    pod_chars_free(&text);
    pod_interp_destroy(w.it);
}

/* ---- by the programs ------------------------------------------------------------------------- */

static void check_search(int64_t seq_len, int n_sentences)
{
    const pod_target target = {.name = "test", .cpu = pod_cpu_features()};
    pod_coll_rules *rules;
    pod_setup s = {.batch = 4 * size,
                   .precision = POD_F32,
                   .seq_len = seq_len,
                   .beam = WIDTH,
                   .length_penalty = ALPHA};
    pod_dataset *data;
    pod_samples samples;
    const pod_program *evaluation;
    pod_translator *t;
    pod_store *store;
    pod_exec *exec[POD_SEARCH_N_PROGRAMS];
    double bleu = -1;
    POD_CHECK_OK(pod_setup_mesh("auto", size, &s.compile.mesh));
    POD_CHECK_OK(pod_coll_rules_parse(pod_test_arena(), "allreduce:0-:ring", &rules));
    s.compile.rules = rules;
    POD_CHECK_OK(pod_dataset_open(pod_test_text("cipher:10:20+%d", n_sentences), 3, &data));
    POD_CHECK_OK(pod_sentence_pairs_open(data->text, POD_SPLIT_TEST, seq_len, 1, pod_test_arena(),
                                         &samples));
    const pod_translator_args args = {.network = &network,
                                      .setup = &s,
                                      .data = data,
                                      .samples = &samples,
                                      .target = &target,
                                      .rank = rank,
                                      .size = size};
    POD_CHECK_OK(pod_network_compile(&network, &s, &data->info, false, &target, pod_test_arena(),
                                     &evaluation));
    POD_CHECK_OK(pod_store_create(evaluation, rank, 5, &store));
    POD_CHECK_OK(pod_translator_create(&args, pod_test_arena(), &t));
    /* Ranks search for different numbers of steps, and some for none. */
    for (int i = 0; i < POD_SEARCH_N_PROGRAMS; i++)
        CU_ASSERT(pod_translator_programs(t)[i]->n_colls == 0);
    POD_CHECK_OK(pod_exec_open_all(pod_translator_programs(t), POD_SEARCH_N_PROGRAMS, store, comm,
                                   pod_clock_start(), exec));
    POD_CHECK_OK(pod_translator_run(t, exec, comm, &bleu));
    CU_ASSERT(bleu >= 0 && bleu <= 100);
    const char *path = pod_test_path("made.tsv");
    POD_CHECK_OK(pod_translator_write(t, path, comm));
    if (rank == 0) check_file(path, data, &samples, seq_len, store);
    for (int i = 0; i < POD_SEARCH_N_PROGRAMS; i++) pod_exec_close(exec[i]);
    pod_store_destroy(store);
    pod_dataset_close(data);
}

static void equals_the_whole_decoder(void) { check_search(9, 50); }
/* A source of at most 7 words ends a translation before --seq-len does. */
static void ends_50_tokens_after_its_source(void) { check_search(MAX_SEQ, 3); }

POD_TEST_SUITE_WITH("runtime.translator", open_comm, close_comm,
                    {"whole", equals_the_whole_decoder},
                    {"50 more", ends_50_tokens_after_its_source});
