/* Samples of translation (samples.h): a source sentence, the decoder's input, and the tokens that
 * the decoder must predict (answers).
 *
 * Both end with [SEP]. The decoder's input is the translation shifted right by one, with no token
 * at its first position (Vaswani et al. 2017; MLPerf's Transformer):
 *
 *   source    how are you ? [SEP] [PAD]
 *   target    -1 wie geht es dir ?         -1 is POD_NO_TOKEN (kernels/embed/embed.h)
 *   answers   wie geht es dir ? [SEP]
 *
 * With n_parts > 1, up to n_parts pairs of the training split are packed into a sample, one after
 * the other on each side, so that it has little padding (as in Google's Transformer of MLPerf
 * v0.6):
 *
 *   source    how are you ? [SEP] hello ! [SEP] [PAD]       source_lengths  5 8 8
 *   answers   wie geht es dir ? [SEP] hallo ! [SEP]         target_lengths  6 9 9
 *
 * Which pairs share a sample depends only on their order, their lengths, seq_len and n_parts.
 *
 * Training skips a pair if either side with its [SEP] is longer than seq_len (MLPerf's method
 * "discard"). In evaluation every pair is a sample, and sides that are too long are truncated; a
 * truncated translation affects only the loss, because BLEU reads the whole one. */
#ifndef MINIPOD_RUNTIME_DATA_TEXT_SENTENCE_PAIRS_H
#define MINIPOD_RUNTIME_DATA_TEXT_SENTENCE_PAIRS_H

#include "kernels/base/arena.h"
#include "kernels/embed/embed.h" /* POD_NO_TOKEN */
#include "runtime/data/samples.h"
#include "runtime/data/text/text_set.h"

/* The fields, with S = T = seq_len and P = n_parts: source i32 (S) and target i32 (T), [PAD] behind
 * the last token; source_lengths and target_lengths i32, the number of tokens without padding, or,
 * if P exceeds 1, i32 (P), the end of each pair, where unused entries repeat the last end; answers
 * i32 (T), 0 for padding; weights f32 (T), 1 or 0. */
enum {
    POD_PAIRS_SOURCE,
    POD_PAIRS_SOURCE_LENGTHS,
    POD_PAIRS_TARGET,
    POD_PAIRS_TARGET_LENGTHS,
    POD_PAIRS_ANSWERS,
    POD_PAIRS_WEIGHTS
};

pod_form pod_sentence_pairs_form(int64_t seq_len, int64_t n_parts);

/* Makes the samples of a split of pairs; the text is borrowed. They are the same in every epoch.
 * Sample i of the test split is row i. E_INVALID, naming the text, if it has no fields "source"
 * and "target", no pair in this split, or for training none that fits; E_NOMEM. */
POD_MUST pod_status pod_sentence_pairs_open(const pod_text_set *t, pod_split split, int64_t seq_len,
                                            int64_t n_parts, pod_arena *a, pod_samples *out);

#endif
