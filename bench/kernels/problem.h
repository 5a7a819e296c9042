/* A problem: the call that kernels are measured on. Its text has the same form in rows, in files of
 * shapes and on the command line.
 *
 *   FAMILY[.FUNCTION] SHAPE [WORD...]
 *
 *   form     shape
 *   PRODUCT  MxNxK                        or BATCH*MxNxK
 *   CONV     NxHxWxC:RxSxK[/STRIDE][+PAD] C to K channels, windows of RxS; stride 1 and no pad
 *                                         unless they are given
 *   DEPTHWISE NxHxWxC:RxS[/STRIDE][+PAD]  likewise
 *   WINDOWS  the same, R = S
 *   HEAD     RxVxH                        rows, vocabulary, width of a row
 *   ATTENTION NxSxHEADSxD                 sequences of S tokens that attend to themselves
 *   ROWS     ROWSxC                       C innermost; ROWS_F32: of float32 only
 *
 *   word         means                                      taken by
 *   bf16 | f32   element type of the inputs; default bf16,   all but ROWS_F32
 *                or f32 if a function takes only that
 *   c=bf16       type of C; default f32                      PRODUCT
 *   nt tn tt     B, A or both lie transposed                 PRODUCT
 *   bias relu    are fused into the kernel                   PRODUCT, CONV forward
 *   affine       x is scaled and shifted as it is read       CONV forward and weight gradient
 *   relu_x       affine, then negative values become 0       the same
 *   sums         sums of the output and of its square        CONV, DEPTHWISE forward
 *   causal       a token attends to none after it            ATTENTION
 *   drop         dropout of 0.1 on the probabilities         ATTENTION
 *
 * A file has one problem per line; text after a # is a comment. */
#ifndef MINIPOD_BENCH_KERNELS_PROBLEM_H
#define MINIPOD_BENCH_KERNELS_PROBLEM_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/attention/attention.h"
#include "kernels/base/arena.h"
#include "kernels/base/dtype.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"

typedef enum pod_problem_form {
    POD_FORM_PRODUCT,
    POD_FORM_CONV,
    POD_FORM_DEPTHWISE,
    POD_FORM_WINDOWS,
    POD_FORM_ATTENTION,
    POD_FORM_ROWS,
    POD_FORM_ROWS_F32,
    POD_FORM_HEAD
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
    bool has_dtype; /* the text names the type */
    /* PRODUCT; HEAD, as the product that makes logits */
    pod_gemm_shape product;
    int64_t n_batch;
    bool trans_a, trans_b;
    pod_dtype c_dtype;
    /* ROWS, ROWS_F32 */
    int64_t rows, columns;
    /* CONV; DEPTHWISE and WINDOWS, with k = c */
    pod_conv_shape conv;
    unsigned fused; /* POD_GEMM_ or POD_CONV_ bits */
    /* ATTENTION; its type and scale are not set */
    pod_attention_shape attention;
} pod_problem;

const pod_family *pod_families(void);                     /* (POD_N_FAMILIES) */
const char *pod_problem_form_text(pod_problem_form form); /* "MxNxK or BATCH*MxNxK" */
int pod_family_n_functions(pod_family_id family);         /* at least 1 */

/* Fails with E_INVALID, and begins the error with `place` ("FILE:LINE"), if the line is not a
 * problem. */
POD_MUST pod_status pod_problem_parse(const char *place, const char *line, pod_problem *out);
/* Writes "conv.fwd 16x56x56x64:3x3x64+1 bf16" to `text`, the inverse of parse; returns `text`. */
const char *pod_problem_print(const pod_problem *p, char *text, size_t text_bytes);
/* Write its parts: "conv.fwd"; "16x56x56x64:3x3x64+1"; "bf16" and any further words. */
const char *pod_problem_print_op(const pod_problem *p, char *text, size_t text_bytes);
const char *pod_problem_print_shape(const pod_problem *p, char *text, size_t text_bytes);
const char *pod_problem_print_words(const pod_problem *p, char *text, size_t text_bytes);

/* pod_problem_flops returns twice the multiply-adds of a matmul, of a convolution, or of the
 * matmuls that attention runs, which are counted in full also if it is causal; else 0.
 * pod_problem_bytes returns the least bytes to read and write, each operand once. For a problem
 * with one function. */
double pod_problem_flops(const pod_problem *p);
double pod_problem_bytes(const pod_problem *p);

/* Appends all problems in `text` to the *n problems of *all, an array that grows in the arena
 * (NULL: empty). Errors name `name` as the file. Fails with E_FORMAT if there is no problem, and as
 * pod_problem_parse does. */
POD_MUST pod_status pod_problems_parse(pod_arena *a, const char *name, const char *text,
                                       pod_problem **all, int *n);
/* Likewise for a file, or for a built-in set (bench/shapes) named `name`; "all": all built-in
 * sets. */
POD_MUST pod_status pod_problems_load(pod_arena *a, const char *name, pod_problem **all, int *n);
/* Returns the name of the i-th built-in set; NULL after the last. */
const char *pod_problems_known(int i);

/* The files of bench/shapes, which the build embeds in the program. */
typedef struct pod__shapes {
    const char *name; /* name of the file without .txt */
    const char *text;
} pod__shapes;

extern const pod__shapes pod__shape_sets[]; /* ends with a NULL name */

#endif
