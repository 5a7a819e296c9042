/* Attention, plainly: a row of scores at a time, all in double. */
#include <math.h>
#include <string.h>

#include "kernels/attention/attention.h"
#include "kernels/base/element.h"
#include "kernels/base/rng.h"
#include "kernels/base/sets.h"

typedef struct head {
    const pod_attention_shape *s;
    const pod_attention_inputs *in;
    int64_t n, h;
    pod_attention_part part;
} head;

/* The first element of the head of the part's query i, of its key j. */
static int64_t query_at(const head *a, int64_t i)
{
    return ((a->n * a->s->sq + a->part.q + i) * a->s->heads + a->h) * a->s->d;
}

static int64_t key_at(const head *a, int64_t j)
{
    return ((a->n * a->s->sk + a->part.k + j) * a->s->heads + a->h) * a->s->d;
}

static int64_t lse_at(const head *a, int64_t i)
{
    return (a->n * a->s->heads + a->h) * a->s->sq + a->part.q + i;
}

static double dot(const pod_attention_shape *s, const void *x, int64_t x_at, const void *y,
                  int64_t y_at)
{
    double sum = 0;
    for (int64_t d = 0; d < s->d; d++)
        sum +=
            (double)pod_element_get(s->t, x, x_at + d) * (double)pod_element_get(s->t, y, y_at + d);
    return sum;
}

/* score[j] = s[i][j] */
static void scores(const head *a, int64_t i, int64_t seen, double *score)
{
    const pod_attention_shape *s = a->s;
    for (int64_t j = 0; j < seen; j++)
        score[j] = (double)s->scale * dot(s, a->in->q, query_at(a, i), a->in->k, key_at(a, j));
}

static double gate(const head *a, int64_t i, int64_t j)
{
    enum { WORDS = 4 };
    const float rate = a->s->rate;
    if (!(rate > 0)) return 1;
    const uint32_t key[2] = {(uint32_t)a->in->draws[a->n], a->s->layer};
    const uint32_t counter[4] = {(uint32_t)(j / WORDS), (uint32_t)(a->part.q + i), (uint32_t)a->h,
                                 POD_STREAM_DROPOUT};
    uint32_t word[WORDS];
    pod_philox(key, counter, word);
    return (float)(word[j % WORDS] >> 8) * 0x1p-24f >= rate ? (double)(1 / (1 - rate)) : 0;
}

/* scratch: p (Sk), one row of the result (D) */
static void forward_row(const head *a, int64_t i, void *o, float *lse, double *p)
{
    const pod_attention_shape *s = a->s;
    const int64_t seen = pod_attention_seen(s, &a->part, i), at = query_at(a, i);
    double *row = p + s->sk, max = -INFINITY, sum = 0;
    scores(a, i, seen, p);
    for (int64_t j = 0; j < seen; j++) max = fmax(max, p[j]);
    for (int64_t j = 0; j < seen; j++) sum += exp(p[j] - max);
    lse[lse_at(a, i)] = seen ? (float)(max + log(sum)) : 0;
    for (int64_t d = 0; d < s->d; d++) row[d] = 0;
    for (int64_t j = 0; j < seen; j++) {
        const double weight = exp(p[j] - max) / sum * gate(a, i, j);
        for (int64_t d = 0; d < s->d; d++)
            row[d] += weight * (double)pod_element_get(s->t, a->in->v, key_at(a, j) + d);
    }
    for (int64_t d = 0; d < s->d; d++) pod_element_put(s->t, o, at + d, (float)row[d]);
}

/* The sums of a head's gradients, (Sk, D) each, and of one query's, (D). */
typedef struct sums {
    double *dk, *dv, *dq;
} sums;

/* Adds what query i gives to the gradients of the keys that it sees. */
static void backward_row(const head *a, int64_t i, const void *o, const float *lse, const void *d_o,
                         void *dq, double *score, const sums *sum)
{
    const pod_attention_shape *s = a->s;
    const int64_t seen = pod_attention_seen(s, &a->part, i), at = query_at(a, i);
    const double delta = dot(s, d_o, at, o, at);
    scores(a, i, seen, score);
    for (int64_t d = 0; d < s->d; d++) sum->dq[d] = 0;
    for (int64_t j = 0; j < seen; j++) {
        const int64_t key = key_at(a, j);
        const double p = exp(score[j] - (double)lse[lse_at(a, i)]), g = gate(a, i, j);
        const double ds = (double)s->scale * p * (g * dot(s, d_o, at, a->in->v, key) - delta);
        for (int64_t d = 0; d < s->d; d++) {
            sum->dv[j * s->d + d] += p * g * (double)pod_element_get(s->t, d_o, at + d);
            sum->dk[j * s->d + d] += ds * (double)pod_element_get(s->t, a->in->q, at + d);
            sum->dq[d] += ds * (double)pod_element_get(s->t, a->in->k, key + d);
        }
    }
    for (int64_t d = 0; d < s->d; d++) pod_element_put(s->t, dq, at + d, (float)sum->dq[d]);
}

static size_t attention_scratch_bytes(const pod_attention_shape *s)
{
    return sizeof(double) * (size_t)(s->sk + s->d + 2 * s->sk * s->d);
}

static void attention_forward(const pod_attention_shape *s, const pod_attention_inputs *in, void *o,
                              float *lse, void *scratch)
{
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t h = 0; h < s->heads; h++) {
            head a = {.s = s, .in = in, .n = n, .h = h};
            for (int64_t r = 0; pod_attention_next_part(s, in, n, r, &a.part); r++)
                for (int64_t i = 0; i < a.part.sq; i++) forward_row(&a, i, o, lse, scratch);
        }
}

/* The sums of a part's gradients begin with zeros; those of its keys are stored in the end. */
static void backward_part(const head *a, const void *o, const float *lse, const void *d_o, void *dq,
                          void *dk, void *dv, double *score)
{
    const pod_attention_shape *s = a->s;
    const sums sum = {score + s->sk, score + s->sk + s->sk * s->d,
                      score + s->sk + 2 * s->sk * s->d};
    memset(sum.dk, 0, sizeof(double) * (size_t)(2 * s->sk * s->d)); /* and dv behind it */
    for (int64_t i = 0; i < a->part.sq; i++) backward_row(a, i, o, lse, d_o, dq, score, &sum);
    for (int64_t e = 0; e < a->part.sk * s->d; e++) {
        const int64_t at = key_at(a, e / s->d) + e % s->d;
        pod_element_put(s->t, dk, at, (float)sum.dk[e]);
        pod_element_put(s->t, dv, at, (float)sum.dv[e]);
    }
}

static void attention_backward(const pod_attention_shape *s, const pod_attention_inputs *in,
                               const void *o, const float *lse, const void *d_o, void *dq, void *dk,
                               void *dv, void *scratch)
{
    for (int64_t n = 0; n < s->n; n++)
        for (int64_t h = 0; h < s->heads; h++) {
            head a = {.s = s, .in = in, .n = n, .h = h};
            for (int64_t r = 0; pod_attention_next_part(s, in, n, r, &a.part); r++)
                backward_part(&a, o, lse, d_o, dq, dk, dv, scratch);
        }
}

const pod_attention_kernels pod__attention_kernels_ref = {
    "ref", 0, attention_scratch_bytes, attention_forward, attention_backward, false};

POD_SETS_BF16(attention_kernels)
