/* Any text as a trace of node faults: one that is read is in order, and every fault in it ends. */
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/study/fault_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check(const pod_fault_trace *t, pod_arena *a)
{
    int *open = POD_ARENA_NEW(a, int, t->n_nodes), n_open = 0;
    POD_ASSERT(open && t->n_events == 2 * t->n_faults, "%d events, %d faults", t->n_events,
               t->n_faults);
    for (int i = 0; i < t->n_events; i++) {
        const pod_node_event *e = &t->event[i];
        POD_ASSERT(e->node >= 0 && e->node < t->n_nodes, "node %d of %d", e->node, t->n_nodes);
        POD_ASSERT(e->at <= t->end && (i == 0 || e[-1].at <= e->at), "event %d is out of order", i);
        open[e->node] += e->is_down ? 1 : -1;
        n_open += e->is_down ? 1 : -1;
        POD_ASSERT(open[e->node] >= 0, "event %d ends what did not begin", i);
    }
    POD_ASSERT(n_open == 0, "%d faults do not end", n_open);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pod_arena *a;
    pod_fault_trace t;
    char *text = malloc(bytes + 1);
    POD_ASSERT(text, "no memory for %zu bytes", bytes);
    if (bytes) memcpy(text, data, bytes);
    text[bytes] = '\0';
    if (pod_arena_create(NULL, &a) != POD_OK) abort();
    if (pod_fault_trace_parse(a, "fuzz", text, &t) == POD_OK) check(&t, a);
    pod_arena_destroy(a);
    free(text);
    return 0;
}
