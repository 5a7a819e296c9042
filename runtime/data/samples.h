/* Samples: what a loader makes batches of. A batch has one array for each field, and a sample is a
 * row in each of them. A task (runtime/task/task.h) draws samples from a data set. */
#ifndef MINIPOD_RUNTIME_DATA_SAMPLES_H
#define MINIPOD_RUNTIME_DATA_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/base/dtype.h"
#include "kernels/base/status.h"

enum { POD_MAX_FIELDS = 8, POD_MAX_ROW_DIMS = 3 };

typedef struct pod_field {
    const char *name; /* of the program's input that it feeds */
    pod_dtype dtype;
    int n_dims; /* of a row; 0: a scalar */
    int64_t dim[POD_MAX_ROW_DIMS];
} pod_field;

typedef struct pod_form { /* of a batch */
    int n_fields;
    pod_field field[POD_MAX_FIELDS];
} pod_form;

int64_t pod_field_row_bytes(const pod_field *f);
int64_t pod_form_row_bytes(const pod_form *f); /* of all fields */

typedef struct pod_samples pod_samples;
struct pod_samples {
    pod_form form;
    int64_t n;
    int64_t n_pairs,
        n_too_long; /* of a text of pairs: all pairs; pairs that are too long for a sample */
    size_t scratch_bytes;
    size_t kept_bytes; /* memory of `source`, in addition to the data set */
    void *source;      /* of fill and pad */
    /* Writes sample 0 <= sample < n, as drawn for this epoch, to row[i] of each field i. Called
     * from several threads at once; each has scratch_bytes of its own, aligned to 64. */
    pod_status (*fill)(const pod_samples *s, int64_t epoch, int64_t sample, void *const row[],
                       void *scratch);
    /* Writes a padding row, which no sum over the batch counts. */
    void (*pad)(const pod_samples *s, void *const row[]);
};

void pod_samples_pad_zeros(const pod_samples *s, void *const row[]); /* a `pad`: all fields are 0 */

#endif
