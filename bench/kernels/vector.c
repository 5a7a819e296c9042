/* Kernels whose time is that of memory, held against a copy of as many bytes, and against the
 * reference's results on the same numbers: to the bit where sets promise the same bits, within what
 * roundings allow where they do not. */
#include "bench/kernels/vector.h"

#include <math.h>
#include <string.h>

#include "kernels/base/cpu.h"
#include "kernels/base/rng.h"
#include "kernels/base/simd/loop.h"

typedef struct operands {
    const pod_vector_op *op;
    const void *reference; /* set */
    pod_operand v[POD_MAX_VECTOR_OPERANDS];
    void *before[POD_MAX_VECTOR_OPERANDS]; /* set 0 of what is updated, as it was; else NULL */
    void *want[POD_MAX_VECTOR_OPERANDS];   /* what the reference leaves; NULL: it only reads */
} operands;

static pod_vector_args args_of(const pod_race *r, int set)
{
    const operands *o = r->operands;
    const pod_problem *p = &r->problem;
    const pod_conv_shape *s = &p->conv;
    const bool is_image = p->family == POD_FAMILY_pool;
    pod_vector_args a = {.problem = p,
                         .t = p->dtype,
                         .other = p->dtype == POD_F32 ? POD_BF16 : POD_F32,
                         .rows = is_image ? s->n * s->h * s->w : p->rows,
                         .c = is_image ? s->c : p->columns};
    a.count = a.rows * a.c;
    for (int i = 0; i < o->op->n_operands; i++) a.v[i] = pod_operand_at(&o->v[i], set);
    return a;
}

typedef struct call {
    const pod_race *race;
    const void *set;
} call;

static void run(const pod_contender *c, int set)
{
    const call *x = c->call;
    const operands *o = x->race->operands;
    const pod_vector_args a = args_of(x->race, set);
    o->op->run(x->set, &a);
}

static void run_copy(const pod_contender *c, int set)
{
    memcpy(pod_operand_at(c->b, set), pod_operand_at(c->a, set), c->a->stride);
}

/* memcpy writes past the caches when much is to be copied; pieces stay in them. */
static void run_copy_in_pieces(const pod_contender *c, int set)
{
    const char *from = pod_operand_at(c->a, set);
    char *to = pod_operand_at(c->b, set);
    const size_t piece = 65536, bytes = c->a->stride;
    for (size_t at = 0; at < bytes; at += piece)
        memcpy(to + at, from + at, bytes - at < piece ? bytes - at : piece);
}

/* ---- right or wrong -------------------------------------------------------------------------- */

static size_t bytes_of(const pod_operand *o)
{
    return pod_dtype_bytes(o->dtype) * (size_t)o->count;
}

/* Set 0 as before any call: what is written is not there. */
static void reset(const operands *o)
{
    for (int i = 0; i < o->op->n_operands; i++) {
        if (o->before[i])
            memcpy(o->v[i].data, o->before[i], bytes_of(&o->v[i]));
        else if (o->op->operand[i].role != POD_READS)
            pod_operand_spoil(&o->v[i]);
    }
}

/* Terms that one number of the operand is a sum of. */
static double n_terms(const pod_race *r, const pod_vector_operand *v)
{
    const pod_vector_args a = args_of(r, 0);
    if (v->role == POD_APPROXIMATES) return 1;
    return v->extent == POD_EXTENT_ONE ? (double)a.count : (double)a.rows;
}

/* Of one operand: 0 for the same bits. Both its value and the reference's may be off. */
static double operand_err(const pod_race *r, int i)
{
    const operands *o = r->operands;
    const pod_vector_operand *v = &o->op->operand[i];
    const pod_operand *got = &o->v[i];
    const pod_operand want = {.dtype = got->dtype, .count = got->count, .data = o->want[i]};
    if (v->role == POD_READS || memcmp(got->data, want.data, bytes_of(got)) == 0) return 0;
    if (v->role == POD_WRITES || v->role == POD_UPDATES) return (double)INFINITY;
    const double rounding = got->dtype == POD_BF16 ? ldexp(1, -8) : 0; /* as it is stored */
    const double bound =
        2 * ((POD_SUM_CHAIN + 4) * ldexp(1, -24) * n_terms(r, v) + rounding) * v->most;
    double worst = 0;
    for (int64_t k = 0; k < got->count; k++) {
        const double off = fabs(pod_operand_value(got, k) - pod_operand_value(&want, k));
        worst = isnan(off) ? (double)INFINITY : fmax(worst, off / bound);
    }
    return worst;
}

static double err(const pod_race *r, const pod_contender *c)
{
    const operands *o = r->operands;
    double worst = 0;
    reset(o);
    c->run(c, 0);
    for (int i = 0; i < o->op->n_operands; i++) worst = fmax(worst, operand_err(r, i));
    return worst;
}

static pod_status keep_wants(pod_race *r, operands *o)
{
    reset(o);
    const pod_vector_args a = args_of(r, 0);
    o->op->run(o->reference, &a);
    for (int i = 0; i < o->op->n_operands; i++) {
        if (o->op->operand[i].role == POD_READS) continue;
        o->want[i] = pod_arena_copy(r->arena, o->v[i].data, POD_RACE_ALIGN, bytes_of(&o->v[i]));
        if (!o->want[i]) return POD_E_NOMEM;
    }
    return POD_OK;
}

/* ---- operands -------------------------------------------------------------------------------- */

static void fill_whole(const pod_operand *o, uint64_t below)
{
    pod_rng rng = pod_rng_at(11, (pod_place){.stream = POD_STREAM_TEST});
    for (int64_t i = 0; i < o->count; i++) {
        const uint64_t number = pod_rng_below(&rng, below);
        if (o->dtype == POD_U8)
            ((uint8_t *)o->data)[i] = (uint8_t)number;
        else
            ((int32_t *)(void *)o->data)[i] = (int32_t)number;
    }
}

static void make_positive(const pod_operand *o)
{
    float *x = (float *)(void *)o->data;
    for (int64_t i = 0; i < o->count; i++) x[i] = 1 + 0.5f * x[i];
}

static pod_status make_operand(pod_race *r, operands *o, int i)
{
    const pod_vector_operand *v = &o->op->operand[i];
    const pod_dtype t = pod_vector_dtype(&r->problem, v);
    const int64_t count = pod_vector_count(&r->problem, v);
    const bool is_filled = v->role == POD_READS || v->role == POD_UPDATES;
    pod_operand *made = &o->v[i];
    if (!is_filled) return pod_operand_room(r, t, count, made);
    if (t == POD_F32 || t == POD_BF16) {
        POD_TRY(pod_operand_random(r, t, count, (uint64_t)i + 1, made));
        if (v->is_positive) make_positive(made);
    } else {
        POD_TRY(pod_operand_room(r, t, count, made));
        fill_whole(made, v->type == POD_TYPE_U8    ? 256
                         : v->type == POD_TYPE_IDS ? (uint64_t)r->problem.rows
                                                   : (uint64_t)r->problem.columns);
    }
    for (int s = 1; s < r->n_sets; s++) memcpy(pod_operand_at(made, s), made->data, made->stride);
    if (v->role != POD_UPDATES) return POD_OK;
    o->before[i] = pod_arena_copy(r->arena, made->data, POD_RACE_ALIGN, bytes_of(made));
    return o->before[i] ? POD_OK : POD_E_NOMEM;
}

static pod_status make_operands(pod_race *r)
{
    operands *o = r->operands = POD_ARENA_NEW(r->arena, operands, 1);
    const char *name;
    uint32_t needs;
    if (!o) return POD_E_NOMEM;
    o->op = pod_vector_find(&r->problem);
    for (int i = 0; pod_vector_set(r->problem.family, i, &name, &needs); i++)
        o->reference = pod_vector_set(r->problem.family, i, &name, &needs);
    for (int i = 0; i < o->op->n_operands; i++) POD_TRY(make_operand(r, o, i));
    return keep_wants(r, o);
}

/* ---- contenders ------------------------------------------------------------------------------ */

static double copy_err(const pod_race *r, const pod_contender *c)
{
    (void)r;
    pod_operand_spoil(c->b);
    c->run(c, 0);
    return memcmp(c->a->data, c->b->data, bytes_of(c->a)) == 0 ? 0 : (double)INFINITY;
}

/* Half of the bytes read, half of them written; nothing else does its work without arithmetic. */
static pod_status add_copies(const pod_kernels_plan *plan, pod_race *r)
{
    static const struct {
        const char *name;
        void (*run)(const pod_contender *c, int set);
    } copies[] = {{"memcpy", run_copy}, {"memcpy64k", run_copy_in_pieces}};
    pod_operand *from = POD_ARENA_NEW(r->arena, pod_operand, 2), *to = from + 1;
    const int64_t bytes = (int64_t)(r->bytes / 2) + 1;
    if (!from) return POD_E_NOMEM;
    POD_TRY(pod_operand_room(r, POD_U8, bytes, from));
    POD_TRY(pod_operand_room(r, POD_U8, bytes, to));
    fill_whole(from, 256);
    for (int s = 1; s < r->n_sets; s++) memcpy(pod_operand_at(from, s), from->data, from->stride);
    for (int i = 0; i < 2; i++)
        if (pod_race_wants(plan, copies[i].name))
            pod_race_add(r, &(pod_contender){.impl = copies[i].name,
                                             .is_copy = true,
                                             .a = from,
                                             .b = to,
                                             .run = copies[i].run,
                                             .err = copy_err});
    return POD_OK;
}

pod_status pod_race_vector(const pod_kernels_plan *plan, pod_race *r)
{
    const char *name;
    uint32_t needs;
    const void *set;
    bool is_taken = false;
    const bool is_other_type = r->problem.dtype != POD_F32 && pod_vector_is_f32_only(&r->problem);
    if (!is_other_type) POD_TRY(make_operands(r));
    for (int i = 0; (set = pod_vector_set(r->problem.family, i, &name, &needs)); i++) {
        const char *why_not = is_other_type ? "takes float32 alone" : pod_cpu_why_not(needs);
        /* The first that runs here, as each family's pick says. */
        const bool is_picked = !why_not && !is_taken;
        is_taken = is_taken || is_picked;
        if (!pod_race_admits(plan, r, name, why_not)) continue;
        call *x = POD_ARENA_NEW(r->arena, call, 1);
        if (!x) return POD_E_NOMEM;
        *x = (call){.race = r, .set = set};
        pod_race_add(r,
                     &(pod_contender){
                         .impl = name, .is_picked = is_picked, .run = run, .err = err, .call = x});
    }
    return r->n_contenders > 0 ? add_copies(plan, r) : POD_OK;
}
