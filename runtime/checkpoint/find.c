#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/checkpoint/parts.h"
#include "runtime/core/file.h"

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool is_there(const char *dir, const char *name)
{
    char path[POD_DISK_PATH_BYTES];
    struct stat st;
    return pod_disk_path(path, "%s/%s", dir, name) == POD_OK && stat(path, &st) == 0;
}

/* ---- the folders of a directory ---- */

typedef struct candidate {
    int64_t step;
    pod__checkpoint_kind kind; /* WHOLE or OLD */
} candidate;

/* Later steps first; what replaces before what is replaced. */
static int by_age(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->step != y->step) return x->step > y->step ? -1 : 1;
    return (int)y->kind - (int)x->kind;
}

/* Up to `room` of them into `out`; how many there are. */
static int scan(DIR *dir, candidate out[], int room)
{
    int n = 0;
    rewinddir(dir);
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        candidate c;
        c.kind = pod__checkpoint_folder_parse(e->d_name, &c.step);
        if (c.kind != POD__CHECKPOINT_OLD && c.kind != POD__CHECKPOINT_WHOLE) continue;
        if (n < room) out[n] = c;
        n++;
    }
    return n;
}

static pod_status list_folders(const char *where, pod_arena *a, candidate **out, int *n)
{
    DIR *dir = opendir(where);
    if (!dir) return pod_fail(POD_E_IO, "%s: %s", where, strerror(errno));
    const int room = scan(dir, NULL, 0);
    candidate *c = POD_ARENA_NEW(a, candidate, room);
    if (c) *n = scan(dir, c, room);
    closedir(dir);
    if (!c) return POD_E_NOMEM;
    if (*n > room) *n = room; /* one more was made meanwhile */
    qsort(c, (size_t)*n, sizeof *c, by_age);
    *out = c;
    return POD_OK;
}

/* ---- which comes first ---- */

/* False where nothing points anywhere. */
static bool read_latest(const char *where, pod_log *log, int64_t *step)
{
    char path[POD_DISK_PATH_BYTES];
    if (!is_there(where, "latest") || pod_disk_path(path, "%s/latest", where) != POD_OK)
        return false;
    if (pod__latest_read(path, step) == POD_OK) return true;
    if (log)
        pod_log_say(log, POD_LOG_WARNING, "%s; the checkpoint of the most steps is tried",
                    pod_error_text());
    return false;
}

static pod_status put_in_order(const char *where, const candidate c[], int n, int n_later,
                               pod_arena *a, pod_checkpoint_list *out)
{
    char name[POD__CHECKPOINT_FOLDER_BYTES];
    const char **folder = POD_ARENA_NEW(a, const char *, n);
    if (!folder) return POD_E_NOMEM;
    for (int i = 0; i < n; i++) {
        const candidate *at = &c[(i + n_later) % n];
        folder[i] =
            pod_arena_text(a, "%s/%s", where, pod__checkpoint_folder(at->step, at->kind, name));
        if (!folder[i]) return POD_E_NOMEM;
    }
    *out = (pod_checkpoint_list){.where = where, .n = n, .folder = folder};
    return POD_OK;
}

static pod_status find_in(const char *where, pod_arena *a, pod_log *log, pod_checkpoint_list *out)
{
    candidate *c = NULL;
    int64_t latest;
    int n = 0, n_later = 0;
    POD_TRY(list_folders(where, a, &c, &n));
    if (n > 0 && read_latest(where, log, &latest))
        while (n_later < n && c[n_later].step > latest) n_later++;
    return put_in_order(where, c, n, n_later, a, out);
}

/* ---- what the path is ---- */

static pod_status find_one(const char *folder, pod_arena *a, pod_checkpoint_list *out)
{
    const char **one = POD_ARENA_NEW(a, const char *, 1);
    if (!one) return POD_E_NOMEM;
    *one = folder;
    *out = (pod_checkpoint_list){.where = folder, .n = 1, .folder = one};
    return POD_OK;
}

/* Where DIR/best or DIR/latest points to. */
static pod_status find_pointed(const char *path, const char *dir, pod_arena *a,
                               pod_checkpoint_list *out)
{
    char name[POD__CHECKPOINT_FOLDER_BYTES];
    int64_t step;
    POD_TRY(pod__latest_read(path, &step));
    const char *folder =
        pod_arena_text(a, "%s/%s", dir, pod__checkpoint_folder(step, POD__CHECKPOINT_WHOLE, name));
    if (!folder) return POD_E_NOMEM;
    if (!is_folder(folder))
        return pod_fail(POD_E_IO, "%s: names %s, which is not there any more", path, name);
    return find_one(folder, a, out);
}

static const char *directory_of(const char *path, pod_arena *a)
{
    const char *name = pod_path_name(path);
    return name == path ? "." : pod_arena_text(a, "%.*s", (int)(name - path - 1), path);
}

int64_t pod_checkpoint_best(const char *run)
{
    char path[POD_DISK_PATH_BYTES];
    pod_checkpoint_list list;
    pod_arena *a;
    int64_t step = -1;
    if (pod_arena_create(NULL, &a) != POD_OK) return -1;
    if (pod_disk_path(path, "%s/checkpoint/best", run) == POD_OK &&
        pod_checkpoint_find(path, a, NULL, &list) == POD_OK)
        (void)pod__checkpoint_folder_parse(pod_path_name(list.folder[0]), &step);
    pod_arena_destroy(a);
    return step;
}

static pod_status find_by_file(const char *path, pod_arena *a, pod_checkpoint_list *out)
{
    const char *name = pod_path_name(path);
    if (strcmp(name, "best") == 0 || strcmp(name, "latest") == 0) {
        const char *dir = directory_of(path, a);
        return dir ? find_pointed(path, dir, a, out) : POD_E_NOMEM;
    }
    if (strcmp(name, "index.h5") != 0)
        return pod_fail(POD_E_FORMAT,
                        "%s: is no checkpoint: need a run's folder, a checkpoint's, or its "
                        "index.h5",
                        path);
    const char *folder = directory_of(path, a);
    if (!folder) return POD_E_NOMEM;
    return find_one(folder, a, out);
}

pod_status pod_checkpoint_find(const char *path, pod_arena *a, pod_log *log,
                               pod_checkpoint_list *out)
{
    struct stat st;
    int64_t step;
    if (stat(path, &st) != 0) return pod_fail(POD_E_IO, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode)) return find_by_file(path, a, out);
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    const char *where = pod_arena_text(a, "%.*s", (int)length, path);
    if (!where) return POD_E_NOMEM;
    const pod__checkpoint_kind kind = pod__checkpoint_folder_parse(pod_path_name(where), &step);
    if (kind == POD__CHECKPOINT_PART)
        return pod_fail(POD_E_FORMAT, "%s: is a checkpoint that was not finished", where);
    if (kind == POD__CHECKPOINT_GONE)
        return pod_fail(POD_E_FORMAT, "%s: is a checkpoint that was being removed", where);
    if (kind != POD__CHECKPOINT_NONE || is_there(where, "manifest.json"))
        return find_one(where, a, out);
    const char *inside = pod_arena_text(a, "%s/checkpoint", where);
    if (!inside) return POD_E_NOMEM;
    return find_in(is_folder(inside) ? inside : where, a, log, out);
}
