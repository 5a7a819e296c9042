/* Decodes a JPEG or PNG image, recognized by its first bytes and not by the file's name; an error
 * names other formats. The result has 8 bits per channel and is upright: the orientation in EXIF is
 * applied. Private to this folder.
 *
 * JPEG, by libjpeg-turbo: baseline and progressive, 8 bits, grey, YCbCr and RGB. Grey as 3
 * channels, and CMYK and YCCK, need `convert`. The image is decoded at 1/8, 1/4 or 1/2 of its size
 * if that is large enough. A warning of the library that leaves all pixels right sets
 * POD_IMAGE_FLAWED. Any other warning (a truncated file, invalid codes) is POD_E_FORMAT, and so are
 * other colours, other depths, and an image whose decoding would take far too long for its size.
 * CMYK counts as inverted if the file has Adobe's marker; no colour profile is applied.
 *
 * PNG, by libpng: grey, RGB and palette, of 1 to 16 bits, with or without alpha, interlaced or not.
 * 16 bits are rounded to 8. Transparent pixels are blended with white; gamma and colour profiles
 * are not applied. Of an animation, the first picture is decoded. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_DECODE_H
#define MINIPOD_RUNTIME_DATA_IMPORT_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/status.h"

#define POD_IMAGE_MAX_PIXELS ((int64_t)1 << 26) /* of one image, before any reduction */

typedef struct pod_image_want {
    int channels; /* 3: R, G, B; 1: grey, computed from colour by ITU-R BT.601 */
    bool convert; /* converts grey to 3 channels, and CMYK to either; otherwise both fail */
    /* The decoder may reduce the image, as long as the result is at least this large in both
     * directions. Sizes of the upright image. */
    int64_t least_height, least_width;
} pod_image_want;

/* Properties of a decoded image that the import reports. */
enum {
    POD_IMAGE_PROGRESSIVE = 1 << 0,
    POD_IMAGE_FROM_GREY = 1 << 1,   /* was grey, converted to 3 channels */
    POD_IMAGE_FROM_CMYK = 1 << 2,   /* was CMYK, converted */
    POD_IMAGE_FROM_16_BIT = 1 << 3, /* rounded to 8 bits */
    POD_IMAGE_ON_WHITE = 1 << 4,    /* had transparent pixels, blended with white */
    POD_IMAGE_ROTATED = 1 << 5,     /* turned by its EXIF orientation */
    POD_IMAGE_FLAWED = 1 << 6,      /* the library warned, but all pixels are right */
    POD_IMAGE_N_TRAITS = 7
};

typedef struct pod_image {
    const uint8_t *pixels; /* (height, width, channels), borrowed until the next call */
    int64_t height, width;
    int64_t file_height, file_width; /* before the decoder's reduction */
    unsigned traits;
} pod_image;

typedef struct pod_image_decoder pod_image_decoder; /* serves one thread */

POD_MUST pod_status pod__image_decoder_create(pod_image_decoder **out);
void pod__image_decoder_destroy(pod_image_decoder *d); /* NULL is allowed */

/* Decodes `bytes` bytes of a file. The text of POD_E_FORMAT gives the reason without the file's
 * name: "a WebP image: convert it to JPEG or PNG". POD_E_NOMEM concerns this process, not the
 * image. */
POD_MUST pod_status pod__image_decode(pod_image_decoder *d, const uint8_t *file, size_t bytes,
                                      const pod_image_want *want, pod_image *out);

/* Reads and decodes a file. Error texts do not name the file; any status but POD_E_FORMAT concerns
 * this process or host, not the file. */
POD_MUST pod_status pod__image_load(pod_image_decoder *d, const char *path,
                                    const pod_image_want *want, pod_image *out);

/* Cuts the largest box of shape height : width from the middle of the image and resizes it to
 * `pixels` (height, width, channels). */
POD_MUST pod_status pod__image_fit(pod_image_decoder *d, const pod_image *image, int channels,
                                   int64_t height, int64_t width, uint8_t *pixels);

/* Returns the orientation, 1 to 8, in EXIF data, which begin with the byte order ("II" or "MM").
 * Returns 1, upright, if the tag is missing or invalid, or the data are damaged. */
int pod__exif_orientation(const uint8_t *tiff, size_t bytes);

#endif
