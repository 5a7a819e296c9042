/* Samples of BERT's pre-training (samples.h): two segments of a text with some tokens masked, made
 * as in google-research/bert, create_pretraining_data.py.
 *
 * A pass over the text visits every document. It collects sentences until they have as many tokens
 * as a sample can hold, or, in the share short_share of the documents, a smaller random number of
 * tokens. A random number of the first sentences is segment A. Segment B is the rest; or, in half
 * of the cases, and always if only one sentence was collected, consecutive sentences of another
 * document. The collected sentences that are then not used go into the next sample. If A and B
 * together are too long, tokens are dropped one by one at a random end of the longer segment.
 *
 * In [CLS] A [SEP] B [SEP] the share mask_rate of the tokens is masked: 80 of 100 become [MASK], 10
 * stay, 10 become a random token. All random numbers are counter-based: they depend only on the
 * seed, the pass, and the number of the document or sample. Differences to the original: the other
 * document is never the same one; and every pass has as many samples as the first one: surplus
 * samples are dropped, and a pass with fewer repeats its first ones. */
#ifndef MINIPOD_RUNTIME_DATA_TEXT_MASKED_PAIRS_H
#define MINIPOD_RUNTIME_DATA_TEXT_MASKED_PAIRS_H

#include "kernels/base/arena.h"
#include "runtime/data/samples.h"
#include "runtime/data/text/text_set.h"

/* The fields, with S = seq_len and M = max_masked: ids i32 (S); segments i32 (S), 0 or 1; lengths
 * i32, the number of tokens without padding; positions i32 (M) of masked tokens, ascending, 0 where
 * unused; answers i32 (M), the original ids at these positions; weights f32 (M), 1, or 0 where
 * unused; next i32, 0: B follows A, 1: B is random, -1: the row is padding. */
enum {
    POD_MASKED_IDS,
    POD_MASKED_SEGMENTS,
    POD_MASKED_LENGTHS,
    POD_MASKED_POSITIONS,
    POD_MASKED_ANSWERS,
    POD_MASKED_WEIGHTS,
    POD_MASKED_NEXT
};

typedef struct pod_masked_pairs {
    int64_t seq_len;    /* at least 5: three special tokens and one of each segment */
    int64_t max_masked; /* at least 1 */
    double mask_rate;
    double short_share; /* share of documents whose samples are short on purpose */
    int static_passes;  /* N: epoch e is pass e mod N; 0: epoch e is pass e */
    uint64_t seed;
} pod_masked_pairs;

pod_form pod_masked_pairs_form(const pod_masked_pairs *m);

/* Makes the samples of a split with documents; the text is borrowed. E_INVALID, naming the text, if
 * it has other than one field, no documents, or fewer than two of them; E_NOMEM. */
POD_MUST pod_status pod_masked_pairs_open(const pod_text_set *t, pod_split split,
                                          const pod_masked_pairs *m, pod_arena *a,
                                          pod_samples *out);

#endif
