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

enum { MAX_PATH_BYTES = 4096 };

pod_status pod__bad_image(const pod_bad_images *b, const char *path, const char *reason)
{
    if (!b->skip) return pod_fail(POD_E_FORMAT, "%s: %s", path, reason);
    pod_log_say(b->log, POD_LOG_WARNING, "%s: %s; left out", path, reason);
    return POD_OK;
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

static pod_status read_names(const char *folder, pod_arena *a, names *out)
{
    DIR *dir = opendir(folder);
    if (!dir)
        return pod_fail(POD_E_IO, "%s: cannot be read as a folder: %s", folder, strerror(errno));
    names list = {0};
    int64_t room = 0;
    pod_status s = POD_OK;
    errno = 0;
    for (struct dirent *e; s == POD_OK && (e = readdir(dir));)
        if (e->d_name[0] != '.') s = add_name(&list, &room, e->d_name, a);
    if (s == POD_OK && errno)
        s = pod_fail(POD_E_IO, "%s: cannot be read: %s", folder, strerror(errno));
    closedir(dir);
    if (s == POD_OK && list.n > 1) qsort(list.at, (size_t)list.n, sizeof *list.at, by_bytes);
    if (s == POD_OK) *out = list;
    return s;
}

static bool is_folder(const char *folder, const char *below)
{
    char path[MAX_PATH_BYTES];
    struct stat st;
    const int n = snprintf(path, sizeof path, "%s/%s", folder, below);
    return n < (int)sizeof path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The folders in a folder. */
static pod_status read_classes(const char *folder, pod_arena *a, names *out)
{
    names all, classes = {0};
    POD_TRY(read_names(folder, a, &all));
    classes.at = all.at;
    for (int64_t i = 0; i < all.n; i++)
        if (is_folder(folder, all.at[i])) classes.at[classes.n++] = all.at[i];
    *out = classes;
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

/* "above/below"; one of the two may be empty. NULL: no memory. */
static const char *join(pod_arena *a, const char *above, const char *below)
{
    return pod_arena_text(a, "%s%s%s", above, *above && *below ? "/" : "", below);
}

/* The images of a class, below `side`: "", "train" or "test". */
static pod_status list_class(lister *l, pod_split split, const char *side, const char *class_name,
                             int32_t label, int64_t *n_found)
{
    const char *below = join(l->arena, side, class_name);
    const char *path = below ? join(l->arena, l->folder, below) : NULL;
    names in;
    if (!path) return POD_E_NOMEM;
    POD_TRY(read_names(path, l->arena, &in));
    *n_found = in.n;
    if (in.n == 0) return pod__bad_image(l->bad, path, "a class folder without images");
    for (int64_t i = 0; i < in.n; i++) {
        pod_image_file f = {.label = label, .split = split};
        f.path = join(l->arena, below, in.at[i]);
        if (!f.path) return POD_E_NOMEM;
        f.name = f.path + strlen(below) + 1;
        POD_TRY(add_file(l, &f));
    }
    return POD_OK;
}

/* The classes are those of the training images (or of all, before a split); one without any image,
 * which was skipped, is none. */
static pod_status list_classes(lister *l, const char *side)
{
    const char *path = join(l->arena, l->folder, side);
    names classes = {0};
    if (!path) return POD_E_NOMEM;
    POD_TRY(read_classes(path, l->arena, &classes));
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
    POD_TRY(read_classes(path, l->arena, &classes));
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
        POD_TRY(pod__bad_image(l->bad, other, "a class that train does not have"));
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

static void sort_files(lister *l)
{
    if (l->n > 1) qsort(l->file, (size_t)l->n, sizeof *l->file, in_order);
}

/* Of n images in order, so many are for training. */
static int64_t n_to_train(int64_t n, double test_share)
{
    return n - (int64_t)llround((double)n * test_share);
}

static pod_status split_files(lister *l, const pod_image_split *split)
{
    int64_t *n_of = POD_ARENA_NEW(l->arena, int64_t, l->n_classes);
    int64_t *n_seen = POD_ARENA_NEW(l->arena, int64_t, l->n_classes);
    if (!n_of || !n_seen) return POD_E_NOMEM;
    sort_files(l);
    for (int64_t i = 0; i < l->n; i++) n_of[l->file[i].label]++;
    for (int64_t i = 0; i < l->n; i++) {
        const int32_t k = l->file[i].label;
        const int64_t at = split->by_class ? n_seen[k]++ : i, n = split->by_class ? n_of[k] : l->n;
        if (at >= n_to_train(n, split->test_share)) l->file[i].split = POD_SPLIT_TEST;
    }
    return POD_OK;
}

static pod_status check_splits(const lister *l, const pod_image_folder *f)
{
    for (int s = 0; s < POD_N_SPLITS; s++)
        if (f->n_split[s] == 0)
            return pod_fail(POD_E_FORMAT, "%s: %" PRId64 " images, none of them to %s", l->folder,
                            f->n, s == POD_SPLIT_TRAIN ? "train" : "test");
    return POD_OK;
}

static pod_status list_split_folder(lister *l, const char *test_folder)
{
    if (!is_folder(l->folder, test_folder))
        return pod_fail(POD_E_FORMAT, "%s: has a folder 'train' but none '%s' for the test",
                        l->folder, test_folder);
    POD_TRY(list_classes(l, "train"));
    return list_test(l, test_folder);
}

pod_status pod__image_folder_list(const char *folder, const pod_image_split *split,
                                  const pod_bad_images *bad, pod_arena *a, pod_image_folder *out)
{
    lister l = {.folder = folder, .bad = bad, .arena = a};
    if (is_folder(folder, "train")) {
        POD_TRY(list_split_folder(&l, split->test_folder));
    } else {
        POD_TRY(list_classes(&l, ""));
        POD_TRY(split_files(&l, split));
    }
    sort_files(&l);
    pod_image_folder f = {
        .file = l.file, .n = l.n, .n_classes = l.n_classes, .class_names = l.class_name};
    for (int64_t i = 0; i < l.n; i++) f.n_split[l.file[i].split]++;
    POD_TRY(check_splits(&l, &f));
    *out = f;
    return POD_OK;
}
