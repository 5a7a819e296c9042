/* Saving that goes wrong: at each file operation the disk is full, or the process dies; then at
 * each byte a file is damaged. The older checkpoint loads, and nothing half-written does. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/core/file.h"
#include "tests/harness/checkpoints.h"

enum { RANKS = 3, OLDER = 100, NEWER = 110, MODEL = 45, MAX_OPS = 200 };

static pod_arena *arena;
static pod_test_model older, newer;

static int open_models(void)
{
    if (pod_arena_create(NULL, &arena) != POD_OK) return 1;
    pod_test_model_make(arena, MODEL, 1, &older);
    pod_test_model_make(arena, MODEL, 2, &newer);
    return 0;
}

static int close_models(void)
{
    pod_arena_destroy(arena);
    return 0;
}

static const pod_test_model *of_step(const void *ctx, int64_t step)
{
    (void)ctx;
    return step == NEWER ? &newer : &older;
}

static const char *fresh_dir(const char *what, int64_t n, int rank)
{
    const char *dir = pod_test_path("%s-%" PRId64 "-%d", what, n, rank);
    POD_CHECK_OK(pod_dir_make(dir));
    POD_CHECK_OK(pod_test_save(&older, dir, OLDER, RANKS, NULL));
    return dir;
}

static bool exists(const char *dir, const char *name)
{
    struct stat s;
    return stat(pod_arena_text(arena, "%s/%s", dir, name), &s) == 0;
}

/* After a save that broke: the older or, whole, the newer one. A later save is as good as ever. */
static void check_survives(const char *dir, const char *what, int64_t n)
{
    int64_t step = pod_test_load(dir, of_step, NULL, NULL, 0);
    POD_CHECK(step == OLDER || step == NEWER, "%s at %" PRId64 ": step %" PRId64 " is loaded: %s",
              what, n, step, pod_error_text());
    POD_CHECK_OK(pod_checkpoint_sweep(dir));
    POD_CHECK(pod_test_load(dir, of_step, NULL, NULL, 0) == step, "%s at %" PRId64 ": swept away",
              what, n);
    POD_CHECK_OK(pod_test_save(&newer, dir, NEWER, RANKS - 1, NULL));
    step = pod_test_load(dir, of_step, NULL, NULL, 0);
    POD_CHECK(step == NEWER, "%s at %" PRId64 ": then step %" PRId64, what, n, step);
}

static const char *latest_of(const char *dir)
{
    char *text = NULL;
    const char *path = pod_arena_text(arena, "%s/latest", dir);
    POD_CHECK_OK(pod_file_read_text(arena, path, 256, &text));
    return text ? text : "";
}

/* Until the folder has its name nothing of a save is left. Then it stays, whole, and the text says
 * what is not as it should be. */
static void check_left(const char *dir, int64_t n, const char *latest, const char *text)
{
    const bool is_named = exists(dir, "step-000000110");
    const bool is_moved = strstr(text, "'latest' moved to it, which may not last");
    POD_CHECK(!exists(dir, "step-000000110.part"), "operation %" PRId64 ": a part", n);
    POD_CHECK(is_named == (strstr(text, "that of step 110 is whole, and 'latest'") != NULL) &&
                  (is_named || !is_moved),
              "operation %" PRId64 ": %s", n, text);
    if (is_named) {
        pod_test_model got;
        pod_test_model_blank(arena, &newer, &got);
        POD_CHECK_OK(pod_checkpoint_read(pod_arena_text(arena, "%s/step-000000110", dir),
                                         got.tensor, got.n));
    }
    POD_CHECK((strcmp(latest, latest_of(dir)) == 0) == !is_moved &&
                  pod_test_load(dir, of_step, NULL, NULL, 0) == (is_moved ? NEWER : OLDER),
              "operation %" PRId64 ": %s", n, text);
}

/* How many operations a rank's part of a save takes: it fails until it is full from behind them. */
static void full_disk(void)
{
    for (int rank = 0; rank < RANKS; rank += RANKS - 1) { /* the others are all alike */
        bool failed = true;
        int64_t n = 1;
        for (; failed && n < MAX_OPS; n += POD_TEST_EVERY) {
            pod_disk disk[RANKS] = {0};
            const char *dir = fresh_dir("full", n, rank), *latest = latest_of(dir);
            disk[rank].full_from = n;
            const pod_status s = pod_test_save(&newer, dir, NEWER, RANKS, disk);
            const char *text = pod_arena_text(arena, "%s", pod_error_text());
            failed = s != POD_OK;
            POD_CHECK(!failed || s == POD_E_WRITE, "operation %" PRId64 ": %s", n,
                      pod_status_name(s));
            POD_CHECK(!failed || strstr(text, "No space left"), "operation %" PRId64 ": %s", n,
                      text);
            POD_CHECK(!failed || rank == 0 || strstr(text, "rank"), "no rank: %s", text);
            if (failed)
                check_left(dir, n, latest, text);
            else
                POD_CHECK(pod_test_load(dir, of_step, NULL, NULL, 0) == NEWER, "not saved");
            check_survives(dir, "full", n);
        }
        POD_CHECK(n - POD_TEST_EVERY > 5 && n < MAX_OPS, "rank %d: %" PRId64 " operations", rank,
                  n);
    }
}

/* A process that saves as `as` says and dies at operation n of a rank's disk, or, with a keep_last,
 * rotates and dies there: all ranks are one process here. Whether it died. */
static bool dies(const char *dir, int rank, int64_t n, const pod_checkpoint_save *as, int keep_last)
{
    int ended = 0;
    const pid_t child = fork();
    if (child == 0) {
        pod_disk disk[RANKS] = {0};
        disk[rank].kill_at = n;
        const pod_checkpoint_save s = {.dir = dir, .step = NEWER, .disk = disk};
        bool one_stays;
        _exit((keep_last ? pod_checkpoint_rotate(&s, keep_last, &one_stays)
                         : pod_test_save_as(&newer, dir, NEWER, RANKS, disk, as)) == POD_OK
                  ? 0
                  : 1);
    }
    POD_CHECK(child > 0 && waitpid(child, &ended, 0) == child, "no child");
    POD_CHECK(WIFSIGNALED(ended) || WEXITSTATUS(ended) == 0, "ended with %d", ended);
    return WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL;
}

static const pod_checkpoint_save plain;

/* At each operation in turn, until one is survived: more than `least` and less than MAX_OPS. */
static void each_operation(int64_t least, bool (*dies_at)(int64_t n))
{
    int64_t n = 1;
    while (n < MAX_OPS && dies_at(n)) n += POD_TEST_EVERY;
    POD_CHECK(n > least && n < MAX_OPS, "%" PRId64 " operations", n);
}

static bool saving(int rank, int64_t n)
{
    const char *dir = fresh_dir("killed", n, rank);
    const bool died = dies(dir, rank, n, &plain, 0);
    check_survives(dir, "killed", n);
    return died;
}
static bool saving_first(int64_t n) { return saving(0, n); }
static bool saving_last(int64_t n) { return saving(RANKS - 1, n); }

static void killed(void)
{
    each_operation(5, saving_first);
    each_operation(5, saving_last); /* the others are all alike */
}

/* The same while a checkpoint of the same step is being replaced, the only one there is. */
static bool replacing(int64_t n)
{
    const char *dir = pod_test_path("replaced-%" PRId64, n);
    POD_CHECK_OK(pod_dir_make(dir));
    POD_CHECK_OK(pod_test_save(&newer, dir, NEWER, 2, NULL));
    const bool died = dies(dir, 0, n, &plain, 0);
    const int64_t step = pod_test_load(dir, of_step, NULL, NULL, 0);
    POD_CHECK(step == NEWER, "killed at %" PRId64 ": step %" PRId64 ": %s", n, step,
              pod_error_text());
    check_survives(dir, "replaced", n);
    return died;
}

static void killed_while_replacing(void) { each_operation(7, replacing); }

/* And while older ones are removed. */
static bool rotating(int64_t n)
{
    char said[512];
    const char *dir = fresh_dir("rotated", n, 0);
    POD_CHECK_OK(pod_test_save(&newer, dir, NEWER, RANKS, NULL));
    const bool died = dies(dir, 0, n, NULL, 1);
    const int64_t step = pod_test_load(dir, of_step, NULL, said, sizeof said);
    POD_CHECK(step == NEWER && !said[0], "%" PRId64 ": step %" PRId64 ", said '%s'", n, step, said);
    /* The newer one gone, an older one that is half removed is not taken for one. */
    POD_CHECK(!exists(dir, "step-000000100") || exists(dir, "step-000000100/manifest.json"),
              "%" PRId64 ": half a checkpoint", n);
    return died;
}

static void killed_while_rotating(void) { each_operation(3, rotating); }

/* Behind OLDER, as a job that was taken back there has it: steps that were left behind, kept for
 * ever, one of them of the step that is saved next. */
static const int64_t left_behind[] = {104, NEWER, 112, 130};
enum { N_LEFT = sizeof left_behind / sizeof left_behind[0] };
static const pod_checkpoint_save line = {.left_from = OLDER + 1, .own_from = NEWER};

static const char *turned_back_dir(const char *what, int64_t n)
{
    const char *dir = fresh_dir(what, n, 0);
    const pod_checkpoint_save kept = {.is_kept = true};
    for (int i = 0; i < N_LEFT; i++)
        POD_CHECK_OK(pod_test_save_as(&older, dir, left_behind[i], 1, NULL, &kept));
    POD_CHECK_OK(pod_dir_make(pod_arena_text(arena, "%s/step-000000104.old", dir)));
    POD_CHECK_OK(pod_checkpoint_point_to(dir, OLDER));
    return dir;
}

static bool has_left_behind(const char *dir)
{
    bool has = exists(dir, "step-000000104.old") || exists(dir, "step-000000110.old");
    for (int i = 0; i < N_LEFT; i++)
        has |= left_behind[i] != NEWER &&
               exists(dir, pod_arena_text(arena, "step-%09" PRId64, left_behind[i]));
    return has;
}

/* Whoever dies: what is loaded is where the line began or its own, and once its own comes first all
 * that was left behind is gone. Before its own is whole, nothing is. */
static bool turning_back(int64_t n)
{
    const char *dir = turned_back_dir("turned", n);
    const bool died = dies(dir, 0, n, &line, 0);
    const int64_t step = pod_test_load(dir, of_step, NULL, NULL, 0);
    POD_CHECK(step == OLDER || step == NEWER, "%" PRId64 ": step %" PRId64, n, step);
    POD_CHECK(step == OLDER || !has_left_behind(dir), "%" PRId64 ": some are left", n);
    POD_CHECK(died || step == NEWER, "step %" PRId64 " is loaded", step);
    for (int i = 0; i < N_LEFT && exists(dir, "step-000000110.part"); i++)
        POD_CHECK(left_behind[i] == NEWER ||
                      exists(dir, pod_arena_text(arena, "step-%09" PRId64 "/manifest.json",
                                                 left_behind[i])),
                  "%" PRId64 ": step %" PRId64 " is gone", n, left_behind[i]);
    POD_CHECK_OK(pod_checkpoint_sweep(dir));
    POD_CHECK_OK(pod_test_save_as(&newer, dir, NEWER, RANKS, NULL, &line));
    POD_CHECK(!has_left_behind(dir), "%" PRId64 ": then some are left", n);
    POD_CHECK(!exists(dir, "step-000000110/keep"), "%" PRId64 ": kept as another was", n);
    return died;
}

static void killed_while_turning_back(void) { each_operation(19, turning_back); }

/* Nothing goes but that: not what is before it, nor what the line has of its own, nor what another
 * rank has begun to write of a step that was left behind; and what went stays away. */
static void turned_back(void)
{
    const char *dir = turned_back_dir("back", 0);
    const char *begun = pod_arena_text(arena, "%s/step-000000112.part", dir);
    const pod_checkpoint_save later = {.left_from = OLDER + 1, .own_from = NEWER, .is_kept = true};
    POD_CHECK_OK(pod_test_save(&older, dir, 90, 1, NULL));
    POD_CHECK_OK(pod_checkpoint_point_to(dir, OLDER));
    POD_CHECK_OK(pod_dir_make(begun));
    POD_CHECK_OK(pod_dir_make(pod_arena_text(arena, "%s/step-000000130.gone", dir)));
    POD_CHECK_OK(pod_test_save_as(&newer, dir, NEWER, RANKS, NULL, &line));
    POD_CHECK(!has_left_behind(dir), "some are left");
    POD_CHECK(exists(dir, "step-000000112.part"), "what a rank had begun is gone");
    POD_CHECK(exists(dir, "step-000000090") && exists(dir, "step-000000100"), "older ones went");
    POD_CHECK_OK(pod_test_save(&older, dir, 140, 1, NULL));
    POD_CHECK_OK(pod_test_save_as(&older, dir, 120, RANKS, NULL, &later));
    POD_CHECK(exists(dir, "step-000000110") && exists(dir, "step-000000120/keep") &&
                  !exists(dir, "step-000000140"),
              "not what the line has");
}

/* A folder in the place of a file, which nothing here removes: what has one keeps no other from
 * going. */
static void cannot_be_removed(void)
{
    static const char *const in_the_way[] = {"step-000000010", "step-000000020.gone",
                                             "step-000000030"};
    const char *dir = pod_test_path("in the way");
    pod_disk disk = {0};
    const pod_checkpoint_save s = {.dir = dir, .step = 50, .disk = &disk};
    bool one_stays = true;
    POD_CHECK_OK(pod_dir_make(dir));
    for (int64_t step = 10; step <= 50; step += 10)
        POD_CHECK_OK(pod_test_save(&older, dir, step, RANKS, NULL));
    for (size_t i = 0; i < sizeof in_the_way / sizeof in_the_way[0]; i++)
        POD_CHECK_OK(
            pod_dir_make(pod_arena_text(arena, "%s/%s/folder/inside", dir, in_the_way[i])));
    POD_CHECK_FAILS(pod_checkpoint_rotate(&s, 1, &one_stays), POD_E_IO, "step-000000010.gone");
    CU_ASSERT_FALSE(one_stays);
    for (int64_t step = 10; step < 50; step += 10)
        POD_CHECK(!exists(dir, pod_arena_text(arena, "step-%09" PRId64, step)),
                  "step %" PRId64 " stays", step);
    POD_CHECK(exists(dir, "step-000000050"), "the latest is gone");
    POD_CHECK_OK(pod_checkpoint_rotate(&s, 1, &one_stays));
}

/* Where none can be renamed all of them stay, and the first is told. */
static void cannot_be_renamed(void)
{
    const char *dir = pod_test_path("renamed");
    pod_disk disk = {.full_from = 1};
    const pod_checkpoint_save s = {.dir = dir, .step = 30, .disk = &disk};
    bool one_stays = false;
    POD_CHECK_OK(pod_dir_make(dir));
    for (int64_t step = 10; step <= 30; step += 10)
        POD_CHECK_OK(pod_test_save(&older, dir, step, RANKS, NULL));
    POD_CHECK_FAILS(pod_checkpoint_rotate(&s, 1, &one_stays), POD_E_WRITE, "step-000000010");
    CU_ASSERT_TRUE(one_stays && exists(dir, "step-000000010") && exists(dir, "step-000000020"));
}

/* ---- damage ---- */

/* The file is said to be damaged, in one line, and what is loaded is the older checkpoint. */
static void check_noticed(const char *dir, const char *name, int64_t want, const char *how,
                          size_t at)
{
    char said[2048];
    const int64_t step = pod_test_load(dir, of_step, NULL, said, sizeof said);
    const char *newline = strchr(said, '\n');
    POD_CHECK(step == want && strstr(said, name) && newline && !newline[1],
              "%s %s %zu: step %" PRId64 ", said '%s'", name, how, at, step, said);
}

static void damage(void)
{
    static const char *const names[] = {
        "step-000000110/index.h5",      "step-000000110/manifest.json",
        "step-000000110/shard-0000.h5", "step-000000110/shard-0001.h5",
        "step-000000110/shard-0002.h5", "latest"};
    const char *dir = fresh_dir("damaged", 0, 0);
    POD_CHECK_OK(pod_test_save(&newer, dir, NEWER, RANKS, NULL));
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        const char *path = pod_arena_text(arena, "%s/%s", dir, names[k]);
        /* Where `latest` is damaged the checkpoint of the most steps is as good. */
        const int64_t want = strcmp(names[k], "latest") == 0 ? NEWER : OLDER;
        size_t bytes;
        char *data = pod_test_slurp(path, &bytes);
        const size_t stride = 1 + bytes / 60;
        for (size_t at = 0; at < bytes; at += stride) {
            const char before = data[at];
            data[at] = (char)(before ^ (at % 3 ? 1 << at % 8 : 0xff));
            pod_test_spill(path, data, bytes);
            data[at] = before;
            check_noticed(dir, names[k], want, "flipped at", at);
        }
        for (size_t at = 0; at < bytes; at += 1 + bytes / 12) {
            pod_test_spill(path, data, at);
            check_noticed(dir, names[k], want, "cut at", at);
        }
        POD_CHECK(remove(path) == 0, "%s", path);
        if (want == OLDER) check_noticed(dir, names[k], want, "removed", 0);
        pod_test_spill(path, data, bytes);
        POD_CHECK(pod_test_load(dir, of_step, NULL, NULL, 0) == NEWER, "%s", pod_error_text());
        free(data);
    }
    /* Both: there is none. */
    static const char *const both[] = {"step-000000100/index.h5", "step-000000110/shard-0001.h5"};
    for (int i = 0; i < 2; i++)
        POD_CHECK(truncate(pod_arena_text(arena, "%s/%s", dir, both[i]), 100) == 0, "%s", both[i]);
    POD_CHECK(pod_test_load(dir, of_step, NULL, NULL, 0) == -1, "something was loaded");
    POD_CHECK(strstr(pod_error_text(), "none of 2 checkpoints is whole; the last one: ") &&
                  strstr(pod_error_text(), "step-000000100/index.h5: has 100 bytes"),
              "'%s'", pod_error_text());
}

POD_TEST_SUITE_WITH("checkpoint_faults", open_models, close_models, {"a full disk", full_disk},
                    {"killed", killed}, {"killed while replacing", killed_while_replacing},
                    {"killed while rotating", killed_while_rotating},
                    {"killed while turning back", killed_while_turning_back},
                    {"turned back", turned_back}, {"what cannot be removed", cannot_be_removed},
                    {"what cannot be renamed", cannot_be_renamed}, {"damage", damage});
