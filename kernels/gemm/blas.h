/* Describes the OpenBLAS behind the GEMM kernel "blas".
 *
 * "blas" needs no scratch when A, B and C are all float32. */
#ifndef MINIPOD_KERNELS_GEMM_BLAS_H
#define MINIPOD_KERNELS_GEMM_BLAS_H

#include <stdint.h>

/* Describes the loaded build of OpenBLAS, as several can be installed: version, options and core
 * type, such as "OpenBLAS 0.3.21 ... DYNAMIC_ARCH ... SkylakeX ...". The text is valid as long as
 * the process lives. */
const char *pod_blas_config(void);

/* Returns which of POD_CPU_AVX2 and POD_CPU_AVX512 the kernels of OpenBLAS use. OpenBLAS detects
 * the CPU when it is loaded, and treats a CPU that it does not know as a Prescott. The environment
 * variable OPENBLAS_CORETYPE overrides that. */
uint32_t pod_blas_features(void);

/* Returns the OpenBLAS core type whose kernels are used, such as "Haswell". The text is valid as
 * long as the process lives. */
const char *pod_blas_core(void);

/* A caller may split a tall float32 matmul (m, k) x (k, n), with B not transposed, into blocks of
 * rows. Returns the number of rows of a block for which OpenBLAS is fastest; INT64_MAX: there is no
 * such number, so use as many rows as fit the cache. */
int64_t pod_blas_rows(int64_t n, int64_t k);

#endif
