/* Finds where sentences end in a paragraph, by a rule for European languages. */
#ifndef MINIPOD_RUNTIME_TEXT_SENTENCE_H
#define MINIPOD_RUNTIME_TEXT_SENTENCE_H

#include <stddef.h>

/* Returns the bytes of the first sentence of a text, with the white space behind it; all of the
 * text if it is one sentence. A sentence ends behind ". ! ? …", with the quotes and brackets that
 * close there, if white space follows and then no lower-case letter; a letter without case counts
 * as lower. It does not end behind a full stop that belongs to a single letter ("J. Smith"), or to
 * a title or another of a short list of abbreviations ("Mr. Knightley"). */
size_t pod_sentence_end(const char *text, size_t bytes);

#endif
