#include "kernels/conv/conv_direct.h"

#include "kernels/base/arith.h"

enum {
    STRIP = 24 * 1024,       /* elements, where the filters fit beside it into the nearer caches */
    LONG_STRIP = 128 * 1024, /* where each block reads filters from farther away */
    FEW_WEIGHTS = 96 * 1024,
    WAY = 1024,      /* of the first cache, elements: what is so far apart displaces each other */
    LINE = 16,       /* of a cache */
    PLACE = WAY / 2, /* longer pixels go into a strip, lest they displace each other, */
    PLACE_OF_SEVERAL = 2 * LINE, /* or longer than this where windows have several: it is faster */
    LINE_SHORT = 4,              /* windows */
    FEW_WINDOWS = 8,
    LINE_MIN = 8,
    LINE_MAX = 28,
    DW_STRIP = 384 * 1024,
    DW_WINDOWS = 512, /* that a block has if they fit: so often are sums added to dw */
    DW_ROOM = 64,     /* for a window's channels and filters, by lanes */
    DW_PART = 64
};

static int64_t strip_rows(const pod__direct *d, int64_t n_lines)
{
    return (n_lines - 1) * d->view.step / d->row_gap + d->view.r;
}

/* Plans the strip, for some channels, in blocks whose strip, with `beside` places a line, has
 * about `places`. */
static void cut(pod__direct *d, int64_t channels, int64_t places, int64_t beside)
{
    const pod__windows *v = &d->view;
    d->in_place = false;
    d->c = channels;
    d->run = v->s * channels;
    d->depth = v->r * pod_div_up(v->s * v->c, d->per);
    d->row_gap = v->r == 1 ? v->step : 1;
    d->column_gap = v->s == 1 ? v->step : 1;
    d->pixel = channels;
    if (v->s == 1 && channels / d->per % WAY == 0) d->pixel += LINE * d->per;
    d->apart = v->step / d->column_gap * d->pixel;
    d->row = pod_round_up((v->q - 1) * d->apart + d->run, LINE * d->per);
    d->line = v->step / d->row_gap * d->row;
    d->images = d->n_images;
    d->lines = v->p;
    const int64_t an_image = pod_max(1, strip_rows(d, v->p) * d->row + v->p * beside);
    if (an_image > places) {
        const int64_t a_line = pod_max(1, d->line + beside);
        const int64_t lines = pod_max(1, (places - v->r * d->row) / a_line);
        d->lines = pod_div_up(v->p, pod_div_up(v->p, lines));
        d->images = pod_min(1, d->n_images);
    } else if (an_image * d->n_images > places) {
        d->images = places / an_image;
    }
    d->image = strip_rows(d, d->lines) * d->row;
}

/* Where each pixel is its own window, images and lines do not matter: lines of other lengths, for
 * squares as wide as may be. */
static void make_lines(pod__direct *d)
{
    pod__windows *v = &d->view;
    const bool is_plain = v->r == 1 && v->s == 1 && v->step == 1 && d->step == 1 && v->top == 0 &&
                          v->left == 0 && v->p == v->h && v->q == v->w;
    const int64_t pixels = d->n_images * v->p * v->q;
    if (!is_plain || pixels == 0) return;
    for (int64_t q = LINE_MAX; q >= LINE_MIN; q--)
        if (pixels % q == 0) {
            d->n_images = 1;
            d->h = v->h = v->p = pixels / q;
            d->w = v->w = v->q = q;
            return;
        }
}

/* Whether what windows lack beyond the image's columns can be left out, so that no zeros stand
 * there: whole elements of the first and the last window of a line, and of no others. */
static bool leave_out(pod__direct *d)
{
    const pod__windows *v = &d->view;
    const int64_t head = pod_max(0, -v->left);
    const int64_t tail = pod_max(0, v->left + (v->q - 1) * v->step + v->s - v->w);
    if (head > v->step || tail > v->step || head + tail > v->s) return false;
    if (head + tail > 0 && v->c % d->per > 0) return false;
    d->head = head * v->c;
    d->tail = tail * v->c;
    return true;
}

/* Images as windows read them: nothing to widen or to apply. */
static bool is_plain(const pod__direct *d, const pod_conv_call *call)
{
    return d->view.dtype == (d->per > 1 ? POD_BF16 : POD_F32) && !(call->fused & POD_CONV_AFFINE_X);
}

static void cut_for_filters(pod__direct *d, const pod_conv_call *call)
{
    make_lines(d);
    const pod__windows *v = &d->view;
    const bool few = v->r * v->s * v->c * d->width <= FEW_WEIGHTS * d->per;
    cut(d, v->c, (few ? STRIP : LONG_STRIP) * d->per, 0);
    const int64_t short_pixel = v->r * v->s > 1 ? PLACE_OF_SEVERAL : PLACE;
    if (!leave_out(d) || !is_plain(d, call) || v->c > short_pixel * d->per) return;
    d->in_place = true;
    d->apart = v->step * v->c;
    d->row = v->w * v->c;
    d->line = v->step * d->row;
    d->image = v->h * d->row;
}

static pod__direct forward(const pod_conv_call *call, pod__direct_isa isa)
{
    const pod_conv_shape *s = &call->shape;
    pod__direct d = {.view = pod__windows_of_x(call),
                     .n_images = s->n,
                     .width = s->k,
                     .per = isa.numbers,
                     .out = call->out,
                     .h = s->p,
                     .w = s->q,
                     .step = 1};
    cut_for_filters(&d, call);
    return d;
}

static pod__direct input_grad(const pod_conv_call *call, int64_t i, pod__direct_isa isa)
{
    const pod_conv_shape *s = &call->shape;
    const pod__residue rows = pod__residue_rows(s, i / s->stride);
    const pod__residue columns = pod__residue_columns(s, i % s->stride);
    if (rows.n_pixels == 0 || columns.n_pixels == 0 || rows.n_taps == 0 || columns.n_taps == 0)
        return (pod__direct){.width = s->c, .per = isa.numbers};
    pod__direct d = {.view = pod__windows_of_dy(call, rows, columns),
                     .n_images = s->n,
                     .width = s->c,
                     .per = isa.numbers,
                     .out = call->out,
                     .h = s->h,
                     .w = s->w,
                     .top = rows.pixel,
                     .left = columns.pixel,
                     .step = s->stride};
    cut_for_filters(&d, call);
    return d;
}

/* What a block of the weight gradient takes of channels and filters. */
typedef struct dw_part {
    int64_t channels, filters;
} dw_part;

static bool can_halve(int64_t n) { return n > DW_PART && n % 32 == 0; }

/* All, or so many that there is room for many windows of them; whole pixels come into the strip
 * twice as fast as parts of them, but short vectors read it as often as it is wide. */
static dw_part dw_part_of(const pod_conv_shape *s, pod__direct_isa isa)
{
    const int64_t pixels = s->r == 1 && s->s == 1 ? 1 : s->stride * s->stride;
    const int64_t room = DW_ROOM * isa.lanes;
    dw_part part = {s->c, s->k};
    while (part.channels * pixels + part.filters > room) {
        const bool wide = part.channels * pixels > part.filters;
        if (can_halve(part.channels) && (wide || !can_halve(part.filters)))
            part.channels /= 2;
        else if (can_halve(part.filters))
            part.filters /= 2;
        else
            break;
    }
    return part;
}

/* Elements of two images, or of two lines of one. */
static void pair(pod__direct *d)
{
    pod__windows *v = &d->view;
    const int64_t images = pod_div_up(d->n_images, 2), lines = pod_div_up(v->p, 2);
    if (images * v->p <= d->n_images * lines)
        d->pair_images = d->n_images = images;
    else
        d->pair_lines = v->p = lines;
}

static pod__direct weight_grad(const pod_conv_call *call, int64_t i, pod__direct_isa isa)
{
    const pod_conv_shape *s = &call->shape;
    pod__direct d = forward(call, isa);
    const dw_part part = dw_part_of(s, isa);
    const int64_t a_window = part.channels * s->stride * s->stride + part.filters;
    const int64_t places = pod_min(pod_max(DW_WINDOWS * a_window, STRIP), DW_STRIP);
    d.all_images = d.n_images;
    d.all_lines = d.view.p;
    if (isa.numbers > 1) pair(&d);
    d.per = 1;
    cut(&d, part.channels, places, d.view.q * part.filters);
    d.width = part.filters;
    d.first_channel = i % (s->c / part.channels) * part.channels;
    d.first_filter = i / (s->c / part.channels) * part.filters;
    return d;
}

int64_t pod__direct_parts(const pod_conv_call *call, pod__direct_isa isa)
{
    const pod_conv_shape *s = &call->shape;
    const dw_part part = dw_part_of(s, isa);
    if (call->pass == POD_CONV_WEIGHT_GRAD) return s->c / part.channels * (s->k / part.filters);
    return call->pass == POD_CONV_INPUT_GRAD ? s->stride * s->stride : 1;
}

pod__direct pod__direct_part(const pod_conv_call *call, int64_t i, pod__direct_isa isa)
{
    if (call->pass == POD_CONV_FORWARD) return forward(call, isa);
    return call->pass == POD_CONV_WEIGHT_GRAD ? weight_grad(call, i, isa)
                                              : input_grad(call, i, isa);
}

int64_t pod__direct_part_packed(const pod__direct *d, pod__direct_isa isa)
{
    return d->depth * pod_round_up(d->width, isa.lanes);
}

int64_t pod__direct_packed(const pod_conv_call *call, pod__direct_isa isa)
{
    int64_t elements = 0;
    for (int64_t i = 0; i < pod__direct_parts(call, isa); i++) {
        const pod__direct d = pod__direct_part(call, i, isa);
        elements += pod__direct_part_packed(&d, isa);
    }
    return elements;
}

pod__direct_room pod__direct_room_of(const pod_conv_call *call, pod__direct_isa isa)
{
    const bool is_dw = call->pass == POD_CONV_WEIGHT_GRAD;
    const bool packs = !is_dw && !(call->fused & POD_CONV_PACKED_W);
    int64_t strip = 0, side = 0, channels = 0;
    for (int64_t i = 0; i < pod__direct_parts(call, isa); i++) {
        const pod__direct d = pod__direct_part(call, i, isa);
        const int64_t positions = d.images * d.lines * d.view.q;
        if (!d.in_place) /* vectors may end behind it */
            strip = pod_max(strip, d.images * d.image / d.per + 16);
        if (is_dw) side = positions * pod_round_up(d.width, isa.lanes);
        if (call->fused & POD_CONV_SUMS) channels = pod_round_up(d.width, isa.lanes);
    }
    pod__direct_room room = {.side = pod_round_up(strip, 16)};
    room.weights = room.side + pod_round_up(side, 16);
    room.sums = room.weights + (packs ? pod_round_up(pod__direct_packed(call, isa), 16) : 0);
    room.end = room.sums + 4 * channels;
    return room;
}

static const char *weight_grad_why_not(const pod_conv_shape *s, pod__direct_isa isa)
{
    const bool is_point = s->r == 1 && s->s == 1;
    const int64_t lanes = pod_round_up(s->c, isa.lanes);
    if (isa.numbers > 1 && s->n * s->p * s->q < FEW_WINDOWS) return "there are few windows";
    if (is_point && isa.numbers == 1 && s->c < lanes)
        return "channels under a 1x1 filter are no whole vectors";
    if (is_point && 8 * s->c < 5 * lanes)
        return "channels under a 1x1 filter leave much of their vectors empty";
    return NULL;
}

const char *pod__direct_why_not(const pod_conv_call *call, pod__direct_isa isa)
{
    const pod_conv_shape *s = &call->shape;
    if (isa.numbers > 1 && call->dtype != POD_BF16) return "elements are not bf16";
    if (call->pass == POD_CONV_WEIGHT_GRAD) return weight_grad_why_not(s, isa);
    if (s->r == 1 && s->s == 1 && s->stride == 1) return NULL;
    const int64_t windows = call->pass == POD_CONV_FORWARD ? s->q : pod_div_up(s->w, s->stride);
    if (windows < 2) return "lines are single windows";
    if (isa.numbers == 1 && windows < LINE_SHORT) return "lines are shorter than 4 windows";
    return NULL;
}
