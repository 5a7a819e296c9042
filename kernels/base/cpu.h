/* What this CPU and its operating system can do. Read once; capped by MINIPOD_MAX_ISA. */
#ifndef MINIPOD_KERNELS_BASE_CPU_H
#define MINIPOD_KERNELS_BASE_CPU_H

#include <stdint.h>

#include "kernels/base/status.h"

enum {
    POD_CPU_AVX2 = 1u << 0,   /* with FMA */
    POD_CPU_AVX512 = 1u << 1, /* F, BW, DQ, VL */
    POD_CPU_AVX512_BF16 = 1u << 2,
    POD_CPU_AMX_BF16 = 1u << 3 /* tiles and bf16 products, permission granted by the kernel */
};

/* Passed to a pick in place of features: take the reference. */
#define POD_CPU_REFERENCE_ONLY UINT32_MAX

/* The features that may be used: CPUID and the state the operating system saves; AMX only after
 * arch_prctl granted it. The same answer for the whole life of the process. */
uint32_t pod_cpu_features(void);

/* NULL: it has all of these POD_CPU_ bits. Else a kernel that needs them must not even be asked
 * whether it takes a call: all of its file is compiled for them. The text says so. */
const char *pod_cpu_why_not(uint32_t needs);

/* Lowers the answer: "ref", "avx2", "avx512", "avx512_bf16" or "amx"; each includes those before
 * it. Called once at start with MINIPOD_MAX_ISA. E_INVALID for another name. */
POD_MUST pod_status pod_cpu_cap(const char *max_isa);

/* "avx2 avx512 amx_bf16" into `text`; returns `text`. */
const char *pod_cpu_print(uint32_t features, char *text, size_t bytes);

const char *pod_cpu_model(void); /* "Intel(R) Xeon(R) Processor", or "unknown" */

/* Cores of this machine, counted once each however many hardware threads they have. */
int pod_cpu_physical_cores(void);

typedef struct pod_cpu_set { /* bit i: CPU i; those beyond are not counted */
    uint64_t bits[16];
} pod_cpu_set;

/* The CPUs that this thread may run on, by its binding, cpuset or Slurm; none where unknown. */
void pod_cpu_allowed(pod_cpu_set *out);
int pod_cpu_set_count(const pod_cpu_set *set);
/* Physical cores of which the set has a CPU; an empty set stands for the whole machine. */
int pod_cpu_set_cores(const pod_cpu_set *set);

#endif
