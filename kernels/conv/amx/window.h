/* Shared by the files of the AMX convolution, which is an implicit matmul. A tile of A is 16 output
 * pixels by a chunk: 32 values of one row of each pixel's window. It is read from the image itself
 * or from a strip: the part of the image under some lines of output, packed for tiles.
 *
 *   tile of A   16 pixels x 32 values of (s, c)     row by row at a fixed distance
 *   tile of B   32 values of (s, c) x 16 filters    VNNI pairs, packed beforehand
 *   tile of C   16 pixels x 16 filters
 *
 * A view describes one such convolution, whether it reads x or dy. The forward pass is one view; an
 * input gradient has one view for each pair of remainders (residue.h). */
#ifndef MINIPOD_KERNELS_CONV_AMX_WINDOW_H
#define MINIPOD_KERNELS_CONV_AMX_WINDOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/bf16.h"
#include "kernels/conv/conv.h"
#include "kernels/conv/residue.h"

enum {
    POD__AMX_ROWS = 16,       /* of a tile: pixels */
    POD__AMX_CHUNK = 32,      /* bfloat16 values in a row of it */
    POD__AMX_LINE_BYTES = 64, /* the same in bytes */
    POD__AMX_TILE_BYTES = POD__AMX_ROWS * POD__AMX_LINE_BYTES,
    POD__AMX_SQUARE_FLOATS = 4 * POD__AMX_ROWS * 32
};

typedef struct pod__amx_view {
    int64_t n, h, w, c; /* the image that is read */
    int64_t p, q, width;
    int64_t r, s, step, top, left; /* window (p, q) begins at (top + p step, left + q step) */
    /* Pixel (p, q) is (row + p out_step, column + q out_step) of the output (N, out_h, out_w,
     * width) */
    int64_t out_h, out_w, row, column, out_step;
    bool stacked;                 /* it has the chunks of POD__AMX_STACKED */
    int64_t chunks_row, n_chunks; /* of a row of a window, and of a window */
    pod__residue rows, columns;   /* of an input gradient */
} pod__amx_view;

/* Returns the number of views of a call; some may have no pixels. */
int64_t pod__amx_n_views(const pod_conv_call *call);
pod__amx_view pod__amx_view_at(const pod_conv_call *call, int64_t i);
static inline bool pod__amx_is_empty(const pod__amx_view *v) { return v->p == 0 || v->q == 0; }

/* Return the bytes of the packed weights of one view, and pack them: for each chunk two tiles for
 * every 32 filters, or one tile for the last 16 filters or fewer. */
size_t pod__amx_weight_bytes(const pod__amx_view *v);
void pod__amx_pack_view(const pod_conv_call *call, const pod__amx_view *v, pod_dtype from,
                        const void *w, char *packed);

/* The 16 pixels of a tile of A:
 *
 *   DIRECT    16 consecutive pixels of the image itself, for 1x1 filters
 *   WINDOWS   16 consecutive pixels, also across line ends, in a strip with each window row once
 *   IMAGES    one pixel of 16 images, in a strip of pixels (rows, columns, 16 images, C)
 *   STACKED   C = 16: 16 consecutive pixels of a line, in a strip that has each pixel with the one
 *             below it. A chunk is a column of two rows of a window. If the number of rows is odd,
 *             the last row has chunks of 16 values, which come after those of 32
 */
typedef enum pod__amx_way {
    POD__AMX_DIRECT,
    POD__AMX_WINDOWS,
    POD__AMX_IMAGES,
    POD__AMX_STACKED
} pod__amx_way;

typedef struct pod__amx_plan {
    pod__amx_way way;
    int64_t n_lines;    /* lines of output of a group; DIRECT: pixels */
    int64_t lines;      /* of a block; the last block of a group may have fewer */
    int64_t n_groups;   /* a strip is within one group: an image, 16 images, or all */
    int64_t max_tiles;  /* of a block */
    int64_t pitch;      /* bytes from one row of a tile to the next */
    int64_t strip_row;  /* bytes of a row of the strip */
    int64_t plane_rows; /* WINDOWS: rows per plane; a plane has every step-th row of the strip */
    /* Bytes of the strip (STACKED: of both strips), and of scratch for two rows of the image. */
    int64_t strip_bytes, row_bytes;
} pod__amx_plan;

pod__amx_plan pod__amx_plan_of(const pod_conv_call *call, const pod__amx_view *v);

/* Return the rows of a stacked strip for n_lines lines of output, and the distance in rows between
 * pairs of window rows. */
int64_t pod__amx_stacked_rows(const pod__amx_view *v, int64_t n_lines);
static inline int64_t pod__amx_stacked_step(const pod__amx_view *v) { return 2 / v->step; }

/* Lines [line, line + n_lines) of image n, or of the 16 images from n on. WINDOWS with r <= step
 * may continue into the next images. */
typedef struct pod__amx_lines {
    int64_t n, line, n_lines;
} pod__amx_lines;

/* Packs the strip for these lines. `row` is scratch of plan->row_bytes. */
void pod__amx_fill(const pod_conv_call *call, const pod__amx_view *v, const pod__amx_plan *plan,
                   pod__amx_lines b, char *row, char *strip);

/* A stacked strip that is packed while the previous block is multiplied, some rows of the image per
 * chunk. There are two strips, used alternately. */
typedef struct pod__amx_filling {
    const pod_conv_call *call;
    const pod__amx_view *view;
    pod__amx_lines lines;
    char *changed, *strip;
    int turn;                     /* which of the two buffers for a scaled row is next */
    const char *above;            /* the row above the next one; NULL: zeros */
    int64_t row_bytes;            /* of the strip */
    int64_t first;                /* first row of the image that is not in the previous strip */
    int64_t row, n_rows, at_once; /* of the image: next row, number of rows, rows per chunk */
} pod__amx_filling;

/* `changed` is scratch of plan->row_bytes. */
pod__amx_filling pod__amx_filling_of(const pod_conv_call *call, const pod__amx_view *v,
                                     const pod__amx_plan *plan, pod__amx_lines b, char *changed,
                                     char *strip);
/* Copies the rows that the previous strip, which is complete, has in common with this one. */
void pod__amx_fill_after(pod__amx_filling *x, const pod__amx_filling *before);
void pod__amx_fill_rows(pod__amx_filling *x, int64_t n); /* packs the next n rows, or all that
                                                            remain */

/* 16 rows of the product. n_rows of them, from `first` on, are stored: row first + i to out + at +
 * rows[i]. */
typedef struct pod__amx_tile {
    const char *a;
    const int64_t *rows;
    int64_t at;
    int32_t first, n_rows;
} pod__amx_tile;

/* What is prefetched while products run: n_ranges ranges of bytes, which begin range_bytes apart,
 * at `lines` cache lines per chunk. */
typedef struct pod__amx_ahead {
    const char *begin, *at, *end;
    int64_t n_ranges, range_bytes;
    int lines;
} pod__amx_ahead;

/* 2 tiles by 32 filters, or 4 by 16. */
typedef struct pod__amx_square {
    const pod__amx_tile *tiles;
    int n_tiles;
    int64_t filter;
    float *values;
    pod_bf16 *out;
} pod__amx_square;

typedef struct pod__amx_product {
    const pod__amx_tile *tiles;
    int64_t n_tiles, pitch, n_chunks, width;
    int64_t n_whole;         /* STACKED: number of chunks of 32 values; the others have 16 */
    const int64_t *chunk_at; /* bytes from the beginning of a tile */
    const char *weights;
    pod_bf16 *out;
    unsigned fused;
    const float *bias;
    double *sum, *sum_sq; /* (width, rounded up to 32) */
    bool tiles_outside;   /* the outer loop is over tiles, not filters */
    bool passes_by;       /* filters are loaded past L1, which is kept for the image */
    bool streams;         /* the output is larger than the caches; full cache lines are stored
                             past them */
    bool pairs;           /* 16 filters, and the pixels of a tile are contiguous in the output */
    bool stacked;
    pod__amx_ahead *ahead;
    pod__amx_filling *filling; /* STACKED */
    pod__amx_square *before;   /* multiplied last; stored while the next one is multiplied */
    float *squares;            /* 2 POD__AMX_SQUARE_FLOATS, scratch */
} pod__amx_product;

/* Configures the tile registers for pod__amx_multiply. */
void pod__amx_begin(bool stacked);
/* The last square of a product is stored during the next product, or by pod__amx_end_product; its
 * pod__amx_tile must stay valid until then. */
void pod__amx_multiply(const pod__amx_product *m);
void pod__amx_end_product(const pod__amx_product *m);

#endif
