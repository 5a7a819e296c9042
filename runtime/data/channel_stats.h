/* Mean and standard deviation of each channel, from exact sums of 8-bit pixels. For this folder
 * only. */
#ifndef MINIPOD_RUNTIME_DATA_CHANNEL_STATS_H
#define MINIPOD_RUNTIME_DATA_CHANNEL_STATS_H

#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"

typedef struct pod_channel_stats {
    int64_t channels, n_pixels;
    uint64_t *sum, *sum_sq; /* (channels) */
} pod_channel_stats;

POD_MUST pod_status pod__channel_stats_init(pod_channel_stats *s, pod_arena *a, int64_t channels);
/* pixels: (n_pixels, channels) */
void pod__channel_stats_add(pod_channel_stats *s, int64_t n_pixels, const uint8_t *pixels);
/* (channels) each, of pixels scaled to [0, 1], from the arena. A channel that never changes gets
 * std 1, so that dividing by it is harmless. At least one pixel must have been added. */
POD_MUST pod_status pod__channel_stats_finish(const pod_channel_stats *s, pod_arena *a,
                                              const double **mean, const double **std);

#endif
