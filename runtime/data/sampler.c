#include "runtime/data/sampler.h"

#include <inttypes.h>

#include "kernels/base/rng.h"

pod_status pod_sampler_check(const pod_sampler *s)
{
    if (s->size < 1 || s->rank < 0 || s->rank >= s->size)
        return pod_fail(POD_E_INVALID, "rank %d of %d ranks", s->rank, s->size);
    if (s->global_batch < 1 || s->global_batch % s->size != 0)
        return pod_fail(POD_E_INVALID, "batch %" PRId64 " is not divisible by %d ranks",
                        s->global_batch, s->size);
    if (!s->keep_tail && s->global_batch > s->n_samples)
        return pod_fail(POD_E_INVALID,
                        "batch %" PRId64 " exceeds the data set's %" PRId64 " samples",
                        s->global_batch, s->n_samples);
    return POD_OK;
}

int64_t pod_sampler_local_batch(const pod_sampler *s) { return s->global_batch / s->size; }

int64_t pod_sampler_steps_per_epoch(const pod_sampler *s)
{
    int64_t tail = s->n_samples % s->global_batch;
    return s->n_samples / s->global_batch + (s->keep_tail && tail > 0);
}

void pod_sampler_order(const pod_sampler *s, int64_t epoch, int64_t *order)
{
    pod_rng r =
        pod_rng_at(s->seed, (pod_place){.stream = POD_STREAM_SHUFFLE, .step = (uint32_t)epoch});
    for (int64_t i = 0; i < s->n_samples; i++) {
        int64_t j = s->shuffle ? (int64_t)pod_rng_below(&r, (uint64_t)i + 1) : i;
        if (j != i) order[i] = order[j];
        order[j] = i;
    }
}

int64_t pod_sampler_at(const pod_sampler *s, int64_t batch, int64_t row)
{
    int64_t local = pod_sampler_local_batch(s);
    int64_t at = batch * s->global_batch + s->rank * local + row;
    return at < s->n_samples ? at : POD_PADDING_ROW;
}
