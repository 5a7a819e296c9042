/* Convolution as matrix products over panels of windows (panel.h), a panel small enough for a
 * core's cache: no im2col of an image, let alone of the batch, ever exists. All in float32.
 *
 *   forward      y (rows, K) = panel of x (rows, RSC)  *  w (K, RSC)^T
 *   weight grad  dw (K, RSC) += dy (rows, K)^T  *  panel of x (rows, RSC)
 *   input grad   dx (pixels, C) = panel of dy (pixels, taps K)  *  w (taps K, C), a product for
 *                each pair of remainders (residue.h) */
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"
#include "kernels/conv/conv_kernels.h"
#include "kernels/conv/panel.h"
#include "kernels/gemm/blas.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/pack.h"

enum { PANEL_FLOATS = 96 * 1024, ROWS_MIN = 128 };

/* The work of one sequence of panels (all of a pass, or one pair of remainders of it). */
typedef struct job {
    pod__windows view;
    int64_t n_lines, panel_lines;
    int64_t depth;   /* R S C of the view: columns of a panel */
    int64_t width;   /* K, or C for the input gradient: columns of the other matrix */
    bool transposed; /* the weights lie (width, depth) instead of (depth, width) */
    const pod_gemm_kernel *kernel;
    pod_gemm_call product; /* of a full panel; the operands' addresses are still open */
} job;

/* Regions of the scratch, in floats from its start. */
typedef struct layout {
    int64_t strip, panel, side, weights, product, end;
} layout;

static job job_of(pod__windows view, int64_t n_images, int64_t width)
{
    job j = {.view = view, .n_lines = n_images * view.p, .width = width};
    j.depth = view.r * view.s * view.c;
    const int64_t liked = pod_blas_rows(width, j.depth);
    const int64_t cached = pod_max(ROWS_MIN, PANEL_FLOATS / pod_max(pod_max(j.depth, width), 1));
    j.panel_lines = pod_min(j.n_lines, pod_max(1, pod_min(liked, cached) / pod_max(view.q, 1)));
    return j;
}

/* The product of a panel of `rows` rows, and the kernel for it. */
static void pick_kernel(job *j, pod_gemm_call product)
{
    product.n_batch = 1;
    product.ab_dtype = product.c_dtype = POD_F32;
    j->product = product;
    j->kernel = pod_gemm_pick(&(pod_choice){.cpu = pod_cpu_features()}, &product);
}

static int64_t panel_rows(const job *j) { return j->panel_lines * j->view.q; }

/* A panel times the weights. */
static void pick_kernel_for_weights(job *j)
{
    pick_kernel(j, (pod_gemm_call){.shape = {panel_rows(j), j->width, j->depth},
                                   .trans_b = j->transposed,
                                   .lda = j->depth,
                                   .ldb = j->transposed ? j->depth : j->width,
                                   .ldc = j->width});
}

static layout layout_of(const job *j)
{
    const int64_t rows = panel_rows(j);
    const size_t product_bytes = j->kernel->scratch_bytes(&j->product);
    const int64_t floats[] = {pod__strip_floats(&j->view, j->panel_lines), rows * j->depth,
                              rows * j->width, j->depth * j->width,
                              (int64_t)(product_bytes / sizeof(float))};
    int64_t at[6] = {0};
    for (int i = 0; i < 5; i++) at[i + 1] = at[i] + (floats[i] + 15) / 16 * 16;
    return (layout){at[0], at[1], at[2], at[3], at[4], at[5]};
}

static job forward_job(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    job j = job_of(pod__windows_of_x(call), s->n, s->k);
    if (call->pass == POD_CONV_WEIGHT_GRAD) {
        pick_kernel(&j, (pod_gemm_call){.shape = {j.width, j.depth, panel_rows(&j)},
                                        .trans_a = true,
                                        .lda = j.width,
                                        .ldb = j.depth,
                                        .ldc = j.depth});
        return j;
    }
    /* Products of few rows are faster with w upright; laying it so costs about a panel. */
    j.transposed = j.n_lines < 4 * j.panel_lines;
    pick_kernel_for_weights(&j);
    return j;
}

static job input_grad_job(const pod_conv_call *call, pod__residue rows, pod__residue columns)
{
    job j = job_of(pod__windows_of_dy(call, rows, columns), call->shape.n, call->shape.c);
    pick_kernel_for_weights(&j);
    return j;
}

/* ---- panels times weights ------------------------------------------------------------------- */

/* Where the rows of a product go: every step-th pixel of (N, H, W, width), or all of them. */
typedef struct target {
    void *out;
    pod_dtype dtype;
    int64_t h, w, row, column, step;
} target;

/* n pixels, from pixel `first` on. */
static void store_pixels(const target *to, int64_t n, int64_t width, const float *from,
                         int64_t first)
{
    const pod_pack *pack = pod_pack_pick(pod_cpu_features());
    const int64_t step = to->step * width;
    if (to->dtype == POD_F32) {
        pack->windows(n, width, from, width, (float *)to->out + first * width, step);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        pack->narrow(width, from + i * width, (pod_bf16 *)to->out + first * width + i * step);
}

static void store_panel(const job *j, const target *to, int64_t line, int64_t n_lines,
                        const float *panel)
{
    const pod_pack *pack = pod_pack_pick(pod_cpu_features());
    const int64_t q = j->view.q, width = j->width;
    if (to->step == 1) {
        pod_pack_store(pack, to->dtype, panel, n_lines * q * width, to->out, line * q * width);
        return;
    }
    for (int64_t i = 0; i < n_lines; i++) {
        const int64_t n = (line + i) / j->view.p, p = (line + i) % j->view.p;
        const int64_t first = (n * to->h + to->row + p * to->step) * to->w + to->column;
        store_pixels(to, q, width, panel + i * q * width, first);
    }
}

static void convolve(const job *j, const float *weights, const target *to, float *scratch)
{
    const layout at = layout_of(j);
    const bool in_place = to->step == 1 && to->dtype == POD_F32;
    float *panel = scratch + at.panel;
    for (int64_t line = 0; line < j->n_lines; line += j->panel_lines) {
        const int64_t n_lines = pod_min(j->panel_lines, j->n_lines - line), q = j->view.q;
        float *result = in_place ? (float *)to->out + line * q * j->width : scratch + at.side;
        pod__panel_build(&j->view, line, n_lines, scratch + at.strip, panel);
        pod_gemm_call product = j->product;
        product.shape.m = n_lines * q;
        product.a = panel;
        product.b = weights;
        product.c = result;
        j->kernel->run(&product, scratch + at.product);
        if (!in_place) store_panel(j, to, line, n_lines, result);
    }
}

/* w (K, RSC) as float32, transposed or upright. Upright in stripes of a cache line's floats. */
static const float *forward_weights(const job *j, const pod_conv_call *call, float *room)
{
    const pod_pack *pack = pod_pack_pick(pod_cpu_features());
    if (j->transposed && call->dtype == POD_F32) return call->b;
    if (j->transposed) {
        pod_pack_load(pack, call->dtype, call->b, 0, j->width * j->depth, room);
        return room;
    }
    float stripe[16];
    for (int64_t first = 0; first < j->depth; first += 16)
        for (int64_t k = 0; k < j->width; k++) {
            const int64_t n = pod_min(16, j->depth - first);
            pod_pack_load(pack, call->dtype, call->b, k * j->depth + first, n, stripe);
            for (int64_t i = 0; i < n; i++) room[(first + i) * j->width + k] = stripe[i];
        }
    return room;
}

static void forward(const pod_conv_call *call, float *scratch)
{
    const job j = forward_job(call);
    const float *weights = forward_weights(&j, call, scratch + layout_of(&j).weights);
    const target to = {.out = call->out, .dtype = call->dtype, .step = 1};
    convolve(&j, weights, &to, scratch);
}

/* The taps of one pair of remainders, last first: (taps, taps, K, C). */
static void gather_weights(const pod_conv_call *call, pod__residue rows, pod__residue columns,
                           float *out)
{
    const pod_pack *pack = pod_pack_pick(pod_cpu_features());
    const pod_conv_shape *s = &call->shape;
    for (int64_t i = rows.n_taps - 1; i >= 0; i--)
        for (int64_t j = columns.n_taps - 1; j >= 0; j--)
            for (int64_t k = 0; k < s->k; k++) {
                const int64_t r = rows.tap + i * s->stride, t = columns.tap + j * s->stride;
                pod_pack_load(pack, call->dtype, call->b, ((k * s->r + r) * s->s + t) * s->c, s->c,
                              out);
                out += s->c;
            }
}

static void input_grad(const pod_conv_call *call, float *scratch)
{
    const pod_conv_shape *s = &call->shape;
    for (int64_t a = 0; a < s->stride; a++)
        for (int64_t b = 0; b < s->stride; b++) {
            const pod__residue rows = pod__residue_rows(s, a), columns = pod__residue_columns(s, b);
            if (rows.n_pixels == 0 || columns.n_pixels == 0) continue;
            const job j = input_grad_job(call, rows, columns);
            float *weights = scratch + layout_of(&j).weights;
            gather_weights(call, rows, columns, weights);
            const target to = {call->out,  call->dtype,   s->h,     s->w,
                               rows.pixel, columns.pixel, s->stride};
            convolve(&j, weights, &to, scratch);
        }
}

/* ---- weight gradient ------------------------------------------------------------------------ */

static void weight_grad(const pod_conv_call *call, float *scratch)
{
    const pod_pack *pack = pod_pack_pick(pod_cpu_features());
    const job j = forward_job(call);
    const layout at = layout_of(&j);
    if (j.n_lines == 0) memset(call->out, 0, (size_t)(j.width * j.depth) * sizeof(float));
    for (int64_t line = 0; line < j.n_lines; line += j.panel_lines) {
        const int64_t n_lines = pod_min(j.panel_lines, j.n_lines - line);
        const int64_t rows = n_lines * j.view.q, first = line * j.view.q * j.width;
        const float *dy = scratch + at.side;
        if (call->dtype == POD_F32)
            dy = (const float *)call->b + first;
        else
            pod_pack_load(pack, call->dtype, call->b, first, rows * j.width, scratch + at.side);
        pod__panel_build(&j.view, line, n_lines, scratch + at.strip, scratch + at.panel);
        pod_gemm_call product = j.product;
        product.shape.k = rows;
        product.a = dy;
        product.b = scratch + at.panel;
        product.beta = line > 0 ? 1.0f : 0.0f;
        product.c = call->out;
        j.kernel->run(&product, scratch + at.product);
    }
}

/* ---- the kernel ----------------------------------------------------------------------------- */

const char *pod__conv_gemm_why_not(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    if (call->fused) return "it fuses nothing and takes no packed filters";
    const int64_t max = INT_MAX;
    if (s->r * s->s > max / pod_max(s->c, s->k)) return "a filter is above 2^31 - 1 elements";
    if (pod_max(s->q, s->w) > max / 2) return "a line is above 2^30 pixels";
    return NULL;
}

static int64_t input_grad_floats(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    int64_t floats = 0;
    for (int64_t a = 0; a < s->stride; a++)
        for (int64_t b = 0; b < s->stride; b++) {
            const pod__residue rows = pod__residue_rows(s, a), columns = pod__residue_columns(s, b);
            if (rows.n_pixels == 0 || columns.n_pixels == 0) continue;
            const job j = input_grad_job(call, rows, columns);
            floats = pod_max(floats, layout_of(&j).end);
        }
    return floats;
}

size_t pod__conv_gemm_scratch_bytes(const pod_conv_call *call)
{
    if (call->pass == POD_CONV_INPUT_GRAD) return (size_t)input_grad_floats(call) * sizeof(float);
    const job j = forward_job(call);
    return (size_t)layout_of(&j).end * sizeof(float);
}

void pod__conv_gemm_run(const pod_conv_call *call, void *scratch)
{
    static void (*const passes[POD_N_CONV_PASSES])(const pod_conv_call *, float *) = {
        [POD_CONV_FORWARD] = forward,
        [POD_CONV_INPUT_GRAD] = input_grad,
        [POD_CONV_WEIGHT_GRAD] = weight_grad,
    };
    if (call->shape.n == 0 && call->pass != POD_CONV_WEIGHT_GRAD) return;
    passes[call->pass](call, scratch);
}
