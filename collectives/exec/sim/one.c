/* One collective on its own. */
#include <time.h>

#include "collectives/exec/sim/sim.h"
#include "collectives/net/engine.h"

/* Answers when the last rank is done, counted from when the first one starts. */
static pod_status run_once(pod_sim *sim, pod_sim_coll *c, const double start_s[], double done_s[],
                           double *seconds)
{
    int64_t first_ps = POD_PS_NEVER, last_ps = 0;
    for (int r = 0; r < pod_sim_n_cores(sim); r++) {
        const int64_t at_ps = start_s ? pod_ps(start_s[r]) : 0;
        if (at_ps < first_ps) first_ps = at_ps;
        POD_TRY(pod_sim_start(sim, c, r, at_ps));
    }
    pod_sim_done done;
    while (pod_sim_next(sim, &done)) {
        if (done_s) done_s[done.rank] = pod_ps_seconds(done.at_ps);
        if (done.at_ps > last_ps) last_ps = done.at_ps;
    }
    *seconds = pod_ps_seconds(last_ps - first_ps);
    return pod_sim_check_done(sim, c);
}

static double wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static pod_status find_classes(const pod_net *net, const pod_mesh *m, const pod_coll_algo *algo,
                               const pod_coll_args *args, pod_sim_classes *out)
{
    return pod_sim_classes_find(net, m, &algo, args, 1, POD_SIM_EQUAL, out);
}

static pod_status begin(const pod_net *net, const pod_mesh *m, const pod_coll_algo *algo,
                        const pod_coll_args *args, bool one_of_each, pod_sim **sim,
                        pod_sim_coll **c)
{
    pod_sim_classes classes;
    POD_TRY(find_classes(net, m, algo, args, &classes));
    POD_TRY(pod_sim_create_alike(net, &classes, one_of_each, sim));
    const pod_status status = pod_sim_add_algo(*sim, algo, args, c);
    if (status != POD_OK) pod_sim_destroy(*sim);
    return status;
}

pod_status pod_sim_collective_need(const pod_net *net, const pod_mesh *m, const pod_coll_algo *algo,
                                   const pod_coll_args *args, pod_sim_need *out)
{
    pod_sim_classes classes;
    POD_TRY(find_classes(net, m, algo, args, &classes));
    return pod_sim_find_need(m, algo, args, classes.n_classes / classes.n_twins, classes.n_classes,
                             out);
}

pod_status pod_sim_collective(const pod_net *net, const pod_mesh *m, const pod_coll_algo *algo,
                              const pod_coll_args *args, const double start_s[], double done_s[],
                              pod_sim_report *out)
{
    const double began_s = wall_s();
    pod_sim *sim;
    pod_sim_coll *c;
    pod_status status;
    POD_TRY(begin(net, m, algo, args, !start_s && !done_s, &sim, &c));
    const double built_s = wall_s();
    pod_sim_report r = {0};
    POD_TRY_GOTO(status, run_once(sim, c, start_s, done_s, &r.seconds), done);
    r.use = pod_sim_used(sim);
    r.busiest_share = r.seconds > 0 ? r.use.busiest_s / r.seconds : 0;
    pod_route_link_print(m, r.use.busiest_link, r.busiest_link, sizeof r.busiest_link);
    r.build_wall_s = built_s - began_s;
    r.run_wall_s = wall_s() - built_s;
    *out = r;
done:
    pod_sim_destroy(sim);
    return status;
}

pod_status pod_sim_cheapest(const pod_net *net, const pod_mesh *m, const pod_coll_args *args,
                            const pod_coll_algo **out)
{
    int n;
    const pod_coll_algo *algos = pod_coll_algos(&n), *best = NULL;
    double least_s = 0;
    for (int i = 0; i < n; i++) {
        if (algos[i].coll != args->coll || algos[i].why_not(m, args)) continue;
        pod_sim_report r;
        POD_TRY(pod_sim_collective(net, m, &algos[i], args, NULL, NULL, &r));
        if (best && r.seconds >= least_s) continue;
        best = &algos[i];
        least_s = r.seconds;
    }
    *out = best;
    return POD_OK;
}
