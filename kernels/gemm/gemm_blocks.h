/* The blocks of a matmul, in the order that all of minipod's kernels use: n outermost, then m, then
 * k. Between blocks of k the sums are stored. */
#ifndef MINIPOD_KERNELS_GEMM_GEMM_BLOCKS_H
#define MINIPOD_KERNELS_GEMM_GEMM_BLOCKS_H

#include "kernels/base/arith.h"
#include "kernels/gemm/gemm.h"

/* A block: rows m, columns n, depth k. */
typedef struct pod__gemm_block {
    int64_t m, rows, n, columns, k, depth;
} pod__gemm_block;

/* Sets the extents of a block at (m, n, k), at most those of `whole`; false if there is no such
 * block. */
static inline bool pod__gemm_block_at(pod__gemm_block *b, const pod__gemm_block *whole,
                                      pod_gemm_shape s)
{
    b->rows = pod_min(s.m - b->m, whole->rows);
    b->columns = pod_min(s.n - b->n, whole->columns);
    b->depth = pod_min(s.k - b->k, whole->depth);
    return b->m < s.m && b->n < s.n;
}

/* Moves b to the next block. If k is 0 there is one block for each m and n, which gives beta C. */
static inline bool pod__gemm_block_next(pod__gemm_block *b, const pod__gemm_block *whole,
                                        pod_gemm_shape s)
{
    b->k += whole->depth;
    if (b->k >= s.k) b->k = 0, b->m += whole->rows;
    if (b->m >= s.m) b->m = 0, b->n += whole->columns;
    return pod__gemm_block_at(b, whole, s);
}

/* The operands of product i of a batch. */
typedef struct pod__gemm_operands {
    const void *a, *b;
    void *c;
} pod__gemm_operands;

static inline pod__gemm_operands pod__gemm_operands_at(const pod_gemm_call *call, int64_t i)
{
    const int64_t ab_bytes = (int64_t)pod_dtype_bytes(call->ab_dtype);
    const int64_t c_bytes = (int64_t)pod_dtype_bytes(call->c_dtype);
    return (pod__gemm_operands){(const char *)call->a + i * call->stride_a * ab_bytes,
                                (const char *)call->b + i * call->stride_b * ab_bytes,
                                (char *)call->c + i * call->stride_c * c_bytes};
}

#endif
