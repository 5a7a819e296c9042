/* Samples of a set of labelled images (samples.h), cut or resized and augmented (augment.h). */
#ifndef MINIPOD_RUNTIME_DATA_IMAGES_IMAGE_SAMPLES_H
#define MINIPOD_RUNTIME_DATA_IMAGES_IMAGE_SAMPLES_H

#include "runtime/data/dataset.h"
#include "runtime/data/images/augment.h"
#include "runtime/data/samples.h"

/* The fields: images u8 (H, W, C) as the network sees them, labels i32. A row of padding has zeros
 * and the label POD_PADDING_LABEL. */
enum { POD_FIELD_IMAGES, POD_FIELD_LABELS };
enum { POD_PADDING_LABEL = -1 };

typedef struct pod_image_view {
    pod_augment augment;   /* zeroed: none */
    uint64_t seed;         /* of the augmentation */
    int64_t height, width; /* that the network sees; 0: as stored */
} pod_image_view;

/* Returns the form of batches of images of this size. */
pod_form pod_image_form(int64_t height, int64_t width, int64_t channels);

/* Makes the samples of a split of the data set, which is borrowed. E_NOMEM. */
POD_MUST pod_status pod_image_samples(const pod_dataset *d, pod_split split,
                                      const pod_image_view *view, pod_arena *a, pod_samples *out);

#endif
