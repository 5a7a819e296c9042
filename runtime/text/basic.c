#include "runtime/text/basic.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/text/chars.h"
#include "runtime/text/inner.h"

typedef struct chars { /* characters, or keys of marks */
    void *at;
    size_t n, room;
} chars;

struct pod_basic {
    bool is_cased;
    bool is_ascii; /* the word in `raw` */
    chars raw;     /* int32_t: a word as it stands in the text */
    chars plain;   /* int32_t: the same after lower case and NFD, without marks */
    chars marks;   /* uint64_t: a run of characters that NFD sorts by their class */
    chars word;    /* char: UTF-8 of the word that is visited */
    pod_word_visit *visit;
    void *ctx;
};

pod_status pod_basic_create(bool is_cased, pod_basic **out)
{
    pod_basic *b = calloc(1, sizeof *b);
    if (!b) return pod_fail(POD_E_NOMEM, "no memory for a tokenizer");
    b->is_cased = is_cased;
    *out = b;
    return POD_OK;
}

void pod_basic_destroy(pod_basic *b)
{
    if (!b) return;
    free(b->raw.at);
    free(b->plain.at);
    free(b->marks.at);
    free(b->word.at);
    free(b);
}

static pod_status append(chars *a, int32_t c)
{
    POD_TRY(pod__make_room(&a->at, sizeof c, &a->room, a->n + 1));
    ((int32_t *)a->at)[a->n++] = c;
    return POD_OK;
}

/* ---- lower case, NFD, marks ------------------------------------------------------------------ */

enum { CLASS_AT = 56, PLACE_AT = 21 };

static int by_key(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Appends the run in the order of classes; those of one class keep theirs. */
static pod_status end_run(pod_basic *b)
{
    uint64_t *key = b->marks.at;
    if (b->marks.n > 1) qsort(key, b->marks.n, sizeof *key, by_key);
    for (size_t i = 0; i < b->marks.n; i++)
        POD_TRY(append(&b->plain, (int32_t)(key[i] & ((1u << PLACE_AT) - 1))));
    b->marks.n = 0;
    return POD_OK;
}

/* A character of class 0 ends a run. Those of category Mn vanish; they end a run all the same. */
static pod_status add_part(pod_basic *b, int32_t c)
{
    const int class = pod_char_combining_class(c);
    if (class == 0) POD_TRY(end_run(b));
    if (pod_char_is_mark(c)) return POD_OK;
    if (class == 0) return append(&b->plain, c);
    chars *m = &b->marks;
    POD_TRY(pod__make_room(&m->at, sizeof(uint64_t), &m->room, m->n + 1));
    ((uint64_t *)m->at)[m->n] =
        (uint64_t) class << CLASS_AT | (uint64_t)m->n << PLACE_AT | (uint64_t)c;
    m->n++;
    return POD_OK;
}

static pod_status make_plain(pod_basic *b)
{
    const int32_t *c = b->raw.at;
    b->plain.n = 0;
    for (size_t i = 0; i < b->raw.n; i++) {
        int32_t part[POD_CHAR_MAX_PARTS];
        const int n = pod_char_decompose(pod_char_lower(c[i]), part);
        for (int k = 0; k < n; k++) POD_TRY(add_part(b, part[k]));
    }
    return end_run(b);
}

static void lower_ascii(chars *a)
{
    int32_t *c = a->at;
    for (size_t i = 0; i < a->n; i++)
        if (c[i] >= 'A' && c[i] <= 'Z') c[i] += 'a' - 'A';
}

/* ---- words ----------------------------------------------------------------------------------- */

static pod_status visit_chars(pod_basic *b, const int32_t c[], size_t n)
{
    if (n == 0) return POD_OK;
    size_t bytes = 0;
    POD_TRY(pod__make_room(&b->word.at, 1, &b->word.room, 4 * n));
    char *word = b->word.at;
    for (size_t i = 0; i < n; i++)
        if (c[i] < 0x80)
            word[bytes++] = (char)c[i];
        else
            bytes += (size_t)pod_utf8_encode(c[i], word + bytes);
    return b->visit(b->ctx, word, bytes, n);
}

/* Visits the word in `raw`, split at punctuation. */
static pod_status end_word(pod_basic *b)
{
    if (b->raw.n == 0) return POD_OK;
    if (!b->is_cased && b->is_ascii) lower_ascii(&b->raw);
    if (!b->is_cased && !b->is_ascii) POD_TRY(make_plain(b));
    const chars *from = b->is_cased || b->is_ascii ? &b->raw : &b->plain;
    const int32_t *c = from->at;
    size_t begin = 0;
    for (size_t i = 0; i < from->n; i++) {
        if (!pod_char_is_punct(c[i])) continue;
        POD_TRY(visit_chars(b, c + begin, i - begin));
        POD_TRY(visit_chars(b, c + i, 1));
        begin = i + 1;
    }
    if (from->n > begin) POD_TRY(visit_chars(b, c + begin, from->n - begin));
    b->raw.n = 0;
    b->is_ascii = true;
    return POD_OK;
}

static pod_status add_char(pod_basic *b, int32_t c)
{
    if (pod_char_is_dropped(c)) return POD_OK;
    if (pod_char_is_space(c)) return end_word(b);
    const bool is_cjk = pod_char_is_cjk(c);
    if (is_cjk) POD_TRY(end_word(b));
    if (c >= 0x80) b->is_ascii = false;
    POD_TRY(append(&b->raw, c));
    return is_cjk ? end_word(b) : POD_OK;
}

pod_status pod_basic_run(pod_basic *b, const char *text, size_t bytes, pod_word_visit *visit,
                         void *ctx)
{
    b->visit = visit;
    b->ctx = ctx;
    b->raw.n = b->marks.n = 0; /* an earlier call may have failed within a word */
    b->is_ascii = true;
    for (size_t i = 0; i < bytes;) {
        int32_t c = (unsigned char)text[i];
        const int n = c < 0x80 ? 1 : pod_utf8_decode(text + i, bytes - i, &c);
        if (n > 0) POD_TRY(add_char(b, c));
        i += n > 0 ? (size_t)n : 1;
    }
    return end_word(b);
}
