/* minipod coll: benchmarks collectives in nccl-tests' dialect: the same options and columns,
 * results checked unless told otherwise, the MPI library's own collectives in the same run. */
#include <inttypes.h>

#include "bench/coll/coll.h"

static pod_status tell(pod_bench *b)
{
    const char *json = pod_config_text(b->call->config, POD_OPT_JSON);
    const char *plot = pod_config_text(b->call->config, POD_OPT_PLOT);
    const char *rules = pod_config_text(b->call->config, POD_OPT_AUTOTUNE);
    POD_TRY(pod_bench_table_end(b));
    if (json[0] != '\0') POD_TRY(pod_bench_write_json(b, json));
    if (plot[0] != '\0') POD_TRY(pod_bench_plot(b, plot));
    /* What is wrong is not to be picked. */
    return rules[0] != '\0' && pod_bench_n_wrong(b) == 0 ? pod_bench_autotune(b, rules) : POD_OK;
}

static bool is_right(const pod_bench *b)
{
    const int64_t n_wrong = pod_bench_n_wrong(b);
    const bool tunes = pod_config_is_set(b->call->config, POD_OPT_AUTOTUNE);
    if (n_wrong > 0)
        pod_log_say(b->call->log, POD_LOG_ERROR, "%" PRId64 " values are wrong%s", n_wrong,
                    tunes ? ", so no rules are written" : "");
    return n_wrong == 0;
}

/* Each algorithm of ours on each kind of buffer; the peer only where it was measured alone. */
static bool is_fast_enough(const pod_bench *b)
{
    const double bound = pod_config_double(b->call->config, POD_OPT_MIN_BUSBW);
    bool ok = true;
    for (int i = 0; bound > 0 && i < 2 * b->plan.n_entries; i++) {
        const bool is_cold = i % 2;
        const pod_bench_summary s = pod_bench_summarize(b, i / 2, is_cold);
        if (s.n_rows == 0 || s.busbw >= bound) continue;
        if (b->plan.entry[i / 2].is_peer && b->plan.n_entries > 1) continue;
        ok = false;
        pod_log_say(b->call->log, POD_LOG_ERROR,
                    "%s, %s: average bus bandwidth %.4g GB/s, --min-busbw wants %g; slowest "
                    "at %" PRId64 " bytes: %.4g GB/s",
                    b->plan.entry[i / 2].name, pod_bench_buffers(&b->plan, is_cold), s.busbw, bound,
                    pod_bench_bytes(&b->plan, s.slowest->size),
                    pod_bench_busbw(b, s.slowest, POD_IN_PLACE));
    }
    return ok;
}

/* Where it is not by the rules that were given that something runs. */
static pod_status warn_of_algo(const pod_bench *b)
{
    const pod_bench_plan *p = &b->plan;
    if (!p->has_own_rules) return POD_OK;
    pod_coll_args *args = POD_ARENA_NEW(b->arena, pod_coll_args, p->n_sizes);
    if (!args) return POD_E_NOMEM;
    for (int s = 0; s < p->n_sizes; s++) args[s] = pod_bench_args(p, s);
    const char *text = pod_coll_rules_missed(b->arena, p->rules, &p->mesh, args, p->n_sizes);
    if (text) pod_log_say(b->call->log, POD_LOG_WARNING, "%s", text);
    return POD_OK;
}

static pod_status run(pod_bench *b, int *exit_code)
{
    pod_comm *comm = b->call->comm;
    POD_TRY(pod_bench_plan_from(b->call, b->arena, &b->plan));
    pod_machine_describe_host(&b->host);
    const bool is_sim = b->plan.on == POD_ON_SIM;
    /* Whether the ranks, or what plays them in one process, find the memory for it. */
    POD_TRY(pod_comm_agree(comm, is_sim ? pod_bench_sim_room(b) : pod_bench_ranks_room(b)));
    const bool speaks = pod_comm_rank(comm) == 0;
    POD_TRY(pod_comm_agree(comm, speaks ? warn_of_algo(b) : POD_OK));
    POD_TRY(pod_comm_agree(comm, speaks ? pod_bench_table_begin(b) : POD_OK));
    POD_TRY(is_sim ? pod_bench_sim(b) : pod_bench_ranks(b));
    POD_TRY(pod_comm_agree(comm, speaks ? tell(b) : POD_OK));
    if (!is_right(b) || !is_fast_enough(b)) *exit_code = POD_EXIT_FAILED;
    return POD_OK;
}

pod_status pod_cmd_coll(pod_call *call, int *exit_code)
{
    pod_bench b = {.call = call, .arena = call->arena};
    const pod_status s = run(&b, exit_code);
    pod_table_destroy(b.table);
    return s;
}
