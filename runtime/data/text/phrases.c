#include "runtime/data/text/phrases.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "kernels/base/rng.h"

enum { N_SYLLABLES = 70, MAX_WORDS = N_SYLLABLES * N_SYLLABLES, MAX_DOCUMENTS = 1 << 24 };
enum { FEWEST_SENTENCES = 6, MOST_SENTENCES = 14, FEWEST_WORDS = 5, MOST_WORDS = 9 };

static const float FOLLOWS = 0.85f;
static const pod_phrases_options defaults = {200, {2000, 200}};

/* ---- the language ---------------------------------------------------------------------------- */

/* Words with neighbouring numbers have no syllable in common. */
static const char *name_word(int64_t i, pod_arena *a)
{
    static const char consonants[] = "bdfgklmnprstvz", vowels[] = "aeiou";
    const int64_t first = i % N_SYLLABLES, second = (i / N_SYLLABLES + 7 * i) % N_SYLLABLES;
    return pod_arena_text(a, "%c%c%c%c", consonants[first / 5], vowels[first % 5],
                          consonants[second / 5], vowels[second % 5]);
}

static pod_status make_vocabulary(int64_t n_words, pod_arena *a, const pod_vocab **out)
{
    const char **token = POD_ARENA_NEW(a, const char *, POD_N_SPECIALS + n_words);
    if (!token) return POD_E_NOMEM;
    for (int i = 0; i < POD_N_SPECIALS; i++) token[i] = pod_special_token[i];
    for (int64_t i = 0; i < n_words; i++)
        if (!(token[POD_N_SPECIALS + i] = name_word(i, a))) return POD_E_NOMEM;
    return pod_vocab_make("phrases", POD_N_SPECIALS + n_words, token, a, out);
}

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

static int64_t between(pod_rng *r, int64_t low, int64_t high) /* both included */
{
    return low + (int64_t)pod_rng_below(r, (uint64_t)(high - low + 1));
}

static void write_document(writer *w, pod_split split, int64_t number)
{
    const pod_place at = {POD_STREAM_PHRASES, 0, (uint32_t)split, (uint64_t)number};
    pod_rng r = pod_rng_at(w->seed, at);
    pod_text_arrays *t = &w->text;
    int64_t word = between(&r, 0, w->n_words - 1);
    const int64_t n_sentences = between(&r, FEWEST_SENTENCES, MOST_SENTENCES);
    for (int64_t s = 0; s < n_sentences; s++) {
        int64_t at_id = w->offset[t->n_rows];
        for (int64_t n = between(&r, FEWEST_WORDS, MOST_WORDS); n > 0; n--) {
            w->id[at_id++] = (int32_t)(POD_N_SPECIALS + word);
            const bool follows = pod_rng_uniform(&r) < FOLLOWS;
            word = follows ? w->next[word] : between(&r, 0, w->n_words - 1);
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
    POD_TRY(make_vocabulary(o->n_words, a, &info.vocab));
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

bool pod_phrases_is_spec(const char *spec)
{
    const size_t n = strlen("phrases");
    return strncmp(spec, "phrases", n) == 0 && (spec[n] == '\0' || spec[n] == ':');
}

static pod_status parse_number(const char *what, const char *text, size_t length, int64_t min,
                               int64_t max, int64_t *out)
{
    char word[32];
    if (length >= sizeof word)
        return pod_fail(POD_E_INVALID, "%s: '%.*s' is too long", what, (int)sizeof word, text);
    memcpy(word, text, length);
    word[length] = '\0';
    return pod_parse_int(what, word, min, max, out);
}

pod_status pod_phrases_parse(const char *spec, pod_phrases_options *out)
{
    pod_phrases_options o = defaults;
    if (spec[strlen("phrases")] == ':') {
        const char *words = spec + strlen("phrases:"), *counts = strchr(words, ':');
        const size_t length = counts ? (size_t)(counts - words) : strlen(words);
        POD_TRY(parse_number("phrases: WORDS", words, length, 2, MAX_WORDS, &o.n_words));
        const char *plus = counts ? strchr(++counts, '+') : NULL;
        if (counts && !plus)
            return pod_fail(POD_E_INVALID,
                            "phrases: documents '%s', need TRAIN+TEST, such as 2000+200", counts);
        if (counts) {
            POD_TRY(parse_number("phrases: TRAIN documents", counts, (size_t)(plus - counts), 2,
                                 MAX_DOCUMENTS, &o.n_documents[POD_SPLIT_TRAIN]));
            POD_TRY(parse_number("phrases: TEST documents", plus + 1, strlen(plus + 1), 2,
                                 MAX_DOCUMENTS, &o.n_documents[POD_SPLIT_TEST]));
        }
    }
    *out = o;
    return POD_OK;
}
