#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/data/import/idx.h"
#include "runtime/data/import/import.h"
#include "runtime/data/inner.h"

enum { IMAGES, LABELS, N_KINDS };
enum { MAX_SETS = 64, FOUND_BYTES = 384, NAME_BYTES = 64, MAX_CLASSES = 1 << 16 };

typedef struct intake {
    pod_arena *arena;
    const char *folder;
    const pod_import_idx_options *options;
    const char *prefixes[MAX_SETS]; /* of files in the folder */
    int n_prefixes;
    char found[FOUND_BYTES];             /* names of IDX files there, joined by commas */
    pod_idx file[POD_N_SPLITS][N_KINDS]; /* open */
    int32_t *label[POD_N_SPLITS];        /* (N) */
    pod_dataset_info info;
} intake;

/* ---- which files ----------------------------------------------------------------------------- */

/* The i-th spelling of a file's name behind the prefix, best first; false: there are no more. */
static bool spell(int split, int kind, int i, char name[NAME_BYTES])
{
    static const char *const words[POD_N_SPLITS][2] = {{"train"}, {"t10k", "test"}};
    static const char *const ends[N_KINDS][4] = {
        {"images-idx3-ubyte", "images.idx3-ubyte", "images-idx4-ubyte", "images.idx4-ubyte"},
        {"labels-idx1-ubyte", "labels.idx1-ubyte", "labels-idx2-int", "labels-idx1-int"}};
    const char *word = i < 16 ? words[split][i / 8] : NULL;
    if (!word) return false;
    snprintf(name, NAME_BYTES, "%s-%s%s", word, ends[kind][i / 2 % 4], i % 2 ? ".gz" : "");
    return true;
}

/* The file of a set, in the arena; NULL where there is none. Folders of such names are no files. */
static const char *find_file(const intake *m, const char *prefix, int split, int kind)
{
    char name[NAME_BYTES];
    for (int i = 0; spell(split, kind, i, name); i++) {
        struct stat st;
        const char *path =
            pod_arena_text(m->arena, "%s/%s%s%s", m->folder, prefix, *prefix ? "-" : "", name);
        if (path && stat(path, &st) == 0 && !S_ISDIR(st.st_mode)) return path;
    }
    return NULL;
}

/* The first file that the set lacks, in its usual spelling; "": none. */
static void find_missing(const intake *m, const char *prefix, char name[NAME_BYTES])
{
    name[0] = '\0';
    for (int k = 0; k < POD_N_SPLITS * N_KINDS && !name[0]; k++)
        if (!find_file(m, prefix, k / N_KINDS, k % N_KINDS))
            spell(k / N_KINDS, k % N_KINDS, 0, name);
}

/* How many bytes of a file's name are the prefix and its dash; -1: it is no file of a set. */
static int prefix_of(const char *text)
{
    char tail[NAME_BYTES];
    for (int k = 0; k < POD_N_SPLITS * N_KINDS; k++)
        for (int i = 0; spell(k / N_KINDS, k % N_KINDS, i, tail); i++) {
            const int n = (int)strlen(text) - (int)strlen(tail);
            const bool is_apart = n == 0 || (n > 1 && text[n - 1] == '-');
            if (is_apart && strcmp(text + n, tail) == 0) return n;
        }
    return -1;
}

static void list_name(intake *m, const char *text)
{
    const size_t used = strlen(m->found), room = sizeof m->found - used;
    if (snprintf(m->found + used, room, "%s%s", used ? ", " : "", text) < (int)room) return;
    snprintf(m->found + (used < room ? used : sizeof m->found - 6), 6, ", ...");
}

static pod_status add_name(intake *m, const char *text)
{
    struct stat st;
    if (!strstr(text, "idx") || (!strstr(text, "images") && !strstr(text, "labels"))) return POD_OK;
    const char *path = pod_arena_text(m->arena, "%s/%s", m->folder, text);
    if (!path) return POD_E_NOMEM;
    if (stat(path, &st) != 0 || S_ISDIR(st.st_mode)) return POD_OK;
    list_name(m, text);
    const int n = prefix_of(text);
    if (n < 0 || m->n_prefixes == MAX_SETS) return POD_OK;
    const char *prefix = pod_arena_text(m->arena, "%.*s", n > 0 ? n - 1 : 0, text);
    if (!prefix) return POD_E_NOMEM;
    for (int i = 0; i < m->n_prefixes; i++)
        if (strcmp(m->prefixes[i], prefix) == 0) return POD_OK;
    m->prefixes[m->n_prefixes++] = prefix;
    return POD_OK;
}

static pod_status read_folder(intake *m)
{
    DIR *dir = opendir(m->folder);
    pod_status s = POD_OK;
    errno = dir ? 0 : errno;
    for (const struct dirent *e; dir && s == POD_OK && (e = readdir(dir)); errno = 0)
        s = add_name(m, e->d_name);
    if (s == POD_OK && errno)
        s = pod_fail(POD_E_IO, "%s: cannot be read as a folder: %s", m->folder, strerror(errno));
    if (dir) closedir(dir);
    return s;
}

static pod_status fail_without(const intake *m, const char *prefix)
{
    const char *of = prefix ? prefix : m->n_prefixes == 1 ? m->prefixes[0] : "";
    char wanted[POD_N_SPLITS * N_KINDS][NAME_BYTES], missing[NAME_BYTES];
    for (int k = 0; k < POD_N_SPLITS * N_KINDS; k++) spell(k / N_KINDS, k % N_KINDS, 0, wanted[k]);
    find_missing(m, of, missing);
    return pod_fail(
        POD_E_IO,
        "%s: no file %s%s%s, plain or .gz; wanted are %s, %s, %s and %s, all behind one "
        "prefix or none; IDX files there: %s",
        m->folder, of, *of ? "-" : "", missing, wanted[0], wanted[1], wanted[2], wanted[3],
        *m->found ? m->found : "none");
}

/* The prefix that was given, or of the only whole set; one without a prefix goes before others. */
static pod_status pick(const intake *m, const char **out)
{
    char names[FOUND_BYTES] = "", missing[NAME_BYTES];
    const char *prefix = m->options->prefix, *found = NULL;
    int n = 0;
    for (int i = 0; i < m->n_prefixes; i++) {
        const char *p = m->prefixes[i];
        const size_t used = strlen(names);
        find_missing(m, p, missing);
        if (*missing || (prefix && strcmp(p, prefix) != 0)) continue;
        snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", p);
        if (!found || !*p) found = p;
        n++;
    }
    if (n == 0) return fail_without(m, prefix);
    if (n > 1 && *found)
        return pod_fail(POD_E_INVALID, "%s: holds several sets; --prefix names one of them: %s",
                        m->folder, names);
    *out = found;
    return POD_OK;
}

static pod_status open_files(intake *m)
{
    const char *prefix = "";
    POD_TRY(read_folder(m));
    POD_TRY(pick(m, &prefix));
    for (int k = 0; k < POD_N_SPLITS * N_KINDS; k++) {
        const char *path = find_file(m, prefix, k / N_KINDS, k % N_KINDS);
        if (!path) return POD_E_NOMEM;
        POD_TRY(pod_idx_open(path, &m->file[k / N_KINDS][k % N_KINDS]));
    }
    return POD_OK;
}

/* ---- what the headers say -------------------------------------------------------------------- */

/* Labels are bytes, or the first column of a table of ints, as QMNIST has them. */
static pod_status check_pair(const pod_idx *images, const pod_idx *labels)
{
    if (images->n_dims < 3)
        return pod_fail(POD_E_FORMAT, "%s: %d dimensions, images need 3 or 4", images->path,
                        images->n_dims);
    if (images->element_bytes != 1)
        return pod_fail(POD_E_FORMAT, "%s: elements are ints, images need bytes", images->path);
    if (labels->n_dims != 1 && !(labels->n_dims == 2 && labels->element_bytes == 4))
        return pod_fail(POD_E_FORMAT, "%s: %d dimensions, labels need 1", labels->path,
                        labels->n_dims);
    if (labels->dim[0] != images->dim[0])
        return pod_fail(POD_E_FORMAT, "%s: %" PRId64 " labels for %" PRId64 " images", labels->path,
                        labels->dim[0], images->dim[0]);
    return POD_OK;
}

static pod_status take_size(intake *m, int split)
{
    const pod_idx *x = &m->file[split][IMAGES];
    const int64_t *dim = x->dim, channels = x->n_dims == 4 ? dim[3] : 1;
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
                        x->path, dim[1], dim[2], channels, info->height, info->width,
                        info->channels);
    info->n_samples[split] = dim[0];
    return POD_OK;
}

/* ---- labels ---------------------------------------------------------------------------------- */

static pod_status load_labels(intake *m, int split)
{
    pod_idx *x = &m->file[split][LABELS];
    const int64_t n = x->dim[0], row = x->n_left / n;
    int32_t *label = POD_ARENA_NEW(m->arena, int32_t, n);
    uint8_t *table = POD_ARENA_NEW(m->arena, uint8_t, n * row);
    if (!label || !table) return POD_E_NOMEM;
    POD_TRY(pod_idx_read(x, n * row, table));
    POD_TRY(pod_idx_finish(x));
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *p = table + i * row;
        label[i] = x->element_bytes == 1
                       ? p[0]
                       : (int32_t)((uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]);
    }
    m->label[split] = label;
    return POD_OK;
}

/* The least and the largest label of both splits; E_FORMAT where one is not below `end`. */
static pod_status find_range(const intake *m, int32_t end, int32_t *least, int32_t *most)
{
    *least = INT32_MAX;
    *most = 0;
    for (int s = 0; s < POD_N_SPLITS; s++)
        for (int64_t i = 0; i < m->info.n_samples[s]; i++) {
            const int32_t k = m->label[s][i];
            if (k < 0 || k >= end)
                return pod_fail(POD_E_FORMAT, "%s: label %" PRId64 " is %d, need 0 to %d",
                                m->file[s][LABELS].path, i, k, end - 1);
            if (k < *least) *least = k;
            if (k > *most) *most = k;
        }
    return POD_OK;
}

static pod_status name_classes(intake *m, const char *list)
{
    int n = 1;
    for (const char *p = list; *p; p++) n += *p == ',';
    const char **name = POD_ARENA_NEW(m->arena, const char *, n);
    if (!name) return POD_E_NOMEM;
    for (int i = 0; i < n; i++) {
        const size_t length = strcspn(list, ",");
        if (!(name[i] = pod_arena_text(m->arena, "%.*s", (int)length, list))) return POD_E_NOMEM;
        for (int k = 0; k < i; k++)
            if (strcmp(name[k], name[i]) == 0)
                return pod_fail(POD_E_INVALID, "classes: %d and %d are both called '%s'", k, i,
                                name[i]);
        list += length + 1;
    }
    m->info.n_classes = n;
    m->info.class_names = name;
    return POD_OK;
}

/* Labels may start at 1, as those of EMNIST's letters: then class 0 is label 1, unless --classes
 * names one more. */
static pod_status take_classes(intake *m)
{
    const char *classes = m->options->classes;
    int32_t least, most;
    POD_TRY(find_range(m, MAX_CLASSES, &least, &most));
    if (classes) POD_TRY(name_classes(m, classes));
    const int32_t first = least == 1 && (!classes || m->info.n_classes == most);
    if (!classes) POD_TRY(pod__dataset_number_classes(&m->info, first, most - first + 1, m->arena));
    for (int s = 0; first && s < POD_N_SPLITS; s++)
        for (int64_t i = 0; i < m->info.n_samples[s]; i++) m->label[s][i] -= first;
    if (first)
        pod_log_say(m->options->log, POD_LOG_INFO,
                    "labels are 1 to %d: label 1 becomes class 0, '%s'", most,
                    m->info.class_names[0]);
    return find_range(m, m->info.n_classes, &least, &most);
}

/* ---- the import ------------------------------------------------------------------------------ */

static pod_status fill(void *ctx, pod_split split, int64_t first, int64_t count, uint8_t *pixels,
                       int32_t *labels)
{
    intake *m = ctx;
    pod_idx *x = &m->file[split][IMAGES];
    memcpy(labels, m->label[split] + first, (size_t)count * sizeof *labels);
    POD_TRY(pod_idx_read(x, count * pod_dataset_sample_bytes(&m->info), pixels));
    return x->n_left > 0 ? POD_OK : pod_idx_finish(x);
}

static pod_status convert(intake *m, const char *h5_path)
{
    POD_TRY(open_files(m));
    for (int s = 0; s < POD_N_SPLITS; s++) {
        POD_TRY(check_pair(&m->file[s][IMAGES], &m->file[s][LABELS]));
        POD_TRY(take_size(m, s));
        POD_TRY(load_labels(m, s));
    }
    POD_TRY(take_classes(m));
    POD_TRY(pod__import_text_take(&m->options->text, m->folder, m->arena, &m->info));
    return pod__import_write(h5_path, &m->info, fill, m, m->arena, m->options->log);
}

pod_status pod_import_idx(const char *folder, const char *h5_path,
                          const pod_import_idx_options *options)
{
    intake m = {.folder = folder, .options = options};
    POD_TRY(pod_arena_create(NULL, &m.arena));
    const pod_status s = convert(&m, h5_path);
    for (int k = 0; k < POD_N_SPLITS * N_KINDS; k++)
        pod_idx_close(&m.file[k / N_KINDS][k % N_KINDS]);
    pod_arena_destroy(m.arena);
    return s;
}
