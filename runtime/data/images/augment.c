#include "runtime/data/images/augment.h"

#include <math.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "runtime/data/import/resize.h"

enum { N_TRIES = 10 }; /* for a part that fits; then it is the largest in the middle */

pod_status pod_augment_parse(const char *text, int pad, double least_area, pod_augment *out)
{
    static const struct {
        const char *name;
        pod_cut cut;
        bool flip;
    } kinds[] = {
        {"none", POD_CUT_MIDDLE, false}, {"flip", POD_CUT_MIDDLE, true},
        {"crop", POD_CUT_RANDOM, false}, {"crop+flip", POD_CUT_RANDOM, true},
        {"rrc", POD_CUT_RESIZED, false}, {"rrc+flip", POD_CUT_RESIZED, true},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(text, kinds[i].name) == 0) {
            *out = (pod_augment){.cut = kinds[i].cut,
                                 .pad = kinds[i].cut == POD_CUT_RANDOM ? pad : 0,
                                 .least_area = least_area,
                                 .flip = kinds[i].flip};
            return POD_OK;
        }
    return pod_fail(POD_E_INVALID,
                    "augment: '%s' is not none, crop, rrc, flip, crop+flip or rrc+flip", text);
}

bool pod_augment_is_copy(const pod_augment *a, const pod_frame *f)
{
    return a->cut == POD_CUT_MIDDLE && !a->flip && f->height == f->out_height &&
           f->width == f->out_width;
}

/* ---- cut at a place -------------------------------------------------------------------------- */

/* Where the cut begins, along one direction; below 0: in the padding. */
static int64_t place(pod_rng *r, const pod_augment *a, int64_t size, int64_t out_size)
{
    const int64_t gap = size - out_size, middle = gap >= 0 ? gap / 2 : -((1 - gap) / 2);
    if (a->cut != POD_CUT_RANDOM) return middle;
    const int64_t first = gap > 0 ? -a->pad : middle - a->pad;
    const int64_t n_places = 2 * (int64_t)a->pad + (gap > 0 ? gap : 0) + 1;
    return first + (int64_t)pod_rng_below(r, (uint64_t)n_places);
}

/* One row of the output from the row of the input moved by dx; in may be NULL: all padding. */
static void copy_row(const pod_frame *f, int64_t dx, bool mirror, const uint8_t *in, uint8_t *out)
{
    const int64_t channels = f->channels;
    for (int64_t x = 0; x < f->out_width; x++, out += channels) {
        const int64_t from = (mirror ? f->out_width - 1 - x : x) + dx;
        if (in && from >= 0 && from < f->width)
            memcpy(out, in + from * channels, (size_t)channels);
        else
            memset(out, 0, (size_t)channels);
    }
}

static void cut(const pod_frame *f, int64_t dy, int64_t dx, bool mirror, const uint8_t *in,
                uint8_t *out)
{
    const int64_t row = f->width * f->channels, out_row = f->out_width * f->channels;
    const bool is_whole = dx >= 0 && dx + f->out_width <= f->width && !mirror;
    for (int64_t y = 0; y < f->out_height; y++) {
        const uint8_t *from = y + dy >= 0 && y + dy < f->height ? in + (y + dy) * row : NULL;
        if (from && is_whole)
            memcpy(out + y * out_row, from + dx * f->channels, (size_t)out_row);
        else
            copy_row(f, dx, mirror, from, out + y * out_row);
    }
}

/* ---- a part, resized ------------------------------------------------------------------------- */

static double between(pod_rng *r, double low, double high)
{
    return low + (high - low) * (double)pod_rng_uniform(r);
}

static pod_box random_box(pod_rng *r, const pod_augment *a, const pod_frame *f)
{
    const double all = (double)(f->height * f->width);
    const double shape = (double)f->out_width / (double)f->out_height;
    for (int i = 0; i < N_TRIES; i++) {
        const double area = all * between(r, a->least_area, 1);
        const double ratio = shape * exp(between(r, log(3.0 / 4), log(4.0 / 3)));
        pod_box b = {.height = llround(sqrt(area / ratio)), .width = llround(sqrt(area * ratio))};
        if (b.height < 1 || b.height > f->height || b.width < 1 || b.width > f->width) continue;
        b.y = (int64_t)pod_rng_below(r, (uint64_t)(f->height - b.height) + 1);
        b.x = (int64_t)pod_rng_below(r, (uint64_t)(f->width - b.width) + 1);
        return b;
    }
    return pod_box_centre(f->height, f->width, f->out_height, f->out_width);
}

size_t pod_augment_scratch_bytes(const pod_augment *a, const pod_frame *f)
{
    if (a->cut != POD_CUT_RESIZED) return 0;
    return pod_resize_scratch_bytes(f->height, f->width, f->out_height, f->out_width, f->channels);
}

void pod_augment_apply(const pod_augment *a, uint64_t seed, int64_t epoch, int64_t sample,
                       const pod_frame *f, const uint8_t *in, uint8_t *out, void *scratch)
{
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_AUGMENT,
                                             .step = (uint32_t)epoch,
                                             .sample = (uint64_t)sample});
    const bool mirror = (pod_rng_u32(&r) & 1) != 0 && a->flip;
    if (a->cut == POD_CUT_RESIZED) {
        const pod_resize_args args = {.in = in,
                                      .in_width = f->width,
                                      .channels = f->channels,
                                      .box = random_box(&r, a, f),
                                      .out = out,
                                      .out_height = f->out_height,
                                      .out_width = f->out_width,
                                      .mirror = mirror,
                                      .scratch = scratch};
        pod_resize(&args);
        return;
    }
    const int64_t dy = place(&r, a, f->height, f->out_height);
    cut(f, dy, place(&r, a, f->width, f->out_width), mirror, in, out);
}
