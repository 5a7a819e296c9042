/* Shared by decode.c, jpeg.c and png.c: the memory of a decoder, and the return from a library's
 * error handler. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_CODEC_H
#define MINIPOD_RUNTIME_DATA_IMPORT_CODEC_H

#include <setjmp.h>

#include "runtime/data/import/decode.h"

typedef struct pod__room { /* a buffer that grows; its owner frees it */
    void *at;
    size_t bytes;
} pod__room;

bool pod__room_grow(pod__room *r, size_t bytes); /* the content may be lost */

typedef struct pod__codec {
    pod__room pixels;  /* of the image before it is turned upright */
    int orientation;   /* of EXIF, 1 to 8 */
    unsigned traits;   /* POD_IMAGE_... */
    jmp_buf back;      /* longjmp target of the library's error handler */
    pod_status status; /* of the failure, with its reason */
    char why[256];
} pod__codec;

/* Records the failure and returns false, as in `return pod__codec_refuse(...)`. */
bool pod__codec_refuse(pod__codec *c, pod_status s, const char *fmt, ...) POD_PRINTF(3, 4);
/* Returns whether an image of this size and kind of colour may be decoded; records the reason if
 * not. */
bool pod__codec_check(pod__codec *c, int64_t height, int64_t width, bool is_grey,
                      const pod_image_want *want);
/* Returns the grey value of a colour by ITU-R BT.601, as libjpeg does. */
static inline uint8_t pod__grey_of(const int rgb[3])
{
    return (uint8_t)((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
}

/* Decode a file into c->pixels and add to c->traits. Return false after recording a failure. */
bool pod__jpeg_decode(pod__codec *c, const uint8_t *file, size_t bytes, const pod_image_want *want,
                      pod_image *out);
bool pod__png_decode(pod__codec *c, const uint8_t *file, size_t bytes, const pod_image_want *want,
                     pod_image *out);

#endif
