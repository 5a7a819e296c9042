#include "runtime/data/text/made.h"

#include <string.h>

#include "kernels/base/parse.h"

enum { N_SYLLABLES = 70, MAX_UNITS = 1 << 24 };
_Static_assert(POD__MADE_MAX_WORDS == N_SYLLABLES * N_SYLLABLES, "a word has two syllables");

/* Words with neighbouring numbers have no syllable in common. */
static const char *name_word(int64_t i, pod_arena *a)
{
    static const char consonants[] = "bdfgklmnprstvz", vowels[] = "aeiou";
    const int64_t first = i % N_SYLLABLES, second = (i / N_SYLLABLES + 7 * i) % N_SYLLABLES;
    return pod_arena_text(a, "%c%c%c%c", consonants[first / 5], vowels[first % 5],
                          consonants[second / 5], vowels[second % 5]);
}

pod_status pod__made_vocabulary(const char *name, int64_t n_words, pod_arena *a,
                                const pod_vocab **out)
{
    const char **token = POD_ARENA_NEW(a, const char *, POD_N_SPECIALS + n_words);
    if (!token) return POD_E_NOMEM;
    for (int i = 0; i < POD_N_SPECIALS; i++) token[i] = pod_special_token[i];
    for (int64_t i = 0; i < n_words; i++)
        if (!(token[POD_N_SPECIALS + i] = name_word(i, a))) return POD_E_NOMEM;
    return pod_vocab_make(name, POD_N_SPECIALS + n_words, token, a, out);
}

int64_t pod__made_between(pod_rng *r, int64_t low, int64_t high)
{
    return low + (int64_t)pod_rng_below(r, (uint64_t)(high - low + 1));
}

/* ---- the spec -------------------------------------------------------------------------------- */

bool pod__made_is_spec(const char *name, const char *spec)
{
    const size_t n = strlen(name);
    return strncmp(spec, name, n) == 0 && (spec[n] == '\0' || spec[n] == ':');
}

/* `what` is "WORDS", or "TRAIN documents" in two words. */
static pod_status parse_number(const pod__made_form *form, const char *what, const char *units,
                               const char *text, size_t length, int64_t max, int64_t *out)
{
    char word[32], name[64];
    snprintf(name, sizeof name, "%s: %s%s%s", form->name, what, *units ? " " : "", units);
    if (length >= sizeof word)
        return pod_fail(POD_E_INVALID, "%s: '%.*s' is too long", name, (int)sizeof word, text);
    memcpy(word, text, length);
    word[length] = '\0';
    return pod_parse_int(name, word, 2, max, out);
}

pod_status pod__made_parse(const pod__made_form *form, const char *spec, int64_t *n_words,
                           int64_t n_units[POD_N_SPLITS])
{
    const char *words = spec + strlen(form->name);
    if (*words++ != ':') return POD_OK;
    const char *counts = strchr(words, ':');
    const size_t length = counts ? (size_t)(counts - words) : strlen(words);
    POD_TRY(parse_number(form, "WORDS", "", words, length, form->most_words, n_words));
    if (!counts) return POD_OK;
    const char *plus = strchr(++counts, '+');
    if (!plus)
        return pod_fail(POD_E_INVALID, "%s: %s '%s', need TRAIN+TEST, such as 2000+200", form->name,
                        form->units, counts);
    POD_TRY(parse_number(form, "TRAIN", form->units, counts, (size_t)(plus - counts), MAX_UNITS,
                         &n_units[POD_SPLIT_TRAIN]));
    return parse_number(form, "TEST", form->units, plus + 1, strlen(plus + 1), MAX_UNITS,
                        &n_units[POD_SPLIT_TEST]);
}
