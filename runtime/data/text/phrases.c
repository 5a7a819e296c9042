#include "runtime/data/text/phrases.h"

#include "runtime/data/text/made.h"

enum { FEWEST_SENTENCES = 6, MOST_SENTENCES = 14, FEWEST_WORDS = 5, MOST_WORDS = 9 };

static const float FOLLOWS = 0.85f;
static const pod__made_form form = {"phrases", "documents", POD__MADE_MAX_WORDS};
static const pod_phrases_options defaults = {200, {2000, 200}};

/* ---- the language ---------------------------------------------------------------------------- */

/* Which word follows which: one cycle through all of them (Sattolo 1986). */
static pod_status draw_successors(int64_t n, uint64_t seed, pod_arena *a, int32_t **out)
{
    int32_t *next = POD_ARENA_NEW(a, int32_t, n);
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_PHRASES, .layer = 1});
    if (!next) return POD_E_NOMEM;
    for (int64_t i = 0; i < n; i++) next[i] = (int32_t)i;
    for (int64_t i = n - 1; i > 0; i--) {
        const int64_t k = (int64_t)pod_rng_below(&r, (uint64_t)i);
        const int32_t taken = next[k];
        next[k] = next[i];
        next[i] = taken;
    }
    *out = next;
    return POD_OK;
}

/* ---- the documents --------------------------------------------------------------------------- */

typedef struct writer {
    int64_t n_words;
    uint64_t seed;
    const int32_t *next; /* (n_words) */
    pod_text_arrays text;
    /* The arrays that `text` shows, with room for the longest documents. */
    int64_t *offset, *document;
    int32_t *id;
} writer;

static void write_document(writer *w, pod_split split, int64_t number)
{
    const pod_place at = {POD_STREAM_PHRASES, 0, (uint32_t)split, (uint64_t)number};
    pod_rng r = pod_rng_at(w->seed, at);
    pod_text_arrays *t = &w->text;
    int64_t word = pod__made_between(&r, 0, w->n_words - 1);
    const int64_t n_sentences = pod__made_between(&r, FEWEST_SENTENCES, MOST_SENTENCES);
    for (int64_t s = 0; s < n_sentences; s++) {
        int64_t at_id = w->offset[t->n_rows];
        for (int64_t n = pod__made_between(&r, FEWEST_WORDS, MOST_WORDS); n > 0; n--) {
            w->id[at_id++] = (int32_t)(POD_N_SPECIALS + word);
            const bool follows = pod_rng_uniform(&r) < FOLLOWS;
            word = follows ? w->next[word] : pod__made_between(&r, 0, w->n_words - 1);
        }
        w->offset[++t->n_rows] = at_id;
    }
    w->document[++t->n_documents] = t->n_rows;
}

static pod_status write_split(const pod_phrases_options *o, writer *w, pod_split split,
                              pod_arena *a)
{
    const int64_t n = o->n_documents[split];
    w->offset = POD_ARENA_NEW(a, int64_t, n * MOST_SENTENCES + 1);
    w->document = POD_ARENA_NEW(a, int64_t, n + 1);
    w->id = POD_ARENA_NEW(a, int32_t, n * MOST_SENTENCES * MOST_WORDS);
    if (!w->offset || !w->document || !w->id) return POD_E_NOMEM;
    w->offset[0] = w->document[0] = 0;
    w->text = (pod_text_arrays){.offset = {w->offset}, .id = {w->id}, .document = w->document};
    for (int64_t i = 0; i < n; i++) write_document(w, split, i);
    return POD_OK;
}

static pod_status open_in(pod_arena *a, const pod_phrases_options *o, uint64_t seed,
                          pod_text_set **out)
{
    pod_text_info info = {.name = "phrases",
                          .origin = "drawn by minipod",
                          .licence = "public domain",
                          .n_fields = 1,
                          .field = {"tokens"},
                          .has_documents = true};
    pod_text_arrays text[POD_N_SPLITS];
    int32_t *next;
    POD_TRY(pod__made_vocabulary("phrases", o->n_words, a, &info.vocab));
    POD_TRY(draw_successors(o->n_words, seed, a, &next));
    for (int s = 0; s < POD_N_SPLITS; s++) {
        writer w = {.n_words = o->n_words, .seed = seed, .next = next};
        POD_TRY(write_split(o, &w, (pod_split)s, a));
        text[s] = w.text;
    }
    return pod_text_set_make(&info, text, a, out);
}

pod_status pod_phrases_open(const pod_phrases_options *o, uint64_t seed, const pod_alloc *alloc,
                            pod_text_set **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(alloc, &arena));
    const pod_status s = open_in(arena, o, seed, out);
    if (s != POD_OK) pod_arena_destroy(arena);
    return s;
}

/* ---- the spec -------------------------------------------------------------------------------- */

bool pod_phrases_is_spec(const char *spec) { return pod__made_is_spec(form.name, spec); }

pod_status pod_phrases_parse(const char *spec, pod_phrases_options *out)
{
    pod_phrases_options o = defaults;
    POD_TRY(pod__made_parse(&form, spec, &o.n_words, o.n_documents));
    *out = o;
    return POD_OK;
}
