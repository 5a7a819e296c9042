/* From a stored 8-bit image to the one that the network sees: cut to its size, at random or in the
 * middle, and flipped. By counter-based random numbers: what a sample looks like in an epoch
 * depends on (seed, epoch, sample) alone, not on the rank, batch or thread that makes it. */
#ifndef MINIPOD_RUNTIME_DATA_AUGMENT_H
#define MINIPOD_RUNTIME_DATA_AUGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/status.h"

typedef enum pod_cut {
    /* The middle; an image smaller than what is seen stands in the middle of zeros. */
    POD_CUT_MIDDLE,
    /* The image is padded by `pad` zero pixels on each side and cut at a random place (He et al.
     * 2015, "Deep residual learning", section 4.2, with 4 for 32 x 32). A direction in which it is
     * smaller than what is seen is padded from its middle place on. The zeros are pixel values,
     * before any mean is taken off. */
    POD_CUT_RANDOM,
    /* A random part, of least_area up to all of the area and of 3/4 to 4/3 of the shape of what is
     * seen, is brought to its size (Szegedy et al. 2015, "Going deeper with convolutions", section
     * 6). */
    POD_CUT_RESIZED,
} pod_cut;

typedef struct pod_augment { /* zeroed: what evaluation does */
    pod_cut cut;
    int pad;
    double least_area; /* above 0, at most 1 */
    bool flip;         /* mirrored left to right in half of the cases */
} pod_augment;

/* "none", "crop", "rrc" (random resized crop), "flip", "crop+flip", "rrc+flip"; `pad` is that of
 * crop, `least_area` that of rrc. */
POD_MUST pod_status pod_augment_parse(const char *text, int pad, double least_area,
                                      pod_augment *out);

typedef struct pod_frame {         /* a value */
    int64_t height, width;         /* of the stored image */
    int64_t out_height, out_width; /* of what is seen */
    int64_t channels;
} pod_frame;

/* Whether `in` would come out as it is. */
bool pod_augment_is_copy(const pod_augment *a, const pod_frame *f);

/* One image, from `in` (height, width, channels) to `out` (out_height, out_width, channels); they
 * do not overlap. `scratch` has pod_augment_scratch_bytes and is aligned to 8. */
void pod_augment_apply(const pod_augment *a, uint64_t seed, int64_t epoch, int64_t sample,
                       const pod_frame *f, const uint8_t *in, uint8_t *out, void *scratch);
size_t pod_augment_scratch_bytes(const pod_augment *a, const pod_frame *f);

#endif
