/* IDX files, built byte by byte: what is whole is read, plain and gzip; each corruption is refused
 * in one line that names the file. And the real Fashion-MNIST, where it is at hand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "runtime/data/import/import.h"
#include "tests/harness/harness.h"

enum { MAX_FILE_BYTES = 4096 };

/* ---- building files -------------------------------------------------------------------------- */

typedef struct bytes {
    size_t n;
    uint8_t at[MAX_FILE_BYTES];
} bytes;

static void put(bytes *b, int x) { b->at[b->n++] = (uint8_t)x; }

static void put_be32(bytes *b, int64_t x)
{
    for (int shift = 24; shift >= 0; shift -= 8) put(b, (int)(x >> shift & 255));
}

/* A header and n elements i * 3 mod `modulus`. */
static bytes idx_file(int n_dims, const int64_t dim[], int64_t n, int modulus)
{
    bytes b = {0};
    put_be32(&b, 0x800 + n_dims);
    for (int i = 0; i < n_dims; i++) put_be32(&b, dim[i]);
    for (int64_t i = 0; i < n; i++) put(&b, (int)(i * 3 % modulus));
    return b;
}

static bytes gzipped(const bytes *plain)
{
    enum { WINDOW_BITS = 15, GZIP = 16, MEMORY = 8 };
    bytes b = {0};
    z_stream z = {.next_in = (Bytef *)plain->at, .next_out = b.at};
    z.avail_in = (uInt)plain->n;
    z.avail_out = sizeof b.at;
    /* Stored, so that a byte of the file is one of the data. */
    CU_ASSERT(deflateInit2(&z, Z_NO_COMPRESSION, Z_DEFLATED, WINDOW_BITS + GZIP, MEMORY,
                           Z_DEFAULT_STRATEGY) == Z_OK);
    CU_ASSERT(deflate(&z, Z_FINISH) == Z_STREAM_END);
    b.n = sizeof b.at - z.avail_out;
    deflateEnd(&z);
    return b;
}

static void save(const char *f, const char *name, const bytes *b)
{
    pod_test_spill(pod_test_text("%s/%s", f, name), b->at, b->n);
}

static const char *const file_name[4] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                         "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};

/* 6 training and 3 test images of 3 x 4 with labels of 0 to 4. */
static bytes good_file(int k)
{
    int64_t n = k < 2 ? 6 : 3, dim[] = {n, 3, 4};
    return k % 2 == 0 ? idx_file(3, dim, n * 12, 251) : idx_file(1, dim, n, 5);
}

static const char *good_folder(void)
{
    const char *f = pod_test_folder();
    for (int k = 0; k < 4; k++) {
        bytes b = good_file(k);
        save(f, file_name[k], &b);
    }
    return f;
}

static const char *prefix;
static pod_log silent;

static void end_dataset(void *d) { pod_dataset_close(d); }

static pod_status import_folder(const char *f, const char *classes, pod_dataset **out)
{
    const char *path = pod_test_text("%s/out.h5", f);
    pod_import_idx_options o = {.classes = classes, .prefix = prefix, .log = &silent};
    POD_TRY(pod_import_idx(f, path, &o));
    POD_TRY(pod_dataset_open(path, 0, out));
    pod_test_at_end(end_dataset, *out);
    return POD_OK;
}

static pod_dataset *imported(const char *f, const char *classes)
{
    pod_dataset *d = NULL;
    POD_NEED_OK(import_folder(f, classes, &d));
    return d;
}

/* ---- what is whole --------------------------------------------------------------------------- */

static void check_good(const pod_dataset *d)
{
    CU_ASSERT(d->info.height == 3 && d->info.width == 4 && d->info.channels == 1);
    CU_ASSERT(d->info.n_samples[0] == 6 && d->info.n_samples[1] == 3 && d->info.n_classes == 5);
    for (int s = 0; s < POD_N_SPLITS; s++)
        for (int64_t i = 0; i < d->info.n_samples[s]; i++) {
            uint8_t pixels[12];
            POD_CHECK_OK(pod_dataset_read(d, (pod_split)s, i, pixels));
            for (int64_t j = 0; j < 12; j++) CU_ASSERT(pixels[j] == (12 * i + j) * 3 % 251);
            CU_ASSERT(pod_dataset_label(d, (pod_split)s, i) == i * 3 % 5);
        }
}

static void reads_each_spelling(void)
{
    static const char *const joint[] = {"-", "."}, *const suffix[] = {"", ".gz"};
    for (int form = 0; form < 4; form++) {
        const char *f = pod_test_folder();
        for (int k = 0; k < 4; k++) {
            const char *name = pod_test_text("%s-%s%sidx%d-ubyte%s", k < 2 ? "train" : "t10k",
                                             k % 2 ? "labels" : "images", joint[form % 2],
                                             k % 2 ? 1 : 3, suffix[form / 2]);
            bytes plain = good_file(k), packed = gzipped(&plain);
            save(f, name, form / 2 ? &packed : &plain);
        }
        pod_dataset *d = imported(f, NULL);
        check_good(d);
        CU_ASSERT(strcmp(d->info.class_names[4], "4") == 0);
        CU_ASSERT(strcmp(d->info.name, strrchr(f, '/') + 1) == 0);
    }
}

static void texts(void)
{
    const char *f = good_folder();
    static const char licence[] = "Some Licence\nwith two lines\n";
    pod_test_spill(pod_test_text("%s/LICENSE", f), licence, sizeof licence - 1);
    const char *path = pod_test_text("%s/out.h5", f);
    pod_import_idx_options o = {.text = {.name = "five things", .origin = "here"},
                                .classes = "T-shirt/top,Trouser,c,d,e",
                                .log = &silent};
    for (int given = 0; given < 2; given++) {
        if (given) o.text.licence = "MIT";
        pod_dataset *d = NULL;
        POD_CHECK_OK(pod_import_idx(f, path, &o));
        POD_NEED_OK(pod_dataset_open(path, 0, &d));
        CU_ASSERT(strcmp(d->info.name, "five things") == 0);
        CU_ASSERT(strcmp(d->info.class_names[0], "T-shirt/top") == 0);
        CU_ASSERT(strcmp(d->info.origin, "here") == 0);
        CU_ASSERT(strcmp(d->info.licence, given ? "MIT" : "Some Licence\nwith two lines") == 0);
        pod_dataset_close(d);
    }
}

/* Training has all labels from 0 to 4, the test 0, 3 and 1. */
static void warns_of_missing_classes(void)
{
    static const struct {
        const char *classes, *warnings;
    } cases[] = {
        {NULL, "minipod: warning: 2 classes have no image to test, the first is '2'\n"},
        {"a,b,c,d,e,f", "minipod: warning: class 'f' has no image to train\n"
                        "minipod: warning: 3 classes have no image to test, the first is 'c'\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *f = good_folder();
        char *text = NULL;
        size_t n;
        FILE *to = open_memstream(&text, &n);
        pod_log log = {.out = to, .err = to, .level = POD_LOG_WARNING};
        pod_import_idx_options o = {.classes = cases[i].classes, .log = &log};
        POD_CHECK_OK(pod_import_idx(f, pod_test_text("%s/out.h5", f), &o));
        fclose(to);
        CU_ASSERT_STRING_EQUAL(text, cases[i].warnings);
        free(text);
    }
}

static void refuses_one_name_for_two(void)
{
    const char *f = good_folder();
    pod_dataset *d = NULL;
    POD_CHECK_FAILS(import_folder(f, "a,b,c,b,e", &d), POD_E_INVALID, "1 and 3 are both called");
}

static void reads_colour(void)
{
    const char *f = good_folder();
    for (int k = 0; k < 4; k += 2) {
        int64_t n = k < 2 ? 6 : 3, dim[] = {n, 2, 3, 2};
        bytes b = idx_file(4, dim, n * 12, 251);
        CU_ASSERT(unlink(pod_test_text("%s/%s", f, file_name[k])) == 0);
        save(f, k ? "t10k-images-idx4-ubyte" : "train-images-idx4-ubyte", &b);
    }
    pod_dataset *d = imported(f, NULL);
    uint8_t pixels[12];
    CU_ASSERT(d->info.height == 2 && d->info.width == 3 && d->info.channels == 2);
    POD_CHECK_OK(pod_dataset_read(d, POD_SPLIT_TEST, 2, pixels));
    for (int j = 0; j < 12; j++) CU_ASSERT(pixels[j] == (24 + j) * 3 % 251);
}

/* Several members are one file, and what pads it is no part of it. */
static void reads_members(void)
{
    const char *f = pod_test_folder();
    for (int k = 0; k < 4; k++) {
        const bytes plain = good_file(k);
        bytes both = {0};
        for (int half = 0; half < 2; half++) {
            bytes part = {.n = half ? plain.n - 9 : 9};
            memcpy(part.at, plain.at + (half ? 9 : 0), part.n);
            const bytes packed = gzipped(&part);
            memcpy(both.at + both.n, packed.at, packed.n);
            both.n += packed.n;
        }
        for (int i = 0; i < 5 * k; i++) put(&both, 0);
        save(f, pod_test_text("%s.gz", file_name[k]), &both);
    }
    pod_dataset *d = imported(f, NULL);
    check_good(d);
}

/* ---- corruption ------------------------------------------------------------------------------ */

typedef struct damage {
    const char *why;
    int file;          /* of file_name */
    int at, value;     /* one byte set, when `at` is not 0 */
    int n_cut, n_more; /* bytes off the end, bytes behind it */
    enum { NOTHING, FIRST_BYTE, TWO_DIMS, OVERFLOW, TURNED } special;
    bool packed;                 /* then gzip it */
    int packed_at, n_packed_cut; /* a byte of the gzip file inverted; its end cut off */
} damage;

static const damage damages[] = {
    {"magic is 0x00000903", .file = 0, .at = 2, .value = 9},
    {"magic is 0x01000803", .file = 0, .special = FIRST_BYTE},
    {"magic is 0x00000809", .file = 0, .at = 3, .value = 9},
    {"1 dimensions, images need 3 or 4", .file = 0, .at = 3, .value = 1, .n_more = 1},
    {"2 dimensions, labels need 1", .file = 1, .special = TWO_DIMS},
    {"truncated, 1 bytes are missing", .file = 0, .n_cut = 1},
    {"header promises 72 bytes, file has 16", .file = 0, .n_cut = 72},
    {"truncated, 2 bytes are missing", .file = 1, .n_cut = 8},
    {"truncated, 4 bytes are missing", .file = 3, .n_cut = 11},
    {"bytes behind the end", .file = 0, .n_more = 1},
    {"bytes behind the end", .file = 1, .n_more = 1},
    {"extent 1 is 0", .file = 2, .at = 11, .value = 0},
    {"truncated: header promises", .file = 2, .at = 4, .value = 0x7f},
    {"extents overflow", .file = 2, .special = OVERFLOW},
    {"5 labels for 6 images", .file = 1, .at = 7, .value = 5},
    {"images of 4x3x1, training has 3x4x1", .file = 2, .special = TURNED},
    {"label 5 is 7, need 0 to 4", .file = 1, .at = 13, .value = 7},
    {"label 1 is 255, need 0 to 4", .file = 3, .at = 9, .value = 255},
    {"incorrect data check", .file = 0, .packed = true, .packed_at = 60},
    {"incorrect data check", .file = 1, .packed = true, .packed_at = 25},
    {"incorrect length check", .file = 0, .packed = true, .n_packed_cut = -1},
    {"truncated", .file = 0, .packed = true, .n_packed_cut = 5},
    {"truncated", .file = 0, .packed = true, .n_packed_cut = 9},
    {"truncated", .file = 2, .packed = true, .n_packed_cut = 40},
    {"truncated", .file = 0, .n_cut = 1, .packed = true},
    {"bytes behind the end that", .file = 0, .n_more = 1, .packed = true},
    {"promises", .file = 0, .at = 4, .value = 1, .packed = true},
};

/* What one byte does not make. */
static void make_special(const damage *x, bytes *b)
{
    static const int64_t two[] = {2, 3}, overflow[] = {3, 0xffffffff, 0xffffffff};
    static const int64_t turned[] = {3, 4, 3};
    if (x->special == FIRST_BYTE) b->at[0] = 1;
    if (x->special == TWO_DIMS) *b = idx_file(2, two, 6, 5);
    if (x->special == OVERFLOW) *b = idx_file(3, overflow, 36, 251);
    if (x->special == TURNED) *b = idx_file(3, turned, 36, 251);
}

static void inflict(const char *f, const damage *x)
{
    bytes b = good_file(x->file);
    if (x->at) b.at[x->at] = (uint8_t)x->value;
    b.n -= (size_t)x->n_cut;
    for (int i = 0; i < x->n_more; i++) put(&b, 0);
    make_special(x, &b);
    if (!x->packed) {
        save(f, file_name[x->file], &b);
        return;
    }
    bytes packed = gzipped(&b);
    if (x->packed_at) packed.at[x->packed_at] ^= 0xff;
    if (x->n_packed_cut < 0) packed.at[packed.n - 1] ^= 0xff;
    if (x->n_packed_cut > 0) packed.n -= (size_t)x->n_packed_cut;
    CU_ASSERT(unlink(pod_test_text("%s/%s", f, file_name[x->file])) == 0);
    save(f, pod_test_text("%s.gz", file_name[x->file]), &packed);
}

static void corruption_is_named(void)
{
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        const char *f = good_folder();
        inflict(f, &damages[i]);
        pod_dataset *d = NULL;
        POD_CHECK_FAILS(import_folder(f, "a,b,c,d,e", &d), POD_E_FORMAT, damages[i].why);
        POD_CHECK(strstr(pod_error_text(), file_name[damages[i].file]), "'%s' does not name %s",
                  pod_error_text(), file_name[damages[i].file]);
        CU_ASSERT(access(pod_test_text("%s/out.h5", f), F_OK) != 0);
        CU_ASSERT(access(pod_test_text("%s/out.h5.part", f), F_OK) != 0);
    }
}

static void names_what_is_missing(void)
{
    pod_dataset *d = NULL;
    POD_CHECK_FAILS(import_folder("/nowhere", NULL, &d), POD_E_IO,
                    "/nowhere: cannot be read as a folder: No such file or directory");
    POD_CHECK_FAILS(import_folder(pod_test_folder(), NULL, &d), POD_E_IO,
                    "no file train-images-idx3-ubyte, plain or .gz; wanted are ");
    for (int k = 0; k < 4; k++) {
        const char *f = good_folder();
        CU_ASSERT(unlink(pod_test_text("%s/%s", f, file_name[k])) == 0);
        POD_CHECK_FAILS(import_folder(f, NULL, &d), POD_E_IO, file_name[k]);
    }
    const char *f = good_folder();
    POD_CHECK_FAILS(import_folder(f, "a,b,,d,e", &d), POD_E_FORMAT, "class 2 has an empty name");
    pod_import_idx_options o = {.log = &silent};
    POD_CHECK_FAILS(pod_import_idx(f, "/nowhere/F.h5", &o), POD_E_IO, "/nowhere/F.h5");
}

/* ---- the real thing -------------------------------------------------------------------------- */

static void fashion_mnist(void)
{
    const char *from = pod_test_data("fashion-mnist");
    if (!from) {
        pod_test_skip("fashion_mnist", "the data set is not here");
        return;
    }
    const char *path = pod_test_path("fashion.h5");
    pod_import_idx_options o = {.classes = "T-shirt/top,Trouser,Pullover,Dress,Coat,Sandal,Shirt,"
                                           "Sneaker,Bag,Ankle boot",
                                .log = &silent};
    POD_CHECK_OK(pod_import_idx(from, path, &o));
    pod_dataset *d = NULL;
    POD_NEED_OK(pod_dataset_open(path, 0, &d));
    const pod_dataset_info *info = &d->info;
    CU_ASSERT(info->n_samples[0] == 60000 && info->n_samples[1] == 10000);
    CU_ASSERT(info->height == 28 && info->width == 28 && info->channels == 1);
    int64_t counts[10] = {0};
    for (int s = 0; s < POD_N_SPLITS && info->n_classes == 10; s++) {
        pod_dataset_count_classes(d, (pod_split)s, counts);
        for (int c = 0; c < 10; c++)
            POD_CHECK(counts[c] == info->n_samples[s] / 10, "class %d: %lld", c,
                      (long long)counts[c]);
    }
    /* as the data set's own description states them, to five digits */
    CU_ASSERT_DOUBLE_EQUAL(info->mean[0], 0.28604, 0.5e-5);
    CU_ASSERT_DOUBLE_EQUAL(info->std[0], 0.35302, 0.5e-5);
    CU_ASSERT(strcmp(info->name, "fashion-mnist") == 0);
    CU_ASSERT(strncmp(info->licence, "The MIT License", 15) == 0);
    CU_ASSERT(strcmp(info->class_names[9], "Ankle boot") == 0);
    pod_dataset_close(d);
}

static void check_folder(const char *f)
{
    pod_dataset *d = imported(f, NULL);
    CU_ASSERT(d->info.n_samples[0] == 6 && d->info.n_samples[1] == 3 && d->info.n_classes == 5);
    CU_ASSERT(pod_dataset_label(d, POD_SPLIT_TRAIN, 1) == 3);
}

/* Kaggle unpacks each file into a folder of its name, beside names with a dot. */
static void folders_are_no_files(void)
{
    const char *f = pod_test_folder();
    for (int k = 0; k < 4; k++) {
        const bytes b = good_file(k);
        CU_ASSERT(mkdir(pod_test_text("%s/%s", f, file_name[k]), 0777) == 0);
        char name[64];
        snprintf(name, sizeof name, "%s", file_name[k]);
        strstr(name, "-idx")[0] = '.';
        save(f, name, &b);
    }
    check_folder(f);
}

/* EMNIST's names: a prefix, test for t10k; several sets side by side. */
static void sets_by_prefix(void)
{
    static const char *const emnist[4] = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                          "test-images-idx3-ubyte", "test-labels-idx1-ubyte"};
    static const char *const of[] = {"emnist-letters", "emnist-digits"};
    const char *f = pod_test_folder();
    pod_dataset *d;
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 4; k++) {
            const bytes b = good_file(k);
            const char *name = pod_test_text("%s-%s", of[i], emnist[k]);
            if (k < 3 || i == 1) save(f, name, &b);
            if (k < 3) continue;
            POD_CHECK_FAILS(import_folder(f, NULL, &d), i ? POD_E_INVALID : POD_E_IO,
                            i ? "several sets; --prefix names one of them: "
                              : "no file emnist-letters-t10k-labels-idx1-ubyte, plain or .gz; ");
            if (i == 0)
                CU_ASSERT(strstr(pod_error_text(), "emnist-letters-test-images-idx3") != NULL);
            if (i == 0) save(f, name, &b);
            if (i == 0) check_folder(f);
        }
    }
    prefix = of[1];
    check_folder(f);
    prefix = "emnist-byclass";
    POD_CHECK_FAILS(import_folder(f, NULL, &d), POD_E_IO,
                    "no file emnist-byclass-train-images-idx3-ubyte");
    prefix = NULL;
}

/* A table of big-endian ints whose first column are the labels. */
static bytes int_labels(int64_t n)
{
    bytes b = {0};
    put_be32(&b, 0xc02);
    put_be32(&b, n);
    put_be32(&b, 3);
    for (int64_t i = 0; i < n; i++) {
        put_be32(&b, i * 3 % 5);
        put_be32(&b, -1);
        put_be32(&b, 1000 * i);
    }
    return b;
}

static void labels_of_ints(void)
{
    static const char *const names[4] = {
        "qmnist-train-images-idx3-ubyte", "qmnist-train-labels-idx2-int",
        "qmnist-test-images-idx3-ubyte", "qmnist-test-labels-idx2-int"};
    const char *f = pod_test_folder();
    for (int k = 0; k < 4; k++) {
        const bytes b = k % 2 ? int_labels(k < 2 ? 6 : 3) : good_file(k);
        save(f, names[k], &b);
    }
    check_folder(f);
    pod_dataset *d;
    bytes b = int_labels(6);
    b.at[12] = 0xff;
    save(f, names[1], &b);
    POD_CHECK_FAILS(import_folder(f, NULL, &d), POD_E_FORMAT, "label 0 is -16777216, need 0 to");
}

static void labels_from_one(void)
{
    const char *f = good_folder();
    for (int k = 1; k < 4; k += 2) {
        bytes b = good_file(k);
        for (size_t i = 8; i < b.n; i++) b.at[i]++;
        save(f, file_name[k], &b);
    }
    for (int i = 0; i < 3; i++) {
        static const char *const classes[] = {NULL, "a,b,c,d,e", "none,a,b,c,d,e"};
        static const char *const want[] = {"4", "d", "d"};
        pod_dataset *d = imported(f, classes[i]);
        const int32_t label = pod_dataset_label(d, POD_SPLIT_TRAIN, 1);
        POD_CHECK(strcmp(d->info.class_names[label], want[i]) == 0 && label == (i == 2 ? 4 : 3) &&
                      d->info.n_classes == (i == 2 ? 6 : 5),
                  "case %d: label %d of %d classes", i, label, d->info.n_classes);
    }
}

POD_TEST_SUITE("runtime.import_idx", {"reads_each_spelling", reads_each_spelling}, {"texts", texts},
               {"warns_of_missing_classes", warns_of_missing_classes},
               {"refuses_one_name_for_two", refuses_one_name_for_two},
               {"reads_colour", reads_colour}, {"reads_members", reads_members},
               {"corruption_is_named", corruption_is_named},
               {"names_what_is_missing", names_what_is_missing},
               {"folders_are_no_files", folders_are_no_files}, {"sets_by_prefix", sets_by_prefix},
               {"labels_of_ints", labels_of_ints}, {"labels_from_one", labels_from_one},
               {"fashion_mnist", fashion_mnist});
