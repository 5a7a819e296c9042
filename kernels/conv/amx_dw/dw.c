/* Weight gradient in bfloat16 tile products (amx_dw/dw.h), a block of the batch at a time: whole
 * images, as many as the cache takes, or lines of one image. For each block
 *
 *   transposed   dy, all K channels
 *   staged   x with its border, some channels at a time
 *   paired   what the taps see of the staged x: columns (s, c) of one r, or (c) of one r and s
 *
 *   sums (K, columns) += transposed * paired
 *
 * sums is dw itself where K and the columns of a tap fill whole tiles.
 *
 * A panel of paired pixels serves one r; or, sliding, all of them: then it holds every staged line,
 * and the r-th one begins r lines further on. Lines of dy between two images are zeros there.
 *
 * A 1x1 filter over all pixels pairs x as it lies. */
#include "kernels/conv/amx_dw/dw.h"

#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/conv/conv_kernels.h"

enum {
    BLOCK_BYTES =
        512 * 1024,         /* of what is transposed, staged and paired; a quarter of a core's L2 */
    BLOCK_PIXELS_MIN = 512, /* or the sums go through memory too often */
    WIDE = 256,             /* channels at a time of x as it lies: long reads */
    WIDTH = 64,             /* staged */
    JOINED_MAX = 48         /* up to so many are staged together, whole lines of them */
};

typedef struct plan {
    pod_conv_shape s;
    bool direct, sliding, joined, in_place;
    int64_t m, n_runs, run; /* channels of dy; columns: runs of as many */
    int64_t run_pad, m_pad;
    int64_t images, lines;            /* of a block at most; one of them is 1 or lines is P */
    int64_t width;                    /* channels of x at a time */
    int64_t step, staged_step;        /* from window to window in staged x; in x */
    int64_t staged_cols, staged_rows; /* of an image of the block */
    int64_t taps_s;                   /* of a staged line that are panels of their own */
    int n_tiles;                      /* of a panel, at most */
} plan;

/* Regions of the scratch, in bytes from its start. */
typedef struct layout {
    size_t sums, transposed, edge, staged, paired, end;
} layout;

/* Images [image, image + n_images), of each the lines [line, line + n_lines). */
typedef struct block {
    int64_t image, n_images, line, n_lines;
} block;

static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

/* ---- decide --------------------------------------------------------------------------------- */

/* Whether x is a dense matrix of pixels, to be read as it lies. */
static bool is_direct(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    return s->r == 1 && s->s == 1 && s->stride == 1 && s->pad_h == 0 && s->pad_w == 0 &&
           s->p == s->h && s->q == s->w && s->c % POD__DW_TILE == 0 && !call->fused;
}

/* Sliding saves pairing, R - 1 times of R, and multiplies zeros between the images. */
static bool is_sliding(const pod_conv_shape *s, int n_tiles)
{
    if (s->stride > 1 || s->r == 1 || s->q % 2 != 0 || n_tiles * s->r > POD__DW_MAX_TILES)
        return false;
    const double gap = (double)(s->r - 1) / (double)s->p;
    const double pairing = 20.0; /* products of a tile's row, in time, that pairing it takes */
    return 1.0 + gap + gap * (double)s->r * (double)s->k / pairing < (double)s->r;
}

static int64_t grid_pixels(const plan *p, int64_t n_images, int64_t n_lines)
{
    const int64_t gap = p->sliding ? p->s.r - 1 : 0;
    return (n_images * (n_lines + gap) - gap) * p->s.q;
}

/* Pixels of a panel, whole tiles of them. */
static int64_t plane_of(const plan *p, int64_t n_images, int64_t n_lines)
{
    const int64_t grid = pod_round_up(grid_pixels(p, n_images, n_lines), POD__DW_PIXELS);
    return pod_round_up(grid + (p->sliding ? (p->s.r - 1) * p->s.q : 0), POD__DW_PIXELS);
}

/* Blocks of about the same size, whole images if one of them fits. */
static void choose_block(plan *p)
{
    const pod_conv_shape *s = &p->s;
    const int64_t staged = p->direct ? 0 : p->width * p->step * p->step;
    const int64_t pixel_bytes = 2 * (p->m_pad + staged + p->n_tiles * POD__DW_TILE);
    const int64_t pixels = pod_max(BLOCK_PIXELS_MIN, BLOCK_BYTES / pixel_bytes);
    const int64_t lines = pod_max(1, pixels / s->q);
    p->images = pod_max(1, pod_min(s->n, lines / s->p));
    p->images = pod_div_up(s->n, pod_div_up(pod_max(s->n, 1), p->images));
    p->lines = pod_div_up(s->p, pod_div_up(s->p, pod_min(lines, s->p)));
}

static plan plan_of(const pod_conv_call *call)
{
    plan p = {.s = call->shape, .direct = is_direct(call)};
    pod_conv_shape *s = &p.s;
    if (p.direct) { /* all lines of the batch are those of one image */
        s->p = s->h = s->n * s->p;
        s->n = s->p > 0;
    }
    const bool point = s->r == 1 && s->s == 1;
    p.joined = s->s > 1 && s->c <= JOINED_MAX && s->s <= 8;
    p.width = p.joined ? s->c : pod_min(p.direct ? WIDE : WIDTH, pod_round_up(s->c, POD__DW_TILE));
    p.taps_s = p.joined ? 1 : s->s;
    p.m = s->k;
    p.run = p.joined ? s->s * s->c : s->c;
    p.n_runs = s->r * p.taps_s;
    p.m_pad = pod_round_up(p.m, POD__DW_TILE), p.run_pad = pod_round_up(p.run, POD__DW_TILE);
    p.n_tiles = (int)(p.joined ? p.run_pad : p.width) / POD__DW_TILE;
    p.sliding = is_sliding(s, p.n_tiles);
    p.in_place = p.m == p.m_pad && p.run == p.run_pad;
    p.step = point ? 1 : s->stride, p.staged_step = point ? s->stride : 1;
    choose_block(&p);
    p.staged_cols = (s->q - 1) * p.step + s->s;
    p.staged_rows = (p.lines - 1) * p.step + s->r;
    return p;
}

static layout layout_of(const plan *p)
{
    const int64_t plane = plane_of(p, p->images, p->lines);
    const int64_t staged = p->images * p->staged_rows * p->staged_cols * p->width;
    layout at = {0};
    at.transposed =
        at.sums + (p->in_place ? 0 : (size_t)(p->m_pad * p->n_runs * p->run_pad) * sizeof(float));
    at.edge = at.transposed + (size_t)(p->m_pad * plane) * sizeof(pod_bf16);
    at.staged = at.edge + (size_t)(p->m_pad * POD__DW_PIXELS) * sizeof(pod_bf16);
    /* Whole tiles of columns are read, also of the last pixel. */
    const int64_t behind = POD__DW_TILE * 2;
    at.paired = at.staged + (p->direct ? 0 : padded((size_t)(staged + behind) * sizeof(pod_bf16)));
    at.end = at.paired + (size_t)(plane * p->n_tiles * POD__DW_TILE) * sizeof(pod_bf16);
    return at;
}

/* ---- do ------------------------------------------------------------------------------------- */

typedef struct job {
    const pod_conv_call *call;
    plan p;
    block b;
    bool first; /* block */
    float *sums;
    pod_bf16 *transposed, *edge, *staged, *paired;
} job;

/* x of the block's windows, `width` channels from c on. */
static void stage(const job *j, int64_t c)
{
    const plan *p = &j->p;
    const pod_conv_shape *s = &p->s;
    pod__dw_line line = {.w = s->w,
                         .c = s->c,
                         .first = -s->pad_w,
                         .step = p->staged_step,
                         .n_pixels = p->staged_cols,
                         .n_channels = pod_min(p->width, s->c - c)};
    if (j->call->fused & POD_CONV_AFFINE_X) {
        line.scale = j->call->x_scale + c;
        line.shift = j->call->x_shift + c;
        line.relu = (j->call->fused & POD_CONV_RELU_X) != 0;
    }
    const int64_t n_rows = (j->b.n_lines - 1) * p->step + s->r;
    pod_bf16 *out = j->staged;
    for (int64_t image = j->b.image; image < j->b.image + j->b.n_images; image++)
        for (int64_t i = 0; i < n_rows; i++) {
            const int64_t h = j->b.line * s->stride - s->pad_h + i * p->staged_step;
            const bool inside = h >= 0 && h < s->h;
            const int64_t at = ((image * s->h + h) * s->w) * s->c + c;
            line.x = inside ? (const pod_bf16 *)j->call->a + at : NULL;
            pod__dw_stage(&line, p->width, out);
            out += p->staged_cols * p->width;
        }
}

static pod__dw_rows dy_rows(const job *j)
{
    const pod_conv_shape *s = &j->p.s;
    const int64_t pixel = (j->b.image * s->p + j->b.line) * s->q;
    return (pod__dw_rows){.at = (const pod_bf16 *)j->call->b + pixel * s->k,
                          .n_images = j->b.n_images,
                          .pixels = j->b.n_lines * s->q,
                          .gap = j->p.sliding ? (s->r - 1) * s->q : 0,
                          .pitch = s->k,
                          .n_channels = s->k};
}

/* Pixels of x as they lie, from channel c on. */
static pod__dw_lines direct_lines(const job *j, int64_t c)
{
    const pod_conv_shape *s = &j->p.s;
    return (pod__dw_lines){.at = (const pod_bf16 *)j->call->a + j->b.line * s->q * s->c + c,
                           .n_images = 1,
                           .n_lines = 1,
                           .n_pixels = j->b.n_lines * s->q,
                           .pixel_pitch = s->c};
}

/* Staged pixels that the windows see at tap r, s; or all staged lines. */
static pod__dw_lines window_lines(const job *j, int64_t r, int64_t s)
{
    const plan *p = &j->p;
    const int64_t row_pitch = p->staged_cols * p->width;
    const int64_t n_rows = (j->b.n_lines - 1) * p->step + p->s.r;
    return (pod__dw_lines){.at = j->staged + r * row_pitch + s * p->width,
                           .n_images = j->b.n_images,
                           .image_pitch = n_rows * row_pitch,
                           .n_lines = p->sliding ? n_rows : j->b.n_lines,
                           .line_pitch = p->step * row_pitch,
                           .n_pixels = p->s.q,
                           .pixel_pitch = p->step * p->width};
}

/* Pairs the lines and multiplies them; `column` of the sums is the panel's first one at r = 0. */
static void multiply(const job *j, const pod__dw_lines *lines, int64_t column, int n_tiles)
{
    const plan *p = &j->p;
    const int64_t grid = grid_pixels(p, j->b.n_images, j->b.n_lines);
    const int64_t plane = plane_of(p, j->b.n_images, j->b.n_lines);
    pod__dw_product product = {.transposed = j->transposed,
                               .m_tiles = p->m_pad / POD__DW_TILE,
                               .n_steps = pod_div_up(grid, POD__DW_PIXELS),
                               .sums = j->sums,
                               .ld = p->n_runs * p->run_pad,
                               .adds = !j->first};
    product.m_plane = product.n_steps * POD__DW_PIXELS * POD__DW_TILE;
    pod__dw_pair(lines, n_tiles, plane, j->paired);
    for (int64_t r = 0; r < (p->sliding ? p->s.r : 1); r++)
        for (int t = 0; t < n_tiles; t++) {
            product.paired[product.n_tiles] = j->paired + (t * plane + r * p->s.q) * POD__DW_TILE;
            product.column[product.n_tiles++] =
                column + r * p->taps_s * p->run_pad + t * POD__DW_TILE;
        }
    pod__dw_multiply(&product);
}

/* Columns [c, c + width) of the runs. */
static void multiply_taps(const job *j, int64_t c)
{
    const plan *p = &j->p;
    const int64_t left =
        p->joined ? p->run_pad : pod_round_up(pod_min(p->width, p->run - c), POD__DW_TILE);
    const int n_tiles = (int)(left / POD__DW_TILE);
    const int64_t n_rows = p->sliding ? 1 : p->s.r;
    for (int64_t s = 0; s < p->taps_s; s++)
        for (int64_t r = 0; r < n_rows; r++) {
            const pod__dw_lines lines = p->direct ? direct_lines(j, c) : window_lines(j, r, s);
            multiply(j, &lines, (r * p->taps_s + s) * p->run_pad + c, n_tiles);
        }
}

static void run_block(const job *j)
{
    const plan *p = &j->p;
    const pod__dw_rows dy = dy_rows(j);
    pod__dw_transpose(&dy, j->edge, j->transposed);
    for (int64_t c = 0; c < p->s.c; c += p->width) {
        if (!p->direct) stage(j, c);
        multiply_taps(j, c);
    }
}

/* The sums to where they belong, without what fills up tiles. */
static void store_sums(const job *j)
{
    const plan *p = &j->p;
    const int64_t ld = p->n_runs * p->run_pad;
    float *out = j->call->out;
    if (p->in_place) return;
    for (int64_t k = 0; k < p->m; k++)
        for (int64_t i = 0; i < p->n_runs; i++, out += p->run)
            memcpy(out, j->sums + k * ld + i * p->run_pad, (size_t)p->run * sizeof *out);
}

static block block_at(const plan *p, int64_t image, int64_t line)
{
    return (block){image, pod_min(p->images, p->s.n - image), line,
                   pod_min(p->lines, p->s.p - line)};
}

/* Without images behind the last one. */
static block block_after(const plan *p, block b)
{
    if (b.line + b.n_lines < p->s.p) return block_at(p, b.image, b.line + b.n_lines);
    return block_at(p, b.image + b.n_images, 0);
}

const char *pod__conv_amx_dw_why_not(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    if (call->pass != POD_CONV_WEIGHT_GRAD) return "it is for the weight gradient only";
    if (call->dtype != POD_BF16) return "it is for bf16 only";
    const int64_t dims[] = {s->h, s->w, s->c, s->p, s->q, s->k, s->r, s->s, s->stride};
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++)
        if (dims[i] > INT16_MAX) return "a dimension is above 2^15 - 1";
    return NULL;
}

size_t pod__conv_amx_dw_scratch_bytes(const pod_conv_call *call)
{
    const plan p = plan_of(call);
    return layout_of(&p).end;
}

void pod__conv_amx_dw_run(const pod_conv_call *call, void *scratch)
{
    const pod_conv_shape *s = &call->shape;
    job j = {.call = call, .p = plan_of(call), .first = true};
    if (s->n == 0) {
        memset(call->out, 0, (size_t)(s->k * s->r * s->s * s->c) * sizeof(float));
        return;
    }
    const layout at = layout_of(&j.p);
    char *room = scratch;
    j.sums = j.p.in_place ? call->out : (void *)(room + at.sums);
    j.transposed = (void *)(room + at.transposed), j.edge = (void *)(room + at.edge);
    j.staged = (void *)(room + at.staged), j.paired = (void *)(room + at.paired);
    pod__dw_begin();
    for (j.b = block_at(&j.p, 0, 0); j.b.n_images > 0; j.b = block_after(&j.p, j.b)) {
        run_block(&j);
        j.first = false;
    }
    pod__dw_end();
    store_sums(&j);
}
