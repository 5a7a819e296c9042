/* Augmentation against the definition: a random image matches its result at one place only, so the
 * offset that was drawn can be read off, and every place and both mirrors must occur. */
#include <string.h>

#include "runtime/data/augment.h"
#include "tests/harness/harness.h"

enum { H = 7, W = 9, C = 3, BYTES = H * W * C, SEED = 11 };

static void parses(void)
{
    static const struct {
        const char *text;
        int pad;
        bool flip;
    } good[] = {{"none", 0, false}, {"crop", 3, false}, {"flip", 0, true}, {"crop+flip", 3, true}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        pod_augment a = {.pad = -1};
        POD_CHECK_OK(pod_augment_parse(good[i].text, 3, &a));
        POD_CHECK(a.pad == good[i].pad && a.flip == good[i].flip, "%s", good[i].text);
    }
    static const char *const bad[] = {"", "crop+", "flip+crop", "Crop", "crop flip"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pod_augment a = {.pad = -1};
        POD_CHECK_FAILS(pod_augment_parse(bad[i], 3, &a), POD_E_INVALID, "augment");
        CU_ASSERT(a.pad == -1);
    }
}

static void random_image(uint8_t image[BYTES])
{
    pod_test_fill_exact(3, BYTES, 100, POD_U8, image);
    for (int i = 0; i < BYTES; i++)
        image[i] = (uint8_t)(image[i] | 1); /* nowhere 0, as padding is */
}

/* out[y, x] = padded(in)[y + dy, x' + dx], x' mirrored. */
static bool matches(const uint8_t *in, const uint8_t *out, int dy, int dx, bool mirror)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int from_y = y + dy, from_x = (mirror ? W - 1 - x : x) + dx;
            bool inside = from_y >= 0 && from_y < H && from_x >= 0 && from_x < W;
            for (int c = 0; c < C; c++) {
                int want = inside ? in[(from_y * W + from_x) * C + c] : 0;
                if (out[(y * W + x) * C + c] != want) return false;
            }
        }
    return true;
}

static void apply(pod_augment a, int64_t epoch, int64_t sample, const uint8_t *in, uint8_t *out)
{
    memset(out, 0xaa, BYTES);
    pod_augment_apply(&a, SEED, epoch, sample, H, W, C, in, out);
}

/* Every place occurs, and nothing else. */
static void by_definition(void)
{
    static const pod_augment kinds[] = {{0, false}, {2, false}, {0, true}, {2, true}};
    uint8_t in[BYTES], out[BYTES];
    random_image(in);
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        pod_augment a = kinds[k];
        int places = 2 * a.pad + 1, seen[2][5][5] = {{{0}}}, n_seen = 0;
        for (int64_t sample = 0; sample < 1000; sample++) {
            apply(a, 4, sample, in, out);
            int n_matches = 0;
            for (int m = 0; m <= (a.flip ? 1 : 0); m++)
                for (int y = 0; y < places; y++)
                    for (int x = 0; x < places; x++)
                        if (matches(in, out, y - a.pad, x - a.pad, m == 1)) {
                            n_matches++;
                            n_seen += seen[m][y][x]++ == 0;
                        }
            POD_CHECK(n_matches == 1, "kind %zu, sample %lld: %d matches", k, (long long)sample,
                      n_matches);
        }
        int want = places * places * (a.flip ? 2 : 1);
        POD_CHECK(n_seen == want, "kind %zu: %d of %d places occur", k, n_seen, want);
    }
}

static void place_decides(void)
{
    uint8_t in[BYTES], out[BYTES], again[BYTES];
    random_image(in);
    pod_augment a = {2, true};
    int n_other_epoch = 0;
    for (int64_t sample = 0; sample < 100; sample++) {
        apply(a, 1, sample, in, out);
        apply(a, 1, sample, in, again);
        CU_ASSERT(memcmp(out, again, BYTES) == 0);
        apply(a, 2, sample, in, again);
        n_other_epoch += memcmp(out, again, BYTES) != 0;
    }
    /* 50 places: one in 50 is drawn twice by chance */
    POD_CHECK(n_other_epoch > 80, "%d of 100 differ in the next epoch", n_other_epoch);
}

/* A pad beyond the image may leave nothing of it; no byte outside is touched. */
static void large_pad(void)
{
    uint8_t in[BYTES];
    random_image(in);
    uint8_t *out = pod_test_guard(BYTES);
    pod_augment a = {64, true};
    for (int64_t sample = 0; sample < 200; sample++)
        pod_augment_apply(&a, SEED, 0, sample, H, W, C, in, out);
    pod_test_guard_free(out, BYTES);
    CU_PASS("guards hold");
}

static CU_TestInfo tests[] = {{"parses", parses},
                              {"by_definition", by_definition},
                              {"place_decides", place_decides},
                              {"large_pad", large_pad},
                              CU_TEST_INFO_NULL};

CU_SuiteInfo pod_test_suites[] = {{.pName = "runtime.augment", .pTests = tests},
                                  CU_SUITE_INFO_NULL};
