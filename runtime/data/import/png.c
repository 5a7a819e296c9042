#include "runtime/data/import/png.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "runtime/data/import/exif.h"

/* Of one allocation of the library: far more than a row takes, or a colour profile. What asks for
 * more is a damaged chunk, which the file does not have. */
#define MAX_PIECE_BYTES ((png_alloc_size_t)1 << 26)

struct pod_png {
    png_structp lib; /* of one file, as `info` */
    png_infop info;
    jmp_buf back;  /* where a failure of the library goes on */
    char why[256]; /* of that failure */
    pod_status status;
    const uint8_t *file;
    size_t n_left; /* bytes of the file */
    uint8_t *pixels;
    size_t room;     /* bytes */
    int n_channels;  /* as the library gives them: 1 to 4, an even number with alpha */
    unsigned traits; /* POD_IMAGE_... */
};

/* ---- what the library calls ------------------------------------------------------------------ */

static pod_png *of(png_structp lib) { return png_get_error_ptr(lib); }

static void fail(png_structp lib, png_const_charp text)
{
    pod_png *p = of(lib);
    snprintf(p->why, sizeof p->why, "%s", text);
    longjmp(p->back, 1);
}

/* Of what spoils no pixel, such as a colour profile that is known to be wrong. */
static void hear(png_structp lib, png_const_charp text)
{
    (void)text;
    of(lib)->traits |= POD_IMAGE_FLAWED;
}

static void *take(png_structp lib, png_alloc_size_t bytes)
{
    void *p = bytes <= MAX_PIECE_BYTES ? malloc(bytes) : NULL;
    if (!p && bytes <= MAX_PIECE_BYTES) ((pod_png *)png_get_mem_ptr(lib))->status = POD_E_NOMEM;
    return p;
}

static void give_back(png_structp lib, void *p)
{
    (void)lib;
    free(p);
}

static void read_bytes(png_structp lib, png_bytep to, size_t bytes)
{
    pod_png *p = png_get_io_ptr(lib);
    if (bytes > p->n_left) png_error(lib, "cut short: the PNG file ends within a chunk");
    memcpy(to, p->file, bytes);
    p->file += bytes;
    p->n_left -= bytes;
}

/* ---- decoding, where a longjmp may leave ----------------------------------------------------- */

static bool refuse(pod_png *p, pod_status status, const char *why)
{
    p->status = status;
    snprintf(p->why, sizeof p->why, "%s", why);
    return false;
}

static bool check_header(pod_png *p, const pod_image_want *want)
{
    const int64_t height = png_get_image_height(p->lib, p->info);
    const int64_t width = png_get_image_width(p->lib, p->info);
    if (height * width > POD_IMAGE_MAX_PIXELS) {
        snprintf(p->why, sizeof p->why,
                 "%" PRId64 " x %" PRId64 " pixels, at most %" PRId64 " are decoded", height, width,
                 POD_IMAGE_MAX_PIXELS);
        return false;
    }
    const bool is_grey = !(png_get_color_type(p->lib, p->info) & PNG_COLOR_MASK_COLOR);
    if (!is_grey || want->channels == 1) return true;
    p->traits |= POD_IMAGE_FROM_GREY;
    return want->convert || refuse(p, POD_E_FORMAT, POD_IMAGE_IS_GREY);
}

/* To 8 bits a channel: grey or RGB, with alpha where anything may be transparent. */
static void ask_for_bytes(pod_png *p, const pod_image_want *want)
{
    if (png_get_bit_depth(p->lib, p->info) == 16) p->traits |= POD_IMAGE_FROM_16_BIT;
    png_set_expand(p->lib);
    png_set_scale_16(p->lib);
    if (want->channels == 3) png_set_gray_to_rgb(p->lib);
}

static bool grow(pod_png *p, size_t bytes)
{
    if (bytes <= p->room) return true;
    free(p->pixels);
    p->pixels = malloc(bytes);
    p->room = p->pixels ? bytes : 0;
    return p->pixels || refuse(p, POD_E_NOMEM, "no memory for its pixels");
}

static bool read_rows(pod_png *p)
{
    const int n_passes = png_set_interlace_handling(p->lib);
    png_read_update_info(p->lib, p->info);
    const size_t row = png_get_rowbytes(p->lib, p->info);
    const png_uint_32 height = png_get_image_height(p->lib, p->info);
    p->n_channels = png_get_channels(p->lib, p->info);
    if (!grow(p, row * height)) return false;
    for (int pass = 0; pass < n_passes; pass++)
        for (png_uint_32 y = 0; y < height; y++) png_read_row(p->lib, p->pixels + row * y, NULL);
    png_read_end(p->lib, p->info);
    return true;
}

/* In place: what is written never lies behind what is still to be read. */
static void convert_pixels(pod_png *p, int64_t count, int channels)
{
    const int n = p->n_channels, n_colours = n - !(n & 1);
    if (n == channels) return;
    const uint8_t *in = p->pixels;
    for (uint8_t *out = p->pixels; count > 0; count--, in += n, out += channels) {
        const int alpha = n & 1 ? 255 : in[n - 1];
        int colour[3] = {0};
        if (alpha < 255) p->traits |= POD_IMAGE_ON_WHITE;
        for (int c = 0; c < n_colours; c++)
            colour[c] = (in[c] * alpha + 255 * (255 - alpha) + 127) / 255;
        if (channels == n_colours)
            for (int c = 0; c < channels; c++) out[c] = (uint8_t)colour[c];
        else /* ITU-R BT.601, as libjpeg makes colour grey */
            out[0] = (uint8_t)((299 * colour[0] + 587 * colour[1] + 114 * colour[2] + 500) / 1000);
    }
}

static int orientation_of(const pod_png *p)
{
    png_uint_32 bytes = 0;
    png_bytep exif = NULL;
    if (!png_get_eXIf_1(p->lib, p->info, &bytes, &exif)) return 1;
    return pod__exif_orientation(exif, bytes);
}

static bool decode(pod_png *p, const pod_image_want *want, pod_image *out)
{
    p->lib = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, p, fail, hear, p, take, give_back);
    p->info = p->lib ? png_create_info_struct(p->lib) : NULL;
    if (!p->info) return refuse(p, POD_E_NOMEM, "no memory for a PNG decoder");
    png_set_read_fn(p->lib, p, read_bytes);
    png_read_info(p->lib, p->info);
    if (!check_header(p, want)) return false;
    ask_for_bytes(p, want);
    if (!read_rows(p)) return false;
    const int64_t height = png_get_image_height(p->lib, p->info);
    const int64_t width = png_get_image_width(p->lib, p->info);
    convert_pixels(p, height * width, want->channels);
    *out = (pod_image){.pixels = p->pixels,
                       .height = height,
                       .width = width,
                       .file_height = height,
                       .file_width = width,
                       .orientation = orientation_of(p),
                       .traits = p->traits};
    return true;
}

/* ---- the interface --------------------------------------------------------------------------- */

pod_status pod_png_create(pod_png **out)
{
    pod_png *p = calloc(1, sizeof *p);
    if (!p) return pod_fail(POD_E_NOMEM, "no memory for a PNG decoder");
    *out = p;
    return POD_OK;
}

void pod_png_destroy(pod_png *p)
{
    if (!p) return;
    free(p->pixels);
    free(p);
}

static bool try_to_decode(pod_png *p, const pod_image_want *want, pod_image *out)
{
    return setjmp(p->back) == 0 && decode(p, want, out);
}

pod_status pod_png_decode(pod_png *p, const uint8_t *file, size_t bytes, const pod_image_want *want,
                          pod_image *out)
{
    p->file = file;
    p->n_left = bytes;
    p->status = POD_E_FORMAT;
    p->traits = 0;
    const bool is_whole = try_to_decode(p, want, out);
    png_destroy_read_struct(&p->lib, &p->info, NULL);
    return is_whole ? POD_OK : pod_fail(p->status, "%s", p->why);
}
