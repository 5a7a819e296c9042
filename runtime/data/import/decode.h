/* Decodes an image, whatever its file is called: the first bytes tell JPEG from PNG, and name what is
 * neither. The image comes out upright, with 8 bits a channel: the orientation that a camera noted
 * in EXIF is applied. For this folder only.
 *
 * JPEG, by libjpeg-turbo: baseline and progressive, 8 bits, grey and YCbCr or RGB colour, and as
 * colour, where asked, also grey, CMYK and YCCK. An image comes out at 1/8, 1/4 or 1/2 of its size
 * where that is enough. What the library warns of and that spoils no pixel is noted
 * (POD_IMAGE_FLAWED); whatever else it warns of (a file cut short, bytes that are no code) is
 * POD_E_FORMAT, as are other colours, other depths, and an image whose decoding would cost too much
 * for what it shows. CMYK is taken as stored inverted where the file has Adobe's marker; no colour
 * profile is applied.
 *
 * PNG, by libpng: grey, RGB and palette, of 1 to 16 bits, with or without alpha, interlaced or not.
 * 16 bits are rounded to 8. Transparent pixels are laid on white; gamma and colour profiles are not
 * applied. Of an animation the first picture comes out. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_DECODE_H
#define MINIPOD_RUNTIME_DATA_IMPORT_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/status.h"

#define POD_IMAGE_MAX_PIXELS ((int64_t)1 << 26) /* of one image, as its file states them */

typedef struct pod_image_want {
    int channels; /* 3: R, G, B; 1: grey, to which colour is reduced (ITU-R BT.601) */
    bool convert; /* grey becomes 3 channels, and CMYK becomes what is wanted; else both fail */
    /* A decoder that can reduce an image cheaply may do so, as long as the result is at least so
     * large in both directions. Sizes are those of the upright image. */
    int64_t least_height, least_width;
} pod_image_want;

/* What is worth telling about an image that was decoded. */
enum {
    POD_IMAGE_PROGRESSIVE = 1 << 0,
    POD_IMAGE_FROM_GREY = 1 << 1,   /* was converted */
    POD_IMAGE_FROM_CMYK = 1 << 2,   /* likewise */
    POD_IMAGE_FROM_16_BIT = 1 << 3, /* rounded to 8 bits */
    POD_IMAGE_ON_WHITE = 1 << 4,    /* had transparent pixels, which show white now */
    POD_IMAGE_ROTATED = 1 << 5,     /* as its EXIF orientation says */
    POD_IMAGE_FLAWED = 1 << 6,      /* the library warned of something that spoils no pixel */
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

/* POD_E_FORMAT says what is wrong, without a name: "a WebP image: convert it to JPEG or PNG".
 * POD_E_NOMEM is about this process, not about the image. */
POD_MUST pod_status pod__image_decode(pod_image_decoder *d, const uint8_t *file, size_t bytes,
                                      const pod_image_want *want, pod_image *out);

/* Reads and decodes a file. Failures have no name either; any status but POD_E_FORMAT is of this
 * process or host, not of the file. */
POD_MUST pod_status pod__image_load(pod_image_decoder *d, const char *path,
                                    const pod_image_want *want, pod_image *out);

/* The largest box of the shape in the middle of the image, brought to that size: `pixels`
 * (height, width, channels). */
POD_MUST pod_status pod__image_fit(pod_image_decoder *d, const pod_image *image, int channels,
                                   int64_t height, int64_t width, uint8_t *pixels);

/* The orientation in EXIF data, from the byte order ("II" or "MM") on: 1 to 8; 1, upright, where the
 * tag is missing, has another value, or the data are damaged. */
int pod__exif_orientation(const uint8_t *tiff, size_t bytes);

#endif
