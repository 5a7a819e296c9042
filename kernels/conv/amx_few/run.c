/* Convolutions of few channels, by units of 16 rows of two tiles. While unit i is multiplied
 *
 *   unit i - 2   leaves: it is read back, changed, summed up and stored
 *   unit i - 1   is stored from its tiles, which are not those of unit i
 *   unit i + 1   has packed what its windows see and no unit has seen before
 *
 * all of it in small pieces between the products, so that the tile unit waits for none of it. */
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/simd/tile_amx.h"
#include "kernels/conv/amx_few/pairs.h"
#include "kernels/conv/amx_few/parts.h"

enum {
    BLOCK = POD__FEW_BLOCK,
    PIECE = POD__FEW_PIECE,
    TILE_FLOATS = POD__FEW_TILE_FLOATS,
    N_UNITS = 4 /* that are known at once */
};

typedef pod__few_unit unit;

static int64_t lines_of(int64_t bytes) { return (bytes + 63) / 64 * 64; }

typedef struct run {
    pod__few few;
    const char *weights, *zeros;
    char *ring;
    /* the next unit: of image n, line p */
    int64_t n, p, i;
    int64_t number; /* of the line as packed on which its first window begins */
    pod_bf16 *out;
    /* Where a line is a unit and each sees as many new lines: these, those that the first one sees,
     * and the pieces that are packed with each row of a window; 0: units differ. */
    int64_t n_lines, first_lines, n_lays;
} run;

/* ---- units ---------------------------------------------------------------------------------- */

static int64_t first_number(const pod__few *x, int64_t n)
{
    return n * x->n_seen + (x->folds ? 0 : x->view.top - x->first);
}

/* What is packed for a unit with each row of its windows. */
static void even_out(run *r)
{
    const pod__few *x = &r->few;
    const pod__amx_view *v = &x->view;
    r->n_lines = x->folds ? 1 : v->step;
    r->first_lines = x->folds ? 1 : v->top + v->r;
    if (x->n_units > 1 || x->n_seen != v->p * r->n_lines || x->first > 0) return;
    if (x->window_rows == 2 || r->first_lines < 1) return;
    const int64_t n_lays = pod_div_up(r->n_lines * x->n_pieces, x->window_rows),
                  most = x->folds ? 3 : r->n_lines;
    if (n_lays <= most) r->n_lays = most;
}

static void next_unit(run *r)
{
    const pod__few *x = &r->few;
    if (++r->i < x->n_units) return;
    r->i = 0;
    r->number += x->folds ? 1 : x->view.step;
    if (++r->p < x->view.p) return;
    r->p = 0;
    r->number = first_number(x, ++r->n);
}

static void place_unit(run *r, unit *u)
{
    const pod__few *x = &r->few;
    const pod__amx_view *v = &x->view;
    u->n_rows = 0;
    u->n_pieces = 0;
    if (r->n == v->n) return;
    const int64_t row = r->i * POD__AMX_ROWS, pixels = v->step == 1 ? 2 : 1;
    const int64_t h = v->top + r->p * v->step;
    u->n_rows = pod_min(POD__AMX_ROWS, x->n_rows - row);
    u->has_half = (row + u->n_rows) * pixels > v->q;
    u->out = r->out;
    r->out += u->n_rows * 32 - (u->has_half ? 16 : 0);
    for (int64_t i = 0; i < x->window_rows; i++) {
        const bool is_packed = x->folds || (uint64_t)(h + i) < (uint64_t)v->h;
        u->window[i] = r->zeros;
        if (!is_packed) continue;
        u->window[i] = pod__few_line(x, r->ring, r->number + i) + row * BLOCK;
        u->n_pieces = (r->number + i) * x->n_pieces + pod_div_up(row + u->n_rows + 1, PIECE);
    }
    next_unit(r);
}

/* ---- products ------------------------------------------------------------------------------- */

POD_INLINE void store_tiles(int which, float *values)
{
    if (which == 0) {
        _tile_stored(0, values, BLOCK);
        _tile_stored(1, values + TILE_FLOATS, BLOCK);
    } else {
        _tile_stored(2, values, BLOCK);
        _tile_stored(3, values + TILE_FLOATS, BLOCK);
    }
}

POD_INLINE void multiply_chunk(int which, const char *window, const char *weights)
{
    _tile_loadd(4, window, BLOCK);
    _tile_loadd(6, weights, BLOCK);
    _tile_loadd(7, weights + POD__AMX_TILE_BYTES, BLOCK);
    if (which == 0) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
    } else {
        _tile_dpbf16ps(2, 4, 6);
        _tile_dpbf16ps(3, 4, 7);
    }
}

POD_INLINE void zero_tiles(int which)
{
    if (which == 0) {
        _tile_zero(0);
        _tile_zero(1);
    } else {
        _tile_zero(2);
        _tile_zero(3);
    }
}

/* A unit in tiles 0 and 1 or, which 1, in 2 and 3; those of the other pair, which is before, go to
 * `values`. Where all units are alike (n_lays > 0, n_rows known when compiled) each branch of the
 * code goes one way: what is mispredicted delays the products of the next unit. */
POD_INLINE void multiply_as(int which, int64_t n_rows, int64_t n_lays, const run *r, const unit *u,
                            pod__few_packing *l, pod__few_epilogue *x, float *values)
{
    const char *weights = r->weights;
    const int64_t pack_at_once = n_lays ? n_lays : pod_div_up(l->n_goal - l->n_pieces, n_rows);
    pod_amx_order();
    zero_tiles(which);
#pragma GCC unroll 3
    for (int64_t i = 0; i < n_rows; i++, weights += 4 * POD__AMX_TILE_BYTES) {
        multiply_chunk(which, u->window[i], weights);
        pod__few_pack_pieces(l, pack_at_once);
        if (i == n_rows / 2) store_tiles(1 - which, values);
        multiply_chunk(which, u->window[i] + BLOCK, weights + 2 * POD__AMX_TILE_BYTES);
        pod__few_finish(x);
    }
    while (x->row < x->n_rows) pod__few_finish(x);
}

POD_INLINE void multiply(int which, const run *r, const unit *u, pod__few_packing *l,
                         pod__few_epilogue *x, float *values)
{
    if (r->n_lays == 0)
        multiply_as(which, r->few.window_rows, 0, r, u, l, x, values);
    else if (r->n_lays == 1)
        multiply_as(which, 3, 1, r, u, l, x, values);
    else if (r->n_lays == 2)
        multiply_as(which, 3, 2, r, u, l, x, values);
    else
        multiply_as(which, 1, 3, r, u, l, x, values);
}

/* What a unit needs of `l` has been packed when the one before it is multiplied. */
static void run_units(run *r, pod__few_packing *l, pod__few_epilogue *x, float *values)
{
    unit units[N_UNITS];
    float *const halves[] = {values, values + 2 * TILE_FLOATS};
    const int64_t n_pieces = r->few.n_pieces, most = r->few.view.n * r->few.n_seen * n_pieces;
    place_unit(r, &units[0]);
    l->n_goal = r->n_lays ? pod_min(most, r->first_lines * n_pieces) : units[0].n_pieces;
    while (l->n_pieces < l->n_goal) pod__few_pack_pieces(l, 1);
    int64_t i = 0;
    for (; units[i % N_UNITS].n_rows > 0; i++) {
        unit *u = &units[i % N_UNITS], *next = &units[(i + 1) % N_UNITS];
        place_unit(r, next);
        l->n_goal = r->n_lays ? pod_min(most, l->n_goal + r->n_lines * n_pieces) : next->n_pieces;
        if (i % 2 == 0)
            multiply(0, r, u, l, x, halves[1]);
        else
            multiply(1, r, u, l, x, halves[0]);
        if (i > 0) pod__few_begin(x, &units[(i - 1) % N_UNITS], halves[(i - 1) % 2]);
    }
    if (i-- == 0) return;
    while (x->row < x->n_rows) pod__few_finish(x);
    if (i % 2 == 0)
        store_tiles(0, halves[0]);
    else
        store_tiles(1, halves[1]);
    pod__few_begin(x, &units[i % N_UNITS], halves[i % 2]);
    while (x->row < x->n_rows) pod__few_finish(x);
}

/* ---- the kernel ----------------------------------------------------------------------------- */

typedef struct layout {
    int64_t zeros, values, totals, masks, weights, end;
} layout;

static layout layout_of(const pod__few *x, unsigned fused)
{
    layout at = {.zeros = x->n_ring * x->pitch};
    at.values = at.zeros + x->pitch;
    at.totals = at.values + 4 * TILE_FLOATS * (int64_t)sizeof(float);
    at.masks = at.totals + POD__FEW_SUM_PARTS * 16 * (int64_t)sizeof(double);
    at.weights = at.masks + lines_of(x->n_pieces * PIECE * (int64_t)sizeof(uint32_t));
    at.end = at.weights + (fused & POD_CONV_PACKED_W ? 0 : (int64_t)pod__few_weight_bytes(x));
    return at;
}

size_t pod__few_scratch_bytes(const pod_conv_call *call)
{
    if (pod__few_pairs_takes(call)) return pod__few_pairs_scratch_bytes(call);
    const pod__few x = pod__few_of(call);
    return (size_t)layout_of(&x, call->fused).end;
}

void pod__few_run(const pod_conv_call *call, void *scratch)
{
    if (pod__few_pairs_takes(call)) {
        pod__few_pairs_run(call, scratch);
        return;
    }
    char *room = scratch;
    run r = {.few = pod__few_of(call), .weights = call->b, .ring = scratch, .out = call->out};
    const layout at = layout_of(&r.few, call->fused);
    r.zeros = memset(room + at.zeros, 0, (size_t)r.few.pitch);
    r.number = first_number(&r.few, 0);
    even_out(&r);
    if (!(call->fused & POD_CONV_PACKED_W) && call->shape.n > 0) {
        pod__few_pack(call, POD_BF16, call->b, room + at.weights);
        r.weights = room + at.weights;
    }
    pod__few_packing l =
        pod__few_packing_of(&r.few, call, r.ring, r.zeros, (void *)(room + at.masks));
    pod__few_epilogue x = pod__few_epilogue_of(&r.few, call, r.weights, (void *)(room + at.totals));
    pod_amx_begin();
    run_units(&r, &l, &x, (void *)(room + at.values));
    _mm_sfence();
    pod_amx_end();
    if (call->fused & POD_CONV_SUMS) pod__few_store_sums(&x, call);
}
