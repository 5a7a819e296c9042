/* Transposes (pixels, channels) to (channels, pixels), for the files of amx_dw. Included by files
 * compiled for AVX-512 BW only. */
#ifndef MINIPOD_KERNELS_CONV_AMX_DW_TRANSPOSE_H
#define MINIPOD_KERNELS_CONV_AMX_DW_TRANSPOSE_H

#include "kernels/base/bf16.h"

#if defined(__AVX512BW__)
#include <immintrin.h>

/* v[i] has 8 channels of each of the pixels i, 8 + i, 16 + i and 24 + i. Writes 8 rows (channels)
 * of 32 pixels to `to`, by transposing an 8x8 matrix in each quarter of the registers. */
static inline __attribute__((always_inline)) void pod__dw_transpose_8(const __m512i v[8],
                                                                      pod_bf16 *to)
{
    __m512i pairs[8], fours[8];
    for (int i = 0; i < 4; i++) {
        pairs[i] = _mm512_unpacklo_epi16(v[2 * i], v[2 * i + 1]); /* channels 0-3 */
        pairs[4 + i] = _mm512_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
    }
    for (int i = 0; i < 4; i++) { /* fours[2 i]: channels 2 i and 2 i + 1 of pixels 0-3 */
        const __m512i *p = pairs + i / 2 * 4;
        fours[2 * i] =
            i % 2 ? _mm512_unpackhi_epi32(p[0], p[1]) : _mm512_unpacklo_epi32(p[0], p[1]);
        fours[2 * i + 1] =
            i % 2 ? _mm512_unpackhi_epi32(p[2], p[3]) : _mm512_unpacklo_epi32(p[2], p[3]);
    }
    for (int i = 0; i < 4; i++) {
        _mm512_store_si512(to + 64 * i, _mm512_unpacklo_epi64(fours[2 * i], fours[2 * i + 1]));
        _mm512_store_si512(to + 64 * i + 32, _mm512_unpackhi_epi64(fours[2 * i], fours[2 * i + 1]));
    }
}

#endif
#endif
