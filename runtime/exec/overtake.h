/* The collectives of a step that go first on links and cores that others use. The sim executor
 * applies this to machines whose programs are ordered by a compiler. */
#ifndef MINIPOD_RUNTIME_EXEC_OVERTAKE_H
#define MINIPOD_RUNTIME_EXEC_OVERTAKE_H

#include "kernels/base/arena.h"
#include "runtime/program/program.h"

/* Returns by collective, in the arena, whether it is preferred (collectives/net/busy.h): whether
 * others are in flight when it starts and it is needed before all of these, as the sums of a batch
 * norm are before gradients. Preferred collectives keep their order. E_NOMEM. */
POD_MUST pod_status pod_overtakes(const pod_program *p, pod_arena *a, const bool **out);

#endif
