#include "runtime/checkpoint/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/file.h"

pod_status pod_disk_path(char out[POD_DISK_PATH_BYTES], const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int n = vsnprintf(out, POD_DISK_PATH_BYTES, fmt, args);
    va_end(args);
    if (n < 0 || n >= POD_DISK_PATH_BYTES)
        return pod_fail(POD_E_INVALID, "the path '%.40s...' is too long", out);
    return POD_OK;
}

/* ---- operations, counted: 0, or -1 with errno ---- */

static void count(pod_disk *d)
{
    if (++d->n != d->kill_at) return;
    if (d->strikes) d->strikes(d->to, true);
    kill(getpid(), SIGKILL);
}

/* One that may need space. */
static bool has_space(pod_disk *d)
{
    count(d);
    if (d->full_from == 0 || d->n < d->full_from) return true;
    if (d->strikes && !d->is_full) d->strikes(d->to, false);
    d->is_full = true;
    errno = ENOSPC;
    return false;
}

/* Nobody else's while it is open. */
static int open_new(pod_disk *d, const char *path)
{
    if (!has_space(d)) return -1;
    const int fd = pod_part_open(path);
    if (fd < 0 || ftruncate(fd, 0) == 0) return fd;
    const int why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int write_all(pod_disk *d, int fd, const char *data, size_t bytes)
{
    for (size_t at = 0, end = 0; at < bytes;) {
        if (at == end) {
            if (!has_space(d)) return -1;
            end = bytes - at < POD_DISK_PIECE ? bytes : at + POD_DISK_PIECE;
        }
        const ssize_t n = write(fd, data + at, end - at);
        if (n < 0 && errno != EINTR) return -1;
        if (n > 0) at += (size_t)n;
    }
    return 0;
}

static int sync_open(pod_disk *d, int fd)
{
    if (!has_space(d)) return -1;
    return d->is_memory ? 0 : fsync(fd);
}

static int rename_one(pod_disk *d, const char *from, const char *to)
{
    return has_space(d) ? rename(from, to) : -1;
}

/* A file, or an empty folder. */
static int remove_one(pod_disk *d, const char *path)
{
    count(d);
    return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

/* ---- what is made of them ---- */

static pod_status fail(pod_status s, const char *path, const char *what)
{
    return pod_fail(s, "%s: cannot %s: %s", path, what, pod_part_reason(errno));
}

static pod_status not_written(const char *path, const char *what)
{
    return fail(POD_E_WRITE, path, what);
}

/* On a full disk not even a folder can be made. */
static pod_status refused(const char *path, const char *what)
{
    return fail(errno == ENOSPC || errno == EDQUOT ? POD_E_WRITE : POD_E_IO, path, what);
}

/* Renamed under the lock; and what was begun is removed under it, not another's. */
static pod_status write_open(pod_disk *d, int fd, const char *part, const char *path,
                             const void *data, size_t bytes, bool lasting)
{
    pod_status s = POD_OK;
    if (write_all(d, fd, data, bytes) != 0 || (lasting && sync_open(d, fd) != 0))
        s = not_written(part, "write");
    else if (rename_one(d, part, path) != 0)
        s = not_written(path, "be named");
    if (s != POD_OK) (void)remove_one(d, part);
    return s;
}

pod_status pod_disk_write(pod_disk *d, const char *path, const void *data, size_t bytes,
                          bool lasting)
{
    char part[POD_DISK_PATH_BYTES];
    POD_TRY(pod_disk_path(part, "%s" POD_FILE_PART, path));
    const int fd = open_new(d, part);
    if (fd < 0) return refused(part, "be made");
    const pod_status s = write_open(d, fd, part, path, data, bytes, lasting);
    if (close(fd) != 0 && s == POD_OK) return not_written(path, "write");
    return s;
}

pod_status pod_disk_rename(pod_disk *d, const char *from, const char *to)
{
    return rename_one(d, from, to) == 0 ? POD_OK : refused(from, "be renamed");
}

static bool is_taken(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 || errno != ENOENT;
}

pod_status pod_disk_put_aside(pod_disk *d, const char *from, const char *to,
                              char named[POD_DISK_PATH_BYTES])
{
    enum { MOST = 10000 };
    POD_TRY(pod_disk_path(named, "%s", to));
    for (int i = 2; is_taken(named); i++) {
        if (i > MOST) return pod_fail(POD_E_IO, "%s: %d are there already", to, MOST);
        POD_TRY(pod_disk_path(named, "%s.%d", to, i));
    }
    return pod_disk_rename(d, from, named);
}

pod_status pod_disk_sync(pod_disk *d, const char *folder)
{
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return refused(folder, "be opened");
    const int done = sync_open(d, fd);
    /* File systems that do not sync a folder leave nothing more to do. */
    const bool ok = done == 0 || errno == EINVAL || errno == ENOTSUP;
    const pod_status s = ok ? POD_OK : not_written(folder, "be synced");
    close(fd);
    return s;
}

pod_status pod_disk_make(pod_disk *d, const char *folder)
{
    if (has_space(d) && (mkdir(folder, 0777) == 0 || errno == EEXIST)) return POD_OK;
    return refused(folder, "be made");
}

static pod_status remove_files(pod_disk *d, DIR *files, const char *folder)
{
    char path[POD_DISK_PATH_BYTES];
    for (const struct dirent *e = readdir(files); e; e = readdir(files)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        POD_TRY(pod_disk_path(path, "%s/%s", folder, e->d_name));
        if (remove_one(d, path) != 0) return refused(path, "be removed");
    }
    return POD_OK;
}

pod_status pod_disk_remove(pod_disk *d, const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0) return errno == ENOENT ? POD_OK : refused(path, "be removed");
    DIR *files = S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    if (!files) return remove_one(d, path) == 0 ? POD_OK : refused(path, "be removed");
    const pod_status s = remove_files(d, files, path);
    closedir(files);
    if (s != POD_OK) return s;
    return remove_one(d, path) == 0 ? POD_OK : refused(path, "be removed");
}
