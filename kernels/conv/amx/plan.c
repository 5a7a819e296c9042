/* Views of a call, and how each is cut into blocks whose strip stays in a core's second cache. */
#include "kernels/base/arith.h"
#include "kernels/conv/amx/window.h"

/* What strips may take of the cache, beside the filters. */
static const int64_t cache_bytes = 1536 * 1024, strip_min = 256 * 1024;

/* What each of the two stacked strips may take of the first cache. */
static const int64_t stacked_bytes = 13 * 1024;

int64_t pod__amx_n_views(const pod_conv_call *call)
{
    const int64_t stride = call->shape.stride;
    return call->pass == POD_CONV_FORWARD ? 1 : stride * stride;
}

static pod__amx_view forward_view(const pod_conv_shape *s)
{
    return (pod__amx_view){.n = s->n,
                           .h = s->h,
                           .w = s->w,
                           .c = s->c,
                           .p = s->p,
                           .q = s->q,
                           .width = s->k,
                           .r = s->r,
                           .s = s->s,
                           .step = s->stride,
                           .top = -s->pad_h,
                           .left = -s->pad_w,
                           .out_h = s->p,
                           .out_w = s->q,
                           .out_step = 1};
}

static pod__amx_view grad_view(const pod_conv_shape *s, pod__residue rows, pod__residue columns)
{
    return (pod__amx_view){.n = s->n,
                           .h = s->p,
                           .w = s->q,
                           .c = s->k,
                           .p = rows.n_pixels,
                           .q = columns.n_pixels,
                           .width = s->c,
                           .r = rows.n_taps,
                           .s = columns.n_taps,
                           .step = 1,
                           .top = rows.first,
                           .left = columns.first,
                           .out_h = s->h,
                           .out_w = s->w,
                           .row = rows.pixel,
                           .column = columns.pixel,
                           .out_step = s->stride,
                           .rows = rows,
                           .columns = columns};
}

/* Not of n nor of what is fused: packed filters serve all those. Of a short line too few rows of a
 * tile are used. */
static bool is_stacked(const pod__amx_view *v)
{
    return v->c == POD__AMX_CHUNK / 2 && v->r > 1 && v->step <= 2 && v->q >= 7;
}

pod__amx_view pod__amx_view_at(const pod_conv_call *call, int64_t i)
{
    const pod_conv_shape *s = &call->shape;
    pod__amx_view v = call->pass == POD_CONV_FORWARD
                          ? forward_view(s)
                          : grad_view(s, pod__residue_rows(s, i / s->stride),
                                      pod__residue_columns(s, i % s->stride));
    v.chunks_row = pod_div_up(v.s * v.c, POD__AMX_CHUNK);
    v.stacked = is_stacked(&v);
    v.n_chunks = v.stacked ? pod_div_up(v.r, 2) * v.s : v.r * v.chunks_row;
    return v;
}

/* Even parts of `total` no longer than `most`. */
static int64_t even_part(int64_t total, int64_t most)
{
    return total == 0 ? 1 : pod_div_up(total, pod_div_up(total, pod_min(total, pod_max(1, most))));
}

static int64_t strip_budget(const pod__amx_view *v)
{
    return pod_max(strip_min, cache_bytes - (int64_t)pod__amx_weight_bytes(v));
}

static bool reads_in_place(const pod_conv_call *call, const pod__amx_view *v)
{
    return v->r == 1 && v->s == 1 && v->step == 1 && v->top == 0 && v->left == 0 && v->p == v->h &&
           v->q == v->w && v->c % POD__AMX_CHUNK == 0 && !(call->fused & POD_CONV_AFFINE_X) &&
           v->n * v->p * v->q >= POD__AMX_ROWS;
}

static bool takes_images(const pod__amx_view *v)
{
    const int64_t left_over = v->n % POD__AMX_ROWS;
    return v->c % POD__AMX_CHUNK == 0 && (v->r > v->step || v->s > v->step) &&
           v->n >= POD__AMX_ROWS && (left_over == 0 || left_over >= 12 || v->n > 64);
}

static pod__amx_plan direct_plan(const pod__amx_view *v)
{
    pod__amx_plan plan = {.way = POD__AMX_DIRECT, .n_groups = 1, .pitch = v->c * 2};
    plan.n_lines = v->n * v->p * v->q;
    plan.lines = pod_max(64, pod_min(1024, strip_min / plan.pitch) / 32 * 32);
    plan.max_tiles = pod_div_up(plan.lines, POD__AMX_ROWS);
    return plan;
}

static pod__amx_plan images_plan(const pod__amx_view *v)
{
    pod__amx_plan plan = {.way = POD__AMX_IMAGES, .n_lines = v->p, .pitch = v->c * 2};
    plan.n_groups = pod_div_up(v->n, POD__AMX_ROWS);
    plan.strip_row = ((v->q - 1) * v->step + v->s) * POD__AMX_ROWS * plan.pitch;
    const int64_t n_rows = strip_budget(v) / plan.strip_row;
    plan.lines = even_part(v->p, (n_rows - v->r) / v->step + 1);
    plan.max_tiles = plan.lines * v->q;
    plan.strip_bytes = ((plan.lines - 1) * v->step + v->r) * plan.strip_row;
    return plan;
}

static pod__amx_plan windows_plan(const pod__amx_view *v)
{
    pod__amx_plan plan = {.way = POD__AMX_WINDOWS, .pitch = v->chunks_row * POD__AMX_LINE_BYTES};
    const bool runs_on = v->r <= v->step;
    plan.n_lines = runs_on ? v->n * v->p : v->p;
    plan.n_groups = runs_on ? 1 : v->n;
    plan.strip_row = v->q * plan.pitch;
    const int64_t planes = pod_min(v->step, v->r), above = (v->r - 1) / v->step;
    const int64_t most = strip_budget(v) / 3 / (planes * plan.strip_row) - above;
    plan.lines = even_part(plan.n_lines, most);
    plan.plane_rows = plan.lines + above;
    plan.max_tiles = pod_div_up(plan.lines * v->q, POD__AMX_ROWS);
    /* the last tile of a block may begin within the strip and end behind it */
    plan.strip_bytes = (planes * plan.plane_rows * v->q + POD__AMX_ROWS) * plan.pitch;
    plan.row_bytes = 2 * (((v->q - 1) * v->step + v->s) * v->c * 2 + POD__AMX_LINE_BYTES);
    return plan;
}

int64_t pod__amx_stacked_rows(const pod__amx_view *v, int64_t n_lines)
{
    return n_lines + (pod_div_up(v->r, 2) - 1) * pod__amx_stacked_step(v);
}

static pod__amx_plan stacked_plan(const pod__amx_view *v)
{
    const int64_t few = 4; /* lines of images too wide for the cache: most of the strip is theirs */
    pod__amx_plan plan = {.way = POD__AMX_STACKED, .n_lines = v->p, .n_groups = v->n};
    plan.pitch = v->step * POD__AMX_LINE_BYTES;
    plan.strip_row = ((v->q - 1) * v->step + v->s) * POD__AMX_LINE_BYTES;
    const int64_t most = stacked_bytes / plan.strip_row - pod__amx_stacked_rows(v, 0);
    plan.lines = even_part(v->p, pod_max(few, most));
    plan.max_tiles = plan.lines * pod_div_up(v->q, POD__AMX_ROWS);
    plan.row_bytes = plan.strip_row + POD__AMX_LINE_BYTES; /* two rows of the image */
    /* the last tile of a line may end behind it */
    plan.strip_bytes =
        2 * (pod__amx_stacked_rows(v, plan.lines) * plan.strip_row + POD__AMX_ROWS * plan.pitch);
    return plan;
}

pod__amx_plan pod__amx_plan_of(const pod_conv_call *call, const pod__amx_view *v)
{
    if (v->stacked) return stacked_plan(v);
    if (reads_in_place(call, v)) return direct_plan(v);
    return takes_images(v) ? images_plan(v) : windows_plan(v);
}
