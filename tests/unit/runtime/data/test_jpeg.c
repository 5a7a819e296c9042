/* The JPEG decoder on files made here, whole and damaged at every place; the resizer against its
 * definition, summed in double precision. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/data/import/decode.h"
#include "runtime/data/import/resize.h"
#include "tests/harness/harness.h"
#include "tests/tools/jpegs.h"

static const pod_image_want any_size = {.channels = 3, .least_height = 1, .least_width = 1};

static pod_image_decoder *decoder;

static int open_decoder(void) { return pod__image_decoder_create(&decoder) == POD_OK ? 0 : 1; }
static int close_decoder(void)
{
    pod__image_decoder_destroy(decoder);
    return 0;
}

/* Lives until the running test ends. */
static uint8_t *made_file(const pod_test_jpeg *made, size_t *bytes)
{
    uint8_t *file = pod_test_jpeg_make(made, bytes);
    pod_test_at_end(free, file);
    return file;
}

/* ---- the decoder ----------------------------------------------------------------------------- */

/* Both halves, without the columns at the border between them. */
static void check_halves(const pod_image *image, int channels, const uint8_t left[],
                         const uint8_t right[])
{
    for (int64_t y = 0; y < image->height; y++)
        for (int64_t x = 0; x < image->width; x++) {
            if (llabs(2 * x - image->width) <= 8) continue;
            const uint8_t *want = 2 * x < image->width ? left : right;
            const uint8_t *got = image->pixels + (y * image->width + x) * channels;
            for (int c = 0; c < channels; c++)
                POD_CHECK(abs(got[c] - want[c]) <= 4, "%d x %d, channel %d: %d, want %d", (int)y,
                          (int)x, c, got[c], want[c]);
        }
}

static void decodes_and_reduces(void)
{
    static const struct {
        int height, width;
        int64_t least, out_height, out_width;
    } cases[] = {{64, 64, 64, 64, 64},   {64, 64, 65, 64, 64},   {64, 64, 33, 64, 64},
                 {64, 64, 32, 32, 32},   {200, 304, 50, 50, 76}, {203, 300, 25, 26, 38},
                 {203, 300, 26, 26, 38}, {203, 300, 27, 51, 75}, {33, 32, 1, 5, 4}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        const pod_test_jpeg made = {.height = cases[i / 2].height,
                                    .width = cases[i / 2].width,
                                    .components = 3,
                                    .is_progressive = i % 2 == 1,
                                    .left = {250, 10, 30},
                                    .right = {20, 90, 200}};
        const int64_t least = cases[i / 2].least;
        const pod_image_want want = {.channels = 3, .least_height = least, .least_width = least};
        pod_image image = {0};
        size_t bytes;
        uint8_t *file = made_file(&made, &bytes);
        POD_CHECK_OK(pod__image_decode(decoder, file, bytes, &want, &image));
        POD_CHECK(image.height == cases[i / 2].out_height && image.width == cases[i / 2].out_width,
                  "case %zu: %d x %d", i / 2, (int)image.height, (int)image.width);
        CU_ASSERT(image.file_height == made.height && image.file_width == made.width);
        CU_ASSERT(image.traits == (made.is_progressive ? POD_IMAGE_PROGRESSIVE : 0));
        check_halves(&image, 3, made.left, made.right);
    }
}

/* ITU-R BT.601: 0.299 R + 0.587 G + 0.114 B. */
static void colours(void)
{
    const pod_test_jpeg colour = {
        .height = 32, .width = 48, .components = 3, .left = {255, 0, 0}, .right = {0, 255, 0}};
    const pod_test_jpeg grey = {
        .height = 32, .width = 48, .components = 1, .left = {30}, .right = {200}};
    const pod_test_jpeg cmyk = {.height = 32, .width = 48, .components = 4, .left = {9, 8, 7, 6}};
    const pod_image_want want_grey = {.channels = 1, .least_height = 32, .least_width = 48};
    const pod_image_want want_colour = {.channels = 3, .least_height = 32, .least_width = 48};
    const uint8_t red[] = {76}, green[] = {150};
    pod_image image = {0};
    size_t n[3];
    uint8_t *file[3] = {made_file(&colour, &n[0]), made_file(&grey, &n[1]),
                        made_file(&cmyk, &n[2])};
    POD_CHECK_OK(pod__image_decode(decoder, file[0], n[0], &want_grey, &image));
    check_halves(&image, 1, red, green);
    POD_CHECK_OK(pod__image_decode(decoder, file[1], n[1], &want_grey, &image));
    check_halves(&image, 1, grey.left, grey.right);
    POD_CHECK_FAILS(pod__image_decode(decoder, file[1], n[1], &want_colour, &image), POD_E_FORMAT,
                    "grey, need colour");
    POD_CHECK_FAILS(pod__image_decode(decoder, file[2], n[2], &want_colour, &image), POD_E_FORMAT,
                    "CMYK, need RGB or grey");
    POD_CHECK_OK(pod__image_decode(decoder, file[0], n[0], &want_colour, &image)); /* it goes on */
    check_halves(&image, 3, colour.left, colour.right);
}

/* Adobe's marker: ff ee, its length in 2 bytes, "Adobe", then 6 bytes and the transform. */
static uint8_t *adobe_of(uint8_t *file, size_t bytes)
{
    for (size_t i = 2; i + 16 < bytes; i++)
        if (file[i] == 0xff && file[i + 1] == 0xee && memcmp(file + i + 4, "Adobe", 5) == 0)
            return file + i;
    return NULL;
}

/* With Adobe's marker c * k / 255 of what is stored; without it (255 - c) (255 - k) / 255. */
static void converts(void)
{
    enum { CMYK, YCCK, NO_ADOBE, N_KINDS };
    const pod_test_jpeg grey = {
        .height = 32, .width = 48, .components = 1, .left = {30}, .right = {200}};
    const pod_test_jpeg cmyk = {.height = 32,
                                .width = 48,
                                .components = 4,
                                .left = {250, 100, 10, 200},
                                .right = {40, 128, 128, 255}};
    static const uint8_t left[N_KINDS][3] = {
        {196, 78, 8}, /* 250 * 200 / 255, 100 * 200 / 255, 10 * 200 / 255 */
        {133, 0, 43}, /* light 84.6, 343.9, 200.4: ink 170, 0, 55, by 200 / 255 */
        {1, 33, 53}}; /* 5 * 55 / 255, 155 * 55 / 255, 245 * 55 / 255 */
    static const uint8_t right[N_KINDS][3] = {{40, 128, 128}, {215, 215, 215}, {0, 0, 0}};
    pod_image image = {0};
    pod_image_want want = {.channels = 3, .convert = true, .least_height = 32, .least_width = 48};
    size_t n;
    uint8_t *file = made_file(&grey, &n);
    POD_CHECK_OK(pod__image_decode(decoder, file, n, &want, &image));
    check_halves(&image, 3, (uint8_t[]){30, 30, 30}, (uint8_t[]){200, 200, 200});
    CU_ASSERT(image.traits == POD_IMAGE_FROM_GREY);
    want.channels = 1;
    POD_CHECK_OK(pod__image_decode(decoder, file, n, &want, &image));
    CU_ASSERT(image.traits == 0);
    for (int kind = 0; kind < N_KINDS; kind++) {
        file = made_file(&cmyk, &n);
        uint8_t *adobe = adobe_of(file, n);
        CU_ASSERT_FATAL(adobe != NULL);
        if (kind == YCCK) adobe[15] = 2;
        if (kind == NO_ADOBE) adobe[1] = 0xed; /* another marker, which nobody reads */
        want.channels = 3;
        POD_CHECK_OK(pod__image_decode(decoder, file, n, &want, &image));
        check_halves(&image, 3, left[kind], right[kind]);
        CU_ASSERT(image.traits == POD_IMAGE_FROM_CMYK);
        want.channels = 1;
        POD_CHECK_OK(pod__image_decode(decoder, file, n, &want, &image));
        uint8_t y[2];
        for (int side = 0; side < 2; side++) {
            const uint8_t *c = side ? right[kind] : left[kind];
            y[side] = (uint8_t)(0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2] + 0.5);
        }
        check_halves(&image, 1, &y[0], &y[1]);
        want.convert = false;
        POD_CHECK_FAILS(pod__image_decode(decoder, file, n, &want, &image), POD_E_FORMAT,
                        "CMYK, need RGB or grey");
        want.convert = true;
    }
}

/* A file cut anywhere is refused, and the decoder serves the next one. */
static void cut_anywhere(void)
{
    for (int progressive = 0; progressive < 2; progressive++) {
        const pod_test_jpeg made = {.height = 40,
                                    .width = 40,
                                    .components = 3,
                                    .is_progressive = progressive == 1,
                                    .left = {250, 10, 30}};
        size_t bytes;
        pod_image image = {0};
        uint8_t *file = made_file(&made, &bytes);
        for (size_t n = 0; n < bytes; n++) {
            uint8_t *part = malloc(n ? n : 1); /* exactly as long, for the sanitizer */
            if (!part) break;
            memcpy(part, file, n);
            POD_CHECK(pod__image_decode(decoder, part, n, &any_size, &image) == POD_E_FORMAT,
                      "%zu of %zu bytes are an image", n, bytes);
            free(part);
        }
        POD_CHECK_OK(pod__image_decode(decoder, file, bytes, &any_size, &image));
    }
}

/* `more` bytes of `filler` stand before the last marker, or before the first scan. */
static uint8_t *with_filler(const uint8_t *file, size_t bytes, size_t at, size_t more, int filler)
{
    uint8_t *out = malloc(bytes + more);
    if (!out) abort();
    pod_test_at_end(free, out);
    memcpy(out, file, at);
    memset(out + at, filler, more);
    memcpy(out + at + more, file + at, bytes - at);
    return out;
}

/* Bytes that nobody reads spoil no pixel; cut short is cut short, with or without them. */
static void bytes_that_nobody_reads(void)
{
    const pod_test_jpeg made = {
        .height = 40, .width = 48, .components = 3, .left = {250, 10, 30}, .right = {20, 90, 200}};
    pod_image image = {0};
    size_t bytes;
    uint8_t *file = made_file(&made, &bytes);
    for (int i = 0; i < 4; i++) {
        static const size_t more[] = {20, 300, 50, 64};
        const size_t at = i == 3 ? 20 : bytes - 2; /* behind APP0, or before the end of image */
        uint8_t *filled = with_filler(file, bytes, at, more[i], i == 2 ? 0x55 : 0);
        POD_CHECK_OK(pod__image_decode(decoder, filled, bytes + more[i], &any_size, &image));
        CU_ASSERT(image.traits == POD_IMAGE_FLAWED);
        const pod_image_want whole = {.channels = 3, .least_height = 40, .least_width = 48};
        POD_CHECK_OK(pod__image_decode(decoder, filled, bytes + more[i], &whole, &image));
        check_halves(&image, 3, made.left, made.right);
        POD_CHECK_FAILS(pod__image_decode(decoder, filled, bytes + more[i] - 2, &any_size, &image),
                        POD_E_FORMAT, "Premature end");
    }
    POD_CHECK_OK(pod__image_decode(decoder, file, bytes, &any_size, &image));
    CU_ASSERT(image.traits == 0); /* it forgets the last one's */
}

/* Reduced by 8, 4 or 2, an image of odd size keeps its right edge: the last column is of what
 * stands there, not of a rest that was cut off or padded with black. */
static void right_edges_stay(void)
{
    for (int width = 57; width <= 72; width++)
        for (int64_t least = 8; least <= 32; least *= 2) {
            const pod_test_jpeg made = {.height = 65,
                                        .width = width,
                                        .components = 3,
                                        .left = {10, 20, 30},
                                        .right = {250, 240, 230}};
            const pod_image_want want = {.channels = 3, .least_height = least, .least_width = 1};
            pod_image image = {0};
            size_t bytes;
            uint8_t *file = made_file(&made, &bytes);
            POD_CHECK_OK(pod__image_decode(decoder, file, bytes, &want, &image));
            const uint8_t *last = image.pixels + 3 * (image.height * image.width - 1);
            for (int c = 0; c < 3; c++)
                POD_CHECK(abs(last[c] - made.right[c]) <= 4, "%d wide: %d in the last column",
                          width, last[c]);
        }
}

/* Behind the start of frame stand 1 byte of precision and 2 each of height and width. */
static uint8_t *frame_of(uint8_t *file, size_t bytes)
{
    for (size_t i = 2; i + 9 < bytes; i++)
        if (file[i] == 0xff && (file[i + 1] == 0xc0 || file[i + 1] == 0xc2)) return file + i + 4;
    return NULL;
}

static void refuses(void)
{
    const pod_test_jpeg made = {.height = 40, .width = 40, .components = 3};
    pod_image image = {0};
    size_t bytes;
    uint8_t *file = made_file(&made, &bytes), *frame = frame_of(file, bytes);
    if (!frame) return;
    memset(frame + 1, 0xf0, 4);
    POD_CHECK_FAILS(pod__image_decode(decoder, file, bytes, &any_size, &image), POD_E_FORMAT,
                    "61680 x 61680 pixels, at most 67108864");
    frame[0] = 12;
    POD_CHECK_FAILS(pod__image_decode(decoder, file, bytes, &any_size, &image), POD_E_FORMAT,
                    "precision");
}

/* Whether a file is whole does not depend on the size at which it is to come out: so that the
 * cheapest decoding can tell. */
static void damaged_at_any_size(void)
{
    static const pod_image_want large = {.channels = 3, .least_height = 99, .least_width = 99};
    int n_good = 0;
    for (int round = 0; round < 600; round++) {
        const pod_test_jpeg made = {.height = 70,
                                    .width = 90,
                                    .components = 3,
                                    .is_progressive = round % 2 == 1,
                                    .left = {250, 10, 30},
                                    .right = {20, 90, 200}};
        size_t bytes;
        pod_image image = {0};
        uint8_t *file = made_file(&made, &bytes);
        file[(size_t)(20 + round * 7919 % ((int)bytes - 20))] ^= (uint8_t)(1 << round % 8);
        const pod_status s = pod__image_decode(decoder, file, bytes, &large, &image);
        n_good += s == POD_OK;
        POD_CHECK(pod__image_decode(decoder, file, bytes, &any_size, &image) == s,
                  "round %d: %s at its size: %s", round, pod_status_name(s), pod_error_text());
    }
    POD_CHECK(n_good > 50 && n_good < 550, "%d of 600 are good", n_good);
}

static int64_t address_bytes(void)
{
    long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f) return 0;
    if (fscanf(f, "%lld", &pages) != 1) pages = 0;
    fclose(f);
    return pages * 4096;
}

/* A good image for which there is no memory is none the worse for it. A progressive file keeps all
 * of its coefficients: 2 bytes a pixel here. */
static void no_memory(void)
{
    const pod_test_jpeg made = {
        .height = 6000, .width = 6000, .components = 1, .is_progressive = true, .left = {99}};
    static const pod_image_want want = {.channels = 1, .least_height = 1, .least_width = 1};
    pod_image image = {0};
    size_t bytes;
    uint8_t *file = made_file(&made, &bytes);
    /* the library's own limit, in thousands of bytes */
    setenv("JPEGMEM", "1000", 1);
    POD_CHECK_FAILS(pod__image_decode(decoder, file, bytes, &want, &image), POD_E_NOMEM,
                    "Backing store");
    unsetenv("JPEGMEM");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they need all addresses */
    struct rlimit old, tight;
    getrlimit(RLIMIT_AS, &old);
    tight = old;
    tight.rlim_cur = (rlim_t)(address_bytes() + (16 << 20));
    setrlimit(RLIMIT_AS, &tight);
    POD_CHECK_FAILS(pod__image_decode(decoder, file, bytes, &want, &image), POD_E_NOMEM,
                    "Insufficient memory");
    setrlimit(RLIMIT_AS, &old);
#endif
    POD_CHECK_OK(pod__image_decode(decoder, file, bytes, &want, &image)); /* it goes on */
}

/* ---- resizing -------------------------------------------------------------------------------- */

static double triangle(double from, double to, int64_t at, int64_t i)
{
    const double scale = from / to, reach = scale > 1 ? scale : 1;
    const double w = 1 - fabs((double)i + 0.5 - ((double)at + 0.5) * scale) / reach;
    return w > 0 ? w : 0;
}

/* One value of the result, straight from the definition: both directions at once. */
static double by_definition(const pod_resize_args *a, int64_t y, int64_t x, int64_t c)
{
    double sum = 0, weights = 0;
    for (int64_t i = 0; i < a->box.height; i++)
        for (int64_t k = 0; k < a->box.width; k++) {
            const double w = triangle((double)a->box.height, (double)a->out_height, y, i) *
                             triangle((double)a->box.width, (double)a->out_width,
                                      a->mirror ? a->out_width - 1 - x : x, k);
            sum += w * a->in[((a->box.y + i) * a->in_width + a->box.x + k) * a->channels + c];
            weights += w;
        }
    return sum / weights;
}

enum { H = 29, W = 37, MAX_OUT = 64 * 64 * 3 };

static void check_resize(pod_resize_args a)
{
    const size_t bytes = (size_t)(a.out_height * a.out_width * a.channels);
    const size_t scratch =
        pod_resize_scratch_bytes(a.box.height, a.box.width, a.out_height, a.out_width, a.channels);
    a.out = pod_test_guard(bytes);
    a.scratch = pod_test_guard(scratch);
    pod_resize(&a);
    for (int64_t y = 0; y < a.out_height; y++)
        for (int64_t x = 0; x < a.out_width; x++)
            for (int64_t c = 0; c < a.channels; c++) {
                const double want = by_definition(&a, y, x, c);
                const int got = a.out[(y * a.out_width + x) * a.channels + c];
                /* half a step of rounding, and that of the sums in float32 */
                POD_CHECK(fabs(got - want) <= 0.5 + 1e-3, "%dx%d to %dx%d: %d, want %.4f",
                          (int)a.box.height, (int)a.box.width, (int)a.out_height, (int)a.out_width,
                          got, want);
            }
    pod_test_guard_free(a.out, bytes);
    pod_test_guard_free(a.scratch, scratch);
}

static void resizes(void)
{
    static const pod_box boxes[] = {
        {0, 0, H, W}, {3, 5, 16, 16}, {3, 5, 17, 11}, {28, 36, 1, 1}, {0, 30, 29, 1}};
    static const int64_t sizes[][2] = {{16, 16}, {8, 8}, {1, 1}, {29, 37}, {7, 13}, {40, 3}};
    uint8_t *in = pod_test_guard((size_t)H * W * 3);
    pod_test_fill_exact(4, (int64_t)H * W * 3, 255, POD_U8, in);
    for (size_t b = 0; b < sizeof boxes / sizeof boxes[0]; b++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            check_resize((pod_resize_args){.in = in,
                                           .in_width = W,
                                           .channels = 3,
                                           .box = boxes[b],
                                           .out_height = sizes[s][0],
                                           .out_width = sizes[s][1],
                                           .mirror = s % 2 == 1});
    pod_test_guard_free(in, (size_t)H * W * 3);
}

/* The same size keeps every bit; one colour stays at any size. */
static void keeps(void)
{
    static uint8_t in[H * W], out[MAX_OUT], scratch[1 << 16];
    pod_test_fill_exact(5, (int64_t)H * W, 255, POD_U8, in);
    pod_resize_args a = {.in = in,
                         .in_width = W,
                         .channels = 1,
                         .box = {0, 0, H, W},
                         .out = out,
                         .out_height = H,
                         .out_width = W,
                         .scratch = scratch};
    pod_resize(&a);
    CU_ASSERT(memcmp(in, out, sizeof in) == 0);
    for (int colour = 0; colour < 256; colour += 51)
        for (a.out_height = 1; a.out_height <= 64; a.out_height += 9) {
            memset(in, colour, sizeof in);
            a.out_width = 65 - a.out_height;
            pod_resize(&a);
            for (int64_t i = 0; i < a.out_height * a.out_width; i++) CU_ASSERT(out[i] == colour);
        }
}

static void boxes_in_the_middle(void)
{
    static const struct {
        int64_t image[2], shape[2];
        pod_box want;
    } cases[] = {
        {{100, 100}, {64, 64}, {0, 0, 100, 100}},  {{400, 533}, {64, 64}, {0, 66, 400, 400}},
        {{533, 400}, {32, 32}, {66, 0, 400, 400}}, {{100, 100}, {48, 64}, {12, 0, 75, 100}},
        {{1, 1000}, {64, 64}, {0, 499, 1, 1}},     {{1000, 2}, {1, 64}, {499, 0, 1, 2}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pod_box b = pod_box_centre(cases[i].image[0], cases[i].image[1], cases[i].shape[0],
                                         cases[i].shape[1]);
        POD_CHECK(memcmp(&b, &cases[i].want, sizeof b) == 0, "case %zu: %d+%d, %d+%d", i, (int)b.y,
                  (int)b.height, (int)b.x, (int)b.width);
    }
}

POD_TEST_SUITE_WITH("runtime.jpeg", open_decoder, close_decoder,
                    {"decodes_and_reduces", decodes_and_reduces}, {"colours", colours},
                    {"converts", converts}, {"cut_anywhere", cut_anywhere},
                    {"damaged_at_any_size", damaged_at_any_size}, {"no_memory", no_memory},
                    {"bytes_that_nobody_reads", bytes_that_nobody_reads},
                    {"right_edges_stay", right_edges_stay}, {"refuses", refuses},
                    {"resizes", resizes}, {"keeps", keeps},
                    {"boxes_in_the_middle", boxes_in_the_middle});
