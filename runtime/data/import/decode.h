/* Decodes an image that lies in memory, whatever its file is called: the first bytes tell JPEG
 * (jpeg.h) from PNG (png.h), and name what is neither. The image comes out upright: the orientation
 * that a camera noted in EXIF is applied. A decoder serves one thread. For this folder only. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_DECODE_H
#define MINIPOD_RUNTIME_DATA_IMPORT_DECODE_H

#include <stddef.h>

#include "kernels/base/status.h"
#include "runtime/data/import/image.h"

typedef struct pod_image_decoder pod_image_decoder;

POD_MUST pod_status pod__image_decoder_create(pod_image_decoder **out);
void pod__image_decoder_destroy(pod_image_decoder *d); /* NULL is allowed */

/* POD_E_FORMAT says what is wrong, without a name: "a WebP, need JPEG or PNG: convert it". */
POD_MUST pod_status pod__image_decode(pod_image_decoder *d, const uint8_t *file, size_t bytes,
                                      const pod_image_want *want, pod_image *out);

#endif
