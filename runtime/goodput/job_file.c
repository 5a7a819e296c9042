/* The job log, writing. */
#include "runtime/goodput/job_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/base/assert.h"
#include "runtime/core/json.h"
#include "runtime/goodput/job_name.h"
#include "runtime/goodput/job_record.h"

/* A record holds at most a text of POD_JOB_TEXT_BYTES, each byte escaped as \uXXXX. */
enum { RECORD_BYTES = 6 * POD_JOB_TEXT_BYTES + 256, REASON_BYTES = 256, FAULT_BYTES = 64 };

struct pod_job_writer {
    char *path;
    FILE *text; /* over `record`, for what needs quotes: made before it is needed */
    char record[RECORD_BYTES];
    pthread_mutex_t lock; /* of what follows: a fault may strike in another thread */
    int fd;
    off_t bytes;       /* of whole records */
    pod_status status; /* the first failure */
    char reason[REASON_BYTES];
};

/* With the lock held, or by the only thread that is left. */
static void fail(pod_job_writer *w, const char *reason)
{
    if (w->status != POD_OK) return;
    w->status = POD_E_WRITE;
    snprintf(w->reason, sizeof w->reason, "%s", reason);
}

static void append_locked(pod_job_writer *w, const char *record, size_t bytes)
{
    const char *reason;
    if (w->fd < 0) return;
    const pod__job_append done = pod__job_append_to(w->fd, w->bytes, record, bytes, &reason);
    if (done == POD__JOB_APPENDED) {
        w->bytes += (off_t)bytes;
        return;
    }
    fail(w, reason);
    if (done == POD__JOB_LEFT_OUT) return;
    close(w->fd);
    w->fd = -1;
}

static void append(pod_job_writer *w, const char *record, size_t bytes)
{
    pthread_mutex_lock(&w->lock);
    append_locked(w, record, bytes);
    pthread_mutex_unlock(&w->lock);
}

/* Records of a step are printed, for they may take no memory. */
static void POD_PRINTF(2, 3) put(pod_job_writer *w, const char *fmt, ...)
{
    if (!w) return;
    va_list args;
    va_start(args, fmt);
    const int bytes = vsnprintf(w->record, sizeof w->record, fmt, args);
    va_end(args);
    POD_ASSERT(bytes > 0 && bytes < RECORD_BYTES, "a record of %d bytes", bytes);
    append(w, w->record, (size_t)bytes);
}

void pod_job_put_from(pod_job_writer *w, int64_t step, int64_t ideal, pod_stamp at)
{
    char known[48] = "";
    if (ideal > 0) snprintf(known, sizeof known, ",\"ideal_ps\":%" PRId64, ideal);
    put(w, "{\"from\":%" PRId64 ",\"at_ns\":%" PRId64 "%s}\n", step, at, known);
}

void pod_job_put_span(pod_job_writer *w, pod_job_span span, pod_stamp begin, pod_stamp end)
{
    put(w, "{\"span\":\"%s\",\"begin_ns\":%" PRId64 ",\"end_ns\":%" PRId64 "}\n",
        pod_job_span_name(span), begin, end);
}

void pod_job_put_step(pod_job_writer *w, const pod_job_step *s)
{
    put(w,
        "{\"step\":%" PRId64 ",\"begin_ns\":%" PRId64 ",\"end_ns\":%" PRId64
        ",\"input_ns\":%" PRId64 ",\"reduce_ns\":%" PRId64 ",\"save_ns\":%" PRId64
        ",\"core_wait_ns\":%" PRId64 "}\n",
        s->step, s->begin, s->end, s->input, s->reduce, s->save, s->core_wait);
}

void pod_job_put_kept(pod_job_writer *w, int64_t step, pod_stamp at)
{
    put(w, "{\"kept\":%" PRId64 ",\"at_ns\":%" PRId64 "}\n", step, at);
}

void pod_job_put_fault(pod_job_writer *w, int fault, pod_stamp at)
{
    char record[FAULT_BYTES]; /* the writer's may be in use */
    if (!w) return;
    const int bytes =
        snprintf(record, sizeof record, "{\"fault\":%d,\"at_ns\":%" PRId64 "}\n", fault, at);
    append(w, record, (size_t)bytes);
}

void pod_job_put_end(pod_job_writer *w, pod_job_end_kind kind, const char *text, pod_stamp at)
{
    static const char *const names[] = {"", "ok", "stopped", "failed"};
    POD_ASSERT(kind > POD_JOB_END_NONE && kind <= POD_JOB_END_FAILED, "end %d", (int)kind);
    if (!w) return;
    char kept[POD_JOB_TEXT_BYTES + 1];
    snprintf(kept, sizeof kept, "%s", text);
    rewind(w->text);
    fprintf(w->text, "{\"end\":\"%s\",\"at_ns\":%" PRId64 ",\"text\":", names[kind], at);
    pod_json_quote(w->text, kept);
    fputs("}\n", w->text);
    const long bytes = ftell(w->text);
    if (fflush(w->text) == 0 && bytes > 0) {
        append(w, w->record, (size_t)bytes);
        return;
    }
    pthread_mutex_lock(&w->lock);
    fail(w, "the last record could not be made");
    pthread_mutex_unlock(&w->lock);
}

/* Its texts may be of any length. */
static pod_status put_head(pod_job_writer *w, const pod_job_head *h)
{
    pod__job_record r;
    POD_TRY(pod__job_record_begin(w->path, &r));
    const struct {
        const char *key, *text;
    } texts[] = {{"mesh", h->mesh}, {"model", h->model}, {"data", h->data}, {"host", h->host}};
    fprintf(r.to,
            "{\"schema\":\"minipod.job\",\"version\":1,\"attempt\":%d,\"rank\":%d,\"ranks\":%d",
            h->attempt, h->rank, h->ranks);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        fprintf(r.to, ",\"%s\":", texts[i].key);
        pod_json_quote(r.to, texts[i].text);
    }
    fprintf(r.to, ",\"pid\":%" PRId64 ",\"begin_ns\":%" PRId64 "}", h->pid, h->begin);
    POD_TRY(pod__job_record_end(w->path, &r));
    append(w, r.text, r.bytes);
    pod__job_record_release(&r);
    if (w->status != POD_OK) return pod_fail(w->status, "%s: cannot write: %s", w->path, w->reason);
    return POD_OK;
}

static void release(pod_job_writer *w)
{
    if (w->fd >= 0) close(w->fd);
    if (w->text) fclose(w->text);
    pthread_mutex_destroy(&w->lock);
    free(w->path);
    free(w);
}

static pod_status open_writer(pod_job_writer *w, const char *dir, const pod_job_head *h)
{
    const size_t room = strlen(dir) + sizeof "/job/" + POD_JOB_NAME_BYTES;
    char name[POD_JOB_NAME_BYTES];
    w->path = malloc(room);
    w->text = fmemopen(w->record, sizeof w->record, "w");
    if (!w->path || !w->text) return pod_fail(POD_E_NOMEM, "%s: out of memory", dir);
    setvbuf(w->text, NULL, _IONBF, 0); /* else it takes memory when it is first used */
    snprintf(w->path, room, "%s/job/%s", dir,
             pod_job_name_print((pod_job_name){h->attempt, h->rank}, name));
    w->fd = open(w->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (w->fd < 0) return pod_fail(POD_E_IO, "%s: cannot write: %s", w->path, strerror(errno));
    return put_head(w, h);
}

pod_status pod_job_writer_open(const char *dir, const pod_job_head *head, pod_job_writer **out)
{
    pod_job_writer *w = calloc(1, sizeof *w);
    if (!w) return pod_fail(POD_E_NOMEM, "%s: out of memory", dir);
    w->fd = -1;
    pthread_mutex_init(&w->lock, NULL); /* with default attributes it cannot fail */
    const pod_status status = open_writer(w, dir, head);
    if (status == POD_OK)
        *out = w;
    else
        release(w);
    return status;
}

pod_status pod_job_writer_close(pod_job_writer *w)
{
    if (!w) return POD_OK;
    if (w->fd >= 0 && close(w->fd) != 0) fail(w, strerror(errno));
    w->fd = -1;
    pod_status status = POD_OK;
    if (w->status != POD_OK)
        status = pod_fail(w->status, "%s: cannot write: %s", w->path, w->reason);
    release(w);
    return status;
}
