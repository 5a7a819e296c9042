/* The records of a run on rank 0: `:::MLLOG` lines of the job's log; and steps.csv, a row a step, each
 * written as the step ends, so that a run that is killed leaves those that it did. The rows of a job
 * follow one another over its attempts: one that goes on from a checkpoint cuts off those behind it
 * first. So each kept step stands there once. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/file.h"
#include "runtime/train/trainer.h"

/* ---- steps and epochs ---- */

static void put_finite(FILE *to, double value)
{
    fputc(',', to);
    if (isfinite(value)) fprintf(to, "%.9g", value);
}

/* A row is flushed by one write, as a kill leaves it. Takes no memory. */
void pod__records_put_step(pod__trainer *t)
{
    int64_t n;
    const pod_step_row *row = pod_timeline_rows(t->result->timeline, &n);
    row += n - 1;
    double metric[POD_MAX_METRICS];
    if (!t->steps || t->steps_failure) return;
    FILE *to = pod_file_stream(t->steps);
    fprintf(to, "%" PRId64 ",%.9f,%.9f", row->step + 1,
            pod_time_seconds(row->begin) - t->run_began_s, pod_time_seconds(row->end - row->begin));
    for (int p = 0; p < POD_N_PHASES; p++) fprintf(to, ",%.9f", pod_time_seconds(row->phase[p]));
    fprintf(to, ",%.9f,%.9f", pod_time_seconds(row->other), pod_time_seconds(row->comm));
    put_finite(to, pod__train_lr_at(t, row->step));
    put_finite(to, pod_exec_output(t->exec, POD_NET_LOSS));
    pod__train_measure_step(t, metric);
    const pod_task *task = t->args->network->task;
    for (int i = task->is_searched; i < task->n_metrics; i++) put_finite(to, metric[i]);
    fputc('\n', to);
    if (fflush(to) != 0) t->steps_failure = errno;
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
    char path[POD_PATH_BYTES];
    if (!*t->args->guard->out || pod_comm_rank(t->args->comm) != 0) return POD_OK;
    POD_TRY(pod_path_join(t->args->guard->out, "steps.csv", path));
    return pod_file_hold(path, &t->steps);
}

/* A whole line of steps.csv: a remark, the names of the columns, or a row of a step up to this. */
static bool stays(const char *line, int64_t step)
{
    char *end;
    if (!strchr(line, '\n')) return false;
    const long long number = strtoll(line, &end, 10);
    return end == line || number <= step;
}

static int64_t bytes_to_keep(FILE *from, int64_t step)
{
    char *line = NULL;
    size_t room = 0;
    int64_t bytes = 0;
    ssize_t n;
    while ((n = getline(&line, &room, from)) > 0 && stays(line, step)) bytes += n;
    free(line);
    return bytes;
}

static void print_head(FILE *to, const pod_train_args *a)
{
    fprintf(to, "# clock wall, machine %s, model %s, rank 0\n", a->machine, a->setup->model);
    fprintf(
        to,
        "# steps count from 1; begin_s counts from run_start of mllog.txt; reduce_s is what was "
        "not hidden; allreduce_s is the time in flight; loss and metrics are those of the training "
        "batch, empty where not finite\n");
    fprintf(to, "step,begin_s,total_s");
    for (int i = 0; i < POD_N_PHASES; i++) fprintf(to, ",%s_s", pod_phase_name((pod_phase)i));
    fprintf(to, ",other_s,allreduce_s,lr,loss");
    const pod_task *task = a->network->task;
    for (int i = task->is_searched; i < task->n_metrics; i++)
        fprintf(to, ",%s", task->metric[i].name);
    fputc('\n', to);
}

static pod_status fail_to_write(const pod__trainer *t, int reason)
{
    return pod_fail(POD_E_WRITE, "%s/steps.csv: cannot write: %s", t->args->guard->out,
                    strerror(reason));
}

/* goes_on: with the rows of earlier attempts, but for those of steps that were left behind. */
static pod_status begin_steps(pod__trainer *t, bool goes_on)
{
    const int64_t first = t->result->first_step;
    if (!t->steps) return POD_OK;
    FILE *to = pod_file_stream(t->steps);
    const int64_t bytes = goes_on ? bytes_to_keep(to, first) : 0;
    POD_TRY(pod_file_cut(t->steps, bytes));
    t->steps_begun = true;
    if (bytes == 0) print_head(to, t->args);
    fprintf(to, "# attempt %d goes on behind step %" PRId64 ": mesh %s, %d ranks\n",
            t->past.attempt, first, t->mesh, pod_comm_size(t->args->comm));
    return fflush(to) == 0 ? POD_OK : fail_to_write(t, errno);
}

pod_status pod__records_close_steps(pod__trainer *t)
{
    pod_file *const f = t->steps;
    t->steps = NULL;
    if (!f) return POD_OK;
    if (!t->steps_begun) {
        pod_file_abandon(f);
        return POD_OK;
    }
    const pod_status closed = pod_file_close(f);
    if (t->steps_failure == 0) return closed;
    return fail_to_write(t, t->steps_failure);
}

bool pod__records_are_told(const pod__trainer *t) { return t->is_evaluated && t->left.has_stop; }

/* The head of the log is of the job's first attempt and stays, since a reader wants one of each
 * key; this one may have another batch, and what hangs on it. */
static pod_status go_on_with_log(const pod__trainer *t)
{
    const pod_setup *s = t->args->setup;
    const int64_t first = t->result->first_step;
    pod_mllog *log = t->args->mllog;
    POD_TRY(pod_mllog_begin(log, &t->left, t->past.attempt, first));
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
    return left->has_run ? go_on_with_log(t) : pod_mllog_begin(log, left, attempt, first);
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
