/* kernels/gemm/pack: each instruction set's loops against kernels/base/bf16.h and plain copies. */
#include <stdio.h>

#include "kernels/base/cpu.h"
#include "kernels/base/rng.h"
#include "kernels/gemm/pack.h"
#include "tests/unit/kernels/kernel_test.h"

enum { N_BF16 = 1 << 16, LONGEST = 150 };

static void widen_is_exact(const pod_pack *pack)
{
    static pod_bf16 from[N_BF16];
    static uint32_t to[N_BF16];
    for (int i = 0; i < N_BF16; i++) from[i].bits = (uint16_t)i;
    pack->widen(N_BF16, from, (float *)to);
    for (uint32_t i = 0; i < N_BF16; i++)
        POD_CHECK(to[i] == i << 16, "%s: 0x%04x widens to 0x%08x", pack->name, i, to[i]);
}

/* All exponents with the tails at which rounding turns, both signs; then any bits. */
static void narrow_rounds_as_bf16(const pod_pack *pack)
{
    static const uint32_t tails[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
    enum { N_TAILS = 6, N = N_BF16 * N_TAILS, N_RANDOM = 100000 };
    static uint32_t from[N + N_RANDOM];
    static pod_bf16 to[N + N_RANDOM];
    for (uint32_t i = 0; i < N; i++) from[i] = (i / N_TAILS) << 16 | tails[i % N_TAILS];
    pod_rng rng = pod_rng_at(1, (pod_place){.stream = POD_STREAM_TEST});
    for (int i = 0; i < N_RANDOM; i++) from[N + i] = pod_rng_u32(&rng);
    pack->narrow(N + N_RANDOM, (const float *)from, to);
    for (int i = 0; i < N + N_RANDOM; i++) {
        const uint16_t want = pod_bf16_from_f32(((const float *)from)[i]).bits;
        POD_CHECK(to[i].bits == want, "%s: 0x%08x narrows to 0x%04x, want 0x%04x", pack->name,
                  from[i], to[i].bits, want);
    }
}

/* Every length up to some vectors, up to a guard page on both sides. */
static void lengths_are_kept(const pod_pack *pack)
{
    for (int n = 0; n <= LONGEST; n++) {
        float *wide = pod_test_guard((size_t)n * sizeof *wide);
        pod_bf16 *half = pod_test_guard((size_t)n * sizeof *half);
        for (int i = 0; i < n; i++) wide[i] = (float)(i - 50);
        pack->narrow(n, wide, half);
        for (int i = 0; i < n; i++) wide[i] = 0.0f;
        pack->widen(n, half, wide);
        for (int i = 0; i < n; i++)
            POD_CHECK(pod_test_near((double)wide[i], i - 50, 0.0), "%s: %d of %d is %g", pack->name,
                      i, n, (double)wide[i]);
        pod_test_guard_free(wide, (size_t)n * sizeof *wide);
        pod_test_guard_free(half, (size_t)n * sizeof *half);
    }
}

static void windows_lie_below_each_other(const pod_pack *pack)
{
    enum { N = 4, STEP = 3, GAP = 2 };
    for (int run = 0; run <= 70; run++) {
        const int ld = run + GAP, n_from = (N - 1) * STEP + run, n_to = (N - 1) * ld + run;
        float *from = pod_test_guard((size_t)n_from * sizeof *from);
        float *to = pod_test_guard((size_t)n_to * sizeof *to);
        for (int i = 0; i < n_from; i++) from[i] = (float)i;
        for (int i = 0; i < n_to; i++) to[i] = -1.0f;
        pack->windows(N, run, from, STEP, to, ld);
        for (int i = 0; i < n_to; i++) {
            const int window = i / ld, column = i % ld;
            const double want = column < run ? window * STEP + column : -1.0;
            POD_CHECK(pod_test_near((double)to[i], want, 0.0), "%s: run %d, %d is %g, want %g",
                      pack->name, run, i, (double)to[i], want);
        }
        pod_test_guard_free(from, (size_t)n_from * sizeof *from);
        pod_test_guard_free(to, (size_t)n_to * sizeof *to);
    }
}

static void for_each_pack(void (*test)(const pod_pack *pack))
{
    EACH_SET(pack, set) test(set);
}

static void pack_widens_exactly(void) { for_each_pack(widen_is_exact); }
static void pack_narrows_as_bf16(void) { for_each_pack(narrow_rounds_as_bf16); }
static void pack_keeps_to_its_length(void) { for_each_pack(lengths_are_kept); }
static void pack_lays_windows(void) { for_each_pack(windows_lie_below_each_other); }

POD_TEST_SUITE("pack", {"pack_widens_exactly", pack_widens_exactly},
               {"pack_narrows_as_bf16", pack_narrows_as_bf16},
               {"pack_keeps_to_its_length", pack_keeps_to_its_length},
               {"pack_lays_windows", pack_lays_windows});
