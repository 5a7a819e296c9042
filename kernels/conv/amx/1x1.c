/* bfloat16 convolution with a 1x1 filter, forward and, without stride, input gradient, in AMX tiles
 * (see amx/1x1.h):
 *
 *   for blocks of columns                     whose weights stay in the second cache
 *     for panels of 32 pixels                 in the first cache; the next one is fetched, or packed
 *       for strips of 32 columns: a square    while the one before is stored */
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/simd/tile_amx.h"
#include "kernels/conv/amx/1x1.h"
#include "kernels/conv/amx/window.h"
#include "kernels/conv/conv_kernels.h"

enum { SIDE = POD__POINT_SIDE, LINE = POD__POINT_LINE_BYTES };

/* What a block's weights may take of the second cache. */
static const int64_t block_bytes = 1024 * 1024;

/* The call as a product (M, D) (D, W). */
typedef struct product {
    int64_t m, d, w;
    int64_t n_chunks, n_strips, n_panels;
    int64_t block_strips; /* of a block of columns */
    bool lays;            /* all panels; else the last one where it is not whole */
} product;

static product product_of(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    const bool forward = call->pass == POD_CONV_FORWARD;
    product x = {.m = s->n * s->p * s->q, .d = forward ? s->c : s->k, .w = forward ? s->k : s->c};
    x.n_chunks = pod_div_up(x.d, SIDE);
    x.n_strips = pod_div_up(x.w, SIDE);
    x.n_panels = pod_div_up(x.m, SIDE);
    const int64_t strip_bytes = x.n_chunks * POD__POINT_CHUNK_BYTES;
    const int64_t n_blocks = pod_div_up(x.n_strips * strip_bytes, block_bytes);
    x.block_strips = pod_div_up(x.n_strips, pod_min(n_blocks, x.n_strips));
    x.lays = (call->fused & POD_CONV_AFFINE_X) || x.d % SIDE || s->stride > 1;
    return x;
}

/* Regions of the scratch, in bytes from its start. */
typedef struct layout {
    int64_t panels, change, sums, weights, end;
} layout;

static layout layout_of(const pod_conv_call *call)
{
    const product x = product_of(call);
    const bool changes = call->fused & POD_CONV_AFFINE_X, keeps_sums = call->fused & POD_CONV_SUMS;
    const int64_t panel = x.n_chunks * POD__POINT_CHUNK_BYTES;
    const int64_t change = x.n_chunks * POD__POINT_CHANGE_FLOATS * (int64_t)sizeof(float);
    const int64_t sums = x.n_strips * POD__POINT_STRIP_SUMS * (int64_t)sizeof(double);
    layout at = {.panels = 2 * POD__POINT_SQUARE_FLOATS * (int64_t)sizeof(float)};
    at.change = at.panels + (x.lays ? 2 : 1) * panel;
    at.sums = at.change + (changes ? change : 0);
    at.weights = at.sums + (keeps_sums ? sums : 0);
    at.end = at.weights;
    if (!(call->fused & POD_CONV_PACKED_W)) at.end += (int64_t)pod__conv_amx_1x1_packed_bytes(call);
    return at;
}

/* ---- panels ---------------------------------------------------------------------------------- */

typedef struct run {
    const pod_conv_call *call;
    product x;
    char *panels; /* scratch */
    const float *change;
    const char *weights;
    double *sums;
    float *squares;       /* two, which take turns */
    int64_t row_at[SIDE]; /* of the panel that is being packed, with a stride */
    pod__point_ahead ahead;
    pod__point_laying laying;
    pod__point_epilogue resting, epilogue; /* in the tiles; in one of the squares */
} run;

static const char *pixel(const run *r, int64_t panel)
{
    return (const char *)r->call->a + panel * SIDE * r->x.d * 2;
}

static int64_t n_rows(const run *r, int64_t panel) { return pod_min(SIDE, r->x.m - panel * SIDE); }

static bool is_packed(const run *r, int64_t panel) { return r->x.lays || n_rows(r, panel) < SIDE; }

/* Panels take turns with the scratch. */
static char *room_of(const run *r, int64_t panel)
{
    return r->panels + (r->x.lays ? panel % 2 : 0) * r->x.n_chunks * POD__POINT_CHUNK_BYTES;
}

static pod__point_panel panel_of(const run *r, int64_t panel)
{
    if (is_packed(r, panel))
        return (pod__point_panel){room_of(r, panel), LINE, POD__POINT_CHUNK_BYTES};
    return (pod__point_panel){pixel(r, panel), r->x.d * 2, LINE};
}

/* With a stride: where the panel's pixels are, bytes from the first one. Returns that one. */
static const char *place_rows(run *r, int64_t panel)
{
    const pod_conv_shape *s = &r->call->shape;
    const int64_t row = panel * SIDE, n = n_rows(r, panel), pixel_bytes = r->x.d * 2;
    int64_t q = row % s->q, p = row / s->q % s->p;
    const int64_t line_bytes = s->w * pixel_bytes;
    const int64_t image_bytes = s->h * line_bytes;
    int64_t image = row / s->q / s->p * image_bytes;
    const int64_t first = image + s->stride * (p * line_bytes + q * pixel_bytes);
    for (int64_t i = 0; i < n; i++) {
        r->row_at[i] = image + s->stride * (p * line_bytes + q * pixel_bytes) - first;
        if (++q < s->q) continue;
        q = 0;
        if (++p < s->p) continue;
        p = 0, image += image_bytes;
    }
    return (const char *)r->call->a + first;
}

static pod__point_laying packing_of(run *r, int64_t panel)
{
    const bool strides = r->call->shape.stride > 1;
    return (pod__point_laying){.from = strides ? place_rows(r, panel) : pixel(r, panel),
                               .to = room_of(r, panel),
                               .depth = r->x.d,
                               .n_rows = is_packed(r, panel) ? n_rows(r, panel) : 0,
                               .row_at = strides ? r->row_at : NULL,
                               .change = r->change,
                               .rectified = r->call->fused & POD_CONV_RELU_X};
}

/* What is asked for while `n_chunks` are multiplied: the panel, and the next one's room in the output
 * where all of that is written before anything else. A store that finds its line in a cache does not
 * hold up those behind it, sums of the next squares among them. */
static pod__point_ahead ahead_of(const run *r, int64_t panel, bool is_whole, int64_t n_chunks)
{
    const int64_t in = panel + (r->x.lays ? 2 : 1), out = panel + 1;
    pod__point_ahead x = {0};
    if (in < r->x.n_panels && r->call->shape.stride == 1) {
        x.in = pixel(r, in);
        x.in_lines = pod_div_up(pod_div_up(n_rows(r, in) * r->x.d * 2, LINE), n_chunks);
    }
    if (out < r->x.n_panels && is_whole) {
        x.out = (const char *)r->call->out + out * SIDE * r->x.w * 2;
        x.out_lines = pod_div_up(pod_div_up(n_rows(r, out) * r->x.w * 2, LINE), n_chunks);
    }
    return x;
}

/* ---- squares --------------------------------------------------------------------------------- */

static pod__point_epilogue epilogue_of(const run *r, int64_t panel, int64_t strip)
{
    const pod_conv_call *call = r->call;
    const int64_t columns = r->x.w - strip * SIDE;
    return (pod__point_epilogue){
        .out = (char *)call->out + (panel * SIDE * r->x.w + strip * SIDE) * 2,
        .out_bytes = r->x.w * 2,
        .n_rows = n_rows(r, panel),
        .columns = columns >= SIDE ? UINT32_MAX : (1u << columns) - 1u,
        .bias = call->fused & POD_CONV_BIAS ? call->bias + strip * SIDE : NULL,
        .sums = call->fused & POD_CONV_SUMS ? r->sums + strip * POD__POINT_STRIP_SUMS : NULL,
        .relu = call->fused & POD_CONV_RELU};
}

/* The one in the tiles goes to where none is leaving from. */
static float *next_square(const run *r)
{
    return r->squares + (r->epilogue.values == r->squares ? POD__POINT_SQUARE_FLOATS : 0);
}

static void run_square(run *r, int64_t panel, int64_t strip)
{
    const pod__point_square q = {.panel = panel_of(r, panel),
                                 .strip =
                                     r->weights + strip * r->x.n_chunks * POD__POINT_CHUNK_BYTES,
                                 .n_chunks = r->x.n_chunks,
                                 .narrow = r->x.w - strip * SIDE <= 16,
                                 .before = next_square(r)};
    pod__point_multiply(&q, &r->ahead, &r->epilogue);
    r->epilogue = r->resting;
    r->epilogue.values = q.before;
    r->resting = epilogue_of(r, panel, strip);
}

/* Strips [begin, end) of all pixels. */
static void run_block(run *r, int64_t begin, int64_t end)
{
    const int64_t n_chunks = (end - begin) * r->x.n_chunks;
    const int64_t lines = pod_div_up(SIDE * r->x.n_chunks, end - begin); /* to lay after a square */
    r->laying = packing_of(r, 0);
    for (int64_t panel = 0; panel < r->x.n_panels; panel++) {
        pod__point_pack(&r->laying, SIDE * r->x.n_chunks);
        r->laying = (pod__point_laying){0};
        if (panel + 1 < r->x.n_panels) r->laying = packing_of(r, panel + 1);
        r->ahead = ahead_of(r, panel, end - begin == r->x.n_strips, n_chunks);
        for (int64_t strip = begin; strip < end; strip++) {
            run_square(r, panel, strip);
            if (r->laying.n_rows > 0) pod__point_pack(&r->laying, lines);
        }
    }
}

static void run_blocks(run *r)
{
    pod__point_begin();
    for (int64_t strip = 0; strip < r->x.n_strips; strip += r->x.block_strips)
        run_block(r, strip, pod_min(strip + r->x.block_strips, r->x.n_strips));
    pod__point_store(&r->epilogue);
    r->resting.values = next_square(r);
    pod__point_end(next_square(r));
    pod__point_store(&r->resting);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

const char *pod__conv_amx_1x1_why_not(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    if (call->dtype != POD_BF16) return "it multiplies bfloat16 only";
    if (call->pass == POD_CONV_WEIGHT_GRAD) return "it has no weight gradient";
    if (s->r != 1 || s->s != 1) return "the filter is not 1x1";
    if (s->pad_h != 0 || s->pad_w != 0) return "there is padding";
    if (s->stride != 1 && call->pass != POD_CONV_FORWARD) return "there is a stride";
    if ((s->p - 1) * s->stride >= s->h || (s->q - 1) * s->stride >= s->w)
        return "windows lie outside the image";
    if (s->stride == 1 && (s->p != s->h || s->q != s->w)) return "not every pixel has a window";
    return NULL;
}

size_t pod__conv_amx_1x1_scratch_bytes(const pod_conv_call *call)
{
    return (size_t)layout_of(call).end;
}

size_t pod__conv_amx_1x1_packed_bytes(const pod_conv_call *call)
{
    const pod__amx_view v = pod__amx_view_at(call, 0);
    return pod__amx_weight_bytes(&v);
}

void pod__conv_amx_1x1_pack(const pod_conv_call *call, pod_dtype from, const void *w, void *packed)
{
    const pod__amx_view v = pod__amx_view_at(call, 0);
    pod__amx_pack_view(call, &v, from, w, packed);
}

/* x_scale and x_shift as laying wants them, zeros behind the last channel. */
static const float *change_of(const pod_conv_call *call, char *room)
{
    const int64_t c_end = call->shape.c;
    float *change = (void *)room;
    for (int64_t c = 0; c < pod_div_up(c_end, SIDE) * SIDE; c++) {
        float *to = change + c / SIDE * POD__POINT_CHANGE_FLOATS + c % 2 * 16 + c % SIDE / 2;
        to[0] = c < c_end ? call->x_scale[c] : 0;
        to[32] = c < c_end ? call->x_shift[c] : 0;
    }
    return change;
}

static void store_sums(const run *r)
{
    for (int64_t i = 0; i < r->x.w; i++) {
        const double *from = r->sums + i / SIDE * POD__POINT_STRIP_SUMS + i % 2 * 16 + i % SIDE / 2;
        r->call->sum[i] = (float)from[0];
        r->call->sum_sq[i] = (float)from[32];
    }
}

void pod__conv_amx_1x1_run(const pod_conv_call *call, void *scratch)
{
    const layout at = layout_of(call);
    char *room = scratch;
    run r = {.call = call,
             .x = product_of(call),
             .panels = room + at.panels,
             .weights = call->b,
             .sums = (void *)(room + at.sums),
             .squares = scratch};
    if (call->fused & POD_CONV_SUMS) memset(r.sums, 0, (size_t)(at.weights - at.sums));
    if (r.x.m > 0) {
        if (call->fused & POD_CONV_AFFINE_X) r.change = change_of(call, room + at.change);
        if (!(call->fused & POD_CONV_PACKED_W)) {
            pod__conv_amx_1x1_pack(call, POD_BF16, call->b, room + at.weights);
            r.weights = room + at.weights;
        }
        run_blocks(&r);
    }
    if (call->fused & POD_CONV_SUMS) store_sums(&r);
}
