/* Random crop and flip of 8-bit images, by counter-based random numbers: what a sample looks like
 * in an epoch depends on (seed, epoch, sample) alone, not on the rank or batch that holds it. */
#ifndef MINIPOD_RUNTIME_DATA_AUGMENT_H
#define MINIPOD_RUNTIME_DATA_AUGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/status.h"

typedef struct pod_augment {
    /* The image is padded by so many zero pixels on each side and cut back to its size at a random
     * place (He et al. 2015, "Deep residual learning", section 4.2, with 4 for 32 x 32). 0: none.
     * The zeros are pixel values, before any mean is taken off. */
    int pad;
    bool flip; /* mirrored left to right in half of the cases */
} pod_augment;

/* "none", "crop", "flip", "crop+flip"; `pad` is that of crop. */
POD_MUST pod_status pod_augment_parse(const char *text, int pad, pod_augment *out);

/* One image (height, width, channels), from `in` to `out`; they do not overlap. */
void pod_augment_apply(const pod_augment *a, uint64_t seed, int64_t epoch, int64_t sample,
                       int64_t height, int64_t width, int64_t channels, const uint8_t *in,
                       uint8_t *out);

#endif
