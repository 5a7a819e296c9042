/* Samples of a language model (samples.h): rows of a text, of which each token but the first is
 * predicted from those before it.
 *
 * The documents of a split follow each other as one stream of ids, with a [SEP] before the first
 * and behind each one; sentences have no mark. The stream is cut into rows of S + 1 ids, which
 * share their first and last ones:
 *
 *   [SEP] a a a a [SEP] b b [SEP]         two documents, S = 3
 *   [SEP] a a a                           row 0: reads [SEP] a a, predicts a a a
 *             a a [SEP] b                 row 1
 *                       b b [SEP]         row 2: the last row may be shorter and is padded
 *
 * Thus an epoch predicts every token once, and the end of every document. A token is
 * predicted only from the tokens before it in its own row, also if these are of another document.
 * Every epoch has the same rows, in another order (sampler.h). */
#ifndef MINIPOD_RUNTIME_DATA_TEXT_NEXT_TOKENS_H
#define MINIPOD_RUNTIME_DATA_TEXT_NEXT_TOKENS_H

#include "kernels/base/arena.h"
#include "runtime/data/samples.h"
#include "runtime/data/text/text_set.h"

/* The fields, with S = seq_len: ids i32 (S), [PAD] behind the last one; lengths i32, the number of
 * tokens without padding; answers i32 (S), the token that follows each, 0 for padding; weights f32
 * (S), 1 or 0. */
enum { POD_NEXT_IDS, POD_NEXT_LENGTHS, POD_NEXT_ANSWERS, POD_NEXT_WEIGHTS };

pod_form pod_next_tokens_form(int64_t seq_len);

/* Makes the samples of a split with documents; the text is borrowed. E_INVALID, naming the text, if
 * it has other than one field, or no documents, or none in this split; E_NOMEM. */
POD_MUST pod_status pod_next_tokens_open(const pod_text_set *t, pod_split split, int64_t seq_len,
                                         pod_arena *a, pod_samples *out);

#endif
