/* Checkpoints: what ranks wrote is read back bit for bit, by our reader and through the virtual
 * arrays of the index; the best one is found by any of its names; what is not kept goes; every
 * wrong form is refused with its name. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/rng.h"
#include "runtime/checkpoint/parts.h"
#include "runtime/core/file.h"
#include "runtime/h5/h5.h"
#include "runtime/h5/image.h"
#include "tests/harness/checkpoints.h"

static const int n_ranks[] = {1, 2, 3, 4, 8, 9};
enum { N_RANKS = sizeof n_ranks / sizeof n_ranks[0] };

static pod_arena *arena;

static int open_arena(void) { return pod_arena_create(NULL, &arena) == POD_OK ? 0 : 1; }
static int close_arena(void)
{
    pod_arena_destroy(arena);
    return 0;
}

static const char *make_dir(const char *name)
{
    const char *dir = pod_test_path("%s", name);
    POD_CHECK_OK(pod_dir_make(dir));
    return dir;
}

static bool exists(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

static const pod_test_model *the_model(const void *ctx, int64_t step)
{
    (void)step;
    return ctx;
}

static void spill(const char *path, const char *text) { pod_test_spill(path, text, strlen(text)); }

/* ---- there and back ---- */

/* As others read it: through the index alone, from another working directory. */
static void check_virtual(const char *folder, const pod_test_model *m)
{
    char name[POD__CHECKPOINT_NAME_BYTES];
    const char *path = pod_arena_text(arena, "%s/index.h5", folder);
    pod_test_model got;
    pod_h5_file f;
    pod_h5_array array;
    pod_test_model_blank(arena, m, &got);
    pod_h5_lock();
    POD_CHECK_OK(pod_h5_open(path, &f));
    for (int i = 0; i < m->n; i++) {
        POD_CHECK_OK(pod__checkpoint_array(&m->tensor[i], name));
        POD_CHECK_OK(pod_h5_array_open(&f, name, &array));
        POD_CHECK_OK(pod_h5_read_rows(&array, POD_F32, 0, m->tensor[i].dim[0], got.tensor[i].data));
        pod_h5_array_close(&array);
    }
    POD_CHECK_OK(pod_h5_close(&f));
    pod_h5_unlock();
    POD_CHECK(pod_test_model_same(m, &got), "%s shows other values", path);
}

static void round_trip(void)
{
    const char *dir = make_dir("round trip");
    char said[256];
    for (uint64_t seed = 0; seed < 36; seed++) {
        pod_test_model m;
        const int ranks = n_ranks[seed % N_RANKS];
        const int64_t step = 10 + (int64_t)seed;
        pod_test_model_make(arena, seed, seed, &m);
        POD_CHECK_OK(pod_test_save(&m, dir, step, ranks, NULL));
        POD_CHECK(pod_test_load(dir, the_model, &m, said, sizeof said) == step && said[0] == '\0',
                  "seed %" PRIu64 " on %d ranks: %s %s", seed, ranks, pod_error_text(), said);
        if (seed % 3 == 0) check_virtual(pod_test_path("round trip/step-%09" PRId64, step), &m);
        POD_CHECK(!exists(pod_test_path("round trip/step-%09" PRId64 ".part", step)),
                  "a part is left");
    }
}

/* Where a shard is missing its values are NaN, and others are there. */
static void missing_shard(void)
{
    const char *dir = make_dir("missing");
    float in[8], out[8];
    pod_test_model m = {.n = 1, .tensor = {{"w", false, 2, {4, 2}, in}}};
    pod_h5_file f;
    pod_h5_array array;
    pod_test_fill(1, 8, POD_F32, in);
    POD_CHECK_OK(pod_test_save(&m, dir, 1, 2, NULL));
    POD_CHECK(remove(pod_test_path("missing/step-000000001/shard-0001.h5")) == 0, "no shard");
    pod_h5_lock();
    POD_CHECK_OK(pod_h5_open(pod_test_path("missing/step-000000001/index.h5"), &f));
    POD_CHECK_OK(pod_h5_array_open(&f, "/weights/w", &array));
    POD_CHECK_OK(pod_h5_read_rows(&array, POD_F32, 0, 4, out));
    pod_h5_array_close(&array);
    POD_CHECK_OK(pod_h5_close(&f));
    pod_h5_unlock();
    for (int i = 0; i < 8; i++)
        POD_CHECK(i < 4 ? out[i] == in[i] : isnan(out[i]), "element %d is %g", i, (double)out[i]);
    POD_CHECK_FAILS(pod_checkpoint_read(pod_test_path("missing/step-000000001"), m.tensor, 1),
                    POD_E_IO, "shard-0001.h5: No such file");
}

/* Some of the variables, in another order; and a save of the same step takes the older one's
 * place. */
static void some_and_again(void)
{
    const char *dir = make_dir("again");
    pod_test_model m, later, got;
    pod_test_model_make(arena, 7, 1, &m);
    pod_test_model_make(arena, 7, 2, &later);
    pod_test_model_blank(arena, &m, &got);
    POD_CHECK(m.n > 3, "%d variables", m.n);
    POD_CHECK_OK(pod_test_save(&m, dir, 5, 4, NULL));
    const pod_tensor some[] = {got.tensor[3], got.tensor[1]};
    POD_CHECK_OK(pod_checkpoint_read(pod_test_path("again/step-000000005"), some, 2));
    for (int i = 1; i <= 3; i += 2)
        POD_CHECK(memcmp(got.tensor[i].data, m.tensor[i].data,
                         (size_t)pod_tensor_count(&m.tensor[i]) * sizeof(float)) == 0,
                  "other values in variable %d", i);
    POD_CHECK_OK(pod_test_save(&later, dir, 5, 2, NULL));
    POD_CHECK(pod_test_load(dir, the_model, &later, NULL, 0) == 5, "%s", pod_error_text());
    POD_CHECK(!exists(pod_test_path("again/step-000000005/shard-0002.h5")), "shards of both");
}

/* ---- finding ---- */

static void check_found(const char *path, int n, const char *const names[])
{
    pod_checkpoint_list list = {.n = -1};
    POD_CHECK_OK(pod_checkpoint_find(path, arena, NULL, &list));
    POD_CHECK(list.n == n, "%s: found %d, want %d", path, list.n, n);
    for (int i = 0; i < n && i < list.n; i++)
        POD_CHECK(strcmp(list.folder[i], names[i]) == 0, "number %d is %s, want %s", i,
                  list.folder[i], names[i]);
}

static void finding(void)
{
    char said[512];
    pod_test_model m;
    pod_arena *a = arena;
    pod_test_model_make(a, 3, 1, &m);
    const char *run = make_dir("run"), *dir = make_dir("run/checkpoint");
    check_found(run, 0, NULL);
    POD_CHECK_FAILS(pod_checkpoint_load(run, &pod_test_info, true, m.tensor, m.n, a, NULL,
                                        &(pod_checkpoint_info){0}),
                    POD_E_IO, "run/checkpoint: holds no checkpoint");
    for (int64_t step = 100; step <= 1200; step += 100)
        POD_CHECK_OK(pod_test_save(&m, dir, step == 1200 ? 700 : step, 1, NULL));
    POD_CHECK_OK(pod_dir_make(pod_test_path("run/checkpoint/step-000000600.old")));
    POD_CHECK_OK(pod_dir_make(pod_test_path("run/checkpoint/step-000000800.part")));
    POD_CHECK_OK(pod_dir_make(pod_test_path("run/checkpoint/step-80")));
    /* `latest` is at 700: what is before it, then what came later. */
    const int64_t order[] = {700, -700, 600, -600, 500, 400, 300, 200, 100, 1100, 1000, 900, 800};
    const char *names[13];
    for (int i = 0; i < 13; i++)
        names[i] = pod_test_path("run/checkpoint/step-%09" PRId64 "%s",
                                 order[i] < 0 ? -order[i] : order[i], order[i] < 0 ? ".old" : "");
    check_found(run, 13, names);
    check_found(dir, 13, names);
    check_found(pod_test_path("run/checkpoint/"), 13, names);
    check_found(names[4], 1, &names[4]);
    check_found(pod_arena_text(a, "%s///", names[4]), 1, &names[4]);
    check_found(pod_arena_text(a, "%s/index.h5", names[4]), 1, &names[4]);
    check_found(names[2], 1, &names[2]);

    /* Damaged, or gone, it points nowhere: the most steps come first. */
    static const char *const bad[] = {"step-000000700 00000000\n", "step-000000700", "", "x y"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        spill(pod_test_path("run/checkpoint/latest"), bad[i]);
        POD_CHECK(pod_test_load(run, the_model, &m, said, sizeof said) == 1100, "'%s': %s", bad[i],
                  pod_error_text());
        POD_CHECK(strstr(said, "run/checkpoint/latest: damaged; "), "'%s': said '%s'", bad[i],
                  said);
    }
    POD_CHECK(remove(pod_test_path("run/checkpoint/latest")) == 0, "no latest");
    POD_CHECK(pod_test_load(run, the_model, &m, said, sizeof said) == 1100 && !said[0], "%s", said);
}

static void not_found(void)
{
    pod_checkpoint_list list;
    make_dir("elsewhere");
    spill(pod_test_path("elsewhere/last.h5"), "hello\n");
    POD_CHECK_OK(pod_dir_make(pod_test_path("elsewhere/step-000000003.part")));
    POD_CHECK_FAILS(pod_checkpoint_find(pod_test_path("nowhere"), arena, NULL, &list), POD_E_IO,
                    "nowhere: No such file");
    POD_CHECK_FAILS(pod_checkpoint_find(pod_test_path("elsewhere/last.h5"), arena, NULL, &list),
                    POD_E_FORMAT, "last.h5: is no checkpoint");
    POD_CHECK_FAILS(
        pod_checkpoint_find(pod_test_path("elsewhere/step-000000003.part"), arena, NULL, &list),
        POD_E_FORMAT, "was not finished");
    POD_CHECK_OK(pod_dir_make(pod_test_path("elsewhere/step-000000003.gone")));
    POD_CHECK_FAILS(
        pod_checkpoint_find(pod_test_path("elsewhere/step-000000003.gone"), arena, NULL, &list),
        POD_E_FORMAT, "was being removed");
    check_found(pod_test_path("elsewhere"), 0, NULL);
}

/* ---- what stays ---- */

static void rotation(void)
{
    static const struct {
        int64_t keep_last, keep_every;
        int64_t kept[8]; /* of 10, 20, ... 100, after each was saved; ends with 0 */
    } cases[] = {
        {1, 0, {100}},      {2, 0, {90, 100}},          {3, 40, {40, 80, 90, 100}},
        {1, 50, {50, 100}}, {2, 30, {30, 60, 90, 100}}, {4, 1000, {70, 80, 90, 100}},
    };
    pod_test_model m;
    pod_test_model_make(arena, 3, 1, &m);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        const char *dir = make_dir(pod_arena_text(arena, "rotation%zu", c));
        pod_disk disk = {0};
        POD_CHECK_OK(pod_test_save(&m, dir, 500, 1, NULL)); /* another run's */
        for (int64_t step = 10; step <= 100; step += 10) {
            const int64_t every = cases[c].keep_every;
            const pod_checkpoint_save s = {
                .dir = dir, .step = step, .disk = &disk, .is_kept = every > 0 && step % every == 0};
            POD_CHECK_OK(pod_test_save_as(&m, dir, step, 2, NULL, &s));
            bool one_stays;
            POD_CHECK_OK(pod_checkpoint_rotate(&s, cases[c].keep_last, &one_stays));
            POD_CHECK(pod_test_load(dir, the_model, &m, NULL, 0) == step, "%s", pod_error_text());
        }
        const int64_t *kept = cases[c].kept;
        for (int64_t step = 10; step <= 100; step += 10) {
            const bool is_there = exists(pod_test_path("rotation%zu/step-%09" PRId64, c, step));
            POD_CHECK(is_there == (*kept == step), "case %zu: step %" PRId64 " is there: %d", c,
                      step, is_there);
            kept += *kept == step;
        }
        POD_CHECK(exists(pod_test_path("rotation%zu/step-000000500", c)), "a later step's is gone");
    }
}

/* What is kept for ever says so itself: it stays so where it is saved again, loads as any other,
 * and goes as any other once the file is removed. */
static void kept_for_ever(void)
{
    const char *dir = make_dir("kept"), *keep = pod_test_path("kept/step-000000010/keep");
    pod_disk disk = {0};
    pod_test_model m;
    bool one_stays;
    pod_test_model_make(arena, 3, 1, &m);
    POD_CHECK_OK(pod_test_save_as(&m, dir, 10, 3, NULL, &(pod_checkpoint_save){.is_kept = true}));
    POD_CHECK(exists(keep), "it does not say that it is kept");
    POD_CHECK_OK(pod_test_save(&m, dir, 10, 2, NULL));
    POD_CHECK(exists(keep), "saved again it is kept no more");
    POD_CHECK(pod_test_load(dir, the_model, &m, NULL, 0) == 10, "%s", pod_error_text());
    for (int64_t step = 20; step <= 30; step += 10) {
        const pod_checkpoint_save s = {.dir = dir, .step = step, .disk = &disk};
        POD_CHECK_OK(pod_test_save(&m, dir, step, 2, NULL));
        POD_CHECK(!exists(pod_test_path("kept/step-%09" PRId64 "/keep", step)), "another is kept");
        POD_CHECK_OK(pod_checkpoint_rotate(&s, 1, &one_stays));
        POD_CHECK(exists(pod_test_path("kept/step-000000010")) == (step == 20), "step %" PRId64,
                  step);
        if (step == 20) POD_CHECK(remove(keep) == 0, "no file to remove");
    }
}

static void sweeping(void)
{
    const char *dir = make_dir("swept");
    pod_test_model m;
    pod_test_model_make(arena, 3, 1, &m);
    POD_CHECK_OK(pod_test_save(&m, dir, 4, 2, NULL));
    POD_CHECK_OK(pod_dir_make(pod_test_path("swept/step-000000004.part")));
    spill(pod_test_path("swept/step-000000004.part/shard-0000.h5"), "half");
    POD_CHECK_OK(pod_dir_make(pod_test_path("swept/step-000000005.part")));
    POD_CHECK_OK(pod_dir_make(pod_test_path("swept/step-000000006.gone")));
    POD_CHECK_OK(pod_checkpoint_sweep(dir));
    POD_CHECK(!exists(pod_test_path("swept/step-000000004.part")) &&
                  !exists(pod_test_path("swept/step-000000005.part")) &&
                  !exists(pod_test_path("swept/step-000000006.gone")),
              "a part is left");
    POD_CHECK(pod_test_load(dir, the_model, &m, NULL, 0) == 4, "%s", pod_error_text());
}

/* ---- refusals ---- */

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
    const char *dir = make_dir("other models"),
               *folder = pod_test_path("other models/step-000000009");
    float room[512] = {0};
    const pod_test_model m = {.n = 3,
                              .tensor = {{"fc/w", false, 2, {20, 25}, room},
                                         {"fc/b", false, 1, {25}, room},
                                         {"deep/er", true, 5, {1, 2, 3, 4, 5}, room}}};
    POD_CHECK_OK(pod_test_save(&m, dir, 9, 3, NULL));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_tensor t = rows[i].tensor;
        t.data = room;
        POD_CHECK_FAILS(pod_checkpoint_read(folder, &t, 1), POD_E_MISMATCH, rows[i].part);
        POD_CHECK(strstr(pod_error_text(), "index.h5") && !strchr(pod_error_text(), '\n'),
                  "'%s' names no file", pod_error_text());
    }
    static const struct {
        const char *model, *data, *optimizer;
        bool with_state;
        const char *part; /* NULL: it will do */
    } runs[] = {
        {"mlp", "d", "o", false, "is a checkpoint of model 'resnet20', this run has 'mlp'"},
        {"resnet20", "d", "lars", true, "is a checkpoint of data set 'glyphs"},
        {"resnet20", "glyphs \xc3\xa4 'x' \"y\"", "sgd", true,
         "is a checkpoint of optimizer 'lars', this run has 'sgd'"},
        {"resnet20", NULL, NULL, false, NULL},
    };
    const pod_checkpoint_info same = {.model = "resnet20"};
    pod_checkpoint_info of;
    POD_CHECK_FAILS(pod_checkpoint_load(dir, &same, false, m.tensor, 1, arena, NULL, &of),
                    POD_E_MISMATCH, "index.h5: has a variable 'fc/b', which this network lacks");
    POD_CHECK_OK(pod_checkpoint_load(dir, &same, false, m.tensor, 2, arena, NULL, &of));
    for (size_t i = 0; i < sizeof runs / sizeof runs[0]; i++) {
        pod_checkpoint_info found;
        const pod_checkpoint_info want = {
            .model = runs[i].model, .data = runs[i].data, .optimizer = runs[i].optimizer};
        const pod_status s =
            pod_checkpoint_load(dir, &want, runs[i].with_state, m.tensor, m.n, arena, NULL, &found);
        POD_CHECK(runs[i].part ? s == POD_E_MISMATCH && strstr(pod_error_text(), runs[i].part)
                               : s == POD_OK,
                  "run %zu: %s", i, pod_error_text());
    }
}

/* A manifest that vouches for itself, whatever it says. */
static void spill_manifest(const char *path, const char *text)
{
    char whole[2048];
    snprintf(whole, sizeof whole, "%s  \"manifest_crc32\": \"%08" PRIx32 "\"\n}\n", text,
             pod__checkpoint_crc(0, text, strlen(text)));
    spill(path, whole);
}

static void other_files(void)
{
#define HEAD  "{\"schema\": \"minipod.checkpoint\", \"version\": 2, \"step\": 1, \"ranks\": 1, "
#define SHARD "{\"name\": \"shard-0000.h5\", \"bytes\": 5, \"crc32\": \"3610a686\"}"
#define INDEX "{\"name\": \"index.h5\", \"bytes\": 5, \"crc32\": \"3610a686\"}"
    static const struct {
        const char *text, *part;
    } rows[] = {
        {"{", "no 'schema'"},
        {"no json", "no JSON"},
        {"{\"schema\": \"minipod.checkpoint\", ", "no 'version'"},
        {"{\"schema\": \"minipod.checkpoint\", \"version\": 1, ", "version 1, need 2"},
        {"{\"schema\": \"minipod.checkpoint\", \"version\": 3, ", "version 3, need 2"},
        {"{\"schema\": \"minipod.checkpoint\", \"version\": 2, \"step\": -1, ", "no 'step'"},
        {"{\"schema\": \"minipod.checkpoint\", \"version\": 2, \"step\": 1, \"ranks\": 0, ",
         "no 'ranks'"},
        {HEAD, "'files' are not a shard a rank"},
        {HEAD "\"files\": [" SHARD "], ", "'files' are not a shard a rank"},
        {HEAD "\"files\": [" INDEX ", " SHARD "], ", "'files' are not a shard a rank"},
        {HEAD "\"files\": [" SHARD ", " SHARD ", " INDEX "], ", "'files' are not a shard a rank"},
        {HEAD "\"files\": [" SHARD ", " INDEX "], ", "index.h5: not a whole HDF5 file"},
    };
    pod_checkpoint_info info;
    float room[5];
    const pod_tensor t = {"w", false, 1, {5}, room};
    const char *folder = make_dir("step-000000001");
    POD_CHECK_FAILS(pod_checkpoint_read(folder, &t, 1), POD_E_IO, "manifest.json: ");
    spill(pod_test_path("step-000000001/index.h5"), "hello");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spill_manifest(pod_test_path("step-000000001/manifest.json"), rows[i].text);
        POD_CHECK_FAILS(pod_checkpoint_read(folder, &t, 1), POD_E_FORMAT, rows[i].part);
        POD_CHECK_FAILS(pod_checkpoint_read_info(folder, arena, &info), POD_E_FORMAT, rows[i].part);
    }
    spill(pod_test_path("step-000000001/index.h5"), "hello?");
    POD_CHECK_FAILS(pod_checkpoint_read(folder, &t, 1), POD_E_FORMAT,
                    "index.h5: has 6 bytes, the manifest says 5");
    spill(pod_test_path("step-000000001/index.h5"), "jello");
    POD_CHECK_FAILS(pod_checkpoint_read(folder, &t, 1), POD_E_FORMAT,
                    "index.h5: damaged: its CRC-32 is ");
}

/* The index of a checkpoint with another position in the data, and a manifest that vouches for it:
 * what stood there is replaced. */
static void spill_position(const char *folder, int64_t steps_per_epoch, double epoch)
{
    const pod_checkpoint_form form = {.ranks = 2};
    char path[512], text[4096], *was = NULL;
    pod_checkpoint_index x = {0};
    pod__manifest m = {0};
    snprintf(path, sizeof path, "%s/manifest.json", folder);
    POD_CHECK_OK(pod_file_read_text(arena, path, sizeof text, &was));
    POD_CHECK_OK(pod__manifest_parse(path, was, strlen(was), arena, &m));
    POD_CHECK_OK(pod_checkpoint_open_index(&form, &pod_test_info, arena, &x));
    const pod_h5_file f = {x.h5_id, "index"};
    pod_h5_lock();
    POD_CHECK_OK(pod_h5_change_i64(&f, "steps_per_epoch", steps_per_epoch));
    POD_CHECK_OK(pod_h5_change_f64(&f, "epoch", epoch));
    POD_CHECK_OK(pod_h5_image_take(&f, x.image, x.bytes, &x.bytes));
    pod_h5_unlock();
    m.index.bytes = x.bytes;
    m.index.crc = pod__checkpoint_crc(0, x.image, x.bytes);
    pod_test_spill(path, text, pod__manifest_print(&m, text, sizeof text));
    snprintf(path, sizeof path, "%s/index.h5", folder);
    pod_test_spill(path, x.image, x.bytes);
    pod_checkpoint_close_index(&x);
}

static void positions(void)
{
    static const struct {
        int64_t steps_per_epoch;
        double epoch, read; /* read: NaN: not known */
        const char *part;   /* NULL: it will do */
    } rows[] = {
        {40, 0, 0, NULL},
        {40, 2.5, 2.5, NULL},
        {40, 0x1p40 - 1, 0x1p40 - 1, NULL},
        {0, 0, NAN, NULL},
        {40, NAN, 0, "epoch nan of 40 steps"},
        {40, INFINITY, 0, "epoch inf of 40 steps"},
        {40, -0.5, 0, "epoch -0.5 of 40 steps"},
        {40, 0x1p40, 0, "epoch 1.09951e+12 of 40 steps"},
        {0, NAN, 0, "epoch nan of 0 steps"},
        {-1, 0, 0, "epoch 0 of -1 steps"},
    };
    const char *dir = make_dir("positions"), *folder = pod_test_path("positions/step-000000007");
    float data[5] = {1, 2, 3, 4, 5};
    const pod_test_model m = {.n = 1, .tensor = {{"w", false, 1, {5}, data}}};
    POD_CHECK_OK(pod_test_save(&m, dir, 7, 2, NULL));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_checkpoint_info info = {.epochs = -1};
        spill_position(folder, rows[i].steps_per_epoch, rows[i].epoch);
        const pod_status s = pod_checkpoint_read_info(folder, arena, &info);
        if (rows[i].part)
            POD_CHECK(s == POD_E_FORMAT && strstr(pod_error_text(), rows[i].part),
                      "row %zu: %s: %s", i, pod_status_name(s), pod_error_text());
        else
            POD_CHECK(s == POD_OK && (info.epochs == rows[i].read ||
                                      (isnan(info.epochs) && isnan(rows[i].read))),
                      "row %zu: %s, %g epochs", i, pod_status_name(s), info.epochs);
    }
}

/* Of more evaluations than a manifest keeps the latest stay. */
static void many_evaluations(void)
{
    enum { N = POD__CHECKPOINT_KEPT_EVALS + 1000 };
    const pod_checkpoint_receipt shard = {.is_there = true, .bytes = 5, .crc = 7};
    pod__manifest m = {.step = 9, .ranks = 1, .shard = &shard, .index = shard}, got = {0};
    m.evals = (pod_eval_rows){.row = POD_ARENA_NEW(arena, pod_eval_row, N),
                              .n = N,
                              .room = N,
                              .n_metrics = 1,
                              .metric = {{"accuracy", false}}};
    const size_t room = pod__manifest_room(1, N);
    char *text = pod_arena_get(arena, 1, room);
    if (!m.evals.row || !text) {
        CU_FAIL("no memory");
        return;
    }
    for (int64_t i = 0; i < N; i++) m.evals.row[i].n_done = i + 1;
    const size_t bytes = pod__manifest_print(&m, text, room);
    POD_CHECK_OK(pod__manifest_parse("many", text, bytes, arena, &got));
    POD_CHECK(got.evals.n == POD__CHECKPOINT_KEPT_EVALS && got.evals.row[0].n_done == 1001 &&
                  got.evals.row[got.evals.n - 1].n_done == N,
              "%" PRId64 " are kept, from step %" PRId64, got.evals.n, got.evals.row[0].n_done);
}

static void values_that_are_not_finite(void)
{
    static const float bad[] = {INFINITY, -INFINITY, NAN};
    const char *dir = make_dir("not finite");
    for (int i = 0; i < 3; i++) {
        float data[5] = {1, 2, 3, 4, bad[i]};
        const pod_test_model m = {.n = 1, .tensor = {{"w", false, 1, {5}, data}}};
        POD_CHECK_OK(pod_test_save(&m, dir, i, 2, NULL));
        POD_CHECK_FAILS(pod_checkpoint_read(pod_test_path("not finite/step-%09d", i), m.tensor, 1),
                        POD_E_NUMERIC, "shard-0001.h5: 'w' holds a value that is not finite");
    }
}

/* Nothing new stands there afterwards; what stood there is whole. */
static void unwritable(void)
{
    const char *dir = make_dir("unwritable");
    char name[600];
    pod_test_model m, other;
    pod_test_model_make(arena, 7, 1, &m);
    POD_CHECK_OK(pod_test_save(&m, dir, 1, 2, NULL));
    POD_CHECK_FAILS(pod_test_save(&m, pod_test_path("no/such/folder"), 2, 1, NULL), POD_E_IO,
                    "step-000000002");
    spill(pod_test_path("unwritable/step-000000002.part"), "in the way");
    POD_CHECK_FAILS(pod_test_save(&m, dir, 2, 2, NULL), POD_E_IO, "step-000000002");
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    other = m;
    other.tensor[2].name = name;
    POD_CHECK_FAILS(pod_test_save(&other, dir, 3, 2, NULL), POD_E_INVALID, "is too long");
    other.tensor[2] = other.tensor[1]; /* twice the same */
    POD_CHECK(pod_test_save(&other, dir, 3, 1, NULL) != POD_OK, "one variable was written twice");
    POD_CHECK(!exists(pod_test_path("unwritable/step-000000003")), "half a checkpoint was left");
    POD_CHECK(pod_test_load(dir, the_model, &m, NULL, 0) == 1, "%s", pod_error_text());
}

/* Two savers of one process. */
static void two_indices(void)
{
    pod_test_model m;
    pod_checkpoint_range range[POD_TEST_MAX_TENSORS];
    const bool whole[POD_TEST_MAX_TENSORS] = {false};
    pod_checkpoint_index x[2];
    pod_test_model_make(arena, 3, 1, &m);
    const pod_checkpoint_form form = {m.n, 1, m.tensor, range};
    pod_checkpoint_cut(&form, whole);
    for (int i = 0; i < 2; i++)
        POD_CHECK_OK(pod_checkpoint_open_index(&form, &pod_test_info, arena, &x[i]));
    for (int i = 0; i < 2; i++) POD_CHECK_OK(pod_checkpoint_move_index(&x[i], 10 + i));
    POD_CHECK(x[0].bytes == x[1].bytes && memcmp(x[0].image, x[1].image, x[0].bytes) != 0,
              "both of one step");
    POD_CHECK_OK(pod_checkpoint_move_index(&x[0], 11));
    POD_CHECK(memcmp(x[0].image, x[1].image, x[0].bytes) == 0, "other bytes for the same step");
    for (int i = 0; i < 2; i++) pod_checkpoint_close_index(&x[i]);
}

/* A rank that never comes. */
static void patience(void)
{
    const char *dir = make_dir("patience");
    pod_disk disk = {0};
    pod_checkpoint_desk desk;
    const pod_checkpoint_index index = {0};
    const pod_checkpoint_save s = {.dir = dir, .step = 1, .id = 1, .ranks = 2, .disk = &disk};
    POD_CHECK_OK(pod_checkpoint_desk_create(arena, 2, 0, &desk));
    POD_CHECK_OK(pod_checkpoint_put_shard(&s, "abc", 3));
    /* What another job left is not the rank's. */
    pod_checkpoint_save other = s;
    other.rank = 1;
    other.id = 2;
    POD_CHECK_OK(pod_checkpoint_put_shard(&other, "abc", 3));
    pod_checkpoint_put_failure(&other, POD_E_IO, "another job's");
    bool is_whole;
    POD_CHECK_FAILS(pod_checkpoint_complete(&s, POD_OK, &index, 0.05, &desk, &is_whole), POD_E_IO,
                    "step 1: no shard of rank 1 within");
    CU_ASSERT_FALSE(is_whole);
    POD_CHECK(!exists(pod_test_path("patience/step-000000001.part")), "a part is left");
}

POD_TEST_SUITE_WITH("checkpoint", open_arena, close_arena, {"round trip", round_trip},
                    {"a missing shard", missing_shard},
                    {"some variables, and again", some_and_again}, {"finding", finding},
                    {"not found", not_found}, {"rotation", rotation},
                    {"kept for ever", kept_for_ever}, {"sweeping", sweeping},
                    {"checkpoints of other models", other_models}, {"other files", other_files},
                    {"values that are not finite", values_that_are_not_finite},
                    {"positions in the data", positions},
                    {"more evaluations than are kept", many_evaluations},
                    {"unwritable", unwritable}, {"two indices", two_indices},
                    {"patience", patience});
