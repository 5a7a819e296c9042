#include "runtime/fleet/availability.h"

#include <math.h>

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
        sum.blocks_lost += ns * (1 - all_up(n_nodes, n_down, block));
        sum.any_nodes += ns * ((n_nodes - n_down) / job * job) / n_nodes;
        sum.fixed_nodes += ns * (n_nodes / job * job) / n_nodes * all_up(n_nodes, n_down, job);
    }
    const double all_ns = (double)(t->event[t->n_events - 1].at - t->event[0].at);
    sum.blocks_lost /= all_ns;
    sum.any_nodes /= all_ns;
    sum.fixed_nodes /= all_ns;
    return sum;
}
