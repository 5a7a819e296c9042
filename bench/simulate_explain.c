#include "bench/simulate_explain.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/table.h"

enum { NAME_BYTES = 48, MAX_GROUPS = 256 };

/* ---- what bounds each part ------------------------------------------------------------------- */

typedef struct
    group { /* instructions of one phase whose labels begin alike, up to the first slash */
    char name[NAME_BYTES];
    pod_phase phase;
    double seconds, bound_s[POD_N_BOUNDS];
} group;

static group *find_group(group *g, int *n, const pod_instr *instr)
{
    char name[NAME_BYTES];
    const int length = (int)strcspn(instr->label, "/");
    snprintf(name, sizeof name, "%.*s", length < NAME_BYTES ? length : NAME_BYTES - 1,
             instr->label);
    for (int i = 0; i < *n; i++)
        if (g[i].phase == instr->phase && strcmp(g[i].name, name) == 0) return &g[i];
    if (*n == MAX_GROUPS) return &g[MAX_GROUPS - 1];
    g[*n] = (group){.phase = instr->phase};
    memcpy(g[*n].name, name, sizeof name);
    return &g[(*n)++];
}

static int group_instrs(const pod_simulated *s, group g[MAX_GROUPS])
{
    int n = 0;
    for (int32_t i = 0; i < s->program->n_instrs; i++) {
        const pod_instr *instr = &s->program->instr[i];
        const double seconds = s->slowness * pod_program_times(s->program, i) * s->time[i].seconds;
        if (instr->kind != POD_I_RUN || seconds == 0) continue;
        group *of = find_group(g, &n, instr);
        of->seconds += seconds;
        of->bound_s[s->time[i].bound] += seconds;
    }
    return n;
}

static const pod_column columns[] = {{"phase", "", true},    {"part", "", true},
                                     {"time", "ms", false},  {"share", "%", false},
                                     {"matrix", "%", false}, {"vector", "%", false},
                                     {"memory", "%", false}, {"overhead", "%", false}};

static pod_status print_groups(const pod_simulated *s, FILE *to)
{
    static group g[MAX_GROUPS];
    pod_table *t;
    const int n = group_instrs(s, g);
    POD_TRY(pod_table_create(columns, sizeof columns / sizeof columns[0], &t));
    pod_table_note(t, "what each part of the network waits for, in shares of its time");
    for (int i = 0; i < n; i++) {
        pod_table_add(t, "%s", pod_phase_name(g[i].phase));
        pod_table_add(t, "%s", g[i].name);
        pod_table_add(t, "%.3f", g[i].seconds * 1e3);
        pod_table_add(t, "%.1f", 100 * g[i].seconds / s->step_s);
        for (pod_bound b = 0; b < POD_N_BOUNDS; b++)
            pod_table_add(t, "%.0f", 100 * g[i].bound_s[b] / g[i].seconds);
    }
    pod_status status = pod_table_print(t, to);
    pod_table_destroy(t);
    return status;
}

/* ---- the all-reduce -------------------------------------------------------------------------- */

static void say_reduce(const pod_simulated *s, FILE *to)
{
    const double exposed = s->stats.phase[POD_PHASE_REDUCE].mean, in_flight = s->stats.comm.mean;
    if (s->program->n_colls == 0) {
        fprintf(to, "# one core: nothing is reduced\n");
        return;
    }
    fprintf(to,
            "# reductions: %d collectives of %.1f MB in all are in flight for %.3f ms, one after "
            "the other;\n"
            "#   of these %.3f ms are waited for, %.2f %% of the step; the rest hides behind "
            "backward\n",
            (int)s->program->n_colls, (double)s->program->reduce_bytes * 1e-6, in_flight * 1e3,
            exposed * 1e3, 100 * exposed / s->step_s);
}

/* ---- what would help ------------------------------------------------------------------------- */

typedef struct what_if {
    const char *text;
    size_t field; /* of the machine: a rate */
    double factor, step_s;
} what_if;

#define TWICE(field, text)                       \
    {                                            \
        text, offsetof(pod_machine, field), 2, 0 \
    }
#define WITHOUT(field, text)                     \
    {                                            \
        text, offsetof(pod_machine, field), 0, 0 \
    }

static pod_status try_one(pod_planned *p, what_if *w)
{
    pod_arena *arena;
    pod_simulated s;
    double *rate = (double *)(void *)((char *)&p->machine + w->field);
    const double before = *rate;
    POD_TRY(pod_arena_create(NULL, &arena));
    *rate *= w->factor;
    const pod_status status = pod_simulate(p, arena, &s);
    *rate = before;
    if (status == POD_OK) w->step_s = s.step_s;
    pod_arena_destroy(arena);
    return status;
}

static int by_step(const void *a, const void *b)
{
    const what_if *x = a, *y = b;
    return (x->step_s > y->step_s) - (x->step_s < y->step_s);
}

static pod_status print_what_ifs(pod_planned *p, const pod_simulated *s, FILE *to)
{
    what_if w[] = {TWICE(peak_bf16_gflop_per_s, "a matrix unit twice as fast"),
                   TWICE(vector_gop_per_s, "a vector unit twice as fast"),
                   TWICE(copy_memory_gb_per_s, "memory twice as fast"),
                   TWICE(link_gb_per_s, "links twice as fast"),
                   WITHOUT(link_latency_us, "links without latency"),
                   WITHOUT(instr_overhead_us, "no overhead of an instruction")};
    enum { N = sizeof w / sizeof w[0] };
    for (int i = 0; i < N; i++) POD_TRY(try_one(p, &w[i]));
    qsort(w, N, sizeof w[0], by_step);
    fprintf(to, "# what would help, most first:\n");
    for (int i = 0; i < N; i++)
        fprintf(to, "#   %-32s %10.3f ms  %6.2f x\n", w[i].text, w[i].step_s * 1e3,
                s->step_s / w[i].step_s);
    return POD_OK;
}

pod_status pod_simulate_explain(pod_planned *p, const pod_simulated *s, FILE *to)
{
    fputc('\n', to);
    POD_TRY(print_groups(s, to));
    say_reduce(s, to);
    if (pod_machine_is_virtual(&p->machine)) POD_TRY(print_what_ifs(p, s, to));
    return POD_OK;
}
