#include "kernels/base/choice.h"

#include <stdbool.h>
#include <string.h>

#include "kernels/base/cpu.h"

static const struct {
    const char *kind;
    struct {
        const char *kernel;
        double gflop_per_s;
    } of[12]; /* ends with one without a kernel */
} built_in[] = {
#define POD_RATES(kind, ...) {kind, {__VA_ARGS__}},
#include "kernels/base/rates.def"
#undef POD_RATES
};

static bool is_word(const char *text, size_t room)
{
    const size_t n = strcspn(text, " \t\r\n,;=#");
    return n > 0 && text[n] == '\0' && n < room;
}

/* The index of one that was measured, -1 where there is none; r may be NULL. */
static int find_measured(const pod_rates *r, const char *kind, const char *kernel)
{
    for (int i = 0; r && i < r->n; i++)
        if (strcmp(r->rate[i].kind, kind) == 0 && strcmp(r->rate[i].kernel, kernel) == 0) return i;
    return -1;
}

pod_status pod_rates_set(pod_rates *r, const char *kind, const char *kernel, double gflop_per_s)
{
    if (!is_word(kind, POD_RATE_KIND_BYTES) || !is_word(kernel, POD_RATE_KERNEL_BYTES))
        return pod_fail(POD_E_INVALID, "'%.40s' '%.40s' are no names of a kind and a kernel", kind,
                        kernel);
    const int found = find_measured(r, kind, kernel);
    if (found < 0 && r->n == POD_MAX_RATES)
        return pod_fail(POD_E_NOMEM, "more than %d rates of kernels", POD_MAX_RATES);
    pod_rate *at = &r->rate[found < 0 ? r->n++ : found];
    memset(at, 0, sizeof *at);
    memcpy(at->kind, kind, strlen(kind));
    memcpy(at->kernel, kernel, strlen(kernel));
    at->gflop_per_s = gflop_per_s;
    return POD_OK;
}

static const char *rated_name(const pod_candidate *kernel)
{
    return kernel->rated_as ? kernel->rated_as : kernel->name;
}

bool pod_rates_has(const pod_rates *measured, const char *kind, const pod_candidate *kernel)
{
    return find_measured(measured, kind, rated_name(kernel)) >= 0;
}

double pod_rates_find(const pod_rates *measured, const char *kind, const pod_candidate *kernel)
{
    const char *name = rated_name(kernel);
    const int own = find_measured(measured, kind, name);
    if (own >= 0) return measured->rate[own].gflop_per_s;
    for (size_t i = 0; i < sizeof built_in / sizeof built_in[0]; i++)
        for (int k = 0; strcmp(built_in[i].kind, kind) == 0 && built_in[i].of[k].kernel; k++)
            if (strcmp(built_in[i].of[k].kernel, name) == 0) return built_in[i].of[k].gflop_per_s;
    return 0;
}

static bool applies(const pod_choice *how, const pod_candidate *c)
{
    return (c->needs & ~how->cpu) == 0 && !c->refusal;
}

/* The first word of `impl` that names a kernel which applies, -1 when none does. */
static int find_wished(const pod_choice *how, const pod_candidate *candidate, int n)
{
    for (const char *word = how->impl; word && *word; word += *word == ',') {
        const size_t length = strcspn(word, ",");
        for (int i = 0; i < n; i++)
            if (strlen(candidate[i].name) == length &&
                strncmp(candidate[i].name, word, length) == 0 && applies(how, &candidate[i]))
                return i;
        word += length;
    }
    return -1;
}

int pod_choose(const pod_choice *how, const char *kind, const pod_candidate *candidate, int n)
{
    if (how->cpu == POD_CPU_REFERENCE_ONLY) return n - 1;
    const int wished = find_wished(how, candidate, n);
    if (wished >= 0) return wished;
    int best = n - 1;
    double best_rate = -1;
    for (int i = 0; i < n - 1; i++) {
        if (!applies(how, &candidate[i]) || candidate[i].slow) continue;
        const double rate = pod_rates_find(how->rates, kind, &candidate[i]);
        if (rate > best_rate) {
            best = i;
            best_rate = rate;
        }
    }
    return best;
}
