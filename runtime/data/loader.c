#include "runtime/data/loader.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/core/thread.h"

enum { TEXT_BYTES = 1024, MAX_DEPTH = 64, MAX_THREADS = 64, TRACK_ROOM = 256 };

/* One batch of the ring; the threads' while it is made, the caller's of next until the call
 * after. */
typedef struct slot {
    uint8_t *field[POD_MAX_FIELDS];
    int64_t *samples;
    int64_t n_valid, step;
    int64_t n_given, n_done; /* rows that threads took, and finished */
    pod_status status;       /* of the first row that failed */
    int64_t failed_row;
    char error[TEXT_BYTES]; /* error records do not cross threads by themselves */
} slot;

typedef struct worker {
    pod_loader *loader;
    pthread_t thread;
    void *scratch;
    pod_track *track; /* NULL: nothing is written down */
} worker;

struct pod_loader {
    pod_arena *arena;
    pod_samples samples;
    pod_sampler sampler;
    int64_t row_bytes[POD_MAX_FIELDS];
    int64_t local_batch, steps_per_epoch, start_step;

    int n_workers; /* at least 1: without threads, next does its work */
    int n_threads;
    worker *worker;
    int64_t part; /* rows that a thread takes at once */

    /* The ring: depth slots ahead and one that the caller holds. Slot of step s: (s - start_step)
     * mod n_slots. */
    int n_slots;
    slot *slots;
    pthread_mutex_t lock; /* of what follows, and of the slots' counts */
    pthread_cond_t was_made, was_freed;
    /* Batches laid out, finished in turn, handed out by next, and given back to it. */
    int64_t n_begun, n_made, n_taken, n_freed;
    int64_t *order; /* (n_samples), of epoch `order_epoch` */
    int64_t order_epoch;
    bool is_closing;
};

/* ---- one batch ------------------------------------------------------------------------------- */

/* Which samples the batch has. With the lock held. */
static void lay_out(pod_loader *l, slot *b, int64_t step)
{
    const int64_t epoch = step / l->steps_per_epoch;
    if (epoch != l->order_epoch) pod_sampler_order(&l->sampler, epoch, l->order);
    l->order_epoch = epoch;
    b->step = step;
    b->n_valid = b->n_given = b->n_done = 0;
    b->status = POD_OK;
    for (int64_t row = 0; row < l->local_batch; row++) {
        const int64_t at = pod_sampler_at(&l->sampler, step % l->steps_per_epoch, row);
        b->samples[row] = at == POD_PADDING_ROW ? POD_PADDING_ROW : l->order[at];
        b->n_valid += at != POD_PADDING_ROW;
    }
}

static pod_status fill_row(const worker *k, const slot *b, int64_t row)
{
    const pod_loader *l = k->loader;
    const pod_samples *from = &l->samples;
    void *at[POD_MAX_FIELDS];
    for (int i = 0; i < from->form.n_fields; i++) at[i] = b->field[i] + row * l->row_bytes[i];
    if (b->samples[row] != POD_PADDING_ROW)
        return from->fill(from, b->step / l->steps_per_epoch, b->samples[row], at, k->scratch);
    from->pad(from, at);
    return POD_OK;
}

typedef struct part { /* rows of a batch that one thread fills */
    slot *b;
    int64_t first, n;
} part;

/* The next rows to fill, if there are any and the ring has room. With the lock held. */
static bool take_part(pod_loader *l, part *out)
{
    slot *b = l->n_begun > 0 ? &l->slots[(l->n_begun - 1) % l->n_slots] : NULL;
    if (!b || b->n_given == l->local_batch) {
        if (l->n_begun - l->n_freed == l->n_slots) return false;
        b = &l->slots[l->n_begun % l->n_slots];
        lay_out(l, b, l->start_step + l->n_begun++);
    }
    const int64_t left = l->local_batch - b->n_given;
    *out = (part){b, b->n_given, left < l->part ? left : l->part};
    b->n_given += out->n;
    return true;
}

/* Rows behind a failed one are not filled. Answers the row that failed, with its status. */
static int64_t fill_part(const worker *k, const part *p, pod_status *status)
{
    const pod_deed deed = k->loader->sampler.keep_tail ? POD_DEED_EVAL_BATCH : POD_DEED_BATCH;
    const pod_time begin = pod_track_now(k->track);
    for (int64_t row = p->first; row < p->first + p->n; row++)
        if ((*status = fill_row(k, p->b, row)) != POD_OK) return row;
    pod_track_put(k->track, deed, p->b->step + 1, begin, pod_track_now(k->track));
    return -1;
}

/* With the lock held. */
static void put_part(pod_loader *l, const part *p, int64_t failed_row, pod_status status)
{
    slot *b = p->b;
    if (status != POD_OK && (b->status == POD_OK || failed_row < b->failed_row)) {
        b->status = status;
        b->failed_row = failed_row;
        snprintf(b->error, sizeof b->error, "%s", pod_error_text());
    }
    b->n_done += p->n;
    while (l->n_made < l->n_begun && l->slots[l->n_made % l->n_slots].n_done == l->local_batch) {
        l->n_made++;
        pthread_cond_signal(&l->was_made);
    }
}

/* ---- the threads ----------------------------------------------------------------------------- */

static void *run(void *arg)
{
    worker *k = arg;
    pod_loader *l = k->loader;
    part p;
    pthread_mutex_lock(&l->lock);
    while (!l->is_closing) {
        if (!take_part(l, &p)) {
            pthread_cond_wait(&l->was_freed, &l->lock);
            continue;
        }
        pthread_mutex_unlock(&l->lock);
        pod_status status = POD_OK;
        const int64_t failed_row = fill_part(k, &p, &status);
        pthread_mutex_lock(&l->lock);
        put_part(l, &p, failed_row, status);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static void stop_threads(pod_loader *l)
{
    pthread_mutex_lock(&l->lock);
    l->is_closing = true;
    pthread_cond_broadcast(&l->was_freed);
    pthread_mutex_unlock(&l->lock);
    while (l->n_threads > 0) pthread_join(l->worker[--l->n_threads].thread, NULL);
}

static pod_status start_threads(pod_loader *l, int n)
{
    while (l->n_threads < n) {
        worker *k = &l->worker[l->n_threads];
        pod_status s = pod_thread_start(&k->thread, run, k);
        if (s != POD_OK) {
            stop_threads(l);
            return s;
        }
        l->n_threads++;
    }
    return POD_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static pod_status take_slots(pod_loader *l)
{
    l->slots = POD_ARENA_NEW(l->arena, slot, l->n_slots);
    if (!l->slots) return POD_E_NOMEM;
    for (int i = 0; i < l->n_slots; i++) {
        slot *b = &l->slots[i];
        for (int f = 0; f < l->samples.form.n_fields; f++) {
            b->field[f] = pod_arena_get(l->arena, 64, (size_t)(l->local_batch * l->row_bytes[f]));
            if (!b->field[f]) return POD_E_NOMEM;
        }
        b->samples = POD_ARENA_NEW(l->arena, int64_t, l->local_batch);
        if (!b->samples) return POD_E_NOMEM;
    }
    return POD_OK;
}

static pod_status take_workers(pod_loader *l, const pod_clock *clock)
{
    l->worker = POD_ARENA_NEW(l->arena, worker, l->n_workers);
    if (!l->worker) return POD_E_NOMEM;
    for (int i = 0; i < l->n_workers; i++) {
        worker *k = &l->worker[i];
        k->loader = l;
        k->scratch = pod_arena_get(l->arena, 64, l->samples.scratch_bytes);
        if (!k->scratch) return POD_E_NOMEM;
        if (clock) POD_TRY(pod_track_create(l->arena, clock, TRACK_ROOM, &k->track));
    }
    return POD_OK;
}

static pod_status check_options(const pod_loader *l, const pod_loader_options *o)
{
    POD_TRY(pod_sampler_check(&l->sampler));
    if (o->depth < 0 || o->depth > MAX_DEPTH)
        return pod_fail(POD_E_INVALID, "prefetch of %d batches, need 0 to %d", o->depth, MAX_DEPTH);
    if (o->n_threads < 0 || o->n_threads > MAX_THREADS)
        return pod_fail(POD_E_INVALID, "prefetch by %d threads, need 0 to %d", o->n_threads,
                        MAX_THREADS);
    POD_ASSERT(o->start_step >= 0, "step %" PRId64, o->start_step);
    if (l->sampler.global_batch / l->sampler.size >
        INT64_MAX / pod_form_row_bytes(&l->samples.form))
        return pod_fail(POD_E_INVALID, "batch %" PRId64 " does not fit into memory",
                        o->global_batch);
    return POD_OK;
}

static pod_status init(pod_loader *l, const pod_loader_options *o)
{
    const bool has_threads = o->depth > 0 && o->n_threads > 0;
    l->sampler = (pod_sampler){.n_samples = l->samples.n,
                               .global_batch = o->global_batch,
                               .rank = o->rank,
                               .size = o->size,
                               .shuffle = o->shuffle,
                               .keep_tail = o->keep_tail,
                               .seed = o->seed};
    for (int i = 0; i < l->samples.form.n_fields; i++)
        l->row_bytes[i] = pod_field_row_bytes(&l->samples.form.field[i]);
    POD_TRY(check_options(l, o));
    l->local_batch = pod_sampler_local_batch(&l->sampler);
    l->steps_per_epoch = pod_sampler_steps_per_epoch(&l->sampler);
    l->start_step = o->start_step;
    l->order_epoch = -1;
    l->n_slots = o->depth + 1;
    l->n_workers = has_threads ? o->n_threads : 1;
    /* Two parts a thread, so that one that is late leaves the other part to those before it. */
    const int64_t n_parts = l->n_workers > 1 ? 2 * l->n_workers : 1;
    l->part = (l->local_batch + n_parts - 1) / n_parts;
    l->order = POD_ARENA_NEW(l->arena, int64_t, l->sampler.n_samples);
    if (!l->order) return POD_E_NOMEM;
    POD_TRY(take_workers(l, o->clock));
    return take_slots(l);
}

static pod_status open_in(pod_arena *arena, const pod_samples *samples, const pod_loader_options *o,
                          pod_loader **out)
{
    pod_loader *l = POD_ARENA_NEW(arena, pod_loader, 1);
    if (!l) return POD_E_NOMEM;
    l->arena = arena;
    l->samples = *samples;
    POD_TRY(init(l, o));
    pthread_mutex_init(&l->lock, NULL); /* with default attributes these three cannot fail */
    pthread_cond_init(&l->was_made, NULL);
    pthread_cond_init(&l->was_freed, NULL);
    if (o->depth > 0 && o->n_threads > 0) POD_TRY(start_threads(l, o->n_threads));
    *out = l;
    return POD_OK;
}

pod_status pod_loader_open(const pod_samples *samples, const pod_loader_options *options,
                           pod_loader **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(options->alloc, &arena));
    pod_status s = open_in(arena, samples, options, out);
    if (s != POD_OK) pod_arena_destroy(arena);
    return s;
}

void pod_loader_close(pod_loader *l)
{
    if (!l) return;
    stop_threads(l);
    pthread_cond_destroy(&l->was_made);
    pthread_cond_destroy(&l->was_freed);
    pthread_mutex_destroy(&l->lock);
    pod_arena_destroy(l->arena);
}

/* ---- taking batches -------------------------------------------------------------------------- */

/* Without threads: the caller does a worker's work. */
static void make_next(pod_loader *l)
{
    part p;
    while (l->n_made == l->n_taken && take_part(l, &p)) {
        pod_status status = POD_OK;
        const int64_t failed_row = fill_part(&l->worker[0], &p, &status);
        put_part(l, &p, failed_row, status);
    }
}

pod_status pod_loader_next(pod_loader *l, pod_batch *out)
{
    pthread_mutex_lock(&l->lock);
    l->n_freed = l->n_taken;
    pthread_cond_broadcast(&l->was_freed);
    if (l->n_threads == 0) make_next(l);
    while (l->n_made <= l->n_taken) pthread_cond_wait(&l->was_made, &l->lock);
    const slot *b = &l->slots[l->n_taken % l->n_slots];
    if (b->status == POD_OK) l->n_taken++; /* a failed one stays next for ever */
    pthread_mutex_unlock(&l->lock);
    if (b->status != POD_OK) {
        pod_error_set(b->error);
        return b->status;
    }
    *out = (pod_batch){.samples = b->samples,
                       .n_valid = b->n_valid,
                       .epoch = b->step / l->steps_per_epoch,
                       .step = b->step};
    for (int i = 0; i < l->samples.form.n_fields; i++) out->field[i] = b->field[i];
    return POD_OK;
}

int64_t pod_loader_steps_per_epoch(const pod_loader *l) { return l->steps_per_epoch; }
int64_t pod_loader_local_batch(const pod_loader *l) { return l->local_batch; }

int pod_loader_n_tracks(const pod_loader *l) { return l->worker[0].track ? l->n_workers : 0; }

pod_track *pod_loader_track(const pod_loader *l, int i) { return l->worker[i].track; }
