/* The decoders of JPEG and PNG on any bytes, and on a PNG with checksums put right, without which
 * nothing behind them is reached: they neither crash nor lie. What they decode has the size that it
 * states, and every pixel of it can be read: the resizer does. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "kernels/base/assert.h"
#include "runtime/data/import/decode.h"
#include "runtime/data/import/resize.h"

enum { HEAD_BYTES = 8, FRAME_BYTES = 12 }; /* of a PNG; of its chunks: length, type, checksum */
enum { SIDE = 24, MAX_SCRATCH = 4 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static uint32_t number(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void set_checksums(uint8_t *file, size_t bytes)
{
    static const uint8_t head[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    if (bytes < HEAD_BYTES) return;
    memcpy(file, head, HEAD_BYTES);
    for (size_t at = HEAD_BYTES; bytes - at >= FRAME_BYTES;) {
        const size_t n = number(file + at);
        if (n > bytes - at - FRAME_BYTES) return;
        const unsigned long crc = crc32(0, file + at + 4, (unsigned)(n + 4));
        for (int i = 0; i < 4; i++) file[at + 8 + n + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
        at += FRAME_BYTES + n;
    }
}

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

static void try_file(const uint8_t *file, size_t bytes)
{
    static pod_image_decoder *d; /* one for all inputs: a bad one must not spoil the next */
    if (!d) POD_ASSERT(pod__image_decoder_create(&d) == POD_OK, "no decoder");
    for (int way = 0; way < 4; way++) {
        const int channels = way & 1 ? 3 : 1;
        const pod_image_want want = {
            .channels = channels, .convert = way & 2, .least_height = SIDE, .least_width = SIDE};
        pod_image image;
        if (pod__image_decode(d, file, bytes, &want, &image) != POD_OK) continue;
        POD_ASSERT(image.height > 0 && image.height <= image.file_height && image.width > 0 &&
                       image.width <= image.file_width &&
                       image.file_height <= POD_IMAGE_MAX_PIXELS / image.file_width,
                   "%lld x %lld", (long long)image.height, (long long)image.width);
        shrink(&image, channels);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    try_file(data, bytes);
    uint8_t *own = malloc(bytes ? bytes : 1);
    POD_ASSERT(own, "no memory for %zu bytes", bytes);
    if (bytes) memcpy(own, data, bytes);
    set_checksums(own, bytes);
    if (bytes >= HEAD_BYTES && data[0] == 0x89) try_file(own, bytes);
    free(own);
    return 0;
}
