/* Depthwise convolution in vectors of channels, compiled once for each instruction set.
 *
 * A block is BLOCK channels, a pair of vectors. A run is RUN pixels of a line of the result: their
 * sums, and the filter's taps of one row, stay in registers, and each pixel that is read is used
 * for all the windows that see it.
 *
 *   3x3, stride 1      columns read    j = 0 1 2 3 4 5 6 7 8 9   column j meets tap k of window i
 *   forward, dw        windows         i = 0 1 2 3 4 5 6 7       where j = stride i + k
 *   dx                 it is the column that has the windows: pixel i = stride j + k, j from
 *                      below 0
 *
 * Taps that no window has inside the image are left out, as the outer ones of 5x5 at 2x2 images.
 * Where C is no multiple of BLOCK the last block overlaps the one before it: what is worked out
 * twice has the same bits. A run may end beyond its line. Filters but 3 and 5 wide, strides above
 * 2, and C < BLOCK go pixel by pixel. */
#include <stdbool.h>
#include <string.h>

#include "kernels/base/simd/simd.h"
#include "kernels/depthwise/depthwise.h"

/* BAND_BYTES of x and y are gone through for all channels before the next: they stay in L2. All of
 * a call likely is there when it is no more than FEW_BYTES. */
enum {
    BLOCK = POD_VEC2_LANES,
    RUN = POD_VEC_LANES == 16 ? 8 : 3,
    SEGMENT = 16 * RUN,
    BAND_BYTES = 1 << 18,
    FEW_BYTES = 3 << 19
};

#define UNROLL _Pragma("GCC unroll 20") for

/* ---- what a call works with ------------------------------------------------------------------ */

/* Scratch is an array of blocks, each with n_taps (R S) weights, or n_sums sums of which `part` has
 * the youngest terms: dw's (R S), or sum and sum_sq. All are in the order of a pair. */
typedef struct job {
    const pod_depthwise_call *call;
    pod_depthwise_shape shape; /* the call's, with the taps that are left */
    int64_t first_r, first_s;  /* of these */
    int64_t n_blocks, n_taps, n_sums;
    double *total; /* (n_blocks, n_sums, BLOCK) */
    float *part;   /* the same */
    float *taps;   /* (n_blocks, n_taps, BLOCK) */
} job;

/* One block of one image. */
typedef struct slice {
    const pod_depthwise_call *call;
    const pod_depthwise_shape *shape;
    int64_t n, first; /* channel */
    int width;        /* channels: BLOCK, or all there are */
    const float *taps;
    float *part; /* NULL: no sums */
} slice;

/* Works out a run whose first pixel is (row, col) of the result's image, dw: of dy's. */
typedef void run_fn(const slice *l, int64_t row, int64_t col);

/* The taps [begin, end) that lie inside the image, when the first lies at `from`. */
typedef struct range {
    int64_t begin, end;
} range;

POD_INLINE range taps_inside(int64_t from, int64_t n_taps, int64_t extent)
{
    return (range){from < 0 ? -from : 0, extent - from < n_taps ? extent - from : n_taps};
}

/* The taps that some of n_windows may have inside the image; all, if there are none. */
static range taps_left(int64_t n_taps, int64_t n_windows, int64_t stride, int64_t pad,
                       int64_t extent)
{
    const int64_t begin = pad - (n_windows - 1) * stride, end = extent + pad;
    const range left = {begin > 0 ? begin : 0, end < n_taps ? end : n_taps};
    return left.begin < left.end ? left : (range){0, n_taps};
}

static job job_of(const pod_depthwise_call *call, void *scratch)
{
    const bool grad = call->pass == POD_DEPTHWISE_WEIGHT_GRAD;
    job d = {.call = call, .shape = call->shape};
    pod_depthwise_shape *s = &d.shape;
    const range r = taps_left(s->r, s->p, s->stride, s->pad_h, s->h);
    const range k = taps_left(s->s, s->q, s->stride, s->pad_w, s->w);
    d.first_r = r.begin, s->r = r.end - r.begin, s->pad_h -= r.begin;
    d.first_s = k.begin, s->s = k.end - k.begin, s->pad_w -= k.begin;
    d.n_blocks = (s->c + BLOCK - 1) / BLOCK;
    d.n_sums = grad ? s->r * s->s : call->fused & POD_DEPTHWISE_SUMS ? 2 : 0;
    d.n_taps = grad ? 0 : s->r * s->s;
    if (!scratch) return d;
    d.total = scratch;
    d.part = (float *)(d.total + d.n_blocks * d.n_sums * BLOCK);
    d.taps = d.part + d.n_blocks * d.n_sums * BLOCK;
    return d;
}

static size_t depthwise_scratch_bytes(const pod_depthwise_call *call)
{
    const job d = job_of(call, NULL);
    const size_t each =
        (size_t)d.n_sums * (sizeof *d.total + sizeof *d.part) + (size_t)d.n_taps * sizeof *d.taps;
    return (size_t)d.n_blocks * BLOCK * each;
}

static slice slice_of(const job *d, int64_t n, int64_t block)
{
    const int64_t c = d->shape.c, first = block * BLOCK;
    slice l = {.call = d->call,
               .shape = &d->shape,
               .n = n,
               .first = c < BLOCK || first + BLOCK <= c ? first : c - BLOCK,
               .width = (int)(c < BLOCK ? c : BLOCK)};
    if (d->n_taps) l.taps = d->taps + block * d->n_taps * BLOCK;
    if (d->n_sums) l.part = d->part + block * d->n_sums * BLOCK;
    return l;
}

/* The elements of pixel (h, w) of x, and of (p, q) of y, that a slice works with. */
POD_INLINE int64_t x_at(const slice *l, int64_t h, int64_t w)
{
    const pod_depthwise_shape *s = l->shape;
    return ((l->n * s->h + h) * s->w + w) * s->c + l->first;
}

POD_INLINE int64_t y_at(const slice *l, int64_t p, int64_t q)
{
    const pod_depthwise_shape *s = l->shape;
    return ((l->n * s->p + p) * s->q + q) * s->c + l->first;
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Adds y as stored, and its square. */
POD_INLINE void add_sums(const slice *l, pod_vec2 sum, pod_vec2 sum_sq)
{
    pod_vec2_put(l->part, 0, pod_vec2_add(pod_vec2_at(l->part, 0), sum));
    pod_vec2_put(l->part, BLOCK, pod_vec2_add(pod_vec2_at(l->part, BLOCK), sum_sq));
}

POD_INLINE void forward_run(const slice *l, pod_dtype t, int s, int stride, int64_t p, int64_t q)
{
    const pod_depthwise_shape *shape = l->shape;
    const int64_t c = shape->c, h = p * stride - shape->pad_h, w = q * stride - shape->pad_w;
    const range rows = taps_inside(h, shape->r, shape->h);
    pod_vec2 y[RUN];
    UNROLL(int i = 0; i < RUN; i++) y[i] = pod_vec2_all(0);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        int64_t at = x_at(l, h + r, w);
        pod_vec2 tap[5];
        UNROLL(int k = 0; k < s; k++) tap[k] = pod_vec2_at(l->taps, (r * s + k) * BLOCK);
        UNROLL(int j = 0; j < (RUN - 1) * stride + s; j++, at += c)
        {
            if (w + j < 0 || w + j >= shape->w) continue;
            const pod_vec2 x = pod_vec2_load(t, l->call->a, at, BLOCK);
            UNROLL(int k = 0; k < s; k++)
            {
                const int i = (j - k) / stride;
                if (j >= k && (j - k) % stride == 0 && i < RUN)
                    y[i] = pod_vec2_fma(x, tap[k], y[i]);
            }
        }
    }
    int64_t at = y_at(l, p, q);
    UNROLL(int i = 0; i < RUN; i++, at += c)
    if (q + i < shape->q) pod_vec2_store(t, l->call->out, at, BLOCK, y[i]);
    if (!l->part) return;
    pod_vec2 sum = pod_vec2_all(0), sum_sq = sum;
    at = y_at(l, p, q);
    UNROLL(int i = 0; i < RUN; i++, at += c)
    {
        if (q + i >= shape->q) break;
        const pod_vec2 v = pod_vec2_load(t, l->call->out, at, BLOCK);
        sum = pod_vec2_add(sum, v);
        sum_sq = pod_vec2_fma(v, v, sum_sq);
    }
    add_sums(l, sum, sum_sq);
}

POD_INLINE void forward_pixel(const slice *l, pod_dtype t, int64_t p, int64_t q)
{
    const pod_depthwise_shape *s = l->shape;
    const int64_t h = p * s->stride - s->pad_h, w = q * s->stride - s->pad_w;
    const range rows = taps_inside(h, s->r, s->h), cols = taps_inside(w, s->s, s->w);
    pod_vec2 y = pod_vec2_all(0);
    for (int64_t r = rows.begin; r < rows.end; r++)
        for (int64_t k = cols.begin; k < cols.end; k++)
            y = pod_vec2_fma(pod_vec2_load(t, l->call->a, x_at(l, h + r, w + k), l->width),
                             pod_vec2_at(l->taps, (r * s->s + k) * BLOCK), y);
    pod_vec2_store(t, l->call->out, y_at(l, p, q), l->width, y);
    if (!l->part) return;
    const pod_vec2 v = pod_vec2_load(t, l->call->out, y_at(l, p, q), l->width);
    add_sums(l, v, pod_vec2_mul(v, v));
}

/* ---- input gradient -------------------------------------------------------------------------- */

/* Pixels of dx that a run has, for which col + pad_w is a multiple of the stride: with stride 2, as
 * many of even place as of odd. */
#define DX_RUN(stride) ((RUN + (stride)-1) / (stride) * (stride))

POD_INLINE void input_grad_run(const slice *l, pod_dtype t, int s, int stride, int64_t h, int64_t w)
{
    const pod_depthwise_shape *shape = l->shape;
    const int run = DX_RUN(stride), before = (s - 1) / stride;
    const int64_t q = (w + shape->pad_w) / stride - before; /* the first column */
    pod_vec2 dx[DX_RUN(2)];
    UNROLL(int i = 0; i < run; i++) dx[i] = pod_vec2_all(0);
    for (int64_t r = (h + shape->pad_h) % stride; r < shape->r; r += stride) {
        const int64_t p = (h + shape->pad_h - r) / stride;
        if (h + shape->pad_h < r || p >= shape->p) continue;
        int64_t at = y_at(l, p, q);
        pod_vec2 tap[5];
        UNROLL(int k = 0; k < s; k++) tap[k] = pod_vec2_at(l->taps, (r * s + k) * BLOCK);
        UNROLL(int j = 0; j <= before + (run - 1) / stride; j++, at += shape->c)
        {
            if (q + j < 0 || q + j >= shape->q) continue;
            const pod_vec2 dy = pod_vec2_load(t, l->call->a, at, BLOCK);
            UNROLL(int k = 0; k < s; k++)
            {
                const int i = (j - before) * stride + k;
                if (i >= 0 && i < run) dx[i] = pod_vec2_fma(dy, tap[k], dx[i]);
            }
        }
    }
    int64_t at = x_at(l, h, w);
    UNROLL(int i = 0; i < run; i++, at += shape->c)
    if (w + i >= 0 && w + i < shape->w) pod_vec2_store(t, l->call->out, at, BLOCK, dx[i]);
}

POD_INLINE void input_grad_pixel(const slice *l, pod_dtype t, int64_t h, int64_t w)
{
    const pod_depthwise_shape *s = l->shape;
    const int64_t h_end = h + s->pad_h, w_end = w + s->pad_w; /* where the last tap would lie */
    pod_vec2 dx = pod_vec2_all(0);
    for (int64_t r = h_end % s->stride; r < s->r && r <= h_end; r += s->stride) {
        const int64_t p = (h_end - r) / s->stride;
        if (p >= s->p) continue;
        for (int64_t k = w_end % s->stride; k < s->s && k <= w_end; k += s->stride) {
            const int64_t q = (w_end - k) / s->stride;
            if (q >= s->q) continue;
            dx = pod_vec2_fma(pod_vec2_load(t, l->call->a, y_at(l, p, q), l->width),
                              pod_vec2_at(l->taps, (r * s->s + k) * BLOCK), dx);
        }
    }
    pod_vec2_store(t, l->call->out, x_at(l, h, w), l->width, dx);
}

/* ---- weight gradient ------------------------------------------------------------------------- */

POD_INLINE void weight_grad_run(const slice *l, pod_dtype t, int s, int stride, int64_t p,
                                int64_t q)
{
    const pod_depthwise_shape *shape = l->shape;
    const int64_t c = shape->c, h = p * stride - shape->pad_h, w = q * stride - shape->pad_w;
    const range rows = taps_inside(h, shape->r, shape->h);
    int64_t at = y_at(l, p, q);
    pod_vec2 dy[RUN];
    UNROLL(int i = 0; i < RUN; i++, at += c)
    dy[i] = q + i < shape->q ? pod_vec2_load(t, l->call->b, at, BLOCK) : pod_vec2_all(0);
    for (int64_t r = rows.begin; r < rows.end; r++) {
        float *part = l->part + r * s * BLOCK;
        at = x_at(l, h + r, w);
        pod_vec2 dw[5];
        UNROLL(int k = 0; k < s; k++) dw[k] = pod_vec2_at(part, k * BLOCK);
        UNROLL(int j = 0; j < (RUN - 1) * stride + s; j++, at += c)
        {
            if (w + j < 0 || w + j >= shape->w) continue;
            const pod_vec2 x = pod_vec2_load(t, l->call->a, at, BLOCK);
            UNROLL(int k = 0; k < s; k++)
            {
                const int i = (j - k) / stride;
                if (j >= k && (j - k) % stride == 0 && i < RUN)
                    dw[k] = pod_vec2_fma(x, dy[i], dw[k]);
            }
        }
        UNROLL(int k = 0; k < s; k++) pod_vec2_put(part, k * BLOCK, dw[k]);
    }
}

POD_INLINE void weight_grad_pixel(const slice *l, pod_dtype t, int64_t p, int64_t q)
{
    const pod_depthwise_shape *s = l->shape;
    const int64_t h = p * s->stride - s->pad_h, w = q * s->stride - s->pad_w;
    const range rows = taps_inside(h, s->r, s->h), cols = taps_inside(w, s->s, s->w);
    const pod_vec2 dy = pod_vec2_load(t, l->call->b, y_at(l, p, q), l->width);
    for (int64_t r = rows.begin; r < rows.end; r++)
        for (int64_t k = cols.begin; k < cols.end; k++) {
            float *dw = l->part + (r * s->s + k) * BLOCK;
            const pod_vec2 x = pod_vec2_load(t, l->call->a, x_at(l, h + r, w + k), l->width);
            pod_vec2_put(dw, 0, pod_vec2_fma(x, dy, pod_vec2_at(dw, 0)));
        }
}

/* ---- the functions that are made of these ---------------------------------------------------- */

#define RUN_FN(pass, t, s, stride)                                                    \
    static void pass##_##t##_##s##_##stride(const slice *l, int64_t row, int64_t col) \
    {                                                                                 \
        pass##_run(l, POD_##t, s, stride, row, col);                                  \
    }
#define PIXEL_FN(pass, t)                                            \
    static void pass##_##t(const slice *l, int64_t row, int64_t col) \
    {                                                                \
        pass##_pixel(l, POD_##t, row, col);                          \
    }
#define FNS_OF_TYPE(pass, t) \
    PIXEL_FN(pass, t)        \
    RUN_FN(pass, t, 3, 1)    \
    RUN_FN(pass, t, 3, 2)    \
    RUN_FN(pass, t, 5, 1)    \
    RUN_FN(pass, t, 5, 2)
#define FNS(pass)          \
    FNS_OF_TYPE(pass, F32) \
    FNS_OF_TYPE(pass, BF16)
FNS(forward)
FNS(input_grad)
FNS(weight_grad)

#define FNS_IN_TABLE(pass, t)                                                            \
    {                                                                                    \
        pass##_##t,                                                                      \
        {                                                                                \
            {pass##_##t##_3_1, pass##_##t##_3_2}, { pass##_##t##_5_1, pass##_##t##_5_2 } \
        }                                                                                \
    }
typedef struct fns {
    run_fn *pixel, *run[2][2]; /* run: by width of the filter (3, 5) and stride */
} fns;
static const fns table[POD_N_DEPTHWISE_PASSES][2] = {
    [POD_DEPTHWISE_FORWARD] = {FNS_IN_TABLE(forward, F32), FNS_IN_TABLE(forward, BF16)},
    [POD_DEPTHWISE_INPUT_GRAD] = {FNS_IN_TABLE(input_grad, F32), FNS_IN_TABLE(input_grad, BF16)},
    [POD_DEPTHWISE_WEIGHT_GRAD] = {FNS_IN_TABLE(weight_grad, F32),
                                   FNS_IN_TABLE(weight_grad, BF16)}};

/* How a line is gone through. */
typedef struct stepping {
    run_fn *pixel, *run; /* run NULL: there is none for this call */
    int64_t run_pixels;
    int64_t before; /* pixels by which the first run begins before the line */
} stepping;

static stepping stepping_of(const job *d)
{
    const pod_depthwise_shape *s = &d->shape;
    const fns *f = &table[d->call->pass][d->call->dtype == POD_BF16];
    stepping step = {.pixel = f->pixel, .run_pixels = RUN};
    if ((s->s == 3 || s->s == 5) && s->stride <= 2 && s->c >= BLOCK)
        step.run = f->run[s->s == 5][s->stride - 1];
    if (d->call->pass == POD_DEPTHWISE_INPUT_GRAD) {
        step.run_pixels = DX_RUN(s->stride);
        step.before = s->pad_w % s->stride;
    }
    return step;
}

/* What the next band reads and writes of x and of y, asked for ahead of time in the order of
 * memory, a part with each run: a block by itself takes every so many lines of the cache, which no
 * prefetcher follows for long. Asking for more than there is does no harm. */
typedef struct ahead {
    const char *x, *y;
    int64_t x_bytes, y_bytes; /* a run */
} ahead;

POD_INLINE void ask(const char **from, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(*from + at, 0, 2);
    *from += bytes;
}

/* Pixels [col, end) of a row. */
static void do_line(const slice *l, const stepping *step, ahead *next, int64_t row, int64_t col,
                    int64_t end)
{
    if (step->run) {
        for (col -= step->before; col < end; col += step->run_pixels) {
            ask(&next->x, next->x_bytes);
            ask(&next->y, next->y_bytes);
            step->run(l, row, col);
        }
    }
    for (; col < end; col++) step->pixel(l, row, col);
}

/* ---- all of a call --------------------------------------------------------------------------- */

/* Element (r, k) of the filter, counted among the taps that are left. */
static int64_t w_at(const job *d, int64_t r, int64_t k)
{
    return ((d->first_r + r) * d->call->shape.s + d->first_s + k) * d->shape.c;
}

static void spread_taps(const job *d)
{
    const pod_depthwise_call *call = d->call;
    for (int64_t block = 0; block < d->n_blocks; block++) {
        const slice l = slice_of(d, 0, block);
        float *out = d->taps + block * d->n_taps * BLOCK;
        for (int64_t tap = 0; tap < d->n_taps; tap++) {
            const int64_t at = w_at(d, tap / d->shape.s, tap % d->shape.s) + l.first;
            pod_vec2_put(out, tap * BLOCK, pod_vec2_load(call->dtype, call->b, at, l.width));
        }
    }
}

static void flush(const job *d, int64_t block)
{
    const int64_t at = block * d->n_sums * BLOCK, count = d->n_sums * BLOCK;
    for (int64_t i = 0; i < count; i += POD_VEC_LANES) {
        float *part = d->part + at + i;
        pod_vec_add_f64(pod_vec_load(POD_F32, part, 0, POD_VEC_LANES), d->total + at + i);
        pod_vec_store(POD_F32, part, 0, POD_VEC_LANES, pod_vec_all(0));
    }
}

/* The sums of index `which` to float32, in the order of the channels. */
static void write_sums(const job *d, int64_t which, float *out)
{
    const bool paired = d->call->dtype == POD_BF16;
    for (int64_t block = 0; block < d->n_blocks; block++) {
        const slice l = slice_of(d, 0, block);
        const double *total = d->total + (block * d->n_sums + which) * BLOCK;
        float in_order[BLOCK];
        for (int i = 0; i < POD_VEC_LANES; i++) {
            in_order[paired ? 2 * i : i] = (float)total[i];
            in_order[paired ? 2 * i + 1 : i + POD_VEC_LANES] = (float)total[i + POD_VEC_LANES];
        }
        memcpy(out + l.first, in_order, sizeof *out * (size_t)l.width);
    }
}

/* dw of the taps that are left, 0 for the others. */
static void write_weight_grad(const job *d)
{
    const pod_depthwise_shape *all = &d->call->shape;
    float *dw = d->call->out;
    if (d->n_sums < all->r * all->s) memset(dw, 0, sizeof *dw * (size_t)(all->r * all->s * all->c));
    for (int64_t tap = 0; tap < d->n_sums; tap++)
        write_sums(d, tap, dw + w_at(d, tap / d->shape.s, tap % d->shape.s));
}

/* One band: rows of one image of the result, dw: of dy. */
typedef struct place {
    int64_t n;
    range rows;
} place;

/* One band for one block of channels, whose partial sums hold `held` terms; answers how many they
 * hold behind it. */
static int64_t do_band(const job *d, const stepping *step, ahead *next, const place *p,
                       int64_t block, int64_t cols, int64_t held)
{
    const slice l = slice_of(d, p->n, block);
    const int64_t segment = d->n_sums ? SEGMENT : cols;
    for (int64_t row = p->rows.begin; row < p->rows.end; row++)
        for (int64_t at = 0; at < cols; at += segment) {
            const int64_t to = at + segment < cols ? at + segment : cols;
            do_line(&l, step, next, row, at, to);
            held += to - at;
            if (!d->n_sums || held < SEGMENT) continue;
            flush(d, block);
            held = 0;
        }
    return held;
}

/* All of a call, band by band. */
typedef struct walk {
    int64_t n_rows, cols, band_rows; /* of the result's image */
    const char *x, *y;
    int64_t x_bytes, y_bytes; /* an image */
} walk;

static walk walk_of(const pod_depthwise_call *call)
{
    const pod_depthwise_shape *s = &call->shape;
    const bool dx = call->pass == POD_DEPTHWISE_INPUT_GRAD;
    const bool forward = call->pass == POD_DEPTHWISE_FORWARD;
    const int64_t pixel_bytes = s->c * (int64_t)pod_dtype_bytes(call->dtype);
    walk w = {.n_rows = dx ? s->h : s->p,
              .cols = dx ? s->w : s->q,
              .x = dx ? call->out : call->a,
              .y = forward ? call->out
                   : dx    ? call->a
                           : call->b,
              .x_bytes = s->h * s->w * pixel_bytes,
              .y_bytes = s->p * s->q * pixel_bytes};
    const int64_t row_bytes = (w.x_bytes + w.y_bytes) / w.n_rows;
    w.band_rows = row_bytes < BAND_BYTES ? BAND_BYTES / row_bytes : 1;
    return w;
}

static place band_behind(const walk *w, const place *p)
{
    const bool same = p->rows.end < w->n_rows;
    const int64_t begin = same ? p->rows.end : 0, end = begin + w->band_rows;
    return (place){same ? p->n : p->n + 1, {begin, end < w->n_rows ? end : w->n_rows}};
}

/* What band p needs, dealt out over n_runs. */
static ahead ahead_of(const walk *w, const place *p, int64_t n_runs)
{
    const int64_t n_rows = p->rows.end - p->rows.begin;
    return (ahead){.x = w->x + p->n * w->x_bytes + w->x_bytes * p->rows.begin / w->n_rows,
                   .y = w->y + p->n * w->y_bytes + w->y_bytes * p->rows.begin / w->n_rows,
                   .x_bytes = (w->x_bytes * n_rows / w->n_rows / n_runs + 63) / 64 * 64,
                   .y_bytes = (w->y_bytes * n_rows / w->n_rows / n_runs + 63) / 64 * 64};
}

static void do_images(const job *d)
{
    const int64_t n = d->call->shape.n;
    const stepping step = stepping_of(d);
    const walk w = walk_of(d->call);
    const int64_t runs_a_line = (step.before + w.cols + step.run_pixels - 1) / step.run_pixels;
    int64_t held = 0;
    place p = {0, {0, w.band_rows < w.n_rows ? w.band_rows : w.n_rows}};
    while (p.n < n) {
        const place behind = band_behind(&w, &p);
        ahead next = {0};
        if (behind.n < n && n * (w.x_bytes + w.y_bytes) > FEW_BYTES)
            next = ahead_of(&w, &behind, (p.rows.end - p.rows.begin) * d->n_blocks * runs_a_line);
        int64_t held_after = held;
        for (int64_t block = 0; block < d->n_blocks; block++)
            held_after = do_band(d, &step, &next, &p, block, w.cols, held);
        held = held_after;
        p = behind;
    }
}

static void depthwise_run(const pod_depthwise_call *call, void *scratch)
{
    const job d = job_of(call, scratch);
    const size_t n_sums = (size_t)(d.n_blocks * d.n_sums) * BLOCK;
    if (n_sums) {
        memset(d.total, 0, n_sums * sizeof *d.total);
        memset(d.part, 0, n_sums * sizeof *d.part);
    }
    if (d.n_taps) spread_taps(&d);
    do_images(&d);
    if (n_sums)
        for (int64_t block = 0; block < d.n_blocks; block++) flush(&d, block);
    if (call->pass == POD_DEPTHWISE_WEIGHT_GRAD) {
        write_weight_grad(&d);
    } else if (n_sums) {
        write_sums(&d, 0, call->sum);
        write_sums(&d, 1, call->sum_sq);
    }
}

const pod_depthwise POD_ISA(pod__depthwise) = {POD_ISA_SET, depthwise_scratch_bytes, depthwise_run};
