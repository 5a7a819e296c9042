#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "runtime/data/import/codec.h"

/* Of one allocation of the library: far more than a row takes, or a colour profile. What asks for
 * more is a damaged chunk, which the file does not have. */
#define MAX_PIECE_BYTES ((png_alloc_size_t)1 << 26)

typedef struct reader {
    png_structp lib;
    png_infop info;
    pod__codec *codec;
    const uint8_t *file;
    size_t n_left; /* bytes of the file */
    bool no_memory;
} reader;

/* ---- what the library calls ------------------------------------------------------------------ */

static void fail(png_structp lib, png_const_charp text)
{
    const reader *r = png_get_error_ptr(lib);
    pod__codec_refuse(r->codec, r->no_memory ? POD_E_NOMEM : POD_E_FORMAT, "%s", text);
    longjmp(r->codec->back, 1);
}

/* Of what spoils no pixel, such as a colour profile that is known to be wrong. */
static void hear(png_structp lib, png_const_charp text)
{
    (void)text;
    ((reader *)png_get_error_ptr(lib))->codec->traits |= POD_IMAGE_FLAWED;
}

static void *take(png_structp lib, png_alloc_size_t bytes)
{
    void *p = bytes <= MAX_PIECE_BYTES ? malloc(bytes) : NULL;
    if (!p && bytes <= MAX_PIECE_BYTES) ((reader *)png_get_mem_ptr(lib))->no_memory = true;
    return p;
}

static void give_back(png_structp lib, void *p)
{
    (void)lib;
    free(p);
}

static void read_bytes(png_structp lib, png_bytep to, size_t bytes)
{
    reader *r = png_get_io_ptr(lib);
    if (bytes > r->n_left) png_error(lib, "cut short: the PNG file ends within a chunk");
    memcpy(to, r->file, bytes);
    r->file += bytes;
    r->n_left -= bytes;
}

/* ---- decoding, where a longjmp may leave ----------------------------------------------------- */

static bool read_rows(reader *r)
{
    pod__codec *c = r->codec;
    const int n_passes = png_set_interlace_handling(r->lib);
    png_read_update_info(r->lib, r->info);
    const size_t row = png_get_rowbytes(r->lib, r->info);
    const png_uint_32 height = png_get_image_height(r->lib, r->info);
    if (!pod__room_grow(&c->pixels, row * height))
        return pod__codec_refuse(c, POD_E_NOMEM, "no memory for its pixels");
    for (int pass = 0; pass < n_passes; pass++)
        for (png_uint_32 y = 0; y < height; y++)
            png_read_row(r->lib, (png_bytep)c->pixels.at + row * y, NULL);
    png_read_end(r->lib, r->info);
    return true;
}

/* To colours on white, from n values a pixel, the last one alpha where n is even. In place: what is
 * written never lies behind what is still to be read. */
static void convert_pixels(pod__codec *c, int n, int64_t count, int channels)
{
    const int n_colours = n - !(n & 1);
    if (n == channels) return;
    const uint8_t *in = c->pixels.at;
    for (uint8_t *out = c->pixels.at; count > 0; count--, in += n, out += channels) {
        const int alpha = n & 1 ? 255 : in[n - 1];
        int colour[3] = {0};
        if (alpha < 255) c->traits |= POD_IMAGE_ON_WHITE;
        for (int k = 0; k < n_colours; k++)
            colour[k] = (in[k] * alpha + 255 * (255 - alpha) + 127) / 255;
        for (int k = 0; k < channels; k++)
            out[k] = channels == n_colours ? (uint8_t)colour[k] : pod__grey_of(colour);
    }
}

static int orientation_of(const reader *r)
{
    png_uint_32 bytes = 0;
    png_bytep exif = NULL;
    return png_get_eXIf_1(r->lib, r->info, &bytes, &exif) ? pod__exif_orientation(exif, bytes) : 1;
}

static bool decode(reader *r, const pod_image_want *want, pod_image *out)
{
    pod__codec *c = r->codec;
    r->lib = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, r, fail, hear, r, take, give_back);
    r->info = r->lib ? png_create_info_struct(r->lib) : NULL;
    if (!r->info) return pod__codec_refuse(c, POD_E_NOMEM, "no memory for a PNG decoder");
    png_set_read_fn(r->lib, r, read_bytes);
    png_read_info(r->lib, r->info);
    const int64_t height = png_get_image_height(r->lib, r->info);
    const int64_t width = png_get_image_width(r->lib, r->info);
    const bool is_grey = !(png_get_color_type(r->lib, r->info) & PNG_COLOR_MASK_COLOR);
    if (!pod__codec_check(c, height, width, is_grey, want)) return false;
    /* 8 bits a channel: grey or RGB, with alpha where anything may be transparent. */
    if (png_get_bit_depth(r->lib, r->info) == 16) c->traits |= POD_IMAGE_FROM_16_BIT;
    png_set_expand(r->lib);
    png_set_scale_16(r->lib);
    if (want->channels == 3) png_set_gray_to_rgb(r->lib);
    if (!read_rows(r)) return false;
    convert_pixels(c, png_get_channels(r->lib, r->info), height * width, want->channels);
    c->orientation = orientation_of(r);
    *out =
        (pod_image){.height = height, .width = width, .file_height = height, .file_width = width};
    return true;
}

static bool try_to_decode(reader *r, const pod_image_want *want, pod_image *out)
{
    return setjmp(r->codec->back) == 0 && decode(r, want, out);
}

bool pod__png_decode(pod__codec *c, const uint8_t *file, size_t bytes, const pod_image_want *want,
                     pod_image *out)
{
    reader r = {.codec = c, .file = file, .n_left = bytes};
    const bool is_whole = try_to_decode(&r, want, out);
    png_destroy_read_struct(&r.lib, &r.info, NULL);
    return is_whole;
}
