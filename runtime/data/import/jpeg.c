#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jpeglib.h>
/* behind jpeglib.h, which it needs */
#include <jerror.h>

#include "runtime/data/import/codec.h"

/* A progressive file passes over the whole image once a scan, however few bytes the scan has. */
#define MAX_SCANNED_PIXELS ((int64_t)1 << 30)

enum { MAX_MARKER_BYTES = 0xffff };

typedef struct reader {
    struct jpeg_decompress_struct lib;
    struct jpeg_error_mgr error;
    struct jpeg_progress_mgr progress;
    pod__codec *codec;
} reader;

static pod__codec *of(j_common_ptr lib) { return ((reader *)lib->client_data)->codec; }

/* ---- what the library calls ------------------------------------------------------------------ */

static void leave(j_common_ptr lib)
{
    pod__codec *c = of(lib);
    char text[JMSG_LENGTH_MAX];
    const int code = lib->err->msg_code;
    lib->err->format_message(lib, text);
    pod__codec_refuse(
        c, code == JERR_OUT_OF_MEMORY || code == JERR_NO_BACKING_STORE ? POD_E_NOMEM : POD_E_FORMAT,
        "%s", text);
    longjmp(c->back, 1);
}

/* Every pixel was decoded: bytes that nobody reads stand before a marker, or a header has a number
 * that is not known and not needed. */
static bool is_harmless(int code)
{
    return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR;
}

/* Level -1 is a warning: most say that the data are damaged. Others are traces. */
static void hear(j_common_ptr lib, int level)
{
    if (level >= 0) return;
    if (!is_harmless(lib->err->msg_code)) leave(lib);
    of(lib)->traits |= POD_IMAGE_FLAWED;
}

static void count_scans(j_common_ptr lib)
{
    const struct jpeg_decompress_struct *d = &((reader *)lib->client_data)->lib;
    const int64_t pixels = (int64_t)d->image_width * d->image_height;
    if (d->input_scan_number <= MAX_SCANNED_PIXELS / pixels) return;
    pod__codec_refuse(of(lib), POD_E_FORMAT, "%d scans over %u x %u pixels", d->input_scan_number,
                      d->image_height, d->image_width);
    longjmp(of(lib)->back, 1);
}

/* ---- decoding, where a longjmp may leave ----------------------------------------------------- */

static bool is_cmyk(J_COLOR_SPACE space) { return space == JCS_CMYK || space == JCS_YCCK; }

static bool check_header(reader *r, const pod_image_want *want)
{
    const struct jpeg_decompress_struct *d = &r->lib;
    const J_COLOR_SPACE space = d->jpeg_color_space;
    if (!pod__codec_check(r->codec, d->image_height, d->image_width, space == JCS_GRAYSCALE, want))
        return false;
    if (is_cmyk(space) && !want->convert)
        return pod__codec_refuse(r->codec, POD_E_FORMAT,
                                 "CMYK, need RGB or grey (--convert-colour makes it that)");
    return is_cmyk(space) || space == JCS_YCbCr || space == JCS_RGB || space == JCS_GRAYSCALE ||
           pod__codec_refuse(r->codec, POD_E_FORMAT, "%d colour components, need RGB or grey",
                             d->num_components);
}

static int orientation_of(const struct jpeg_decompress_struct *d)
{
    static const char head[] = "Exif\0"; /* and one more zero, the string's own */
    for (jpeg_saved_marker_ptr m = d->marker_list; m; m = m->next)
        if (m->data_length > sizeof head && memcmp(m->data, head, sizeof head) == 0)
            return pod__exif_orientation(m->data + sizeof head, m->data_length - sizeof head);
    return 1;
}

/* The smallest of the reductions that the library has fast code for. */
static void choose_scale(struct jpeg_decompress_struct *d, int orientation,
                         const pod_image_want *want)
{
    const bool is_sideways = orientation >= 5;
    const int64_t least_height = is_sideways ? want->least_width : want->least_height;
    const int64_t least_width = is_sideways ? want->least_height : want->least_width;
    for (unsigned eighths = 1; eighths <= 8; eighths *= 2) {
        d->scale_num = eighths;
        d->scale_denom = 8;
        jpeg_calc_output_dimensions(d);
        if (d->output_height >= least_height && d->output_width >= least_width) return;
    }
}

/* Times a share of 255, rounded. */
static int share(int value, int of_255) { return (value * of_255 + 127) / 255; }

/* In place: what is written lies behind what was read. Light is what neither the colour's ink nor
 * the black one takes. Adobe's programs, which make nearly all such files, store 255 for no ink. */
static void convert_cmyk(uint8_t *pixels, int64_t count, int channels, bool is_inverted)
{
    const uint8_t *in = pixels;
    const int flip = is_inverted ? 0 : 255;
    for (uint8_t *out = pixels; count > 0; count--, in += 4, out += channels) {
        const int light = in[3] ^ flip;
        const int rgb[] = {share(in[0] ^ flip, light), share(in[1] ^ flip, light),
                           share(in[2] ^ flip, light)};
        for (int c = 0; c < channels; c++)
            out[c] = channels == 3 ? (uint8_t)rgb[c] : pod__grey_of(rgb);
    }
}

static bool decode(reader *r, const uint8_t *file, size_t bytes, const pod_image_want *want,
                   pod_image *out)
{
    struct jpeg_decompress_struct *d = &r->lib;
    pod__codec *c = r->codec;
    jpeg_create_decompress(d);
    jpeg_save_markers(d, JPEG_APP0 + 1, MAX_MARKER_BYTES); /* EXIF */
    r->progress.progress_monitor = count_scans;
    d->progress = &r->progress;
    jpeg_mem_src(d, file, (unsigned long)bytes);
    jpeg_read_header(d, TRUE);
    if (!check_header(r, want)) return false;
    const bool has_ink = is_cmyk(d->jpeg_color_space);
    d->out_color_space = has_ink ? JCS_CMYK : want->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    c->orientation = orientation_of(d);
    choose_scale(d, c->orientation, want);
    const size_t row = (size_t)d->output_width * (has_ink ? 4 : (size_t)want->channels);
    if (!pod__room_grow(&c->pixels, row * d->output_height))
        return pod__codec_refuse(c, POD_E_NOMEM, "no memory for its pixels");
    uint8_t *pixels = c->pixels.at;
    jpeg_start_decompress(d);
    while (d->output_scanline < d->output_height) {
        JSAMPROW to = pixels + row * d->output_scanline;
        jpeg_read_scanlines(d, &to, 1);
    }
    *out = (pod_image){.height = d->output_height,
                       .width = d->output_width,
                       .file_height = d->image_height,
                       .file_width = d->image_width};
    if (jpeg_has_multiple_scans(d)) c->traits |= POD_IMAGE_PROGRESSIVE;
    if (has_ink) c->traits |= POD_IMAGE_FROM_CMYK;
    jpeg_finish_decompress(d); /* may note a flaw */
    if (has_ink)
        convert_cmyk(pixels, out->height * out->width, want->channels, d->saw_Adobe_marker);
    return true;
}

static bool try_to_decode(reader *r, const uint8_t *file, size_t bytes, const pod_image_want *want,
                          pod_image *out)
{
    return setjmp(r->codec->back) == 0 && decode(r, file, bytes, want, out);
}

bool pod__jpeg_decode(pod__codec *c, const uint8_t *file, size_t bytes, const pod_image_want *want,
                      pod_image *out)
{
    reader r = {.codec = c};
    r.lib.err = jpeg_std_error(&r.error);
    r.error.error_exit = leave;
    r.error.emit_message = hear;
    r.lib.client_data = &r;
    const bool is_whole = try_to_decode(&r, file, bytes, want, out);
    jpeg_destroy_decompress(&r.lib);
    return is_whole;
}
