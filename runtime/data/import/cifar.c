#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/data/import/import.h"
#include "runtime/data/import/tar.h"
#include "runtime/data/inner.h"

enum { SIDE = 32, PLANE = SIDE * SIDE, PIXELS = 3 * PLANE, N_FILES_MAX = 6, N_NAMES = 9 };
#define MAX_MEMBER_BYTES ((int64_t)1 << 30)

/* One of the two sets, as its makers wrote it. */
static const struct form {
    const char *name;
    int n_files;
    const char *file[N_FILES_MAX]; /* the last one is the test's */
    int64_t n_records;             /* of a training file */
    int64_t n_test_records;
    int n_labels; /* bytes before the pixels */
    struct {
        const char *names; /* of the classes, one a line */
        int n_classes;
    } label[2];       /* fine, coarse */
    const char *hint; /* a file of the Python version */
} forms[] = {
    {"CIFAR-10",
     6,
     {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
      "data_batch_5.bin", "test_batch.bin"},
     10000,
     10000,
     1,
     {{"batches.meta.txt", 10}, {NULL, 0}},
     "data_batch_1"},
    {"CIFAR-100",
     2,
     {"train.bin", "test.bin"},
     50000,
     10000,
     2,
     {{"fine_label_names.txt", 100}, {"coarse_label_names.txt", 20}},
     "train"},
};
enum { N_FORMS = sizeof forms / sizeof forms[0], MAX_MEMBERS = 16 };

typedef struct member {
    const char *name;
    const uint8_t *data; /* NULL: it is there, and not read */
    int64_t bytes;
} member;

typedef struct intake {
    pod_arena *arena;
    const char *from;
    const pod_import_cifar_options *options;
    member member[MAX_MEMBERS];
    int n_members;
    const struct form *form;
    struct {
        const member *of;
        pod_split split;
        int64_t n, usual; /* records */
    } file[N_FILES_MAX];
    pod_dataset_info info;
} intake;

/* ---- the files ------------------------------------------------------------------------------- */

/* The k-th file that may belong to a form, of N_NAMES; NULL: none. The last one is only known. */
static const char *name_of(const struct form *f, int k)
{
    return k < N_FILES_MAX   ? f->file[k]
           : k < N_NAMES - 1 ? f->label[k - N_FILES_MAX].names
                             : f->hint;
}

static bool is_wanted(const char *name, bool *is_hint)
{
    for (int i = 0; i < N_FORMS; i++)
        for (int k = 0; k < N_NAMES; k++) {
            const char *known = name_of(&forms[i], k);
            *is_hint = k == N_NAMES - 1;
            if (known && strcmp(name, known) == 0) return true;
        }
    return false;
}

static const member *find(const intake *m, const char *name)
{
    for (int i = 0; i < m->n_members; i++)
        if (strcmp(m->member[i].name, name) == 0) return &m->member[i];
    return NULL;
}

/* Room for a member, and a zero behind it. */
static pod_status add_member(intake *m, const char *name, int64_t bytes, uint8_t **data)
{
    if (bytes > MAX_MEMBER_BYTES)
        return pod_fail(POD_E_FORMAT, "%s: %s has %" PRId64 " bytes, at most %" PRId64, m->from,
                        name, bytes, MAX_MEMBER_BYTES);
    if (find(m, name) || m->n_members == MAX_MEMBERS)
        return pod_fail(POD_E_FORMAT, "%s: holds %s twice", m->from, name);
    *data = POD_ARENA_NEW(m->arena, uint8_t, bytes + 1);
    const char *own = pod_arena_text(m->arena, "%s", name);
    if (!*data || !own) return POD_E_NOMEM;
    m->member[m->n_members++] = (member){.name = own, .data = *data, .bytes = bytes};
    return POD_OK;
}

static pod_status read_file(intake *m, const char *name, bool is_hint)
{
    uint8_t *data;
    struct stat st;
    const char *path = pod_arena_text(m->arena, "%s/%s", m->from, name);
    if (!path) return POD_E_NOMEM;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) return POD_OK;
    POD_TRY(add_member(m, name, is_hint ? 0 : (int64_t)st.st_size, &data));
    if (is_hint) return POD_OK;
    FILE *f = fopen(path, "rb");
    if (!f) return pod_fail(POD_E_IO, "%s: %s", path, strerror(errno));
    const bool ok = fread(data, 1, (size_t)st.st_size, f) == (size_t)st.st_size;
    fclose(f);
    return ok ? POD_OK : pod_fail(POD_E_IO, "%s: cannot be read to its end", path);
}

static pod_status read_folder(intake *m)
{
    for (int i = 0; i < N_FORMS; i++)
        for (int k = 0; k < N_NAMES; k++)
            if (name_of(&forms[i], k))
                POD_TRY(read_file(m, name_of(&forms[i], k), k == N_NAMES - 1));
    return POD_OK;
}

static pod_status read_archive(intake *m, pod_tar *t)
{
    pod_tar_member found;
    bool is_end = false, is_hint;
    for (;;) {
        uint8_t *data;
        POD_TRY(pod__tar_next(t, &found, &is_end));
        if (is_end) return POD_OK;
        if (!found.is_file || !is_wanted(found.name, &is_hint)) continue;
        POD_TRY(add_member(m, found.name, is_hint ? 0 : found.bytes, &data));
        if (!is_hint) POD_TRY(pod__tar_read(t, data));
    }
}

static pod_status read_members(intake *m)
{
    struct stat st;
    if (stat(m->from, &st) != 0) return pod_fail(POD_E_IO, "%s: %s", m->from, strerror(errno));
    if (S_ISDIR(st.st_mode)) return read_folder(m);
    pod_tar t;
    POD_TRY(pod__tar_open(m->from, &t));
    const pod_status s = read_archive(m, &t);
    pod__tar_close(&t);
    return s;
}

/* ---- which set ------------------------------------------------------------------------------- */

/* Where nothing was found: the folder that an archive unpacks to stands one level below. */
static pod_status fail_without(const intake *m)
{
    static const char *const folders[] = {"cifar-10-batches-bin", "cifar-100-binary"};
    struct stat st;
    for (int i = 0; i < N_FORMS; i++) {
        const char *below = pod_arena_text(m->arena, "%s/%s", m->from, folders[i]);
        if (!below) return POD_E_NOMEM;
        if (stat(below, &st) == 0)
            return pod_fail(POD_E_FORMAT, "%s: holds no file of CIFAR; import %s", m->from, below);
        if (find(m, forms[i].hint))
            return pod_fail(POD_E_FORMAT,
                            "%s: holds the Python version of %s, need the binary version "
                            "(cifar-%d-binary.tar.gz)",
                            m->from, forms[i].name, forms[i].label[0].n_classes);
    }
    return pod_fail(POD_E_FORMAT, "%s: no file of CIFAR-10 (%s, ...) or CIFAR-100 (%s, %s)",
                    m->from, forms[0].file[0], forms[1].file[0], forms[1].file[1]);
}

/* Takes the files that the form has; those that are missing stay NULL. */
static int take_files(intake *m, const struct form *f)
{
    int n_found = 0;
    m->form = f;
    for (int k = 0; k < f->n_files; k++) {
        const bool is_test = k + 1 == f->n_files;
        m->file[k].of = find(m, f->file[k]);
        m->file[k].split = is_test ? POD_SPLIT_TEST : POD_SPLIT_TRAIN;
        m->file[k].usual = is_test ? f->n_test_records : f->n_records;
        n_found += m->file[k].of != NULL;
    }
    return n_found;
}

static pod_status choose_form(intake *m)
{
    const int n_other = take_files(m, &forms[1]), n = take_files(m, &forms[0]);
    if (n > 0 && n_other > 0)
        return pod_fail(POD_E_FORMAT, "%s: holds files of CIFAR-10 and of CIFAR-100, need one",
                        m->from);
    if (n + n_other == 0) return fail_without(m);
    if (n == 0) take_files(m, &forms[1]);
    for (int k = 0; k < m->form->n_files; k++)
        if (!m->file[k].of)
            return pod_fail(POD_E_FORMAT, "%s: no %s, which %s has", m->from, m->form->file[k],
                            m->form->name);
    if (m->options->for_labels && m->form->n_labels == 1)
        return pod_fail(POD_E_INVALID, "%s: %s has one label an image", m->options->for_labels,
                        m->form->name);
    return POD_OK;
}

/* ---- classes and records --------------------------------------------------------------------- */

/* One name a line; without their file classes have their numbers as names. */
static pod_status name_classes(intake *m)
{
    const int which = m->options->is_coarse, n = m->form->label[which].n_classes;
    const char *file = m->form->label[which].names;
    const member *list = find(m, file);
    int n_found = 0;
    if (!list) return pod__dataset_number_classes(&m->info, 0, n, m->arena);
    const char **name = POD_ARENA_NEW(m->arena, const char *, n);
    if (!name) return POD_E_NOMEM;
    const char *p = (const char *)list->data;
    for (size_t length; *p; p += length + (p[length] != '\0')) {
        length = strcspn(p, "\n");
        const size_t bytes = length > 0 && p[length - 1] == '\r' ? length - 1 : length;
        if (bytes == 0) continue;
        if (n_found < n && !(name[n_found] = pod_arena_text(m->arena, "%.*s", (int)bytes, p)))
            return POD_E_NOMEM;
        n_found++;
    }
    if (n_found != n)
        return pod_fail(POD_E_FORMAT, "%s: %s has %d names, need %d", m->from, file, n_found, n);
    m->info.n_classes = n;
    m->info.class_names = name;
    return POD_OK;
}

static const uint8_t *record(const intake *m, const member *file, int64_t i)
{
    return file->data + i * (m->form->n_labels + PIXELS);
}

/* CIFAR-100 has the coarse label first. */
static int label_of(const intake *m, const uint8_t *rec)
{
    return rec[m->form->n_labels == 2 && !m->options->is_coarse];
}

static pod_status check_file(intake *m, int k)
{
    const struct form *f = m->form;
    const member *file = m->file[k].of;
    const int64_t bytes = f->n_labels + PIXELS, n = file->bytes / bytes;
    if (n == 0 || file->bytes % bytes != 0)
        return pod_fail(POD_E_FORMAT,
                        "%s: %s has %" PRId64 " bytes, which is no whole number of records of "
                        "%" PRId64 "; %s has %" PRId64 " of them",
                        m->from, file->name, file->bytes, bytes, f->name, m->file[k].usual);
    for (int64_t i = 0; i < n; i++) {
        const int label = label_of(m, record(m, file, i));
        if (label >= m->info.n_classes)
            return pod_fail(POD_E_FORMAT, "%s: %s: label %" PRId64 " is %d, need 0 to %d", m->from,
                            file->name, i, label, m->info.n_classes - 1);
    }
    m->file[k].n = n;
    m->info.n_samples[m->file[k].split] += n;
    return POD_OK;
}

static void warn(const intake *m)
{
    const char *names = m->form->label[m->options->is_coarse].names;
    int n = 0, first = 0;
    for (int k = m->form->n_files - 1; k >= 0; k--)
        if (m->file[k].n != m->file[k].usual) {
            first = k;
            n++;
        }
    if (!find(m, names))
        pod_log_say(m->options->log, POD_LOG_WARNING, "%s: no %s: classes are named by number",
                    m->from, names);
    if (n > 0)
        pod_log_say(m->options->log, POD_LOG_WARNING,
                    "%s: %d of %d files have not as many images as those of %s; %s has %" PRId64
                    " instead of %" PRId64,
                    m->from, n, m->form->n_files, m->form->name, m->file[first].of->name,
                    m->file[first].n, m->file[first].usual);
}

/* (3, H, W) to (H, W, 3). */
static void interleave(const uint8_t *planes, uint8_t *out)
{
    for (int i = 0; i < PLANE; i++)
        for (int c = 0; c < 3; c++) *out++ = planes[c * PLANE + i];
}

/* ---- the import ------------------------------------------------------------------------------ */

static pod_status fill(void *ctx, pod_split split, int64_t first, int64_t count, uint8_t *pixels,
                       int32_t *labels)
{
    const intake *m = ctx;
    int k = split == POD_SPLIT_TEST ? m->form->n_files - 1 : 0;
    for (int64_t i = 0; i < count; i++, first++) {
        while (first >= m->file[k].n) first -= m->file[k++].n;
        const uint8_t *rec = record(m, m->file[k].of, first);
        labels[i] = label_of(m, rec);
        interleave(rec + m->form->n_labels, pixels + i * PIXELS);
    }
    return POD_OK;
}

static pod_status prepare(intake *m)
{
    m->info = (pod_dataset_info){.height = SIDE, .width = SIDE, .channels = 3};
    POD_TRY(read_members(m));
    POD_TRY(choose_form(m));
    POD_TRY(name_classes(m));
    for (int k = 0; k < m->form->n_files; k++) POD_TRY(check_file(m, k));
    return pod__import_text_take(&m->options->text, m->from, m->arena, &m->info);
}

static pod_status convert(intake *m, const char *h5_path)
{
    POD_TRY(prepare(m));
    POD_TRY(pod__import_write(h5_path, &m->info, fill, m, m->arena, m->options->log));
    warn(m);
    return POD_OK;
}

pod_status pod_import_cifar(const char *from, const char *h5_path,
                            const pod_import_cifar_options *options)
{
    intake m = {.from = from, .options = options};
    POD_TRY(pod_arena_create(NULL, &m.arena));
    const pod_status s = convert(&m, h5_path);
    pod_arena_destroy(m.arena);
    return s;
}
