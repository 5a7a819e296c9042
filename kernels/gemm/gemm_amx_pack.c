/* The panels of gemm_amx.h, packed in AVX-512. Float32 is rounded to nearest even on the way, as
 * kernels/base/bf16.h says. */
#include <immintrin.h>
#include <string.h>

#include "kernels/base/arith.h"
#include "kernels/gemm/gemm_amx.h"

enum { LINE = 64, LINE_ELEMENTS = 32 };

/* Bits for n elements of a line; n may be beyond it, or not above 0. */
POD_INLINE __mmask32 first(int64_t n)
{
    return n >= LINE_ELEMENTS ? UINT32_MAX : n <= 0 ? 0 : (1u << n) - 1u;
}

/* 32 elements from (row, column) on as bfloat16; zeros where the mask is. */
POD_INLINE __m512i load_line(const pod__amx_block *b, int64_t row, int64_t column, __mmask32 mask)
{
    if (b->t == POD_BF16)
        return _mm512_maskz_loadu_epi16(mask, (const pod_bf16 *)b->data + row * b->ld + column);
    const float *p = (const float *)b->data + row * b->ld + column;
    const __m512 low = _mm512_maskz_loadu_ps((__mmask16)mask, p);
    const __m512 high = _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), p + 16);
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

/* Rows k and k + 1 woven into pairs: columns 0-15 and 16-31. */
POD_INLINE void weave(__m512i even, __m512i odd, char *tile, bool wide)
{
    const __m512i halves = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    even = _mm512_permutexvar_epi64(halves, even);
    odd = _mm512_permutexvar_epi64(halves, odd);
    _mm512_store_si512(tile, _mm512_unpacklo_epi16(even, odd));
    if (wide) _mm512_store_si512(tile + 16 * LINE, _mm512_unpackhi_epi16(even, odd));
}

POD_INLINE void pack_b(const pod__amx_block *b, char *out, bool wide)
{
    const __mmask32 mask = first(b->columns);
    const int64_t end = pod__amx_steps(b->rows) * POD__AMX_STEP, pairs = b->rows / 2;
    const __m512i none = _mm512_setzero_si512();
    for (int64_t pair = 0; pair < end / 2; pair++) {
        char *tile = out + pair / 16 * POD__AMX_STEP_BYTES + pair % 16 * LINE;
        const __m512i even = 2 * pair < b->rows ? load_line(b, 2 * pair, 0, mask) : none;
        const __m512i odd = pair < pairs ? load_line(b, 2 * pair + 1, 0, mask) : none;
        weave(even, odd, tile, wide);
    }
}

void pod__amx_pack_b(const pod__amx_block *kn, void *panel)
{
    const bool wide = kn->columns > 16;
    if (kn->t == POD_BF16) {
        const pod__amx_block b = {POD_BF16, kn->data, kn->ld, kn->rows, kn->columns};
        wide ? pack_b(&b, panel, true) : pack_b(&b, panel, false);
        return;
    }
    const pod__amx_block b = {POD_F32, kn->data, kn->ld, kn->rows, kn->columns};
    wide ? pack_b(&b, panel, true) : pack_b(&b, panel, false);
}

/* 16 bytes each of rows `apart` rows from each other, one a lane. */
POD_INLINE __m512i load_lanes(const char *p, int64_t row_bytes, int apart)
{
    __m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const void *)p));
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(p + apart * row_bytes)), 1);
    v = _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(p + 2 * apart * row_bytes)), 2);
    return _mm512_inserti32x4(v, _mm_loadu_si128((const void *)(p + 3 * apart * row_bytes)), 3);
}

/* (16, 64 bytes) to its transpose, dword by dword: lane l of what is loaded is row 4 l + j, so that
 * transposing 4 x 4 within the lanes does it. */
POD_INLINE void transpose_dwords(const char *rows, int64_t row_bytes, char *out)
{
    for (int quarter = 0; quarter < 4; quarter++) {
        const char *p = rows + quarter * 16;
        const __m512i r0 = load_lanes(p, row_bytes, 4);
        const __m512i r1 = load_lanes(p + row_bytes, row_bytes, 4);
        const __m512i r2 = load_lanes(p + 2 * row_bytes, row_bytes, 4);
        const __m512i r3 = load_lanes(p + 3 * row_bytes, row_bytes, 4);
        const __m512i low01 = _mm512_unpacklo_epi32(r0, r1), low23 = _mm512_unpacklo_epi32(r2, r3);
        const __m512i high01 = _mm512_unpackhi_epi32(r0, r1);
        const __m512i high23 = _mm512_unpackhi_epi32(r2, r3);
        char *to = out + quarter * 4 * LINE;
        _mm512_store_si512(to, _mm512_unpacklo_epi64(low01, low23));
        _mm512_store_si512(to + LINE, _mm512_unpackhi_epi64(low01, low23));
        _mm512_store_si512(to + 2 * LINE, _mm512_unpacklo_epi64(high01, high23));
        _mm512_store_si512(to + 3 * LINE, _mm512_unpackhi_epi64(high01, high23));
    }
}

/* (32, 32) words to their transpose: lane l of what is loaded is row 8 l + j, 8 columns of it, so
 * that transposing 8 x 8 within the lanes does it. */
POD_INLINE void transpose_words(const char *rows, int64_t row_bytes, char *out)
{
    for (int quarter = 0; quarter < 4; quarter++) {
        __m512i r[8], s[8];
        for (int j = 0; j < 8; j++)
            r[j] = load_lanes(rows + quarter * 16 + j * row_bytes, row_bytes, 8);
        for (int j = 0; j < 4; j++) {
            s[j] = _mm512_unpacklo_epi16(r[2 * j], r[2 * j + 1]);
            s[4 + j] = _mm512_unpackhi_epi16(r[2 * j], r[2 * j + 1]);
        }
        for (int h = 0; h < 8; h += 4) { /* columns h .. h + 3, two rows a dword */
            r[h] = _mm512_unpacklo_epi32(s[h], s[h + 1]);
            r[h + 1] = _mm512_unpacklo_epi32(s[h + 2], s[h + 3]);
            r[h + 2] = _mm512_unpackhi_epi32(s[h], s[h + 1]);
            r[h + 3] = _mm512_unpackhi_epi32(s[h + 2], s[h + 3]);
        }
        char *to = out + quarter * 8 * LINE;
        for (int j = 0; j < 8; j += 2) {
            _mm512_store_si512(to + j * LINE, _mm512_unpacklo_epi64(r[j], r[j + 1]));
            _mm512_store_si512(to + (j + 1) * LINE, _mm512_unpackhi_epi64(r[j], r[j + 1]));
        }
    }
}

/* A (32, 32) square of the block in bfloat16, zeros beyond its edges: as it lies, or copied. Rows
 * 4 KiB apart would all meet in one set of L1. */
typedef struct square {
    const char *rows;
    int64_t row_bytes;
} square;

POD_INLINE square square_at(const pod__amx_block *b, int64_t row, int64_t column, char *room)
{
    const bool is_whole = row + 32 <= b->rows && column + 32 <= b->columns;
    if (is_whole && b->t == POD_BF16 && b->ld % 2048)
        return (square){(const char *)((const pod_bf16 *)b->data + row * b->ld + column),
                        b->ld * (int64_t)sizeof(pod_bf16)};
    const __mmask32 mask = first(b->columns - column);
    for (int64_t i = 0; i < 32; i++) {
        const bool is_there = row + i < b->rows;
        _mm512_store_si512(room + i * LINE,
                           is_there ? load_line(b, row + i, column, mask) : _mm512_setzero_si512());
    }
    return (square){room, LINE};
}

void pod__amx_pack_b_transposed(const pod__amx_block *nk, void *panel)
{
    _Alignas(64) char room[POD__AMX_STEP_BYTES];
    char *out = panel;
    for (int64_t k = 0; k < nk->columns; k += POD__AMX_STEP, out += POD__AMX_STEP_BYTES) {
        const square s = square_at(nk, 0, k, room);
        transpose_dwords(s.rows, s.row_bytes, out);
        if (nk->rows > 16)
            transpose_dwords(s.rows + 16 * s.row_bytes, s.row_bytes, out + 16 * LINE);
    }
}

void pod__amx_pack_a_transposed(const pod__amx_block *km, void *panel)
{
    _Alignas(64) char room[POD__AMX_STEP_BYTES];
    char *out = panel;
    for (int64_t k = 0; k < km->rows; k += POD__AMX_STEP, out += POD__AMX_STEP_BYTES) {
        const square s = square_at(km, k, 0, room);
        transpose_words(s.rows, s.row_bytes, out);
    }
}

void pod__amx_pack_a(const pod__amx_block *mk, void *panel)
{
    const int64_t whole = mk->columns / POD__AMX_STEP, rows_out = mk->rows > 16 ? 32 : 16;
    const __mmask32 rest = first(mk->columns % POD__AMX_STEP);
    for (int64_t m = 0; m < mk->rows; m++) {
        const pod_bf16 *from = (const pod_bf16 *)mk->data + m * mk->ld;
        char *out = (char *)panel + m * LINE;
        for (int64_t step = 0; step < whole; step++)
            _mm512_store_si512(out + step * POD__AMX_STEP_BYTES,
                               _mm512_loadu_si512(from + step * POD__AMX_STEP));
        if (rest)
            _mm512_store_si512(out + whole * POD__AMX_STEP_BYTES,
                               _mm512_maskz_loadu_epi16(rest, from + whole * POD__AMX_STEP));
    }
    for (int64_t step = 0; step < pod__amx_steps(mk->columns); step++)
        memset((char *)panel + step * POD__AMX_STEP_BYTES + mk->rows * LINE, 0,
               (size_t)(rows_out - mk->rows) * LINE);
}

/* ---- all panels of a block of B ---- */

static void pack_b_panel(const pod_gemm_call *call, pod_dtype from, const void *b,
                         const pod__gemm_block *of, void *panel)
{
    const int64_t at = call->trans_b ? of->n * call->ldb + of->k : of->k * call->ldb + of->n;
    const char *data = (const char *)b + at * (int64_t)pod_dtype_bytes(from);
    if (call->trans_b)
        pod__amx_pack_b_transposed(&(pod__amx_block){from, data, call->ldb, of->columns, of->depth},
                                   panel);
    else
        pod__amx_pack_b(&(pod__amx_block){from, data, call->ldb, of->depth, of->columns}, panel);
}

static void pack_b_panels(const pod_gemm_call *call, pod_dtype from, const void *b,
                          const pod__gemm_block *of, char *out)
{
    pod__gemm_block panel = *of;
    for (int64_t n = 0; n < of->columns; n += POD__AMX_PANEL) {
        panel.n = of->n + n;
        panel.columns = pod_min(of->columns - n, POD__AMX_PANEL);
        pack_b_panel(call, from, b, &panel, out);
        out += pod__amx_steps(of->depth) * POD__AMX_STEP_BYTES;
    }
}

pod__b_pieces pod__amx_pieces_of_b(const pod_gemm_call *call, const void *b,
                                   const pod__gemm_block *of, char *room)
{
    if (call->fused & POD_GEMM_PACKED_B) {
        const int64_t panel_bytes = pod__amx_steps(call->shape.k) * POD__AMX_STEP_BYTES;
        const int64_t at = of->n / POD__AMX_PANEL * panel_bytes;
        return (pod__b_pieces){(const char *)b + at + of->k / POD__AMX_STEP * POD__AMX_STEP_BYTES,
                               panel_bytes};
    }
    pack_b_panels(call, POD_BF16, b, of, room);
    return (pod__b_pieces){room, pod__amx_steps(of->depth) * POD__AMX_STEP_BYTES};
}

size_t pod__amx_packed_bytes(const pod_gemm_call *call)
{
    const int64_t n_panels = (call->shape.n + POD__AMX_PANEL - 1) / POD__AMX_PANEL;
    return (size_t)(n_panels * pod__amx_steps(call->shape.k) * POD__AMX_STEP_BYTES);
}

void pod__amx_pack_whole_b(const pod_gemm_call *call, pod_dtype from, const void *b, void *packed)
{
    const pod__gemm_block all = {.columns = call->shape.n, .depth = call->shape.k};
    pack_b_panels(call, from, b, &all, packed);
}
