#include "runtime/data/augment.h"

#include <string.h>

#include "kernels/base/rng.h"

pod_status pod_augment_parse(const char *text, int pad, pod_augment *out)
{
    static const struct {
        const char *name;
        bool crop, flip;
    } kinds[] = {
        {"none", false, false},
        {"crop", true, false},
        {"flip", false, true},
        {"crop+flip", true, true},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(text, kinds[i].name) == 0) {
            *out = (pod_augment){.pad = kinds[i].crop ? pad : 0, .flip = kinds[i].flip};
            return POD_OK;
        }
    return pod_fail(POD_E_INVALID, "augment: '%s' is not none, crop, flip or crop+flip", text);
}

/* One row of the output from the row of the input moved by dx; in may be NULL: all padding. */
static void copy_row(int64_t width, int64_t channels, int64_t dx, bool mirror, const uint8_t *in,
                     uint8_t *out)
{
    for (int64_t x = 0; x < width; x++, out += channels) {
        int64_t from = (mirror ? width - 1 - x : x) + dx;
        if (in && from >= 0 && from < width)
            memcpy(out, in + from * channels, (size_t)channels);
        else
            memset(out, 0, (size_t)channels);
    }
}

void pod_augment_apply(const pod_augment *a, uint64_t seed, int64_t epoch, int64_t sample,
                       int64_t height, int64_t width, int64_t channels, const uint8_t *in,
                       uint8_t *out)
{
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_AUGMENT,
                                             .step = (uint32_t)epoch,
                                             .sample = (uint64_t)sample});
    bool mirror = (pod_rng_u32(&r) & 1) != 0 && a->flip;
    uint64_t places = 2 * (uint64_t)a->pad + 1;
    int64_t dy = (int64_t)pod_rng_below(&r, places) - a->pad;
    int64_t dx = (int64_t)pod_rng_below(&r, places) - a->pad;
    int64_t row = width * channels;
    for (int64_t y = 0; y < height; y++) {
        const uint8_t *from = y + dy >= 0 && y + dy < height ? in + (y + dy) * row : NULL;
        if (from && dx == 0 && !mirror)
            memcpy(out + y * row, from, (size_t)row);
        else
            copy_row(width, channels, dx, mirror, from, out + y * row);
    }
}
