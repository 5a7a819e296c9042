#include "bench/simulate/simulate.h"

#include <stdlib.h>
#include <string.h>

/* ---- what bounds each part ------------------------------------------------------------------- */

static pod_network_part *find_part(pod_explanation *e, const pod_instr *instr)
{
    char name[POD_NETWORK_PART_BYTES];
    const int length = (int)strcspn(instr->label, "/");
    snprintf(name, sizeof name, "%.*s",
             length < POD_NETWORK_PART_BYTES ? length : POD_NETWORK_PART_BYTES - 1, instr->label);
    for (int i = 0; i < e->n_parts; i++)
        if (e->part[i].phase == instr->phase && strcmp(e->part[i].name, name) == 0)
            return &e->part[i];
    if (e->n_parts == POD_MAX_NETWORK_PARTS) return &e->part[POD_MAX_NETWORK_PARTS - 1];
    pod_network_part *new = &e->part[e->n_parts++];
    *new = (pod_network_part){.phase = instr->phase};
    memcpy(new->name, name, sizeof name);
    return new;
}

static void find_parts(pod_explanation *e, const pod_simulated *s)
{
    for (int32_t i = 0; i < s->program->n_instrs; i++) {
        const pod_instr *instr = &s->program->instr[i];
        const double seconds = s->slowness * pod_program_times(s->program, i) * s->time[i].seconds;
        if (instr->kind != POD_I_RUN || seconds == 0) continue;
        pod_network_part *of = find_part(e, instr);
        of->seconds += seconds;
        of->bound_s[s->time[i].bound] += seconds;
    }
}

/* ---- what would help ------------------------------------------------------------------------- */

enum { SMALL_BUCKET = 512 << 10 };

static void faster_matrix(pod_planned *p) { p->machine.peak_bf16_gflop_per_s *= 2; }
static void faster_vector(pod_planned *p) { p->machine.vector_gop_per_s *= 2; }
static void faster_memory(pod_planned *p) { p->machine.copy_memory_gb_per_s *= 2; }
static void faster_links(pod_planned *p) { p->machine.link_gb_per_s *= 2; }
static void no_latency(pod_planned *p) { p->machine.link_latency_us = 0; }
static void no_overhead(pod_planned *p) { p->machine.instr_overhead_us = 0; }
static void overlap(pod_planned *p) { p->setup.compile.wait_at_once = false; }
static void no_noise(pod_planned *p) { p->noise = 0; }
static void small_buckets(pod_planned *p) { p->setup.compile.bucket_bytes = SMALL_BUCKET; }

static void faster_input(pod_planned *p)
{
    p->input_rate *= 2;
    p->machine.feed_gb_per_s *= 2;
}

static void drop_faults(pod_planned *p, pod_fault_kind kind)
{
    int n = 0;
    for (int i = 0; i < p->n_faults; i++)
        if (p->fault[i].kind != kind) p->fault[n++] = p->fault[i];
    p->n_faults = n;
}

static void no_slow_core(pod_planned *p) { drop_faults(p, POD_FAULT_SLOW); }
static void no_failed_link(pod_planned *p) { drop_faults(p, POD_FAULT_LINK); }

/* When a change is tried: what of these holds. */
enum {
    IF_POD = 1,
    IF_MESSAGES = 2, /* of a pod */
    IF_INPUT = 4,
    IF_WAITS_AT_ONCE = 8,
    IF_LARGE_BUCKETS = 16, /* of fewer bytes than a bucket there is one, which nothing hides */
    IF_SLOW_CORE = 32,
    IF_FAILED_LINK = 64,
    IF_NOISE = 128
};

static unsigned conditions(const pod_planned *p, const pod_simulated *s)
{
    const pod_compile_args *compile = &p->setup.compile;
    const bool is_pod = pod_machine_is_virtual(&p->machine);
    const bool has_messages = is_pod && s->use.n_messages > 0;
    unsigned holds = 0;
    if (is_pod) holds |= IF_POD;
    if (has_messages) holds |= IF_MESSAGES;
    if (s->input.seconds > 0) holds |= IF_INPUT;
    if (compile->wait_at_once && s->program->n_colls > 0) holds |= IF_WAITS_AT_ONCE;
    if (has_messages && !compile->wait_at_once && compile->bucket_bytes > SMALL_BUCKET)
        holds |= IF_LARGE_BUCKETS;
    for (int i = 0; i < p->n_faults; i++)
        if (p->fault[i].kind == POD_FAULT_SLOW && p->fault[i].factor > 1) holds |= IF_SLOW_CORE;
    if (pod_simulate_has_fault(p, POD_FAULT_LINK)) holds |= IF_FAILED_LINK;
    if (p->noise > 0) holds |= IF_NOISE;
    return holds;
}

typedef struct change {
    const char *text;
    void (*make)(pod_planned *p);
    unsigned when;
} change;

static const change changes[] = {
    {"a matrix unit twice as fast", faster_matrix, IF_POD},
    {"a vector unit twice as fast", faster_vector, IF_POD},
    {"memory twice as fast", faster_memory, IF_POD},
    {"links twice as fast", faster_links, IF_MESSAGES},
    {"links without latency", no_latency, IF_MESSAGES},
    {"no overhead of an instruction", no_overhead, IF_POD},
    {"input twice as fast", faster_input, IF_INPUT},
    {"reductions that overlap", overlap, IF_WAITS_AT_ONCE},
    {"buckets of 512K", small_buckets, IF_LARGE_BUCKETS},
    {"no core slower than others", no_slow_core, IF_SLOW_CORE},
    {"no failed link", no_failed_link, IF_FAILED_LINK},
    {"no noise", no_noise, IF_NOISE},
};
enum { N_CHANGES = sizeof changes / sizeof changes[0] };
_Static_assert((int)N_CHANGES <= (int)POD_MAX_WHAT_IFS, "room for every change");

/* `p` is as it was afterwards; `kept` has room for it. */
static pod_status try_one(pod_planned *p, pod_planned *kept, const change *c, double *step_s)
{
    pod_arena *arena;
    pod_simulated s;
    POD_TRY(pod_arena_create(NULL, &arena));
    memcpy(kept, p, sizeof *p);
    c->make(p);
    const pod_status status = pod_simulate(p, arena, NULL, &s);
    memcpy(p, kept, sizeof *p);
    if (status == POD_OK) *step_s = s.step_s;
    pod_arena_destroy(arena);
    return status;
}

static int by_step(const void *a, const void *b)
{
    const pod_what_if *x = a, *y = b;
    return (x->step_s > y->step_s) - (x->step_s < y->step_s);
}

static pod_status try_all(pod_planned *p, const pod_simulated *s, pod_arena *arena, pod_log *log,
                          pod_explanation *e)
{
    pod_planned *kept = POD_ARENA_NEW(arena, pod_planned, 1);
    const unsigned holds = conditions(p, s);
    if (!kept) return POD_E_NOMEM;
    pod_progress_begin(log, "simulating", "what-ifs", 0, N_CHANGES);
    for (int i = 0; i < N_CHANGES; i++) {
        const change *c = &changes[i];
        if (!(c->when & holds)) continue;
        pod_progress_at(log, i, "%s", c->text);
        pod_what_if *w = &e->what_if[e->n_what_ifs++];
        w->text = c->text;
        POD_TRY(try_one(p, kept, c, &w->step_s));
        if (c->make == no_slow_core) e->without_slow_s = w->step_s;
    }
    pod_progress_end(log);
    qsort(e->what_if, (size_t)e->n_what_ifs, sizeof e->what_if[0], by_step);
    return POD_OK;
}

static double slowness(const pod_planned *p, int core)
{
    double factor = 1;
    for (int i = 0; i < p->n_faults; i++)
        if (p->fault[i].kind == POD_FAULT_SLOW && p->fault[i].rank == core)
            factor *= p->fault[i].factor;
    return factor;
}

static void find_slow(const pod_planned *p, const pod_simulated *s, pod_explanation *e)
{
    e->slow_factor = 1;
    for (int core = 0; core < s->cores; core++) {
        const double factor = slowness(p, core);
        if (factor <= 1) continue;
        e->n_slow++;
        if (factor <= e->slow_factor) continue;
        e->slow_factor = factor;
        e->slowest = core;
    }
}

pod_status pod_simulate_explain(pod_planned *p, const pod_simulated *s, pod_arena *arena,
                                pod_log *log, const pod_explanation **out)
{
    pod_explanation *e = POD_ARENA_NEW(arena, pod_explanation, 1);
    if (!e) return POD_E_NOMEM;
    *e = (pod_explanation){.step_s = s->step_s};
    find_parts(e, s);
    find_slow(p, s, e);
    POD_TRY(try_all(p, s, arena, log, e));
    *out = e;
    return POD_OK;
}

/* ---- in print -------------------------------------------------------------------------------- */

static const pod_column columns[] = {{"phase", "", true},    {"part", "", true},
                                     {"time", "ms", false},  {"share", "%", false},
                                     {"matrix", "%", false}, {"vector", "%", false},
                                     {"memory", "%", false}, {"overhead", "%", false}};

static pod_status print_parts(const pod_explanation *e, FILE *to)
{
    pod_table *t;
    POD_TRY(pod_table_create(POD_COLUMNS(columns), &t));
    pod_table_note(t, "what each part of the network waits for, in shares of its time");
    for (int i = 0; i < e->n_parts; i++) {
        const pod_network_part *part = &e->part[i];
        pod_table_row(t, "%s\t%s\t%.3f\t%.1f", pod_phase_name(part->phase), part->name,
                      part->seconds * 1e3, 100 * part->seconds / e->step_s);
        for (pod_bound b = 0; b < POD_N_BOUNDS; b++)
            pod_table_add(t, "%.0f", 100 * part->bound_s[b] / part->seconds);
    }
    return pod_table_finish(t, to, "");
}

static void say_reduce(const pod_planned *p, const pod_simulated *s, FILE *to)
{
    const double exposed = s->stats.phase[POD_PHASE_REDUCE].mean, in_flight = s->stats.comm.mean;
    const int n = (int)s->program->n_colls;
    const double mb = (double)s->program->reduce_bytes * 1e-6;
    if (n == 0) {
        fprintf(to, "# one core: nothing is reduced\n");
        return;
    }
    if (p->setup.compile.wait_at_once) {
        fprintf(to,
                "# reductions: %d collectives of %.1f MB in all; --overlap off: each is waited for "
                "at once,\n#   %.3f ms, %.2f %% of the step\n",
                n, mb, exposed * 1e3, 100 * exposed / s->step_s);
        return;
    }
    fprintf(to,
            "# reductions: %d collectives of %.1f MB in all are in flight for %.3f ms, summed over "
            "them;\n",
            n, mb, in_flight * 1e3);
    if (exposed == 0)
        fprintf(to, "#   core %d waits for none: they hide behind what it computes\n",
                p->watched[0]);
    else
        fprintf(to, "#   core %d waits %.3f ms for them, %.2f %% of the step\n", p->watched[0],
                exposed * 1e3, 100 * exposed / s->step_s);
    if (s->exposed.most_s > 1.01 * exposed)
        fprintf(to, "#   core %d waits the most, %.3f ms\n", s->exposed.most_core,
                s->exposed.most_s * 1e3);
}

static void say_slow(const pod_explanation *e, FILE *to)
{
    const double waited_s = e->step_s - e->without_slow_s;
    if (e->n_slow == 0) return;
    fprintf(to, "# slow: core %d takes %g times as long", e->slowest, e->slow_factor);
    if (e->n_slow > 1) fprintf(to, ", the slowest of %d", e->n_slow);
    fprintf(to, "; all wait for it in each reduction:\n#   %.3f ms, %.2f %% of the step\n",
            waited_s * 1e3, 100 * waited_s / e->step_s);
}

static double gain(const pod_explanation *e, const pod_what_if *w) { return e->step_s / w->step_s; }

static void say_what_ifs(const pod_explanation *e, const pod_planned *p, FILE *to)
{
    if (!pod_machine_is_virtual(&p->machine))
        fprintf(to,
                "# a host's file has times of ops, not rates: what a faster part would help is not "
                "tried\n");
    if (e->n_what_ifs == 0) return;
    fprintf(to, "# what would help, most first:\n");
    for (int i = 0; i < e->n_what_ifs; i++) {
        const pod_what_if *w = &e->what_if[i];
        fprintf(to, "#   %-32s %10.3f ms  %6.2f x\n", w->text, w->step_s * 1e3, gain(e, w));
    }
}

pod_status pod_explanation_print(const pod_explanation *e, const pod_planned *p,
                                 const pod_simulated *s, FILE *to)
{
    fputc('\n', to);
    POD_TRY(print_parts(e, to));
    say_reduce(p, s, to);
    say_slow(e, to);
    say_what_ifs(e, p, to);
    return POD_OK;
}

/* ---- in files -------------------------------------------------------------------------------- */

void pod_explanation_rows(const pod_explanation *e, pod_table *t)
{
    char name[2 * POD_NETWORK_PART_BYTES], note[2 * POD_NETWORK_PART_BYTES];
    for (int i = 0; i < e->n_parts; i++) {
        const pod_network_part *part = &e->part[i];
        const double percent = 100 / part->seconds;
        snprintf(name, sizeof name, "part %s %s", pod_phase_name(part->phase), part->name);
        snprintf(
            note, sizeof note, "matrix %.0f %%, vector %.0f %%, memory %.0f %%, overhead %.0f %%",
            percent * part->bound_s[POD_BOUND_MATRIX], percent * part->bound_s[POD_BOUND_VECTOR],
            percent * part->bound_s[POD_BOUND_MEMORY], percent * part->bound_s[POD_BOUND_OVERHEAD]);
        pod_table_quantity(t, name, "ms", note, "%.3f", part->seconds * 1e3);
    }
    if (e->n_slow > 0) {
        snprintf(note, sizeof note, "takes %g times as long; %d are slow", e->slow_factor,
                 e->n_slow);
        pod_table_quantity(t, "slowest core", "", note, "%d", e->slowest);
    }
    for (int i = 0; i < e->n_what_ifs; i++) {
        const pod_what_if *w = &e->what_if[i];
        snprintf(name, sizeof name, "what if %s", w->text);
        snprintf(note, sizeof note, "a step; %.2f x", gain(e, w));
        pod_table_quantity(t, name, "ms", note, "%.3f", w->step_s * 1e3);
    }
}

static void put_part(pod_json *j, const pod_network_part *part)
{
    pod_json_open_object(j, NULL);
    pod_json_text(j, "phase", pod_phase_name(part->phase));
    pod_json_text(j, "part", part->name);
    pod_json_double(j, "seconds", part->seconds);
    pod_json_open_object(j, "bound_s");
    for (pod_bound b = 0; b < POD_N_BOUNDS; b++)
        pod_json_double(j, pod_bound_name(b), part->bound_s[b]);
    pod_json_close(j);
    pod_json_close(j);
}

void pod_explanation_json(const pod_explanation *e, pod_json *j)
{
    pod_json_open_array(j, "parts");
    for (int i = 0; i < e->n_parts; i++) put_part(j, &e->part[i]);
    pod_json_close(j);
    if (e->n_slow > 0) {
        pod_json_open_object(j, "slow");
        pod_json_int(j, "cores", e->n_slow);
        pod_json_int(j, "slowest", e->slowest);
        pod_json_double(j, "factor", e->slow_factor);
        pod_json_close(j);
    }
    pod_json_open_array(j, "what_if");
    for (int i = 0; i < e->n_what_ifs; i++) {
        pod_json_open_object(j, NULL);
        pod_json_text(j, "change", e->what_if[i].text);
        pod_json_double(j, "step_s", e->what_if[i].step_s);
        pod_json_double(j, "speedup", gain(e, &e->what_if[i]));
        pod_json_close(j);
    }
    pod_json_close(j);
}
