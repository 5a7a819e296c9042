/* Finds the collectives of a step that go first on links and cores that other collectives use at
 * the same time. The sim executor applies this to machines whose programs a compiler orders. */
#ifndef MINIPOD_RUNTIME_EXEC_OVERTAKE_H
#define MINIPOD_RUNTIME_EXEC_OVERTAKE_H

#include "kernels/base/arena.h"
#include "runtime/program/program.h"

/* Returns, by collective, whether it is preferred (collectives/net/busy.h). Consider the collectives
 * that are in flight when a collective starts and that are not preferred. It is preferred if there
 * are any, and if the program waits for it before it waits for each of them. So the sums of a batch
 * norm are preferred to the all-reduces of gradients. Preferred collectives keep their order. *out
 * is in the arena. E_NOMEM. */
POD_MUST pod_status pod_overtakes(const pod_program *p, pod_arena *a, const bool **out);

#endif
