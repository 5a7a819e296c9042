/* bfloat16 convolution in AMX tiles, forward and input gradient, as an implicit product (see
 * amx/window.h): per block of output lines the image below is packed as a strip once, then multiplied
 * with all filters. */
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/simd/tile_amx.h"
#include "kernels/conv/amx/strided.h"
#include "kernels/conv/amx/window.h"
#include "kernels/conv/amx_few/few.h"
#include "kernels/conv/conv_kernels.h"

static int64_t lines_of(int64_t bytes) { return (bytes + 63) / 64 * 64; }

/* Regions of the scratch, in bytes from its start. Those behind `weights` are as large as the most
 * demanding view wants them, or are one where all views are taken together. */
typedef struct layout {
    int64_t squares, sums, weights, chunks, tiles, rows, row, strip, end;
} layout;

static int64_t padded_width(const pod_conv_call *call) { return (call->shape.k + 31) / 32 * 32; }

static int64_t weight_bytes(const pod_conv_call *call)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < pod__amx_n_views(call); i++) {
        const pod__amx_view v = pod__amx_view_at(call, i);
        if (!pod__amx_is_empty(&v)) bytes += (int64_t)pod__amx_weight_bytes(&v);
    }
    return bytes;
}

/* Whether pixels that follow each other do so in the output. */
static bool is_close(const pod__amx_view *v, const pod__amx_plan *plan)
{
    return plan->way != POD__AMX_IMAGES && v->p == v->out_h && v->q == v->out_w;
}

static int64_t n_row_offsets(const pod__amx_view *v, const pod__amx_plan *plan)
{
    return plan->way == POD__AMX_IMAGES || plan->way == POD__AMX_STACKED || is_close(v, plan)
               ? POD__AMX_ROWS
               : plan->max_tiles * POD__AMX_ROWS;
}

static layout layout_of(const pod_conv_call *call)
{
    int64_t chunks = 0, tiles = 0, rows = 0, row = 0, strip = 0;
    for (int64_t i = 0; i < pod__amx_n_views(call); i++) {
        const pod__amx_view v = pod__amx_view_at(call, i);
        if (pod__amx_is_empty(&v) || v.n_chunks == 0) continue;
        const pod__amx_plan plan = pod__amx_plan_of(call, &v);
        chunks = pod_max(chunks, v.stacked ? 2 * v.n_chunks : v.n_chunks);
        tiles = pod_max(tiles, plan.max_tiles);
        rows = pod_max(rows, n_row_offsets(&v, &plan));
        row = pod_max(row, plan.row_bytes);
        strip = pod_max(strip, plan.strip_bytes);
    }
    const bool packs = !(call->fused & POD_CONV_PACKED_W), sums = call->fused & POD_CONV_SUMS;
    layout at = {.sums = 2 * POD__AMX_SQUARE_FLOATS * (int64_t)sizeof(float)};
    at.weights = at.sums + (sums ? 2 * padded_width(call) * (int64_t)sizeof(double) : 0);
    at.chunks = at.weights + (packs ? weight_bytes(call) : 0);
    if (pod__amx_strided_takes(call)) {
        at.end = at.chunks + (int64_t)pod__amx_strided_scratch_bytes(call);
        return at;
    }
    at.tiles = at.chunks + lines_of(chunks * (int64_t)sizeof(int64_t));
    at.rows = at.tiles + lines_of(tiles * (int64_t)sizeof(pod__amx_tile));
    at.row = at.rows + lines_of(rows * (int64_t)sizeof(int64_t));
    at.strip = at.row + lines_of(row);
    at.end = at.strip + lines_of(strip);
    return at;
}

/* ---- the tiles of a block ------------------------------------------------------------------- */

static pod__amx_lines first_block(const pod__amx_plan *plan)
{
    return (pod__amx_lines){0, 0, pod_min(plan->lines, plan->n_lines)};
}

/* Without lines after the last one. */
static pod__amx_lines next_block(const pod__amx_view *v, const pod__amx_plan *plan,
                                 pod__amx_lines b)
{
    b.line += b.n_lines;
    if (b.line == plan->n_lines) {
        b.line = 0;
        b.n += plan->way == POD__AMX_IMAGES ? POD__AMX_ROWS : 1;
        if (plan->n_groups == 1 || b.n >= v->n) return (pod__amx_lines){0};
    }
    b.n_lines = pod_min(plan->lines, plan->n_lines - b.line);
    return b;
}

/* A run of one view. */
typedef struct run {
    const pod_conv_call *call;
    const pod__amx_view *view;
    const pod__amx_plan *plan;
    char *strip;
    pod__amx_tile *tiles;
    int64_t *rows, *chunk_at;
} run;

static int64_t out_at(const pod__amx_view *v, int64_t n, int64_t p, int64_t q)
{
    const int64_t row = n * v->out_h + v->row + p * v->out_step;
    return (row * v->out_w + v->column + q * v->out_step) * v->width;
}

static void place_chunks(const run *r)
{
    const pod__amx_view *v = r->view;
    const pod__amx_plan *plan = r->plan;
    int64_t *at = r->chunk_at;
    if (v->stacked) {
        for (int64_t i = 0; i < v->n_chunks; i++) {
            at[i] = i / v->s * pod__amx_stacked_step(v) * plan->strip_row +
                    i % v->s * POD__AMX_LINE_BYTES;
            at[v->n_chunks + i] = at[i] + plan->strip_bytes / 2;
        }
        return;
    }
    for (int64_t i = 0; i < v->r; i++)
        for (int64_t j = 0; j < v->chunks_row; j++) {
            const int64_t plane = i % v->step * plan->plane_rows + i / v->step;
            const int64_t value = j * POD__AMX_CHUNK;
            if (plan->way == POD__AMX_IMAGES)
                *at++ = i * plan->strip_row + value / v->c * POD__AMX_ROWS * plan->pitch +
                        value % v->c * 2;
            else
                *at++ = plane * plan->strip_row + j * POD__AMX_LINE_BYTES;
        }
}

static int64_t image_tiles(const run *r, pod__amx_lines b)
{
    const pod__amx_view *v = r->view;
    const int64_t pixel = POD__AMX_ROWS * r->plan->pitch, images = pod_min(16, v->n - b.n);
    for (int64_t i = 0; i < POD__AMX_ROWS; i++) r->rows[i] = i * v->out_h * v->out_w * v->width;
    for (int64_t i = 0; i < b.n_lines; i++)
        for (int64_t q = 0; q < v->q; q++)
            r->tiles[i * v->q + q] = (pod__amx_tile){
                .a = r->strip + i * v->step * r->plan->strip_row + q * v->step * pixel,
                .rows = r->rows,
                .at = out_at(v, b.n, b.line + i, q),
                .n_rows = (int32_t)images};
    return b.n_lines * v->q;
}

/* Where n pixels go, the first of which is pixel (n, p, q). */
static void place_pixels(const run *r, int64_t n, int64_t p, int64_t q, int64_t n_pixels)
{
    const pod__amx_view *v = r->view;
    for (int64_t i = 0; i < n_pixels; i++) {
        r->rows[i] = out_at(v, n, p, q);
        if (++q < v->q) continue;
        q = 0;
        if (++p < v->p) continue;
        p = 0, n++;
    }
}

/* n_pixels that follow each other at the tiles' pitch, from pixel (n, p, q) at `a` on. A last tile
 * of few rows begins early where pixels lie before it, for nothing may be read behind it. */
static int64_t pixel_tiles(const run *r, const char *a, int64_t n, int64_t p, int64_t q,
                           int64_t n_pixels)
{
    const bool close = is_close(r->view, r->plan);
    const int64_t at = close ? out_at(r->view, n, p, q) : 0;
    const bool alone = r->plan->way == POD__AMX_WINDOWS || n + p + q == 0;
    if (close)
        for (int64_t i = 0; i < POD__AMX_ROWS; i++) r->rows[i] = i * r->view->width;
    else
        place_pixels(r, n, p, q, n_pixels);
    int64_t n_tiles = 0;
    for (int64_t i = 0; i < n_pixels; i += POD__AMX_ROWS) {
        const int64_t n_rows = pod_min(POD__AMX_ROWS, n_pixels - i);
        const int64_t early = alone && i == 0 ? 0 : POD__AMX_ROWS - n_rows;
        r->tiles[n_tiles++] = (pod__amx_tile){.a = a + (i - early) * r->plan->pitch,
                                              .rows = close ? r->rows : r->rows + i,
                                              .at = close ? at + i * r->view->width : 0,
                                              .first = (int32_t)early,
                                              .n_rows = (int32_t)n_rows};
    }
    return n_tiles;
}

/* The tiles of any block, line by line: where they go counts from the block's first pixel. */
static void place_stacked_tiles(const run *r)
{
    const pod__amx_view *v = r->view;
    pod__amx_tile *t = r->tiles;
    for (int64_t i = 0; i < POD__AMX_ROWS; i++) r->rows[i] = i * v->out_step * v->width;
    for (int64_t i = 0; i < r->plan->lines; i++)
        for (int64_t q = 0; q < v->q; q += POD__AMX_ROWS)
            *t++ = (pod__amx_tile){.a = r->strip + i * r->plan->strip_row + q * r->plan->pitch,
                                   .rows = r->rows,
                                   .at = out_at(v, 0, i, q) - out_at(v, 0, 0, 0),
                                   .n_rows = (int32_t)pod_min(POD__AMX_ROWS, v->q - q)};
}

static int64_t tiles_of(const run *r, pod__amx_lines b)
{
    const pod__amx_view *v = r->view;
    if (r->plan->way == POD__AMX_IMAGES) return image_tiles(r, b);
    if (r->plan->way == POD__AMX_DIRECT)
        return pixel_tiles(r, (const char *)r->call->a + b.line * r->plan->pitch,
                           b.line / v->q / v->p, b.line / v->q % v->p, b.line % v->q, b.n_lines);
    const int64_t n = v->r <= v->step ? b.line / v->p : b.n;
    const int64_t p = v->r <= v->step ? b.line % v->p : b.line;
    return pixel_tiles(r, r->strip, n, p, 0, b.n_lines * v->q);
}

/* ---- a view --------------------------------------------------------------------------------- */

/* No tap reaches these pixels. */
static void zero_view(const pod_conv_call *call, const pod__amx_view *v)
{
    for (int64_t n = 0; n < v->n; n++)
        for (int64_t p = 0; p < v->p; p++)
            for (int64_t q = 0; q < v->q; q++)
                memset((pod_bf16 *)call->out + out_at(v, n, p, q), 0, (size_t)v->width * 2);
}

/* 16 filters whose pixels are stored two at a time. */
static bool has_pairs(const run *r) { return r->view->width == 16 && is_close(r->view, r->plan); }

/* Output that is larger than the cache is gone from it when it is read again. */
static bool streams(const run *r)
{
    const pod__amx_view *v = r->view;
    const int64_t least = 4 * 1024 * 1024, row_bytes = v->width * 2;
    const bool whole_lines = row_bytes % 64 == 0 || (has_pairs(r) && v->out_w % 2 == 0);
    return whole_lines && (uintptr_t)r->call->out % 64 == 0 &&
           v->n * v->out_h * v->out_w * row_bytes >= least;
}

/* The bytes of the image that the block will read. */
static pod__amx_ahead ahead_of(const run *r, pod__amx_lines b)
{
    const pod__amx_view *v = r->view;
    const int64_t row_bytes = v->w * v->c * 2, image_bytes = v->h * row_bytes;
    pod__amx_ahead x = {.range_bytes = image_bytes};
    int64_t begin = b.line * r->plan->pitch, bytes = b.n_lines * r->plan->pitch;
    if (r->plan->way != POD__AMX_DIRECT) {
        const int64_t top = v->top + b.line * v->step;
        const int64_t first = pod_min(pod_max(top, 0), v->h);
        const int64_t end = pod_max(first, pod_min(top + (b.n_lines - 1) * v->step + v->r, v->h));
        begin = b.n * image_bytes + first * row_bytes;
        bytes = (end - first) * row_bytes;
    }
    x.n_ranges = r->plan->way == POD__AMX_IMAGES ? pod_min(16, v->n - b.n) : 1;
    x.begin = x.at = (const char *)r->call->a + begin;
    x.end = x.begin + bytes;
    const int64_t squares = (r->plan->max_tiles + 1) / 2 * ((v->width + 31) / 32);
    x.lines = (int)(x.n_ranges * bytes / 64 / pod_max(1, squares * v->n_chunks)) + 1;
    return x;
}

static pod__amx_product product_of(const run *r, const char *weights, char *scratch,
                                   const layout *at)
{
    const size_t bytes = pod__amx_weight_bytes(r->view), first_cache = 36 * 1024,
                 second_cache = 1024 * 1024;
    const bool tiles_outside = bytes <= second_cache;
    double *sums = (void *)(scratch + at->sums);
    return (pod__amx_product){.tiles = r->tiles,
                              .pitch = r->plan->pitch,
                              .n_chunks = r->view->n_chunks,
                              .n_whole = r->view->r / 2 * r->view->s,
                              .width = r->view->width,
                              .chunk_at = r->chunk_at,
                              .weights = weights,
                              .out = r->call->out,
                              .fused = r->call->fused,
                              .bias = r->call->bias,
                              .sum = sums,
                              .sum_sq = sums + padded_width(r->call),
                              .tiles_outside = tiles_outside,
                              .passes_by = tiles_outside && bytes > first_cache,
                              .streams = streams(r),
                              .pairs = has_pairs(r),
                              .stacked = r->view->stacked,
                              .squares = (void *)(scratch + at->squares)};
}

/* While a block is multiplied the strip of the next one is packed. */
static void run_stacked(const run *r, pod__amx_product *m, char *row)
{
    const pod__amx_view *v = r->view;
    const int64_t tiles_of_line = (v->q + POD__AMX_ROWS - 1) / POD__AMX_ROWS;
    place_stacked_tiles(r);
    pod__amx_lines b = first_block(r->plan);
    pod__amx_filling filling = pod__amx_filling_of(r->call, v, r->plan, b, row, r->strip);
    m->filling = &filling;
    for (int64_t i = 0; b.n_lines > 0; i++) {
        pod__amx_fill_rows(&filling, filling.n_rows);
        const pod__amx_lines next = next_block(v, r->plan, b);
        const pod__amx_filling filled = filling;
        filling = pod__amx_filling_of(r->call, v, r->plan, next, row,
                                      r->strip + (i + 1) % 2 * (r->plan->strip_bytes / 2));
        pod__amx_fill_after(&filling, &filled);
        m->n_tiles = b.n_lines * tiles_of_line;
        m->out = (pod_bf16 *)r->call->out + out_at(v, b.n, b.line, 0);
        m->chunk_at = r->chunk_at + i % 2 * v->n_chunks;
        pod__amx_multiply(m);
        b = next;
    }
    pod__amx_end_product(m);
}

static void run_blocks(const run *r, pod__amx_product *m, char *row)
{
    const bool looks = r->plan->way == POD__AMX_DIRECT || r->view->r > r->view->step;
    pod__amx_lines next = first_block(r->plan);
    while (next.n_lines > 0) {
        const pod__amx_lines b = next;
        next = next_block(r->view, r->plan, b);
        pod__amx_ahead ahead = {0};
        if (looks && next.n_lines > 0) ahead = ahead_of(r, next);
        m->ahead = &ahead;
        if (r->plan->way != POD__AMX_DIRECT)
            pod__amx_fill(r->call, r->view, r->plan, b, row, r->strip);
        m->n_tiles = tiles_of(r, b);
        pod__amx_multiply(m);
        pod__amx_end_product(m);
    }
}

static void run_view(const pod_conv_call *call, const pod__amx_view *v, const char *weights,
                     char *scratch, const layout *at)
{
    const pod__amx_plan plan = pod__amx_plan_of(call, v);
    const run r = {.call = call,
                   .view = v,
                   .plan = &plan,
                   .strip = scratch + at->strip,
                   .tiles = (void *)(scratch + at->tiles),
                   .rows = (void *)(scratch + at->rows),
                   .chunk_at = (void *)(scratch + at->chunks)};
    pod__amx_product m = product_of(&r, weights, scratch, at);
    pod__amx_square before = {0};
    m.before = &before;
    place_chunks(&r);
    pod__amx_begin(v->stacked);
    if (v->stacked)
        run_stacked(&r, &m, scratch + at->row);
    else
        run_blocks(&r, &m, scratch + at->row);
    _mm_sfence();
}

static void run_views(const pod_conv_call *call, const char *weights, char *scratch,
                      const layout *at)
{
    for (int64_t i = 0; i < pod__amx_n_views(call) && call->shape.n > 0; i++) {
        const pod__amx_view v = pod__amx_view_at(call, i);
        if (pod__amx_is_empty(&v)) continue;
        if (v.n_chunks == 0)
            zero_view(call, &v);
        else
            run_view(call, &v, weights, scratch, at);
        weights += pod__amx_weight_bytes(&v);
    }
}

/* ---- the kernel ----------------------------------------------------------------------------- */

const char *pod__conv_amx_why_not(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    const int64_t max = INT32_MAX;
    if (call->dtype != POD_BF16) return "it multiplies bfloat16 only";
    if (call->pass == POD_CONV_WEIGHT_GRAD) return "it has no weight gradient";
    if (s->r > max || s->s > max || s->r * s->s > max / 8 / pod_max(s->c, s->k))
        return "a filter is above 2^28 elements";
    if (s->stride > 64) return "the stride is above 64";
    if (pod_max(s->q, s->w) > max / 64 / s->s / pod_max(s->c, s->k) / s->stride)
        return "the windows of a line are too many for a strip";
    return NULL;
}

size_t pod__conv_amx_scratch_bytes(const pod_conv_call *call)
{
    return pod__few_takes(call) ? pod__few_scratch_bytes(call) : (size_t)layout_of(call).end;
}

size_t pod__conv_amx_packed_bytes(const pod_conv_call *call)
{
    return pod__few_takes(call) ? pod__few_packed_bytes(call) : (size_t)weight_bytes(call);
}

void pod__conv_amx_pack(const pod_conv_call *call, pod_dtype from, const void *w, void *packed)
{
    if (pod__few_takes(call)) {
        pod__few_pack(call, from, w, packed);
        return;
    }
    char *to = packed;
    for (int64_t i = 0; i < pod__amx_n_views(call); i++) {
        const pod__amx_view v = pod__amx_view_at(call, i);
        if (pod__amx_is_empty(&v)) continue;
        pod__amx_pack_view(call, &v, from, w, to);
        to += pod__amx_weight_bytes(&v);
    }
}

static void store_sums(const pod_conv_call *call, const double *sums)
{
    for (int64_t k = 0; k < call->shape.k; k++) {
        call->sum[k] = (float)sums[k];
        call->sum_sq[k] = (float)sums[padded_width(call) + k];
    }
}

void pod__conv_amx_run(const pod_conv_call *call, void *scratch)
{
    if (pod__few_takes(call)) {
        pod__few_run(call, scratch);
        return;
    }
    const layout at = layout_of(call);
    char *room = scratch;
    double *sums = (void *)(room + at.sums);
    if (call->fused & POD_CONV_SUMS) memset(sums, 0, 2 * (size_t)padded_width(call) * sizeof *sums);
    const char *weights = call->b;
    if (!(call->fused & POD_CONV_PACKED_W) && call->shape.n > 0) {
        pod__conv_amx_pack(call, POD_BF16, call->b, room + at.weights);
        weights = room + at.weights;
    }
    if (pod__amx_strided_takes(call))
        pod__amx_strided_run(call, weights, room + at.chunks);
    else
        run_views(call, weights, room, &at);
    pod_amx_end();
    if (call->fused & POD_CONV_SUMS) store_sums(call, sums);
}
