/* The features of this CPU and its operating system. They are read once and limited by
 * MINIPOD_MAX_ISA. */
#ifndef MINIPOD_KERNELS_BASE_CPU_H
#define MINIPOD_KERNELS_BASE_CPU_H

#include <stdint.h>

#include "kernels/base/status.h"

enum {
    POD_CPU_AVX2 = 1u << 0,   /* with FMA */
    POD_CPU_AVX512 = 1u << 1, /* F, BW, DQ, VL */
    POD_CPU_AVX512_BF16 = 1u << 2,
    POD_CPU_AMX_BF16 = 1u << 3 /* AMX tiles and bf16 products, permitted by the kernel */
};

/* A function that picks a kernel picks the reference if it gets this instead of features. */
#define POD_CPU_REFERENCE_ONLY UINT32_MAX

/* Returns the features that may be used: those of CPUID whose state the operating system saves, AMX
 * only if arch_prctl grants it. The result does not change after pod_cpu_cap. */
uint32_t pod_cpu_features(void);

/* Returns NULL if the CPU has all these POD_CPU_ bits, else the reason. Call no function of a
 * kernel that needs missing bits, not even its why_not: its whole file is compiled for them. */
const char *pod_cpu_why_not(uint32_t needs);

/* Limits the features to "ref", "avx2", "avx512", "avx512_bf16" or "amx"; each includes those
 * before it. Call it once at start, with MINIPOD_MAX_ISA. Fails with E_INVALID for another name. */
POD_MUST pod_status pod_cpu_cap(const char *max_isa);

/* Writes names such as "avx2 avx512 amx_bf16" to `text`; returns `text`. */
const char *pod_cpu_print(uint32_t features, char *text, size_t bytes);

const char *pod_cpu_model(void); /* "Intel(R) Xeon(R) Processor", or "unknown" */

/* Returns the number of physical cores of this machine, without hardware threads. */
int pod_cpu_physical_cores(void);

typedef struct pod_cpu_set { /* bit i: CPU i; CPUs from 1024 on are ignored */
    uint64_t bits[16];
} pod_cpu_set;

/* Returns the CPUs that this thread may run on, by its binding, cpuset or Slurm; an empty set if
 * they are unknown. */
void pod_cpu_allowed(pod_cpu_set *out);
int pod_cpu_set_count(const pod_cpu_set *set);
/* Returns the number of physical cores with a CPU in the set; of an empty set, that of the
 * machine. */
int pod_cpu_set_cores(const pod_cpu_set *set);

#endif
