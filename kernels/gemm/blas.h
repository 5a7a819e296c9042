/* Describes the OpenBLAS behind the GEMM kernel "blas".
 *
 * "blas" needs no scratch when A, B and C are all float32. */
#ifndef MINIPOD_KERNELS_GEMM_BLAS_H
#define MINIPOD_KERNELS_GEMM_BLAS_H

#include <stdint.h>

/* Returns version, options and CPU kernels, "OpenBLAS 0.3.21 ... DYNAMIC_ARCH ... SkylakeX ...", of
 * the build that was loaded, because several can be installed. Valid as long as the process
 * lives. */
const char *pod_blas_config(void);

/* Returns the POD_CPU_ bits, of AVX2 and AVX512, that its kernels use. OpenBLAS detects the CPU
 * when it is loaded, and treats one that it does not know as a Prescott; OPENBLAS_CORETYPE
 * overrides that. */
uint32_t pod_blas_features(void);

/* Returns the core type whose kernels it uses, "Haswell". Valid as long as the process lives. */
const char *pod_blas_core(void);

/* Returns the number of rows with which a tall float32 product (rows, k) x (k, n), B not
 * transposed, is fastest, for a caller who can split it. INT64_MAX: as many as fit the cache. */
int64_t pod_blas_rows(int64_t n, int64_t k);

#endif
