/* Cipher: synthetic pairs of sentences, for translation without a file.
 *
 * A sentence of the first language is 4 to 7 words of W, each equally likely. In the second
 * language each word has one translation, and the words stand in reverse order:
 *
 *   a b c d  ->  D C B A
 *
 * No word is in both languages, so a model that copies the source, or always writes frequent words,
 * gets no translation right. The dictionary and each pair are drawn from the seed alone by
 * counter-based random numbers. */
#ifndef MINIPOD_RUNTIME_DATA_TEXT_CIPHER_H
#define MINIPOD_RUNTIME_DATA_TEXT_CIPHER_H

#include <stdbool.h>

#include "runtime/data/text/text_set.h"

typedef struct pod_cipher_options { /* all must be set, as pod_cipher_parse does */
    int64_t n_words;                /* of each language, by default 100 */
    int64_t n_pairs[POD_N_SPLITS];  /* by default 20,000 and 500 */
} pod_cipher_options;

bool pod_cipher_is_spec(const char *spec); /* "cipher" or "cipher:..." */
/* Parses "cipher", "cipher:WORDS" or "cipher:WORDS:N+M" and sets all fields; E_INVALID
 * otherwise. */
POD_MUST pod_status pod_cipher_parse(const char *spec, pod_cipher_options *out);

/* Draws the pairs; alloc NULL: pod_alloc_default. E_NOMEM. */
POD_MUST pod_status pod_cipher_open(const pod_cipher_options *o, uint64_t seed,
                                    const pod_alloc *alloc, pod_text_set **out);

#endif
