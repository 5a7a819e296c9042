/* Shared by the files amx_dw/1x1*.c. The weight gradient of 1x1 filters is the product of two
 * matrices (pixels, channels), x and dy, called its sides:
 *
 *   sums (rows, columns) = transposed (pixels, rows)^T * woven (pixels, columns)
 *
 * Weaving interleaves the values of pixels 2 i and 2 i + 1, as B tiles need them. Transposing costs
 * more, so the side with fewer channels is transposed; if that is x, the sums are the transpose of
 * dw. Both sides are packed in panels of 32 channels; a step is 32 pixels:
 *
 *   transposed  (panels, steps, 2 tiles, 16 channels, 32 pixels)   the A tiles, in L2
 *   woven       (steps, 2 tiles, 16 pixel pairs, 16 channels, 2)   the B tiles, one panel, in L1
 *
 * In a panel of at most 16 channels the second tile is uninitialized and not read. In other woven
 * panels the channels are in the order that weaving gives: tile 0 has the first four of every eight
 * channels, tile 1 the other four. The columns of the sums have that order too, until they are
 * stored. */
#ifndef MINIPOD_KERNELS_CONV_AMX_DW_1X1_H
#define MINIPOD_KERNELS_CONV_AMX_DW_1X1_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/conv/conv.h"

enum {
    POD__DW_PANEL = 32,       /* channels */
    POD__DW_STEP = 32,        /* pixels */
    POD__DW_STEP_COUNT = 1024 /* elements of a step of a panel; sums of a square */
};

typedef struct pod__dw_side {
    const pod_bf16 *at;
    int64_t n_channels;
    const pod_conv_shape *strided; /* `at` is all of x, with a stride; NULL: pixels are
                                      contiguous */
    const float *scale, *shift;    /* applied to values; NULL: none */
    bool relu;
    bool is_staged; /* panels are copied before they are packed */
} pod__dw_side;

/* A block: pixels from `pixel` on, rows (channels of the transposed side) from `row` on, columns
 * (channels of the other side) from `column` on. */
typedef struct pod__dw_block {
    int64_t pixel, n_pixels, row, n_rows, column, n_columns;
} pod__dw_block;

static inline int64_t pod__dw_panels(int64_t n) { return (n + POD__DW_PANEL - 1) / POD__DW_PANEL; }

/* Packs all panels of the rows of a block. `room` is scratch for a step of a panel, (32 pixels, 32
 * channels). */
void pod__dw_transpose_block(const pod__dw_side *side, const pod__dw_block *b, pod_bf16 *room,
                             pod_bf16 *transposed);
/* Packs the panel of the block's columns from `column` on. */
void pod__dw_weave_panel(const pod__dw_side *side, const pod__dw_block *b, int64_t column,
                         pod_bf16 *room, pod_bf16 *woven);

/* Prefetches rows into L2, `lines` cache lines per product. */
typedef struct pod__dw_fetching {
    const char *row;
    int64_t row_bytes, lines, line, rows; /* line: the next one of the row; rows: the rows that
                                             remain */
    int64_t a_step;
} pod__dw_fetching;

/* Adds a square to the sums of earlier pixels and stores the result, for the last pixels to dw, in
 * POD__DW_EPILOGUE_PIECES pieces. */
typedef struct pod__dw_epilogue {
    float *added;      /* the square */
    const float *sums; /* previous sums; NULL: none */
    float *to;
    int64_t ld, n_rows, n_columns; /* of dw (as transposed as the square); ld 0: `to` is sums */
    bool transposed;
    int piece;
} pod__dw_epilogue;

enum { POD__DW_EPILOGUE_PIECES = 16 };

/* A panel of `transposed` times the woven panel. The result stays in the tiles, while the previous
 * square is stored and lines of the next block are prefetched. */
typedef struct pod__dw_square {
    const pod_bf16 *transposed, *woven;
    int64_t n_steps;
    pod__dw_epilogue *epilogue;
    pod__dw_fetching *fetching; /* two */
    bool tall, wide;            /* more than 16 rows; columns */
} pod__dw_square;

void pod__dw_point_start(void); /* configures the tile registers */
void pod__dw_point_multiply(const pod__dw_square *q);
void pod__dw_point_stop(pod__dw_epilogue *last); /* stores the last square and releases the tiles */

#endif
