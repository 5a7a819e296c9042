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
 * Query i sees the keys j < lengths[n] (all Sk without lengths; a length is clamped to 0 .. Sk)
 * and, if causal, j <= i. A query that sees no key has o = 0, lse = 0 and gradient 0. lse is
 * float32 (N, heads, Sq).
 *
 * Several short sequences may be packed into one, as in FlashAttention's varlen functions. Each of
 * them is called a part. The queries of part r are q_ends[n][r - 1] <= i < q_ends[n][r], from 0 for
 * r = 0; they see only the keys k_ends[n][r - 1] <= j < k_ends[n][r]. Causal attention counts i and
 * j from the first ones of their part. Queries behind the last part are padding and see no key.
 * Ends are clamped to 0 .. Sq or 0 .. Sk, and so that they do not decrease.
 *
 * g[i][j] is the factor of dropout on the probabilities, 0 or 1 / (1 - rate), the same in all sets.
 * Keys are counted from the first one of their part. Four keys j .. j + 3, where j is a multiple of
 * 4, use the four words of Philox4x32-10 with the Philox key (draws[n], layer) and the counter
 * (j / 4, i, h, POD_STREAM_DROPOUT), where i is counted in the whole sequence. If the upper 24 bits
 * of the word of j, over 2^24, are below the rate, g[i][j] is 0. With rate 0, g = 1 and draws are
 * not read.
 *
 * backward computes p again from lse. With delta[i] = sum_d do[i][d] o[i][d]
 *
 *   dv[j] = sum_i p[i][j] g[i][j] do[i]
 *   ds[i][j] = p[i][j] (g[i][j] sum_d do[i][d] v[j][d] - delta[i])
 *   dq[i] = scale sum_j ds[i][j] k[j],   dk[j] = scale sum_i ds[i][j] q[i]
 *
 * The reference computes in double and rounds its results once. The other sets compute in float32,
 * but with AVX512_BF16 and t = POD_BF16 matmuls multiply bf16 and sum in float32. q, k, v and do
 * are bf16 already. p g and ds are rounded just before they are multiplied, by a relative error of
 * up to 2^-8; lse, delta and ds are computed from p as it was before. Subnormals are then taken
 * for zero, in operands and in sums. The sets sum over D, and over keys or queries in blocks of at
 * most POD_ATTENTION_CHAIN; the exponential is that of simd/avx512.h. They store no matrix (Sq,
 * Sk). Their results depend neither on addresses nor on N. Inputs are finite. */
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
    int64_t n_parts; /* of each sequence; 0: not packed */
    pod_dtype t;     /* POD_F32 or POD_BF16 */
    float scale;
    bool causal;
    float rate; /* in [0, 1) */
    uint32_t layer;
} pod_attention_shape;

typedef struct pod_attention_inputs {
    const void *q, *k, *v;
    const int32_t *lengths;         /* (N); NULL: all keys, or packed */
    const int32_t *q_ends, *k_ends; /* (N, n_parts) */
    const int32_t *draws;           /* (N); not read if the rate is 0 */
} pod_attention_inputs;

typedef struct pod_attention_kernels {
    const char *name;
    uint32_t needs; /* POD_CPU_ bits */
    /* Returns the bytes of scratch, aligned to 64, for either function below. */
    size_t (*scratch_bytes)(const pod_attention_shape *shape);
    void (*forward)(const pod_attention_shape *shape, const pod_attention_inputs *in, void *o,
                    float *lse, void *scratch);
    void (*backward)(const pod_attention_shape *shape, const pod_attention_inputs *in,
                     const void *o, const float *lse, const void *d_o, void *dq, void *dk, void *dv,
                     void *scratch);
    bool rounds; /* p g and ds to bf16, if t is POD_BF16 */
} pod_attention_kernels;

/* Returns the relative error of rounding p g and ds before they are multiplied: 2^-8 or 0. */
static inline double pod_attention_rounding(const pod_attention_kernels *set, pod_dtype t)
{
    return set->rounds && t == POD_BF16 ? 0x1p-8 : 0;
}

/* Return all sets (kernels/base/sets.h), best first, the reference last, then NULL; and the first
 * set that a CPU with these features can run. */
const pod_attention_kernels *const *pod_attention_kernels_sets(void);
const pod_attention_kernels *pod_attention_kernels_pick(uint32_t cpu);

/* A part of a packed sequence, or a whole sequence: its queries see no other keys. */
typedef struct pod_attention_part {
    int64_t q, sq, k, sk; /* the first query and how many; the first key and how many */
    int64_t keys;         /* only the first `keys` of the keys are seen */
} pod_attention_part;

static inline int64_t pod__attention_end(const int32_t *ends, int64_t before, int64_t most)
{
    return pod_max(before, pod_min(*ends, most));
}

/* Sets *part to part r of sequence n; returns false if there is none. Call it for r = 0, 1, ...
 * with the same *part, which must be all 0 before the first call. The last part of a packed
 * sequence is the padding. */
static inline bool pod_attention_next_part(const pod_attention_shape *s,
                                           const pod_attention_inputs *in, int64_t n, int64_t r,
                                           pod_attention_part *part)
{
    if (r > s->n_parts) return false;
    if (s->n_parts == 0) {
        const int64_t keys = in->lengths ? pod_max(0, pod_min(in->lengths[n], s->sk)) : s->sk;
        *part = (pod_attention_part){0, s->sq, 0, s->sk, keys};
        return true;
    }
    const int64_t q = part->q + part->sq, k = part->k + part->sk, at = n * s->n_parts + r;
    const bool is_padding = r == s->n_parts;
    const int64_t sq = (is_padding ? s->sq : pod__attention_end(in->q_ends + at, q, s->sq)) - q;
    const int64_t sk = (is_padding ? s->sk : pod__attention_end(in->k_ends + at, k, s->sk)) - k;
    *part = (pod_attention_part){q, sq, k, sk, is_padding ? 0 : sk};
    return true;
}

/* Returns how many of the part's keys, from the first one on, its query i sees. */
static inline int64_t pod_attention_seen(const pod_attention_shape *s,
                                         const pod_attention_part *part, int64_t i)
{
    return s->causal ? pod_min(part->keys, i + 1) : part->keys;
}

/* Returns twice the multiply-adds of one matmul over all scores, (Sq, Sk, D) for each head. forward
 * runs two such matmuls, backward five. */
static inline double pod_attention_matmul_flops(const pod_attention_shape *s)
{
    return 2.0 * (double)s->n * (double)s->heads * (double)s->sq * (double)s->sk * (double)s->d;
}

#endif
