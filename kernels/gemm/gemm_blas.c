/* Matrix products by OpenBLAS, on one thread: float32 as they are; bfloat16 operands widened block
 * by block into float32, a bfloat16 C rounded from a float32 block. Its own bfloat16 product is not
 * used: Debian's library declares cblas_sbgemm and does not have it. */
#include "kernels/base/arith.h"
#include "kernels/gemm/blas.h"

#include <cblas.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/gemm/pack.h"

/* OpenBLAS has kernels for AVX-512 that take a product of at most this many multiply-adds without
 * packing it first (kernel/x86_64/sgemm_small_kernel_permit_skylakex.c). */
static const int64_t small_product = 1000000;
static const int64_t small_rows_min = 64; /* below it the calls cost more than packing does */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char config[256];
static uint32_t features; /* with AVX512 it has the kernels for small products */

static void set_up(void)
{
    static const struct {
        const char *name;
        uint32_t features;
    } cores[] = {
        {"SkylakeX", POD_CPU_AVX512 | POD_CPU_AVX2},
        {"Cooperlake", POD_CPU_AVX512 | POD_CPU_AVX2},
        {"SapphireRapids", POD_CPU_AVX512 | POD_CPU_AVX2},
        {"Haswell", POD_CPU_AVX2},
        {"Zen", POD_CPU_AVX2},
    };
    openblas_set_num_threads(1);
    snprintf(config, sizeof config, "%s", openblas_get_config());
    for (size_t i = 0; i < sizeof cores / sizeof cores[0]; i++)
        if (strcmp(openblas_get_corename(), cores[i].name) == 0) features = cores[i].features;
}

const char *pod_blas_core(void) { return openblas_get_corename(); }

const char *pod_blas_config(void)
{
    pthread_once(&once, set_up);
    return config;
}

uint32_t pod_blas_features(void)
{
    pthread_once(&once, set_up);
    return features;
}

int64_t pod_blas_rows(int64_t n, int64_t k)
{
    if (!(pod_blas_features() & POD_CPU_AVX512) || n <= 0 || k <= 0 || n > small_product / k)
        return INT64_MAX;
    const int64_t rows = small_product / (n * k);
    return rows < small_rows_min ? INT64_MAX : rows;
}

/* One product in float32 without a batch. */
typedef struct product {
    bool trans_a, trans_b;
    int64_t m, n, k, lda, ldb, ldc;
    const float *a, *b;
    float beta, *c;
} product;

static void sgemm(const product *p)
{
    cblas_sgemm(CblasRowMajor, p->trans_a ? CblasTrans : CblasNoTrans,
                p->trans_b ? CblasTrans : CblasNoTrans, (int)p->m, (int)p->n, (int)p->k, 1.0f, p->a,
                (int)pod_max(p->lda, 1), p->b, (int)pod_max(p->ldb, 1), p->beta, p->c,
                (int)pod_max(p->ldc, 1));
}

/* Cut along m or k, whichever is longer, where the library likes short products better. */
static void multiply(const product *p)
{
    const int64_t rows = pod_min(p->m, p->m >= p->k ? pod_blas_rows(p->n, p->k) : INT64_MAX);
    const int64_t depth = pod_min(p->k, p->m >= p->k ? INT64_MAX : pod_blas_rows(p->n, p->m));
    product part = *p;
    for (int64_t m = 0; m < p->m; m += rows) {
        part.m = pod_min(p->m - m, rows);
        part.c = p->c + m * p->ldc;
        part.beta = p->beta;
        int64_t k = 0;
        do { /* also once for k = 0, which gives beta C */
            part.k = pod_min(p->k - k, depth);
            part.a = p->a + (p->trans_a ? k * p->lda + m : m * p->lda + k);
            part.b = p->b + (p->trans_b ? k : k * p->ldb);
            sgemm(&part);
            part.beta = 1.0f;
            k += depth;
        } while (k < p->k);
    }
}

/* The blocks that are widened and rounded: A at most 512 KiB, B at most 1 MiB, so that they stay in
 * a core's cache; long enough in m and n that widening is a few percent of multiplying. */
static pod_gemm_shape block_of(pod_gemm_shape s)
{
    const int64_t k = pod_min(s.k, 512), n = pod_min(s.n, 512);
    const int64_t floats = INT64_C(512) * 1024 / (int64_t)sizeof(float);
    return (pod_gemm_shape){pod_min(s.m, floats / pod_max(pod_max(k, n), 32)), n, k};
}

static int64_t padded(int64_t n_floats) { return (n_floats + 15) / 16 * 16; }

/* The block of `rows` x `columns` of a stored matrix that starts at (row, column), as float32. */
static const float *block(pod_dtype t, const void *data, int64_t row, int64_t column, int64_t rows,
                          int64_t columns, int64_t *ld, float *room)
{
    const int64_t at = row * *ld + column;
    if (t == POD_F32) return (const float *)data + at;
    const pod_pack *pack = pod_pack_pick(pod_cpu_features());
    const pod_bf16 *from = (const pod_bf16 *)data + at;
    if (*ld == columns)
        pack->widen(rows * columns, from, room);
    else
        for (int64_t i = 0; i < rows; i++) pack->widen(columns, from + i * *ld, room + i * columns);
    *ld = columns;
    return room;
}

static const float *block_a(const pod_gemm_call *c, const void *a, int64_t m, int64_t k, product *p,
                            float *room)
{
    p->lda = c->lda;
    if (c->trans_a) return block(c->ab_dtype, a, k, m, p->k, p->m, &p->lda, room);
    return block(c->ab_dtype, a, m, k, p->m, p->k, &p->lda, room);
}

static const float *block_b(const pod_gemm_call *c, const void *b, int64_t k, int64_t n, product *p,
                            float *room)
{
    p->ldb = c->ldb;
    if (c->trans_b) return block(c->ab_dtype, b, n, k, p->n, p->k, &p->ldb, room);
    return block(c->ab_dtype, b, k, n, p->k, p->n, &p->ldb, room);
}

static void round_block(const product *p, pod_bf16 *c, int64_t ldc)
{
    const pod_pack *pack = pod_pack_pick(pod_cpu_features());
    for (int64_t i = 0; i < p->m; i++) pack->narrow(p->n, p->c + i * p->ldc, c + i * ldc);
}

/* One product of a batch: for each block of C, over the blocks of k. */
static void run_blocks(const pod_gemm_call *c, const void *a, const void *b, void *out,
                       float *scratch)
{
    const pod_gemm_shape s = c->shape, size = block_of(s);
    float *room_a = scratch, *room_b = room_a + padded(size.m * size.k);
    float *room_c = room_b + padded(size.k * size.n);
    product p = {.trans_a = c->trans_a, .trans_b = c->trans_b};
    for (int64_t n = 0; n < s.n; n += size.n) {
        p.n = pod_min(s.n - n, size.n);
        for (int64_t m = 0; m < s.m; m += size.m) {
            p.m = pod_min(s.m - m, size.m);
            p.beta = c->beta;
            p.c = c->c_dtype == POD_F32 ? (float *)out + m * c->ldc + n : room_c;
            p.ldc = c->c_dtype == POD_F32 ? c->ldc : p.n;
            int64_t k = 0;
            do {
                p.k = pod_min(s.k - k, size.k);
                p.a = block_a(c, a, m, k, &p, room_a);
                if (m == 0 || size.k < s.k) p.b = block_b(c, b, k, n, &p, room_b);
                multiply(&p);
                p.beta = 1.0f;
                k += size.k;
            } while (k < s.k);
            if (c->c_dtype == POD_BF16) round_block(&p, (pod_bf16 *)out + m * c->ldc + n, c->ldc);
        }
    }
}

const char *pod__gemm_blas_why_not(const pod_gemm_call *c)
{
    const int64_t sizes[] = {c->shape.m, c->shape.n, c->shape.k, c->lda, c->ldb, c->ldc};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i] > INT_MAX) return "a dimension is above 2^31 - 1";
    if (c->fused) return "the library fuses nothing and takes no packed operand";
    return NULL;
}

size_t pod__gemm_blas_scratch_bytes(const pod_gemm_call *c)
{
    if (c->ab_dtype == POD_F32 && c->c_dtype == POD_F32) return 0;
    const pod_gemm_shape size = block_of(c->shape);
    return (size_t)(padded(size.m * size.k) + padded(size.k * size.n) + padded(size.m * size.n)) *
           sizeof(float);
}

void pod__gemm_blas_run(const pod_gemm_call *c, void *scratch)
{
    pthread_once(&once, set_up);
    const int64_t ab_bytes = (int64_t)pod_dtype_bytes(c->ab_dtype);
    const int64_t c_bytes = (int64_t)pod_dtype_bytes(c->c_dtype);
    const pod_gemm_shape s = c->shape;
    for (int64_t i = 0; i < c->n_batch; i++) {
        const void *a = (const char *)c->a + i * c->stride_a * ab_bytes;
        const void *b = (const char *)c->b + i * c->stride_b * ab_bytes;
        void *out = (char *)c->c + i * c->stride_c * c_bytes;
        if (c->ab_dtype == POD_F32 && c->c_dtype == POD_F32)
            multiply(&(product){c->trans_a, c->trans_b, s.m, s.n, s.k, c->lda, c->ldb, c->ldc, a, b,
                                c->beta, out});
        else
            run_blocks(c, a, b, out, scratch);
    }
}
