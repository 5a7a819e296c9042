/* The OpenBLAS behind the GEMM kernel "blas": which one it is and what it likes.
 *
 * "blas" needs no scratch when A, B and C are all float32. */
#ifndef MINIPOD_KERNELS_GEMM_BLAS_H
#define MINIPOD_KERNELS_GEMM_BLAS_H

#include <stdbool.h>
#include <stdint.h>

/* Version, options and the CPU kernels in use, "OpenBLAS 0.3.21 ... DYNAMIC_ARCH ... SkylakeX ...",
 * of the build that was loaded: several can be installed. Alive as long as the process. */
const char *pod_blas_config(void);

/* Whether its kernels are for AVX-512; it looks at the CPU, and at OPENBLAS_CORETYPE. */
bool pod_blas_is_avx512(void);

/* A caller who is free to cut a tall float32 product (rows, k) x (k, n) into shorter ones gets the
 * most from this many rows at a time, B not transposed. INT64_MAX: as many as fit the cache. */
int64_t pod_blas_rows(int64_t n, int64_t k);

#endif
