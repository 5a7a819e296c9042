#include "runtime/data/import/resize.h"

#include <math.h>
#include <string.h>

pod_box pod_box_centre(int64_t image_height, int64_t image_width, int64_t height, int64_t width)
{
    pod_box b = {.height = image_height, .width = image_width};
    /* Rounded to nearest; at least one pixel of what is very long. */
    if (image_width * height > image_height * width)
        b.width = (2 * image_height * width + height) / (2 * height);
    else
        b.height = (2 * image_width * height + width) / (2 * width);
    if (b.width < 1) b.width = 1;
    if (b.height < 1) b.height = 1;
    b.y = (image_height - b.height) / 2;
    b.x = (image_width - b.width) / 2;
    return b;
}

/* What one place of the result is made of, along one direction. */
typedef struct taps {
    int64_t first, n; /* pixels of the box */
    float *weight;    /* (n), sum to 1 */
} taps;

/* A triangle of two pixels of the coarser grid covers so many pixels of the box, at most. */
static int64_t max_taps(int64_t from, int64_t to) { return 2 * (from / to + 1) + 1; }

/* Place `at` of `to` places over `from` pixels. */
static void find_taps(int64_t from, int64_t to, int64_t at, taps *t)
{
    const double scale = (double)from / (double)to, reach = scale > 1 ? scale : 1;
    const double centre = ((double)at + 0.5) * scale;
    int64_t first = (int64_t)floor(centre - reach + 0.5);
    int64_t end = (int64_t)floor(centre + reach + 0.5);
    if (first < 0) first = 0;
    if (end > from) end = from;
    double sum = 0;
    for (int64_t i = first; i < end; i++) sum += 1 - fabs((double)i + 0.5 - centre) / reach;
    for (int64_t i = first; i < end; i++)
        t->weight[i - first] = (float)((1 - fabs((double)i + 0.5 - centre) / reach) / sum);
    t->first = first;
    t->n = end - first;
}

/* line (box width, channels): the mean of the rows. */
static void mix_rows(const pod_resize_args *a, const taps *t, float *line)
{
    const int64_t count = a->box.width * a->channels, row = a->in_width * a->channels;
    memset(line, 0, (size_t)count * sizeof *line);
    for (int64_t k = 0; k < t->n; k++) {
        const uint8_t *in = a->in + (a->box.y + t->first + k) * row + a->box.x * a->channels;
        const float weight = t->weight[k];
        for (int64_t i = 0; i < count; i++) line[i] += weight * (float)in[i];
    }
}

static void mix_pixels(const float *line, int64_t channels, const taps *t, uint8_t *out)
{
    for (int64_t c = 0; c < channels; c++) {
        float sum = 0.5f;
        for (int64_t k = 0; k < t->n; k++)
            sum += t->weight[k] * line[(t->first + k) * channels + c];
        out[c] = (uint8_t)sum;
    }
}

/* The memory of a call: the taps of every column with their weights, those of a row, one line. */
typedef struct scratch {
    taps *column; /* (out_width) */
    taps row;
    float *line; /* (box width, channels) */
} scratch;

static scratch divide(const pod_resize_args *a)
{
    const int64_t per_column = max_taps(a->box.width, a->out_width);
    scratch s = {.column = a->scratch};
    float *next = (float *)(s.column + a->out_width);
    for (int64_t x = 0; x < a->out_width; x++, next += per_column) s.column[x].weight = next;
    s.row.weight = next;
    s.line = next + max_taps(a->box.height, a->out_height);
    return s;
}

size_t pod_resize_scratch_bytes(int64_t box_height, int64_t box_width, int64_t out_height,
                                int64_t out_width, int64_t channels)
{
    const int64_t n_floats = out_width * max_taps(box_width, out_width) +
                             max_taps(box_height, out_height) + box_width * channels;
    /* An even number of floats, so that sizes keep the alignment. */
    return (size_t)out_width * sizeof(taps) + (size_t)(n_floats + n_floats % 2) * sizeof(float);
}

void pod_resize(const pod_resize_args *a)
{
    scratch s = divide(a);
    for (int64_t x = 0; x < a->out_width; x++)
        find_taps(a->box.width, a->out_width, x, &s.column[x]);
    uint8_t *out = a->out;
    for (int64_t y = 0; y < a->out_height; y++) {
        find_taps(a->box.height, a->out_height, y, &s.row);
        mix_rows(a, &s.row, s.line);
        for (int64_t x = 0; x < a->out_width; x++, out += a->channels)
            mix_pixels(s.line, a->channels, &s.column[a->mirror ? a->out_width - 1 - x : x], out);
    }
}
