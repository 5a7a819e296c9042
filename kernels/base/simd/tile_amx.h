/* The AMX tile registers as minipod configures them: all eight hold 16 rows of 64 bytes, and
 * smaller operands are padded with zeros in memory; after pod_amx_begin_halves tiles 6 and 7 are
 * half as large. A kernel configures and releases them within one call, so that between calls a
 * context switch has nothing to save.
 *
 *   A tile   [m = 16][k = 32] bfloat16
 *   B tile   [k / 2 = 16][n = 16][2] bfloat16: "VNNI pairs" of rows k, k + 1 of B
 *   C tile   [m = 16][n = 16] float32
 *
 * Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18. Included by
 * files compiled for AMX only. */
#ifndef MINIPOD_KERNELS_BASE_SIMD_TILE_AMX_H
#define MINIPOD_KERNELS_BASE_SIMD_TILE_AMX_H

#include <stdint.h>

#if (defined(__AMX_TILE__) && defined(__AMX_BF16__)) || \
    (defined(__AMXTILE__) && defined(__AMXBF16__)) /* clang 14's names */
#include <immintrin.h>

enum { POD_AMX_ROWS = 16, POD_AMX_ROW_BYTES = 64, POD_AMX_K = 32 };

/* The operand of ldtilecfg. */
typedef struct pod_amx_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} pod_amx_config;

/* Orders preceding stores of plain C before tile loads, because gcc's tile intrinsics do not tell
 * the compiler which memory they read. Tile stores need no such order. */
static inline void pod_amx_order(void) { __asm__ volatile("" ::: "memory"); }

static inline void pod_amx_configure(const pod_amx_config *config)
{
    pod_amx_order();
    _tile_loadconfig(config);
}

static inline pod_amx_config pod_amx_full_tiles(void)
{
    pod_amx_config config = {.palette = 1};
    for (int i = 0; i < 8; i++) {
        config.row_bytes[i] = POD_AMX_ROW_BYTES;
        config.rows[i] = POD_AMX_ROWS;
    }
    return config;
}

static inline void pod_amx_begin(void)
{
    const pod_amx_config config = pod_amx_full_tiles();
    pod_amx_configure(&config);
}

/* Tile 6 becomes an A tile of 16 k, and tile 7 the matching B tile of 8 rows. */
static inline void pod_amx_begin_halves(void)
{
    pod_amx_config config = pod_amx_full_tiles();
    config.row_bytes[6] = POD_AMX_ROW_BYTES / 2;
    config.rows[7] = POD_AMX_ROWS / 2;
    pod_amx_configure(&config);
}

static inline void pod_amx_end(void) { _tile_release(); }

#endif
#endif
