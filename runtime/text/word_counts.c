#include <stdlib.h>
#include <string.h>

#include "kernels/base/hash.h"
#include "runtime/text/inner.h"
#include "runtime/text/vocab_train.h"

struct pod_word_counts {
    void *text, *word; /* char, pod_word_count */
    size_t n_text, text_room, n, word_room;
    size_t *slot; /* (n_slots): 1 + the index of a word, or 0 */
    size_t n_slots;
};

pod_status pod_word_counts_create(pod_word_counts **out)
{
    pod_word_counts *c = calloc(1, sizeof *c);
    if (!c) return pod_fail(POD_E_NOMEM, "no memory to count words");
    *out = c;
    return POD_OK;
}

void pod_word_counts_destroy(pod_word_counts *c)
{
    if (!c) return;
    free(c->text);
    free(c->word);
    free(c->slot);
    free(c);
}

size_t pod_word_counts_list(const pod_word_counts *c, const pod_word_count **word,
                            const char **text)
{
    *word = c->word;
    *text = c->text;
    return c->n;
}

static size_t *find_slot(const pod_word_counts *c, const char *word, size_t bytes)
{
    const uint64_t h = pod_hash_bytes(POD_HASH_START, word, bytes);
    for (size_t i = (size_t)(h ^ h >> 32);; i++) {
        size_t *slot = &c->slot[i & (c->n_slots - 1)];
        if (*slot == 0) return slot;
        const pod_word_count *w = (const pod_word_count *)c->word + (*slot - 1);
        if (w->bytes == bytes && memcmp((const char *)c->text + w->at, word, bytes) == 0)
            return slot;
    }
}

static pod_status grow_table(pod_word_counts *c)
{
    const size_t n = c->n_slots ? 2 * c->n_slots : 1024;
    size_t *slot = calloc(n, sizeof *slot);
    if (!slot) return pod_fail(POD_E_NOMEM, "no memory to count %zu words", n / 2);
    free(c->slot);
    c->slot = slot;
    c->n_slots = n;
    for (size_t i = 0; i < c->n; i++) {
        const pod_word_count *w = (const pod_word_count *)c->word + i;
        *find_slot(c, (const char *)c->text + w->at, w->bytes) = i + 1;
    }
    return POD_OK;
}

pod_status pod_word_counts_add(void *counts, const char *word, size_t bytes, size_t n_chars)
{
    pod_word_counts *c = counts;
    (void)n_chars;
    if (2 * c->n >= c->n_slots) POD_TRY(grow_table(c));
    size_t *slot = find_slot(c, word, bytes);
    if (*slot == 0) {
        POD_TRY(pod__make_room(&c->text, 1, &c->text_room, c->n_text + bytes));
        POD_TRY(pod__make_room(&c->word, sizeof(pod_word_count), &c->word_room, c->n + 1));
        memcpy((char *)c->text + c->n_text, word, bytes);
        ((pod_word_count *)c->word)[c->n] = (pod_word_count){c->n_text, bytes, 0};
        c->n_text += bytes;
        *slot = ++c->n;
    }
    ((pod_word_count *)c->word)[*slot - 1].count++;
    return POD_OK;
}
