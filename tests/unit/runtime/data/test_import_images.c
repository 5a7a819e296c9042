/* Folders of JPEG files, made here: which class and which split each image comes to, what becomes
 * of those that cannot be used, and the same bits whatever the number of threads. And the real
 * sets, where they are at hand.
 *
 * The system's calls that an import makes on images and folders go through functions of this file,
 * so that they can fail as a disk or a full table would have them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/data/dataset.h"
#include "runtime/data/import/import.h"
#include "tests/harness/harness.h"
#include "tests/harness/jpegs.h"
#include "tests/harness/pngs.h"

enum { MAX_PATH_BYTES = 512, TEXT_BYTES = 8192 };

/* ---- calls that fail ------------------------------------------------------------------------- */

static struct fault {
    const char *call, *path; /* which fails, with what in its path; NULL: any */
    int error;
    bool is_short;   /* an image ends early */
    int kill_signal; /* comes to this process when the third image is read */
    int n_read;      /* images */
    int short_fd;    /* + 1 */
    int n_dirty;     /* calls of readdir with an old errno */
} fault;

static bool fails(const char *call, const char *path)
{
    if (!fault.call || strcmp(fault.call, call) != 0) return false;
    if (path && fault.path && !strstr(path, fault.path)) return false;
    errno = fault.error;
    return true;
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const mode_t mode = flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
    va_end(args);
    return fails("open", path) ? -1 : openat(AT_FDCWD, path, flags, mode);
}

int stat(const char *restrict path, struct stat *restrict out)
{
    return fails("stat", path) ? -1 : fstatat(AT_FDCWD, path, out, 0);
}

DIR *opendir(const char *path)
{
    if (fails("opendir", path)) return NULL;
    const int fd = openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? NULL : fdopendir(fd);
}

struct dirent *readdir64(DIR *dir); /* glibc's name of the same on 64 bits */

struct dirent *readdir(DIR *dir)
{
    fault.n_dirty += errno != 0;
    struct dirent *e = fails("readdir", NULL) ? NULL : readdir64(dir);
    if (e) errno = EINTR; /* as any call between two of them may leave it */
    return e;
}

ssize_t read(int fd, void *to, size_t bytes)
{
    const struct iovec all = {to, bytes};
    if (fault.short_fd == fd + 1) return fault.short_fd = 0;
    const ssize_t n = readv(fd, &all, 1);
    if (n < 4 || memcmp(to, "\xff\xd8", 2) != 0) return n;
    if (fault.kill_signal && ++fault.n_read == 3) kill(getpid(), fault.kill_signal);
    if (fault.is_short) fault.short_fd = fd + 1;
    return fails("read", NULL) ? -1 : fault.is_short ? 100 : n;
}

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

/* Classes a, b and c with the images n1, n2, ... n10 in turn: n1 in a, n2 in b, ...; the number of
 * an image times 10 is its tag. */
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

/* The file that it becomes, beside it. */
static const char *beside(const folder *f, const char *name, char path[MAX_PATH_BYTES])
{
    snprintf(path, MAX_PATH_BYTES, "%s%s", f->path, name);
    return path;
}

static bool is_there(const folder *f, const char *name)
{
    char path[MAX_PATH_BYTES];
    return access(beside(f, name, path), F_OK) == 0;
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
    pod_status s = pod_import_images(f->path, beside(f, ".h5", path), &o);
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
    POD_CHECK(strstr(x.said, "10 resized to 16x16"), "%s", x.said);
    POD_CHECK(strstr(x.said, "warning: class 'b' has no image to test; --split-by class takes a "),
              "%s", x.said);
    /* the right half is red */
    uint8_t pixels[16 * 16 * 3];
    POD_CHECK_OK(pod_dataset_read(x.d, POD_SPLIT_TRAIN, 0, pixels));
    CU_ASSERT(pixels[45] > 250 && pixels[46] < 5 && pixels[47] < 5);
    pod_dataset_close(x.d);
    POD_CHECK_OK(
        run_import(&f, (pod_import_images_options){.split_by_class = true, .test_share = 0.3}, &x));
    if (!x.d) return;
    check_splits(x.d, "1a 2b 3c 4a 5b 6c 7a", "8b 9c 10a");
    CU_ASSERT(!strstr(x.said, "warning"));
    pod_dataset_close(x.d);
    POD_CHECK_OK(run_import(
        &f, (pod_import_images_options){.split_by_class = true, .test_share = 0.15}, &x));
    POD_CHECK(strstr(x.said, "warning: 2 classes have no image to test, the first is 'b'\n"), "%s",
              x.said);
    pod_dataset_close(x.d);
    POD_CHECK_OK(run_import(&f, (pod_import_images_options){.test_share = 0.1}, &x));
    POD_CHECK(strstr(x.said, "warning: 2 classes have no image to test, the first is 'b'; --split"),
              "%s", x.said);
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
    POD_CHECK(strstr(x.said, "\nneither training nor test, left out: 'validation' (1 images)\n"),
              "%s", x.said);
    pod_dataset_close(x.d);
    POD_CHECK_OK(run_import(&f, (pod_import_images_options){.test_folder = "validation"}, &x));
    if (!x.d) return;
    check_splits(x.d, "2shoe 1hat", "4shoe");
    pod_dataset_close(x.d);
    POD_CHECK_FAILS(run_import(&f, (pod_import_images_options){.test_folder = "tset"}, &x),
                    POD_E_FORMAT,
                    "has a folder 'train' but none 'tset' for the test; there are 'test' "
                    "(1 images), 'validation' (1 images): --test-folder takes one");
    char path[MAX_PATH_BYTES];
    static const char *const trains[] = {"train", "./train/", "link"};
    CU_ASSERT(symlink("train", in_folder(&f, "link", path)) == 0);
    for (size_t i = 0; i < sizeof trains / sizeof trains[0]; i++)
        POD_CHECK_FAILS(run_import(&f, (pod_import_images_options){.test_folder = trains[i]}, &x),
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
        folder f = new_folder();
        outcome x;
        for (int k = 0; k < 4 && cases[i].folders[k]; k++) make_folder(&f, cases[i].folders[k]);
        add_image(&f, cases[i].image, 10);
        POD_CHECK_FAILS(run_import(&f, (pod_import_images_options){0}, &x), POD_E_FORMAT,
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
    folder f = numbered_folder();
    outcome x;
    char path[MAX_PATH_BYTES];
    static const char *const bad[] = {"a/n0.jpg",  "b/n90.jpg", "a/n91.jpg", "a/n92.jpg",
                                      "a/n93.jpg", "c/n94.jpg", "c/n95.jpg"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pod_test_spill(in_folder(&f, bad[i], path), "", 0);
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const pod_import_images_options o = {.skip_bad = true,
                                             .split_by_class = cases[i].by_class,
                                             .test_share = cases[i].share,
                                             .n_threads = 1 + (int)i};
        POD_CHECK_OK(run_import(&f, o, &x));
        if (!x.d) continue;
        check_splits(x.d, cases[i].train, cases[i].test);
        POD_CHECK(strstr(x.said, "10 of 17 images imported, 7 left out"), "%s", x.said);
        pod_dataset_close(x.d);
    }
}

/* The bytes of the file that a folder becomes; to be freed. */
static char *file_of(const folder *f, int64_t height, int n_threads, size_t *bytes)
{
    char path[MAX_PATH_BYTES];
    outcome x;
    POD_CHECK_OK(run_import(
        f, (pod_import_images_options){.height = height, .skip_bad = true, .n_threads = n_threads},
        &x));
    if (x.d) {
        uint8_t image[64 * 64 * 3]; /* the left half is the tag */
        POD_CHECK_OK(pod_dataset_read(x.d, POD_SPLIT_TRAIN, 0, image));
        POD_CHECK(abs(image[0] - 10) < 8, "%d", image[0]);
    }
    pod_dataset_close(x.d);
    return pod_test_slurp(beside(f, ".h5", path), bytes);
}

/* Images of a chunk each, which workers pack, and several in one; more than a window takes. */
static void same_file_of_any_number(void)
{
    static const int64_t heights[] = {16, 64};
    for (size_t h = 0; h < sizeof heights / sizeof heights[0]; h++) {
        folder f = numbered_folder();
        for (int i = 11; i < 300; i++) {
            char name[32];
            snprintf(name, sizeof name, "%c/n%d.jpg", i % 3 ? 'a' : 'b', i);
            add_image(&f, name, i % 256);
        }
        size_t bytes, others;
        char path[MAX_PATH_BYTES], *one = NULL;
        pod_test_spill(in_folder(&f, "b/n5x.jpg", path), "", 0);
        one = file_of(&f, heights[h], 1, &bytes);
        for (int n = 2; one && n <= 5; n += 3) {
            char *other = file_of(&f, heights[h], n, &others);
            POD_CHECK(other && bytes == others && memcmp(one, other, bytes) == 0,
                      "%d threads: another file", n);
            free(other);
        }
        free(one);
    }
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
    const pod_test_jpeg made = {
        .height = 32, .width = 32, .components = 4, .left = {200, 200, 200, 255}};
    CU_ASSERT(pod_test_jpeg_save(&made, path));
}

static void empty(const char *path) { pod_test_spill(path, "", 0); }

static void text(const char *path) { pod_test_spill(path, "this is no picture", 18); }

static void webp(const char *path) { pod_test_spill(path, "RIFF\x10\0\0\0WEBPVP8 ", 16); }

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
    {text, "c/n9x.jpg", "c/n9x.jpg: neither a JPEG nor a PNG"},
    {webp, "c/n9x.jpg", "c/n9x.jpg: a WebP image: convert it to JPEG or PNG"},
    {a_folder, "c/n2x", "c/n2x: a folder, need an image"},
    {pipe_file, "c/n2x", "c/n2x: no regular file"},
    {dead_link, "c/n2x", "c/n2x: cannot be read: No such file"},
    {a_folder, "bb", "/bb: a class folder without images"},
    {dead_link, "bb", "/bb: cannot be looked at: No such file"},
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
        CU_ASSERT(!is_there(&f, ".h5") && !is_there(&f, ".h5.part"));
        POD_CHECK_OK(run_import(&f, (pod_import_images_options){.skip_bad = true}, &x));
        if (!x.d) continue;
        POD_CHECK(strstr(x.said, bads[i].why) && strstr(x.said, "; left out\n"), "%s", x.said);
        CU_ASSERT(x.d->info.n_samples[0] + x.d->info.n_samples[1] == 10);
        CU_ASSERT(x.d->info.n_classes == 3);
        pod_dataset_close(x.d);
    }
}

/* All that cannot be used is named in one line, up to a few, and counted; skipped, in a few lines. */
static void many_bad_images(void)
{
    folder f = numbered_folder();
    char path[MAX_PATH_BYTES], name[32];
    outcome x;
    a_folder(in_folder(&f, "bb", path));
    for (int i = 1; i <= 400; i++) {
        snprintf(name, sizeof name, "b/x%d.png", i);
        text(in_folder(&f, name, path));
    }
    POD_CHECK_FAILS(run_import(&f, (pod_import_images_options){.n_threads = 2}, &x), POD_E_FORMAT,
                    ": 401 files cannot be used (--on-bad-image skip leaves them out): ");
    POD_CHECK(strstr(pod_error_text(), "/bb: a class folder without images; ") &&
                  strstr(pod_error_text(), "/b/x1.png: neither a JPEG nor a PNG; "),
              "%s", pod_error_text());
    CU_ASSERT(strstr(pod_error_text(), " more") != NULL && !strchr(pod_error_text(), '\n'));
    CU_ASSERT(x.said[0] == '\0' && !is_there(&f, ".h5") && !is_there(&f, ".h5.part"));
    POD_CHECK_OK(run_import(&f, (pod_import_images_options){.skip_bad = true}, &x));
    int n_warnings = 0;
    for (const char *p = x.said; (p = strstr(p, "left out\n")); p++) n_warnings++;
    POD_CHECK(n_warnings == 6 && strstr(x.said, "warning: 396 more like these are left out\n"),
              "%s", x.said);
    if (x.d) CU_ASSERT(x.d->info.n_samples[0] + x.d->info.n_samples[1] == 10);
    pod_dataset_close(x.d);
}

/* A class of which skipping leaves nothing is none, in either layout. */
static void a_class_that_skipping_empties(void)
{
    for (int is_split = 0; is_split < 2; is_split++) {
        folder f = numbered_folder();
        char path[MAX_PATH_BYTES], other[MAX_PATH_BYTES];
        outcome x;
        a_folder(in_folder(&f, "ab", path));
        text(in_folder(&f, "ab/1.png", path));
        if (is_split) {
            folder above = new_folder();
            CU_ASSERT(rename(f.path, in_folder(&above, "train", path)) == 0);
            make_folder(&above, "test");
            make_folder(&above, "test/c");
            add_image(&above, "test/c/1.jpg", 50);
            text(in_folder(&above, "test/c/2.jpg", other));
            f = above;
        }
        POD_CHECK_OK(run_import(&f, (pod_import_images_options){.skip_bad = true}, &x));
        POD_CHECK(strstr(x.said, "warning: class 'ab' has no image that can be used; left out\n"),
                  "%s", x.said);
        if (!x.d) continue;
        CU_ASSERT(x.d->info.n_classes == 3);
        check_splits(x.d, is_split ? "1a 2b 3c 4a 5b 6c 7a 8b 9c 10a" : "1a 2b 3c 4a 5b 6c 7a 8b",
                     is_split ? "5c" : "9c 10a");
        pod_dataset_close(x.d);
    }
}

/* What desktops and archivers leave, and what describes images, is passed over, and counted. */
static void no_images_by_name(void)
{
    folder f = numbered_folder();
    outcome x;
    char path[MAX_PATH_BYTES];
    static const char *const names[] = {"a/Thumbs.db",   "a/.DS_Store", "b/._n2.jpg",
                                        "b/desktop.ini", "c/README",    "c/labels.CSV",
                                        "c/LICENSE.txt"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) text(in_folder(&f, names[i], path));
    make_folder(&f, "__MACOSX");
    make_folder(&f, "__MACOSX/a");
    make_folder(&f, ".git");
    text(in_folder(&f, "__MACOSX/a/._n1.jpg", path));
    POD_CHECK_OK(run_import(&f, (pod_import_images_options){0}, &x));
    POD_CHECK(strstr(x.said, "\n9 ignored: no images by their names; first .git\n"), "%s", x.said);
    if (!x.d) return;
    CU_ASSERT(x.d->info.n_classes == 3);
    check_splits(x.d, "1a 2b 3c 4a 5b 6c 7a 8b", "9c 10a");
    pod_dataset_close(x.d);
}

/* JPEG and PNG together, whatever their names say. */
static void jpeg_and_png(void)
{
    folder f = numbered_folder();
    outcome x;
    char path[MAX_PATH_BYTES];
    pod_test_png png = {.height = 30,
                        .width = 40,
                        .kind = POD_TEST_PNG_RGB,
                        .bits = 8,
                        .left = {50, 50, 50},
                        .right = {255, 0, 0}};
    CU_ASSERT(pod_test_png_save(&png, in_folder(&f, "b/n5.jpg", path)));
    png.kind = POD_TEST_PNG_RGB_ALPHA;
    png.left[3] = 255;
    CU_ASSERT(pod_test_png_save(&png, in_folder(&f, "b/n5x.png", path)));
    POD_CHECK_OK(run_import(&f, (pod_import_images_options){0}, &x));
    if (!x.d) return;
    check_splits(x.d, "1a 2b 3c 4a 5b 5b 6c 7a 8b", "9c 10a");
    POD_CHECK(strstr(x.said, "\n1 with transparent pixels, laid on white; first b/n5x.png\n"), "%s",
              x.said);
    pod_dataset_close(x.d);
    png.kind = POD_TEST_PNG_GREY;
    CU_ASSERT(pod_test_png_save(&png, in_folder(&f, "b/n5x.png", path)));
    POD_CHECK_FAILS(run_import(&f, (pod_import_images_options){0}, &x), POD_E_FORMAT,
                    "b/n5x.png: grey, need colour");
    POD_CHECK_OK(run_import(&f, (pod_import_images_options){.convert = true}, &x));
    pod_dataset_close(x.d);
}

/* Classes that are numbers stand in their order; the note says so where it is another one. */
static void numbers_as_classes(void)
{
    for (int last = 9; last <= 10; last++) {
        folder f = new_folder();
        outcome x;
        char name[32];
        for (int i = last; i >= 0; i--) {
            snprintf(name, sizeof name, "%d", i);
            make_folder(&f, name);
            snprintf(name, sizeof name, "%d/%d.jpg", i, i);
            add_image(&f, name, 10 * i);
        }
        POD_CHECK_OK(run_import(&f, (pod_import_images_options){0}, &x));
        if (!x.d) continue;
        for (int i = 0; i <= last; i++) CU_ASSERT(atoi(x.d->info.class_names[i]) == i);
        const bool is_said = strstr(x.said, "classes are in the order of their numbers") != NULL;
        POD_CHECK(is_said == (last == 10), "%s", x.said);
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
    CU_ASSERT(!strstr(x.said, "grey,"));
    pod_dataset_close(x.d);
    cmyk(in_folder(&f, "a/n11.jpg", path));
    cmyk(in_folder(&f, "a/n12.jpg", path));
    POD_CHECK_OK(run_import(&f, (pod_import_images_options){.convert = true}, &x));
    if (!x.d) return;
    check_splits(x.d, "1c 1a 2b 3c 4a 5b 5b 6c 7a 8b 9c", "10a 20a 20a");
    POD_CHECK(strstr(x.said, "\n1 grey, made colour; first c/n0.jpg\n") &&
                  strstr(x.said, "\n2 CMYK, made RGB or grey; first a/n11.jpg\n"),
              "%s", x.said);
    pod_dataset_close(x.d);
}

/* What is about one file can be left out; what is about this process or its disks cannot. */
static const struct trouble {
    const char *call, *path;
    int error;
    pod_status status;
    const char *why;
    int n_left; /* of 10, where it is left out */
} troubles[] = {
    {"open", "b/n5.jpg", EACCES, POD_E_FORMAT, "b/n5.jpg: cannot be read: Permission denied", 9},
    {"open", "b/n5.jpg", ELOOP, POD_E_FORMAT, "b/n5.jpg: cannot be read: Too many levels", 9},
    {"open", "b/n5.jpg", EIO, POD_E_IO, "b/n5.jpg: cannot be read: Input/output error", 0},
    {"open", "b/n5.jpg", EMFILE, POD_E_IO, "b/n5.jpg: cannot be read: Too many open files", 0},
    {"open", "b/n5.jpg", ENFILE, POD_E_IO, "b/n5.jpg: cannot be read: Too many open files", 0},
    {"open", "b/n5.jpg", ENOMEM, POD_E_NOMEM, "b/n5.jpg: cannot be read: Cannot allocate", 0},
    {"read", NULL, EIO, POD_E_IO, "a/n1.jpg: cannot be read: Input/output error", 0},
    {"stat", "/b", EACCES, POD_E_FORMAT, "/b: cannot be looked at: Permission denied", 7},
    {"stat", "/b", EIO, POD_E_IO, "/b: cannot be looked at: Input/output error", 0},
    {"stat", "/b", ENOMEM, POD_E_NOMEM, "/b: cannot be looked at: Cannot allocate", 0},
    {"stat", "/train", EIO, POD_E_IO, "/train: cannot be looked at: Input/output error", 0},
    {"opendir", "/b", EACCES, POD_E_FORMAT, "/b: cannot be read as a folder: Permission", 7},
    {"opendir", "/b", EMFILE, POD_E_IO, "/b: cannot be read as a folder: Too many open", 0},
    {"readdir", NULL, EIO, POD_E_IO, "cannot be read as a folder: Input/output error", 0},
};

static void troubles_of_the_host(void)
{
    folder f = numbered_folder();
    outcome x;
    for (size_t i = 0; i < 2 * sizeof troubles / sizeof troubles[0]; i++) {
        const struct trouble *t = &troubles[i / 2];
        const bool skip = i % 2 == 1;
        fault = (struct fault){.call = t->call, .path = t->path, .error = t->error};
        const pod_status s = run_import(&f, (pod_import_images_options){.skip_bad = skip}, &x);
        fault = (struct fault){0};
        const bool is_left_out = skip && t->n_left > 0;
        POD_CHECK(s == (is_left_out ? POD_OK : t->status), "case %zu: %s %s", i / 2,
                  pod_status_name(s), pod_error_text());
        POD_CHECK(strstr(is_left_out ? x.said : pod_error_text(), t->why), "case %zu: %s%s", i / 2,
                  pod_error_text(), x.said);
        CU_ASSERT(s == POD_OK || !is_there(&f, ".h5.part"));
        if (!x.d) continue;
        CU_ASSERT(x.d->info.n_samples[0] + x.d->info.n_samples[1] == t->n_left);
        CU_ASSERT(x.d->info.n_classes == (t->n_left == 7 ? 2 : 3));
        pod_dataset_close(x.d);
    }
}

static void made_shorter_meanwhile(void)
{
    folder f = numbered_folder();
    outcome x;
    fault = (struct fault){.is_short = true};
    const pod_status s = run_import(&f, (pod_import_images_options){0}, &x);
    fault = (struct fault){0};
    POD_CHECK(s == POD_E_FORMAT && strstr(pod_error_text(), "a/n1.jpg: ends after 100 of its "),
              "%s", pod_error_text());
}

/* readdir says by errno alone whether a folder has ended. */
static void old_errors_are_none(void)
{
    folder f = numbered_folder();
    outcome x;
    fault.n_dirty = 0;
    POD_CHECK_OK(run_import(&f, (pod_import_images_options){0}, &x));
    POD_CHECK(fault.n_dirty == 0, "%d", fault.n_dirty);
    pod_dataset_close(x.d);
}

/* ---- how it ends ----------------------------------------------------------------------------- */

/* A library's thread, which knows of nothing. */
static void *stand_by(void *arg)
{
    while (true) pause();
    return arg;
}

/* The status of a process that imports f, to which the signal comes on the way. */
static int import_and_end(const folder *f, int signal_number, void (*handler)(int), bool skip)
{
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        outcome x;
        pthread_t other;
        if (pthread_create(&other, NULL, stand_by, NULL) != 0) _exit(98);
        signal(signal_number, handler);
        fault = (struct fault){.kill_signal = signal_number};
        const pod_status s = run_import(f, (pod_import_images_options){.skip_bad = skip}, &x);
        _exit(s == POD_OK ? 0 : 99);
    }
    int status = -1;
    if (child > 0) waitpid(child, &status, 0);
    return status;
}

static void a_signal_leaves_nothing(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < 2 * sizeof ends / sizeof ends[0]; i++) {
        folder f = numbered_folder();
        char path[MAX_PATH_BYTES], older[16] = "";
        FILE *file = fopen(beside(&f, ".h5", path), "w");
        if (file) fputs("older", file);
        if (file) fclose(file);
        const int status = import_and_end(&f, ends[i / 2], SIG_DFL, i % 2 == 1);
        POD_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == ends[i / 2], "status %d", status);
        CU_ASSERT(!is_there(&f, ".h5.part"));
        file = fopen(path, "r");
        CU_ASSERT(file && fgets(older, sizeof older, file) && strcmp(older, "older") == 0);
        if (file) fclose(file);
    }
    folder f = numbered_folder();
    const int status = import_and_end(&f, SIGHUP, SIG_IGN, false);
    POD_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "nohup: status %d", status);
    CU_ASSERT(is_there(&f, ".h5"));
}

static void output_among_images(void)
{
    folder f = numbered_folder();
    char path[MAX_PATH_BYTES], link[MAX_PATH_BYTES];
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
        POD_CHECK_FAILS(pod_import_images(f.path, in_folder(&f, within[i], path), &o),
                        POD_E_INVALID, "the folder that is imported");
    CU_ASSERT(symlink(f.path, beside(&f, "-link", link)) == 0);
    POD_CHECK_FAILS(pod_import_images(f.path, beside(&f, "-link/a/x.h5", path), &o), POD_E_INVALID,
                    "the folder that is imported");
    POD_CHECK_FAILS(pod_import_images(link, in_folder(&f, "x.h5", path), &o), POD_E_INVALID,
                    "the folder that is imported");
    POD_CHECK_FAILS(pod_import_images(f.path, "/nowhere/x.h5", &o), POD_E_IO, "cannot write");
    POD_CHECK_OK(pod_import_images(f.path, in_folder(&f, "../other.h5", path), &o));
    CU_ASSERT(access(in_folder(&f, "a/n1.jpg", path), F_OK) == 0);
}

static void nothing_is_left(void)
{
    folder f = new_folder(), nowhere = new_folder();
    outcome x;
    char path[MAX_PATH_BYTES];
    CU_ASSERT(rmdir(nowhere.path) == 0);
    POD_CHECK_FAILS(run_import(&nowhere, (pod_import_images_options){0}, &x), POD_E_IO,
                    ": cannot be read as a folder: No such file");
    POD_CHECK_FAILS(run_import(&f, (pod_import_images_options){0}, &x), POD_E_FORMAT,
                    "has no folders of images");
    make_folder(&f, "a");
    pod_import_images_options skip = {.skip_bad = true};
    POD_CHECK_FAILS(run_import(&f, skip, &x), POD_E_FORMAT, "no image is left");
    add_image(&f, "a/only.jpg", 10);
    POD_CHECK_FAILS(run_import(&f, skip, &x), POD_E_FORMAT, "1 file, none of them to test");
    empty(in_folder(&f, "a/z.jpg", path));
    skip.test_share = 0.5;
    POD_CHECK_FAILS(run_import(&f, skip, &x), POD_E_FORMAT, "1 file, none of them to train");
    CU_ASSERT(!is_there(&f, ".h5"));
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

static CU_TestInfo tests[] = {{"class_folders", class_folders},
                              {"split_folders", split_folders},
                              {"remedies", remedies},
                              {"split_of_what_is_left", split_of_what_is_left},
                              {"same_file_of_any_number", same_file_of_any_number},
                              {"bad_images_are_named", bad_images_are_named},
                              {"many_bad_images", many_bad_images},
                              {"a_class_that_skipping_empties", a_class_that_skipping_empties},
                              {"no_images_by_name", no_images_by_name},
                              {"jpeg_and_png", jpeg_and_png},
                              {"numbers_as_classes", numbers_as_classes},
                              {"odd_but_good", odd_but_good},
                              {"troubles_of_the_host", troubles_of_the_host},
                              {"made_shorter_meanwhile", made_shorter_meanwhile},
                              {"old_errors_are_none", old_errors_are_none},
                              {"a_signal_leaves_nothing", a_signal_leaves_nothing},
                              {"output_among_images", output_among_images},
                              {"nothing_is_left", nothing_is_left},
                              {"sign_language_digits", sign_language_digits},
                              CU_TEST_INFO_NULL};

CU_SuiteInfo pod_test_suites[] = {{.pName = "runtime.import_images", .pTests = tests},
                                  CU_SUITE_INFO_NULL};
