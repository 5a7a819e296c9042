#include "runtime/data/text/cipher.h"

#include "runtime/data/text/made.h"

enum { FEWEST_WORDS = 4, MOST_WORDS = 7 };
enum { DRAW_PAIRS, DRAW_DICTIONARY }; /* layers of the stream */

static const pod__made_form form = {"cipher", "pairs", POD__MADE_MAX_WORDS / 2};
static const pod_cipher_options defaults = {100, {20000, 500}};

/* The translation of each word: a permutation, moved behind the words of the first language. */
static pod_status draw_dictionary(int64_t n, uint64_t seed, pod_arena *a, int32_t **out)
{
    int32_t *word = POD_ARENA_NEW(a, int32_t, n);
    pod_rng r =
        pod_rng_at(seed, (pod_place){.stream = POD_STREAM_CIPHER, .layer = DRAW_DICTIONARY});
    if (!word) return POD_E_NOMEM;
    for (int64_t i = 0; i < n; i++) {
        const int64_t k = pod__made_between(&r, 0, i);
        word[i] = word[k];
        word[k] = (int32_t)(POD_N_SPECIALS + n + i);
    }
    *out = word;
    return POD_OK;
}

typedef struct split_room { /* arrays with room for the longest sentences */
    int64_t *offset;        /* the same of both sides */
    int32_t *id[POD_TEXT_MAX_FIELDS];
} split_room;

static void write_pair(split_room *to, const pod_cipher_options *o, uint64_t seed,
                       const int32_t dictionary[], pod_split split, int64_t number)
{
    pod_rng r = pod_rng_at(
        seed, (pod_place){POD_STREAM_CIPHER, DRAW_PAIRS, (uint32_t)split, (uint64_t)number});
    const int64_t n = pod__made_between(&r, FEWEST_WORDS, MOST_WORDS), at = to->offset[number];
    for (int64_t i = 0; i < n; i++) {
        const int64_t word = pod__made_between(&r, 0, o->n_words - 1);
        to->id[POD_TEXT_SOURCE][at + i] = (int32_t)(POD_N_SPECIALS + word);
        to->id[POD_TEXT_TARGET][at + n - 1 - i] = dictionary[word];
    }
    to->offset[number + 1] = at + n;
}

static pod_status write_split(const pod_cipher_options *o, uint64_t seed,
                              const int32_t dictionary[], pod_split split, pod_arena *a,
                              pod_text_arrays *out)
{
    const int64_t n = o->n_pairs[split];
    split_room to = {.offset = POD_ARENA_NEW(a, int64_t, n + 1)};
    for (int side = 0; side < POD_TEXT_MAX_FIELDS; side++) {
        to.id[side] = POD_ARENA_NEW(a, int32_t, n * MOST_WORDS);
        if (!to.id[side] || !to.offset) return POD_E_NOMEM;
    }
    to.offset[0] = 0;
    for (int64_t i = 0; i < n; i++) write_pair(&to, o, seed, dictionary, split, i);
    *out = (pod_text_arrays){.n_rows = n,
                             .offset = {to.offset, to.offset},
                             .id = {to.id[POD_TEXT_SOURCE], to.id[POD_TEXT_TARGET]}};
    return POD_OK;
}

static pod_status open_in(pod_arena *a, const pod_cipher_options *o, uint64_t seed,
                          pod_text_set **out)
{
    pod_text_info info = {.name = "cipher",
                          .origin = "drawn by minipod",
                          .licence = "public domain",
                          .n_fields = 2,
                          .field = {"source", "target"}};
    pod_text_arrays text[POD_N_SPLITS];
    int32_t *dictionary;
    POD_TRY(pod__made_vocabulary("cipher", 2 * o->n_words, a, &info.vocab));
    POD_TRY(draw_dictionary(o->n_words, seed, a, &dictionary));
    for (int s = 0; s < POD_N_SPLITS; s++)
        POD_TRY(write_split(o, seed, dictionary, (pod_split)s, a, &text[s]));
    return pod_text_set_make(&info, text, a, out);
}

pod_status pod_cipher_open(const pod_cipher_options *o, uint64_t seed, const pod_alloc *alloc,
                           pod_text_set **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(alloc, &arena));
    const pod_status s = open_in(arena, o, seed, out);
    if (s != POD_OK) pod_arena_destroy(arena);
    return s;
}

bool pod_cipher_is_spec(const char *spec) { return pod__made_is_spec(form.name, spec); }

pod_status pod_cipher_parse(const char *spec, pod_cipher_options *out)
{
    pod_cipher_options o = defaults;
    POD_TRY(pod__made_parse(&form, spec, &o.n_words, o.n_pairs));
    *out = o;
    return POD_OK;
}
