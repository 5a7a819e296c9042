/* The made data set: deterministic, balanced, the same at any order of reading; hard enough that a
 * linear classifier stays below 85 %, and no noise, so that it stays well above chance. */
#include <math.h>
#include <string.h>

#include "runtime/data/images/glyphs.h"
#include "tests/harness/harness.h"

enum { N_CLASSES = POD_GLYPHS_N_CLASSES };

static pod_glyphs_options parsed(const char *spec)
{
    pod_glyphs_options o = {0};
    POD_CHECK_OK(pod_glyphs_parse(spec, &o));
    return o;
}

static void parses(void)
{
    static const struct {
        const char *spec;
        int64_t h, w, c, n_train, n_test;
    } good[] = {
        {"glyphs", 28, 28, 1, 20000, 4000},
        {"glyphs:224x192x3", 224, 192, 3, 20000, 4000},
        {"glyphs:1x2x4:7+5", 1, 2, 4, 7, 5},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        pod_glyphs_options o = parsed(good[i].spec);
        POD_CHECK(pod_glyphs_is_spec(good[i].spec), "%s", good[i].spec);
        POD_CHECK(o.height == good[i].h && o.width == good[i].w && o.channels == good[i].c,
                  "%s: size", good[i].spec);
        POD_CHECK(o.n_samples[0] == good[i].n_train && o.n_samples[1] == good[i].n_test,
                  "%s: counts", good[i].spec);
    }
    static const char *const bad[] = {"glyphs:",          "glyphs:28",       "glyphs:28x28",
                                      "glyphs:0x28x1",    "glyphs:28x28x1:", "glyphs:8x8x1:5",
                                      "glyphs:8x8x1:0+5", "glyphs:8x8x1:5+", "glyphs:8x8x1x1",
                                      "glyphs:8x8x1:5+5x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pod_glyphs_options o = {0};
        POD_CHECK_FAILS(pod_glyphs_parse(bad[i], &o), POD_E_INVALID, "glyphs");
    }
    CU_ASSERT(!pod_glyphs_is_spec("glyphs.h5"));
    pod_dataset *d;
    POD_CHECK_FAILS(pod_dataset_open("glyphs:32768x32768x3", 1, &d), POD_E_FORMAT, "32768x32768x3");
}

static uint64_t hash(uint64_t h, int64_t n, const uint8_t *bytes)
{
    for (int64_t i = 0; i < n; i++) h = (h ^ bytes[i]) * 0x100000001b3u;
    return h;
}

/* The same bits on every machine and compiler; who changes the drawing changes these on purpose. */
static void bits_are_known(void)
{
    static const struct {
        const char *spec;
        uint64_t want;
    } known[] = {{"glyphs", 0x472d15b574cc0cb2u}, {"glyphs:40x24x3", 0xe5198eb0a6391cb8u}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++) {
        pod_glyphs_options o = parsed(known[k].spec);
        uint8_t pixels[40 * 24 * 3];
        uint64_t h = 0xcbf29ce484222325u;
        for (int i = 0; i < 200; i++) {
            pod_glyphs_draw(&o, 1, i % 2 ? POD_SPLIT_TEST : POD_SPLIT_TRAIN, i, pixels);
            h = hash(h, o.height * o.width * o.channels, pixels);
        }
        POD_CHECK(h == known[k].want, "%s: hash 0x%016llx", known[k].spec, (unsigned long long)h);
    }
}

static void place_decides(void)
{
    pod_glyphs_options o = parsed("glyphs:12x10x2");
    uint8_t first[240], again[240], other[240];
    pod_glyphs_draw(&o, 5, POD_SPLIT_TRAIN, 17, first);
    pod_glyphs_draw(&o, 5, POD_SPLIT_TEST, 17, other);
    CU_ASSERT(memcmp(first, other, sizeof first) != 0);
    pod_glyphs_draw(&o, 6, POD_SPLIT_TRAIN, 17, other);
    CU_ASSERT(memcmp(first, other, sizeof first) != 0);
    pod_glyphs_draw(&o, 5, POD_SPLIT_TRAIN, 27, other);
    CU_ASSERT(memcmp(first, other, sizeof first) != 0);
    memset(again, 0xff, sizeof again);
    pod_glyphs_draw(&o, 5, POD_SPLIT_TRAIN, 17, again);
    CU_ASSERT(memcmp(first, again, sizeof first) == 0);
}

/* Nothing is written outside of the image, whatever its form. */
static void any_size(void)
{
    static const int64_t size[][3] = {{1, 1, 1},  {1, 9, 3},  {7, 1, 2},    {2, 3, 1},
                                      {5, 64, 4}, {64, 5, 9}, {128, 96, 3}, {31, 33, 1}};
    for (size_t k = 0; k < sizeof size / sizeof size[0]; k++) {
        pod_glyphs_options o = {size[k][0], size[k][1], size[k][2], {1, 1}};
        size_t bytes = (size_t)(o.height * o.width * o.channels);
        uint8_t *pixels = pod_test_guard(bytes);
        for (int64_t i = 0; i < 50; i++) pod_glyphs_draw(&o, 9, POD_SPLIT_TRAIN, i, pixels);
        pod_test_guard_free(pixels, bytes);
        CU_PASS("guards hold");
    }
}

static void as_a_data_set(void)
{
    pod_dataset *d = NULL;
    POD_NEED_OK(pod_dataset_open("glyphs:16x16x3:300+50", 3, &d));
    CU_ASSERT(d->info.n_samples[POD_SPLIT_TRAIN] == 300 && d->info.n_samples[POD_SPLIT_TEST] == 50);
    CU_ASSERT(d->info.n_classes == N_CLASSES && d->info.channels == 3);
    int64_t counts[N_CLASSES];
    for (int s = 0; s < POD_N_SPLITS; s++) {
        pod_dataset_count_classes(d, (pod_split)s, counts);
        for (int c = 0; c < N_CLASSES; c++)
            POD_CHECK(counts[c] == d->info.n_samples[s] / N_CLASSES, "class %d: %lld samples", c,
                      (long long)counts[c]);
    }
    /* mean and std, against the plain formula over the same samples */
    double sum = 0, sum_sq = 0;
    uint8_t pixels[16 * 16 * 3];
    for (int64_t i = 0; i < 256; i++) {
        POD_CHECK_OK(pod_dataset_read(d, POD_SPLIT_TRAIN, i, pixels));
        for (int j = 1; j < 16 * 16 * 3; j += 3) {
            sum += pixels[j] / 255.0;
            sum_sq += pixels[j] / 255.0 * pixels[j] / 255.0;
        }
    }
    double n = 256 * 256, mean = sum / n, std = sqrt(sum_sq / n - mean * mean);
    CU_ASSERT_DOUBLE_EQUAL(d->info.mean[1], mean, 1e-10);
    CU_ASSERT_DOUBLE_EQUAL(d->info.std[1], std, 1e-10);
    pod_dataset_close(d);
}

/* ---- how hard it is: softmax regression, plain SGD ------------------------------------------- */

enum { SIDE = 28, N_PIXELS = SIDE * SIDE, N_TRAIN = 4000, N_TEST = 1000, N_EPOCHS = 5 };

typedef struct linear {
    float w[N_CLASSES][N_PIXELS], b[N_CLASSES];
} linear;

static int scores(const linear *m, const float *x, float z[N_CLASSES])
{
    int best = 0;
    for (int k = 0; k < N_CLASSES; k++) {
        z[k] = m->b[k];
        for (int j = 0; j < N_PIXELS; j++) z[k] += m->w[k][j] * x[j];
        if (z[k] > z[best]) best = k;
    }
    return best;
}

static void learn(linear *m, const float *x, int label, float rate)
{
    float z[N_CLASSES], sum = 0;
    float top = z[scores(m, x, z)];
    for (int k = 0; k < N_CLASSES; k++) sum += z[k] = expf(z[k] - top);
    for (int k = 0; k < N_CLASSES; k++) {
        float slope = rate * (z[k] / sum - (k == label ? 1.0f : 0.0f));
        for (int j = 0; j < N_PIXELS; j++) m->w[k][j] -= slope * x[j];
        m->b[k] -= slope;
    }
}

static void draw_into(const pod_dataset *d, pod_split split, int64_t i, float *x)
{
    uint8_t pixels[N_PIXELS];
    POD_CHECK_OK(pod_dataset_read(d, split, i, pixels));
    for (int j = 0; j < N_PIXELS; j++)
        x[j] = (float)((pixels[j] / 255.0 - d->info.mean[0]) / d->info.std[0]);
}

static void linear_stays_below(void)
{
    static linear m;
    static float x[N_TRAIN][N_PIXELS];
    pod_dataset *d = NULL;
    POD_NEED_OK(pod_dataset_open("glyphs", 1, &d));
    for (int i = 0; i < N_TRAIN; i++) draw_into(d, POD_SPLIT_TRAIN, i, x[i]);
    for (int e = 0; e < N_EPOCHS; e++)
        for (int i = 0; i < N_TRAIN; i++) {
            float rate = 1e-3f * (1 - (float)(e * N_TRAIN + i) / (N_EPOCHS * N_TRAIN));
            int at = (int)((int64_t)i * 1237 % N_TRAIN);
            learn(&m, x[at], at % N_CLASSES, rate);
        }
    int n_right = 0;
    for (int i = 0; i < N_TEST; i++) {
        float z[N_CLASSES];
        draw_into(d, POD_SPLIT_TEST, i, x[0]);
        n_right += scores(&m, x[0], z) == pod_dataset_label(d, POD_SPLIT_TEST, i);
    }
    double accuracy = (double)n_right / N_TEST;
    POD_CHECK(accuracy > 0.5 && accuracy < 0.85, "linear accuracy is %.3f", accuracy);
    pod_dataset_close(d);
}

POD_TEST_SUITE("runtime.glyphs", {"parses", parses}, {"bits_are_known", bits_are_known},
               {"place_decides", place_decides}, {"any_size", any_size},
               {"as_a_data_set", as_a_data_set}, {"linear_stays_below", linear_stays_below});
