#define _GNU_SOURCE /* syscall, sched_getaffinity */
#include "kernels/base/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

typedef struct named_feature {
    const char *name;
    uint32_t bit;
} named_feature;

static const named_feature feature_names[] = {
    {"avx2", POD_CPU_AVX2},
    {"avx512", POD_CPU_AVX512},
    {"avx512_bf16", POD_CPU_AVX512_BF16},
    {"amx_bf16", POD_CPU_AMX_BF16},
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t found_features;
static uint32_t allowed_features = UINT32_MAX;
static char model_name[64] = "unknown";
static int physical_cores = 1;

#if defined(__x86_64__)

static uint64_t saved_state(void) /* XCR0: the registers the operating system saves */
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static int amx_permitted(void)
{
    const long arch_req_xcomp_perm = 0x1023, tile_data = 18;
    return syscall(SYS_arch_prctl, arch_req_xcomp_perm, tile_data) == 0;
}

static uint32_t probe(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
    const unsigned with_avx2 = bit_FMA | bit_F16C, has_all = (c & with_avx2) == with_avx2;
    const uint64_t ymm = 0x6, zmm = 0xe6, tiles = 0x60000, state = saved_state();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
    const unsigned features_b = b, features_d = d;
    uint32_t found = 0;
    if ((state & ymm) == ymm && has_all && (features_b & bit_AVX2)) found |= POD_CPU_AVX2;
    const unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    if (found && (state & zmm) == zmm && (features_b & avx512) == avx512) {
        found |= POD_CPU_AVX512;
        const unsigned avx512_bf16 = 1u << 5, amx_bf16 = 1u << 22, amx_tile = 1u << 24;
        if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & avx512_bf16))
            found |= POD_CPU_AVX512_BF16;
        if ((features_d & amx_bf16) && (features_d & amx_tile) && (state & tiles) == tiles &&
            amx_permitted())
            found |= POD_CPU_AMX_BF16;
#ifdef POD_AMX_EMULATED /* the build has tiles of its own */
        if (found & POD_CPU_AVX512_BF16) found |= POD_CPU_AMX_BF16;
#endif
    }
    return found;
}

static void read_model(void)
{
    unsigned brand[12] = {0};
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000000u, &a, &b, &c, &d) || a < 0x80000004u) return;
    unsigned *part = brand;
    for (unsigned i = 0; i < 3; i++, part += 4)
        __get_cpuid(0x80000002u + i, &part[0], &part[1], &part[2], &part[3]);
    char text[sizeof brand + 1] = {0};
    memcpy(text, brand, sizeof brand);
    const char *start = text + strspn(text, " ");
    snprintf(model_name, sizeof model_name, "%s", start);
}

#else

static uint32_t probe(void) { return 0; }
static void read_model(void) {}

#endif

/* Of the CPU's core the first hardware thread, which Linux lists first among the siblings. */
static int first_of_core(int cpu)
{
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE *f = fopen(path, "r");
    if (!f) return cpu;
    int first = cpu;
    if (fscanf(f, "%d", &first) != 1) first = cpu;
    fclose(f);
    return first;
}

static void read_cores(void)
{
    /* The machine's cores, not this rank's binding: mpirun binds ranks one by one. */
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    int cores = 0;
    for (int cpu = 0; cpu < (int)n; cpu++) cores += first_of_core(cpu) == cpu;
    physical_cores = cores > 0 ? cores : 1;
}

static void read_all(void)
{
    found_features = probe();
    read_model();
    read_cores();
}

uint32_t pod_cpu_features(void)
{
    pthread_once(&once, read_all);
    return found_features & allowed_features;
}

const char *pod_cpu_why_not(uint32_t needs)
{
    return needs & ~pod_cpu_features() ? "this CPU lacks its instructions" : NULL;
}

pod_status pod_cpu_cap(const char *max_isa)
{
    static const struct {
        const char *name;
        uint32_t allowed;
    } caps[] = {
        {"ref", 0},
        {"avx2", POD_CPU_AVX2},
        {"avx512", POD_CPU_AVX2 | POD_CPU_AVX512},
        {"avx512_bf16", POD_CPU_AVX2 | POD_CPU_AVX512 | POD_CPU_AVX512_BF16},
        {"amx", UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
        if (strcmp(max_isa, caps[i].name) == 0) {
            allowed_features = caps[i].allowed;
            return POD_OK;
        }
    }
    return pod_fail(POD_E_INVALID,
                    "MINIPOD_MAX_ISA: '%s' is none of ref, avx2, avx512, avx512_bf16, amx",
                    max_isa);
}

const char *pod_cpu_print(uint32_t features, char *text, size_t bytes)
{
    size_t used = 0;
    if (bytes) text[0] = '\0';
    for (size_t i = 0; i < sizeof feature_names / sizeof feature_names[0]; i++) {
        if (!(features & feature_names[i].bit) || used >= bytes) continue;
        int n = snprintf(text + used, bytes - used, "%s%s", used ? " " : "", feature_names[i].name);
        if (n > 0) used += (size_t)n;
    }
    return text;
}

const char *pod_cpu_model(void)
{
    pthread_once(&once, read_all);
    return model_name;
}

int pod_cpu_physical_cores(void)
{
    pthread_once(&once, read_all);
    return physical_cores;
}

/* ---- where this thread may run --------------------------------------------------------------- */

enum { N_WORDS = sizeof(pod_cpu_set) / sizeof(uint64_t), N_CPUS = 64 * N_WORDS };

static void add(pod_cpu_set *set, int cpu) { set->bits[cpu / 64] |= (uint64_t)1 << (cpu % 64); }

static int has(const pod_cpu_set *set, int cpu)
{
    return (int)(set->bits[cpu / 64] >> (cpu % 64) & 1);
}

void pod_cpu_allowed(pod_cpu_set *out)
{
    cpu_set_t allowed;
    *out = (pod_cpu_set){{0}};
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (int cpu = 0; cpu < N_CPUS && cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET((size_t)cpu, &allowed)) add(out, cpu);
}

int pod_cpu_set_count(const pod_cpu_set *set)
{
    int n = 0;
    for (size_t i = 0; i < N_WORDS; i++) n += __builtin_popcountll(set->bits[i]);
    return n;
}

int pod_cpu_set_cores(const pod_cpu_set *set)
{
    pod_cpu_set first = {{0}};
    for (int cpu = 0; cpu < N_CPUS; cpu++)
        if (has(set, cpu)) add(&first, first_of_core(cpu));
    const int n = pod_cpu_set_count(&first);
    return n > 0 ? n : pod_cpu_physical_cores();
}
