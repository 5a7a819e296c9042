/* Data sets in HDF5: what is written is read back, from memory and from the file; every wrong form
 * is refused with its name; no flipped byte and no cut makes wrong data or a crash. */
#include <cjson/cJSON.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/data/dataset_write.h"
#include "runtime/data/images/glyphs.h"
#include "runtime/h5/h5.h"
#include "tests/harness/harness.h"

enum { MAX_BYTES = 4096 };

static pod_log silent;

static void end_dataset(void *d) { pod_dataset_close(d); }

/* Small glyphs in a file; the data set they came from stays open for comparison. */
static pod_dataset *export_glyphs(const char *spec, const char *path)
{
    pod_dataset *d = NULL;
    POD_NEED_OK(pod_dataset_open(spec, 7, &d));
    pod_test_at_end(end_dataset, d);
    POD_CHECK_OK(pod_dataset_export(d, path, &silent));
    return d;
}

static pod_dataset *opened(const char *path, pod_dataset_options o)
{
    pod_dataset *d = NULL;
    POD_NEED_OK(pod_dataset_open_with(path, 0, &o, &d));
    pod_test_at_end(end_dataset, d);
    return d;
}

static const pod_dataset_options in_memory = {.cache_bytes = 1 << 30};

/* How many samples differ. */
static int64_t count_differences(const pod_dataset *a, const pod_dataset *b)
{
    int64_t n = 0, bytes = pod_dataset_sample_bytes(&a->info);
    if (bytes != pod_dataset_sample_bytes(&b->info) || bytes > MAX_BYTES) return -1;
    for (int s = 0; s < POD_N_SPLITS; s++) {
        if (a->info.n_samples[s] != b->info.n_samples[s]) return -1;
        for (int64_t i = 0; i < a->info.n_samples[s]; i++) {
            uint8_t x[MAX_BYTES] = {0}, y[MAX_BYTES] = {1};
            pod_status read_x = pod_dataset_read(a, (pod_split)s, i, x);
            pod_status read_y = pod_dataset_read(b, (pod_split)s, i, y);
            n += read_x != POD_OK || read_y != POD_OK || memcmp(x, y, (size_t)bytes) != 0 ||
                 pod_dataset_label(a, (pod_split)s, i) != pod_dataset_label(b, (pod_split)s, i);
        }
    }
    return n;
}

static bool same_info(const pod_dataset_info *a, const pod_dataset_info *b)
{
    bool same = a->n_classes == b->n_classes && a->channels == b->channels &&
                strcmp(a->name, b->name) == 0 && strcmp(a->origin, b->origin) == 0 &&
                strcmp(a->licence, b->licence) == 0;
    for (int i = 0; same && i < a->n_classes; i++)
        same = strcmp(a->class_names[i], b->class_names[i]) == 0;
    for (int64_t c = 0; same && c < a->channels; c++)
        same = !(a->mean[c] < b->mean[c]) && !(a->mean[c] > b->mean[c]) &&
               !(a->std[c] < b->std[c]) && !(a->std[c] > b->std[c]);
    return same;
}

/* ---- round trip ------------------------------------------------------------------------------ */

static void export_reads_back(void)
{
    static const char *const specs[] = {"glyphs:8x6x3:700+30", "glyphs:28x28x1:300+10",
                                        "glyphs:1x1x1:1+1", "glyphs:5x3x9:1300+1"};
    for (size_t k = 0; k < sizeof specs / sizeof specs[0]; k++) {
        const char *path = pod_test_path("glyphs.h5");
        pod_dataset *made = export_glyphs(specs[k], path);
        for (int64_t cache = 0; cache <= 1 << 30; cache += 1 << 30) { /* from the file, in memory */
            pod_dataset *d = opened(path, (pod_dataset_options){.cache_bytes = cache});
            CU_ASSERT(strcmp(d->kind->name, "hdf5") == 0 && same_info(&d->info, &made->info));
            POD_CHECK(count_differences(made, d) == 0, "%s, cache of %lld bytes", specs[k],
                      (long long)cache);
        }
        CU_ASSERT(access(pod_test_path("glyphs.h5.part"), F_OK) != 0);
    }
}

typedef struct reading {
    const pod_dataset *made, *d;
    int64_t n_wrong;
} reading;

static void *read_all(void *arg)
{
    reading *r = arg;
    r->n_wrong = count_differences(r->made, r->d);
    return NULL;
}

/* More threads than the file has readers for. */
static void threads_read_a_file(void)
{
    enum { N_THREADS = 5 };
    const char *path = pod_test_path("threads.h5");
    pod_dataset *made = export_glyphs("glyphs:20x16x3:150+40", path);
    pod_dataset *d = opened(path, (pod_dataset_options){.n_readers = 3});
    pthread_t thread[N_THREADS];
    reading r[N_THREADS];
    for (int i = 0; i < N_THREADS; i++) {
        r[i] = (reading){.made = made, .d = d};
        POD_CHECK(pthread_create(&thread[i], NULL, read_all, &r[i]) == 0, "thread %d", i);
    }
    for (int i = 0; i < N_THREADS; i++) {
        pthread_join(thread[i], NULL);
        POD_CHECK(r[i].n_wrong == 0, "thread %d: %lld samples differ", i, (long long)r[i].n_wrong);
    }
}

/* A data set whose images are of one grey pixel. */
static pod_dataset_info of_pixels(int64_t n_train, int64_t n_test, const char *const names[],
                                  int n_classes)
{
    return (pod_dataset_info){.name = "n",
                              .origin = "",
                              .licence = "",
                              .n_samples = {n_train, n_test},
                              .height = 1,
                              .width = 1,
                              .channels = 1,
                              .n_classes = n_classes,
                              .class_names = names};
}

static void writer_takes_statistics(void)
{
    /* one channel 0, 255, 0, 255, ...: mean and std 1/2; one always 51: mean 0.2, and std 1 */
    uint8_t pixels[4 * 2 * 2] = {0, 51, 255, 51, 0, 51, 255, 51, 0, 51, 255, 51, 0, 51, 255, 51};
    const int32_t labels[4] = {0, 299, 1, 2};
    const char *names[300];
    for (int i = 0; i < 300; i++) names[i] = pod_test_text("c%d", i);
    pod_dataset_info info = of_pixels(4, 1, names, 300);
    info.width = info.channels = 2;
    const char *path = pod_test_path("stat.h5");
    pod_dataset_writer *w = NULL;
    POD_NEED_OK(pod_dataset_writer_open(path, &info, NULL, &w));
    POD_CHECK_OK(pod_dataset_writer_add(w, POD_SPLIT_TRAIN, 3, pixels, NULL, labels));
    POD_CHECK_OK(pod_dataset_writer_add(w, POD_SPLIT_TRAIN, 1, pixels + 12, NULL, labels + 3));
    POD_CHECK_OK(pod_dataset_writer_add(w, POD_SPLIT_TEST, 1, pixels + 1, NULL, labels));
    POD_CHECK_OK(pod_dataset_writer_finish(w));
    pod_dataset *d = opened(path, in_memory);
    CU_ASSERT_DOUBLE_EQUAL(d->info.mean[0], 0.5, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(d->info.std[0], 0.5, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(d->info.mean[1], 0.2, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(d->info.std[1], 1, 0);
    CU_ASSERT(pod_dataset_label(d, POD_SPLIT_TRAIN, 1) == 299); /* beyond a byte */
}

/* The files that samples came from read back, and are not known where none were put. */
static void writer_keeps_files(void)
{
    const uint8_t pixels[3] = {1, 2, 3};
    const int32_t labels[3] = {0, 0, 0};
    static const char *const names[] = {"a"};
    static const char *const files[] = {"a/1.jpg", "", "a/a longer name, \xc3\xa9.png"};
    const pod_dataset_info info = of_pixels(3, 1, names, 1);
    const char *path = pod_test_path("files.h5");
    for (int64_t cache = 0; cache <= 1 << 20; cache += 1 << 20) {
        pod_dataset_writer *w = NULL;
        POD_NEED_OK(pod_dataset_writer_open(path, &info, NULL, &w));
        POD_CHECK_OK(pod_dataset_writer_add(w, POD_SPLIT_TRAIN, 3, pixels, NULL, labels));
        POD_CHECK_OK(pod_dataset_writer_add(w, POD_SPLIT_TEST, 1, pixels, NULL, labels));
        POD_CHECK_OK(pod_dataset_writer_put_files(w, POD_SPLIT_TRAIN, 3, files));
        POD_CHECK_OK(pod_dataset_writer_finish(w));
        pod_dataset *d = opened(path, (pod_dataset_options){.cache_bytes = cache});
        const char *const *found = NULL, *const *none = files;
        POD_CHECK_OK(pod_dataset_files(d, POD_SPLIT_TRAIN, d->arena, &found));
        for (int i = 0; found && i < 3; i++)
            POD_CHECK(strcmp(found[i], files[i]) == 0, "'%s', want '%s'", found[i], files[i]);
        POD_CHECK_OK(pod_dataset_files(d, POD_SPLIT_TEST, d->arena, &none));
        CU_ASSERT(found != NULL && none == NULL);
    }
}

static void writer_refuses(void)
{
    const char *const names[] = {"a", "b"};
    pod_dataset_info info = of_pixels(2, 1, names, 2);
    const uint8_t pixels[3] = {1, 2, 3};
    const int32_t labels[3] = {0, 1, 2}, negative[1] = {-1};
    const char *path = pod_test_path("refused.h5");
    pod_dataset_writer *w = NULL;
    POD_NEED_OK(pod_dataset_writer_open(path, &info, NULL, &w));
    POD_CHECK_FAILS(pod_dataset_writer_add(w, POD_SPLIT_TRAIN, 3, pixels, NULL, labels),
                    POD_E_FORMAT, "3 train samples, need 2");
    POD_CHECK_FAILS(pod_dataset_writer_add(w, POD_SPLIT_TRAIN, 1, pixels, NULL, labels + 2),
                    POD_E_FORMAT, "train label 0 is 2, need 0 to 1");
    POD_CHECK_FAILS(pod_dataset_writer_add(w, POD_SPLIT_TEST, 1, pixels, NULL, negative),
                    POD_E_FORMAT, "test label 0 is -1");
    POD_CHECK_OK(pod_dataset_writer_add(w, POD_SPLIT_TRAIN, 2, pixels, NULL, labels));
    POD_CHECK_FAILS(pod_dataset_writer_finish(w), POD_E_FORMAT, "0 test samples, need 1");
    CU_ASSERT(access(path, F_OK) != 0);
    POD_CHECK_FAILS(pod_dataset_writer_open("/nowhere/x.h5", &info, NULL, &w), POD_E_IO,
                    "/nowhere/x.h5");
    info.n_samples[POD_SPLIT_TEST] = 0;
    POD_CHECK_FAILS(pod_dataset_writer_open(path, &info, NULL, &w), POD_E_FORMAT, "0 test samples");
}

/* What h5py writes by itself: the older format, strings of variable length, labels of 64 bits. */
static void reads_files_of_others(void)
{
    const char *path = POD_TEST_SOURCE_DIR "/tests/data/h5py_style.h5";
    pod_dataset *d = opened(path, in_memory), *in_file = opened(path, (pod_dataset_options){0});
    uint8_t pixels[4];
    CU_ASSERT(count_differences(d, in_file) == 0);
    CU_ASSERT(strcmp(d->info.name, "four pixels") == 0 && strcmp(d->info.licence, "") == 0);
    CU_ASSERT(d->info.n_classes == 3 && strcmp(d->info.class_names[2], "zebra \xc3\xa9") == 0);
    for (int64_t i = 0; i < d->info.n_samples[POD_SPLIT_TRAIN]; i++) {
        POD_CHECK_OK(pod_dataset_read(d, POD_SPLIT_TRAIN, i, pixels));
        CU_ASSERT(pixels[3] == 4 * i + 3 && pod_dataset_label(d, POD_SPLIT_TRAIN, i) == i % 3);
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* HDF5 1.10 itself leaks a little when a damaged file does not open. Its name in a leak's stack
 * makes the leak sanitizer pass over it; without the sanitizer nobody calls this. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libhdf5"; }

/* Opened, it must be the right data; answers whether it was refused. */
static bool refused_or_right(const char *path, const pod_dataset *want, int64_t cache,
                             const char *what, size_t at)
{
    pod_dataset *d = NULL;
    pod_dataset_options o = {.cache_bytes = cache};
    if (pod_dataset_open_with(path, 0, &o, &d) != POD_OK) {
        POD_CHECK(strstr(pod_error_text(), path) && !strchr(pod_error_text(), '\n'), "%s %zu: '%s'",
                  what, at, pod_error_text());
        return true;
    }
    int64_t n_samples = want->info.n_samples[0] + want->info.n_samples[1], n_read = 0;
    if (cache > 0) /* all was read at open */
        POD_CHECK(same_info(&d->info, &want->info) && count_differences(want, d) == 0,
                  "%s %zu: opened with other data", what, at);
    for (int s = 0; cache == 0 && s < POD_N_SPLITS; s++) /* a read may fail yet, never lie */
        for (int64_t i = 0; i < want->info.n_samples[s]; i++) {
            uint8_t x[MAX_BYTES], y[MAX_BYTES];
            if (pod_dataset_read(d, (pod_split)s, i, x) != POD_OK) continue;
            n_read++;
            pod_status read_want = pod_dataset_read(want, (pod_split)s, i, y);
            size_t bytes = (size_t)pod_dataset_sample_bytes(&want->info);
            POD_CHECK(read_want == POD_OK && memcmp(x, y, bytes) == 0,
                      "%s %zu: sample %lld is another", what, at, (long long)i);
        }
    pod_dataset_close(d);
    return cache == 0 && n_read < n_samples;
}

static void damage_never_lies(void)
{
    const char *path = pod_test_path("whole.h5"), *hurt = pod_test_path("hurt.h5");
    pod_dataset *want = export_glyphs("glyphs:8x8x1:60+20", path);
    size_t bytes = 0;
    char *data = pod_test_slurp(path, &bytes);
    CU_ASSERT_FATAL(data && bytes > 0);
    int n_flips = 0, n_refused = 0, n_cuts = 0, n_cut_refused = 0;
    for (size_t at = 0; at < bytes; at += at < 300 ? 1 : 29) {
        char before = data[at];
        data[at] = (char)(before ^ (1 << at % 8));
        pod_test_spill(hurt, data, bytes);
        data[at] = before;
        n_flips++;
        n_refused += refused_or_right(hurt, want, at % 2 ? 1 << 20 : 0, "byte flipped at", at);
    }
    for (size_t at = 0; at < bytes; at += 1 + bytes / 60) {
        pod_test_spill(hurt, data, at);
        n_cuts++;
        n_cut_refused += refused_or_right(hurt, want, 1 << 20, "cut at", at);
    }
    CU_ASSERT(n_cut_refused == n_cuts);
    POD_CHECK(n_refused > n_flips / 4, "%d of %d flips were seen", n_refused, n_flips);
    free(data);
}

/* ---- out of memory --------------------------------------------------------------------------- */

static void out_of_memory(void)
{
    const char *path = pod_test_path("large.h5");
    export_glyphs("glyphs:28x28x3:100+40", path);
    const char *const specs[] = {path, "glyphs:224x224x3", path};
    for (size_t k = 0; k < sizeof specs / sizeof specs[0]; k++) {
        int n_failed = 0;
        pod_dataset *d = NULL;
        for (int n = 0; n < 100 && !d; n++) {
            pod_test_budget left = {.n_left = n};
            pod_alloc from = pod_test_budget_alloc(&left);
            pod_dataset_options o = {
                .cache_bytes = k == 2 ? 0 : 1 << 30, .n_readers = 2, .alloc = &from};
            pod_status s = pod_dataset_open_with(specs[k], 0, &o, &d);
            CU_ASSERT((s == POD_OK) == (d != NULL) && (s == POD_OK || s == POD_E_NOMEM));
            n_failed += s == POD_E_NOMEM;
            if (d) pod_dataset_close(d);
            CU_ASSERT(left.n_alive == 0);
        }
        POD_CHECK(n_failed >= 3 && d, "%s: failed %d times", specs[k], n_failed);
    }
}

/* ---- what is printed ------------------------------------------------------------------------- */

static void prints(void)
{
    char *text = NULL, *json = NULL;
    size_t bytes = 0, json_bytes = 0;
    pod_dataset *d = opened("glyphs:8x6x2:100+20", in_memory);
    FILE *to = open_memstream(&text, &bytes), *json_to = open_memstream(&json, &json_bytes);
    CU_ASSERT_FATAL(to && json_to);
    POD_CHECK_OK(pod_dataset_print(d, to));
    fclose(to);
    CU_ASSERT(strstr(text, "images    8x6x2 (HxWxC), 8 bits\n") && strstr(text, "train     100\n"));
    CU_ASSERT(strstr(text, "class     3: tent, 10 train, 2 test\n") != NULL);
    free(text);
    POD_CHECK_OK(pod_dataset_print_json(d, json_to));
    fclose(json_to);
    CU_ASSERT(json[json_bytes - 1] == '\n');
    cJSON *all = cJSON_Parse(json);
    CU_ASSERT_PTR_NOT_NULL(all);
    CU_ASSERT(cJSON_GetObjectItem(all, "n_train")->valueint == 100);
    CU_ASSERT(cJSON_GetArraySize(cJSON_GetObjectItem(all, "mean")) == 2);
    cJSON *tent = cJSON_GetArrayItem(cJSON_GetObjectItem(all, "classes"), 3);
    CU_ASSERT(strcmp(cJSON_GetObjectItem(tent, "name")->valuestring, "tent") == 0);
    CU_ASSERT(cJSON_GetObjectItem(tent, "n_test")->valueint == 2);
    cJSON_Delete(all);
    free(json);
}

/* Rows that wait in a cache are written as it is flushed; there may be no room then. */
static void flush_tells(void)
{
    static const uint8_t zeros[1000];
    const int64_t dim[] = {sizeof zeros};
    struct rlimit whole, small;
    pod_h5_file f = {0};
    pod_h5_array a = {0};
    signal(SIGXFSZ, SIG_IGN);
    POD_CHECK(getrlimit(RLIMIT_FSIZE, &whole) == 0, "no limit to change");
    small = whole;
    small.rlim_cur = 10;
    pod_h5_lock();
    POD_CHECK_OK(pod_h5_create(pod_test_path("flushed.h5"), &f));
    POD_CHECK_OK(pod_h5_array_create(&f, "x", POD_U8, 1, dim, dim[0], &a));
    POD_CHECK_OK(pod_h5_write_rows(&a, POD_U8, 0, dim[0], zeros));
    POD_CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0, "the limit stays");
    POD_CHECK_FAILS(pod_h5_flush(&f), POD_E_WRITE,
                    "flushed.h5: cannot be written (File too large)");
    POD_CHECK(setrlimit(RLIMIT_FSIZE, &whole) == 0, "the limit stays");
    POD_CHECK_OK(pod_h5_flush(&f));
    pod_h5_array_close(&a);
    POD_CHECK_OK(pod_h5_close(&f));
    pod_h5_unlock();
    signal(SIGXFSZ, SIG_DFL);
}

POD_TEST_SUITE("runtime.dataset", {"flush_tells", flush_tells},
               {"export_reads_back", export_reads_back},
               {"writer_takes_statistics", writer_takes_statistics},
               {"threads_read_a_file", threads_read_a_file},
               {"writer_keeps_files", writer_keeps_files}, {"writer_refuses", writer_refuses},
               {"reads_files_of_others", reads_files_of_others},
               {"damage_never_lies", damage_never_lies}, {"out_of_memory", out_of_memory},
               {"prints", prints});
