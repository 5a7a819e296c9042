#include "collectives/algo/ring/deal.h"

#include "collectives/algo/ring/path.h"
#include "kernels/base/assert.h"

pod__deal pod__deal_of_range(pod_range range, int size)
{
    return (pod__deal){.range = range, .n_parts = size, .extent = size, .stride = 1};
}

static bool is_line(const pod_mesh *m, const pod_group *g, int dim)
{
    pod_group line = *g;
    line.dims &= 1u << dim;
    return pod__path_of(m, line).is_line;
}

pod__deal pod__deal_of_members(const pod_mesh *m, const pod_group *g, int rank, int64_t count,
                               uint32_t done, int dim)
{
    pod__deal d = {.range = {0, count}};
    const int index = pod_group_index(m, g, rank);
    int stride = 1;
    for (int k = 0; k < m->n_dims; k++) {
        const int extent = pod_group_extent(m, g, k), at = index / stride % extent;
        if (k == dim) {
            d.extent = extent;
            d.stride = stride;
        } else if (done >> k & 1) {
            d.first += at * stride;
        } else if (extent > 1) {
            const bool has_ends = is_line(m, g, k);
            d.free[d.n_free].extent = extent;
            d.free[d.n_free].stride = stride;
            d.free[d.n_free].at = at;
            d.free[d.n_free].ahead = has_ends ? extent - 1 - at : extent / 2;
            d.free[d.n_free++].behind = has_ends ? at : (extent - 1) / 2;
        }
        stride *= extent;
    }
    d.n_parts = stride;
    return d;
}

/* The j-th place from the farthest on, as steps ahead or (< 0) behind, by turns where there are
 * both; and the inverse. */
static int far_first(int ahead, int behind, int j)
{
    const int near = ahead < behind ? ahead : behind, far = ahead < behind ? behind : ahead;
    if (j < far - near) return ahead < behind ? j - far : far - j;
    const int turn = j - (far - near);
    return turn % 2 ? turn / 2 - near : near - turn / 2;
}

static int far_rank(int ahead, int behind, int steps)
{
    const int near = ahead < behind ? ahead : behind, far = ahead < behind ? behind : ahead;
    const int distance = steps < 0 ? -steps : steps;
    if (distance > near) return far - distance;
    return far - near + 2 * (near - distance) + (steps < 0);
}

int64_t pod__share(int64_t count, int64_t num, int64_t den)
{
    return count / den * num + count % den * num / den;
}

/* Runs over two dimensions X x Y by shells: all with one of both at its farthest, then all of the
 * others with one of both at its next, ... Shell k has X + Y - 2 k - 1. */
static void shell_of(int extent, int extent_too, int run, int *j, int *j_too)
{
    int k = 0;
    for (int n = extent + extent_too - 1; run >= n; n -= 2, k++) run -= n;
    const bool is_first = run < extent - k;
    *j = is_first ? k + run : k;
    *j_too = is_first ? k : k + 1 + run - (extent - k);
}

static int in_shell(int extent, int extent_too, int j, int j_too)
{
    const int k = j < j_too ? j : j_too;
    const int before = k * (extent + extent_too - k);
    return before + (j_too == k ? j - k : extent - k + j_too - k - 1);
}

pod_range pod__deal_run(const pod__deal *d, int index, int run)
{
    int part = d->first + index * d->stride, j[POD_MESH_MAX_DIMS] = {run};
    if (d->n_free == 2) shell_of(d->free[0].extent, d->free[1].extent, run, &j[0], &j[1]);
    for (int f = 0; f < d->n_free; f++) {
        const int extent = d->free[f].extent;
        const int steps = far_first(d->free[f].ahead, d->free[f].behind, j[f]);
        part += (d->free[f].at + steps + extent) % extent * d->free[f].stride;
    }
    pod_range r = pod_block(d->range.count, d->n_parts, part);
    r.first += d->range.first;
    if (d->share_of == 0) return r;
    const int64_t begin = pod__share(r.count, d->share[0], d->share_of);
    const int64_t end = pod__share(r.count, d->share[1], d->share_of);
    return (pod_range){r.first + begin, end - begin};
}

pod__deal_place pod__deal_find(const pod__deal *d, int64_t element)
{
    const int64_t at = element - d->range.first, n_short = d->range.count / d->n_parts,
                  n_long = d->range.count % d->n_parts, in_long = n_long * (n_short + 1);
    POD_DCHECK(at >= 0 && at < d->range.count, "element %d of %d", (int)at, (int)d->range.count);
    const int part = (int)(at < in_long ? at / (n_short + 1) : n_long + (at - in_long) / n_short);
    int j[POD_MESH_MAX_DIMS] = {0};
    for (int f = 0; f < d->n_free; f++) {
        const int extent = d->free[f].extent;
        int steps = part / d->free[f].stride % extent - d->free[f].at;
        if (steps > d->free[f].ahead) steps -= extent;
        if (steps < -d->free[f].behind) steps += extent;
        j[f] = far_rank(d->free[f].ahead, d->free[f].behind, steps);
    }
    const int run =
        d->n_free == 2 ? in_shell(d->free[0].extent, d->free[1].extent, j[0], j[1]) : j[0];
    return (pod__deal_place){part / d->stride % d->extent, run};
}
