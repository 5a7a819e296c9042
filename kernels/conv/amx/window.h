/* What the files of the AMX convolution share. It is an implicit product: a tile of A is 16 output
 * pixels by 32 values ("a chunk") of one row of their windows, read where the image lies or from a
 * strip, the part of the image below some lines of output, packed so that tiles can read it.
 *
 *   tile of A   16 pixels x 32 values of (s, c)     row by row at a fixed distance
 *   tile of B   32 values of (s, c) x 16 filters    VNNI pairs, packed beforehand
 *   tile of C   16 pixels x 16 filters
 *
 * A view is a convolution without direction: the forward pass is one, an input gradient one for
 * each pair of remainders (residue.h). */
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
    /* Where pixel (p, q) goes: (row + p out_step, column + q out_step) of (N, out_h, out_w, width) */
    int64_t out_h, out_w, row, column, out_step;
    bool stacked;                 /* its chunks are those of POD__AMX_STACKED */
    int64_t chunks_row, n_chunks; /* of one row of a window, and of the window */
    pod__residue rows, columns;   /* of an input gradient */
} pod__amx_view;

/* Views of a call, some of which may have no pixels. */
int64_t pod__amx_n_views(const pod_conv_call *call);
pod__amx_view pod__amx_view_at(const pod_conv_call *call, int64_t i);
static inline bool pod__amx_is_empty(const pod__amx_view *v) { return v->p == 0 || v->q == 0; }

/* Packed weights of one view: for every 32 filters, for every chunk, two tiles; one tile for the
 * last 16 filters or fewer. */
size_t pod__amx_weight_bytes(const pod__amx_view *v);
void pod__amx_pack_view(const pod_conv_call *call, const pod__amx_view *v, pod_dtype from,
                        const void *w, char *packed);

/* How tiles of A lie:
 *
 *   DIRECT    a 1x1 filter reads the image where it is: a tile is 16 pixels that follow each other
 *   WINDOWS   strip of window rows, each once: 16 pixels that follow each other, over line ends
 *   IMAGES    strip of pixels (rows, columns, 16 images, C): one pixel of 16 images
 *   STACKED   C = 16: strip of pixels, each with the one below it: 16 that follow each other in a
 *             line. A chunk is a column of two rows of a window, the last of an odd number of rows
 *             the upper half of one: chunks of 16 values stand behind those of 32
 */
typedef enum pod__amx_way {
    POD__AMX_DIRECT,
    POD__AMX_WINDOWS,
    POD__AMX_IMAGES,
    POD__AMX_STACKED
} pod__amx_way;

typedef struct pod__amx_plan {
    pod__amx_way way;
    int64_t n_lines;    /* of a group: lines of output; pixels where DIRECT */
    int64_t lines;      /* of a block, the last block of a group may have fewer */
    int64_t n_groups;   /* what strips cannot span: images, sixteens of images; 1 */
    int64_t max_tiles;  /* of a block */
    int64_t pitch;      /* bytes from one row of a tile to the next */
    int64_t strip_row;  /* bytes of a row of the strip */
    int64_t plane_rows; /* WINDOWS: rows of the strip that are `step` rows apart */
    /* STACKED: of two strips */
    int64_t strip_bytes, row_bytes;
} pod__amx_plan;

pod__amx_plan pod__amx_plan_of(const pod_conv_call *call, const pod__amx_view *v);

/* Rows of a stacked strip for so many lines of output; and from one pair of a window's rows to the
 * next. */
int64_t pod__amx_stacked_rows(const pod__amx_view *v, int64_t n_lines);
static inline int64_t pod__amx_stacked_step(const pod__amx_view *v) { return 2 / v->step; }

/* Lines [line, line + n_lines) of image n, or of the 16 images from n on; WINDOWS with r <= step may
 * run on into the next images. */
typedef struct pod__amx_lines {
    int64_t n, line, n_lines;
} pod__amx_lines;

/* The strip for these lines. `row` is scratch, plan->row_bytes. */
void pod__amx_fill(const pod_conv_call *call, const pod__amx_view *v, const pod__amx_plan *plan,
                   pod__amx_lines b, char *row, char *strip);

/* A stacked strip that is being packed while the block before it is multiplied, some rows of the
 * image a chunk; the two take turns. */
typedef struct pod__amx_filling {
    const pod_conv_call *call;
    const pod__amx_view *view;
    pod__amx_lines lines;
    char *changed, *strip;
    int turn;                     /* which of the two changed rows is next */
    const char *above;            /* the row before the next one, NULL: zeros */
    int64_t row_bytes;            /* of the strip */
    int64_t first;                /* row of the image that is not in the strip before */
    int64_t row, n_rows, at_once; /* of the image: the next one, all, and those of a chunk */
} pod__amx_filling;

/* `changed` is scratch, plan->row_bytes. */
pod__amx_filling pod__amx_filling_of(const pod_conv_call *call, const pod__amx_view *v,
                                     const pod__amx_plan *plan, pod__amx_lines b, char *changed,
                                     char *strip);
/* What the strip before, which is whole, has of this one. */
void pod__amx_fill_after(pod__amx_filling *x, const pod__amx_filling *before);
void pod__amx_fill_rows(pod__amx_filling *x, int64_t n); /* the next n, or those that are left */

/* 16 rows of the product, of which n_rows from `first` on are stored: row first + i goes to
 * out + at + rows[i]. */
typedef struct pod__amx_tile {
    const char *a;
    const int64_t *rows;
    int64_t at;
    int32_t first, n_rows;
} pod__amx_tile;

/* What is asked of memory while products run: n_ranges of bytes, range_bytes from one's beginning to
 * the next one's, `lines` lines a chunk. */
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
    int64_t n_whole;         /* STACKED: chunks of 32 values, those behind them have 16 */
    const int64_t *chunk_at; /* bytes from a tile's beginning */
    const char *weights;
    pod_bf16 *out;
    unsigned fused;
    const float *bias;
    double *sum, *sum_sq; /* (width, rounded up to 32) */
    bool tiles_outside;   /* which loop is the outer one: tiles, or filters */
    bool passes_by;       /* filters are not kept in the first cache: it is left to the image */
    bool streams;         /* whole lines of output go past the caches: it is larger than they */
    bool pairs;           /* 16 filters, and a tile's pixels lie close in the output */
    bool stacked;
    pod__amx_ahead *ahead;
    pod__amx_filling *filling; /* STACKED */
    pod__amx_square *before;   /* was multiplied, and is stored while the next one is */
    float *squares;            /* 2 POD__AMX_SQUARE_FLOATS, scratch */
} pod__amx_product;

/* The tile registers for pod__amx_multiply. */
void pod__amx_begin(bool stacked);
/* The last square of a product is stored with the next product, or at the end: until then its tiles
 * stay. */
void pod__amx_multiply(const pod__amx_product *m);
void pod__amx_end_product(const pod__amx_product *m);

#endif
