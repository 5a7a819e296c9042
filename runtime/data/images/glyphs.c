#include "runtime/data/images/glyphs.h"

#include <math.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "kernels/base/rng.h"
#include "runtime/data/inner.h"

enum { MAX_STROKES = 3, POINT_CHARS = 5, N_SAMPLES_OF_MEAN = 256 };

/* ---- the ten shapes --------------------------------------------------------------------------
 * Poly-lines of points XXYY, in hundredths of the unit square, y downward. */

typedef struct glyph {
    const char *name, *strokes[MAX_STROKES];
} glyph;

static const glyph glyphs[POD_GLYPHS_N_CLASSES] = {
    {"ring", {"8650 8168 6881 5086 3281 1968 1450 1932 3219 5014 6819 8132 8650"}},
    {"fork", {"5088 5050 2014", "5050 8014"}},
    {"zigzag", {"2016 8016 2084 8084"}},
    {"tent", {"5014 8682 1482 5014"}},
    {"cross", {"5012 5088", "1250 8850"}},
    {"hook", {"6612 6662 6276 5084 3680 2868 3054"}},
    {"gate", {"2086 2016 8016 8086"}},
    {"arrow", {"1450 8650", "5822 8650 5878"}},
    {"ladder", {"2414 2486", "7614 7686", "2450 7650"}},
    {"spiral", {"5052 6046 6458 5268 3662 3044 4026 6220 8234 8660 7484"}},
};

/* ---- drawing --------------------------------------------------------------------------------- */

typedef struct point {
    float x, y;
} point;

/* Coverage of each pixel, 0 to 255; overlapping strokes keep the larger. */
typedef struct canvas {
    int64_t height, width;
    uint8_t *ink; /* (height, width) */
} canvas;

static float between(pod_rng *r, float low, float high)
{
    return low + (high - low) * pod_rng_uniform(r);
}

static int64_t clamp_to(float at, int64_t end)
{
    if (!(at > 0)) return 0;
    return at < (float)end ? (int64_t)at : end;
}

/* A line with round ends, `half` pixels to each side, and an edge one pixel soft. */
static void draw_line(canvas *c, point a, point b, float half, float level)
{
    float outer = half + 0.5f, inner = half > 0.5f ? half - 0.5f : 0;
    float dx = b.x - a.x, dy = b.y - a.y, length_sq = dx * dx + dy * dy;
    float per_length_sq = length_sq > 0 ? 1 / length_sq : 0;
    int64_t x_first = clamp_to(fminf(a.x, b.x) - outer, c->width);
    int64_t x_end = clamp_to(fmaxf(a.x, b.x) + outer + 1, c->width);
    int64_t y_first = clamp_to(fminf(a.y, b.y) - outer, c->height);
    int64_t y_end = clamp_to(fmaxf(a.y, b.y) + outer + 1, c->height);
    for (int64_t y = y_first; y < y_end; y++) {
        float py = (float)y + 0.5f - a.y;
        uint8_t *row = c->ink + y * c->width;
        for (int64_t x = x_first; x < x_end; x++) {
            float px = (float)x + 0.5f - a.x;
            float along = (px * dx + py * dy) * per_length_sq;
            along = along < 0 ? 0 : along > 1 ? 1 : along;
            float ex = px - along * dx, ey = py - along * dy, apart_sq = ex * ex + ey * ey;
            if (apart_sq >= outer * outer) continue;
            float cover = apart_sq <= inner * inner ? 1 : outer - sqrtf(apart_sq);
            uint8_t ink = (uint8_t)(level * (cover < 1 ? cover : 1));
            if (ink > row[x]) row[x] = ink;
        }
    }
}

/* Unit square to pixels: bend, scale, shear, rotate about the centre, shift. */
typedef struct warp {
    float xx, xy, yx, yy;   /* the linear part */
    float bend_x, bend_y;   /* how far a parabola pulls */
    float shift_x, shift_y; /* of the centre */
} warp;

static warp draw_warp(pod_rng *r)
{
    /* Rotation by the tangent of the half angle: no sine, whose last bit differs between
     * machines. */
    float t = between(r, -0.2f, 0.2f), norm = 1 / (1 + t * t);
    float cosine = (1 - t * t) * norm, sine = 2 * t * norm;
    float scale = between(r, 0.6f, 0.95f), aspect = between(r, 0.85f, 1.15f);
    float shear = between(r, -0.3f, 0.3f);
    warp w = {.xx = cosine * scale * aspect, .yx = sine * scale * aspect};
    w.xy = w.xx * shear - sine * scale;
    w.yy = w.yx * shear + cosine * scale;
    w.bend_x = between(r, -0.35f, 0.35f);
    w.bend_y = between(r, -0.35f, 0.35f);
    w.shift_x = 0.5f + between(r, -0.13f, 0.13f);
    w.shift_y = 0.5f + between(r, -0.13f, 0.13f);
    return w;
}

static float coordinate(const char *digits)
{
    return (float)(10 * (digits[0] - '0') + digits[1] - '0') * 0.01f - 0.5f;
}

static point warp_point(const warp *w, const canvas *c, const char *at)
{
    float x = coordinate(at), y = coordinate(at + 2);
    float u = x + w->bend_x * y * y, v = y + w->bend_y * x * x;
    return (point){(w->xx * u + w->xy * v + w->shift_x) * (float)c->width,
                   (w->yx * u + w->yy * v + w->shift_y) * (float)c->height};
}

static void draw_glyph(canvas *c, pod_rng *r, const glyph *g, float size)
{
    warp w = draw_warp(r);
    float half = size * between(r, 0.025f, 0.055f);
    for (int s = 0; s < MAX_STROKES && g->strokes[s]; s++)
        for (const char *at = g->strokes[s]; strlen(at) > POINT_CHARS; at += POINT_CHARS)
            draw_line(c, warp_point(&w, c, at), warp_point(&w, c, at + POINT_CHARS), half, 255);
}

/* Short faint lines that belong to no class. */
static void draw_clutter(canvas *c, pod_rng *r, float size)
{
    int n = (int)pod_rng_below(r, 4);
    for (int i = 0; i < n; i++) {
        point from = {between(r, 0, 1) * (float)c->width, between(r, 0, 1) * (float)c->height};
        point to = {from.x + between(r, -0.3f, 0.3f) * (float)c->width,
                    from.y + between(r, -0.3f, 0.3f) * (float)c->height};
        float half = size * between(r, 0.02f, 0.035f);
        draw_line(c, from, to, half, between(r, 80, 200));
    }
}

enum { N_TINTS = 8 }; /* channels beyond take them over again */

typedef struct palette {
    int32_t pen[N_TINTS], paper[N_TINTS], noise;
} palette;

static palette draw_palette(pod_rng *r, int64_t channels)
{
    int32_t bright = (int32_t)between(r, 140, 255), dark = (int32_t)between(r, 0, 60);
    palette p = {.noise = (int32_t)between(r, 0, 40)};
    for (int i = 0; i < N_TINTS; i++) {
        int32_t faded = (int32_t)pod_rng_u32(r) & 127;
        if (channels == 1) faded = 0;
        p.pen[i] = bright * (255 - faded) / 255;
        p.paper[i] = dark * (128 + faded) / 255;
    }
    return p;
}

/* Spreads the ink over the channels: paper + (pen - paper) ink, plus noise of a triangular
 * distribution, 16 random bits each. Works from the last pixel down, in place: the plane of ink
 * lies at the front of the same memory. */
static void colour(pod_rng *r, int64_t n_pixels, int64_t channels, uint8_t *pixels)
{
    const palette p = draw_palette(r, channels);
    uint32_t bits = 0;
    bool has_half = false;
    for (int64_t i = n_pixels - 1; i >= 0; i--) {
        int32_t ink = pixels[i];
        for (int64_t ch = channels - 1; ch >= 0; ch--) {
            bits = has_half ? bits >> 16 : pod_rng_u32(r);
            has_half = !has_half;
            int32_t spread = (int32_t)(bits & 255) + (int32_t)(bits >> 8 & 255) - 255;
            int32_t pen = p.pen[ch % N_TINTS], paper = p.paper[ch % N_TINTS];
            int32_t x = paper + ((pen - paper) * ink + spread * p.noise) / 255;
            pixels[i * channels + ch] = (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x);
        }
    }
}

void pod_glyphs_draw(const pod_glyphs_options *o, uint64_t seed, pod_split split, int64_t index,
                     uint8_t *pixels)
{
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_GLYPHS,
                                             .layer = (uint16_t)split,
                                             .sample = (uint64_t)index});
    canvas c = {o->height, o->width, pixels};
    float size = (float)(o->height < o->width ? o->height : o->width);
    memset(pixels, 0, (size_t)(o->height * o->width));
    draw_clutter(&c, &r, size);
    draw_glyph(&c, &r, &glyphs[index % POD_GLYPHS_N_CLASSES], size);
    colour(&r, o->height * o->width, o->channels, pixels);
}

/* ---- as a data set --------------------------------------------------------------------------- */

static const pod_glyphs_options defaults = {28, 28, 1, {20000, 4000}};

bool pod_glyphs_is_spec(const char *spec)
{
    return strcmp(spec, "glyphs") == 0 || strncmp(spec, "glyphs:", 7) == 0;
}

/* "N+M" */
static pod_status parse_counts(const char *text, int64_t n_samples[POD_N_SPLITS])
{
    char train[24] = "";
    const char *plus = strchr(text, '+');
    if (!plus || (size_t)(plus - text) >= sizeof train)
        return pod_fail(POD_E_INVALID, "glyphs: '%s' is not two counts, e.g. 20000+4000", text);
    memcpy(train, text, (size_t)(plus - text));
    const int64_t most = (int64_t)1 << 32;
    POD_TRY(pod_parse_int("glyphs: training samples", train, 1, most, &n_samples[0]));
    return pod_parse_int("glyphs: test samples", plus + 1, 1, most, &n_samples[1]);
}

pod_status pod_glyphs_parse(const char *spec, pod_glyphs_options *out)
{
    pod_glyphs_options o = defaults;
    char size[64] = "";
    if (spec[strlen("glyphs")] == ':') {
        const char *text = spec + strlen("glyphs:"), *counts = strchr(text, ':');
        size_t n = strcspn(text, ":");
        if (n >= sizeof size) return pod_fail(POD_E_INVALID, "%s: size is too long", spec);
        memcpy(size, text, n);
        int64_t dim[3];
        int n_dims;
        POD_TRY(pod_parse_dims("glyphs: size HxWxC", size, 3, dim, &n_dims));
        if (n_dims != 3)
            return pod_fail(POD_E_INVALID, "glyphs: size '%s' has %d extents, need HxWxC", size,
                            n_dims);
        o.height = dim[0];
        o.width = dim[1];
        o.channels = dim[2];
        if (counts) POD_TRY(parse_counts(counts + 1, o.n_samples));
    }
    *out = o;
    return POD_OK;
}

typedef struct glyphs_dataset {
    pod_dataset base; /* first: a pod_dataset is cast to this */
    pod_glyphs_options options;
    uint64_t seed;
} glyphs_dataset;

static pod_status glyphs_read(const pod_dataset *base, pod_split split, int64_t index,
                              uint8_t *pixels)
{
    const glyphs_dataset *d = (const glyphs_dataset *)base;
    pod_glyphs_draw(&d->options, d->seed, split, index, pixels);
    return POD_OK;
}

static int32_t glyphs_label(const pod_dataset *d, pod_split split, int64_t index)
{
    (void)d;
    (void)split;
    return (int32_t)(index % POD_GLYPHS_N_CLASSES);
}

static const pod_dataset_kind glyphs_kind = {"glyphs", glyphs_read, glyphs_label, NULL, NULL};

static pod_status measure(glyphs_dataset *d)
{
    pod_dataset_info *info = &d->base.info;
    int64_t n = info->n_samples[POD_SPLIT_TRAIN];
    if (n > N_SAMPLES_OF_MEAN) n = N_SAMPLES_OF_MEAN;
    uint8_t *pixels = POD_ARENA_NEW(d->base.arena, uint8_t, pod_dataset_sample_bytes(info));
    if (!pixels) return POD_E_NOMEM;
    pod_channel_stats stats;
    POD_TRY(pod__channel_stats_init(&stats, d->base.arena, info->channels));
    for (int64_t i = 0; i < n; i++) {
        pod_glyphs_draw(&d->options, d->seed, POD_SPLIT_TRAIN, i, pixels);
        pod__channel_stats_add(&stats, info->height * info->width, pixels);
    }
    return pod__channel_stats_finish(&stats, d->base.arena, &info->mean, &info->std);
}

static pod_status open_in(pod_arena *arena, const pod_glyphs_options *o, uint64_t seed,
                          pod_dataset **out)
{
    glyphs_dataset *d = POD_ARENA_NEW(arena, glyphs_dataset, 1);
    const char **names = POD_ARENA_NEW(arena, const char *, POD_GLYPHS_N_CLASSES);
    if (!d || !names) return POD_E_NOMEM;
    for (int i = 0; i < POD_GLYPHS_N_CLASSES; i++) names[i] = glyphs[i].name;
    d->options = *o;
    d->seed = seed;
    d->base = (pod_dataset){
        .kind = &glyphs_kind,
        .arena = arena,
        .info = {.name = "glyphs",
                 .origin = "drawn by minipod",
                 .licence = "public domain",
                 .n_samples = {o->n_samples[0], o->n_samples[1]},
                 .height = o->height,
                 .width = o->width,
                 .channels = o->channels,
                 .n_classes = POD_GLYPHS_N_CLASSES,
                 .class_names = names},
    };
    POD_TRY(pod_dataset_info_check("glyphs", &d->base.info));
    POD_TRY(measure(d));
    *out = &d->base;
    return POD_OK;
}

pod_status pod_glyphs_open(const pod_glyphs_options *o, uint64_t seed, const pod_alloc *alloc,
                           pod_dataset **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(alloc, &arena));
    pod_status s = open_in(arena, o, seed, out);
    if (s != POD_OK) pod_arena_destroy(arena);
    return s;
}
