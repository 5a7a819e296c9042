/* minipod train: a model, on data, on the mesh of ranks that mpirun started, to a target. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/models.h"
#include "bench/run.h"
#include "bench/target.h"
#include "kernels/base/cpu.h"
#include "runtime/core/file.h"
#include "runtime/measure/trace.h"

enum { KEPT_STEPS = 8 };

typedef struct job { /* everything of one call */
    pod_call *call;
    pod_arena *arena;
    pod_setup setup;
    pod_network network;
    pod_network_choice choice;
    pod_machine machine;
    pod_target target;
    pod_job_log log;
    pod_mllog *mllog;
    const char *out; /* folder, or "" */
    pod_train_result result;
} job;

static const char *file_in(job *j, const char *name)
{
    return pod_arena_text(j->arena, "%s/%s", j->out, name);
}

/* ---- before ---- */

static pod_status load_machine(job *j)
{
    pod_comm *comm = j->call->comm;
    pod_status mine = POD_OK;
    if (pod_comm_rank(comm) == 0)
        mine = pod_machine_load(pod_config_text(j->call->config, POD_OPT_MACHINE), &j->machine);
    POD_TRY(pod_comm_agree(comm, mine));
    pod_comm_broadcast(comm, 0, &j->machine, sizeof j->machine);
    return POD_OK;
}

static pod_status open_own_outputs(job *j)
{
    const pod_comm *comm = j->call->comm;
    const char *path = NULL;
    if (*j->out && pod_comm_rank(comm) == 0) {
        const char *checkpoint = file_in(j, "checkpoint");
        path = file_in(j, "mllog.txt");
        if (!checkpoint || !path) return POD_E_NOMEM;
        POD_TRY(pod_dir_make(checkpoint));
    }
    return pod_mllog_open(path, pod_comm_rank(comm), &j->call->clock, &j->mllog);
}

static pod_status read_settings(job *j)
{
    const pod_config *c = j->call->config;
    j->out = pod_config_text(c, POD_OPT_OUT);
    if (pod_config_bool(c, POD_OPT_TRACE) && !*j->out)
        return pod_fail(POD_E_INVALID, "trace: timeline.json goes into --out, which is not given");
    POD_TRY(pod_setup_from(c, pod_comm_size(j->call->comm), pod_comm_node_size(j->call->comm),
                           j->arena, &j->setup));
    return pod_network_choose(&j->setup, &j->choice, &j->network);
}

static pod_status set_up(job *j)
{
    pod_comm *comm = j->call->comm;
    POD_TRY(pod_comm_agree(comm, read_settings(j)));
    POD_TRY(load_machine(j));
    POD_TRY(pod_comm_agree(comm, pod_target_from(j->call->config, &j->machine, &j->target)));
    return pod_comm_agree(comm, open_own_outputs(j));
}

static void log_hparams(const job *j)
{
    const pod_config *c = j->call->config;
    pod_mllog_put(j->mllog, "seed", pod_mllog_int((int64_t)j->setup.seed));
    pod_mllog_put(j->mllog, "global_batch_size", pod_mllog_int(j->setup.batch));
    pod_mllog_put(j->mllog, "opt_name", pod_mllog_text(j->setup.optim->name));
    pod_mllog_put(j->mllog, "opt_base_learning_rate", pod_mllog_real(j->setup.lr.base));
    pod_mllog_put(j->mllog, "opt_weight_decay",
                  pod_mllog_real(pod_config_double(c, POD_OPT_WEIGHT_DECAY)));
    pod_mllog_put(j->mllog, "opt_learning_rate_warmup_epochs",
                  pod_mllog_real(j->setup.warmup_epochs));
    pod_mllog_put(j->mllog, "minipod_mesh_ranks", pod_mllog_int(pod_comm_size(j->call->comm)));
}

static void log_start(job *j)
{
    pod_mllog_run run = {.benchmark = "resnet",
                         .org = "unverified",
                         .platform = j->machine.name,
                         .model = j->setup.model,
                         .data = j->setup.data};
    pod_mllog_submission(j->mllog, &run);
    pod_mllog_put(j->mllog, "init_start", pod_mllog_null());
    log_hparams(j);
    pod_mllog_put(j->mllog, "init_stop", pod_mllog_null());
}

/* ---- after ---- */

static pod_trace_what what_is(const void *ctx, int32_t instr)
{
    const pod_instr *in = &((const pod_program *)ctx)->instr[instr];
    return (pod_trace_what){in->label, in->op, in->impl};
}

/* The last steps of all ranks in one file; rank 0 writes it. Collective. */
static pod_status write_trace(job *j)
{
    pod_comm *comm = j->call->comm;
    const int size = pod_comm_size(comm);
    const pod_timeline *tl = j->result.timeline;
    struct own {
        pod_stamp begun;
        int64_t n;
    } mine, *all = POD_ARENA_NEW(j->arena, struct own, size);
    const int64_t room = pod_timeline_kept_room(tl);
    pod_event *events = POD_ARENA_NEW(j->arena, pod_event, room);
    bool is_root = pod_comm_rank(comm) == 0;
    pod_event *gathered = is_root ? POD_ARENA_NEW(j->arena, pod_event, room * size) : events;
    pod_trace_rank *ranks = POD_ARENA_NEW(j->arena, pod_trace_rank, size);
    bool ok = all && events && gathered && ranks;
    POD_TRY(pod_comm_agree(comm, ok ? POD_OK : POD_E_NOMEM));
    mine = (struct own){j->call->clock.stamp, pod_timeline_copy_kept(tl, events)};
    pod_comm_gather(comm, &mine, sizeof mine, all);
    pod_comm_gather(comm, events, sizeof *events * (size_t)room, gathered);
    pod_status status = POD_OK;
    if (is_root) {
        for (int r = 0; r < size; r++)
            ranks[r] = (pod_trace_rank){.rank = r,
                                        .event = gathered + r * room,
                                        .n = all[r].n,
                                        .shift = (all[r].begun - all[0].begun) * 1000};
        status = pod_trace_write(file_in(j, "timeline.json"), "wall", ranks, size, what_is,
                                 j->result.program);
    }
    return pod_comm_agree(comm, status);
}

static pod_run run_of(const job *j, pod_status status, const char *failure)
{
    return (pod_run){.config = j->call->config,
                     .setup = &j->setup,
                     .result = &j->result,
                     .machine = &j->machine,
                     .job = &j->log,
                     .ranks = pod_comm_size(j->call->comm),
                     .physical_cores = pod_cpu_physical_cores(),
                     .mpi = pod_comm_version(j->call->comm),
                     .status = status,
                     .failure = failure};
}

static pod_status write_own_records(job *j, const pod_run *run)
{
    const pod_ideal ideal = pod_run_ideal(run);
    const char *json = pod_config_text(j->call->config, POD_OPT_JSON);
    if (*j->out) {
        const char *run_json = file_in(j, "run.json"), *steps = file_in(j, "steps.csv"),
                   *goodput = file_in(j, "goodput.json"), *timeline = file_in(j, "timeline.json");
        if (!run_json || !steps || !goodput || !timeline) return POD_E_NOMEM;
        (void)remove(timeline); /* an older run's; this run's is written later, when asked for */
        POD_TRY(pod_run_write_json(run, run_json));
        POD_TRY(pod_run_write_steps(run, steps));
        POD_TRY(pod_goodput_write(goodput, "wall", j->machine.name, &j->log, &ideal));
    }
    if (*json) POD_TRY(pod_run_write_json(run, json));
    return POD_OK;
}

/* Records are written however training ended; the table is shown for a run that has steps. */
static pod_status record(job *j, pod_status trained, const char *failure)
{
    pod_comm *comm = j->call->comm;
    pod_job_finish(&j->log, pod_clock_stamp(&j->call->clock));
    const pod_run run = run_of(j, trained, failure);
    pod_status mine = pod_comm_rank(comm) == 0 ? write_own_records(j, &run) : POD_OK;
    POD_TRY(pod_comm_agree(comm, mine));
    if (pod_config_bool(j->call->config, POD_OPT_TRACE) && j->result.timeline)
        POD_TRY(write_trace(j));
    if (pod_comm_rank(comm) == 0 && j->result.n_steps > 0)
        mine = pod_run_print_table(&run, j->call->log->out,
                                   pod_config_text(j->call->config, POD_OPT_CSV));
    if (mine == POD_OK && pod_comm_rank(comm) == 0 && j->result.n_steps > 0 &&
        pod_config_bool(j->call->config, POD_OPT_PROFILE))
        mine = pod_run_print_profile(&run, j->call->log->out);
    return pod_comm_agree(comm, mine);
}

static bool keeps_events(const pod_config *c)
{
    return pod_config_bool(c, POD_OPT_TRACE) || pod_config_bool(c, POD_OPT_PROFILE);
}

/* A failure of training is reported rather than one of its records. */
static pod_status train(job *j)
{
    pod_call *call = j->call;
    pod_train_args args = {
        .setup = &j->setup,
        .network = &j->network,
        .target = &j->target,
        .comm = call->comm,
        .clock = call->clock,
        .log = call->log,
        .job = &j->log,
        .mllog = j->mllog,
        .resume = pod_config_text(call->config, POD_OPT_RESUME),
        .out = j->out,
        .kept_steps = keeps_events(call->config) ? KEPT_STEPS : 1,
    };
    log_start(j);
    pod_job_end(&j->log, POD_JOB_INIT, pod_clock_stamp(&call->clock));
    pod_status trained = pod_train(&args, &j->result);
    const char *failure = trained == POD_OK ? "" : pod_arena_text(j->arena, "%s", pod_error_text());
    if (!failure) failure = "";
    pod_status logged = POD_OK, recorded = POD_OK;
    if (j->result.began) {
        logged = pod_comm_agree(call->comm, pod_mllog_close(j->mllog));
        j->mllog = NULL;
        recorded = record(j, trained, failure);
    }
    if (trained != POD_OK) pod_error_set(failure);
    return trained != POD_OK ? trained : logged != POD_OK ? logged : recorded;
}

static void release(job *j)
{
    if (j->mllog) pod_mllog_abandon(j->mllog); /* nothing began: an earlier run's log stays */
    pod_timeline_destroy(j->result.timeline);
    pod_arena_destroy(j->result.arena);
    pod_arena_destroy(j->arena);
}

pod_status pod_cmd_train(pod_call *call, int *exit_code)
{
    job j = {.call = call, .log = pod_job_start(call->clock.stamp)};
    pod_job_begin(&j.log, POD_JOB_INIT, call->clock.stamp);
    pod_status status = pod_comm_agree(call->comm, pod_arena_create(NULL, &j.arena));
    if (status == POD_OK) status = set_up(&j);
    if (status == POD_OK) status = train(&j);
    bool missed = j.setup.target > 0 && !j.result.reached;
    if (j.result.began && (status != POD_OK || missed)) *exit_code = POD_EXIT_FAILED;
    release(&j);
    return status;
}
