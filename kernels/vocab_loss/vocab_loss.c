/* The loss over a vocabulary, block by block:
 *
 *            block_cols of V
 *           +------+------+---
 *     R  .. | rows of h times rows of the table  ..   then fold, or slopes and two more products
 *           +------+------+---
 *
 * Blocks of columns are the outer loop, so that a block of the table and of its gradient stays in
 * the cache for all rows. */
#include "kernels/vocab_loss/vocab_loss.h"

#include <math.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/assert.h"
#include "kernels/base/element.h"
#include "kernels/gemm/gemm.h"

/* A block of logits has at most 2 MiB. */
enum { MAX_ROWS = 512, COLS_MULTIPLE = 32, ALIGN = 64 };

static int64_t n_row_blocks(const pod_vocab_loss_plan *p)
{
    return pod_div_up(p->shape.rows, p->block_rows);
}
static int64_t n_col_blocks(const pod_vocab_loss_plan *p)
{
    return pod_div_up(p->shape.vocab, p->block_cols);
}

/* As many blocks of at most `most` as it takes, all about alike; `multiple` divides them. */
static int64_t block_of(int64_t count, int64_t most, int64_t multiple)
{
    const int64_t n = pod_max(pod_div_up(count, most), 1);
    return pod_min(pod_round_up(pod_max(pod_div_up(count, n), 1), multiple), most);
}

static pod_gemm_call product_of(const pod_vocab_loss_plan *p, int which, int64_t rows, int64_t cols)
{
    const int64_t h = p->shape.hidden;
    pod_gemm_call c = {.n_batch = 1, .ab_dtype = (pod_dtype)p->dtype, .c_dtype = POD_F32};
    switch (which) {
    case POD_VOCAB_LOSS_LOGITS: /* h table^T */
        c.shape = (pod_gemm_shape){rows, cols, h};
        c.trans_b = true;
        c.lda = c.ldb = h;
        c.ldc = cols;
        c.fused = p->with_bias ? POD_GEMM_BIAS : 0;
        return c;
    case POD_VOCAB_LOSS_DH: /* dlogit table */
        c.shape = (pod_gemm_shape){rows, h, cols};
        c.lda = cols;
        c.ldb = c.ldc = h;
        return c;
    default: /* dlogit^T h */
        c.shape = (pod_gemm_shape){cols, h, rows};
        c.trans_a = true;
        c.lda = cols;
        c.ldb = c.ldc = h;
        return c;
    }
}

/* The size of block i of n, of `count` in blocks of `block`. */
static int64_t size_at(int64_t count, int64_t block, int64_t i)
{
    return pod_min(block, count - i * block);
}

static int64_t rows_of(const pod_vocab_loss_plan *p, bool is_last)
{
    return is_last ? size_at(p->shape.rows, p->block_rows, pod_max(n_row_blocks(p) - 1, 0))
                   : p->block_rows;
}
static int64_t cols_of(const pod_vocab_loss_plan *p, bool is_last)
{
    return is_last ? size_at(p->shape.vocab, p->block_cols, n_col_blocks(p) - 1) : p->block_cols;
}

pod_vocab_loss_plan pod_vocab_loss_plan_of(const pod_choice *how, pod_vocab_loss_shape shape,
                                           pod_dtype t, float smoothing, bool with_bias,
                                           bool is_grad)
{
    pod_vocab_loss_plan p = {.shape = shape,
                             .block_rows = block_of(shape.rows, MAX_ROWS, 1),
                             .block_cols =
                                 block_of(shape.vocab, POD_VOCAB_LOSS_MAX_COLS, COLS_MULTIPLE),
                             .smoothing = smoothing,
                             .dtype = (int32_t)t,
                             .with_bias = with_bias,
                             .is_grad = is_grad};
    POD_ASSERT(shape.vocab > (smoothing > 0 ? 1 : 0), "a vocabulary of %lld",
               (long long)shape.vocab);
    while (pod_vocab_loss_sets()[p.set] != pod_vocab_loss_pick(how->cpu)) p.set++;
    int n;
    const pod_gemm_kernel *const first = pod_gemm_kernels(&n);
    for (int i = 0; i < 4 * POD_VOCAB_LOSS_N_PRODUCTS; i++) {
        const int which = i / 4, last_rows = i / 2 % 2, last_cols = i % 2;
        const pod_gemm_call c =
            product_of(&p, which, rows_of(&p, last_rows), cols_of(&p, last_cols));
        p.kernel[which][last_rows][last_cols] = (int32_t)(pod_gemm_pick(how, &c) - first);
    }
    return p;
}

/* ---- scratch ------------------------------------------------------------------------------- */

/* Offsets in bytes. */
typedef struct layout {
    size_t product, logits, slopes, dh, rows, sums, end;
} layout;

static size_t product_bytes(const pod_vocab_loss_plan *p)
{
    size_t most = 0;
    int n;
    for (int i = 0; i < 4 * POD_VOCAB_LOSS_N_PRODUCTS; i++) {
        const int which = i / 4, last_rows = i / 2 % 2, last_cols = i % 2;
        const pod_gemm_call c = product_of(p, which, rows_of(p, last_rows), cols_of(p, last_cols));
        const size_t bytes =
            pod_gemm_kernels(&n)[p->kernel[which][last_rows][last_cols]].scratch_bytes(&c);
        if (bytes > most) most = bytes;
        if (!p->is_grad && i == 3) break;
    }
    return most;
}

static layout layout_of(const pod_vocab_loss_plan *p)
{
    const int64_t block = p->block_rows * p->block_cols, rows = p->shape.rows;
    const bool keeps_dh = p->is_grad && p->dtype != POD_F32;
    const size_t bytes[] = {product_bytes(p),
                            sizeof(float) * (size_t)block,
                            p->is_grad ? pod_dtype_bytes((pod_dtype)p->dtype) * (size_t)block : 0,
                            keeps_dh ? sizeof(float) * (size_t)(rows * p->shape.hidden) : 0,
                            (p->is_grad ? sizeof(float) : sizeof(pod_vocab_loss_row)) *
                                (size_t)rows,
                            p->is_grad ? sizeof(double) * (size_t)p->block_cols : 0};
    size_t at[7] = {0};
    for (int i = 0; i < 6; i++) at[i + 1] = at[i] + (bytes[i] + ALIGN - 1) / ALIGN * ALIGN;
    return (layout){at[0], at[1], at[2], at[3], at[4], at[5], at[6]};
}

size_t pod_vocab_loss_scratch_bytes(const pod_vocab_loss_plan *p) { return layout_of(p).end; }

/* ---- blocks -------------------------------------------------------------------------------- */

/* A block and what belongs to it. */
typedef struct position {
    int64_t row, rows, col, cols;
    int last_rows, last_cols;
} position;

static position position_of(const pod_vocab_loss_plan *p, int64_t row_block, int64_t col_block)
{
    return (position){.row = row_block * p->block_rows,
                      .rows = size_at(p->shape.rows, p->block_rows, row_block),
                      .col = col_block * p->block_cols,
                      .cols = size_at(p->shape.vocab, p->block_cols, col_block),
                      .last_rows = row_block == n_row_blocks(p) - 1,
                      .last_cols = col_block == n_col_blocks(p) - 1};
}

static void multiply(const pod_vocab_loss_plan *p, int which, const position *at, const void *a,
                     const void *b, const float *bias, float *c, bool add, char *scratch)
{
    int n;
    pod_gemm_call call = product_of(p, which, at->rows, at->cols);
    call.a = a;
    call.b = b;
    call.c = c;
    call.bias = bias;
    call.beta = add ? 1 : 0;
    pod_gemm_kernels(&n)[p->kernel[which][at->last_rows][at->last_cols]].run(&call, scratch);
}

/* Computes the logits of a block. */
static pod_vocab_loss_block logits_of(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in,
                                      const position *at, char *scratch)
{
    const layout l = layout_of(p);
    const pod_dtype t = (pod_dtype)p->dtype;
    float *logits = (float *)(void *)(scratch + l.logits);
    multiply(p, POD_VOCAB_LOSS_LOGITS, at, pod_element_at(t, in->h, at->row * p->shape.hidden),
             pod_element_at(t, in->table, at->col * p->shape.hidden),
             in->bias ? in->bias + at->col : NULL, logits, false, scratch + l.product);
    return (pod_vocab_loss_block){.rows = at->rows,
                                  .cols = at->cols,
                                  .first = at->col,
                                  .logits = logits,
                                  .label = in->label + at->row};
}

/* ---- loss ---------------------------------------------------------------------------------- */

static double smoothed_elsewhere(const pod_vocab_loss_plan *p)
{
    return p->smoothing > 0 ? (double)p->smoothing / (double)(p->shape.vocab - 1) : 0;
}

/* The entropy of a target. */
static double entropy_of(const pod_vocab_loss_plan *p)
{
    const double s = (double)p->smoothing;
    return s > 0 ? -(1 - s) * log(1 - s) - s * log(smoothed_elsewhere(p)) : 0;
}

static double row_loss(const pod_vocab_loss_plan *p, const pod_vocab_loss_row *row, double lse)
{
    const double s = (double)p->smoothing, label = (double)row->at_label;
    if (!(s > 0)) return lse - label;
    return lse - (1 - s) * label - smoothed_elsewhere(p) * (row->total - label) - entropy_of(p);
}

static bool is_padding(float weight) { return fpclassify(weight) == FP_ZERO; }

void pod_vocab_loss_run(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in, float *loss,
                        float *weight, float *correct, float *lse, void *scratch)
{
    const pod_vocab_loss *set = pod_vocab_loss_sets()[p->set];
    pod_vocab_loss_row *row = (pod_vocab_loss_row *)(void *)((char *)scratch + layout_of(p).rows);
    double loss_sum = 0, weight_sum = 0, correct_sum = 0;
    for (int64_t r = 0; r < p->shape.rows; r++)
        row[r] = (pod_vocab_loss_row){.max = -INFINITY, .best = -1};
    for (int64_t j = 0; j < n_col_blocks(p); j++)
        for (int64_t i = 0; i < n_row_blocks(p); i++) {
            const position at = position_of(p, i, j);
            const pod_vocab_loss_block b = logits_of(p, in, &at, scratch);
            set->fold(&b, p->smoothing > 0, row + at.row);
        }
    for (int64_t r = 0; r < p->shape.rows; r++) {
        const double sum = (double)row[r].max + log(row[r].sum);
        lse[r] = (float)sum;
        if (is_padding(in->weight[r])) continue;
        POD_ASSERT(in->label[r] >= 0 && in->label[r] < p->shape.vocab, "label %d of %lld",
                   (int)in->label[r], (long long)p->shape.vocab);
        loss_sum += (double)in->weight[r] * row_loss(p, &row[r], sum);
        weight_sum += (double)in->weight[r];
        if (row[r].best == in->label[r] && !isnan(sum)) correct_sum += (double)in->weight[r];
    }
    *loss = (float)loss_sum;
    *weight = (float)weight_sum;
    *correct = (float)correct_sum;
}

/* ---- gradients ----------------------------------------------------------------------------- */

/* Operands of the gradients in the scratch. */
typedef struct grad_work {
    void *slopes;
    float *dh, *scale;
    double *sums;
    char *product;
} grad_work;

static void block_grad(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in, const float *lse,
                       const position *at, const grad_work *w, float *dtable, char *scratch)
{
    const pod_dtype t = (pod_dtype)p->dtype;
    const int64_t h = p->shape.hidden;
    const pod_vocab_loss_block b = logits_of(p, in, at, scratch);
    pod_vocab_loss_sets()[p->set]->slopes(&b, lse + at->row, w->scale + at->row, 1 - p->smoothing,
                                          (float)smoothed_elsewhere(p), t, w->slopes, w->sums);
    multiply(p, POD_VOCAB_LOSS_DH, at, w->slopes, pod_element_at(t, in->table, at->col * h), NULL,
             w->dh + at->row * h, at->col > 0, w->product);
    multiply(p, POD_VOCAB_LOSS_DTABLE, at, w->slopes, pod_element_at(t, in->h, at->row * h), NULL,
             dtable + at->col * h, at->row > 0, w->product);
}

void pod_vocab_loss_grad(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in,
                         const float *lse, float d_loss, void *dh, float *dtable, float *dbias,
                         void *scratch)
{
    const layout l = layout_of(p);
    const pod_vocab_loss_shape s = p->shape;
    const pod_dtype t = (pod_dtype)p->dtype;
    char *from = scratch;
    const grad_work w = {.slopes = from + l.slopes,
                         .dh = t == POD_F32 ? dh : (float *)(void *)(from + l.dh),
                         .scale = (float *)(void *)(from + l.rows),
                         .sums = (double *)(void *)(from + l.sums),
                         .product = from + l.product};
    for (int64_t r = 0; r < s.rows; r++) w.scale[r] = d_loss * in->weight[r];
    if (s.rows == 0) memset(dtable, 0, sizeof *dtable * (size_t)(s.vocab * s.hidden));
    for (int64_t j = 0; j < n_col_blocks(p); j++) {
        const int64_t col = j * p->block_cols, cols = size_at(s.vocab, p->block_cols, j);
        memset(w.sums, 0, sizeof *w.sums * (size_t)cols);
        for (int64_t i = 0; i < n_row_blocks(p); i++) {
            const position at = position_of(p, i, j);
            block_grad(p, in, lse, &at, &w, dtable, from);
        }
        for (int64_t v = 0; v < cols; v++) dbias[col + v] = (float)w.sums[v];
    }
    for (int64_t i = 0; t != POD_F32 && i < s.rows * s.hidden; i++)
        pod_element_put(t, dh, i, w.dh[i]);
}
