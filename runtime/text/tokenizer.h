/* The tokenizer of BERT: words (basic.h), then word pieces (vocab.h). A word of more than
 * POD_WORD_MAX_CHARS characters, or one that has no split, becomes [UNK]. The text of a special
 * token, "[MASK]", has no meaning of its own: it is three words. */
#ifndef MINIPOD_RUNTIME_TEXT_TOKENIZER_H
#define MINIPOD_RUNTIME_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/text/vocab.h"

enum { POD_WORD_MAX_CHARS = 200 };

typedef struct pod_ids { /* ids in memory of malloc; a zeroed one is empty */
    int32_t *id;
    size_t n, room;
} pod_ids;
void pod_ids_free(pod_ids *ids); /* makes it empty */

typedef struct pod_tokenizer pod_tokenizer; /* for one thread at a time */

/* The vocabulary is borrowed until destroy. E_NOMEM. */
POD_MUST pod_status pod_tokenizer_create(const pod_vocab *v, bool is_cased, pod_tokenizer **out);
void pod_tokenizer_destroy(pod_tokenizer *t); /* NULL is allowed */

/* Appends the ids of a text to `ids`, without [CLS] and [SEP]. Invalid UTF-8 is dropped.
 * E_NOMEM. */
POD_MUST pod_status pod_tokenizer_run(pod_tokenizer *t, const char *text, size_t bytes,
                                      pod_ids *ids);

#endif
