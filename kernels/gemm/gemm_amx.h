/* Panels of the bfloat16 matmuls: operands packed for AMX tiles (kernels/base/simd/tile_amx.h).
 * gemm_avx512bf16.c uses the layout of B too.
 *
 * A step is 32 values of k. A step has two consecutive tiles of 16 rows of 64 bytes; elements
 * beyond the operand are zero:
 *
 *   A panel  32 rows m     [step][m = 32][k = 32]
 *   B panel  32 columns n  [step][tile = 2][pair = 16][n = 16][2]: pairs (k, k + 1)
 *
 * In a panel of at most 16 rows or columns the second tile may be uninitialized, because it is not
 * read. */
#ifndef MINIPOD_KERNELS_GEMM_GEMM_AMX_H
#define MINIPOD_KERNELS_GEMM_GEMM_AMX_H

#include "kernels/gemm/gemm_blocks.h"

enum { POD__AMX_PANEL = 32, POD__AMX_STEP = 32, POD__AMX_STEP_BYTES = 2048 };

static inline int64_t pod__amx_steps(int64_t k) { return (k + POD__AMX_STEP - 1) / POD__AMX_STEP; }

/* A block of a stored matrix: `rows` x `columns` elements of type t, rows `ld` elements apart. */
typedef struct pod__amx_block {
    pod_dtype t;
    const void *data;
    int64_t ld, rows, columns;
} pod__amx_block;

/* Pack one panel each. B is (k, n) or, transposed, (n, k); A, bfloat16, is (m, k) or, transposed,
 * (k, m). */
void pod__amx_pack_b(const pod__amx_block *kn, void *panel);
void pod__amx_pack_b_transposed(const pod__amx_block *nk, void *panel);
void pod__amx_pack_a(const pod__amx_block *mk, void *panel);
void pod__amx_pack_a_transposed(const pod__amx_block *km, void *panel);

/* The packed B of a block, one piece per panel: the first piece, and the distance between
 * pieces. */
typedef struct pod__b_pieces {
    const char *at;
    int64_t panel_bytes;
} pod__b_pieces;

/* Returns the pieces of block `of`. If `b` is packed B, they are in `b`; else the function packs
 * them into `room`, each with the steps of the block's depth. */
pod__b_pieces pod__amx_pieces_of_b(const pod_gemm_call *call, const void *b,
                                   const pod__gemm_block *of, char *room);
/* Pack all of B into panels that span all of k, and return the bytes that this takes. */
size_t pod__amx_packed_bytes(const pod_gemm_call *call);
void pod__amx_pack_whole_b(const pod_gemm_call *call, pod_dtype from, const void *b, void *packed);

/* A^T B with a long k, which has an algorithm of its own (gemm_amx_transposed.c). */
bool pod__amx_is_transposed(const pod_gemm_call *call);
size_t pod__amx_transposed_bytes(const pod_gemm_call *call);
void pod__amx_run_transposed(const pod_gemm_call *call, void *scratch);

#endif
