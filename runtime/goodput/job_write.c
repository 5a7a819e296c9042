/* The job log, writing: a rank's file, and the launcher's. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "kernels/base/assert.h"
#include "runtime/core/file.h"
#include "runtime/goodput/job_file.h"
#include "runtime/goodput/job_line.h"

enum { TAIL_BYTES = 4096 };

/* ---- a rank's -------------------------------------------------------------------------------- */

struct pod_job_writer {
    pod__job_lines lines;
};

static void put(pod_job_writer *w, pod__job_line line)
{
    if (w && pod__job_lines_put(&w->lines, &line) != POD_OK) return; /* close tells of it */
}

void pod_job_put_from(pod_job_writer *w, int64_t step, int64_t ideal, pod_stamp at)
{
    put(w, (pod__job_line){POD__JOB_FROM, .from = step, .at_ns = at, .ideal_ps = ideal});
}

void pod_job_put_span(pod_job_writer *w, pod_job_span span, pod_stamp begin, pod_stamp end)
{
    const char *name = pod_job_span_name(span);
    put(w, (pod__job_line){POD__JOB_SPAN, .span = name, .begin_ns = begin, .end_ns = end});
}

void pod_job_put_step(pod_job_writer *w, const pod_job_step *s)
{
    put(w, (pod__job_line){POD__JOB_STEP, .step = s->step, .begin_ns = s->begin, .end_ns = s->end,
                           .input_ns = s->input, .reduce_ns = s->reduce, .save_ns = s->save,
                           .core_wait_ns = s->core_wait});
}

void pod_job_put_kept(pod_job_writer *w, int64_t step, pod_stamp at)
{
    put(w, (pod__job_line){POD__JOB_KEPT, .kept = step, .at_ns = at});
}

void pod_job_put_fault(pod_job_writer *w, int fault, pod_stamp at)
{
    put(w, (pod__job_line){POD__JOB_FAULT, .fault = fault, .at_ns = at});
}

void pod_job_put_end(pod_job_writer *w, pod_job_end_kind kind, const char *text, pod_stamp at)
{
    POD_ASSERT(kind != POD_JOB_END_NONE, "an end that is none");
    put(w, (pod__job_line){POD__JOB_END, .end = pod_job_end_name(kind), .at_ns = at, .text = text});
}

static pod_status open_writer(const char *dir, const pod_job_head *h, pod__job_lines *l)
{
    char name[POD_JOB_NAME_BYTES];
    pod_job_name_print((pod_job_name){h->attempt, h->rank}, name);
    POD_TRY(pod__job_lines_open(dir, name, O_WRONLY | O_EXCL, "", l));
    return pod__job_lines_put(
        l, &(pod__job_line){POD__JOB_HEAD, .schema = "minipod.job", .version = 1,
                            .attempt = h->attempt, .rank = h->rank, .ranks = h->ranks,
                            .mesh = h->mesh, .model = h->model, .data = h->data, .host = h->host,
                            .pid = h->pid, .begin_ns = h->begin});
}

pod_status pod_job_writer_open(const char *dir, const pod_job_head *head, pod_job_writer **out)
{
    pod_job_writer *w = calloc(1, sizeof *w);
    if (!w) return pod_fail(POD_E_NOMEM, "%s: out of memory", dir);
    const pod_status status = open_writer(dir, head, &w->lines);
    if (status == POD_OK) {
        *out = w;
    } else {
        pod__job_lines_close(&w->lines);
        free(w);
    }
    return status;
}

pod_status pod_job_writer_close(pod_job_writer *w)
{
    if (!w) return POD_OK;
    pod__job_lines *l = &w->lines;
    const char *failed = *l->failed ? l->failed : NULL;
    if (close(l->fd) != 0 && !failed) failed = strerror(errno);
    l->fd = -1;
    const pod_status status =
        failed ? pod_fail(POD_E_WRITE, "%s: cannot write: %s", l->path, failed) : POD_OK;
    pod__job_lines_close(l);
    free(w);
    return status;
}

/* ---- the launcher's -------------------------------------------------------------------------- */

struct pod_launch_file {
    pod__job_lines lines;
    off_t bytes; /* when it was opened */
};

static pod_status fail(pod_status s, const pod_launch_file *f, const char *why)
{
    return pod_fail(s, "%s: cannot write: %s", f->lines.path, why);
}

pod_status pod_launch_file_put_begin(pod_launch_file *f, int attempt, pod_stamp at)
{
    const pod__job_line l = {POD__JOB_BEGUN, .attempt = attempt, .begin_ns = at};
    return pod__job_lines_put(&f->lines, &l);
}

pod_status pod_launch_file_put_end(pod_launch_file *f, int attempt, pod_stamp at, int exit_code,
                                   const char *reason, const char *text)
{
    const pod__job_line l = {POD__JOB_ENDED,         .attempt = attempt, .end_ns = at,
                             .exit_code = exit_code, .reason = reason,   .text = text};
    return pod__job_lines_put(&f->lines, &l);
}

/* By flock: a lock of fcntl's is lost when this process closes the file anywhere, as it does
 * whenever it reads the job's log. Where there are no locks there is none. */
static bool is_taken(int fd) { return flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; }

pod_status pod_launch_file_check(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const bool taken = fd >= 0 && is_taken(fd);
    if (fd >= 0) close(fd);
    if (!taken) return POD_OK;
    return pod_fail(POD_E_IO, "%s: a launcher that runs is writing it", path);
}

/* What a launcher that was killed in the middle of a line left of it. */
static pod_status drop_torn_line(pod_launch_file *f)
{
    char tail[TAIL_BYTES];
    off_t bytes = f->lines.bytes;
    while (bytes > 0) {
        const off_t from = bytes > TAIL_BYTES ? bytes - TAIL_BYTES : 0;
        ssize_t n = pread(f->lines.fd, tail, (size_t)(bytes - from), from);
        if (n != (ssize_t)(bytes - from)) return fail(POD_E_IO, f, "its end cannot be read");
        while (n > 0 && tail[n - 1] != '\n') n--;
        bytes = from + n;
        if (n > 0) break;
    }
    if (ftruncate(f->lines.fd, bytes) != 0) return fail(POD_E_WRITE, f, strerror(errno));
    f->bytes = f->lines.bytes = bytes;
    return POD_OK;
}

static pod_status start(pod_launch_file *f, const char *dir, const char *command, int ranks,
                        pod_stamp begin)
{
    char folder[POD_PATH_BYTES];
    const pod__job_line head = {POD__JOB_LAUNCH, .schema = "minipod.launch",
                                .version = 1,    .command = command,
                                .ranks = ranks,  .begin_ns = begin};
    POD_TRY(pod_path_join(dir, "job", folder));
    POD_TRY(pod_dir_make(folder));
    POD_TRY(pod__job_lines_open(dir, "launch.jsonl", O_RDWR, " ", &f->lines));
    if (is_taken(f->lines.fd)) return fail(POD_E_IO, f, "another process is writing it");
    POD_TRY(drop_torn_line(f));
    return pod__job_lines_put(&f->lines, &head);
}

pod_status pod_launch_file_open(const char *dir, const char *command, int ranks, pod_stamp begin,
                                pod_launch_file **out)
{
    pod_launch_file *f = calloc(1, sizeof *f);
    if (!f) return pod_fail(POD_E_NOMEM, "%s: out of memory", dir);
    const pod_status s = start(f, dir, command, ranks, begin);
    if (s == POD_OK)
        *out = f;
    else
        pod_launch_file_close(f);
    return s;
}

pod_status pod_launch_file_take_back(pod_launch_file *f)
{
    const int failed = f->bytes > 0 ? ftruncate(f->lines.fd, f->bytes) : unlink(f->lines.path);
    return failed ? fail(POD_E_WRITE, f, strerror(errno)) : POD_OK;
}

void pod_launch_file_close(pod_launch_file *f)
{
    if (!f) return;
    pod__job_lines_close(&f->lines);
    free(f);
}
