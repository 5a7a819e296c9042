/* Folders of JPEG and PNG files, made here: which class and which split each image comes to, and the
 * same bits whatever the number of threads. And a real set, where it is at hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/harness.h"
#include "tests/tools/jpegs.h"
#include "tests/tools/pngs.h"
#include "tests/unit/runtime/data/image_folders.h"

/* ---- what is whole --------------------------------------------------------------------------- */

static void class_folders(void)
{
    const char *f = numbered_folder();
    outcome x = IMPORTED(f, .n_threads = 2);
    const pod_dataset_info *info = &x.d->info;
    CU_ASSERT(info->height == 16 && info->width == 16 && info->channels == 3);
    CU_ASSERT(info->n_classes == 3);
    check_splits(x.d, "1a 2b 3c 4a 5b 6c 7a 8b", "9c 10a");
    POD_CHECK(strstr(x.said, "10 of 10 images imported, 0 left out"), "%s", x.said);
    POD_CHECK(strstr(x.said, "10 resized to 16x16"), "%s", x.said);
    POD_CHECK(strstr(x.said, "warning: class 'b' has no image to test; --split-by class takes a "),
              "%s", x.said);
    /* the right half is red */
    uint8_t pixels[16 * 16 * 3];
    POD_CHECK_OK(pod_dataset_read(x.d, POD_SPLIT_TRAIN, 0, pixels));
    CU_ASSERT(pixels[45] > 250 && pixels[46] < 5 && pixels[47] < 5);
    x = IMPORTED(f, .split_by_class = true, .test_share = 0.3);
    check_splits(x.d, "1a 2b 3c 4a 5b 6c 7a", "8b 9c 10a");
    CU_ASSERT(!strstr(x.said, "warning"));
    x = IMPORTED(f, .split_by_class = true, .test_share = 0.15);
    POD_CHECK(strstr(x.said, "warning: 2 classes have no image to test, the first is 'b'\n"), "%s",
              x.said);
    x = IMPORTED(f, .test_share = 0.1);
    POD_CHECK(strstr(x.said, "warning: 2 classes have no image to test, the first is 'b'; --split"),
              "%s", x.said);
}

static void split_folders(void)
{
    const char *f = pod_test_folder();
    static const char *const folders[] = {"train",    "train/hat",  "train/shoe",      "test",
                                          "test/hat", "validation", "validation/shoe", "other"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) make_folder(f, folders[i]);
    add_image(f, "train/hat/z.jpg", 10);
    add_image(f, "train/shoe/y.jpg", 20);
    add_image(f, "test/hat/x.jpg", 30);
    add_image(f, "validation/shoe/x.jpg", 40);
    outcome x = IMPORTED(f, 0);
    check_splits(x.d, "2shoe 1hat", "3hat");
    POD_CHECK(strstr(x.said, "\nneither training nor test, left out: 'validation' (1 images)\n"),
              "%s", x.said);
    x = IMPORTED(f, .test_folder = "validation");
    check_splits(x.d, "2shoe 1hat", "4shoe");
    POD_CHECK_FAILS(run_import(f, (pod_import_images_options){.test_folder = "tset"}, &x),
                    POD_E_FORMAT,
                    "has a folder 'train' but none 'tset' for the test; there are 'test' "
                    "(1 images), 'validation' (1 images): --test-folder takes one");
    static const char *const trains[] = {"train", "./train/", "link"};
    CU_ASSERT(symlink("train", in_folder(f, "link")) == 0);
    for (size_t i = 0; i < sizeof trains / sizeof trains[0]; i++)
        POD_CHECK_FAILS(run_import(f, (pod_import_images_options){.test_folder = trains[i]}, &x),
                        POD_E_INVALID, "is the folder 'train', which is no test of itself");
}

/* Folders that are not as they are wanted: the message says what to do. */
static void remedies(void)
{
    static const struct {
        const char *folders[4], *image, *why;
    } cases[] = {
        {{"train", "train/hat"}, "train/hat/1.jpg", "/train, and a share of its images becomes"},
        {{"data", "data/hat", "data/shoe"}, "data/hat/1.jpg", "is 'train'; import "},
        {{"Test", "Test/hat", "Training", "Training/hat"},
         "Training/hat/1.jpg",
         "if 'Training' is, rename it to 'train'"},
        {{"test", "test/hat", "validation", "validation/hat"},
         "test/hat/x.jpg",
         "has folders of folders, but none of them is 'train'"},
        {{NULL}, "1.jpg", "; the 1 images that stand in it have no class: `data import list` "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *f = pod_test_folder();
        outcome x;
        for (int k = 0; k < 4 && cases[i].folders[k]; k++) make_folder(f, cases[i].folders[k]);
        add_image(f, cases[i].image, 10);
        POD_CHECK_FAILS(run_import(f, (pod_import_images_options){0}, &x), POD_E_FORMAT,
                        cases[i].why);
    }
}

/* The share is one of the good images: nine here, which stand before bad ones. */
static void split_of_what_is_left(void)
{
    static const struct {
        bool by_class;
        double share;
        const char *train, *test;
    } cases[] = {{false, 0.1, "1a 2b 3c 4a 5b 6c 7a 8b 9c", "10a"},
                 {false, 0.3, "1a 2b 3c 4a 5b 6c 7a", "8b 9c 10a"},
                 {true, 0.3, "1a 2b 3c 4a 5b 6c 7a", "8b 9c 10a"}};
    const char *f = numbered_folder();
    outcome x;
    static const char *const bad[] = {"a/n0.jpg",  "b/n90.jpg", "a/n91.jpg", "a/n92.jpg",
                                      "a/n93.jpg", "c/n94.jpg", "c/n95.jpg"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        pod_test_spill(in_folder(f, bad[i]), "", 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pod_import_images_options o = {.skip_bad = true,
                                             .split_by_class = cases[i].by_class,
                                             .test_share = cases[i].share,
                                             .n_threads = 1 + (int)i};
        x = imported(f, o);
        check_splits(x.d, cases[i].train, cases[i].test);
        POD_CHECK(strstr(x.said, "10 of 17 images imported, 7 left out"), "%s", x.said);
    }
}

/* The bytes of the file that a folder becomes; to be freed. */
static char *file_of(const char *f, int64_t height, int n_threads, size_t *bytes)
{
    outcome x = IMPORTED(f, .height = height, .skip_bad = true, .n_threads = n_threads);
    uint8_t image[64 * 64 * 3]; /* the left half is the tag */
    POD_CHECK_OK(pod_dataset_read(x.d, POD_SPLIT_TRAIN, 0, image));
    POD_CHECK(abs(image[0] - 10) < 8, "%d", image[0]);
    return pod_test_slurp(beside(f, ".h5"), bytes);
}

/* Images of a chunk each, which workers pack, and several in one; more than a window takes. */
static void same_file_of_any_number(void)
{
    static const int64_t heights[] = {16, 64};
    for (size_t h = 0; h < sizeof heights / sizeof heights[0]; h++) {
        const char *f = numbered_folder();
        for (int i = 11; i < 300; i++)
            add_image(f, pod_test_text("%c/n%d.jpg", i % 3 ? 'a' : 'b', i), i % 256);
        size_t bytes, others;
        pod_test_spill(in_folder(f, "b/n5x.jpg"), "", 0);
        char *one = file_of(f, heights[h], 1, &bytes);
        for (int n = 2; one && n <= 5; n += 3) {
            char *other = file_of(f, heights[h], n, &others);
            POD_CHECK(other && bytes == others && memcmp(one, other, bytes) == 0,
                      "%d threads: another file", n);
            free(other);
        }
        free(one);
    }
}

/* What desktops and archivers leave, and what describes images, is passed over, and counted. */
static void no_images_by_name(void)
{
    const char *f = numbered_folder();
    static const char *const names[] = {"a/Thumbs.db",   "a/.DS_Store", "b/._n2.jpg",
                                        "b/desktop.ini", "c/README",    "c/labels.CSV",
                                        "c/LICENSE.txt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) make_text(in_folder(f, names[i]));
    make_folder(f, "__MACOSX");
    make_folder(f, "__MACOSX/a");
    make_folder(f, ".git");
    make_text(in_folder(f, "__MACOSX/a/._n1.jpg"));
    outcome x = IMPORTED(f, 0);
    POD_CHECK(strstr(x.said, "\n9 ignored: no images by their names; first .git\n"), "%s", x.said);
    CU_ASSERT(x.d->info.n_classes == 3);
    check_splits(x.d, "1a 2b 3c 4a 5b 6c 7a 8b", "9c 10a");
}

/* JPEG and PNG together, whatever their names say. */
static void jpeg_and_png(void)
{
    const char *f = numbered_folder();
    pod_test_png png = {.height = 30,
                        .width = 40,
                        .kind = POD_TEST_PNG_RGB,
                        .bits = 8,
                        .left = {50, 50, 50},
                        .right = {255, 0, 0}};
    CU_ASSERT(pod_test_png_save(&png, in_folder(f, "b/n5.jpg")));
    png.kind = POD_TEST_PNG_RGB_ALPHA;
    png.left[3] = 255;
    CU_ASSERT(pod_test_png_save(&png, in_folder(f, "b/n5x.png")));
    outcome x = IMPORTED(f, 0);
    check_splits(x.d, "1a 2b 3c 4a 5b 5b 6c 7a 8b", "9c 10a");
    POD_CHECK(strstr(x.said, "\n1 with transparent pixels, laid on white; first b/n5x.png\n"), "%s",
              x.said);
    png.kind = POD_TEST_PNG_GREY;
    CU_ASSERT(pod_test_png_save(&png, in_folder(f, "b/n5x.png")));
    POD_CHECK_FAILS(run_import(f, (pod_import_images_options){0}, &x), POD_E_FORMAT,
                    "b/n5x.png: grey, need colour");
    x = IMPORTED(f, .convert = true);
}

/* Classes that are numbers stand in their order; the note says so where it is another one. */
static void numbers_as_classes(void)
{
    for (int last = 9; last <= 10; last++) {
        const char *f = pod_test_folder();
        for (int i = last; i >= 0; i--) {
            make_folder(f, pod_test_text("%d", i));
            add_image(f, pod_test_text("%d/%d.jpg", i, i), 10 * i);
        }
        outcome x = IMPORTED(f, 0);
        for (int i = 0; i <= last; i++) CU_ASSERT(atoi(x.d->info.class_names[i]) == i);
        const bool is_said = strstr(x.said, "classes are in the order of their numbers") != NULL;
        POD_CHECK(is_said == (last == 10), "%s", x.said);
    }
}

/* What the decoder takes as it is: progressive files, any size, grey where grey is wanted. */
static void odd_but_good(void)
{
    const char *f = numbered_folder();
    const pod_test_jpeg progressive = {
        .height = 300, .width = 20, .components = 3, .is_progressive = true, .left = {50, 50, 50}};
    CU_ASSERT(pod_test_jpeg_save(&progressive, in_folder(f, "b/n4x.jpg")));
    outcome x = IMPORTED(f, 0);
    POD_CHECK(strstr(x.said, "1 progressive, decoded like the others; first b/n4x.jpg"), "%s",
              x.said);
    make_grey(in_folder(f, "c/n0.jpg"));
    x = IMPORTED(f, .channels = 1, .height = 8, .width = 12);
    CU_ASSERT(x.d->info.height == 8 && x.d->info.width == 12 && x.d->info.channels == 1);
    check_splits(x.d, "1c 1a 2b 3c 4a 5b 5b 6c 7a 8b", "9c 10a");
    CU_ASSERT(!strstr(x.said, "grey,"));
    make_cmyk(in_folder(f, "a/n11.jpg"));
    make_cmyk(in_folder(f, "a/n12.jpg"));
    x = IMPORTED(f, .convert = true);
    check_splits(x.d, "1c 1a 2b 3c 4a 5b 5b 6c 7a 8b 9c", "10a 20a 20a");
    POD_CHECK(strstr(x.said, "\n1 grey, made colour; first c/n0.jpg\n") &&
                  strstr(x.said, "\n2 CMYK, made RGB or grey; first a/n11.jpg\n"),
              "%s", x.said);
}

static void output_among_images(void)
{
    const char *f = numbered_folder();
    const char *link = beside(f, "-link");
    pod_log silent = pod_log_start(1, NULL, NULL, "off", true);
    const pod_import_images_options o = {.height = 8,
                                         .width = 8,
                                         .channels = 3,
                                         .test_share = 0.2,
                                         .test_folder = "test",
                                         .n_threads = 1,
                                         .log = &silent};
    static const char *const within[] = {"out.h5", "a/n1.jpg", "b/../c/new.h5"};
    for (size_t i = 0; i < sizeof within / sizeof within[0]; i++)
        POD_CHECK_FAILS(pod_import_images(f, in_folder(f, within[i]), &o), POD_E_INVALID,
                        "the folder that is imported");
    CU_ASSERT(symlink(f, link) == 0);
    POD_CHECK_FAILS(pod_import_images(f, beside(f, "-link/a/x.h5"), &o), POD_E_INVALID,
                    "the folder that is imported");
    POD_CHECK_FAILS(pod_import_images(link, in_folder(f, "x.h5"), &o), POD_E_INVALID,
                    "the folder that is imported");
    POD_CHECK_FAILS(pod_import_images(f, "/nowhere/x.h5", &o), POD_E_IO, "cannot write");
    POD_CHECK_OK(pod_import_images(f, in_folder(f, "../other.h5"), &o));
    CU_ASSERT(access(in_folder(f, "a/n1.jpg"), F_OK) == 0);
}

static void nothing_is_left(void)
{
    const char *f = pod_test_folder(), *nowhere = pod_test_folder();
    outcome x;
    CU_ASSERT(rmdir(nowhere) == 0);
    POD_CHECK_FAILS(run_import(nowhere, (pod_import_images_options){0}, &x), POD_E_IO,
                    ": cannot be read as a folder: No such file");
    POD_CHECK_FAILS(run_import(f, (pod_import_images_options){0}, &x), POD_E_FORMAT,
                    "has no folders of images");
    make_folder(f, "a");
    pod_import_images_options skip = {.skip_bad = true};
    POD_CHECK_FAILS(run_import(f, skip, &x), POD_E_FORMAT, "no image is left");
    add_image(f, "a/only.jpg", 10);
    POD_CHECK_FAILS(run_import(f, skip, &x), POD_E_FORMAT, "1 file, none of them to test");
    pod_test_spill(in_folder(f, "a/z.jpg"), "", 0);
    skip.test_share = 0.5;
    POD_CHECK_FAILS(run_import(f, skip, &x), POD_E_FORMAT, "1 file, none of them to train");
    CU_ASSERT(!is_there(f, ".h5"));
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
    const char *path = pod_test_path("%s.h5", r->name);
    pod_log silent = pod_log_start(1, NULL, NULL, "off", true);
    const pod_import_images_options o = {.height = 32,
                                         .width = 32,
                                         .channels = 3,
                                         .test_share = 0.2,
                                         .test_folder = "test",
                                         .n_threads = 2,
                                         .log = &silent};
    pod_dataset *d = NULL;
    POD_CHECK_OK(pod_import_images(beside(at, r->below), path, &o));
    POD_NEED_OK(pod_dataset_open(path, 0, &d));
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

POD_TEST_SUITE("runtime.import_images", {"class_folders", class_folders},
               {"split_folders", split_folders}, {"remedies", remedies},
               {"split_of_what_is_left", split_of_what_is_left},
               {"same_file_of_any_number", same_file_of_any_number},
               {"no_images_by_name", no_images_by_name}, {"jpeg_and_png", jpeg_and_png},
               {"numbers_as_classes", numbers_as_classes}, {"odd_but_good", odd_but_good},
               {"output_among_images", output_among_images}, {"nothing_is_left", nothing_is_left},
               {"sign_language_digits", sign_language_digits});
