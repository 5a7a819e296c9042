#include "runtime/train/guard.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "collectives/exec/watch/stop.h"
#include "runtime/core/file.h"
#include "runtime/train/trainer.h"

enum { HOST_BYTES = 256, NEVER = -1 };

static const pod_guard_plan *plan_of(const pod__trainer *t) { return t->args->guard; }
static bool is_root(const pod__trainer *t) { return pod_comm_rank(t->args->comm) == 0; }
static pod_stamp stamp(const pod__trainer *t) { return pod_clock_stamp(&t->args->clock); }

/* ---- the plan ------------------------------------------------------------------------------- */

pod_status pod_guard_plan_from(const pod_config *c, int n_ranks, pod_guard_plan *out)
{
    pod_guard_plan p = {
        .out = pod_config_text(c, POD_OPT_OUT),
        .resume = pod_config_text(c, POD_OPT_RESUME),
        .attempt = (int)pod_config_int(c, POD_OPT_ATTEMPT),
        .save_every = pod_config_int(c, POD_OPT_CHECKPOINT_EVERY),
        .saver = {.keep_last = pod_config_int(c, POD_OPT_KEEP),
                  .keep_every = pod_config_int(c, POD_OPT_KEEP_EVERY),
                  .keep_best = pod_config_bool(c, POD_OPT_KEEP_BEST),
                  .is_async = strcmp(pod_config_text(c, POD_OPT_CHECKPOINT), "async") == 0},
        .watchdog_s = pod_config_double(c, POD_OPT_WATCHDOG),
    };
    POD_TRY(pod_faults_parse(pod_config_text(c, POD_OPT_FAULT), p.fault, &p.n_faults));
    POD_TRY(pod_inject_check(p.fault, p.n_faults, n_ranks));
    if (!*p.out && p.save_every > 0)
        return pod_fail(POD_E_INVALID,
                        "checkpoint-every: checkpoints go into --out, which is not given");
    if (!*p.out && strcmp(p.resume, "auto") == 0)
        return pod_fail(POD_E_INVALID, "resume: auto looks into --out, which is not given");
    *out = p;
    return POD_OK;
}

/* ---- opening -------------------------------------------------------------------------------- */

static pod_status open_log(pod__trainer *t)
{
    char host[HOST_BYTES] = "";
    if (!*plan_of(t)->out) return POD_OK;
    (void)gethostname(host, sizeof host - 1);
    const char *host_text = pod_arena_text(t->result->arena, "%s", host);
    if (!host_text) return POD_E_NOMEM;
    const pod_job_head head = {.attempt = t->past.attempt,
                               .rank = pod_comm_rank(t->args->comm),
                               .ranks = pod_comm_size(t->args->comm),
                               .mesh = t->mesh,
                               .model = t->args->setup->model,
                               .data = t->args->setup->data,
                               .host = host_text,
                               .pid = getpid(),
                               .begin = t->args->job->begun};
    POD_TRY(pod_job_writer_open(plan_of(t)->out, &head, &t->writer));
    pod_job_attach(t->args->job, t->writer);
    return POD_OK;
}

pod_status pod__guard_open(pod__trainer *t)
{
    t->saved_step = NEVER;
    POD_TRY(pod__folder_look_back(t));
    POD_TRY(pod_comm_set_watchdog(t->args->comm, plan_of(t)->watchdog_s));
    pod_stop_install();
    return POD_OK;
}

void pod__guard_close(pod__trainer *t)
{
    t->args->job->writer = NULL;
    pod_saver_close(t->saver);
    pod_vote_close(t->vote);
}

/* ---- before the first step ------------------------------------------------------------------ */

/* Said before it happens: who dies says nothing afterwards. Of files it comes from the saver's
 * thread, which has its own track for the timeline. */
static void note_file_fault(void *trainer, int fault)
{
    pod__trainer *t = trainer;
    t->struck[fault] = true;
    pod_job_put_fault(t->writer, fault, stamp(t));
}

static void note_fault(void *trainer, int fault)
{
    const pod__trainer *t = trainer;
    const pod_time at = pod_clock_now(&t->args->clock);
    note_file_fault(trainer, fault);
    pod_timeline_mark(t->result->timeline, POD_LANE_STEPS, POD_DEED_FAULT, fault, at, at);
}

static pod_injection injection(pod__trainer *t, void (*note)(void *trainer, int fault))
{
    return (pod_injection){.fault = plan_of(t)->fault,
                           .n_faults = plan_of(t)->n_faults,
                           .spent = t->past.spent,
                           .note = note,
                           .to = t};
}

/* A disk may be as slow as ranks may be late; who waits for ever for those does so for it. */
static double patience_of(const pod_guard_plan *p)
{
    const double least_s = 60, for_ever_s = 1e9;
    if (p->watchdog_s == 0) return for_ever_s;
    return p->watchdog_s > least_s ? p->watchdog_s : least_s;
}

static pod_status open_saver(pod__trainer *t, const pod_checkpoint_info *info)
{
    const pod_guard_plan *p = plan_of(t);
    if (!*p->out) return POD_OK;
    pod_saver_plan plan = p->saver;
    plan.dir = pod_arena_text(t->result->arena, "%s/checkpoint", p->out);
    plan.patience_s = patience_of(p);
    plan.left_from = pod__folder_is_resumed(t) ? t->result->first_step + 1 : 0;
    plan.faults = injection(t, note_file_fault);
    plan.evals = &t->result->evals;
    plan.clock = &t->args->clock;
    POD_TRY(pod_comm_agree(t->args->comm, plan.dir ? POD_OK : POD_E_NOMEM));
    POD_TRY(pod_saver_open(&plan, info, t->store, t->args->comm, &t->saver));
    pod_saver_follow(t->saver, t->result->timeline);
    return POD_OK;
}

/* goodput.json is rank 0's. */
static pod_status open_live(pod__trainer *t)
{
    char path[POD_PATH_BYTES];
    const char *out = plan_of(t)->out;
    if (!*out || !is_root(t)) return POD_OK;
    POD_TRY(pod_path_join(out, "goodput.json", path));
    const pod_goodput_live_plan plan = {.path = pod_arena_text(t->result->arena, "%s", path),
                                        .clock = "wall",
                                        .machine = t->args->machine,
                                        .dir = out,
                                        .attempt = t->past.attempt,
                                        .ideal = t->ideal};
    if (!plan.path) return POD_E_NOMEM;
    return pod_goodput_live_open(&plan, t->args->job, &t->live);
}

static int64_t ideal_ps(const pod__trainer *t)
{
    const double ps = 1e12 * pod_ideal_step_s(&t->ideal), most = 1e18;
    return ps >= 1 && ps < most ? llround(ps) : 0;
}

pod_status pod__guard_arm(pod__trainer *t, const pod_checkpoint_info *info)
{
    pod_comm *comm = t->args->comm;
    const pod_time now = pod__train_now(t);
    POD_TRY(pod__folder_begin(t));
    POD_TRY(pod_comm_agree(comm, open_log(t)));
    pod_timeline_mark(t->result->timeline, POD_LANE_STEPS, POD_DEED_ATTEMPT, t->past.attempt, now,
                      now);
    pod_job_from(t->args->job, t->result->first_step, ideal_ps(t), stamp(t));
    POD_TRY(open_saver(t, info));
    t->faults = injection(t, note_fault);
    POD_TRY(pod_comm_agree(comm, open_live(t)));
    return pod_vote_open(comm, &t->vote);
}

/* ---- round each step ------------------------------------------------------------------------ */

static void save(pod__trainer *t, int64_t step)
{
    pod_job_begin(t->args->job, POD_JOB_SAVE, stamp(t));
    pod_saver_begin(t->saver, step);
    pod_job_save_begin(t->args->job);
    pod_job_end(t->args->job, POD_JOB_SAVE, stamp(t));
    t->saved_step = step;
}

/* What the saver's thread has come to since the last look. */
static void note_whole(pod__trainer *t)
{
    pod_saver_whole whole;
    while (pod_saver_next_whole(t->saver, &whole))
        pod_job_keep_step(t->args->job, whole.step, whole.at);
}

static void tell_failure(pod__trainer *t)
{
    const char *failure = pod_saver_failure(t->saver);
    if (failure) pod_log_say(t->args->log, POD_LOG_WARNING, "%s", failure);
}

void pod__guard_before_step(pod__trainer *t, int64_t step)
{
    pod_comm_set_step(t->args->comm, step);
    pod_inject(&t->faults, pod_comm_rank(t->args->comm), step, t->store, t->exec, t->is_slowed);
}

bool pod__guard_after_step(pod__trainer *t, int64_t step)
{
    const int64_t every = plan_of(t)->save_every;
    const bool is_due = every > 0 && step % every == 0;
    const bool is_best =
        plan_of(t)->saver.keep_best && pod_eval_rows_end_best(&t->result->evals, step);
    if (t->saver && (is_due || is_best)) save(t, step);
    if (t->saver) {
        note_whole(t);
        tell_failure(t);
    }
    pod_goodput_live_at(t->live, t->args->job, stamp(t));
    return pod_vote_turn(t->vote, pod_stop_asked()) != 0;
}

/* ---- after the last step -------------------------------------------------------------------- */

pod_status pod__guard_finish(pod__trainer *t, int64_t step, bool went_well)
{
    if (!t->saver) return POD_OK;
    if (went_well && t->saved_step != step) save(t, step);
    /* Of a run that failed the time is no save's where none is under way. */
    const bool is_save = went_well || pod_saver_is_busy(t->saver);
    if (is_save) pod_job_begin(t->args->job, POD_JOB_SAVE, stamp(t));
    const pod_status saved = pod_saver_finish(t->saver);
    if (is_save) pod_job_end(t->args->job, POD_JOB_SAVE, stamp(t));
    note_whole(t);
    /* What the run ends with is told once, as that. */
    if (went_well && saved != POD_OK) return saved;
    tell_failure(t);
    return POD_OK;
}

/* Of a job that is done: what was asked for and never came due, in one line. Collective. */
static void tell_not_struck(const pod__trainer *t)
{
    const pod_guard_plan *p = plan_of(t);
    double struck[POD_MAX_FAULTS] = {0};
    char text[POD_FAULT_TEXT_BYTES];
    const char *all = "";
    for (int i = 0; i < p->n_faults; i++) struck[i] = t->struck[i] || t->past.spent[i];
    if (p->n_faults > 0) pod_comm_max(t->args->comm, struck, p->n_faults);
    for (int i = 0; i < p->n_faults && all; i++)
        if (struck[i] == 0)
            all = pod_arena_text(t->result->arena, "%s%s%s", all, *all ? ";" : "",
                                 pod_fault_print(&p->fault[i], text));
    if (all && *all)
        pod_log_say(t->args->log, POD_LOG_WARNING,
                    "fault: the job is done and was not struck by %s", all);
}

void pod__guard_end(pod__trainer *t, pod_job_end_kind kind, const char *text)
{
    if (kind == POD_JOB_END_OK) tell_not_struck(t);
    pod_job_put_end(t->writer, kind, text, stamp(t));
    t->args->job->writer = NULL;
    pod_status logged = pod_job_writer_close(t->writer);
    const pod_status lived = pod_goodput_live_close(t->live);
    t->writer = NULL;
    t->live = NULL;
    if (logged == POD_OK) logged = lived;
    if (pod_comm_agree(t->args->comm, logged) != POD_OK)
        pod_log_say(t->args->log, POD_LOG_WARNING, "the job's log is not whole: %s",
                    pod_error_text());
}
