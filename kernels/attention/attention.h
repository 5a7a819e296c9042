/* Scaled dot-product attention over several heads (Vaswani et al., 2017, section 3.2), without the
 * matrix of scores in memory (Dao et al., "FlashAttention", 2022).
 *
 * q, o and their gradients are (N, Sq, H), k, v and theirs (N, Sk, H), of type t, with H = heads D:
 * head h of token (n, s) begins at element (n S + s) H + h D. For each sequence n and head h
 *
 *   s[i][j] = scale sum_d q[i][d] k[j][d]                        for the keys j that query i sees
 *   lse[i]  = log sum_j e^s[i][j],   p[i][j] = e^(s[i][j] - lse[i])
 *   o[i]    = sum_j p[i][j] g[i][j] v[j]
 *
 * Query i sees the keys j < lengths[n] (all Sk without lengths; a length is limited to 0 .. Sk) and,
 * if causal, j <= i. A query that sees no key has o = 0, lse = 0 and gradient 0. lse is float32
 * (N, heads, Sq).
 *
 * g is dropout on the probabilities: 0 or 1 / (1 - rate). Four keys j .. j + 3, j a multiple of 4,
 * take the words of Philox4x32-10 under the key (draws[n], layer) and the counter (j / 4, i, h,
 * POD_STREAM_DROPOUT); key j is kept if the upper 24 bits of its word, as a number in [0, 1), are not
 * below the rate. All sets have the same gates. With rate 0, g = 1 and draws are not read.
 *
 * backward computes p again, and with delta[i] = sum_d do[i][d] o[i][d]
 *
 *   dv[j] = sum_i p[i][j] g[i][j] do[i]
 *   ds[i][j] = p[i][j] (g[i][j] sum_d do[i][d] v[j][d] - delta[i])
 *   dq[i] = scale sum_j ds[i][j] k[j],   dk[j] = scale sum_i ds[i][j] q[i]
 *
 * The reference computes in double and rounds its results once. The other sets compute in float32,
 * whatever t is: sums along D, and along up to POD_ATTENTION_CHAIN keys or queries at a time; the
 * exponential as in simd/avx512.h. They store nothing of size (Sq, Sk). Their results depend neither
 * on addresses nor on N. Inputs are finite. */
#ifndef MINIPOD_KERNELS_ATTENTION_ATTENTION_H
#define MINIPOD_KERNELS_ATTENTION_ATTENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/arith.h"
#include "kernels/base/cpu.h"
#include "kernels/base/dtype.h"

enum { POD_ATTENTION_CHAIN = 256 };

typedef struct pod_attention_shape {
    int64_t n, sq, sk; /* sequences; queries and keys of each, at least 1 */
    int64_t heads, d;
    pod_dtype t; /* POD_F32 or POD_BF16 */
    float scale;
    bool causal;
    float rate; /* in [0, 1) */
    uint32_t layer;
} pod_attention_shape;

typedef struct pod_attention_inputs {
    const void *q, *k, *v;
    const int32_t *lengths; /* (N); NULL: all keys */
    const int32_t *draws;   /* (N); not read if the rate is 0 */
} pod_attention_inputs;

typedef struct pod_attention_kernels {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    /* Bytes of scratch for either function, aligned to 64. */
    size_t (*scratch_bytes)(const pod_attention_shape *shape);
    void (*forward)(const pod_attention_shape *shape, const pod_attention_inputs *in, void *o,
                    float *lse, void *scratch);
    void (*backward)(const pod_attention_shape *shape, const pod_attention_inputs *in,
                     const void *o, const float *lse, const void *d_o, void *dq, void *dk, void *dv,
                     void *scratch);
} pod_attention_kernels;

/* All sets, best first, the reference last, then NULL; and the first that a CPU can run. */
const pod_attention_kernels *const *pod_attention_kernels_sets(void);
const pod_attention_kernels *pod_attention_kernels_pick(uint32_t cpu);

/* The number of keys that the sequence n has, and of those that its query i sees. */
static inline int64_t pod_attention_keys(const pod_attention_shape *s, const int32_t *lengths,
                                         int64_t n)
{
    return lengths ? pod_max(0, pod_min(lengths[n], s->sk)) : s->sk;
}
static inline int64_t pod_attention_seen(const pod_attention_shape *s, int64_t keys, int64_t i)
{
    return s->causal ? pod_min(keys, i + 1) : keys;
}

/* Returns twice the multiply-adds of one matmul over all scores, (Sq, Sk, D) for each head. forward
 * runs two such matmuls, backward five. */
static inline double pod_attention_matmul_flops(const pod_attention_shape *s)
{
    return 2.0 * (double)s->n * (double)s->heads * (double)s->sq * (double)s->sk * (double)s->d;
}

#endif
