/* The input gradient of a convolution of stride 2, in AMX tiles: the pixels of dx are taken in blocks
 * of 2 x 2, which see dy at the same few places. A tile of A is dy at 16 blocks, shifted by (u, t);
 * each of the four pixels of a block sums over its own taps, each of which is one shift. So dx is
 * written once, line by line, pixels without a tap as zeros among the others:
 *
 *   taps of 3x3, one zero around          block        dx (2 i + down, 2 j + right)
 *     down 0 right 0:  (1,1)               x  x         where dy (i + u, j + t) is
 *     down 0 right 1:  (1,2) (1,0)         x  x           u 0 t 0, u 0 t 1, u 1 t 0, u 1 t 1
 *     down 1 right 0:  (2,1) (0,1)
 *     down 1 right 1:  (2,2) (2,0) (0,2) (0,0)
 *
 * With 16 channels the columns of a square are the two pixels of a line, which lie close in dx: 64
 * bytes. With more they are 32 channels of one pixel. Filters are packed as those of the views
 * (amx/window.h), of which each is one pixel of the block. */
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/base/simd/tile_amx.h"
#include "kernels/conv/amx/strided.h"

enum { SQUARE = 32, ROW_BYTES = SQUARE * (int)sizeof(float), N_PIXELS = 4 };

/* One tile of A: where it lies behind the first, and the tiles of B that it meets, bytes from the
 * beginning of the filters; -1: none. */
typedef struct step {
    int64_t a, b[2];
} step;

/* What one square is: 32 columns, two of the block's pixels or channels of one. */
typedef struct part {
    int64_t down, right;
    int64_t n_steps;
    const step *steps;
    int64_t next;      /* bytes from these to the next 32 channels' */
    bool uses[2];      /* columns that have a step; the others are zeros */
    bool zeros_beside; /* it has the zeros of the pixel on its right, too */
} part;

/* How dy is cut: strips of some lines of blocks of one image, or, in place, some pixels of all. */
typedef struct cut {
    bool in_place;
    bool passes_by;              /* filters are not kept in the first cache: it is left to dy */
    int64_t h, w;                /* blocks of an image */
    int64_t top, left, n_u, n_t; /* shifts: from the first on */
    int64_t pitch;               /* of a pixel, bytes */
    int64_t line_bytes, t_bytes; /* from one line of the strip, and one t, to the next */
    int64_t strip_bytes;
    int64_t n_lines, lines, n_runs; /* of a run (image, or all pixels in place), of a cut; runs */
} cut;

/* The shifts of the pixels of a block in one direction, which has taps for at least one of them. */
static void find_shifts(pod__residue a, pod__residue b, int64_t *first, int64_t *n)
{
    const bool has_a = a.n_taps > 0 && a.n_pixels > 0, has_b = b.n_taps > 0 && b.n_pixels > 0;
    const int64_t end_a = a.first + a.n_taps, end_b = b.first + b.n_taps;
    *first = !has_b ? a.first : !has_a ? b.first : pod_min(a.first, b.first);
    *n = (!has_b ? end_a : !has_a ? end_b : pod_max(end_a, end_b)) - *first;
}

static int64_t weight_bytes(const pod_conv_shape *s) { return s->r * s->s * s->k * s->c * 2; }

/* Lines of whole tiles lie once, with what their last tiles see behind them; others once for each t,
 * without gaps, for tiles that begin in one and end in the next. */
static void pack_strip(cut *c, int64_t most_bytes)
{
    const bool is_once = c->w % POD__AMX_ROWS == 0;
    const int64_t n_planes = is_once ? 1 : c->n_t;
    c->line_bytes = (c->w + (is_once ? c->n_t - 1 : 0)) * c->pitch;
    const int64_t most = most_bytes / (n_planes * c->line_bytes) - (c->n_u - 1);
    c->n_lines = c->h;
    c->lines =
        pod_div_up(c->h, pod_div_up(c->h, pod_min(c->h, pod_max(most, pod_max(1, SQUARE / c->w)))));
    const int64_t plane_bytes = (c->lines + c->n_u - 1) * c->line_bytes;
    c->t_bytes = is_once ? c->pitch : plane_bytes;
    /* the last tile may end behind the strip */
    c->strip_bytes = n_planes * plane_bytes + POD__AMX_ROWS * c->pitch;
}

static cut cut_of(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    const int64_t first_cache = 20 * 1024;
    const int64_t strip = weight_bytes(s) <= 2 * first_cache ? 6 * 1024 : 384 * 1024;
    cut c = {.h = pod_div_up(s->h, 2), .w = pod_div_up(s->w, 2), .pitch = s->k * 2, .n_runs = s->n};
    find_shifts(pod__residue_rows(s, 0), pod__residue_rows(s, 1), &c.top, &c.n_u);
    find_shifts(pod__residue_columns(s, 0), pod__residue_columns(s, 1), &c.left, &c.n_t);
    c.passes_by = weight_bytes(s) > first_cache;
    c.in_place = c.n_u == 1 && c.n_t == 1 && c.top == 0 && c.left == 0 && s->p == c.h &&
                 s->q == c.w && s->n * c.h * c.w >= POD__AMX_ROWS;
    if (c.in_place) {
        c.n_runs = 1;
        c.n_lines = s->n * c.h * c.w;
        c.line_bytes = c.w * c.pitch;
        c.lines = pod_max(64, strip / c.pitch / SQUARE * SQUARE);
        return c;
    }
    pack_strip(&c, strip);
    return c;
}

bool pod__amx_strided_takes(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    const int64_t second_cache = 1024 * 1024;
    if (call->pass != POD_CONV_INPUT_GRAD || s->stride != 2 || s->k % POD__AMX_CHUNK != 0)
        return false;
    return (s->c == 16 || s->c % SQUARE == 0) && weight_bytes(s) <= second_cache;
}

/* ---- scratch -------------------------------------------------------------------------------- */

typedef struct layout {
    int64_t steps, strip, end; /* bytes from the beginning, where the squares are */
} layout;

static layout layout_of(const pod_conv_call *call)
{
    const pod_conv_shape *s = &call->shape;
    const int64_t n_steps = s->r * s->s * (s->k / POD__AMX_CHUNK);
    const cut c = cut_of(call);
    layout at = {.steps = 2 * POD__AMX_SQUARE_FLOATS * (int64_t)sizeof(float)};
    at.strip = at.steps + pod_div_up(n_steps * (int64_t)sizeof(step), 64) * 64;
    at.end = at.strip + c.strip_bytes;
    return at;
}

size_t pod__amx_strided_scratch_bytes(const pod_conv_call *call)
{
    return (size_t)layout_of(call).end;
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* A view, by the pixel of the block that it is, and where its filters begin. */
typedef struct corner {
    pod__amx_view view;
    int64_t weights; /* bytes */
} corner;

static void find_corners(const pod_conv_call *call, corner out[N_PIXELS])
{
    int64_t at = 0;
    for (int i = 0; i < N_PIXELS; i++) {
        const pod__amx_view v = pod__amx_view_at(call, i);
        out[v.row * 2 + v.column] = (corner){v, at};
        if (!pod__amx_is_empty(&v)) at += (int64_t)pod__amx_weight_bytes(&v);
    }
}

/* Where the tile of B for shift (u, t) and 32 filters lies, tiles from the view's first; -1: the
 * pixel has no such tap. */
static int64_t tile_at(const pod__amx_view *v, const cut *c, int64_t u, int64_t t, int64_t chunk)
{
    const int64_t r = u + c->top - v->top, s = t + c->left - v->left;
    if (pod__amx_is_empty(v) || r < 0 || r >= v->r || s < 0 || s >= v->s) return -1;
    return r * v->chunks_row + s * (v->c / POD__AMX_CHUNK) + chunk;
}

/* The steps of a corner, or of two side by side. */
static step *place_steps(const cut *c, const corner *corners, bool is_pair, part *out, step *steps)
{
    const int64_t n_chunks = corners->view.c / POD__AMX_CHUNK;
    out->steps = steps;
    out->next = 2 * corners->view.n_chunks * POD__AMX_TILE_BYTES;
    for (int64_t u = 0; u < c->n_u; u++)
        for (int64_t t = 0; t < c->n_t; t++)
            for (int64_t chunk = 0; chunk < n_chunks; chunk++) {
                const int64_t pixel = t * c->t_bytes + u * c->line_bytes;
                step x = {.a = pixel + chunk * POD__AMX_LINE_BYTES, .b = {-1, -1}};
                for (int i = 0; i < 2; i++) {
                    const corner *at = is_pair ? corners + i : corners;
                    const int64_t tile = tile_at(&at->view, c, u, t, chunk);
                    if (tile < 0) continue;
                    x.b[i] = at->weights + (is_pair ? tile : 2 * tile + i) * POD__AMX_TILE_BYTES;
                    out->uses[i] = true;
                }
                if (x.b[0] >= 0 || x.b[1] >= 0) *steps++ = x;
            }
    out->n_steps = steps - out->steps;
    return steps;
}

/* Of pixels that a tap reaches. Returns how many there are. */
static int find_parts(const pod_conv_call *call, const cut *c, step *steps, part out[N_PIXELS],
                      bool zeros[2][2])
{
    corner corners[N_PIXELS];
    find_corners(call, corners);
    const bool is_pair = call->shape.c == 16;
    int n = 0;
    for (int i = 0; i < N_PIXELS; i += is_pair ? 2 : 1) {
        const int down = i / 2, right = i % 2;
        out[n] = (part){.down = down, .right = right};
        steps = place_steps(c, corners + i, is_pair, &out[n], steps);
        zeros[down][right] = out[n].n_steps == 0;
        if (is_pair) zeros[down][1] = zeros[down][0];
        if (right && zeros[down][1] && !zeros[down][0] && call->shape.w % 2 == 0) {
            out[n - 1].zeros_beside = true;
            zeros[down][1] = false;
        }
        n += out[n].n_steps > 0;
    }
    return n;
}

/* ---- tiles and squares ---------------------------------------------------------------------- */

/* Pixels of a tile: n of them that follow each other, the first of which is (image, i, j), in its
 * rows from `first` on. */
typedef struct tile {
    const char *a;
    int32_t image, i, j, first, n;
} tile;

/* One tile or two by 32 columns. */
typedef struct square {
    tile tiles[2];
    int32_t n_tiles, unused;
    const part *part;
    int64_t channel;
    float *values;
} square;

/* Rows of a square that go to one line of dx: n of them, and one more under a mask. */
typedef struct epilogue {
    const float *from;
    pod_bf16 *to;
    int64_t n;
    __mmask32 last;
} epilogue;

enum { MAX_LEAVING = 2 * POD__AMX_ROWS };

typedef struct run {
    const pod_conv_call *call;
    const cut *cut;
    const char *weights;
    const part *parts;
    int n_parts;
    bool zeros[2][2]; /* [down][right]: no tap reaches these pixels, and no part has them */
    float *squares;   /* two, in turn */
    /* Three squares are under way, so that the tile unit does not wait: one is multiplied, what the
     * tiles hold of the one before rests there until they are taken again, and the one before that
     * is stored between the products. */
    square resting;
    const part *finished;
    epilogue *next, *end;
    epilogue epilogue[MAX_LEAVING];
} run;

/* ---- results -------------------------------------------------------------------------------- */

POD_INLINE __m512i row_of(const float *from, bool has_low, bool has_high)
{
    const __m512 low = has_low ? _mm512_loadu_ps(from) : _mm512_setzero_ps();
    const __m512 high = has_high ? _mm512_loadu_ps(from + 16) : _mm512_setzero_ps();
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

POD_INLINE void store_as(run *r, int64_t n_rows, bool has_low, bool has_high, bool zeros)
{
    const int64_t c = r->call->shape.c;
    while (n_rows > 0 && r->next < r->end) {
        epilogue *x = r->next;
        const int64_t n = pod_min(n_rows, x->n);
        const float *from = x->from;
        pod_bf16 *to = x->to;
#pragma GCC unroll 4
        for (int64_t i = 0; i < n; i++, from += SQUARE, to += 2 * c) {
            _mm512_storeu_si512(to, row_of(from, has_low, has_high));
            if (zeros) _mm512_storeu_si512(to + c, _mm512_setzero_si512());
        }
        n_rows -= n;
        x->from = from;
        x->to = to;
        x->n -= n;
        if (x->n > 0) return;
        if (x->last) _mm512_mask_storeu_epi16(to, x->last, row_of(from, has_low, has_high));
        r->next++;
    }
}

/* The next n_rows rows, or those that are left. */
POD_INLINE void run_epilogue(run *r, int64_t n_rows)
{
    if (r->next == r->end) return;
    const part *p = r->finished;
    if (p->zeros_beside)
        store_as(r, n_rows, true, true, true);
    else if (p->uses[0] && p->uses[1])
        store_as(r, n_rows, true, true, false);
    else if (p->uses[0])
        store_as(r, n_rows, true, false, false);
    else
        store_as(r, n_rows, false, true, false);
}

/* Pixels of a tile that lie in one line: n of them. */
typedef struct segment {
    int64_t image, i, j, n;
} segment;

POD_INLINE segment first_segment(const run *r, const tile *t)
{
    return (segment){t->image, t->i, t->j, pod_min(t->n, r->cut->w - t->j)};
}

/* The next one, `left` pixels from the tile's end. */
POD_INLINE segment next_segment(const run *r, segment x, int64_t left)
{
    const bool ends = ++x.i == r->cut->h;
    return (segment){x.image + ends, ends ? 0 : x.i, 0, pod_min(left, r->cut->w)};
}

static int64_t out_at(const run *r, segment x, int64_t down, int64_t right)
{
    const pod_conv_shape *s = &r->call->shape;
    return ((x.image * s->h + 2 * x.i + down) * s->w + 2 * x.j + right) * s->c;
}

static void place_tile(run *r, const square *q, const tile *t, const float *from)
{
    const pod_conv_shape *s = &r->call->shape;
    const part *p = q->part;
    const bool is_pair = s->c == 16;
    from += t->first * SQUARE;
    int64_t left = t->n;
    for (segment x = first_segment(r, t); left > 0; x = next_segment(r, x, left)) {
        const int64_t end = 2 * (x.j + x.n) + p->right - 1 + is_pair;
        const bool cuts = end > s->w; /* the last pixel is not there, or its right half */
        if (2 * x.i + p->down < s->h)
            *r->end++ = (epilogue){
                from, (pod_bf16 *)r->call->out + out_at(r, x, p->down, p->right) + q->channel,
                x.n - cuts, cuts && is_pair ? UINT16_MAX : 0};
        left -= x.n;
        from += x.n * SQUARE;
    }
}

static void place_square(run *r, const square *q)
{
    r->finished = q->part;
    r->next = r->end = r->epilogue;
    for (int i = 0; i < q->n_tiles; i++)
        place_tile(r, q, &q->tiles[i], q->values + i * POD__AMX_ROWS * SQUARE);
}

/* n elements, a multiple of 16. */
POD_INLINE void store_zeros(pod_bf16 *to, int64_t n)
{
    int64_t i = 0;
    for (; i + POD__AMX_CHUNK <= n; i += POD__AMX_CHUNK)
        _mm512_storeu_si512(to + i, _mm512_setzero_si512());
    if (i < n) _mm256_storeu_si256((void *)(to + i), _mm256_setzero_si256());
}

/* The pixels of the tile's blocks that no part has. */
static void zero_tile(const run *r, const tile *t)
{
    const pod_conv_shape *s = &r->call->shape;
    int64_t left = t->n;
    for (segment x = first_segment(r, t); left > 0; x = next_segment(r, x, left)) {
        left -= x.n;
        for (int down = 0; down < 2 && 2 * x.i + down < s->h; down++) {
            const bool *zeros = r->zeros[down];
            pod_bf16 *line = (pod_bf16 *)r->call->out + out_at(r, x, down, 0);
            const int64_t n = pod_min(2 * x.n, s->w - 2 * x.j);
            if (zeros[0] && zeros[1])
                store_zeros(line, n * s->c);
            else if (zeros[0] || zeros[1])
                for (int64_t i = zeros[0] ? 0 : 1; i < n; i += 2)
                    store_zeros(line + i * s->c, s->c);
        }
    }
}

/* ---- products ------------------------------------------------------------------------------- */

/* What the tile holds of the square before makes room. */
#define BEGIN_TILE(tile, column, to)                         \
    do {                                                     \
        if (uses[column]) _tile_stored(tile, to, ROW_BYTES); \
        _tile_zero(tile);                                    \
    } while (0)

/* Registers are written with the instruction, hence a macro. */
#define LOAD_FILTERS(tile, from)                                 \
    do {                                                         \
        if (passes_by)                                           \
            _tile_stream_loadd(tile, from, POD__AMX_LINE_BYTES); \
        else                                                     \
            _tile_loadd(tile, from, POD__AMX_LINE_BYTES);        \
    } while (0)

/* One tile or two by 16 columns or 32. */
POD_INLINE void take_step(const step *s, const square *q, const char *b, int64_t pitch, bool tall,
                          bool passes_by, bool begins, const bool uses[2], float *before)
{
    _tile_loadd(4, q->tiles[0].a + s->a, pitch);
    if (tall) _tile_loadd(5, q->tiles[1].a + s->a, pitch);
    if (s->b[0] >= 0) LOAD_FILTERS(6, b + s->b[0]);
    if (begins) BEGIN_TILE(0, 0, before);
    if (s->b[0] >= 0) _tile_dpbf16ps(0, 4, 6);
    if (begins) BEGIN_TILE(2, 0, before + POD__AMX_ROWS * SQUARE);
    if (s->b[0] >= 0 && tall) _tile_dpbf16ps(2, 5, 6);
    if (s->b[1] >= 0) LOAD_FILTERS(7, b + s->b[1]);
    if (begins) BEGIN_TILE(1, 1, before + 16);
    if (s->b[1] >= 0) _tile_dpbf16ps(1, 4, 7);
    if (begins) BEGIN_TILE(3, 1, before + POD__AMX_ROWS * SQUARE + 16);
    if (s->b[1] >= 0 && tall) _tile_dpbf16ps(3, 5, 7);
}

POD_INLINE void multiply_as(run *r, const square *q, bool tall, bool passes_by, float *before)
{
    const int64_t rows = pod_div_up(MAX_LEAVING, q->part->n_steps), pitch = r->cut->pitch;
    const char *b = r->weights + q->channel / SQUARE * q->part->next;
    const bool *uses = r->resting.part->uses;
    const step *s = q->part->steps, *end = s + q->part->n_steps;
    take_step(s, q, b, pitch, tall, passes_by, true, uses, before);
    run_epilogue(r, rows);
    while (++s < end) {
        take_step(s, q, b, pitch, tall, passes_by, false, uses, before);
        run_epilogue(r, rows);
    }
}

/* The square that rested is stored next. */
static void release(run *r)
{
    run_epilogue(r, INT64_MAX);
    place_square(r, &r->resting);
}

static void take_square(run *r, square *q)
{
    float *before = r->resting.values;
    q->values = r->squares + (before == r->squares ? POD__AMX_SQUARE_FLOATS : 0);
    if (q->n_tiles < 2)
        multiply_as(r, q, false, false, before);
    else if (r->cut->passes_by)
        multiply_as(r, q, true, true, before);
    else
        multiply_as(r, q, true, false, before);
    release(r);
    r->resting = *q;
}

static void begin_squares(run *r)
{
    static const part none;
    r->resting = (square){.part = &none, .values = r->squares};
    r->next = r->end = r->epilogue;
    pod_amx_begin();
}

static void end_squares(run *r)
{
    const bool *uses = r->resting.part->uses;
    float *before = r->resting.values;
    BEGIN_TILE(0, 0, before);
    BEGIN_TILE(2, 0, before + POD__AMX_ROWS * SQUARE);
    BEGIN_TILE(1, 1, before + 16);
    BEGIN_TILE(3, 1, before + POD__AMX_ROWS * SQUARE + 16);
    release(r);
    run_epilogue(r, INT64_MAX);
    pod_amx_end();
}

/* ---- cuts ----------------------------------------------------------------------------------- */

/* Some lines of a run, or, in place, some pixels. */
typedef struct lines {
    int64_t run, line, n;
} lines;

POD_INLINE void copy_lines(char *to, const char *from, int64_t bytes)
{
#pragma GCC unroll 4
    for (int64_t i = 0; i < bytes; i += POD__AMX_LINE_BYTES)
        _mm512_store_si512((void *)(to + i), _mm512_loadu_si512(from + i));
}

POD_INLINE void zero_lines(char *to, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i += POD__AMX_LINE_BYTES)
        _mm512_store_si512((void *)(to + i), _mm512_setzero_si512());
}

/* Pixels of line p of dy from column `left` on. */
static void fill_line(const pod_conv_call *call, const cut *c, int64_t image, int64_t p,
                      int64_t left, char *to)
{
    const pod_conv_shape *s = &call->shape;
    const int64_t n = c->line_bytes / c->pitch;
    const int64_t begin = p < 0 || p >= s->p ? n : pod_min(n, pod_max(0, -left));
    const int64_t end = pod_max(begin, pod_min(n, s->q - left));
    const char *line = (const char *)call->a + (image * s->p + p) * s->q * c->pitch;
    zero_lines(to, begin * c->pitch);
    if (begin < end)
        copy_lines(to + begin * c->pitch, line + (left + begin) * c->pitch,
                   (end - begin) * c->pitch);
    zero_lines(to + end * c->pitch, (n - end) * c->pitch);
}

static void fill(const pod_conv_call *call, const cut *c, lines l, char *strip)
{
    const int64_t n_planes = c->t_bytes == c->pitch ? 1 : c->n_t;
    for (int64_t i = 0; i < l.n + c->n_u - 1; i++)
        for (int64_t t = 0; t < n_planes; t++)
            fill_line(call, c, l.run, c->top + l.line + i, c->left + t,
                      strip + t * c->t_bytes + i * c->line_bytes);
}

/* n pixels that follow each other, still to be taken: the first is (image, i, j) at `a`. */
typedef struct pixels {
    const char *a;
    int64_t n;
    int32_t image, i, j;
    bool alone; /* there are none before them */
} pixels;

static pixels pixels_of(const run *r, lines l, const char *a)
{
    const cut *c = r->cut;
    if (!c->in_place) return (pixels){a, l.n * c->w, (int32_t)l.run, (int32_t)l.line, 0, true};
    return (pixels){a,
                    l.n,
                    (int32_t)(l.line / c->w / c->h),
                    (int32_t)(l.line / c->w % c->h),
                    (int32_t)(l.line % c->w),
                    l.line == 0};
}

/* The next 16 of them, or as many as there are: in place nothing may be read behind the last one,
 * and the tile begins before. */
POD_INLINE tile next_tile(const cut *c, pixels *p)
{
    const int32_t n = (int32_t)pod_min(POD__AMX_ROWS, p->n);
    const int32_t early = c->in_place && !p->alone ? POD__AMX_ROWS - n : 0;
    const tile t = {p->a - early * c->pitch, p->image, p->i, p->j, early, n};
    p->a += n * c->pitch;
    p->n -= n;
    p->alone = false;
    for (p->j += n; p->j >= c->w; p->j -= (int32_t)c->w) {
        p->a += c->line_bytes - c->w * c->pitch;
        if (++p->i == c->h) p->i = 0, p->image++;
    }
    return t;
}

POD_INLINE square next_tiles(const cut *c, pixels *p)
{
    square q = {0};
    while (q.n_tiles < 2 && p->n > 0) q.tiles[q.n_tiles++] = next_tile(c, p);
    return q;
}

/* Two tiles after the other: zeros stand in dx as soon as the pixels beside them. */
static void multiply_cut(run *r, lines l, const char *a)
{
    for (pixels p = pixels_of(r, l, a); p.n > 0;) {
        square q = next_tiles(r->cut, &p);
        for (int i = 0; i < r->n_parts; i++)
            for (int64_t channel = 0; channel < r->call->shape.c; channel += SQUARE) {
                q.part = &r->parts[i];
                q.channel = channel;
                take_square(r, &q);
            }
        for (int i = 0; i < q.n_tiles; i++) zero_tile(r, &q.tiles[i]);
    }
}

void pod__amx_strided_run(const pod_conv_call *call, const char *weights, void *scratch)
{
    const cut c = cut_of(call);
    const layout at = layout_of(call);
    part parts[N_PIXELS];
    run r = {.call = call, .cut = &c, .weights = weights, .parts = parts, .squares = scratch};
    r.n_parts = find_parts(call, &c, (void *)((char *)scratch + at.steps), parts, r.zeros);
    char *strip = (char *)scratch + at.strip;
    begin_squares(&r);
    for (int64_t i = 0; i < c.n_runs; i++)
        for (int64_t line = 0; line < c.n_lines; line += c.lines) {
            const lines l = {i, line, pod_min(c.lines, c.n_lines - line)};
            const char *a = (const char *)call->a + line * c.pitch;
            if (!c.in_place) fill(call, &c, l, strip);
            pod_amx_order();
            multiply_cut(&r, l, c.in_place ? a : strip);
        }
    end_squares(&r);
}
