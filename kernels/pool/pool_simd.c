/* Pooling in vectors of channels, compiled once for each instruction set: comparisons and roundings
 * of the reference, in its order, so the same bits. */
#include <math.h>

#include "kernels/base/simd/simd.h"
#include "kernels/pool/pool.h"
#include "kernels/pool/pool_windows.h"

typedef struct pair_mask {
    pod_vec_mask a, b;
} pair_mask;

/* Lanes where `later` takes the maximum over from `held`, which came before it. */
POD_INLINE pair_mask takes_over(pod_vec2 later, pod_vec2 held)
{
    return (pair_mask){
        pod_vec_mask_and(pod_vec_not_le(later.a, held.a), pod_vec_is_number(held.a)),
        pod_vec_mask_and(pod_vec_not_le(later.b, held.b), pod_vec_is_number(held.b))};
}

POD_INLINE pod_vec2 pair_select(pair_mask m, pod_vec2 yes, pod_vec2 no)
{
    return (pod_vec2){pod_vec_select(m.a, yes.a, no.a), pod_vec_select(m.b, yes.b, no.b)};
}

/* Those of a window that lie inside the image. */
typedef struct window_places {
    int64_t image; /* its first element */
    pod__range hs, ws;
} window_places;

/* Whether it is one of 3 x 3 and all inside: for those the compiler unrolls the loops. */
enum { USUAL = 3 };
POD_INLINE bool is_usual(const window_places *in)
{
    return in->hs.end - in->hs.begin == USUAL && in->ws.end - in->ws.begin == USUAL;
}
POD_INLINE window_places usual_at(const window_places *in)
{
    return (window_places){
        in->image, {in->hs.begin, in->hs.begin + USUAL}, {in->ws.begin, in->ws.begin + USUAL}};
}

POD_INLINE bool is_empty(const window_places *in)
{
    return in->hs.end <= in->hs.begin || in->ws.end <= in->ws.begin;
}

POD_INLINE int64_t place_at(const pod_pool_shape *s, const window_places *in, int64_t h, int64_t w)
{
    return in->image + (h * s->w + w) * s->c;
}

/* The greatest bits among the places of bf16, from channel j on: where they have no sign, those of
 * the maximum. */
POD_INLINE pod_vec16 max_bits(const pod_pool_shape *s, const void *x, const window_places *in,
                              int64_t j, int lanes)
{
    pod_vec16 most = pod_vec16_all(0);
    for (int64_t h = in->hs.begin; h < in->hs.end; h++)
        for (int64_t w = in->ws.begin; w < in->ws.end; w++) {
            const int64_t at = place_at(s, in, h, w) + j;
            if (in->ws.end - w <= s->stride)
                pod_vec2_ahead(POD_BF16, x, at, pod_ahead_elements(POD_BF16));
            most = pod_vec16_max_bits(most, pod_vec16_load(x, at, lanes));
        }
    return most;
}

/* Of what neighbours have not read yet, the places ahead are asked for. */
POD_INLINE pod_vec2 max_of_any(const pod_pool_shape *s, pod_dtype t, const void *x,
                               const window_places *in, int64_t j, int lanes)
{
    pod_vec2 held = pod_vec2_all(-INFINITY);
    for (int64_t h = in->hs.begin; h < in->hs.end; h++)
        for (int64_t w = in->ws.begin; w < in->ws.end; w++) {
            const int64_t at = place_at(s, in, h, w) + j;
            if (in->ws.end - w <= s->stride) pod_vec2_ahead(t, x, at, pod_ahead_elements(t));
            const pod_vec2 v = pod_vec2_load(t, x, at, lanes);
            held = pair_select(takes_over(v, held), v, held);
        }
    return held;
}

/* y of one window. */
POD_INLINE void max_window(const pod_pool_shape *s, pod_dtype t, const void *x,
                           const window_places *in, bool past, void *y, int64_t to)
{
    POD_VEC_EACH(POD_VEC2_LANES, s->c, j, lanes, {
        if (t == POD_BF16 && !is_empty(in)) {
            const pod_vec16 most = max_bits(s, x, in, j, lanes);
            if (pod_vec16_no_sign(most)) {
                if (past)
                    pod_vec16_store_past(y, to + j, most);
                else
                    pod_vec16_store(y, to + j, lanes, most);
                continue;
            }
        }
        pod_vec2_store(t, y, to + j, lanes, max_of_any(s, t, x, in, j, lanes));
    });
}

POD_INLINE void max_as(const pod_pool_shape *s, pod_dtype t, const void *x, void *y)
{
    const bool past = pod_goes_past(y, t, s->n * s->p * s->q * s->c, s->c);
    int64_t to = 0;
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t p = 0; p < s->p; p++)
            for (int64_t q = 0; q < s->q; q++, to += s->c) {
                const window_places in = {n * s->h * s->w * s->c, pod__pool_window(s, p, s->h),
                                          pod__pool_window(s, q, s->w)};
                const window_places usual = usual_at(&in);
                if (is_usual(&in))
                    max_window(s, t, x, &usual, past, y, to);
                else
                    max_window(s, t, x, &in, past, y, to);
            }
    if (past) pod_vec_past_end();
}

static void pool_max(const pod_pool_shape *s, pod_dtype t, const void *x, void *y)
{
    POD_TYPED(t, max_as(s, T, x, y));
}

/* The gradient looks once for the place that holds the maximum of a window, then asks each place
 * which of the windows over it it holds. It goes down a strip of the image, SEGMENT places wide and
 * some pairs of vectors of channels deep, and keeps the holders of the last rows of windows:
 *
 *      windows   p-1  | holder of q, q+1, ...  |     places of row h ask the rows of windows
 *                p    | holder of q, q+1, ...  |     over it, q by q
 *
 * A holder is its number in the window, row by row, from 0, as bf16; -1 is none. */
enum { SEGMENT = 128, WINDOW_MAX = 8, STRIP_WINDOWS = SEGMENT + WINDOW_MAX, STRIP_PAIRS = 2 };

typedef struct strip {
    const pod_pool_shape *s;
    const void *x, *dy;
    void *dx;
    bool past;                                /* stores of dx go past the caches */
    int64_t image, channel;                   /* of the first pair's first lane */
    int64_t first, end;                       /* places [first, end) of a row */
    int64_t first_q, end_q;                   /* the windows over them */
    pod__range over[SEGMENT];                 /* the windows over each */
    uint16_t number[WINDOW_MAX * WINDOW_MAX]; /* i as bf16 */
    pod_vec16 holder[STRIP_PAIRS][WINDOW_MAX][STRIP_WINDOWS];
} strip;

/* The holder of one window, whose place number 0 is (top, left). */
POD_INLINE pod_vec16 holder_of_any(pod_dtype t, int lanes, const strip *of, const window_places *in,
                                   int64_t top, int64_t left, int64_t j)
{
    const pod_pool_shape *s = of->s;
    pod_vec2 held = pod_vec2_load(t, of->x, place_at(s, in, in->hs.begin, in->ws.begin) + j, lanes);
    pod_vec2 number = pod_vec2_all((float)((in->hs.begin - top) * s->window + in->ws.begin - left));
    for (int64_t h = in->hs.begin; h < in->hs.end; h++) {
        pod_vec next = pod_vec_all((float)((h - top) * s->window + in->ws.begin - left));
        for (int64_t w = in->ws.begin; w < in->ws.end; w++) {
            const pod_vec2 v = pod_vec2_load(t, of->x, place_at(s, in, h, w) + j, lanes);
            const pair_mask takes = takes_over(v, held);
            held = pair_select(takes, v, held);
            number = pair_select(takes, (pod_vec2){next, next}, number);
            next = pod_vec_add(next, pod_vec_all(1));
        }
    }
    return pod_vec16_join(number.a, number.b);
}

/* The same of bf16 that have no sign, whose maximum has the bits `most`. */
POD_INLINE pod_vec16 holder_of_bits(int lanes, const strip *of, const window_places *in,
                                    int64_t top, int64_t left, int64_t j, pod_vec16 most)
{
    pod_vec16 number = pod_vec16_all(0);
    for (int64_t h = in->hs.end - 1; h >= in->hs.begin; h--) /* the first one last */
        for (int64_t w = in->ws.end - 1; w >= in->ws.begin; w--) {
            const pod_vec16 v = pod_vec16_load(of->x, place_at(of->s, in, h, w) + j, lanes);
            const uint16_t own = of->number[(h - top) * of->s->window + w - left];
            number = pod_vec16_where_same(v, most, pod_vec16_all(own), number);
        }
    return number;
}

POD_INLINE pod_vec16 holder_of(pod_dtype t, int lanes, const strip *of, const window_places *in,
                               int64_t top, int64_t left, int64_t j)
{
    if (is_empty(in)) return pod_vec16_join(pod_vec_all(-1), pod_vec_all(-1));
    if (t == POD_BF16) {
        const pod_vec16 most = max_bits(of->s, of->x, in, j, lanes);
        if (pod_vec16_no_sign(most)) return holder_of_bits(lanes, of, in, top, left, j, most);
    }
    return holder_of_any(t, lanes, of, in, top, left, j);
}

/* The holders of row p of the windows. */
POD_INLINE void holders_of(pod_dtype t, int lanes, strip *of, int64_t p, int64_t j)
{
    const pod_pool_shape *s = of->s;
    pod_vec16 *holder = of->holder[(j - of->channel) / POD_VEC2_LANES][p % WINDOW_MAX];
    const int64_t top = p * s->stride - s->pad;
    window_places in = {of->image * s->h * s->w * s->c, pod__pool_window(s, p, s->h), {0, 0}};
    for (int64_t q = of->first_q; q < of->end_q; q++, holder++) {
        const int64_t left = q * s->stride - s->pad;
        in.ws = pod__pool_window(s, q, s->w);
        const window_places usual = usual_at(&in);
        if (is_usual(&in))
            *holder = holder_of(t, lanes, of, &usual, top, left, j);
        else
            *holder = holder_of(t, lanes, of, &in, top, left, j);
    }
}

/* dy of the window where its holder is `own`, and 0 elsewhere. */
POD_INLINE pod_vec2 dy_of_holder(pod_dtype t, const void *dy, int64_t at, int lanes,
                                 pod_vec16 holder, uint16_t own)
{
    const pod_vec16 all_own = pod_vec16_all(own);
    if (t == POD_BF16) {
        const pod_vec16 v =
            pod_vec16_where_same(holder, all_own, pod_vec16_load(dy, at, lanes), pod_vec16_all(0));
        return (pod_vec2){pod_vec16_even(v), pod_vec16_odd(v)};
    }
    const pod_vec zero = pod_vec_all(0);
    const pod_vec2 v = pod_vec2_load(t, dy, at, lanes);
    const pod_vec mine = pod_vec16_odd(all_own);
    return (pod_vec2){pod_vec_select(pod_vec_equal(pod_vec16_even(holder), mine), v.a, zero),
                      pod_vec_select(pod_vec_equal(pod_vec16_odd(holder), mine), v.b, zero)};
}

/* A row of windows over a row of places: the first one's holder and dy, and the number that place
 * `pad` columns before the image would have in a window that begins there. */
typedef struct windows {
    const pod_vec16 *holder;
    int64_t dy;
    const uint16_t *number;
} windows;

/* dx of one place: the gradients of the windows that it holds, n_rows rows of them. */
POD_INLINE pod_vec2 max_grad_place(pod_dtype t, int lanes, const strip *of,
                                   const windows row[WINDOW_MAX], int64_t n_rows, int64_t w)
{
    const pod_pool_shape *s = of->s;
    const pod__range qs = of->over[w - of->first];
    pod_vec2 sum = pod_vec2_all(0);
    for (int64_t p = 0; p < n_rows; p++)
        for (int64_t q = qs.begin; q < qs.end; q++) {
            const uint16_t own = row[p].number[w + s->pad - q * s->stride];
            const pod_vec16 holder = row[p].holder[q - of->first_q];
            sum = pod_vec2_add(sum,
                               dy_of_holder(t, of->dy, row[p].dy + q * s->c, lanes, holder, own));
        }
    return sum;
}

/* Row h of the strip, before which the windows up to next_p have their holders. */
POD_INLINE void max_grad_row(pod_dtype t, int lanes, strip *of, pod__range ps, int64_t next_p,
                             int64_t h, int64_t j)
{
    const pod_pool_shape *s = of->s;
    for (int64_t p = next_p; p < ps.end; p++) holders_of(t, lanes, of, p, j);
    windows row[WINDOW_MAX];
    for (int64_t p = ps.begin; p < ps.end; p++)
        row[p - ps.begin] = (windows){
            .holder = of->holder[(j - of->channel) / POD_VEC2_LANES][p % WINDOW_MAX],
            .dy = (of->image * s->p + p) * s->q * s->c + j,
            .number = of->number + (h - (p * s->stride - s->pad)) * s->window,
        };
    int64_t at = ((of->image * s->h + h) * s->w + of->first) * s->c + j;
    for (int64_t w = of->first; w < of->end; w++, at += s->c)
        pod_vec2_store_past(t, of->past, of->dx, at, lanes,
                            max_grad_place(t, lanes, of, row, ps.end - ps.begin, w));
}

POD_INLINE void max_grad_strip(pod_dtype t, strip *of, int64_t channels)
{
    const pod_pool_shape *s = of->s;
    int64_t next_p = 0;
    for (int64_t h = 0; h < s->h; h++) {
        const pod__range ps = pod__pool_covering(s, h, s->p);
        if (next_p < ps.begin) next_p = ps.begin;
        POD_VEC_EACH(POD_VEC2_LANES, channels, j, lanes,
                     { max_grad_row(t, lanes, of, ps, next_p, h, of->channel + j); });
        if (next_p < ps.end) next_p = ps.end;
    }
}

POD_INLINE void max_grad_as(const pod_pool_shape *s, pod_dtype t, const void *x, const void *dy,
                            void *dx)
{
    enum { CHANNELS = STRIP_PAIRS * POD_VEC2_LANES };
    strip of;
    of.s = s, of.x = x, of.dy = dy, of.dx = dx;
    of.past = pod_goes_past(dx, t, s->n * s->h * s->w * s->c, s->c);
    for (int i = 0; i < WINDOW_MAX * WINDOW_MAX; i++)
        of.number[i] = pod_bf16_from_f32((float)i).bits;
    for (of.image = 0; of.image < s->n; of.image++) {
        for (of.first = 0; of.first < s->w; of.first = of.end) {
            of.end = of.first + SEGMENT < s->w ? of.first + SEGMENT : s->w;
            for (int64_t w = of.first; w < of.end; w++)
                of.over[w - of.first] = pod__pool_covering(s, w, s->q);
            of.first_q = of.over[0].begin;
            of.end_q = of.over[of.end - of.first - 1].end;
            for (of.channel = 0; of.channel < s->c; of.channel += CHANNELS) {
                const int64_t left = s->c - of.channel;
                max_grad_strip(t, &of, left < CHANNELS ? left : CHANNELS);
            }
        }
    }
    if (of.past) pod_vec_past_end();
}

static void pool_max_grad(const pod_pool_shape *s, pod_dtype t, const void *x, const void *dy,
                          void *dx)
{
    if (s->window > WINDOW_MAX)
        pod_pool_pick(POD_CPU_REFERENCE_ONLY)->max_grad(s, t, x, dy, dx);
    else
        POD_TYPED(t, max_grad_as(s, T, x, dy, dx));
}

POD_INLINE void mean_as(int64_t n, int64_t hw, int64_t c, pod_dtype t, const void *x, void *y)
{
    const pod_vec count = pod_vec_all((float)hw);
    for (int64_t image = 0; image < n; image++) {
        POD_VEC_EACH(POD_VEC2_LANES, c, j, lanes, {
            pod_vec2 sum = pod_vec2_all(0);
            for (int64_t at = 0; at < hw; at++)
                sum = pod_vec2_add(sum, pod_vec2_load(t, x, (image * hw + at) * c + j, lanes));
            sum.a = pod_vec_div(sum.a, count);
            sum.b = pod_vec_div(sum.b, count);
            pod_vec2_store(t, y, image * c + j, lanes, sum);
        });
    }
}

static void pool_mean(int64_t n, int64_t hw, int64_t c, pod_dtype t, const void *x, void *y)
{
    POD_TYPED(t, mean_as(n, hw, c, T, x, y));
}

/* The shares of a chunk of the channels are worked out once, as often one behind the other as there
 * is room where the chunk is all of a place, and copied. */
POD_INLINE void mean_grad_as(int64_t n, int64_t hw, int64_t c, pod_dtype t, const void *dy,
                             void *dx)
{
    const pod_vec count = pod_vec_all((float)hw);
    const int64_t bytes = (int64_t)pod_dtype_bytes(t);
    _Alignas(64) char share[POD_TILE_MAX * sizeof(float)];
    for (int64_t image = 0; image < n; image++) {
        for (int64_t first = 0; first < c; first += POD_TILE_MAX) {
            const int64_t cols = c - first < POD_TILE_MAX ? c - first : POD_TILE_MAX;
            const int64_t place = cols * bytes, fit = (int64_t)sizeof share / place;
            const int64_t places = cols < c ? 1 : fit < hw ? fit : hw;
            POD_VEC_EACH(POD_VEC_LANES, cols, j, lanes, {
                const pod_vec v = pod_vec_load(t, dy, image * c + first + j, lanes);
                pod_vec_store(t, share, j, lanes, pod_vec_div(v, count));
            });
            for (int64_t k = 1; k < places; k *= 2)
                memcpy(share + k * place, share,
                       (size_t)((2 * k < places ? k : places - k) * place));
            for (int64_t at = 0; at < hw; at += places) {
                const int64_t some = hw - at < places ? hw - at : places;
                memcpy((char *)dx + ((image * hw + at) * c + first) * bytes, share,
                       (size_t)(some * place));
            }
        }
    }
}

static void pool_mean_grad(int64_t n, int64_t hw, int64_t c, pod_dtype t, const void *dy, void *dx)
{
    POD_TYPED(t, mean_grad_as(n, hw, c, T, dy, dx));
}

const pod_pool POD_ISA(pod__pool) = {POD_ISA_SET, pool_max, pool_max_grad, pool_mean,
                                     pool_mean_grad};
