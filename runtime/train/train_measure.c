#include "runtime/train/trainer.h"

/* Shares of phases, mean over ranks: what one rank waits for, another one works on. */
static void share_phases(pod__trainer *t)
{
    pod_train_result *r = t->result;
    int64_t n;
    const pod_step_row *row = pod_timeline_rows(r->timeline, &n);
    double sum[POD_N_PHASES + 2] = {0}; /* phases, other, all */
    for (int64_t i = n > 1 ? 1 : 0; i < n; i++) {
        for (int p = 0; p < POD_N_PHASES; p++) sum[p] += pod_time_seconds(row[i].phase[p]);
        sum[POD_N_PHASES] += pod_time_seconds(row[i].other);
        sum[POD_N_PHASES + 1] += pod_time_seconds(row[i].end - row[i].begin);
    }
    pod_comm_sum(t->args->comm, sum, POD_N_PHASES + 2);
    const double all = sum[POD_N_PHASES + 1];
    for (int p = 0; p < POD_N_PHASES && all > 0; p++) r->phase_share[p] = sum[p] / all;
    if (all > 0) r->other_share = sum[POD_N_PHASES] / all;
    const double n_steps = (double)(n > 1 ? n - 1 : n) * pod_comm_size(t->args->comm);
    if (n_steps > 0) r->exposed_s = sum[POD_PHASE_REDUCE] / n_steps;
}

/* The steps of this rank; what the first one took beyond a usual one was start-up. Waits for input
 * have a category of their own already. */
static pod_status measure_own(pod__trainer *t)
{
    pod_train_result *r = t->result;
    int64_t n;
    const pod_step_row *row = pod_timeline_rows(r->timeline, &n);
    if (n > 0) {
        int64_t skip = n > 1 ? 1 : 0;
        POD_TRY(pod_step_stats_of(row + skip, n - skip, &r->stats));
        double first_s =
            pod_time_seconds(row[0].end - row[0].begin - row[0].phase[POD_PHASE_INPUT]);
        double usual_s = r->stats.step.median - r->stats.phase[POD_PHASE_INPUT].median;
        double excess_s = first_s - usual_s;
        if (skip && excess_s > 0)
            pod_job_move(t->args->job, POD_JOB_STEP, POD_JOB_BUILD, (pod_stamp)(excess_s * 1e9));
    }
    for (int64_t i = 0; i < n; i++) r->train_s += pod_time_seconds(row[i].end - row[i].begin);
    return POD_OK;
}

pod_status pod__train_measure(pod__trainer *t)
{
    pod_train_result *r = t->result;
    POD_TRY(pod_comm_agree(t->args->comm, measure_own(t)));
    share_phases(t);
    double n_dropped = (double)pod_timeline_n_dropped(r->timeline);
    pod_comm_sum(t->args->comm, &n_dropped, 1);
    r->n_dropped = (int64_t)n_dropped;
    r->weights_hash = pod_store_hash(t->store);
    return pod_comm_same(t->args->comm, "the weights", &r->weights_hash, sizeof r->weights_hash);
}
