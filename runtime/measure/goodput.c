#include "runtime/measure/goodput.h"

#include <inttypes.h>
#include <math.h>

#include "kernels/base/assert.h"
#include "runtime/core/file.h"
#include "runtime/core/json.h"

static const char *const span_names[POD_N_JOB_SPANS] = {
#define POD_X(name, text) text,
    POD_JOB_SPAN_MAP(POD_X)
#undef POD_X
};

const char *pod_job_span_name(pod_job_span s)
{
    POD_ASSERT(s >= 0 && s < POD_N_JOB_SPANS, "span %d of %d", (int)s, (int)POD_N_JOB_SPANS);
    return span_names[s];
}

const char *pod_job_span_text(pod_job_span s)
{
    return s == POD_JOB_INIT ? "ACCELERATOR_INITIALIZATION" : pod_job_span_name(s);
}

pod_job_log pod_job_start(pod_stamp at) { return (pod_job_log){.begun = at, .open = -1}; }

void pod_job_begin(pod_job_log *l, pod_job_span span, pod_stamp at)
{
    POD_ASSERT(l->open < 0 && l->ended == 0, "%s begins within span %d", pod_job_span_name(span),
               l->open);
    POD_ASSERT(span != POD_JOB_OTHER && span != POD_JOB_LOST_STEP, "%s is worked out, not logged",
               pod_job_span_name(span));
    l->open = (int)span;
    l->open_since = at;
}

void pod_job_end(pod_job_log *l, pod_job_span span, pod_stamp at)
{
    POD_ASSERT(l->open == (int)span && at >= l->open_since,
               "%s ends %" PRId64 " ns after span %d began", pod_job_span_name(span),
               at - l->open_since, l->open);
    const pod_stamp took = at - l->open_since;
    l->by_span[span] += took;
    l->open = -1;
    if (span != POD_JOB_STEP) return;
    l->unsaved += took;
    l->n_steps++;
}

void pod_job_move(pod_job_log *l, pod_job_span from, pod_job_span to, pod_stamp ns)
{
    POD_ASSERT(ns >= 0, "%" PRId64 " ns from %s", ns, pod_job_span_name(from));
    if (ns > l->by_span[from]) ns = l->by_span[from];
    l->by_span[from] -= ns;
    l->by_span[to] += ns;
    if (from == POD_JOB_STEP) l->unsaved -= ns < l->unsaved ? ns : l->unsaved;
}

void pod_job_keep(pod_job_log *l) { l->unsaved = 0; }

void pod_job_finish(pod_job_log *l, pod_stamp at)
{
    POD_ASSERT(l->open < 0 && at >= l->begun, "the job ends within span %d", l->open);
    pod_job_move(l, POD_JOB_STEP, POD_JOB_LOST_STEP, l->unsaved);
    pod_stamp rest = at - l->begun;
    for (int s = 0; s < POD_JOB_OTHER; s++) rest -= l->by_span[s];
    POD_ASSERT(rest >= 0, "spans take %" PRId64 " ns more than the job", -rest);
    l->by_span[POD_JOB_OTHER] = rest;
    l->ended = at;
}

static int cores_at_work(const pod_ideal *t)
{
    return t->ranks < t->physical_cores ? t->ranks : t->physical_cores;
}

double pod_ideal_step_s(const pod_ideal *t)
{
    const double flop_per_s = t->peak_flop_per_s * cores_at_work(t);
    return flop_per_s > 0 ? t->model_flops / flop_per_s : (double)NAN;
}

pod_goodput pod_goodput_of(const pod_job_log *l, const pod_ideal *t)
{
    POD_ASSERT(l->ended != 0, "the job log is not finished, span %d", l->open);
    pod_goodput g = {.scheduling = (double)NAN, .runtime = (double)NAN, .program = (double)NAN};
    g.wall_s = pod_stamp_seconds(l->ended - l->begun);
    g.productive_s = pod_stamp_seconds(l->by_span[POD_JOB_STEP]);
    if (g.wall_s > 0) g.runtime = g.productive_s / g.wall_s;
    g.ideal_step_s = pod_ideal_step_s(t);
    if (t->median_step_s > 0) g.program = g.ideal_step_s / t->median_step_s;
    return g;
}

static void write_terms(pod_json *j, const pod_goodput *g, const pod_ideal *t)
{
    pod_json_double(j, "program_goodput", g->program);
    pod_json_double(j, "ideal_step_s", g->ideal_step_s);
    pod_json_double(j, "step_s", t->median_step_s);
    pod_json_double(j, "model_flops", t->model_flops);
    pod_json_double(j, "peak_flop_per_s",
                    t->peak_flop_per_s > 0 ? t->peak_flop_per_s : (double)NAN);
    pod_json_int(j, "cores_at_work", cores_at_work(t));
    pod_json_int(j, "ranks", t->ranks);
    pod_json_int(j, "physical_cores", t->physical_cores);
    pod_json_double(j, "runtime_goodput", g->runtime);
    pod_json_double(j, "goodput_time_s", g->productive_s);
    pod_json_double(j, "total_elapsed_time_s", g->wall_s);
    pod_json_double(j, "scheduling_goodput", g->scheduling);
    pod_json_text(j, "scheduling_note", "not measured: a single job does not know its capacity");
}

pod_status pod_goodput_write(const char *path, const char *clock, const char *machine,
                             const pod_job_log *l, const pod_ideal *t)
{
    const pod_goodput g = pod_goodput_of(l, t);
    pod_file *f;
    POD_TRY(pod_file_open(path, &f));
    pod_json j = pod_json_start(pod_file_stream(f), 2);
    pod_json_open_object(&j, NULL);
    pod_json_text(&j, "schema", "minipod.goodput");
    pod_json_int(&j, "version", 1);
    pod_json_text(&j, "clock", clock);
    pod_json_text(&j, "machine", machine);
    write_terms(&j, &g, t);
    pod_json_int(&j, "n_steps", l->n_steps);
    pod_json_int(&j, "begun_ns", l->begun);
    pod_json_int(&j, "total_elapsed_time_ns", l->ended - l->begun);
    pod_json_open_object(&j, "categories_ns");
    for (int s = 0; s < POD_N_JOB_SPANS; s++) pod_json_int(&j, span_names[s], l->by_span[s]);
    pod_json_close(&j);
    pod_json_close(&j);
    POD_TRY(pod_file_close(f));
    return POD_OK;
}
