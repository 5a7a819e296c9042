/* Glyphs: a synthetic data set that needs no file and that a network has to learn.
 *
 * Each of ten classes is a figure of strokes in a unit square. Each sample has its own affine warp
 * (rotation, shear, scale, shift), bend, pen width, colours, noise and clutter strokes. Sample i of
 * a split is drawn from (seed, split, i) alone by counter-based random numbers: the same pixels in
 * any order, on any rank, on any machine (only +, -, *, / and square roots are used). The class of
 * sample i is i mod 10, so that classes are balanced in every prefix of the set.
 *
 * A linear classifier stays below 85 % accuracy (a unit test checks that), a small CNN exceeds 98
 * %. No class looks like the mirror image of another, so that random flips are harmless.
 *
 * mean and std are computed from the first 256 training samples. An exported file stores them, so
 * that a run on the file has the same bits as a run on the fly. */
#ifndef MINIPOD_RUNTIME_DATA_IMAGES_GLYPHS_H
#define MINIPOD_RUNTIME_DATA_IMAGES_GLYPHS_H

#include <stdbool.h>

#include "runtime/data/dataset.h"

enum { POD_GLYPHS_N_CLASSES = 10 };

typedef struct pod_glyphs_options {  /* all must be set, as pod_glyphs_parse does */
    int64_t height, width, channels; /* by default 28 x 28 x 1 */
    int64_t n_samples[POD_N_SPLITS]; /* by default 20,000 and 4,000 */
} pod_glyphs_options;

bool pod_glyphs_is_spec(const char *spec); /* "glyphs" or "glyphs:..." */
/* Parses "glyphs", "glyphs:HxWxC" or "glyphs:HxWxC:N+M" and sets all fields; POD_E_INVALID
 * otherwise. */
POD_MUST pod_status pod_glyphs_parse(const char *spec, pod_glyphs_options *out);

/* Draws sample `index` of a split into pixels (height, width, channels). */
void pod_glyphs_draw(const pod_glyphs_options *o, uint64_t seed, pod_split split, int64_t index,
                     uint8_t *pixels);

POD_MUST pod_status pod_glyphs_open(const pod_glyphs_options *o, uint64_t seed,
                                    const pod_alloc *alloc, pod_dataset **out);

#endif
