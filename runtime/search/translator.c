#include "runtime/search/translator.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/base/bf16.h"
#include "kernels/embed/embed.h"
#include "runtime/core/file.h"
#include "runtime/data/text/sentence_pairs.h"
#include "runtime/data/text/text_set.h"
#include "runtime/search/beam.h"
#include "runtime/search/inner.h"
#include "runtime/text/bleu.h"
#include "runtime/text/detokenize.h"

static const pod_bleu_tokens bleu_tokens = POD_BLEU_INTERNATIONAL;

struct pod_translator {
    pod_translator_args args;
    pod__search_size z;
    pod__search_programs p;
    pod_beam *beam;
    void *row[POD_MAX_FIELDS]; /* of the samples that are searched, (n_sentences, row) each */
    int64_t *limit;            /* (n_sentences) */
    int32_t *count;            /* (n_sentences, width): tokens of each hypothesis */
    int64_t *parent;           /* likewise */
    void *source[POD_MAX_SEARCH_VALUES];
    void *earlier[POD_MAX_SEARCH_VALUES], *moved[POD_MAX_SEARCH_VALUES]; /* moved: by parent */
    int64_t *order; /* (samples): the sentences, short sources first */
    /* The translations of this rank, by set and place. */
    int64_t n_sets;
    int32_t *answer; /* (n_sets, n_sentences, room) */
    int32_t *n;      /* (n_sets, n_sentences): tokens of each */
    int32_t *whole;  /* the longest row of a text */
};

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t source_bytes(const pod__search_size *z)
{
    return (size_t)(z->n_sentences * z->room * z->hidden) * pod_dtype_bytes(z->dtype);
}

static size_t earlier_bytes(const pod__search_size *z)
{
    return source_bytes(z) * (size_t)z->width;
}

size_t pod_search_bytes(const pod_network *network, const pod_setup *s,
                        const pod_dataset_info *data, int64_t n_samples)
{
    if (network->search.n_values == 0) return 0;
    const pod__search_size z = pod__search_size_of(network, s, data, n_samples);
    const size_t fetched = /* by the executors, as float32 */
        sizeof(float) * (size_t)(z.n_sentences * (z.room + z.width) * z.hidden);
    const size_t logits = sizeof(float) * (size_t)(z.n_sentences * z.width * z.n_tokens);
    return (size_t)z.n_values * (source_bytes(&z) + 2 * earlier_bytes(&z) + fetched) + logits;
}

static pod_status take_values(pod_translator *t, pod_arena *a)
{
    enum { ALIGN = 64 };
    for (int i = 0; i < t->z.n_values; i++) {
        t->source[i] = pod_arena_get(a, ALIGN, source_bytes(&t->z));
        t->earlier[i] = pod_arena_get(a, ALIGN, earlier_bytes(&t->z));
        t->moved[i] = pod_arena_get(a, ALIGN, earlier_bytes(&t->z));
        if (!t->source[i] || !t->earlier[i] || !t->moved[i]) return POD_E_NOMEM;
    }
    return POD_OK;
}

typedef struct sized {
    int64_t length, sentence;
} sized;

static int shortest_first(const void *a, const void *b)
{
    const sized *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    return (x->sentence > y->sentence) - (x->sentence < y->sentence);
}

/* Sentences of one length end after about as many steps, so that none waits long for another. */
static pod_status order_sentences(pod_translator *t, pod_arena *a)
{
    const int64_t n = t->args.samples->n;
    sized *all = POD_ARENA_NEW(a, sized, n);
    t->order = POD_ARENA_NEW(a, int64_t, n);
    if (!all || !t->order) return POD_E_NOMEM;
    for (int64_t i = 0; i < n; i++)
        all[i] =
            (sized){pod_text_set_length(t->args.data->text, POD_SPLIT_TEST, POD_TEXT_SOURCE, i), i};
    qsort(all, (size_t)n, sizeof *all, shortest_first);
    for (int64_t i = 0; i < n; i++) t->order[i] = all[i].sentence;
    return POD_OK;
}

static int64_t longest_row(const pod_text_info *info)
{
    const int64_t *longest = info->longest[POD_SPLIT_TEST];
    return longest[POD_TEXT_SOURCE] > longest[POD_TEXT_TARGET] ? longest[POD_TEXT_SOURCE]
                                                               : longest[POD_TEXT_TARGET];
}

static pod_status take_rows(pod_translator *t, pod_arena *a)
{
    const pod__search_size *z = &t->z;
    const pod_samples *from = t->args.samples;
    const int64_t n_rows = z->n_sentences * z->width;
    const int64_t set = z->n_sentences * t->args.size; /* of all ranks */
    t->n_sets = (from->n + set - 1) / set;
    for (int f = 0; f < from->form.n_fields; f++) {
        const int64_t bytes = pod_field_row_bytes(&from->form.field[f]);
        t->row[f] = pod_arena_get(a, sizeof(int64_t), (size_t)(z->n_sentences * bytes));
        if (!t->row[f]) return POD_E_NOMEM;
    }
    t->limit = POD_ARENA_NEW(a, int64_t, z->n_sentences);
    t->count = POD_ARENA_NEW(a, int32_t, n_rows);
    t->parent = POD_ARENA_NEW(a, int64_t, n_rows);
    t->answer = POD_ARENA_NEW(a, int32_t, t->n_sets * z->n_sentences * z->room);
    t->n = POD_ARENA_NEW(a, int32_t, t->n_sets * z->n_sentences);
    t->whole = POD_ARENA_NEW(a, int32_t, longest_row(pod_text_set_info(t->args.data->text)) + 1);
    return t->limit && t->count && t->parent && t->answer && t->n && t->whole ? POD_OK
                                                                              : POD_E_NOMEM;
}

pod_status pod_translator_create(const pod_translator_args *args, pod_arena *arena,
                                 pod_translator **out)
{
    pod_translator *t = POD_ARENA_NEW(arena, pod_translator, 1);
    if (!t) return POD_E_NOMEM;
    t->args = *args;
    t->z = pod__search_size_of(args->network, args->setup, &args->data->info, args->samples->n);
    POD_TRY(pod__search_compile(args, &t->z, arena, &t->p));
    const pod_beam_plan plan = {.n_sentences = t->z.n_sentences,
                                .width = t->z.width,
                                .n_tokens = t->z.n_tokens,
                                .room = t->z.room,
                                .start = POD_NO_TOKEN,
                                .end = pod_text_set_info(args->data->text)->vocab->special[POD_SEP],
                                .alpha = args->setup->length_penalty};
    POD_TRY(pod_beam_create(&plan, arena, &t->beam));
    POD_TRY(take_values(t, arena));
    POD_TRY(take_rows(t, arena));
    POD_TRY(order_sentences(t, arena));
    *out = t;
    return POD_OK;
}

const pod_program *const *pod_translator_programs(const pod_translator *t) { return t->p.program; }

/* ---- what was searched ----------------------------------------------------------------------- */

/* The sentence at a place of this rank's set; -1: there is none. */
static int64_t sentence_at(const pod_translator *t, int64_t set, int64_t place)
{
    const int64_t i = (set * t->args.size + t->args.rank) * t->z.n_sentences + place;
    return i < t->args.samples->n ? t->order[i] : -1;
}

/* Places behind the last sentence are empty. */
static pod_status read_set(pod_translator *t, int64_t set)
{
    const pod_samples *from = t->args.samples;
    for (int64_t i = 0; i < t->z.n_sentences; i++) {
        const int64_t sentence = sentence_at(t, set, i);
        void *at[POD_MAX_FIELDS];
        for (int f = 0; f < from->form.n_fields; f++)
            at[f] = (char *)t->row[f] + i * pod_field_row_bytes(&from->form.field[f]);
        if (sentence >= 0)
            POD_TRY(from->fill(from, 0, sentence, at, NULL));
        else
            from->pad(from, at);
        const int64_t length = *(const int32_t *)at[POD_PAIRS_SOURCE_LENGTHS];
        const int64_t most = length + POD_SEARCH_MORE_TOKENS;
        t->limit[i] = length == 0 ? 0 : most < t->z.room ? most : t->z.room;
    }
    return POD_OK;
}

static void keep_answers(pod_translator *t, int64_t set)
{
    for (int64_t i = 0; i < t->z.n_sentences; i++) {
        int64_t n;
        const int32_t *token = pod_beam_answer(t->beam, i, &n, NULL);
        const int64_t at = set * t->z.n_sentences + i;
        memcpy(t->answer + at * t->z.room, token, (size_t)n * sizeof *token);
        t->n[at] = (int32_t)n;
    }
}

/* ---- the search: allocates nothing ----------------------------------------------------------- */

/* Elements first .. first + n - 1 of `to` become `from`. */
static void store_values(const pod__search_size *z, void *to, int64_t first, const float from[],
                         int64_t n)
{
    if (z->dtype == POD_F32) {
        memcpy((float *)to + first, from, (size_t)n * sizeof *from);
        return;
    }
    pod_bf16 *at = (pod_bf16 *)to + first;
    for (int64_t i = 0; i < n; i++) at[i] = pod_bf16_from_f32(from[i]);
}

static void feed(pod_exec *e, int input, const void *data)
{
    if (input >= 0) pod_exec_feed(e, input, data);
}

static pod_status encode(pod_translator *t, pod_exec *e)
{
    const pod__search_size *z = &t->z;
    feed(e, t->p.source_ids, t->row[POD_PAIRS_SOURCE]);
    feed(e, t->p.source_lengths, t->row[POD_PAIRS_SOURCE_LENGTHS]);
    POD_TRY(pod_exec_step(e, NULL));
    for (int i = 0; i < z->n_values; i++)
        store_values(z, t->source[i], 0, pod_exec_rows(e, i), z->n_sentences * z->room * z->hidden);
    return POD_OK;
}

/* Makes what is kept for each hypothesis that of its parent, with the row of the last token. */
static void move_rows(pod_translator *t, pod_exec *e, int64_t place)
{
    const pod__search_size *z = &t->z;
    const int64_t n_rows = z->n_sentences * z->width, row = z->room * z->hidden;
    const size_t bytes = pod_dtype_bytes(z->dtype);
    for (int i = 0; i < z->n_values; i++) {
        const float *made = pod_exec_rows(e, 1 + i);
        for (int64_t r = 0; r < n_rows; r++) {
            const int64_t from = t->parent[r];
            memcpy((char *)t->moved[i] + (size_t)(r * row) * bytes,
                   (const char *)t->earlier[i] + (size_t)(from * row) * bytes,
                   (size_t)(place * z->hidden) * bytes);
            store_values(z, t->moved[i], r * row + place * z->hidden, made + from * z->hidden,
                         z->hidden);
        }
        void *const before = t->earlier[i];
        t->earlier[i] = t->moved[i];
        t->moved[i] = before;
        feed(e, t->p.earlier[i], t->earlier[i]);
    }
}

static pod_status search(pod_translator *t, pod_exec *e)
{
    const int64_t n_rows = t->z.n_sentences * t->z.width;
    for (int i = 0; i < t->z.n_values; i++) {
        feed(e, t->p.source[i], t->source[i]);
        feed(e, t->p.earlier[i], t->earlier[i]);
    }
    feed(e, t->p.token, pod_beam_tokens(t->beam));
    feed(e, t->p.count, t->count);
    feed(e, t->p.lengths, t->row[POD_PAIRS_SOURCE_LENGTHS]);
    pod_beam_begin(t->beam, t->limit);
    for (int64_t place = 0; !pod_beam_is_done(t->beam); place++) {
        for (int64_t r = 0; r < n_rows; r++) t->count[r] = (int32_t)place + 1;
        POD_TRY(pod_exec_step(e, NULL));
        POD_TRY(pod_beam_advance(t->beam, pod_exec_rows(e, 0), t->parent));
        move_rows(t, e, place);
    }
    return POD_OK;
}

static pod_status translate_set(pod_translator *t, pod_exec *const exec[], int64_t set)
{
    POD_TRY(read_set(t, set));
    POD_TRY(encode(t, exec[POD_SEARCH_ENCODE]));
    POD_TRY(search(t, exec[POD_SEARCH_STEP]));
    keep_answers(t, set);
    return POD_OK;
}

/* Shows its progress by a copy of the log, whose own progress is of the training around it. */
static pod_status translate(pod_translator *t, pod_exec *const exec[])
{
    const int64_t n = t->args.samples->n, of_all_ranks = t->z.n_sentences * t->args.size;
    pod_log log = t->args.log ? *t->args.log : (pod_log){0};
    pod_status status = POD_OK;
    pod_progress_begin(&log, "translate", "sentences", 0, n);
    for (int64_t set = 0; set < t->n_sets && status == POD_OK; set++) {
        if (sentence_at(t, set, 0) < 0) break; /* nor is there one in a later set */
        const int64_t done = (set + 1) * of_all_ranks;
        status = translate_set(t, exec, set);
        pod_progress_at(&log, done < n ? done : n, "%s", "");
    }
    pod_progress_end(&log);
    return status;
}

/* ---- the score ------------------------------------------------------------------------------- */

static pod_status text_of_row(const pod_translator *t, int side, int64_t sentence, pod_chars *out)
{
    const pod_text_set *text = t->args.data->text;
    const int64_t n = pod_text_set_length(text, POD_SPLIT_TEST, side, sentence);
    POD_TRY(pod_text_set_read(text, POD_SPLIT_TEST, side, sentence, 0, n, t->whole));
    return pod_detokenize(pod_text_set_info(text)->vocab, n, t->whole, out);
}

static pod_status text_of_answer(const pod_translator *t, const int32_t id[], int64_t n,
                                 pod_chars *out)
{
    return pod_detokenize(pod_text_set_info(t->args.data->text)->vocab, n, id, out);
}

static pod_status score_own(const pod_translator *t, pod_chars *reference, pod_chars *made,
                            pod_bleu_sums *sums)
{
    for (int64_t at = 0; at < t->n_sets * t->z.n_sentences; at++) {
        const int64_t sentence = sentence_at(t, at / t->z.n_sentences, at % t->z.n_sentences);
        if (sentence < 0) continue;
        POD_TRY(text_of_row(t, POD_TEXT_TARGET, sentence, reference));
        POD_TRY(text_of_answer(t, t->answer + at * t->z.room, t->n[at], made));
        POD_TRY(pod_bleu_add(sums, bleu_tokens, false, made->text, reference->text));
    }
    return POD_OK;
}

/* Sums are whole numbers, which doubles add exactly. */
static double add_up(pod_comm *comm, const pod_bleu_sums *own)
{
    enum { N = 2 * POD_BLEU_ORDERS + 2 };
    double x[N];
    pod_bleu_sums all;
    for (int k = 0; k < POD_BLEU_ORDERS; k++) {
        x[2 * k] = (double)own->n_matches[k];
        x[2 * k + 1] = (double)own->n_possible[k];
    }
    x[N - 2] = (double)own->hypothesis_length;
    x[N - 1] = (double)own->reference_length;
    pod_comm_sum(comm, x, N);
    for (int k = 0; k < POD_BLEU_ORDERS; k++) {
        all.n_matches[k] = (int64_t)x[2 * k];
        all.n_possible[k] = (int64_t)x[2 * k + 1];
    }
    all.hypothesis_length = (int64_t)x[N - 2];
    all.reference_length = (int64_t)x[N - 1];
    return pod_bleu_score(&all);
}

pod_status pod_translator_run(pod_translator *t, pod_exec *const exec[POD_SEARCH_N_PROGRAMS],
                              pod_comm *comm, double *bleu)
{
    pod_chars reference = {0}, made = {0};
    pod_bleu_sums sums = {{0}, {0}, 0, 0};
    pod_status own = translate(t, exec);
    if (own == POD_OK) own = score_own(t, &reference, &made, &sums);
    pod_chars_free(&reference);
    pod_chars_free(&made);
    POD_TRY(pod_comm_agree(comm, own));
    *bleu = add_up(comm, &sums);
    return POD_OK;
}

const char *pod_search_about(const pod_setup *s, pod_arena *a)
{
    return pod_arena_text(a, "%s; beam %d, length penalty %g", pod_bleu_name(bleu_tokens, false),
                          s->beam, s->length_penalty);
}

/* ---- the file -------------------------------------------------------------------------------- */

typedef struct gathered { /* of all ranks, one after the other */
    pod_arena *arena;
    int32_t *answer, *n;
    int64_t *at; /* (samples): where `order` has each sentence */
    pod_file *file;
} gathered;

static pod_status open_all(const pod_translator *t, const char *path, gathered *all)
{
    const int64_t n = t->n_sets * t->z.n_sentences * t->args.size;
    POD_TRY(pod_arena_create(NULL, &all->arena));
    all->answer = POD_ARENA_NEW(all->arena, int32_t, n * t->z.room);
    all->n = POD_ARENA_NEW(all->arena, int32_t, n);
    all->at = POD_ARENA_NEW(all->arena, int64_t, t->args.samples->n);
    if (!all->answer || !all->n || !all->at) return POD_E_NOMEM;
    for (int64_t i = 0; i < t->args.samples->n; i++) all->at[t->order[i]] = i;
    return pod_file_open_result(path, &all->file);
}

static pod_status write_line(const pod_translator *t, const gathered *all, int64_t sentence,
                             pod_chars *text)
{
    FILE *to = pod_file_stream(all->file);
    const int64_t i = all->at[sentence], n = t->z.n_sentences, set = i / (n * t->args.size);
    const int64_t rank = i / n % t->args.size;
    const int64_t at = (rank * t->n_sets + set) * n + i % n;
    for (int side = POD_TEXT_SOURCE; side <= POD_TEXT_TARGET; side++) {
        POD_TRY(text_of_row(t, side, sentence, text));
        fprintf(to, "%s\t", text->text);
    }
    POD_TRY(text_of_answer(t, all->answer + at * t->z.room, all->n[at], text));
    fprintf(to, "%s\n", text->text);
    return POD_OK;
}

static pod_status write_all(const pod_translator *t, gathered *all)
{
    pod_chars text = {0};
    pod_status s = POD_OK;
    for (int64_t i = 0; i < t->args.samples->n && s == POD_OK; i++)
        s = write_line(t, all, i, &text);
    pod_chars_free(&text);
    pod_file *const file = all->file;
    if (s != POD_OK) return s;
    all->file = NULL;
    return pod_file_close(file);
}

pod_status pod_translator_write(const pod_translator *t, const char *path, pod_comm *comm)
{
    gathered all = {0};
    const bool is_root = t->args.rank == 0;
    const size_t n = (size_t)(t->n_sets * t->z.n_sentences);
    pod_status s = pod_comm_agree(comm, is_root ? open_all(t, path, &all) : POD_OK);
    if (s == POD_OK) {
        pod_comm_gather(comm, t->answer, n * (size_t)t->z.room * sizeof *t->answer, all.answer);
        pod_comm_gather(comm, t->n, n * sizeof *t->n, all.n);
        s = pod_comm_agree(comm, is_root ? write_all(t, &all) : POD_OK);
    }
    pod_file_abandon(all.file);
    pod_arena_destroy(all.arena);
    return s;
}
