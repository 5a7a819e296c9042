#include "runtime/data/import/import_idx.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/data/import/idx.h"
#include "runtime/data/import/idx_folder.h"
#include "runtime/data/import/import_classes.h"

enum { ROWS_AT_ONCE = 256, MAX_CLASSES = 1 << 16 };

typedef struct intake {
    pod_arena *arena;
    const char *folder;
    const pod_import_options *options;
    pod_dataset_info info;
    pod_idx *images[POD_N_SPLITS], *labels[POD_N_SPLITS];
    int32_t *label[POD_N_SPLITS]; /* (N) */
    int64_t *n_of[POD_N_SPLITS];  /* (n_classes) samples */
} intake;

/* ---- the files ------------------------------------------------------------------------------- */

static pod_status open_files(intake *m)
{
    pod_idx_files files;
    POD_TRY(pod__idx_folder_find(m->folder, m->options->prefix, m->arena, &files));
    for (int s = 0; s < POD_N_SPLITS; s++) {
        POD_TRY(pod_idx_open(files.images[s], &m->images[s]));
        POD_TRY(pod_idx_open(files.labels[s], &m->labels[s]));
    }
    return POD_OK;
}

/* ---- what the headers say -------------------------------------------------------------------- */

/* Labels are bytes, or the first column of a table of ints, as QMNIST has them. */
static pod_status check_pair(const pod_idx *images, const pod_idx *labels)
{
    const int n_dims = pod_idx_n_dims(labels), element_bytes = pod_idx_element_bytes(labels);
    if (pod_idx_n_dims(images) < 3)
        return pod_fail(POD_E_FORMAT, "%s: %d dimensions, images need 3 or 4", pod_idx_path(images),
                        pod_idx_n_dims(images));
    if (pod_idx_element_bytes(images) != 1)
        return pod_fail(POD_E_FORMAT, "%s: elements are ints, images need bytes",
                        pod_idx_path(images));
    if (n_dims != 1 && !(n_dims == 2 && element_bytes == 4))
        return pod_fail(POD_E_FORMAT, "%s: %d dimensions, labels need 1", pod_idx_path(labels),
                        n_dims);
    if (pod_idx_dims(labels)[0] != pod_idx_dims(images)[0])
        return pod_fail(POD_E_FORMAT, "%s: %" PRId64 " labels for %" PRId64 " images",
                        pod_idx_path(labels), pod_idx_dims(labels)[0], pod_idx_dims(images)[0]);
    return POD_OK;
}

static pod_status take_size(intake *m, int split)
{
    const pod_idx *x = m->images[split];
    const int64_t *dim = pod_idx_dims(x);
    int64_t channels = pod_idx_n_dims(x) == 4 ? dim[3] : 1;
    pod_dataset_info *info = &m->info;
    if (split == 0) {
        info->height = dim[1];
        info->width = dim[2];
        info->channels = channels;
    }
    if (dim[1] != info->height || dim[2] != info->width || channels != info->channels)
        return pod_fail(POD_E_FORMAT,
                        "%s: images of %" PRId64 "x%" PRId64 "x%" PRId64 ", training has %" PRId64
                        "x%" PRId64 "x%" PRId64,
                        pod_idx_path(x), dim[1], dim[2], channels, info->height, info->width,
                        info->channels);
    info->n_samples[split] = dim[0];
    return POD_OK;
}

/* ---- labels and classes ---------------------------------------------------------------------- */

static int32_t label_at(const uint8_t *p, int element_bytes)
{
    if (element_bytes == 1) return p[0];
    return (int32_t)((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]);
}

static pod_status load_labels(intake *m, int split)
{
    const pod_idx *x = m->labels[split];
    const int element_bytes = pod_idx_element_bytes(x);
    const int64_t n = m->info.n_samples[split];
    const int64_t row = element_bytes * (pod_idx_n_dims(x) == 2 ? pod_idx_dims(x)[1] : 1);
    uint8_t *table = POD_ARENA_NEW(m->arena, uint8_t, n * row);
    int32_t *label = POD_ARENA_NEW(m->arena, int32_t, n);
    if (!table || !label) return POD_E_NOMEM;
    POD_TRY(pod_idx_read(m->labels[split], n * row, table));
    POD_TRY(pod_idx_finish(m->labels[split]));
    for (int64_t i = 0; i < n; i++) label[i] = label_at(table + i * row, element_bytes);
    m->label[split] = label;
    return POD_OK;
}

/* The least and the largest label of both splits. E_FORMAT where one is no label. */
static pod_status find_range(const intake *m, int32_t *least, int32_t *most)
{
    *least = INT32_MAX;
    *most = 0;
    for (int s = 0; s < POD_N_SPLITS; s++)
        for (int64_t i = 0; i < m->info.n_samples[s]; i++) {
            const int32_t k = m->label[s][i];
            if (k < 0 || k >= MAX_CLASSES)
                return pod_fail(POD_E_FORMAT, "%s: label %" PRId64 " is %d, need 0 to %d",
                                pod_idx_path(m->labels[s]), i, k, MAX_CLASSES - 1);
            if (k < *least) *least = k;
            if (k > *most) *most = k;
        }
    return POD_OK;
}

/* Names first, first + 1, ... */
static pod_status number_classes(intake *m, int32_t first, int n)
{
    const char **name = POD_ARENA_NEW(m->arena, const char *, n);
    if (!name) return POD_E_NOMEM;
    for (int i = 0; i < n; i++)
        if (!(name[i] = pod_arena_text(m->arena, "%d", first + i))) return POD_E_NOMEM;
    m->info.n_classes = n;
    m->info.class_names = name;
    return POD_OK;
}

static pod_status check_names(const char *const name[], int n)
{
    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(name[k], name[i]) == 0)
                return pod_fail(POD_E_INVALID, "classes: %d and %d are both called '%s'", k, i,
                                name[i]);
    return POD_OK;
}

static pod_status name_classes(intake *m, const char *list)
{
    int n = 1;
    for (const char *p = list; *p; p++) n += *p == ',';
    const char **name = POD_ARENA_NEW(m->arena, const char *, n);
    if (!name) return POD_E_NOMEM;
    for (int i = 0; i < n; i++) {
        size_t length = strcspn(list, ",");
        if (!(name[i] = pod_arena_text(m->arena, "%.*s", (int)length, list))) return POD_E_NOMEM;
        list += length + 1;
    }
    POD_TRY(check_names(name, n));
    m->info.n_classes = n;
    m->info.class_names = name;
    return POD_OK;
}

/* Labels may start at 1, as those of EMNIST's letters: then class 0 is label 1, unless --classes
 * names one more. */
static pod_status take_classes(intake *m)
{
    int32_t least, most;
    POD_TRY(find_range(m, &least, &most));
    if (m->options->classes) POD_TRY(name_classes(m, m->options->classes));
    const int32_t first = least == 1 && (!m->options->classes || m->info.n_classes == most);
    if (!m->options->classes) POD_TRY(number_classes(m, first, most - first + 1));
    for (int s = 0; first && s < POD_N_SPLITS; s++)
        for (int64_t i = 0; i < m->info.n_samples[s]; i++) m->label[s][i] -= first;
    if (first && m->options->log)
        pod_log_say(m->options->log, POD_LOG_INFO,
                    "labels are 1 to %d: label 1 becomes class 0, '%s'", most,
                    m->info.class_names[0]);
    return POD_OK;
}

/* Before any pixel is unpacked. */
static pod_status check_labels(const intake *m)
{
    for (int s = 0; s < POD_N_SPLITS; s++)
        for (int64_t i = 0; i < m->info.n_samples[s]; i++)
            if (m->label[s][i] >= m->info.n_classes)
                return pod_fail(POD_E_FORMAT, "%s: label %" PRId64 " is %d, need 0 to %d",
                                pod_idx_path(m->labels[s]), i, m->label[s][i],
                                m->info.n_classes - 1);
    return POD_OK;
}

static pod_status count_labels(intake *m)
{
    for (int s = 0; s < POD_N_SPLITS; s++) {
        m->n_of[s] = POD_ARENA_NEW(m->arena, int64_t, m->info.n_classes);
        if (!m->n_of[s]) return POD_E_NOMEM;
        for (int64_t i = 0; i < m->info.n_samples[s]; i++) m->n_of[s][m->label[s][i]]++;
    }
    return POD_OK;
}

/* ---- the import ------------------------------------------------------------------------------ */

static pod_status copy_images(intake *m, pod_dataset_writer *w, pod_split split, int64_t *n_done)
{
    int64_t bytes = pod_dataset_sample_bytes(&m->info), n = m->info.n_samples[split];
    int64_t total = m->info.n_samples[0] + m->info.n_samples[1];
    int64_t rows = bytes < (1 << 20) ? ROWS_AT_ONCE : 1;
    uint8_t *pixels = POD_ARENA_NEW(m->arena, uint8_t, rows * bytes);
    if (!pixels) return POD_E_NOMEM;
    for (int64_t first = 0; first < n; first += rows) {
        int64_t count = rows < n - first ? rows : n - first;
        POD_TRY(pod_idx_read(m->images[split], count * bytes, pixels));
        POD_TRY(pod_dataset_writer_add(w, split, count, pixels, m->label[split] + first));
        *n_done += count;
        if (m->options->progress.report)
            m->options->progress.report(m->options->progress.ctx, *n_done, total);
    }
    return pod_idx_finish(m->images[split]);
}

static pod_status prepare(intake *m)
{
    POD_TRY(open_files(m));
    for (int s = 0; s < POD_N_SPLITS; s++) {
        POD_TRY(check_pair(m->images[s], m->labels[s]));
        POD_TRY(take_size(m, s));
        POD_TRY(load_labels(m, s));
    }
    POD_TRY(take_classes(m));
    POD_TRY(check_labels(m));
    POD_TRY(count_labels(m));
    return pod__import_text_take(&m->options->text, m->folder, m->arena, &m->info);
}

static pod_status convert(intake *m, const char *h5_path)
{
    POD_TRY(prepare(m));
    pod_dataset_writer *w;
    POD_TRY(pod_dataset_writer_open(h5_path, &m->info, &w));
    int64_t n_done = 0;
    pod_status s = POD_OK;
    for (int split = 0; s == POD_OK && split < POD_N_SPLITS; split++)
        s = copy_images(m, w, (pod_split)split, &n_done);
    if (s == POD_OK) return pod_dataset_writer_finish(w);
    pod_dataset_writer_abort(w);
    return s;
}

pod_status pod_import_idx(const char *folder, const char *h5_path,
                          const pod_import_options *options)
{
    intake m = {.folder = folder, .options = options};
    POD_TRY(pod_arena_create(NULL, &m.arena));
    pod_status s = convert(&m, h5_path);
    for (int i = 0; s == POD_OK && options->log && i < POD_N_SPLITS; i++)
        pod__import_tell_missing_classes(options->log, &m.info, (pod_split)i, m.n_of[i], "");
    for (int i = 0; i < POD_N_SPLITS; i++) {
        pod_idx_close(m.images[i]);
        pod_idx_close(m.labels[i]);
    }
    pod_arena_destroy(m.arena);
    return s;
}
