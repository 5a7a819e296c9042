#include "runtime/goodput/goodput_live.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/core/file.h"
#include "runtime/core/spread.h"
#include "runtime/goodput/straggler.h"

enum {
    RING_SECONDS = 1024, /* more than the longest window */
    LONGEST_WINDOW_S = 900,
    USUAL_STEPS = POD_DEVIATION_BASELINE,
    FILE_BYTES = 8192,
    REASON_BYTES = 256
};

static const int windows_s[] = {60, 300, LONGEST_WINDOW_S};
static const pod_stamp second = 1000000000;

struct pod_goodput_live {
    pod_goodput_live_plan plan;
    char *part_path;
    pod_account before;
    int64_t n_seen;       /* steps of this attempt */
    pod_stamp first_work; /* of its first step */
    pod_stamp next_write;
    int64_t newest;               /* second since 1970 that the ring has come to */
    pod_stamp work[RING_SECONDS]; /* of steps in that second, by second modulo the length */
    int64_t n_timed;              /* steps but the first */
    pod_stamp whole[USUAL_STEPS]; /* what they took, in a ring */
    pod_stamp own[USUAL_STEPS];   /* and their work */
    pod_stamp scratch[USUAL_STEPS];
    char file[FILE_BYTES], stream_buffer[FILE_BYTES];
    FILE *stream; /* over `file` */
    pod_status status;
    char reason[REASON_BYTES];
    char note[REASON_BYTES]; /* why earlier attempts are not in it; "": they are */
};

/* ---- work by the second ---- */

static void go_to_second(pod_goodput_live *v, int64_t s)
{
    if (s - v->newest >= RING_SECONDS) v->newest = s - RING_SECONDS;
    while (v->newest < s) v->work[++v->newest % RING_SECONDS] = 0;
}

/* The work of a step is its last part: waiting comes first. */
static void add_work(pod_goodput_live *v, const pod_job_step *step)
{
    pod_stamp from = step->end - pod_job_step_work(step);
    go_to_second(v, step->end / second);
    for (int64_t s = from / second; from < step->end; s++) {
        const pod_stamp until = (s + 1) * second < step->end ? (s + 1) * second : step->end;
        if (s > v->newest - RING_SECONDS) v->work[s % RING_SECONDS] += until - from;
        from = until;
    }
}

static double window_goodput(const pod_goodput_live *v, const pod_job_log *l, pod_stamp begun,
                             pod_stamp at, int window_s)
{
    const int64_t first = at / second - window_s + 1;
    const pod_stamp begin = first * second > begun ? first * second : begun;
    pod_stamp kept = 0;
    for (int64_t s = begin / second; s <= v->newest && s * second < l->kept_until; s++)
        if (s > v->newest - RING_SECONDS) kept += v->work[s % RING_SECONDS];
    return at > begin ? (double)kept / (double)(at - begin) : (double)NAN;
}

/* ---- what a step usually takes ---- */

/* The last n of a ring of n_timed steps into the scratch; answers how many there are. */
static int64_t take_last(pod_goodput_live *v, const pod_stamp ring[], int64_t n)
{
    if (n > v->n_timed) n = v->n_timed;
    for (int64_t i = 0; i < n; i++) v->scratch[i] = ring[(v->n_timed - 1 - i) % USUAL_STEPS];
    return n;
}

/* 0: there was no step but the first. */
static pod_stamp median_of(pod_goodput_live *v, const pod_stamp ring[])
{
    const int64_t n = take_last(v, ring, USUAL_STEPS);
    return n > 0 ? pod_spread_middle(v->scratch, n) : 0;
}

/* 90 % of the last steps take no longer. */
static pod_stamp recent_of(pod_goodput_live *v, const pod_stamp ring[])
{
    const int64_t n = take_last(v, ring, POD_DEVIATION_RECENT);
    return n > 0 ? pod_spread_nth(v->scratch, n, (9 * n + 9) / 10 - 1) : 0;
}

static void note_step(pod_goodput_live *v, const pod_job_step *s)
{
    const pod_stamp work = pod_job_step_work(s);
    add_work(v, s);
    if (v->n_seen == 0) {
        v->first_work = work;
        return;
    }
    v->whole[v->n_timed % USUAL_STEPS] = s->end - s->begin;
    v->own[v->n_timed++ % USUAL_STEPS] = work;
}

/* ---- the file ---- */

static pod_account account_now(pod_goodput_live *v, const pod_job_log *l, pod_stamp at)
{
    pod_account a = pod_account_add(&v->before, l, at);
    const pod_stamp usual = median_of(v, v->own);
    const pod_stamp excess = v->first_work - usual;
    if (usual == 0 || excess <= 0) return a;
    a.by_span[POD_JOB_STEP] -= excess;
    a.by_span[POD_JOB_BUILD] += excess;
    if (l->n_unsaved == l->n_steps) a.unsaved -= excess; /* the first one is not kept either */
    return a;
}

static void put_live(pod_goodput_live *v, const pod_job_log *l, pod_stamp at, pod_stamp usual,
                     pod_json *j, const pod_account *a)
{
    const bool awaits_save = pod_account_awaits_save(a);
    const pod_stamp recent = recent_of(v, v->whole);
    if (*v->note) pod_json_text(j, "earlier_attempts_note", v->note);
    pod_json_int(j, "attempt", v->plan.attempt);
    pod_json_int(j, "step", l->last.step);
    pod_json_int(j, "kept_step", l->kept_step);
    pod_json_open_object(j, "interval_goodput");
    for (size_t i = 0; i < sizeof windows_s / sizeof windows_s[0]; i++) {
        char key[16];
        snprintf(key, sizeof key, "%d", windows_s[i]);
        pod_json_double(
            j, key, awaits_save ? (double)NAN : window_goodput(v, l, a->begin, at, windows_s[i]));
    }
    pod_json_close(j);
    pod_json_double(j, "step_time_usual_s", usual ? pod_stamp_seconds(usual) : (double)NAN);
    pod_json_double(j, "step_time_p90_s", usual ? pod_stamp_seconds(recent) : (double)NAN);
    pod_json_double(j, "step_time_deviation",
                    usual ? (double)recent / (double)usual - 1 : (double)NAN);
}

static void fail(pod_goodput_live *v, pod_status s)
{
    if (v->status != POD_OK) return;
    v->status = s;
    snprintf(v->reason, sizeof v->reason, "%s", errno ? pod_part_reason(errno) : "a short write");
}

/* Renamed, so that a reader finds it whole; not synced: what a dead machine loses is a second's. */
static void replace_file(pod_goodput_live *v, size_t bytes)
{
    errno = 0;
    const int fd = pod_part_open(v->part_path);
    const bool done = fd >= 0 && ftruncate(fd, 0) == 0 &&
                      write(fd, v->file, bytes) == (ssize_t)bytes &&
                      rename(v->part_path, v->plan.path) == 0;
    if (!done) fail(v, fd < 0 ? POD_E_IO : POD_E_WRITE);
    if (fd >= 0 && close(fd) != 0) fail(v, POD_E_WRITE);
}

static void write_now(pod_goodput_live *v, const pod_job_log *l, pod_stamp at)
{
    const pod_stamp usual = median_of(v, v->whole);
    const pod_account a = account_now(v, l, at);
    pod_ideal ideal = v->plan.ideal;
    ideal.median_step_s = pod_stamp_seconds(usual);
    rewind(v->stream);
    pod_json j = pod_json_start(v->stream, 2);
    pod_json_open_object(&j, NULL);
    pod_goodput_put(&j, v->plan.clock, v->plan.machine, &a, &ideal);
    put_live(v, l, at, usual, &j, &a);
    pod_json_close(&j);
    const long bytes = ftell(v->stream);
    if (fflush(v->stream) == 0 && bytes > 0)
        replace_file(v, (size_t)bytes);
    else
        fail(v, POD_E_WRITE);
}

void pod_goodput_live_at(pod_goodput_live *v, const pod_job_log *l, pod_stamp at)
{
    if (!v) return;
    if (l->n_steps != v->n_seen) {
        note_step(v, &l->last);
        v->n_seen = l->n_steps;
    }
    if (at < v->next_write) return;
    v->next_write = at + second;
    write_now(v, l, at);
}

/* ---- open and close ---- */

/* Steps of earlier attempts that this one goes on from, of the time that windows look back. */
static void add_earlier(pod_goodput_live *v, const pod_job *j, const pod_job_log *l)
{
    int64_t cut = l->last.step;
    for (int i = j->n_parts - 1; i >= 0; i--) {
        const pod_job_part *p = &j->part[i];
        if (p->head.attempt >= v->plan.attempt) continue;
        for (int64_t s = p->n_steps - 1; s >= 0; s--) {
            if (p->step[s].end < l->begun - LONGEST_WINDOW_S * second) return;
            if (p->step[s].step <= cut) add_work(v, &p->step[s]);
        }
        if (p->first_step >= 0 && p->first_step < cut) cut = p->first_step;
    }
}

/* Training does not end for a log that cannot be made sense of: an attempt that another clock says
 * overlaps this one. Then the file is of this attempt alone, and says why. */
static pod_status read_earlier(pod_goodput_live *v, const pod_job_log *l)
{
    if (!*v->plan.dir) return POD_OK;
    pod_arena *a;
    pod_job j;
    POD_TRY(pod_arena_create(NULL, &a));
    pod_status status = pod_job_read_rank(a, v->plan.dir, 0, &j);
    if (status == POD_OK) status = pod_account_before(&j, v->plan.attempt, &v->before);
    if (status == POD_OK) add_earlier(v, &j, l);
    pod_arena_destroy(a);
    if (status != POD_E_FORMAT) return status;
    snprintf(v->note, sizeof v->note, "%s", pod_error_text());
    return POD_OK;
}

static void release(pod_goodput_live *v)
{
    if (v->stream) fclose(v->stream);
    free(v->part_path);
    free(v);
}

static pod_status set_up(pod_goodput_live *v, const pod_goodput_live_plan *plan,
                         const pod_job_log *l)
{
    const size_t room = strlen(plan->path) + sizeof POD_FILE_PART;
    v->plan = *plan;
    v->part_path = malloc(room);
    v->stream = fmemopen(v->file, sizeof v->file, "w");
    if (!v->part_path || !v->stream) return pod_fail(POD_E_NOMEM, "%s: out of memory", plan->path);
    snprintf(v->part_path, room, "%s" POD_FILE_PART, plan->path);
    setvbuf(v->stream, v->stream_buffer, _IOFBF, sizeof v->stream_buffer);
    v->newest = l->begun / second;
    v->n_seen = l->n_steps;
    return read_earlier(v, l);
}

pod_status pod_goodput_live_open(const pod_goodput_live_plan *plan, const pod_job_log *l,
                                 pod_goodput_live **out)
{
    pod_goodput_live *v = calloc(1, sizeof *v);
    if (!v) return pod_fail(POD_E_NOMEM, "%s: out of memory", plan->path);
    const pod_status status = set_up(v, plan, l);
    if (status == POD_OK)
        *out = v;
    else
        release(v);
    return status;
}

pod_status pod_goodput_live_close(pod_goodput_live *v)
{
    if (!v) return POD_OK;
    pod_status status = v->status;
    if (status != POD_OK)
        status = pod_fail(status, "%s: cannot write: %s", v->plan.path, v->reason);
    release(v);
    return status;
}
