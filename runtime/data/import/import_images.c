#include "runtime/data/import/import_images.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/file.h"
#include "runtime/core/thread.h"
#include "runtime/data/dataset_write.h"
#include "runtime/data/import/decode.h"
#include "runtime/data/import/folder.h"
#include "runtime/data/import/import_classes.h"
#include "runtime/data/import/labels.h"
#include "runtime/data/import/resize.h"

enum { MAX_PATH_BYTES = 4096, WHY_BYTES = 256, MAX_WINDOW = 256, WINDOW_BYTES = 8 << 20 };
#define MAX_FILE_BYTES ((int64_t)1 << 28)

typedef struct picture { /* what became of one file */
    pod_status status;
    char why[WHY_BYTES]; /* of a failure */
    int64_t height, width;
    unsigned traits; /* POD_IMAGE_... */
    size_t packed_bytes;
} picture;

typedef struct tally { /* images of a kind */
    int64_t n;
    const char *first;
} tally;

/* Images that are decoded together, and then written together; all of one split. */
typedef struct window {
    int64_t first, n;
    uint8_t *pixels;  /* (n, H, W, C) */
    uint8_t *packed;  /* (n, packed_room) */
    picture *picture; /* (n) */
} window;

typedef struct intake intake;

typedef struct worker { /* one thread's own */
    const intake *m;
    const window *w;
    int index;
    pthread_t thread;
    pod_image_decoder *decoder;
    uint8_t *file;
    size_t file_room;
    void *scratch;
    size_t scratch_room;
} worker;

struct intake {
    pod_arena *arena;
    const char *folder;
    const char *labels; /* the CSV file that lists the images; NULL: their folders do */
    const pod_import_images_options *options;
    pod_image_list list;
    pod_bad_images bad;
    pod_dataset_info info;
    pod_dataset_writer *writer; /* NULL: in a first pass */
    bool checks_only;           /* workers find out what is bad, and convert nothing */
    window window[2];
    int64_t window_rows;
    size_t packed_room; /* of an image; 0: the writer packs them */
    worker *worker;
    int n_running;               /* workers to be joined */
    int32_t *label;              /* of the rows that are written together */
    pod_h5_packed *packed;       /* likewise */
    int64_t *n_of[POD_N_SPLITS]; /* (n_classes) samples */
    int64_t n_listed;            /* files, the bad ones too */
    int64_t n_done;              /* files of this pass that were looked at */
    int64_t n_kept; /* those of them that are left in the list, or samples that were written */
    int64_t n_resized;
    tally trait[POD_IMAGE_N_TRAITS];
    const char *smallest, *largest; /* by their pixels */
    picture small, large;
};

/* ---- one file, in a worker's thread ---------------------------------------------------------- */

static bool make_room(void **p, size_t *room, size_t bytes)
{
    if (bytes <= *room) return true;
    free(*p);
    *p = malloc(bytes);
    *room = *p ? bytes : 0;
    return *p != NULL;
}

static pod_status read_all(worker *k, int fd, size_t bytes)
{
    size_t n = 0;
    while (n < bytes) {
        const ssize_t got = read(fd, k->file + n, bytes - n);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return pod__file_trouble("cannot be read", errno);
        if (got == 0)
            return pod_fail(POD_E_FORMAT, "ends after %zu of its %zu bytes: it was made shorter", n,
                            bytes);
        n += (size_t)got;
    }
    return POD_OK;
}

static pod_status read_open(worker *k, int fd, size_t *bytes)
{
    struct stat st;
    if (fstat(fd, &st) != 0) return pod__file_trouble("cannot be looked at", errno);
    if (S_ISDIR(st.st_mode)) return pod_fail(POD_E_FORMAT, "a folder, need an image");
    if (!S_ISREG(st.st_mode)) return pod_fail(POD_E_FORMAT, "no regular file");
    if (st.st_size == 0) return pod_fail(POD_E_FORMAT, "empty");
    if (st.st_size > MAX_FILE_BYTES)
        return pod_fail(POD_E_FORMAT, "%" PRId64 " bytes, at most %" PRId64, (int64_t)st.st_size,
                        MAX_FILE_BYTES);
    void *room = k->file;
    const bool ok = make_room(&room, &k->file_room, (size_t)st.st_size);
    k->file = room;
    if (!ok) return pod_fail(POD_E_NOMEM, "no memory for %" PRId64 " bytes", (int64_t)st.st_size);
    POD_TRY(read_all(k, fd, (size_t)st.st_size));
    *bytes = (size_t)st.st_size;
    return POD_OK;
}

static pod_status read_file(worker *k, const char *path, size_t *bytes)
{
    /* Without waiting for the other end of a pipe. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return pod__file_trouble("cannot be read", errno);
    const pod_status s = read_open(k, fd, bytes);
    close(fd);
    return s;
}

/* Whether it is an image, at the least cost: as small as the decoder makes it. */
static pod_status check(worker *k, size_t bytes)
{
    const pod_image_want want = {.channels = (int)k->m->info.channels,
                                 .convert = k->m->options->convert,
                                 .least_height = 1,
                                 .least_width = 1};
    pod_image image;
    return pod__image_decode(k->decoder, k->file, bytes, &want, &image);
}

static pod_status convert(worker *k, size_t bytes, picture *p, uint8_t *out)
{
    const pod_dataset_info *info = &k->m->info;
    const pod_image_want want = {.channels = (int)info->channels,
                                 .convert = k->m->options->convert,
                                 .least_height = info->height,
                                 .least_width = info->width};
    pod_image image;
    POD_TRY(pod__image_decode(k->decoder, k->file, bytes, &want, &image));
    p->height = image.file_height;
    p->width = image.file_width;
    p->traits = image.traits;
    const pod_resize_args args = {
        .in = image.pixels,
        .in_width = image.width,
        .channels = info->channels,
        .box = pod_box_centre(image.height, image.width, info->height, info->width),
        .out = out,
        .out_height = info->height,
        .out_width = info->width};
    const size_t scratch = pod_resize_scratch_bytes(args.box.height, args.box.width, info->height,
                                                    info->width, info->channels);
    if (!make_room(&k->scratch, &k->scratch_room, scratch))
        return pod_fail(POD_E_NOMEM, "no memory to resize it");
    pod_resize_args own = args;
    own.scratch = k->scratch;
    pod_resize(&own);
    return POD_OK;
}

/* Answers as snprintf does. */
static int name_file(const intake *m, int64_t i, char path[MAX_PATH_BYTES])
{
    const char *below = m->list.file[i].path;
    const bool is_absolute = below[0] == '/';
    return snprintf(path, MAX_PATH_BYTES, "%s%s%s", is_absolute ? "" : m->list.folder,
                    is_absolute ? "" : "/", below);
}

static pod_status take_file(worker *k, int64_t i, picture *p)
{
    char path[MAX_PATH_BYTES];
    size_t bytes = 0;
    if (pod_dataset_writer_is_stopped()) return pod_fail(POD_E_WRITE, "ended by a signal");
    const int n = name_file(k->m, k->w->first + i, path);
    if (n >= (int)sizeof path) return pod_fail(POD_E_FORMAT, "the path is too long");
    POD_TRY(read_file(k, path, &bytes));
    if (k->m->checks_only) return check(k, bytes);
    const int64_t pixels = pod_dataset_sample_bytes(&k->m->info);
    const size_t room = k->m->packed_room;
    uint8_t *image = k->w->pixels + i * pixels;
    POD_TRY(convert(k, bytes, p, image));
    if (room > 0)
        p->packed_bytes = pod_h5_pack(image, (size_t)pixels, k->w->packed + (size_t)i * room);
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
    m->checks_only = !m->writer || (m->bad.n > 0 && !m->bad.skip);
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

static void count_one(tally *t, bool is_one, const char *path)
{
    if (is_one && t->n++ == 0) t->first = path;
}

static void note_sample(intake *m, const pod_image_file *f, const picture *p)
{
    const int64_t pixels = p->height * p->width;
    m->n_of[f->split][f->label]++;
    for (int k = 0; k < POD_IMAGE_N_TRAITS; k++)
        count_one(&m->trait[k], p->traits & 1u << k, f->path);
    m->n_resized += p->height != m->info.height || p->width != m->info.width;
    if (!m->smallest || pixels < m->small.height * m->small.width) {
        m->smallest = f->path;
        m->small = *p;
    }
    if (!m->largest || pixels > m->large.height * m->large.width) {
        m->largest = f->path;
        m->large = *p;
    }
}

/* Image i of the window is bad. */
static pod_status leave_out(intake *m, const window *from, int64_t i)
{
    char path[MAX_PATH_BYTES];
    name_file(m, from->first + i, path);
    return pod__bad_image(&m->bad, path, from->picture[i].status, from->picture[i].why);
}

/* What is whole moves together in the list, before all that is still to be looked at. */
static pod_status keep_window(intake *m, window *from)
{
    for (int64_t i = 0; i < from->n; i++)
        if (from->picture[i].status == POD_OK)
            m->list.file[m->n_kept++] = m->list.file[from->first + i];
        else
            POD_TRY(leave_out(m, from, i));
    return POD_OK;
}

/* What is whole moves together, in the list, too, and is written. */
static pod_status write_window(intake *m, window *from)
{
    if (m->bad.n > 0 && !m->bad.skip) return keep_window(m, from);
    const int64_t bytes = pod_dataset_sample_bytes(&m->info);
    int64_t n = 0;
    for (int64_t i = 0; i < from->n; i++) {
        const pod_image_file *f = &m->list.file[from->first + i];
        if (from->picture[i].status != POD_OK) {
            POD_TRY(leave_out(m, from, i));
            continue;
        }
        if (n < i) memmove(from->pixels + n * bytes, from->pixels + i * bytes, (size_t)bytes);
        m->packed[n] = (pod_h5_packed){from->packed + (size_t)i * m->packed_room,
                                       from->picture[i].packed_bytes};
        m->label[n++] = f->label;
        note_sample(m, f, &from->picture[i]);
        m->list.file[m->n_kept++] = *f;
    }
    if (n == 0) return POD_OK;
    return pod_dataset_writer_add_packed(m->writer, m->list.file[m->n_kept - 1].split, n,
                                         from->pixels, m->packed_room > 0 ? m->packed : NULL,
                                         m->label);
}

/* All files in order; while one window is taken, the next is decoded. */
static pod_status pass(intake *m, const char *what, pod_status (*take)(intake *m, window *from))
{
    pod_log *log = m->options->log;
    m->n_done = m->n_kept = 0;
    pod_progress_begin(log, what, "images", 0, m->list.n);
    place_window(m, 0, &m->window[0]);
    pod_status s = start_window(m, &m->window[0]);
    for (int turn = 0; s == POD_OK && m->window[turn].n > 0; turn = !turn) {
        window *now = &m->window[turn], *next = &m->window[!turn];
        wait_for_window(m);
        place_window(m, now->first + now->n, next);
        if (next->n > 0) s = start_window(m, next);
        if (s == POD_OK) s = take(m, now);
        m->n_done += now->n;
        pod_progress_at(log, m->n_done, "%s", "");
    }
    wait_for_window(m);
    pod_progress_end(log);
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
    m->packed = POD_ARENA_NEW(m->arena, pod_h5_packed, rows);
    if (!m->label || !m->packed) return POD_E_NOMEM;
    for (int i = 0; i < 2; i++) {
        m->window[i].pixels = POD_ARENA_NEW(m->arena, uint8_t, rows * bytes);
        m->window[i].packed = POD_ARENA_NEW(m->arena, uint8_t, rows * (int64_t)m->packed_room);
        m->window[i].picture = POD_ARENA_NEW(m->arena, picture, rows);
        if (!m->window[i].pixels || !m->window[i].packed || !m->window[i].picture)
            return POD_E_NOMEM;
    }
    for (int s = 0; s < POD_N_SPLITS; s++)
        if (!(m->n_of[s] = POD_ARENA_NEW(m->arena, int64_t, m->list.n_classes))) return POD_E_NOMEM;
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

static void release_workers(intake *m)
{
    wait_for_window(m);
    for (int i = 0; m->worker && i < m->options->n_threads; i++) {
        pod__image_decoder_destroy(m->worker[i].decoder);
        free(m->worker[i].file);
        free(m->worker[i].scratch);
    }
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether a folder is that one, or one above it is; the root is above itself. */
static bool is_within(const char *folder, const struct stat *other)
{
    char path[MAX_PATH_BYTES];
    struct stat here, below = {0};
    size_t n = (size_t)snprintf(path, sizeof path, "%s", folder);
    while (n < sizeof path - 3 && stat(path, &here) == 0) {
        if (is_same(&here, other)) return true;
        if (is_same(&here, &below)) return false;
        below = here;
        n += (size_t)snprintf(path + n, sizeof path - n, "/..");
    }
    return false;
}

/* An output among the images could replace one of them, and would be one the next time. */
static pod_status check_output(const intake *m, const char *h5_path)
{
    struct stat folder;
    const char *slash = strrchr(h5_path, '/');
    const int length = slash ? (int)(slash - h5_path) + 1 : 1;
    const char *above = pod_arena_text(m->arena, "%.*s", length, slash ? h5_path : ".");
    if (!above) return POD_E_NOMEM;
    if (stat(m->folder, &folder) == 0 && is_within(above, &folder))
        return pod_fail(POD_E_INVALID, "%s: lies in %s, the folder that is imported", h5_path,
                        m->folder);
    return pod_file_check(h5_path);
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
    m->info = (pod_dataset_info){.height = o->height,
                                 .width = o->width,
                                 .channels = o->channels,
                                 .n_classes = m->list.n_classes,
                                 .class_names = m->list.class_names};
    POD_TRY(pod__import_text_take(&o->text, m->folder, m->arena, &m->info));
    POD_TRY(take_windows(m));
    return take_workers(m);
}

/* A class of which no image is left is none. */
static pod_status drop_empty_classes(intake *m)
{
    const char *first = NULL;
    int n;
    POD_TRY(pod__image_list_drop_empty(&m->list, m->arena, &n, &first));
    m->info.n_classes = m->list.n_classes;
    m->info.class_names = m->list.class_names;
    if (n == 1)
        pod_log_say(m->options->log, POD_LOG_WARNING,
                    "class '%s' has no image that can be used; left out", first);
    if (n > 1)
        pod_log_say(m->options->log, POD_LOG_WARNING,
                    "%d classes have no image that can be used, the first is '%s'; left out", n,
                    first);
    return POD_OK;
}

/* Where bad images are skipped, classes and shares are those of the images that are left: which
 * those are is known when all were decoded. What is bad in the list is bad in any case, and the
 * images are looked at for the sake of one message. */
static pod_status split_images(intake *m)
{
    const pod_image_split split = {.test_share = m->options->test_share,
                                   .by_class = m->options->split_by_class};
    if (m->bad.skip || m->bad.n > 0) {
        POD_TRY(pass(m, "checking", keep_window));
        POD_TRY(pod__bad_images_end(&m->bad, m->folder));
        m->list.n = m->n_kept;
        POD_TRY(drop_empty_classes(m));
    }
    POD_TRY(pod__image_list_split(&split, m->arena, &m->list));
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
    POD_TRY(pod_dataset_writer_open(h5_path, &m->info, &m->writer));
    pod_status s = pass(m, "importing", write_window);
    if (s == POD_OK && !m->bad.skip) s = pod__bad_images_end(&m->bad, m->folder);
    if (s == POD_OK && m->n_kept < m->n_done) s = pod_dataset_writer_cut(m->writer);
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
    pod_log *log = m->options->log;
    if (list->n_classes == 1)
        pod_log_say(log, POD_LOG_WARNING,
                    "%s: all images are of one class, '%s': there is nothing to tell apart%s",
                    m->labels ? m->labels : m->folder, list->class_names[0],
                    m->labels ? "" : "; want a folder for each class");
    if (list->by_number > 0)
        pod_log_say(log, POD_LOG_INFO, "classes are in the order of their numbers: %s before %s",
                    list->class_names[list->by_number - 1], list->class_names[list->by_number]);
    if (list->n_ignored > 0)
        pod_log_say(log, POD_LOG_INFO, "%" PRId64 " ignored: no images by their names; first %s",
                    list->n_ignored, list->first_ignored);
    if (list->n_stray > 0)
        pod_log_say(log, POD_LOG_WARNING,
                    "%s: %" PRId64 " images stand beside the folders of the classes; left out",
                    m->folder, list->n_stray);
    if (list->left_out)
        pod_log_say(log, POD_LOG_INFO, "neither training nor test, left out: %s", list->left_out);
}

static void tell_of_the_images(const intake *m)
{
    pod_log *log = m->options->log;
    if (m->n_resized > 0)
        pod_log_say(log, POD_LOG_INFO,
                    "%" PRId64 " resized, from %" PRId64 "x%" PRId64 " (%s) to %" PRId64 "x%" PRId64
                    " (%s)",
                    m->n_resized, m->small.height, m->small.width, m->smallest, m->large.height,
                    m->large.width, m->largest);
    for (int k = 0; k < POD_IMAGE_N_TRAITS; k++)
        if (m->trait[k].n > 0)
            pod_log_say(log, POD_LOG_INFO, "%" PRId64 " %s; first %s", m->trait[k].n, trait_text[k],
                        m->trait[k].first);
}

static void tell_what_was_found(const intake *m, double seconds)
{
    const double rate = (double)m->n_listed / seconds;
    const char *remedy = m->list.is_split || m->options->split_by_class
                             ? ""
                             : "; --split-by class takes a share of each class";
    char per_s[32];
    if (rate < 9.95)
        snprintf(per_s, sizeof per_s, "%#.2g", rate);
    else
        snprintf(per_s, sizeof per_s, "%.0f", rate);
    pod_log_say(m->options->log, POD_LOG_INFO,
                "%" PRId64 " of %" PRId64 " images imported, %" PRId64 " left out; %.1f s, %s/s",
                m->n_kept, m->n_listed, m->n_listed - m->n_kept, seconds, per_s);
    tell_of_the_list(m);
    tell_of_the_images(m);
    for (int s = 0; s < POD_N_SPLITS; s++)
        pod__import_tell_missing_classes(m->options->log, &m->info, (pod_split)s, m->n_of[s],
                                         remedy);
}

/* The output is none of the files that are read. */
static pod_status check_listed(const intake *m, const char *h5_path)
{
    char path[MAX_PATH_BYTES];
    struct stat out, in;
    if (!m->labels || stat(h5_path, &out) != 0) return POD_OK;
    bool is_read = stat(m->labels, &in) == 0 && is_same(&in, &out);
    for (int64_t i = 0; i < m->list.n && !is_read; i++)
        is_read =
            name_file(m, i, path) < MAX_PATH_BYTES && stat(path, &in) == 0 && is_same(&in, &out);
    return is_read ? pod_fail(POD_E_INVALID, "%s: is a file that the import reads", h5_path)
                   : POD_OK;
}

static pod_status import(intake *m, const char *h5_path)
{
    const pod_clock *clock = &m->options->log->clock;
    const pod_time begun = pod_clock_now(clock);
    POD_TRY(m->labels ? pod_file_check(h5_path) : check_output(m, h5_path));
    POD_TRY(list_images(m));
    POD_TRY(check_listed(m, h5_path));
    POD_TRY(split_images(m));
    POD_TRY(write_images(m, h5_path));
    tell_what_was_found(m, pod_time_seconds(pod_clock_now(clock) - begun));
    return POD_OK;
}

static pod_status import_from(const char *folder, size_t folder_bytes, const char *labels,
                              const char *h5_path, const pod_import_images_options *options)
{
    intake m = {.labels = labels,
                .options = options,
                .bad = {.skip = options->skip_bad, .log = options->log}};
    POD_TRY(pod_arena_create(NULL, &m.arena));
    m.folder = pod_arena_text(m.arena, "%.*s", (int)folder_bytes, folder);
    pod_status s = m.folder ? import(&m, h5_path) : POD_E_NOMEM;
    release_workers(&m);
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
