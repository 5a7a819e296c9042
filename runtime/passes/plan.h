/* The plan, which each pass of passes.def reads and extends: the partitioned graph, the buckets of
 * its reductions, the order of the instructions, and the slots. Private to this folder; lives in
 * the program's arena. */
#ifndef MINIPOD_RUNTIME_PASSES_PLAN_H
#define MINIPOD_RUNTIME_PASSES_PLAN_H

#include "runtime/passes/passes.h"

/* Values that one collective reduces or gathers together, in place over one slot. */
typedef struct pod_bucket {
    pod_coll coll;
    uint8_t mask;  /* mesh dimensions of its cores */
    int64_t count; /* elements of all its values */
    pod_dtype dtype;
    bool is_output;   /* holds outputs, which the host reads */
    bool is_repeated; /* runs in every micro-step */
    int32_t ready;    /* node after which it may start */
    int32_t slot;
} pod_bucket;

typedef enum pod_item_kind {
    POD_ITEM_NODE,
    POD_ITEM_START,
    POD_ITEM_WAIT,
    POD_ITEM_FETCH
} pod_item_kind;
typedef struct pod_item { /* becomes one instruction */
    pod_item_kind kind;
    int32_t index; /* of the node, bucket or output */
} pod_item;

typedef struct pod_stretch { /* a range [first, end) of nodes or items */
    int32_t first, end;
} pod_stretch;

enum { POD_MAX_FUSIONS = 64 };

typedef struct pod_plan {
    pod_arena *arena;
    const pod_compile_args *args;
    pod_mesh spread; /* the mesh as masks see it: a dimension that bn_group cuts into tiles counts
                        as two, within a tile and from tile to tile; if a step has several
                        micro-steps, they are one more dimension at the end */
    uint8_t cores;   /* mask over `spread`: its dimensions longer than 1, without the micro-steps */
    uint8_t group;   /* mask: dimensions within a group of pod_compile_args.bn_group */
    uint8_t in_time; /* mask: the dimension of the micro-steps; 0 if there is only one */
    const pod_graph *built; /* the argument of pod_compile */
    const pod_graph *fused; /* the graph after fuse and recompute */
    bool recompute;
    int32_t n_recomputed; /* nodes of forward that run again in backward */
    pod_fusion *fusion;   /* patterns that were fused or refused */
    int n_fusions;
    int64_t batch;
    pod_graph *graph;          /* the graph on one core, from partition on */
    pod_stretch repeated_node; /* nodes that run in every micro-step; set by repeat */
    pod_bucket *bucket;
    int n_buckets;
    int32_t *bucket_of_value; /* by value id: the bucket that has it as input or output, or -1 */
    int64_t *place_in_bucket; /* by value id: its offset there in elements */
    pod_item *item;
    int32_t n_items;
    pod_stretch repeated_item; /* empty without micro-steps */
    pod_lowering *lowering;    /* by node */
    pod_slot *slot;
    int32_t n_slots;
    int32_t *slot_of_value;   /* by value id */
    int32_t *scratch_of_item; /* slot, or -1 */
    size_t step_bytes, window_bytes;
    const pod_program *program;
} pod_plan;

typedef pod_status pod_pass_fn(pod_plan *plan);
#define POD_PASS(name) POD_MUST pod_pass_fn pod__pass_##name;
#include "runtime/passes/passes.def"

/* Returns whether the first dimension of this input counts the samples of the batch. */
static inline bool pod__has_batch(const pod_node *input)
{
    return *(const int32_t *)input->attr == 0;
}

/* Returns the group of cores along the dimensions of a mask over `spread`. */
pod_group pod__group_of(const pod_plan *plan, uint8_t mask);
/* Returns the mask over which the collective reduces or gathers its value i. */
uint8_t pod__mask_of_collective(const pod_graph *g, const pod_node *n, int i);

/* Sets work, n_works and n_tiles of the node's instruction, for cost models. */
POD_MUST pod_status pod__describe_work(const pod_plan *plan, const pod_node *n,
                                       const pod_lowering *l, pod_instr *instr);

/* Points `value` to the values that an item reads, in order, and returns their number: 0 for START
 * and WAIT, which work on the bucket. */
int pod__item_reads(const pod_plan *plan, const pod_item *item, const pod_value **value);

#endif
