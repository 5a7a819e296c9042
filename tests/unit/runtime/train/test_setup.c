/* Settings of a run: meshes, every option in its field, schedules in whole steps, refusals. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "runtime/task/setup.h"
#include "tests/harness/harness.h"

/* ---- meshes ---- */

static void test_auto_mesh(void)
{
    static const int rows[][3] = {{1, 1, 1},           {2, 2, 1},
                                  {3, 3, 1},           {4, 2, 2},
                                  {5, 5, 1},           {6, 3, 2},
                                  {7, 7, 1},           {8, 4, 2},
                                  {9, 3, 3},           {12, 4, 3},
                                  {15, 5, 3},          {16, 4, 4},
                                  {36, 6, 6},          {48, 8, 6},
                                  {49, 7, 7},          {97, 97, 1},
                                  {128, 16, 8},        {512, 32, 16},
                                  {1024, 32, 32},      {2048, 64, 32},
                                  {999999, 1001, 999}, {1000000, 1000, 1000}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_mesh m = {0};
        POD_CHECK_OK(pod_setup_mesh("auto", rows[i][0], &m));
        POD_CHECK(m.n_dims == 2 && m.extent[0] == rows[i][1] && m.extent[1] == rows[i][2],
                  "%d ranks: %dx%d, want %dx%d", rows[i][0], m.extent[0], m.extent[1], rows[i][1],
                  rows[i][2]);
        POD_CHECK(m.wraps[0] && m.wraps[1] && !m.is_forced[0] && !m.is_forced[1],
                  "%d ranks: not a torus", rows[i][0]);
    }
}

static void test_given_mesh(void)
{
    pod_mesh m = {.n_dims = -1};
    POD_CHECK_FAILS(pod_setup_mesh("2x2", 3, &m), POD_E_INVALID,
                    "mesh: 2x2 has 4 cores, but there are 3 ranks (mpirun -n 4)");
    POD_CHECK_FAILS(pod_setup_mesh("4x4", 1, &m), POD_E_INVALID,
                    "16 cores, but there is 1 rank (mpirun -n 16)");
    POD_CHECK_FAILS(pod_setup_mesh("2y2", 4, &m), POD_E_INVALID, "2y2");
    POD_CHECK_FAILS(pod_setup_mesh("0x4", 4, &m), POD_E_INVALID, "0x4");
    POD_CHECK_FAILS(pod_setup_mesh("", 1, &m), POD_E_INVALID, "mesh");
    CU_ASSERT_EQUAL(m.n_dims, -1);
    POD_CHECK_OK(pod_setup_mesh("2x1x3o", 6, &m));
    POD_CHECK(m.n_dims == 3 && m.extent[0] == 2 && m.extent[2] == 3 && !m.wraps[2],
              "%d dimensions, %dx%dx%d", m.n_dims, m.extent[0], m.extent[1], m.extent[2]);
}

/* ---- options ---- */

typedef struct bench {
    pod_arena *arena;
    pod_config *config;
    pod_setup setup;
    pod_status status;
} bench;

static void end_config(void *c) { pod_config_destroy(c); }

static bench set_up(int n_ranks, const char *const options[])
{
    enum { MAX_OPTIONS = 40 };
    static const pod_command_form train = {.name = "train", .bit = POD_CMD_TRAIN, .args = ""};
    char *no_environment[] = {NULL}, *argv[MAX_OPTIONS];
    int argc = 0;
    bench b = {.arena = pod_test_arena()};
    while (options[argc]) {
        argv[argc] = pod_arena_text(b.arena, "%s", options[argc]);
        argc++;
    }
    POD_NEED_OK(pod_config_from_args(&train, argc, argv, no_environment, &b.config));
    pod_test_at_end(end_config, b.config);
    pod_error_set("");
    b.status = pod_setup_from(b.config, n_ranks, 2, b.arena, &b.setup);
    return b;
}

#define SET_UP(n_ranks, ...) set_up((n_ranks), (const char *const[]){__VA_ARGS__, NULL})

/* A batch that does not divide, by cores or micro-steps, is no matter to an evaluation. */
static void to_evaluate(void)
{
    bench b = SET_UP(1, "--batch=256", "--accumulate=3");
    POD_CHECK(b.status == POD_E_INVALID, "%s", pod_status_name(b.status));
    POD_CHECK_OK(pod_setup_to_evaluate(b.config, 3, 3, b.arena, &b.setup));
    CU_ASSERT_EQUAL(pod_setup_evaluation(&b.setup, 256).batch, 261);
}

/* As many batches as of training's, none with more empty rows than cores and micro-steps make. */
static void evaluations(void)
{
    static const struct {
        const char *batch, *accumulate;
        int64_t n_samples, want;
    } rows[] = {
        {"--batch=8192", "--accumulate=1", 10000, 5000}, /* 2 of 8192 would be 16384 */
        {"--batch=8192", "--accumulate=2", 10001, 5008},
        {"--batch=64", "--accumulate=1", 64, 64},
        {"--batch=64", "--accumulate=1", 65, 36},
        {"--batch=64", "--accumulate=1", 1, 4},
        {"--batch=64", "--accumulate=16", 1, 64},
        {"--batch=65536", "--accumulate=1", 50000, 50000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench b = SET_UP(4, rows[i].batch, rows[i].accumulate);
        const pod_setup eval = pod_setup_evaluation(&b.setup, rows[i].n_samples);
        POD_CHECK(eval.batch == rows[i].want, "row %zu: %" PRId64, i, eval.batch);
        POD_CHECK(eval.compile.accumulate == b.setup.compile.accumulate &&
                      eval.batch <= b.setup.batch,
                  "row %zu: more than its batch differs", i);
    }
}

/* Every option has a value of its own, so that none can stand in another's field. */
static void test_fields(void)
{
    bench b = SET_UP(4, "--model=m1", "--data=d1", "--batch=44", "--precision=f32",
                     "--bn-momentum=0.51", "--bn-epsilon=0.52", "--augment=flip", "--crop-pad=3",
                     "--crop-area=0.53", "--image-size=48x96", "--prefetch=5", "--input-threads=6",
                     "--data-cache=6K", "--seed=7", "--mesh=2x2", "--algo=ring", "--bucket=8K",
                     "--wire=bf16", "--overlap=off", "--shard-update", "--optimizer=lars",
                     "--lr=0.53", "--lr-schedule=poly", "--warmup=0.54", "--end-lr=0.55",
                     "--poly-power=0.56", "--decay-rate=0.57", "--decay-epochs=0.58",
                     "--momentum=0.59", "--nesterov", "--weight-decay=0.61", "--trust=0.62",
                     "--beta1=0.63", "--beta2=0.64", "--epsilon=0.65", "--label-smoothing=0.66",
                     "--epochs=0.67", "--steps=9", "--target=0.68", "--eval-every=0.69");
    const pod_setup *s = &b.setup;
    const struct {
        const char *name;
        double got, want;
    } rows[] = {
        {"batch", (double)s->batch, 44},
        {"bn-momentum", (double)s->bn_momentum, 0.51},
        {"bn-epsilon", (double)s->bn_epsilon, 0.52},
        {"prefetch", s->prefetch, 5},
        {"input-threads", s->input_threads, 6},
        {"crop-area", s->augment.least_area, 0.53},
        {"image height", (double)s->image_height, 48},
        {"image width", (double)s->image_width, 96},
        {"data-cache", (double)s->data_cache_bytes, 6144},
        {"seed", (double)s->seed, 7},
        {"bucket", (double)s->compile.bucket_bytes, 8192},
        {"wire", s->compile.wire, POD_BF16},
        {"overlap", s->compile.wait_at_once, 1},
        {"shard-update", s->compile.shard_update, 1},
        {"node size", s->compile.node_size, 2},
        {"lr", s->lr.base, 0.53},
        {"warmup", s->warmup_epochs, 0.54},
        {"end-lr", s->lr.end, 0.55},
        {"poly-power", s->lr.power, 0.56},
        {"decay-rate", s->lr.decay_rate, 0.57},
        {"decay-epochs", s->decay_epochs, 0.58},
        {"momentum", (double)s->hparams.momentum, 0.59},
        {"weight-decay", (double)s->hparams.weight_decay, 0.61},
        {"trust", (double)s->hparams.trust, 0.62},
        {"beta1", (double)s->hparams.beta1, 0.63},
        {"beta2", (double)s->hparams.beta2, 0.64},
        {"epsilon", (double)s->hparams.epsilon, 0.65},
        {"label-smoothing", (double)s->label_smoothing, 0.66},
        {"epochs", s->epochs, 0.67},
        {"steps", (double)s->steps, 9},
        {"target", s->target, 0.68},
        {"eval-every", s->eval_every, 0.69},
    };
    POD_CHECK(b.status == POD_OK, "%s", pod_error_text());
    if (b.status == POD_OK) {
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            POD_CHECK(fabs(rows[i].got - rows[i].want) < 1e-6, "%s: %g, want %g", rows[i].name,
                      rows[i].got, rows[i].want);
        CU_ASSERT_STRING_EQUAL(s->model, "m1");
        CU_ASSERT_STRING_EQUAL(s->data, "d1");
        CU_ASSERT_EQUAL(s->precision, POD_F32);
        CU_ASSERT_STRING_EQUAL(s->optim->name, "lars");
        CU_ASSERT_EQUAL(s->lr.kind, POD_LR_POLY);
        CU_ASSERT(s->hparams.nesterov);
        CU_ASSERT_STRING_EQUAL(pod_coll_rules_print(b.arena, s->compile.rules),
                               "allreduce:0-:ring");
        CU_ASSERT_EQUAL(pod_mesh_size(&s->compile.mesh), 4);
    }
}

static void test_defaults(void)
{
    bench b = SET_UP(6, "--batch=60");
    POD_CHECK(b.status == POD_OK, "%s", pod_error_text());
    CU_ASSERT_EQUAL(b.setup.precision, POD_BF16);
    CU_ASSERT_EQUAL(b.setup.compile.wire, POD_F32);
    CU_ASSERT(!b.setup.compile.wait_at_once && !b.setup.compile.shard_update);
    CU_ASSERT_EQUAL(b.setup.compile.mesh.extent[0], 3);
    CU_ASSERT_EQUAL(b.setup.steps, 0);
    CU_ASSERT_STRING_EQUAL(pod_coll_rules_print(b.arena, b.setup.compile.rules),
                           POD_COLL_RULES_DEFAULT);
}

static void test_refusals(void)
{
    static const struct {
        const char *option;
        const char *part;
    } rows[] = {
        {"--optimizer=adamw --epsilon=0", "epsilon: 0 with adamw, which divides by 0"},
        {"--optimizer=lamb --epsilon=0", "epsilon: 0 with lamb, which divides by 0"},
        {"--optimizer=rmsprop --nesterov=on", "nesterov: rmsprop has no such form"},
        {"--mesh=2x3", "mesh: 2x3 has 6 cores, but there are 4 ranks"},
        {"--batch=254", "batch: 254 is not divisible by the 4 cores of the mesh"},
        {"--batch=3", "batch: 3 is not divisible"},
        {"--accumulate=3",
         "accumulate: a batch of 256 is not divisible by 4 cores times 3 micro-steps"},
        {"--algo=nonsense", "nonsense"},
        {"--algo=allreduce:4K-1K:ring", "the range from 4096 to 1024 is empty"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char first[64];
        const char *second = strchr(rows[i].option, ' ');
        snprintf(first, sizeof first, "%.*s", (int)strcspn(rows[i].option, " "), rows[i].option);
        bench b = SET_UP(4, first, second ? second + 1 : NULL);
        POD_CHECK(b.status == POD_E_INVALID && strstr(pod_error_text(), rows[i].part),
                  "%s: %s '%s'", rows[i].option, pod_status_name(b.status), pod_error_text());
    }
}

/* ---- schedules ---- */

static void test_schedule(void)
{
    static const struct {
        int64_t n_train, batch;
        double epochs;
        int64_t steps;
        double eval_every, warmup, decay;
        int64_t per_epoch, n_steps, eval_steps, warmup_steps;
        double decay_steps;
        bool is_rounded; /* what is between evaluations */
    } rows[] = {
        /* the tail of an epoch is dropped: 210 / 40 = 5 steps */
        {210, 40, 2.4, 0, 0.4, 1.0, 2.4, 5, 12, 2, 5, 12.0, false},
        {210, 40, 2.4, 0, 0.0, 0.0, 0.5, 5, 12, 12, 0, 2.5, false},
        {210, 40, 3.0, 0, 1.0, 0.5, 1.0, 5, 15, 5, 3, 5.0, false}, /* 2.5 steps round up */
        {210, 40, 3.0, 0, 0.01, 0.0, 1.0, 5, 15, 1, 0, 5.0, true}, /* at least a step apart */
        {210, 40, 3.0, 7, 1.0, 2.0, 1.0, 5, 7, 5, 10, 5.0, false}, /* steps go before epochs */
        {40, 40, 1.0, 0, 1.0, 0.0, 2.4, 1, 1, 1, 0, 2.4, false},
        {60000, 1024, 12.0, 0, 1.0, 2.0, 2.4, 58, 696, 58, 116, 139.2, false},
        {210, 40, 0.1, 0, 1.0, 0.0, 1.0, 5, 1, 5, 0, 5.0, false}, /* half a step rounds up */
        {100, 10, 1.0, 0, 0.35, 0.0, 1.0, 10, 10, 4, 0, 10.0, true},
        {100, 10, 1.0, 0, 0.7, 0.0, 1.0, 10, 10, 7, 0, 10.0, false}, /* not in binary, though */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_setup s = {.batch = rows[i].batch,
                       .epochs = rows[i].epochs,
                       .steps = rows[i].steps,
                       .eval_every = rows[i].eval_every,
                       .warmup_epochs = rows[i].warmup,
                       .decay_epochs = rows[i].decay};
        pod_schedule got = {0};
        POD_CHECK_OK(pod_setup_schedule(&s, rows[i].n_train, &got));
        POD_CHECK(got.steps_per_epoch == rows[i].per_epoch && got.n_steps == rows[i].n_steps &&
                      got.eval_every == rows[i].eval_steps,
                  "row %zu: %" PRId64 " steps an epoch, %" PRId64
                  " in all, evaluated each %" PRId64,
                  i, got.steps_per_epoch, got.n_steps, got.eval_every);
        POD_CHECK(pod_schedule_evaluates_as_asked(&got, &s) == !rows[i].is_rounded,
                  "row %zu: evaluated each %" PRId64 ", as asked: %d", i, got.eval_every,
                  rows[i].is_rounded);
        POD_CHECK(s.lr.train_steps == rows[i].n_steps &&
                      s.lr.warmup_steps == rows[i].warmup_steps &&
                      fabs(s.lr.decay_steps - rows[i].decay_steps) < 1e-9,
                  "row %zu: %" PRId64 " steps, %" PRId64 " of warm-up, stairs of %g", i,
                  s.lr.train_steps, s.lr.warmup_steps, s.lr.decay_steps);
    }
}

/* 2.5 epochs in 20 steps of 64, then steps of 128: what is counted in epochs goes on from there. */
static void test_another_batch(void)
{
    pod_schedule got;
    pod_setup s = {.batch = 128, .epochs = 5, .eval_every = 1, .warmup_epochs = 1};
    POD_CHECK_OK(pod_setup_schedule(&s, 512, &got));
    pod_setup_go_on(&s, 20, 2.5, &got);
    POD_CHECK(got.n_steps == 30 && got.ahead == -10 && got.eval_every == 4,
              "%" PRId64 " steps, %" PRId64 " ahead", got.n_steps, got.ahead);
    POD_CHECK(s.lr.train_steps == 20 && s.lr.warmup_steps == 4, "%" PRId64 " steps of schedule",
              s.lr.train_steps);
    POD_CHECK(pod_schedule_place(&got, 30) == 20 && pod_schedule_epochs(&got, 30) == 5, "%g epochs",
              pod_schedule_epochs(&got, 30));
    s.steps = 40; /* of the job, whatever their batch */
    POD_CHECK_OK(pod_setup_schedule(&s, 512, &got));
    pod_setup_go_on(&s, 20, 2.5, &got);
    POD_CHECK(got.n_steps == 40 && s.lr.train_steps == 30, "%" PRId64 " steps", got.n_steps);
    POD_CHECK_OK(pod_setup_schedule(&s, 512, &got));
    pod_setup_go_on(&s, 20, 5, &got);
    POD_CHECK(got.ahead == 0 && got.n_steps == 40, "%" PRId64 " ahead", got.ahead);
    POD_CHECK_OK(pod_setup_schedule(&s, 512, &got));
    pod_setup_go_on(&s, 20, NAN, &got); /* not known: as if all steps were of this batch */
    POD_CHECK(got.ahead == 0 && got.n_steps == 40 && s.lr.train_steps == 40, "%" PRId64 " ahead",
              got.ahead);
    s.steps = 1; /* less than half a step of this batch is done, and none is left */
    s.eval_every = 0;
    POD_CHECK_OK(pod_setup_schedule(&s, 512, &got));
    pod_setup_go_on(&s, 1, 0.05, &got);
    POD_CHECK(got.ahead == -1 && got.eval_every == 1,
              "%" PRId64 " ahead, evaluations every %" PRId64, got.ahead, got.eval_every);
}

static void test_no_schedule(void)
{
    pod_schedule got = {.n_steps = -1};
    pod_setup s = {.batch = 40, .epochs = 0.01, .decay_epochs = 1};
    POD_CHECK_FAILS(pod_setup_schedule(&s, 39, &got), POD_E_INVALID,
                    "batch: 40 is more than the 39 training samples");
    POD_CHECK_FAILS(pod_setup_schedule(&s, 210, &got), POD_E_INVALID,
                    "epochs: 0.01 epochs of 5 steps are no step");
    CU_ASSERT_EQUAL(got.n_steps, -1);
    s.steps = 1;
    POD_CHECK_OK(pod_setup_schedule(&s, 210, &got));
    CU_ASSERT_EQUAL(got.n_steps, 1);
}

POD_TEST_SUITE("setup", {"the mesh of a number of ranks", test_auto_mesh},
               {"a given mesh", test_given_mesh}, {"evaluations", evaluations},
               {"to evaluate", to_evaluate}, {"every option in its field", test_fields},
               {"defaults", test_defaults}, {"refusals", test_refusals},
               {"schedules", test_schedule}, {"another batch", test_another_batch},
               {"no schedule", test_no_schedule});
