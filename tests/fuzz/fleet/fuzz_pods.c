/* Any text as a pod of --pods: one that is read has whole groups of hosts, and slices up to all of them. */
#include <stddef.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/fleet/place/topology.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(const pod_topology *t)
{
    const int64_t chips = pod_topology_chips(t);
    pod_slice_shape s;
    POD_ASSERT(t->n_cells > 0 && t->n_cells <= POD_TOPOLOGY_MAX_CELLS &&
                   t->n_cells == t->n_groups * t->group_cells,
               "%s: %d cells", t->name, t->n_cells);
    POD_ASSERT(pod_topology_cells_for(t, chips) == t->n_cells, "%s has no slice of all", t->name);
    POD_ASSERT(pod_topology_cells_for(t, chips + 1) == 0, "%s has more", t->name);
    if (pod_topology_shape_for(t, t->n_cells, &s))
        POD_ASSERT(pod_topology_cells_of(t, &s) == t->n_cells, "%s: the shape of all", t->name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char text[128];
    pod_topology t;
    if (bytes >= sizeof text) return 0;
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    if (pod_topology_parse(text, &t) == POD_OK) check(&t);
    return 0;
}
