/* Where a step's time goes: the instructions of the last steps of rank 0 by phase, op and kernel;
 * of each the median over these steps, what share that is of all, and at what rate it works. */
#include <stdlib.h>
#include <string.h>

#include "bench/common/table.h"
#include "bench/train/run.h"
#include "runtime/core/spread.h"

typedef struct use {
    pod_phase phase;
    const char *op, *kernel;
    int n; /* instructions, each time it runs in a step */
    double flops, bytes;
    double *step_s; /* by kept step */
    double median_s;
} use;

typedef struct profile {
    use *use;
    int n_uses;
    int *use_of_instr;
    int n_steps;
} profile;

static int find_use(profile *p, const pod_instr *in)
{
    for (int i = 0; i < p->n_uses; i++)
        if (p->use[i].phase == in->phase && strcmp(p->use[i].op, in->op) == 0 &&
            strcmp(p->use[i].kernel, in->impl) == 0)
            return i;
    p->use[p->n_uses] = (use){.phase = in->phase, .op = in->op, .kernel = in->impl};
    return p->n_uses++;
}

static pod_status take_memory(pod_arena *a, const pod_program *program, int n_steps, profile *p)
{
    p->n_steps = n_steps;
    p->use = POD_ARENA_NEW(a, use, program->n_instrs);
    p->use_of_instr = POD_ARENA_NEW(a, int, program->n_instrs);
    if (!p->use || !p->use_of_instr) return POD_E_NOMEM;
    for (int32_t i = 0; i < program->n_instrs; i++) {
        const pod_instr *in = &program->instr[i];
        use *u = &p->use[p->use_of_instr[i] = find_use(p, in)];
        const int times = pod_program_times(program, i);
        u->n += times;
        u->flops += times * in->cost.matrix_flops;
        u->bytes += times * (in->cost.bytes_read + in->cost.bytes_written);
    }
    for (int i = 0; i < p->n_uses; i++) {
        p->use[i].step_s = POD_ARENA_NEW(a, double, n_steps);
        if (!p->use[i].step_s) return POD_E_NOMEM;
    }
    return POD_OK;
}

static void gather(profile *p, const pod_event *event, int64_t n_events)
{
    for (int64_t i = 0; i < n_events; i++) {
        const pod_event *e = &event[i];
        if (e->lane != POD_LANE_COMPUTE || e->instr < 0) continue;
        p->use[p->use_of_instr[e->instr]].step_s[e->step - event[0].step] +=
            pod_time_seconds(e->end - e->begin);
    }
    for (int i = 0; i < p->n_uses; i++)
        p->use[i].median_s = pod_spread_of(p->use[i].step_s, p->n_steps).median;
}

static int longest_first(const void *a, const void *b)
{
    const use *x = a, *y = b;
    return (x->median_s < y->median_s) - (x->median_s > y->median_s);
}

static const pod_column columns[] = {{"phase", "", true},        {"op", "", true},
                                     {"kernel", "", true},       {"n", "", false},
                                     {"med", "ms", false},       {"share", "%", false},
                                     {"rate", "GFLOP/s", false}, {"moved", "GB/s", false}};

static void add_rate(pod_table *t, double amount, double seconds)
{
    if (amount > 0 && seconds > 0)
        pod_table_add(t, "%.1f", 1e-9 * amount / seconds);
    else
        pod_table_add(t, "-");
}

static pod_status print(const profile *p, FILE *to)
{
    double all_s = 0;
    for (int i = 0; i < p->n_uses; i++) all_s += p->use[i].median_s;
    pod_table *t;
    POD_TRY(pod_table_create(columns, sizeof columns / sizeof columns[0], &t));
    pod_table_note(t, "rank 0, clock wall: medians of the last %d steps, %.3f ms in all",
                   p->n_steps, 1e3 * all_s);
    for (int i = 0; i < p->n_uses; i++) {
        const use *u = &p->use[i];
        pod_table_add(t, "%s", pod_phase_name(u->phase));
        pod_table_add(t, "%s", u->op);
        pod_table_add(t, "%s", u->kernel[0] ? u->kernel : "-");
        pod_table_add(t, "%d", u->n);
        pod_table_add(t, "%.3f", 1e3 * u->median_s);
        pod_table_add(t, "%.1f", all_s > 0 ? 100 * u->median_s / all_s : 0);
        add_rate(t, u->flops, u->median_s);
        add_rate(t, u->bytes, u->median_s);
    }
    pod_status s = pod_table_print(t, to);
    pod_table_destroy(t);
    return s;
}

pod_status pod_run_print_profile(const pod_run *r, FILE *to)
{
    const pod_timeline *tl = r->result->timeline;
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    pod_event *event = POD_ARENA_NEW(a, pod_event, pod_timeline_kept_room(tl));
    pod_status s = event ? POD_OK : POD_E_NOMEM;
    if (event) {
        const int64_t n = pod_timeline_copy_kept(tl, event);
        const int n_steps = n > 0 ? (int)(event[n - 1].step - event[0].step) + 1 : 0;
        profile p = {0};
        if (n_steps > 0) s = take_memory(a, r->result->program, n_steps, &p);
        if (n_steps > 0 && s == POD_OK) {
            gather(&p, event, n);
            qsort(p.use, (size_t)p.n_uses, sizeof p.use[0], longest_first);
            s = print(&p, to);
        }
    }
    pod_arena_destroy(a);
    return s;
}
