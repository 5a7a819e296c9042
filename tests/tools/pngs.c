#include "tests/tools/pngs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <png.h>

typedef struct buffer {
    uint8_t *bytes;
    size_t n;
} buffer;

static void add_bytes(png_structp lib, png_bytep from, size_t n)
{
    buffer *b = png_get_io_ptr(lib);
    uint8_t *more = realloc(b->bytes, b->n + n);
    if (!more) abort();
    memcpy(more + b->n, from, n);
    b->bytes = more;
    b->n += n;
}

static void flush_nothing(png_structp lib) { (void)lib; }

static const struct {
    int type, n_samples;
} kinds[POD_TEST_PNG_N_KINDS] = {{PNG_COLOR_TYPE_GRAY, 1},
                                 {PNG_COLOR_TYPE_GRAY_ALPHA, 2},
                                 {PNG_COLOR_TYPE_RGB, 3},
                                 {PNG_COLOR_TYPE_RGB_ALPHA, 4},
                                 {PNG_COLOR_TYPE_PALETTE, 1}};

static void put_palette(png_structp lib, png_infop info, const pod_test_png *what)
{
    const uint8_t *colour[] = {what->left, what->right};
    png_color palette[2];
    png_byte alpha[2];
    for (int i = 0; i < 2; i++) {
        palette[i] = (png_color){colour[i][0], colour[i][1], colour[i][2]};
        alpha[i] = colour[i][3];
    }
    png_set_PLTE(lib, info, palette, 2);
    if (alpha[0] < 255 || alpha[1] < 255) png_set_tRNS(lib, info, alpha, 2, NULL);
}

/* 16 bits are of v * 257 so that all of them count; bits below 8 are the upper ones. */
static void put_sample(const pod_test_png *what, uint8_t *row, int64_t at, int value)
{
    const int bits = what->bits;
    if (bits == 16) {
        row[2 * at] = row[2 * at + 1] = (uint8_t)value;
    } else if (bits == 8) {
        row[at] = (uint8_t)value;
    } else {
        const int per_byte = 8 / bits, shift = bits * (per_byte - 1 - (int)(at % per_byte));
        row[at / per_byte] |= (uint8_t)(value >> (8 - bits) << shift);
    }
}

static void fill_row(const pod_test_png *what, uint8_t *row, size_t bytes)
{
    const int n = kinds[what->kind].n_samples;
    memset(row, 0, bytes);
    for (int64_t x = 0; x < what->width; x++) {
        const bool is_right = x >= what->width / 2;
        const uint8_t *colour = is_right ? what->right : what->left;
        for (int k = 0; k < n; k++)
            put_sample(what, row, x * n + k,
                       what->kind == POD_TEST_PNG_PALETTE ? is_right << (8 - what->bits)
                                                          : colour[k]);
    }
}

void pod_test_exif_make(int orientation, bool is_little, uint8_t exif[POD_TEST_EXIF_BYTES])
{
    /* header; one entry: tag, type, count, value; no other directory */
    static const uint8_t big[POD_TEST_EXIF_BYTES] = {'M', 'M', 0,    42, 0, 0, 0, 8, 0,
                                                     1,   1,   0x12, 0,  3, 0, 0, 0, 1};
    static const int starts[] = {2, 4, 8, 10, 12, 14, 18}, widths[] = {2, 4, 2, 2, 2, 4, 2};
    memcpy(exif, big, sizeof big);
    exif[19] = (uint8_t)orientation;
    if (!is_little) return;
    exif[0] = exif[1] = 'I';
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        for (int k = 0; k < widths[i] / 2; k++) {
            uint8_t *a = exif + starts[i] + k, *b = exif + starts[i] + widths[i] - 1 - k;
            const uint8_t old = *a;
            *a = *b;
            *b = old;
        }
}

uint8_t *pod_test_png_make(const pod_test_png *what, size_t *bytes)
{
    buffer made = {0};
    png_structp lib = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(lib);
    if (!info) abort();
    png_set_write_fn(lib, &made, add_bytes, flush_nothing);
    png_set_IHDR(lib, info, (png_uint_32)what->width, (png_uint_32)what->height, what->bits,
                 kinds[what->kind].type, what->is_interlaced ? PNG_INTERLACE_ADAM7 : 0, 0, 0);
    if (what->kind == POD_TEST_PNG_PALETTE) put_palette(lib, info, what);
    uint8_t exif[POD_TEST_EXIF_BYTES];
    pod_test_exif_make(what->orientation, false, exif);
    if (what->orientation) png_set_eXIf_1(lib, info, sizeof exif, exif);
    png_write_info(lib, info);
    png_set_invalid(lib, info, PNG_INFO_eXIf); /* else libpng 1.6.39 writes it twice */
    const size_t row_bytes = png_get_rowbytes(lib, info);
    uint8_t *row = malloc(row_bytes);
    if (!row) abort();
    fill_row(what, row, row_bytes);
    for (int pass = png_set_interlace_handling(lib); pass > 0; pass--)
        for (int y = 0; y < what->height; y++)
            png_write_row(lib, what->pixels ? what->pixels + (size_t)y * (size_t)what->width : row);
    png_write_end(lib, info);
    png_destroy_write_struct(&lib, &info);
    free(row);
    *bytes = made.n;
    return made.bytes;
}

bool pod_test_png_save(const pod_test_png *what, const char *path)
{
    size_t bytes;
    uint8_t *file = pod_test_png_make(what, &bytes);
    FILE *to = fopen(path, "wb");
    bool ok = to && fwrite(file, 1, bytes, to) == bytes;
    if (to && fclose(to) != 0) ok = false;
    free(file);
    return ok;
}
