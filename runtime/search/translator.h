/* Translates the test split by beam search (beam.h) on all ranks, and scores it.
 *
 * A translation has at most 50 tokens more than its source, both with end token (MLPerf's
 * Transformer), and at most --seq-len. Sentences of a rank are searched together, POD_SEARCH_ROWS
 * hypotheses at a time, those with sources of one length beside each other. A sentence has the same
 * position in such a set whatever the number of ranks, and ranks share no sums, so that its
 * translation has the same bits.
 *
 * BLEU is that of MLPerf's Transformer (runtime/text/bleu.h): lower case, international
 * tokenization. Both sides are detokenized from ids, because a data set does not store the original
 * text. */
#ifndef MINIPOD_RUNTIME_SEARCH_TRANSLATOR_H
#define MINIPOD_RUNTIME_SEARCH_TRANSLATOR_H

#include "collectives/exec/comm.h"
#include "runtime/core/log.h"
#include "runtime/exec/exec.h"
#include "runtime/task/task.h"

enum { POD_SEARCH_ROWS = 64, POD_SEARCH_MORE_TOKENS = 50 };

/* The programs of a search, in the order of the arrays below. */
enum { POD_SEARCH_ENCODE, POD_SEARCH_STEP, POD_SEARCH_N_PROGRAMS };

typedef struct pod_translator_args { /* all borrowed as long as the translator is used */
    const pod_network *network;      /* of a task that is_searched */
    const pod_setup *setup;
    const pod_dataset *data;
    const pod_samples *samples; /* of its test split */
    const pod_target *target;
    const pod_log *log; /* shows the progress of a run; NULL: nothing is shown */
    int rank, size;
} pod_translator_args;

typedef struct pod_translator pod_translator;

/* Compiles the programs, and allocates all memory that a search needs, in the arena. E_UNSUPPORTED
 * if the network has no search; E_NOMEM; as pod_compile. Local. */
POD_MUST pod_status pod_translator_create(const pod_translator_args *args, pod_arena *arena,
                                          pod_translator **out);
/* Compiles only the programs, for n_samples sentences; 0: as many as are searched together. Uses
 * the network, setup, target and size of args, and data->info. Fails as create does. */
POD_MUST pod_status pod_search_compile(const pod_translator_args *args, int64_t n_samples,
                                       pod_arena *arena,
                                       const pod_program *out[POD_SEARCH_N_PROGRAMS]);
/* Returns the POD_SEARCH_N_PROGRAMS programs. They read variables that the evaluation program
 * reads. */
const pod_program *const *pod_translator_programs(const pod_translator *t);

/* Translates all sentences by the executors of the programs, and sets *bleu, 0 to 100. E_NUMERIC if
 * logits are not finite, E_FORMAT if a sentence cannot be read, E_NOMEM. Collective: the same
 * result on all ranks. */
POD_MUST pod_status pod_translator_run(pod_translator *t,
                                       pod_exec *const exec[POD_SEARCH_N_PROGRAMS], pod_comm *comm,
                                       double *bleu);
/* Writes the translations of the last run: a line for each sentence, in the order of the split, of
 * source, reference and translation, separated by tabs. Rank 0 writes. E_IO, E_WRITE, E_NOMEM.
 * Collective. */
POD_MUST pod_status pod_translator_write(const pod_translator *t, const char *path, pod_comm *comm);

/* Returns the signature of the BLEU score, "case:lc|tok:t2t|smooth:exp|refs:1, beam 4, length
 * penalty 0.6", in the arena; NULL without memory. */
const char *pod_search_about(const pod_setup *s, pod_arena *a);

/* Returns the bytes of a rank's memory beside the programs' slab; 0 if the task has no search. */
size_t pod_search_bytes(const pod_network *network, const pod_setup *s,
                        const pod_dataset_info *data, int64_t n_samples);

#endif
