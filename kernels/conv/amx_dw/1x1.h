/* What the files conv_amx_dw_1x1*.c share. The weight gradient of 1x1 filters is a product of two
 * matrices (pixels, channels), its sides, x and dy:
 *
 *   sums (rows, columns) = transposed (pixels, rows)^T * woven (pixels, columns)
 *
 * Transposing takes longer, so it is done to the side with fewer channels; where that is x, the sums
 * are the transpose of dw. Both are packed in panels of 32 channels; a step is 32 pixels:
 *
 *   transposed   (panels, steps, 2 tiles, 16 channels, 32 pixels)     the A tiles, in L2
 *   woven    (steps, 2 tiles, 16 pixel pairs, 16 channels, 2)     the B tiles, one panel, in L1
 *
 * A panel of at most 16 channels leaves its second tile unwritten: nobody reads it. The tiles of
 * another woven panel have channels as weaving gives them: tile t, of eight each, those from 4 t
 * on. So have the columns of its sums, until they are stored. */
#ifndef MINIPOD_KERNELS_CONV_AMX_DW_1X1_H
#define MINIPOD_KERNELS_CONV_AMX_DW_1X1_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/conv/conv.h"

enum {
    POD__DW_PANEL = 32,       /* channels */
    POD__DW_STEP = 32,        /* pixels */
    POD__DW_STEP_COUNT = 1024 /* elements of a panel's step; sums of a square of panels */
};

typedef struct pod__dw_side {
    const pod_bf16 *at;
    int64_t n_channels;
    const pod_conv_shape *strided; /* at is all of x; NULL: pixels follow each other */
    const float *scale, *shift;    /* NULL: values are as they lie */
    bool relu;
    bool is_staged; /* panels are copied before they are packed */
} pod__dw_side;

/* Pixels from `pixel` on, rows from `row` on (channels of what is transposed), columns likewise. */
typedef struct pod__dw_block {
    int64_t pixel, n_pixels, row, n_rows, column, n_columns;
} pod__dw_block;

static inline int64_t pod__dw_panels(int64_t n) { return (n + POD__DW_PANEL - 1) / POD__DW_PANEL; }

/* Packs all panels of the rows of a block. room: a panel's step, (32 pixels, 32 channels). */
void pod__dw_transpose_block(const pod__dw_side *side, const pod__dw_block *b, pod_bf16 *room,
                             pod_bf16 *transposed);
/* Packs the panel of columns from `column` of the block on. */
void pod__dw_weave_panel(const pod__dw_side *side, const pod__dw_block *b, int64_t column,
                         pod_bf16 *room, pod_bf16 *woven);

/* Rows of lines on their way into L2, so many lines a product. */
typedef struct pod__dw_fetching {
    const char *row;
    int64_t row_bytes, lines, line, rows; /* line: the next one of the row; rows: still to come */
    int64_t a_step;
} pod__dw_fetching;

/* What a square added to its sums, on its way there or, the last time, to dw; in pieces. */
typedef struct pod__dw_epilogue {
    float *added;      /* the square */
    const float *sums; /* as they were; NULL: nothing */
    float *to;
    int64_t ld, n_rows, n_columns; /* of dw as the square sees it; ld 0: to sums */
    bool transposed;
    int piece;
} pod__dw_epilogue;

enum { POD__DW_EPILOGUE_PIECES = 16 };

/* A panel of `transposed` times the woven one. It stays in the tiles; what they held of the square
 * before is about to be stored. Lines of the next block are fetched meanwhile. */
typedef struct pod__dw_square {
    const pod_bf16 *transposed, *woven;
    int64_t n_steps;
    pod__dw_epilogue *epilogue;
    pod__dw_fetching *fetching; /* two */
    bool tall, wide;            /* more than 16 rows; columns */
} pod__dw_square;

void pod__dw_point_start(void); /* takes the tile registers */
void pod__dw_point_multiply(const pod__dw_square *q);
void pod__dw_point_stop(
    pod__dw_epilogue *last); /* the last square is stored; gives the tiles back */

#endif
