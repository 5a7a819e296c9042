/* The JPEG decoder on any bytes: it neither crashes nor lies. What it decodes has the size that it
 * states, and every pixel of it can be read: the resizer does. */
#include <stdbool.h>

#include "kernels/base/assert.h"
#include "runtime/data/import/decode.h"
#include "runtime/data/import/resize.h"

enum { SIDE = 24, MAX_SCRATCH = 4 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void shrink(const pod_image *image, int channels)
{
    static _Alignas(64) uint8_t scratch[MAX_SCRATCH], out[SIDE * SIDE * 3];
    const pod_box all = {0, 0, image->height, image->width};
    if (pod_resize_scratch_bytes(all.height, all.width, SIDE, SIDE, channels) > MAX_SCRATCH) return;
    const pod_resize_args args = {.in = image->pixels,
                                  .in_width = image->width,
                                  .channels = channels,
                                  .box = all,
                                  .out = out,
                                  .out_height = SIDE,
                                  .out_width = SIDE,
                                  .scratch = scratch};
    pod_resize(&args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static pod_image_decoder *d; /* one for all inputs: a bad one must not spoil the next */
    if (!d) POD_ASSERT(pod__image_decoder_create(&d) == POD_OK, "no decoder");
    for (int way = 0; way < 4; way++) {
        const int channels = way & 1 ? 3 : 1;
        const pod_image_want want = {
            .channels = channels, .convert = way & 2, .least_height = SIDE, .least_width = SIDE};
        pod_image image;
        if (pod__image_decode(d, data, bytes, &want, &image) != POD_OK) continue;
        POD_ASSERT(image.height > 0 && image.height <= image.file_height && image.width > 0 &&
                       image.width <= image.file_width &&
                       image.file_height <= POD_IMAGE_MAX_PIXELS / image.file_width,
                   "%lld x %lld", (long long)image.height, (long long)image.width);
        shrink(&image, channels);
    }
    return 0;
}
