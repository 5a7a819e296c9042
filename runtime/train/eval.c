#include "runtime/train/eval.h"

#include <stdio.h>

#include "runtime/task/network.h"

pod_feed pod_feed_of(pod_exec *e, const pod_program *p, pod_loader *l, const pod_form *form)
{
    pod_feed f = {.exec = e, .loader = l, .n_fields = form->n_fields};
    for (int i = 0; i < form->n_fields; i++)
        f.input[i] = pod_program_find_input(p, form->field[i].name);
    return f;
}

void pod_feed_next(const pod_feed *f, pod_comm *comm, pod_batch *batch)
{
    if (pod_loader_next(f->loader, batch) != POD_OK) {
        fprintf(stderr, "minipod: rank %d: %s\n", pod_comm_rank(comm), pod_error_text());
        pod_comm_abort(comm, 1);
    }
    for (int i = 0; i < f->n_fields; i++)
        if (f->input[i] >= 0) pod_exec_feed(f->exec, f->input[i], batch->field[i]);
}

void pod_feed_follow(const pod_loader *l, pod_timeline *tl)
{
    for (int i = 0; i < pod_loader_n_tracks(l); i++)
        pod_timeline_follow(tl, POD_LANE_DATA, pod_loader_track(l, i));
}

pod_status pod_evaluate(const pod_task *task, const pod_feed *feed, int64_t n_samples,
                        pod_comm *comm, int64_t step, pod_predictions *to, pod_eval_result *out)
{
    double sum[POD_MAX_SUMS] = {0};
    const int64_t n_batches = pod_loader_steps_per_epoch(feed->loader);
    for (int64_t i = 0; i < n_batches; i++) {
        pod_batch batch;
        pod_feed_next(feed, comm, &batch);
        pod_status status = pod_exec_step(feed->exec, NULL);
        if (status == POD_E_NUMERIC) {
            status = pod_exec_find_fault(feed->exec, step);
            return pod_fail(status, "evaluation after %s", pod_error_text());
        }
        POD_TRY(status);
        for (int k = 0; k < task->n_sums; k++) sum[k] += pod_exec_output(feed->exec, k);
        if (to) pod_predictions_add(to, &batch, pod_exec_rows(feed->exec, task->n_sums));
    }
    *out = (pod_eval_result){.n_samples = n_samples};
    out->loss = task->measure(sum, n_samples, out->metric);
    return POD_OK;
}
