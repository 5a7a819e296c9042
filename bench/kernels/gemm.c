/* Products: the kernels of kernels/gemm, and OpenBLAS on float32 operands as a peer. */
#include <math.h>
#include <string.h>

#include "bench/kernels/kernels.h"
#include "kernels/base/cpu.h"
#include "kernels/gemm/gemm.h"

typedef struct operands { /* of one type; a and b hold the same numbers in all */
    pod_operand a, b, c;
} operands;

typedef struct product {
    operands of_problem, of_peer; /* the peer's are float32 */
    const float *bias;            /* (N); NULL: not fused */
    pod_gemm_call call;           /* as the problem says; pointers are left out */
} product;

typedef struct call {
    pod_gemm_call call;
    const pod_gemm_kernel *kernel;
    void *scratch;
    pod_operand packed; /* of bytes; none: b as it lies */
} call;

static void run(const pod_contender *c, int set)
{
    const call *x = c->call;
    pod_gemm_call now = x->call;
    now.a = pod_operand_at(c->a, set);
    now.b = pod_operand_at(c->b, set);
    now.c = pod_operand_at(c->out, set);
    x->kernel->run(&now, x->scratch);
}

/* at: batch, m, n */
static pod_dot element(const pod_race *r, const int64_t at[])
{
    const product *p = r->operands;
    const pod_gemm_call *g = &p->call;
    const int64_t a = at[0] * g->stride_a, b = at[0] * g->stride_b, m = at[1], n = at[2];
    pod_dot sum = {0};
    for (int64_t k = 0; k < g->shape.k; k++)
        pod_dot_add(
            &sum,
            pod_operand_value(&p->of_problem.a, a + (g->trans_a ? k * g->lda + m : m * g->lda + k)),
            pod_operand_value(&p->of_problem.b,
                              b + (g->trans_b ? n * g->ldb + k : k * g->ldb + n)));
    if (g->fused & POD_GEMM_BIAS) pod_dot_add(&sum, (double)p->bias[n], 1);
    if (g->fused & POD_GEMM_RELU) sum.value = fmax(sum.value, 0);
    return sum;
}

static double err(const pod_race *r, const pod_contender *c)
{
    const pod_gemm_call *g = &((const product *)r->operands)->call;
    const int64_t dim[] = {g->n_batch, g->shape.m, g->shape.n};
    return pod_race_err(r, c->out, 3, dim, element);
}

/* ---- contenders ------------------------------------------------------------------------------ */

static pod_gemm_call call_of(const pod_problem *p, pod_dtype ab, pod_dtype c)
{
    const pod_gemm_shape s = p->product;
    return (pod_gemm_call){.shape = s,
                           .n_batch = p->n_batch,
                           .stride_a = s.m * s.k,
                           .stride_b = s.k * s.n,
                           .stride_c = s.m * s.n,
                           .trans_a = p->trans_a,
                           .trans_b = p->trans_b,
                           .ab_dtype = ab,
                           .c_dtype = c,
                           .lda = p->trans_a ? s.m : s.k,
                           .ldb = p->trans_b ? s.k : s.n,
                           .ldc = s.n,
                           .fused = p->fused};
}

static pod_status pack(pod_race *r, const pod_operand *b, call *x)
{
    const int64_t bytes = (int64_t)x->kernel->packed_bytes(&x->call);
    POD_TRY(pod_operand_room(r, POD_U8, bytes, &x->packed));
    for (int s = 0; s < r->n_sets; s++)
        x->kernel->pack(&x->call, x->call.ab_dtype, pod_operand_at(b, s),
                        pod_operand_at(&x->packed, s));
    return POD_OK;
}

static pod_status add(const pod_kernels_plan *plan, pod_race *r, const char *impl,
                      const pod_gemm_kernel *k, const pod_gemm_call *g, const operands *o)
{
    const bool is_packed = g->fused & POD_GEMM_PACKED_B;
    const char *lacks = pod_cpu_why_not(k->needs);
    if (!pod_race_admits(plan, r, impl, lacks ? lacks : k->why_not(g))) return POD_OK;
    const pod_choice how = pod_race_choice(plan);
    const bool is_peer = o == &((const product *)r->operands)->of_peer;
    call *x = POD_ARENA_NEW(r->arena, call, 1);
    if (!x) return POD_E_NOMEM;
    *x = (call){.call = *g, .kernel = k};
    x->call.bias = ((const product *)r->operands)->bias;
    x->scratch = pod_arena_get(r->arena, POD_RACE_ALIGN, k->scratch_bytes(g));
    if (!x->scratch) return POD_E_NOMEM;
    if (is_packed) POD_TRY(pack(r, &o->b, x));
    pod_problem as_f32 = r->problem;
    as_f32.dtype = as_f32.c_dtype = POD_F32;
    pod_race_add(r, &(pod_contender){.impl = impl,
                                     .is_packed = is_packed,
                                     .is_picked = !is_peer && pod_gemm_pick(&how, g) == k,
                                     .is_peer = is_peer,
                                     .peak = g->ab_dtype,
                                     .bytes = is_peer ? pod_problem_bytes(&as_f32) : 0,
                                     .a = &o->a,
                                     .b = is_packed ? &x->packed : &o->b,
                                     .out = &o->c,
                                     .run = run,
                                     .err = err,
                                     .call = x});
    return POD_OK;
}

/* A kernel that takes packed weights stands twice, unless --packed says how. */
static pod_status add_kernels(const pod_kernels_plan *plan, pod_race *r)
{
    const product *p = r->operands;
    int n;
    const pod_gemm_kernel *k = pod_gemm_kernels(&n);
    pod_gemm_call g = p->call, packed = g;
    packed.fused |= POD_GEMM_PACKED_B;
    POD_TRY(pod_gemm_check(&g));
    for (int i = 0; i < n; i++) {
        const bool takes_packed = k[i].packed_bytes && g.n_batch == 1;
        if (takes_packed && plan->with_packed)
            POD_TRY(add(plan, r, k[i].name, &k[i], &packed, &p->of_problem));
        if (plan->with_unpacked || !takes_packed)
            POD_TRY(add(plan, r, k[i].name, &k[i], &g, &p->of_problem));
    }
    if (r->problem.dtype == POD_F32) return POD_OK;
    g = call_of(&r->problem, POD_F32, POD_F32);
    return add(plan, r, "sgemm", pod_gemm_find("blas"), &g, &p->of_peer);
}

static pod_status make_operands(pod_race *r, pod_dtype ab, pod_dtype c, operands *out)
{
    const pod_problem *p = &r->problem;
    const pod_gemm_shape s = p->product;
    POD_TRY(pod_operand_random(r, ab, p->n_batch * s.m * s.k, 1, &out->a));
    POD_TRY(pod_operand_random(r, ab, p->n_batch * s.k * s.n, 2, &out->b));
    return pod_operand_room(r, c, p->n_batch * s.m * s.n, &out->c);
}

pod_status pod_race_gemm(const pod_kernels_plan *plan, pod_race *r)
{
    const pod_problem *p = &r->problem;
    product *all = r->operands = POD_ARENA_NEW(r->arena, product, 1);
    if (!all) return POD_E_NOMEM;
    all->call = call_of(p, p->dtype, p->c_dtype);
    POD_TRY(make_operands(r, p->dtype, p->c_dtype, &all->of_problem));
    if (p->dtype != POD_F32) POD_TRY(make_operands(r, POD_F32, POD_F32, &all->of_peer));
    if (p->fused & POD_GEMM_BIAS) {
        pod_operand bias;
        POD_TRY(pod_operand_random(r, POD_F32, p->product.n, 3, &bias));
        all->bias = pod_operand_at(&bias, 0);
    }
    POD_TRY(add_kernels(plan, r));
    const operands *o = &all->of_problem;
    return pod_race_add_peers(plan, r,
                              &(pod_contender){.a = &o->a, .b = &o->b, .out = &o->c, .err = err});
}
