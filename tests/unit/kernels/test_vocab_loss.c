/* The loss over a vocabulary and its gradients: every set against plain double loops over all
 * logits, and values that are known. */
#include <stdlib.h>

#include "kernels/base/assert.h"
#include "kernels/base/simd/loop.h"
#include "kernels/vocab_loss/vocab_loss.h"
#include "tests/unit/kernels/kernel_test.h"

static const double U = 0x1p-24;

typedef struct problem {
    pod_vocab_loss_shape shape;
    pod_dtype t;
    float smoothing, d_loss;
    bool with_bias;
    tensor h, table, bias, label, weight;
} problem;

/* Every fourth row is padding, with a label that is none. Labels are at both ends of the
 * vocabulary, too. `reach` is the largest element of h. */
static problem problem_make(pod_vocab_loss_shape s, pod_dtype t, float smoothing, bool with_bias,
                            double reach)
{
    problem p = {.shape = s, .t = t, .smoothing = smoothing, .d_loss = 0.75f};
    p.with_bias = with_bias;
    p.h = tensor_random(1, t, s.rows * s.hidden);
    p.table = tensor_random(2, t, s.vocab * s.hidden);
    p.bias = tensor_random(3, POD_F32, s.vocab);
    p.label = tensor_new(POD_I32, s.rows);
    p.weight = tensor_random(4, POD_F32, s.rows);
    for (int64_t i = 0; i < p.h.count; i++)
        pod_test_put(t, p.h.data, i, reach * tensor_get(&p.h, i));
    for (int64_t r = 0; r < s.rows; r++) {
        const int64_t id = r % 3 == 0 ? s.vocab - 1 : r % 3 == 1 ? 0 : r * 7919 % s.vocab;
        const bool is_padding = r % 4 == 3;
        ((int32_t *)p.label.data)[r] = is_padding ? (r % 8 == 3 ? -7 : INT32_MAX) : (int32_t)id;
        if (is_padding) ((float *)p.weight.data)[r] = 0;
    }
    return p;
}

static void problem_free(problem *p)
{
    tensor *const all[] = {&p->h, &p->table, &p->bias, &p->label, &p->weight};
    for (int i = 0; i < 5; i++) tensor_free(all[i]);
}
#define PROBLEM __attribute__((cleanup(problem_free))) problem

static int32_t label_of(const problem *p, int64_t r) { return ((int32_t *)p->label.data)[r]; }
static double weight_of(const problem *p, int64_t r) { return tensor_get(&p->weight, r); }
static double elsewhere(const problem *p)
{
    return p->smoothing > 0 ? (double)p->smoothing / (double)(p->shape.vocab - 1) : 0;
}

/* ---- what the kernels give ----------------------------------------------------------------- */

typedef struct outcome {
    float loss, weight, correct;
    tensor lse, dh, dtable, dbias;
} outcome;

static void outcome_free(outcome *o)
{
    tensor *const all[] = {&o->lse, &o->dh, &o->dtable, &o->dbias};
    for (int i = 0; i < 4; i++) tensor_free(all[i]);
}
#define OUTCOME __attribute__((cleanup(outcome_free))) outcome

static outcome new_outcome(const problem *p)
{
    const pod_vocab_loss_shape s = p->shape;
    outcome o = {.lse = tensor_new(POD_F32, s.rows), .dh = tensor_new(p->t, s.rows * s.hidden)};
    o.dtable = tensor_new(POD_F32, s.vocab * s.hidden);
    o.dbias = tensor_new(POD_F32, s.vocab);
    return o;
}

static pod_vocab_loss_in in_of(const problem *p)
{
    return (pod_vocab_loss_in){p->h.data, p->table.data, p->with_bias ? p->bias.data : NULL,
                               p->label.data, p->weight.data};
}

static tensor scratch_of(const pod_vocab_loss_plan *plan)
{
    tensor scratch = tensor_new(POD_U8, (int64_t)pod_vocab_loss_scratch_bytes(plan));
    if (scratch.count) memset(scratch.data, 0xff, (size_t)scratch.count);
    return scratch;
}

static bool has_same_bits(const tensor *a, const tensor *b)
{
    return tensor_bytes(a) == 0 || memcmp(a->data, b->data, tensor_bytes(a)) == 0;
}

/* One call gives the same bits: its blocks are those of two here. */
static void check_both(const problem *p, uint32_t cpu, const outcome *apart)
{
    const pod_choice how = {.cpu = cpu};
    const pod_vocab_loss_in in = in_of(p);
    OUTCOME o = new_outcome(p);
    const pod_vocab_loss_plan plan = pod_vocab_loss_plan_of(&how, p->shape, p->t, p->smoothing,
                                                            p->with_bias, POD_VOCAB_LOSS_BOTH);
    TENSOR scratch = scratch_of(&plan);
    pod_vocab_loss_both(&plan, &in, p->d_loss, &o.loss, &o.weight, &o.correct, o.dh.data,
                        o.dtable.data, o.dbias.data, scratch.data);
    CU_ASSERT(memcmp(&o.loss, &apart->loss, sizeof o.loss) == 0);
    CU_ASSERT(o.weight == apart->weight && o.correct == apart->correct);
    CU_ASSERT(has_same_bits(&o.dh, &apart->dh) && has_same_bits(&o.dtable, &apart->dtable));
    CU_ASSERT(has_same_bits(&o.dbias, &apart->dbias));
}

static outcome run(const problem *p, uint32_t cpu)
{
    const pod_vocab_loss_shape s = p->shape;
    const pod_choice how = {.cpu = cpu};
    const pod_vocab_loss_in in = in_of(p);
    outcome o = new_outcome(p);
    for (int what = POD_VOCAB_LOSS_LOSS; what <= POD_VOCAB_LOSS_GRAD; what++) {
        const pod_vocab_loss_plan plan =
            pod_vocab_loss_plan_of(&how, s, p->t, p->smoothing, p->with_bias, what);
        TENSOR scratch = scratch_of(&plan);
        if (what == POD_VOCAB_LOSS_GRAD)
            pod_vocab_loss_grad(&plan, &in, o.lse.data, p->d_loss, o.dh.data, o.dtable.data,
                                o.dbias.data, scratch.data);
        else
            pod_vocab_loss_run(&plan, &in, &o.loss, &o.weight, &o.correct, o.lse.data,
                               scratch.data);
    }
    check_both(p, cpu, &o);
    return o;
}

/* ---- what they are to give ----------------------------------------------------------------- */

/* Numbers and how far off each may be. */
typedef struct wanted {
    double *value, *bound;
    int64_t count;
} wanted;

static wanted wanted_new(int64_t count)
{
    wanted w = {.count = count};
    w.value = calloc(2 * (size_t)count + 1, sizeof *w.value);
    POD_ASSERT(w.value, "no memory");
    w.bound = w.value + count;
    return w;
}

static void wanted_free(wanted *w) { free(w->value); }
#define WANTED __attribute__((cleanup(wanted_free))) wanted

/* All logits: sums of H products and the bias, accumulated in float32. */
static wanted logits_of(const problem *p)
{
    const pod_vocab_loss_shape s = p->shape;
    wanted w = wanted_new(s.rows * s.vocab);
    for (int64_t i = 0; i < w.count; i++) {
        const int64_t r = i / s.vocab, v = i % s.vocab;
        double size = p->with_bias ? fabs(tensor_get(&p->bias, v)) : 0;
        w.value[i] = p->with_bias ? tensor_get(&p->bias, v) : 0;
        for (int64_t j = 0; j < s.hidden; j++) {
            const double x =
                tensor_get(&p->h, r * s.hidden + j) * tensor_get(&p->table, v * s.hidden + j);
            w.value[i] += x;
            size += fabs(x);
        }
        w.bound[i] = ((double)s.hidden + 14) * U * size;
    }
    return w;
}

/* What is known of a row. */
typedef struct row {
    double lse, off;  /* and how far off the kernel's may be, before it is stored */
    double logit_off; /* of the worst logit */
    double ce, ce_off;
    bool surely, maybe; /* the label has the largest logit, or may have it for all we know */
} row;

static row row_of(const problem *p, const wanted *logits, int64_t r)
{
    const int64_t n = p->shape.vocab;
    const double *x = logits->value + r * n, *off = logits->bound + r * n;
    const double s = (double)p->smoothing, e = elsewhere(p);
    row of = {.surely = true, .maybe = true};
    double max = x[0], sum = 0, short_sums = 0, total = 0, size = 0;
    for (int64_t v = 0; v < n; v++) max = fmax(max, x[v]);
    for (int64_t v = 0; v < n; v++) {
        const double power = exp(x[v] - max);
        sum += power;
        short_sums += power * ((max - x[v]) + 4) * U + 0x1p-125;
        total += x[v];
        size += fabs(x[v]) * (POD_SUM_CHAIN + 1) * U;
        of.logit_off = fmax(of.logit_off, off[v]);
    }
    of.lse = max + log(sum);
    of.off = of.logit_off + 1.01 * (short_sums / sum + (POD_SUM_CHAIN + 1) * U) + 1e-14;
    const int32_t label = label_of(p, r);
    if (weight_of(p, r) == 0) return of;
    const double entropy = s > 0 ? -(1 - s) * log(1 - s) - s * log(e) : 0;
    of.ce = of.lse - (1 - s) * x[label] - e * (total - x[label]) - entropy;
    of.ce_off = of.off + (1 - s) * off[label] + s * of.logit_off + e * size + 1e-13 * size / U;
    for (int64_t v = 0; v < n; v++) {
        const double ahead = x[label] - x[v], unsure = off[label] + off[v];
        if (v == label) continue;
        of.surely = of.surely && ahead > unsure;
        of.maybe = of.maybe && ahead >= -unsure;
    }
    return of;
}

static void check(const char *what, const char *name, double got, double want, double bound)
{
    POD_CHECK(fabs(got - want) <= bound, "%s: %s is %.9g, want %.9g within %g", name, what, got,
              want, bound);
}

static void check_loss(const char *name, const problem *p, const wanted *logits, const outcome *o)
{
    double loss = 0, loss_off = 0, weight = 0, weights = 0, surely = 0, maybe = 0;
    for (int64_t r = 0; r < p->shape.rows; r++) {
        const row of = row_of(p, logits, r);
        const double w = weight_of(p, r);
        check("lse", name, tensor_get(&o->lse, r), of.lse, of.off + U * fabs(of.lse));
        loss += w * of.ce;
        loss_off += fabs(w) * (of.ce_off + U * fabs(of.ce));
        weight += w;
        weights += fabs(w);
        surely += of.surely ? w : 0;
        maybe += of.maybe && !of.surely ? fabs(w) : 0;
    }
    check("the loss", name, (double)o->loss, loss, loss_off + U * fabs(loss));
    check("the weight", name, (double)o->weight, weight, U * weights);
    check("what is correct", name, (double)o->correct, surely, maybe + U * weights);
}

/* Slopes before they are rounded to t. */
static wanted slopes_of(const problem *p, const wanted *logits)
{
    const int64_t n = p->shape.vocab;
    wanted w = wanted_new(logits->count);
    for (int64_t r = 0; r < p->shape.rows; r++) {
        const row of = row_of(p, logits, r);
        const double scale = (double)p->d_loss * weight_of(p, r);
        for (int64_t v = 0; v < n && scale != 0; v++) {
            const double below = logits->value[r * n + v] - of.lse, share = exp(below);
            const double target = v == label_of(p, r) ? 1 - (double)p->smoothing : elsewhere(p);
            const double off = of.logit_off + of.off + U * (fabs(of.lse) + fabs(below) + 6);
            w.value[r * n + v] = scale * (share - target);
            w.bound[r * n + v] =
                fabs(scale) * (1.05 * share * off + 4 * U * (share + target) + 0x1p-125);
        }
    }
    return w;
}

/* Sums of products of slopes: an element at a time, from its first term on. */
typedef struct sum {
    double value, off, size;
} sum;

static void add_term(sum *s, const problem *p, const wanted *slopes, int64_t i, double by)
{
    const double slope = slopes->value[i], off = slopes->bound[i];
    const double stored = p->t == POD_BF16 ? 0x1p-8 * (fabs(slope) + off) + 0x1p-126 : 0;
    s->value += slope * by;
    s->off += (off + stored) * fabs(by);
    s->size += (fabs(slope) + off + stored) * fabs(by);
}

static double bound_of(const sum *s, int64_t n_terms)
{
    return s->off + ((double)n_terms + 14) * U * s->size + 1e-37;
}

static void check_grads(const char *name, const problem *p, const wanted *logits, const outcome *o)
{
    const pod_vocab_loss_shape s = p->shape;
    WANTED slopes = slopes_of(p, logits);
    for (int64_t i = 0; i < s.rows * s.hidden; i++) {
        sum d = {0};
        for (int64_t v = 0; v < s.vocab; v++)
            add_term(&d, p, &slopes, i / s.hidden * s.vocab + v,
                     tensor_get(&p->table, v * s.hidden + i % s.hidden));
        const double off = bound_of(&d, s.vocab);
        check("dh", name, tensor_get(&o->dh, i), d.value,
              off + (p->t == POD_BF16 ? 0x1p-8 * (fabs(d.value) + off) + 0x1p-126 : 0));
    }
    for (int64_t i = 0; i < s.vocab * s.hidden; i++) {
        sum d = {0};
        for (int64_t r = 0; r < s.rows; r++)
            add_term(&d, p, &slopes, r * s.vocab + i / s.hidden,
                     tensor_get(&p->h, r * s.hidden + i % s.hidden));
        check("dtable", name, tensor_get(&o->dtable, i), d.value, bound_of(&d, s.rows));
    }
    for (int64_t v = 0; v < s.vocab; v++) {
        double value = 0, off = 0, size = 0;
        for (int64_t r = 0; r < s.rows; r++) {
            value += slopes.value[r * s.vocab + v];
            off += slopes.bound[r * s.vocab + v];
            size += fabs(slopes.value[r * s.vocab + v]);
        }
        check("dbias", name, tensor_get(&o->dbias, v), value,
              1.01 * off + (POD_SUM_CHAIN + 2) * U * size + 1e-37);
    }
}

static uint32_t cpu_of(const pod_vocab_loss *set)
{
    return set->needs ? set->needs : POD_CPU_REFERENCE_ONLY;
}

/* No row, one, blocks of columns and one more, blocks of rows and more. */
static void test_shapes(void)
{
    static const pod_vocab_loss_shape shapes[] = {{0, 5, 3},    {1, 1, 4},    {1, 2, 1},
                                                  {5, 7, 3},    {2, 1024, 8}, {4, 1025, 5},
                                                  {33, 33, 64}, {520, 40, 3}, {3, 2100, 17}};
    EACH_SET(vocab_loss, set)
        for (size_t i = 0; i < 8 * sizeof shapes / sizeof shapes[0]; i++) {
            const pod_vocab_loss_shape s = shapes[i / 8];
            const bool smooth = i / 4 % 2, with_bias = i / 2 % 2;
            const pod_dtype t = i % 2 ? POD_BF16 : POD_F32;
            PROBLEM p = problem_make(s, t, smooth && s.vocab > 1 ? 0.1f : 0, with_bias, 4);
            OUTCOME o = run(&p, cpu_of(set));
            WANTED logits = logits_of(&p);
            const char *name = pod_test_text("%s %s (%lld, %lld, %lld), smoothing %g, %s",
                                             set->name, pod_dtype_name(t), (long long)s.rows,
                                             (long long)s.vocab, (long long)s.hidden,
                                             (double)p.smoothing, with_bias ? "bias" : "no bias");
            check_loss(name, &p, &logits, &o);
            check_grads(name, &p, &logits, &o);
        }
}

/* ---- values that are known ----------------------------------------------------------------- */

/* A table of zeros leaves the bias. */
static problem biased_problem(int64_t rows, int64_t vocab, float smoothing)
{
    problem p = problem_make((pod_vocab_loss_shape){rows, vocab, 2}, POD_F32, smoothing, true, 1);
    memset(p.table.data, 0, tensor_bytes(&p.table));
    memset(p.bias.data, 0, tensor_bytes(&p.bias));
    for (int64_t r = 0; r < rows; r++) ((float *)p.weight.data)[r] = 1;
    return p;
}

/* Equal logits: the loss is log V, and id 0 is the answer. */
static void test_equal_logits(void)
{
    EACH_SET(vocab_loss, set) {
        PROBLEM p = biased_problem(4, 2048, 0);
        for (int r = 0; r < 4; r++) ((int32_t *)p.label.data)[r] = r / 2;
        OUTCOME o = run(&p, cpu_of(set));
        check("the loss", set->name, (double)o.loss, 4 * log(2048), 1e-5);
        POD_CHECK(o.correct == 2 && o.weight == 4, "%s: %g correct", set->name, (double)o.correct);
        check("dbias", set->name, tensor_get(&o.dbias, 5), 0.75 * 4 / 2048, 1e-9);
        check("dbias", set->name, tensor_get(&o.dbias, 0), 0.75 * (4.0 / 2048 - 2), 1e-6);
    }
}

/* Equal maxima within a block and in two: the lower id. */
static void test_ties(void)
{
    static const struct {
        int32_t low, high;
    } pairs[] = {{5, 6}, {5, 1000}, {40, 2000}, {0, 2099}, {1023, 1024}};
    EACH_SET(vocab_loss, set)
        for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
            PROBLEM p = biased_problem(2, 2100, 0);
            float *bias = p.bias.data;
            bias[pairs[i].low] = bias[pairs[i].high] = 3;
            ((int32_t *)p.label.data)[0] = pairs[i].low;
            ((int32_t *)p.label.data)[1] = pairs[i].high;
            ((float *)p.weight.data)[0] = 0.25f;
            OUTCOME o = run(&p, cpu_of(set));
            POD_CHECK(o.correct == 0.25f, "%s: %d before %d: %g", set->name, pairs[i].low,
                      pairs[i].high, (double)o.correct);
        }
}

/* Where the softmax is the smoothed target, loss and gradient are 0. */
static void test_best_loss_is_0(void)
{
    EACH_SET(vocab_loss, set) {
        PROBLEM p = biased_problem(1, 1500, 0.1f);
        ((int32_t *)p.label.data)[0] = 1200;
        ((float *)p.bias.data)[1200] = (float)log(0.9 / (0.1 / 1499));
        OUTCOME o = run(&p, cpu_of(set));
        check("the loss", set->name, (double)o.loss, 0, 1e-5);
        for (int v = 0; v < 1500; v++)
            check("dbias", set->name, tensor_get(&o.dbias, v), 0, v == 1200 ? 1e-6 : 1e-9);
    }
}

/* Padding alone: nothing comes of it, and no label is read. */
static void test_padding_alone(void)
{
    EACH_SET(vocab_loss, set) {
        PROBLEM p = problem_make((pod_vocab_loss_shape){3, 50, 8}, POD_BF16, 0, true, 1000);
        memset(p.weight.data, 0, tensor_bytes(&p.weight));
        for (int r = 0; r < 3; r++) ((int32_t *)p.label.data)[r] = INT32_MIN + r;
        OUTCOME o = run(&p, cpu_of(set));
        const tensor *all[] = {&o.dh, &o.dtable, &o.dbias};
        CU_ASSERT(o.loss == 0 && o.weight == 0 && o.correct == 0);
        for (int i = 0; i < 3; i++)
            for (int64_t k = 0; k < all[i]->count; k++) CU_ASSERT(tensor_get(all[i], k) == 0);
    }
}

/* A logit that is no number makes the loss none, and its row is not correct. */
static void test_not_a_number(void)
{
    EACH_SET(vocab_loss, set) {
        PROBLEM p = biased_problem(2, 1100, 0);
        ((float *)p.bias.data)[1050] = NAN;
        memset(p.label.data, 0, tensor_bytes(&p.label));
        OUTCOME o = run(&p, cpu_of(set));
        POD_CHECK(isnan(o.loss) && o.correct == 0 && o.weight == 2, "%s: %g, %g correct", set->name,
                  (double)o.loss, (double)o.correct);
    }
}

/* BERT's head needs no more than blocks: 160 rows of 30,522 logits are 19.5 MB, 1,600 rows 195 MB. */
static void test_memory(void)
{
    const pod_choice how = {.cpu = pod_cpu_features()};
    static const struct {
        int64_t rows, most_mib;
    } of[] = {{160, 12}, {160, 12}, {1600, 80}};
    for (int what = POD_VOCAB_LOSS_LOSS; what <= POD_VOCAB_LOSS_BOTH; what++) {
        const pod_vocab_loss_plan p = pod_vocab_loss_plan_of(
            &how, (pod_vocab_loss_shape){of[what].rows, 30522, 768}, POD_BF16, 0, true, what);
        const size_t most = (size_t)of[what].most_mib << 20;
        POD_CHECK(pod_vocab_loss_scratch_bytes(&p) < most, "%zu bytes",
                  pod_vocab_loss_scratch_bytes(&p));
    }
}

POD_TEST_SUITE("vocab_loss", {"shapes", test_shapes}, {"equal_logits", test_equal_logits},
               {"ties", test_ties}, {"best_loss_is_0", test_best_loss_is_0},
               {"padding_alone", test_padding_alone}, {"not_a_number", test_not_a_number},
               {"memory", test_memory});
