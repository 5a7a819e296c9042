/* Checkpoints of made models, written by one process that plays all ranks. */
#ifndef MINIPOD_TESTS_HARNESS_CHECKPOINTS_H
#define MINIPOD_TESTS_HARNESS_CHECKPOINTS_H

#include "runtime/checkpoint/write.h"
#include "tests/harness/harness.h"

enum { POD_TEST_MAX_TENSORS = 24, POD_TEST_MAX_RANKS = 9 };

typedef struct pod_test_model {
    int n;
    pod_tensor tensor[POD_TEST_MAX_TENSORS]; /* with data */
    bool is_dealt[POD_TEST_MAX_TENSORS];
} pod_test_model;

/* Variables of all numbers of dimensions, one element to many; the same for the same seed. `data`
 * is drawn by `values`. */
void pod_test_model_make(pod_arena *a, uint64_t seed, uint64_t values, pod_test_model *out);
/* The same variables with no values. */
void pod_test_model_blank(pod_arena *a, const pod_test_model *m, pod_test_model *out);
bool pod_test_model_same(const pod_test_model *a, const pod_test_model *b);

extern const pod_checkpoint_info pod_test_info; /* but for its step */
extern const pod_eval_rows pod_test_evals;      /* in each of them */

/* All ranks save, rank 0 last; those whose shard fails say so. `disk` is one a rank, or NULL. */
POD_MUST pod_status pod_test_save(const pod_test_model *m, const char *dir, int64_t step, int ranks,
                                  pod_disk disk[]);
/* Likewise as `as` says: left_from, own_from, is_kept. */
POD_MUST pod_status pod_test_save_as(const pod_test_model *m, const char *dir, int64_t step,
                                     int ranks, pod_disk disk[], const pod_checkpoint_save *as);
/* Loads the best checkpoint in `dir`; answers its step, -1: none. Fails the test where one was
 * loaded that is not `m` of that step. What was warned of goes into `said` (when not NULL). */
typedef const pod_test_model *pod_test_model_of(const void *ctx, int64_t step);
int64_t pod_test_load(const char *dir, pod_test_model_of *of, const void *ctx, char *said,
                      size_t said_bytes);

#endif
