/* Any text as what a run left, run.json, steps.csv and goodput.json behind one another with lines of
 * %% between: what is read has curves of numbers in order of their arrays, and shares that sum to 1. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/report/report.h"
#include "kernels/base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_parts(const pod_report_part *part, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += part[i].share;
    POD_ASSERT(n == 0 || fabs(sum - 1) < 1e-9, "%d parts sum to %g", n, sum);
}

static void check(const pod_report_run *r)
{
    for (int i = 0; i < r->step.n; i++)
        POD_ASSERT(isfinite(r->step.x[i]) && isfinite(r->step.y[i]), "point %d", i);
    for (int i = 0; i < r->by_time.n; i++)
        POD_ASSERT(isfinite(r->by_time.x[i]) && isfinite(r->by_epoch.y[i]), "evaluation %d", i);
    check_parts(r->phase, r->n_phases);
    check_parts(r->category, r->n_categories);
}

/* The text behind the next line of %%, which ends the one before it; NULL where there is none. */
static char *next_part(char *text)
{
    static const char between[] = "\n%%\n";
    char *end = text ? strstr(text, between) : NULL;
    if (!end) return NULL;
    *end = '\0';
    return end + strlen(between);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pod_arena *a;
    pod_report_run r;
    char *text = malloc(bytes + 1);
    POD_ASSERT(text, "no memory for %zu bytes", bytes);
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = '\0';
    char *steps = next_part(text), *goodput = next_part(steps);
    if (pod_arena_create(NULL, &a) != POD_OK) abort();
    if (pod_report_parse(a, "fuzz", text, steps, goodput, &r) == POD_OK) {
        check(&r);
        for (int i = 0; pod_report_result_name(i); i++) (void)pod_report_result(a, &r, i);
        pod_report_close(&r);
    }
    pod_arena_destroy(a);
    free(text);
    return 0;
}
