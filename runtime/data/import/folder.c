#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "runtime/data/import/list.h"

enum { MAX_DEPTH = 4 };

/* ---- names ----------------------------------------------------------------------------------- */

static bool is_in(const char *word, const char *const list[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(word, list[i]) == 0) return true;
    return false;
}

/* What desktops, archivers and servers leave, as files and as folders. */
static bool is_left_by_systems(const char *name)
{
    static const char *const names[] = {"__MACOSX",    "@eaDir",    "$RECYCLE.BIN",
                                        "lost+found",  "Thumbs.db", "desktop.ini",
                                        "__pycache__", "#recycle",  "System Volume Information"};
    return name[0] == '.' || is_in(name, names, sizeof names / sizeof names[0]);
}

/* Whether a file is none that anybody would take for an image. */
static bool is_no_image(const char *name)
{
    static const char *const names[] = {"README",     "LICENSE", "LICENCE", "COPYING",  "NOTICE",
                                        "SHA256SUMS", "MD5SUMS", "AUTHORS", "MANIFEST", "Makefile"};
    static const char *const endings[] = {"txt", "md",    "csv",  "tsv",    "json", "jsonl", "xml",
                                          "yml", "yaml",  "html", "htm",    "ini",  "db",    "log",
                                          "py",  "ipynb", "rst",  "sha256", "md5"};
    const char *dot = strrchr(name, '.');
    return is_left_by_systems(name) || is_in(name, names, sizeof names / sizeof names[0]) ||
           (dot && is_in(dot + 1, endings, sizeof endings / sizeof endings[0]));
}

static bool has_image_ending(const char *name)
{
    static const char *const endings[] = {"jpg", "jpeg", "png"};
    const char *dot = strrchr(name, '.');
    return dot && is_in(dot + 1, endings, sizeof endings / sizeof endings[0]);
}

/* ---- one folder ------------------------------------------------------------------------------ */

typedef struct names { /* what stands in a folder, in byte order */
    const char **at;
    int64_t n;
} names;

static pod_status add_name(names *list, const char *name, pod_arena *a)
{
    list->at = POD_ARENA_GROW(a, list->at, list->n);
    if (!list->at || !(list->at[list->n++] = pod_arena_text(a, "%s", name))) return POD_E_NOMEM;
    return POD_OK;
}

/* What fails is told without the folder's name, as pod__file_trouble tells it. */
static pod_status read_names(const char *folder, pod_arena *a, names *out)
{
    DIR *dir = opendir(folder);
    if (!dir) return pod__file_trouble("cannot be read as a folder", errno);
    names list = {0};
    pod_status s = POD_OK;
    while (s == POD_OK) {
        errno = 0; /* readdir says by it alone whether this is the end */
        const struct dirent *e = readdir(dir);
        if (!e && errno) s = pod__file_trouble("cannot be read as a folder", errno);
        if (!e) break;
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            s = add_name(&list, e->d_name, a);
    }
    closedir(dir);
    if (s == POD_OK && list.n > 1) qsort(list.at, (size_t)list.n, sizeof *list.at, pod__by_bytes);
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
    pod_bad_images *bad;
    pod_arena *arena;
    pod_image_list list;
    const char **class_name; /* (list.n_classes) */
} lister;

static pod_status add_file(lister *l, const pod_image_file *f)
{
    pod_image_list *list = &l->list;
    list->file = POD_ARENA_GROW(l->arena, list->file, list->n);
    if (!list->file) return POD_E_NOMEM;
    list->file[list->n++] = *f;
    return POD_OK;
}

static void ignore(lister *l, const char *path)
{
    if (l->list.n_ignored++ == 0) l->list.first_ignored = path;
}

/* The folders in l's folder, below `side`, that cannot be done without: of what cannot be looked at
 * anything might be one. Also counts the images that stand beside them. */
static pod_status read_classes(lister *l, const char *side, names *out, int64_t *n_images)
{
    names all, classes = {0};
    const char *folder = join(l->arena, l->list.folder, side);
    if (!folder) return POD_E_NOMEM;
    const pod_status s = read_names(folder, l->arena, &all);
    if (s != POD_OK)
        return pod_fail(s == POD_E_FORMAT ? POD_E_IO : s, "%s: %s", folder, pod_error_text());
    classes.at = all.at;
    *n_images = 0;
    for (int64_t i = 0; i < all.n; i++) {
        bool is_folder = false;
        const char *path = join(l->arena, folder, all.at[i]);
        if (!path) return POD_E_NOMEM;
        if (is_left_by_systems(all.at[i])) {
            ignore(l, path + strlen(l->list.folder) + 1);
            continue;
        }
        const pod_status looked = look_at(path, &is_folder);
        if (looked != POD_OK) POD_TRY(pod__bad_image(l->bad, path, looked, NULL));
        if (is_folder)
            classes.at[classes.n++] = all.at[i];
        else
            *n_images += has_image_ending(all.at[i]);
    }
    *out = classes;
    return POD_OK;
}

/* The images of a class folder, `below` the list's. */
static pod_status list_class(lister *l, pod_split split, const char *below, int32_t label,
                             int64_t *n_found)
{
    const char *path = join(l->arena, l->list.folder, below);
    const int64_t n_before = l->list.n;
    names in = {0};
    *n_found = 0;
    if (!path) return POD_E_NOMEM;
    const pod_status s = read_names(path, l->arena, &in);
    if (s != POD_OK) return pod__bad_image(l->bad, path, s, NULL);
    for (int64_t i = 0; i < in.n; i++) {
        pod_image_file f = {.label = label, .split = split};
        f.path = join(l->arena, below, in.at[i]);
        if (!f.path) return POD_E_NOMEM;
        f.name = f.path + strlen(below) + 1;
        if (is_no_image(f.name))
            ignore(l, f.path);
        else
            POD_TRY(add_file(l, &f));
    }
    *n_found = l->list.n - n_before;
    if (*n_found > 0) return POD_OK;
    return pod__bad_image(l->bad, path, POD_E_FORMAT, "a class folder without images");
}

/* Of a folder without classes: whoever has labels elsewhere is told the way. */
static pod_status fail_without_classes(const lister *l, const char *side, int64_t n_images)
{
    const char *path = join(l->arena, l->list.folder, side);
    char found[160] = "";
    if (!path) return POD_E_NOMEM;
    if (n_images > 0)
        snprintf(found, sizeof found,
                 "; the %" PRId64
                 " images that stand in it have no class: `data import list` takes "
                 "labels from a CSV file",
                 n_images);
    return pod_fail(POD_E_FORMAT, "%s: has no folders of images, one a class%s", path, found);
}

static int64_t find_class(const lister *l, const char *name)
{
    const int n = l->list.n_classes;
    return pod__class_name_find(l->class_name, n, pod__are_numbers(l->class_name, n), name);
}

/* The classes of a side: "", "train" or the test's. Those of the set are the training images' (or
 * all images', before a split); one without any image, which was skipped, is none. */
static pod_status list_side(lister *l, const char *side, pod_split split)
{
    const bool defines = split == POD_SPLIT_TRAIN;
    names classes = {0};
    int64_t n_images, n_found;
    POD_TRY(read_classes(l, side, &classes, &n_images));
    if (classes.n == 0) return fail_without_classes(l, side, n_images);
    if (classes.n > INT32_MAX)
        return pod_fail(POD_E_FORMAT, "%s: %" PRId64 " folders are too many", l->list.folder,
                        classes.n);
    l->list.n_stray += n_images;
    if (defines) l->list.by_number = pod__class_names_sort(classes.at, classes.n);
    if (defines) l->class_name = classes.at;
    for (int64_t i = 0; i < classes.n; i++) {
        const char *name = classes.at[i], *below = join(l->arena, side, name);
        const int64_t label = defines ? l->list.n_classes : find_class(l, name);
        if (!below) return POD_E_NOMEM;
        if (label >= 0) {
            POD_TRY(list_class(l, split, below, (int32_t)label, &n_found));
            if (defines && n_found > 0) l->class_name[l->list.n_classes++] = name;
            continue;
        }
        const char *path = join(l->arena, l->list.folder, below);
        if (!path) return POD_E_NOMEM;
        POD_TRY(pod__bad_image(l->bad, path, POD_E_FORMAT, "a class that train does not have"));
    }
    l->list.class_names = l->class_name;
    return POD_OK;
}

/* ---- what is left out ------------------------------------------------------------------------ */

/* How many files below a folder may be images. What cannot be read counts as nothing. */
static int64_t count_images(lister *l, const char *folder, int depth)
{
    names in = {0};
    int64_t n = 0;
    if (read_names(folder, l->arena, &in) != POD_OK) return 0;
    for (int64_t i = 0; i < in.n; i++) {
        bool is_folder = false;
        const char *path = is_no_image(in.at[i]) ? NULL : join(l->arena, folder, in.at[i]);
        if (!path || look_at(path, &is_folder) != POD_OK) continue;
        n += !is_folder ? 1 : depth < MAX_DEPTH ? count_images(l, path, depth + 1) : 0;
    }
    return n;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The folders beside train and, where it is not NULL, test. */
static pod_status list_others(lister *l, const struct stat *train, const struct stat *test)
{
    names all = {0};
    const pod_status s = read_names(l->list.folder, l->arena, &all);
    if (s != POD_OK) return pod_fail(s, "%s: %s", l->list.folder, pod_error_text());
    for (int64_t i = 0; i < all.n; i++) {
        struct stat st;
        const char *path = join(l->arena, l->list.folder, all.at[i]);
        if (!path) return POD_E_NOMEM;
        if (is_left_by_systems(all.at[i]) || stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) continue;
        if (is_same(&st, train) || (test && is_same(&st, test))) continue;
        const int64_t n = count_images(l, path, 0);
        if (n > 0) POD_TRY(pod__image_list_leave_out(&l->list, all.at[i], n, l->arena));
    }
    return POD_OK;
}

/* ---- the two layouts ------------------------------------------------------------------------- */

/* Whether `below` is a folder; what cannot be looked at and is nobody's fault here is none. */
static pod_status find_folder(const lister *l, const char *below, struct stat *st, bool *is_there)
{
    const char *path = join(l->arena, l->list.folder, below);
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
    const char *folder = l->list.folder;
    struct stat test;
    bool is_there;
    POD_TRY(find_folder(l, test_folder, &test, &is_there));
    POD_TRY(list_others(l, train, is_there ? &test : NULL));
    if (!is_there && l->list.left_out)
        return pod_fail(POD_E_FORMAT,
                        "%s: has a folder 'train' but none '%s' for the test; there are %s: "
                        "--test-folder takes one",
                        folder, test_folder, l->list.left_out);
    if (!is_there)
        return pod_fail(POD_E_FORMAT,
                        "%s: has a folder 'train' but none '%s' for the test; import %s/train, and "
                        "a share of its images becomes the test",
                        folder, test_folder, folder);
    if (is_same(&test, train))
        return pod_fail(POD_E_INVALID, "%s: '%s' is the folder 'train', which is no test of itself",
                        folder, test_folder);
    POD_TRY(list_side(l, "train", POD_SPLIT_TRAIN));
    return list_side(l, test_folder, POD_SPLIT_TEST);
}

/* Of classes full of folders: the images stand one level below, or 'train' has another name. */
static pod_status fail_of_folders(const lister *l)
{
    const char *folder = l->list.folder;
    char remedy[512] = "";
    if (l->list.n_classes == 1)
        snprintf(remedy, sizeof remedy, "; import %s/%s", folder, l->class_name[0]);
    for (int i = 0; i < l->list.n_classes && !*remedy; i++)
        if (strncasecmp(l->class_name[i], "train", 5) == 0)
            snprintf(remedy, sizeof remedy,
                     "; if '%s' is, rename it to 'train', or make a link (ln -s %s %s/train)",
                     l->class_name[i], l->class_name[i], folder);
    return pod_fail(POD_E_FORMAT, "%s: has folders of folders, but none of them is 'train'%s",
                    folder, remedy);
}

/* A folder that is split, but not by the name of 'train', would be classes full of folders. */
static pod_status list_class_folders(lister *l)
{
    struct stat st;
    POD_TRY(list_side(l, "", POD_SPLIT_TRAIN));
    for (int64_t i = 0; i < l->list.n; i++) {
        bool is_folder;
        POD_TRY(find_folder(l, l->list.file[i].path, &st, &is_folder));
        if (!is_folder) return POD_OK;
    }
    return l->list.n > 0 ? fail_of_folders(l) : POD_OK;
}

pod_status pod__image_folder_list(const char *folder, const char *test_folder, pod_bad_images *bad,
                                  pod_arena *a, pod_image_list *out)
{
    lister l = {.bad = bad, .arena = a, .list = {.folder = folder}};
    struct stat train;
    POD_TRY(find_folder(&l, "train", &train, &l.list.is_split));
    POD_TRY(l.list.is_split ? list_split_folder(&l, test_folder, &train) : list_class_folders(&l));
    pod__image_list_sort(&l.list);
    *out = l.list;
    return POD_OK;
}

pod_status pod__image_folder_list_flat(const char *folder, pod_arena *a, pod_image_list *out)
{
    lister l = {.arena = a, .list = {.folder = folder}};
    names in = {0};
    bool has_image = false;
    const pod_status s = read_names(folder, a, &in);
    if (s != POD_OK)
        return pod_fail(s == POD_E_FORMAT ? POD_E_IO : s, "%s: %s", folder, pod_error_text());
    for (int64_t i = 0; i < in.n; i++) {
        const pod_image_file f = {.path = in.at[i], .name = in.at[i]};
        bool is_folder = false;
        const char *path = join(a, folder, f.name);
        if (!path) return POD_E_NOMEM;
        /* Decoding reports a file that cannot be looked at. */
        if (is_no_image(f.name) || (look_at(path, &is_folder) == POD_OK && is_folder)) continue;
        has_image = has_image || has_image_ending(f.name);
        POD_TRY(add_file(&l, &f));
    }
    if (!has_image) l.list.n = 0;
    pod__image_list_sort(&l.list);
    *out = l.list;
    return POD_OK;
}
