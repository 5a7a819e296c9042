#include <math.h>
#include <string.h>

#include "bench/simulate/simulate.h"

enum { IMAGES = 1281167, TEST_IMAGES = 50000, EPOCHS_BETWEEN = 4, TEST_SEQUENCES = 10000 };

static const struct {
    const char *model;
    double batch, samples;
} points[] = {
#define POD_CONVERGES(model, batch, epochs) {model, batch, (epochs)*IMAGES},
#define POD_SAMPLES(model, batch, millions) {model, batch, (millions)*1e6},
#include "bench/simulate/convergence.def"
};
enum { N_POINTS = sizeof points / sizeof points[0] };

static bool is_text(const pod_planned *p) { return p->choice.language != NULL; }

int64_t pod_simulate_evaluated(const pod_planned *p)
{
    return is_text(p) ? TEST_SEQUENCES : TEST_IMAGES;
}

/* Samples from one evaluation to the next, by MLPerf's rules. */
static double samples_between(const pod_planned *p)
{
    const double step = 25000;
    if (!is_text(p)) return (double)EPOCHS_BETWEEN * IMAGES;
    return step * floor(0.05 * (230.23 * (double)p->setup.batch + 3e6) / step);
}

/* Points of a model stand together, by batch. */
static pod_status find_samples(const char *model, double batch, double *out)
{
    int first = 0, end;
    while (first < N_POINTS && strcmp(points[first].model, model) != 0) first++;
    for (end = first; end < N_POINTS && strcmp(points[end].model, model) == 0;) end++;
    if (first == end)
        return pod_fail(POD_E_INVALID,
                        "to-target: it is not known how many samples %s takes; of resnet50 and "
                        "bert-large it is",
                        model);
    if (batch < points[first].batch || batch > points[end - 1].batch)
        return pod_fail(POD_E_INVALID,
                        "to-target: how many samples %s takes is known for batches from %.0f to "
                        "%.0f, found %.0f",
                        model, points[first].batch, points[end - 1].batch, batch);
    while (first + 2 < end && points[first + 1].batch < batch) first++;
    const double share =
        (batch - points[first].batch) / (points[first + 1].batch - points[first].batch);
    *out = points[first].samples + share * (points[first + 1].samples - points[first].samples);
    return POD_OK;
}

pod_status pod_simulate_to_target(const pod_planned *p, const pod_simulated *s, pod_arena *arena,
                                  pod_time_to_target *out)
{
    double samples = 0;
    const double batch = (double)p->setup.batch, between = samples_between(p);
    POD_TRY(find_samples(p->setup.model, batch, &samples));
    pod_time_to_target t = {.evaluations = ceil(samples / between)};
    t.samples = between * t.evaluations;
    t.epochs = is_text(p) ? (double)NAN : t.samples / IMAGES;
    t.steps = t.evaluations * ceil(between / batch);
    POD_TRY(pod_simulate_evaluation(p, pod_simulate_evaluated(p), arena, &t.evaluation_s));
    const double running_s = t.steps * s->steps.mean + t.evaluations * t.evaluation_s;
    t.start_up_s = p->start_up_s < 0 ? p->machine.start_up_s : p->start_up_s;
    t.is_start_up_known = p->start_up_s >= 0 || t.start_up_s > 0;
    t.from_start_s = t.start_up_s + running_s;
    t.seconds = running_s + fmax(0, t.start_up_s - POD_START_UP_LEFT_OUT_S);
    *out = t;
    return POD_OK;
}
