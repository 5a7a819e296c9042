/* runtime/ops: the numbers. Ops without a gradient against their formulas in double precision; all
 * cases of the gradients' table on fast kernels against the reference, in bfloat16 against float32,
 * and in place against apart. The last test asks whether every op of the table was run by one of
 * these. */
#include <math.h>
#include <stdio.h>

#include "kernels/base/assert.h"
#include "kernels/base/cpu.h"
#include "runtime/passes/passes.h"
#include "tests/harness/harness.h"
#include "tests/unit/runtime/graph/op_cases.h"

enum { COUNT = 37 }; /* of the tensors in formulas: no multiple of a vector */

enum { N_TARGETS = 2 };

static uint32_t target_cpu(int target)
{
    return target == 0 ? POD_CPU_REFERENCE_ONLY : pod_cpu_features();
}

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

/* Lowers, fills, sets the scalar inputs named, runs, and runs again in place. */
static void run_bench(bench *b, uint32_t cpu, const char *const names[], const float scalars[],
                      int n_scalars)
{
    POD_CHECK_OK(pod_graph_finish(b->g));
    POD_CHECK_OK(pod_interp_create(b->g, cpu, &b->it));
    op_fill(b->it, b->g, 5, false);
    for (int i = 0; i < pod_graph_n_inputs(b->g); i++)
        for (int k = 0; k < n_scalars; k++)
            if (strcmp(pod_graph_input(b->g, i)->name, names[k]) == 0)
                *(float *)pod_interp_data(b->it, pod_graph_input(b->g, i)->value) = scalars[k];
    pod_interp_run(b->it, -1);
    pod_interp_check_in_place(b->it);
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
    run_bench(&b, cpu, (const char *[]){"lr"}, &lr, 1);
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
    static const int hows[] = {0,
                               NESTEROV,
                               INSIDE,
                               INSIDE | NESTEROV,
                               TRUST,
                               TRUST | INSIDE,
                               TRUST | NESTEROV,
                               TRUST | ZERO_GRAD,
                               TRUST | ZERO_WEIGHT};
    for (int t = 0; t < N_TARGETS; t++)
        for (size_t i = 0; i < sizeof hows / sizeof hows[0]; i++)
            check_momentum(hows[i], target_cpu(t));
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
    POD_CHECK_OK(pod_graph_finish(b.g));
    POD_CHECK_OK(pod_interp_create(b.g, cpu, &b.it));
    op_fill(b.it, b.g, 5, false);
    for (int i = 0; i < COUNT; i++) { /* v is a mean of squares */
        const float r = ((float *)pod_interp_data(b.it, root))[i];
        ((float *)pod_interp_data(b.it, v))[i] = r * r;
        if (zero_weight) ((float *)pod_interp_data(b.it, w))[i] = 0;
    }
    *(float *)pod_interp_data(b.it, pod_graph_input(b.g, 1)->value) = step;
    *(float *)pod_interp_data(b.it, pod_graph_input(b.g, 2)->value) = lr;
    pod_interp_run(b.it, -1);
    pod_interp_check_in_place(b.it);
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
    for (int t = 0; t < N_TARGETS; t++) {
        check_adam(1, false, false, target_cpu(t));
        check_adam(7, false, false, target_cpu(t));
        check_adam(7, true, false, target_cpu(t));
        check_adam(7, true, true, target_cpu(t));
    }
}

/* The moments are those of adam_norms, to the bit; the sums are as near as both to the truth. */
static void adam_norms_are_alike(void)
{
    const float attr[] = {.875f, .9375f, .25f, .125f}; /* beta1, beta2, eps, decay */
    const float step = 7;
    for (int t = 0; t < N_TARGETS; t++) {
        bench b = open_bench();
        pod_value in[5], plain[4], wide[4], back[2];
        static const char *const names[] = {"w", "m", "root", "grad"};
        for (int i = 0; i < 4; i++) in[i] = tensor_input(b.g, names[i]);
        in[2] = pod_relu(b.g, in[2]); /* v is a mean of squares */
        in[4] = scalar_input(b.g, "step");
        pod_op_add(b.g, pod_op_find("adam_norms"), &attr, sizeof attr, in, 5, plain);
        pod_op_add(b.g, pod_op_find("adam_norms_wide"), &attr, sizeof attr, in, 5, wide);
        for (int k = 0; k < 2; k++) back[k] = from_wide(b.g, wide[2 + k]);
        run_bench(&b, target_cpu(t), (const char *[]){"step"}, &step, 1);
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
    for (int t = 0; t < N_TARGETS; t++) {
        bench b = open_bench();
        pod_value x = tensor_input(b.g, "x"), sum = pod_sum_sq(b.g, x), c = pod_fill(b.g, -2.5f);
        pod_value copy = pod_op_add1(b.g, pod_op_find("copy"), NULL, 0, &x, 1);
        const pod_shard dealt = {.per_core = 1 << 20};
        pod_value part = pod_op_add1(b.g, pod_op_find("shard"), &dealt, sizeof dealt, &x, 1);
        pod_value wide = pod_op_add1(b.g, pod_op_find("sum_sq_wide"), NULL, 0, &x, 1);
        pod_value back = from_wide(b.g, wide);
        run_bench(&b, target_cpu(t), NULL, NULL, 0);
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
    for (int t = 0; t < N_TARGETS; t++) {
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
        run_bench(&b, target_cpu(t), (const char *const[]){"d_loss"}, (const float[]){0.5f}, 1);
        CU_ASSERT_EQUAL(pod_interp_get(b.it, both[0], 0), pod_interp_get(b.it, loss, 0));
        CU_ASSERT(memcmp(pod_interp_data(b.it, both[1]), pod_interp_data(b.it, grad),
                         6 * 11 * sizeof(float)) == 0);
        pod_interp_destroy(b.it);
    }
}

/* There and back: what the type of the wire keeps of each value, and nothing else. */
static void sums_travel(void)
{
    for (int t = 0; t < N_TARGETS; t++) {
        bench b = open_bench();
        const int32_t to = POD_BF16;
        pod_value x = tensor_input(b.g, "x");
        pod_value out = pod_op_add1(b.g, pod_op_find("to_wire"), &to, sizeof to, &x, 1);
        pod_value back = pod_op_add1(b.g, pod_op_find("from_wire"), NULL, 0, &out, 1);
        run_bench(&b, target_cpu(t), NULL, NULL, 0);
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
    for (int t = 0; t < N_TARGETS; t++) {
        bench b = open_bench();
        const int32_t in_time = 1;
        pod_value x = tensor_input(b.g, "x"), sum[4];
        pod_type type = *pod_graph_type(b.g, x);
        sum[0] = pod_op_add1(b.g, pod_op_find("zeros"), &type, sizeof type, NULL, 0);
        for (int k = 0; k < 3; k++)
            sum[k + 1] = pod_op_add1(b.g, pod_op_find("accumulate"), &in_time, sizeof in_time,
                                     (const pod_value[]){sum[k], x}, 2);
        run_bench(&b, target_cpu(t), NULL, NULL, 0);
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
    for (int t = 0; t < N_TARGETS; t++) {
        bench b = open_bench();
        pod_value x = pod_input(b.g, "x", pod_type_of(POD_F32, 2, (int64_t[]){5, 3}), 0);
        pod_value l = pod_input(b.g, "labels", pod_type_of(POD_I32, 1, (int64_t[]){5}), 0);
        pod_value n = pod_count_correct(b.g, x, l);
        POD_CHECK_OK(pod_interp_create(b.g, target_cpu(t), &b.it));
        memcpy(pod_interp_data(b.it, x), logits, sizeof logits);
        memcpy(pod_interp_data(b.it, l), labels, sizeof labels);
        pod_interp_run(b.it, -1);
        CU_ASSERT_EQUAL(pod_interp_get(b.it, n, 0), 3);
        pod_interp_destroy(b.it);
    }
}

/* Each element, or each sample, is left out with the rate asked for and otherwise made larger; the
 * draws and the scope decide, not the place in the batch. */
static void some_are_left_out(void)
{
    enum { N = 4000, C = 6 };
    const float rate = 0.3f;
    bench b = open_bench();
    pod_value x = pod_input(b.g, "x", pod_type_of(POD_F32, 2, (int64_t[]){N, C}), 0);
    pod_value draws = pod_input(b.g, "draws", pod_type_of(POD_I32, 1, (int64_t[]){N}), 0);
    pod_value y = pod_dropout(b.g, x, draws, rate), z = pod_drop_samples(b.g, x, draws, rate);
    pod_scope_begin(b.g, "other");
    pod_value other = pod_drop_samples(b.g, x, draws, rate);
    pod_scope_end(b.g);
    CU_ASSERT_EQUAL(pod_dropout(b.g, x, draws, 0).id, x.id);
    POD_CHECK_OK(pod_interp_create(b.g, pod_cpu_features(), &b.it));
    for (int i = 0; i < N * C; i++) ((float *)pod_interp_data(b.it, x))[i] = 1;
    for (int i = 0; i < N; i++) /* the second half repeats the first */
        ((int32_t *)pod_interp_data(b.it, draws))[i] =
            (int32_t)((uint32_t)(i % (N / 2)) * 747796405u);
    pod_interp_run(b.it, -1);
    int n_left[C] = {0}, n_samples = 0, n_both = 0;
    for (int i = 0; i < N; i++) {
        for (int c = 0; c < C; c++) {
            const double at = pod_interp_get(b.it, y, i * C + c);
            const double whole = pod_interp_get(b.it, z, i * C + c);
            n_left[c] += at > 0;
            CU_ASSERT(at == 0 || at == (double)(1 / (1 - rate)));
            CU_ASSERT(whole == pod_interp_get(b.it, z, i * C));
            CU_ASSERT(at == pod_interp_get(b.it, y, i % (N / 2) * C + c));
        }
        const bool kept = pod_interp_get(b.it, z, i * C) > 0;
        n_samples += kept;
        n_both += kept && pod_interp_get(b.it, other, i * C) > 0;
    }
    /* 2,000 independent draws, counted twice: 5 standard deviations */
    const double bound = 5 * 2 * sqrt(2000 * 0.3 * 0.7);
    for (int c = 0; c < C; c++)
        POD_CHECK(fabs(n_left[c] - 0.7 * N) < bound, "%d of %d stay", n_left[c], N);
    POD_CHECK(fabs(n_samples - 0.7 * N) < bound, "%d of %d samples stay", n_samples, N);
    POD_CHECK(fabs(n_both - 0.49 * N) < bound, "%d of %d samples stay in both", n_both, N);
    pod_interp_destroy(b.it);
}

static void images_are_normalized(void)
{
    const float mean[2] = {0.25f, 0.5f}, std[2] = {0.5f, 2.0f};
    static const pod_dtype to[] = {POD_F32, POD_BF16};
    for (int t = 0; t < N_TARGETS; t++)
        for (int k = 0; k < 2; k++) {
            bench b = open_bench();
            pod_value x = pod_input(b.g, "x", pod_type_of(POD_U8, 4, (int64_t[]){2, 3, 3, 2}), 0);
            pod_value y = pod_normalize(b.g, x, mean, std, to[k]);
            POD_CHECK_OK(pod_interp_create(b.g, target_cpu(t), &b.it));
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
    for (int t = 0; t < N_TARGETS; t++) {
        bench b = open_bench();
        pod_value x = pod_input(b.g, "x", pod_type_of(POD_F32, 2, (int64_t[]){COUNT, 1}), 0);
        pod_batchnorm(b.g, x, (pod_batchnorm_attr){.momentum = 0.75f, .eps = 1e-3f, .train = true});
        run_bench(&b, target_cpu(t), NULL, NULL, 0);
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

/* A result in bfloat16 is rounded once or, behind a product and its bias, twice: the product is
 * below |y| + 1. A gradient is rounded once, the incoming one being exact in bfloat16. */
static void check_cases(pod_dtype travel, bool same_travel, bool same_cpu)
{
    int n;
    const op_case *c = op_cases(&n);
    const uint32_t all = pod_cpu_features();
    const double u = travel == POD_BF16 ? pod_test_roundoff(POD_BF16) : 0;
    for (int i = 0; i < n; i++) {
        ran got = run_case(&c[i], 11, travel, all);
        ran want = run_case(&c[i], 11, same_travel ? travel : POD_F32,
                            same_cpu ? all : POD_CPU_REFERENCE_ONLY);
        check_close(&c[i], "y", &got, got.og.y, &want, want.og.y, 2 * op_bound_y(&c[i]) + u, 2 * u);
        for (int k = 0; k < pod_graph_n_variables(want.og.g); k++)
            if (want.og.grad[k].id)
                check_close(&c[i], "gradient", &got, got.og.grad[k], &want, want.og.grad[k],
                            2 * op_bound_d(&c[i]), 2 * u);
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
    for (int t = 0; t < N_TARGETS; t++)
        for (int i = 0; i < n; i++)
            for (int k = 0; k < 2; k++) {
                ran r = run_case(&c[i], 12, travel[k], target_cpu(t));
                pod_interp_check_in_place(r.it);
                close_ran(&r);
            }
}

/* ---- fused ops ----------------------------------------------------------------------------- */

/* What travels between layers, and what convolutions work in. */
typedef struct precision {
    pod_dtype travel, in_conv;
} precision;

static pod_value conv(pod_graph *g, pod_value x, int64_t k, int side, precision p)
{
    const int64_t c = pod_graph_type(g, x)->shape.dim[3];
    pod_value w = pod_weight(g, "w", (pod_shape){4, {k, side, side, c}}, (pod_init){POD_INIT_HE, 1},
                             POD_ROLE_WEIGHT);
    x = pod_cast(g, x, p.in_conv);
    x = pod_conv2d(g, x, w, (pod_conv2d_attr){.stride = 1, .pad = side / 2});
    return pod_cast(g, x, p.travel);
}

static pod_value conv_bn(pod_graph *g, const char *name, pod_value x, int64_t k, int side,
                         precision p)
{
    const pod_batchnorm_attr bn = {.eps = 1e-2f, .train = true, .gamma = {POD_INIT_ONE, 1}};
    pod_scope_begin(g, "%s", name);
    x = pod_batchnorm(g, conv(g, x, k, side, p), bn);
    pod_scope_end(g);
    return x;
}

/* Every pattern at least once: a normalization with and without an activation that a convolution
 * alone reads, residuals plain and normalized, a dense layer with each end. */
static op_graph fusible_graph(precision p)
{
    op_graph og = {0};
    POD_CHECK_OK(pod_arena_create(NULL, &og.arena));
    POD_CHECK_OK(pod_graph_create(og.arena, &og.g));
    pod_graph *g = og.g;
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 4, (const int64_t[]){3, 5, 5, 2}), 0);
    x = pod_relu(g, conv_bn(g, "stem", pod_cast(g, x, p.travel), 3, 3, p));
    pod_value y = conv_bn(g, "b", pod_relu(g, conv_bn(g, "a", x, 4, 3, p)), 3, 3, p);
    x = pod_relu(g, pod_add(g, y, x));
    y = conv_bn(g, "d", conv_bn(g, "c", x, 4, 1, p), 5, 3, p);
    x = pod_relu(g, pod_add(g, y, conv_bn(g, "e", x, 5, 1, p)));
    x = pod_add(g, x, conv_bn(g, "f", x, 5, 1, p));
    x = pod_relu(g, conv_bn(g, "g", x, 3, 3, p));
    x = conv(g, x, 3, 3, p);
    pod_scope_begin(g, "last");
    pod_value bias =
        pod_weight(g, "b", (pod_shape){1, {3}}, (pod_init){POD_INIT_NORMAL, 1}, POD_ROLE_BIAS);
    x = pod_bias_add(g, conv(g, x, 3, 1, p), bias);
    if (p.in_conv == POD_F32) x = pod_relu(g, x); /* near 0 a rounding to bfloat16 changes sides */
    pod_scope_end(g);
    pod_scope_begin(g, "h");
    x = pod_relu(g, pod_dense(g, pod_mean_pool(g, x), 6, true));
    pod_scope_end(g);
    pod_scope_begin(g, "logits");
    x = pod_cast(g, pod_dense(g, x, 4, true), POD_F32);
    pod_scope_end(g);
    og.r = pod_input(g, "r", *pod_graph_type(g, x), 0);
    og.loss = pod_test_weigh(g, x, og.r);
    og.grad = POD_ARENA_NEW(og.arena, pod_value, pod_graph_n_variables(g));
    POD_CHECK_OK(pod_pass_grad(g, og.loss, og.grad));
    return og;
}

/* A block of EfficientNet: what it does to gradients is in no other graph. */
static op_graph squeezed_graph(precision p)
{
    op_graph og = {0};
    POD_CHECK_OK(pod_arena_create(NULL, &og.arena));
    POD_CHECK_OK(pod_graph_create(og.arena, &og.g));
    pod_graph *g = og.g;
    const pod_batchnorm_attr bn = {.eps = 1e-2f, .train = true, .gamma = {POD_INIT_ONE, 1}};
    pod_value x = pod_input(g, "x", pod_type_of(POD_F32, 4, (const int64_t[]){3, 6, 6, 2}), 0);
    x = pod_swish(g, conv_bn(g, "expand", pod_cast(g, x, p.travel), 6, 1, p));
    pod_scope_begin(g, "depthwise");
    pod_value w = pod_weight(g, "w", (pod_shape){3, {3, 3, 6}}, (pod_init){POD_INIT_NORMAL, 0.5f},
                             POD_ROLE_WEIGHT);
    x = pod_depthwise2d(g, pod_cast(g, x, p.in_conv), w,
                        (pod_conv2d_attr){.stride = 2, .same = true});
    x = pod_swish(g, pod_batchnorm(g, pod_cast(g, x, p.travel), bn));
    pod_scope_end(g);
    pod_scope_begin(g, "squeeze");
    pod_value s = pod_sigmoid(g, pod_dense(g, pod_mean_pool(g, x), 6, true));
    x = pod_gate_by(g, x, s);
    pod_scope_end(g);
    x = pod_mean_pool(g, pod_swish(g, conv_bn(g, "project", x, 4, 1, p)));
    pod_scope_begin(g, "logits");
    x = pod_cast(g, pod_dense(g, x, 4, true), POD_F32);
    pod_scope_end(g);
    og.r = pod_input(g, "r", *pod_graph_type(g, x), 0);
    og.loss = pod_test_weigh(g, x, og.r);
    og.grad = POD_ARENA_NEW(og.arena, pod_value, pod_graph_n_variables(g));
    POD_CHECK_OK(pod_pass_grad(g, og.loss, og.grad));
    return og;
}

/* |got - want| / |want| of what a variable's gradient is in both */
static double gradient_distance(const op_graph *got, pod_interp *got_it, const op_graph *want,
                                pod_interp *want_it, int variable)
{
    const pod_value g = got->grad[variable], w = want->grad[variable];
    const int64_t n = pod_shape_count(&pod_graph_type(want->g, w)->shape);
    double apart = 0, size = 0;
    for (int64_t i = 0; i < n; i++) {
        const double of = pod_interp_get(want_it, w, i), d = pod_interp_get(got_it, g, i) - of;
        apart += d * d;
        size += of * of;
    }
    return sqrt(apart / size);
}

static bool has_node(const pod_graph *g, const char *op, int n_in)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        if (strcmp(n->op->name, op) == 0 && n->n_in == n_in) return true;
    }
    return false;
}

/* Sums in another order, and in bfloat16 some roundings fewer: the gradients of 30 nodes one behind
 * another stay together by as many roundings. */
static op_graph check_fused(op_graph *og, pod_dtype travel, uint32_t cpu, int least_fused)
{
    int n_fused;
    const op_graph fused = op_graph_fuse(og, cpu, &n_fused);
    pod_interp *it = NULL, *fused_it = NULL;
    POD_CHECK_OK(pod_interp_create(og->g, cpu, &it));
    POD_CHECK_OK(pod_interp_create(fused.g, cpu, &fused_it));
    op_fill(it, og->g, 3, false);
    op_fill(fused_it, fused.g, 3, false);
    pod_interp_run(it, -1);
    pod_interp_run(fused_it, -1);
    for (int i = 0; i < pod_graph_n_variables(og->g); i++) {
        if (!og->grad[i].id) continue;
        const double off = gradient_distance(&fused, fused_it, og, it, i);
        POD_CHECK(off <= 60 * pod_test_roundoff(travel), "%s: the gradient of '%s' is off by %g",
                  pod_dtype_name(travel), pod_graph_variable(og->g, i)->name, off);
    }
    pod_interp_check_in_place(fused_it);
    POD_CHECK(n_fused >= least_fused, "%d fused", n_fused);
    pod_interp_destroy(it);
    pod_interp_destroy(fused_it);
    return fused;
}

/* Nothing that batch norm reads is widened for it. */
static bool reads_no_cast(const op_graph *og)
{
    for (int32_t i = 0; i < pod_graph_n_nodes(og->g); i++) {
        const pod_node *n = pod_graph_node(og->g, i);
        const bool is_bn = strncmp(n->op->name, "bn_", 3) == 0;
        if (is_bn && strcmp(pod_graph_maker(og->g, n->in[0])->op->name, "cast") == 0) return false;
    }
    return true;
}

static void fused_agree_with_plain(void)
{
    static const precision all[] = {{POD_F32, POD_F32}, {POD_BF16, POD_BF16}, {POD_F32, POD_BF16}};
    for (int t = 0; t < N_TARGETS; t++)
        for (int k = 0; k < 3; k++) {
            op_graph og = fusible_graph(all[k]);
            const op_graph fused = check_fused(&og, all[k].in_conv, target_cpu(t), 8);
            POD_CHECK(has_node(fused.g, "bn_grad_sums_of", 6), "no sum is made as it is read");
            POD_CHECK(reads_no_cast(&fused), "batch norm reads a cast");
            op_graph_close(&og);
            og = squeezed_graph(all[k]);
            const op_graph squeezed = check_fused(&og, all[k].in_conv, target_cpu(t), 8);
            POD_CHECK(has_node(squeezed.g, "bn_grad_sums_swish", 6), "no swish is fused");
            POD_CHECK(has_node(squeezed.g, "gate_mean_grad", 3), "no gate is fused");
            POD_CHECK(has_node(squeezed.g, "depthwise2d_sums", 2), "no depthwise sums");
            POD_CHECK(reads_no_cast(&squeezed), "batch norm reads a cast");
            op_graph_close(&og);
        }
}

/* ---- completeness -------------------------------------------------------------------------- */

/* Of what only a pass makes: test_tile.c, test_pack_weights.c. */
static bool is_tested_elsewhere(const pod_op *op)
{
    return op == pod_op_find("tiled") || op == pod_op_find("conv2d_pack") ||
           op == pod_op_find("matmul_pack");
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
    for (int t = 0; t < N_TARGETS; t++) {
        bench b = open_bench();
        pod_value w = state(b.g, "w", POD_ROLE_WEIGHT), s = state(b.g, "s", POD_ROLE_STATE);
        pod_value v = state(b.g, "v", POD_ROLE_STATE), g = tensor_input(b.g, "grad");
        pod_rmsprop_update(b.g, w, s, v, g, scalar_input(b.g, "lr"), attr);
        POD_CHECK_OK(pod_graph_finish(b.g));
        POD_CHECK_OK(pod_interp_create(b.g, target_cpu(t), &b.it));
        op_fill(b.it, b.g, 5, false);
        for (int i = 0; i < COUNT; i++) ((float *)pod_interp_data(b.it, s))[i] = 1;
        *(float *)pod_interp_data(b.it, pod_graph_input(b.g, 1)->value) = lr;
        pod_interp_run(b.it, -1);
        pod_interp_check_in_place(b.it);
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
        POD_CHECK_OK(pod_graph_finish(b.g));
        POD_CHECK_OK(pod_interp_create(b.g, pod_cpu_features(), &b.it));
        op_fill(b.it, b.g, 6, false);
        *(float *)pod_interp_data(b.it, pod_graph_input(b.g, 1)->value) = steps[k];
        pod_interp_run(b.it, -1);
        pod_interp_check_in_place(b.it);
        const double t = (double)steps[k], early = (1 + t) / (10 + t);
        const double d = t <= 1 ? 0 : early < 0.9375 ? early : 0.9375;
        double want[COUNT];
        for (int i = 0; i < COUNT; i++)
            want[i] = d * pod_interp_get(b.it, mean, i) + (1 - d) * pod_interp_get(b.it, value, i);
        check_values("mean", &b, pod_graph_variable(b.g, 0)->assigned, want, 1, 6);
        pod_interp_destroy(b.it);
    }
}

static CU_TestInfo formula_tests[] = {
    {"momentum", momentum_follows_its_formula},
    {"adam_and_lamb", adam_and_lamb_follow_their_formulas},
    {"adam_norms_wide", adam_norms_are_alike},
    {"rmsprop", rmsprop_follows_its_formula},
    {"moving_averages", averages_move},
    {"sums_and_constants", sums_and_constants},
    {"loss_and_gradient_in_one", loss_and_gradient_in_one},
    {"to_wire_and_from_wire", sums_travel},
    {"zeros_and_accumulate", parts_are_added_up},
    {"count_correct", correct_answers_are_counted},
    {"drop", some_are_left_out},
    {"normalize", images_are_normalized},
    {"moving_statistics", moving_statistics_follow},
    CU_TEST_INFO_NULL,
};
static CU_TestInfo agreement_tests[] = {
    {"fast_and_reference", fast_kernels_agree_with_the_reference},
    {"fast_and_reference_bf16", fast_bf16_kernels_agree_with_the_reference},
    {"bf16_and_f32", bf16_agrees_with_f32},
    {"in_place_and_apart", in_place_agrees_with_apart},
    {"fused_and_plain", fused_agree_with_plain},
    CU_TEST_INFO_NULL,
};
static CU_TestInfo completeness_tests[] = {
    {"every_op_was_run", every_op_was_run},
    CU_TEST_INFO_NULL,
};

CU_SuiteInfo pod_test_suites[] = {
    {"formula", NULL, NULL, NULL, NULL, formula_tests},
    {"agreement", NULL, NULL, NULL, NULL, agreement_tests},
    {"completeness", NULL, NULL, NULL, NULL, completeness_tests},
    CU_SUITE_INFO_NULL,
};
