#include "kernels/conv/panel.h"

#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/gemm/pack.h"

/* The strip: the pixels below some lines of one image, with the zeros around the image in place and
 * everything in float32. Each pixel is looked at and widened once there; the panel, which holds it
 * R S times over, is then copied without a condition. */

static int64_t strip_rows(const pod__windows *v, int64_t n_lines)
{
    return (n_lines - 1) * v->step + v->r;
}

static int64_t strip_columns(const pod__windows *v) { return (v->q - 1) * v->step + v->s; }

pod__windows pod__windows_of_x(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    return (pod__windows){.image = call->a,
                          .dtype = call->dtype,
                          .h = s->h,
                          .w = s->w,
                          .c = s->c,
                          .p = s->p,
                          .q = s->q,
                          .r = s->r,
                          .s = s->s,
                          .step = s->stride,
                          .top = -s->pad_h,
                          .left = -s->pad_w};
}

pod__windows pod__windows_of_dy(const pod_conv_call *call, pod__residue rows, pod__residue columns)
{
    const pod_conv_shape *s = &call->shape;
    return (pod__windows){.image = call->a,
                          .dtype = call->dtype,
                          .h = s->p,
                          .w = s->q,
                          .c = s->k,
                          .p = rows.n_pixels,
                          .q = columns.n_pixels,
                          .r = rows.n_taps,
                          .s = columns.n_taps,
                          .step = 1,
                          .top = rows.first,
                          .left = columns.first};
}

int64_t pod__strip_floats(const pod__windows *v, int64_t n_lines)
{
    return strip_rows(v, n_lines < v->p ? n_lines : v->p) * strip_columns(v) * v->c;
}

static int64_t clamp(int64_t i, int64_t min, int64_t max)
{
    return i < min ? min : i > max ? max : i;
}

static void zero(int64_t n, float *out) { memset(out, 0, (size_t)n * sizeof *out); }

static void fill_strip(const pod__windows *v, int64_t n, int64_t p, int64_t n_lines, float *strip)
{
    const pod_pack *pack = pod_pack_pick(pod_cpu_features());
    const int64_t columns = strip_columns(v), rows = strip_rows(v, n_lines);
    const int64_t first = clamp(-v->left, 0, columns);
    const int64_t end = clamp(v->w - v->left, first, columns);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t h = v->top + p * v->step + i;
        float *out = strip + i * columns * v->c;
        if (h < 0 || h >= v->h) {
            zero(columns * v->c, out);
            continue;
        }
        zero(first * v->c, out);
        if (end > first)
            pod_pack_load(pack, v->dtype, v->image,
                          ((n * v->h + h) * v->w + v->left + first) * v->c, (end - first) * v->c,
                          out + first * v->c);
        zero((columns - end) * v->c, out + end * v->c);
    }
}

static void copy_windows(const pod__windows *v, int64_t n_lines, const float *strip, float *panel)
{
    const pod_pack *pack = pod_pack_pick(pod_cpu_features());
    const int64_t strip_row = strip_columns(v) * v->c, run = v->s * v->c, depth = v->r * run;
    for (int64_t p = 0; p < n_lines; p++)
        for (int64_t r = 0; r < v->r; r++)
            pack->windows(v->q, run, strip + (p * v->step + r) * strip_row, v->step * v->c,
                          panel + p * v->q * depth + r * run, depth);
}

void pod__panel_build(const pod__windows *v, int64_t line, int64_t n_lines, float *strip,
                      float *panel)
{
    const int64_t end = line + n_lines;
    while (line < end) { /* the lines of one image at a time */
        const int64_t n = line / v->p, p = line % v->p;
        const int64_t here = end - line < v->p - p ? end - line : v->p - p;
        fill_strip(v, n, p, here, strip);
        copy_windows(v, here, strip, panel);
        panel += here * v->q * v->r * v->s * v->c;
        line += here;
    }
}
