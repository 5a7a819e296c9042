/* Panels of the AMX matrix product: operands laid out as tiles read them (kernels/base/tile_amx.h).
 *
 * A step is 32 of k. Two tiles stand in a step, 16 rows of 64 bytes each, one behind the other;
 * what the operand does not have is zero:
 *
 *   A panel  32 rows m     [step][m = 32][k = 32]
 *   B panel  32 columns n  [step][tile = 2][pair = 16][n = 16][2]: pairs (k, k + 1)
 *
 * A panel that has at most 16 rows or columns may leave its second tile unwritten: nobody reads
 * it. */
#ifndef MINIPOD_KERNELS_GEMM_GEMM_AMX_H
#define MINIPOD_KERNELS_GEMM_GEMM_AMX_H

#include "kernels/gemm/gemm.h"

enum { POD__AMX_PANEL = 32, POD__AMX_STEP = 32, POD__AMX_STEP_BYTES = 2048 };

static inline int64_t pod__amx_steps(int64_t k) { return (k + POD__AMX_STEP - 1) / POD__AMX_STEP; }

/* A block of a stored matrix: `rows` x `columns` elements of type t, rows `ld` elements apart. */
typedef struct pod__amx_block {
    pod_dtype t;
    const void *data;
    int64_t ld, rows, columns;
} pod__amx_block;

/* One panel each. B comes from (k, n) or, transposed, from (n, k); A, bfloat16, from (m, k) or,
 * transposed, from (k, m). */
void pod__amx_pack_b(const pod__amx_block *kn, void *panel);
void pod__amx_pack_b_transposed(const pod__amx_block *nk, void *panel);
void pod__amx_pack_a(const pod__amx_block *mk, void *panel);
void pod__amx_pack_a_transposed(const pod__amx_block *km, void *panel);

/* A^T B with a long k, which goes a way of its own. */
bool pod__amx_is_turned(const pod_gemm_call *call);
size_t pod__amx_turned_bytes(const pod_gemm_call *call);
void pod__amx_run_turned(const pod_gemm_call *call, void *scratch);

#endif
