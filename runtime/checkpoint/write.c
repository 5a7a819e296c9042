#include "runtime/checkpoint/write.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/assert.h"
#include "runtime/checkpoint/parts.h"

enum { FIRST_PAUSE_NS = 1000 * 1000, LAST_PAUSE_NS = 20 * 1000 * 1000 };

static const double last_words_s = 2;

#define RECEIPT ".receipt"
#define KEEP    "keep"

/* DIR/step-000000120.part and the like */
static pod_status folder_of(const pod_checkpoint_save *s, pod__checkpoint_kind kind,
                            char path[POD_DISK_PATH_BYTES])
{
    char name[POD__CHECKPOINT_FOLDER_BYTES];
    return pod_disk_path(path, "%s/%s", s->dir, pod__checkpoint_folder(s->step, kind, name));
}

static pod_status file_of(const pod_checkpoint_save *s, int rank, const char *ending,
                          char path[POD_DISK_PATH_BYTES])
{
    char folder[POD__CHECKPOINT_FOLDER_BYTES], file[POD__CHECKPOINT_FOLDER_BYTES];
    return pod_disk_path(path, "%s/%s/%s", s->dir,
                         pod__checkpoint_folder(s->step, POD__CHECKPOINT_PART, folder),
                         pod__checkpoint_shard(rank, ending, file));
}

pod_status pod_checkpoint_shard_path(const char *dir, int64_t step, int rank,
                                     char path[POD_DISK_PATH_BYTES])
{
    char folder[POD__CHECKPOINT_FOLDER_BYTES], file[POD__CHECKPOINT_FOLDER_BYTES];
    return pod_disk_path(path, "%s/%s/%s", dir,
                         pod__checkpoint_folder(step, POD__CHECKPOINT_WHOLE, folder),
                         pod__checkpoint_shard(rank, ".h5", file));
}

static pod_status write_in(const pod_checkpoint_save *s, const char *folder, const char *name,
                           const void *data, size_t bytes, bool lasting)
{
    char path[POD_DISK_PATH_BYTES];
    POD_TRY(pod_disk_path(path, "%s/%s", folder, name));
    return pod_disk_write(s->disk, path, data, bytes, lasting);
}

/* ---- every rank ---- */

pod_status pod_checkpoint_put_shard(const pod_checkpoint_save *s, const void *image, size_t bytes)
{
    char path[POD_DISK_PATH_BYTES], note[POD__NOTE_BYTES];
    POD_TRY(folder_of(s, POD__CHECKPOINT_PART, path));
    if (access(s->dir, F_OK) != 0) (void)!pod_disk_make(s->disk, s->dir); /* the next one tells */
    POD_TRY(pod_disk_make(s->disk, path));
    POD_TRY(file_of(s, s->rank, ".h5", path));
    POD_TRY(pod_disk_write(s->disk, path, image, bytes, true));
    const int n = snprintf(note, sizeof note, "%016" PRIx64 " 0 %zu %08" PRIx32 "\n", s->id, bytes,
                           pod__checkpoint_crc(0, image, bytes));
    POD_TRY(file_of(s, s->rank, RECEIPT, path));
    return pod_disk_write(s->disk, path, note, (size_t)n, false);
}

/* By a disk of its own: what stopped the shard shall not stop the word of it. What was written of
 * the shard is gone by now, which leaves room for a line. */
void pod_checkpoint_put_failure(const pod_checkpoint_save *s, pod_status status, const char *text)
{
    char path[POD_DISK_PATH_BYTES], note[POD__NOTE_BYTES];
    int behind = 0;
    pod_disk disk = {0};
    snprintf(note, sizeof note, "%016" PRIx64 " %d %n%s", s->id, (int)status, &behind, text);
    if (folder_of(s, POD__CHECKPOINT_PART, path) == POD_OK &&
        pod_disk_make(&disk, path) == POD_OK && file_of(s, s->rank, RECEIPT, path) == POD_OK)
        (void)!pod_disk_write(&disk, path, note, strlen(note), false);
    pod_error_set(note + behind); /* `text` may be the record itself */
}

/* ---- rank 0: collecting ---- */

pod_status pod_checkpoint_desk_create(pod_arena *a, int ranks, int64_t max_evals,
                                      pod_checkpoint_desk *out)
{
    const int64_t n_evals =
        max_evals < POD__CHECKPOINT_KEPT_EVALS ? max_evals : POD__CHECKPOINT_KEPT_EVALS;
    pod_checkpoint_desk d = {.text_bytes = pod__manifest_room(ranks, n_evals)};
    d.receipt = POD_ARENA_NEW(a, pod_checkpoint_receipt, ranks);
    d.text = pod_arena_get(a, 1, d.text_bytes);
    if (!d.receipt || !d.text) return POD_E_NOMEM;
    *out = d;
    return POD_OK;
}

static pod_status fail_for(const pod_checkpoint_save *s, int rank, pod_status status,
                           const char *text)
{
    if (s->ranks == 1) return pod_fail(status, "%s", text);
    return pod_fail(status, "rank %d: %s", rank, text);
}

/* What a rank left of this save; nothing, or what an earlier job left: it is awaited. The first
 * failure is the status. */
static void read_receipt(const pod_checkpoint_save *s, int rank, pod_checkpoint_receipt *out,
                         pod_status *status)
{
    char path[POD_DISK_PATH_BYTES], note[POD__NOTE_BYTES];
    uint64_t id;
    int found = 0, n = 0;
    if (file_of(s, rank, RECEIPT, path) != POD_OK || !pod__note_read(path, note)) return;
    if (sscanf(note, "%16" SCNx64 " %d %n", &id, &found, &n) != 2 || n == 0 || id != s->id) return;
    if (found == POD_OK)
        out->is_there = sscanf(note + n, "%zu %8" SCNx32, &out->bytes, &out->crc) == 2;
    out->has_failed = found != POD_OK;
    if (out->has_failed && *status == POD_OK)
        *status = fail_for(s, rank, found < 0 ? (pod_status)found : POD_E_IO, note + n);
}

/* Looks once at all ranks; how many are awaited. */
static int look(const pod_checkpoint_save *s, pod_checkpoint_receipt receipt[], pod_status *status)
{
    int n_awaited = 0;
    for (int r = 0; r < s->ranks; r++) {
        if (!receipt[r].is_there && !receipt[r].has_failed) read_receipt(s, r, &receipt[r], status);
        n_awaited += !receipt[r].is_there && !receipt[r].has_failed;
    }
    return n_awaited;
}

/* All ranks have their say before the folder may go away under them; but once one has failed that
 * is all there is to wait for, and who has no disk to speak by is not awaited long. */
static pod_status collect(const pod_checkpoint_save *s, pod_status own, double patience_s,
                          pod_checkpoint_receipt receipt[])
{
    char why[POD__NOTE_BYTES];
    pod_status status = POD_OK;
    double waited_s = 0;
    long pause_ns = FIRST_PAUSE_NS;
    memset(receipt, 0, (size_t)s->ranks * sizeof *receipt);
    receipt[0].has_failed = own != POD_OK;
    snprintf(why, sizeof why, "%s", pod_error_text());
    if (own != POD_OK) status = fail_for(s, 0, own, why);
    while (look(s, receipt, &status) > 0) {
        if (waited_s >= patience_s || (status != POD_OK && waited_s >= last_words_s)) break;
        nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
        waited_s += 1e-9 * (double)pause_ns;
        if (pause_ns < LAST_PAUSE_NS) pause_ns *= 2;
    }
    for (int r = 0; r < s->ranks && status == POD_OK; r++)
        if (!receipt[r].is_there)
            status = pod_fail(POD_E_IO, "%s: step %" PRId64 ": no shard of rank %d within %.0f s",
                              s->dir, s->step, r, patience_s);
    return status;
}

/* ---- rank 0: making it whole ---- */

static bool is_listed(const pod_checkpoint_save *s, const char *name)
{
    char listed[POD__CHECKPOINT_FOLDER_BYTES];
    int rank;
    if (strcmp(name, "index.h5") == 0 || name[0] == '.') return true;
    if (sscanf(name, "shard-%d", &rank) != 1 || rank < 0 || rank >= s->ranks) return false;
    return strcmp(name, pod__checkpoint_shard(rank, ".h5", listed)) == 0;
}

/* Receipts, and what an earlier job left. */
static pod_status remove_others(const pod_checkpoint_save *s, const char *folder)
{
    char path[POD_DISK_PATH_BYTES];
    pod_status status = POD_OK;
    DIR *files = opendir(folder);
    if (!files) return pod_fail(POD_E_IO, "%s: cannot be read: %s", folder, strerror(errno));
    for (const struct dirent *e = readdir(files); e && status == POD_OK; e = readdir(files)) {
        if (is_listed(s, e->d_name)) continue;
        status = pod_disk_path(path, "%s/%s", folder, e->d_name);
        if (status == POD_OK) status = pod_disk_remove(s->disk, path);
    }
    closedir(files);
    return status;
}

static pod_status write_manifest(const pod_checkpoint_save *s, const char *folder,
                                 const pod_checkpoint_index *index, const pod_checkpoint_desk *desk)
{
    const pod__manifest m = {.step = s->step,
                             .ranks = s->ranks,
                             .evals = s->evals,
                             .shard = desk->receipt,
                             .index = {.is_there = true,
                                       .bytes = index->bytes,
                                       .crc = pod__checkpoint_crc(0, index->image, index->bytes)}};
    const size_t bytes = pod__manifest_print(&m, desk->text, desk->text_bytes);
    POD_ASSERT(bytes < desk->text_bytes, "a manifest of %zu bytes", bytes);
    return write_in(s, folder, "manifest.json", desk->text, bytes, true);
}

/* Whether a checkpoint is kept for ever: it says so itself, to whatever attempt asks. Where that
 * cannot be seen it is. */
static bool has_keep(const char *dir, int64_t step)
{
    char name[POD__CHECKPOINT_FOLDER_BYTES], path[POD_DISK_PATH_BYTES];
    return pod_disk_path(path, "%s/%s/" KEEP, dir,
                         pod__checkpoint_folder(step, POD__CHECKPOINT_WHOLE, name)) == POD_OK &&
           (access(path, F_OK) == 0 || errno != ENOENT);
}

/* Where `best` is damaged it protects nothing. */
static bool is_best(const char *dir, int64_t step)
{
    char path[POD_DISK_PATH_BYTES];
    int64_t at;
    return pod_disk_path(path, "%s/best", dir) == POD_OK && pod__latest_read(path, &at) == POD_OK &&
           at == step;
}

/* What is found at `step`: of a line of steps that this save does not go on with. */
static bool is_left_behind(const pod_checkpoint_save *s, pod__checkpoint_kind kind, int64_t step)
{
    if (s->left_from == 0 || step < s->left_from) return false;
    if (step == s->step) return kind == POD__CHECKPOINT_OLD;
    return step < s->own_from || step > s->step;
}

static pod_status write_keep(const pod_checkpoint_save *s, const char *folder)
{
    const bool is_taken_over = s->left_from == 0 || s->step < s->left_from;
    if (!s->is_kept && !(is_taken_over && has_keep(s->dir, s->step))) return POD_OK;
    return write_in(s, folder, KEEP, "", 0, false);
}

static pod_status finish_folder(const pod_checkpoint_save *s, const pod_checkpoint_index *index,
                                const pod_checkpoint_desk *desk)
{
    char folder[POD_DISK_PATH_BYTES];
    POD_TRY(folder_of(s, POD__CHECKPOINT_PART, folder));
    POD_TRY(write_in(s, folder, "index.h5", index->image, index->bytes, true));
    POD_TRY(remove_others(s, folder));
    POD_TRY(write_keep(s, folder));
    POD_TRY(write_manifest(s, folder, index, desk));
    return pod_disk_sync(s->disk, folder);
}

/* An earlier one of the same step steps aside until this one stands: at each moment one of them can
 * be found. */
static pod_status publish(const pod_checkpoint_save *s)
{
    char part[POD_DISK_PATH_BYTES], old[POD_DISK_PATH_BYTES], whole[POD_DISK_PATH_BYTES];
    POD_TRY(folder_of(s, POD__CHECKPOINT_PART, part));
    POD_TRY(folder_of(s, POD__CHECKPOINT_OLD, old));
    POD_TRY(folder_of(s, POD__CHECKPOINT_WHOLE, whole));
    if (access(whole, F_OK) == 0) {
        POD_TRY(pod_disk_remove(s->disk, old));
        POD_TRY(pod_disk_rename(s->disk, whole, old));
    }
    const pod_status renamed = pod_disk_rename(s->disk, part, whole);
    if (renamed != POD_OK) {
        (void)rename(old, whole); /* where there is one; else it is found as it is */
        return renamed;
    }
    return POD_OK;
}

/* `name`: latest or best. */
static pod_status point(const pod_checkpoint_save *s, const char *name)
{
    char text[POD__NOTE_BYTES];
    return write_in(s, s->dir, name, text, pod__latest_print(s->step, text, sizeof text), true);
}

pod_status pod_checkpoint_point_to(const char *dir, int64_t step)
{
    char path[POD_DISK_PATH_BYTES];
    int64_t at;
    pod_disk disk = {0};
    const pod_checkpoint_save of = {.dir = dir, .step = step, .disk = &disk};
    POD_TRY(pod_disk_path(path, "%s/latest", dir));
    if (pod__latest_read(path, &at) == POD_OK && at == step) return POD_OK;
    POD_TRY(point(&of, "latest"));
    return pod_disk_sync(&disk, dir);
}

static pod_status remove_left_behind(const pod_checkpoint_save *s);

/* The folder has its name, and stays whatever fails from here on. */
static pod_status make_known(const pod_checkpoint_save *s)
{
    char why[POD__NOTE_BYTES];
    const char *but = "and 'latest' not moved to it";
    pod_status status = pod_disk_sync(s->disk, s->dir);
    if (status == POD_OK) status = remove_left_behind(s);
    if (status == POD_OK) status = point(s, "latest");
    if (status == POD_OK && s->is_best) status = point(s, "best");
    if (status == POD_OK) {
        but = "and 'latest' moved to it, which may not last";
        status = pod_disk_sync(s->disk, s->dir);
    }
    if (status == POD_OK) return POD_OK;
    snprintf(why, sizeof why, "%s", pod_error_text());
    return pod_fail(status, "%s; that of step %" PRId64 " is whole, %s", why, s->step, but);
}

/* The record is of the failure, whatever giving up meets. */
static void give_up(const pod_checkpoint_save *s)
{
    char why[POD__NOTE_BYTES], folder[POD_DISK_PATH_BYTES];
    snprintf(why, sizeof why, "%s", pod_error_text());
    if (folder_of(s, POD__CHECKPOINT_PART, folder) == POD_OK)
        (void)!pod_disk_remove(s->disk, folder);
    pod_error_set(why);
}

pod_status pod_checkpoint_complete(const pod_checkpoint_save *s, pod_status own,
                                   const pod_checkpoint_index *index, double patience_s,
                                   const pod_checkpoint_desk *desk, bool *is_whole)
{
    POD_ASSERT(s->rank == 0, "rank %d", s->rank);
    pod_status status = collect(s, own, patience_s, desk->receipt);
    if (status == POD_OK) status = finish_folder(s, index, desk);
    if (status == POD_OK) status = publish(s);
    *is_whole = status == POD_OK;
    if (*is_whole) return make_known(s);
    give_up(s);
    return status;
}

/* ---- removing ---- */

static int64_t count_between(const char *path, int64_t behind, int64_t up_to)
{
    int64_t n = 0, step = 0;
    DIR *dir = opendir(path);
    if (!dir) return 0;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (pod__checkpoint_folder_parse(e->d_name, &step) == POD__CHECKPOINT_WHOLE)
            n += step > behind && step <= up_to;
    closedir(dir);
    return n;
}

/* A part is being written, of a later step. keep_last 0: what was left behind alone is. */
static bool is_surplus(const pod_checkpoint_save *s, int64_t keep_last, pod__checkpoint_kind kind,
                       int64_t step)
{
    if (kind == POD__CHECKPOINT_PART || kind == POD__CHECKPOINT_GONE) return false;
    if (is_left_behind(s, kind, step)) return true;
    if (keep_last == 0 || step > s->step) return false;
    if (kind == POD__CHECKPOINT_OLD) return true;
    return count_between(s->dir, step, s->step) >= keep_last && !has_keep(s->dir, step) &&
           !is_best(s->dir, step);
}

typedef struct place {
    int64_t step;
    pod__checkpoint_kind kind;
} place;

static bool is_before(place a, place b)
{
    return a.step != b.step ? a.step < b.step : a.kind < b.kind;
}

/* The first one behind `at`, which it becomes. */
static bool find_surplus(const pod_checkpoint_save *s, int64_t keep_last, place *at)
{
    place next = {.step = INT64_MAX};
    bool found = false;
    DIR *dir = opendir(s->dir);
    if (!dir) return false;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        place p;
        p.kind = pod__checkpoint_folder_parse(e->d_name, &p.step);
        if (p.kind == POD__CHECKPOINT_NONE || !is_before(*at, p) || !is_before(p, next)) continue;
        if (!is_surplus(s, keep_last, p.kind, p.step)) continue;
        next = p;
        found = true;
    }
    closedir(dir);
    if (found) *at = next;
    return found;
}

/* A part or what was being removed, by removing or renaming: whether there is none of that step any
 * more. */
static pod_status clear(const pod_checkpoint_save *of, pod__checkpoint_kind kind, bool *is_clear)
{
    char path[POD_DISK_PATH_BYTES], left[POD_DISK_PATH_BYTES], named[POD_DISK_PATH_BYTES];
    char why[POD__NOTE_BYTES];
    POD_TRY(folder_of(of, kind, path));
    const pod_status removed = pod_disk_remove(of->disk, path);
    *is_clear = removed == POD_OK;
    if (*is_clear) return POD_OK;
    snprintf(why, sizeof why, "%s", pod_error_text());
    POD_TRY(folder_of(of, POD__CHECKPOINT_LEFT, left));
    *is_clear = pod_disk_put_aside(of->disk, path, left, named) == POD_OK;
    return pod_fail(removed, "%s%s%s%s", why, *is_clear ? "; it is " : "",
                    *is_clear ? strrchr(named, '/') + 1 : "", *is_clear ? " now" : "");
}

/* A folder goes by its own name no more before its first file goes: from then on it stays no more,
 * whatever of it is left. Nor is that name the one of a part: other ranks may be writing one of a
 * step that was left behind. */
static pod_status remove_folder(const pod_checkpoint_save *s, place at, bool *stays)
{
    char path[POD_DISK_PATH_BYTES], gone[POD_DISK_PATH_BYTES];
    const pod_checkpoint_save of = {.dir = s->dir, .step = at.step, .disk = s->disk};
    bool is_clear = false;
    *stays = true;
    const pod_status cleared = clear(&of, POD__CHECKPOINT_GONE, &is_clear);
    if (!is_clear) return cleared;
    POD_TRY(folder_of(&of, POD__CHECKPOINT_GONE, gone));
    POD_TRY(folder_of(&of, at.kind, path));
    POD_TRY(pod_disk_rename(s->disk, path, gone));
    *stays = false;
    POD_TRY(pod_disk_remove(s->disk, gone));
    return cleared;
}

/* Answers how many were removed. The status is of the first that stays, else of the first of which
 * files stay. */
static int remove_surplus(const pod_checkpoint_save *s, int64_t keep_last, pod_status *status,
                          bool *one_stays)
{
    char why[POD__NOTE_BYTES];
    int n = 0;
    *status = POD_OK;
    *one_stays = false;
    for (place at = {.step = -1}; find_surplus(s, keep_last, &at); n++) {
        bool stays;
        const pod_status removed = remove_folder(s, at, &stays);
        if (removed == POD_OK || (*status != POD_OK && (*one_stays || !stays))) continue;
        *status = removed;
        *one_stays = stays;
        snprintf(why, sizeof why, "%s", pod_error_text());
    }
    if (*status != POD_OK) pod_error_set(why);
    return n;
}

pod_status pod_checkpoint_rotate(const pod_checkpoint_save *s, int64_t keep_last, bool *one_stays)
{
    pod_status status;
    POD_ASSERT(keep_last >= 1, "%" PRId64 " are kept", keep_last);
    remove_surplus(s, keep_last, &status, one_stays);
    return status;
}

/* Rotate tells what stays. */
static pod_status remove_left_behind(const pod_checkpoint_save *s)
{
    bool stays;
    pod_status status;
    return remove_surplus(s, 0, &status, &stays) > 0 ? pod_disk_sync(s->disk, s->dir) : POD_OK;
}

pod_status pod_checkpoint_sweep(const char *path)
{
    pod_status status = POD_OK;
    pod_disk disk = {0};
    pod_checkpoint_save of = {.dir = path, .disk = &disk};
    DIR *dir = opendir(path);
    if (!dir) return POD_OK;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        bool is_clear;
        const pod__checkpoint_kind kind = pod__checkpoint_folder_parse(e->d_name, &of.step);
        if (kind != POD__CHECKPOINT_PART && kind != POD__CHECKPOINT_GONE) continue;
        const pod_status cleared = clear(&of, kind, &is_clear);
        if (cleared != POD_OK) status = cleared;
    }
    closedir(dir);
    return status;
}
