/* Files that are no data set, or one with something wrong: each is refused in one line that says what
 * to do; what may be absent is filled in. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/data/data_form.h"
#include "runtime/data/dataset.h"
#include "runtime/h5/h5.h"
#include "tests/harness/harness.h"

typedef struct form { /* a file with one thing wrong; zeros are right */
    const char *why;  /* what the message must say */
    int n_dims;       /* of the training images */
    pod_dtype image_type;
    int64_t n_labels, width_test;
    int32_t label;
    int n_mean, version, n_classes;
    double std;
    const char *leave_out;
    bool labels_2d, text_mean, channels_first;
} form;

static const form forms[] = {
    {"dataset '/train/images' has 3 dimensions (4x2x3), need 4 (N,H,W,C): x[..., None]",
     .n_dims = 3},
    {"dataset '/train/images' has type i32, need u8; its first values run from 0 to 0: (255 * x)",
     .image_type = POD_I32},
    {"dataset '/train/images' is 4x3x2x5, which looks like N,C,H,W, need N,H,W,C: x.transpose",
     .channels_first = true},
    {"'/test/images' has images of 2x5x1, '/train/images' of 2x3x1", .width_test = 5},
    {"dataset '/train/labels' has 5 labels for 4 images", .n_labels = 5},
    {"'/train/labels' has 2 dimensions (4x1) of type i32, need 1 of integers: y[:, 0]",
     .labels_2d = true},
    {"'/train/labels': the label of row 3 is 2, need 0 to 1: there are 2 classes", .label = 2},
    {"'/train/labels': the label of row 3 is -1, need 0 to 1", .label = -1},
    {"'/train/labels': the label of row 3 is 2000000000, need 0 to", .label = 2000000000,
     .leave_out = "class_names"},
    {"attribute 'mean' holds 2 values of type f64, need 1 numbers", .n_mean = 2},
    {"attribute 'mean' holds 1 values of type string", .text_mean = true},
    {"channel 0 has mean 0.5 and std -1", .std = -1},
    {"channel 0 has mean 0.5 and std 300", .std = 300},
    {"layout version 3, need 1 or 2", .version = 3},
    {"attribute 'origin' is missing", .version = 2}, /* of a text it is required */
    {"0 classes, need at least 1", .n_classes = -1},
    {"lacks /train/images (doc/datasets.md); it has /test/images, /test/labels, /train/labels",
     .leave_out = "/train/images"},
    {"lacks /train/labels", .leave_out = "/train/labels"},
    {"lacks /test/images", .leave_out = "/test/images"},
    {"lacks /test/labels", .leave_out = "/test/labels"},
};

static bool kept(const form *x, const char *name)
{
    return !x->leave_out || strcmp(x->leave_out, name) != 0;
}

static pod_status put_array(const form *x, const pod_h5_file *f, const char *name, pod_dtype t,
                            int n_dims, const int64_t dim[], const void *data)
{
    if (!kept(x, name)) return POD_OK;
    pod_h5_array a;
    POD_TRY(pod_h5_array_create(f, name, t, n_dims, dim, 3, &a));
    pod_status s = pod_h5_write_rows(&a, t, 0, dim[0], data);
    pod_h5_array_close(&a);
    return s;
}

static pod_status put_form(const form *x, const pod_h5_file *f)
{
    static const uint8_t zeros[4 * 4 * 3 * 2 * 5];
    const char *const names[] = {"a", "b"};
    const double mean[] = {0.5, 0.5}, std[] = {x->std < 0 || x->std > 0 ? x->std : 0.25};
    const int32_t label[8] = {0, 1, 0, x->label, 1};
    int64_t n_labels[] = {x->n_labels ? x->n_labels : 4, 1}, n_test_labels[] = {1};
    const int64_t nhwc[] = {4, 2, 3, 1}, nchw[] = {4, 3, 2, 5};
    const int64_t *train = x->channels_first ? nchw : nhwc,
                  test[] = {1, 2, x->width_test ? x->width_test : 3, 1};
    pod_dtype t = x->image_type ? x->image_type : POD_U8;
    POD_TRY(put_array(x, f, "/train/images", t, x->n_dims ? x->n_dims : 4, train, zeros));
    POD_TRY(put_array(x, f, "/test/images", POD_U8, 4, test, zeros));
    POD_TRY(put_array(x, f, "/train/labels", POD_I32, x->labels_2d ? 2 : 1, n_labels, label));
    POD_TRY(put_array(x, f, "/test/labels", POD_U8, 1, n_test_labels, zeros));
    if (kept(x, "minipod_dataset"))
        POD_TRY(pod_h5_put_i64(f, "minipod_dataset", x->version ? x->version : 1));
    if (kept(x, "name")) POD_TRY(pod_h5_put_text(f, "name", "form"));
    if (kept(x, "class_names"))
        POD_TRY(pod_h5_put_texts(f, "class_names", x->n_classes < 0 ? 0 : 2, names));
    if (x->text_mean)
        POD_TRY(pod_h5_put_text(f, "mean", "0.5"));
    else if (kept(x, "mean"))
        POD_TRY(pod_h5_put_f64(f, "mean", x->n_mean ? x->n_mean : 1, mean));
    if (kept(x, "std")) POD_TRY(pod_h5_put_f64(f, "std", 1, std));
    return POD_OK;
}

static void write_form(const form *x, const char *path)
{
    pod_h5_file f = {0};
    pod_h5_lock();
    POD_CHECK_OK(pod_h5_create(path, &f));
    POD_CHECK_OK(put_form(x, &f));
    POD_CHECK_OK(pod_h5_close(&f));
    pod_h5_unlock();
}

static void wrong_forms_are_named(void)
{
    const char *path = pod_test_path("form.h5");
    pod_dataset *d = NULL;
    write_form(&(form){0}, path);
    POD_CHECK_OK(pod_dataset_open(path, 0, &d));
    pod_dataset_close(d);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        write_form(&forms[i], path);
        d = NULL;
        POD_CHECK_FAILS(pod_dataset_open(path, 0, &d), POD_E_FORMAT, forms[i].why);
        CU_ASSERT(strstr(pod_error_text(), path) && !d);
    }
}

/* What may be absent has a value that follows from the rest. */
static void fills_in_what_is_absent(void)
{
    static const char *const absent[] = {"minipod_dataset", "name", "class_names", "mean", "std"};
    const char *path = pod_test_path("absent.h5");
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        write_form(&(form){.leave_out = absent[i]}, path);
        for (int64_t cache = 0; cache <= 1 << 20; cache += 1 << 20) {
            const pod_dataset_options o = {.cache_bytes = cache};
            pod_dataset *d = NULL;
            POD_NEED_OK(pod_dataset_open_with(path, 0, &o, &d));
            const bool no_mean = strcmp(absent[i], "mean") == 0;
            const bool no_std = strcmp(absent[i], "std") == 0;
            CU_ASSERT_EQUAL(d->info.mean[0], no_mean ? 0 : 0.5);
            CU_ASSERT_EQUAL(d->info.std[0], no_std ? 1 : 0.25);
            CU_ASSERT_STRING_EQUAL(d->info.name,
                                   strcmp(absent[i], "name") == 0 ? "absent" : "form");
            CU_ASSERT_EQUAL(d->info.n_classes, 2);
            CU_ASSERT_STRING_EQUAL(d->info.class_names[1],
                                   strcmp(absent[i], "class_names") == 0 ? "1" : "b");
            pod_dataset_close(d);
        }
    }
}

static void no_data_set_at_all(void)
{
    const char *path = pod_test_path("text.h5");
    pod_dataset *d = NULL;
    POD_CHECK_FAILS(pod_dataset_open("/nowhere/F.h5", 0, &d), POD_E_IO,
                    "/nowhere/F.h5: No such file or directory");
    pod_test_spill(path, "", 0);
    POD_CHECK_FAILS(pod_dataset_open(path, 0, &d), POD_E_FORMAT, "this is an empty file");
    pod_test_spill(path, "not HDF5 at all", 15);
    POD_CHECK_FAILS(pod_dataset_open(path, 0, &d), POD_E_FORMAT,
                    "this is a text file: minipod data import reads");
    POD_CHECK_FAILS(pod_dataset_open(pod_test_path("tex.h5"), 0, &d), POD_E_IO, "/text.h5?");
    POD_CHECK_FAILS(pod_dataset_open("glyph:8x8x1", 0, &d), POD_E_IO, "did you mean glyphs?");
    POD_CHECK_FAILS(pod_dataset_open("mnist", 0, &d), POD_E_IO, "or made data: glyphs");
    POD_CHECK_FAILS(pod_dataset_open("/dev/null", 0, &d), POD_E_IO, "is no regular file");
}

/* Other forms by their first bytes; a folder by what it holds. */
static void other_forms(void)
{
    static const struct {
        const char *name, *head;
        size_t n;
        int64_t bytes;
        const char *what;
    } rows[] = {{"x", "\0\0\x08\3\0\0\0\1", 8, 100, "IDX"},
                {"x", "\0\0\x08\5\0\0\0\1", 8, 100, NULL},
                {"x.bin", "\3\0\0", 3, 30730, "CIFAR's binary form"},
                {"x.bin", "\13\0\0", 3, 30730, NULL},
                {"x.jpg", "\377\330\377\340", 4, 4, "a JPEG image"},
                {"x", "PK\3\4", 4, 4, "a zip archive"},
                {"x", "\211HDF\r\n\032\n", 8, 8, "HDF5"},
                {"x.csv", "1,2\n", 4, 4, "a text file"},
                {"x", "", 0, 0, "an empty file"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pod_data_form *f = pod__data_form_of((const uint8_t *)rows[i].head, rows[i].n,
                                                   rows[i].name, rows[i].bytes);
        POD_CHECK(f ? rows[i].what && strcmp(f->what, rows[i].what) == 0 : !rows[i].what,
                  "row %zu: '%s'", i, f ? f->what : "none");
    }
    const char *folder = pod_test_path("raw");
    pod_dataset *d = NULL;
    mkdir(folder, 0700);
    POD_CHECK_FAILS(pod_dataset_open(folder, 0, &d), POD_E_FORMAT, "is a folder, need a file");
    pod_test_spill(pod_test_path("raw/notes.txt"), "some text", 9);
    pod_test_spill(pod_test_path("raw/t10k-images-idx3-ubyte"), rows[0].head, rows[0].n);
    POD_CHECK_FAILS(pod_dataset_open(folder, 0, &d), POD_E_FORMAT,
                    "/raw: this is IDX: minipod data import idx ");
}

POD_TEST_SUITE("runtime.dataset_forms", {"wrong_forms_are_named", wrong_forms_are_named},
               {"fills_in_what_is_absent", fills_in_what_is_absent},
               {"no_data_set_at_all", no_data_set_at_all}, {"other_forms", other_forms});
