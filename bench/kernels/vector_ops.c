/* Every function of the families, with its operands in the order of v[]. */
#include <string.h>

#include "bench/kernels/vector.h"
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

/* clang-format off */
#define RUN(family, function, ...)                                              \
    static void family##_##function(const void *set, const pod_vector_args *a)  \
    {                                                                           \
        const pod_##family *k = set;                                            \
        void *const *v = a->v;                                                  \
        k->function(__VA_ARGS__);                                               \
    }
/* clang-format on */

static const float rate = 0.01f, momentum = 0.9f, decay = 1e-4f, eps = 1e-5f;
static const pod_rmsprop_attr rmsprop = {0.9f, 0.9f, 1e-3f, 1e-5f};
static const pod_adam_attr adam = {0.9f, 0.999f, 0.5f, 0.5f, 1e-6f, 0.01f};

RUN(pointwise, cast, a->count, a->t, v[0], a->other, v[1])
RUN(pointwise, relu, a->count, a->t, v[0], v[1])
RUN(pointwise, relu_grad, a->count, a->t, v[0], v[1], v[2])
RUN(pointwise, add, a->count, a->t, v[0], v[1], v[2])
RUN(pointwise, bias_add, a->rows, a->c, a->t, v[0], v[1], v[2])
RUN(pointwise, axpby, a->count, 0.5f, v[0], 0.25f, v[1], v[2])
RUN(pointwise, normalize_u8, a->rows, a->c, v[0], v[1], v[2], a->t, v[3])

RUN(norm, sums, a->rows, a->c, a->t, v[0], v[1], v[2])
RUN(norm, moments, a->c, (double)a->rows, eps, v[0], v[1], v[2], v[3], v[4])
RUN(norm, apply, a->rows, a->c, pod_norm_all(a->t), v[0], v[1], v[2], v[3], v[4], v[5])
RUN(norm, grad_sums, a->rows, a->c, pod_norm_all(a->t), v[0], v[1], v[2], v[3], v[4], v[5])
RUN(norm, grad_apply, a->rows, a->c, (double)a->rows, pod_norm_all(a->t), v[0], v[1], v[2], v[3],
    v[4], v[5], v[6], v[7])
RUN(norm, fold, a->c, v[0], v[1], v[2], v[3], v[4], v[5])
RUN(norm, apply_act, a->rows, a->c, pod_norm_all(a->t), v[0], v[1], v[2], v[3], NULL, NULL,
    POD_NORM_RELU, v[4])
RUN(norm, grad_sums_act, a->rows, a->c, pod_norm_all(a->t), v[0], v[1], NULL, NULL, v[2], v[3],
    v[4], v[5], POD_NORM_RELU, NULL, v[6], v[7])
static void norm_apply_swish(const void *set, const pod_vector_args *a)
{
    const pod_norm *k = set;
    void *const *v = a->v;
    k->apply_act(a->rows, a->c, pod_norm_all(a->t), v[0], v[1], v[2], NULL, NULL, NULL,
                 POD_NORM_SWISH, v[3]);
}
static void norm_grad_sums_swish(const void *set, const pod_vector_args *a)
{
    const pod_norm *k = set;
    void *const *v = a->v;
    k->grad_sums_act(a->rows, a->c, pod_norm_all(a->t), v[0], v[1], NULL, NULL, v[2], v[3], v[4],
                     v[5], POD_NORM_SWISH, v[6], v[7], v[8]);
}
RUN(norm, grad_apply_act, a->rows, a->c, (double)a->rows, pod_norm_all(a->t), v[0], v[1], v[2],
    v[3], v[4], v[5], v[6], v[7], v[8], v[9])

RUN(layernorm, apply, a->rows, a->c, eps, a->t, v[0], NULL, v[1], v[2], NULL, v[3], v[4], v[5])
RUN(layernorm, grad_x, a->rows, a->c, a->t, v[0], v[1], v[2], v[3], v[4], NULL, v[5])
RUN(layernorm, grad_params, a->rows, a->c, a->t, v[0], v[1], v[2], v[3], v[4], v[5])

RUN(gate, sigmoid, a->count, a->t, v[0], v[1])
RUN(gate, sigmoid_grad, a->count, a->t, v[0], v[1], v[2])
RUN(gate, swish, a->count, a->t, v[0], v[1])
RUN(gate, swish_grad, a->count, a->t, v[0], v[1], v[2])
RUN(gate, scale, 1, a->rows, a->c, a->t, v[0], v[1], v[2])
RUN(gate, mean_grad, 1, a->rows, a->c, a->t, v[0], v[1], v[2], v[3])
RUN(gate, sums, 1, a->rows, a->c, a->t, v[0], v[1], v[2])

static void reduce_sum_sq(const void *set, const pod_vector_args *a)
{
    *(float *)a->v[1] = ((const pod_reduce *)set)->sum_sq(a->count, a->v[0]);
}
static void reduce_sum_sq_wide(const void *set, const pod_vector_args *a)
{
    pod_wide_sum sum = {{0}, 0};
    pod_binned digits[POD_WIDE_DIGITS];
    ((const pod_reduce *)set)->sum_sq_wide(a->count, a->v[0], &sum);
    pod_wide_sum_to_binned(&sum, digits);
    *(float *)a->v[1] = pod_wide_sum_from_binned(digits);
}
RUN(reduce, col_sum, a->rows, a->c, a->t, v[0], v[1])

RUN(softmax, loss, a->rows, a->c, v[0], v[1], 0.1f, 1 / (float)a->rows, v[2])
RUN(softmax, grad, a->rows, a->c, v[0], v[1], 0.1f, 1, v[2])
RUN(softmax, loss_grad, a->rows, a->c, v[0], v[1], 0.1f, 1 / (float)a->rows, 1, v[2], v[3])
RUN(softmax, correct, a->rows, a->c, v[0], v[1], v[2])

static pod_pool_shape pool_shape(const pod_vector_args *a)
{
    const pod_conv_shape *s = &a->problem->conv;
    return (pod_pool_shape){s->n, s->h, s->w, s->c, s->p, s->q, s->r, s->stride, s->pad_h};
}

static int64_t n_images(const pod_vector_args *a) { return a->problem->conv.n; }
static int64_t n_pixels(const pod_vector_args *a) { return a->rows / n_images(a); }

RUN(pool, max, (const pod_pool_shape[]){pool_shape(a)}, a->t, v[0], v[1])
RUN(pool, max_grad, (const pod_pool_shape[]){pool_shape(a)}, a->t, v[0], v[1], v[2])
RUN(pool, mean, n_images(a), n_pixels(a), a->c, a->t, v[0], v[1])
RUN(pool, mean_grad, n_images(a), n_pixels(a), a->c, a->t, v[0], v[1])

RUN(update, momentum_outer, a->count, rate, momentum, decay, false, v[0], v[1], v[2])
RUN(update, momentum_inner, a->count, rate, momentum, decay, false, v[0], v[1], v[2])
RUN(update, rmsprop, a->count, &rmsprop, rate, v[0], v[1], v[2], v[3])
RUN(update, adam_step, a->count, &adam, rate, v[0], v[1], v[2], v[3])
RUN(update, adam_norms, a->count, &adam, v[0], v[1], v[2], v[3], v[4], v[5])
RUN(update, adam_direction, a->count, &adam, v[0], v[1], v[2], v[3], v[4])
RUN(update, adam_descend, a->count, &adam, rate, v[0], v[1], v[2])

RUN(combine, add, a->count, a->t, v[0], a->t, v[1], v[2])
RUN(combine, add_all, a->count, a->t, 4, (const void *[]){v[0], v[1], v[2], v[3]}, 1,
    (void *[]){v[4]})
RUN(combine, convert, a->count, a->t, v[0], a->other, v[1])

/* ---- the table ------------------------------------------------------------------------------- */

#define OPERAND(...) \
    {                \
        __VA_ARGS__  \
    }
/* All of an array of the problem's type; a number of each column, or of all. */
#define IN            OPERAND(POD_READS, POD_TYPE_PROBLEM, POD_EXTENT_ALL, false, 0)
#define OUT           OPERAND(POD_WRITES, POD_TYPE_PROBLEM, POD_EXTENT_ALL, false, 0)
#define IN_F          OPERAND(POD_READS, POD_TYPE_F32, POD_EXTENT_ALL, false, 0)
#define IN_POS        OPERAND(POD_READS, POD_TYPE_F32, POD_EXTENT_ALL, true, 0)
#define MOVES         OPERAND(POD_UPDATES, POD_TYPE_F32, POD_EXTENT_ALL, false, 0)
#define MOVES_POS     OPERAND(POD_UPDATES, POD_TYPE_F32, POD_EXTENT_ALL, true, 0)
#define OUT_F         OPERAND(POD_WRITES, POD_TYPE_F32, POD_EXTENT_ALL, false, 0)
#define OTHER         OPERAND(POD_WRITES, POD_TYPE_OTHER, POD_EXTENT_ALL, false, 0)
#define COL           OPERAND(POD_READS, POD_TYPE_F32, POD_EXTENT_COLUMNS, false, 0)
#define COL_POS       OPERAND(POD_READS, POD_TYPE_F32, POD_EXTENT_COLUMNS, true, 0)
#define OUT_COL       OPERAND(POD_WRITES, POD_TYPE_F32, POD_EXTENT_COLUMNS, false, 0)
#define SUM_COL(most) OPERAND(POD_SUMS, POD_TYPE_F32, POD_EXTENT_COLUMNS, false, (most))
/* Of terms that may have been stored as another bf16. */
#define STORED(most)  ((most)*0x1p10)
#define SUM_ALL(most) OPERAND(POD_SUMS, POD_TYPE_F32, POD_EXTENT_ONE, false, (most))
#define NEAR(extent, most) \
    OPERAND(POD_APPROXIMATES, POD_TYPE_F32, POD_EXTENT_##extent, false, (most))
#define LABELS      OPERAND(POD_READS, POD_TYPE_LABELS, POD_EXTENT_ROWS, false, 0)
#define PIXELS      OPERAND(POD_READS, POD_TYPE_U8, POD_EXTENT_ALL, false, 0)
#define ROW         OPERAND(POD_READS, POD_TYPE_F32, POD_EXTENT_ROWS, false, 0)
#define ROW_POS     OPERAND(POD_READS, POD_TYPE_F32, POD_EXTENT_ROWS, true, 0)
#define ABOUT(most) OPERAND(POD_APPROXIMATES, POD_TYPE_PROBLEM, POD_EXTENT_ALL, false, (most))
#define OP(family, function, n, ...)                                              \
    {                                                                             \
        POD_FAMILY_##family, #function, family##_##function, (n), { __VA_ARGS__ } \
    }

static const pod_vector_op ops[] = {
    OP(pointwise, cast, 2, IN, OTHER),
    OP(pointwise, relu, 2, IN, OUT),
    OP(pointwise, relu_grad, 3, IN, IN, OUT),
    OP(pointwise, add, 3, IN, IN, OUT),
    OP(pointwise, bias_add, 3, IN, COL, OUT),
    OP(pointwise, axpby, 3, IN_F, IN_F, OUT_F),
    OP(pointwise, normalize_u8, 4, PIXELS, COL, COL, OUT),
    OP(norm, sums, 3, IN, SUM_COL(1), SUM_COL(1)),
    OP(norm, moments, 5, COL, COL_POS, OUT_COL, OUT_COL, OUT_COL),
    OP(norm, apply, 6, IN, COL, COL_POS, COL, COL, OUT),
    OP(norm, grad_sums, 6, IN, IN, COL, COL_POS, SUM_COL(3), SUM_COL(1)),
    OP(norm, grad_apply, 8, IN, IN, COL, COL_POS, COL, COL, COL, OUT),
    OP(norm, fold, 6, COL, COL_POS, COL, COL, OUT_COL, OUT_COL),
    OP(norm, apply_act, 5, IN, COL, COL, IN, OUT),
    OP(norm, grad_sums_act, 8, IN, IN, COL, COL, COL, COL_POS, SUM_COL(3), SUM_COL(1)),
    OP(norm, apply_swish, 4, IN, COL, COL, ABOUT(2)),
    OP(norm, grad_sums_swish, 9, IN, IN, COL, COL, COL, COL_POS, ABOUT(16), SUM_COL(STORED(3)),
       SUM_COL(STORED(1))),
    OP(norm, grad_apply_act, 10, IN, IN, COL, COL, COL, COL_POS, COL, COL, COL, OUT),
    OP(layernorm, apply, 6, IN, COL, COL, ABOUT(16), NEAR(ROWS, 16), NEAR(ROWS, 16)),
    OP(layernorm, grad_x, 6, IN, IN, ROW, ROW_POS, COL, ABOUT(64)),
    OP(layernorm, grad_params, 6, IN, IN, ROW, ROW_POS, SUM_COL(3), SUM_COL(1)),
    OP(gate, sigmoid, 2, IN, NEAR(ALL, 1)),
    OP(gate, sigmoid_grad, 3, IN_F, IN_F, OUT),
    OP(gate, swish, 2, IN, ABOUT(1)),
    OP(gate, swish_grad, 3, IN, IN, ABOUT(2)),
    OP(gate, scale, 3, IN, COL, OUT),
    OP(gate, mean_grad, 4, IN, COL, {POD_READS, POD_TYPE_PROBLEM, POD_EXTENT_COLUMNS, false, 0},
       OUT),
    OP(gate, sums, 3, IN, IN, SUM_COL(1)),
    OP(reduce, sum_sq, 2, IN_F, SUM_ALL(1)),
    OP(reduce, sum_sq_wide, 2, IN_F, {POD_WRITES, POD_TYPE_F32, POD_EXTENT_ONE, false, 0}),
    OP(reduce, col_sum, 2, IN, SUM_COL(1)),
    OP(softmax, loss, 3, IN_F, LABELS, NEAR(ONE, 32)),
    OP(softmax, grad, 3, IN_F, LABELS, NEAR(ALL, 1)),
    OP(softmax, loss_grad, 4, IN_F, LABELS, NEAR(ONE, 32), NEAR(ALL, 1)),
    OP(softmax, correct, 3, IN_F, LABELS, {POD_WRITES, POD_TYPE_F32, POD_EXTENT_ONE, false, 0}),
    OP(pool, max, 2, IN, {POD_WRITES, POD_TYPE_PROBLEM, POD_EXTENT_OUTPUT, false, 0}),
    OP(pool, max_grad, 3, IN, {POD_READS, POD_TYPE_PROBLEM, POD_EXTENT_OUTPUT, false, 0}, OUT),
    OP(pool, mean, 2, IN, {POD_WRITES, POD_TYPE_PROBLEM, POD_EXTENT_MEANS, false, 0}),
    OP(pool, mean_grad, 2, {POD_READS, POD_TYPE_PROBLEM, POD_EXTENT_MEANS, false, 0}, OUT),
    OP(update, momentum_outer, 3, IN_F, MOVES, MOVES),
    OP(update, momentum_inner, 3, IN_F, MOVES, MOVES),
    OP(update, rmsprop, 4, IN_F, MOVES_POS, MOVES, MOVES),
    OP(update, adam_step, 4, IN_F, MOVES, MOVES_POS, MOVES),
    OP(update, adam_norms, 6, IN_F, IN_F, MOVES, MOVES_POS, SUM_ALL(1), SUM_ALL(100)),
    OP(update, adam_direction, 5, IN_F, IN_F, MOVES, MOVES_POS, OUT_F),
    OP(update, adam_descend, 3, IN_F, IN_POS, MOVES),
    OP(combine, add, 3, IN, IN, OUT),
    OP(combine, add_all, 5, IN, IN, IN, IN, OUT),
    OP(combine, convert, 2, IN, OTHER),
};

const pod_vector_op *pod_vector_find(const pod_problem *p)
{
    char op[64];
    pod_problem_print_op(p, op, sizeof op);
    const char *function = strchr(op, '.');
    for (size_t i = 0; function && i < sizeof ops / sizeof ops[0]; i++)
        if (ops[i].family == p->family && strcmp(ops[i].function, function + 1) == 0)
            return &ops[i];
    return NULL;
}

#define SETS(family)                                            \
    case POD_FAMILY_##family: {                                 \
        const pod_##family *const *set = pod_##family##_sets(); \
        while (*set && i > 0) set++, i--;                       \
        if (!*set) return NULL;                                 \
        *name = (*set)->name;                                   \
        *needs = (*set)->needs;                                 \
        return *set;                                            \
    }

const void *pod_vector_set(pod_family_id family, int i, const char **name, uint32_t *needs)
{
    switch (family) {
        SETS(depthwise)
        SETS(pointwise)
        SETS(norm)
        SETS(layernorm)
        SETS(gate)
        SETS(reduce)
        SETS(softmax)
        SETS(pool)
        SETS(update)
        SETS(combine)
    default: return NULL;
    }
}

bool pod_vector_is_f32_only(const pod_problem *p)
{
    const pod_vector_op *op = pod_vector_find(p);
    for (int i = 0; op && i < op->n_operands; i++)
        if (op->operand[i].type <= POD_TYPE_OTHER) return false;
    return op != NULL;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

int64_t pod_vector_count(const pod_problem *p, const pod_vector_operand *o)
{
    const pod_conv_shape *s = &p->conv;
    const bool is_image = p->family == POD_FAMILY_pool;
    const int64_t rows = is_image ? s->n * s->h * s->w : p->rows, c = is_image ? s->c : p->columns;
    switch (o->extent) {
    case POD_EXTENT_ALL: return rows * c;
    case POD_EXTENT_OUTPUT: return s->n * s->p * s->q * s->c;
    case POD_EXTENT_MEANS: return s->n * s->c;
    case POD_EXTENT_COLUMNS: return c;
    case POD_EXTENT_ROWS: return rows;
    default: return 1;
    }
}

pod_dtype pod_vector_dtype(const pod_problem *p, const pod_vector_operand *o)
{
    switch (o->type) {
    case POD_TYPE_PROBLEM: return p->dtype;
    case POD_TYPE_OTHER: return p->dtype == POD_F32 ? POD_BF16 : POD_F32;
    case POD_TYPE_U8: return POD_U8;
    case POD_TYPE_LABELS: return POD_I32;
    default: return POD_F32;
    }
}

double pod_vector_bytes(const pod_problem *p)
{
    const pod_vector_op *op = pod_vector_find(p);
    double bytes = 0;
    for (int i = 0; op && i < op->n_operands; i++) {
        const pod_vector_operand *o = &op->operand[i];
        bytes += (o->role == POD_UPDATES ? 2 : 1) * (double)pod_vector_count(p, o) *
                 (double)pod_dtype_bytes(pod_vector_dtype(p, o));
    }
    return bytes;
}
