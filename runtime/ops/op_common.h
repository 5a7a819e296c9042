/* Shared by the op files: the ops by name, type checks for infer, and the common parts of cost and
 * lowering. Private to this folder. */
#ifndef MINIPOD_RUNTIME_OPS_OP_COMMON_H
#define MINIPOD_RUNTIME_OPS_OP_COMMON_H

#include "kernels/activation/activation.h"
#include "kernels/attention/attention.h"
#include "kernels/base/assert.h"
#include "kernels/combine/combine.h"
#include "kernels/depthwise/depthwise.h"
#include "kernels/embed/embed.h"
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
/* Returns whether the graph has not failed and v is a value of it. Records an error if v has id 0
 * and the graph has not failed yet. */
bool pod__usable(pod_graph *g, pod_value v);

/* Rows and columns of zeros before and behind an image. */
typedef struct pod__padding {
    int64_t before[2], behind[2];
} pod__padding;
/* Returns TensorFlow's SAME padding, which maps images (H, W) to (ceil(H / stride), ceil(W /
 * stride)). If the number of zeros is odd, the extra one goes behind. */
pod__padding pod__same_padding(const int64_t image[2], const int64_t filter[2], int64_t stride);
/* Returns the number of windows that fit in the padded image along dimension d (0: rows, 1:
 * columns). */
int64_t pod__windows(int64_t image, int64_t filter, int64_t stride, const pod__padding *p, int d);
/* Returns the padding for images x (N, H, W, C): `pad` on every side or, if `same`, SAME padding
 * for a filter whose dimension `rows` counts its rows. */
pod__padding pod__padding_of(pod_graph *g, pod_value x, pod_value filter, int rows, int64_t stride,
                             int64_t pad, bool same);
enum { POD__PADDING_TEXT = 96 };
/* Writes "padding 1" or "padding 0x0 before and 1x1 behind" to text, and returns text. */
const char *pod__padding_print(const pod__padding *p, char text[POD__PADDING_TEXT]);

/* ---- for infer: checks of a type; `what` names the input. They fail with E_SHAPE unless noted. */
enum { POD__FLOATS = 1u << POD_F32 | 1u << POD_BF16, POD__TYPE_TEXT = 160 };

/* Writes "bf16 (8, 4)" or, if the type is spread over cores, "bf16 (8, 4) split 1,0 sum 0 vary 0"
 * with masks in hexadecimal; returns text. */
const char *pod__type_print(const pod_type *t, char *text, size_t bytes);
pod_status pod__want_dtype(const char *what, const pod_type *t,
                           unsigned dtypes); /* bits 1 << dtype */
pod_status pod__want_dims(const char *what, const pod_type *t, int n_dims);
pod_status pod__want_scalar(const char *what, const pod_type *t); /* float32, reduced */
/* The same element type, shape and sharding. */
pod_status pod__want_alike(const char *what_a, const pod_type *a, const char *what_b,
                           const pod_type *b);
/* t is float32 (C), where C is the last dimension of x, and is split like that dimension. `sum` and
 * `vary` may be anything. */
pod_status pod__want_channels(const char *what, const pod_type *t, const pod_type *x);
/* Fails with E_UNSUPPORTED if a dimension other than the first is split. */
pod_status pod__want_only_rows_split(const char *what, const pod_type *t);
pod_status pod__want_whole(const char *what, const pod_type *t);    /* E_UNSUPPORTED if split */
pod_status pod__want_no_parts(const char *what, const pod_type *t); /* sum and vary are 0 */
/* Floats (N, S, H), whole but for their samples. */
pod_status pod__want_tokens(const char *what, const pod_type *t);

/* An op with inputs of one type, which is the type of its output. */
pod_status pod__infer_elementwise(const pod_node *n, const pod_type in[], int n_in, pod_type out[]);

/* Returns float32 (C), where C is the last dimension of x, split like that dimension. */
pod_type pod__channels_of(const pod_type *x);
/* Returns the mesh dimensions over which any dimension of t but the last is split. A sum over t's
 * rows is a summand over these. */
uint8_t pod__rows_split(const pod_type *t);
int64_t pod__rows(const pod_shape *s); /* product of all dimensions but the last */
int64_t pod__last(const pod_shape *s);

/* ---- for cost: every input read once, every output written once ---- */
void pod__cost_of(const pod_node *n, const pod_type in[], const pod_type out[], double vector_ops,
                  pod_cost *cost);

/* ---- for the pass that fuses ---- */
/* The choice of a kernel for a plain call and for the fused call. */
typedef struct pod__rechoice {
    const pod_choice *how;
    const char *kind;
    pod_candidate candidate[POD_MAX_CANDIDATES]; /* for the fused call */
    int n, now, then;                            /* chosen for the plain call, for the fused one */
} pod__rechoice;
/* Returns NULL if the fused call gains, else why it does not; "" without memory. It gains if both
 * calls choose the same kernel. It does not if `then` is the reference, or if its rate is below 0.9
 * of the rate of `now`, or if, without rates, `now` uses CPU features that `then` does not. */
const char *pod__why_no_gain(const pod__rechoice *r, pod_arena *arena);

/* ---- for lower ---- */
/* Fills the lowering with a copy of attr, no scratch and nothing in place. E_NOMEM. */
pod_status pod__lower(const pod_lower_args *args, pod_run_fn *run, const char *impl,
                      const void *attr, size_t attr_bytes, pod_lowering *l);

/* Tensors as a kernel sees them. `set` is the index of a set of kernels, because a run attr holds
 * no pointers. */
typedef struct pod__flat_attr {
    int64_t count;
    int32_t dtype, set;
} pod__flat_attr;
typedef struct pod__rows_attr {
    int64_t rows, c;
    int32_t dtype, set;
} pod__rows_attr;
/* Both describe input 0 on one core. */
pod__flat_attr pod__flat_of(const pod_lower_args *args, int32_t set);
pod__rows_attr pod__rows_of(const pod_lower_args *args, int32_t set);

/* Defines, for example, pod__pointwise_pick(cpu), the index of the set for a CPU, and
 * pod__pointwise_at(index), that set. */
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
POD__FAMILY(activation)
POD__FAMILY(attention_kernels)
POD__FAMILY(combine)
POD__FAMILY(depthwise)
POD__FAMILY(embed)
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
