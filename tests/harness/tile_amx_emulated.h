/* AMX tiles in C, for tests. Included ahead of an AMX kernel's source (-include), this header takes
 * the place of the tile intrinsics: the kernel stays as it is and runs on any CPU with AVX512_BF16,
 * and sanitizers see what its tiles read and write.
 *
 * As Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, describes
 * tdpbf16ps, its order of roundings included, with palette 1 and from row 0 on alone; what
 * raises #UD or #GP there ends the program here. Calls order memory, so a kernel that lacks
 * pod_amx_order is not found out. */
#ifndef MINIPOD_TESTS_HARNESS_TILE_AMX_EMULATED_H
#define MINIPOD_TESTS_HARNESS_TILE_AMX_EMULATED_H

#include <immintrin.h>
#include <stdint.h>

/* Each thread has tiles of its own. */
void pod_test_tiles_configure(const void *config);
void pod_test_tiles_release(void);
void pod_test_tile_zero(int tile);
void pod_test_tile_load(int tile, const void *from, int64_t row_bytes);
void pod_test_tile_store(int tile, void *to, int64_t row_bytes);

/* sums += a b; `source`: where this is written, lives for ever. */
void pod_test_tile_multiply(int sums, int a, int b, const char *source);

/* Prints from which sources this thread multiplied; answers the number of products. Tiles that the
 * last kernel did not release end the program. */
int64_t pod_test_tiles_report(void);

#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#define _tile_loadconfig(config)                  pod_test_tiles_configure(config)
#define _tile_release()                           pod_test_tiles_release()
#define _tile_zero(tile)                          pod_test_tile_zero(tile)
#define _tile_loadd(tile, from, row_bytes)        pod_test_tile_load(tile, from, (int64_t)(row_bytes))
#define _tile_stream_loadd(tile, from, row_bytes) _tile_loadd(tile, from, row_bytes)
#define _tile_stored(tile, to, row_bytes)         pod_test_tile_store(tile, to, (int64_t)(row_bytes))
#define _tile_dpbf16ps(sums, a, b)                pod_test_tile_multiply(sums, a, b, __BASE_FILE__)

#endif
