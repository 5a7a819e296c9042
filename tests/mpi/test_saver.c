/* Saving while the store goes on changing: what is loaded is what the store held, on the same ranks
 * and on one, dealt out or not; saves that fail are told and do not stop those that follow. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/hash.h"
#include "runtime/core/file.h"
#include "runtime/train/saver.h"
#include "runtime/train/snapshot.h"
#include "tests/harness/harness.h"
#include "tests/harness/nets.h"
#include "tests/mpi/ranks.h"

static const pod_checkpoint_info info = {
    .model = "m", .data = "d", .optimizer = "lars", .batch = 48};

typedef struct fixture {
    pod_store *store;
    pod_comm *comm;
    const char *dir;
} fixture;

/* A store on all ranks of `c`, and a folder that all know. */
static void start(fixture *f, pod_comm *c, bool is_dealt, const char *name)
{
    const pod_test_plan plan = {.net = &pod_test_nets[POD_TEST_BN_RESIDUAL],
                                .mesh = pod_test_text("%dx1", pod_comm_size(c)),
                                .optimizer = "adamw",
                                .shard_update = is_dealt};
    *f = (fixture){.comm = c, .dir = pod_test_path("%s", name)};
    if (pod_comm_rank(c) == 0) POD_CHECK_OK(pod_dir_make(f->dir));
    POD_CHECK_OK(pod_store_create(pod_test_program(&plan), pod_comm_rank(c), 1, &f->store));
    pod_comm_barrier(c);
}

static void end(fixture *f) { pod_store_destroy(f->store); }

/* Of an element of a whole variable after so many steps; the same whoever holds it. */
static float value_of(const char *name, int64_t element, int64_t step)
{
    const uint64_t h = pod_hash_text(POD_HASH_START, name);
    return (float)((h ^ (uint64_t)(element * 2654435761 + step * 97)) % 1000003) - 5e5f;
}

static void set_values(const fixture *f, int64_t step)
{
    for (int i = 0; i < pod_store_n(f->store); i++) {
        const pod_program_variable *v = pod_store_variable(f->store, i);
        const int64_t first = pod_type_part(&v->type, pod_store_core(f->store)).first;
        for (int64_t k = 0; k < pod_store_count(f->store, i); k++)
            pod_store_data(f->store, i)[k] = value_of(v->name, first + k, step);
    }
}

static int64_t n_other_values(const fixture *f, int64_t step)
{
    int64_t n = 0;
    for (int i = 0; i < pod_store_n(f->store); i++) {
        const pod_program_variable *v = pod_store_variable(f->store, i);
        const int64_t first = pod_type_part(&v->type, pod_store_core(f->store)).first;
        for (int64_t k = 0; k < pod_store_count(f->store, i); k++)
            n += pod_store_data(f->store, i)[k] != value_of(v->name, first + k, step);
    }
    return n;
}

/* Loads what f->dir has into the store. */
static void check_restores(const fixture *f, int64_t want)
{
    pod_snapshot found = {.step = -1};
    set_values(f, 999);
    POD_CHECK_OK(pod_snapshot_restore(f->dir, &info, true, f->store, f->comm, NULL, NULL, &found));
    POD_CHECK(found.step == want && n_other_values(f, want) == 0,
              "step %" PRId64 ", want %" PRId64 "; %" PRId64 " other values", found.step, want,
              n_other_values(f, want));
}

/* Of a path in its folder. */
static bool exists(const fixture *f, const char *name)
{
    struct stat s;
    return stat(pod_test_text("%s/%s", f->dir, name), &s) == 0;
}

static void make_inside(const fixture *f, const char *name)
{
    if (rank == 0) POD_CHECK_OK(pod_dir_make(pod_test_text("%s/%s", f->dir, name)));
}

/* What the store holds after so many steps. */
static void save(const fixture *f, pod_saver *s, int64_t step)
{
    set_values(f, step);
    pod_saver_begin(s, step);
}

static pod_saver *open_saver(const fixture *f, const pod_saver_plan *plan)
{
    pod_saver *s = NULL;
    POD_CHECK_OK(pod_saver_open(plan, &info, f->store, f->comm, &s));
    return s;
}

/* ---- saves that go well ---- */

/* Of `n` saves the last ones, up to as many as three: each once, with its time. */
static void check_whole(pod_saver *s, int64_t n)
{
    pod_saver_whole w;
    pod_stamp before = 0;
    int64_t step = -1;
    int n_told = 0;
    for (; pod_saver_next_whole(s, &w); n_told++) {
        POD_CHECK((n_told == 0 || w.step == step + 1) && w.at >= before,
                  "step %" PRId64 " is whole behind %" PRId64 ", at %" PRId64 " behind %" PRId64,
                  w.step, step, w.at, before);
        step = w.step;
        before = w.at;
    }
    const int64_t want = n < 3 ? n : 3;
    POD_CHECK(rank > 0 ? n_told == 0 : n_told >= want && step == n,
              "%d are told of, the last of step %" PRId64, n_told, step);
}

static void save_steps(const fixture *f, const pod_saver_plan *plan, int64_t n)
{
    pod_saver *s = open_saver(f, plan);
    POD_CHECK(pod_saver_kept(s) == -1, "step %" PRId64 " is kept", pod_saver_kept(s));
    long taken = 0;
    for (int64_t step = 1; step <= n; step++) {
        if (step == 2) taken = pod_alloc_count();
        save(f, s, step);
        set_values(f, 500 + step); /* the store goes on */
        if (!plan->is_async && pod_comm_rank(f->comm) == 0)
            POD_CHECK(pod_saver_kept(s) == step, "step %" PRId64 " is kept", pod_saver_kept(s));
    }
    pod_saver_begin(s, n); /* nothing */
    POD_CHECK_OK(pod_saver_finish(s));
    POD_CHECK(pod_alloc_count() == taken, "%ld allocations", pod_alloc_count() - taken);
    POD_CHECK(pod_saver_kept(s) == (pod_comm_rank(f->comm) == 0 ? n : -1), "kept %" PRId64,
              pod_saver_kept(s));
    POD_CHECK(!pod_saver_failure(s), "a failure");
    check_whole(s, n);
    pod_saver_close(s);
}

static void test_ways(void)
{
    for (int way = 0; way < 4; way++) {
        const bool is_dealt = way & 1, is_async = way & 2;
        fixture f, other, alone;
        pod_comm *self;
        const char *name = pod_test_text("way%d", way);
        start(&f, comm, is_dealt, name);
        const pod_clock clock = pod_clock_start();
        const pod_saver_plan plan = {
            .dir = f.dir, .is_async = is_async, .keep_last = 2, .clock = &clock};
        save_steps(&f, &plan, 7);
        check_restores(&f, 7);
        for (int step = 1; rank == 0 && step <= 7; step++)
            POD_CHECK(exists(&f, pod_test_text("step-%09d", step)) == (step >= 6), "step %d", step);
        /* Whoever holds what, and one rank what all wrote. */
        start(&other, comm, !is_dealt, name);
        check_restores(&other, 7);
        end(&other);
        POD_CHECK_OK(pod_comm_open_alone(&self));
        start(&alone, self, false, name);
        check_restores(&alone, 7);
        end(&alone);
        pod_comm_close(self);
        end(&f);
    }
}

/* All ranks go on from what one has written. */
static void test_from_one(void)
{
    fixture f, alone;
    pod_comm *self;
    POD_CHECK_OK(pod_comm_open_alone(&self));
    if (rank == 0) {
        start(&alone, self, false, "from one");
        const pod_saver_plan plan = {.dir = alone.dir, .is_async = true, .keep_last = 1};
        save_steps(&alone, &plan, 3);
        end(&alone);
    }
    pod_comm_close(self);
    start(&f, comm, true, "from one");
    check_restores(&f, 3);
    end(&f);
}

typedef struct slow_file {
    const char *path;
    char *text;
} slow_file;

static void spill(const char *path, const char *text)
{
    FILE *to = fopen(path, "w");
    POD_CHECK(to && fputs(text, to) >= 0 && fclose(to) == 0, "%s: cannot be written", path);
}

/* Who reads gets the text after eight seconds, and from then on at once. */
static void *write_late(void *arg)
{
    const slow_file *f = arg;
    FILE *pipe = fopen(f->path, "w");
    nanosleep(&(struct timespec){.tv_sec = 8}, NULL);
    if (!pipe) return NULL;
    const bool is_removed = remove(f->path) == 0;
    POD_CHECK(is_removed, "%s: cannot be removed", f->path);
    if (is_removed) spill(f->path, f->text);
    fputs(f->text, pipe);
    fclose(pipe); /* else who reads waits for ever */
    return NULL;
}

/* Reading may take longer than the watchdog's seconds: nobody hangs. Last of all: a watchdog
 * stays. */
static void test_slow_restore(void)
{
    fixture f;
    slow_file manifest;
    pthread_t writer;
    bool has_writer = false;
    start(&f, comm, false, "slow");
    const pod_saver_plan plan = {.dir = f.dir, .is_async = true, .keep_last = 1};
    save_steps(&f, &plan, 2);
    manifest.path = pod_test_text("%s/step-000000002/manifest.json", f.dir);
    if (rank == 0) {
        POD_CHECK_OK(pod_file_read_text(pod_test_arena(), manifest.path, 1 << 20, &manifest.text));
        POD_CHECK(remove(manifest.path) == 0 && mkfifo(manifest.path, 0600) == 0, "no fifo");
        has_writer = pthread_create(&writer, NULL, write_late, &manifest) == 0;
        CU_ASSERT_TRUE_FATAL(has_writer); /* nobody else writes what is read */
    }
    POD_CHECK_OK(pod_comm_set_watchdog(comm, 5));
    check_restores(&f, 2);
    if (has_writer) pthread_join(writer, NULL);
    pod_comm_barrier_idle(comm);
    POD_CHECK_OK(pod_comm_set_watchdog(comm, 0));
    end(&f);
}

/* ---- saves that do not ---- */

/* Saves steps 1 to 3 under a fault that spoils step 2, and no other. */
static void check_spoiled(const pod_fault *fault, bool is_async, const char *name,
                          const char *const parts[2])
{
    static const bool not_spent[] = {false};
    fixture f;
    start(&f, comm, false, name);
    const pod_saver_plan plan = {.dir = f.dir,
                                 .is_async = is_async,
                                 .keep_last = 5,
                                 .faults = {.fault = fault, .n_faults = 1, .spent = not_spent}};
    pod_saver *s = open_saver(&f, &plan);
    for (int64_t step = 1; step <= 2; step++) {
        save(&f, s, step);
    }
    POD_CHECK_FAILS(pod_saver_finish(s), POD_E_WRITE, parts[0]);
    POD_CHECK(strstr(pod_error_text(), parts[1]), "'%s', want '%s'", pod_error_text(), parts[1]);
    const char *told = pod_saver_failure(s);
    POD_CHECK(rank > 0 || (told && strstr(told, parts[0])), "'%s' is told", told ? told : "");
    POD_CHECK(!pod_saver_failure(s), "told twice");
    POD_CHECK(rank > 0 || pod_saver_kept(s) == 1, "kept %" PRId64, pod_saver_kept(s));
    pod_comm_barrier(comm);
    POD_CHECK(!exists(&f, "step-000000002") && !exists(&f, "step-000000002.part"),
              "%s: something is left of it", name);
    check_restores(&f, 1);
    save(&f, s, 3);
    POD_CHECK_OK(pod_saver_finish(s));
    pod_saver_close(s);
    check_restores(&f, 3);
    end(&f);
}

static void test_full_disk(void)
{
    for (int r = 0; r < size; r = r == size - 1 ? size : size - 1)
        for (int write = 0; write <= 4; write += 2)
            for (int is_async = 0; is_async < 2; is_async++) {
                const pod_fault fault = {
                    .kind = POD_FAULT_DISKFULL, .rank = r, .step = 2, .write = write};
                check_spoiled(&fault, is_async, pod_test_text("full%d-%d-%d", r, write, is_async),
                              (const char *const[]){"No space left on device",
                                                    size > 1 ? pod_test_text("rank %d: ", r)
                                                             : "step-000000002"});
            }
}

/* The disk is full behind the rename: the checkpoint is whole, which is told of as that. */
static void test_whole_but(void)
{
    static const bool not_spent[] = {false};
    bool has_failed = true;
    int n_whole = 0;
    for (int write = 14; has_failed; write++) { /* of those before, test_full_disk has some */
        const pod_fault fault = {.kind = POD_FAULT_DISKFULL, .step = 2, .write = write};
        fixture f;
        start(&f, comm, false, pod_test_text("but%d", write));
        const pod_saver_plan plan = {
            .dir = f.dir,
            .keep_last = 1,
            .faults = {.fault = &fault, .n_faults = 1, .spent = not_spent}};
        pod_saver *s = open_saver(&f, &plan);
        for (int64_t step = 1; step <= 2; step++) {
            save(&f, s, step);
        }
        int whole = exists(&f, "step-000000002");
        const char *told = pod_saver_failure(s);
        has_failed = told != NULL;
        POD_CHECK(!told || (strstr(told, "a checkpoint is whole, but") != NULL) == whole,
                  "write %d: '%s' is told", write, told);
        POD_CHECK(rank > 0 || pod_saver_kept(s) == (whole ? 2 : 1), "write %d: kept %" PRId64,
                  write, pod_saver_kept(s));
        POD_CHECK((pod_saver_finish(s) == POD_OK) == whole, "write %d: whole %d", write, whole);
        POD_CHECK(!told || exists(&f, "step-000000001"), "write %d: the older one", write);
        n_whole += told && whole;
        pod_saver_close(s);
        double failed = has_failed;
        pod_comm_max(comm, &failed, 1);
        has_failed = failed > 0;
        end(&f);
    }
    POD_CHECK(rank > 0 || n_whole >= 3, "%d failures behind the rename", n_whole);
}

/* A shard's byte flips when all is whole: nobody notices until it is read. */
static void test_corrupt(void)
{
    fixture f;
    const pod_fault fault[] = {
        {.kind = POD_FAULT_CORRUPT, .rank = size - 1, .step = 3, .byte = INT64_MAX / 3},
        {.kind = POD_FAULT_CORRUPT, .rank = 0, .step = 2}};
    const bool spent[] = {false, true};
    start(&f, comm, false, "corrupt");
    const pod_saver_plan plan = {.dir = f.dir,
                                 .is_async = true,
                                 .keep_last = 3,
                                 .faults = {.fault = fault, .n_faults = 2, .spent = spent}};
    save_steps(&f, &plan, 3);
    check_restores(&f, 2);
    if (rank == 0) {
        POD_CHECK_FAILS(pod_checkpoint_read(pod_test_text("%s/step-000000003", f.dir), NULL, 0),
                        POD_E_FORMAT,
                        pod_test_text("shard-%04d.h5: damaged: its CRC-32", size - 1));
    }
    end(&f);
}

/* What is in its folder keeps an older one from being removed: the newer one is whole all the
 * same. */
static void test_stays(void)
{
    fixture f;
    start(&f, comm, false, "stays");
    const pod_saver_plan plan = {.dir = f.dir, .keep_last = 1};
    pod_saver *s = open_saver(&f, &plan);
    save(&f, s, 1);
    make_inside(&f, "step-000000001/folder/inside");
    save(&f, s, 2);
    POD_CHECK_OK(pod_saver_finish(s));
    const char *told = pod_saver_failure(s);
    POD_CHECK(rank > 0 ||
                  (told && strstr(told, "files of an older one stay") && strstr(told, "folder")),
              "'%s' is told", told ? told : "");
    POD_CHECK(rank > 0 || pod_saver_kept(s) == 2, "kept %" PRId64, pod_saver_kept(s));
    pod_saver_close(s);
    check_restores(&f, 2);
    end(&f);
}

/* What a rank that came too late left goes with the end, however the last save went. */
static void test_leftovers(void)
{
    fixture f;
    start(&f, comm, false, "leftovers");
    const pod_saver_plan plan = {.dir = f.dir, .is_async = true, .keep_last = 1};
    pod_saver *s = open_saver(&f, &plan);
    make_inside(&f, "step-000000001.part");
    save(&f, s, 2);
    POD_CHECK_OK(pod_saver_finish(s));
    pod_comm_barrier(comm);
    POD_CHECK(!exists(&f, "step-000000001.part"), "a part stays");
    pod_saver_close(s);
    check_restores(&f, 2);
    end(&f);
}

/* What an earlier job left and cannot be removed is told, and keeps no save from its name. */
static void test_obstacle(void)
{
    fixture f;
    start(&f, comm, false, "obstacle");
    make_inside(&f, "step-000000001.part/shard-0000.h5/inside");
    const pod_saver_plan plan = {.dir = f.dir, .keep_last = 1};
    pod_saver *s = open_saver(&f, &plan);
    const char *told = pod_saver_failure(s);
    POD_CHECK(rank > 0 || (told && strstr(told, "step-000000001.part") &&
                           strstr(told, "it is step-000000001.left now")),
              "'%s' is told", told ? told : "");
    save(&f, s, 1);
    POD_CHECK_OK(pod_saver_finish(s));
    POD_CHECK(!pod_saver_failure(s), "told twice");
    pod_saver_close(s);
    POD_CHECK(exists(&f, "step-000000001.left/shard-0000.h5/inside"), "it is gone");
    check_restores(&f, 1);
    end(&f);
}

static void test_no_folder(void)
{
    fixture f;
    start(&f, comm, false, "here");
    const pod_saver_plan plan = {.dir = "/nowhere/at/all", .is_async = true, .keep_last = 1};
    pod_saver *s = open_saver(&f, &plan);
    pod_saver_begin(s, 1);
    POD_CHECK_FAILS(pod_saver_finish(s), POD_E_IO, "/nowhere/at/all");
    pod_saver_close(s);
    end(&f);
}

/* Somebody takes it away while nothing is in it yet. */
static void test_folder_went(void)
{
    fixture f;
    start(&f, comm, true, "went");
    const pod_saver_plan plan = {.dir = f.dir, .is_async = true, .keep_last = 1};
    pod_saver *s = open_saver(&f, &plan);
    if (pod_comm_rank(comm) == 0) POD_CHECK(rmdir(f.dir) == 0, "%s stays", f.dir);
    pod_comm_barrier(comm);
    save(&f, s, 1);
    POD_CHECK_OK(pod_saver_finish(s));
    pod_saver_close(s);
    check_restores(&f, 1);
    end(&f);
}

POD_TEST_SUITE_WITH("saver", open_comm, close_comm, {"whoever holds what", test_ways},
                    {"from one rank", test_from_one}, {"a full disk", test_full_disk},
                    {"whole, but", test_whole_but}, {"a byte flips", test_corrupt},
                    {"an older one stays", test_stays}, {"leftovers", test_leftovers},
                    {"an obstacle", test_obstacle}, {"no folder", test_no_folder},
                    {"a folder that went", test_folder_went},
                    {"slower than the watchdog", test_slow_restore});
