#include "runtime/goodput/launch_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/file.h"
#include "runtime/core/json.h"
#include "runtime/goodput/job_record.h"

enum { VERSION = 1, TAIL_BYTES = 4096 };

struct pod_launch_file {
    int fd;
    off_t bytes;    /* when it was opened */
    bool is_spoilt; /* its last line is torn for good: what followed would be no log's */
    char path[];    /* for errors */
};

static pod_status fail(pod_status s, const pod_launch_file *f, const char *why)
{
    return pod_fail(s, "%s: cannot write: %s", f->path, why);
}

/* ---- lines ---- */

/* A file that is spoilt stays open: by its lock others see that this launcher is at work. */
static pod_status append(pod_launch_file *f, const pod__job_record *r)
{
    struct stat before;
    const char *reason;
    if (f->is_spoilt) return fail(POD_E_WRITE, f, "its last line is torn");
    if (fstat(f->fd, &before) != 0) return fail(POD_E_WRITE, f, strerror(errno));
    const pod__job_append done =
        pod__job_append_to(f->fd, before.st_size, r->text, r->bytes, &reason);
    f->is_spoilt = done == POD__JOB_SPOILT;
    return done == POD__JOB_APPENDED ? POD_OK : fail(POD_E_WRITE, f, reason);
}

typedef struct line { /* a record with its open object */
    pod__job_record record;
    pod_json json;
} line;

static pod_status begin_line(const pod_launch_file *f, line *l)
{
    POD_TRY(pod__job_record_begin(f->path, &l->record));
    l->json = pod_json_start(l->record.to, 0);
    pod_json_open_object(&l->json, NULL);
    return POD_OK;
}

static pod_status put_line(pod_launch_file *f, line *l)
{
    pod_json_close(&l->json);
    POD_TRY(pod__job_record_end(f->path, &l->record));
    const pod_status s = append(f, &l->record);
    pod__job_record_release(&l->record);
    return s;
}

static pod_status put_head(pod_launch_file *f, const char *command, int ranks, pod_stamp begin)
{
    line l;
    POD_TRY(begin_line(f, &l));
    pod_json_text(&l.json, "schema", "minipod.launch");
    pod_json_int(&l.json, "version", VERSION);
    pod_json_text(&l.json, "command", command);
    pod_json_int(&l.json, "ranks", ranks);
    pod_json_int(&l.json, "begin_ns", begin);
    return put_line(f, &l);
}

pod_status pod_launch_file_put_begin(pod_launch_file *f, int attempt, pod_stamp at)
{
    line l;
    POD_TRY(begin_line(f, &l));
    pod_json_int(&l.json, "attempt", attempt);
    pod_json_int(&l.json, "begin_ns", at);
    return put_line(f, &l);
}

pod_status pod_launch_file_put_end(pod_launch_file *f, int attempt, pod_stamp at, int exit_code,
                                   const char *reason, const char *text)
{
    line l;
    POD_TRY(begin_line(f, &l));
    pod_json_int(&l.json, "attempt", attempt);
    pod_json_int(&l.json, "end_ns", at);
    pod_json_int(&l.json, "exit_code", exit_code);
    pod_json_text(&l.json, "reason", reason);
    pod_json_text(&l.json, "text", text);
    return put_line(f, &l);
}

/* ---- the file ---- */

/* By flock: a lock of fcntl's is lost when this process closes the file anywhere, as it does
 * whenever it reads the job's log. Where there are no locks there is none. */
static bool is_taken(int fd) { return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; }

static pod_status lock(const pod_launch_file *f)
{
    return is_taken(f->fd) ? fail(POD_E_IO, f, "another process is writing it") : POD_OK;
}

pod_status pod_launch_file_check(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool taken = fd >= 0 && is_taken(fd);
    if (fd >= 0) close(fd);
    if (!taken) return POD_OK;
    return pod_fail(POD_E_IO, "%s: a launcher that runs is writing it", path);
}

/* What a launcher that was killed in the middle of a line left of it. */
static pod_status drop_torn_line(pod_launch_file *f, off_t bytes)
{
    char tail[TAIL_BYTES];
    while (bytes > 0) {
        const off_t from = bytes > TAIL_BYTES ? bytes - TAIL_BYTES : 0;
        ssize_t n = pread(f->fd, tail, (size_t)(bytes - from), from);
        if (n != (ssize_t)(bytes - from)) return fail(POD_E_IO, f, "its end cannot be read");
        while (n > 0 && tail[n - 1] != '\n') n--;
        bytes = from + n;
        if (n > 0) break;
    }
    if (ftruncate(f->fd, bytes) != 0) return fail(POD_E_WRITE, f, strerror(errno));
    f->bytes = bytes;
    return POD_OK;
}

static pod_status start(pod_launch_file *f, const char *command, int ranks, pod_stamp begin)
{
    struct stat st;
    if (f->fd < 0 || fstat(f->fd, &st) != 0) return fail(POD_E_IO, f, strerror(errno));
    POD_TRY(lock(f));
    POD_TRY(drop_torn_line(f, st.st_size));
    return put_head(f, command, ranks, begin);
}

pod_status pod_launch_file_open(const char *dir, const char *command, int ranks, pod_stamp begin,
                                pod_launch_file **out)
{
    static const char name[] = "/job/launch.jsonl";
    const size_t bytes = strlen(dir) + sizeof name;
    pod_launch_file *f = malloc(sizeof *f + bytes);
    if (!f) return pod_fail(POD_E_NOMEM, "%s%s: out of memory", dir, name);
    snprintf(f->path, bytes, "%s%s", dir, name);
    f->fd = -1;
    f->is_spoilt = false;
    pod_status s = pod_dir_make_for(f->path);
    if (s == POD_OK) {
        f->fd = open(f->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
        s = start(f, command, ranks, begin);
    }
    if (s == POD_OK)
        *out = f;
    else
        pod_launch_file_close(f);
    return s;
}

pod_status pod_launch_file_take_back(pod_launch_file *f)
{
    const int failed = f->bytes > 0 ? ftruncate(f->fd, f->bytes) : unlink(f->path);
    return failed ? fail(POD_E_WRITE, f, strerror(errno)) : POD_OK;
}

void pod_launch_file_close(pod_launch_file *f)
{
    if (!f) return;
    if (f->fd >= 0) close(f->fd);
    free(f);
}
