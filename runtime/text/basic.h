/* Splits text into words as the basic tokenizer of BERT does (google-research/bert,
 * tokenization.py, BasicTokenizer):
 *
 *   1. Characters that chars.h calls dropped vanish; invalid UTF-8 vanishes.
 *   2. Whitespace separates words, and each CJK ideograph is a word.
 *   3. Uncased: each word becomes lower case, then NFD, and characters of category Mn vanish.
 *   4. Each punctuation character is a word of its own.
 *
 * The lower-case form of a character does not depend on its neighbours (Python's lower() has a rule
 * for a Greek sigma at the end of a word, Hugging Face's tokenizers have none). */
#ifndef MINIPOD_RUNTIME_TEXT_BASIC_H
#define MINIPOD_RUNTIME_TEXT_BASIC_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/base/status.h"

typedef struct pod_basic pod_basic; /* memory for one word; for one thread at a time */

POD_MUST pod_status pod_basic_create(bool is_cased, pod_basic **out);
void pod_basic_destroy(pod_basic *b); /* NULL is allowed */

/* A word of `bytes` bytes of UTF-8, at least 1, and n_chars characters; borrowed until the call
 * returns. */
typedef pod_status pod_word_visit(void *ctx, const char *word, size_t bytes, size_t n_chars);

/* Calls `visit` for each word of the text in order. Returns the first status that is not POD_OK, or
 * E_NOMEM. */
POD_MUST pod_status pod_basic_run(pod_basic *b, const char *text, size_t bytes,
                                  pod_word_visit *visit, void *ctx);

#endif
