/* Folders of JPEG files, made here: which class and which split each image comes to, what becomes of
 * those that cannot be used, and the same bits whatever the number of threads. And the real sets,
 * where they are at hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/data/dataset.h"
#include "runtime/data/import_images.h"
#include "tests/harness/harness.h"
#include "tests/harness/jpegs.h"

enum { MAX_PATH_BYTES = 512, TEXT_BYTES = 8192 };

/* ---- folders --------------------------------------------------------------------------------- */

typedef struct folder {
    char path[MAX_PATH_BYTES / 2];
} folder;

static const char *in_folder(const folder *f, const char *name, char path[MAX_PATH_BYTES])
{
    snprintf(path, MAX_PATH_BYTES, "%s/%s", f->path, name);
    return path;
}

static void make_folder(const folder *f, const char *name)
{
    char path[MAX_PATH_BYTES];
    POD_CHECK(mkdir(in_folder(f, name, path), 0777) == 0, "%s", path);
}

static folder new_folder(void)
{
    static int n;
    folder f;
    snprintf(f.path, sizeof f.path, "%s/set%d", pod_test_dir(), n++);
    POD_CHECK(mkdir(f.path, 0777) == 0, "%s", f.path);
    return f;
}

/* An image whose left half has the grey level `tag`, by which it is known again. */
static void add_image(const folder *f, const char *name, int tag)
{
    char path[MAX_PATH_BYTES];
    const uint8_t t = (uint8_t)tag;
    const pod_test_jpeg made = {.height = 24 + tag % 3 * 8,
                                .width = 32 + tag % 5 * 16,
                                .components = 3,
                                .left = {t, t, t},
                                .right = {255, 0, 0}};
    POD_CHECK(pod_test_jpeg_save(&made, in_folder(f, name, path)), "%s", path);
}

/* Classes a, b and c with the images n1, n2, ... n10 in turn: n1 in a, n2 in b, ...; the number of an
 * image times 10 is its tag. */
static folder numbered_folder(void)
{
    folder f = new_folder();
    static const char *const classes[] = {"b", "a", "c"};
    for (int i = 0; i < 3; i++) make_folder(&f, classes[i]);
    for (int i = 1; i <= 10; i++) {
        char name[32];
        snprintf(name, sizeof name, "%c/n%d.jpg", "abc"[(i - 1) % 3], i);
        add_image(&f, name, 10 * i);
    }
    return f;
}

typedef struct outcome {
    pod_dataset *d;
    char said[TEXT_BYTES]; /* on the log */
} outcome;

static pod_status run_import(const folder *f, pod_import_images_options o, outcome *out)
{
    char path[MAX_PATH_BYTES];
    FILE *said = tmpfile();
    if (!said) return pod_fail(POD_E_IO, "no temporary file");
    pod_log log = pod_log_start(0, said, said, "off", false);
    o.log = &log;
    if (!o.height) o.height = 16;
    if (!o.width) o.width = o.height;
    if (!o.channels) o.channels = 3;
    if (!o.test_folder) o.test_folder = "test";
    if (o.test_share <= 0) o.test_share = 0.2;
    if (!o.n_threads) o.n_threads = 1;
    *out = (outcome){0};
    pod_status s = pod_import_images(f->path, in_folder(f, "out.h5", path), &o);
    rewind(said);
    const size_t n = fread(out->said, 1, sizeof out->said - 1, said);
    out->said[n] = '\0';
    fclose(said);
    if (s == POD_OK) s = pod_dataset_open(path, 0, &out->d);
    return s;
}

static int tag_of(const pod_dataset *d, pod_split split, int64_t i)
{
    static uint8_t pixels[1 << 16];
    POD_CHECK_OK(pod_dataset_read(d, split, i, pixels));
    const int64_t middle = d->info.height / 2 * d->info.width;
    return pixels[middle * d->info.channels];
}

/* The tags, divided by ten, and the classes: "1a 2b 3c ...". */
static void describe(const pod_dataset *d, pod_split split, char text[TEXT_BYTES])
{
    size_t n = 0;
    text[0] = '\0';
    for (int64_t i = 0; i < d->info.n_samples[split]; i++)
        n += (size_t)snprintf(text + n, TEXT_BYTES - n, "%s%d%s", i ? " " : "",
                              (tag_of(d, split, i) + 5) / 10,
                              d->info.class_names[pod_dataset_label(d, split, i)]);
}

static void check_splits(const pod_dataset *d, const char *train, const char *test)
{
    char text[TEXT_BYTES];
    describe(d, POD_SPLIT_TRAIN, text);
    POD_CHECK(strcmp(text, train) == 0, "train is '%s', want '%s'", text, train);
    describe(d, POD_SPLIT_TEST, text);
    POD_CHECK(strcmp(text, test) == 0, "test is '%s', want '%s'", text, test);
}

/* ---- what is whole --------------------------------------------------------------------------- */

static void class_folders(void)
{
    folder f = numbered_folder();
    outcome x;
    POD_CHECK_OK(run_import(&f, (pod_import_images_options){.n_threads = 2}, &x));
    if (!x.d) return;
    const pod_dataset_info *info = &x.d->info;
    CU_ASSERT(info->height == 16 && info->width == 16 && info->channels == 3);
    CU_ASSERT(info->n_classes == 3);
    check_splits(x.d, "1a 2b 3c 4a 5b 6c 7a 8b", "9c 10a");
    POD_CHECK(strstr(x.said, "10 of 10 images imported, 0 left out"), "%s", x.said);
    POD_CHECK(strstr(x.said, "10 resized, from 24x32 (c/n3.jpg) to 40x"), "%s", x.said);
    POD_CHECK(strstr(x.said, "warning: class 'b' has no image to test"), "%s", x.said);
    /* the right half is red */
    uint8_t pixels[16 * 16 * 3];
    POD_CHECK_OK(pod_dataset_read(x.d, POD_SPLIT_TRAIN, 0, pixels));
    CU_ASSERT(pixels[45] > 250 && pixels[46] < 5 && pixels[47] < 5);
    pod_dataset_close(x.d);
    POD_CHECK_OK(
        run_import(&f, (pod_import_images_options){.split_by_class = true, .test_share = 0.3}, &x));
    if (!x.d) return;
    check_splits(x.d, "1a 2b 3c 4a 5b 6c 7a", "8b 9c 10a");
    pod_dataset_close(x.d);
}

static void split_folders(void)
{
    folder f = new_folder();
    static const char *const folders[] = {"train",    "train/hat",  "train/shoe",      "test",
                                          "test/hat", "validation", "validation/shoe", "other"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) make_folder(&f, folders[i]);
    add_image(&f, "train/hat/z.jpg", 10);
    add_image(&f, "train/shoe/y.jpg", 20);
    add_image(&f, "test/hat/x.jpg", 30);
    add_image(&f, "validation/shoe/x.jpg", 40);
    outcome x;
    POD_CHECK_OK(run_import(&f, (pod_import_images_options){0}, &x));
    if (!x.d) return;
    check_splits(x.d, "2shoe 1hat", "3hat");
    pod_dataset_close(x.d);
    POD_CHECK_OK(run_import(&f, (pod_import_images_options){.test_folder = "validation"}, &x));
    if (!x.d) return;
    check_splits(x.d, "2shoe 1hat", "4shoe");
    pod_dataset_close(x.d);
    POD_CHECK_FAILS(run_import(&f, (pod_import_images_options){.test_folder = "tset"}, &x),
                    POD_E_FORMAT, "has a folder 'train' but none 'tset'");
}

/* More images than a window takes, and some of them bad. */
static void any_number_of_threads(void)
{
    enum { N = 300 };
    folder f = new_folder();
    make_folder(&f, "a");
    make_folder(&f, "b");
    for (int i = 0; i < N; i++) {
        char name[32];
        snprintf(name, sizeof name, "%c/%d.jpg", i % 3 ? 'a' : 'b', i);
        add_image(&f, name, i % 256);
    }
    add_image(&f, "a/1000.jpg", 5);
    char path[MAX_PATH_BYTES];
    FILE *bad = fopen(in_folder(&f, "b/17x.jpg", path), "w");
    if (bad) fclose(bad);
    outcome one, other;
    POD_CHECK_OK(run_import(&f, (pod_import_images_options){.skip_bad = true}, &one));
    for (int n_threads = 2; one.d && n_threads <= 7; n_threads += 5) {
        POD_CHECK_OK(run_import(
            &f, (pod_import_images_options){.skip_bad = true, .n_threads = n_threads}, &other));
        if (!other.d) break;
        for (int s = 0; s < POD_N_SPLITS; s++) {
            CU_ASSERT(other.d->info.n_samples[s] == one.d->info.n_samples[s]);
            for (int64_t i = 0; i < one.d->info.n_samples[s]; i++) {
                uint8_t a[16 * 16 * 3], b[16 * 16 * 3];
                POD_CHECK_OK(pod_dataset_read(one.d, (pod_split)s, i, a));
                POD_CHECK_OK(pod_dataset_read(other.d, (pod_split)s, i, b));
                CU_ASSERT(memcmp(a, b, sizeof a) == 0);
            }
        }
        pod_dataset_close(other.d);
    }
    if (one.d) CU_ASSERT(one.d->info.n_samples[0] + one.d->info.n_samples[1] == N + 1);
    pod_dataset_close(one.d);
}

/* ---- what cannot be used --------------------------------------------------------------------- */

static void truncated(const char *path)
{
    const pod_test_jpeg made = {.height = 32, .width = 32, .components = 3, .left = {9, 99, 0}};
    CU_ASSERT(pod_test_jpeg_save(&made, path) && truncate(path, 600) == 0);
}

static void noise(const char *path)
{
    const pod_test_jpeg made = {.height = 64, .width = 64, .components = 3, .left = {9, 99, 0}};
    CU_ASSERT(pod_test_jpeg_save(&made, path));
    FILE *to = fopen(path, "r+b");
    if (!to) return;
    fseek(to, -40, SEEK_END);
    for (int i = 0; i < 30; i++) fputc(i * 37 % 251, to);
    fclose(to);
}

static void grey(const char *path)
{
    const pod_test_jpeg made = {.height = 32, .width = 32, .components = 1, .left = {9}};
    CU_ASSERT(pod_test_jpeg_save(&made, path));
}

static void cmyk(const char *path)
{
    const pod_test_jpeg made = {.height = 32, .width = 32, .components = 4, .left = {9}};
    CU_ASSERT(pod_test_jpeg_save(&made, path));
}

static void empty(const char *path)
{
    FILE *to = fopen(path, "wb");
    if (to) fclose(to);
}

static void text(const char *path)
{
    FILE *to = fopen(path, "wb");
    if (!to) return;
    fputs("this is no picture", to);
    fclose(to);
}

static void a_folder(const char *path) { CU_ASSERT(mkdir(path, 0777) == 0); }

static void pipe_file(const char *path) { CU_ASSERT(mkfifo(path, 0666) == 0); }

static void dead_link(const char *path) { CU_ASSERT(symlink("nowhere", path) == 0); }

static const struct bad {
    void (*make)(const char *path);
    const char *name, *why;
} bads[] = {
    {truncated, "b/n5x.jpg", "b/n5x.jpg: Premature end of JPEG file"},
    {noise, "b/n5x.jpg", "b/n5x.jpg: Corrupt JPEG data"},
    {grey, "a/n1x.jpg", "a/n1x.jpg: grey, need colour"},
    {cmyk, "a/n1x.jpg", "a/n1x.jpg: CMYK, need RGB or grey"},
    {empty, "c/n9x.jpg", "c/n9x.jpg: empty"},
    {text, "c/readme", "c/readme: no JPEG file"},
    {a_folder, "c/n2x", "c/n2x: a folder, need an image"},
    {pipe_file, "c/n2x", "c/n2x: no regular file"},
    {dead_link, "c/n2x", "c/n2x: cannot be read: No such file"},
    {a_folder, "bb", "/bb: a class folder without images"},
};

static void bad_images_are_named(void)
{
    for (size_t i = 0; i < sizeof bads / sizeof bads[0]; i++) {
        folder f = numbered_folder();
        outcome x;
        char path[MAX_PATH_BYTES];
        bads[i].make(in_folder(&f, bads[i].name, path));
        POD_CHECK_FAILS(run_import(&f, (pod_import_images_options){.n_threads = 2}, &x),
                        POD_E_FORMAT, bads[i].why);
        CU_ASSERT(!strchr(pod_error_text(), '\n'));
        CU_ASSERT(access(in_folder(&f, "out.h5", path), F_OK) != 0);
        CU_ASSERT(access(in_folder(&f, "out.h5.part", path), F_OK) != 0);
        POD_CHECK_OK(run_import(&f, (pod_import_images_options){.skip_bad = true}, &x));
        if (!x.d) continue;
        POD_CHECK(strstr(x.said, bads[i].why) && strstr(x.said, "; left out\n"), "%s", x.said);
        CU_ASSERT(x.d->info.n_samples[0] + x.d->info.n_samples[1] == 10);
        CU_ASSERT(x.d->info.n_classes == 3);
        pod_dataset_close(x.d);
    }
}

/* What the decoder takes as it is: progressive files, any size, grey where grey is wanted. */
static void odd_but_good(void)
{
    folder f = numbered_folder();
    outcome x;
    char path[MAX_PATH_BYTES];
    const pod_test_jpeg progressive = {
        .height = 300, .width = 20, .components = 3, .is_progressive = true, .left = {50, 50, 50}};
    CU_ASSERT(pod_test_jpeg_save(&progressive, in_folder(&f, "b/n4x.jpg", path)));
    POD_CHECK_OK(run_import(&f, (pod_import_images_options){0}, &x));
    POD_CHECK(strstr(x.said, "1 progressive, decoded like the others; first b/n4x.jpg"), "%s",
              x.said);
    pod_dataset_close(x.d);
    grey(in_folder(&f, "c/n0.jpg", path));
    POD_CHECK_OK(
        run_import(&f, (pod_import_images_options){.channels = 1, .height = 8, .width = 12}, &x));
    if (!x.d) return;
    CU_ASSERT(x.d->info.height == 8 && x.d->info.width == 12 && x.d->info.channels == 1);
    check_splits(x.d, "1c 1a 2b 3c 4a 5b 5b 6c 7a 8b", "9c 10a");
    pod_dataset_close(x.d);
}

static void nothing_is_left(void)
{
    folder f = new_folder(), nowhere = {"/nowhere"};
    outcome x;
    char path[MAX_PATH_BYTES];
    POD_CHECK_FAILS(run_import(&nowhere, (pod_import_images_options){0}, &x), POD_E_IO,
                    "/nowhere: cannot be read as a folder: No such file");
    POD_CHECK_FAILS(run_import(&f, (pod_import_images_options){0}, &x), POD_E_FORMAT,
                    "has no folders of images");
    make_folder(&f, "a");
    pod_import_images_options skip = {.skip_bad = true};
    POD_CHECK_FAILS(run_import(&f, skip, &x), POD_E_FORMAT, "0 images, none of them to train");
    add_image(&f, "a/only.jpg", 10);
    POD_CHECK_FAILS(run_import(&f, skip, &x), POD_E_FORMAT, "1 images, none of them to test");
    empty(in_folder(&f, "a/z.jpg", path));
    skip.test_share = 0.5;
    POD_CHECK_FAILS(run_import(&f, skip, &x), POD_E_FORMAT, "0 test samples, need at least 1");
    CU_ASSERT(access(in_folder(&f, "out.h5", path), F_OK) != 0);
}

/* ---- the real things ------------------------------------------------------------------------- */

typedef struct real {
    const char *name, *below;
    int64_t n_train, n_test;
    double mean[3]; /* of the training images, as their description states it */
} real;

/* A square is cut out of the middle: the mean moves a little. */
static void check_real(const real *r)
{
    const char *at = pod_test_data(r->name);
    if (!at) {
        pod_test_skip(r->name, "the data set is not here");
        return;
    }
    char from[MAX_PATH_BYTES], path[MAX_PATH_BYTES];
    snprintf(from, sizeof from, "%s%s", at, r->below);
    snprintf(path, sizeof path, "%s/%s.h5", pod_test_dir(), r->name);
    pod_log silent = pod_log_start(1, NULL, NULL, "off", true);
    const pod_import_images_options o = {.height = 32,
                                         .width = 32,
                                         .channels = 3,
                                         .test_share = 0.2,
                                         .test_folder = "test",
                                         .n_threads = 2,
                                         .log = &silent};
    pod_dataset *d = NULL;
    POD_CHECK_OK(pod_import_images(from, path, &o));
    POD_CHECK_OK(pod_dataset_open(path, 0, &d));
    if (!d) return;
    POD_CHECK(d->info.n_samples[0] == r->n_train && d->info.n_samples[1] == r->n_test,
              "%s: %d to train, %d to test", r->name, (int)d->info.n_samples[0],
              (int)d->info.n_samples[1]);
    CU_ASSERT(d->info.n_classes == 10);
    for (int c = 0; c < 3; c++) CU_ASSERT_DOUBLE_EQUAL(d->info.mean[c], r->mean[c], 0.02);
    pod_dataset_close(d);
}

static void sign_language_digits(void)
{
    check_real(&(real){"sign-language-digits", "/Dataset", 1650, 412, {0.675, 0.646, 0.617}});
}

static void clothing(void)
{
    check_real(&(real){"clothing-small-200", "", 1817, 372, {0.550, 0.473, 0.452}});
}

static CU_TestInfo tests[] = {{"class_folders", class_folders},
                              {"split_folders", split_folders},
                              {"any_number_of_threads", any_number_of_threads},
                              {"bad_images_are_named", bad_images_are_named},
                              {"odd_but_good", odd_but_good},
                              {"nothing_is_left", nothing_is_left},
                              {"sign_language_digits", sign_language_digits},
                              {"clothing", clothing},
                              CU_TEST_INFO_NULL};

CU_SuiteInfo pod_test_suites[] = {{.pName = "runtime.import_images", .pTests = tests},
                                  CU_SUITE_INFO_NULL};
