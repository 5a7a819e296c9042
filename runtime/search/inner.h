/* The programs of a search. Private to this folder. */
#ifndef MINIPOD_RUNTIME_SEARCH_INNER_H
#define MINIPOD_RUNTIME_SEARCH_INNER_H

#include "runtime/search/translator.h"

typedef struct pod__search_size {     /* of a rank */
    int64_t n_sentences, width, room; /* N, B; S and T */
    int64_t n_tokens, hidden;         /* V, H */
    int n_values;
    pod_dtype dtype; /* of source and earlier */
} pod__search_size;

pod__search_size pod__search_size_of(const pod_network *network, const pod_setup *s,
                                     const pod_dataset_info *data, int64_t n_samples);

/* Indices of inputs, -1 for one that a program does not read. Outputs: of encode the values, of
 * step the logits and then the rows. */
typedef struct pod__search_programs {
    const pod_program *program[POD_SEARCH_N_PROGRAMS];
    int source_ids, source_lengths;                                    /* of encode */
    int token, count, lengths;                                         /* of step */
    int source[POD_MAX_SEARCH_VALUES], earlier[POD_MAX_SEARCH_VALUES]; /* of step */
} pod__search_programs;

/* Compiles both programs for a mesh of args->size cores, each with z->n_sentences sentences. */
POD_MUST pod_status pod__search_compile(const pod_translator_args *args, const pod__search_size *z,
                                        pod_arena *arena, pod__search_programs *out);

#endif
