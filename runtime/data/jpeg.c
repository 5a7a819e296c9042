#include "runtime/data/jpeg.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>
/* behind jpeglib.h, which it needs */
#include <jerror.h>

/* A progressive file passes over the whole image once a scan, however few bytes the scan has. */
#define MAX_SCANNED_PIXELS ((int64_t)1 << 30)

struct pod_jpeg {
    struct jpeg_decompress_struct lib;
    struct jpeg_error_mgr error;
    struct jpeg_progress_mgr progress;
    jmp_buf back; /* where a failure of the library goes on */
    char why[JMSG_LENGTH_MAX];
    pod_status status; /* of that failure */
    uint8_t *pixels;
    size_t room; /* bytes */
    bool is_progressive;
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

/* Level -1 is a warning: the data are damaged. Others are traces. */
static void hear(j_common_ptr lib, int level)
{
    if (level < 0) leave(lib);
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

static bool check_colour(pod_jpeg *j, const pod_jpeg_want *want)
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
    return want->channels == 1 || want->convert ||
           refuse(j, POD_E_FORMAT, "grey, need colour (--convert-colour makes it that)");
}

static bool check_header(pod_jpeg *j, const pod_jpeg_want *want)
{
    const struct jpeg_decompress_struct *d = &j->lib;
    const int64_t pixels = (int64_t)d->image_width * d->image_height;
    if (pixels > POD_JPEG_MAX_PIXELS) {
        snprintf(j->why, sizeof j->why, "%u x %u pixels, at most %" PRId64 " are decoded",
                 d->image_height, d->image_width, POD_JPEG_MAX_PIXELS);
        return false;
    }
    return check_colour(j, want);
}

/* The smallest of the reductions that the library has fast code for. */
static void choose_scale(struct jpeg_decompress_struct *d, const pod_jpeg_want *want)
{
    for (unsigned eighths = 1; eighths <= 8; eighths *= 2) {
        d->scale_num = eighths;
        d->scale_denom = 8;
        jpeg_calc_output_dimensions(d);
        if (d->output_height >= want->least_height && d->output_width >= want->least_width) return;
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

static bool decode(pod_jpeg *j, const uint8_t *file, size_t bytes, const pod_jpeg_want *want)
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
    j->is_progressive = jpeg_has_multiple_scans(d) != 0;
    jpeg_finish_decompress(d);
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
                           const pod_jpeg_want *want, pod_jpeg_image *out)
{
    if (bytes < 3 || file[0] != 0xff || file[1] != 0xd8 || file[2] != 0xff)
        return pod_fail(POD_E_FORMAT, "no JPEG file");
    j->status = POD_E_FORMAT;
    if (setjmp(j->back)) return give_up(j);
    if (!decode(j, file, bytes, want)) return give_up(j);
    *out = (pod_jpeg_image){.pixels = j->pixels,
                            .height = j->lib.output_height,
                            .width = j->lib.output_width,
                            .file_height = j->lib.image_height,
                            .file_width = j->lib.image_width,
                            .is_progressive = j->is_progressive,
                            .is_from_grey =
                                want->channels == 3 && j->lib.jpeg_color_space == JCS_GRAYSCALE,
                            .is_from_cmyk = is_cmyk(j->lib.jpeg_color_space)};
    return POD_OK;
}
