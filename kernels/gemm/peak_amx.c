/* The peak of AMX's bfloat16 tile product: (16, 32) x (32, 16) onto (16, 16) float32, four products
 * in flight on two tiles of A and two of B. */
#include <immintrin.h>
#include <string.h>

#include "kernels/gemm/peak_kernels.h"

/* What ldtilecfg reads (Intel 64 manual, volume 1, section 18.2). */
typedef struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} tile_config;

double pod__peak_amx(int64_t n_rounds)
{
    tile_config config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.row_bytes[i] = 64;
        config.rows[i] = 16;
    }
    _tile_loadconfig(&config);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    _tile_zero(4);
    _tile_zero(5);
    _tile_zero(6);
    _tile_zero(7);
    for (int64_t round = 0; round < n_rounds; round++) {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    float sums[16 * 16];
    _tile_stored(0, sums, 64);
    _tile_release();
    pod__peak_keep(sums[0]);
    return (double)n_rounds * 4 * (16 * 16 * 32) * 2.0;
}
