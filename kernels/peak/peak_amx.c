/* The peak of AMX's bfloat16 tile product: (16, 32) x (32, 16) onto (16, 16) float32, four products
 * in flight on two tiles of A and two of B. */
#include "kernels/base/simd/tile_amx.h"
#include "kernels/peak/peak_kernels.h"

double pod__peak_amx(int64_t n_rounds)
{
    pod_amx_begin();
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
    pod_amx_end();
    pod__peak_keep(sums[0]);
    return (double)n_rounds * 4 * (16 * 16 * 32) * 2.0;
}
