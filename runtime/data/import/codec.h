/* What decode.c, jpeg.c and png.c share: one decoder's memory, and how a library's failure comes
 * back. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_CODEC_H
#define MINIPOD_RUNTIME_DATA_IMPORT_CODEC_H

#include <setjmp.h>

#include "runtime/data/import/decode.h"

typedef struct pod__room { /* grows, and is freed by its owner */
    void *at;
    size_t bytes;
} pod__room;

bool pod__room_grow(pod__room *r, size_t bytes); /* what is in it may go */

typedef struct pod__codec {
    pod__room pixels;  /* of the image before it is upright */
    int orientation;   /* of EXIF, 1 to 8 */
    unsigned traits;   /* POD_IMAGE_... */
    jmp_buf back;      /* where a failure of the library goes on */
    pod_status status; /* of that failure */
    char why[256];
} pod__codec;

/* For `return pod__codec_refuse(...)`: notes the failure, and answers false. */
bool pod__codec_refuse(pod__codec *c, pod_status s, const char *fmt, ...) POD_PRINTF(3, 4);
/* Of an image of that size: whether so many pixels are decoded, and whether its colours will do. */
bool pod__codec_check(pod__codec *c, int64_t height, int64_t width, bool is_grey,
                      const pod_image_want *want);
/* ITU-R BT.601, as libjpeg makes colour grey. */
static inline uint8_t pod__grey_of(const int rgb[3])
{
    return (uint8_t)((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
}

/* Decode into c->pixels; false, with the failure noted. The traits are added to. */
bool pod__jpeg_decode(pod__codec *c, const uint8_t *file, size_t bytes, const pod_image_want *want,
                      pod_image *out);
bool pod__png_decode(pod__codec *c, const uint8_t *file, size_t bytes, const pod_image_want *want,
                     pod_image *out);

#endif
