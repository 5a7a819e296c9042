/* Selection of rows by index, with gradients: embeddings take rows of a table, and a gather takes
 * rows of sequences.
 *
 * `t` is the element type of activations, POD_F32 or POD_BF16; a table (V, H) and its gradient are
 * float32. Every set gives the same bits: elements are added in the order that is written below,
 * each sum rounded to float32.
 *
 *   lookup        y[i] = table[id[i]], rounded to t; 0 for id POD_NO_TOKEN      y (n, H)
 *   lookup_grad   dtable[v] = more[v] (0 if more is NULL), to which dy[i] is added for each i with
 *                 id[i] = v, in ascending i; all rows are written               dy (n, H)
 *   gather        y[n, p] = x[n, place[n, p]]                 x (N, S, H), y (N, P, H)
 *   gather_grad   dx[n, s] = sum of dy[n, p] over the p with place[n, p] = s, in ascending p,
 *                 rounded to t; 0 if there is none            dy (N, P, H), dx (N, S, H)
 *
 * Ids lie in [0, V) or are POD_NO_TOKEN, and elements of `place` lie in [0, S). Any other number
 * aborts, so code that reads them from a file must check them (runtime/data/text/text_set.h). */
#ifndef MINIPOD_KERNELS_EMBED_EMBED_H
#define MINIPOD_KERNELS_EMBED_EMBED_H

#include <stdint.h>

#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"

enum { POD_NO_TOKEN = -1 }; /* looks up a row of zeros, which gets no gradient */

typedef struct pod_gather_shape {
    int64_t n, s, p, h;
} pod_gather_shape;

typedef struct pod_embed {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    void (*lookup)(int64_t n, int64_t v, int64_t h, const int32_t *id, const float *table,
                   pod_dtype t, void *y);
    /* dtable may be the same memory as more: then only rows whose id occurs are written. */
    void (*lookup_grad)(int64_t n, int64_t v, int64_t h, const int32_t *id, pod_dtype t,
                        const void *dy, const float *more, float *dtable);
    void (*gather)(const pod_gather_shape *s, pod_dtype t, const int32_t *place, const void *x,
                   void *y);
    void (*gather_grad)(const pod_gather_shape *s, pod_dtype t, const int32_t *place,
                        const void *dy, void *dx);
} pod_embed;

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_embed *const *pod_embed_sets(void);
const pod_embed *pod_embed_pick(uint32_t cpu);

#endif
