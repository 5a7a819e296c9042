#include "runtime/data/import/import.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime/core/file.h"
#include "runtime/core/thread.h"
#include "runtime/data/import/decode.h"
#include "runtime/data/import/list.h"

enum { WHY_BYTES = 256, MAX_WINDOW = 256, WINDOW_BYTES = 8 << 20 };

typedef struct picture { /* what became of one file */
    pod_status status;
    char why[WHY_BYTES]; /* of a failure */
    bool is_resized;
    unsigned traits; /* POD_IMAGE_... */
} picture;

/* Images that are decoded together, and then written together; all of one split. */
typedef struct window {
    int64_t first, n;
    uint8_t *pixels;       /* (n, H, W, C) */
    uint8_t *packed_bytes; /* (n, packed_room) */
    pod_h5_packed *packed; /* (n) */
    picture *picture;      /* (n) */
} window;

typedef struct intake intake;

typedef struct worker { /* one thread's own */
    const intake *m;
    const window *w;
    int index;
    pthread_t thread;
    pod_image_decoder *decoder;
} worker;

struct intake {
    pod_arena *arena;
    const char *folder;
    const char *labels; /* the CSV file that lists the images; NULL: their folders do */
    const pod_import_images_options *options;
    pod_log *log;
    pod_image_list list;
    pod_bad_images bad;
    pod_dataset_info info;
    pod_dataset_writer *writer; /* NULL: in a first pass */
    bool only_looks;            /* workers find out what is bad, and convert nothing */
    window window[2];
    int64_t window_rows;
    size_t packed_room; /* of an image; 0: the writer packs them */
    worker *worker;
    int n_running;    /* workers to be joined */
    int32_t *label;   /* of the rows that are written together */
    int64_t *n_of;    /* (POD_N_SPLITS, n_classes) samples */
    int64_t n_listed; /* files, the bad ones too */
    int64_t n_kept;   /* those of a pass that are left in the list, and written */
    int64_t n_resized, n_trait[POD_IMAGE_N_TRAITS];
    const char *first_trait[POD_IMAGE_N_TRAITS];
};

/* ---- one file, in a worker's thread ---------------------------------------------------------- */

static pod_status name_file(const intake *m, int64_t i, char path[POD_PATH_BYTES])
{
    const char *below = m->list.file[i].path;
    if (below[0] != '/') return pod_path_join(m->list.folder, below, path);
    return snprintf(path, POD_PATH_BYTES, "%s", below) < POD_PATH_BYTES
               ? POD_OK
               : pod_fail(POD_E_FORMAT, "the path is too long");
}

/* Where images are only looked at, as small as the decoder makes them: at the least cost. */
static pod_status take_file(worker *k, int64_t i, picture *p)
{
    const intake *m = k->m;
    const pod_dataset_info *info = &m->info;
    const pod_image_want want = {.channels = (int)info->channels,
                                 .convert = m->options->convert,
                                 .least_height = m->only_looks ? 1 : info->height,
                                 .least_width = m->only_looks ? 1 : info->width};
    char path[POD_PATH_BYTES];
    pod_image image;
    if (pod_dataset_writer_is_stopped()) return pod_fail(POD_E_WRITE, "ended by a signal");
    if (name_file(m, k->w->first + i, path) != POD_OK)
        return pod_fail(POD_E_FORMAT, "the path is too long");
    POD_TRY(pod__image_load(k->decoder, path, &want, &image));
    if (m->only_looks) return POD_OK;
    const size_t bytes = (size_t)pod_dataset_sample_bytes(info);
    uint8_t *out = k->w->pixels + (size_t)i * bytes;
    uint8_t *packed = k->w->packed_bytes + (size_t)i * m->packed_room;
    POD_TRY(pod__image_fit(k->decoder, &image, want.channels, info->height, info->width, out));
    p->is_resized = image.file_height != info->height || image.file_width != info->width;
    p->traits = image.traits;
    k->w->packed[i] =
        (pod_h5_packed){packed, m->packed_room > 0 ? pod_h5_pack(out, bytes, packed) : 0};
    return POD_OK;
}

static void *run_worker(void *arg)
{
    worker *k = arg;
    for (int64_t i = k->index; i < k->w->n; i += k->m->options->n_threads) {
        picture *p = &k->w->picture[i];
        *p = (picture){.status = POD_OK};
        p->status = take_file(k, i, p);
        if (p->status != POD_OK) snprintf(p->why, sizeof p->why, "%s", pod_error_text());
    }
    return NULL;
}

/* ---- windows --------------------------------------------------------------------------------- */

/* After a bad image that is not skipped nothing is converted any more: the rest is looked at so
 * that all bad ones can be named together. */
static pod_status start_window(intake *m, const window *w)
{
    m->only_looks = !m->writer || (m->bad.n > 0 && !m->bad.skip);
    for (int i = 0; i < m->options->n_threads; i++) {
        m->worker[i].w = w;
        POD_TRY(pod_thread_start(&m->worker[i].thread, run_worker, &m->worker[i]));
        m->n_running++;
    }
    return POD_OK;
}

static void wait_for_window(intake *m)
{
    while (m->n_running > 0) pthread_join(m->worker[--m->n_running].thread, NULL);
}

/* The images behind `first`, as many as a window takes; none: the end. */
static void place_window(const intake *m, int64_t first, window *w)
{
    const int64_t n_train = m->list.n_split[POD_SPLIT_TRAIN];
    const int64_t left = (first < n_train ? n_train : m->list.n) - first;
    w->first = first;
    w->n = left < m->window_rows ? left : m->window_rows;
}

static void count_picture(intake *m, const picture *p, const char *path)
{
    m->n_resized += p->is_resized;
    for (int k = 0; k < POD_IMAGE_N_TRAITS; k++)
        if (p->traits & 1u << k && m->n_trait[k]++ == 0) m->first_trait[k] = path;
}

/* What is whole moves together, in the list too, before all that is still to be looked at, and is
 * written, unless this pass only looks. */
static pod_status take_window(intake *m, window *w)
{
    const int64_t bytes = pod_dataset_sample_bytes(&m->info);
    const bool writes = m->writer && (m->bad.n == 0 || m->bad.skip);
    int64_t n = 0;
    for (int64_t i = 0; i < w->n; i++) {
        const pod_image_file f = m->list.file[w->first + i];
        if (w->picture[i].status != POD_OK) {
            char path[POD_PATH_BYTES] = "";
            (void)!name_file(m, w->first + i, path);
            POD_TRY(pod__bad_image(&m->bad, path, w->picture[i].status, w->picture[i].why));
            continue;
        }
        m->list.file[m->n_kept++] = f;
        if (!writes) continue;
        if (n < i) memmove(w->pixels + n * bytes, w->pixels + i * bytes, (size_t)bytes);
        w->packed[n] = w->packed[i];
        m->label[n++] = f.label;
        count_picture(m, &w->picture[i], f.path);
    }
    if (n == 0) return POD_OK;
    return pod_dataset_writer_add(m->writer, m->list.file[m->n_kept - 1].split, n, w->pixels,
                                  m->packed_room > 0 ? w->packed : NULL, m->label);
}

/* All files in order; while one window is taken, the next is decoded. */
static pod_status pass(intake *m, const char *what)
{
    m->n_kept = 0;
    pod_progress_begin(m->log, what, "images", 0, m->list.n);
    place_window(m, 0, &m->window[0]);
    pod_status s = start_window(m, &m->window[0]);
    for (int turn = 0; s == POD_OK && m->window[turn].n > 0; turn = !turn) {
        window *now = &m->window[turn], *next = &m->window[!turn];
        wait_for_window(m);
        place_window(m, now->first + now->n, next);
        if (next->n > 0) s = start_window(m, next);
        if (s == POD_OK) s = take_window(m, now);
        pod_progress_at(m->log, now->first + now->n, "%s", "");
    }
    wait_for_window(m);
    pod_progress_end(m->log);
    return s;
}

/* ---- before and after ------------------------------------------------------------------------ */

static pod_status take_windows(intake *m)
{
    const int64_t bytes = pod_dataset_sample_bytes(&m->info), least = 2 * m->options->n_threads;
    int64_t rows = WINDOW_BYTES / bytes;
    rows = rows < least ? least : rows > MAX_WINDOW ? MAX_WINDOW : rows;
    m->window_rows = rows;
    m->packed_room = pod_dataset_packed_room(&m->info);
    m->label = POD_ARENA_NEW(m->arena, int32_t, rows);
    m->n_of = POD_ARENA_NEW(m->arena, int64_t, POD_N_SPLITS * (int64_t)m->list.n_classes);
    if (!m->label || !m->n_of) return POD_E_NOMEM;
    for (int i = 0; i < 2; i++) {
        window *w = &m->window[i];
        w->pixels = POD_ARENA_NEW(m->arena, uint8_t, rows * bytes);
        w->packed_bytes = POD_ARENA_NEW(m->arena, uint8_t, rows * (int64_t)m->packed_room);
        w->packed = POD_ARENA_NEW(m->arena, pod_h5_packed, rows);
        w->picture = POD_ARENA_NEW(m->arena, picture, rows);
        if (!w->pixels || !w->packed_bytes || !w->packed || !w->picture) return POD_E_NOMEM;
    }
    return POD_OK;
}

static pod_status take_workers(intake *m)
{
    m->worker = POD_ARENA_NEW(m->arena, worker, m->options->n_threads);
    if (!m->worker) return POD_E_NOMEM;
    for (int i = 0; i < m->options->n_threads; i++) {
        m->worker[i] = (worker){.m = m, .index = i};
        POD_TRY(pod__image_decoder_create(&m->worker[i].decoder));
    }
    return POD_OK;
}

static pod_status check_layout(const intake *m)
{
    const pod_import_images_options *o = m->options;
    if (m->labels && m->list.is_split && o->for_share)
        return pod_fail(POD_E_INVALID, "%s: %s is split by its column 'split'", o->for_share,
                        m->labels);
    if (m->labels && !m->list.is_split && o->for_folders)
        return pod_fail(POD_E_INVALID, "%s: %s has no column 'split'", o->for_folders, m->labels);
    if (m->list.is_split && o->for_share)
        return pod_fail(POD_E_INVALID, "%s: %s is split by its folders 'train' and '%s'",
                        o->for_share, m->folder, o->test_folder);
    if (!m->list.is_split && o->for_folders)
        return pod_fail(POD_E_INVALID,
                        "%s: %s has no folder 'train'; its test is a share of the images",
                        o->for_folders, m->folder);
    return POD_OK;
}

static pod_status list_images(intake *m)
{
    const pod_import_images_options *o = m->options;
    POD_TRY(m->labels
                ? pod__image_labels_list(m->labels, m->folder, o->test_folder, m->arena, &m->list)
                : pod__image_folder_list(m->folder, o->test_folder, &m->bad, m->arena, &m->list));
    POD_TRY(check_layout(m));
    m->n_listed = m->list.n;
    m->info = (pod_dataset_info){.height = o->height, .width = o->width, .channels = o->channels};
    POD_TRY(pod__import_text_take(&o->text, m->folder, m->arena, &m->info));
    POD_TRY(take_windows(m));
    return take_workers(m);
}

/* Among the images the output would be one the next time. */
static pod_status check_output(const intake *m, const char *h5_path)
{
    if (!m->labels && pod_path_is_within(h5_path, m->folder))
        return pod_fail(POD_E_INVALID, "%s: lies in %s, the folder that is imported", h5_path,
                        m->folder);
    return pod_file_check(h5_path);
}

/* Where bad images are skipped, classes and shares are those of the images that are left: which
 * those are is known when all were decoded. What is bad in the list is bad in any case, and the
 * images are looked at for the sake of one message. */
static pod_status split_images(intake *m)
{
    if (m->bad.skip || m->bad.n > 0) {
        POD_TRY(pass(m, "checking"));
        POD_TRY(pod__bad_images_end(&m->bad, m->folder));
        m->list.n = m->n_kept;
        POD_TRY(pod__image_list_drop_empty(&m->list, m->arena, m->log));
    }
    POD_TRY(pod__image_list_split(&m->list, m->options->test_share, m->options->split_by_class,
                                  m->arena));
    m->info.n_classes = m->list.n_classes;
    m->info.class_names = m->list.class_names;
    memcpy(m->info.n_samples, m->list.n_split, sizeof m->info.n_samples);
    return pod_dataset_info_check(m->folder, &m->info);
}

/* Which file each sample came from. The list holds what was kept, one split behind the other. */
static pod_status write_files(const intake *m)
{
    const char **path = POD_ARENA_NEW(m->arena, const char *, m->n_kept + 1);
    int64_t n[POD_N_SPLITS] = {0};
    if (!path) return POD_E_NOMEM;
    for (int64_t i = 0; i < m->n_kept; i++) {
        path[i] = m->list.file[i].path;
        n[m->list.file[i].split]++;
    }
    POD_TRY(pod_dataset_writer_put_files(m->writer, POD_SPLIT_TRAIN, n[POD_SPLIT_TRAIN], path));
    return pod_dataset_writer_put_files(m->writer, POD_SPLIT_TEST, n[POD_SPLIT_TEST],
                                        path + n[POD_SPLIT_TRAIN]);
}

static pod_status write_images(intake *m, const char *h5_path)
{
    POD_TRY(pod_dataset_writer_open(h5_path, &m->info, m->n_of, &m->writer));
    pod_status s = pass(m, "importing");
    if (s == POD_OK && !m->bad.skip) s = pod__bad_images_end(&m->bad, m->folder);
    if (s == POD_OK) s = write_files(m);
    if (s == POD_OK) return pod_dataset_writer_finish(m->writer);
    pod_dataset_writer_abort(m->writer);
    return s;
}

/* ---- what was found -------------------------------------------------------------------------- */

/* In the order of the bits of POD_IMAGE_... */
static const char *const trait_text[POD_IMAGE_N_TRAITS] = {
    "progressive, decoded like the others",
    "grey, made colour",
    "CMYK, made RGB or grey",
    "of 16 bits, rounded to 8",
    "with transparent pixels, laid on white",
    "rotated or mirrored, as their EXIF orientation says",
    "with flaws that spoil no pixel, such as bytes that nobody reads"};

static void tell_of_the_list(const intake *m)
{
    const pod_image_list *list = &m->list;
    if (list->n_classes == 1)
        pod_log_say(m->log, POD_LOG_WARNING,
                    "%s: all images are of one class, '%s': there is nothing to tell apart%s",
                    m->labels ? m->labels : m->folder, list->class_names[0],
                    m->labels ? "" : "; want a folder for each class");
    if (list->by_number > 0)
        pod_log_say(m->log, POD_LOG_INFO, "classes are in the order of their numbers: %s before %s",
                    list->class_names[list->by_number - 1], list->class_names[list->by_number]);
    if (list->n_ignored > 0)
        pod_log_say(m->log, POD_LOG_INFO, "%" PRId64 " ignored: no images by their names; first %s",
                    list->n_ignored, list->first_ignored);
    if (list->n_stray > 0)
        pod_log_say(m->log, POD_LOG_WARNING,
                    "%s: %" PRId64 " images stand beside the folders of the classes; left out",
                    m->folder, list->n_stray);
    if (list->left_out)
        pod_log_say(m->log, POD_LOG_INFO, "neither training nor test, left out: %s",
                    list->left_out);
}

static void tell_what_was_found(const intake *m, double seconds)
{
    const double rate = (double)m->n_listed / seconds;
    pod_log_say(m->log, POD_LOG_INFO,
                "%" PRId64 " of %" PRId64 " images imported, %" PRId64 " left out; %.1f s, %.*f/s",
                m->n_kept, m->n_listed, m->n_listed - m->n_kept, seconds, rate < 9.95, rate);
    tell_of_the_list(m);
    if (m->n_resized > 0)
        pod_log_say(m->log, POD_LOG_INFO, "%" PRId64 " resized to %" PRId64 "x%" PRId64,
                    m->n_resized, m->info.height, m->info.width);
    for (int k = 0; k < POD_IMAGE_N_TRAITS; k++)
        if (m->n_trait[k] > 0)
            pod_log_say(m->log, POD_LOG_INFO, "%" PRId64 " %s; first %s", m->n_trait[k],
                        trait_text[k], m->first_trait[k]);
    pod__import_tell_missing_classes(m->log, &m->info, m->n_of,
                                     m->list.is_split || m->options->split_by_class
                                         ? ""
                                         : "; --split-by class takes a share of each class");
}

static pod_status import(intake *m, const char *h5_path)
{
    const pod_time begun = pod_clock_now(&m->log->clock);
    POD_TRY(check_output(m, h5_path));
    POD_TRY(list_images(m));
    POD_TRY(split_images(m));
    POD_TRY(write_images(m, h5_path));
    tell_what_was_found(m, pod_time_seconds(pod_clock_now(&m->log->clock) - begun));
    return POD_OK;
}

static pod_status import_from(const char *folder, size_t folder_bytes, const char *labels,
                              const char *h5_path, const pod_import_images_options *options)
{
    intake m = {.labels = labels,
                .options = options,
                .log = options->log,
                .bad = {.skip = options->skip_bad, .log = options->log}};
    POD_TRY(pod_arena_create(NULL, &m.arena));
    m.folder = pod_arena_text(m.arena, "%.*s", (int)folder_bytes, folder);
    pod_status s = m.folder ? import(&m, h5_path) : POD_E_NOMEM;
    wait_for_window(&m);
    for (int i = 0; m.worker && i < options->n_threads; i++)
        pod__image_decoder_destroy(m.worker[i].decoder);
    pod_arena_destroy(m.arena);
    return s;
}

pod_status pod_import_images(const char *folder, const char *h5_path,
                             const pod_import_images_options *options)
{
    size_t n = strlen(folder);
    while (n > 1 && folder[n - 1] == '/') n--;
    return import_from(folder, n, NULL, h5_path, options);
}

pod_status pod_import_list(const char *csv_path, const char *h5_path,
                           const pod_import_images_options *options)
{
    const char *slash = strrchr(csv_path, '/');
    if (!slash) return import_from(".", 1, csv_path, h5_path, options);
    return import_from(csv_path, slash == csv_path ? 1 : (size_t)(slash - csv_path), csv_path,
                       h5_path, options);
}
