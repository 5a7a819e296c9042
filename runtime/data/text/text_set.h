/* A data set of text: rows of token ids, of different lengths, in an HDF5 file.
 *
 * A row is a sentence (`data import text`) or a pair of sentences in two languages (`data import
 * pairs`). A field holds an array of ids for each row: the field `tokens` of sentences, the fields
 * `source` and `target` of pairs. Sentences are grouped into documents.
 *
 * Layout of the file, version 2 (doc/datasets.md). <split> is train or test; a split may be empty:
 *
 *   /<split>/<field>/values    i32 (T)      the ids of all rows, one after the other
 *   /<split>/<field>/offsets   i64 (N + 1)  row i has values offsets[i] .. offsets[i + 1] - 1
 *   /<split>/documents         i64 (D + 1)  document d: rows documents[d] .. documents[d + 1] - 1;
 *                                           absent for pairs
 *   /vocabulary                strings (V)  the token of each id
 *   minipod_dataset            integer 2    this and what follows are attributes of the root
 *   fields                     strings      "tokens", or "source" and "target"
 *   is_cased                   integer      0: the tokenizer made words lower case, without accents
 *   name, origin, licence      string */
#ifndef MINIPOD_RUNTIME_DATA_TEXT_TEXT_SET_H
#define MINIPOD_RUNTIME_DATA_TEXT_TEXT_SET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "runtime/data/dataset.h"
#include "runtime/text/vocab.h"

enum { POD_TEXT_VERSION = 2, POD_TEXT_MAX_FIELDS = 2 };
enum { POD_TEXT_SOURCE, POD_TEXT_TARGET }; /* the fields of pairs */

typedef struct pod_text_info {
    const char *name, *origin, *licence; /* "" when not known */
    int n_fields;
    const char *field[POD_TEXT_MAX_FIELDS]; /* "tokens"; or "source", "target" */
    bool has_documents;
    bool is_cased;
    const pod_vocab *vocab;
    int64_t n_rows[POD_N_SPLITS];
    int64_t n_documents[POD_N_SPLITS]; /* each of at least one row; 0 without documents */
    int64_t n_tokens[POD_N_SPLITS][POD_TEXT_MAX_FIELDS];
    int64_t longest[POD_N_SPLITS][POD_TEXT_MAX_FIELDS]; /* tokens of the longest row */
} pod_text_info;

/* Returns whether the file has this layout. E_IO, E_FORMAT if it cannot be read. */
POD_MUST pod_status pod_text_set_is(const char *path, bool *out);

/* Opens a file and checks its arrays. Offsets are read into memory; ids, too, if all fit in
 * cache_bytes, else each read goes to the file. alloc NULL: pod_alloc_default. E_IO; E_FORMAT,
 * which names the file and the array, also for a file of images; E_NOMEM. */
POD_MUST pod_status pod_text_set_open(const char *path, int64_t cache_bytes, const pod_alloc *alloc,
                                      pod_text_set **out);
/* The arrays of a split in memory, as in the layout above. */
typedef struct pod_text_arrays {
    int64_t n_rows, n_documents;
    const int64_t *offset[POD_TEXT_MAX_FIELDS]; /* (n_rows + 1) */
    const int32_t *id[POD_TEXT_MAX_FIELDS];
    const int64_t *document; /* (n_documents + 1), or NULL */
} pod_text_arrays;

/* Creates a set from arrays in memory, which must be valid as those of a file. Computes the counts
 * of its info. The arrays live in `arena`, which the set owns if this succeeds. E_NOMEM. */
POD_MUST pod_status pod_text_set_make(const pod_text_info *info,
                                      const pod_text_arrays split[POD_N_SPLITS], pod_arena *arena,
                                      pod_text_set **out);
void pod_text_set_close(pod_text_set *t); /* NULL is allowed */
const pod_text_info *pod_text_set_info(const pod_text_set *t);

/* The functions below may be called from several threads at once. An index out of range aborts. */

/* Returns the number of ids, at least 1, that a row has in a field (an index into info's). */
int64_t pod_text_set_length(const pod_text_set *t, pod_split split, int field, int64_t row);
/* Writes ids first .. first + count - 1 of a row to id. E_FORMAT if the file cannot be read, or has
 * an id that is none of the vocabulary. */
POD_MUST pod_status pod_text_set_read(const pod_text_set *t, pod_split split, int field,
                                      int64_t row, int64_t first, int64_t count, int32_t id[]);
/* The same for ids first .. first + count - 1 of the rows of a split concatenated, which are
 * n_tokens in all. Fast for long runs if ids are read from the file. */
POD_MUST pod_status pod_text_set_read_flat(const pod_text_set *t, pod_split split, int field,
                                           int64_t first, int64_t count, int32_t id[]);
/* Returns the index of a row's first id in that concatenation. */
int64_t pod_text_set_offset(const pod_text_set *t, pod_split split, int field, int64_t row);
/* Returns (n_documents + 1): the first row of each document, then the number of rows; NULL without
 * documents. The array lives as long as the set. */
const int64_t *pod_text_set_documents(const pod_text_set *t, pod_split split);

/* Print what `data info` shows: rows, documents, tokens, the share of [UNK], and lengths by
 * percentile. E_FORMAT as above; E_NOMEM. */
POD_MUST pod_status pod_text_set_print(const pod_text_set *t, FILE *to);
POD_MUST pod_status pod_text_set_print_json(const pod_text_set *t, FILE *to);

#endif
