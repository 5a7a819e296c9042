#include "runtime/goodput/job_log.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/goodput/job_file.h"

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

const char *pod_job_end_name(pod_job_end_kind k)
{
    static const char *const names[] = {"", "ok", "stopped", "failed"};
    POD_ASSERT(k >= POD_JOB_END_NONE && k <= POD_JOB_END_FAILED, "end %d", (int)k);
    return names[k];
}

bool pod_job_span_is_logged(pod_job_span s)
{
    return s != POD_JOB_LOST_STEP && s != POD_JOB_RECOVERY && s != POD_JOB_SHUTDOWN &&
           s != POD_JOB_OTHER;
}

pod_job_log pod_job_start(pod_stamp at)
{
    return (pod_job_log){.begun = at, .kept_until = at, .open = -1};
}

void pod_job_begin(pod_job_log *l, pod_job_span span, pod_stamp at)
{
    POD_ASSERT(l->open < 0 && l->ended == 0, "%s begins within span %d", pod_job_span_name(span),
               l->open);
    POD_ASSERT(pod_job_span_is_logged(span), "%s is worked out, not logged",
               pod_job_span_name(span));
    l->open = (int)span;
    l->open_since = at;
}

/* How long it took. */
static pod_stamp close_span(pod_job_log *l, pod_job_span span, pod_stamp at)
{
    POD_ASSERT(l->open == (int)span && at >= l->open_since,
               "%s ends %" PRId64 " ns after span %d began", pod_job_span_name(span),
               at - l->open_since, l->open);
    l->open = -1;
    return at - l->open_since;
}

void pod_job_end(pod_job_log *l, pod_job_span span, pod_stamp at)
{
    const pod_stamp took = close_span(l, span, at);
    l->by_span[span] += took;
    if (span == POD_JOB_STEP)
        l->unsaved += took;
    else if (l->writer)
        pod_job_put_span(l->writer, span, l->open_since, at);
    else if (l->n_early < POD_JOB_EARLY)
        l->early[l->n_early++] = (pod_job_mark){span, l->open_since, at};
}

void pod_job_attach(pod_job_log *l, pod_job_writer *w)
{
    l->writer = w;
    for (int i = 0; i < l->n_early; i++)
        pod_job_put_span(w, l->early[i].span, l->early[i].begin, l->early[i].end);
    l->n_early = 0;
}

static pod_stamp at_most(pod_stamp a, pod_stamp most) { return a < most ? a : most; }

void pod_job_end_step(pod_job_log *l, pod_job_step parts, pod_stamp at)
{
    const pod_stamp took = close_span(l, POD_JOB_STEP, at);
    pod_job_step s = {.step = parts.step, .begin = l->open_since, .end = at};
    s.input = at_most(parts.input, took);
    s.save = at_most(parts.save, took - s.input);
    s.reduce = at_most(parts.reduce, took);
    s.core_wait = at_most(parts.core_wait, took);
    const pod_stamp work = pod_job_step_work(&s);
    l->by_span[POD_JOB_INPUT_WAIT] += s.input;
    l->by_span[POD_JOB_SAVE] += s.save;
    l->by_span[POD_JOB_STEP] += work;
    l->unsaved += work;
    l->n_steps++;
    l->n_unsaved++;
    l->last = s;
    pod_job_put_step(l->writer, &s);
}

void pod_job_move(pod_job_log *l, pod_job_span from, pod_job_span to, pod_stamp ns)
{
    POD_ASSERT(ns >= 0, "%" PRId64 " ns from %s", ns, pod_job_span_name(from));
    ns = at_most(ns, l->by_span[from]);
    l->by_span[from] -= ns;
    l->by_span[to] += ns;
    if (from == POD_JOB_STEP) l->unsaved -= at_most(ns, l->unsaved);
}

void pod_job_from(pod_job_log *l, int64_t step, int64_t ideal, pod_stamp at)
{
    l->last.step = l->kept_step = step;
    pod_job_put_from(l->writer, step, ideal, at);
}

void pod_job_save_begin(pod_job_log *l)
{
    if (l->n_saves == POD_JOB_SAVES) { /* the oldest one failed, or a later one holds more */
        l->n_saves--;
        memmove(&l->saves[0], &l->saves[1], (size_t)l->n_saves * sizeof l->saves[0]);
    }
    l->saves[l->n_saves++] = (pod_job_save){
        .step = l->last.step, .n_steps = l->n_unsaved, .work = l->unsaved, .until = l->last.end};
}

void pod_job_keep(pod_job_log *l)
{
    l->unsaved = l->n_unsaved = 0;
    l->n_saves = 0;
    l->kept_step = l->last.step;
    if (l->last.end > l->kept_until) l->kept_until = l->last.end;
}

void pod_job_keep_step(pod_job_log *l, int64_t step, pod_stamp at)
{
    pod_job_put_kept(l->writer, step, at);
    if (step == l->last.step) {
        pod_job_keep(l);
        return;
    }
    int i = 0;
    while (i < l->n_saves && l->saves[i].step != step) i++;
    if (i == l->n_saves) return;
    const pod_job_save kept = l->saves[i];
    l->unsaved -= at_most(kept.work, l->unsaved);
    l->n_unsaved -= kept.n_steps;
    l->kept_step = step;
    if (kept.until > l->kept_until) l->kept_until = kept.until;
    /* Older ones that did not become whole are not waited for. */
    l->n_saves -= i + 1;
    for (int k = 0; k < l->n_saves; k++) {
        l->saves[k] = l->saves[k + i + 1];
        l->saves[k].work -= kept.work;
        l->saves[k].n_steps -= kept.n_steps;
    }
}

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
