/* Runs a graph node by node on one core, a buffer a value: no plan, no memory in place, no passes.
 * For tests of ops and gradients, and the plain twin of the executors. Buffers stand before guard
 * pages. What cannot be made ends the test program. */
#ifndef MINIPOD_TESTS_HARNESS_INTERP_H
#define MINIPOD_TESTS_HARNESS_INTERP_H

#include "runtime/graph/graph.h"
#include "runtime/ops/op.h"

typedef struct pod_interp pod_interp;

/* Lowers every node on a 1x1 mesh for `cpu`, POD_CPU_ bits or POD_CPU_REFERENCE_ONLY. The graph is
 * borrowed and must not grow. */
POD_MUST pod_status pod_interp_create(const pod_graph *g, uint32_t cpu, pod_interp **out);
void pod_interp_destroy(pod_interp *it); /* NULL is allowed; checks what stands before buffers */

/* The memory of a value: leaves are to be filled before the first run. */
void *pod_interp_data(pod_interp *it, pod_value v);
double pod_interp_get(pod_interp *it, pod_value v, int64_t i); /* element i */

/* Runs the first n_nodes nodes, all when it is negative. Outputs and scratch are NaNs before. */
void pod_interp_run(pod_interp *it, int32_t n_nodes);

/* After a run: runs each node again with outputs in the memory of inputs, wherever its lowering
 * allows it; fails the running test where that gives other bits. */
void pod_interp_check_in_place(pod_interp *it);

/* Whether any interpreter of this process has run this op; how many ops were run. */
bool pod_interp_has_run(const pod_op *op);
int pod_interp_n_ops_run(void);

/* A loss of any value, float32 or bfloat16: the sum of y times r, r float32 of y's shape. Its
 * gradient by y is float32. The op is the tests' own, not in pod_ops(). */
pod_value pod_test_weigh(pod_graph *g, pod_value y, pod_value r);

#endif
