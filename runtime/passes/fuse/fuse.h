/* The graph as patterns see and change it: a row of sites, each with a node or empty, in an order
 * in which every value is made before it is read. Every node of the graph has a site of its own
 * with an empty one before it, for what a pattern has to compute first. Values keep their ids; new
 * ones get ids behind them. Private to this folder.
 *
 * A pattern is tried at every site. It changes nothing, or it changes the nodes it matches: into
 * others, in the place of the last one it reads from; those left over are removed. */
#ifndef MINIPOD_RUNTIME_PASSES_FUSE_H
#define MINIPOD_RUNTIME_PASSES_FUSE_H

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
    int32_t *maker;   /* by value: its site */
    pod_value *model; /* by value: the value of `from` whose type it has */
    bool *by_sample;  /* by value of `from`: its first dimension counts the batch's samples */
    bool *kept;       /* by value: an output of the step, or what a variable becomes */
    int32_t n_values, value_cap;
    bool no_memory;
} pod__fuse;

/* The verdict on a pattern at a site. */
typedef struct pod__verdict {
    bool fused;
    const char *refused; /* it matches, but: in the arena or static; NULL: it does not match */
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
/* The sites that read the value, in order. What is kept, or read by more than POD__MAX_READERS,
 * answers n = -1. */
typedef struct pod__readers {
    int n;
    pod__site *site[POD__MAX_READERS];
} pod__readers;
pod__readers pod__readers_of(const pod__fuse *f, pod_value v);
/* The one reader of the value when it is this op; NULL: it is not. */
pod__site *pod__only_reader(const pod__fuse *f, pod_value v, const pod_op *op);

/* "add reads it too" */
pod__verdict pod__refused_by_reader(const pod__fuse *f, const pod__site *reader);

/* A new value, of the type of `model`, that the site makes as its next output. */
pod_value pod__add_output(pod__fuse *f, pod__site *s, pod_value model);
/* `v`, another site's output so far, becomes this site's next output. */
void pod__take_output(pod__fuse *f, pod__site *s, pod_value v);
void pod__set_inputs(pod__site *s, const pod_value in[], int n);
void pod__read_instead(pod__site *s, pod_value old, pod_value now);
void pod__clear(pod__site *s);

/* For pod_conv2d_why_not and pod_matmul_why_not. */
typedef struct pod__fuse_types {
    pod_type in[POD__SITE_IN], out[POD_MAX_OUT];
} pod__fuse_types;
pod_fuse_args pod__fuse_args_of(const pod__fuse *f, const pod__site *s, pod__fuse_types *types);

#endif
