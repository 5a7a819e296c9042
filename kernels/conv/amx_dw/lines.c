/* Weight gradient of 3x3 windows of stride 1 or 2 in bfloat16 tile products, line by line
 * (amx_dw/lines.h). Going down the lines of a strip, the sums of the three taps r of one s stay
 * in registers, and so do the last lines of dy. With stride 1
 *
 *   sums[r] (K, C) += transposed line v + 2 - r * paired line v
 *
 * so that three products load two tiles; with stride 2 an even line of x meets one line of dy, an odd
 * one two. Lines of dy that are not there are zeros.
 *
 * A part of the batch, of K and of C is multiplied while the next one is packed, piece by piece between
 * the products: the tile unit and the vector units work at the same time. sums is dw itself where K
 * and C fill whole tiles. */
#include "kernels/conv/amx_dw/lines.h"

#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/conv/amx_dw/dw.h"
#include "kernels/conv/amx_dw/pairs.h"
#include "kernels/conv/conv_kernels.h"

enum {
    /* Of a part; with the sums they fit a core's L2 twice, for this part and the next. */
    TRANSPOSED_BYTES = 384 * 1024,
    PAIRED_BYTES = 256 * 1024,
    SUMS_BYTES = 768 * 1024, /* larger sums do not fit: then these */
    LARGE_TRANSPOSED_BYTES = 900 * 1024,
    LARGE_PAIRED_BYTES = 448 * 1024,
    PARTS = 64,      /* so many at least, so that little is packed before the first product */
    PART_TILES = 32, /* tiles of pixels that are enough for a part */
    WIDTH = 4,       /* tiles of columns of a part */
    MAX_SIDE = 256
};

typedef struct plan {
    pod__dw_grid grid;
    int64_t m_tiles, t_tiles;
    int64_t strips, lines, n_m, n_t; /* of a part, at most */
    int64_t taps;                    /* s that are not joined */
    bool in_place;
} plan;

typedef struct layout { /* bytes from the start of the scratch */
    size_t zeros, staged, sums, transposed[2], paired[2], end;
} layout;

static int64_t divided_down(int64_t a, int64_t b) { return a < 0 ? -pod_div_up(-a, b) : a / b; }
static size_t padded(int64_t bytes) { return ((size_t)bytes + 63) / 64 * 64; }

/* ---- decide --------------------------------------------------------------------------------- */

static int64_t tiles_with(const pod_conv_shape *s, int64_t g)
{
    return pod_div_up(s->n, g) * pod_div_up(s->q * g, POD__DW_PIXELS);
}

/* Images of a strip: as few as fill the tiles best. */
static int64_t choose_images(const pod_conv_shape *s)
{
    int64_t best = 2;
    for (int64_t g = 4; g <= POD__DW_PIXELS && g < s->n + 2; g += 2)
        if (tiles_with(s, g) < tiles_with(s, best)) best = g;
    return best;
}

/* Columns u stride + b of x that windows see, u + shift of the tap: a segment from `row` on, with
 * those of the lines v stride + a. Returns the row behind it. */
static int64_t add_segment(pod__dw_grid *grid, int64_t a, int64_t b, int64_t row)
{
    const pod_conv_shape *s = &grid->call->shape;
    const int64_t half = grid->g / 2;
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (int64_t tap = 0; tap < POD__DW_TAPS; tap++) {
        const int64_t shift = divided_down(tap - s->pad_w, s->stride);
        if (tap - s->pad_w - shift * s->stride != b) continue;
        least = pod_min(least, shift), most = pod_max(most, shift);
        grid->tap[a][tap] = row + (shift - least) * half;
    }
    if (least > most) return row;
    const int64_t begin = pod_max(0, least);
    const int64_t end = pod_min(pod_div_up(s->w - b, s->stride), s->q + most);
    if (begin < end)
        grid->segment[grid->n_segments++] = (pod__dw_segment){.line = a,
                                                              .column = begin * s->stride + b,
                                                              .step = s->stride,
                                                              .n_columns = end - begin,
                                                              .row = row + (begin - least) * half};
    return row + (s->q + most - least) * half;
}

static void pack_line_of(pod__dw_grid *grid)
{
    const pod_conv_shape *s = &grid->call->shape;
    int64_t row = 0, last = 0;
    for (int64_t a = 0; a < s->stride; a++) {
        if (grid->joined) {
            grid->segment[grid->n_segments++] =
                (pod__dw_segment){.line = a, .step = s->stride, .n_columns = s->q, .row = row};
            grid->tap[a][0] = row;
            row += s->q * grid->g / 2;
        } else {
            for (int64_t b = 0; b < s->stride; b++) row = add_segment(grid, a, b, row);
        }
        for (int64_t tap = 0; tap < (grid->joined ? 1 : POD__DW_TAPS); tap++)
            last = pod_max(last, grid->tap[a][tap]);
    }
    /* All tiles are whole. */
    grid->line = pod_max(row, last + grid->n_tiles * POD__DW_TILE) * POD__DW_ROW;
}

static pod__dw_grid grid_of(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    pod__dw_grid grid = {.call = call, .joined = s->c < POD__DW_TILE, .g = choose_images(s)};
    grid.n_strips = pod_div_up(s->n, grid.g);
    grid.n_tiles = pod_div_up(s->q * grid.g, POD__DW_PIXELS);
    grid.dy_line = s->stride == 1 ? s->pad_h - 2 : (s->pad_h - 1) / 2;
    grid.halo = s->stride == 1 ? 2 : 1;
    grid.n_lines = pod_min(pod_div_up(s->h, s->stride), s->p - grid.dy_line);
    grid.run = grid.joined ? POD__DW_TAPS * s->c : s->c;
    grid.staged_pixels = (s->q - 1) * s->stride + POD__DW_TAPS;
    pack_line_of(&grid);
    return grid;
}

/* Sums that are too large for the cache are passed over once, if the whole batch can be packed with
 * some channels of dy at a time; else seldom. At least two tiles of columns: whole cache lines. */
static void choose_part(plan *p)
{
    const pod__dw_grid *grid = &p->grid;
    const int64_t half = sizeof(pod_bf16), tile = grid->n_tiles * POD__DW_LINE_TILE * half;
    const int64_t sums = p->m_tiles * p->taps * p->t_tiles * POD__DW_TAPS * POD__DW_TILE_BYTES;
    const bool large = sums > SUMS_BYTES;
    const int64_t transposed = large ? LARGE_TRANSPOSED_BYTES : TRANSPOSED_BYTES;
    const int64_t paired = large ? LARGE_PAIRED_BYTES : PAIRED_BYTES;
    const int64_t whole = pod_max(1, grid->n_strips) * (grid->n_lines + grid->halo) * tile;
    const int64_t all = pod_max(1, grid->n_strips * grid->n_lines);
    const int64_t widest = paired / (pod_min(2, p->t_tiles) * grid->line * half); /* in lines */
    const bool once = large && all <= widest && 2 * whole <= transposed;
    p->n_m = once ? pod_min(p->m_tiles, transposed / whole) : p->m_tiles;
    p->n_m = pod_div_up(p->m_tiles, pod_div_up(p->m_tiles, p->n_m));
    int64_t lines = all;
    if (!large) lines = pod_max(PART_TILES, all * grid->n_tiles / PARTS) / grid->n_tiles;
    if (!once) lines = pod_min(pod_min(lines, widest), transposed / (p->n_m * tile));
    lines = pod_max(1, pod_min(lines, all));
    p->n_t = pod_max(1, pod_min(pod_min(WIDTH, p->t_tiles), paired / (lines * grid->line * half)));
    p->n_t = pod_div_up(p->t_tiles, pod_div_up(p->t_tiles, p->n_t));
    p->strips = pod_max(1, lines / grid->n_lines);
    p->strips = pod_div_up(grid->n_strips, pod_div_up(pod_max(1, grid->n_strips), p->strips));
    p->lines = pod_min(lines, grid->n_lines);
    p->lines = pod_div_up(grid->n_lines, pod_div_up(grid->n_lines, p->lines));
}

static plan plan_of(const pod_conv_call *call)
{
    plan p = {.grid = grid_of(call)};
    const pod_conv_shape *s = &call->shape;
    p.m_tiles = pod_div_up(s->k, POD__DW_TILE);
    p.t_tiles = pod_div_up(p.grid.run, POD__DW_TILE);
    p.taps = p.grid.joined ? 1 : POD__DW_TAPS;
    p.in_place = s->k % POD__DW_TILE == 0 && p.grid.run % POD__DW_TILE == 0;
    choose_part(&p);
    return p;
}

/* Behind the last strip there are none. */
static pod__dw_part part_at(const plan *p, int64_t strip, int64_t line, int64_t m, int64_t t)
{
    const pod__dw_grid *grid = &p->grid;
    return (pod__dw_part){.strip = strip,
                          .n_strips = pod_min(p->strips, grid->n_strips - strip),
                          .line = line,
                          .n_lines = pod_min(p->lines, grid->n_lines - line),
                          .m = m,
                          .n_m = pod_min(p->n_m, p->m_tiles - m),
                          .t = t,
                          .n_t = pod_min(p->n_t, p->t_tiles - t)};
}

static pod__dw_part part_after(const plan *p, const pod__dw_part *x)
{
    if (x->t + x->n_t < p->t_tiles) return part_at(p, x->strip, x->line, x->m, x->t + x->n_t);
    if (x->m + x->n_m < p->m_tiles) return part_at(p, x->strip, x->line, x->m + x->n_m, 0);
    if (x->line + x->n_lines < p->grid.n_lines)
        return part_at(p, x->strip, x->line + x->n_lines, 0, 0);
    return part_at(p, x->strip + x->n_strips, 0, 0, 0);
}

static layout layout_of(const plan *p)
{
    const pod_conv_shape *s = &p->grid.call->shape;
    const int64_t half = sizeof(pod_bf16), k_pad = p->m_tiles * POD__DW_TILE;
    const int64_t sums = k_pad * POD__DW_TAPS * p->taps * p->t_tiles * POD__DW_TILE;
    const int64_t staged = p->grid.staged_pixels * s->c + POD__DW_ROW;
    const pod__dw_part part = part_at(p, 0, 0, 0, 0);
    const size_t transposed = padded(pod__dw_transposed_count(&p->grid, &part) * half);
    const size_t paired = padded(pod__dw_paired_count(&p->grid, &part) * half);
    layout at = {0};
    at.staged = at.zeros + padded(k_pad * half);
    at.sums = at.staged + (p->grid.joined ? padded(2 * staged * half) : 0);
    at.transposed[0] = at.sums + (p->in_place ? 0 : padded(sums * (int64_t)sizeof(float)));
    at.transposed[1] = at.transposed[0] + transposed;
    at.paired[0] = at.transposed[1] + transposed;
    at.paired[1] = at.paired[0] + paired;
    at.end = at.paired[1] + paired;
    return at;
}

/* ---- do ------------------------------------------------------------------------------------- */

typedef struct job {
    const pod_conv_call *call;
    plan p;
    float *sums;
    pod_bf16 *zeros, *staged, *transposed[2], *paired[2];
} job;

static job job_of(const pod_conv_call *call, char *room)
{
    job j = {.call = call, .p = plan_of(call)};
    const layout at = layout_of(&j.p);
    j.zeros = (void *)(room + at.zeros), j.staged = (void *)(room + at.staged);
    j.sums = j.p.in_place ? call->out : (void *)(room + at.sums);
    for (int i = 0; i < 2; i++) {
        j.transposed[i] = (void *)(room + at.transposed[i]);
        j.paired[i] = (void *)(room + at.paired[i]);
    }
    return j;
}

static void pack_constants(const job *j)
{
    const plan *p = &j->p;
    const int64_t staged = p->grid.staged_pixels * j->call->shape.c + POD__DW_ROW;
    memset(j->zeros, 0, (size_t)(p->m_tiles * POD__DW_TILE) * sizeof *j->zeros);
    if (p->grid.joined) memset(j->staged, 0, (size_t)(2 * staged) * sizeof *j->staged);
    for (int i = 0; i < 2; i++)
        pod__dw_pack_borders(&p->grid, p->n_t * p->strips * p->lines, j->paired[i]);
}

/* All taps of a part, which `now` has packed. */
static void multiply(const job *j, const pod__dw_laying *now, pod__dw_laying *next)
{
    const plan *p = &j->p;
    const pod__dw_part *part = &now->part;
    const int64_t a_plane = pod__dw_transposed_count(&p->grid, part) / part->n_m;
    const int64_t b_plane = pod__dw_paired_count(&p->grid, part) / part->n_t;
    const int64_t run = p->t_tiles * POD__DW_TILE;
    pod__dw_pass pass = {.grid = &p->grid,
                         .part = part,
                         .ld = POD__DW_TAPS * p->taps * run,
                         .adds = part->strip > 0 || part->line > 0,
                         .next = next};
    for (int64_t m = 0; m < part->n_m; m++)
        for (pass.s = 0; pass.s < p->taps; pass.s++)
            for (int64_t t = 0; t < part->n_t; t++) { /* inside: sums side by side */
                pass.transposed = now->transposed + m * a_plane;
                pass.paired = now->paired + t * b_plane;
                for (int64_t r = 0; r < POD__DW_TAPS; r++)
                    pass.sums[r] = j->sums + (part->m + m) * POD__DW_TILE * pass.ld +
                                   (r * p->taps + pass.s) * run + (part->t + t) * POD__DW_TILE;
                pod__dw_multiply_lines(&pass);
            }
}

/* Lines of products that multiply goes through. */
static int64_t lines_of(const plan *p, const pod__dw_part *part)
{
    return part->n_t * part->n_m * p->taps * part->n_strips * part->n_lines * p->grid.n_tiles;
}

static void run_parts(const job *j)
{
    const plan *p = &j->p;
    pod__dw_laying now = {.grid = &p->grid,
                          .part = part_at(p, 0, 0, 0, 0),
                          .transposed = j->transposed[0],
                          .paired = j->paired[0],
                          .staged = j->staged,
                          .zeros = j->zeros};
    pod__dw_pack_begin(&now, true, 1);
    pod__dw_pack_pieces(&now, INT64_MAX);
    while (now.part.n_strips > 0) {
        pod__dw_laying next = now;
        next.part = part_after(p, &now.part);
        const bool turns = next.part.t == 0; /* else it is for the same dy */
        if (turns) next.transposed = j->transposed[now.transposed == j->transposed[0]];
        next.paired = j->paired[now.paired == j->paired[0]];
        pod__dw_pack_begin(&next, turns && next.part.n_strips > 0, lines_of(p, &now.part));
        multiply(j, &now, &next);
        pod__dw_pack_pieces(&next, INT64_MAX);
        now = next;
    }
}

/* The sums to where they belong, without what fills up tiles. */
static void store_sums(const job *j)
{
    const plan *p = &j->p;
    const int64_t n_runs = j->call->shape.k * POD__DW_TAPS * p->taps, run = p->grid.run;
    float *out = j->call->out;
    for (int64_t i = 0; i < n_runs; i++, out += run)
        memcpy(out, j->sums + i * p->t_tiles * POD__DW_TILE, (size_t)run * sizeof *out);
}

const char *pod__conv_amx_dw_lines_why_not(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    if (call->pass != POD_CONV_WEIGHT_GRAD) return "it is for the weight gradient only";
    if (call->dtype != POD_BF16) return "it is for bf16 only";
    if (s->r != POD__DW_TAPS || s->s != POD__DW_TAPS) return "it is for 3x3 windows only";
    if (s->stride > POD__DW_STRIDE) return "it is for strides 1 and 2 only";
    if (s->stride == 2 && s->pad_h % 2 == 0) return "with stride 2 it needs an odd border";
    if (s->c > INT16_MAX || s->k > INT16_MAX) return "there are more than 2^15 - 1 channels";
    if (s->h > MAX_SIDE || s->w > MAX_SIDE || s->p > MAX_SIDE || s->q > MAX_SIDE)
        return "a side of the image is above 256";
    const pod__dw_grid grid = grid_of(call);
    if (grid.n_lines < 1) return "no window meets the image";
    if (8 * s->n * s->q < 5 * grid.n_strips * grid.n_tiles * POD__DW_PIXELS)
        return "lines of images fill less than 5/8 of the tiles of pixels";
    return NULL;
}

size_t pod__conv_amx_dw_lines_scratch_bytes(const pod_conv_call *call)
{
    if (pod__dw_pairs_takes(call)) return pod__dw_pairs_scratch_bytes();
    const plan p = plan_of(call);
    return layout_of(&p).end;
}

void pod__conv_amx_dw_lines_run(const pod_conv_call *call, void *scratch)
{
    if (pod__dw_pairs_takes(call)) {
        pod__dw_pairs_run(call, scratch);
        return;
    }
    const pod_conv_shape *s = &call->shape;
    if (s->n == 0) {
        memset(call->out, 0, (size_t)(s->k * POD__DW_TAPS * POD__DW_TAPS * s->c) * sizeof(float));
        return;
    }
    const job j = job_of(call, scratch);
    pack_constants(&j);
    pod__dw_begin();
    run_parts(&j);
    pod__dw_end();
    if (!j.p.in_place) store_sums(&j);
}
