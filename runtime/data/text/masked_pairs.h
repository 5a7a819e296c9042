/* Samples of BERT's pre-training (samples.h): two segments of a text, some of whose tokens are
 * masked, in the way of google-research/bert, create_pretraining_data.py.
 *
 * A pass over the text walks through every document. Sentences are collected until they have as many
 * tokens as a sequence takes, or fewer on purpose in a share of the documents; the first ones, a
 * random number of them, are segment A. Segment B is what follows, or in half of the cases (always
 * if there is one sentence only) a part of another document; sentences that were collected but not
 * used then stay for the next sample. What is too long loses tokens at random ends.
 *
 * [CLS] A [SEP] B [SEP] has the share mask_rate of its tokens masked: 80 of 100 become [MASK], 10
 * stay, 10 become a random token. All of it is drawn by counter-based numbers from the seed, the
 * pass and the number of the sample. Differences to the original: another document is never the
 * same one, and a pass has as many samples as the first has, the first of which occur twice in a
 * pass that comes out shorter. */
#ifndef MINIPOD_RUNTIME_DATA_TEXT_MASKED_PAIRS_H
#define MINIPOD_RUNTIME_DATA_TEXT_MASKED_PAIRS_H

#include "kernels/base/arena.h"
#include "runtime/data/samples.h"
#include "runtime/data/text/text_set.h"

/* The fields, with S = seq_len and M = max_masked: ids i32 (S), segments i32 (S), 0 or 1; lengths
 * i32, tokens that are no padding; positions i32 (M), ascending, 0 where unused; answers i32 (M), the
 * ids that stood there; weights f32 (M), 1 or 0; next i32, 0: B follows A, 1: it is random, -1: the
 * row is padding. */
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
    double short_share; /* of documents in which samples are short on purpose */
    int static_passes;  /* passes that repeat; 0: each epoch is a pass of its own */
    uint64_t seed;
} pod_masked_pairs;

pod_form pod_masked_pairs_form(const pod_masked_pairs *m);

/* Draws from a split with documents, which is borrowed. E_INVALID, naming the text, if it has
 * other than one field, no documents, or fewer than two of them; E_NOMEM. */
POD_MUST pod_status pod_masked_pairs_open(const pod_text_set *t, pod_split split,
                                          const pod_masked_pairs *m, pod_arena *a,
                                          pod_samples *out);

#endif
