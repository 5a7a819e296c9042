/* Attention of packed sequences: a part gives bit by bit what it gives alone, in every set. */
#include "kernels/attention/attention.h"
#include "tests/unit/kernels/kernel_test.h"

static int64_t queries_count(const pod_attention_shape *s)
{
    return s->n * s->sq * s->heads * s->d;
}
static int64_t keys_count(const pod_attention_shape *s) { return s->n * s->sk * s->heads * s->d; }

/* What goes into the kernels and comes out of them, of a batch or of a part of a sequence. */
typedef struct run {
    pod_attention_shape s;
    tensor q, k, v, d_o, o, lse, dq, dk, dv;
} run;

static run run_make(const pod_attention_shape *s)
{
    const int64_t q = queries_count(s), k = keys_count(s);
    return (run){*s,
                 tensor_random(1, s->t, q),
                 tensor_random(2, s->t, k),
                 tensor_random(3, s->t, k),
                 tensor_random(4, s->t, q),
                 tensor_new(s->t, q),
                 tensor_new(POD_F32, s->n * s->heads * s->sq),
                 tensor_new(s->t, q),
                 tensor_new(s->t, k),
                 tensor_new(s->t, k)};
}

static void run_free(run *r)
{
    tensor *all[] = {&r->q, &r->k, &r->v, &r->d_o, &r->o, &r->lse, &r->dq, &r->dk, &r->dv};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) tensor_free(all[i]);
}
#define RUN __attribute__((cleanup(run_free))) run

static void run_with(const pod_attention_kernels *set, run *r, pod_attention_inputs in)
{
    TENSOR scratch = tensor_new(POD_U8, (int64_t)set->scratch_bytes(&r->s));
    in.q = r->q.data, in.k = r->k.data, in.v = r->v.data;
    set->forward(&r->s, &in, r->o.data, r->lse.data, scratch.data);
    set->backward(&r->s, &in, r->o.data, r->lse.data, r->d_o.data, r->dq.data, r->dk.data,
                  r->dv.data, scratch.data);
}

/* Elements of tokens, which stand together; lse has its queries behind each head. */
static void copy_tokens(const run *from, const tensor *x, int64_t first, tensor *part)
{
    for (int64_t i = 0; i < part->count; i++)
        pod_test_put(part->t, part->data, i, tensor_get(x, first * from->s.heads * from->s.d + i));
}

static bool is_part(const run *all, const tensor *x, int64_t first, const tensor *part)
{
    int64_t n_other = 0;
    for (int64_t i = 0; i < part->count; i++)
        n_other += tensor_get(x, first * all->s.heads * all->s.d + i) != tensor_get(part, i);
    return n_other == 0;
}

static bool is_part_of_lse(const run *all, int64_t n, int64_t q, const run *part)
{
    int64_t n_other = 0;
    for (int64_t h = 0; h < part->s.heads; h++)
        for (int64_t i = 0; i < part->s.sq; i++)
            n_other += tensor_get(&all->lse, (n * all->s.heads + h) * all->s.sq + q + i) !=
                       tensor_get(&part->lse, h * part->s.sq + i);
    return n_other == 0;
}

/* A part gives what it gives alone, bit by bit. */
static void check_part(const pod_attention_kernels *set, const run *all, int64_t n,
                       const pod_attention_part *part)
{
    pod_attention_shape s = all->s;
    s.n = 1, s.n_parts = 0, s.sq = part->sq, s.sk = part->sk;
    RUN alone = run_make(&s);
    const int64_t q = n * all->s.sq + part->q, k = n * all->s.sk + part->k;
    copy_tokens(all, &all->q, q, &alone.q);
    copy_tokens(all, &all->k, k, &alone.k);
    copy_tokens(all, &all->v, k, &alone.v);
    copy_tokens(all, &all->d_o, q, &alone.d_o);
    const int32_t keys = (int32_t)part->keys;
    run_with(set, &alone, (pod_attention_inputs){.lengths = &keys});
    POD_CHECK(is_part(all, &all->o, q, &alone.o) && is_part_of_lse(all, n, part->q, &alone) &&
                  is_part(all, &all->dq, q, &alone.dq) && is_part(all, &all->dk, k, &alone.dk) &&
                  is_part(all, &all->dv, k, &alone.dv),
              "%s %s%s: sequence %d, queries from %d on differ from those alone", set->name,
              pod_dtype_name(s.t), s.causal ? " causal" : "", (int)n, (int)part->q);
}

/* Parts of any size, one without queries, one without keys, ends that fall or lie outside. */
static void test_parts(void)
{
    enum { N = 3, PARTS = 3 };
    static const int32_t q_ends[N * PARTS] = {7, 7, 30, 70, 60, 99, -1, 5, 11};
    static const int32_t k_ends[N * PARTS] = {5, 12, 90, 0, 66, 90, 3, 3, 4};
    for (int i = 0; i < 4; i++) {
        const pod_attention_shape s = {.n = N,
                                       .sq = 70,
                                       .sk = i % 2 ? 70 : 90,
                                       .heads = 2,
                                       .d = 20,
                                       .n_parts = PARTS,
                                       .t = i < 2 ? POD_F32 : POD_BF16,
                                       .scale = 0.5f,
                                       .causal = i % 2};
        const pod_attention_inputs in = {.q_ends = q_ends, .k_ends = s.causal ? q_ends : k_ends};
        EACH_SET(attention_kernels, set) {
            RUN all = run_make(&s);
            run_with(set, &all, in);
            for (int64_t n = 0; n < N; n++) {
                pod_attention_part part = {0};
                for (int64_t r = 0; pod_attention_next_part(&s, &in, n, r, &part); r++)
                    if (part.sq > 0 && part.sk > 0) check_part(set, &all, n, &part);
            }
        }
    }
}

POD_TEST_SUITE("attention_parts", {"parts", test_parts});
