/* BLEU of a corpus: the geometric mean of the precisions of 1- to 4-grams, times a brevity penalty
 * (Papineni et al., 2002). Equal to sacrebleu with one reference, tok:13a, smooth:exp, eff:no.
 *
 *   precision of order n   matches, clipped to the reference's count in each sentence, over all
 *                          n-grams of the hypotheses; an order without a match counts as
 *                          1 / (2^k possible), if it is the k-th such order
 *   brevity penalty        exp(1 - reference length / hypothesis length) if that is below 1
 *
 * The score is 0 without any match, and if the hypotheses have no n-gram of some order.
 *
 * Two tokenizations. POD_BLEU_13A is that of WMT (mteval-v13a, sacrebleu's default): ASCII marks
 * are separate, but a full stop and a comma only where no digit is beside them, and a hyphen
 * behind a digit. POD_BLEU_INTERNATIONAL is that of MLPerf's Transformer (tensor2tensor's
 * bleu_hook): characters of category P are separate unless digits are on both sides, those of
 * category S always. */
#ifndef MINIPOD_RUNTIME_TEXT_BLEU_H
#define MINIPOD_RUNTIME_TEXT_BLEU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/status.h"

enum { POD_BLEU_ORDERS = 4 };

typedef enum pod_bleu_tokens { POD_BLEU_13A, POD_BLEU_INTERNATIONAL } pod_bleu_tokens;

/* Sums over sentences: those of two sets of sentences add up field by field. */
typedef struct pod_bleu_sums {
    int64_t n_matches[POD_BLEU_ORDERS], n_possible[POD_BLEU_ORDERS];
    int64_t hypothesis_length, reference_length; /* in words */
} pod_bleu_sums;

/* Adds a sentence; texts of UTF-8 that end with 0. `is_cased` false: both become lower case
 * (sacrebleu -lc). E_NOMEM. */
POD_MUST pod_status pod_bleu_add(pod_bleu_sums *sums, pod_bleu_tokens tokens, bool is_cased,
                                 const char *hypothesis, const char *reference);
/* The score, 0 to 100. */
double pod_bleu_score(const pod_bleu_sums *sums);
/* "case:lc|tok:13a|smooth:exp|refs:1": what a printed score has to say of itself. */
const char *pod_bleu_name(pod_bleu_tokens tokens, bool is_cased);

#endif
