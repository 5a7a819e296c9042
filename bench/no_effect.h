/* Options on the command line that have no effect without another option. Options in files and in
 * the environment may be meant for other commands, and are not checked. */
#ifndef MINIPOD_BENCH_NO_EFFECT_H
#define MINIPOD_BENCH_NO_EFFECT_H

#include "runtime/config/config.h"
#include "runtime/core/log.h"

/* Warns of each such option, by no_effect.def, in a run on n_ranks ranks. Options whose value is 0,
 * off or "" are not reported, because they ask for no effect. */
void pod_no_effect_warn(const pod_config *c, uint32_t command, int n_ranks, pod_log *log);

#endif
