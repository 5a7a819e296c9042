/* Augmentation: turns a stored 8-bit image into the one that the network sees, by cutting or
 * resizing it to the output size, and by flipping it. Random numbers are counter-based: the result
 * depends on (seed, epoch, sample) alone, not on the rank, batch or thread that computes it. */
#ifndef MINIPOD_RUNTIME_DATA_IMAGES_AUGMENT_H
#define MINIPOD_RUNTIME_DATA_IMAGES_AUGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/status.h"

typedef enum pod_cut {
    /* The middle of the image. An image smaller than the output is surrounded by zeros. */
    POD_CUT_MIDDLE,
    /* The image is padded by `pad` zero pixels on each side and cut at a random offset (He et al.
     * 2015, "Deep residual learning", section 4.2, with 4 for 32 x 32). In a direction in which the
     * image is smaller than the output, it moves by up to `pad` pixels around the middle. The zeros
     * are pixel values before normalization. */
    POD_CUT_RANDOM,
    /* A random box is resized to the output. Its area is least_area to all of the image's, its
     * aspect ratio 3/4 to 4/3 of the output's (Szegedy et al. 2015, "Going deeper with
     * convolutions", section 6). If ten draws do not fit, the largest box of the output's shape in
     * the middle is taken. */
    POD_CUT_RESIZED,
} pod_cut;

typedef struct pod_augment { /* zeroed: as in evaluation */
    pod_cut cut;
    int pad;
    double least_area; /* above 0, at most 1 */
    bool flip;         /* mirrors left to right with probability 1/2 */
} pod_augment;

/* Parses "none", "crop", "rrc" (random resized crop), "flip", "crop+flip" or "rrc+flip". `pad` is
 * for crop, `least_area` for rrc. E_INVALID. */
POD_MUST pod_status pod_augment_parse(const char *text, int pad, double least_area,
                                      pod_augment *out);

typedef struct pod_frame {         /* a value */
    int64_t height, width;         /* of the stored image */
    int64_t out_height, out_width; /* of the output */
    int64_t channels;
} pod_frame;

/* Returns whether the output always equals the stored image. */
bool pod_augment_is_copy(const pod_augment *a, const pod_frame *f);

/* Augments one image from `in` (height, width, channels) to `out` (out_height, out_width,
 * channels), which do not overlap. `scratch` has pod_augment_scratch_bytes bytes and is aligned to
 * 8. */
void pod_augment_apply(const pod_augment *a, uint64_t seed, int64_t epoch, int64_t sample,
                       const pod_frame *f, const uint8_t *in, uint8_t *out, void *scratch);
size_t pod_augment_scratch_bytes(const pod_augment *a, const pod_frame *f);

#endif
