/* Turns word pieces back into a sentence, for eval and for BLEU.
 *
 * Pieces with "##" join the piece before them. Words are separated by blanks, except at
 * punctuation: closing marks and the full stop follow a word directly, opening marks are followed
 * by one directly, straight quotes open and close in turn, and an apostrophe, a hyphen or a slash
 * between two words joins them where text of English and German does so ("don't", "well-known").
 * The tokenizer forgets blanks, so the rule guesses. [PAD], [CLS] and [SEP] have no text. */
#ifndef MINIPOD_RUNTIME_TEXT_DETOKENIZE_H
#define MINIPOD_RUNTIME_TEXT_DETOKENIZE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/text/vocab.h"

typedef struct pod_chars { /* text in memory of malloc, with a closing 0; a zeroed one is empty */
    char *text;
    size_t n, room;
} pod_chars;
void pod_chars_free(pod_chars *c); /* makes it empty */

/* Sets `out` to the text of n ids, each in the vocabulary. E_NOMEM. */
POD_MUST pod_status pod_detokenize(const pod_vocab *v, int64_t n, const int32_t id[],
                                   pod_chars *out);

#endif
