/* Shared by the synthetic languages (phrases.h, cipher.h): their words, and the form of their
 * specs, NAME[:WORDS[:N+M]]. Private to this folder. */
#ifndef MINIPOD_RUNTIME_DATA_TEXT_MADE_H
#define MINIPOD_RUNTIME_DATA_TEXT_MADE_H

#include <stdbool.h>

#include "kernels/base/rng.h"
#include "runtime/data/text/text_set.h"

enum { POD__MADE_MAX_WORDS = 4900 }; /* that have distinct names */

/* Makes a vocabulary of the special tokens and n_words words of four letters; word i has id
 * POD_N_SPECIALS + i. E_NOMEM. */
POD_MUST pod_status pod__made_vocabulary(const char *name, int64_t n_words, pod_arena *a,
                                         const pod_vocab **out);

int64_t pod__made_between(pod_rng *r, int64_t low, int64_t high); /* both included */

bool pod__made_is_spec(const char *name, const char *spec); /* "name" or "name:..." */

typedef struct pod__made_form {
    const char *name;  /* "phrases" */
    const char *units; /* "documents": what N+M counts */
    int64_t most_words;
} pod__made_form;
/* Parses a spec for which pod__made_is_spec is true; numbers that it omits stay unchanged.
 * E_INVALID. */
POD_MUST pod_status pod__made_parse(const pod__made_form *form, const char *spec, int64_t *n_words,
                                    int64_t n_units[POD_N_SPLITS]);

#endif
