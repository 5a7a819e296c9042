/* A run of minipod coll as one JSON object. Rows have the names of NCCL Inspector's records where
 * there are such, so that what reads those reads these. */
#include <stdlib.h>

#include "bench/coll/coll.h"
#include "bench/common/json_option.h"
#include "bench/common/record.h"

enum { VERSION = 2 };

/* What may change a time; nothing else of the environment is anyone's business. */
static void put_environment(pod_json *j)
{
    static const char *const names[] = {"MINIPOD_MAX_ISA",
                                        "OMPI_MCA_btl",
                                        "OMPI_MCA_coll",
                                        "OMPI_MCA_mpi_yield_when_idle",
                                        "OMPI_MCA_pml",
                                        "OMPI_MCA_rmaps_base_oversubscribe",
                                        "PRTE_MCA_rmaps_default_mapping_policy",
                                        "SLURM_JOB_NUM_NODES",
                                        "SLURM_NTASKS"};
    pod_json_open_object(j, "env");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (getenv(names[i])) pod_json_text(j, names[i], getenv(names[i]));
    pod_json_close(j);
}

static void put_host(pod_json *j, const pod_bench *b)
{
    const pod_machine *m = &b->host;
    pod_json_open_object(j, "host");
    pod_json_text(j, "hostname", m->hostname);
    pod_json_text(j, "cpu_model", m->cpu_model);
    pod_json_text(j, "cpu_features", m->cpu_features);
    pod_json_int(j, "physical_cores", m->physical_cores);
    pod_json_int(j, "last_cache_bytes", b->plan.cache_bytes);
    pod_json_text(j, "mpi", pod_comm_version(b->call->comm));
    pod_json_text(j, "compiler", __VERSION__);
    pod_json_close(j);
}

static void put_header(pod_json *j, const pod_bench *b)
{
    pod_json_open_object(j, "header");
    pod_json_int(j, "rank", 0);
    pod_json_int(j, "n_ranks", b->plan.n_ranks);
    pod_json_close(j);
}

static void put_iterations(pod_json *j, const pod_bench_row *r)
{
    pod_json_open_array(j, "iteration_us");
    for (int64_t i = 0; i < r->iter_s.n; i++) pod_json_double(j, NULL, 1e6 * r->iters[i]);
    pod_json_close(j);
}

static void put_row(pod_json *j, const pod_bench *b, int sequence, const pod_bench_row *r)
{
    const pod_bench_plan *p = &b->plan;
    pod_json_open_object(j, NULL);
    pod_json_text(j, "coll", pod_coll_name(p->coll));
    pod_json_int(j, "coll_sn", sequence);
    pod_json_int(j, "coll_msg_size_bytes", pod_bench_bytes(p, r->size));
    pod_json_double(j, "coll_exec_time_us", 1e6 * r->form_s[POD_IN_PLACE].median);
    pod_json_double(j, "coll_algobw_gbs", pod_bench_algbw(b, r, POD_IN_PLACE));
    pod_json_double(j, "coll_busbw_gbs", pod_bench_busbw(b, r, POD_IN_PLACE));
    pod_json_double(j, "out_of_place_time_us", 1e6 * r->form_s[POD_OUT_OF_PLACE].median);
    pod_json_int(j, "count", pod_bench_count(p, r->size));
    pod_json_text(j, "type", p->size[r->size].type->name);
    if (pod_coll_adds(p->coll)) pod_json_text(j, "redop", pod_redop_name(p->size[r->size].op));
    if (pod_coll_has_root(p->coll)) pod_json_int(j, "root", p->size[r->size].root);
    pod_json_text(j, "algo", r->name);
    if (p->on != POD_ON_SIM) {
        pod_json_text(j, "buffers", r->n_buffers > 1 ? "cold" : "hot");
        pod_json_int(j, "n_buffers", r->n_buffers);
    }
    pod_json_double(j, "time_min_us", 1e6 * r->form_s[POD_IN_PLACE].min);
    pod_json_double(j, "time_max_us", 1e6 * r->form_s[POD_IN_PLACE].max);
    if (r->n_wrong[0] < 0)
        pod_json_null(j, "wrong");
    else
        pod_json_int(j, "wrong", r->n_wrong[0] + r->n_wrong[1]);
    if (r->iter_s.n > 0) {
        pod_json_double(j, "iteration_min_us", 1e6 * r->iter_s.min);
        pod_json_double(j, "iteration_max_us", 1e6 * r->iter_s.max);
        pod_json_double(j, "iteration_p99_us", 1e6 * r->iter_s.p99);
        pod_json_double(j, "iteration_cv", r->iter_cv);
    }
    if (r->ideal_s > 0) pod_json_double(j, "ideal_us", 1e6 * r->ideal_s);
    if (r->busiest_link) {
        pod_json_text(j, "busiest_link", r->busiest_link);
        pod_json_double(j, "busiest_share", r->busiest_share);
        pod_json_int(j, "events", r->n_events);
        pod_json_double(j, "events_per_s", r->events_per_s);
    }
    if (pod_config_bool(b->call->config, POD_OPT_PER_ITER_TIMING)) put_iterations(j, r);
    pod_json_close(j);
}

static void put_run(const void *bench, pod_json *j)
{
    const pod_bench *b = bench;
    const pod_bench_plan *p = &b->plan;
    pod_json_open_object(j, NULL);
    pod_json_text(j, "schema", "minipod.coll");
    pod_json_int(j, "version", VERSION);
    pod_json_text(j, "minipod", POD_VERSION);
    pod_json_text(j, "git", POD_GIT_ID);
    pod_json_text(j, "clock", pod_bench_clock(p));
    pod_json_text(j, "machine", b->plan.machine.name);
    pod_json_text(j, "mesh", POD_MESH_TEXT(&p->mesh));
    pod_json_int(j, "ranks", p->n_ranks);
    put_header(j, b);
    pod_json_arguments(j, b->call->config, POD_CMD_COLL);
    put_environment(j);
    put_host(j, b);
    if (p->n_checks > 0)
        pod_json_int(j, "out_of_bounds_values", pod_bench_n_wrong(b));
    else
        pod_json_null(j, "out_of_bounds_values");
    pod_json_open_array(j, "refused");
    for (int i = 0; i < p->n_refusals; i++) pod_json_text(j, NULL, p->refusal[i]);
    pod_json_close(j);
    pod_json_open_array(j, "rows");
    for (int i = 0; i < b->n_rows; i++) put_row(j, b, i, &b->row[i]);
    pod_json_close(j);
    pod_json_close(j);
}

pod_status pod_bench_write_json(const pod_bench *b, const char *path)
{
    return pod_json_file_write(path, 2, put_run, b);
}
