/* Trains a vocabulary of word pieces from words and their counts, in the way of Hugging Face's
 * WordPieceTrainer (byte-pair merges with "##"):
 *
 *   1. The special tokens come first: [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4.
 *   2. The alphabet is the n_alphabet most frequent characters; of equally frequent ones the lower
 *      code point. Each is a token, in the order of code points; then "##" and the character, for
 *      those that occur behind the first character of a word, in the same order. Words with another
 *      character, or with more than POD_WORD_MAX_CHARS characters, are not counted: the tokenizer
 *      makes them [UNK].
 *   3. At first a word is its characters. While there are fewer than `size` tokens, the pair of
 *      neighbours that occurs most often in all words becomes one token, in all words; of equally
 *      frequent pairs the one with the lower left id, then with the lower right id. Training ends
 *      early if no pair occurs min_count times.
 *
 * The result depends on the counts only: not on the order of words, nor on the machine. */
#ifndef MINIPOD_RUNTIME_TEXT_VOCAB_TRAIN_H
#define MINIPOD_RUNTIME_TEXT_VOCAB_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"

typedef struct pod_word_counts pod_word_counts;

typedef struct pod_word_count {
    size_t at, bytes; /* of the word in pod_word_counts_list */
    int64_t count;
} pod_word_count;

POD_MUST pod_status pod_word_counts_create(pod_word_counts **out);
void pod_word_counts_destroy(pod_word_counts *c); /* NULL is allowed */
/* Counts a word; of the type pod_word_visit (basic.h), with the counts as ctx. E_NOMEM. */
POD_MUST pod_status pod_word_counts_add(void *counts, const char *word, size_t bytes,
                                        size_t n_chars);
/* The distinct words in the order of their first occurrences; borrowed until the next add. */
size_t pod_word_counts_list(const pod_word_counts *c, const pod_word_count **word,
                            const char **text);

typedef struct pod_vocab_options {
    int64_t size;      /* tokens, at most POD_VOCAB_MAX */
    int64_t min_count; /* usually 2 */
    int n_alphabet;    /* usually 1000 */
} pod_vocab_options;

/* Sets *token to the tokens, (*n) of them, in the arena. E_INVALID if `size` has no room for the
 * special tokens and the alphabet; E_NOMEM. */
POD_MUST pod_status pod_vocab_train(const pod_word_counts *c, const pod_vocab_options *options,
                                    pod_arena *a, int64_t *n, const char *const **token);

#endif
