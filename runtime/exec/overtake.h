/* Which collectives of a step go first on links and cores that others hold: a decision of its own,
 * which the sim executor takes for machines whose programs are ordered by a compiler. */
#ifndef MINIPOD_RUNTIME_EXEC_OVERTAKE_H
#define MINIPOD_RUNTIME_EXEC_OVERTAKE_H

#include "kernels/base/arena.h"
#include "runtime/program/program.h"

/* By collective, in the arena: whether it is preferred (collectives/net/busy.h), as it is when some
 * that are not are in flight as it starts, and it is waited for before all of these: the sums of a
 * batch norm beside gradients. What is preferred keeps its own order. E_NOMEM. */
POD_MUST pod_status pod_overtakes(const pod_program *p, pod_arena *a, const bool **out);

#endif
