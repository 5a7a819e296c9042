/* What peers make of a problem, as contenders in the race. */
#include "bench/kernels/kernels.h"
#include "bench/peers/peer.h"

typedef struct pod_peer_contender {
    const pod_peer *peer;
    pod_peer_run *run;
    struct pod_peer_contender *next;
} pod_peer_contender;

static void run(const pod_contender *c, int set)
{
    const pod_peer_contender *x = c->call;
    x->peer->run(x->run, set);
}

static void settle(const pod_contender *c)
{
    const pod_peer_contender *x = c->call;
    x->peer->settle(x->run);
}

static pod_status add(pod_race *r, const pod_peer *peer, bool is_packed, const pod_contender *like)
{
    pod_peer_contender *x = POD_ARENA_NEW(r->arena, pod_peer_contender, 1);
    if (!x) return POD_E_NOMEM;
    *x = (pod_peer_contender){.peer = peer, .next = r->peers};
    const pod_peer_call call = {.problem = &r->problem,
                                .is_packed = is_packed,
                                .n_sets = r->n_sets,
                                .a = like->a,
                                .b = like->b,
                                .out = like->out};
    const pod_status s = peer->create(&call, &x->run);
    if (s == POD_E_UNSUPPORTED) return POD_OK;
    POD_TRY(s);
    /* A depthwise convolution is held to float32's peak: no unit of bfloat16 products serves it. */
    const bool is_depthwise = r->problem.family == POD_FAMILY_depthwise;
    r->peers = x;
    pod_contender c = *like;
    c.impl = peer->name;
    c.is_packed = is_packed;
    c.is_peer = true;
    c.peak = is_depthwise ? POD_F32 : r->problem.dtype;
    c.run = run;
    c.settle = settle;
    c.call = x;
    pod_race_add(r, &c);
    return POD_OK;
}

pod_status pod_race_add_peers(const pod_kernels_plan *plan, pod_race *r, const pod_contender *like)
{
    int n;
    const pod_peer *peer = pod_peers(&n);
    for (int i = 0; i < n; i++) {
        if (!pod_race_wants(plan, peer[i].name)) continue;
        if (plan->with_packed) POD_TRY(add(r, &peer[i], true, like));
        if (plan->with_unpacked) POD_TRY(add(r, &peer[i], false, like));
    }
    return POD_OK;
}

void pod_race_end_peers(pod_race *r)
{
    for (pod_peer_contender *x = r->peers; x; x = x->next) x->peer->destroy(x->run);
}
