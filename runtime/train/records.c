/* The records of a run on rank 0: `:::MLLOG` lines of the job's log, rows of steps.csv. */
#include "runtime/train/trainer.h"

/* ---- steps and epochs ---- */

void pod__records_put_step(const pod__trainer *t)
{
    int64_t n;
    const pod_step_row *row = pod_timeline_rows(t->result->timeline, &n);
    const double correct = pod_exec_output(t->exec, POD_NET_CORRECT);
    pod_steps_put(t->steps, &row[n - 1], pod__train_lr_at(t, row[n - 1].step),
                  pod_exec_output(t->exec, POD_NET_LOSS), correct / (double)t->args->setup->batch);
}

/* Epochs count from 1 in the log; an evaluation within an epoch has a fraction. */
static pod_mllog_value epoch_number(const pod__trainer *t, int64_t n_done)
{
    const int64_t per_epoch = t->result->schedule.steps_per_epoch;
    const int64_t place = pod_schedule_place(&t->result->schedule, n_done);
    if (place % per_epoch == 0) return pod_mllog_int(place / per_epoch);
    return pod_mllog_real(pod_schedule_epochs(&t->result->schedule, n_done));
}

void pod__records_open_epoch(pod__trainer *t, int64_t step)
{
    if (t->epoch_is_open) return;
    t->epoch_is_open = true;
    const int64_t place = pod_schedule_place(&t->result->schedule, step);
    pod_mllog_put(t->args->mllog, "epoch_start", pod_mllog_null(),
                  {"epoch_num", pod_mllog_int(place / t->result->schedule.steps_per_epoch + 1)},
                  {"minipod_step", pod_mllog_int(step)});
}

void pod__records_close_epoch(pod__trainer *t, int64_t n_done)
{
    if (!t->epoch_is_open) return;
    t->epoch_is_open = false;
    const int64_t per_epoch = t->result->schedule.steps_per_epoch;
    const int64_t place = pod_schedule_place(&t->result->schedule, n_done);
    pod_mllog_put(t->args->mllog, "epoch_stop", pod_mllog_null(),
                  {"epoch_num", pod_mllog_int((place + per_epoch - 1) / per_epoch)},
                  {"minipod_step", pod_mllog_int(n_done)});
}

/* Told once: not again where a run that has nothing left to train is evaluated for its result. */
void pod__records_tell_eval(const pod__trainer *t, const char *key, pod_mllog_value value,
                            int64_t n_done)
{
    if (t->is_evaluated) return;
    pod_mllog_put(t->args->mllog, key, value, {"epoch_num", epoch_number(t, n_done)},
                  {"minipod_step", pod_mllog_int(n_done)});
}

/* ---- beginning, and going on with what an earlier attempt left ---- */

static pod_status open_steps(pod__trainer *t)
{
    const char *out = t->args->guard->out;
    if (!*out || pod_comm_rank(t->args->comm) != 0) return POD_OK;
    const char *path = pod_arena_text(t->result->arena, "%s/steps.csv", out);
    return path ? pod_steps_open(path, &t->steps) : POD_E_NOMEM;
}

static pod_status begin_steps(pod__trainer *t, bool goes_on)
{
    const pod_train_args *a = t->args;
    const pod_steps_plan plan = {.attempt = t->past.attempt,
                                 .goes_on = goes_on,
                                 .first_step = t->result->first_step,
                                 .machine = a->machine,
                                 .model = a->setup->model,
                                 .mesh = t->mesh,
                                 .ranks = pod_comm_size(a->comm),
                                 .run_began_s = t->run_began_s};
    return t->steps ? pod_steps_begin(t->steps, &plan) : POD_OK;
}

bool pod__records_are_told(const pod__trainer *t) { return t->is_evaluated && t->left.has_stop; }

/* The head of the log is of the job's first attempt and stays, since a reader wants one of each
 * key; this one may have another batch, and what hangs on it. */
static pod_status go_on_with_log(const pod__trainer *t)
{
    const pod_setup *s = t->args->setup;
    const int64_t first = t->result->first_step;
    pod_mllog *log = t->args->mllog;
    POD_TRY(pod_mllog_go_on(log, t->past.attempt, first, &t->left));
    pod_mllog_put(log, "minipod_attempt_settings", pod_mllog_null(),
                  {"minipod_step", pod_mllog_int(first)}, {"batch", pod_mllog_int(s->batch)},
                  {"mesh_ranks", pod_mllog_int(pod_comm_size(t->args->comm))},
                  {"seed", pod_mllog_int((int64_t)s->seed)},
                  {"base_learning_rate", pod_mllog_real(s->lr.base)},
                  {"warmup_epochs", pod_mllog_real(s->warmup_epochs)});
    return POD_OK;
}

/* The steps begin first, for it is the log that tells the next attempt whose both are. */
pod_status pod__records_begin(pod__trainer *t)
{
    pod_mllog *log = t->args->mllog;
    pod_mllog_left *left = &t->left;
    const int attempt = t->past.attempt;
    const int64_t first = t->result->first_step;
    POD_TRY(open_steps(t));
    if (attempt > 1) POD_TRY(pod_mllog_find(log, t->past.begun, first, left));
    if (left->has_run) /* one definition of a run's time: from the run_start of its log */
        t->run_began_s = 1e-3 * (double)left->run_start_ms - 1e-9 * (double)t->args->clock.stamp;
    POD_TRY(begin_steps(t, left->has_run));
    t->epoch_is_open = left->in_epoch;
    t->is_evaluated = left->has_run && left->has_eval && pod__train_is_done(t);
    if (pod__records_are_told(t)) return POD_OK;
    return left->has_run ? go_on_with_log(t) : pod_mllog_begin(log);
}

/* A log that tells all of it stays, but where another target makes another end. */
pod_status pod__records_end(pod__trainer *t, bool success)
{
    pod_mllog *log = t->args->mllog;
    if (pod__records_are_told(t)) {
        if (success == t->left.has_success) return pod_mllog_keep(log, &t->left);
        POD_TRY(go_on_with_log(t));
    }
    pod_mllog_put(log, "run_stop", pod_mllog_null(),
                  {"status", pod_mllog_text(success ? "success" : "aborted")});
    return POD_OK;
}
