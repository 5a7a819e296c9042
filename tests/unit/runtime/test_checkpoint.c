/* Checkpoints: what is written is read back bit for bit; every wrong form is refused with its name;
 * damage makes an error or leaves the right data, never other data and no crash. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/core/file.h"
#include "runtime/data/checkpoint.h"
#include "runtime/data/h5.h"
#include "tests/harness/harness.h"

/* Good for the next seven calls. */
static const char *in_dir(const char *name)
{
    static char path[8][600];
    static int turn;
    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof path[turn], "%s/%s", pod_test_dir(), name);
    return path[turn];
}

static bool exists(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

/* ---- a small model's checkpoint ---- */

enum { N_TENSORS = 6, ROOM = 512 };

typedef struct model {
    pod_tensor tensor[N_TENSORS];
    float data[N_TENSORS][ROOM];
} model;

static int64_t count_of(const pod_tensor *t)
{
    int64_t n = 1;
    for (int i = 0; i < t->n_dims; i++) n *= t->dim[i];
    return n;
}

/* All numbers of dimensions, names with and without scopes, values with every bit of interest. */
static void make_model(model *m, uint64_t seed)
{
    static const float odd[] = {-0.0f, FLT_MAX, -FLT_MAX, FLT_MIN, 1e-45f, 1.0f / 3.0f};
    const pod_tensor shapes[N_TENSORS] = {
        {.name = "stem/conv/w", .n_dims = 4, .dim = {4, 3, 3, 2}},
        {.name = "fc/w", .n_dims = 2, .dim = {20, 25}},
        {.name = "fc/b", .n_dims = 1, .dim = {25}},
        {.name = "scale", .n_dims = 1, .dim = {1}},
        {.name = "fc/w/lars/0", .is_state = true, .n_dims = 2, .dim = {20, 25}},
        {.name = "deep/er", .is_state = true, .n_dims = 5, .dim = {1, 2, 3, 4, 5}},
    };
    for (int i = 0; i < N_TENSORS; i++) {
        m->tensor[i] = shapes[i];
        m->tensor[i].data = m->data[i];
        const int64_t n = count_of(&shapes[i]);
        pod_test_fill(seed + (uint64_t)i, n, POD_F32, m->data[i]);
        for (int64_t k = 0; k < n && k < 6; k++) m->data[i][n - 1 - k] = odd[k];
    }
}

static void make_blank(model *m)
{
    make_model(m, 99);
    for (int i = 0; i < N_TENSORS; i++) memset(m->data[i], 0x55, sizeof m->data[i]);
}

static bool same_data(const model *a, const model *b)
{
    bool same = true;
    for (int i = 0; i < N_TENSORS; i++)
        same = same &&
               memcmp(a->data[i], b->data[i], (size_t)count_of(&a->tensor[i]) * sizeof(float)) == 0;
    return same;
}

static const pod_checkpoint_info info = {.model = "resnet20",
                                         .data = "glyphs \xc3\xa4 'x' \"y\"",
                                         .optimizer = "lars",
                                         .seed = UINT64_MAX - 7,
                                         .step = INT64_MAX / 3,
                                         .batch = 1024};

static bool same_info(const pod_checkpoint_info *a)
{
    return strcmp(a->model, info.model) == 0 && strcmp(a->data, info.data) == 0 &&
           strcmp(a->optimizer, info.optimizer) == 0 && a->seed == info.seed &&
           a->step == info.step && a->batch == info.batch;
}

static const char *write_model(const char *name, model *m)
{
    const char *path = in_dir(name);
    make_model(m, 1);
    POD_CHECK_OK(pod_checkpoint_write(path, &info, m->tensor, N_TENSORS));
    return path;
}

/* ---- tests ---- */

static void round_trip(void)
{
    model m, got;
    pod_arena *a;
    pod_checkpoint_info read;
    char part[700];
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    const char *path = write_model("whole.h5", &m);
    snprintf(part, sizeof part, "%s.part", path);
    POD_CHECK(exists(path) && !exists(part), "written aside and not renamed");
    make_blank(&got);
    POD_CHECK_OK(pod_checkpoint_read(path, got.tensor, N_TENSORS));
    POD_CHECK(same_data(&m, &got), "other data");
    POD_CHECK_OK(pod_checkpoint_read_info(path, a, &read));
    POD_CHECK(same_info(&read), "other info");

    /* Some of the variables, in another order. */
    make_blank(&got);
    const pod_tensor some[] = {got.tensor[4], got.tensor[1]};
    POD_CHECK_OK(pod_checkpoint_read(path, some, 2));
    POD_CHECK(memcmp(got.data[1], m.data[1], 500 * sizeof(float)) == 0 &&
                  memcmp(got.data[4], m.data[4], 500 * sizeof(float)) == 0,
              "other data in two variables");

    /* A later checkpoint takes the place of an earlier one. */
    make_model(&m, 50);
    POD_CHECK_OK(pod_checkpoint_write(path, &info, m.tensor, N_TENSORS));
    make_blank(&got);
    POD_CHECK_OK(pod_checkpoint_read(path, got.tensor, N_TENSORS));
    POD_CHECK(same_data(&m, &got), "the earlier checkpoint is still there");
    pod_arena_destroy(a);
}

/* More than one chunk, the last one not full. */
static void many_chunks(void)
{
    enum { ROWS = 700, COLUMNS = 1000 };
    const size_t bytes = (size_t)ROWS * COLUMNS * sizeof(float);
    float *out = malloc(bytes), *in = malloc(bytes);
    pod_tensor t = {.name = "big", .n_dims = 2, .dim = {ROWS, COLUMNS}, .data = out};
    pod_test_fill(3, (int64_t)ROWS * COLUMNS, POD_F32, out);
    POD_CHECK_OK(pod_checkpoint_write(in_dir("big.h5"), &info, &t, 1));
    memset(in, 0, bytes);
    t.data = in;
    POD_CHECK_OK(pod_checkpoint_read(in_dir("big.h5"), &t, 1));
    POD_CHECK(memcmp(out, in, bytes) == 0, "other data");
    free(out);
    free(in);
}

static void other_models(void)
{
    static const struct {
        pod_tensor tensor;
        const char *part;
    } rows[] = {
        {{.name = "fc/w", .n_dims = 2, .dim = {25, 20}},
         "'fc/w' is f32 of 20x25, need f32 of 25x20:"},
        {{.name = "fc/w", .n_dims = 1, .dim = {500}}, "is f32 of 20x25, need f32 of 500:"},
        {{.name = "fc/b", .n_dims = 1, .dim = {24}}, "'fc/b' is f32 of 25, need f32 of 24:"},
        {{.name = "fc/b", .n_dims = 1, .dim = {26}}, "need f32 of 26:"},
        {{.name = "fc/c", .n_dims = 1, .dim = {25}}, "has no variable 'fc/c'"},
        {{.name = "fc", .n_dims = 1, .dim = {25}}, "has no variable 'fc'"},
        {{.name = "fc/b", .is_state = true, .n_dims = 1, .dim = {25}}, "has no variable 'fc/b'"},
        {{.name = "deep/er", .n_dims = 5, .dim = {1, 2, 3, 4, 5}}, "has no variable 'deep/er'"},
    };
    model m;
    const char *path = write_model("whole.h5", &m);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        float room[ROOM];
        pod_tensor t = rows[i].tensor;
        t.data = room;
        POD_CHECK_FAILS(pod_checkpoint_read(path, &t, 1), POD_E_MISMATCH, rows[i].part);
        POD_CHECK(strstr(pod_error_text(), "whole.h5") && !strchr(pod_error_text(), '\n'),
                  "'%s' names no file", pod_error_text());
    }
}

/* A file of our own making, whose root has these two attributes. */
static const char *write_by_hand(const char *name, bool is_checkpoint, int64_t version,
                                 int64_t step)
{
    const char *path = in_dir(name);
    pod_h5_file f;
    pod_h5_lock();
    POD_CHECK_OK(pod_h5_create(path, &f));
    if (is_checkpoint) POD_CHECK_OK(pod_h5_put_i64(&f, "minipod_checkpoint", version));
    POD_CHECK_OK(pod_h5_put_text(&f, "model", "m"));
    POD_CHECK_OK(pod_h5_put_text(&f, "data", "d"));
    POD_CHECK_OK(pod_h5_put_text(&f, "optimizer", "o"));
    POD_CHECK_OK(pod_h5_put_i64(&f, "seed", 1));
    POD_CHECK_OK(pod_h5_put_i64(&f, "step", step));
    POD_CHECK_OK(pod_h5_put_i64(&f, "batch", 1));
    POD_CHECK_OK(pod_h5_close(&f));
    pod_h5_unlock();
    return path;
}

static void check_refused(const char *path, pod_status want, const char *part)
{
    pod_arena *a;
    pod_checkpoint_info read;
    float room[ROOM];
    const pod_tensor t = {.name = "fc/b", .n_dims = 1, .dim = {25}, .data = room};
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    POD_CHECK_FAILS(pod_checkpoint_read_info(path, a, &read), want, part);
    POD_CHECK_FAILS(pod_checkpoint_read(path, &t, 1), want, part);
    pod_arena_destroy(a);
}

static void other_files(void)
{
    pod_arena *a;
    pod_checkpoint_info read;
    check_refused(write_by_hand("old.h5", true, 0, 1), POD_E_FORMAT, "version 0, need 1");
    check_refused(write_by_hand("new.h5", true, 2, 1), POD_E_FORMAT, "version 2, need 1");
    check_refused(write_by_hand("data.h5", false, 0, 1), POD_E_FORMAT, "is no checkpoint");
    check_refused(in_dir("nowhere.h5"), POD_E_IO, "nowhere.h5");
    POD_CHECK_OK(pod_file_write_atomic(in_dir("text.h5"), "hello\n", 6));
    check_refused(in_dir("text.h5"), POD_E_FORMAT, "text.h5");
    POD_CHECK_OK(pod_file_write_atomic(in_dir("empty.h5"), "", 0));
    check_refused(in_dir("empty.h5"), POD_E_FORMAT, "empty.h5");
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    POD_CHECK_FAILS(pod_checkpoint_read_info(write_by_hand("back.h5", true, 1, -3), a, &read),
                    POD_E_FORMAT, "step -3");
    pod_arena_destroy(a);
}

static void values_that_are_not_finite(void)
{
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    for (int i = 0; i < 3; i++) {
        float data[5] = {1, 2, 3, 4, bad[i]};
        const pod_tensor t = {.name = "w", .n_dims = 1, .dim = {5}, .data = data};
        POD_CHECK_OK(pod_checkpoint_write(in_dir("bad.h5"), &info, &t, 1));
        POD_CHECK_FAILS(pod_checkpoint_read(in_dir("bad.h5"), &t, 1), POD_E_NUMERIC,
                        "'w' holds a value that is not finite");
    }
}

/* Nothing new stands there afterwards; what stood there is whole. */
static void unwritable(void)
{
    model m, got;
    char part[700];
    const char *path = write_model("whole.h5", &m);
    const char *const nowhere[] = {in_dir("no/such/folder.h5"), in_dir("whole.h5/inside.h5")};
    for (size_t i = 0; i < 2; i++) {
        POD_CHECK_FAILS(pod_checkpoint_write(nowhere[i], &info, m.tensor, N_TENSORS), POD_E_IO,
                        nowhere[i]);
        POD_CHECK(!exists(nowhere[i]), "%s was written", nowhere[i]);
    }
    POD_CHECK_OK(pod_dir_make(in_dir("folder.h5")));
    POD_CHECK_FAILS(pod_checkpoint_write(in_dir("folder.h5"), &info, m.tensor, N_TENSORS), POD_E_IO,
                    "folder.h5");
    /* A name that cannot be, in the middle of the write. */
    char name[600];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    model other;
    make_model(&other, 70);
    other.tensor[3].name = name;
    POD_CHECK_FAILS(pod_checkpoint_write(path, &info, other.tensor, N_TENSORS), POD_E_INVALID,
                    "is too long");
    snprintf(part, sizeof part, "%s.part", path);
    POD_CHECK(!exists(part), "half a checkpoint was left");
    other.tensor[3].name = other.tensor[2].name; /* twice the same */
    POD_CHECK(pod_checkpoint_write(path, &info, other.tensor, N_TENSORS) != POD_OK,
              "one variable was written twice");
    make_blank(&got);
    POD_CHECK_OK(pod_checkpoint_read(path, got.tensor, N_TENSORS));
    POD_CHECK(same_data(&m, &got), "the earlier checkpoint is damaged");
}

/* ---- damage ---- */

/* HDF5 1.10 loses memory of its own where it gives up on a damaged file. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:libhdf5"; }

static bool refused_or_right(const char *path, const model *want, const char *what, size_t at)
{
    model got;
    pod_arena *a;
    pod_checkpoint_info read;
    POD_CHECK_OK(pod_arena_create(NULL, &a));
    make_blank(&got);
    const bool read_info = pod_checkpoint_read_info(path, a, &read) == POD_OK;
    POD_CHECK(!read_info || same_info(&read), "%s %zu: other info", what, at);
    const bool read_data = pod_checkpoint_read(path, got.tensor, N_TENSORS) == POD_OK;
    POD_CHECK(!read_data || same_data(&got, want), "%s %zu: other data", what, at);
    pod_arena_destroy(a);
    return !read_info || !read_data;
}

static void spill(const char *path, const char *data, size_t bytes)
{
    FILE *f = fopen(path, "wb");
    POD_CHECK(f && fwrite(data, 1, bytes, f) == bytes, "cannot write %s", path);
    if (f) fclose(f);
}

static void damage_never_lies(void)
{
    enum { MAX_BYTES = 1 << 20 };
    model m;
    const char *path = write_model("whole.h5", &m);
    char *data = malloc(MAX_BYTES);
    FILE *f = fopen(path, "rb");
    const size_t bytes = f ? fread(data, 1, MAX_BYTES, f) : 0;
    if (f) fclose(f);
    POD_CHECK(bytes > 4096 && bytes < MAX_BYTES, "%zu bytes", bytes);
    int n_flips = 0, n_refused = 0;
    for (size_t at = 0; at < bytes; at += at < 200 ? 1 : 13) {
        const char before = data[at];
        data[at] = (char)(before ^ (at % 3 ? 1 << at % 8 : 0xff));
        spill(in_dir("hurt.h5"), data, bytes);
        data[at] = before;
        n_flips++;
        n_refused += refused_or_right(in_dir("hurt.h5"), &m, "byte flipped at", at);
    }
    POD_CHECK(n_refused > n_flips / 4, "%d of %d flips were seen", n_refused, n_flips);
    for (size_t at = 0; at < bytes; at += 1 + bytes / 60) {
        spill(in_dir("hurt.h5"), data, at);
        POD_CHECK(refused_or_right(in_dir("hurt.h5"), &m, "cut at", at), "cut at %zu: unseen", at);
    }
    free(data);
}

static CU_TestInfo tests[] = {{"round trip", round_trip},
                              {"many chunks", many_chunks},
                              {"checkpoints of other models", other_models},
                              {"other files", other_files},
                              {"values that are not finite", values_that_are_not_finite},
                              {"unwritable", unwritable},
                              {"damage never lies", damage_never_lies},
                              CU_TEST_INFO_NULL};
CU_SuiteInfo pod_test_suites[] = {{"checkpoint", NULL, NULL, NULL, NULL, tests},
                                  CU_SUITE_INFO_NULL};
