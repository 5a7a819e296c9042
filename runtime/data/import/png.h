/* Decodes PNG files that lie in memory, by libpng: grey, RGB and palette, of 1 to 16 bits, with or
 * without alpha, interlaced or not. 16 bits are rounded to 8. Transparent pixels are laid on white;
 * gamma and colour profiles are not applied. Of an animation the first picture comes out. What is
 * cut short, fails a checksum of what makes the picture, or is larger than POD_IMAGE_MAX_PIXELS, is
 * POD_E_FORMAT. A decoder serves one thread. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_PNG_H
#define MINIPOD_RUNTIME_DATA_IMPORT_PNG_H

#include <stddef.h>

#include "kernels/base/status.h"
#include "runtime/data/import/image.h"

typedef struct pod_png pod_png;

POD_MUST pod_status pod_png_create(pod_png **out);
void pod_png_destroy(pod_png *p); /* NULL is allowed */

/* POD_E_FORMAT says what is wrong, without a name. POD_E_NOMEM is about this process, not about the
 * image. */
POD_MUST pod_status pod_png_decode(pod_png *p, const uint8_t *file, size_t bytes,
                                   const pod_image_want *want, pod_image *out);

#endif
