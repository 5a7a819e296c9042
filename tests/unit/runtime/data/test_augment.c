/* Augmentation against the definition: a random image matches its result at one place only, so the
 * offset that was drawn can be read off, and every place and both mirrors must occur. A part that is
 * resized is read off a ramp. */
#include <math.h>
#include <string.h>

#include "runtime/data/images/augment.h"
#include "tests/harness/harness.h"

enum { H = 7, W = 9, C = 3, BYTES = H * W * C, SEED = 11 };

static void parses(void)
{
    static const struct {
        const char *text;
        pod_augment want;
    } good[] = {{"none", {POD_CUT_MIDDLE, 0, 0.1, false}},
                {"crop", {POD_CUT_RANDOM, 3, 0.1, false}},
                {"rrc", {POD_CUT_RESIZED, 0, 0.1, false}},
                {"flip", {POD_CUT_MIDDLE, 0, 0.1, true}},
                {"crop+flip", {POD_CUT_RANDOM, 3, 0.1, true}},
                {"rrc+flip", {POD_CUT_RESIZED, 0, 0.1, true}}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        pod_augment a = {.pad = -1};
        const pod_augment *want = &good[i].want;
        POD_CHECK_OK(pod_augment_parse(good[i].text, 3, 0.1, &a));
        POD_CHECK(a.cut == want->cut && a.pad == want->pad && a.flip == want->flip, "%s",
                  good[i].text);
        CU_ASSERT_DOUBLE_EQUAL(a.least_area, 0.1, 0);
    }
    static const char *const bad[] = {"", "crop+", "flip+crop", "Crop", "crop flip", "rrc+crop"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pod_augment a = {.pad = -1};
        POD_CHECK_FAILS(pod_augment_parse(bad[i], 3, 0.1, &a), POD_E_INVALID, "augment");
        CU_ASSERT(a.pad == -1);
    }
}

static void random_image(uint8_t image[BYTES])
{
    pod_test_fill_exact(3, BYTES, 100, POD_U8, image);
    for (int i = 0; i < BYTES; i++)
        image[i] = (uint8_t)(image[i] | 1); /* nowhere 0, as padding is */
}

enum { MAX_SIDE = 16, MAX_BYTES = MAX_SIDE * MAX_SIDE * C };

/* out[y, x] = padded(in)[y + dy, x' + dx], x' mirrored. */
static bool matches(const pod_frame *f, const uint8_t *in, const uint8_t *out, int64_t dy,
                    int64_t dx, bool mirror)
{
    for (int64_t y = 0; y < f->out_height; y++)
        for (int64_t x = 0; x < f->out_width; x++) {
            const int64_t from_y = y + dy, from_x = (mirror ? f->out_width - 1 - x : x) + dx;
            const bool inside = from_y >= 0 && from_y < H && from_x >= 0 && from_x < W;
            for (int64_t c = 0; c < C; c++) {
                const int want = inside ? in[(from_y * W + from_x) * C + c] : 0;
                if (out[(y * f->out_width + x) * C + c] != want) return false;
            }
        }
    return true;
}

/* Every place occurs, and nothing else: of images seen as they are, smaller, larger, and smaller in
 * one direction but larger in the other. `first` and `n` are the places along y and x. */
static void by_definition(void)
{
    static const struct {
        pod_augment a;
        int64_t out[2], first[2], n[2];
    } cases[] = {
        {{.cut = POD_CUT_MIDDLE}, {H, W}, {0, 0}, {1, 1}},
        {{.cut = POD_CUT_RANDOM, .pad = 2}, {H, W}, {-2, -2}, {5, 5}},
        {{.flip = true}, {H, W}, {0, 0}, {1, 1}},
        {{.cut = POD_CUT_RANDOM, .pad = 2, .flip = true}, {H, W}, {-2, -2}, {5, 5}},
        {{.cut = POD_CUT_MIDDLE}, {4, 5}, {1, 2}, {1, 1}},
        {{.cut = POD_CUT_RANDOM}, {4, 5}, {0, 0}, {4, 5}},
        {{.cut = POD_CUT_RANDOM, .pad = 1, .flip = true}, {4, 5}, {-1, -1}, {6, 7}},
        {{.cut = POD_CUT_MIDDLE, .flip = true}, {10, 13}, {-2, -2}, {1, 1}},
        {{.cut = POD_CUT_RANDOM, .pad = 1}, {10, 13}, {-3, -3}, {3, 3}},
        {{.cut = POD_CUT_RANDOM, .pad = 1}, {5, 12}, {-1, -3}, {5, 3}},
    };
    uint8_t in[BYTES], out[MAX_BYTES];
    random_image(in);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        const pod_augment a = cases[k].a;
        const pod_frame f = {H, W, cases[k].out[0], cases[k].out[1], C};
        const int64_t *n = cases[k].n, *first = cases[k].first;
        int seen[2][MAX_SIDE][MAX_SIDE] = {{{0}}}, n_seen = 0;
        for (int64_t sample = 0; sample < 1000; sample++) {
            memset(out, 0xaa, sizeof out);
            pod_augment_apply(&a, SEED, 4, sample, &f, in, out, NULL);
            int n_matches = 0;
            for (int m = 0; m <= (a.flip ? 1 : 0); m++)
                for (int64_t y = 0; y < n[0]; y++)
                    for (int64_t x = 0; x < n[1]; x++)
                        if (matches(&f, in, out, y + first[0], x + first[1], m == 1)) {
                            n_matches++;
                            n_seen += seen[m][y][x]++ == 0;
                        }
            POD_CHECK(n_matches == 1, "case %zu, sample %lld: %d matches", k, (long long)sample,
                      n_matches);
        }
        const int want = (int)(n[0] * n[1]) * (a.flip ? 2 : 1);
        POD_CHECK(n_seen == want, "case %zu: %d of %d places occur", k, n_seen, want);
        CU_ASSERT(pod_augment_is_copy(&a, &f) == (k == 0));
    }
}

static void place_decides(void)
{
    static const pod_augment kinds[] = {{.cut = POD_CUT_RANDOM, .pad = 2, .flip = true},
                                        {.cut = POD_CUT_RESIZED, .least_area = 0.08, .flip = true}};
    const pod_frame f = {H, W, H, W, C};
    uint8_t in[BYTES], out[BYTES], again[BYTES];
    static _Alignas(64) uint8_t scratch[1 << 14];
    random_image(in);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const pod_augment *a = &kinds[k];
        int n_other_epoch = 0;
        CU_ASSERT(pod_augment_scratch_bytes(a, &f) <= sizeof scratch);
        for (int64_t sample = 0; sample < 100; sample++) {
            pod_augment_apply(a, SEED, 1, sample, &f, in, out, scratch);
            pod_augment_apply(a, SEED, 1, sample, &f, in, again, scratch);
            CU_ASSERT(memcmp(out, again, BYTES) == 0);
            pod_augment_apply(a, SEED, 2, sample, &f, in, again, scratch);
            n_other_epoch += memcmp(out, again, BYTES) != 0;
        }
        /* 50 places at the least: one in 50 is drawn twice by chance */
        POD_CHECK(n_other_epoch > 80, "%d of 100 differ in the next epoch", n_other_epoch);
    }
}

/* A pad beyond the image may leave nothing of it; no byte outside is touched. */
static void guards_hold(void)
{
    static const pod_augment kinds[] = {{.cut = POD_CUT_RANDOM, .pad = 64, .flip = true},
                                        {.cut = POD_CUT_RESIZED, .least_area = 1e-6, .flip = true}};
    static const int64_t sizes[][2] = {{H, W}, {1, 1}, {13, 14}};
    uint8_t *in = pod_test_guard(BYTES);
    random_image(in);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            const pod_frame f = {H, W, sizes[s][0], sizes[s][1], C};
            const size_t bytes = (size_t)(f.out_height * f.out_width * C);
            const size_t scratch_bytes = pod_augment_scratch_bytes(&kinds[k], &f);
            uint8_t *out = pod_test_guard(bytes), *scratch = pod_test_guard(scratch_bytes + 8);
            for (int64_t sample = 0; sample < 200; sample++)
                pod_augment_apply(&kinds[k], SEED, 0, sample, &f, in, out, scratch);
            pod_test_guard_free(out, bytes);
            pod_test_guard_free(scratch, scratch_bytes + 8);
        }
    pod_test_guard_free(in, BYTES);
    CU_PASS("guards hold");
}

enum { RAMP = 200, SEEN = 20 };

/* Channel 0 of the ramp is the column, channel 1 the row: values at the first and last place of the
 * result are half a place inside of the part that was taken, so its edges can be read off, to half a
 * pixel's rounding, times SEEN / (SEEN - 1). */
static void read_edges(const uint8_t *out, int channel, bool mirror, double *from, double *size)
{
    const int64_t step = channel == 0 ? 2 : (int64_t)SEEN * 2, last = (SEEN - 1) * step;
    const double a = out[(mirror ? last : 0) + channel], b = out[(mirror ? 0 : last) + channel];
    *size = (b - a) * SEEN / (SEEN - 1);
    *from = a + 0.5 - *size / SEEN / 2;
}

/* Parts lie within the image, have the areas and shapes that were asked for, evenly. */
static void parts_are_even(void)
{
    enum { N = 2000 };
    const pod_augment a = {.cut = POD_CUT_RESIZED, .least_area = 0.25, .flip = true};
    const pod_frame f = {RAMP, RAMP, SEEN, SEEN, 2};
    static uint8_t in[RAMP * RAMP * 2], out[SEEN * SEEN * 2];
    static _Alignas(64) uint8_t scratch[1 << 15];
    CU_ASSERT(pod_augment_scratch_bytes(&a, &f) <= sizeof scratch);
    for (int i = 0; i < RAMP * RAMP; i++) {
        in[2 * i] = (uint8_t)(i % RAMP);
        in[2 * i + 1] = (uint8_t)(i / RAMP);
    }
    double area_sum = 0, log_ratio_sum = 0, x_share_sum = 0;
    int n_mirrored = 0;
    for (int64_t sample = 0; sample < N; sample++) {
        double x, y, width, height;
        pod_augment_apply(&a, SEED, 0, sample, &f, in, out, scratch);
        const bool mirror = out[0] > out[(SEEN - 1) * 2];
        read_edges(out, 0, mirror, &x, &width);
        read_edges(out, 1, false, &y, &height);
        POD_CHECK(x > -2 && y > -2 && x + width < RAMP + 2 && y + height < RAMP + 2,
                  "a part at %.1f, %.1f of %.1f x %.1f", y, x, height, width);
        const double area = width * height / (RAMP * RAMP), ratio = width / height;
        POD_CHECK(area > 0.24 && area < 1.02 && ratio > 0.72 && ratio < 1.39,
                  "a part of area %.3f and shape %.3f", area, ratio);
        area_sum += area;
        log_ratio_sum += log(ratio);
        if (width < RAMP - 10) x_share_sum += x / (RAMP - width) - 0.5;
        n_mirrored += mirror;
    }
    /* Areas are even over 0.25 to 1 but for those near 1 that do not fit in most shapes, which are
     * drawn anew: the mean is a little below 0.625. */
    POD_CHECK(area_sum / N > 0.5 && area_sum / N < 0.625, "mean area %.3f", area_sum / N);
    CU_ASSERT_DOUBLE_EQUAL(log_ratio_sum / N, 0, 0.02);
    CU_ASSERT_DOUBLE_EQUAL(x_share_sum / N, 0, 0.04); /* 0.3 / sqrt(2000) = 0.0065, six of them */
    POD_CHECK(n_mirrored > N * 4 / 10 && n_mirrored < N * 6 / 10, "%d mirrored", n_mirrored);
}

POD_TEST_SUITE("runtime.augment", {"parses", parses}, {"by_definition", by_definition},
               {"place_decides", place_decides}, {"guards_hold", guards_hold},
               {"parts_are_even", parts_are_even});
