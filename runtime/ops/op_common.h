/* Shared by the files of this folder: the ops by name, checks of types for infer, and the plain
 * parts of cost and lowering. Nobody outside includes it. */
#ifndef MINIPOD_RUNTIME_OPS_OP_COMMON_H
#define MINIPOD_RUNTIME_OPS_OP_COMMON_H

#include "kernels/base/assert.h"
#include "kernels/combine/combine.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/gate/gate.h"
#include "kernels/layernorm/layernorm.h"
#include "kernels/norm/norm.h"
#include "kernels/pointwise/pointwise.h"
#include "kernels/pool/pool.h"
#include "kernels/reduce/reduce.h"
#include "kernels/softmax/softmax.h"
#include "kernels/update/update.h"
#include "runtime/ops/op.h"
#include "runtime/ops/ops.h"

#define POD_OP(name) extern const pod_op pod__op_##name;
#include "runtime/ops/ops.def"
#undef POD_OP

/* ---- for builders ---- */
/* Returns whether v has a type. Records a v of id 0 as an error if the graph has not failed yet. */
bool pod__usable(pod_graph *g, pod_value v);

/* Rows and columns of zeros before and behind an image. */
typedef struct pod__padding {
    int64_t before[2], behind[2];
} pod__padding;
/* TensorFlow's SAME: images of (H, W) give ceil(H / stride), ceil(W / stride), an odd zero goes
 * behind. */
pod__padding pod__same_padding(const int64_t image[2], const int64_t filter[2], int64_t stride);
/* Windows that begin in the padded image, along dimension d: 0 rows, 1 columns; 0 where none
 * fits. */
int64_t pod__windows(int64_t image, int64_t filter, int64_t stride, const pod__padding *p, int d);
/* Returns the padding for images x (N, H, W, C) and a filter whose rows are its dimension `rows`;
 * `same` overrides pad. */
pod__padding pod__padding_of(pod_graph *g, pod_value x, pod_value filter, int rows, int64_t stride,
                             int64_t pad, bool same);
enum { POD__PADDING_TEXT = 96 };
/* "padding 1", or "padding 0x0 before and 1x1 behind". */
const char *pod__padding_print(const pod__padding *p, char text[POD__PADDING_TEXT]);

/* ---- for infer: what a type must be. `what` names the input in the text. All E_SHAPE. ---- */
enum { POD__FLOATS = 1u << POD_F32 | 1u << POD_BF16, POD__TYPE_TEXT = 160 };

/* "bf16 (8, 4)", with how it is spread, where it is: "bf16 (8, 4) split 1,0 sum 0 vary 0". */
const char *pod__type_print(const pod_type *t, char *text, size_t bytes);
pod_status pod__want_dtype(const char *what, const pod_type *t,
                           unsigned dtypes); /* of 1 << dtype */
pod_status pod__want_dims(const char *what, const pod_type *t, int n_dims);
pod_status pod__want_scalar(const char *what, const pod_type *t); /* float32, whole */
/* The same element type, shape and spread. */
pod_status pod__want_alike(const char *what_a, const pod_type *a, const char *what_b,
                           const pod_type *b);
/* float32 (C), C the last dimension of x, and spread like it. `sum` and `vary` may be anything. */
pod_status pod__want_channels(const char *what, const pod_type *t, const pod_type *x);
/* At most the first dimension is split; E_UNSUPPORTED. */
pod_status pod__want_only_rows_split(const char *what, const pod_type *t);
pod_status pod__want_whole(const char *what, const pod_type *t); /* nothing split; E_UNSUPPORTED */
pod_status pod__want_no_parts(const char *what, const pod_type *t); /* no sum, no vary */

/* Any number of inputs, all alike; the output is like them. */
pod_status pod__infer_elementwise(const pod_node *n, const pod_type in[], int n_in, pod_type out[]);

/* float32 (C), C the last dimension of x, split like it. */
pod_type pod__channels_of(const pod_type *x);
/* Mesh dimensions over which any dimension of t but the last is split: what a sum over rows
 * leaves. */
uint8_t pod__rows_split(const pod_type *t);
int64_t pod__rows(const pod_shape *s); /* product of all dimensions but the last */
int64_t pod__last(const pod_shape *s);

/* ---- for cost: every input read once, every output written once ---- */
void pod__cost_of(const pod_node *n, const pod_type in[], const pod_type out[], double vector_ops,
                  pod_cost *cost);

/* ---- for the pass that fuses ---- */
/* The choice of a kernel for a plain call and for the same with more to do in it. */
typedef struct pod__rechoice {
    const pod_choice *how;
    const char *kind;
    pod_candidate candidate[POD_MAX_CANDIDATES]; /* for the fused call */
    int n, now, then;                            /* chosen for the plain call, for the fused one */
} pod__rechoice;
/* Why to fuse is no gain: `then` is the reference, or slower than `now` by the rates, or, without
 * rates, does without instructions that `now` uses; NULL: it is one. "" without memory. */
const char *pod__why_no_gain(const pod__rechoice *r, pod_arena *arena);

/* ---- for lower ---- */
/* Fills the lowering with a copy of attr, no scratch and nothing in place. E_NOMEM. */
pod_status pod__lower(const pod_lower_args *args, pod_run_fn *run, const char *impl,
                      const void *attr, size_t attr_bytes, pod_lowering *l);

/* Tensors as a kernel sees them, and the set of kernels by its index: an attr holds no pointers. */
typedef struct pod__flat_attr {
    int64_t count;
    int32_t dtype, set;
} pod__flat_attr;
typedef struct pod__rows_attr {
    int64_t rows, c;
    int32_t dtype, set;
} pod__rows_attr;
/* The shape of input 0. */
pod__flat_attr pod__flat_of(const pod_lower_args *args, int32_t set);
pod__rows_attr pod__rows_of(const pod_lower_args *args, int32_t set);

/* pod__pointwise_pick(cpu): index of the set for this CPU; pod__pointwise_at(index): the set. */
#define POD__FAMILY(family)                                                   \
    static inline int32_t pod__##family##_pick(uint32_t cpu)                  \
    {                                                                         \
        int32_t set = 0;                                                      \
        while (pod_##family##_sets()[set] != pod_##family##_pick(cpu)) set++; \
        return set;                                                           \
    }                                                                         \
    static inline const pod_##family *pod__##family##_at(int32_t set)         \
    {                                                                         \
        return pod_##family##_sets()[set];                                    \
    }
POD__FAMILY(combine)
POD__FAMILY(depthwise)
POD__FAMILY(gate)
POD__FAMILY(layernorm)
POD__FAMILY(norm)
POD__FAMILY(pointwise)
POD__FAMILY(pool)
POD__FAMILY(reduce)
POD__FAMILY(softmax)
POD__FAMILY(update)
#undef POD__FAMILY

#endif
