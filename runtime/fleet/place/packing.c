#include "runtime/fleet/place/packing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "runtime/core/file.h"
#include "runtime/fleet/jobs/csv.h"

enum { MAX_BYTES = 1 << 28 };

/* ---- reading --------------------------------------------------------------------------------- */

static pod_status read_nodes(pod_arena *a, const char *path, pod_packing_set *s)
{
    pod_csv c;
    char *text;
    int cpu, memory, gpus;
    bool more;
    pod_packed_node *node = NULL;
    POD_TRY(pod_file_read_text(a, path, MAX_BYTES, &text));
    POD_TRY(pod_csv_open(path, text, &c));
    POD_TRY(pod_csv_need(&c, "cpu_milli", &cpu));
    POD_TRY(pod_csv_need(&c, "memory_mib", &memory));
    POD_TRY(pod_csv_need(&c, "gpu", &gpus));
    for (;;) {
        int64_t n_gpus;
        pod_packed_node n = {0};
        POD_TRY(pod_csv_next(&c, &more));
        if (!more) break;
        POD_TRY(pod_csv_int(&c, gpus, 0, POD_NODE_GPUS, &n_gpus));
        POD_TRY(pod_csv_int(&c, cpu, 0, INT64_C(1) << 40, &n.cpu_milli));
        POD_TRY(pod_csv_int(&c, memory, 0, INT64_C(1) << 40, &n.memory_mib));
        if (n_gpus == 0) continue;
        n.n_gpus = (int)n_gpus;
        for (int g = 0; g < n.n_gpus; g++) n.gpu_milli[g] = POD_GPU_MILLI;
        node = POD_ARENA_GROW(a, node, s->n_nodes);
        if (!node) return POD_E_NOMEM;
        node[s->n_nodes++] = n;
        s->gpu_milli += n_gpus * POD_GPU_MILLI;
    }
    s->node = node;
    return s->n_nodes > 0 ? POD_OK : pod_fail(POD_E_FORMAT, "%s: no node has a GPU", path);
}

static pod_status read_tasks(pod_arena *a, const char *path, pod_packing_set *s)
{
    pod_csv c;
    char *text;
    int cpu, memory, gpus, milli;
    bool more, asks = false;
    pod_packed_task *task = NULL;
    POD_TRY(pod_file_read_text(a, path, MAX_BYTES, &text));
    POD_TRY(pod_csv_open(path, text, &c));
    POD_TRY(pod_csv_need(&c, "cpu_milli", &cpu));
    POD_TRY(pod_csv_need(&c, "memory_mib", &memory));
    POD_TRY(pod_csv_need(&c, "num_gpu", &gpus));
    POD_TRY(pod_csv_need(&c, "gpu_milli", &milli));
    for (;;) {
        int64_t n_gpus, gpu_milli;
        pod_packed_task t = {0};
        POD_TRY(pod_csv_next(&c, &more));
        if (!more) break;
        POD_TRY(pod_csv_int(&c, cpu, 0, INT64_C(1) << 40, &t.cpu_milli));
        POD_TRY(pod_csv_int(&c, memory, 0, INT64_C(1) << 40, &t.memory_mib));
        POD_TRY(pod_csv_int(&c, gpus, 0, POD_NODE_GPUS, &n_gpus));
        POD_TRY(pod_csv_int(&c, milli, 0, POD_GPU_MILLI, &gpu_milli));
        t.n_gpus = (int)n_gpus;
        t.gpu_milli = n_gpus > 0 ? (int)gpu_milli : 0;
        asks = asks || t.gpu_milli > 0;
        task = POD_ARENA_GROW(a, task, s->n_tasks);
        if (!task) return POD_E_NOMEM;
        task[s->n_tasks++] = t;
    }
    s->task = task;
    return asks ? POD_OK : pod_fail(POD_E_FORMAT, "%s: no task asks for a GPU", path);
}

pod_status pod_packing_read(pod_arena *a, const char *nodes, const char *tasks,
                            pod_packing_set *out)
{
    pod_packing_set s = {0};
    POD_TRY(read_nodes(a, nodes, &s));
    POD_TRY(read_tasks(a, tasks, &s));
    *out = s;
    return POD_OK;
}

/* ---- fragments ------------------------------------------------------------------------------- */

/* Typical tasks that ask for the same GPUs, and what they ask for in CPU. */
typedef struct shape {
    int n_gpus, gpu_milli;
    int n;
    const int64_t *cpu_milli; /* (n), ascending */
} shape;

typedef struct packing {
    const pod_packing_set *set;
    pod_packer how;
    pod_rng rng;
    pod_packed_node *node;
    double *fragments; /* of each node */
    shape *shape;
    int n_shapes, n_typical;
} packing;

typedef struct species { /* tasks that ask for the same */
    int64_t cpu_milli;
    int n_gpus, gpu_milli, n;
} species;

static int by_kind(const void *a, const void *b)
{
    const species *x = a, *y = b;
    if (x->n_gpus != y->n_gpus) return x->n_gpus - y->n_gpus;
    if (x->gpu_milli != y->gpu_milli) return x->gpu_milli - y->gpu_milli;
    return (x->cpu_milli > y->cpu_milli) - (x->cpu_milli < y->cpu_milli);
}

static int by_number(const void *a, const void *b)
{
    const species *x = a, *y = b;
    return x->n != y->n ? y->n - x->n : by_kind(a, b);
}

/* The commonest species that make up 95 % of the tasks, in the order of kinds. */
static int list_typical(const pod_packing_set *s, species of[])
{
    int n = 0, n_counted = 0, n_typical = 0;
    for (int i = 0; i < s->n_tasks; i++)
        of[i] = (species){s->task[i].cpu_milli, s->task[i].n_gpus, s->task[i].gpu_milli, 1};
    qsort(of, (size_t)s->n_tasks, sizeof of[0], by_kind);
    for (int i = 0; i < s->n_tasks; i++) {
        if (n > 0 && by_kind(&of[n - 1], &of[i]) == 0)
            of[n - 1].n++;
        else
            of[n++] = of[i];
    }
    qsort(of, (size_t)n, sizeof of[0], by_number);
    while (n_typical < n && 100 * (int64_t)n_counted < 95 * (int64_t)s->n_tasks)
        n_counted += of[n_typical++].n;
    qsort(of, (size_t)n_typical, sizeof of[0], by_kind);
    return n_typical;
}

static pod_status list_shapes(packing *p, pod_arena *a)
{
    species *of = POD_ARENA_NEW(a, species, p->set->n_tasks);
    int64_t *cpu = POD_ARENA_NEW(a, int64_t, p->set->n_tasks);
    if (!of || !cpu) return POD_E_NOMEM;
    const int n = list_typical(p->set, of);
    p->shape = POD_ARENA_NEW(a, shape, n);
    if (!p->shape) return POD_E_NOMEM;
    for (int i = 0; i < n; i++) {
        shape *h = p->n_shapes > 0 ? &p->shape[p->n_shapes - 1] : NULL;
        if (!h || h->n_gpus != of[i].n_gpus || h->gpu_milli != of[i].gpu_milli) {
            h = &p->shape[p->n_shapes++];
            *h = (shape){.n_gpus = of[i].n_gpus,
                         .gpu_milli = of[i].gpu_milli,
                         .cpu_milli = &cpu[p->n_typical]};
        }
        for (int k = 0; k < of[i].n; k++) cpu[p->n_typical++] = of[i].cpu_milli;
        h->n += of[i].n;
    }
    return POD_OK;
}

/* How many tasks of the shape ask for no more CPU than this. */
static int count_within(const shape *h, int64_t cpu_milli)
{
    int low = 0, high = h->n;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (h->cpu_milli[middle] <= cpu_milli)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* In thousandths of a GPU. */
static double fragments_of(const packing *p, const pod_packed_node *n)
{
    double sum = 0;
    int all = 0;
    for (int g = 0; g < n->n_gpus; g++) all += n->gpu_milli[g];
    for (int i = 0; i < p->n_shapes; i++) {
        const shape *h = &p->shape[i];
        int n_fit = 0, too_little = 0;
        for (int g = 0; g < n->n_gpus; g++) {
            if (n->gpu_milli[g] >= h->gpu_milli)
                n_fit++;
            else
                too_little += n->gpu_milli[g];
        }
        const bool has_gpus = h->n_gpus > 0 && n_fit >= h->n_gpus;
        const int n_can = has_gpus ? count_within(h, n->cpu_milli) : 0;
        sum += (double)n_can * too_little + (double)(h->n - n_can) * all;
    }
    return sum / p->n_typical;
}

/* ---- one task -------------------------------------------------------------------------------- */

static bool fits(const pod_packed_node *n, const pod_packed_task *t)
{
    int n_fit = 0;
    if (n->cpu_milli < t->cpu_milli || n->memory_mib < t->memory_mib) return false;
    for (int g = 0; g < n->n_gpus; g++) n_fit += n->gpu_milli[g] >= t->gpu_milli;
    return t->n_gpus == 0 || n_fit >= t->n_gpus;
}

/* Takes the task on, a share of a GPU on `gpu`, whole ones on the first that are free. */
static pod_packed_node with_task(const pod_packed_node *n, const pod_packed_task *t, int gpu)
{
    pod_packed_node m = *n;
    m.cpu_milli -= t->cpu_milli;
    m.memory_mib -= t->memory_mib;
    if (t->n_gpus == 1) {
        m.gpu_milli[gpu] -= t->gpu_milli;
        return m;
    }
    for (int g = 0, left = t->n_gpus; g < m.n_gpus && left > 0; g++) {
        if (m.gpu_milli[g] < t->gpu_milli) continue;
        m.gpu_milli[g] -= t->gpu_milli;
        left--;
    }
    return m;
}

/* The score of the node for the task, of which it is known to fit, and the GPU. */
static int score_random(packing *p, int node, const pod_packed_task *t, int *gpu)
{
    const pod_packed_node *n = &p->node[node];
    int n_fit = 0;
    *gpu = 0;
    for (int g = 0; g < n->n_gpus && t->n_gpus == 1; g++)
        if (n->gpu_milli[g] >= t->gpu_milli && pod_rng_below(&p->rng, (uint64_t)++n_fit) == 0)
            *gpu = g;
    return 0;
}

static int score_bestfit(packing *p, int node, const pod_packed_task *t, int *gpu)
{
    const pod_packed_node *n = &p->node[node];
    int least = POD_GPU_MILLI + 1, gpu_left = 0;
    *gpu = 0;
    for (int g = 0; g < n->n_gpus; g++) {
        gpu_left += n->gpu_milli[g];
        if (n->gpu_milli[g] < t->gpu_milli || n->gpu_milli[g] >= least) continue;
        least = n->gpu_milli[g];
        *gpu = g;
    }
    gpu_left -= t->n_gpus * t->gpu_milli;
    return (int)(100 * (1 - 0.5 * (double)(n->cpu_milli - t->cpu_milli) / 128000 -
                        0.5 * gpu_left / (POD_NODE_GPUS * POD_GPU_MILLI)));
}

/* By how much the fragments fall, from 0 to 100; of GPUs with the same score the first. */
static int score_fgd(packing *p, int node, const pod_packed_task *t, int *gpu)
{
    const pod_packed_node *n = &p->node[node];
    int best = -1;
    *gpu = 0;
    for (int g = 0; g < n->n_gpus; g++) {
        bool is_new = true;
        if (t->n_gpus == 1 && n->gpu_milli[g] < t->gpu_milli) continue;
        for (int k = 0; k < g; k++) is_new = is_new && n->gpu_milli[k] != n->gpu_milli[g];
        if (!is_new) continue; /* as one before */
        const pod_packed_node m = with_task(n, t, g);
        const double fall = p->fragments[node] - fragments_of(p, &m);
        const int score = (int)(100 / (1 + exp(-fall / POD_GPU_MILLI)));
        if (score <= best) continue;
        best = score;
        *gpu = g;
        if (t->n_gpus != 1) break; /* all are alike */
    }
    return best;
}

typedef int score_fn(packing *p, int node, const pod_packed_task *t, int *gpu);

static score_fn *const scores[] = {
#define POD_PACKER(name, about) [POD_PACKER_##name] = score_##name,
#include "runtime/fleet/place/packers.def"
};

/* The thousandths of GPUs that it got; 0 where it did not fit. */
static int64_t place(packing *p, const pod_packed_task *t)
{
    int best = -1, node = -1, gpu = 0, n_best = 0;
    for (int i = 0; i < p->set->n_nodes; i++) {
        int at;
        if (!fits(&p->node[i], t)) continue;
        const int score = scores[p->how](p, i, t, &at);
        const bool by_lot = p->how != POD_PACKER_fgd; /* which takes the first, as its authors do */
        if (score < best || (score == best && !by_lot)) continue;
        n_best = score > best ? 1 : n_best + 1;
        best = score;
        if (pod_rng_below(&p->rng, (uint64_t)n_best) > 0) continue;
        node = i;
        gpu = at;
    }
    if (node < 0) return 0;
    p->node[node] = with_task(&p->node[node], t, gpu);
    if (p->how == POD_PACKER_fgd) p->fragments[node] = fragments_of(p, &p->node[node]);
    return (int64_t)t->n_gpus * t->gpu_milli;
}

/* ---- all tasks ------------------------------------------------------------------------------- */

static pod_status run(packing *p, pod_arena *a, int n, const double load[], double allocated[])
{
    const pod_packing_set *s = p->set;
    int *order = POD_ARENA_NEW(a, int, s->n_tasks);
    p->node = POD_ARENA_NEW(a, pod_packed_node, s->n_nodes);
    p->fragments = POD_ARENA_NEW(a, double, s->n_nodes);
    if (!order || !p->node || !p->fragments) return POD_E_NOMEM;
    memcpy(p->node, s->node, sizeof s->node[0] * (size_t)s->n_nodes);
    POD_TRY(list_shapes(p, a));
    for (int i = 0; i < s->n_nodes; i++) p->fragments[i] = fragments_of(p, &p->node[i]);
    for (int i = 0; i < s->n_tasks; i++) order[i] = i;
    for (int i = s->n_tasks - 1; i > 0; i--) { /* Fisher and Yates */
        const int other = (int)pod_rng_below(&p->rng, (uint64_t)i + 1), task = order[i];
        order[i] = order[other];
        order[other] = task;
    }
    const double all = (double)s->gpu_milli;
    int64_t asked = 0, got = 0;
    for (int i = 0, k = 0; k < n; i++) {
        const int at =
            i < s->n_tasks ? order[i] : (int)pod_rng_below(&p->rng, (uint64_t)s->n_tasks);
        const pod_packed_task *t = &s->task[at];
        asked += (int64_t)t->n_gpus * t->gpu_milli;
        got += place(p, t);
        for (; k < n && (double)asked > load[k] * all; k++) allocated[k] = (double)got / all;
    }
    return POD_OK;
}

pod_status pod_packing_run(const pod_packing_set *s, pod_packer how, uint64_t seed, int n,
                           const double load[], double allocated[])
{
    pod_arena *a;
    packing p = {.set = s,
                 .how = how,
                 .rng = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_FLEET, .layer = 1})};
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_status status = run(&p, a, n, load, allocated);
    pod_arena_destroy(a);
    return status;
}
