#include "runtime/goodput/goodput.h"

#include <math.h>

#include "runtime/core/file.h"

double pod_ideal_step_s(const pod_ideal *t)
{
    const double flop_per_s = t->peak_flop_per_s * t->cores_at_work;
    return flop_per_s > 0 ? t->model_flops / flop_per_s : (double)NAN;
}

pod_goodput pod_goodput_of(const pod_account *a, const pod_ideal *t)
{
    pod_goodput g = {.scheduling = (double)NAN,
                     .runtime = pod_account_runtime_goodput(a),
                     .program = (double)NAN,
                     .ideal_step_s = pod_ideal_step_s(t),
                     .wall_s = pod_stamp_seconds(a->wall),
                     .productive_s = pod_stamp_seconds(a->by_span[POD_JOB_STEP] - a->unsaved)};
    if (t->median_step_s > 0) g.program = g.ideal_step_s / t->median_step_s;
    return g;
}

static void put_terms(pod_json *j, const pod_goodput *g, const pod_ideal *t)
{
    pod_json_double(j, "program_goodput", g->program);
    pod_json_double(j, "ideal_step_s", g->ideal_step_s);
    pod_json_double(j, "step_s", t->median_step_s > 0 ? t->median_step_s : (double)NAN);
    pod_json_double(j, "model_flops", t->model_flops);
    pod_json_double(j, "peak_flop_per_s",
                    t->peak_flop_per_s > 0 ? t->peak_flop_per_s : (double)NAN);
    pod_json_int(j, "cores_at_work", t->cores_at_work);
    pod_json_int(j, "ranks", t->ranks);
    pod_json_int(j, "physical_cores", t->physical_cores);
    pod_json_double(j, "runtime_goodput", g->runtime);
    pod_json_double(j, "goodput_time_s", g->productive_s);
    pod_json_double(j, "total_elapsed_time_s", g->wall_s);
    pod_json_double(j, "scheduling_goodput", g->scheduling);
    pod_json_text(j, "scheduling_note", "not measured: a single job does not know its capacity");
}

static void put_counts(pod_json *j, const pod_account *a)
{
    pod_json_bool(j, "running", a->runs);
    pod_json_int(j, "accounted_ranks", a->n_ranks);
    pod_json_int(j, "attempts", a->n_attempts);
    pod_json_int(j, "disruption_count", a->n_disruptions);
    pod_json_int(j, "max_productive_step", a->max_productive_step);
    pod_json_int(j, "n_steps", a->n_steps);
    pod_json_int(j, "n_lost_steps", a->n_lost_steps);
    pod_json_int(j, "n_unsaved_steps", a->n_unsaved_steps);
    pod_json_double(j, "unsaved_time_s", pod_stamp_seconds(a->unsaved));
    pod_json_int(j, "begun_ns", a->begin);
    pod_json_int(j, "accounted_until_ns", a->end);
}

void pod_goodput_put(pod_json *j, const char *clock, const char *machine, const pod_account *a,
                     const pod_ideal *t)
{
    const pod_goodput g = pod_goodput_of(a, t);
    pod_json_text(j, "schema", "minipod.goodput");
    pod_json_int(j, "version", 2);
    pod_json_text(j, "clock", clock);
    pod_json_text(j, "machine", machine);
    put_terms(j, &g, t);
    if (pod_account_awaits_save(a))
        pod_json_text(j, "runtime_note",
                      "nothing saved yet: a step counts once a checkpoint keeps it");
    put_counts(j, a);
    pod_json_int(j, "total_elapsed_time_ns", a->wall);
    pod_json_open_object(j, "categories_ns");
    for (int s = 0; s < POD_N_JOB_SPANS; s++)
        pod_json_int(j, pod_job_span_name((pod_job_span)s), a->by_span[s]);
    pod_json_close(j);
}

pod_status pod_goodput_write(const char *path, const char *clock, const char *machine,
                             const pod_account *a, const pod_ideal *t)
{
    pod_file *f;
    POD_TRY(pod_file_open(path, &f));
    pod_json j = pod_json_start(pod_file_stream(f), 2);
    pod_json_open_object(&j, NULL);
    pod_goodput_put(&j, clock, machine, a, t);
    pod_json_close(&j);
    POD_TRY(pod_file_close(f));
    return POD_OK;
}
