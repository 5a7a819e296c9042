/* A program: the instructions of one step, in order, as plain data. It is the same on every rank
 * and can be printed and hashed. Executors choose nothing: kernels, algorithms and memory offsets
 * are in the program. */
#ifndef MINIPOD_RUNTIME_PROGRAM_PROGRAM_H
#define MINIPOD_RUNTIME_PROGRAM_PROGRAM_H

#include <stdio.h>

#include "collectives/algo/algo.h"
#include "runtime/graph/graph.h"
#include "runtime/ops/op.h"

typedef enum pod_instr_kind {
    POD_I_RUN,        /* run(attr, in, out, scratch) */
    POD_I_COLL_START, /* starts the collective on the memory of slot in[0] */
    POD_I_COLL_WAIT,  /* waits for its end; no instruction between the two touches the slot */
    POD_I_FETCH       /* the host reads in[0], a float32 scalar or rows, as output `ticket` */
} pod_instr_kind;

/* The memory that contains a slot. */
typedef enum pod_space {
    POD_SPACE_INPUT, /* the host's memory, fed each step; `index` is that of the input */
    POD_SPACE_STORE, /* a variable; `index` is that of pod_program.variable */
    POD_SPACE_STEP,  /* the slab of values that live for part of one step */
    POD_SPACE_WINDOW /* the slab that collectives work on */
} pod_space;

typedef struct pod_slot {
    pod_space space;
    int32_t index; /* of the input or variable */
    size_t offset; /* within the slab, or within the variable */
    size_t bytes;
    int32_t root;        /* the slot whose memory contains this one; itself if none does */
    int32_t shows;       /* of a view: the slot with the same memory and another shape; else
                            itself */
    int32_t first, last; /* instructions between which a root slot of STEP or WINDOW is alive */
    size_t advance;      /* of an input: bytes from one micro-step to the next */
    pod_type type;       /* as in the graph; of scratch: POD_U8 and n_dims 0 */
} pod_slot;

/* The work of one op on the samples that a core processes at a time (all of a micro-step, or a
 * tile): everything that its time depends on. */
typedef struct pod_work {
    const char *op, *impl;
    pod_dtype dtype;    /* of its first input */
    pod_shape from, to; /* shapes of its first input, and of the largest of its other values; n_dims
                           0 if it works element by element */
    pod_cost cost;
    double sum_bytes; /* bytes of its outputs that are summed over tiles */
} pod_work;

typedef struct pod_instr {
    pod_instr_kind kind;
    pod_phase phase;
    const char *label; /* "stage3/unit2/conv1" */
    const char *op;    /* "conv2d_dw", "allreduce" */
    const char *impl;  /* kernel or algorithm */
    pod_run_fn *run;
    const void *attr;
    size_t attr_bytes;
    const int32_t *in, *out; /* slots */
    int n_in, n_out;
    int32_t scratch;          /* slot, or -1 */
    int32_t part_of;          /* a sharded slot, or -1. The instruction runs on this core's shard of
                                 that slot, and on the same elements of its other values of that
                                 shape */
    int32_t ticket;           /* of a start and its wait: index into pod_program.coll; of FETCH: the
                                 output */
    pod_cost cost;            /* on one core */
    const pod_work *work;     /* one element, or one for each step of a tiled op */
    int32_t n_works, n_tiles; /* each work runs n_tiles times; 0 for collectives and fetches */
} pod_instr;

/* A collective of the program: in place over one slot. */
typedef struct pod_program_coll {
    pod_coll_args args;
    const pod_coll_algo *algo;
    int32_t slot;
} pod_program_coll;

typedef struct pod_program_variable {
    const char *name;
    pod_type type;
    pod_init init;
    pod_role role;
} pod_program_variable;

/* The instructions in [first, end) run `count` times in a step, once per micro-step: inputs advance
 * to the next samples, and sums accumulate. Without micro-steps the range is empty and count is
 * 1. */
typedef struct pod_repeat {
    int32_t first, end, count;
} pod_repeat;

/* A fusion pattern (passes/fuse/fusions.def), and how often it was fused or, for one reason,
 * refused. */
typedef struct pod_fusion {
    const char *name, *matches, *becomes;
    const char *refused; /* why the n matches were refused; NULL: they were fused */
    int n;
} pod_fusion;

typedef struct pod_program {
    pod_mesh mesh;
    pod_repeat repeat;
    const char *target;
    const pod_instr *instr;
    const pod_slot *slot;
    const pod_program_coll *coll;
    const pod_named *input; /* name and slot: value.id is the slot's index */
    const char *const *output;
    const pod_program_variable *variable;
    const pod_fusion *fusion; /* none with fusion off; not part of the fingerprint */
    int32_t n_fusions;
    int32_t n_instrs, n_slots, n_colls, n_inputs, n_outputs, n_variables;
    size_t step_bytes, window_bytes; /* of the two slabs */
    size_t store_bytes;              /* variables on one core, with its shards of sharded ones */
    size_t state_bytes;              /* the part of store_bytes that is optimizer states */
    size_t whole_state_bytes;        /* state_bytes without sharding */
    size_t guard_bytes;              /* canary bytes behind every slot of the slabs */
    int32_t n_recomputed;            /* nodes of forward that run again in backward */
    double model_flops;              /* of one step, all cores, from the graph as it was built */
    int64_t reduce_bytes;            /* of all collectives in one step: the bytes of their buffers;
                                        a reduce-scatter or an all-gather counts half */
    uint64_t fingerprint;            /* ranks compare it before a run starts */
} pod_program;

/* An instruction instance: instructions of the repeated range have one for each micro-step. A step
 * runs instances 0 to pod_program_n_turns - 1. */
typedef struct pod_turn {
    int32_t instr, micro_step;
} pod_turn;
int64_t pod_program_n_turns(const pod_program *p);
pod_turn pod_program_turn(const pod_program *p, int64_t n);
int pod_program_find_input(const pod_program *p, const char *name); /* -1: it has none */
/* Returns how often the instruction runs in a step. */
int pod_program_times(const pod_program *p, int32_t instr);
/* Returns the bytes that one core reads and writes in a step, by the cost of its instructions. */
double pod_program_moved_bytes(const pod_program *p);

/* The part of a slot's value that core `core` holds: its offset in bytes in the slot's memory, and
 * its number of elements. The offset of a sharded variable is 0, because the store keeps only this
 * part of it. */
typedef struct pod_slot_part {
    size_t offset;
    int64_t count;
} pod_slot_part;
pod_slot_part pod_program_part(const pod_program *p, int32_t slot, int core);
/* Returns the attr of an instruction for core `core`; if the instruction runs on a shard, a copy in
 * the arena with the element count of that core's shard. NULL without memory. */
const void *pod_program_attr(const pod_program *p, int32_t instr, int core, pod_arena *a);

/* Prints a header and one line per instruction: index, kind, phase, op, kernel, label, and its
 * slots with offsets and bytes. */
void pod_program_print(const pod_program *p, FILE *to);
/* Hashes the mesh, the order, kernels and attributes of instructions, slots, collectives with their
 * groups, variables with their initial values, inputs and outputs (kernels/base/hash.h). */
uint64_t pod_program_fingerprint(const pod_program *p);

#endif
