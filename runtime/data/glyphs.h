/* Glyphs: a made data set that needs no file and has to be learned.
 *
 * Ten classes of strokes in a unit square, each sample under its own affine warp (rotation, shear,
 * scale, shift), bend, pen, colours, noise and clutter strokes. Sample i of a split is drawn from
 * (seed, split, i) alone by counter-based random numbers: the same pixels in any order, on any
 * rank, on any machine (only +, -, *, / and square roots are used). Its class is i mod 10, so that
 * classes are balanced in every prefix of the set.
 *
 * A linear classifier stays below 85 % (a unit test holds it there), a small CNN passes 98 %. The
 * mirror image of no class looks like another, so that random flips are harmless.
 *
 * mean and std are taken over the first 256 training samples; an exported file carries the same
 * two, so that a run on the file follows the run on the fly bit by bit. */
#ifndef MINIPOD_RUNTIME_DATA_GLYPHS_H
#define MINIPOD_RUNTIME_DATA_GLYPHS_H

#include <stdbool.h>

#include "runtime/data/dataset.h"

enum { POD_GLYPHS_N_CLASSES = 10 };

typedef struct pod_glyphs_options {  /* all must be set; pod_glyphs_parse does */
    int64_t height, width, channels; /* by default 28 x 28 x 1 */
    int64_t n_samples[POD_N_SPLITS]; /* by default 20,000 and 4,000 */
} pod_glyphs_options;

bool pod_glyphs_is_spec(const char *spec); /* "glyphs" or "glyphs:..." */
/* "glyphs", "glyphs:HxWxC", "glyphs:HxWxC:N+M"; POD_E_INVALID otherwise. All fields are set. */
POD_MUST pod_status pod_glyphs_parse(const char *spec, pod_glyphs_options *out);

/* pixels: (height, width, channels). All option fields must be set. */
void pod_glyphs_draw(const pod_glyphs_options *o, uint64_t seed, pod_split split, int64_t index,
                     uint8_t *pixels);

POD_MUST pod_status pod_glyphs_open(const pod_glyphs_options *o, uint64_t seed,
                                    const pod_alloc *alloc, pod_dataset **out);

#endif
