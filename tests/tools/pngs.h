/* PNG files for tests, made by libpng: two colours side by side, so that what is decoded can be
 * said beforehand. */
#ifndef MINIPOD_TESTS_TOOLS_PNGS_H
#define MINIPOD_TESTS_TOOLS_PNGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum pod_test_png_kind {
    POD_TEST_PNG_GREY,
    POD_TEST_PNG_GREY_ALPHA,
    POD_TEST_PNG_RGB,
    POD_TEST_PNG_RGB_ALPHA,
    POD_TEST_PNG_PALETTE, /* of two colours, transparent where alpha is below 255 */
    POD_TEST_PNG_N_KINDS
} pod_test_png_kind;

typedef struct pod_test_png {
    int height, width;
    pod_test_png_kind kind;
    int bits; /* a sample: 1, 2, 4, 8 or 16, as PNG allows them to the kind */
    bool is_interlaced;
    int orientation; /* of EXIF; 0: none is noted */
    /* Of 8 bits: grey, alpha; or R, G, B, alpha. The border is at width / 2. */
    uint8_t left[4], right[4];
    const uint8_t *pixels; /* instead: (height, width), grey of 8 bits; NULL: none */
} pod_test_png;

/* The file's bytes, for the caller to free. */
uint8_t *pod_test_png_make(const pod_test_png *what, size_t *bytes);
/* The same at a path; false when that cannot be written. */
bool pod_test_png_save(const pod_test_png *what, const char *path);

/* EXIF data that note an orientation, in either byte order. */
enum { POD_TEST_EXIF_BYTES = 26 };
void pod_test_exif_make(int orientation, bool is_little, uint8_t exif[POD_TEST_EXIF_BYTES]);

#endif
