/* A vocabulary of word pieces: a token's id is its line, from 0. Tokens that continue a word begin
 * with "##". */
#ifndef MINIPOD_RUNTIME_TEXT_VOCAB_H
#define MINIPOD_RUNTIME_TEXT_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"

typedef enum pod_special {
    POD_PAD,
    POD_UNK,
    POD_CLS,
    POD_SEP,
    POD_MASK,
    POD_N_SPECIALS
} pod_special;
extern const char *const pod_special_token[POD_N_SPECIALS]; /* "[PAD]", ... */

enum { POD_VOCAB_MAX = 1 << 22, POD_TOKEN_MAX_BYTES = 1024 };

typedef struct pod_vocab {
    int32_t n;
    const char *const *token;        /* (n), distinct, UTF-8 */
    int32_t special[POD_N_SPECIALS]; /* ids, such as 0, 100, 101, 102, 103 */
    size_t longest;                  /* bytes of the longest token */
    bool has_capitals;               /* a token has a letter A to Z; those in [] do not count */
    uint32_t n_slots;                /* a power of two */
    const int32_t *slot;             /* (n_slots): a token's id, or -1 */
} pod_vocab;

/* Reads a text file with one token per line; white space at the ends of a line is ignored. The
 * vocabulary lives in the arena. E_IO; E_FORMAT, with file and line, for a line without a token,
 * invalid UTF-8, a token in two lines, a token of more than POD_TOKEN_MAX_BYTES, more than
 * POD_VOCAB_MAX tokens, and a special token that is missing. */
POD_MUST pod_status pod_vocab_read(const char *path, pod_arena *a, const pod_vocab **out);
/* Makes one of n tokens, which are borrowed as long as it lives, with the same checks; `where`
 * names their source in errors. */
POD_MUST pod_status pod_vocab_make(const char *where, int64_t n, const char *const token[],
                                   pod_arena *a, const pod_vocab **out);
/* Writes one token per line. */
POD_MUST pod_status pod_vocab_write(const char *path, int64_t n, const char *const token[]);

int32_t pod_vocab_find(const pod_vocab *v, const char *token); /* its id, or -1 */

/* Splits a word greedily into the longest tokens from the left; `bytes` bytes of valid UTF-8, at
 * least 1, none of them 0. Writes their ids to id, which has room for `bytes`. Returns how many; 0
 * if a part of the word is in no token. */
size_t pod_vocab_split(const pod_vocab *v, const char *word, size_t bytes, int32_t id[]);

#endif
