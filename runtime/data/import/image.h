/* What a decoder is asked for and what it gives: jpeg.h, png.h, and image_decode.h in front of
 * both. For this folder only. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_IMAGE_H
#define MINIPOD_RUNTIME_DATA_IMPORT_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#define POD_IMAGE_MAX_PIXELS ((int64_t)1 << 26) /* of one image, as its file states them */

/* Why a grey image is refused where colour is wanted. */
#define POD_IMAGE_IS_GREY \
    "grey, need colour (--convert-colour makes it colour; --channels 1 makes all images grey)"

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
    int orientation;                 /* of EXIF, 1 to 8; 1: pixels are upright */
    unsigned traits;
} pod_image;

#endif
