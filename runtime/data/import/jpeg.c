#include "runtime/data/import/jpeg.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
/* behind jpeglib.h, which it needs */
#include <jerror.h>

#include "runtime/data/import/exif.h"

/* A progressive file passes over the whole image once a scan, however few bytes the scan has. */
#define MAX_SCANNED_PIXELS ((int64_t)1 << 30)

enum { MAX_MARKER_BYTES = 0xffff };

struct pod_jpeg {
    struct jpeg_decompress_struct lib;
    struct jpeg_error_mgr error;
    struct jpeg_progress_mgr progress;
    jmp_buf back; /* where a failure of the library goes on */
    char why[JMSG_LENGTH_MAX];
    pod_status status; /* of that failure */
    uint8_t *pixels;
    size_t room; /* bytes */
    bool is_flawed;
};

static pod_jpeg *of(j_common_ptr lib) { return lib->client_data; }

/* ---- what the library calls ------------------------------------------------------------------ */

/* Of this process, not of the image. */
static bool is_of_memory(int code)
{
    return code == JERR_OUT_OF_MEMORY || code == JERR_NO_BACKING_STORE;
}

static void leave(j_common_ptr lib)
{
    pod_jpeg *j = of(lib);
    if (is_of_memory(lib->err->msg_code)) j->status = POD_E_NOMEM;
    j->error.format_message(lib, j->why);
    longjmp(j->back, 1);
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
    of(lib)->is_flawed = true;
}

static void stay_silent(j_common_ptr lib) { (void)lib; }

static void count_scans(j_common_ptr lib)
{
    const struct jpeg_decompress_struct *d = &of(lib)->lib;
    const int64_t pixels = (int64_t)d->image_width * d->image_height;
    if (!lib->is_decompressor || d->input_scan_number <= MAX_SCANNED_PIXELS / pixels) return;
    snprintf(of(lib)->why, sizeof of(lib)->why, "%d scans over %u x %u pixels",
             d->input_scan_number, d->image_height, d->image_width);
    longjmp(of(lib)->back, 1);
}

/* ---- decoding, where a longjmp may leave ----------------------------------------------------- */

static bool refuse(pod_jpeg *j, pod_status status, const char *why)
{
    j->status = status;
    snprintf(j->why, sizeof j->why, "%s", why);
    return false;
}

static bool is_cmyk(J_COLOR_SPACE space) { return space == JCS_CMYK || space == JCS_YCCK; }

static bool check_colour(pod_jpeg *j, const pod_image_want *want)
{
    const J_COLOR_SPACE space = j->lib.jpeg_color_space;
    if (space == JCS_YCbCr || space == JCS_RGB || (is_cmyk(space) && want->convert)) return true;
    if (is_cmyk(space))
        return refuse(j, POD_E_FORMAT, "CMYK, need RGB or grey (--convert-colour makes it that)");
    if (space != JCS_GRAYSCALE) {
        snprintf(j->why, sizeof j->why, "%d colour components, need RGB or grey",
                 j->lib.num_components);
        return false;
    }
    return want->channels == 1 || want->convert || refuse(j, POD_E_FORMAT, POD_IMAGE_IS_GREY);
}

static bool check_header(pod_jpeg *j, const pod_image_want *want)
{
    const struct jpeg_decompress_struct *d = &j->lib;
    const int64_t pixels = (int64_t)d->image_width * d->image_height;
    if (pixels > POD_IMAGE_MAX_PIXELS) {
        snprintf(j->why, sizeof j->why, "%u x %u pixels, at most %" PRId64 " are decoded",
                 d->image_height, d->image_width, POD_IMAGE_MAX_PIXELS);
        return false;
    }
    return check_colour(j, want);
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
static void choose_scale(struct jpeg_decompress_struct *d, const pod_image_want *want)
{
    const bool is_sideways = orientation_of(d) >= 5;
    const int64_t least_height = is_sideways ? want->least_width : want->least_height;
    const int64_t least_width = is_sideways ? want->least_height : want->least_width;
    for (unsigned eighths = 1; eighths <= 8; eighths *= 2) {
        d->scale_num = eighths;
        d->scale_denom = 8;
        jpeg_calc_output_dimensions(d);
        if (d->output_height >= least_height && d->output_width >= least_width) return;
    }
}

static bool grow(pod_jpeg *j, size_t bytes)
{
    if (bytes <= j->room) return true;
    free(j->pixels);
    j->pixels = malloc(bytes);
    j->room = j->pixels ? bytes : 0;
    return j->pixels || refuse(j, POD_E_NOMEM, "no memory for its pixels");
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
        if (channels == 3)
            for (int c = 0; c < 3; c++) out[c] = (uint8_t)rgb[c];
        else /* as libjpeg makes colour grey, ITU-R BT.601 */
            out[0] = (uint8_t)((299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
    }
}

/* Of the image that was decoded just now. */
static unsigned traits_of(pod_jpeg *j, const pod_image_want *want)
{
    const J_COLOR_SPACE space = j->lib.jpeg_color_space;
    unsigned traits = j->is_flawed ? POD_IMAGE_FLAWED : 0;
    if (jpeg_has_multiple_scans(&j->lib)) traits |= POD_IMAGE_PROGRESSIVE;
    if (space == JCS_GRAYSCALE && want->channels == 3) traits |= POD_IMAGE_FROM_GREY;
    return is_cmyk(space) ? traits | POD_IMAGE_FROM_CMYK : traits;
}

static bool decode(pod_jpeg *j, const uint8_t *file, size_t bytes, const pod_image_want *want,
                   pod_image *out)
{
    struct jpeg_decompress_struct *d = &j->lib;
    jpeg_mem_src(d, file, (unsigned long)bytes);
    jpeg_read_header(d, TRUE);
    if (!check_header(j, want)) return false;
    const bool has_ink = is_cmyk(d->jpeg_color_space);
    d->out_color_space = has_ink ? JCS_CMYK : want->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    choose_scale(d, want);
    const size_t row = (size_t)d->output_width * (has_ink ? 4 : (size_t)want->channels);
    if (!grow(j, row * d->output_height)) return false;
    jpeg_start_decompress(d);
    while (d->output_scanline < d->output_height) {
        JSAMPROW to = j->pixels + row * d->output_scanline;
        jpeg_read_scanlines(d, &to, 1);
    }
    *out = (pod_image){.pixels = j->pixels,
                       .height = d->output_height,
                       .width = d->output_width,
                       .file_height = d->image_height,
                       .file_width = d->image_width,
                       .orientation = orientation_of(d)};
    const unsigned traits = traits_of(j, want);
    jpeg_finish_decompress(d); /* may note a flaw */
    out->traits = traits | (j->is_flawed ? POD_IMAGE_FLAWED : 0);
    if (has_ink)
        convert_cmyk(j->pixels, (int64_t)d->output_width * d->output_height, want->channels,
                     d->saw_Adobe_marker);
    return true;
}

/* ---- the interface --------------------------------------------------------------------------- */

pod_status pod_jpeg_create(pod_jpeg **out)
{
    pod_jpeg *j = calloc(1, sizeof *j);
    if (!j) return pod_fail(POD_E_NOMEM, "no memory for a JPEG decoder");
    j->lib.err = jpeg_std_error(&j->error);
    j->error.error_exit = leave;
    j->error.emit_message = hear;
    j->error.output_message = stay_silent;
    j->lib.client_data = j;
    if (setjmp(j->back)) {
        free(j);
        return pod_fail(POD_E_NOMEM, "no memory for a JPEG decoder");
    }
    jpeg_create_decompress(&j->lib);
    jpeg_save_markers(&j->lib, JPEG_APP0 + 1, MAX_MARKER_BYTES); /* EXIF */
    j->progress.progress_monitor = count_scans;
    j->lib.progress = &j->progress;
    *out = j;
    return POD_OK;
}

void pod_jpeg_destroy(pod_jpeg *j)
{
    if (!j) return;
    jpeg_destroy_decompress(&j->lib);
    free(j->pixels);
    free(j);
}

static pod_status give_up(pod_jpeg *j)
{
    jpeg_abort_decompress(&j->lib);
    return pod_fail(j->status, "%s", j->why);
}

pod_status pod_jpeg_decode(pod_jpeg *j, const uint8_t *file, size_t bytes,
                           const pod_image_want *want, pod_image *out)
{
    if (bytes < 3 || file[0] != 0xff || file[1] != 0xd8 || file[2] != 0xff)
        return pod_fail(POD_E_FORMAT, "no JPEG file");
    j->status = POD_E_FORMAT;
    j->is_flawed = false;
    if (setjmp(j->back)) return give_up(j);
    return decode(j, file, bytes, want, out) ? POD_OK : give_up(j);
}
