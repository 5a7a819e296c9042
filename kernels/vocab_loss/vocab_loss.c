/* The loss over a vocabulary, block by block:
 *
 *            block_cols of V
 *           +------+------+---
 *     R  .. | rows of h times rows of the table  ..   then fold, or slopes and two more products
 *           +------+------+---
 *
 * Blocks of columns are the outer loop, so that a block of the table and of its gradient stays in
 * the cache for all rows. Loss and gradients in one call have blocks of rows as the outer loop: all
 * logits of these rows are folded, and then read again as slopes. */
#include "kernels/vocab_loss/vocab_loss.h"

#include <math.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/assert.h"
#include "kernels/base/element.h"
#include "kernels/gemm/gemm.h"

/* A block of logits has at most 2 MiB; those that are kept between loss and gradients have
 * 64 MiB. */
enum { MAX_ROWS = 512, COLS_MULTIPLE = 32, KEPT_LOGITS = 1 << 24, ALIGN = 64 };

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
                                           pod_dtype t, float smoothing, bool with_bias, int what)
{
    const int64_t kept_rows = pod_max(KEPT_LOGITS / shape.vocab, 1);
    const int64_t most_rows =
        what == POD_VOCAB_LOSS_BOTH ? pod_min(kept_rows, MAX_ROWS) : (int64_t)MAX_ROWS;
    pod_vocab_loss_plan p = {.shape = shape,
                             .block_rows = block_of(shape.rows, most_rows, 1),
                             .block_cols =
                                 block_of(shape.vocab, POD_VOCAB_LOSS_MAX_COLS, COLS_MULTIPLE),
                             .smoothing = smoothing,
                             .dtype = (int32_t)t,
                             .with_bias = with_bias,
                             .what = what};
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
    size_t product, logits, slopes, dh, row, lse, scale, sums, end;
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
        if (p->what == POD_VOCAB_LOSS_LOSS && i == 3) break;
    }
    return most;
}

static layout layout_of(const pod_vocab_loss_plan *p)
{
    const size_t rows = (size_t)p->shape.rows, block_rows = (size_t)p->block_rows;
    const size_t block = block_rows * (size_t)p->block_cols;
    const bool loss = p->what != POD_VOCAB_LOSS_GRAD, grad = p->what != POD_VOCAB_LOSS_LOSS;
    const bool both = loss && grad, rounds = grad && p->dtype != POD_F32;
    const size_t bytes[] = {product_bytes(p),
                            sizeof(float) * (both ? block_rows * (size_t)p->shape.vocab : block),
                            rounds ? pod_dtype_bytes((pod_dtype)p->dtype) * block : 0,
                            rounds ? sizeof(float) * rows * (size_t)p->shape.hidden : 0,
                            loss ? sizeof(pod_vocab_loss_row) * (both ? block_rows : rows) : 0,
                            both ? sizeof(float) * block_rows : 0,
                            grad ? sizeof(float) * rows : 0,
                            grad ? sizeof(double) * (size_t)(both ? p->shape.vocab : p->block_cols)
                                 : 0};
    size_t at[9] = {0};
    for (int i = 0; i < 8; i++) at[i + 1] = at[i] + (bytes[i] + ALIGN - 1) / ALIGN * ALIGN;
    return (layout){at[0], at[1], at[2], at[3], at[4], at[5], at[6], at[7], at[8]};
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

static pod_vocab_loss_block block_at(const pod_vocab_loss_in *in, const position *at,
                                     const float *logits)
{
    return (pod_vocab_loss_block){.rows = at->rows,
                                  .cols = at->cols,
                                  .first = at->col,
                                  .logits = logits,
                                  .label = in->label + at->row};
}

/* Computes the logits of a block. */
static pod_vocab_loss_block logits_of(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in,
                                      const position *at, float *logits, char *product)
{
    const pod_dtype t = (pod_dtype)p->dtype;
    multiply(p, POD_VOCAB_LOSS_LOGITS, at, pod_element_at(t, in->h, at->row * p->shape.hidden),
             pod_element_at(t, in->table, at->col * p->shape.hidden),
             in->bias ? in->bias + at->col : NULL, logits, false, product);
    return block_at(in, at, logits);
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

static void start_rows(pod_vocab_loss_row *row, int64_t count)
{
    for (int64_t r = 0; r < count; r++) row[r] = (pod_vocab_loss_row){.max = -INFINITY, .best = -1};
}

typedef struct totals {
    double loss, weight, correct;
} totals;

/* Adds up the rows from `first` on, all of whose logits are folded. */
static void finish_rows(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in, int64_t first,
                        int64_t count, const pod_vocab_loss_row *row, float *lse, totals *t)
{
    const float *weight = in->weight + first;
    const int32_t *label = in->label + first;
    for (int64_t r = 0; r < count; r++) {
        const double sum = (double)row[r].max + log(row[r].sum);
        lse[r] = (float)sum;
        if (is_padding(weight[r])) continue;
        POD_ASSERT(label[r] >= 0 && label[r] < p->shape.vocab, "label %d of %lld", (int)label[r],
                   (long long)p->shape.vocab);
        t->loss += (double)weight[r] * row_loss(p, &row[r], sum);
        t->weight += (double)weight[r];
        if (row[r].best == label[r] && !isnan(sum)) t->correct += (double)weight[r];
    }
}

void pod_vocab_loss_run(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in, float *loss,
                        float *weight, float *correct, float *lse, void *scratch)
{
    const layout l = layout_of(p);
    char *from = scratch;
    float *logits = (float *)(void *)(from + l.logits);
    pod_vocab_loss_row *row = (pod_vocab_loss_row *)(void *)(from + l.row);
    totals t = {0};
    start_rows(row, p->shape.rows);
    for (int64_t j = 0; j < n_col_blocks(p); j++)
        for (int64_t i = 0; i < n_row_blocks(p); i++) {
            const position at = position_of(p, i, j);
            const pod_vocab_loss_block b = logits_of(p, in, &at, logits, from + l.product);
            pod_vocab_loss_sets()[p->set]->fold(&b, p->smoothing > 0, row + at.row);
        }
    finish_rows(p, in, 0, p->shape.rows, row, lse, &t);
    *loss = (float)t.loss;
    *weight = (float)t.weight;
    *correct = (float)t.correct;
}

/* ---- gradients ----------------------------------------------------------------------------- */

/* What the gradients of a call write, and the regions of its scratch. */
typedef struct grad_work {
    float *logits, *dh, *dtable, *scale;
    void *slopes; /* in the place of the logits where they are float32 */
    double *sums;
    char *product;
} grad_work;

static grad_work grad_work_of(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in,
                              float d_loss, void *dh, float *dtable, char *scratch)
{
    const layout l = layout_of(p);
    const bool rounds = p->dtype != POD_F32;
    const grad_work w = {.logits = (float *)(void *)(scratch + l.logits),
                         .dh = rounds ? (float *)(void *)(scratch + l.dh) : dh,
                         .dtable = dtable,
                         .scale = (float *)(void *)(scratch + l.scale),
                         .slopes = rounds ? scratch + l.slopes : NULL,
                         .sums = (double *)(void *)(scratch + l.sums),
                         .product = scratch + l.product};
    const pod_vocab_loss_shape s = p->shape;
    for (int64_t r = 0; r < s.rows; r++) w.scale[r] = d_loss * in->weight[r];
    if (s.rows == 0) memset(dtable, 0, sizeof *dtable * (size_t)(s.vocab * s.hidden));
    return w;
}

/* From the logits of a block, which it may overwrite; lse and sums are of the block. */
static void block_grad(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in, const float *lse,
                       const position *at, const grad_work *w, float *logits, double *sums)
{
    const pod_dtype t = (pod_dtype)p->dtype;
    const int64_t h = p->shape.hidden;
    const pod_vocab_loss_block b = block_at(in, at, logits);
    void *slopes = w->slopes ? w->slopes : logits;
    pod_vocab_loss_sets()[p->set]->slopes(&b, lse, w->scale + at->row, 1 - p->smoothing,
                                          (float)smoothed_elsewhere(p), t, slopes, sums);
    multiply(p, POD_VOCAB_LOSS_DH, at, slopes, pod_element_at(t, in->table, at->col * h), NULL,
             w->dh + at->row * h, at->col > 0, w->product);
    multiply(p, POD_VOCAB_LOSS_DTABLE, at, slopes, pod_element_at(t, in->h, at->row * h), NULL,
             w->dtable + at->col * h, at->row > 0, w->product);
}

static void store_dh(const pod_vocab_loss_plan *p, const grad_work *w, void *dh)
{
    const pod_dtype t = (pod_dtype)p->dtype;
    for (int64_t i = 0; t != POD_F32 && i < p->shape.rows * p->shape.hidden; i++)
        pod_element_put(t, dh, i, w->dh[i]);
}

void pod_vocab_loss_grad(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in,
                         const float *lse, float d_loss, void *dh, float *dtable, float *dbias,
                         void *scratch)
{
    const grad_work w = grad_work_of(p, in, d_loss, dh, dtable, scratch);
    for (int64_t j = 0; j < n_col_blocks(p); j++) {
        const int64_t col = j * p->block_cols, cols = size_at(p->shape.vocab, p->block_cols, j);
        memset(w.sums, 0, sizeof *w.sums * (size_t)cols);
        for (int64_t i = 0; i < n_row_blocks(p); i++) {
            const position at = position_of(p, i, j);
            logits_of(p, in, &at, w.logits, w.product);
            block_grad(p, in, lse + at.row, &at, &w, w.logits, w.sums);
        }
        for (int64_t v = 0; v < cols; v++) dbias[col + v] = (float)w.sums[v];
    }
    store_dh(p, &w, dh);
}

/* ---- both ---------------------------------------------------------------------------------- */

/* Loss and gradients of a block of rows; `row` and lse are of the block. */
static void rows_both(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in, int64_t i,
                      const grad_work *w, pod_vocab_loss_row *row, float *lse, totals *t)
{
    const position whole = position_of(p, i, 0);
    start_rows(row, whole.rows);
    for (int64_t j = 0; j < n_col_blocks(p); j++) {
        const position at = position_of(p, i, j);
        const pod_vocab_loss_block b =
            logits_of(p, in, &at, w->logits + at.rows * at.col, w->product);
        pod_vocab_loss_sets()[p->set]->fold(&b, p->smoothing > 0, row);
    }
    finish_rows(p, in, whole.row, whole.rows, row, lse, t);
    for (int64_t j = 0; j < n_col_blocks(p); j++) {
        const position at = position_of(p, i, j);
        block_grad(p, in, lse, &at, w, w->logits + at.rows * at.col, w->sums + at.col);
    }
}

void pod_vocab_loss_both(const pod_vocab_loss_plan *p, const pod_vocab_loss_in *in, float d_loss,
                         float *loss, float *weight, float *correct, void *dh, float *dtable,
                         float *dbias, void *scratch)
{
    const layout l = layout_of(p);
    char *from = scratch;
    const grad_work w = grad_work_of(p, in, d_loss, dh, dtable, scratch);
    totals t = {0};
    memset(w.sums, 0, sizeof *w.sums * (size_t)p->shape.vocab);
    for (int64_t i = 0; i < n_row_blocks(p); i++)
        rows_both(p, in, i, &w, (pod_vocab_loss_row *)(void *)(from + l.row),
                  (float *)(void *)(from + l.lse), &t);
    for (int64_t v = 0; v < p->shape.vocab; v++) dbias[v] = (float)w.sums[v];
    store_dh(p, &w, dh);
    *loss = (float)t.loss;
    *weight = (float)t.weight;
    *correct = (float)t.correct;
}
