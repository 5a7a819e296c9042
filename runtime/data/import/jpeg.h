/* Decodes JPEG files that lie in memory, by libjpeg-turbo: baseline and progressive, 8 bits, grey
 * and YCbCr or RGB colour, and as colour, where asked, also grey, CMYK and YCCK. An image comes out
 * at 1/8, 1/4 or 1/2 of its size where that is enough. Bytes that nobody reads before a marker, and
 * other things that the library warns of and that spoil no pixel, are taken and noted
 * (POD_IMAGE_FLAWED). Whatever else it warns of (a file cut short, bytes that are no code) is
 * POD_E_FORMAT, as are other colours, other depths, and an image whose decoding would cost too much
 * for what it shows, at whatever size it is to come out. CMYK is taken as stored inverted where the
 * file has Adobe's marker, and becomes what is seen on a screen that knows of no ink: no colour
 * profile is applied. The orientation is reported, not applied. A decoder serves one thread. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_JPEG_H
#define MINIPOD_RUNTIME_DATA_IMPORT_JPEG_H

#include <stddef.h>

#include "kernels/base/status.h"
#include "runtime/data/import/image.h"

typedef struct pod_jpeg pod_jpeg;

POD_MUST pod_status pod_jpeg_create(pod_jpeg **out);
void pod_jpeg_destroy(pod_jpeg *j); /* NULL is allowed */

/* POD_E_FORMAT says what is wrong, without a name: "cut short", "2 colour components, ...".
 * POD_E_NOMEM is about this process, not about the image. */
POD_MUST pod_status pod_jpeg_decode(pod_jpeg *j, const uint8_t *file, size_t bytes,
                                    const pod_image_want *want, pod_image *out);

#endif
