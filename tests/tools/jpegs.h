/* JPEG files for tests, made by libjpeg: two colours side by side, so that what is decoded can be
 * said beforehand. */
#ifndef MINIPOD_TESTS_TOOLS_JPEGS_H
#define MINIPOD_TESTS_TOOLS_JPEGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pod_test_jpeg {
    int height, width;
    int components; /* 1: grey, 3: RGB, kept as YCbCr with halved chroma; 4: CMYK */
    bool is_progressive;
    uint8_t left[4], right[4]; /* colours of the halves; the border is at width / 2 */
} pod_test_jpeg;

/* The file's bytes, for the caller to free. */
uint8_t *pod_test_jpeg_make(const pod_test_jpeg *what, size_t *bytes);
/* The same at a path; false when that cannot be written. */
bool pod_test_jpeg_save(const pod_test_jpeg *what, const char *path);

#endif
