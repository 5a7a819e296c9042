/* Collectives on a machine that need not exist, on its virtual clock: one operation each, from when
 * all ranks start together until the last is done. Nothing of it is chance, so once is enough. */
#include "collectives/exec/sim/sim.h"
#include "bench/coll/coll.h"
#include "collectives/algo/ideal.h"
#include "runtime/core/room.h"

static pod_status check_room(const pod_bench_plan *p, const pod_bench_entry *e)
{
    for (int s = 0; s < p->n_sizes; s++) {
        pod_coll_args args;
        pod_sim_need need;
        if (pod_bench_why_not(p, e, s)) continue;
        const pod_coll_algo *algo = pod_bench_pick(p, e, s, &args);
        POD_TRY(pod_sim_collective_need(&p->net, &p->mesh, algo, &args, &need));
        POD_TRY(pod_room_check(need.what, need.bytes));
    }
    return POD_OK;
}

pod_status pod_bench_sim_room(pod_bench *b)
{
    pod_bench_plan *p = &b->plan;
    int n_kept = 0;
    for (int i = 0; i < p->n_entries; i++) {
        const pod_status s = check_room(p, &p->entry[i]);
        if (s == POD_OK)
            p->entry[n_kept++] = p->entry[i];
        else if (!p->refusal || s != POD_E_INVALID || (n_kept == 0 && i == p->n_entries - 1))
            return s;
        else
            POD_TRY(pod_bench_refuse(b->arena, p, p->entry[i].name, p->n_sizes, pod_error_text()));
    }
    p->n_entries = n_kept;
    return POD_OK;
}

static pod_status simulate(pod_bench *b, int size, int entry)
{
    const pod_bench_plan *p = &b->plan;
    pod_coll_args args;
    const pod_coll_algo *algo = pod_bench_pick(p, &p->entry[entry], size, &args);
    pod_sim_report r;
    POD_TRY(pod_sim_collective(&p->net, &p->mesh, algo, &args, NULL, NULL, &r));
    const bool shares_memory = p->node_size > 1; /* then links are not the limit */
    const pod_bench_row row = {
        .size = size,
        .entry = entry,
        .algo = algo,
        .n_buffers = 1,
        /* A core copies at no cost, so out of place takes as long. */
        .form_s = {pod_spread_of(&r.seconds, 1), pod_spread_of(&r.seconds, 1)},
        .n_wrong = {-1, -1},
        .ideal_s = shares_memory ? 0 : pod_coll_ideal_s(&p->net, &p->mesh, &args),
        .busiest_link = pod_arena_text(b->arena, "%s", r.busiest_link),
        .busiest_share = r.busiest_share,
        .n_events = r.use.n_events,
        .events_per_s = r.run_wall_s > 0 ? (double)r.use.n_events / r.run_wall_s : 0,
    };
    return row.busiest_link ? pod_bench_add(b, row, &args) : POD_E_NOMEM;
}

pod_status pod_bench_sim(pod_bench *b)
{
    const pod_bench_plan *p = &b->plan;
    pod_log *log = b->call->log;
    pod_progress_begin(log, "simulating", "sizes", 0, p->n_sizes);
    for (int s = 0; s < p->n_sizes; s++) {
        for (int e = 0; e < p->n_entries; e++)
            if (!pod_bench_why_not(p, &p->entry[e], s)) POD_TRY(simulate(b, s, e));
        pod_progress_at(log, s + 1, "%s", "");
    }
    pod_progress_end(log);
    return POD_OK;
}
