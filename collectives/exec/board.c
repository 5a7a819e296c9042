#include "collectives/exec/board.h"

#include <stdlib.h>

#include "collectives/exec/window.h"

enum { CACHE_LINE = 64 };

typedef struct place { /* of a rank, in its part of the window */
    _Alignas(CACHE_LINE) uint32_t bell;
    _Alignas(CACHE_LINE) pod__cpu_set cpus;
} place;

struct pod__board {
    pod_comm *comm;
    pod_window *window;
    bool is_crowded;
};

static place *place_of(const pod__board *b, int rank)
{
    return pod_window_data_of(b->window, rank);
}

/* Bound ranks have a CPU each and together as many as there are of them. */
static bool find_crowd(const pod__board *b)
{
    pod__cpu_set all = {{0}};
    int n_ranks = 0;
    for (int r = 0; r < pod_comm_size(b->comm); r++) {
        if (!pod_comm_shares_node(b->comm, r)) continue;
        const pod__cpu_set *own = &place_of(b, r)->cpus;
        for (size_t i = 0; i < sizeof all.bits / sizeof all.bits[0]; i++)
            all.bits[i] |= own->bits[i];
        n_ranks++;
    }
    return n_ranks > pod__cpu_set_count(&all);
}

pod_status pod__board_open(pod_comm *c, pod__board **out)
{
    pod__board *b = malloc(sizeof *b);
    POD_TRY(pod_comm_agree(c, b ? POD_OK : pod_fail(POD_E_NOMEM, "board: %zu bytes", sizeof *b)));
    *b = (pod__board){.comm = c};
    pod_status status = pod_window_create(c, sizeof(place), &b->window);
    if (status != POD_OK) {
        free(b);
        return status;
    }
    pod__host_cpus(&place_of(b, pod_comm_rank(c))->cpus);
    pod_window_sync(b->window);
    b->is_crowded = find_crowd(b);
    *out = b;
    return POD_OK;
}

void pod__board_close(pod__board *b)
{
    if (!b) return;
    pod_window_destroy(b->window);
    free(b);
}

bool pod__board_is_crowded(const pod__board *b) { return b->is_crowded; }

uint32_t *pod__board_bell(const pod__board *b, int rank) { return &place_of(b, rank)->bell; }

void pod__bell_ring(uint32_t *bell)
{
    if (__atomic_exchange_n(bell, 0, __ATOMIC_RELAXED)) pod__host_wake(bell);
}
