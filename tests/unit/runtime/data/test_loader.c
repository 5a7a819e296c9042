/* Sampler and prefetch thread, over a made source whose pixels tell their sample. All ranks of a
 * mesh are played by loaders of one process. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/data/images/image_samples.h"
#include "runtime/data/loader.h"
#include "tests/harness/harness.h"

enum { N = 103, BATCH = 12, STEPS = 8, MAX_N = 128, BYTES = 4, BAD_SAMPLE = 40 };

/* ---- a source -------------------------------------------------------------------------------- */

typedef struct source {
    pod_dataset base;
    bool is_slow, is_broken;
    atomic_int *n_read; /* of training samples; may be NULL */
} source;

static pod_status source_read(const pod_dataset *base, pod_split split, int64_t index,
                              uint8_t *pixels)
{
    const source *s = (const source *)base;
    if (s->is_broken && index == BAD_SAMPLE)
        return pod_fail(POD_E_IO, "sample %d cannot be read", BAD_SAMPLE);
    if (s->n_read && split == POD_SPLIT_TRAIN) atomic_fetch_add(s->n_read, 1);
    if (s->is_slow && index % 7 == 0) nanosleep(&(struct timespec){.tv_nsec = 300000}, NULL);
    for (int i = 0; i < BYTES; i++)
        pixels[i] = (uint8_t)(index + i + (split == POD_SPLIT_TEST ? 101 : 1));
    return POD_OK;
}

static int32_t source_label(const pod_dataset *d, pod_split split, int64_t index)
{
    (void)split;
    return (int32_t)(index % d->info.n_classes);
}

static const pod_dataset_kind source_kind = {"test", source_read, source_label, NULL, NULL};

static source make_source(void)
{
    return (source){.base = {.kind = &source_kind,
                             .info = {.name = "source",
                                      .n_samples = {N, N},
                                      .height = 2,
                                      .width = 2,
                                      .channels = 1,
                                      .n_classes = 5}}};
}

static pod_loader_options training(int rank, int size)
{
    return (pod_loader_options){.global_batch = BATCH,
                                .rank = rank,
                                .size = size,
                                .seed = 77,
                                .shuffle = true,
                                .depth = 2,
                                .n_threads = 1};
}

static pod_samples viewed(const source *s, pod_split split, const pod_image_view *view)
{
    pod_samples samples;
    POD_NEED_OK(pod_image_samples(&s->base, split, view, pod_test_arena(), &samples));
    return samples;
}

static pod_samples samples_of(const source *s, pod_split split)
{
    return viewed(s, split, &(pod_image_view){0});
}

static pod_loader *opened(const source *s, pod_split split, const pod_loader_options *o)
{
    pod_loader *l = NULL;
    const pod_samples samples = samples_of(s, split);
    POD_NEED_OK(pod_loader_open(&samples, o, &l));
    return l;
}

/* ---- the sampler ----------------------------------------------------------------------------- */

static void order_is_a_permutation(void)
{
    pod_sampler s = {.n_samples = N, .global_batch = BATCH, .size = 1, .shuffle = true, .seed = 5};
    int64_t order[MAX_N], before[MAX_N] = {0};
    for (int64_t epoch = 0; epoch < 20; epoch++) {
        bool seen[MAX_N] = {false};
        pod_sampler_order(&s, epoch, order);
        for (int i = 0; i < N; i++) {
            POD_CHECK(order[i] >= 0 && order[i] < N && !seen[order[i]],
                      "epoch %lld, place %d: %lld", (long long)epoch, i, (long long)order[i]);
            seen[order[i]] = true;
        }
        CU_ASSERT(memcmp(order, before, sizeof(int64_t) * N) != 0);
        memcpy(before, order, sizeof order);
    }
    s.seed = 6;
    pod_sampler_order(&s, 19, order);
    CU_ASSERT(memcmp(order, before, sizeof(int64_t) * N) != 0);
    s.shuffle = false;
    pod_sampler_order(&s, 3, order);
    for (int i = 0; i < N; i++) CU_ASSERT(order[i] == i);
}

/* 24 orders of 4 samples, 24,000 draws: each is expected 1,000 times, with a standard deviation of
 * sqrt(24000 * 1/24 * 23/24) = 31; 6 of them are allowed. */
static void orders_are_even(void)
{
    pod_sampler s = {.n_samples = 4, .global_batch = 4, .size = 1, .shuffle = true, .seed = 5};
    int count[256] = {0}, n_orders = 0;
    for (int64_t epoch = 0; epoch < 24000; epoch++) {
        int64_t order[4];
        pod_sampler_order(&s, epoch, order);
        count[order[0] << 6 | order[1] << 4 | order[2] << 2 | order[3]]++;
    }
    for (int i = 0; i < 256; i++) {
        if (count[i] == 0) continue;
        n_orders++;
        POD_CHECK(abs(count[i] - 1000) < 6 * 31, "order %d occurs %d times", i, count[i]);
    }
    CU_ASSERT(n_orders == 24);
}

static void refuses(void)
{
    source s = make_source();
    const pod_samples samples = samples_of(&s, POD_SPLIT_TRAIN);
    static const struct {
        int64_t batch;
        int rank, size, depth, n_threads;
        bool keep_tail;
        const char *why;
    } bad[] = {
        {10, 0, 3, 2, 1, false, "batch 10 is not divisible by 3 ranks"},
        {0, 0, 1, 2, 1, false, "batch 0"},
        {104, 0, 2, 2, 1, false, "batch 104 exceeds the data set's 103 samples"},
        {12, 2, 2, 2, 1, false, "rank 2 of 2"},
        {12, 0, 1, -1, 1, false, "prefetch of -1"},
        {12, 0, 1, 1000, 1, true, "prefetch of 1000"},
        {12, 0, 1, 2, -1, true, "prefetch by -1 threads"},
        {12, 0, 1, 2, 65, true, "prefetch by 65 threads"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pod_loader_options o = {.global_batch = bad[i].batch,
                                .rank = bad[i].rank,
                                .size = bad[i].size,
                                .depth = bad[i].depth,
                                .n_threads = bad[i].n_threads,
                                .keep_tail = bad[i].keep_tail};
        pod_loader *l = NULL;
        POD_CHECK_FAILS(pod_loader_open(&samples, &o, &l), POD_E_INVALID, bad[i].why);
        CU_ASSERT_PTR_NULL(l);
    }
}

/* ---- training -------------------------------------------------------------------------------- */

/* One batch must be what the sample numbers in it say. */
static void check_rows(const source *s, pod_split split, const pod_batch *b, int64_t n_rows)
{
    for (int64_t i = 0; i < n_rows; i++) {
        uint8_t want[BYTES] = {0};
        int32_t label = POD_PADDING_LABEL;
        if (b->samples[i] >= 0) {
            label = source_label(&s->base, split, b->samples[i]);
            for (int j = 0; j < BYTES; j++)
                want[j] = (uint8_t)(b->samples[i] + j + (split == POD_SPLIT_TEST ? 101 : 1));
        }
        const uint8_t *images = b->field[POD_FIELD_IMAGES];
        const int32_t *labels = b->field[POD_FIELD_LABELS];
        POD_CHECK(labels[i] == label && memcmp(images + i * (int64_t)BYTES, want, BYTES) == 0,
                  "step %lld, row %lld is not sample %lld", (long long)b->step, (long long)i,
                  (long long)b->samples[i]);
        CU_ASSERT((b->samples[i] >= 0) == (i < b->n_valid));
    }
}

/* The samples of n_steps global batches, (n_steps, BATCH), as `size` ranks see them. */
static void run_mesh(const source *s, int size, int depth, int n_threads, int64_t start,
                     int64_t n_steps, int64_t *samples)
{
    for (int rank = 0; rank < size; rank++) {
        pod_loader_options o = training(rank, size);
        o.depth = depth;
        o.n_threads = n_threads;
        o.start_step = start;
        pod_loader *l = opened(s, POD_SPLIT_TRAIN, &o);
        int64_t local = pod_loader_local_batch(l);
        CU_ASSERT(local == BATCH / size && pod_loader_steps_per_epoch(l) == STEPS);
        for (int64_t k = 0; k < n_steps; k++) {
            pod_batch b = {0};
            POD_CHECK_OK(pod_loader_next(l, &b));
            CU_ASSERT(b.step == start + k && b.epoch == b.step / STEPS && b.n_valid == local);
            check_rows(s, POD_SPLIT_TRAIN, &b, local);
            memcpy(samples + k * BATCH + rank * local, b.samples, (size_t)local * sizeof *samples);
        }
        pod_loader_close(l);
    }
}

enum { N_STEPS = 3 * STEPS };

static void once_an_epoch_on_any_mesh(void)
{
    source s = make_source();
    int64_t want[N_STEPS * BATCH], got[N_STEPS * BATCH];
    run_mesh(&s, 1, 2, 1, 0, N_STEPS, want);
    for (int epoch = 0; epoch < 3; epoch++) {
        bool seen[MAX_N] = {false};
        for (int i = 0; i < STEPS * BATCH; i++) {
            int64_t sample = want[epoch * STEPS * BATCH + i];
            POD_CHECK(!seen[sample], "sample %lld twice in epoch %d", (long long)sample, epoch);
            seen[sample] = true;
        }
    }
    for (int is_slow = 0; is_slow < 2; is_slow++)
        for (int size = 1; size <= BATCH; size++) {
            if (BATCH % size != 0) continue;
            s.is_slow = is_slow == 1;
            /* depth 0 and no threads, too */
            run_mesh(&s, size, size % 4, size % 5, 0, N_STEPS, got);
            POD_CHECK(memcmp(got, want, sizeof want) == 0, "%d ranks see another order", size);
        }
}

static void resume_is_the_straight_run(void)
{
    source s = make_source();
    int64_t want[N_STEPS * BATCH], got[N_STEPS * BATCH];
    run_mesh(&s, 2, 2, 1, 0, N_STEPS, want);
    for (int64_t start = 0; start < N_STEPS; start += 5) {
        int64_t n = N_STEPS - start;
        run_mesh(&s, 2, 2, (int)start % 4, start, n, got);
        POD_CHECK(memcmp(got, want + start * BATCH, (size_t)(n * BATCH) * sizeof *got) == 0,
                  "from step %lld on", (long long)start);
    }
}

static void check_augmented(pod_augment augment, pod_frame frame, int n_threads)
{
    enum { MAX_SEEN = 16 };
    source s = make_source();
    pod_loader_options o = training(1, 3);
    static _Alignas(64) uint8_t scratch[4096];
    const size_t seen = (size_t)(frame.out_height * frame.out_width);
    const pod_image_view view = {augment, 78, frame.out_height, frame.out_width};
    const pod_samples samples = viewed(&s, POD_SPLIT_TRAIN, &view);
    pod_loader *l = NULL;
    o.n_threads = n_threads;
    POD_NEED_OK(pod_loader_open(&samples, &o, &l));
    for (int k = 0; k < 2 * STEPS; k++) {
        pod_batch b = {0};
        POD_CHECK_OK(pod_loader_next(l, &b));
        for (int64_t i = 0; i < b.n_valid; i++) {
            uint8_t raw[BYTES], want[MAX_SEEN];
            POD_CHECK_OK(pod_dataset_read(&s.base, POD_SPLIT_TRAIN, b.samples[i], raw));
            pod_augment_apply(&view.augment, view.seed, b.epoch, b.samples[i], &frame, raw, want,
                              scratch);
            CU_ASSERT(memcmp((const uint8_t *)b.field[POD_FIELD_IMAGES] + (size_t)i * seen, want,
                             seen) == 0);
        }
    }
    pod_loader_close(l);
}

static void augments_by_place(void)
{
    const pod_augment crop = {.cut = POD_CUT_RANDOM, .pad = 1, .flip = true};
    const pod_augment part = {.cut = POD_CUT_RESIZED, .least_area = 0.1, .flip = true};
    for (int n_threads = 0; n_threads <= 3; n_threads++) {
        check_augmented(crop, (pod_frame){2, 2, 2, 2, 1}, n_threads);
        check_augmented(part, (pod_frame){2, 2, 4, 3, 1}, n_threads);
        check_augmented((pod_augment){0}, (pod_frame){2, 2, 1, 4, 1}, n_threads);
    }
}

/* ---- evaluation ------------------------------------------------------------------------------ */

static void evaluation_counts_all(void)
{
    source s = make_source();
    static const int64_t batches[] = {12, 96, 102, 206, 600};
    for (size_t k = 0; k < sizeof batches / sizeof batches[0]; k++) {
        enum { SIZE = 6 };
        int n_seen[2][MAX_N] = {{0}}, n_valid = 0;
        int64_t n_steps = (N + batches[k] - 1) / batches[k];
        if (batches[k] % SIZE != 0) continue;
        for (int rank = 0; rank < SIZE; rank++) {
            pod_loader_options o = {.global_batch = batches[k],
                                    .rank = rank,
                                    .size = SIZE,
                                    .keep_tail = true,
                                    .depth = 2,
                                    .n_threads = (int)k};
            pod_loader *l = opened(&s, POD_SPLIT_TEST, &o);
            CU_ASSERT(pod_loader_steps_per_epoch(l) == n_steps);
            for (int64_t step = 0; step < 2 * n_steps; step++) {
                pod_batch b = {0};
                POD_CHECK_OK(pod_loader_next(l, &b));
                CU_ASSERT(b.step == step && b.epoch == step / n_steps);
                check_rows(&s, POD_SPLIT_TEST, &b, pod_loader_local_batch(l));
                for (int64_t i = 0; i < b.n_valid; i++) n_seen[b.epoch][b.samples[i]]++;
                n_valid += (int)b.n_valid;
            }
            pod_loader_close(l);
        }
        CU_ASSERT(n_valid == 2 * N);
        for (int i = 0; i < 2 * N; i++)
            POD_CHECK(n_seen[i / N][i % N] == 1, "batch %lld: sample %d of pass %d seen %d times",
                      (long long)batches[k], i % N, i / N, n_seen[i / N][i % N]);
    }
}

/* While an evaluation goes on, and nobody asks for a batch of training, those ahead are made: as
 * many as there is room for, and no more. */
static void made_during_evaluation(void)
{
    enum { DEPTH = 3, WANT = (1 + DEPTH) * BATCH, PATIENCE = 10000 };
    for (int n_threads = 1; n_threads <= 4; n_threads += 3) {
        atomic_int n_read = 0;
        source s = make_source();
        s.n_read = &n_read;
        pod_loader_options train = training(0, 1), test = training(0, 1);
        train.depth = DEPTH;
        train.n_threads = test.n_threads = n_threads;
        test.keep_tail = true;
        pod_loader *l = opened(&s, POD_SPLIT_TRAIN, &train);
        pod_loader *eval = opened(&s, POD_SPLIT_TEST, &test);
        pod_batch b = {0};
        if (l && eval) {
            POD_CHECK_OK(pod_loader_next(l, &b));
            const int64_t n_steps = pod_loader_steps_per_epoch(eval);
            for (int64_t k = 0; k < n_steps; k++) POD_CHECK_OK(pod_loader_next(eval, &b));
            for (int k = 0; k < PATIENCE && atomic_load(&n_read) < WANT; k++)
                nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
            POD_CHECK(atomic_load(&n_read) == WANT, "%d samples are read, want %d",
                      atomic_load(&n_read), WANT);
        }
        pod_loader_close(l);
        pod_loader_close(eval);
    }
}

/* ---- trouble --------------------------------------------------------------------------------- */

static void failure_comes_out_of_next(void)
{
    source s = make_source();
    s.is_broken = true;
    for (int depth = 0; depth <= 5; depth++) {
        pod_loader_options o = training(0, 1);
        o.shuffle = false;
        o.depth = depth;
        o.n_threads = depth % 3 + 1;
        pod_loader *l = opened(&s, POD_SPLIT_TRAIN, &o);
        pod_batch b = {0};
        for (int k = 0; k < BAD_SAMPLE / BATCH; k++) POD_CHECK_OK(pod_loader_next(l, &b));
        for (int again = 0; again < 3; again++) {
            pod_error_set("");
            POD_CHECK_FAILS(pod_loader_next(l, &b), POD_E_IO, "sample 40 cannot be read");
        }
        CU_ASSERT(b.step == BAD_SAMPLE / BATCH - 1);
        pod_loader_close(l);
    }
}

static void close_at_any_time(void)
{
    source s = make_source();
    s.is_slow = true;
    for (int n = 0; n < 40; n++) {
        pod_loader_options o = training(0, 2);
        o.depth = n % 4;
        o.n_threads = n % 5;
        pod_loader *l = opened(&s, POD_SPLIT_TRAIN, &o);
        pod_batch b;
        for (int k = 0; k < n % 5; k++) POD_CHECK_OK(pod_loader_next(l, &b));
        pod_loader_close(l);
    }
    pod_loader_close(NULL);
}

static void allocates_nothing_on_the_way(void)
{
    source s = make_source();
    pod_loader_options o = training(0, 2);
    pod_loader *l = opened(&s, POD_SPLIT_TRAIN, &o);
    long before = pod_alloc_count();
    pod_batch b;
    for (int k = 0; k < N_STEPS; k++) POD_CHECK_OK(pod_loader_next(l, &b));
    CU_ASSERT(pod_alloc_count() == before);
    pod_loader_close(l);
}

/* ---- out of memory --------------------------------------------------------------------------- */

static void out_of_memory(void)
{
    source s = make_source();
    const pod_samples samples = samples_of(&s, POD_SPLIT_TRAIN);
    int n_failed = 0;
    for (int n = 0; n < 100; n++) {
        pod_test_budget left = {.n_left = n};
        pod_alloc from = pod_test_budget_alloc(&left);
        pod_loader_options o = training(0, 1);
        o.alloc = &from;
        pod_loader *l = NULL;
        pod_status status = pod_loader_open(&samples, &o, &l);
        pod_loader_close(l);
        CU_ASSERT(left.n_alive == 0);
        if (status == POD_OK) break;
        CU_ASSERT(status == POD_E_NOMEM && l == NULL);
        n_failed++;
    }
    CU_ASSERT(n_failed >= 2 && n_failed < 100);
}

/* ---- what the threads write down ------------------------------------------------------------- */

/* Of the batch that next has just handed out, all parts are written down: two a thread where there
 * are several, and all begin and end while the test runs. */
static void parts_are_written_down(void)
{
    static const struct {
        int n_threads, n_tracks, n_parts;
        bool keep_tail;
    } cases[] = {{0, 1, 1, false}, {1, 1, 1, false}, {3, 3, 6, false}, {2, 2, 4, true}};
    const source s = make_source();
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const pod_clock clock = pod_clock_start();
        int n_of[STEPS + 8] = {0}; /* by number; some are made ahead */
        pod_loader_options o = training(0, 1);
        o.n_threads = cases[c].n_threads;
        o.keep_tail = cases[c].keep_tail;
        o.clock = &clock;
        pod_loader *l = opened(&s, POD_SPLIT_TRAIN, &o);
        CU_ASSERT_EQUAL(pod_loader_n_tracks(l), cases[c].n_tracks);
        for (int k = 1; k <= STEPS; k++) {
            pod_batch b;
            pod_done d;
            POD_CHECK_OK(pod_loader_next(l, &b));
            const pod_time now = pod_clock_now(&clock);
            for (int i = 0; i < pod_loader_n_tracks(l); i++)
                while (pod_track_take(pod_loader_track(l, i), &d)) {
                    CU_ASSERT(d.deed ==
                              (cases[c].keep_tail ? POD_DEED_EVAL_BATCH : POD_DEED_BATCH));
                    CU_ASSERT(d.number >= k && d.number < STEPS + 8);
                    CU_ASSERT(0 <= d.begin && d.begin <= d.end && (d.number > k || d.end <= now));
                    n_of[d.number]++;
                }
            POD_CHECK(n_of[k] == cases[c].n_parts, "%d threads, batch %d: %d parts, want %d",
                      cases[c].n_threads, k, n_of[k], cases[c].n_parts);
        }
        pod_loader_close(l);
    }
    const pod_loader_options silent = training(0, 1);
    pod_loader *l = opened(&s, POD_SPLIT_TRAIN, &silent);
    CU_ASSERT_EQUAL(pod_loader_n_tracks(l), 0);
    pod_loader_close(l);
}

POD_TEST_SUITE("runtime.loader", {"order_is_a_permutation", order_is_a_permutation},
               {"orders_are_even", orders_are_even}, {"refuses", refuses},
               {"once_an_epoch_on_any_mesh", once_an_epoch_on_any_mesh},
               {"resume_is_the_straight_run", resume_is_the_straight_run},
               {"augments_by_place", augments_by_place},
               {"evaluation_counts_all", evaluation_counts_all},
               {"made_during_evaluation", made_during_evaluation},
               {"failure_comes_out_of_next", failure_comes_out_of_next},
               {"close_at_any_time", close_at_any_time},
               {"parts_are_written_down", parts_are_written_down},
               {"allocates_nothing_on_the_way", allocates_nothing_on_the_way},
               {"out_of_memory", out_of_memory});
