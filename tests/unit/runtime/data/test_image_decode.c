/* The PNG decoder on files made here, of every kind, whole and damaged; what a file is by its first
 * bytes; and the orientation that a camera noted, against its definition. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "runtime/data/import/decode.h"
#include "tests/harness/harness.h"
#include "tests/tools/jpegs.h"
#include "tests/tools/pngs.h"

static const pod_image_want colour = {.channels = 3, .least_height = 1, .least_width = 1};
static const pod_image_want grey = {.channels = 1, .least_height = 1, .least_width = 1};
static const pod_image_want converted = {
    .channels = 3, .convert = true, .least_height = 1, .least_width = 1};

static pod_image_decoder *decoder;

static int open_decoder(void) { return pod__image_decoder_create(&decoder) == POD_OK ? 0 : 1; }
static int close_decoder(void)
{
    pod__image_decoder_destroy(decoder);
    return 0;
}

/* ---- PNG, whole ------------------------------------------------------------------------------ */

static bool is_grey_kind(pod_test_png_kind kind) { return kind <= POD_TEST_PNG_GREY_ALPHA; }

static bool has_alpha(const pod_test_png *made)
{
    return made->kind == POD_TEST_PNG_GREY_ALPHA || made->kind == POD_TEST_PNG_RGB_ALPHA ||
           made->kind == POD_TEST_PNG_PALETTE;
}

/* What a colour of the file is, as 8 bits, on white: n_bits keep the upper bits, spread over all. */
static void expect(const pod_test_png *made, const uint8_t from[4], int channels, int out[3])
{
    const int alpha = is_grey_kind(made->kind) ? from[1] : from[3];
    const bool keeps = made->kind == POD_TEST_PNG_PALETTE || made->bits >= 8;
    double rgb[3];
    for (int c = 0; c < 3; c++) {
        int v = from[is_grey_kind(made->kind) ? 0 : c];
        const int most = (1 << made->bits) - 1;
        if (!keeps) v = (v >> (8 - made->bits)) * 255 / most;
        rgb[c] = has_alpha(made) ? (v * alpha + 255.0 * (255 - alpha)) / 255 : v;
    }
    for (int c = 0; c < channels; c++)
        out[c] = channels == 3 ? (int)(rgb[c] + 0.5)
                               : (int)(0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2] + 0.5);
}

static void check_pixels(const pod_test_png *made, const pod_image *image, int channels)
{
    CU_ASSERT(image->height == made->height && image->width == made->width);
    CU_ASSERT(image->file_height == made->height && image->file_width == made->width);
    for (int64_t y = 0; y < image->height; y++)
        for (int64_t x = 0; x < image->width; x++) {
            int want[3] = {0};
            expect(made, x < made->width / 2 ? made->left : made->right, channels, want);
            for (int c = 0; c < channels; c++) {
                const int got = image->pixels[(y * image->width + x) * channels + c];
                POD_CHECK(abs(got - want[c]) <= 1, "kind %d, %d bits, pixel %d, %d: %d, want %d",
                          made->kind, made->bits, (int)y, (int)x, got, want[c]);
            }
        }
}

static void check_made(const pod_test_png *made)
{
    size_t bytes;
    uint8_t *file = pod_test_png_make(made, &bytes);
    pod_image image;
    for (int channels = 1; channels <= 3; channels += 2) {
        unsigned traits = has_alpha(made) ? POD_IMAGE_ON_WHITE : 0;
        if (made->bits == 16) traits |= POD_IMAGE_FROM_16_BIT;
        if (channels == 3 && is_grey_kind(made->kind)) {
            POD_CHECK_FAILS(pod__image_decode(decoder, file, bytes, &colour, &image), POD_E_FORMAT,
                            "grey, need colour");
            traits |= POD_IMAGE_FROM_GREY;
        }
        POD_CHECK_OK(
            pod__image_decode(decoder, file, bytes, channels == 3 ? &converted : &grey, &image));
        CU_ASSERT(image.traits == traits);
        check_pixels(made, &image, channels);
    }
    free(file);
}

static void all_kinds(void)
{
    static const int bits[] = {1, 2, 4, 8, 16};
    for (int kind = 0; kind < POD_TEST_PNG_N_KINDS; kind++)
        for (int i = 0; i < 10; i++) {
            const pod_test_png made = {.height = 11,
                                       .width = 9 + i,
                                       .kind = (pod_test_png_kind)kind,
                                       .bits = bits[i / 2],
                                       .is_interlaced = i % 2 == 1,
                                       .left = {250, 128, 30, 0},
                                       .right = {20, 90, 200, 77}};
            const bool is_png = kind == POD_TEST_PNG_GREY      ? true
                                : kind == POD_TEST_PNG_PALETTE ? made.bits <= 8
                                                               : made.bits >= 8;
            if (is_png) check_made(&made);
        }
}

/* ---- PNG, damaged ---------------------------------------------------------------------------- */

static void cut_or_changed(void)
{
    const pod_test_png made = {
        .height = 9, .width = 9, .kind = POD_TEST_PNG_RGB, .bits = 8, .left = {250, 10, 30}};
    pod_image image;
    size_t bytes;
    uint8_t *file = pod_test_png_make(&made, &bytes);
    for (size_t n = 0; n < bytes; n++) {
        uint8_t *part = malloc(n ? n : 1); /* exactly as long, for the sanitizer */
        if (!part) abort();
        memcpy(part, file, n);
        POD_CHECK(pod__image_decode(decoder, part, n, &colour, &image) == POD_E_FORMAT,
                  "%zu of %zu bytes are an image", n, bytes);
        free(part);
    }
    /* Each byte counts, since all chunks have a checksum; Debian 13's libpng does not look at that of
     * the last, which has no data. */
    for (size_t n = 0; n < bytes - 4; n++) {
        file[n] ^= 4;
        POD_CHECK(pod__image_decode(decoder, file, bytes, &colour, &image) == POD_E_FORMAT,
                  "byte %zu of %zu does not matter", n, bytes);
        file[n] ^= 4;
    }
    POD_CHECK_OK(pod__image_decode(decoder, file, bytes, &colour, &image)); /* it goes on */
    POD_CHECK_FAILS(pod__image_decode(decoder, file, bytes - 20, &colour, &image), POD_E_FORMAT,
                    "cut short: the PNG file ends within a chunk");
    free(file);
}

static void too_large(void)
{
    const pod_test_png made = {.height = 9, .width = 9, .kind = POD_TEST_PNG_RGB, .bits = 8};
    pod_image image;
    size_t bytes;
    uint8_t *file = pod_test_png_make(&made, &bytes);
    memcpy(file + 16, "\0\0\x80\0\0\0\x80\0", 8); /* width and height, then 5 bytes, the checksum */
    const unsigned long crc = crc32(0, file + 12, 17);
    for (int i = 0; i < 4; i++) file[29 + i] = (uint8_t)(crc >> (24 - 8 * i));
    POD_CHECK_FAILS(pod__image_decode(decoder, file, bytes, &colour, &image), POD_E_FORMAT,
                    "32768 x 32768 pixels, at most 67108864");
    free(file);
}

/* ---- first bytes ----------------------------------------------------------------------------- */

static void what_it_is(void)
{
    static const struct {
        const char *file;
        size_t bytes;
        const char *why;
    } cases[] = {{"RIFF\x10\0\0\0WEBPVP8 ", 16, "a WebP image: convert it to JPEG or PNG"},
                 {"GIF89a......", 12, "a GIF image: convert it"},
                 {"BM\1\0\0\0....", 10, "a BMP image: convert it"},
                 {"II*\0....", 8, "a TIFF image: convert it"},
                 {"\0\0\0\x20"
                  "ftypheic",
                  12, "a HEIC image: convert it"},
                 {"<!DOCTYPE html>", 15, "a web page, need a JPEG or a PNG"},
                 {"PK\3\4....", 8, "a zip archive, need a JPEG or a PNG"},
                 {"\xff\xd8\xff", 3, "Premature end of JPEG file"},
                 {"\x89PNG\r\n\x1a\n", 8, "cut short"},
                 {"RIFF", 4, "neither a JPEG nor a PNG"},
                 {"", 0, "an empty file, need a JPEG or a PNG"}};
    pod_image image;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        POD_CHECK_FAILS(pod__image_decode(decoder, (const uint8_t *)cases[i].file, cases[i].bytes,
                                          &colour, &image),
                        POD_E_FORMAT, cases[i].why);
}

/* ---- orientation ----------------------------------------------------------------------------- */

enum { H = 3, W = 5 };

/* The sides of the upright image at which row 0 and column 0 of the file stand (EXIF 2.3, tag
 * 0x0112): t top, b bottom, l left, r right. */
static const char *const sides[] = {"tl", "tr", "br", "bl", "lt", "rt", "rb", "lb"};

static void place(char side, int n, int height, int width, int *y, int *x)
{
    if (side == 't') *y = n;
    if (side == 'b') *y = height - 1 - n;
    if (side == 'l') *x = n;
    if (side == 'r') *x = width - 1 - n;
}

static void upright(void)
{
    uint8_t pixels[H * W];
    for (int i = 0; i < H * W; i++) pixels[i] = (uint8_t)(10 * i);
    for (int o = 1; o <= 8; o++) {
        const pod_test_png made = {.height = H,
                                   .width = W,
                                   .kind = POD_TEST_PNG_GREY,
                                   .bits = 8,
                                   .orientation = o,
                                   .pixels = pixels};
        const int height = o >= 5 ? W : H, width = o >= 5 ? H : W;
        size_t bytes;
        uint8_t *file = pod_test_png_make(&made, &bytes);
        pod_image image = {0};
        POD_CHECK_OK(pod__image_decode(decoder, file, bytes, &grey, &image));
        CU_ASSERT(image.height == height && image.width == width);
        CU_ASSERT(image.file_height == height && image.file_width == width);
        CU_ASSERT(image.traits == (o == 1 ? 0 : POD_IMAGE_ROTATED));
        for (int i = 0; i < H * W; i++) {
            int y = 0, x = 0;
            place(sides[o - 1][0], i / W, height, width, &y, &x);
            place(sides[o - 1][1], i % W, height, width, &y, &x);
            POD_CHECK(image.pixels[y * width + x] == pixels[i], "orientation %d, pixel %d", o, i);
        }
        free(file);
    }
}

/* As cameras write it: APP1 behind the start of image. What is wanted is of the upright image. */
static void jpeg_of_a_camera(void)
{
    const pod_test_jpeg made = {
        .height = 64, .width = 160, .components = 3, .left = {250, 10, 30}, .right = {20, 90, 200}};
    const pod_image_want want = {.channels = 3, .least_height = 80, .least_width = 30};
    size_t bytes;
    uint8_t *file = pod_test_jpeg_make(&made, &bytes);
    enum { MORE = 4 + 6 + POD_TEST_EXIF_BYTES };
    uint8_t *own = malloc(bytes + MORE);
    if (!own) abort();
    memcpy(own,
           "\xff\xd8\xff\xe1\0\x22"
           "Exif\0\0",
           12); /* length: 2 + 6 + 26 */
    memcpy(own + 2 + MORE, file + 2, bytes - 2);
    for (int i = 0; i < 2; i++) {
        pod_image image = {0};
        pod_test_exif_make(6, i == 1, own + 12);
        POD_CHECK_OK(pod__image_decode(decoder, own, bytes + MORE, &want, &image));
        CU_ASSERT(image.file_height == 160 && image.file_width == 64);
        POD_CHECK(image.height == 80 && image.width == 32, "%d x %d", (int)image.height,
                  (int)image.width);
        CU_ASSERT(image.traits == POD_IMAGE_ROTATED);
        CU_ASSERT(image.pixels && abs(image.pixels[0] - 250) <= 4); /* left is above now */
        CU_ASSERT(image.pixels && abs(image.pixels[3 * 80 * 32 - 3] - 20) <= 4);
    }
    free(own);
    free(file);
}

static void damaged_exif(void)
{
    uint8_t exif[POD_TEST_EXIF_BYTES];
    for (int little = 0; little < 2; little++) {
        pod_test_exif_make(8, little == 1, exif);
        CU_ASSERT(pod__exif_orientation(exif, sizeof exif) == 8);
        CU_ASSERT(pod__exif_orientation(exif, 22) == 8);
        for (size_t n = 0; n < 22; n++) CU_ASSERT(pod__exif_orientation(exif, n) == 1);
        for (int o = -1; o <= 256; o++) {
            pod_test_exif_make(o, little == 1, exif);
            const int found = pod__exif_orientation(exif, sizeof exif);
            CU_ASSERT(found == (o >= 1 && o <= 8 ? o : 1));
        }
    }
    memset(exif + 4, 0xff, 4); /* a directory beyond the end */
    CU_ASSERT(pod__exif_orientation(exif, sizeof exif) == 1);
}

POD_TEST_SUITE_WITH("runtime.image_decode", open_decoder, close_decoder, {"all_kinds", all_kinds},
                    {"cut_or_changed", cut_or_changed}, {"too_large", too_large},
                    {"what_it_is", what_it_is}, {"upright", upright},
                    {"jpeg_of_a_camera", jpeg_of_a_camera}, {"damaged_exif", damaged_exif});
