/* Samples of translation (samples.h): a sentence, and its translation as the decoder reads it and as
 * it shall continue it.
 *
 * Both end with [SEP]. The decoder's input is the translation shifted right by one, with no token at
 * its first place (Vaswani et al. 2017; MLPerf's Transformer):
 *
 *   source    how are you ? [SEP] [PAD]
 *   target    -1 wie geht es dir ?         -1 is POD_NO_TOKEN (kernels/embed/embed.h)
 *   answers   wie geht es dir ? [SEP]
 *
 * With n_parts > 1 up to so many pairs of the training split share a sample, one behind the other on
 * each side, so that little of it is padding (as Google's Transformer of MLPerf v0.6 has it):
 *
 *   source    how are you ? [SEP] hello ! [SEP] [PAD]       source_lengths  5 8 8
 *   answers   wie geht es dir ? [SEP] hallo ! [SEP]         target_lengths  6 9 9
 *
 * Which pairs share a sample depends only on their order, their lengths, S and P.
 *
 * A pair of which either side does not fit into S = T tokens with its [SEP] is no training sample
 * (MLPerf's method "discard"). In evaluation every pair is a sample. What does not fit is truncated;
 * a truncated translation affects the loss only, BLEU reads the whole one. */
#ifndef MINIPOD_RUNTIME_DATA_TEXT_SENTENCE_PAIRS_H
#define MINIPOD_RUNTIME_DATA_TEXT_SENTENCE_PAIRS_H

#include "kernels/base/arena.h"
#include "kernels/embed/embed.h" /* POD_NO_TOKEN */
#include "runtime/data/samples.h"
#include "runtime/data/text/text_set.h"

/* The fields, with S = T = seq_len: source i32 (S) and target i32 (T), [PAD] behind the last token;
 * source_lengths and target_lengths i32, tokens that are no padding, or with n_parts = P > 1 where
 * each pair ends, i32 (P), unused ones as the last; answers i32 (T), 0 for padding; weights f32 (T),
 * 1 or 0. */
enum {
    POD_PAIRS_SOURCE,
    POD_PAIRS_SOURCE_LENGTHS,
    POD_PAIRS_TARGET,
    POD_PAIRS_TARGET_LENGTHS,
    POD_PAIRS_ANSWERS,
    POD_PAIRS_WEIGHTS
};

pod_form pod_sentence_pairs_form(int64_t seq_len, int64_t n_parts);

/* Of a split of pairs, which is borrowed. Samples of the test split have the numbers of their rows.
 * E_INVALID, naming the text, if it has no fields "source" and "target", no pair in this split, or
 * for training none that fits; E_NOMEM. */
POD_MUST pod_status pod_sentence_pairs_open(const pod_text_set *t, pod_split split, int64_t seq_len,
                                            int64_t n_parts, pod_arena *a, pod_samples *out);

#endif
