/* Tiles of amx_dw/lines.c, multiplied line by line. */
#include "kernels/base/simd/tile_amx.h"
#include "kernels/conv/amx_dw/dw.h"
#include "kernels/conv/amx_dw/lines.h"

#define LOAD(tile, from) _tile_loadd(tile, from, POD_AMX_ROW_BYTES)

/* Pieces of the next part, as many as it takes for the last to come with the last chance. */
static inline void pack_some(pod__dw_laying *l)
{
    l->credit += l->n_pieces;
    if (l->credit < l->n_chances) return;
    pod__dw_pack_pieces(l, l->credit / l->n_chances);
    l->credit %= l->n_chances;
}

/* Stride 1. Line v of x with the lines v, v + 1 and v + 2 of dy, of which only the last is new. */
#define LINE(v, low, middle, high, x)                  \
    do {                                               \
        LOAD(x, b + (v)*line);                         \
        LOAD(high, a + ((v) + 2) * POD__DW_LINE_TILE); \
        _tile_dpbf16ps(2, low, x);                     \
        _tile_dpbf16ps(1, middle, x);                  \
        _tile_dpbf16ps(0, high, x);                    \
        pack_some(next);                               \
    } while (0)

static void multiply_run(const pod__dw_pass *p, const pod_bf16 *a, const pod_bf16 *b)
{
    const int64_t n_lines = p->part->n_lines, line = p->grid->line;
    pod__dw_laying *next = p->next;
    int64_t v = 0;
    LOAD(3, a);
    LOAD(4, a + POD__DW_LINE_TILE);
    for (; v + 3 <= n_lines; v += 3) {
        LINE(v, 3, 4, 5, 6);
        LINE(v + 1, 4, 5, 3, 7);
        LINE(v + 2, 5, 3, 4, 6);
    }
    if (v < n_lines) LINE(v, 3, 4, 5, 7);
    if (v + 1 < n_lines) LINE(v + 1, 4, 5, 3, 6);
}

/* Stride 2. The lines of x of which one tap sees each, and those of which two do, with the lines v
 * and v + 1 of dy. */
#define TWO_LINES(v, low, high)                        \
    do {                                               \
        LOAD(5, one + (v)*line);                       \
        LOAD(6, two + (v)*line);                       \
        LOAD(high, a + ((v) + 1) * POD__DW_LINE_TILE); \
        _tile_dpbf16ps(1, low, 5);                     \
        _tile_dpbf16ps(2, low, 6);                     \
        _tile_dpbf16ps(0, high, 6);                    \
        pack_some(next);                               \
    } while (0)

static void multiply_strided_run(const pod__dw_pass *p, const pod_bf16 *a, const pod_bf16 *one,
                                 const pod_bf16 *two)
{
    const int64_t n_lines = p->part->n_lines, line = p->grid->line;
    pod__dw_laying *next = p->next;
    int64_t v = 0;
    LOAD(3, a);
    for (; v + 2 <= n_lines; v += 2) {
        TWO_LINES(v, 3, 4);
        TWO_LINES(v + 1, 4, 3);
    }
    if (v < n_lines) TWO_LINES(v, 3, 4);
}

static void multiply_runs(const pod__dw_pass *p)
{
    const pod__dw_grid *grid = p->grid;
    const int64_t n_lines = p->part->n_lines;
    const int64_t one = grid->tap[0][p->s] * POD__DW_ROW, two = grid->tap[1][p->s] * POD__DW_ROW;
    const pod_bf16 *a = p->transposed;
    for (int64_t i = 0; i < p->part->n_strips; i++) {
        const pod_bf16 *b = p->paired + i * n_lines * grid->line;
        for (int64_t j = 0; j < grid->n_tiles; j++) {
            if (grid->call->shape.stride == 1)
                multiply_run(p, a, b + one);
            else
                multiply_strided_run(p, a, b + one, b + two);
            a += (n_lines + grid->halo) * POD__DW_LINE_TILE, b += POD__DW_LINE_TILE;
        }
    }
}

void pod__dw_multiply_lines(const pod__dw_pass *p)
{
    const size_t ld = (size_t)p->ld * sizeof(float);
    pod_amx_order();
    if (p->adds) {
        _tile_loadd(0, p->sums[0], ld);
        _tile_loadd(1, p->sums[1], ld);
        _tile_loadd(2, p->sums[2], ld);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
    }
    multiply_runs(p);
    _tile_stored(0, p->sums[0], ld);
    _tile_stored(1, p->sums[1], ld);
    _tile_stored(2, p->sums[2], ld);
}
