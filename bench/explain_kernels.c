/* explain kernels: every kernel of every table, best first, whether this CPU can run it, whether it
 * is picked and why not; then what the model's training step picked. A kernel may refuse a call by
 * its shape, so products and convolutions stand once for each kind of call. */
#include <string.h>

#include "bench/explain.h"
#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/gemm.h"
#include "kernels/norm/norm.h"
#include "kernels/pointwise/pointwise.h"
#include "kernels/pool/pool.h"
#include "kernels/reduce/reduce.h"
#include "kernels/softmax/softmax.h"
#include "kernels/update/update.h"

typedef struct candidate {
    const char *name;
    uint32_t needs;
    const char *refusal; /* of the call, whatever the CPU; NULL: it takes it */
} candidate;

enum { MAX_CANDIDATES = 16 };

/* ---- the tables ------------------------------------------------------------------------------ */

/* Sets of kernels of one family are picked by CPU alone. */
#define SETS(family)                                                                            \
    static int family##_candidates(const void *call, candidate out[])                           \
    {                                                                                           \
        (void)call;                                                                             \
        int n;                                                                                  \
        const pod_##family *set = pod_##family##_sets(&n);                                      \
        for (int i = 0; i < fit(n); i++) out[i] = (candidate){set[i].name, set[i].needs, NULL}; \
        return n;                                                                               \
    }
/* A kernel of these may refuse a call. */
#define KERNELS(family)                                                      \
    static int family##_candidates(const void *call, candidate out[])        \
    {                                                                        \
        int n;                                                               \
        const pod_##family##_kernel *k = pod_##family##_kernels(&n);         \
        for (int i = 0; i < fit(n); i++)                                     \
            out[i] = (candidate){k[i].name, k[i].needs, k[i].why_not(call)}; \
        return n;                                                            \
    }

static int fit(int n)
{
    POD_ASSERT(n <= MAX_CANDIDATES, "%d kernels in one table", n);
    return n;
}

KERNELS(gemm)
KERNELS(conv)
SETS(pointwise)
SETS(reduce)
SETS(norm)
SETS(softmax)
SETS(pool)
SETS(update)

#define GEMM(type)                                                                  \
    &(const pod_gemm_call)                                                          \
    {                                                                               \
        .shape = {256, 256, 256}, .n_batch = 1, .lda = 256, .ldb = 256, .ldc = 256, \
        .ab_dtype = (type), .c_dtype = POD_F32                                      \
    }
/* 32 images of 28x28, 64 to 64 channels. */
#define CONV(which, type, side, step)                         \
    &(const pod_conv_call)                                    \
    {                                                         \
        .pass = POD_CONV_##which, .dtype = (type), .shape = { \
            .n = 32,                                          \
            .h = 28,                                          \
            .w = 28,                                          \
            .c = 64,                                          \
            .p = 28 / (step),                                 \
            .q = 28 / (step),                                 \
            .k = 64,                                          \
            .r = (side),                                      \
            .s = (side),                                      \
            .stride = (step),                                 \
            .pad_h = (side) / 2,                              \
            .pad_w = (side) / 2                               \
        }                                                     \
    }

static const struct {
    const char *family, *kind;
    int (*candidates)(const void *call, candidate out[]);
    const void *call;
} cases[] = {
    {"gemm", "bf16", gemm_candidates, GEMM(POD_BF16)},
    {"gemm", "f32", gemm_candidates, GEMM(POD_F32)},
    {"conv", "1x1 bf16", conv_candidates, CONV(FORWARD, POD_BF16, 1, 1)},
    {"conv", "3x3 bf16", conv_candidates, CONV(FORWARD, POD_BF16, 3, 1)},
    {"conv", "3x3/2 bf16", conv_candidates, CONV(FORWARD, POD_BF16, 3, 2)},
    {"conv", "3x3 bf16 dx", conv_candidates, CONV(INPUT_GRAD, POD_BF16, 3, 1)},
    {"conv", "3x3 bf16 dw", conv_candidates, CONV(WEIGHT_GRAD, POD_BF16, 3, 1)},
    {"conv", "3x3 f32", conv_candidates, CONV(FORWARD, POD_F32, 3, 1)},
    {"pointwise", "any", pointwise_candidates, NULL},
    {"reduce", "any", reduce_candidates, NULL},
    {"norm", "any", norm_candidates, NULL},
    {"softmax", "any", softmax_candidates, NULL},
    {"pool", "any", pool_candidates, NULL},
    {"update", "any", update_candidates, NULL},
};

static const pod_column table_columns[] = {
    {"family", "", true}, {"call", "", true}, {"kernel", "", true}, {"verdict", "", true}};
enum { N_TABLE_COLUMNS = 4 };

static void add_verdict(pod_table *t, const candidate *c, uint32_t cpu, const char *picked)
{
    char lacks[64];
    if (c->needs & ~cpu)
        pod_table_add(t, "this CPU lacks %s", pod_cpu_print(c->needs & ~cpu, lacks, sizeof lacks));
    else if (c->refusal)
        pod_table_add(t, "refuses: %s", c->refusal);
    else if (picked)
        pod_table_add(t, "applies; %s stands before it", picked);
    else
        pod_table_add(t, "picked");
}

static pod_status print_tables(uint32_t cpu)
{
    char features[128];
    pod_table *t;
    POD_TRY(pod_table_create(table_columns, N_TABLE_COLUMNS, &t));
    pod_table_note(t, "%s: %s", pod_cpu_model(), pod_cpu_print(cpu, features, sizeof features));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        candidate c[MAX_CANDIDATES];
        const int n = cases[i].candidates(cases[i].call, c);
        const char *picked = NULL;
        for (int k = 0; k < n; k++) {
            pod_table_add(t, "%s", cases[i].family);
            pod_table_add(t, "%s", cases[i].kind);
            pod_table_add(t, "%s", c[k].name);
            add_verdict(t, &c[k], cpu, picked);
            if (!picked && !(c[k].needs & ~cpu) && !c[k].refusal) picked = c[k].name;
        }
    }
    pod_status s = pod_table_print(t, stdout);
    pod_table_destroy(t);
    return s;
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
enum { N_USE_COLUMNS = 4 };

static pod_status print_uses(const pod_explain *e, const pod_explain_run *r, const pod_program *p)
{
    int n = 0;
    use *uses = POD_ARENA_NEW(e->arena, use, p->n_instrs);
    if (!uses) return POD_E_NOMEM;
    for (int32_t i = 0; i < p->n_instrs; i++) {
        if (p->instr[i].kind != POD_I_RUN) continue;
        use *u = find_use(uses, &n, &p->instr[i]);
        u->n++;
        u->flops += p->instr[i].cost.matrix_flops;
    }
    pod_table *t;
    char mesh[POD_MESH_TEXT_BYTES];
    POD_TRY(pod_table_create(use_columns, N_USE_COLUMNS, &t));
    pod_table_note(t, "a training step of %s on one core of mesh %s", r->net.name,
                   pod_mesh_print(&p->mesh, mesh, sizeof mesh));
    for (int i = 0; i < n; i++) {
        pod_table_add(t, "%s", uses[i].op);
        pod_table_add(t, "%s", uses[i].kernel);
        pod_table_add(t, "%d", uses[i].n);
        pod_table_add(t, "%.3f", uses[i].flops / 1e9);
    }
    pod_status s = pod_table_print(t, stdout);
    pod_table_destroy(t);
    return s;
}

pod_status pod_explain_kernels(pod_explain *e)
{
    pod_explain_run r;
    const pod_target here = {.name = "host", .cpu = pod_cpu_features()};
    const pod_program *program;
    POD_TRY(pod_explain_run_of(e, &r));
    pod_status s = pod_network_compile(&r.net, &r.setup, &r.data, true, &here, e->arena, &program);
    if (s == POD_OK) s = print_tables(here.cpu);
    putchar('\n');
    if (s == POD_OK) s = print_uses(e, &r, program);
    pod_explain_run_end(&r);
    POD_TRY(s);
    return POD_OK;
}
