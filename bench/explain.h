/* What `minipod explain` can explain: one file explain_<what>.c each, one line in explain.def. All
 * print to standard output; nothing is run and nothing is measured. */
#ifndef MINIPOD_BENCH_EXPLAIN_H
#define MINIPOD_BENCH_EXPLAIN_H

#include "bench/common/table.h"
#include "bench/models.h"
#include "bench/target.h"
#include "runtime/core/config.h"
#include "runtime/data/dataset.h"

typedef struct pod_explain {
    const pod_config *config;
    pod_arena *arena; /* for as long as the explanation takes */
} pod_explain;

typedef pod_status pod_explain_fn(pod_explain *e);
#define POD_EXPLAIN(name, about) pod_explain_fn pod_explain_##name;
#include "bench/explain.def"
#undef POD_EXPLAIN

/* The settings of the run that is explained, and its data: those that --data names, or, when
 * nothing names any, images and classes of the size that the model was published for. The mesh is
 * --mesh, one core where that is auto. */
typedef struct pod_explain_run { /* points into itself: not to be copied */
    pod_setup setup;
    pod_network_choice choice;
    pod_network net;
    pod_machine machine;
    pod_target target;
    pod_dataset_info data; /* lives in the arena, or as long as `dataset` */
    pod_dataset *dataset;  /* NULL: published size */
} pod_explain_run;

/* pod_coll_args.node_size by --node. */
int pod_explain_node_size(const pod_explain *e, int n_ranks);
POD_MUST pod_status pod_explain_run_of(pod_explain *e, pod_explain_run *out);
void pod_explain_run_end(pod_explain_run *r);
const char *pod_explain_source(const pod_explain_run *r); /* where the data's size comes from */

#endif
