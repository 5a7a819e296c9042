/* The graph in the form that fusion patterns change: an array of sites, each empty or with one
 * node, in an order in which every value is computed before it is read. Every node has a site, and
 * there is an empty site before it, for a node that a pattern has to add. Values keep their ids;
 * new values get ids behind these. Private to this folder.
 *
 * A pattern is tried at every site. It changes nothing, or it replaces the nodes that it matches. A
 * replacement stands where all its inputs are computed already; nodes that are no longer needed are
 * removed. */
#ifndef MINIPOD_RUNTIME_PASSES_FUSE_FUSE_H
#define MINIPOD_RUNTIME_PASSES_FUSE_FUSE_H

#include "runtime/ops/fused.h"
#include "runtime/passes/plan.h"

enum { POD__SITE_IN = 10 };

typedef struct pod__site {
    pod_node node; /* op NULL: empty. Its `in` and `first_out` are not used. */
    pod_value in[POD__SITE_IN], out[POD_MAX_OUT];
} pod__site;

typedef struct pod__fuse {
    const pod_plan *plan;
    const pod_graph *from;
    pod__site *site;
    int32_t n_sites;
    int32_t *maker;   /* by value: the site that computes it */
    pod_value *model; /* by value: the value of `from` whose type it has */
    bool *by_sample;  /* by value of `from`: whether its first dimension counts the batch's
                         samples */
    bool *kept;       /* by value: whether it is an output of the step or assigned to a variable */
    int32_t n_values, value_cap;
    bool no_memory;
} pod__fuse;

/* The result of trying a pattern at a site. */
typedef struct pod__verdict {
    bool fused;
    const char *refused; /* why a match was not fused, in the arena or static; NULL: no match */
} pod__verdict;

typedef pod__verdict pod__pattern_fn(pod__fuse *f, pod__site *at);
#define POD_FUSION(name, matches, becomes) pod__pattern_fn pod__fuse_##name;
#include "runtime/passes/fuse/fusions.def"

static inline pod__verdict pod__fused(void) { return (pod__verdict){.fused = true}; }
static inline pod__verdict pod__no_match(void) { return (pod__verdict){0}; }
static inline pod__verdict pod__refused(const char *why) { return (pod__verdict){.refused = why}; }

bool pod__site_is(const pod__site *s, const pod_op *op); /* false for NULL and an empty site */
pod__site *pod__maker_of(const pod__fuse *f, pod_value v);
pod_dtype pod__dtype_of(const pod__fuse *f, pod_value v);

enum { POD__MAX_READERS = 16 };
/* The sites that read a value, in order. n is -1 if the value is kept or has more than
 * POD__MAX_READERS readers. */
typedef struct pod__readers {
    int n;
    pod__site *site[POD__MAX_READERS];
} pod__readers;
pod__readers pod__readers_of(const pod__fuse *f, pod_value v);
/* Returns the reader of the value if it has exactly one and that is this op, else NULL. */
pod__site *pod__only_reader(const pod__fuse *f, pod_value v, const pod_op *op);

/* Returns a refusal such as "add reads it too". */
pod__verdict pod__refused_by_reader(const pod__fuse *f, const pod__site *reader);

/* Adds a new value, of the type of `model`, as the site's next output. */
pod_value pod__add_output(pod__fuse *f, pod__site *s, pod_value model);
/* Makes `v`, until now the output of another site, the next output of this site. */
void pod__take_output(pod__fuse *f, pod__site *s, pod_value v);
void pod__set_inputs(pod__site *s, const pod_value in[], int n);
void pod__read_instead(pod__site *s, pod_value old, pod_value now);
void pod__clear(pod__site *s);

/* Memory for the types in the arguments of pod_conv2d_why_not and pod_matmul_why_not. */
typedef struct pod__fuse_types {
    pod_type in[POD__SITE_IN], out[POD_MAX_OUT];
} pod__fuse_types;
pod_fuse_args pod__fuse_args_of(const pod__fuse *f, const pod__site *s, pod__fuse_types *types);

#endif
