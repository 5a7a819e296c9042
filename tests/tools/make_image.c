/* make_image FILE HxW KIND: a JPEG or PNG file for system tests and for the fuzzers' corpus: two
 * colours side by side. */
#include <stdio.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "tests/tools/jpegs.h"
#include "tests/tools/pngs.h"

static const struct kind {
    const char *name;
    pod_test_jpeg jpeg; /* components 0: a PNG */
    pod_test_png png;
} kinds[] = {
    {"rgb", {.components = 3}, {0}},
    {"grey", {.components = 1}, {0}},
    {"cmyk", {.components = 4}, {0}},
    {"progressive", {.components = 3, .is_progressive = true}, {0}},
    {"png", {0}, {.kind = POD_TEST_PNG_RGB, .bits = 8}},
    {"png-grey", {0}, {.kind = POD_TEST_PNG_GREY, .bits = 8}},
    {"png-alpha", {0}, {.kind = POD_TEST_PNG_RGB_ALPHA, .bits = 8}},
    {"png-palette", {0}, {.kind = POD_TEST_PNG_PALETTE, .bits = 2}},
    {"png-16", {0}, {.kind = POD_TEST_PNG_RGB, .bits = 16}},
    {"png-interlaced", {0}, {.kind = POD_TEST_PNG_RGB, .bits = 8, .is_interlaced = true}},
    {"png-rotated", {0}, {.kind = POD_TEST_PNG_GREY_ALPHA, .bits = 8, .orientation = 6}},
};
enum { N_KINDS = sizeof kinds / sizeof kinds[0] };

static const uint8_t left[4] = {200, 40, 90, 10}, right[4] = {20, 160, 220, 70};

static bool save(const struct kind *k, int height, int width, const char *path)
{
    pod_test_jpeg jpeg = k->jpeg;
    pod_test_png png = k->png;
    jpeg.height = png.height = height;
    jpeg.width = png.width = width;
    memcpy(jpeg.left, left, sizeof left);
    memcpy(jpeg.right, right, sizeof right);
    memcpy(png.left, left, sizeof left);
    memcpy(png.right, right, sizeof right);
    return jpeg.components ? pod_test_jpeg_save(&jpeg, path) : pod_test_png_save(&png, path);
}

int main(int argc, char **argv)
{
    int64_t dim[2];
    int n_dims = 0;
    const struct kind *k = NULL;
    for (int i = 0; i < N_KINDS && argc == 4; i++)
        if (strcmp(kinds[i].name, argv[3]) == 0) k = &kinds[i];
    if (!k || pod_parse_dims("size", argv[2], 2, dim, &n_dims) != POD_OK || n_dims != 2) {
        fprintf(stderr, "want make_image FILE HxW KIND; kinds are");
        for (int i = 0; i < N_KINDS; i++) fprintf(stderr, " %s", kinds[i].name);
        fprintf(stderr, "\n");
        return 2;
    }
    if (save(k, (int)dim[0], (int)dim[1], argv[1])) return 0;
    fprintf(stderr, "%s: cannot be written\n", argv[1]);
    return 1;
}
