/* Kernels whose time is that of memory, in one table: what each function reads and writes, so that
 * operands, bytes and checks follow from it. */
#ifndef MINIPOD_BENCH_KERNELS_VECTOR_H
#define MINIPOD_BENCH_KERNELS_VECTOR_H

#include "bench/kernels/kernels.h"

enum { POD_MAX_VECTOR_OPERANDS = 12 };

typedef enum pod_vector_role {
    POD_READS,
    POD_UPDATES,     /* reads and writes; every set leaves the same bits */
    POD_WRITES,      /* the same bits */
    POD_SUMS,        /* writes sums, of terms within `most` */
    POD_APPROXIMATES /* writes what is near the reference's, of values within `most` */
} pod_vector_role;

typedef enum pod_vector_type {
    POD_TYPE_PROBLEM, /* bf16 or f32, as the problem says */
    POD_TYPE_OTHER,   /* the other one */
    POD_TYPE_F32,
    POD_TYPE_U8,
    POD_TYPE_LABELS /* I32 below the number of columns */
} pod_vector_type;

typedef enum pod_vector_extent {                    /* elements */
                                 POD_EXTENT_ALL,    /* rows columns; of images, the input */
                                 POD_EXTENT_OUTPUT, /* of images: the output */
                                 POD_EXTENT_MEANS,  /* of images: a pixel each */
                                 POD_EXTENT_COLUMNS,
                                 POD_EXTENT_ROWS,
                                 POD_EXTENT_ONE
} pod_vector_extent;

typedef struct pod_vector_operand {
    pod_vector_role role;
    pod_vector_type type;
    pod_vector_extent extent;
    bool is_positive; /* numbers are 0.5 to 1.5 rather than -1 to 1 */
    double most;
} pod_vector_operand;

typedef struct pod_vector_args {
    const pod_problem *problem;
    pod_dtype t, other;
    int64_t count, rows, c;
    void *v[POD_MAX_VECTOR_OPERANDS];
} pod_vector_args;

typedef struct pod_vector_op {
    pod_family_id family;
    const char *function;
    void (*run)(const void *set, const pod_vector_args *a);
    int n_operands;
    pod_vector_operand operand[POD_MAX_VECTOR_OPERANDS];
} pod_vector_op;

/* NULL: the family is none of those. */
const pod_vector_op *pod_vector_find(const pod_problem *p);
/* The i-th set of the family, also of depthwise, the reference last: its name and needs; NULL behind it,
 * and of families whose kernels are picked by rates. */
const void *pod_vector_set(pod_family_id family, int i, const char **name, uint32_t *needs);

/* Of a problem of one function: whether no number of it can be of another floating type. */
bool pod_vector_is_f32_only(const pod_problem *p);
int64_t pod_vector_count(const pod_problem *p, const pod_vector_operand *o);
pod_dtype pod_vector_dtype(const pod_problem *p, const pod_vector_operand *o);
double pod_vector_bytes(const pod_problem *p);

#endif
