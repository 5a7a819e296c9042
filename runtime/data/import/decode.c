#include "runtime/data/import/decode.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/data/data_form.h"
#include "runtime/data/import/codec.h"
#include "runtime/data/import/list.h"
#include "runtime/data/import/resize.h"

#define MAX_FILE_BYTES ((int64_t)1 << 28)

struct pod_image_decoder {
    pod__codec codec;
    pod__room upright, file, scratch;
};

/* ---- what the codecs share ------------------------------------------------------------------- */

bool pod__room_grow(pod__room *r, size_t bytes)
{
    if (bytes <= r->bytes) return true;
    free(r->at);
    r->at = malloc(bytes);
    r->bytes = r->at ? bytes : 0;
    return r->at != NULL;
}

bool pod__codec_refuse(pod__codec *c, pod_status s, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(c->why, sizeof c->why, fmt, args);
    va_end(args);
    c->status = s;
    return false;
}

bool pod__codec_check(pod__codec *c, int64_t height, int64_t width, bool is_grey,
                      const pod_image_want *want)
{
    if (height * width > POD_IMAGE_MAX_PIXELS)
        return pod__codec_refuse(
            c, POD_E_FORMAT, "%" PRId64 " x %" PRId64 " pixels, at most %" PRId64 " are decoded",
            height, width, POD_IMAGE_MAX_PIXELS);
    if (!is_grey || want->channels == 1) return true;
    c->traits |= POD_IMAGE_FROM_GREY;
    return want->convert ||
           pod__codec_refuse(c, POD_E_FORMAT,
                             "grey, need colour (--convert-colour makes it colour; --channels 1 "
                             "makes all images grey)");
}

/* ---- orientation ----------------------------------------------------------------------------- */

enum { UPRIGHT = 1, TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, HEADER_BYTES = 8, ENTRY_BYTES = 12 };

static uint32_t number(const uint8_t *p, int n_bytes, bool is_little)
{
    uint32_t value = 0;
    for (int i = 0; i < n_bytes; i++) value = value << 8 | p[is_little ? n_bytes - 1 - i : i];
    return value;
}

/* Header: byte order, 42, position of the first directory; a directory: the number of its entries,
 * then of each the tag (2 bytes), type (2), count (4) and value (4, a short in the first two). */
int pod__exif_orientation(const uint8_t *tiff, size_t bytes)
{
    if (bytes < HEADER_BYTES) return UPRIGHT;
    const bool is_little = memcmp(tiff, "II", 2) == 0;
    if (!is_little && memcmp(tiff, "MM", 2) != 0) return UPRIGHT;
    if (number(tiff + 2, 2, is_little) != 42) return UPRIGHT;
    size_t at = number(tiff + 4, 4, is_little);
    if (at > bytes - 2) return UPRIGHT;
    uint32_t n = number(tiff + at, 2, is_little);
    at += 2;
    for (; n > 0 && bytes - at >= ENTRY_BYTES; n--, at += ENTRY_BYTES) {
        const uint8_t *entry = tiff + at;
        if (number(entry, 2, is_little) != TAG_ORIENTATION) continue;
        const uint32_t value = number(entry + 8, 2, is_little);
        const bool is_good = number(entry + 2, 2, is_little) == TYPE_SHORT && value >= 1;
        return is_good && value <= 8 ? (int)value : UPRIGHT;
    }
    return UPRIGHT;
}

/* EXIF's values from 5 on swap rows and columns: row y of the upright image is column y of the
 * file's, or that column counted from the right. */
static void copy_upright(const pod_image *image, int orientation, int channels, uint8_t *out)
{
    const int o = orientation;
    const bool swaps = o >= 5, from_below = o == 3 || o == 4 || o == 6 || o == 7;
    const bool from_right = o == 2 || o == 3 || o == 7 || o == 8;
    const int64_t height = swaps ? image->width : image->height;
    const int64_t width = swaps ? image->height : image->width;
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++, out += channels) {
            const int64_t r = swaps ? x : y, c = swaps ? y : x;
            const int64_t row = from_below ? image->height - 1 - r : r;
            const int64_t column = from_right ? image->width - 1 - c : c;
            memcpy(out, image->pixels + (row * image->width + column) * channels, (size_t)channels);
        }
}

static pod_status set_upright(pod_image_decoder *d, int channels, pod_image *image)
{
    const int o = d->codec.orientation;
    const pod_image in = *image;
    if (o == UPRIGHT) return POD_OK;
    if (!pod__room_grow(&d->upright, (size_t)(in.height * in.width * channels)))
        return pod_fail(POD_E_NOMEM, "no memory to rotate it");
    copy_upright(&in, o, channels, d->upright.at);
    if (o >= 5)
        *image = (pod_image){.height = in.width,
                             .width = in.height,
                             .file_height = in.file_width,
                             .file_width = in.file_height};
    image->pixels = d->upright.at;
    image->traits = in.traits | POD_IMAGE_ROTATED;
    return POD_OK;
}

/* ---- decoding -------------------------------------------------------------------------------- */

pod_status pod__image_decoder_create(pod_image_decoder **out)
{
    *out = calloc(1, sizeof **out);
    return *out ? POD_OK : pod_fail(POD_E_NOMEM, "no memory for a decoder of images");
}

void pod__image_decoder_destroy(pod_image_decoder *d)
{
    if (!d) return;
    free(d->codec.pixels.at);
    free(d->upright.at);
    free(d->file.at);
    free(d->scratch.at);
    free(d);
}

pod_status pod__image_decode(pod_image_decoder *d, const uint8_t *file, size_t bytes,
                             const pod_image_want *want, pod_image *out)
{
    pod__codec *c = &d->codec;
    const pod_data_form *form = pod__data_form_of(file, bytes, "", 0);
    const pod_image_kind kind = form ? form->image : POD_IMAGE_NONE;
    pod_image image;
    if (!form || form->is_text) return pod_fail(POD_E_FORMAT, "neither a JPEG nor a PNG");
    if (kind == POD_IMAGE_OTHER)
        return pod_fail(POD_E_FORMAT, "%s: convert it to JPEG or PNG", form->what);
    if (kind == POD_IMAGE_NONE)
        return pod_fail(POD_E_FORMAT, "%s, need a JPEG or a PNG", form->what);
    c->traits = 0;
    c->orientation = UPRIGHT;
    if (!(kind == POD_IMAGE_JPEG ? pod__jpeg_decode : pod__png_decode)(c, file, bytes, want,
                                                                       &image))
        return pod_fail(c->status, "%s", c->why);
    image.pixels = c->pixels.at;
    image.traits = c->traits;
    POD_TRY(set_upright(d, want->channels, &image));
    *out = image;
    return POD_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static pod_status read_all(uint8_t *to, int fd, size_t bytes)
{
    size_t n = 0;
    while (n < bytes) {
        const ssize_t got = read(fd, to + n, bytes - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return pod__file_trouble("cannot be read", errno);
        if (got == 0)
            return pod_fail(POD_E_FORMAT, "ends after %zu of its %zu bytes: it was made shorter", n,
                            bytes);
        n += (size_t)got;
    }
    return POD_OK;
}

static pod_status read_open(pod_image_decoder *d, int fd, size_t *bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return pod__file_trouble("cannot be looked at", errno);
    if (S_ISDIR(st.st_mode)) return pod_fail(POD_E_FORMAT, "a folder, need an image");
    if (!S_ISREG(st.st_mode)) return pod_fail(POD_E_FORMAT, "no regular file");
    if (st.st_size == 0) return pod_fail(POD_E_FORMAT, "empty");
    if (st.st_size > MAX_FILE_BYTES)
        return pod_fail(POD_E_FORMAT, "%" PRId64 " bytes, at most %" PRId64, (int64_t)st.st_size,
                        MAX_FILE_BYTES);
    *bytes = (size_t)st.st_size;
    if (!pod__room_grow(&d->file, *bytes))
        return pod_fail(POD_E_NOMEM, "no memory for %zu bytes", *bytes);
    return read_all(d->file.at, fd, *bytes);
}

pod_status pod__image_load(pod_image_decoder *d, const char *path, const pod_image_want *want,
                           pod_image *out)
{
    size_t bytes = 0;
    /* Without waiting for the other end of a pipe. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return pod__file_trouble("cannot be read", errno);
    const pod_status s = read_open(d, fd, &bytes);
    close(fd);
    POD_TRY(s);
    return pod__image_decode(d, d->file.at, bytes, want, out);
}

pod_status pod__image_fit(pod_image_decoder *d, const pod_image *image, int channels,
                          int64_t height, int64_t width, uint8_t *pixels)
{
    pod_resize_args args = {.in = image->pixels,
                            .in_width = image->width,
                            .channels = channels,
                            .box = pod_box_centre(image->height, image->width, height, width),
                            .out = pixels,
                            .out_height = height,
                            .out_width = width};
    if (!pod__room_grow(&d->scratch, pod_resize_scratch_bytes(args.box.height, args.box.width,
                                                              height, width, channels)))
        return pod_fail(POD_E_NOMEM, "no memory to resize it");
    args.scratch = d->scratch.at;
    pod_resize(&args);
    return POD_OK;
}
