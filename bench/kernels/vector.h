/* A table of kernels that are limited by memory: what each function reads and writes. Operands,
 * bytes and checks follow from it. */
#ifndef MINIPOD_BENCH_KERNELS_VECTOR_H
#define MINIPOD_BENCH_KERNELS_VECTOR_H

#include "bench/kernels/kernels.h"

enum { POD_MAX_VECTOR_OPERANDS = 12 };

/* Rows that are looked up: 8 sequences of 128 tokens, and 20 predictions of each. */
enum { POD_VECTOR_TOKENS = 1024, POD_VECTOR_PICKS = 160 };

typedef enum pod_vector_role {
    POD_READS,
    POD_UPDATES,     /* reads and writes; all kernels leave the same bits */
    POD_WRITES,      /* all kernels write the same bits */
    POD_SUMS,        /* writes sums of terms whose absolute value is at most `most` */
    POD_APPROXIMATES /* writes values of at most `most`, close to the reference's */
} pod_vector_role;

typedef enum pod_vector_type {
    POD_TYPE_PROBLEM, /* bf16 or f32: the problem's type */
    POD_TYPE_OTHER,   /* the other of the two */
    POD_TYPE_F32,
    POD_TYPE_U8,
    POD_TYPE_LABELS, /* I32, less than the number of columns */
    POD_TYPE_IDS     /* I32, less than the number of rows */
} pod_vector_type;

typedef enum pod_vector_extent {                    /* elements */
                                 POD_EXTENT_ALL,    /* rows columns; of images, the input */
                                 POD_EXTENT_OUTPUT, /* of images: the output */
                                 POD_EXTENT_MEANS,  /* of images: one per image and channel */
                                 POD_EXTENT_COLUMNS,
                                 POD_EXTENT_ROWS,
                                 POD_EXTENT_TOKENS,      /* POD_VECTOR_TOKENS */
                                 POD_EXTENT_TOKEN_ROWS,  /* a row for each of them */
                                 POD_EXTENT_TOKEN_TABLE, /* ALL, of which TOKENS rows are used */
                                 POD_EXTENT_PICKS,       /* POD_VECTOR_PICKS; likewise */
                                 POD_EXTENT_PICK_ROWS,
                                 POD_EXTENT_PICK_TABLE,
                                 POD_EXTENT_ONE
} pod_vector_extent;

typedef struct pod_vector_operand {
    pod_vector_role role;
    pod_vector_type type;
    pod_vector_extent extent;
    bool is_positive; /* numbers are from 0.5 to 1.5 instead of -1 to 1 */
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

/* Returns NULL if the problem's family is not in the table. */
const pod_vector_op *pod_vector_find(const pod_problem *p);
/* Returns the i-th set of a family (depthwise included), with its name and needs; the reference is
 * last. NULL after the last, and for families whose kernels are chosen by rates. */
const void *pod_vector_set(pod_family_id family, int i, const char **name, uint32_t *needs);

/* Returns whether the problem's one function supports only float32. */
bool pod_vector_is_f32_only(const pod_problem *p);
int64_t pod_vector_count(const pod_problem *p, const pod_vector_operand *o);
pod_dtype pod_vector_dtype(const pod_problem *p, const pod_vector_operand *o);
double pod_vector_bytes(const pod_problem *p);

#endif
