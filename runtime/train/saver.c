#include "runtime/train/saver.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kernels/base/hash.h"
#include "runtime/checkpoint/write.h"
#include "runtime/core/thread.h"
#include "runtime/exec/finite.h"
#include "runtime/train/snapshot.h"

enum { TEXT_BYTES = 1024, TOLD_BYTES = TEXT_BYTES + 64, NO_STEP = -1, TRACK_ROOM = 64, WHOLE = 4 };

static const double patience_s = 60; /* where the plan has none */

struct pod_saver {
    pod_arena *arena;
    pod_saver_plan plan;
    pod_store *store;
    pod_comm *comm;
    int rank, size;

    pod_checkpoint_form form;
    pod_checkpoint_shard shard;
    pod_checkpoint_index index; /* rank 0's, and what else it makes the checkpoint whole with */
    pod_checkpoint_desk desk;
    uint64_t first_id; /* of this saver's saves; drawn by rank 0 */
    int64_t last_begun;
    int64_t own_from; /* the first step that was saved whole, or NO_STEP; rank 0's thread's */
    pod_track *stepping, *writing; /* by thread; NULL: nothing is written down */

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    pod_eval_rows evals; /* so many there were when it came to wait */
    int64_t waiting; /* the step whose values are in the shard and not written yet, or NO_STEP */
    bool is_busy;    /* the thread works; rank 0's also when its shard is written already */
    bool is_closing;
    int64_t n_begun, kept;
    pod_saver_whole whole[WHOLE]; /* nobody has asked for yet, oldest first; the latest of them */
    int n_whole;
    pod_status last; /* of the last save */
    bool has_failure;
    char last_text[TEXT_BYTES], failure[TOLD_BYTES], told[TOLD_BYTES];
};

/* ---- opening --------------------------------------------------------------------------------- */

/* Who writes what: of a variable that is dealt out each rank what it holds, of the others a piece
 * each. */
static pod_status make_form(pod_saver *s)
{
    const int n = pod_store_n(s->store);
    pod_tensor *tensor = POD_ARENA_NEW(s->arena, pod_tensor, n);
    bool *dealt = POD_ARENA_NEW(s->arena, bool, n);
    pod_checkpoint_range *range = POD_ARENA_NEW(s->arena, pod_checkpoint_range, n * s->size);
    if (!tensor || !dealt || !range) return POD_E_NOMEM;
    for (int i = 0; i < n; i++) {
        tensor[i] = pod_snapshot_tensor(s->store, i);
        dealt[i] = pod_store_is_dealt(s->store, i);
        for (int r = 0; dealt[i] && r < s->size; r++) {
            const pod_part part = pod_type_part(&pod_store_variable(s->store, i)->type, r);
            range[i * s->size + r] = (pod_checkpoint_range){part.first, part.count};
        }
    }
    s->form = (pod_checkpoint_form){n, s->size, tensor, range};
    pod_checkpoint_cut(&s->form, dealt);
    return POD_OK;
}

/* With the lock held, or before there is a thread. */
static void note_failure(pod_saver *s, const char *what)
{
    s->has_failure = true;
    snprintf(s->failure, sizeof s->failure, "%s: %s", what, pod_error_text());
}

/* Rank 0's; nobody saves yet. */
static pod_status prepare_root(pod_saver *s, const pod_checkpoint_info *info)
{
    if (pod_checkpoint_sweep(s->plan.dir) != POD_OK)
        note_failure(s, "what an unfinished save left stays");
    POD_TRY(pod_checkpoint_desk_create(s->arena, s->size, s->plan.evals ? s->plan.evals->room : 0,
                                       &s->desk));
    return pod_checkpoint_open_index(&s->form, info, s->arena, &s->index);
}

static pod_status prepare(pod_saver *s, const pod_checkpoint_info *info)
{
    s->plan.dir = pod_arena_text(s->arena, "%s", s->plan.dir);
    if (!s->plan.dir) return POD_E_NOMEM;
    POD_TRY(make_form(s));
    POD_TRY(pod_checkpoint_build_shard(&s->form, s->rank, s->arena, &s->shard));
    return s->rank == 0 ? prepare_root(s, info) : POD_OK;
}

/* Tells this job's files from those of a job that was killed: time and process. */
static uint64_t draw_id(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const int64_t drawn[] = {now.tv_sec, now.tv_nsec, getpid()};
    return pod_hash_bytes(POD_HASH_START, drawn, sizeof drawn);
}

/* ---- the thread ------------------------------------------------------------------------------ */

typedef struct blow { /* what is to strike in one save; faults by number, -1: none */
    const pod_saver *saver;
    int kill, full;
} blow;

static void note_strike(const pod_saver *s, int fault)
{
    const pod_time now = pod_track_now(s->writing);
    if (s->plan.faults.note) s->plan.faults.note(s->plan.faults.to, fault);
    pod_track_put(s->writing, POD_DEED_FAULT, fault, now, now);
}

static void disk_strikes(void *to, bool kills)
{
    const blow *b = to;
    note_strike(b->saver, kills ? b->kill : b->full);
}

/* `b` lives as long as the disk. */
static pod_disk disk_for(const pod_saver *s, int64_t step, blow *b)
{
    pod_disk d = {.strikes = disk_strikes, .to = b};
    *b = (blow){s, -1, -1};
    for (int i = 0; i < s->plan.faults.n_faults; i++) {
        const pod_fault *f = &s->plan.faults.fault[i];
        if (s->plan.faults.spent[i] || f->rank != s->rank || f->step != step) continue;
        if (f->kind == POD_FAULT_KILL && f->write > 0) {
            d.kill_at = f->write;
            b->kill = i;
        } else if (f->kind == POD_FAULT_DISKFULL) {
            d.full_from = f->write > 0 ? f->write : 1;
            b->full = i;
        }
    }
    return d;
}

static pod_status check_finite(const pod_saver *s, int64_t step)
{
    for (int i = 0; i < s->form.n; i++)
        if (s->shard.at[i] &&
            !pod__all_finite(POD_F32, s->shard.at[i], s->form.range[i * s->size + s->rank].count))
            return pod_fail(POD_E_NUMERIC,
                            "%s: step %" PRId64
                            ": '%s' holds a value that is not finite: not saved",
                            s->plan.dir, step, s->form.tensor[i].name);
    return POD_OK;
}

static pod_status write_own(pod_saver *s, const pod_checkpoint_save *save)
{
    pod_status status = check_finite(s, save->step);
    if (status == POD_OK) status = pod_checkpoint_put_shard(save, s->shard.image, s->shard.bytes);
    if (status != POD_OK) pod_checkpoint_put_failure(save, status, pod_error_text());
    return status;
}

/* The fault: a byte of a rank's shard of a checkpoint that is whole. Whether it flipped. */
static bool flip_byte(const char *path, int64_t byte)
{
    struct stat st;
    unsigned char c;
    bool is_flipped = false;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return false;
    if (fstat(fd, &st) == 0 && st.st_size > 0 && pread(fd, &c, 1, byte % st.st_size) == 1) {
        c ^= 0xff;
        is_flipped = pwrite(fd, &c, 1, byte % st.st_size) == 1;
    }
    close(fd);
    return is_flipped;
}

static void corrupt(const pod_saver *s, int64_t step)
{
    char path[POD_DISK_PATH_BYTES];
    for (int i = 0; i < s->plan.faults.n_faults; i++) {
        const pod_fault *f = &s->plan.faults.fault[i];
        if (f->kind == POD_FAULT_CORRUPT && !s->plan.faults.spent[i] && f->step == step &&
            pod_checkpoint_shard_path(s->plan.dir, step, f->rank, path) == POD_OK &&
            flip_byte(path, f->byte))
            note_strike(s, i);
    }
}

static void keep_whole(pod_saver *s, int64_t step)
{
    const pod_stamp at = s->plan.clock ? pod_clock_stamp(s->plan.clock) : 0;
    pthread_mutex_lock(&s->lock);
    if (s->n_whole == WHOLE)
        memmove(&s->whole[0], &s->whole[1], (size_t)--s->n_whole * sizeof s->whole[0]);
    s->whole[s->n_whole++] = (pod_saver_whole){step, at};
    s->kept = step;
    pthread_mutex_unlock(&s->lock);
}

static void warn(pod_saver *s, const char *what)
{
    pthread_mutex_lock(&s->lock);
    note_failure(s, what);
    pthread_mutex_unlock(&s->lock);
}

/* That `latest` is not moved, or an older one cannot be removed, is told and takes nothing from
 * this one. Where `latest` may point to an older one, all of those stay. */
static pod_status make_whole(pod_saver *s, const pod_checkpoint_save *save, pod_status own)
{
    if (own == POD_OK) own = pod_checkpoint_move_index(&s->index, save->step);
    bool is_whole;
    const double patient_s = s->plan.patience_s > 0 ? s->plan.patience_s : patience_s;
    const pod_status made =
        pod_checkpoint_complete(save, own, &s->index, patient_s, &s->desk, &is_whole);
    if (!is_whole) return made;
    keep_whole(s, save->step);
    s->own_from = save->own_from;
    bool one_stays;
    if (made != POD_OK)
        warn(s, "a checkpoint is whole, but may not be found first");
    else if (pod_checkpoint_rotate(save, s->plan.keep_last, &one_stays) != POD_OK)
        warn(s, one_stays ? "a checkpoint is whole, but an older one stays"
                          : "a checkpoint is whole, but files of an older one stay");
    corrupt(s, save->step);
    return POD_OK;
}

static void keep_result(pod_saver *s, pod_status status)
{
    s->last = status;
    snprintf(s->last_text, sizeof s->last_text, "%s", status == POD_OK ? "" : pod_error_text());
    if (status != POD_OK) note_failure(s, "a checkpoint was not saved");
}

/* One save; the lock is held before and after. */
static void work(pod_saver *s)
{
    const int64_t step = s->waiting;
    const uint64_t id = s->first_id + (uint64_t)s->n_begun;
    const pod_eval_rows evals = s->evals;
    s->is_busy = true;
    pthread_mutex_unlock(&s->lock);
    const pod_time begin = pod_track_now(s->writing);
    blow due;
    pod_disk disk = disk_for(s, step, &due);
    const int64_t keep_every = s->plan.keep_every;
    const pod_checkpoint_save save = {.dir = s->plan.dir,
                                      .step = step,
                                      .id = id,
                                      .rank = s->rank,
                                      .ranks = s->size,
                                      .disk = &disk,
                                      .left_from = s->plan.left_from,
                                      .own_from = s->own_from == NO_STEP ? step : s->own_from,
                                      .is_kept = keep_every > 0 && step % keep_every == 0,
                                      .is_best =
                                          s->plan.keep_best && pod_eval_rows_end_best(&evals, step),
                                      .evals = evals};
    pod_status status = write_own(s, &save);
    const pod_time written = pod_track_now(s->writing);
    pod_track_put(s->writing, POD_DEED_SAVE_WRITE, step, begin, written);
    pthread_mutex_lock(&s->lock);
    s->waiting = NO_STEP;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (s->rank == 0) {
        status = make_whole(s, &save, status);
        pod_track_put(s->writing, POD_DEED_SAVE_COMMIT, step, written, pod_track_now(s->writing));
    }
    pthread_mutex_lock(&s->lock);
    s->is_busy = false;
    keep_result(s, status);
    pthread_cond_broadcast(&s->changed);
}

static void *run(void *arg)
{
    pod_saver *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!s->is_closing || s->waiting != NO_STEP) {
        if (s->waiting == NO_STEP)
            pthread_cond_wait(&s->changed, &s->lock);
        else
            work(s);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- from outside ---------------------------------------------------------------------------- */

static pod_status open_tracks(pod_saver *s)
{
    if (!s->plan.clock) return POD_OK;
    POD_TRY(pod_track_create(s->arena, s->plan.clock, TRACK_ROOM, &s->stepping));
    return pod_track_create(s->arena, s->plan.clock, TRACK_ROOM, &s->writing);
}

static pod_status open_own(pod_saver *s, const pod_checkpoint_info *info)
{
    POD_TRY(prepare(s, info));
    POD_TRY(open_tracks(s));
    POD_TRY(pod_thread_start(&s->thread, run, s));
    s->has_thread = true;
    return POD_OK;
}

static pod_status create(pod_saver **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_saver *s = POD_ARENA_NEW(arena, pod_saver, 1);
    if (!s) {
        pod_arena_destroy(arena);
        return POD_E_NOMEM;
    }
    s->arena = arena;
    s->waiting = s->kept = s->last_begun = s->own_from = NO_STEP;
    pthread_mutex_init(&s->lock, NULL); /* with default attributes these two cannot fail */
    pthread_cond_init(&s->changed, NULL);
    *out = s;
    return POD_OK;
}

pod_status pod_saver_open(const pod_saver_plan *plan, const pod_checkpoint_info *info,
                          pod_store *store, pod_comm *comm, pod_saver **out)
{
    pod_saver *s = NULL;
    pod_status status = pod_comm_agree(comm, create(&s));
    if (status != POD_OK) {
        pod_saver_close(s);
        return status;
    }
    s->plan = *plan;
    s->store = store;
    s->comm = comm;
    s->rank = pod_comm_rank(comm);
    s->size = pod_comm_size(comm);
    s->first_id = draw_id();
    pod_comm_broadcast(comm, 0, &s->first_id, sizeof s->first_id);
    status = pod_comm_agree(comm, open_own(s, info));
    if (status == POD_OK)
        *out = s;
    else
        pod_saver_close(s);
    return status;
}

static void copy_values(pod_saver *s)
{
    for (int i = 0; i < s->form.n; i++) {
        const pod_checkpoint_range *r = &s->form.range[i * s->size + s->rank];
        const float *own = pod_store_data(s->store, i);
        if (!s->shard.at[i]) continue;
        if (!pod_store_is_dealt(s->store, i)) own += r->first;
        memcpy(s->shard.at[i], own, (size_t)r->count * sizeof *own);
    }
}

/* Until no values wait to be written and, `idle`, nothing is under way either. */
static void wait_until(pod_saver *s, bool idle)
{
    pthread_mutex_lock(&s->lock);
    while (s->waiting != NO_STEP || (idle && s->is_busy)) pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

void pod_saver_begin(pod_saver *s, int64_t step)
{
    if (step == s->last_begun) return;
    s->last_begun = step;
    const pod_time begin = pod_track_now(s->stepping);
    wait_until(s, false);
    const pod_time had_waited = pod_track_now(s->stepping);
    copy_values(s);
    pod_track_put(s->stepping, POD_DEED_SAVE_WAIT, step, begin, had_waited);
    pod_track_put(s->stepping, POD_DEED_SAVE_COPY, step, had_waited, pod_track_now(s->stepping));
    pthread_mutex_lock(&s->lock);
    s->waiting = step;
    if (s->plan.evals) s->evals = *s->plan.evals;
    s->n_begun++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (s->plan.is_async) return;
    wait_until(s, true);
    pod_comm_barrier_idle(s->comm);
}

void pod_saver_follow(const pod_saver *s, pod_timeline *tl)
{
    if (!s->stepping) return;
    pod_timeline_follow(tl, POD_LANE_FILE, s->stepping);
    pod_timeline_follow(tl, POD_LANE_FILE, s->writing);
}

bool pod_saver_is_busy(pod_saver *s)
{
    pthread_mutex_lock(&s->lock);
    const bool is_busy = s->waiting != NO_STEP || s->is_busy;
    pthread_mutex_unlock(&s->lock);
    return is_busy;
}

int64_t pod_saver_kept(pod_saver *s)
{
    pthread_mutex_lock(&s->lock);
    const int64_t kept = s->kept;
    pthread_mutex_unlock(&s->lock);
    return kept;
}

bool pod_saver_next_whole(pod_saver *s, pod_saver_whole *out)
{
    pthread_mutex_lock(&s->lock);
    const bool found = s->n_whole > 0;
    if (found) {
        *out = s->whole[0];
        memmove(&s->whole[0], &s->whole[1], (size_t)--s->n_whole * sizeof s->whole[0]);
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}

const char *pod_saver_failure(pod_saver *s)
{
    pthread_mutex_lock(&s->lock);
    const bool has_failure = s->has_failure;
    if (has_failure) memcpy(s->told, s->failure, sizeof s->told);
    s->has_failure = false;
    pthread_mutex_unlock(&s->lock);
    return has_failure ? s->told : NULL;
}

/* Rank 0 knows of all. Until it has told it nobody writes: what a rank that came too late left
 * goes. */
pod_status pod_saver_finish(pod_saver *s)
{
    struct {
        pod_status status;
        char text[TEXT_BYTES];
    } last = {POD_OK, ""};
    wait_until(s, true);
    pod_comm_barrier_idle(s->comm);
    last.status = s->last;
    memcpy(last.text, s->last_text, sizeof last.text);
    if (s->rank == 0) (void)!pod_checkpoint_sweep(s->plan.dir);
    pod_comm_broadcast(s->comm, 0, &last, sizeof last);
    if (last.status == POD_OK) return POD_OK;
    return pod_fail(last.status, "the last checkpoint was not saved: %s", last.text);
}

void pod_saver_close(pod_saver *s)
{
    if (!s) return;
    pthread_mutex_lock(&s->lock);
    s->is_closing = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (s->has_thread) pthread_join(s->thread, NULL);
    pod_checkpoint_close_index(&s->index);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    pod_arena_destroy(s->arena);
}
