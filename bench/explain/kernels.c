/* explain kernels: every kernel of every table, whether this CPU can run it, how fast it is, whether
 * it is picked and why not; then what the model's training step picked. A kernel may refuse a call
 * by its shape and is faster or slower by it, so products and convolutions stand once for each kind
 * of call. */
#include <string.h>

#include "bench/explain/explain.h"
#include "bench/kernels/vector.h"
#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"

/* ---- the tables ------------------------------------------------------------------------------ */

/* Sets of kernels of one family are picked by CPU alone: the first that it can run. */
static int sets_of(pod_family_id family, pod_candidate out[POD_MAX_CANDIDATES])
{
    int n = 0;
    const char *name;
    for (uint32_t needs; pod_vector_set(family, n, &name, &needs); n++) {
        POD_ASSERT(n < POD_MAX_CANDIDATES, "%d sets in one table", n);
        out[n] = (pod_candidate){.name = name, .needs = needs};
    }
    return n;
}

static const pod_column table_columns[] = {
    {"kind", "", true}, {"kernel", "", true}, {"rate", "GFLOP/s", false}, {"verdict", "", true}};

/* Whether it takes the call, and a kernel of its family is picked by rates, and it has none. */
static bool lacks_a_rate(const pod_choice *how, const char *kind, const pod_candidate *c)
{
    return strchr(kind, '.') && pod_rates_find(how->rates, kind, c) <= 0;
}

static void add_verdict(pod_table *t, const pod_choice *how, const char *kind,
                        const pod_candidate *c, bool is_reference, const char *picked)
{
    char lacks[64];
    const uint32_t cpu = how->cpu;
    if (c->needs & ~cpu)
        pod_table_add(t, "this CPU lacks %s", pod_cpu_print(c->needs & ~cpu, lacks, sizeof lacks));
    else if (c->refusal)
        pod_table_add(t, "refuses: %s", c->refusal);
    else if (c->slow && c->name != picked)
        pod_table_add(t, "slow here, unless --impl names it: %s", c->slow);
    else if (c->name == picked)
        pod_table_add(t, "picked");
    else if (!is_reference && lacks_a_rate(how, kind, c))
        pod_table_add(t, "applies; no rate measured (minipod calibrate), so %s is preferred",
                      picked);
    else
        pod_table_add(t, "applies; %s is preferred", picked);
}

/* A rate beside those of a machine file that has none for it is marked. */
static void add_rate(pod_table *t, const pod_choice *how, const char *kind, const pod_candidate *c)
{
    const double rate = pod_rates_find(how->rates, kind, c);
    const bool is_other = how->rates && how->rates->n > 0 && !pod_rates_has(how->rates, kind, c);
    if (rate > 0)
        pod_table_add(t, "%.4g%s", rate, is_other ? "*" : "");
    else
        pod_table_add(t, "-");
}

static void add_kind(pod_table *t, const pod_choice *how, const char *kind, const pod_candidate *c,
                     int n)
{
    const char *picked = c[pod_choose(how, kind, c, n)].name;
    for (int i = 0; i < n; i++) {
        pod_table_add(t, "%s", kind);
        pod_table_add(t, "%s", c[i].name);
        add_rate(t, how, kind, &c[i]);
        add_verdict(t, how, kind, &c[i], i == n - 1, picked);
    }
}

static void add_kinds(pod_table *t, const pod_choice *how)
{
    pod_candidate c[POD_MAX_CANDIDATES];
    pod_gemm_call gemm;
    pod_conv_call conv;
    const char *kind;
    for (int i = 0; (kind = pod_gemm_kind_at(i, &gemm)); i++)
        add_kind(t, how, kind, c, pod_gemm_candidates(&gemm, c));
    for (int i = 0; (kind = pod_conv_kind_at(i, &conv)); i++)
        add_kind(t, how, kind, c, pod_conv_candidates(&conv, c));
    for (int f = 0; f < POD_N_FAMILIES; f++) {
        const int n = sets_of((pod_family_id)f, c);
        if (n > 0) add_kind(t, how, pod_families()[f].name, c, n);
    }
}

static pod_status print_tables(const pod_planned *r)
{
    char features[128];
    pod_table *t;
    const pod_choice how = pod_target_choice(&r->target);
    const bool measured = r->machine.kernel_rate.n > 0;
    POD_TRY(pod_table_create(POD_COLUMNS(table_columns), &t));
    pod_table_note(t, "%s: %s", pod_cpu_model(), pod_cpu_print(how.cpu, features, sizeof features));
    pod_table_note(t, "rates: %s",
                   measured ? "of the machine file; *: built in, where the file has none"
                            : "built in; minipod calibrate measures this host's");
    if (how.impl && *how.impl) pod_table_note(t, "preferred where they apply: %s", how.impl);
    add_kinds(t, &how);
    return pod_table_finish(t, stdout, "");
}

/* ---- what a training step picked ------------------------------------------------------------- */

typedef struct use {
    const char *op, *kernel;
    int n;
    double flops;
} use;

static use *find_use(use uses[], int *n_uses, const pod_instr *in)
{
    for (int i = 0; i < *n_uses; i++)
        if (strcmp(uses[i].op, in->op) == 0 && strcmp(uses[i].kernel, in->impl) == 0)
            return &uses[i];
    uses[*n_uses] = (use){.op = in->op, .kernel = in->impl};
    return &uses[(*n_uses)++];
}

static const pod_column use_columns[] = {{"op", "", true},
                                         {"kernel", "", true},
                                         {"instructions", "", false},
                                         {"matrix", "GFLOP", false}};

static pod_status print_uses(const pod_explain *e)
{
    const pod_program *p = e->program;
    int n = 0;
    use *uses = POD_ARENA_NEW(e->arena, use, p->n_instrs);
    if (!uses) return POD_E_NOMEM;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        if (p->instr[i].kind != POD_I_RUN) continue;
        use *u = find_use(uses, &n, &p->instr[i]);
        u->n++;
        u->flops += pod_program_times(p, i) * p->instr[i].cost.matrix_flops;
    }
    pod_table *t;
    POD_TRY(pod_table_create(POD_COLUMNS(use_columns), &t));
    pod_table_note(t, "a training step of %s on one core of mesh %s", e->planned.net.name,
                   POD_MESH_TEXT(&p->mesh));
    for (int i = 0; i < n; i++)
        pod_table_row(t, "%s\t%s\t%d\t%.3f", uses[i].op, uses[i].kernel, uses[i].n,
                      uses[i].flops / 1e9);
    return pod_table_finish(t, stdout, "");
}

pod_status pod_explain_kernels(pod_explain *e)
{
    POD_TRY(pod_explain_compile(e));
    POD_TRY(print_tables(&e->planned));
    putchar('\n');
    return print_uses(e);
}
