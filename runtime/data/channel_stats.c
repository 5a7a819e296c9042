#include "runtime/data/channel_stats.h"

#include <math.h>

pod_status pod__channel_stats_init(pod_channel_stats *s, pod_arena *a, int64_t channels)
{
    uint64_t *sum = POD_ARENA_NEW(a, uint64_t, channels);
    uint64_t *sum_sq = POD_ARENA_NEW(a, uint64_t, channels);
    if (!sum || !sum_sq) return POD_E_NOMEM;
    *s = (pod_channel_stats){.channels = channels, .sum = sum, .sum_sq = sum_sq};
    return POD_OK;
}

void pod__channel_stats_add(pod_channel_stats *s, int64_t n_pixels, const uint8_t *pixels)
{
    for (int64_t i = 0; i < n_pixels; i++)
        for (int64_t c = 0; c < s->channels; c++) {
            uint64_t x = pixels[i * s->channels + c];
            s->sum[c] += x;
            s->sum_sq[c] += x * x;
        }
    s->n_pixels += n_pixels;
}

pod_status pod__channel_stats_finish(const pod_channel_stats *s, pod_arena *a, const double **mean,
                                     const double **std)
{
    double *m = POD_ARENA_NEW(a, double, s->channels), *d = POD_ARENA_NEW(a, double, s->channels);
    if (!m || !d) return POD_E_NOMEM;
    for (int64_t c = 0; c < s->channels; c++) {
        double mean_255 = (double)s->sum[c] / (double)s->n_pixels;
        double variance = (double)s->sum_sq[c] / (double)s->n_pixels - mean_255 * mean_255;
        m[c] = mean_255 / 255;
        d[c] = variance > 0 ? sqrt(variance) / 255 : 1;
    }
    *mean = m;
    *std = d;
    return POD_OK;
}
