/* kernels/base: parsers and printers of options. */
#include <limits.h>
#include <math.h>

#include "kernels/base/parse.h"
#include "kernels/base/rng.h"
#include "tests/harness/harness.h"

static void parse_int(void)
{
    static const struct {
        const char *text;
        int64_t want;
    } good[] = {{"0", 0},
                {"-7", -7},
                {"100", 100},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    static const char *const bad[] = {"",    " 1", "1 ",  "1x",  "x",    "0x10",
                                      "1.0", "-",  "1e3", "--1", "1\t2", "9223372036854775808"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t got = 42;
        POD_CHECK_OK(pod_parse_int("--n", good[i].text, INT64_MIN, INT64_MAX, &got));
        POD_CHECK(got == good[i].want, "'%s' is read as %lld", good[i].text, (long long)got);
    }
    int64_t untouched = 42;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        POD_CHECK_FAILS(pod_parse_int("--n", bad[i], INT64_MIN, INT64_MAX, &untouched),
                        POD_E_INVALID, "--n: ");
    POD_CHECK_FAILS(pod_parse_int("--n", "11", 1, 10, &untouched), POD_E_INVALID, "1 to 10");
    POD_CHECK_FAILS(pod_parse_int("--n", "0", 1, 10, &untouched), POD_E_INVALID, "1 to 10");
    CU_ASSERT_EQUAL(untouched, 42);
}

static void parse_double(void)
{
    static const struct {
        const char *text;
        double want;
    } good[] = {{"0", 0}, {"-1.5", -1.5}, {"1e-3", 1e-3}, {".5", .5}, {"1e308", 1e308}};
    static const char *const bad[] = {"",    " 1",   "1 ", "1x",    "nan",
                                      "inf", "-inf", "e",  "1e999", "0x10"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double got = 42;
        POD_CHECK_OK(pod_parse_double("--lr", good[i].text, -HUGE_VAL, HUGE_VAL, &got));
        POD_CHECK(got == good[i].want, "'%s' is read as %g", good[i].text, got);
    }
    double untouched = 42;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        POD_CHECK_FAILS(pod_parse_double("--lr", bad[i], -HUGE_VAL, HUGE_VAL, &untouched),
                        POD_E_INVALID, "--lr: ");
    POD_CHECK_FAILS(pod_parse_double("--lr", "1.5", 0, 1, &untouched), POD_E_INVALID, "0 to 1");
    CU_ASSERT_EQUAL(untouched, 42);
}

static void parse_size(void)
{
    static const struct {
        const char *text;
        int64_t want;
    } good[] = {{"0", 0},
                {"4096", 4096},
                {"64K", 64 << 10},
                {"64k", 64 << 10},
                {"64KB", 64 << 10},
                {"64KiB", 64 << 10},
                {"1.5Mi", 3 << 19},
                {"7b", 7},
                {"1.5M", 3 << 19},
                {"0.5K", 512},
                {"4G", (int64_t)4 << 30},
                {"2T", (int64_t)2 << 40},
                {"9007199254740993", 9007199254740993},
                {"8388607T", (int64_t)8388607 << 40},
                {"9223372036854775807", INT64_MAX}};
    static const char *const bad[] = {"",
                                      "K",
                                      "-1",
                                      "+1",
                                      "1.5",
                                      "0.3K",
                                      "1KK",
                                      "1 K",
                                      "1P",
                                      "1KBB",
                                      "1iB",
                                      "1KBi",
                                      "0x10",
                                      "1e3",
                                      "inf",
                                      "nan",
                                      "8388608T",
                                      "99999999999999999999",
                                      ".5K",
                                      "1.K",
                                      "8388607.99999999999999999999T",
                                      "0.99999999999999999999K"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t got = 42;
        POD_CHECK_OK(pod_parse_size("--bytes", good[i].text, &got));
        POD_CHECK(got == good[i].want, "'%s' is read as %lld", good[i].text, (long long)got);
    }
    int64_t untouched = 42;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        POD_CHECK_FAILS(pod_parse_size("--bytes", bad[i], &untouched), POD_E_INVALID, "--bytes: ");
    CU_ASSERT_EQUAL(untouched, 42);
}

static void size_round_trip(void)
{
    pod_rng r = pod_rng_at(4, (pod_place){.stream = POD_STREAM_TEST});
    char text[32];
    for (int i = 0; i < 2000; i++) {
        int64_t bytes = (int64_t)(pod_rng_u64(&r) >> 2 >> pod_rng_below(&r, 62));
        int shift = (int)pod_rng_below(&r, 5) * 10;
        if (bytes < INT64_MAX >> (shift + 2)) bytes <<= shift;
        int64_t back = -1;
        POD_CHECK_OK(pod_parse_size("size", pod_print_size(bytes, text, sizeof text), &back));
        POD_CHECK(back == bytes, "%lld is printed '%s' and read as %lld", (long long)bytes, text,
                  (long long)back);
    }
    CU_ASSERT_STRING_EQUAL(pod_print_size(0, text, sizeof text), "0");
    CU_ASSERT_STRING_EQUAL(pod_print_size(1000, text, sizeof text), "1000");
    CU_ASSERT_STRING_EQUAL(pod_print_size(1536, text, sizeof text), "1536");
    CU_ASSERT_STRING_EQUAL(pod_print_size(65536, text, sizeof text), "64K");
    CU_ASSERT_STRING_EQUAL(pod_print_size((int64_t)1 << 50, text, sizeof text), "1024T");
}

static void print_double(void)
{
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0, "0"},         {-0.0, "-0"},         {0.1, "0.1"},     {5, "5"},
                {50, "50"},       {-1200, "-1200"},     {61604, "61604"}, {275000, "275000"},
                {1e6, "1e+06"},   {1.25e9, "1.25e+09"}, {1e-6, "1e-06"},  {999999.5, "999999.5"},
                {INFINITY, "inf"}};
    char text[32];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CU_ASSERT_STRING_EQUAL(pod_print_double(rows[i].value, text, sizeof text), rows[i].text);
}

static void parse_bool(void)
{
    static const char *const yes[] = {"on", "true", "yes", "1", "ON", "True"};
    static const char *const no[] = {"off", "false", "no", "0", "OFF", "False"};
    static const char *const bad[] = {"", "2", "o", "onn", " on", "y"};
    bool got = false;
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++, got = false)
        POD_CHECK(pod_parse_bool("--b", yes[i], &got) == POD_OK && got, "'%s'", yes[i]);
    got = true;
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++, got = true)
        POD_CHECK(pod_parse_bool("--b", no[i], &got) == POD_OK && !got, "'%s'", no[i]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        POD_CHECK_FAILS(pod_parse_bool("--b", bad[i], &got), POD_E_INVALID, "--b: ");
    CU_ASSERT_TRUE(got);
}

static void parse_dims(void)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "2x",
                                      "x2",
                                      "2xx2",
                                      "0x2",
                                      "-1x2",
                                      "2X2",
                                      "2x2x2x2",
                                      " 2",
                                      "2 x2",
                                      "2.5",
                                      "99999999999999999999"};
    int64_t dim[3] = {-1, -1, -1};
    int n_dims = 0;
    POD_CHECK_OK(pod_parse_dims("--data", "28x14x1", 3, dim, &n_dims));
    CU_ASSERT(n_dims == 3 && dim[0] == 28 && dim[1] == 14 && dim[2] == 1);
    POD_CHECK_OK(pod_parse_dims("--data", "7", 3, dim, &n_dims));
    CU_ASSERT(n_dims == 1 && dim[0] == 7 && dim[1] == 14);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        POD_CHECK_FAILS(pod_parse_dims("--data", bad[i], 3, dim, &n_dims), POD_E_INVALID,
                        "--data: ");
    CU_ASSERT(n_dims == 1 && dim[0] == 7 && dim[1] == 14);
}

POD_TEST_SUITE("kernels.parse", {"int", parse_int}, {"double", parse_double}, {"size", parse_size},
               {"size_round_trip", size_round_trip}, {"print_double", print_double},
               {"bool", parse_bool}, {"dims", parse_dims});
