/* The OpenBLAS behind the GEMM kernel "blas": which one it is and what it likes.
 *
 * "blas" needs no scratch when A, B and C are all float32. */
#ifndef MINIPOD_KERNELS_GEMM_BLAS_H
#define MINIPOD_KERNELS_GEMM_BLAS_H

#include <stdint.h>

/* Version, options and the CPU kernels in use, "OpenBLAS 0.3.21 ... DYNAMIC_ARCH ... SkylakeX ...",
 * of the build that was loaded: several can be installed. Alive as long as the process. */
const char *pod_blas_config(void);

/* The POD_CPU_ bits, of AVX2 and AVX512, that its kernels use. It looks at the CPU when it is loaded,
 * and takes one that is newer than itself for a Prescott; OPENBLAS_CORETYPE tells it otherwise. */
uint32_t pod_blas_features(void);

/* The core whose kernels it took, "Haswell". Alive as long as the process. */
const char *pod_blas_core(void);

/* A caller who is free to cut a tall float32 product (rows, k) x (k, n) into shorter ones gets the
 * most from this many rows at a time, B not transposed. INT64_MAX: as many as fit the cache. */
int64_t pod_blas_rows(int64_t n, int64_t k);

#endif
