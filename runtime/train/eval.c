#include "runtime/train/eval.h"

#include <stdio.h>

#include "runtime/train/network.h"

void pod_feed_next(pod_exec *e, pod_loader *l, pod_comm *comm, pod_batch *batch)
{
    if (pod_loader_next(l, batch) != POD_OK) {
        fprintf(stderr, "minipod: rank %d: %s\n", pod_comm_rank(comm), pod_error_text());
        pod_comm_abort(comm, 1);
    }
    pod_exec_feed(e, POD_NET_IMAGES, batch->images);
    pod_exec_feed(e, POD_NET_LABELS, batch->labels);
}

void pod_feed_follow(const pod_loader *l, pod_timeline *tl)
{
    for (int i = 0; i < pod_loader_n_tracks(l); i++)
        pod_timeline_follow(tl, POD_LANE_DATA, pod_loader_track(l, i));
}

pod_status pod_evaluate(pod_exec *e, pod_loader *l, int64_t n_samples, pod_comm *comm, int64_t step,
                        pod_predictions *to, pod_eval_result *out)
{
    double loss = 0, correct = 0;
    const int64_t n_batches = pod_loader_steps_per_epoch(l);
    for (int64_t i = 0; i < n_batches; i++) {
        pod_batch batch;
        pod_feed_next(e, l, comm, &batch);
        pod_status status = pod_exec_step(e, NULL);
        if (status == POD_E_NUMERIC) {
            status = pod_exec_find_fault(e, step);
            return pod_fail(status, "evaluation after %s", pod_error_text());
        }
        POD_TRY(status);
        loss += pod_exec_output(e, POD_NET_LOSS);
        correct += pod_exec_output(e, POD_NET_CORRECT);
        if (to) pod_predictions_add(to, &batch, pod_exec_rows(e, POD_NET_LOGITS));
    }
    *out = (pod_eval_result){.loss = loss / (double)n_samples,
                             .accuracy = correct / (double)n_samples,
                             .n_samples = n_samples};
    return POD_OK;
}
