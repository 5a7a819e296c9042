#include "runtime/data/loader.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/assert.h"

enum { TEXT_BYTES = 1024, MAX_DEPTH = 64 };

/* One batch of the ring; owned by the thread while it is made, by the caller of next until the call
 * after. */
typedef struct slot {
    uint8_t *images;
    int32_t *labels;
    int64_t *samples;
    int64_t n_valid, step;
    pod_status status;
    char error[TEXT_BYTES]; /* of the thread: error records do not cross threads by themselves */
} slot;

struct pod_loader {
    pod_arena *arena;
    const pod_dataset *dataset;
    pod_split split;
    pod_sampler sampler;
    pod_augment augment;
    int64_t local_batch, steps_per_epoch, sample_bytes, start_step;

    /* The thread's own. */
    int64_t *order; /* (n_samples), of epoch `order_epoch` */
    int64_t order_epoch;
    uint8_t *raw; /* one sample before augmentation */

    /* The ring: depth slots ahead and one that the caller holds. Slot of step s: (s - start_step)
     * mod n_slots. */
    int n_slots;
    slot *slots;
    bool has_thread; /* else next makes the batch */
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t was_made, was_freed;
    int64_t n_made, n_taken; /* batches finished by the thread, handed out by next */
    bool is_closing;
};

/* ---- the thread ------------------------------------------------------------------------------ */

static pod_status read_row(pod_loader *l, int64_t epoch, int64_t sample, uint8_t *pixels)
{
    const pod_dataset_info *info = &l->dataset->info;
    bool augments = l->augment.pad > 0 || l->augment.flip;
    POD_TRY(pod_dataset_read(l->dataset, l->split, sample, augments ? l->raw : pixels));
    if (augments)
        pod_augment_apply(&l->augment, l->sampler.seed, epoch, sample, info->height, info->width,
                          info->channels, l->raw, pixels);
    return POD_OK;
}

static pod_status make_batch(pod_loader *l, int64_t step, slot *b)
{
    int64_t epoch = step / l->steps_per_epoch;
    if (epoch != l->order_epoch) pod_sampler_order(&l->sampler, epoch, l->order);
    l->order_epoch = epoch;
    b->step = step;
    b->n_valid = 0;
    for (int64_t row = 0; row < l->local_batch; row++) {
        int64_t at = pod_sampler_at(&l->sampler, step % l->steps_per_epoch, row);
        uint8_t *pixels = b->images + row * l->sample_bytes;
        b->samples[row] = at == POD_PADDING_ROW ? POD_PADDING_ROW : l->order[at];
        if (at == POD_PADDING_ROW) {
            b->labels[row] = POD_PADDING_LABEL;
            memset(pixels, 0, (size_t)l->sample_bytes);
            continue;
        }
        b->labels[row] = pod_dataset_label(l->dataset, l->split, b->samples[row]);
        POD_TRY(read_row(l, epoch, b->samples[row], pixels));
        b->n_valid++;
    }
    return POD_OK;
}

/* Waits for a free slot; false: the loader closes. */
static bool wait_for_room(pod_loader *l)
{
    /* The batch handed out last is still held by the caller. */
    pthread_mutex_lock(&l->lock);
    while (!l->is_closing && l->n_made - (l->n_taken > 0 ? l->n_taken - 1 : 0) >= l->n_slots)
        pthread_cond_wait(&l->was_freed, &l->lock);
    bool goes_on = !l->is_closing;
    pthread_mutex_unlock(&l->lock);
    return goes_on;
}

/* Makes the i-th batch of this loader; false when it failed, and the slot says how. */
static bool fill_slot(pod_loader *l, int64_t i)
{
    slot *b = &l->slots[i % l->n_slots];
    b->status = make_batch(l, l->start_step + i, b);
    if (b->status != POD_OK) snprintf(b->error, sizeof b->error, "%s", pod_error_text());
    return b->status == POD_OK;
}

static void *run(void *arg)
{
    pod_loader *l = arg;
    bool ok = true;
    for (int64_t i = 0; ok && wait_for_room(l); i++) {
        ok = fill_slot(l, i);
        pthread_mutex_lock(&l->lock);
        l->n_made++;
        pthread_cond_signal(&l->was_made);
        pthread_mutex_unlock(&l->lock);
    }
    return NULL;
}

/* Signals are the main thread's business. */
static pod_status start_thread(pod_loader *l)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&l->thread, NULL, run, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) return pod_fail(POD_E_NOMEM, "prefetch thread: %s", strerror(failed));
    return POD_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

static pod_status take_slots(pod_loader *l)
{
    l->slots = POD_ARENA_NEW(l->arena, slot, l->n_slots);
    if (!l->slots) return POD_E_NOMEM;
    for (int i = 0; i < l->n_slots; i++) {
        slot *b = &l->slots[i];
        b->images = pod_arena_get(l->arena, 64, (size_t)(l->local_batch * l->sample_bytes));
        b->labels = POD_ARENA_NEW(l->arena, int32_t, l->local_batch);
        b->samples = POD_ARENA_NEW(l->arena, int64_t, l->local_batch);
        if (!b->images || !b->labels || !b->samples) return POD_E_NOMEM;
    }
    return POD_OK;
}

static pod_status init(pod_loader *l, const pod_loader_options *o)
{
    const pod_dataset_info *info = &l->dataset->info;
    l->sampler = (pod_sampler){.n_samples = info->n_samples[l->split],
                               .global_batch = o->global_batch,
                               .rank = o->rank,
                               .size = o->size,
                               .shuffle = o->shuffle,
                               .keep_tail = o->keep_tail,
                               .seed = o->seed};
    POD_TRY(pod_sampler_check(&l->sampler));
    if (o->depth < 0 || o->depth > MAX_DEPTH)
        return pod_fail(POD_E_INVALID, "prefetch of %d batches, need 0 to %d", o->depth, MAX_DEPTH);
    POD_ASSERT(o->start_step >= 0, "step %" PRId64, o->start_step);
    l->augment = o->augment;
    l->local_batch = pod_sampler_local_batch(&l->sampler);
    l->steps_per_epoch = pod_sampler_steps_per_epoch(&l->sampler);
    l->sample_bytes = pod_dataset_sample_bytes(info);
    l->start_step = o->start_step;
    l->order_epoch = -1;
    l->n_slots = o->depth + 1;
    l->has_thread = o->depth > 0;
    if (l->local_batch > INT64_MAX / l->sample_bytes)
        return pod_fail(POD_E_INVALID, "batch %" PRId64 " does not fit into memory",
                        o->global_batch);
    l->order = POD_ARENA_NEW(l->arena, int64_t, l->sampler.n_samples);
    l->raw = POD_ARENA_NEW(l->arena, uint8_t, l->sample_bytes);
    if (!l->order || !l->raw) return POD_E_NOMEM;
    return take_slots(l);
}

static pod_status open_in(pod_arena *arena, const pod_dataset *d, pod_split split,
                          const pod_loader_options *o, pod_loader **out)
{
    pod_loader *l = POD_ARENA_NEW(arena, pod_loader, 1);
    if (!l) return POD_E_NOMEM;
    l->arena = arena;
    l->dataset = d;
    l->split = split;
    POD_TRY(init(l, o));
    pthread_mutex_init(&l->lock, NULL); /* with default attributes these three cannot fail */
    pthread_cond_init(&l->was_made, NULL);
    pthread_cond_init(&l->was_freed, NULL);
    if (l->has_thread) POD_TRY(start_thread(l));
    *out = l;
    return POD_OK;
}

pod_status pod_loader_open(const pod_dataset *d, pod_split split, const pod_loader_options *options,
                           pod_loader **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(options->alloc, &arena));
    pod_status s = open_in(arena, d, split, options, out);
    if (s != POD_OK) pod_arena_destroy(arena);
    return s;
}

void pod_loader_close(pod_loader *l)
{
    if (!l) return;
    pthread_mutex_lock(&l->lock);
    l->is_closing = true;
    pthread_cond_signal(&l->was_freed);
    pthread_mutex_unlock(&l->lock);
    if (l->has_thread) pthread_join(l->thread, NULL);
    pthread_cond_destroy(&l->was_made);
    pthread_cond_destroy(&l->was_freed);
    pthread_mutex_destroy(&l->lock);
    pod_arena_destroy(l->arena);
}

/* ---- taking batches -------------------------------------------------------------------------- */

pod_status pod_loader_next(pod_loader *l, pod_batch *out)
{
    if (!l->has_thread && l->n_made == l->n_taken) {
        fill_slot(l, l->n_made);
        l->n_made++;
    }
    pthread_mutex_lock(&l->lock);
    while (l->n_made <= l->n_taken) pthread_cond_wait(&l->was_made, &l->lock);
    const slot *b = &l->slots[l->n_taken % l->n_slots];
    if (b->status == POD_OK) { /* a failed one stays next for ever */
        l->n_taken++;
        pthread_cond_signal(&l->was_freed);
    }
    pthread_mutex_unlock(&l->lock);
    if (b->status != POD_OK) {
        pod_error_set(b->error);
        return b->status;
    }
    *out = (pod_batch){.images = b->images,
                       .labels = b->labels,
                       .samples = b->samples,
                       .n_valid = b->n_valid,
                       .epoch = b->step / l->steps_per_epoch,
                       .step = b->step};
    return POD_OK;
}

int64_t pod_loader_steps_per_epoch(const pod_loader *l) { return l->steps_per_epoch; }
int64_t pod_loader_local_batch(const pod_loader *l) { return l->local_batch; }
