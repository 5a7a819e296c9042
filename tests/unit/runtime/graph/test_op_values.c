/* runtime/ops: the numbers. Ops without a gradient against their formulas in double precision; all
 * cases of the gradients' table on fast kernels against the reference, in bfloat16 against float32,
 * and in place against apart. The last test asks whether every op of the table was run by one of
 * these. */
#include <math.h>
#include <stdio.h>

#include "kernels/attention/attention.h"
#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"
#include "runtime/passes/passes.h"
#include "tests/harness/harness.h"
#include "tests/unit/runtime/graph/op_cases.h"

enum { COUNT = 37 }; /* of the tensors in formulas: no multiple of a vector */

typedef struct bench {
    pod_graph *g;
    pod_interp *it;
} bench;

static bench open_bench(void)
{
    bench b = {0};
    POD_CHECK_OK(pod_graph_create(pod_test_arena(), &b.g));
    return b;
}

/* Lowers and fills. */
static void fill_bench(bench *b, uint32_t cpu)
{
    POD_CHECK_OK(pod_graph_finish(b->g));
    POD_CHECK_OK(pod_interp_create(b->g, cpu, &b->it));
    op_fill(b->it, b->g, 5, false);
}

static void set_scalar(bench *b, const char *name, float value)
{
    for (int i = 0; i < pod_graph_n_inputs(b->g); i++)
        if (strcmp(pod_graph_input(b->g, i)->name, name) == 0)
            *(float *)pod_interp_data(b->it, pod_graph_input(b->g, i)->value) = value;
}

/* Also in place. */
static void run_filled(bench *b)
{
    pod_interp_run(b->it, -1);
    pod_interp_check_in_place(b->it);
}

/* All of it, with one of the scalar inputs set; NULL: none. */
static void run_bench(bench *b, uint32_t cpu, const char *name, float scalar)
{
    fill_bench(b, cpu);
    if (name) set_scalar(b, name, scalar);
    run_filled(b);
}

static pod_value state(pod_graph *g, const char *name, pod_role role)
{
    const pod_shape s = {1, {COUNT}};
    const pod_init init = {POD_INIT_NORMAL, 1};
    return role == POD_ROLE_STATE ? pod_variable(g, name, s, init, role)
                                  : pod_weight(g, name, s, init, role);
}

static pod_value scalar_input(pod_graph *g, const char *name)
{
    return pod_input(g, name, pod_type_of(POD_F32, 0, NULL), POD_NO_BATCH);
}

static pod_value tensor_input(pod_graph *g, const char *name)
{
    return pod_input(g, name, pod_type_of(POD_F32, 1, (int64_t[]){COUNT}), 0);
}

/* Element by element against want, within so many roundings of what `reach` is the size of. */
static void check_values(const char *what, bench *b, pod_value v, const double *want, double reach,
                         int roundings)
{
    const int64_t n = pod_shape_count(&pod_graph_type(b->g, v)->shape);
    for (int64_t i = 0; i < n; i++) {
        const double got = pod_interp_get(b->it, v, i);
        POD_CHECK(pod_test_near(got, want[i], roundings * pod_test_roundoff(POD_F32) * reach),
                  "%s: element %d is %.9g, want %.9g", what, (int)i, got, want[i]);
    }
}

static pod_value from_wide(pod_graph *g, pod_value sum)
{
    return pod_op_add1(g, pod_op_find("from_wide"), NULL, 0, &sum, 1);
}

static double sum_sq(bench *b, pod_value v)
{
    double sum = 0;
    for (int i = 0; i < COUNT; i++) sum += pow(pod_interp_get(b->it, v, i), 2);
    return sum;
}

/* ---- updates ------------------------------------------------------------------------------- */

enum { NESTEROV = 1, INSIDE = 2, TRUST = 4, ZERO_WEIGHT = 8, ZERO_GRAD = 16 };

static void check_momentum(int how, uint32_t cpu)
{
    const bool trust = how & TRUST;
    const float lr = 0.25f, momentum = 0.875f, decay = 0.0625f, eta = 0.5f, eps = 0.125f;
    bench b = open_bench();
    pod_value w = state(b.g, "w", POD_ROLE_WEIGHT), v = state(b.g, "v", POD_ROLE_STATE);
    pod_value g = tensor_input(b.g, "grad"), nothing = {0};
    if (how & ZERO_GRAD) g = pod_scale(b.g, 0, g);
    const pod_value w_sq =
        trust ? pod_sum_sq(b.g, how & ZERO_WEIGHT ? pod_scale(b.g, 0, w) : w) : nothing;
    const pod_value g_sq = trust ? pod_sum_sq(b.g, g) : nothing;
    pod_momentum_update(b.g, w, v, g, scalar_input(b.g, "lr"), w_sq, g_sq,
                        (pod_momentum_attr){.momentum = momentum,
                                            .decay = decay,
                                            .nesterov = how & NESTEROV,
                                            .rate_inside = how & INSIDE,
                                            .trust = trust,
                                            .eta = eta,
                                            .eps = eps});
    run_bench(&b, cpu, "lr", lr);
    double rate = (double)lr, want_w[COUNT], want_v[COUNT];
    const double w_norm = sqrt(sum_sq(&b, w)), g_norm = sqrt(sum_sq(&b, g));
    if (trust && !(how & (ZERO_WEIGHT | ZERO_GRAD)))
        rate *= (double)eta * w_norm / (g_norm + (double)decay * w_norm + (double)eps);
    for (int i = 0; i < COUNT; i++) {
        const double w0 = pod_interp_get(b.it, w, i), v0 = pod_interp_get(b.it, v, i);
        double e = pod_interp_get(b.it, g, i) + (double)decay * w0;
        if (how & INSIDE) e *= rate;
        want_v[i] = (double)momentum * v0 + e;
        const double d = how & NESTEROV ? e + (double)momentum * want_v[i] : want_v[i];
        want_w[i] = w0 - (how & INSIDE ? d : rate * d);
    }
    char name[32];
    snprintf(name, sizeof name, "momentum %d", how);
    for (int i = 0; i < pod_graph_n_variables(b.g); i++) {
        const pod_variable_info *info = pod_graph_variable(b.g, i);
        if (info->value.id == w.id) check_values(name, &b, info->assigned, want_w, 4, 8);
        if (info->value.id == v.id) check_values(name, &b, info->assigned, want_v, 4, 8);
        POD_CHECK((info->assigned.id != 0) == (info->value.id == w.id || info->value.id == v.id),
                  "%s: '%s' is not assigned as it should", name, info->name);
    }
    pod_interp_destroy(b.it);
}

static void momentum_follows_its_formula(void)
{
    for (int t = 0; t < OP_N_TARGETS; t++)
        for (int how = 0; how < 2 * ZERO_GRAD; how++) check_momentum(how, op_target_cpu(t));
}

/* m and v, then w - lr u with the corrections of `step`, or with trust w - lr |w|/|u| u. */
static void check_adam(float step, bool trust, bool zero_weight, uint32_t cpu)
{
    const pod_adam_update_attr attr = {
        .beta1 = .875f, .beta2 = .9375f, .eps = .25f, .decay = .125f};
    const float lr = 0.125f;
    bench b = open_bench();
    pod_value w = state(b.g, "w", POD_ROLE_WEIGHT), m = state(b.g, "m", POD_ROLE_STATE);
    pod_value root = state(b.g, "root", POD_ROLE_STATE), v = state(b.g, "v", POD_ROLE_STATE);
    pod_value g = tensor_input(b.g, "grad");
    pod_value step_input = scalar_input(b.g, "step"), lr_input = scalar_input(b.g, "lr");
    (trust ? pod_lamb_update : pod_adam_update)(b.g, w, m, v, g, step_input, lr_input, attr);
    fill_bench(&b, cpu);
    for (int i = 0; i < COUNT; i++) { /* v is a mean of squares */
        const float r = ((float *)pod_interp_data(b.it, root))[i];
        ((float *)pod_interp_data(b.it, v))[i] = r * r;
        if (zero_weight) ((float *)pod_interp_data(b.it, w))[i] = 0;
    }
    set_scalar(&b, "step", step);
    set_scalar(&b, "lr", lr);
    run_filled(&b);
    double want_m[COUNT], want_v[COUNT], want_u[COUNT], want_w[COUNT], u_sq = 0;
    const double b1 = (double)attr.beta1, b2 = (double)attr.beta2;
    for (int i = 0; i < COUNT; i++) {
        const double g0 = pod_interp_get(b.it, g, i), w0 = pod_interp_get(b.it, w, i);
        want_m[i] = b1 * pod_interp_get(b.it, m, i) + (1 - b1) * g0;
        want_v[i] = b2 * pod_interp_get(b.it, v, i) + (1 - b2) * g0 * g0;
        want_u[i] = want_m[i] / (1 - pow(b1, (double)step)) /
                        (sqrt(want_v[i] / (1 - pow(b2, (double)step))) + (double)attr.eps) +
                    (double)attr.decay * w0;
        u_sq += want_u[i] * want_u[i];
    }
    const double ratio = trust && !zero_weight ? sqrt(sum_sq(&b, w) / u_sq) : 1;
    for (int i = 0; i < COUNT; i++)
        want_w[i] = pod_interp_get(b.it, w, i) - (double)lr * ratio * want_u[i];
    check_values("m", &b, pod_graph_variable(b.g, 1)->assigned, want_m, 1, 8);
    check_values("v", &b, pod_graph_variable(b.g, 3)->assigned, want_v, 1, 8);
    /* m / c1 is below 8, over eps at least */
    check_values("w", &b, pod_graph_variable(b.g, 0)->assigned, want_w, 8 * 4, 8);
    pod_interp_destroy(b.it);
}

static void adam_and_lamb_follow_their_formulas(void)
{
    for (int t = 0; t < OP_N_TARGETS; t++) {
        check_adam(1, false, false, op_target_cpu(t));
        check_adam(7, false, false, op_target_cpu(t));
        check_adam(7, true, false, op_target_cpu(t));
        check_adam(7, true, true, op_target_cpu(t));
    }
}

/* The moments are those of adam_norms, to the bit; the sums are as near as both to the truth. */
static void adam_norms_are_alike(void)
{
    const float attr[] = {.875f, .9375f, .25f, .125f}; /* beta1, beta2, eps, decay */
    const float step = 7;
    for (int t = 0; t < OP_N_TARGETS; t++) {
        bench b = open_bench();
        pod_value in[5], plain[4], wide[4], back[2];
        static const char *const names[] = {"w", "m", "root", "grad"};
        for (int i = 0; i < 4; i++) in[i] = tensor_input(b.g, names[i]);
        in[2] = pod_relu(b.g, in[2]); /* v is a mean of squares */
        in[4] = scalar_input(b.g, "step");
        pod_op_add(b.g, pod_op_find("adam_norms"), &attr, sizeof attr, in, 5, plain);
        pod_op_add(b.g, pod_op_find("adam_norms_wide"), &attr, sizeof attr, in, 5, wide);
        for (int k = 0; k < 2; k++) back[k] = from_wide(b.g, wide[2 + k]);
        run_bench(&b, op_target_cpu(t), "step", step);
        for (int k = 0; k < 2; k++) {
            CU_ASSERT(memcmp(pod_interp_data(b.it, plain[k]), pod_interp_data(b.it, wide[k]),
                             COUNT * sizeof(float)) == 0);
            const double want = pod_interp_get(b.it, plain[2 + k], 0);
            check_values("adam_norms_wide", &b, back[k], &want, want, COUNT);
        }
        pod_interp_destroy(b.it);
    }
}

/* ---- what is measured, and constants ------------------------------------------------------- */

static void sums_and_constants(void)
{
    for (int t = 0; t < OP_N_TARGETS; t++) {
        bench b = open_bench();
        pod_value x = tensor_input(b.g, "x"), sum = pod_sum_sq(b.g, x), c = pod_fill(b.g, -2.5f);
        pod_value copy = pod_op_add1(b.g, pod_op_find("copy"), NULL, 0, &x, 1);
        const pod_shard dealt = {.per_core = 1 << 20};
        pod_value part = pod_op_add1(b.g, pod_op_find("shard"), &dealt, sizeof dealt, &x, 1);
        pod_value wide = pod_op_add1(b.g, pod_op_find("sum_sq_wide"), NULL, 0, &x, 1);
        pod_value back = from_wide(b.g, wide);
        run_bench(&b, op_target_cpu(t), NULL, 0);
        CU_ASSERT_PTR_EQUAL(pod_interp_data(b.it, part), pod_interp_data(b.it, x));
        const double want = sum_sq(&b, x), filled = -2.5;
        check_values("sum_sq", &b, sum, &want, want, COUNT);
        check_values("sum_sq_wide", &b, back, &want, want, 2);
        check_values("fill", &b, c, &filled, 0, 0);
        CU_ASSERT(memcmp(pod_interp_data(b.it, copy), pod_interp_data(b.it, x),
                         COUNT * sizeof(float)) == 0);
        pod_interp_destroy(b.it);
    }
}

/* Loss and gradient in one op have the bits of the two ops. */
static void loss_and_gradient_in_one(void)
{
    for (int t = 0; t < OP_N_TARGETS; t++) {
        bench b = open_bench();
        pod_value logits = pod_input(b.g, "logits", pod_type_of(POD_F32, 2, (int64_t[]){6, 11}), 0);
        pod_value labels = pod_input(b.g, "labels", pod_type_of(POD_I32, 1, (int64_t[]){6}), 0);
        pod_value d_loss = scalar_input(b.g, "d_loss"), both[2];
        pod_value loss = pod_softmax_loss(
            b.g, logits, labels, (pod_softmax_loss_attr){.smoothing = 0.125f, .scale = 0.25f});
        const pod_node *n = pod_graph_maker(b.g, loss);
        const pod_value in[3] = {logits, labels, d_loss};
        pod_value grad =
            pod_op_add1(b.g, pod_op_find("softmax_grad"), n->attr, n->attr_bytes, in, 3);
        n = pod_graph_maker(b.g, loss);
        pod_op_add(b.g, pod_op_find("softmax_loss_grad"), n->attr, n->attr_bytes, in, 3, both);
        run_bench(&b, op_target_cpu(t), "d_loss", 0.5f);
        CU_ASSERT_EQUAL(pod_interp_get(b.it, both[0], 0), pod_interp_get(b.it, loss, 0));
        CU_ASSERT(memcmp(pod_interp_data(b.it, both[1]), pod_interp_data(b.it, grad),
                         6 * 11 * sizeof(float)) == 0);
        pod_interp_destroy(b.it);
    }
}

/* The same of the loss over a vocabulary. */
static void vocab_loss_and_gradients_in_one(void)
{
    enum { R = 6, V = 40, H = 8 };
    const float smoothing = 0.125f;
    for (int t = 0; t < OP_N_TARGETS; t++) {
        bench b = open_bench();
        pod_value in[6] = {pod_input(b.g, "h", pod_type_of(POD_F32, 2, (int64_t[]){R, H}), 0),
                           pod_input(b.g, "table", pod_type_of(POD_F32, 2, (int64_t[]){V, H}), 0),
                           pod_input(b.g, "targets", pod_type_of(POD_I32, 1, (int64_t[]){R}), 0),
                           pod_input(b.g, "weights", pod_type_of(POD_F32, 1, (int64_t[]){R}), 0),
                           scalar_input(b.g, "d_loss")};
        pod_value apart[7], both[6];
        pod_op_add(b.g, pod_op_find("vocab_loss_both"), &smoothing, sizeof smoothing, in, 5, both);
        pod_op_add(b.g, pod_op_find("vocab_loss"), &smoothing, sizeof smoothing, in, 4, apart);
        in[5] = in[4];
        in[4] = apart[3];
        pod_op_add(b.g, pod_op_find("vocab_loss_grad"), &smoothing, sizeof smoothing, in, 6,
                   apart + 3);
        run_bench(&b, op_target_cpu(t), "d_loss", 0.5f);
        const size_t count[6] = {1, 1, 1, R * H, V * H, V};
        for (int k = 0; k < 6; k++)
            CU_ASSERT(memcmp(pod_interp_data(b.it, both[k]), pod_interp_data(b.it, apart[k]),
                             count[k] * sizeof(float)) == 0);
        pod_interp_destroy(b.it);
    }
}

/* There and back: what the type of the wire keeps of each value, and nothing else. */
static void sums_travel(void)
{
    for (int t = 0; t < OP_N_TARGETS; t++) {
        bench b = open_bench();
        const int32_t to = POD_BF16;
        pod_value x = tensor_input(b.g, "x");
        pod_value out = pod_op_add1(b.g, pod_op_find("to_wire"), &to, sizeof to, &x, 1);
        pod_value back = pod_op_add1(b.g, pod_op_find("from_wire"), NULL, 0, &out, 1);
        run_bench(&b, op_target_cpu(t), NULL, 0);
        const float *from = pod_interp_data(b.it, x), *got = pod_interp_data(b.it, back);
        for (int i = 0; i < COUNT; i++) {
            const float want = pod_bf16_to_f32(pod_bf16_from_f32(from[i]));
            POD_CHECK(got[i] == want, "%.9g came back as %.9g, want %.9g", (double)from[i],
                      (double)got[i], (double)want);
        }
        pod_interp_destroy(b.it);
    }
}

/* Three parts in turn, from zeros on. */
static void parts_are_added_up(void)
{
    for (int t = 0; t < OP_N_TARGETS; t++) {
        bench b = open_bench();
        const int32_t in_time = 1;
        pod_value x = tensor_input(b.g, "x"), sum[4];
        pod_type type = *pod_graph_type(b.g, x);
        sum[0] = pod_op_add1(b.g, pod_op_find("zeros"), &type, sizeof type, NULL, 0);
        for (int k = 0; k < 3; k++)
            sum[k + 1] = pod_op_add1(b.g, pod_op_find("accumulate"), &in_time, sizeof in_time,
                                     (const pod_value[]){sum[k], x}, 2);
        run_bench(&b, op_target_cpu(t), NULL, 0);
        const float *from = pod_interp_data(b.it, x), *got = pod_interp_data(b.it, sum[3]);
        for (int i = 0; i < COUNT; i++)
            POD_CHECK(got[i] == from[i] + from[i] + from[i], "3 x %.9g is %.9g", (double)from[i],
                      (double)got[i]);
        pod_interp_destroy(b.it);
    }
}

static void correct_answers_are_counted(void)
{
    const float logits[5][3] = {{1, 3, 2}, {3, 1, 2}, {0, 0, 1}, {1, 1, 0}, {5, 4, 3}};
    const int32_t labels[5] = {1, 1, 2, 0, -1}; /* right, wrong, right, right, padding */
    for (int t = 0; t < OP_N_TARGETS; t++) {
        bench b = open_bench();
        pod_value x = pod_input(b.g, "x", pod_type_of(POD_F32, 2, (int64_t[]){5, 3}), 0);
        pod_value l = pod_input(b.g, "labels", pod_type_of(POD_I32, 1, (int64_t[]){5}), 0);
        pod_value n = pod_count_correct(b.g, x, l);
        POD_CHECK_OK(pod_interp_create(b.g, op_target_cpu(t), &b.it));
        memcpy(pod_interp_data(b.it, x), logits, sizeof logits);
        memcpy(pod_interp_data(b.it, l), labels, sizeof labels);
        pod_interp_run(b.it, -1);
        CU_ASSERT_EQUAL(pod_interp_get(b.it, n, 0), 3);
        pod_interp_destroy(b.it);
    }
}

static void images_are_normalized(void)
{
    const float mean[2] = {0.25f, 0.5f}, std[2] = {0.5f, 2.0f};
    static const pod_dtype to[] = {POD_F32, POD_BF16};
    for (int t = 0; t < OP_N_TARGETS; t++)
        for (int k = 0; k < 2; k++) {
            bench b = open_bench();
            pod_value x = pod_input(b.g, "x", pod_type_of(POD_U8, 4, (int64_t[]){2, 3, 3, 2}), 0);
            pod_value y = pod_normalize(b.g, x, mean, std, to[k]);
            POD_CHECK_OK(pod_interp_create(b.g, op_target_cpu(t), &b.it));
            uint8_t *bytes = pod_interp_data(b.it, x);
            for (int i = 0; i < 36; i++) bytes[i] = (uint8_t)(i * 255 / 35);
            pod_interp_run(b.it, -1);
            for (int i = 0; i < 36; i++) {
                const double m = (double)mean[i % 2], s = (double)std[i % 2];
                const double want = (bytes[i] / 255.0 - m) / s;
                const double bound =
                    4 * pod_test_roundoff(POD_F32) * 2 + pod_test_roundoff(to[k]) * fabs(want);
                POD_CHECK(pod_test_near(pod_interp_get(b.it, y, i), want, bound), "%d: %g, want %g",
                          i, pod_interp_get(b.it, y, i), want);
            }
            pod_interp_destroy(b.it);
        }
}

/* The moving statistics go a part of the way to those of the batch; the biased variance. */
static void moving_statistics_follow(void)
{
    for (int t = 0; t < OP_N_TARGETS; t++) {
        bench b = open_bench();
        pod_value x = pod_input(b.g, "x", pod_type_of(POD_F32, 2, (int64_t[]){COUNT, 1}), 0);
        pod_batchnorm(b.g, x, (pod_batchnorm_attr){.momentum = 0.75f, .eps = 1e-3f, .train = true});
        run_bench(&b, op_target_cpu(t), NULL, 0);
        double sum = 0;
        for (int i = 0; i < COUNT; i++) sum += pod_interp_get(b.it, x, i);
        const double mean = sum / COUNT, var = sum_sq(&b, x) / COUNT - mean * mean;
        const double batch[2] = {mean, var};
        for (int i = 0; i < 2; i++) { /* gamma, beta, moving_mean, moving_var */
            const pod_variable_info *v = pod_graph_variable(b.g, 2 + i);
            const double want = 0.75 * pod_interp_get(b.it, v->value, 0) + 0.25 * batch[i];
            check_values(v->name, &b, v->assigned, &want, 2, 8);
            CU_ASSERT_EQUAL(pod_graph_maker(b.g, v->assigned)->phase, POD_PHASE_UPDATE);
        }
        pod_interp_destroy(b.it);
    }
}

/* ---- every case of the table, two ways ----------------------------------------------------- */

typedef struct ran {
    op_graph og;
    pod_interp *it;
} ran;

static ran run_case(const op_case *c, uint64_t seed, pod_dtype travel, uint32_t cpu)
{
    ran r = {.og = op_graph_open(c, seed, travel)};
    POD_CHECK_OK(pod_interp_create(r.og.g, cpu, &r.it));
    op_fill(r.it, r.og.g, seed, c->apart);
    pod_interp_run(r.it, -1);
    return r;
}

static void close_ran(ran *r)
{
    pod_interp_destroy(r->it);
    op_graph_close(&r->og);
}

/* |got - want| <= bound + part |want|, element by element */
static void check_close(const op_case *c, const char *what, const ran *got, pod_value got_v,
                        const ran *want, pod_value want_v, double bound, double part)
{
    const int64_t n = pod_shape_count(&pod_graph_type(want->og.g, want_v)->shape);
    for (int64_t i = 0; i < n; i++) {
        const double g = pod_interp_get(got->it, got_v, i), w = pod_interp_get(want->it, want_v, i);
        POD_CHECK(pod_test_near(g, w, bound + part * fabs(w)),
                  "%s: %s[%d] is %g, want %g, bound %g", c->name, what, (int)i, g, w,
                  bound + part * fabs(w));
    }
}

/* Attention of bf16 on a CPU with AVX512_BF16 also rounds terms before it sums them: in y p g v; in a
 * gradient, of MOST_TERMS queries or keys, p g do, below 4/3 3/4, or ds, which is below
 * 2 p (1 - p) max |g sum_d do v| <= 1/2 4/3 2 3/4, times numbers below 1. Through delta, which is of
 * the o that is off, ds is off by p |sum_d do (error of o)| <= 2 2^-8 p more. */
enum { MOST_TERMS = 5, ROUNDINGS = 1 + 2 };

static double rounding_of_terms(const op_case *c, pod_dtype travel)
{
    const bool is_attention = strncmp(c->name, "attention", strlen("attention")) == 0;
    const pod_attention_kernels *set = pod_attention_kernels_pick(pod_cpu_features());
    return is_attention ? pod_attention_rounding(set, travel) : 0;
}

/* A result in bfloat16 is rounded once or, behind a product and its bias, twice: the product is
 * below |y| + 1. A gradient is rounded once, the incoming one being exact in bfloat16. */
static void check_cases(pod_dtype travel, bool same_travel, bool same_cpu)
{
    int n;
    const op_case *c = op_cases(&n);
    const uint32_t all = pod_cpu_features();
    const double u = travel == POD_BF16 ? pod_test_roundoff(POD_BF16) : 0;
    for (int i = 0; i < n; i++) {
        const double of_terms = rounding_of_terms(&c[i], travel);
        ran got = run_case(&c[i], 11, travel, all);
        ran want = run_case(&c[i], 11, same_travel ? travel : POD_F32,
                            same_cpu ? all : POD_CPU_REFERENCE_ONLY);
        check_close(&c[i], "y", &got, got.og.y, &want, want.og.y,
                    2 * op_bound_y(&c[i]) + u + of_terms * c[i].y_reach, 2 * u);
        for (int k = 0; k < pod_graph_n_variables(want.og.g); k++)
            if (want.og.grad[k].id)
                check_close(&c[i], "gradient", &got, got.og.grad[k], &want, want.og.grad[k],
                            2 * op_bound_d(&c[i]) + of_terms * ROUNDINGS * MOST_TERMS, 2 * u);
        close_ran(&got);
        close_ran(&want);
    }
}

static void fast_kernels_agree_with_the_reference(void) { check_cases(POD_F32, true, false); }

static void fast_bf16_kernels_agree_with_the_reference(void) { check_cases(POD_BF16, true, false); }

static void bf16_agrees_with_f32(void) { check_cases(POD_BF16, false, true); }

static void in_place_agrees_with_apart(void)
{
    static const pod_dtype travel[] = {POD_F32, POD_BF16};
    int n;
    const op_case *c = op_cases(&n);
    for (int t = 0; t < OP_N_TARGETS; t++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 2; k++) {
                ran r = run_case(&c[i], 12, travel[k], op_target_cpu(t));
                pod_interp_check_in_place(r.it);
                close_ran(&r);
            }
}

/* ---- completeness -------------------------------------------------------------------------- */

/* Of what only a pass makes: test_tile.c, test_pack_weights.c, test_clip.c. */
static bool is_tested_elsewhere(const pod_op *op)
{
    static const char *const names[] = {"tiled",       "conv2d_pack", "matmul_pack", "sum_sq_own",
                                        "sum_scalars", "clip_ratio",  "scale_by",    "scale_own"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (op == pod_op_find(names[i])) return true;
    return false;
}

static void every_op_was_run(void)
{
    int n;
    const pod_op *const *ops = pod_ops(&n);
    if (!pod_interp_n_ops_run()) {
        pod_test_skip("every_op_was_run", "it was asked for alone");
        return;
    }
    for (int i = 0; i < n; i++)
        POD_CHECK(ops[i]->kind == POD_OP_COLLECTIVE || is_tested_elsewhere(ops[i]) ||
                      pod_interp_has_run(ops[i]),
                  "no test has run %s", ops[i]->name);
}

/* s from ones; v and w follow. */
static void rmsprop_follows_its_formula(void)
{
    const pod_rmsprop_update_attr attr = {
        .rho = .875f, .momentum = .5f, .eps = .25f, .decay = .125f};
    const float lr = 0.125f;
    for (int t = 0; t < OP_N_TARGETS; t++) {
        bench b = open_bench();
        pod_value w = state(b.g, "w", POD_ROLE_WEIGHT), s = state(b.g, "s", POD_ROLE_STATE);
        pod_value v = state(b.g, "v", POD_ROLE_STATE), g = tensor_input(b.g, "grad");
        pod_rmsprop_update(b.g, w, s, v, g, scalar_input(b.g, "lr"), attr);
        fill_bench(&b, op_target_cpu(t));
        for (int i = 0; i < COUNT; i++) ((float *)pod_interp_data(b.it, s))[i] = 1;
        set_scalar(&b, "lr", lr);
        run_filled(&b);
        double want_s[COUNT], want_v[COUNT], want_w[COUNT];
        for (int i = 0; i < COUNT; i++) {
            const double w0 = pod_interp_get(b.it, w, i);
            const double e = pod_interp_get(b.it, g, i) + (double)attr.decay * w0;
            want_s[i] = (double)attr.rho + (1 - (double)attr.rho) * e * e;
            want_v[i] = (double)attr.momentum * pod_interp_get(b.it, v, i) +
                        (double)lr * e / sqrt(want_s[i] + (double)attr.eps);
            want_w[i] = w0 - want_v[i];
        }
        check_values("s", &b, pod_graph_variable(b.g, 1)->assigned, want_s, 2, 8);
        check_values("v", &b, pod_graph_variable(b.g, 2)->assigned, want_v, 1, 8);
        check_values("w", &b, pod_graph_variable(b.g, 0)->assigned, want_w, 2, 8);
        pod_interp_destroy(b.it);
    }
}

/* The first step takes the value, early ones much of it, late ones 1 - decay. */
static void averages_move(void)
{
    static const float steps[] = {1, 2, 10, 100000};
    for (size_t k = 0; k < sizeof steps / sizeof steps[0]; k++) {
        bench b = open_bench();
        pod_value mean = state(b.g, "mean", POD_ROLE_STATE), value = tensor_input(b.g, "value");
        pod_ema_update(b.g, mean, value, scalar_input(b.g, "step"), 0.9375f);
        run_bench(&b, pod_cpu_features(), "step", steps[k]);
        const double t = (double)steps[k], early = (1 + t) / (10 + t);
        const double d = t <= 1 ? 0 : early < 0.9375 ? early : 0.9375;
        double want[COUNT];
        for (int i = 0; i < COUNT; i++)
            want[i] = d * pod_interp_get(b.it, mean, i) + (1 - d) * pod_interp_get(b.it, value, i);
        check_values("mean", &b, pod_graph_variable(b.g, 0)->assigned, want, 1, 6);
        pod_interp_destroy(b.it);
    }
}

POD_TEST_SUITE("op_values", {"momentum", momentum_follows_its_formula},
               {"adam_and_lamb", adam_and_lamb_follow_their_formulas},
               {"adam_norms_wide", adam_norms_are_alike}, {"rmsprop", rmsprop_follows_its_formula},
               {"moving_averages", averages_move}, {"sums_and_constants", sums_and_constants},
               {"loss_and_gradient_in_one", loss_and_gradient_in_one},
               {"vocab_loss_and_gradients_in_one", vocab_loss_and_gradients_in_one},
               {"to_wire_and_from_wire", sums_travel}, {"zeros_and_accumulate", parts_are_added_up},
               {"count_correct", correct_answers_are_counted},
               {"part_positions", op_parts_have_positions}, {"drop", op_some_are_left_out},
               {"sinusoids", op_sinusoids_are_of_positions}, {"normalize", images_are_normalized},
               {"attention_forms", op_attention_has_two_forms},
               {"moving_statistics", moving_statistics_follow},
               {"fast_and_reference", fast_kernels_agree_with_the_reference},
               {"fast_and_reference_bf16", fast_bf16_kernels_agree_with_the_reference},
               {"bf16_and_f32", bf16_agrees_with_f32},
               {"in_place_and_apart", in_place_agrees_with_apart},
               {"fused_and_plain", op_fused_agree_with_plain},
               {"every_op_was_run", every_op_was_run});
