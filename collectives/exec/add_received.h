/* The arithmetic of a RECV_REDUCE, the same in every executor. */
#ifndef MINIPOD_COLLECTIVES_EXEC_ADD_RECEIVED_H
#define MINIPOD_COLLECTIVES_EXEC_ADD_RECEIVED_H

#include "collectives/sched/sched.h"
#include "kernels/combine/combine.h"

/* Computes dst = own `op` received, for `count` elements of the step. `received` has type t; own
 * and dst have the types that pod_sched_dtype gives for the buffers of step->src and step->dst. If
 * these types differ, the sum is computed in float32, and rounded at most once. own is dst or
 * disjoint from it. */
void pod__add_received(const pod_combine *combine, pod_redop op, const pod_step *step, pod_dtype t,
                       int64_t count, const void *received, const void *own, void *dst);

#endif
