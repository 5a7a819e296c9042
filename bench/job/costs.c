#include "bench/job/costs.h"

#include <math.h>

static const double GB = 1e9;

pod_job_costs pod_job_costs_of(const pod_job_keys *k, double bytes, int n_nodes, bool is_async,
                               double start_up_s)
{
    const double copy_s = bytes / n_nodes / (k->copy_gb_per_s * GB),
                 disk_s = bytes / n_nodes / (k->disk_gb_per_s * GB);
    const bool has_parts =
        pod_job_keys_has(k, POD_JOB_KEY_init_s) || pod_job_keys_has(k, POD_JOB_KEY_compile_s);
    const bool is_whole = start_up_s > 0 && !has_parts;
    pod_job_costs c = {.save_s = is_async ? copy_s : copy_s + disk_s,
                       .write_s = is_async ? disk_s : 0,
                       .restore_s =
                           bytes / (k->copy_gb_per_s * GB) + bytes / (k->disk_gb_per_s * GB),
                       .init_s = is_whole ? start_up_s : k->init_s,
                       .compile_s = is_whole ? 0 : k->compile_s};
    if (pod_job_keys_has(k, POD_JOB_KEY_save_s)) c.save_s = k->save_s;
    if (pod_job_keys_has(k, POD_JOB_KEY_write_s) && is_async) c.write_s = k->write_s;
    if (pod_job_keys_has(k, POD_JOB_KEY_restore_s)) c.restore_s = k->restore_s;
    return c;
}

int64_t pod_job_steps(double run_s, double step_s)
{
    return (int64_t)ceil(run_s / step_s * (1 - 1e-12));
}
