/* Beam search (Wu et al. 2016, section 7; as tensor2tensor's beam_search.py) for several sentences
 * at once. It is pure: the caller passes the logits of the next token of each hypothesis, and the
 * search returns which hypotheses continue.
 *
 *   score = (sum of log probabilities) / ((5 + length) / 6)^alpha      length: with the end token
 *
 * A sentence has `width` alive hypotheses, ordered by their sums. Of all their continuations the
 * best ones, twice `width` of them, are candidates. Candidates that end become finished hypotheses,
 * of which the `width` best by score stay; of the other candidates the `width` best are alive. The
 * search of a sentence ends at its limit, or earlier if its worst finished hypothesis has a higher
 * score than the best alive one would have with its sum at the limit's length. The answer is the
 * best finished hypothesis or, if there is none, the best alive one. With width 1 the search is
 * greedy: it follows the most probable token until that is the end.
 *
 * Ties go to the better hypothesis, then to the lower id, so that a search has one answer. */
#ifndef MINIPOD_RUNTIME_SEARCH_BEAM_H
#define MINIPOD_RUNTIME_SEARCH_BEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"

typedef struct pod_beam_plan {
    int64_t n_sentences, width, n_tokens; /* n_tokens: of the vocabulary, V */
    int64_t room;                         /* tokens of the longest hypothesis, the end token too */
    int32_t start, end;                   /* ids: before the first token, and behind the last */
    double alpha;                         /* at least 0 */
} pod_beam_plan;

typedef struct pod_beam pod_beam;

/* Allocates all memory of the searches in the arena. E_NOMEM. */
POD_MUST pod_status pod_beam_create(const pod_beam_plan *plan, pod_arena *a, pod_beam **out);

/* Begins a search of up to n_sentences sentences. limit[i], at most room, is the number of tokens
 * at which the search of sentence i ends; 0: there is no sentence i. */
void pod_beam_begin(pod_beam *b, const int64_t limit[]);
bool pod_beam_is_done(const pod_beam *b); /* all sentences */

/* Returns the last token of each hypothesis, (n_sentences, width), at first `start`. Hypotheses of
 * a sentence that is done also have one. */
const int32_t *pod_beam_tokens(const pod_beam *b);

/* Takes the logits of the next token, (n_sentences, width, V), and appends one to each hypothesis.
 * Writes to parent (n_sentences, width) which row each hypothesis continues. The caller then copies
 * its state of each row from the row's parent. Allocates nothing. E_NUMERIC if logits of a sentence
 * that is not done are not finite. */
POD_MUST pod_status pod_beam_advance(pod_beam *b, const float logits[], int64_t parent[]);

/* Returns the answer for a sentence that is done: its *n tokens, without the end token; borrowed
 * until the next begin. `score` may be NULL. */
const int32_t *pod_beam_answer(const pod_beam *b, int64_t sentence, int64_t *n, double *score);

#endif
