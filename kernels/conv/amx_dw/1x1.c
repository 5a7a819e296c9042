/* Weight gradient of 1x1 filters in bfloat16 tile products (amx_dw/1x1.h):
 *
 *   for ranges of rows, of columns            whose sums stay in L2
 *     for blocks of pixels                    transposed; the next one is fetched into L2 meanwhile
 *       for panels of columns                 woven, into L1
 *         for panels of rows: a square, which is added to its sums while the next one is
 *           multiplied; the last one goes to dw */
#include "kernels/conv/amx_dw/1x1.h"

#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/conv/conv_kernels.h"

/* At most: of a block, whose panels of columns fit into L1; of a range. */
enum { PIXELS = 288, ROWS = 512, COLUMNS = 1024 };

typedef struct plan {
    int64_t n_pixels, n_rows, n_columns;
    int64_t pixels, rows, columns; /* of a block, at most */
    bool turns_x;
} plan;

/* Regions of the scratch, in bytes from its start. */
typedef struct layout {
    size_t sums, squares, transposed, woven, room, end;
} layout;

typedef pod__dw_block block;

/* ---- decide --------------------------------------------------------------------------------- */

/* A part of n, whole panels of it: parts as even as that allows, of `max` at most. */
static int64_t even_part(int64_t n, int64_t max)
{
    const int64_t n_parts = (n + max - 1) / max;
    return n_parts ? (pod__dw_panels(n) + n_parts - 1) / n_parts * POD__DW_PANEL : POD__DW_PANEL;
}

static plan plan_of(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    plan p = {.n_pixels = s->n * s->p * s->q, .turns_x = s->c < s->k};
    p.n_rows = p.turns_x ? s->c : s->k;
    p.n_columns = p.turns_x ? s->k : s->c;
    p.pixels = even_part(p.n_pixels, PIXELS);
    p.rows = even_part(p.n_rows, ROWS);
    p.columns = even_part(p.n_columns, COLUMNS);
    return p;
}

static layout layout_of(const plan *p)
{
    const size_t a_panel = (size_t)(p->pixels * POD__DW_PANEL) * sizeof(pod_bf16);
    const size_t n_rows = (size_t)pod__dw_panels(p->rows);
    const size_t n_columns = (size_t)pod__dw_panels(p->columns);
    const size_t square = POD__DW_STEP_COUNT * sizeof(float);
    layout at = {.sums = 0};
    at.squares = n_rows * n_columns * square;
    at.transposed = at.squares + 2 * square;
    at.woven = at.transposed + n_rows * a_panel;
    at.room = at.woven + a_panel;
    at.end = at.room + POD__DW_STEP_COUNT * sizeof(pod_bf16);
    return at;
}

static void limit(const plan *p, block *b)
{
    b->n_pixels = pod_min(p->pixels, p->n_pixels - b->pixel);
    b->n_rows = pod_min(p->rows, p->n_rows - b->row);
    b->n_columns = pod_min(p->columns, p->n_columns - b->column);
}

/* The block behind b, pixels innermost; behind the last there are no rows. */
static block block_after(const plan *p, block b)
{
    b.pixel += p->pixels;
    if (b.pixel >= p->n_pixels) b.pixel = 0, b.column += p->columns;
    if (b.column >= p->n_columns) b.column = 0, b.row += p->rows;
    limit(p, &b);
    return b;
}

/* ---- do ------------------------------------------------------------------------------------- */

typedef struct job {
    const pod_conv_call *call;
    plan p;
    pod__dw_side transposed_side, woven_side;
    pod_bf16 *transposed, *woven, *room;
    float *sums;
    pod__dw_epilogue
        epilogue[2]; /* of the square in the tiles, leaving[turn], and the one before */
    int turn;
    pod__dw_fetching fetching[2];
} job;

/* Lines a multiple of 2 KiB apart meet in two sets of L1. */
static bool collides(int64_t n_channels) { return n_channels % 1024 == 0; }

static pod__dw_side x_of(const pod_conv_call *call, bool is_transposed)
{
    const pod_conv_shape *s = &call->shape;
    pod__dw_side x = {.at = call->a,
                      .n_channels = s->c,
                      .strided = s->stride > 1 ? s : NULL,
                      .is_staged = s->stride > 1 || (is_transposed && collides(s->c))};
    if (call->fused & POD_CONV_AFFINE_X) {
        x.scale = call->x_scale, x.shift = call->x_shift;
        x.relu = (call->fused & POD_CONV_RELU_X) != 0;
        x.is_staged = true;
    }
    return x;
}

static pod__dw_side dy_of(const pod_conv_call *call, bool is_transposed)
{
    const int64_t k = call->shape.k;
    return (pod__dw_side){
        .at = call->b, .n_channels = k, .is_staged = is_transposed && collides(k)};
}

static void begin_job(const pod_conv_call *call, char *room, job *j)
{
    *j = (job){.call = call, .p = plan_of(call)};
    const layout at = layout_of(&j->p);
    const pod__dw_side x = x_of(call, j->p.turns_x), dy = dy_of(call, !j->p.turns_x);
    j->transposed_side = j->p.turns_x ? x : dy;
    j->woven_side = j->p.turns_x ? dy : x;
    j->transposed = (void *)(room + at.transposed), j->woven = (void *)(room + at.woven);
    j->room = (void *)(room + at.room), j->sums = (void *)(room + at.sums);
    for (int i = 0; i < 2; i++) {
        j->epilogue[i].added = (float *)(void *)(room + at.squares) + i * POD__DW_STEP_COUNT;
        j->epilogue[i].piece = POD__DW_EPILOGUE_PIECES;
    }
}

/* How the square at (row, column), which is in the tiles, will be stored. Set in place: reading what was
 * just copied stalls. */
static void rest(job *j, const block *b, int64_t row, int64_t column, float *sums)
{
    const int64_t c_end = j->call->shape.c;
    const int64_t k = j->p.turns_x ? column : row, c = j->p.turns_x ? row : column;
    const bool is_last = b->pixel + b->n_pixels >= j->p.n_pixels;
    j->turn = 1 - j->turn;
    pod__dw_epilogue *l = &j->epilogue[j->turn];
    l->sums = b->pixel > 0 ? sums : NULL;
    l->to = is_last ? (float *)j->call->out + k * c_end + c : sums;
    l->ld = is_last ? c_end : 0;
    l->n_rows = pod_min(POD__DW_PANEL, b->row + b->n_rows - row);
    l->n_columns = pod_min(POD__DW_PANEL, b->column + b->n_columns - column);
    l->transposed = j->p.turns_x;
    l->piece = 0;
}

/* n channels of a side from c on, pixels of the block, spread over so many products. */
static void begin_fetching(pod__dw_fetching *f, const pod__dw_side *side, const block *b, int64_t c,
                           int64_t n, int64_t n_products)
{
    f->row = (const char *)(side->at + b->pixel * side->n_channels + c);
    f->row_bytes = side->n_channels * (int64_t)sizeof(pod_bf16);
    f->lines = pod__dw_panels(n), f->line = 0;
    f->rows = side->strided ? 0 : b->n_pixels;
    f->a_step = (f->lines * f->rows + n_products - 1) / n_products;
}

static void begin_fetching_block(job *j, const block *now, const block *next)
{
    const int64_t n_products = pod__dw_panels(now->n_rows) * pod__dw_panels(now->n_columns) *
                               pod__dw_panels(now->n_pixels);
    j->fetching[0].rows = j->fetching[1].rows = 0;
    if (next->n_rows <= 0) return;
    begin_fetching(&j->fetching[0], &j->transposed_side, next, next->row, next->n_rows, n_products);
    begin_fetching(&j->fetching[1], &j->woven_side, next, next->column, next->n_columns,
                   n_products);
}

static void run_block(job *j, const block *b)
{
    const int64_t n_steps = pod__dw_panels(b->n_pixels);
    float *sums = j->sums;
    for (int64_t n = 0; n < b->n_columns; n += POD__DW_PANEL) {
        pod__dw_weave_panel(&j->woven_side, b, n, j->room, j->woven);
        for (int64_t m = 0; m < b->n_rows; m += POD__DW_PANEL, sums += POD__DW_STEP_COUNT) {
            const pod__dw_square q = {.transposed = j->transposed + m * n_steps * POD__DW_STEP,
                                      .woven = j->woven,
                                      .n_steps = n_steps,
                                      .epilogue = &j->epilogue[j->turn],
                                      .fetching = j->fetching,
                                      .tall = b->n_rows - m > 16,
                                      .wide = b->n_columns - n > 16};
            pod__dw_point_multiply(&q);
            rest(j, b, b->row + m, b->column + n, sums);
        }
    }
}

static void run_blocks(job *j)
{
    block now = {0};
    for (limit(&j->p, &now); now.n_rows > 0;) {
        const block next = block_after(&j->p, now);
        begin_fetching_block(j, &now, &next);
        pod__dw_transpose_block(&j->transposed_side, &now, j->room, j->transposed);
        run_block(j, &now);
        now = next;
    }
}

/* ---- the kernel ----------------------------------------------------------------------------- */

const char *pod__conv_amx_dw_1x1_why_not(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    if (call->pass != POD_CONV_WEIGHT_GRAD) return "it is for the weight gradient only";
    if (call->dtype != POD_BF16) return "it is for bf16 only";
    if (s->r != 1 || s->s != 1) return "the filter is not 1x1";
    if (s->pad_h != 0 || s->pad_w != 0) return "there is padding";
    if ((s->p - 1) * s->stride >= s->h || (s->q - 1) * s->stride >= s->w)
        return "windows lie outside the image";
    if (s->stride == 1 && (s->p != s->h || s->q != s->w)) return "not every pixel has a window";
    return NULL;
}

size_t pod__conv_amx_dw_1x1_scratch_bytes(const pod_conv_call *call)
{
    const plan p = plan_of(call);
    return layout_of(&p).end;
}

void pod__conv_amx_dw_1x1_run(const pod_conv_call *call, void *scratch)
{
    job j;
    begin_job(call, scratch, &j);
    if (j.p.n_pixels == 0) {
        memset(call->out, 0, (size_t)(call->shape.k * call->shape.c) * sizeof(float));
        return;
    }
    pod__dw_point_start();
    run_blocks(&j);
    pod__dw_point_stop(&j.epilogue[j.turn]);
}
