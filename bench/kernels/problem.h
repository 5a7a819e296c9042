/* A problem: what kernels are asked for, as a line of text that rows, files of shapes and the
 * command line share.
 *
 *   FAMILY[.FUNCTION] SHAPE [WORD...]
 *
 *   form     shape
 *   PRODUCT  MxNxK                        or BATCH*MxNxK
 *   CONV     NxHxWxC:RxSxK[/STRIDE][+PAD] C to K channels, windows of RxS; stride 1 and no pad
 *                                         unless they are given
 *   DEPTHWISE NxHxWxC:RxS[/STRIDE][+PAD]  likewise
 *   WINDOWS  the same, R = S
 *   ROWS     ROWSxC                       C innermost; ROWS_F32: of float32 only
 *
 *   word         means                                      taken by
 *   bf16 | f32   element type of what is read; if none bf16, all but ROWS_F32
 *                or f32 where a function takes no other
 *   c=bf16       type of C; f32 if none                      PRODUCT
 *   nt tn tt     B, A or both lie transposed                 PRODUCT
 *   bias relu    are fused into the kernel                   PRODUCT, CONV forward
 *   affine       x is scaled and shifted as it is read       CONV forward and weight gradient
 *   relu_x       affine, and what is negative becomes 0      the same
 *   sums         sums of the output and of its square        CONV, DEPTHWISE forward
 *
 * A file has a problem a line; what follows a # is a comment. */
#ifndef MINIPOD_BENCH_KERNELS_PROBLEM_H
#define MINIPOD_BENCH_KERNELS_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/dtype.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"

typedef enum pod_problem_form {
    POD_FORM_PRODUCT,
    POD_FORM_CONV,
    POD_FORM_DEPTHWISE,
    POD_FORM_WINDOWS,
    POD_FORM_ROWS,
    POD_FORM_ROWS_F32
} pod_problem_form;

typedef enum pod_family_id {
#define POD_FAMILY(name, ...) POD_FAMILY_##name,
#include "bench/kernels/families.def"
    POD_N_FAMILIES
} pod_family_id;

enum { POD_PROBLEM_LINE_BYTES = 256, POD_PROBLEM_TEXT_BYTES = 192 }; /* read; printed */

typedef struct pod_family {
    const char *name;
    pod_problem_form form;
    const char *functions; /* joined by |; "": it has one, without a name */
    const char *about;
} pod_family;

typedef struct pod_problem { /* a value */
    pod_family_id family;
    int function; /* -1: all */
    pod_dtype dtype;
    bool has_dtype; /* a word said it */
    /* PRODUCT */
    pod_gemm_shape product;
    int64_t n_batch;
    bool trans_a, trans_b;
    pod_dtype c_dtype;
    /* ROWS, ROWS_F32 */
    int64_t rows, columns;
    /* CONV; DEPTHWISE and WINDOWS, with k = c */
    pod_conv_shape conv;
    unsigned fused; /* POD_GEMM_ or POD_CONV_ bits */
} pod_problem;

const pod_family *pod_families(void);                     /* (POD_N_FAMILIES) */
const char *pod_problem_form_text(pod_problem_form form); /* "MxNxK or BATCH*MxNxK" */
int pod_family_n_functions(pod_family_id family);         /* at least 1 */

/* E_INVALID, with `place` ("FILE:LINE") before the text, when the line is no problem. */
POD_MUST pod_status pod_problem_parse(const char *place, const char *line, pod_problem *out);
/* "conv.fwd 16x56x56x64:3x3x64+1 bf16", the inverse of parse; returns `text`. */
const char *pod_problem_print(const pod_problem *p, char *text, size_t text_bytes);
/* Its parts: "conv.fwd", "16x56x56x64:3x3x64+1", "bf16" with what else is said of it ("" or
 * more words). */
const char *pod_problem_print_op(const pod_problem *p, char *text, size_t text_bytes);
const char *pod_problem_print_shape(const pod_problem *p, char *text, size_t text_bytes);
const char *pod_problem_print_words(const pod_problem *p, char *text, size_t text_bytes);

/* Multiply-adds, times two, of a product or convolution, else 0; and what it reads and writes at
 * the least: each operand once. Of a problem of one function. */
double pod_problem_flops(const pod_problem *p);
double pod_problem_bytes(const pod_problem *p);

/* Appends all problems of a text, `name` stands for its file, to the *n of *all, an array that has
 * grown in the arena; NULL: none yet. E_FORMAT when there is none; as parse. */
POD_MUST pod_status pod_problems_parse(pod_arena *a, const char *name, const char *text,
                                       pod_problem **all, int *n);
/* Likewise of a file, or a set that the program knows (bench/shapes) by name; "all": all of those. */
POD_MUST pod_status pod_problems_load(pod_arena *a, const char *name, pod_problem **all, int *n);
/* The i-th name that the program knows; NULL behind the last. */
const char *pod_problems_known(int i);

/* The files of bench/shapes, as the build puts them into the program. */
typedef struct pod__shapes {
    const char *name; /* the file's, without .txt */
    const char *text;
} pod__shapes;

extern const pod__shapes pod__shape_sets[]; /* ends with a NULL name */

#endif
