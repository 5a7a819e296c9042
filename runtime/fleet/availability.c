#include "runtime/fleet/availability.h"

#include <math.h>
#include <stdlib.h>

#include "kernels/base/rng.h"

enum { CUBES = 64, CUBE_HOSTS = 16 };

static double log_choose(int n, int k)
{
    return lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0);
}

double pod_binomial_at_least(int n, double p, int k)
{
    double sum = 0;
    if (k <= 0) return 1;
    if (p <= 0 || k > n) return 0;
    if (p >= 1) return 1;
    for (int i = n; i >= k; i--) sum += exp(log_choose(n, i) + i * log(p) + (n - i) * log1p(-p));
    return fmin(sum, 1);
}

double pod_guaranteed_switched(int n_cubes, double host, double probability)
{
    int n_slices = CUBES / n_cubes;
    while (n_slices > 0 &&
           pod_binomial_at_least(CUBES, pow(host, CUBE_HOSTS), n_slices * n_cubes) < probability)
        n_slices--;
    return (double)(n_slices * n_cubes) / CUBES;
}

double pod_guaranteed_fixed(int n_cubes, double host, double probability)
{
    const int n_groups = CUBES / n_cubes;
    int n_slices = n_groups;
    while (n_slices > 0 &&
           pod_binomial_at_least(n_groups, pow(host, CUBE_HOSTS * n_cubes), n_slices) < probability)
        n_slices--;
    return (double)(n_slices * n_cubes) / CUBES;
}

/* ---- boxes of cubes -------------------------------------------------------------------------- */

enum { SIDE = 4 };

/* The cubes of a box as bits. */
static uint64_t cubes_of(int x, int y, int z, const int e[3])
{
    uint64_t bits = 0;
    for (int i = 0; i < e[0]; i++)
        for (int j = 0; j < e[1]; j++)
            for (int k = 0; k < e[2]; k++)
                bits |= UINT64_C(1) << (((z + k) * SIDE + y + j) * SIDE + x + i);
    return bits;
}

static int list_places(const int box[3], uint64_t place[])
{
    int n = 0;
    for (int turn = 0; turn < 6; turn++) { /* all orders of the extents; some are alike */
        const int a = turn % 3, b = (a + 1 + turn / 3) % 3, c = 3 - a - b;
        const int e[3] = {box[a], box[b], box[c]};
        for (int z = 0; z + e[2] <= SIDE; z++)
            for (int y = 0; y + e[1] <= SIDE; y++)
                for (int x = 0; x + e[0] <= SIDE; x++) place[n++] = cubes_of(x, y, z, e);
    }
    return n;
}

double pod_box_probability(const int box[3], double cube, int n_draws, uint64_t seed)
{
    enum { ROOM = 6 * CUBES };
    uint64_t place[ROOM];
    const int n_places = list_places(box, place);
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_FLEET, .layer = 5});
    int n_found = 0;
    for (int i = 0; i < n_draws; i++) {
        uint64_t up = 0;
        int at = 0;
        for (int c = 0; c < CUBES; c++)
            if ((double)(pod_rng_u64(&r) >> 11) * 0x1p-53 < cube) up |= UINT64_C(1) << c;
        while (at < n_places && (place[at] & ~up) != 0) at++;
        n_found += at < n_places;
    }
    return (double)n_found / n_draws;
}

/* ---- faults of a cluster --------------------------------------------------------------------- */

double pod_job_mtbf(int n_nodes, double rate) { return 1 / (n_nodes * rate); }

/* P(none of `size` nodes, chosen at random from n, is among the n_down). */
static double all_up(int n, int n_down, int size)
{
    return n_down + size > n ? 0 : exp(log_choose(n - n_down, size) - log_choose(n, size));
}

pod_cluster_use pod_cluster_use_of(const pod_fault_trace *t, int n_nodes, int block, int job)
{
    pod_cluster_use sum = {0};
    int n_down = 0;
    for (int i = 0; i + 1 < t->n_events; i++) {
        /* Faults of a node may overlap: it goes down with the first, and up with the last. */
        int open = 0;
        for (int k = 0; k < i; k++)
            if (t->event[k].node == t->event[i].node) open += t->event[k].is_down ? 1 : -1;
        if (t->event[i].is_down)
            n_down += open == 0;
        else
            n_down -= open == 1;
        const double ns = (double)(t->event[i + 1].at - t->event[i].at);
        sum.mean_down += ns * n_down;
        sum.most_down = n_down > sum.most_down ? n_down : sum.most_down;
        sum.blocks_lost += ns * (1 - all_up(n_nodes, n_down, block));
        sum.any_nodes += ns * ((n_nodes - n_down) / job * job) / n_nodes;
        sum.fixed_nodes += ns * (n_nodes / job * job) / n_nodes * all_up(n_nodes, n_down, job);
    }
    const double all_ns = (double)(t->event[t->n_events - 1].at - t->event[0].at);
    sum.mean_down /= all_ns;
    sum.blocks_lost /= all_ns;
    sum.any_nodes /= all_ns;
    sum.fixed_nodes /= all_ns;
    return sum;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

pod_status pod_fault_figures_of(const pod_fault_trace *t, int n_nodes, int n_worst,
                                pod_arena *scratch, pod_fault_figures *out)
{
    static const double day = 86400e9;
    double *days = POD_ARENA_NEW(scratch, double, t->n_faults);
    double *count = POD_ARENA_NEW(scratch, double, t->n_nodes);
    if (!days || !count) return POD_E_NOMEM;
    pod_fault_figures f = {0};
    int n = 0;
    for (int i = 0; i < t->n_events; i++) {
        const pod_node_event *e = &t->event[i];
        if (!e->is_down) continue;
        int k = i,
            n_open = 0; /* faults of the node that began before, and are still to end first */
        for (int j = 0; j < i; j++)
            if (t->event[j].node == e->node) n_open += t->event[j].is_down ? 1 : -1;
        for (n_open++; n_open > 0 && ++k < t->n_events;)
            n_open -= t->event[k].node == e->node && !t->event[k].is_down;
        days[n] = (double)(t->event[k].at - e->at) / day;
        f.mean_days += days[n++] / t->n_faults;
        count[e->node]++;
    }
    qsort(days, (size_t)n, sizeof days[0], ascending);
    qsort(count, (size_t)t->n_nodes, sizeof count[0], ascending);
    f.median_days = n % 2 ? days[n / 2] : (days[n / 2 - 1] + days[n / 2]) / 2;
    for (int i = 0; i < n_worst && i < t->n_nodes; i++)
        f.worst_share += count[t->n_nodes - 1 - i] / t->n_faults;
    f.per_node_day =
        t->n_faults * day / n_nodes / (double)(t->event[t->n_events - 1].at - t->event[0].at);
    *out = f;
    return POD_OK;
}
