/* The functions of vector_ops.def, their sets and sizes. */
#include <string.h>

#include "bench/kernels/vector.h"
#include "kernels/activation/activation.h"
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
#include "kernels/vocab_loss/vocab_loss.h"

static const float rate = 0.01f, momentum = 0.9f, decay = 1e-4f, eps = 1e-5f;
static const pod_rmsprop_attr rmsprop = {0.9f, 0.9f, 1e-3f, 1e-5f};
static const pod_drop drop_tenth = {1, 0.1f, false};
static const pod_adam_attr adam = {0.9f, 0.999f, 0.5f, 0.5f, 1e-6f, 0.01f};

static float sum_sq_wide(const pod_reduce *k, const pod_vector_args *a)
{
    pod_wide_sum sum = {{0}, 0};
    pod_binned digits[POD_WIDE_DIGITS];
    k->sum_sq_wide(a->count, a->v[0], &sum);
    pod_wide_sum_to_binned(&sum, digits);
    return pod_wide_sum_from_binned(digits);
}

static pod_pool_shape pool_shape(const pod_vector_args *a)
{
    const pod_conv_shape *s = &a->problem->conv;
    return (pod_pool_shape){s->n, s->h, s->w, s->c, s->p, s->q, s->r, s->stride, s->pad_h};
}

static int64_t n_images(const pod_vector_args *a) { return a->problem->conv.n; }
static int64_t n_pixels(const pod_vector_args *a) { return a->rows / n_images(a); }

static pod_gather_shape picks_of(const pod_vector_args *a)
{
    return (pod_gather_shape){1, a->rows, POD_VECTOR_PICKS, a->c};
}

#define POD_VECTOR(family, function, call, ...)                                \
    static void family##_##function(const void *set, const pod_vector_args *a) \
    {                                                                          \
        const pod_##family *k = set;                                           \
        void *const *v = a->v;                                                 \
        call;                                                                  \
    }
#include "bench/kernels/vector_ops.def"

/* ---- the table ------------------------------------------------------------------------------- */

#define OPERAND(...) \
    {                \
        __VA_ARGS__  \
    }
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
#define OUT_ONE     OPERAND(POD_WRITES, POD_TYPE_F32, POD_EXTENT_ONE, false, 0)
#define IN_COL      OPERAND(POD_READS, POD_TYPE_PROBLEM, POD_EXTENT_COLUMNS, false, 0)
#define IN_POOLED   OPERAND(POD_READS, POD_TYPE_PROBLEM, POD_EXTENT_OUTPUT, false, 0)
#define OUT_POOLED  OPERAND(POD_WRITES, POD_TYPE_PROBLEM, POD_EXTENT_OUTPUT, false, 0)
#define IN_MEANS    OPERAND(POD_READS, POD_TYPE_PROBLEM, POD_EXTENT_MEANS, false, 0)
#define OUT_MEANS   OPERAND(POD_WRITES, POD_TYPE_PROBLEM, POD_EXTENT_MEANS, false, 0)

/* Numbers of rows, what is looked up by them, and the rows that they stand for. */
#define IDS         OPERAND(POD_READS, POD_TYPE_IDS, POD_EXTENT_TOKENS, false, 0)
#define TABLE       OPERAND(POD_READS, POD_TYPE_F32, POD_EXTENT_TOKEN_TABLE, false, 0)
#define MOVES_TABLE OPERAND(POD_UPDATES, POD_TYPE_F32, POD_EXTENT_TOKEN_TABLE, false, 0)
#define IN_TOKENS   OPERAND(POD_READS, POD_TYPE_PROBLEM, POD_EXTENT_TOKEN_ROWS, false, 0)
#define OUT_TOKENS  OPERAND(POD_WRITES, POD_TYPE_PROBLEM, POD_EXTENT_TOKEN_ROWS, false, 0)
#define PLACES      OPERAND(POD_READS, POD_TYPE_IDS, POD_EXTENT_PICKS, false, 0)
#define PICKED_FROM OPERAND(POD_READS, POD_TYPE_PROBLEM, POD_EXTENT_PICK_TABLE, false, 0)
#define IN_PICKS    OPERAND(POD_READS, POD_TYPE_PROBLEM, POD_EXTENT_PICK_ROWS, false, 0)
#define OUT_PICKS   OPERAND(POD_WRITES, POD_TYPE_PROBLEM, POD_EXTENT_PICK_ROWS, false, 0)

static const pod_vector_op ops[] = {
#define POD_VECTOR(family, function, call, ...)                                             \
    {POD_FAMILY_##family,                                                                   \
     #function,                                                                             \
     family##_##function,                                                                   \
     (int)(sizeof((const pod_vector_operand[]){__VA_ARGS__}) / sizeof(pod_vector_operand)), \
     {__VA_ARGS__}},
#include "bench/kernels/vector_ops.def"
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
        SETS(activation)
        SETS(embed)
        SETS(gate)
        SETS(reduce)
        SETS(softmax)
        SETS(pool)
        SETS(update)
        SETS(combine)
        SETS(vocab_loss)
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
    case POD_EXTENT_TOKENS: return POD_VECTOR_TOKENS;
    case POD_EXTENT_TOKEN_ROWS: return POD_VECTOR_TOKENS * c;
    case POD_EXTENT_PICKS: return POD_VECTOR_PICKS;
    case POD_EXTENT_PICK_ROWS: return POD_VECTOR_PICKS * c;
    case POD_EXTENT_TOKEN_TABLE:
    case POD_EXTENT_PICK_TABLE: return rows * c;
    default: return 1;
    }
}

pod_dtype pod_vector_dtype(const pod_problem *p, const pod_vector_operand *o)
{
    switch (o->type) {
    case POD_TYPE_PROBLEM: return p->dtype;
    case POD_TYPE_OTHER: return p->dtype == POD_F32 ? POD_BF16 : POD_F32;
    case POD_TYPE_U8: return POD_U8;
    case POD_TYPE_LABELS:
    case POD_TYPE_IDS: return POD_I32;
    default: return POD_F32;
    }
}

/* Elements that one call uses. */
static int64_t n_used(const pod_problem *p, const pod_vector_operand *o)
{
    switch (o->extent) {
    case POD_EXTENT_TOKEN_TABLE: return POD_VECTOR_TOKENS * p->columns;
    case POD_EXTENT_PICK_TABLE: return POD_VECTOR_PICKS * p->columns;
    default: return pod_vector_count(p, o);
    }
}

double pod_vector_bytes(const pod_problem *p)
{
    const pod_vector_op *op = pod_vector_find(p);
    double bytes = 0;
    for (int i = 0; op && i < op->n_operands; i++) {
        const pod_vector_operand *o = &op->operand[i];
        bytes += (o->role == POD_UPDATES ? 2 : 1) * (double)n_used(p, o) *
                 (double)pod_dtype_bytes(pod_vector_dtype(p, o));
    }
    return bytes;
}
