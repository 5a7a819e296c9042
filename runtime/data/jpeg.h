/* Decodes JPEG files that lie in memory, by libjpeg-turbo: baseline and progressive, 8 bits, grey
 * and YCbCr or RGB colour, and as colour, where asked, also grey, CMYK and YCCK. Strict: whatever
 * the library warns of (a file cut short, bytes that are no code) is POD_E_FORMAT at once, as are
 * other colours, other depths, and an image whose decoding would cost too much for what it shows;
 * at whatever size it is to come out. An orientation that a camera noted is not looked at. A
 * decoder serves one thread. */
#ifndef MINIPOD_RUNTIME_DATA_JPEG_H
#define MINIPOD_RUNTIME_DATA_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/status.h"

#define POD_JPEG_MAX_PIXELS ((int64_t)1 << 26) /* of one image, as its file states them */

typedef struct pod_jpeg pod_jpeg;

typedef struct pod_jpeg_want {
    int channels; /* 3: R, G, B; 1: grey, to which colour is reduced */
    /* Grey is taken for 3 channels, and CMYK: stored inverted where the file has Adobe's marker.
     * The result is what is seen on a screen that knows of no ink: no colour profile. */
    bool convert;
    /* The image comes out at 1/8, 1/4 or 1/2 of its size where that is still at least so large in
     * both directions: the decoder leaves out what nobody needs. */
    int64_t least_height, least_width;
} pod_jpeg_want;

typedef struct pod_jpeg_image {
    const uint8_t *pixels; /* (height, width, channels), borrowed until the next call */
    int64_t height, width;
    int64_t file_height, file_width; /* before the decoder's reduction */
    bool is_progressive;
    bool is_from_grey, is_from_cmyk; /* it was converted */
} pod_jpeg_image;

POD_MUST pod_status pod_jpeg_create(pod_jpeg **out);
void pod_jpeg_destroy(pod_jpeg *j); /* NULL is allowed */

/* POD_E_FORMAT says what is wrong, without a name: "cut short", "2 colour components, ...".
 * POD_E_NOMEM is about this process, not about the image. */
POD_MUST pod_status pod_jpeg_decode(pod_jpeg *j, const uint8_t *file, size_t bytes,
                                    const pod_jpeg_want *want, pod_jpeg_image *out);

#endif
