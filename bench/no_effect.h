/* Options that somebody typed and that do nothing without another. What a file or the environment
 * has may be meant for other uses; typed, it is meant for this one. */
#ifndef MINIPOD_BENCH_NO_EFFECT_H
#define MINIPOD_BENCH_NO_EFFECT_H

#include "runtime/config/config.h"
#include "runtime/core/log.h"

/* A warning of each, by no_effect.def, for a run on so many ranks. One whose value is 0, off or nothing asks for no effect. */
void pod_no_effect_warn(const pod_config *c, uint32_t command, int n_ranks, pod_log *log);

#endif
