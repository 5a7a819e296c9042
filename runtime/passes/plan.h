/* The plan that the passes of passes.def pass on: a partitioned graph, the buckets its reductions
 * were joined into, the order of the instructions, and the slots. Private to this folder; lives in
 * the program's arena. */
#ifndef MINIPOD_RUNTIME_PASSES_PLAN_H
#define MINIPOD_RUNTIME_PASSES_PLAN_H

#include "runtime/passes/passes.h"

/* Values that travel as one: a collective in place over one slot. */
typedef struct pod_bucket {
    pod_coll coll;
    uint8_t mask;  /* mesh dimensions of its cores */
    int64_t count; /* elements, all together */
    pod_dtype dtype;
    bool is_output;   /* holds what the host reads */
    bool is_repeated; /* in every micro-step */
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

typedef struct pod_stretch { /* of nodes or items, from first to before end */
    int32_t first, end;
} pod_stretch;

enum { POD_MAX_FUSIONS = 64 };

typedef struct pod_plan {
    pod_arena *arena;
    const pod_compile_args *args;
    pod_mesh spread; /* what values are spread over, in space and time: the mesh, where a group of
                        cores is a tile of a dimension that dimension as two, within the tile and
                        from tile to tile; behind them, where there are several, the micro-steps */
    uint8_t cores;   /* bits, in masks over `spread`: its dimensions of cores longer than 1 */
    uint8_t group;   /* those within a group of pod_compile_args.bn_group */
    uint8_t in_time; /* that of the micro-steps; 0: there is one */
    const pod_graph *built; /* as it came */
    const pod_graph *fused; /* as fuse and recompute leave it */
    bool recompute;
    int32_t n_recomputed; /* nodes that run again */
    pod_fusion *fusion;   /* what was found */
    int n_fusions;
    int64_t batch;
    pod_graph *graph;          /* partitioned */
    pod_stretch repeated_node; /* of the graph: what every micro-step does; set by repeat */
    pod_bucket *bucket;
    int n_buckets;
    int32_t *bucket_of_value; /* by value id: the bucket it is part of, in or out, or -1 */
    int64_t *place_in_bucket; /* by value id: elements */
    pod_item *item;
    int32_t n_items;
    pod_stretch repeated_item; /* none: empty */
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

/* The first dimension of this input counts the samples of the batch. */
static inline bool pod__has_batch(const pod_node *input)
{
    return *(const int32_t *)input->attr == 0;
}

/* The cores that a mask over the spread joins. */
pod_group pod__group_of(const pod_plan *plan, uint8_t mask);
/* Over what the collective's value i is reduced, or of its parts put together. */
uint8_t pod__mask_of_collective(const pod_graph *g, const pod_node *n, int i);

/* Describes the work of the node for cost models: work, n_works and n_tiles of the instruction. */
POD_MUST pod_status pod__describe_work(const pod_plan *plan, const pod_node *n,
                                       const pod_lowering *l, pod_instr *instr);

/* The values an item reads, in order, into `value`; returns how many. START and WAIT answer none:
 * they work on the bucket. */
int pod__item_reads(const pod_plan *plan, const pod_item *item, const pod_value **value);

#endif
