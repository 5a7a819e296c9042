/* Weight gradient of 3x3 windows of stride 1 in bfloat16 tile products, line by line
 * (conv_amx_dw_lines.h). Going down the lines of a strip, the sums of the three taps r of one s stay
 * in registers, and so do the last three lines of dy:
 *
 *   sums[r] (K, C) += turned line h + 2 - r * paired line h
 *
 * so that three products load two tiles. Lines of dy are counted from two above the first one that
 * the first line of x meets; those that are not there are zeros.
 *
 * A block of strips is laid and multiplied at a time: all of its dy, and x some channels at a time.
 * sums is dw itself where K and C fill whole tiles. */
#include "kernels/conv/conv_amx_dw_lines.h"

#include <string.h>

#include "kernels/conv/conv_amx_dw.h"
#include "kernels/conv/conv_kernels.h"

enum {
    TAPS = 3,
    BLOCK_BYTES = 512 * 1024,      /* of what is turned and paired: a quarter of a core's L2 */
    LARGE_BYTES = 3 * BLOCK_BYTES, /* where the sums go to memory between blocks, and cost more */
    SUMS_BYTES = 1024 * 1024,      /* from where on they do */
    MAX_SIDE = 64,
    WIDTH = 32 /* channels of x at a time */
};

typedef struct plan {
    pod_conv_shape s;
    int64_t pairs, pieces, g; /* of a line in a strip; strips of a line; images of a strip */
    int64_t n_strips, block;  /* in all; at a time, at most */
    int64_t m_tiles, c_pad;
    int64_t width;         /* channels of x at a time, at most */
    int64_t line;          /* elements of a paired line */
    int64_t staged_pixels; /* of a line of x with its border */
    bool in_place;
} plan;

typedef struct layout { /* bytes from the start of the scratch */
    size_t zeros, edge, staged, sums, turned, paired, end;
} layout;

typedef struct job {
    const pod_conv_call *call;
    plan p;
    int64_t first, n_strips; /* of the block */
    pod_bf16 *zeros, *edge, *staged, *turned, *paired;
    float *sums;
} job;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t rounded_up(int64_t n, int64_t to) { return divided_up(n, to) * to; }
static size_t padded(int64_t bytes) { return ((size_t)bytes + 63) / 64 * 64; }

/* ---- decide --------------------------------------------------------------------------------- */

static plan plan_of(const pod_conv_call *call)
{
    plan p = {.s = call->shape};
    const pod_conv_shape *s = &p.s;
    p.pieces = divided_up(s->q, 2 * POD__DW_PAIRS);
    p.pairs = divided_up(s->q, 2 * p.pieces);
    p.g = p.pieces > 1 ? 1 : smaller(larger(s->n, 1), POD__DW_PAIRS / p.pairs);
    p.n_strips = divided_up(s->n, p.g) * p.pieces;
    p.m_tiles = divided_up(s->k, POD__DW_TILE);
    p.c_pad = rounded_up(s->c, POD__DW_TILE);
    p.width = smaller(p.c_pad, WIDTH);
    p.line = (2 * POD__DW_PAIRS + p.g) * POD__DW_ROW;
    p.staged_pixels = 2 * p.pairs * p.pieces + 2;
    p.in_place = s->k % POD__DW_TILE == 0 && s->c == p.c_pad;
    const int64_t tiles = p.m_tiles * (s->h + 2) * POD__DW_LINE_TILE;
    const int64_t lines = p.width / POD__DW_TILE * s->h * p.line;
    const int64_t sums = s->k * TAPS * TAPS * s->c * (int64_t)sizeof(float);
    const int64_t bytes = sums > SUMS_BYTES ? LARGE_BYTES : BLOCK_BYTES;
    const int64_t most = larger(1, bytes / ((tiles + lines) * (int64_t)sizeof(pod_bf16)));
    p.block = divided_up(p.n_strips, divided_up(larger(p.n_strips, 1), most));
    p.block = rounded_up(larger(1, p.block), p.pieces);
    return p;
}

static layout layout_of(const plan *p)
{
    const pod_conv_shape *s = &p->s;
    const int64_t k_pad = p->m_tiles * POD__DW_TILE, half = sizeof(pod_bf16);
    layout at = {0};
    at.edge = at.zeros + padded(k_pad * half);
    at.staged = at.edge + padded(POD__DW_PIXELS * k_pad * half);
    at.sums = at.staged + padded(p->staged_pixels * p->width * half);
    at.turned = at.sums +
                (p->in_place ? 0 : padded(k_pad * TAPS * TAPS * p->c_pad * (int64_t)sizeof(float)));
    at.paired = at.turned + padded(p->m_tiles * p->block * (s->h + 2) * POD__DW_LINE_TILE * half);
    at.end = at.paired + padded(p->width / POD__DW_TILE * p->block * s->h * p->line * half);
    return at;
}

/* ---- do ------------------------------------------------------------------------------------- */

/* The pixels of the first line of a strip of dy in the order of a tile, and how far it is to the
 * next line; zeros and 0 where there is none. */
static void find_pixels(const job *j, int64_t strip, pod__dw_pixels *pixels)
{
    const plan *p = &j->p;
    const pod_conv_shape *s = &p->s;
    const int64_t image = strip / p->pieces * p->g, column = strip % p->pieces * 2 * p->pairs;
    const pod_bf16 *dy = (const pod_bf16 *)j->call->b + (image * s->p * s->q + column) * s->k;
    for (int i = 0; i < POD__DW_PIXELS; i++) pixels->at[i] = j->zeros, pixels->step[i] = 0;
    for (int64_t q = 0; q < 2 * p->pairs && column + q < s->q; q++)
        for (int64_t n = 0; n < p->g && image + n < s->n; n++) {
            const int64_t i = (q / 2 * p->g + n) * 2 + q % 2;
            pixels->at[i] = dy + (n * s->p * s->q + q) * s->k;
            pixels->step[i] = s->q * s->k;
        }
    const bool close = p->g == 1 && p->pairs == POD__DW_PAIRS && column + POD__DW_PIXELS <= s->q;
    pixels->pitch = close ? s->k : 0;
}

/* The next line, with its last tile of channels filled up. */
static void turn_copied(const job *j, pod__dw_pixels *pixels, int64_t plane, pod_bf16 *turned)
{
    const int64_t pitch = j->p.m_tiles * POD__DW_TILE;
    pod__dw_pixels copied = {0};
    for (int i = 0; i < POD__DW_PIXELS; i++) {
        copied.at[i] = j->edge + i * pitch;
        memset(j->edge + i * pitch, 0, (size_t)pitch * sizeof *turned);
        memcpy(j->edge + i * pitch, pixels->at[i], (size_t)j->p.s.k * sizeof *turned);
        pixels->at[i] += pixels->step[i];
    }
    pod__dw_turn_lines(&copied, 1, j->p.m_tiles, plane, turned);
}

static void turn_strip(const job *j, int64_t i)
{
    const plan *p = &j->p;
    const pod_conv_shape *s = &p->s;
    const int64_t n_lines = s->h + 2, plane = j->n_strips * n_lines * POD__DW_LINE_TILE;
    pod_bf16 *to = j->turned + i * n_lines * POD__DW_LINE_TILE;
    const int64_t line = s->pad_h - 2; /* of dy: the first one turned */
    const int64_t begin = smaller(n_lines, larger(0, -line));
    const int64_t end = larger(begin, smaller(n_lines, s->p - line));
    for (int64_t m = 0; m < p->m_tiles; m++) {
        const size_t tile = POD__DW_LINE_TILE * sizeof *to;
        memset(to + m * plane, 0, (size_t)begin * tile);
        memset(to + m * plane + end * POD__DW_LINE_TILE, 0, (size_t)(n_lines - end) * tile);
    }
    pod__dw_pixels pixels;
    find_pixels(j, j->first + i, &pixels);
    for (int k = 0; k < POD__DW_PIXELS; k++) pixels.at[k] += (line + begin) * pixels.step[k];
    to += begin * POD__DW_LINE_TILE;
    if (s->k % POD__DW_TILE == 0) {
        pod__dw_turn_lines(&pixels, end - begin, p->m_tiles, plane, to);
        return;
    }
    for (int64_t a = begin; a < end; a++, to += POD__DW_LINE_TILE)
        turn_copied(j, &pixels, plane, to);
}

/* Where the pairs of a line of x come from: itself where it is one tile of channels as it lies, else
 * what is staged of it. */
static pod__dw_pairs source_of(const job *j, const pod__dw_line *line, int64_t width)
{
    const plan *p = &j->p;
    pod__dw_pairs from = {.x = line->x,
                          .pitch = line->c,
                          .column = line->first,
                          .w = line->w,
                          .n_pairs = p->pairs,
                          .n_tiles = width / POD__DW_TILE,
                          .g = p->g,
                          .plane = j->n_strips * p->s.h * p->line};
    if (line->x && !line->scale && line->c == POD__DW_TILE) return from;
    pod__dw_stage(line, width, j->staged);
    from.x = j->staged, from.pitch = width, from.column = 0, from.w = p->staged_pixels;
    return from;
}

/* Channels [c, c + width) of the block's x. Pieces of the same lines are in one block. */
static void pair_block(const job *j, int64_t c, int64_t width)
{
    const plan *p = &j->p;
    const pod_conv_shape *s = &p->s;
    pod__dw_line line = {.w = s->w,
                         .c = s->c,
                         .first = -s->pad_w,
                         .step = 1,
                         .n_pixels = p->staged_pixels,
                         .n_channels = smaller(width, s->c - c)};
    if (j->call->fused & POD_CONV_AFFINE_X) {
        line.scale = j->call->x_scale + c, line.shift = j->call->x_shift + c;
        line.relu = (j->call->fused & POD_CONV_RELU_X) != 0;
    }
    for (int64_t i = 0; i < j->n_strips; i += p->pieces) {
        const int64_t image = (j->first + i) / p->pieces * p->g;
        for (int64_t h = 0; h < s->h; h++)
            for (int64_t n = 0; n < p->g; n++) {
                const int64_t at = ((image + n) * s->h + h) * s->w * s->c + c;
                line.x = image + n < s->n ? (const pod_bf16 *)j->call->a + at : NULL;
                pod__dw_pairs pairs = source_of(j, &line, width);
                pod_bf16 *to = j->paired + (i * s->h + h) * p->line + n * POD__DW_ROW;
                for (int64_t k = 0; k < p->pieces; k++, pairs.column += 2 * p->pairs)
                    pod__dw_pair_line(&pairs, to + k * s->h * p->line);
            }
    }
}

/* All taps and all channels of dy with the channels of x that are paired, from c on. */
static void multiply_block(const job *j, int64_t c, int64_t width)
{
    const plan *p = &j->p;
    const int64_t a_plane = j->n_strips * (p->s.h + 2) * POD__DW_LINE_TILE;
    const int64_t b_plane = j->n_strips * p->s.h * p->line;
    const int64_t tap_at[TAPS] = {0, (POD__DW_PAIRS + p->g) * POD__DW_ROW, p->g * POD__DW_ROW};
    pod__dw_strips strips = {.n_strips = j->n_strips,
                             .n_lines = p->s.h,
                             .line = p->line,
                             .ld = TAPS * TAPS * p->c_pad,
                             .adds = j->first > 0};
    for (int64_t t = 0; t < width / POD__DW_TILE; t++)
        for (int64_t s = 0; s < TAPS; s++)
            for (int64_t m = 0; m < p->m_tiles; m++) {
                strips.turned = j->turned + m * a_plane;
                strips.paired = j->paired + t * b_plane + tap_at[s];
                for (int64_t r = 0; r < TAPS; r++)
                    strips.sums[r] = j->sums + m * POD__DW_TILE * strips.ld +
                                     (r * TAPS + s) * p->c_pad + c + t * POD__DW_TILE;
                pod__dw_multiply_strips(&strips);
            }
}

static void run_block(const job *j)
{
    const plan *p = &j->p;
    for (int64_t i = 0; i < j->n_strips; i++) turn_strip(j, i);
    for (int64_t c = 0; c < p->c_pad; c += p->width) {
        const int64_t width = smaller(p->width, p->c_pad - c);
        pair_block(j, c, width);
        multiply_block(j, c, width);
    }
}

/* The rows of tiles that no pair is laid in, and what stands for pixels that are not there. */
static void lay_zeros(const job *j)
{
    const plan *p = &j->p;
    const int64_t n_lines = p->width / POD__DW_TILE * p->block * p->s.h;
    const size_t row = POD__DW_ROW * sizeof *j->paired;
    const int64_t even = (p->pairs + 1) * p->g, odd = p->pairs * p->g;
    memset(j->zeros, 0, (size_t)(p->m_tiles * POD__DW_TILE) * sizeof *j->zeros);
    for (int64_t i = 0; i < n_lines; i++) {
        pod_bf16 *line = j->paired + i * p->line,
                 *second = line + (POD__DW_PAIRS + p->g) * POD__DW_ROW;
        memset(line + even * POD__DW_ROW, 0, (size_t)(POD__DW_PAIRS + p->g - even) * row);
        memset(second + odd * POD__DW_ROW, 0, (size_t)(POD__DW_PAIRS - odd) * row);
    }
}

/* The sums to where they belong, without what fills up tiles. */
static void store_sums(const job *j)
{
    const pod_conv_shape *s = &j->p.s;
    float *out = j->call->out;
    for (int64_t i = 0; i < s->k * TAPS * TAPS; i++, out += s->c)
        memcpy(out, j->sums + i * j->p.c_pad, (size_t)s->c * sizeof *out);
}

const char *pod__conv_amx_dw_lines_why_not(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    if (call->pass != POD_CONV_WEIGHT_GRAD) return "it is for the weight gradient only";
    if (call->dtype != POD_BF16) return "it is for bf16 only";
    if (s->r != TAPS || s->s != TAPS || s->stride != 1) return "it is for 3x3 windows of stride 1";
    if (s->c < POD__DW_TILE || s->k < POD__DW_TILE) return "it needs 16 channels of x and of y";
    if (s->c > INT16_MAX || s->k > INT16_MAX) return "there are more than 2^15 - 1 channels";
    if (s->h > MAX_SIDE || s->w > MAX_SIDE || s->q > MAX_SIDE)
        return "a side of the image is above 64";
    const plan p = plan_of(call);
    if (8 * s->n * s->q < 5 * p.n_strips * POD__DW_PIXELS)
        return "lines of images fill less than 5/8 of the tiles of pixels";
    return NULL;
}

size_t pod__conv_amx_dw_lines_scratch_bytes(const pod_conv_call *call)
{
    const plan p = plan_of(call);
    return layout_of(&p).end;
}

void pod__conv_amx_dw_lines_run(const pod_conv_call *call, void *scratch)
{
    const pod_conv_shape *s = &call->shape;
    job j = {.call = call, .p = plan_of(call)};
    if (s->n == 0) {
        memset(call->out, 0, (size_t)(s->k * TAPS * TAPS * s->c) * sizeof(float));
        return;
    }
    const layout at = layout_of(&j.p);
    char *room = scratch;
    j.zeros = (void *)(room + at.zeros), j.edge = (void *)(room + at.edge);
    j.staged = (void *)(room + at.staged);
    j.sums = j.p.in_place ? call->out : (void *)(room + at.sums);
    j.turned = (void *)(room + at.turned), j.paired = (void *)(room + at.paired);
    lay_zeros(&j);
    pod__dw_begin();
    for (; j.first < j.p.n_strips; j.first += j.p.block) {
        j.n_strips = smaller(j.p.block, j.p.n_strips - j.first);
        run_block(&j);
    }
    pod__dw_end();
    if (!j.p.in_place) store_sums(&j);
}
