/* Softmax cross entropy of rows projected onto a vocabulary: the head of a language model, and its
 * gradients. Of the logits (R, V) only blocks are stored, of 64 MiB at most; those of a few rows may
 * be one block.
 *
 *   logit[r,v]  = sum_j h[r,j] table[v,j] + bias[v]        h (R, H), table (V, H), bias (V)
 *   lse[r]      = log sum_v e^logit[r,v]
 *   target[r,v] = 1 - smoothing at v = label[r], smoothing / (V - 1) elsewhere
 *   ce[r]       = -sum_v target[r,v] (logit[r,v] - lse[r]) - the entropy of target[r]
 *
 *   loss    = sum_r weight[r] ce[r]
 *   weight  = sum_r weight[r]
 *   correct = sum of weight[r] over the rows whose largest logit is the label's; of several largest
 *             the lowest id is the answer
 *
 * ce is at least 0, because the entropy is subtracted (Vaswani et al. 2017, section 5.4, as in
 * MLPerf's Transformer). The gradients, with d the gradient of the loss:
 *
 *   dlogit[r,v] = d weight[r] (e^(logit[r,v] - lse[r]) - target[r,v])
 *   dh = dlogit table,  dtable = dlogit^T h,  dbias[v] = sum_r dlogit[r,v]
 *
 * h and table are of one type t, POD_F32 or POD_BF16, and so is dh; all else is float32. The
 * matmuls are those of kernels/gemm and accumulate in float32; dlogit is rounded to t for them, not
 * for dbias. Sums over v are as in kernels/softmax, sums over r in double. pod_vocab_loss_grad
 * computes each block of logits again; pod_vocab_loss_both keeps the logits of a block of rows
 * instead.
 *
 * A row of weight 0 is padding: it adds nothing if its h is finite, its gradient is 0, and its
 * label is not read. The label of any other row lies in [0, V). A label outside it aborts, so code
 * that reads labels from a file must check them (runtime/data/text/text_set.h). */
#ifndef MINIPOD_KERNELS_VOCAB_LOSS_VOCAB_LOSS_H
#define MINIPOD_KERNELS_VOCAB_LOSS_VOCAB_LOSS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/choice.h"
#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"

/* ---- all of it ----------------------------------------------------------------------------- */

typedef struct pod_vocab_loss_shape {
    int64_t rows, vocab, hidden; /* R, V, H; V is at least 1, and 2 with smoothing */
} pod_vocab_loss_shape;

enum { POD_VOCAB_LOSS_LOGITS, POD_VOCAB_LOSS_DH, POD_VOCAB_LOSS_DTABLE, POD_VOCAB_LOSS_N_PRODUCTS };

/* What a call computes: the loss, its gradients, or both. */
enum { POD_VOCAB_LOSS_LOSS, POD_VOCAB_LOSS_GRAD, POD_VOCAB_LOSS_BOTH };

/* How a call is computed: a value without pointers and without padding. */
typedef struct pod_vocab_loss_plan {
    pod_vocab_loss_shape shape;
    int64_t block_rows, block_cols; /* of a block of logits; the last ones may be smaller */
    float smoothing;                /* in [0, 1) */
    int32_t dtype, with_bias, what; /* POD_VOCAB_LOSS_ */
    int32_t set;                    /* index in pod_vocab_loss_sets */
    /* Index in pod_gemm_kernels: by matmul, by whether the rows of a block of logits are the last
     * ones, by whether its columns are. */
    int32_t kernel[POD_VOCAB_LOSS_N_PRODUCTS][2][2];
    int32_t unused;
} pod_vocab_loss_plan;

typedef struct pod_vocab_loss_in {
    const void *h, *table;
    const float *bias; /* NULL: none */
    const int32_t *label;
    const float *weight;
} pod_vocab_loss_in;

/* Chooses blocks and kernels. */
pod_vocab_loss_plan pod_vocab_loss_plan_of(const pod_choice *how, pod_vocab_loss_shape shape,
                                           pod_dtype t, float smoothing, bool with_bias, int what);
size_t pod_vocab_loss_scratch_bytes(const pod_vocab_loss_plan *p); /* aligned to 64 */

/* Also writes lse (R), for pod_vocab_loss_grad. */
void pod_vocab_loss_run(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in, float *loss,
                        float *weight, float *correct, float *lse, void *scratch);
/* All rows of dtable and of dbias (V) are written; dbias also if there is no bias. */
void pod_vocab_loss_grad(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in,
                         const float *lse, float d_loss, void *dh, float *dtable, float *dbias,
                         void *scratch);
/* Computes what the two functions above compute, with three matmuls instead of four. */
void pod_vocab_loss_both(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in, float d_loss,
                         float *loss, float *weight, float *correct, void *dh, float *dtable,
                         float *dbias, void *scratch);

/* ---- blocks, by instruction set ------------------------------------------------------------ */

enum { POD_VOCAB_LOSS_MAX_COLS = 1024 };

typedef struct pod_vocab_loss_block {
    int64_t rows, cols;  /* cols <= POD_VOCAB_LOSS_MAX_COLS */
    int64_t first;       /* id of column 0 */
    const float *logits; /* (rows, cols) */
    const int32_t *label;
} pod_vocab_loss_block;

/* Summary of a row's logits in the blocks so far. At the start max = -inf, best = -1, all else
 * 0. */
typedef struct pod_vocab_loss_row {
    double sum;   /* of e^(logit - max) */
    double total; /* of the logits, if with_total */
    float max, at_label;
    int32_t best; /* the first id of the largest logit */
    int32_t unused;
} pod_vocab_loss_row;

typedef struct pod_vocab_loss {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    /* Adds a block to the summaries of its rows. */
    void (*fold)(const pod_vocab_loss_block *b, bool with_total, pod_vocab_loss_row *row);
    /* out[r,v] = scale[r] (e^(logit - lse[r]) - target), rounded to t, where the target is at_label
     * or elsewhere; 0 where scale[r] is 0. sums[v] (cols) += its sum over r before that rounding.
     * If t is float32, `out` may be the memory of the logits. */
    void (*slopes)(const pod_vocab_loss_block *b, const float *lse, const float *scale,
                   float at_label, float elsewhere, pod_dtype t, void *out, double *sums);
} pod_vocab_loss;

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_vocab_loss *const *pod_vocab_loss_sets(void);
const pod_vocab_loss *pod_vocab_loss_pick(uint32_t cpu);

#endif
