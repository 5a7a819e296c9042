#include "runtime/data/image_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WHY_BYTES = 256 };

/* ---- what cannot be used --------------------------------------------------------------------- */

pod_status pod__bad_image(const pod_bad_images *b, const char *path, pod_status s,
                          const char *reason)
{
    if (s != POD_E_FORMAT || !b->skip) return pod_fail(s, "%s: %s", path, reason);
    pod_log_say(b->log, POD_LOG_WARNING, "%s: %s; left out", path, reason);
    return POD_OK;
}

/* The same of the failure on record, whose text the log might replace. */
static pod_status bad_folder(const pod_bad_images *b, const char *path, pod_status s)
{
    char why[WHY_BYTES];
    snprintf(why, sizeof why, "%s", pod_error_text());
    return pod__bad_image(b, path, s, why);
}

pod_status pod__file_trouble(const char *what, int error)
{
    static const int of_one_file[] = {ENOENT, ENOTDIR,      EACCES, EPERM, ELOOP,
                                      EISDIR, ENAMETOOLONG, ENXIO,  ENODEV};
    pod_status s = error == ENOMEM ? POD_E_NOMEM : POD_E_IO;
    for (size_t i = 0; i < sizeof of_one_file / sizeof of_one_file[0]; i++)
        if (error == of_one_file[i]) s = POD_E_FORMAT;
    return pod_fail(s, "%s: %s", what, strerror(error));
}

/* ---- one folder ------------------------------------------------------------------------------ */

typedef struct names { /* what stands in a folder, in byte order */
    const char **at;
    int64_t n;
} names;

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static pod_status add_name(names *list, int64_t *room, const char *name, pod_arena *a)
{
    if (list->n == *room) {
        *room = *room ? 2 * *room : 64;
        const char **more = POD_ARENA_NEW(a, const char *, *room);
        if (!more) return POD_E_NOMEM;
        if (list->n) memcpy(more, list->at, (size_t)list->n * sizeof *more);
        list->at = more;
    }
    const char *own = pod_arena_text(a, "%s", name);
    if (!own) return POD_E_NOMEM;
    list->at[list->n++] = own;
    return POD_OK;
}

/* What fails is told without the folder's name, as pod__file_trouble tells it. */
static pod_status read_names(const char *folder, pod_arena *a, names *out)
{
    DIR *dir = opendir(folder);
    if (!dir) return pod__file_trouble("cannot be read as a folder", errno);
    names list = {0};
    int64_t room = 0;
    pod_status s = POD_OK;
    while (s == POD_OK) {
        errno = 0; /* readdir says by it alone whether this is the end */
        const struct dirent *e = readdir(dir);
        if (!e && errno) s = pod__file_trouble("cannot be read as a folder", errno);
        if (!e) break;
        if (e->d_name[0] != '.') s = add_name(&list, &room, e->d_name, a);
    }
    closedir(dir);
    if (s == POD_OK && list.n > 1) qsort(list.at, (size_t)list.n, sizeof *list.at, by_bytes);
    if (s == POD_OK) *out = list;
    return s;
}

/* "above/below"; one of the two may be empty. NULL: no memory. */
static const char *join(pod_arena *a, const char *above, const char *below)
{
    return pod_arena_text(a, "%s%s%s", above, *above && *below ? "/" : "", below);
}

/* A failure is told without the name. */
static pod_status look_at(const char *path, bool *is_folder)
{
    struct stat st;
    if (stat(path, &st) != 0) return pod__file_trouble("cannot be looked at", errno);
    *is_folder = S_ISDIR(st.st_mode);
    return POD_OK;
}

/* ---- the list -------------------------------------------------------------------------------- */

typedef struct lister {
    const char *folder;
    const pod_bad_images *bad;
    pod_arena *arena;
    pod_image_file *file; /* grows by copying */
    int64_t n, room;
    const char **class_name;
    int n_classes;
} lister;

static pod_status add_file(lister *l, const pod_image_file *f)
{
    if (l->n == l->room) {
        l->room = l->room ? 2 * l->room : 256;
        pod_image_file *more = POD_ARENA_NEW(l->arena, pod_image_file, l->room);
        if (!more) return POD_E_NOMEM;
        if (l->n) memcpy(more, l->file, (size_t)l->n * sizeof *more);
        l->file = more;
    }
    l->file[l->n++] = *f;
    return POD_OK;
}

/* The folders in one that cannot be done without. What cannot be looked at might be a class. */
static pod_status read_classes(const lister *l, const char *folder, names *out)
{
    names all, classes = {0};
    const pod_status s = read_names(folder, l->arena, &all);
    if (s != POD_OK)
        return pod_fail(s == POD_E_FORMAT ? POD_E_IO : s, "%s: %s", folder, pod_error_text());
    classes.at = all.at;
    for (int64_t i = 0; i < all.n; i++) {
        bool is_folder = false;
        const char *path = join(l->arena, folder, all.at[i]);
        if (!path) return POD_E_NOMEM;
        const pod_status looked = look_at(path, &is_folder);
        if (looked != POD_OK) POD_TRY(bad_folder(l->bad, path, looked));
        if (is_folder) classes.at[classes.n++] = all.at[i];
    }
    *out = classes;
    return POD_OK;
}

/* The images of a class, below `side`: "", "train" or "test". */
static pod_status list_class(lister *l, pod_split split, const char *side, const char *class_name,
                             int32_t label, int64_t *n_found)
{
    const char *below = join(l->arena, side, class_name);
    const char *path = below ? join(l->arena, l->folder, below) : NULL;
    names in = {0};
    *n_found = 0;
    if (!path) return POD_E_NOMEM;
    const pod_status s = read_names(path, l->arena, &in);
    if (s != POD_OK) return bad_folder(l->bad, path, s);
    if (in.n == 0)
        return pod__bad_image(l->bad, path, POD_E_FORMAT, "a class folder without images");
    for (int64_t i = 0; i < in.n; i++) {
        pod_image_file f = {.label = label, .split = split};
        f.path = join(l->arena, below, in.at[i]);
        if (!f.path) return POD_E_NOMEM;
        f.name = f.path + strlen(below) + 1;
        POD_TRY(add_file(l, &f));
    }
    *n_found = in.n;
    return POD_OK;
}

/* The classes are those of the training images (or of all, before a split); one without any image,
 * which was skipped, is none. */
static pod_status list_classes(lister *l, const char *side)
{
    const char *path = join(l->arena, l->folder, side);
    names classes = {0};
    if (!path) return POD_E_NOMEM;
    POD_TRY(read_classes(l, path, &classes));
    if (classes.n == 0)
        return pod_fail(POD_E_FORMAT, "%s: has no folders of images, one a class", path);
    if (classes.n > INT32_MAX)
        return pod_fail(POD_E_FORMAT, "%s: %" PRId64 " folders are too many", path, classes.n);
    l->class_name = classes.at;
    for (int64_t i = 0; i < classes.n; i++) {
        int64_t n_found;
        POD_TRY(
            list_class(l, POD_SPLIT_TRAIN, side, classes.at[i], (int32_t)l->n_classes, &n_found));
        if (n_found > 0) l->class_name[l->n_classes++] = classes.at[i];
    }
    return POD_OK;
}

static pod_status list_test(lister *l, const char *side)
{
    const char *path = join(l->arena, l->folder, side);
    names classes = {0};
    if (!path) return POD_E_NOMEM;
    POD_TRY(read_classes(l, path, &classes));
    for (int64_t i = 0; i < classes.n; i++) {
        int64_t n_found;
        const char **known = bsearch(&classes.at[i], l->class_name, (size_t)l->n_classes,
                                     sizeof *l->class_name, by_bytes);
        if (known) {
            POD_TRY(list_class(l, POD_SPLIT_TEST, side, classes.at[i],
                               (int32_t)(known - l->class_name), &n_found));
            continue;
        }
        const char *other = join(l->arena, path, classes.at[i]);
        if (!other) return POD_E_NOMEM;
        POD_TRY(pod__bad_image(l->bad, other, POD_E_FORMAT, "a class that train does not have"));
    }
    return POD_OK;
}

/* ---- order and split ------------------------------------------------------------------------- */

static const char *skip_zeros(const char *p)
{
    while (*p == '0' && isdigit((unsigned char)p[1])) p++;
    return p;
}

/* Bytes, but a run of digits by its value. */
static int compare_names(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a = skip_zeros(a);
            b = skip_zeros(b);
            const size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            const int order = n != m ? (n < m ? -1 : 1) : strncmp(a, b, n);
            if (order) return order;
            a += n;
            b += m;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return (*a != 0) - (*b != 0);
}

static int in_order(const void *a, const void *b)
{
    const pod_image_file *x = a, *y = b;
    if (x->split != y->split) return x->split < y->split ? -1 : 1;
    const int names_order = compare_names(x->name, y->name);
    return names_order ? names_order : strcmp(x->path, y->path);
}

/* Of n images in order, so many are for training. */
static int64_t n_to_train(int64_t n, double test_share)
{
    return n - (int64_t)llround((double)n * test_share);
}

static void sort_and_count(pod_image_folder *f)
{
    if (f->n > 1) qsort(f->file, (size_t)f->n, sizeof *f->file, in_order);
    memset(f->n_split, 0, sizeof f->n_split);
    for (int64_t i = 0; i < f->n; i++) f->n_split[f->file[i].split]++;
}

static pod_status split_files(const pod_image_split *split, pod_arena *a, pod_image_folder *f)
{
    int64_t *n_of = POD_ARENA_NEW(a, int64_t, f->n_classes);
    int64_t *n_seen = POD_ARENA_NEW(a, int64_t, f->n_classes);
    if (!n_of || !n_seen) return POD_E_NOMEM;
    for (int64_t i = 0; i < f->n; i++) n_of[f->file[i].label]++;
    for (int64_t i = 0; i < f->n; i++) {
        const int32_t k = f->file[i].label;
        const int64_t at = split->by_class ? n_seen[k]++ : i, n = split->by_class ? n_of[k] : f->n;
        if (at >= n_to_train(n, split->test_share)) f->file[i].split = POD_SPLIT_TEST;
    }
    return POD_OK;
}

static pod_status check_splits(const pod_image_folder *f)
{
    for (int s = 0; s < POD_N_SPLITS; s++)
        if (f->n > 0 && f->n_split[s] == 0)
            return pod_fail(POD_E_FORMAT, "%s: %" PRId64 " file%s, none of them to %s", f->path,
                            f->n, f->n == 1 ? "" : "s", s == POD_SPLIT_TRAIN ? "train" : "test");
    return f->n > 0 ? POD_OK : pod_fail(POD_E_FORMAT, "%s: no image is left", f->path);
}

pod_status pod__image_folder_split(const pod_image_split *split, pod_arena *a, pod_image_folder *f)
{
    if (!f->is_split) POD_TRY(split_files(split, a, f));
    sort_and_count(f);
    return check_splits(f);
}

/* ---- the two layouts ------------------------------------------------------------------------- */

/* Whether `below` is a folder; what cannot be looked at and is nobody's fault here is none. */
static pod_status find_folder(const lister *l, const char *below, struct stat *st, bool *is_there)
{
    const char *path = join(l->arena, l->folder, below);
    if (!path) return POD_E_NOMEM;
    *is_there = stat(path, st) == 0;
    if (*is_there) {
        *is_there = S_ISDIR(st->st_mode);
        return POD_OK;
    }
    const pod_status s = pod__file_trouble("cannot be looked at", errno);
    return s == POD_E_FORMAT ? POD_OK : pod_fail(s, "%s: %s", path, pod_error_text());
}

static pod_status list_split_folder(lister *l, const char *test_folder, const struct stat *train)
{
    struct stat test;
    bool is_there;
    POD_TRY(find_folder(l, test_folder, &test, &is_there));
    if (!is_there)
        return pod_fail(POD_E_FORMAT, "%s: has a folder 'train' but none '%s' for the test",
                        l->folder, test_folder);
    if (test.st_dev == train->st_dev && test.st_ino == train->st_ino)
        return pod_fail(POD_E_INVALID, "%s: '%s' is the folder 'train', which is no test of itself",
                        l->folder, test_folder);
    POD_TRY(list_classes(l, "train"));
    return list_test(l, test_folder);
}

/* A folder that is split, but not by the name of 'train', would be classes full of folders. */
static pod_status list_class_folders(lister *l)
{
    struct stat st;
    POD_TRY(list_classes(l, ""));
    for (int64_t i = 0; i < l->n; i++) {
        bool is_folder;
        POD_TRY(find_folder(l, l->file[i].path, &st, &is_folder));
        if (!is_folder) return POD_OK;
    }
    if (l->n == 0) return POD_OK;
    return pod_fail(POD_E_FORMAT, "%s: has folders of folders, but none of them is 'train'",
                    l->folder);
}

pod_status pod__image_folder_list(const char *folder, const char *test_folder,
                                  const pod_bad_images *bad, pod_arena *a, pod_image_folder *out)
{
    lister l = {.folder = folder, .bad = bad, .arena = a};
    struct stat train;
    bool is_split;
    POD_TRY(find_folder(&l, "train", &train, &is_split));
    POD_TRY(is_split ? list_split_folder(&l, test_folder, &train) : list_class_folders(&l));
    pod_image_folder f = {.path = folder,
                          .file = l.file,
                          .n = l.n,
                          .is_split = is_split,
                          .n_classes = l.n_classes,
                          .class_names = l.class_name};
    sort_and_count(&f);
    *out = f;
    return POD_OK;
}
