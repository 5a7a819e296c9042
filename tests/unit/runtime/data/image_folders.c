#include "tests/unit/runtime/data/image_folders.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/harness/harness.h"
#include "tests/tools/jpegs.h"

void make_grey(const char *path)
{
    const pod_test_jpeg made = {.height = 32, .width = 32, .components = 1, .left = {9}};
    CU_ASSERT(pod_test_jpeg_save(&made, path));
}

void make_cmyk(const char *path)
{
    const pod_test_jpeg made = {
        .height = 32, .width = 32, .components = 4, .left = {200, 200, 200, 255}};
    CU_ASSERT(pod_test_jpeg_save(&made, path));
}

void make_text(const char *path) { pod_test_spill(path, "this is no picture", 18); }

/* ---- folders --------------------------------------------------------------------------------- */

const char *in_folder(const char *f, const char *name) { return pod_test_text("%s/%s", f, name); }

void make_folder(const char *f, const char *name)
{
    POD_CHECK(mkdir(in_folder(f, name), 0777) == 0, "%s/%s", f, name);
}

void add_image(const char *f, const char *name, int tag)
{
    const uint8_t t = (uint8_t)tag;
    const pod_test_jpeg made = {.height = 24 + tag % 3 * 8,
                                .width = 32 + tag % 5 * 16,
                                .components = 3,
                                .left = {t, t, t},
                                .right = {255, 0, 0}};
    POD_CHECK(pod_test_jpeg_save(&made, in_folder(f, name)), "%s/%s", f, name);
}

const char *numbered_folder(void)
{
    static const char *const classes[] = {"b", "a", "c"};
    const char *f = pod_test_folder();
    for (int i = 0; i < 3; i++) make_folder(f, classes[i]);
    for (int i = 1; i <= 10; i++)
        add_image(f, pod_test_text("%c/n%d.jpg", "abc"[(i - 1) % 3], i), 10 * i);
    return f;
}

const char *beside(const char *f, const char *name) { return pod_test_text("%s%s", f, name); }

bool is_there(const char *f, const char *name) { return access(beside(f, name), F_OK) == 0; }

static void end_dataset(void *d) { pod_dataset_close(d); }

pod_status run_import(const char *f, pod_import_images_options o, outcome *out)
{
    const char *path = beside(f, ".h5");
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
    pod_status s = pod_import_images(f, path, &o);
    rewind(said);
    const size_t n = fread(out->said, 1, sizeof out->said - 1, said);
    out->said[n] = '\0';
    fclose(said);
    if (s == POD_OK) s = pod_dataset_open(path, 0, &out->d);
    if (s == POD_OK) pod_test_at_end(end_dataset, out->d);
    return s;
}

outcome imported(const char *f, pod_import_images_options o)
{
    outcome x;
    POD_NEED_OK(run_import(f, o, &x));
    return x;
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

void check_splits(const pod_dataset *d, const char *train, const char *test)
{
    char text[TEXT_BYTES];
    describe(d, POD_SPLIT_TRAIN, text);
    POD_CHECK(strcmp(text, train) == 0, "train is '%s', want '%s'", text, train);
    describe(d, POD_SPLIT_TEST, text);
    POD_CHECK(strcmp(text, test) == 0, "test is '%s', want '%s'", text, test);
}
