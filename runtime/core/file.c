#define _GNU_SOURCE /* realpath, F_OFD_SETLK */
#include "runtime/core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_PATH_BYTES = 4096 };

struct pod_file {
    FILE *stream;
    char *path;
    char *part;            /* where it is written; the path itself: held; NULL: written directly */
    bool is_whole_or_none; /* no later process goes on with a part of it */
};

static void release(pod_file *f)
{
    free(f->path);
    free(f->part);
    free(f);
}

static char *join(const char *a, const char *b)
{
    size_t bytes = strlen(a) + strlen(b) + 1;
    char *text = malloc(bytes);
    if (text) snprintf(text, bytes, "%s%s", a, b);
    return text;
}

/* A rename would put a file where a device was: /dev/null, or /dev/stdout that links to one. */
static pod_status check_replaceable(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0 || S_ISREG(st.st_mode)) return POD_OK;
    const char *kind = S_ISDIR(st.st_mode)   ? "a directory"
                       : S_ISLNK(st.st_mode) ? "a symbolic link"
                                             : "no regular file";
    return pod_fail(POD_E_IO, "%s: cannot write a file: it is %s", path, kind);
}

/* ---- one writer at a time ---- */

bool pod_part_is_named(int fd, const char *part)
{
    struct stat own, named;
    return fstat(fd, &own) == 0 && stat(part, &named) == 0 && own.st_dev == named.st_dev &&
           own.st_ino == named.st_ino;
}

/* A lock of the open file, not of the process: it stays when the process closes the same file by
 * another descriptor, as HDF5 does, and does not meet flock's, which HDF5 takes. */
static bool is_lock_refused(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &lock) != 0 && (errno == EAGAIN || errno == EACCES);
}

static int open_locked(const char *name, int flags)
{
    const int fd = open(name, O_RDWR | O_CLOEXEC | flags, 0666);
    if (fd < 0) return -1;
    const bool is_refused = is_lock_refused(fd);
    /* Whoever had the lock may have renamed the file before it let go: then this is its result. */
    if (!is_refused && pod_part_is_named(fd, name)) return fd;
    close(fd);
    errno = EBUSY;
    return -1;
}

/* Those that only ask whether a file can be written have it for an instant: hence several tries. */
static int open_alone(const char *name, int flags)
{
    enum { MOST_TRIES = 20 };
    const struct timespec pause = {.tv_nsec = 1000000};
    int fd = open_locked(name, flags);
    for (int i = 1; fd < 0 && errno == EBUSY && i < MOST_TRIES; i++) {
        nanosleep(&pause, NULL);
        fd = open_locked(name, flags);
    }
    return fd;
}

int pod_part_open(const char *part) { return open_alone(part, O_CREAT); }

const char *pod_part_reason(int error)
{
    return error == EBUSY ? "another process is writing it" : strerror(error);
}

static FILE *open_stream(int fd)
{
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "r+");
    if (stream || fd < 0) return stream;
    const int reason = errno;
    close(fd);
    errno = reason;
    return NULL;
}

static bool is_locked(const char *name)
{
    const int fd = open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const bool taken = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    close(fd);
    return taken;
}

bool pod_file_is_taken(const char *path)
{
    char *part = join(path, POD_FILE_PART);
    const bool taken = is_locked(path) || (part && is_locked(part));
    free(part);
    return taken;
}

static pod_status cannot_write(pod_status s, const char *path)
{
    return pod_fail(s, "%s: cannot write: %s", path, pod_part_reason(errno));
}

static bool has_bytes(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && st.st_size > 0;
}

/* `ending` behind the path: where it is written until it is closed. */
static pod_status open_part(const char *path, const char *ending, pod_file **out)
{
    if (path[0] == '\0') return pod_fail(POD_E_IO, "cannot write a file without a name");
    if (*ending) POD_TRY(check_replaceable(path));
    pod_file *f = calloc(1, sizeof *f);
    if (!f) return pod_fail(POD_E_NOMEM, "%s: out of memory", path);
    f->path = join(path, "");
    f->part = join(path, ending);
    if (!f->path || !f->part) {
        release(f);
        return pod_fail(POD_E_NOMEM, "%s: out of memory", path);
    }
    f->stream = open_stream(pod_part_open(f->part));
    if (!f->stream) {
        pod_status s = cannot_write(POD_E_IO, path);
        release(f);
        return s;
    }
    *out = f;
    return POD_OK;
}

pod_status pod_file_hold(const char *path, pod_file **out) { return open_part(path, "", out); }

/* A device that something links to cannot be made shorter, and need not be. Flushed last, so that
 * the descriptor stands where the stream does. */
pod_status pod_file_cut(pod_file *f, int64_t bytes)
{
    struct stat st;
    const int fd = fileno(f->stream);
    const bool is_file = fstat(fd, &st) != 0 || S_ISREG(st.st_mode);
    if (is_file && (ftruncate(fd, (off_t)bytes) != 0 ||
                    fseeko(f->stream, (off_t)bytes, SEEK_SET) != 0 || fflush(f->stream) != 0))
        return cannot_write(POD_E_WRITE, f->path);
    return POD_OK;
}

pod_status pod_file_open(const char *path, pod_file **out)
{
    pod_file *f;
    POD_TRY(open_part(path, POD_FILE_PART, &f));
    f->is_whole_or_none = true;
    const pod_status s = pod_file_cut(f, 0);
    if (s == POD_OK)
        *out = f;
    else
        pod_file_abandon(f);
    return s;
}

FILE *pod_file_stream(pod_file *f) { return f->stream; }

/* A rename is durable once the directory's entry is. File systems that refuse to sync a directory
 * leave nothing more to do. */
static const char *directory_of(const char *path, char dir[MAX_PATH_BYTES])
{
    snprintf(dir, MAX_PATH_BYTES, "%s", path);
    char *slash = strrchr(dir, '/');
    if (slash == dir) slash++;
    if (slash) *slash = '\0';
    return slash ? dir : ".";
}

static void sync_directory_of(const char *path)
{
    char dir[MAX_PATH_BYTES];
    int fd = open(directory_of(path, dir), O_RDONLY);
    if (fd < 0) return;
    (void)fsync(fd);
    close(fd);
}

/* Renamed under the lock, so that nobody begins the part anew in between. 0, or errno; -1 where
 * the stream keeps no reason. */
static int finish(pod_file *f)
{
    errno = 0;
    if (fflush(f->stream) != 0 || ferror(f->stream)) return errno ? errno : -1;
    if (!f->part) return 0;
    if (fsync(fileno(f->stream)) != 0) return errno;
    if (!pod_part_is_named(fileno(f->stream), f->part)) return ESTALE;
    if (rename(f->part, f->path) != 0) return errno;
    sync_directory_of(f->path);
    return 0;
}

static const char *reason_of(int error)
{
    if (error == ESTALE) return "somebody removed or replaced it meanwhile";
    return error == -1 ? "an earlier write failed" : strerror(error);
}

static void remove_part(const pod_file *f)
{
    if (pod_part_is_named(fileno(f->stream), f->part)) unlink(f->part);
}

pod_status pod_file_close(pod_file *f)
{
    int error = finish(f);
    if (error != 0 && f->is_whole_or_none) remove_part(f);
    if (fclose(f->stream) != 0 && error == 0 && !f->part) error = errno; /* others are synced */
    const pod_status s =
        error == 0 ? POD_OK
                   : pod_fail(POD_E_WRITE, "%s: cannot write: %s", f->path, reason_of(error));
    release(f);
    return s;
}

void pod_file_abandon(pod_file *f)
{
    if (!f) return;
    if (f->part && (f->is_whole_or_none || !has_bytes(f->part))) remove_part(f);
    fclose(f->stream);
    release(f);
}

pod_status pod_file_check(const char *path)
{
    pod_file *f;
    POD_TRY(pod_file_open(path, &f));
    pod_file_abandon(f);
    return POD_OK;
}

pod_status pod_file_write_atomic(const char *path, const void *data, size_t bytes)
{
    pod_file *f;
    POD_TRY(pod_file_open(path, &f));
    fwrite(data, 1, bytes, f->stream); /* a short write leaves the stream's error set */
    POD_TRY(pod_file_close(f));
    return POD_OK;
}

pod_status pod_file_read_text(pod_arena *a, const char *path, size_t max_bytes, char **out)
{
    FILE *f = fopen(path, "r");
    if (!f) return pod_fail(POD_E_IO, "%s: cannot read: %s", path, strerror(errno));
    pod_status s = POD_OK;
    char *text = NULL;
    size_t used = 0, room = 4096;
    while (true) {
        char *grown = realloc(text, room + 1);
        if (!grown) {
            s = pod_fail(POD_E_NOMEM, "%s: out of memory", path);
            goto done;
        }
        text = grown;
        used += fread(text + used, 1, room - used, f);
        if (used < room) break;
        if (used > max_bytes) break;
        room *= 2;
    }
    if (ferror(f)) {
        s = pod_fail(POD_E_IO, "%s: cannot read: %s", path, strerror(errno));
        goto done;
    }
    if (used > max_bytes) {
        s = pod_fail(POD_E_FORMAT, "%s: longer than %zu bytes", path, max_bytes);
        goto done;
    }
    const char *zero = memchr(text, 0, used);
    if (zero) {
        s = pod_fail(POD_E_FORMAT, "%s: byte %td is 0, want text in UTF-8", path, zero - text);
        goto done;
    }
    char *copy = pod_arena_copy(a, text, 1, used + 1);
    if (!copy) {
        s = POD_E_NOMEM;
        goto done;
    }
    copy[used] = '\0';
    *out = copy;
done:
    free(text);
    fclose(f);
    return s;
}

/* ---- files of results ---- */

bool pod_file_is_stdout(const char *path)
{
    struct stat link, at, own;
    if (strcmp(path, "-") == 0) return true;
    return lstat(path, &link) == 0 && S_ISLNK(link.st_mode) && stat(path, &at) == 0 &&
           fstat(STDOUT_FILENO, &own) == 0 && at.st_dev == own.st_dev && at.st_ino == own.st_ino;
}

const char *pod_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* By its name where it is yet to be made. */
static bool is_same_directory(const char *dir, const char *other)
{
    struct stat a, b;
    const bool is_there = stat(dir, &a) == 0, is_other = stat(other, &b) == 0;
    if (is_there && is_other) return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    return !is_there && !is_other && pod_path_is_within(dir, other) &&
           pod_path_is_within(other, dir);
}

bool pod_file_is_same(const char *path, const char *other)
{
    struct stat a;
    char dir[MAX_PATH_BYTES], other_dir[MAX_PATH_BYTES];
    if (pod_file_is_stdout(path) || pod_file_is_stdout(other))
        return pod_file_is_stdout(path) && pod_file_is_stdout(other);
    if (stat(path, &a) == 0 && !S_ISREG(a.st_mode)) return false;
    return strcmp(pod_path_name(path), pod_path_name(other)) == 0 &&
           is_same_directory(directory_of(path, dir), directory_of(other, other_dir));
}

/* Other than a file that can be replaced. */
static bool is_direct(const char *path)
{
    struct stat st;
    return pod_file_is_stdout(path) ||
           (stat(path, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode)));
}

static FILE *open_stdout(void)
{
    fflush(stdout);
    const int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (!stream && fd >= 0) close(fd);
    return stream;
}

static pod_status open_direct(const char *path, pod_file **out)
{
    pod_file *f = calloc(1, sizeof *f);
    if (f) f->path = join(path, "");
    if (!f || !f->path) {
        free(f);
        return pod_fail(POD_E_NOMEM, "%s: out of memory", path);
    }
    f->stream = pod_file_is_stdout(path) ? open_stdout() : fopen(path, "w");
    if (!f->stream) {
        const pod_status s = cannot_write(POD_E_IO, path);
        release(f);
        return s;
    }
    *out = f;
    return POD_OK;
}

pod_status pod_file_open_result(const char *path, pod_file **out)
{
    return is_direct(path) ? open_direct(path, out) : pod_file_open(path, out);
}

pod_status pod_file_check_result(const char *path)
{
    if (!is_direct(path)) return pod_file_check(path);
    const bool can =
        pod_file_is_stdout(path) ? fcntl(STDOUT_FILENO, F_GETFD) >= 0 : access(path, W_OK) == 0;
    return can ? POD_OK : cannot_write(POD_E_IO, path);
}

pod_status pod_file_write_result(const char *path, const void *data, size_t bytes)
{
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    fwrite(data, 1, bytes, f->stream); /* a short write leaves the stream's error set */
    return pod_file_close(f);
}

/* ---- folders ---- */

static pod_status check_writable(const char *path)
{
    struct stat st;
    const bool is_link = lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
    if (stat(path, &st) != 0)
        return pod_fail(POD_E_IO, "%s: %s: %s", path,
                        is_link ? "is a link whose directory cannot be reached"
                                : "cannot make the directory",
                        strerror(errno));
    if (!S_ISDIR(st.st_mode)) return pod_fail(POD_E_IO, "%s: exists and is no directory", path);
    if (access(path, W_OK | X_OK) != 0)
        return pod_fail(POD_E_IO, "%s: cannot write in the directory: %s", path, strerror(errno));
    return POD_OK;
}

pod_status pod_dir_make(const char *path)
{
    char part[MAX_PATH_BYTES];
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof part)
        return pod_fail(POD_E_IO, "'%.40s': a directory's name has 1 to %d bytes, this has %zu",
                        path, MAX_PATH_BYTES - 1, length);
    memcpy(part, path, length + 1);
    for (size_t i = 1; i <= length; i++) {
        if (part[i] != '/' && part[i] != '\0') continue;
        char kept = part[i];
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST && errno != EISDIR)
            return pod_fail(POD_E_IO, "%s: cannot make the directory: %s", part, strerror(errno));
        part[i] = kept;
    }
    POD_TRY(check_writable(path));
    return POD_OK;
}

/* A component, which may be a dot or two, behind a name from the root. */
static bool put_component(char full[MAX_PATH_BYTES], const char *name, int bytes)
{
    const size_t used = strcmp(full, "/") == 0 ? 0 : strlen(full);
    if (bytes == 0 || (bytes == 1 && name[0] == '.')) return true;
    if (bytes == 2 && strncmp(name, "..", 2) == 0) {
        char *slash = strrchr(full, '/');
        slash[slash == full] = '\0';
        return true;
    }
    const size_t room = MAX_PATH_BYTES - used;
    const int n = snprintf(full + used, room, "/%.*s", bytes, name);
    return n > 0 && (size_t)n < room;
}

/* The name from the root: links are followed as far as the path is there, and dots go. False where
 * it is too long. */
static bool full_name(const char *path, char full[MAX_PATH_BYTES])
{
    char head[MAX_PATH_BYTES];
    size_t length = strlen(path);
    if (length >= sizeof head) return false;
    memcpy(head, path, length);
    while (true) {
        head[length] = '\0';
        if (realpath(length > 0 ? head : ".", full)) break;
        if (length == 0) return false;
        while (length > 0 && head[length - 1] == '/') length--;
        while (length > 0 && head[length - 1] != '/') length--;
    }
    for (const char *at = path + length; *at != '\0'; at += strspn(at, "/")) {
        const size_t bytes = strcspn(at, "/");
        if (!put_component(full, at, (int)bytes)) return false;
        at += bytes;
    }
    return true;
}

bool pod_path_is_within(const char *path, const char *folder)
{
    char inner[MAX_PATH_BYTES], outer[MAX_PATH_BYTES];
    if (!full_name(path, inner) || !full_name(folder, outer)) return false;
    const size_t n = strlen(outer);
    if (strncmp(inner, outer, n) != 0) return false;
    return inner[n] == '\0' || inner[n] == '/' || outer[n - 1] == '/';
}

bool pod_file_comes_with(const char *path, const char *folder)
{
    struct stat st;
    char dir[MAX_PATH_BYTES];
    return stat(directory_of(path, dir), &st) != 0 && errno == ENOENT &&
           pod_path_is_within(folder, dir);
}

pod_status pod_dir_make_for(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path) return POD_OK;
    char dir[MAX_PATH_BYTES];
    if ((size_t)(slash - path) >= sizeof dir)
        return pod_fail(POD_E_IO, "'%.40s...': a directory's name has at most %d bytes", path,
                        MAX_PATH_BYTES - 1);
    memcpy(dir, path, (size_t)(slash - path));
    dir[slash - path] = '\0';
    POD_TRY(pod_dir_make(dir));
    return POD_OK;
}

pod_status pod_path_join(const char *dir, const char *name, char path[POD_PATH_BYTES])
{
    if (snprintf(path, POD_PATH_BYTES, "%s/%s", dir, name) < POD_PATH_BYTES) return POD_OK;
    return pod_fail(POD_E_INVALID, "'%.40s...': a path has at most %d bytes", dir,
                    POD_PATH_BYTES - 1);
}
