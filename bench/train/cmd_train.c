/* minipod train: a model, on data, on the mesh of ranks that mpirun started, to a target. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/as_trained.h"
#include "bench/common/target.h"
#include "bench/start.h"
#include "bench/train/run.h"
#include "bench/train/run_trace.h"
#include "runtime/core/file.h"

enum { PROFILED_STEPS = 8 };

typedef struct job { /* everything of one call */
    pod_call *call;
    pod_config *config;  /* the call's, filled from the checkpoint that it resumes from */
    const char *differs; /* what was given and is not as in that checkpoint; rank 0's */
    pod_arena *arena;
    pod_setup setup;
    pod_network network;
    pod_network_choice choice;
    pod_machine machine;
    pod_target target;
    pod_cores cores;
    pod_job_log log;
    pod_guard_plan guard;
    pod_account account;
    pod_mllog *mllog;
    const char *out;                 /* folder, or "" */
    bool has_made_checkpoint;        /* it was not there before; rank 0's */
    pod_clock_offset clock_at_start; /* for a trace */
    pod_train_result result;
} job;

static const char *file_in(job *j, const char *name)
{
    return pod_arena_text(j->arena, "%s/%s", j->out, name);
}

/* ---- before ---- */

/* Perhaps by this run's own others, which do not know of it. */
static pod_status fail_taken(const job *j, pod_status status)
{
    char text[128];
    const bool is_one = pod_comm_size(j->call->comm) == 1;
    if (is_one && pod_other_launcher(getenv, text, sizeof text))
        return pod_fail(status, "out: another run is writing in %s; %s", j->out, text);
    return pod_fail(status, "out: another run is writing in %s", j->out);
}

/* Who holds the log has the folder: until then nothing in it is touched. */
static pod_status open_own_outputs(job *j)
{
    const pod_comm *comm = j->call->comm;
    if (!*j->out || pod_comm_rank(comm) != 0)
        return pod_mllog_open(NULL, pod_comm_rank(comm), &j->call->clock, &j->mllog);
    const char *checkpoint = file_in(j, "checkpoint"), *path = file_in(j, "mllog.txt");
    if (!checkpoint || !path) return POD_E_NOMEM;
    POD_TRY(pod_dir_make(j->out));
    const pod_status status = pod_mllog_open(path, 0, &j->call->clock, &j->mllog);
    if (status != POD_OK && pod_file_is_taken(path)) return fail_taken(j, status);
    POD_TRY(status);
    j->has_made_checkpoint = access(checkpoint, F_OK) != 0;
    return pod_dir_make(checkpoint);
}

/* "": none. */
static const char *checkpoint_to_resume(const pod_config *c)
{
    const char *resume = pod_config_text(c, POD_OPT_RESUME), *out = pod_config_text(c, POD_OPT_OUT);
    if (strcmp(resume, "auto") != 0) return resume;
    return access(out, F_OK) == 0 ? out : "";
}

static pod_status read_settings(job *j)
{
    const pod_config *c = j->config;
    j->out = pod_config_text(c, POD_OPT_OUT);
    if (pod_config_bool(c, POD_OPT_TRACE) && !*j->out)
        return pod_fail(POD_E_INVALID, "trace: timeline.json goes into --out, which is not given");
    POD_TRY(pod_guard_plan_from(c, pod_comm_size(j->call->comm), &j->guard));
    POD_TRY(pod_setup_from(c, pod_comm_size(j->call->comm), pod_comm_node_size(j->call->comm),
                           j->arena, &j->setup));
    POD_TRY(pod_network_choose(&j->setup, &j->choice, &j->network));
    return pod_task_find_target(j->network.task, &j->setup);
}

static pod_status set_up(job *j)
{
    pod_comm *comm = j->call->comm;
    const char *from = checkpoint_to_resume(j->call->config);
    POD_TRY(pod_as_trained(j->call, POD_CMD_TRAIN, from, j->arena, &j->config));
    const bool is_root = pod_comm_rank(comm) == 0;
    j->differs = "";
    POD_TRY(pod_comm_agree(
        comm,
        is_root ? pod_as_trained_differs(j->call->config, from, j->arena, &j->differs) : POD_OK));
    const pod_status read = pod_comm_agree(comm, read_settings(j));
    const char *taken = pod_as_trained_print(j->config, j->arena);
    if (read != POD_OK && *taken)
        return pod_fail(read, "%s (taken from the checkpoint:%s)", pod_error_text(), taken);
    POD_TRY(read);
    POD_TRY(pod_target_machine(comm, j->config, &j->machine));
    POD_TRY(pod_comm_agree(comm, pod_target_from(j->config, &j->machine, &j->target)));
    j->cores = pod_comm_cores(comm);
    return pod_comm_agree(comm, open_own_outputs(j));
}

static void log_hparams(const job *j)
{
    const pod_config *c = j->config;
    pod_mllog_put(j->mllog, "seed", pod_mllog_int((int64_t)j->setup.seed));
    pod_mllog_put(j->mllog, "global_batch_size", pod_mllog_int(j->setup.batch));
    pod_mllog_put(j->mllog, "opt_name", pod_mllog_text(j->setup.optim->name));
    pod_mllog_put(j->mllog, "opt_base_learning_rate", pod_mllog_real(j->setup.lr.base));
    pod_mllog_put(j->mllog, "opt_weight_decay",
                  pod_mllog_real(pod_optim_number(c, POD_OPT_WEIGHT_DECAY)));
    pod_mllog_put(j->mllog, "opt_learning_rate_warmup_epochs",
                  pod_mllog_real(j->setup.warmup_epochs));
    pod_mllog_put(j->mllog, "minipod_mesh_ranks", pod_mllog_int(pod_comm_size(j->call->comm)));
}

static void log_start(job *j)
{
    pod_mllog_run run = {.benchmark = j->network.task->mlperf,
                         .org = "unverified",
                         .platform = j->machine.name,
                         .model = j->setup.model,
                         .data = j->setup.data};
    pod_mllog_submission(j->mllog, &run);
    pod_mllog_put(j->mllog, "init_start", pod_mllog_null());
    log_hparams(j);
    pod_mllog_put(j->mllog, "init_stop", pod_mllog_null());
}

/* What of the settings is the checkpoint's, and what is not. */
static void tell_settings(const job *j)
{
    const char *taken = pod_as_trained_print(j->config, j->arena);
    if (*taken)
        pod_log_say(j->call->log, POD_LOG_INFO, "settings taken from the checkpoint:%s", taken);
    if (*j->differs)
        pod_log_say(j->call->log, POD_LOG_WARNING, "differs from the checkpoint:%s", j->differs);
}

/* ---- after ---- */

static pod_status write_trace(job *j)
{
    const pod_run_trace trace = {.comm = j->call->comm,
                                 .clock = &j->call->clock,
                                 .timeline = j->result.timeline,
                                 .program = j->result.program,
                                 .n_dropped = j->result.n_dropped,
                                 .attempt = j->result.attempt};
    const char *path = file_in(j, "timeline.json");
    POD_TRY(pod_comm_agree(j->call->comm, path ? POD_OK : POD_E_NOMEM));
    return pod_run_trace_write(&trace, &j->clock_at_start, path);
}

static pod_run run_of(const job *j, pod_status status, const char *failure)
{
    return (pod_run){.config = j->config,
                     .setup = &j->setup,
                     .task = j->network.task,
                     .result = &j->result,
                     .machine = &j->machine,
                     .account = &j->account,
                     .ranks = pod_comm_size(j->call->comm),
                     .cores = j->cores,
                     .mpi = pod_comm_version(j->call->comm),
                     .status = status,
                     .failure = failure,
                     .date = time(NULL)};
}

/* From here on run.json is of this attempt. One that finds nothing left to train has not the
 * figures of the one that did it, whose record stays. */
static pod_status begins(void *to)
{
    job *j = to;
    const pod_train_result *r = &j->result;
    const bool is_done = r->reached || r->first_step >= r->schedule.n_steps;
    tell_settings(j);
    if (!*j->out || pod_comm_rank(j->call->comm) != 0 || is_done) return POD_OK;
    pod_run run = run_of(j, POD_OK, "");
    run.is_running = true;
    const char *path = file_in(j, "run.json");
    pod_record q = {0};
    pod_status status = path ? pod_run_record(&run, &q) : POD_E_NOMEM;
    if (status == POD_OK) status = pod_record_write_json(&q, path);
    pod_record_close(&q);
    return status;
}

/* The job's account has grown by this attempt; its training has not. */
static pod_status keep_own_records(job *j, const char *run_json)
{
    const char *json = pod_config_text(j->config, POD_OPT_JSON);
    pod_log_say(j->call->log, POD_LOG_INFO, "%s/run.json stays as the training left it", j->out);
    return *json ? pod_file_write_result(json, run_json, strlen(run_json)) : POD_OK;
}

static pod_status write_own_records(job *j, const pod_run *run, pod_record *q)
{
    pod_run_past past = {0};
    if (*j->out) {
        const char *run_json = file_in(j, "run.json"), *goodput = file_in(j, "goodput.json"),
                   *timeline = file_in(j, "timeline.json");
        if (!run_json || !goodput || !timeline) return POD_E_NOMEM;
        if (run->status == POD_OK) past = pod_run_find_past(j->arena, run_json, run, &j->result);
        const pod_ideal ideal = pod_run_ideal(run);
        /* Of an older run; this run's is written later, when asked for. */
        if (!past.text) (void)remove(timeline);
        POD_TRY(pod_run_record(run, q));
        if (!past.has_same_end) POD_TRY(pod_record_write_json(q, run_json));
        POD_TRY(pod_goodput_write(goodput, "wall", j->machine.name, &j->account, &ideal));
    }
    if (past.has_same_end) return keep_own_records(j, past.text);
    if (!q->table) POD_TRY(pod_run_record(run, q));
    return pod_record_write_json(q, pod_config_text(j->config, POD_OPT_JSON));
}

static pod_status show(const job *j, const pod_run *run, const pod_record *q)
{
    FILE *const to = j->call->log->out;
    POD_TRY(pod_table_print(q->table, to));
    POD_TRY(pod_record_write_csv(q, pod_config_text(j->config, POD_OPT_CSV)));
    return pod_config_bool(j->config, POD_OPT_PROFILE) ? pod_run_print_profile(run, to) : POD_OK;
}

/* Of the whole job where its log is, else of this rank. A log that cannot be read takes nothing from
 * what was trained. */
static void account_for(job *j)
{
    pod_job_finish(&j->log, pod_clock_stamp(&j->call->clock));
    j->account = pod_account_add(&(pod_account){0}, &j->log, 0);
    if (!*j->out || pod_comm_rank(j->call->comm) != 0) return;
    pod_job all;
    pod_status status = pod_job_read(j->arena, j->out, &all);
    if (status == POD_OK) status = pod_account_of(&all, 0, &j->account);
    if (status != POD_OK)
        pod_log_say(j->call->log, POD_LOG_WARNING,
                    "goodput is of rank 0 and this attempt alone: %s", pod_error_text());
}

/* Records are written however training ended; the table is shown for a run that has steps. */
static pod_status record(job *j, const pod_failure *trained)
{
    pod_comm *comm = j->call->comm;
    account_for(j);
    const pod_run run = run_of(j, trained->status, trained->text);
    const bool is_root = pod_comm_rank(comm) == 0, has_steps = j->result.n_steps > 0;
    pod_record q = {0};
    pod_status s = pod_comm_agree(comm, is_root ? write_own_records(j, &run, &q) : POD_OK);
    if (s == POD_OK && pod_config_bool(j->config, POD_OPT_TRACE) && j->result.timeline && has_steps)
        s = write_trace(j);
    if (s == POD_OK) s = pod_comm_agree(comm, is_root && has_steps ? show(j, &run, &q) : POD_OK);
    pod_record_close(&q);
    return s;
}

static int64_t kept_steps(const pod_config *c)
{
    if (pod_config_bool(c, POD_OPT_TRACE)) return pod_config_int(c, POD_OPT_TRACE_STEPS);
    return pod_config_bool(c, POD_OPT_PROFILE) ? PROFILED_STEPS : 1;
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
        .guard = &j->guard,
        .machine = j->machine.name,
        .kept_steps = kept_steps(j->config),
        .begins = begins,
        .to = j,
    };
    const pod_run so_far = run_of(j, POD_OK, "");
    args.ideal = pod_run_ideal(&so_far);
    if (pod_config_bool(j->config, POD_OPT_TRACE)) {
        POD_TRY(pod_comm_set_watchdog(call->comm, j->guard.watchdog_s));
        POD_TRY(pod_run_trace_clock(call->comm, &call->clock, &j->clock_at_start));
    }
    log_start(j);
    pod_job_end(&j->log, POD_JOB_INIT, pod_clock_stamp(&call->clock));
    pod_failure f = {0};
    pod_failure_note(&f, pod_train(&args, &j->result));
    if (j->result.began) {
        pod_failure records = {0};
        pod_failure_note(&records, record(j, &f));
        /* Who holds the log is running: until the record is written. */
        pod_failure_note(&f, pod_comm_agree(call->comm, pod_mllog_close(j->mllog)));
        j->mllog = NULL;
        if (f.status == POD_OK) f = records;
    }
    return pod_failure_report(&f);
}

/* Nothing began: an earlier run's log stays, and so does a folder of checkpoints that is not empty
 * or was there before, for another run may be about to use it. */
static void leave_nothing(job *j)
{
    const char *checkpoint = j->has_made_checkpoint ? file_in(j, "checkpoint") : NULL;
    if (checkpoint) (void)rmdir(checkpoint);
    if (j->mllog) pod_mllog_abandon(j->mllog);
}

static void release(job *j)
{
    if (!j->result.began) leave_nothing(j);
    pod_timeline_destroy(j->result.timeline);
    pod_arena_destroy(j->result.arena);
    pod_config_destroy(j->config);
    pod_arena_destroy(j->arena);
}

pod_status pod_cmd_train(pod_call *call, int *exit_code)
{
    job j = {.call = call, .log = pod_job_start(call->clock.stamp)};
    pod_job_begin(&j.log, POD_JOB_INIT, call->clock.stamp);
    pod_status status = pod_comm_agree(call->comm, pod_arena_create(NULL, &j.arena));
    if (status == POD_OK) status = set_up(&j);
    if (status == POD_OK) status = train(&j);
    bool missed = j.setup.target > 0 && !j.result.reached && !j.result.stopped;
    if (j.result.began && (status != POD_OK || missed)) *exit_code = POD_EXIT_FAILED;
    release(&j);
    return status;
}
