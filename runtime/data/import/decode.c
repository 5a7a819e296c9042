#include "runtime/data/import/decode.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/data/import/jpeg.h"
#include "runtime/data/import/png.h"

struct pod_image_decoder {
    pod_jpeg *jpeg;
    pod_png *png;
    uint8_t *upright;
    size_t room; /* bytes */
};

pod_status pod__image_decoder_create(pod_image_decoder **out)
{
    pod_image_decoder *d = calloc(1, sizeof *d);
    if (!d) return pod_fail(POD_E_NOMEM, "no memory for a decoder of images");
    pod_status s = pod_jpeg_create(&d->jpeg);
    if (s == POD_OK) s = pod_png_create(&d->png);
    if (s == POD_OK)
        *out = d;
    else
        pod__image_decoder_destroy(d);
    return s;
}

void pod__image_decoder_destroy(pod_image_decoder *d)
{
    if (!d) return;
    pod_jpeg_destroy(d->jpeg);
    pod_png_destroy(d->png);
    free(d->upright);
    free(d);
}

/* ---- what a file is -------------------------------------------------------------------------- */

typedef enum format { JPEG, PNG, OTHER_IMAGE, NO_IMAGE } format;

static const struct signature {
    format format;
    size_t at, bytes;
    const char *text, *name;
} signatures[] = {
    {JPEG, 0, 3, "\xff\xd8\xff", "a JPEG"},
    {PNG, 0, 8, "\x89PNG\r\n\x1a\n", "a PNG"},
    {OTHER_IMAGE, 0, 4, "GIF8", "a GIF"},
    {OTHER_IMAGE, 8, 4, "WEBP", "a WebP"},
    {OTHER_IMAGE, 0, 4, "II*\0", "a TIFF"},
    {OTHER_IMAGE, 0, 4, "MM\0*", "a TIFF"},
    {OTHER_IMAGE, 0, 4, "II+\0", "a TIFF"},
    {OTHER_IMAGE, 4, 8, "ftypavif", "an AVIF"},
    {OTHER_IMAGE, 4, 7, "ftyphei", "a HEIC"},
    {OTHER_IMAGE, 4, 8, "ftypmif1", "a HEIF"},
    {OTHER_IMAGE, 0, 12, "\0\0\0\x0cjP  \r\n\x87\n", "a JPEG 2000"},
    {OTHER_IMAGE, 0, 4, "\xff\x4f\xff\x51", "a JPEG 2000"},
    {OTHER_IMAGE, 0, 8, "\0\0\0\x0cJXL ", "a JPEG XL"},
    {OTHER_IMAGE, 0, 2, "\xff\x0a", "a JPEG XL"},
    {OTHER_IMAGE, 0, 4, "8BPS", "a Photoshop file"},
    {OTHER_IMAGE, 0, 4, "\0\0\1\0", "an icon (ICO)"},
    {OTHER_IMAGE, 0, 3, "P5\n", "a PGM"},
    {OTHER_IMAGE, 0, 3, "P6\n", "a PPM"},
    {OTHER_IMAGE, 0, 4, "<svg", "an SVG"},
    {OTHER_IMAGE, 0, 4, "%PDF", "a PDF"},
    {OTHER_IMAGE, 0, 2, "BM", "a BMP"},
    {NO_IMAGE, 0, 5, "<!DOC", "an HTML page, as a download that failed leaves it"},
    {NO_IMAGE, 0, 5, "<html", "an HTML page, as a download that failed leaves it"},
    {NO_IMAGE, 0, 4, "PK\3\4", "a ZIP archive"},
    {NO_IMAGE, 0, 2, "\x1f\x8b", "a gzip file"},
    {NO_IMAGE, 0, 4, "\x89HDF", "an HDF5 file"},
    {NO_IMAGE, 0, 6, "\x93NUMPY", "a NumPy array"},
};

static const struct signature *find_signature(const uint8_t *file, size_t bytes)
{
    for (size_t i = 0; i < sizeof signatures / sizeof signatures[0]; i++) {
        const struct signature *s = &signatures[i];
        if (bytes >= s->at + s->bytes && memcmp(file + s->at, s->text, s->bytes) == 0) return s;
    }
    return NULL;
}

/* ---- orientation ----------------------------------------------------------------------------- */

/* EXIF's values from 5 on swap rows and columns: row y of the upright image is column y of the
 * file's, or that column counted from the right. */
static bool is_sideways(int orientation) { return orientation >= 5; }

static void copy_upright(const pod_image *image, int channels, uint8_t *out)
{
    const int o = image->orientation;
    const bool swaps = is_sideways(o), from_below = o == 3 || o == 4 || o == 6 || o == 7;
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

static void swap(int64_t *a, int64_t *b)
{
    const int64_t old = *a;
    *a = *b;
    *b = old;
}

static pod_status set_upright(pod_image_decoder *d, int channels, pod_image *image)
{
    if (image->orientation == 1) return POD_OK;
    const size_t bytes = (size_t)(image->height * image->width * channels);
    if (bytes > d->room) {
        free(d->upright);
        d->upright = malloc(bytes);
        d->room = d->upright ? bytes : 0;
        if (!d->upright) return pod_fail(POD_E_NOMEM, "no memory to rotate it");
    }
    copy_upright(image, channels, d->upright);
    if (is_sideways(image->orientation)) {
        swap(&image->height, &image->width);
        swap(&image->file_height, &image->file_width);
    }
    image->pixels = d->upright;
    image->orientation = 1;
    image->traits |= POD_IMAGE_ROTATED;
    return POD_OK;
}

pod_status pod__image_decode(pod_image_decoder *d, const uint8_t *file, size_t bytes,
                             const pod_image_want *want, pod_image *out)
{
    const struct signature *s = find_signature(file, bytes);
    if (!s) return pod_fail(POD_E_FORMAT, "neither a JPEG nor a PNG");
    if (s->format == OTHER_IMAGE)
        return pod_fail(POD_E_FORMAT, "%s: convert it to JPEG or PNG", s->name);
    if (s->format == NO_IMAGE) return pod_fail(POD_E_FORMAT, "%s, need a JPEG or a PNG", s->name);
    pod_image image;
    POD_TRY(s->format == JPEG ? pod_jpeg_decode(d->jpeg, file, bytes, want, &image)
                              : pod_png_decode(d->png, file, bytes, want, &image));
    POD_TRY(set_upright(d, want->channels, &image));
    *out = image;
    return POD_OK;
}
