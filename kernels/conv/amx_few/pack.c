/* Lines of the image as the tiles of amx_few/run.c read them. */
#include "kernels/base/arith.h"
#include "kernels/conv/amx_few/parts.h"

enum { BLOCK = POD__FEW_BLOCK, PIECE = POD__FEW_PIECE, PIECE_BYTES = PIECE * BLOCK };

typedef pod__few_packing laying;

static const char *image_row(const laying *l, int64_t h)
{
    const pod__amx_view *v = &l->few->view;
    if (h < 0 || h >= v->h) return l->zeros;
    return (const char *)l->call->a + (((l->n * v->h + h) * v->w + v->left) * v->c) * 2;
}

static void begin_line(laying *l)
{
    const pod__amx_view *v = &l->few->view;
    l->piece = 0;
    l->to = pod__few_line(l->few, l->ring, l->n_lines);
    if (l->few->folds)
        for (int64_t r = 0; r < v->r; r++) l->from[r] = image_row(l, v->top + l->row * v->step + r);
    else
        l->from[0] = image_row(l, l->few->first + l->row);
}

void pod__few_end_line(laying *l)
{
    l->n_lines++;
    if (++l->row == l->few->n_seen) l->row = 0, l->n++;
    begin_line(l);
}

static void copy_side(const laying *l)
{
    const uint32_t *masks = l->masks + l->piece * PIECE;
    const char *from = l->from[0] + l->piece * PIECE_BYTES;
    char *to = l->to + l->piece * PIECE_BYTES;
    for (int i = 0; i < PIECE; i++)
        _mm512_store_si512((void *)(to + i * BLOCK),
                           _mm512_maskz_loadu_epi16(masks[i], from + i * BLOCK));
}

static void copy_inner(const laying *l)
{
    const char *from = l->from[0] + l->piece * PIECE_BYTES;
    char *to = l->to + l->piece * PIECE_BYTES;
    for (int i = 0; i < PIECE; i++)
        _mm512_store_si512((void *)(to + i * BLOCK), _mm512_loadu_si512(from + i * BLOCK));
}

POD_INLINE __m512 changed(__m512i x, __m512 scale, __m512 shift, bool rectified)
{
    const __m512 v = _mm512_fmadd_ps(_mm512_castsi512_ps(x), scale, shift);
    return rectified ? _mm512_max_ps(_mm512_setzero_ps(), v) : v; /* of a NaN: the second */
}

/* Even channels and odd ones are changed apart and put together again. */
POD_INLINE void change(const laying *l, bool rectified, bool is_inner)
{
    const __m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i together = _mm512_or_si512(
        number, _mm512_slli_epi32(_mm512_add_epi32(number, _mm512_set1_epi32(16)), 16));
    const __m512i high = _mm512_set1_epi32((int32_t)0xffff0000);
    const __m512 scale[2] = {l->scale[0], l->scale[1]}, shift[2] = {l->shift[0], l->shift[1]};
    const uint32_t *masks = l->masks + l->piece * PIECE;
    const char *from = l->from[0] + l->piece * PIECE_BYTES;
    char *to = l->to + l->piece * PIECE_BYTES;
    for (int i = 0; i < PIECE; i++) {
        const __m512i x = is_inner ? _mm512_loadu_si512(from + i * BLOCK)
                                   : _mm512_maskz_loadu_epi16(masks[i], from + i * BLOCK);
        const __m512 even = changed(_mm512_slli_epi32(x, 16), scale[0], shift[0], rectified);
        const __m512 odd = changed(_mm512_and_si512(x, high), scale[1], shift[1], rectified);
        const __m512i y = (__m512i)_mm512_cvtne2ps_pbh(odd, even);
        _mm512_store_si512((void *)(to + i * BLOCK),
                           is_inner ? _mm512_permutexvar_epi16(together, y)
                                    : _mm512_maskz_permutexvar_epi16(masks[i], together, y));
    }
}

static void change_side(const laying *l) { change(l, false, false); }
static void change_inner(const laying *l) { change(l, false, true); }
static void rectify_side(const laying *l) { change(l, true, false); }
static void rectify_inner(const laying *l) { change(l, true, true); }

/* A pixel as packed: the values of one column of a window, row by row. */
static void fold(const laying *l)
{
    const int64_t rows = l->few->view.r, bytes = l->few->view.c * 4;
    const uint32_t *masks = l->masks + l->piece * PIECE;
    const int64_t at = l->piece * PIECE * bytes;
    char *to = l->to + l->piece * PIECE_BYTES;
    for (int i = 0; i < PIECE; i++) {
        __m512i block = _mm512_setzero_si512();
        for (int r = 0; r < POD__FEW_ROWS; r++) {
            if (r == rows) break;
            const __m512i x = _mm512_maskz_loadu_epi16(masks[i], l->from[r] + at + i * bytes);
            block = _mm512_mask_permutexvar_epi16(block, l->takes[r], l->place[r], x);
        }
        _mm512_store_si512((void *)(to + i * BLOCK), block);
    }
}

static void place_masks(const pod__few *x, uint32_t *masks)
{
    const pod__amx_view *v = &x->view;
    const uint32_t pixel = (1u << v->c) - 1;
    for (int64_t i = 0; i < x->n_pieces * PIECE; i++) {
        const int64_t w = v->left + 2 * i;
        masks[i] =
            (w >= 0 && w < v->w ? pixel : 0) | (w + 1 >= 0 && w + 1 < v->w ? pixel << v->c : 0);
    }
}

/* Where the values of two pixels of a row go: from 2 C that follow each other. */
static void place_rows(laying *l)
{
    const pod__amx_view *v = &l->few->view;
    for (int64_t r = 0; r < v->r; r++) {
        uint16_t from[32] = {0};
        l->takes[r] = 0;
        for (int64_t i = 0; i < 2 * v->c; i++) {
            const int64_t to = i / v->c * POD__FEW_CHANNELS + r * v->c + i % v->c;
            from[to] = (uint16_t)i;
            l->takes[r] |= 1u << to;
        }
        l->place[r] = _mm512_loadu_si512(from);
    }
}

static bool is_inner(const uint32_t *masks, int64_t piece)
{
    uint32_t all = UINT32_MAX;
    for (int64_t i = 0; i < PIECE; i++) all &= masks[piece * PIECE + i];
    return all == UINT32_MAX;
}

static void place_channels(laying *l)
{
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
    const __m512 scale = _mm512_loadu_ps(l->call->x_scale);
    const __m512 shift = _mm512_loadu_ps(l->call->x_shift);
    l->scale[0] = _mm512_permutexvar_ps(even, scale);
    l->scale[1] = _mm512_permutexvar_ps(odd, scale);
    l->shift[0] = _mm512_permutexvar_ps(even, shift);
    l->shift[1] = _mm512_permutexvar_ps(odd, shift);
}

pod__few_packing pod__few_packing_of(const pod__few *few, const pod_conv_call *call, char *ring,
                                     const char *zeros, uint32_t *masks)
{
    laying l = {.few = few, .call = call, .ring = ring, .zeros = zeros, .masks = masks};
    l.pack[0] = copy_side, l.pack[1] = copy_inner;
    place_masks(few, masks);
    while (l.inner < few->n_pieces && !is_inner(masks, l.inner)) l.inner++;
    while (l.inner + l.n_inner < few->n_pieces && is_inner(masks, l.inner + l.n_inner)) l.n_inner++;
    if (few->folds) {
        place_rows(&l);
        l.pack[0] = l.pack[1] = fold;
    } else if (call->fused & POD_CONV_AFFINE_X) {
        const bool rectified = call->fused & POD_CONV_RELU_X;
        place_channels(&l);
        l.pack[0] = rectified ? rectify_side : change_side;
        l.pack[1] = rectified ? rectify_inner : change_inner;
    }
    begin_line(&l);
    return l;
}
