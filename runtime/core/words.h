/* Comma-separated lists of words, as in options: "8,16,32"; and names. */
#ifndef MINIPOD_RUNTIME_CORE_WORDS_H
#define MINIPOD_RUNTIME_CORE_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "kernels/base/status.h"

/* Copies the first of the words in a comma-separated list to `word` (room bytes), and moves *text
 * behind its comma, or to the end. E_INVALID, naming `what`, if the word does not fit; *text then
 * stays. */
POD_MUST pod_status pod_word_take(const char *what, const char **text, char *word, size_t room);

/* Returns whether `word` is in the comma-separated `list`. */
bool pod_word_is_in(const char *list, const char *word);

bool pod_text_ends_in(const char *text, const char *ending);

/* Returns the only one of `names` that begins with `given`; else the one that is the fewest letters
 * (inserted, deleted or changed) away; NULL if these are more than three, or more than half of the
 * letters given. */
const char *pod_nearest_name(const char *given, const char *const names[], int n);

#endif
