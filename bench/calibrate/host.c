/* What ranks of this host cost each other, and what their batches cost.
 *
 * Two threads stand for two ranks: they hand over messages as ranks do that share memory
 * (collectives/exec/shm/over_shm.c), where the receiver copies or adds out of the sender's memory. What
 * is handed over was written by the other one, and passes through many buffers, so that it comes
 * from where a training step leaves it: not from the own cache. */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "bench/calibrate/calibrate.h"
#include "kernels/base/cpu.h"
#include "kernels/base/rng.h"
#include "kernels/combine/combine.h"
#include "runtime/core/spread.h"
#include "runtime/data/dataset.h"

enum {
    N_TURNS = 32,
    N_LATENCY_TURNS = 4000,
    COUNT = 1 << 18, /* float32 elements of a message: 1 MiB */
    LINE = 64,
    PATIENCE = 1000 /* looks before the other one may need this CPU */
};

typedef struct flag { /* in a cache line of its own */
    uint32_t turn;
    char rest[LINE - sizeof(uint32_t)];
} flag;

typedef struct pair pair;
typedef struct side {
    pair *of;
    int rank;
    double *buffer[N_TURNS]; /* COUNT floats each; as doubles they are aligned */
    double latency_s, sync_s, copy_s, add_s, share_s;
} side;

struct pair {
    flag arrived[2];
    const pod_combine *combine;
    side side[2];
};

static void wait_for(const uint32_t *turn, uint32_t want)
{
    for (int looks = 0; (int32_t)(__atomic_load_n(turn, __ATOMIC_ACQUIRE) - want) < 0; looks++)
        if (looks > PATIENCE) (void)sched_yield();
}

/* Each says that it has come, and waits for the other. */
static void meet(side *s)
{
    uint32_t *own = &s->of->arrived[s->rank].turn;
    const uint32_t turn = *own + 1;
    __atomic_store_n(own, turn, __ATOMIC_RELEASE);
    wait_for(&s->of->arrived[1 - s->rank].turn, turn);
}

static double since(const pod_clock *clock) { return pod_time_seconds(pod_clock_now(clock)); }

/* Half a turn is one message without bytes: the flag goes there and back. */
static void measure_latency(side *s)
{
    uint32_t *own = &s->of->arrived[s->rank].turn;
    const uint32_t *others = &s->of->arrived[1 - s->rank].turn;
    meet(s);
    const uint32_t before = *own;
    const pod_clock clock = pod_clock_start();
    for (uint32_t i = 1; i <= N_LATENCY_TURNS; i++) {
        if (s->rank == 1) wait_for(others, before + i);
        __atomic_store_n(own, before + i, __ATOMIC_RELEASE);
        if (s->rank == 0) wait_for(others, before + i);
    }
    s->latency_s = since(&clock) / (2.0 * N_LATENCY_TURNS);
    meet(s);
    const pod_clock again = pod_clock_start();
    for (int i = 0; i < N_LATENCY_TURNS; i++) meet(s);
    s->sync_s = since(&again) / N_LATENCY_TURNS;
}

static void write_all(side *s, int value)
{
    for (int i = 0; i < N_TURNS; i++) memset(s->buffer[i], value, COUNT * sizeof(float));
    meet(s);
}

typedef void turn_fn(const side *s, int turn);

/* Both do it at the same time, turn by turn; the median. */
static double measure_turns(side *s, int n, turn_fn *work)
{
    double turn_s[N_TURNS];
    write_all(s, 0);
    for (int i = 0; i < n; i++) {
        meet(s);
        const pod_clock clock = pod_clock_start();
        work(s, i);
        turn_s[i] = since(&clock);
    }
    return pod_spread_of(turn_s, n).median;
}

/* Copies what the other has written. */
static void copy_other(const side *s, int i)
{
    memcpy(s->buffer[N_TURNS / 2 + i], s->of->side[1 - s->rank].buffer[i], COUNT * sizeof(float));
}

/* Adds it to its own. */
static void add_other(const side *s, int i)
{
    const void *in[] = {s->of->side[1 - s->rank].buffer[i], s->buffer[N_TURNS / 2 + i]};
    void *out[] = {s->buffer[N_TURNS / 2 + i]};
    s->of->combine->add_all(COUNT, POD_F32, 2, in, 1, out);
}

/* Sums a half of both buffers and stores it to both: allreduce `direct`. */
static void sum_half(const side *s, int i)
{
    const ptrdiff_t half = COUNT / 2, first = s->rank * half;
    float *a = (float *)(void *)s->of->side[0].buffer[i] + first,
          *b = (float *)(void *)s->of->side[1].buffer[i] + first;
    const void *in[] = {a, b};
    void *out[] = {a, b};
    s->of->combine->add_all(half, POD_F32, 2, in, 2, out);
}

static void *run_side(void *arg)
{
    side *s = arg;
    measure_latency(s);
    s->copy_s = measure_turns(s, N_TURNS / 2, copy_other);
    s->add_s = measure_turns(s, N_TURNS / 2, add_other);
    s->share_s = measure_turns(s, N_TURNS, sum_half);
    meet(s);
    return NULL;
}

static double mean(double a, double b) { return (a + b) / 2; }

/* A message is copied at the link's rate; adding it takes what adding takes beyond that. */
static void note_pair(const pair *p, pod_machine *m)
{
    const side *a = &p->side[0], *b = &p->side[1];
    const double bytes = COUNT * sizeof(float), no_more = 0.05;
    const double copy_s = mean(a->copy_s, b->copy_s), add_s = mean(a->add_s, b->add_s);
    const double beyond_s = add_s > (1 + no_more) * copy_s ? add_s - copy_s : no_more * copy_s;
    m->link_latency_us = pod_four_digits(1e6 * a->latency_s);
    m->sync_us = pod_four_digits(1e6 * mean(a->sync_s, b->sync_s));
    m->link_gb_per_s = pod_four_digits(1e-9 * bytes / copy_s);
    m->reduce_gb_per_s = pod_four_digits(1e-9 * bytes / beyond_s);
    m->share_gb_per_s = pod_four_digits(1e-9 * 2 * bytes / mean(a->share_s, b->share_s));
}

static pod_status take_buffers(pod_arena *arena, pair *p)
{
    for (int r = 0; r < 2; r++) {
        p->side[r] = (side){.of = p, .rank = r};
        for (int i = 0; i < N_TURNS; i++) {
            p->side[r].buffer[i] = pod_arena_get(arena, LINE, COUNT * sizeof(float));
            if (!p->side[r].buffer[i]) return POD_E_NOMEM;
        }
    }
    return POD_OK;
}

static pod_status calibrate_pair(pod_arena *arena, pod_machine *m)
{
    pthread_t other;
    pair *p = pod_arena_get(arena, LINE, sizeof *p);
    if (!p) return POD_E_NOMEM;
    p->combine = pod_combine_pick(pod_cpu_features());
    POD_TRY(take_buffers(arena, p));
    const int failed = pthread_create(&other, NULL, run_side, &p->side[1]);
    if (failed) return pod_fail(POD_E_NOMEM, "calibrate: no thread: %s", strerror(failed));
    (void)run_side(&p->side[0]);
    pthread_join(other, NULL);
    note_pair(p, m);
    return POD_OK;
}

/* ---- batches --------------------------------------------------------------------------------- */

static pod_status draw_s(pod_arena *arena, const char *spec, double *pixel_count, double *seconds)
{
    enum { N_SAMPLES = 1000, N_ROUNDS = 5 };
    pod_dataset *d;
    double round_s[N_ROUNDS];
    POD_TRY(pod_dataset_open(spec, 1, &d));
    const int64_t pixels = d->info.height * d->info.width;
    uint8_t *image = pod_arena_get(arena, LINE, (size_t)(pixels * d->info.channels));
    pod_status s = image ? POD_OK : POD_E_NOMEM;
    for (int r = 0; s == POD_OK && r < N_ROUNDS; r++) {
        const pod_clock clock = pod_clock_start();
        for (int64_t i = 0; s == POD_OK && i < N_SAMPLES; i++)
            s = pod_dataset_read(d, POD_SPLIT_TRAIN, i, image);
        round_s[r] = since(&clock) / N_SAMPLES;
    }
    pod_dataset_close(d);
    if (s != POD_OK) return s;
    *pixel_count = (double)pixels;
    *seconds = pod_spread_of(round_s, N_ROUNDS).min; /* other work can only add */
    return POD_OK;
}

/* A pixel takes some time, and each of its bytes. */
static pod_status calibrate_glyphs(pod_arena *arena, pod_machine *m)
{
    double pixels, grey_s, colour_s;
    POD_TRY(draw_s(arena, "glyphs:32x32x1", &pixels, &grey_s));
    POD_TRY(draw_s(arena, "glyphs:32x32x3", &pixels, &colour_s));
    const double byte_s = (colour_s - grey_s) / (2 * pixels);
    m->glyph_byte_ns = pod_four_digits(1e9 * (byte_s > 0 ? byte_s : 0));
    m->glyph_pixel_ns = pod_four_digits(1e9 * (grey_s / pixels - (byte_s > 0 ? byte_s : 0)));
    return POD_OK;
}

/* Images of a data set that is larger than caches, in any order, as a loader copies them: what an
 * image takes beyond the copying of its bytes. */
static pod_status calibrate_fetch(pod_arena *arena, pod_machine *m)
{
    enum { IMAGE = 1024, N_IMAGES = 1 << 17, N_BATCH = 256, N_ROUNDS = 5 };
    uint8_t *images = pod_arena_get(arena, LINE, (size_t)N_IMAGES * IMAGE);
    uint8_t *batch = pod_arena_get(arena, LINE, (size_t)N_BATCH * IMAGE);
    if (!images || !batch) return POD_E_NOMEM;
    double round_s[N_ROUNDS];
    memset(images, 1, (size_t)N_IMAGES * IMAGE);
    pod_rng rng = pod_rng_at(1, (pod_place){.stream = POD_STREAM_TEST});
    for (int r = 0; r < N_ROUNDS; r++) {
        const pod_clock clock = pod_clock_start();
        for (int64_t i = 0; i < N_IMAGES; i++)
            memcpy(batch + i % N_BATCH * IMAGE, images + pod_rng_below(&rng, N_IMAGES) * IMAGE,
                   IMAGE);
        round_s[r] = since(&clock) / N_IMAGES;
    }
    const double copy_s = 2.0 * IMAGE / (1e9 * m->copy_memory_gb_per_s),
                 image_s = pod_spread_of(round_s, N_ROUNDS).min; /* other work can only add */
    m->fetch_image_ns = pod_four_digits(1e9 * (image_s > copy_s ? image_s - copy_s : 0));
    return POD_OK;
}

pod_status pod_calibrate_host(pod_call *call, pod_machine *m)
{
    pod_arena *arena;
    pod_log_say(call->log, POD_LOG_INFO, "measuring what ranks of this host cost each other");
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_status s = calibrate_pair(arena, m);
    if (s == POD_OK) s = calibrate_glyphs(arena, m);
    if (s == POD_OK) s = calibrate_fetch(arena, m);
    pod_arena_destroy(arena);
    return s;
}
