#include "runtime/study/nodes.h"

#include <math.h>

#include "kernels/base/assert.h"
#include "kernels/base/rng.h"

typedef enum where { FREE, HELD, DOWN } where;

typedef struct node {
    pod_rng rng;  /* drawn: its faults are its own, whatever others do */
    int n_faults; /* that have not ended */
    where is;     /* DOWN as long as n_faults > 0 */
    int place;    /* FREE: in `free` */
} node;

struct pod_nodes {
    pod_arena *arena;
    node *node;
    int n, n_needed, n_held;
    int *free; /* those that are up and not held; the last is taken first */
    int n_free;

    /* Where events come from: `next` is the first that was not taken; at POD_NEVER there are
     * none. */
    void (*find_next)(pod_nodes *n);
    pod_node_event next;

    pod_nodes_drawn drawn;
    double scale_s;
    pod_node_event *heap; /* the next event of each node, the earliest first */

    const pod_fault_trace *trace;
    int of_nodes;
    pod_stamp start;    /* asked for; negative: drawn */
    pod_stamp round_at; /* when the current round of the trace begins, in the job's time */
    int at;             /* the event behind `next` */
    int *mine;          /* by node of the trace: ours, or -1 */

    const pod_node_event *event;
    int n_events;
};

/* ---- drawn ----------------------------------------------------------------------------------- */

static bool is_before(const pod_node_event *a, const pod_node_event *b)
{
    return a->at != b->at ? a->at < b->at : a->node < b->node;
}

static void sift_down(pod_node_event heap[], int n, int at)
{
    const pod_node_event moved = heap[at];
    for (int child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_before(&heap[child + 1], &heap[child])) child++;
        if (!is_before(&heap[child], &moved)) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
}

static pod_stamp later(pod_stamp at, double seconds)
{
    const double ns = ceil(seconds * 1e9);
    return ns < (double)(POD_NEVER / 2) && at < POD_NEVER / 2 ? at + (pod_stamp)ns : POD_NEVER;
}

/* By inversion: scale x (-ln u)^(1/shape), u within (0, 1). */
static double draw_life_s(const pod_nodes *n, pod_rng *r)
{
    const double u = ((double)(pod_rng_u64(r) >> 11) + 0.5) * 0x1p-53;
    const double x = -log(u);
    return n->scale_s * (n->drawn.shape == 1 ? x : pow(x, 1 / n->drawn.shape));
}

static void find_drawn(pod_nodes *n)
{
    pod_node_event *first = &n->heap[0];
    n->next = *first;
    if (first->at == POD_NEVER) return;
    const double ahead_s =
        first->is_down ? n->drawn.repair_s : draw_life_s(n, &n->node[first->node].rng);
    *first = (pod_node_event){later(first->at, ahead_s), first->node, !first->is_down};
    sift_down(n->heap, n->n, 0);
}

static void begin_drawn(pod_nodes *n, uint64_t seed, uint32_t job)
{
    for (int i = 0; i < n->n; i++) {
        n->node[i].rng = pod_rng_at(
            seed, (pod_place){.stream = POD_STREAM_NODES, .step = job, .sample = (uint64_t)i});
        const bool fails = n->drawn.mtbf_s > 0;
        n->heap[i] = (pod_node_event){fails ? later(0, draw_life_s(n, &n->node[i].rng)) : POD_NEVER,
                                      i, true};
    }
    for (int i = n->n / 2 - 1; i >= 0; i--) sift_down(n->heap, n->n, i);
}

/* ---- replayed -------------------------------------------------------------------------------- */

static void find_replayed(pod_nodes *n)
{
    const pod_fault_trace *t = n->trace;
    for (;;) {
        if (n->at == t->n_events) {
            n->at = 0;
            n->round_at += t->end;
        }
        const pod_node_event *e = &t->event[n->at++];
        if (n->mine[e->node] < 0) continue;
        n->next = (pod_node_event){n->round_at + e->at, n->mine[e->node], e->is_down};
        return;
    }
}

/* A random part of of_nodes, those of the trace first: Fisher and Yates' shuffle, which stops when
 * ours are dealt. `deck` has of_nodes places. */
static void sample_nodes(pod_nodes *n, pod_rng *r, int deck[])
{
    for (int i = 0; i < n->of_nodes; i++) deck[i] = i;
    for (int i = 0; i < n->trace->n_nodes; i++) n->mine[i] = -1;
    for (int i = 0; i < n->n; i++) {
        const int other = i + (int)pod_rng_below(r, (uint64_t)(n->of_nodes - i));
        const int dealt = deck[other];
        deck[other] = deck[i];
        if (dealt < n->trace->n_nodes) n->mine[dealt] = i;
    }
}

static bool has_events(const pod_nodes *n)
{
    for (int i = 0; i < n->trace->n_nodes; i++)
        if (n->mine[i] >= 0) return true;
    return false;
}

static void begin_replayed(pod_nodes *n, uint64_t seed, uint32_t job)
{
    const pod_fault_trace *t = n->trace;
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_NODES, .layer = 1, .step = job});
    const pod_stamp drawn = (pod_stamp)pod_rng_below(&r, (uint64_t)t->end + 1);
    const pod_stamp start = n->start < 0 ? drawn : n->start;
    sample_nodes(n, &r, n->mine + t->n_nodes);
    n->round_at = -start;
    for (n->at = 0; n->at < t->n_events && t->event[n->at].at <= start; n->at++) {
        const int mine = n->mine[t->event[n->at].node];
        if (mine >= 0) n->node[mine].n_faults += t->event[n->at].is_down ? 1 : -1;
    }
}

/* ---- listed ---------------------------------------------------------------------------------- */

static void find_listed(pod_nodes *n)
{
    n->next = n->at < n->n_events ? n->event[n->at] : (pod_node_event){.at = POD_NEVER};
    n->at++;
}

/* ---- making ---------------------------------------------------------------------------------- */

static pod_status create(int n, int n_needed, pod_nodes **out)
{
    POD_ASSERT(n_needed >= 1 && n >= n_needed, "%d of %d nodes", n_needed, n);
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    pod_nodes *x = POD_ARENA_NEW(a, pod_nodes, 1);
    node *all = POD_ARENA_NEW(a, node, n);
    int *free = POD_ARENA_NEW(a, int, n);
    if (!x || !all || !free) {
        pod_arena_destroy(a);
        return POD_E_NOMEM;
    }
    *x = (pod_nodes){.arena = a, .node = all, .free = free, .n = n, .n_needed = n_needed};
    *out = x;
    return POD_OK;
}

pod_status pod_nodes_draw(const pod_nodes_drawn *plan, int n, int n_needed, pod_nodes **out)
{
    pod_nodes *x;
    POD_TRY(create(n, n_needed, &x));
    x->drawn = *plan;
    x->scale_s = plan->mtbf_s / (plan->shape == 1 ? 1 : tgamma(1 + 1 / plan->shape));
    x->find_next = find_drawn;
    x->heap = POD_ARENA_NEW(x->arena, pod_node_event, n);
    if (!x->heap) {
        pod_nodes_destroy(x);
        return POD_E_NOMEM;
    }
    *out = x;
    return POD_OK;
}

pod_status pod_nodes_replay(const pod_fault_trace *t, int of_nodes, pod_stamp start, int n,
                            int n_needed, pod_nodes **out)
{
    pod_nodes *x;
    if (of_nodes < t->n_nodes)
        return pod_fail(POD_E_INVALID, "the trace has %d nodes with a fault, found %d in all",
                        t->n_nodes, of_nodes);
    if (of_nodes < n)
        return pod_fail(POD_E_INVALID, "the job and its spares are %d nodes, the trace has %d", n,
                        of_nodes);
    POD_TRY(create(n, n_needed, &x));
    x->trace = t;
    x->of_nodes = of_nodes;
    x->start = start;
    x->find_next = find_replayed;
    x->mine = POD_ARENA_NEW(x->arena, int, (size_t)t->n_nodes + (size_t)of_nodes);
    if (!x->mine) {
        pod_nodes_destroy(x);
        return POD_E_NOMEM;
    }
    *out = x;
    return POD_OK;
}

pod_status pod_nodes_list(const pod_node_event event[], int n_events, int n, int n_needed,
                          pod_nodes **out)
{
    pod_nodes *x;
    POD_TRY(create(n, n_needed, &x));
    x->event = event;
    x->n_events = n_events;
    x->find_next = find_listed;
    *out = x;
    return POD_OK;
}

void pod_nodes_destroy(pod_nodes *n)
{
    if (n) pod_arena_destroy(n->arena);
}

/* ---- up and down ----------------------------------------------------------------------------- */

static void set_free(pod_nodes *n, int i)
{
    n->node[i].is = FREE;
    n->node[i].place = n->n_free;
    n->free[n->n_free++] = i;
}

static void leave_free(pod_nodes *n, int i)
{
    const int last = n->free[--n->n_free], place = n->node[i].place;
    n->free[place] = last;
    n->node[last].place = place;
}

/* Takes the next event; answers whether the job lost a node by it. */
static bool pass_event(pod_nodes *n)
{
    node *x = &n->node[n->next.node];
    const int i = n->next.node;
    const bool was_held = x->is == HELD;
    x->n_faults += n->next.is_down ? 1 : -1;
    POD_ASSERT(x->n_faults >= 0, "node %d is repaired %d times more than it failed", i,
               -x->n_faults);
    n->find_next(n);
    if (x->n_faults == 0) {
        set_free(n, i);
    } else if (x->is != DOWN) {
        if (was_held)
            n->n_held--;
        else
            leave_free(n, i);
        x->is = DOWN;
        return was_held;
    }
    return false;
}

void pod_nodes_begin(pod_nodes *n, uint64_t seed, uint32_t job)
{
    for (int i = 0; i < n->n; i++) n->node[i] = (node){.is = DOWN};
    n->n_held = n->n_free = n->at = 0;
    if (n->heap) begin_drawn(n, seed, job);
    if (n->trace) begin_replayed(n, seed, job);
    for (int i = n->n - 1; i >= 0; i--)
        if (n->node[i].n_faults == 0) set_free(n, i);
    if (n->trace && !has_events(n))
        n->next = (pod_node_event){.at = POD_NEVER};
    else
        n->find_next(n);
}

pod_stamp pod_nodes_take(pod_nodes *n, pod_stamp now, pod_stamp limit)
{
    while (n->next.at <= now) pass_event(n);
    for (;;) {
        while (n->n_held < n->n_needed && n->n_free > 0) {
            n->node[n->free[--n->n_free]].is = HELD;
            n->n_held++;
        }
        if (n->n_held == n->n_needed) return now;
        if (n->next.at == POD_NEVER || n->next.at > limit) return POD_NEVER;
        now = n->next.at;
        pass_event(n);
    }
}

pod_stamp pod_nodes_next(const pod_nodes *n) { return n->next.at; }

pod_stamp pod_nodes_watch(pod_nodes *n, pod_stamp until)
{
    while (n->next.at < until) {
        const pod_stamp at = n->next.at;
        if (pass_event(n)) return at;
    }
    return until;
}
