/* Where events are, for the queue: cores that share links are one place. What one place sends to
 * another comes a link's latency later, which is how long a window may be. */
#include "collectives/exec/sim/core.h"

/* Of a head on its way: at the node that it has come to. */
static int place_of_head(const void *ctx, uint64_t key)
{
    const pod_sim *sim = ctx;
    const uint32_t core = (uint32_t)key & sim->slot_mask;
    const int far = (int)(key >> POD__SIM_FAR_SHIFT & (POD__SIM_MAX_RANKS - 1));
    const int rank = pod__sim_moved(sim, sim->coord[sim->rank[core]], sim->coord[far]);
    return sim->queue_place[sim->core_of[rank]];
}

/* Whose place it is: links of a chip are kept as those of its first core (net/links.h). */
static int owner_of(const pod_sim *sim, bool is_chip_shared, int core)
{
    const int rank = sim->rank[core], n_cores = sim->classes.mesh.extent[0];
    return is_chip_shared ? sim->core_of[rank / n_cores * n_cores] : core;
}

static int window_bits_of(const pod_sim *sim, bool is_chip_shared)
{
    int64_t soonest_ps = POD_PS_NEVER;
    for (int d = is_chip_shared; d < sim->classes.mesh.n_dims; d++) {
        const int64_t latency_ps = pod_ps(sim->net.link_latency_s[d]);
        if (sim->classes.mesh.extent[d] > 1 && latency_ps < soonest_ps) soonest_ps = latency_ps;
    }
    int bits = -1;
    while (bits < POD__SIM_MAX_WINDOW_BITS && soonest_ps >> (bits + 1) > 0) bits++;
    return bits;
}

pod_status pod__sim_set_places(pod_sim *sim)
{
    const bool is_chip_shared =
        sim->net.is_chip_shared && sim->classes.mesh.n_dims == POD_MESH_MAX_DIMS;
    const int window_bits = window_bits_of(sim, is_chip_shared);
    if (window_bits < 0) return POD_OK;
    sim->queue_place = POD_ARENA_NEW(sim->arena, int16_t, sim->n_slots);
    if (!sim->queue_place) return POD_E_NOMEM;
    int n = 0, shift = 0;
    for (int k = 0; k < sim->n_slots; k++)
        n += sim->rank[k] >= 0 && owner_of(sim, is_chip_shared, k) == k;
    while ((n - 1) >> shift >= POD_ENGINE_MAX_PLACES) shift++;
    int32_t n_before = 0;
    for (int k = 0; k < sim->n_slots; k++)
        if (sim->rank[k] >= 0 && owner_of(sim, is_chip_shared, k) == k)
            sim->queue_place[k] = (int16_t)(n_before++ >> shift);
    for (int k = 0; k < sim->n_slots; k++)
        if (sim->rank[k] >= 0)
            sim->queue_place[k] = sim->queue_place[owner_of(sim, is_chip_shared, k)];
    const pod_engine_places places = {.n = ((n - 1) >> shift) + 1,
                                      .window_bits = window_bits,
                                      .mask = sim->slot_mask,
                                      .place = sim->queue_place,
                                      .elsewhere = (uint64_t)(POD__SIM_MAX_RANKS - 1)
                                                   << POD__SIM_FAR_SHIFT,
                                      .find = place_of_head,
                                      .ctx = sim};
    return pod_engine_set_places(sim->engine, &places);
}
