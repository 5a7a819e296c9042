/* Phrases: a synthetic text that needs no file and whose words can be predicted from their
 * neighbours.
 *
 * The language has W words. Each word has one successor, which follows it with probability 0.85;
 * otherwise any word follows, equally likely. This chain runs through all sentences of a document.
 * A model that knows only how often words occur thus predicts about one word in W; a model that has
 * learned the successors predicts more than four of five, and can tell whether one sentence follows
 * another. The language and each document depend only on the seed, by counter-based random
 * numbers. */
#ifndef MINIPOD_RUNTIME_DATA_TEXT_PHRASES_H
#define MINIPOD_RUNTIME_DATA_TEXT_PHRASES_H

#include <stdbool.h>

#include "runtime/data/text/text_set.h"

typedef struct pod_phrases_options {   /* all must be set, as pod_phrases_parse does */
    int64_t n_words;                   /* by default 200 */
    int64_t n_documents[POD_N_SPLITS]; /* by default 2,000 and 200 */
} pod_phrases_options;

bool pod_phrases_is_spec(const char *spec); /* "phrases" or "phrases:..." */
/* Parses "phrases", "phrases:WORDS" or "phrases:WORDS:N+M" and sets all fields; POD_E_INVALID
 * otherwise. */
POD_MUST pod_status pod_phrases_parse(const char *spec, pod_phrases_options *out);

/* Draws the text; alloc NULL: pod_alloc_default. E_NOMEM. */
POD_MUST pod_status pod_phrases_open(const pod_phrases_options *o, uint64_t seed,
                                     const pod_alloc *alloc, pod_text_set **out);

#endif
