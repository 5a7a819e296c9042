#include "runtime/goodput/job_record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pod_status no_memory(const char *path)
{
    return pod_fail(POD_E_NOMEM, "%s: no memory for a record", path);
}

pod_status pod__job_record_begin(const char *path, pod__job_record *out)
{
    *out = (pod__job_record){0};
    out->to = open_memstream(&out->text, &out->bytes); /* which it writes to later */
    return out->to ? POD_OK : no_memory(path);
}

pod_status pod__job_record_end(const char *path, pod__job_record *r)
{
    fputc('\n', r->to);
    if (fclose(r->to) == 0) return POD_OK;
    pod__job_record_release(r);
    return no_memory(path);
}

void pod__job_record_release(pod__job_record *r)
{
    free(r->text);
    r->text = NULL;
}

pod__job_append pod__job_append_to(int fd, off_t whole, const char *record, size_t bytes,
                                   const char **reason)
{
    ssize_t written;
    do {
        written = write(fd, record, bytes);
    } while (written < 0 && errno == EINTR);
    if (written == (ssize_t)bytes) return POD__JOB_APPENDED;
    *reason = written < 0 ? strerror(errno) : "no space for a whole record";
    return written <= 0 || ftruncate(fd, whole) == 0 ? POD__JOB_LEFT_OUT : POD__JOB_SPOILT;
}
