#include "bench/simulate/simulate.h"

#include <math.h>
#include <string.h>

enum { TRAINED = 1281167, EVALUATED = 50000, EPOCHS_BETWEEN = 4 };

static const struct {
    const char *model;
    double batch, epochs;
} points[] = {
#define POD_CONVERGES(model, batch, epochs) {model, batch, epochs},
#include "bench/simulate/convergence.def"
};
enum { N_POINTS = sizeof points / sizeof points[0] };

/* Points of a model stand together, by batch. */
static pod_status find_epochs(const char *model, double batch, double *out)
{
    int first = 0, end;
    while (first < N_POINTS && strcmp(points[first].model, model) != 0) first++;
    for (end = first; end < N_POINTS && strcmp(points[end].model, model) == 0;) end++;
    if (first == end)
        return pod_fail(POD_E_INVALID,
                        "to-target: it is not known how many epochs %s takes; of resnet50 it is",
                        model);
    if (batch < points[first].batch || batch > points[end - 1].batch)
        return pod_fail(POD_E_INVALID,
                        "to-target: how many epochs %s takes is known for batches from %.0f to "
                        "%.0f, found %.0f",
                        model, points[first].batch, points[end - 1].batch, batch);
    while (first + 2 < end && points[first + 1].batch < batch) first++;
    const double share =
        (batch - points[first].batch) / (points[first + 1].batch - points[first].batch);
    *out = points[first].epochs + share * (points[first + 1].epochs - points[first].epochs);
    return POD_OK;
}

pod_status pod_simulate_to_target(const pod_planned *p, const pod_simulated *s, pod_arena *arena,
                                  pod_time_to_target *out)
{
    double epochs = 0;
    const double batch = (double)p->setup.batch;
    POD_TRY(find_epochs(p->setup.model, batch, &epochs));
    pod_time_to_target t = {.evaluations = ceil(epochs / EPOCHS_BETWEEN)};
    t.epochs = EPOCHS_BETWEEN * t.evaluations;
    t.steps = t.evaluations * ceil(EPOCHS_BETWEEN * TRAINED / batch);
    POD_TRY(pod_simulate_evaluation(p, EVALUATED, arena, &t.evaluation_s));
    const double running_s = t.steps * s->steps.mean + t.evaluations * t.evaluation_s;
    t.start_up_s = p->start_up_s < 0 ? p->machine.start_up_s : p->start_up_s;
    t.is_start_up_known = p->start_up_s >= 0 || t.start_up_s > 0;
    t.from_start_s = t.start_up_s + running_s;
    t.seconds = running_s + fmax(0, t.start_up_s - POD_START_UP_LEFT_OUT_S);
    *out = t;
    return POD_OK;
}
