/* bfloat16 convolution in AMX tiles of lines: how a call is cut into bands, and their course (see
 * amx/lines.h). */
#include <immintrin.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/simd/tile_amx.h"
#include "kernels/conv/amx/lines.h"
#include "kernels/conv/conv_kernels.h"

/* What a ring may take of the first cache, and of the second one. */
static const int64_t first_cache = 16 * 1024, second_cache = 1024 * 1024;

/* ---- the plan ------------------------------------------------------------------------------- */

/* As few tiles as may be, then as few images. */
static int64_t images_of_tile(const pod__amx_view *v)
{
    int64_t best = 1, fewest = INT64_MAX;
    for (int64_t images = 1; images <= POD__AMX_ROWS; images *= 2) {
        const int64_t n_tiles = pod_div_up(v->n, images) * pod_div_up(v->q * images, POD__AMX_ROWS);
        if (n_tiles < fewest) best = images, fewest = n_tiles;
    }
    return best;
}

/* Rows of the strip below so many lines of output. */
static int64_t rows_below(const pod__amx_view *v, int64_t lines)
{
    return (lines - 1) * v->step + v->r;
}

/* Rows of the ring: of a band and the new ones of the next, or all of the next where there is room. */
static int64_t ring_rows(const pod__amx_view *v, const pod__lines_plan *p, int64_t lines)
{
    const int64_t rows = pod_max(rows_below(v, lines), lines * v->step);
    const bool both = 2 * rows * p->row_bytes <= first_cache;
    return both ? 2 * rows : rows_below(v, lines) + lines * v->step;
}

/* Filters that do not stay in the cache pass by once per band: then it is as large as may be, and the
 * next one is not packed before it is done. */
static void cut_bands(const pod__amx_view *v, pod__lines_plan *p)
{
    const bool stay = (int64_t)pod__amx_weight_bytes(v) <= 3 * second_cache / 2;
    p->tiles_outside = stay;
    p->lines = pod_min(v->p, p->tiles % 2 ? 2 : 1);
    for (int64_t lines = p->lines; lines <= v->p; lines++) {
        const int64_t rows = stay ? ring_rows(v, p, lines) : rows_below(v, lines);
        const bool fits = rows * p->row_bytes <= (stay ? first_cache : 3 * second_cache / 2);
        if (fits && (lines == v->p || lines * p->tiles % 4 == 0)) p->lines = lines;
    }
    p->n_rows = stay ? ring_rows(v, p, p->lines) : pod_max(rows_below(v, p->lines), v->step);
}

static pod__lines_plane plane_of(const pod__amx_view *v, const pod__lines_plan *p, int64_t i)
{
    const int64_t begin = pod_max(0, -v->left), end = pod_min(p->columns, v->w - v->left);
    const int64_t first = begin + (begin + v->step - i) % v->step;
    pod__lines_plane plane = {.from = v->left + first,
                              .n = pod_div_up(pod_max(0, end - first), v->step)};
    plane.to = i * p->plane_bytes + first / v->step * p->images * POD__AMX_LINE_BYTES;
    return plane;
}

static pod__lines_plan plan_of(const pod__amx_view *v)
{
    pod__lines_plan p = {.images = images_of_tile(v)};
    p.pixels = POD__AMX_ROWS / p.images;
    p.tiles = pod_div_up(v->q, p.pixels);
    p.columns = (v->q - 1) * v->step + v->s;
    p.plane_bytes = pod_div_up(p.columns, v->step) * p.images * POD__AMX_LINE_BYTES;
    p.chunk_bytes = v->step * p.plane_bytes;
    p.row_bytes = v->c / POD__AMX_CHUNK * p.chunk_bytes;
    for (int64_t i = 0; i < v->step; i++) p.planes[i] = plane_of(v, &p, i);
    cut_bands(v, &p);
    return p;
}

/* Pixels of the rows of a band. */
static int64_t n_moves(const pod__amx_view *v, const pod__lines_plan *p)
{
    return rows_below(v, p->lines) * p->images * pod_min(v->w, p->columns);
}

/* ---- the scratch ---------------------------------------------------------------------------- */

typedef struct layout {
    int64_t squares, sums, change, chunks, rows, moves, tiles, weights, ring, end;
} layout;

static int64_t lines_of(int64_t bytes) { return pod_div_up(bytes, POD__AMX_LINE_BYTES) * 64; }

static layout layout_of(const pod_conv_call *call, const pod__amx_view *v, const pod__lines_plan *p)
{
    const bool packs = !(call->fused & POD_CONV_PACKED_W);
    layout at = {.sums = 2 * POD__LINES_SQUARE_FLOATS * (int64_t)sizeof(float)};
    at.change = at.sums + 2 * v->width * (int64_t)sizeof(double);
    at.chunks =
        at.change + (call->fused & POD_CONV_AFFINE_X ? 2 * v->c * (int64_t)sizeof(float) : 0);
    at.rows = at.chunks + lines_of(v->n_chunks * (int64_t)sizeof(pod__lines_chunk));
    at.moves = at.rows + lines_of(3 * rows_below(v, p->lines) * (int64_t)sizeof(char *));
    at.tiles = at.moves + lines_of(n_moves(v, p) * (int64_t)sizeof(pod__lines_move));
    at.weights = at.tiles + lines_of(p->lines * p->tiles * (int64_t)sizeof(pod__lines_tile));
    at.ring = at.weights + (packs ? (int64_t)pod__amx_weight_bytes(v) : 0);
    /* a row for what is not kept, and the last tile of a line may end behind the ring */
    at.end = at.ring + (p->n_rows + 1) * p->row_bytes + POD__AMX_TILE_BYTES;
    return at;
}

/* ---- a run ---------------------------------------------------------------------------------- */

/* Lines of output of the images from n on; the strip's row 0 for these images is row `base` of the
 * ring, counted on without end. No lines: after the last band. */
typedef struct band {
    int64_t n, line, n_lines, base;
} band;

typedef struct run {
    const pod_conv_call *call;
    const pod__amx_view *view;
    const pod__lines_plan *plan;
    char **rows, **to; /* of a band; where its new rows go */
    const char **from; /* and come from */
    pod__lines_move *moves;
    pod__lines_tile *tiles;
    char *ring;
    const float *change;
} run;

static band next_band(const run *r, band b)
{
    b.line += b.n_lines;
    if (b.line == r->view->p) {
        b.base += rows_below(r->view, r->view->p);
        b.line = 0;
        b.n += r->plan->images;
    }
    b.n_lines = b.n < r->view->n ? pod_min(r->plan->lines, r->view->p - b.line) : 0;
    return b;
}

/* The rows of a strip for so many images. */
static void place_moves(const run *r, int64_t n_images)
{
    const pod__amx_view *v = r->view;
    const pod__lines_plan *p = r->plan;
    const int64_t pixel = v->c * 2, to_step = p->images * POD__AMX_LINE_BYTES;
    pod__lines_move *m = r->moves;
    for (int64_t row = 0; row < rows_below(v, p->lines); row++)
        for (int64_t image = 0; image < n_images; image++)
            for (int64_t i = 0; i < v->step; i++) {
                const pod__lines_plane *plane = &p->planes[i];
                for (int64_t j = 0; j < plane->n; j++)
                    *m++ = (pod__lines_move){
                        .from = (image * v->h * v->w + plane->from + j * v->step) * pixel,
                        .to = (int32_t)(plane->to + j * to_step + image * POD__AMX_LINE_BYTES),
                        .row = (int32_t)row};
            }
}

/* Rows [row, end) of the strip. Rows outside the image are zeros: what is packed of them is not kept. */
static pod__lines_filling filling_of(const run *r, band b, int64_t row, int64_t end, int64_t steps)
{
    const pod__amx_view *v = r->view;
    const pod__lines_plan *p = r->plan;
    pod__lines_filling f = {.pixel_bytes = v->c * 2,
                            .chunk_bytes = p->chunk_bytes,
                            .from = r->from,
                            .to = r->to,
                            .change = r->change,
                            .fused = r->call->fused};
    if (row >= end) return f;
    const int64_t n_images = pod_min(p->images, v->n - b.n);
    if (row == 0 && (b.n == 0 || n_images < p->images)) place_moves(r, n_images);
    const int64_t n_pixels = n_images * (p->planes[0].n + p->planes[1].n);
    f.at = r->moves;
    f.end = f.at + (end - row) * n_pixels;
    f.at_once = pod_div_up(f.end - f.at, steps);
    int64_t ring_row = (b.base + row) % p->n_rows;
    for (int64_t i = 0; row < end; i++, row++) {
        const int64_t h = v->top + row;
        const bool inside = h >= 0 && h < v->h;
        char *to = r->ring + ring_row * p->row_bytes;
        r->from[i] = (const char *)r->call->a + (b.n * v->h + (inside ? h : 0)) * v->w * v->c * 2;
        r->to[i] = inside ? to : r->ring + p->n_rows * p->row_bytes;
        if (!inside) memset(to, 0, (size_t)p->row_bytes);
        if (++ring_row == p->n_rows) ring_row = 0;
    }
    return f;
}

/* What of the ring lies beside the images. */
static void zero_columns(const run *r)
{
    const pod__amx_view *v = r->view;
    const pod__lines_plan *p = r->plan;
    const int64_t n_chunks = p->n_rows * (v->c / POD__AMX_CHUNK);
    for (int64_t column = 0; column < p->columns; column++) {
        if (v->left + column >= 0 && v->left + column < v->w) continue;
        char *at = r->ring + column % v->step * p->plane_bytes +
                   column / v->step * p->images * POD__AMX_LINE_BYTES;
        for (int64_t i = 0; i < n_chunks; i++)
            memset(at + i * p->chunk_bytes, 0, (size_t)p->images * POD__AMX_LINE_BYTES);
    }
}

/* Rows of a tile that have so many pixels of so many images. */
static uint32_t valid_rows(const pod__lines_plan *p, int64_t n_pixels, int64_t n_images)
{
    uint32_t valid = 0;
    for (int64_t i = 0; i < n_pixels; i++) valid |= ((1u << n_images) - 1u) << i * p->images;
    return valid;
}

static int64_t place_tiles(const run *r, band b)
{
    const pod__amx_view *v = r->view;
    const pod__lines_plan *p = r->plan;
    const int64_t n_images = pod_min(p->images, v->n - b.n), last = (p->tiles - 1) * p->pixels;
    const uint32_t valid = valid_rows(p, p->pixels, n_images);
    const uint32_t valid_last = valid_rows(p, v->q - last, n_images);
    int64_t row = (b.base + b.line * v->step) % p->n_rows;
    for (int64_t i = 0; i < rows_below(v, b.n_lines); i++) {
        r->rows[i] = r->ring + row * p->row_bytes;
        if (++row == p->n_rows) row = 0;
    }
    pod__lines_tile *t = r->tiles;
    for (int64_t q = 0; q < v->q; q += p->pixels)
        for (int64_t i = 0; i < b.n_lines; i++) {
            const int64_t pixel = (b.n * v->p + b.line + i) * v->q + q;
            *t++ = (pod__lines_tile){.rows = r->rows + i * v->step,
                                     .at = q * p->images * POD__AMX_LINE_BYTES,
                                     .out = (pod_bf16 *)r->call->out + pixel * v->width,
                                     .valid = q < last ? valid : valid_last};
        }
    return t - r->tiles;
}

/* Channels by the chunk, and for each all of the window, so that a tile's lines are read again while
 * they are in the first cache. */
static void place_chunks(const run *r, pod__lines_chunk *chunks)
{
    const pod__amx_view *v = r->view;
    const pod__lines_plan *p = r->plan;
    const int64_t per_pixel = v->c / POD__AMX_CHUNK;
    for (int64_t c = 0; c < per_pixel; c++)
        for (int64_t i = 0; i < v->r; i++)
            for (int64_t j = 0; j < v->s; j++)
                *chunks++ = (pod__lines_chunk){
                    .row = i,
                    .a = j % v->step * p->plane_bytes +
                         j / v->step * p->images * POD__AMX_LINE_BYTES + c * p->chunk_bytes,
                    .b = ((i * v->s + j) * per_pixel + c) * 2 * POD__AMX_TILE_BYTES};
}

static void place_change(const pod_conv_call *call, int64_t n_channels, float *change)
{
    for (int64_t c = 0; c < n_channels; c++) {
        float *to = change + c / 32 * 64 + c % 2 * 16 + c % 32 / 2;
        to[0] = call->x_scale[c];
        to[32] = call->x_shift[c];
    }
}

/* Output that is larger than the cache is gone from it when it is read again. */
static bool streams(const pod__amx_view *v, const void *out)
{
    const int64_t least = 4 * 1024 * 1024;
    return (uintptr_t)out % 64 == 0 && v->n * v->p * v->q * v->width * 2 >= least;
}

static void run_bands(const run *r, pod__lines_product *m)
{
    const pod__amx_view *v = r->view;
    const pod__lines_plan *p = r->plan;
    const int64_t squares = pod_div_up(p->lines * p->tiles, POD__LINES_TILES) * (v->width / 32);
    const int64_t steps = squares * m->n_chunks;
    band b = {.n_lines = pod_min(p->lines, v->p)};
    int64_t packed = 0; /* rows of the strip */
    while (b.n_lines > 0) {
        pod__lines_filling filling = filling_of(r, b, packed, rows_below(v, b.line + b.n_lines), 1);
        pod__lines_fill(&filling);
        const band next = next_band(r, b);
        /* of the next band what has room beside this one */
        const int64_t room = p->n_rows + b.base + b.line * v->step - next.base;
        const int64_t end = pod_min(room, rows_below(v, next.line + next.n_lines));
        packed = next.line > 0 ? pod_max(next.line * v->step, rows_below(v, next.line)) : 0;
        filling = filling_of(r, next, packed, next.n_lines > 0 ? end : 0, steps);
        packed = pod_max(packed, end);
        m->filling = &filling;
        m->n_tiles = place_tiles(r, b);
        pod__lines_multiply(m);
        pod__lines_fill(&filling);
        b = next;
    }
    pod__lines_end_product(m);
}

static void store_sums(const pod_conv_call *call, const double *sums)
{
    for (int64_t k = 0; k < call->shape.k; k++) {
        const double *from = sums + k / 32 * 64 + k % 2 * 16 + k % 32 / 2;
        call->sum[k] = (float)from[0];
        call->sum_sq[k] = (float)from[32];
    }
}

/* ---- the kernel ----------------------------------------------------------------------------- */

const char *pod__conv_amx_lines_why_not(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    const char *why_not = pod__conv_amx_why_not(call);
    if (why_not) return why_not;
    if (s->r * s->s == 1) return "it is for filters of several pixels";
    if (call->pass == POD_CONV_INPUT_GRAD && s->stride > 1) return "it has no strided gradient";
    if (s->stride > 2) return "the stride is above 2";
    if (s->c % 32 || s->k % 32) return "channels and filters are not multiples of 32";
    return NULL;
}

size_t pod__conv_amx_lines_scratch_bytes(const pod_conv_call *call)
{
    const pod__amx_view v = pod__amx_view_at(call, 0);
    const pod__lines_plan plan = plan_of(&v);
    return (size_t)layout_of(call, &v, &plan).end;
}

size_t pod__conv_amx_lines_packed_bytes(const pod_conv_call *call)
{
    const pod__amx_view v = pod__amx_view_at(call, 0);
    return pod__amx_weight_bytes(&v);
}

void pod__conv_amx_lines_pack(const pod_conv_call *call, pod_dtype from, const void *w,
                              void *packed)
{
    const pod__amx_view v = pod__amx_view_at(call, 0);
    pod__amx_pack_view(call, &v, from, w, packed);
}

void pod__conv_amx_lines_run(const pod_conv_call *call, void *scratch)
{
    const pod__amx_view v = pod__amx_view_at(call, 0);
    const pod__lines_plan plan = plan_of(&v);
    const layout at = layout_of(call, &v, &plan);
    char *room = scratch;
    double *sums = (void *)(room + at.sums);
    memset(sums, 0, 2 * (size_t)v.width * sizeof *sums);
    if (call->fused & POD_CONV_AFFINE_X) place_change(call, v.c, (void *)(room + at.change));
    const char *weights = call->b;
    if (!(call->fused & POD_CONV_PACKED_W)) {
        pod__amx_pack_view(call, &v, POD_BF16, call->b, room + at.weights);
        weights = room + at.weights;
    }
    char **rows = (void *)(room + at.rows);
    const int64_t n_rows = rows_below(&v, plan.lines);
    const run r = {.call = call,
                   .view = &v,
                   .plan = &plan,
                   .rows = rows,
                   .to = rows + n_rows,
                   .from = (const char **)(rows + 2 * n_rows),
                   .moves = (void *)(room + at.moves),
                   .tiles = (void *)(room + at.tiles),
                   .ring = room + at.ring,
                   .change = (void *)(room + at.change)};
    pod__lines_chunk *chunks = (void *)(room + at.chunks);
    place_chunks(&r, chunks);
    int64_t row_at[POD__AMX_ROWS];
    for (int64_t i = 0; i < POD__AMX_ROWS; i++)
        row_at[i] = (i % plan.images * v.p * v.q + i / plan.images) * v.width;
    pod__lines_square before = {0};
    pod__lines_product m = {.tiles = r.tiles,
                            .n_chunks = v.n_chunks,
                            .width = v.width,
                            .chunks = chunks,
                            .weights = weights,
                            .row_at = row_at,
                            .fused = call->fused,
                            .bias = call->bias,
                            .sums = sums,
                            .tiles_outside = plan.tiles_outside,
                            .streams = streams(&v, call->out),
                            .before = &before,
                            .squares = (void *)(room + at.squares)};
    zero_columns(&r);
    pod__amx_begin(false);
    if (v.n > 0) run_bands(&r, &m);
    pod_amx_end();
    _mm_sfence();
    if (call->fused & POD_CONV_SUMS) store_sums(call, sums);
}
