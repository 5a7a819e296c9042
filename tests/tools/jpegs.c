#include "tests/tools/jpegs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

static void write_rows(struct jpeg_compress_struct *c, const pod_test_jpeg *what)
{
    const size_t n = (size_t)what->components;
    uint8_t *row = malloc((size_t)what->width * n);
    if (!row) abort();
    for (int x = 0; x < what->width; x++)
        memcpy(row + (size_t)x * n, x < what->width / 2 ? what->left : what->right, n);
    for (int y = 0; y < what->height; y++) jpeg_write_scanlines(c, &row, 1);
    free(row);
}

uint8_t *pod_test_jpeg_make(const pod_test_jpeg *what, size_t *bytes)
{
    struct jpeg_compress_struct c;
    struct jpeg_error_mgr error;
    unsigned char *file = NULL;
    unsigned long n = 0;
    c.err = jpeg_std_error(&error);
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &file, &n);
    c.image_width = (JDIMENSION)what->width;
    c.image_height = (JDIMENSION)what->height;
    c.input_components = what->components;
    c.in_color_space = what->components == 1   ? JCS_GRAYSCALE
                       : what->components == 3 ? JCS_RGB
                                               : JCS_CMYK;
    jpeg_set_defaults(&c);
    jpeg_set_quality(&c, 95, TRUE);
    if (what->is_progressive) jpeg_simple_progression(&c);
    jpeg_start_compress(&c, TRUE);
    write_rows(&c, what);
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    *bytes = n;
    return file;
}

bool pod_test_jpeg_save(const pod_test_jpeg *what, const char *path)
{
    size_t bytes;
    uint8_t *file = pod_test_jpeg_make(what, &bytes);
    FILE *to = fopen(path, "wb");
    bool ok = to && fwrite(file, 1, bytes, to) == bytes;
    if (to && fclose(to) != 0) ok = false;
    free(file);
    return ok;
}
