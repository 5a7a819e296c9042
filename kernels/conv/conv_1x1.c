/* 1x1 convolution: pixels are rows, so it is one matrix product, in the element type of the call
 * and by whichever kernel of the GEMM table fits.
 *
 *   forward      y (NPQ, K) = x (NPQ, C) * w (K, C)^T
 *   input grad   dx (NPQ, C) = dy (NPQ, K) * w (K, C)
 *   weight grad  dw (K, C) = dy (NPQ, K)^T * x (NPQ, C)
 *
 * With a stride, the pixels that are hit are gathered (or scattered) a panel at a time. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/cpu.h"
#include "kernels/conv/conv_kernels.h"
#include "kernels/gemm/blas.h"
#include "kernels/gemm/gemm.h"

enum { PANEL_BYTES = 256 * 1024 };

static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

static int64_t n_rows(const pod_conv_shape *s) { return s->n * s->p * s->q; }

/* Pixels a product: all of them when they lie one behind the other. */
static int64_t panel_rows(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    if (s->stride == 1) return n_rows(s);
    return pod_min(n_rows(s), 128 + PANEL_BYTES / (s->c * (int64_t)pod_dtype_bytes(call->dtype)));
}

/* Forward, short products want w packed (C, K). */
static bool packs_upright(const pod_conv_call *call)
{
    return call->pass == POD_CONV_FORWARD &&
           pod_blas_rows(call->shape.k, call->shape.c) < INT64_MAX;
}

/* The product of `rows` pixels; the operands' addresses are still open. */
static pod_gemm_call product_of(const pod_conv_call *call, int64_t rows)
{
    const pod_conv_shape *s = &call->shape;
    pod_gemm_call g = {.n_batch = 1, .ab_dtype = call->dtype, .c_dtype = call->dtype};
    if (call->pass == POD_CONV_FORWARD) {
        g.shape = (pod_gemm_shape){rows, s->k, s->c};
        g.trans_b = !packs_upright(call);
    } else if (call->pass == POD_CONV_INPUT_GRAD) {
        g.shape = (pod_gemm_shape){rows, s->c, s->k};
    } else {
        g.shape = (pod_gemm_shape){s->k, s->c, rows};
        g.trans_a = true;
        g.c_dtype = POD_F32;
    }
    g.lda = g.trans_a ? g.shape.m : g.shape.k;
    g.ldb = g.trans_b ? g.shape.k : g.shape.n;
    g.ldc = g.shape.n;
    return g;
}

/* Rows of y (n, p, q) from `row` on that lie in one line, and where the first reads x, in bytes. */
typedef struct line {
    int64_t rows, at;
} line;

static line line_at(const pod_conv_call *call, int64_t row, int64_t rows)
{
    const pod_conv_shape *s = &call->shape;
    const int64_t q = row % s->q, p = row / s->q % s->p, n = row / s->q / s->p;
    const int64_t pixel = (n * s->h + p * s->stride) * s->w + q * s->stride;
    return (line){pod_min(rows, s->q - q), pixel * s->c * (int64_t)pod_dtype_bytes(call->dtype)};
}

/* n pixels of some bytes, from and to where they are so far apart. */
static void copy_pixels(const char *from, size_t from_apart, char *to, size_t to_apart, int64_t n,
                        size_t bytes)
{
    if (bytes == 32) /* few channels: what a call costs shows */
        for (; n > 0; n--, from += from_apart, to += to_apart) memcpy(to, from, 32);
    else if (bytes == 64)
        for (; n > 0; n--, from += from_apart, to += to_apart) memcpy(to, from, 64);
    else
        for (; n > 0; n--, from += from_apart, to += to_apart) memcpy(to, from, bytes);
}

/* The pixels of x that rows row .. row + rows - 1 of y read, dense: x itself, or gathered. */
static const void *pixels_of(const pod_conv_call *call, int64_t row, int64_t rows, char *panel)
{
    char *to = panel;
    if (call->shape.stride == 1) return (const char *)call->a + line_at(call, row, rows).at;
    const size_t bytes = (size_t)call->shape.c * pod_dtype_bytes(call->dtype);
    const size_t apart = (size_t)call->shape.stride * bytes;
    for (line x; rows > 0; row += x.rows, rows -= x.rows) {
        x = line_at(call, row, rows);
        copy_pixels((const char *)call->a + x.at, apart, to, bytes, x.rows, bytes);
        to += (size_t)x.rows * bytes;
    }
    return panel;
}

static void scatter(const pod_conv_call *call, int64_t row, int64_t rows, const char *panel)
{
    const size_t bytes = (size_t)call->shape.c * pod_dtype_bytes(call->dtype);
    const size_t apart = (size_t)call->shape.stride * bytes;
    for (line x; rows > 0; row += x.rows, rows -= x.rows) {
        x = line_at(call, row, rows);
        copy_pixels(panel, bytes, (char *)call->out + x.at, apart, x.rows, bytes);
        panel += (size_t)x.rows * bytes;
    }
}

/* Regions of the scratch, in bytes from its start. */
typedef struct layout {
    size_t weights, pixels, end; /* the product's own scratch comes first */
} layout;

static const pod_gemm_kernel *kernel_for(const pod_gemm_call *g)
{
    return pod_gemm_pick(&(pod_choice){.cpu = pod_cpu_features()}, g);
}

static size_t gemm_bytes(const pod_conv_call *call, int64_t rows)
{
    const pod_gemm_call g = product_of(call, rows);
    return padded(kernel_for(&g)->scratch_bytes(&g));
}

static layout layout_of(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    const size_t element = pod_dtype_bytes(call->dtype);
    const int64_t rows = panel_rows(call);
    const size_t full = gemm_bytes(call, rows);
    const size_t last = gemm_bytes(call, rows ? n_rows(s) % rows : 0);
    layout at = {.weights = full > last ? full : last};
    at.pixels = at.weights + (packs_upright(call) ? padded((size_t)(s->k * s->c) * element) : 0);
    at.end = at.pixels + (s->stride > 1 ? padded((size_t)(rows * s->c) * element) : 0);
    return at;
}

/* w (K, C) to (C, K) */
static void pack_upright(const pod_conv_call *call, void *out)
{
    const int64_t k_end = call->shape.k, c_end = call->shape.c;
    const size_t element = pod_dtype_bytes(call->dtype);
    for (int64_t k = 0; k < k_end; k++)
        for (int64_t c = 0; c < c_end; c++)
            memcpy((char *)out + (size_t)(c * k_end + k) * element,
                   (const char *)call->b + (size_t)(k * c_end + c) * element, element);
}

const char *pod__conv_1x1_why_not(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    if (call->fused) return "it fuses nothing and takes no packed filters";
    if (s->r != 1 || s->s != 1) return "the filter is not 1x1";
    if (s->pad_h != 0 || s->pad_w != 0) return "there is padding";
    if ((s->p - 1) * s->stride >= s->h || (s->q - 1) * s->stride >= s->w)
        return "windows lie outside the image";
    if (s->stride == 1 && (s->p != s->h || s->q != s->w)) return "not every pixel has a window";
    if (n_rows(s) > INT32_MAX) return "more than 2^31 - 1 pixels";
    return NULL;
}

size_t pod__conv_1x1_scratch_bytes(const pod_conv_call *call) { return layout_of(call).end; }

static void multiply(const pod_gemm_call *g, void *scratch) { kernel_for(g)->run(g, scratch); }

static void forward(const pod_conv_call *call, char *scratch)
{
    const layout at = layout_of(call);
    const int64_t row_bytes = call->shape.k * (int64_t)pod_dtype_bytes(call->dtype);
    const void *weights = call->b;
    if (packs_upright(call)) {
        pack_upright(call, scratch + at.weights);
        weights = scratch + at.weights;
    }
    for (int64_t row = 0; row < n_rows(&call->shape); row += panel_rows(call)) {
        const int64_t rows = pod_min(panel_rows(call), n_rows(&call->shape) - row);
        pod_gemm_call g = product_of(call, rows);
        g.a = pixels_of(call, row, rows, scratch + at.pixels);
        g.b = weights;
        g.c = (char *)call->out + row * row_bytes;
        multiply(&g, scratch);
    }
}

static void input_grad(const pod_conv_call *call, char *scratch)
{
    const pod_conv_shape *s = &call->shape;
    const layout at = layout_of(call);
    const int64_t row_bytes = s->k * (int64_t)pod_dtype_bytes(call->dtype);
    if (s->stride > 1)
        memset(call->out, 0, (size_t)(s->n * s->h * s->w * s->c) * pod_dtype_bytes(call->dtype));
    for (int64_t row = 0; row < n_rows(s); row += panel_rows(call)) {
        const int64_t rows = pod_min(panel_rows(call), n_rows(s) - row);
        pod_gemm_call g = product_of(call, rows);
        g.a = (const char *)call->a + row * row_bytes;
        g.b = call->b;
        g.c = s->stride > 1 ? scratch + at.pixels : (char *)call->out;
        multiply(&g, scratch);
        if (s->stride > 1) scatter(call, row, rows, scratch + at.pixels);
    }
}

static void weight_grad(const pod_conv_call *call, char *scratch)
{
    const layout at = layout_of(call);
    const int64_t row_bytes = call->shape.k * (int64_t)pod_dtype_bytes(call->dtype);
    int64_t row = 0;
    do { /* also once without rows, which gives zeros */
        const int64_t rows = pod_min(panel_rows(call), n_rows(&call->shape) - row);
        pod_gemm_call g = product_of(call, rows);
        g.a = (const char *)call->b + row * row_bytes;
        g.b = pixels_of(call, row, rows, scratch + at.pixels);
        g.c = call->out;
        g.beta = row > 0 ? 1.0f : 0.0f;
        multiply(&g, scratch);
        row += rows;
    } while (row < n_rows(&call->shape));
}

void pod__conv_1x1_run(const pod_conv_call *call, void *scratch)
{
    static void (*const passes[POD_N_CONV_PASSES])(const pod_conv_call *, char *) = {
        [POD_CONV_FORWARD] = forward,
        [POD_CONV_INPUT_GRAD] = input_grad,
        [POD_CONV_WEIGHT_GRAD] = weight_grad,
    };
    passes[call->pass](call, scratch);
}
