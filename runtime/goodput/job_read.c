/* The job log, reading. */
#include <dirent.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/core/file.h"
#include "runtime/goodput/job_file.h"
#include "runtime/goodput/job_line.h"

static pod_status copy_text(pod_arena *a, const char *text, const char **out)
{
    *out = pod_arena_text(a, "%s", text);
    return *out ? POD_OK : POD_E_NOMEM;
}

/* ---- lists that grow ------------------------------------------------------------------------- */

typedef struct list { /* of one part at a time; its memory is used again */
    void *at;
    size_t item_bytes;
    int64_t n, room;
} list;

static pod_status push(list *l, const void *item)
{
    if (l->n == l->room) {
        const int64_t room = l->room ? 2 * l->room : 64;
        void *more = realloc(l->at, (size_t)room * l->item_bytes);
        if (!more) return pod_fail(POD_E_NOMEM, "job log: out of memory");
        l->at = more;
        l->room = room;
    }
    memcpy((char *)l->at + (size_t)l->n++ * l->item_bytes, item, l->item_bytes);
    return POD_OK;
}

static const void *copy_list(pod_arena *a, const list *l)
{
    void *all = pod_arena_get_array(a, _Alignof(max_align_t), l->item_bytes, (size_t)l->n);
    if (all && l->n > 0) memcpy(all, l->at, (size_t)l->n * l->item_bytes);
    return all;
}

/* ---- one rank of one attempt ----------------------------------------------------------------- */

typedef struct reading {
    pod_arena *arena;
    pod__job_reader *from;
    pod_job_part *part;
    list mark, step, kept, kept_at, fault;
} reading;

/* Not before the file began; the latest one is its last. */
static pod_status check_time(const reading *r, const char *key, pod_stamp at, pod_stamp least)
{
    if (at > r->part->last) r->part->last = at;
    return pod__job_reader_within(r->from, key, at, least, POD__JOB_MAX_STAMP);
}

static pod_status take_mark(reading *r, const pod__job_line *l)
{
    pod_job_mark m = {POD_JOB_INIT, l->begin_ns, l->end_ns};
    for (; m.span < POD_N_JOB_SPANS; m.span++)
        if (m.span != POD_JOB_STEP && pod_job_span_is_logged(m.span) &&
            strcmp(l->span, pod_job_span_name(m.span)) == 0)
            return push(&r->mark, &m);
    return pod_fail(POD_E_FORMAT, "%s:%d: '%.60s' is no span of a job log", r->from->path,
                    r->from->number, l->span);
}

static pod_status take_step(reading *r, const pod__job_line *l)
{
    const pod_stamp took = l->end_ns - l->begin_ns;
    const pod_job_step s = {l->step,      l->begin_ns, l->end_ns,      l->input_ns,
                            l->reduce_ns, l->save_ns,  l->core_wait_ns};
    POD_TRY(pod__job_reader_within(r->from, "input_ns", s.input, 0, took));
    POD_TRY(pod__job_reader_within(r->from, "reduce_ns", s.reduce, 0, took));
    POD_TRY(pod__job_reader_within(r->from, "save_ns", s.save, 0, took - s.input));
    POD_TRY(pod__job_reader_within(r->from, "core_wait_ns", s.core_wait, 0, took));
    return push(&r->step, &s);
}

static pod_status take_end(reading *r, const pod__job_line *l)
{
    pod_job_part *p = r->part;
    if (p->end != POD_JOB_END_NONE) return pod__job_reader_bad(r->from, "a second end");
    for (pod_job_end_kind k = POD_JOB_END_OK; k <= POD_JOB_END_FAILED; k++)
        if (strcmp(l->end, pod_job_end_name(k)) == 0) p->end = k;
    if (p->end == POD_JOB_END_NONE)
        return pod__job_reader_bad(r->from, "end: want ok, stopped or failed");
    return copy_text(r->arena, l->text, &p->end_text);
}

static pod_status take_record(reading *r)
{
    const pod__job_line *l = &r->from->line;
    pod_job_part *p = r->part;
    const int fault = (int)l->fault;
    if (l->record == POD__JOB_STEP || l->record == POD__JOB_SPAN) {
        POD_TRY(check_time(r, "begin_ns", l->begin_ns, p->head.begin));
        POD_TRY(check_time(r, "end_ns", l->end_ns, l->begin_ns));
        return l->record == POD__JOB_STEP ? take_step(r, l) : take_mark(r, l);
    }
    if (l->record == POD__JOB_OTHER || l->record == POD__JOB_HEAD)
        return pod__job_reader_bad(r->from, "no record of a job log");
    POD_TRY(check_time(r, "at_ns", l->at_ns, p->head.begin));
    switch (l->record) {
    case POD__JOB_FROM:
        if (p->first_step >= 0) return pod__job_reader_bad(r->from, "from stands twice");
        p->first_step = l->from;
        p->ideal = l->ideal_ps;
        return POD_OK;
    case POD__JOB_KEPT: POD_TRY(push(&r->kept, &l->kept)); return push(&r->kept_at, &l->at_ns);
    case POD__JOB_FAULT: return push(&r->fault, &fault);
    case POD__JOB_END: return take_end(r, l);
    default: return pod__job_reader_bad(r->from, "no record of a job log");
    }
}

static pod_status check_schema(const pod__job_reader *r, const char *want)
{
    const char *found = r->line.schema ? r->line.schema : "";
    if (strcmp(found, want) == 0) return POD_OK;
    return pod_fail(POD_E_FORMAT, "%s:%d: schema: want %s, found '%.40s'", r->path, r->number, want,
                    found);
}

static pod_status take_head(const pod__job_reader *r, pod_job_name name, pod_arena *a,
                            pod_job_head *h)
{
    const pod__job_line *l = &r->line;
    POD_TRY(check_schema(r, "minipod.job"));
    if (l->record != POD__JOB_HEAD) return pod__job_reader_bad(r, "rank is missing");
    POD_TRY(pod__job_reader_within(r, "attempt", l->attempt, name.attempt, name.attempt));
    POD_TRY(pod__job_reader_within(r, "rank", l->rank, name.rank, name.rank));
    POD_TRY(pod__job_reader_within(r, "ranks", l->ranks, name.rank + 1, POD__JOB_MAX_RANKS));
    *h = (pod_job_head){.attempt = name.attempt,
                        .rank = name.rank,
                        .ranks = (int)l->ranks,
                        .pid = l->pid,
                        .begin = l->begin_ns};
    POD_TRY(copy_text(a, l->mesh, &h->mesh));
    POD_TRY(copy_text(a, l->model, &h->model));
    POD_TRY(copy_text(a, l->data, &h->data));
    return copy_text(a, l->host, &h->host);
}

static pod_status finish_part(reading *r)
{
    pod_job_part *p = r->part;
    p->n_marks = r->mark.n;
    p->n_steps = r->step.n;
    p->n_kept = r->kept.n;
    p->n_faults = r->fault.n;
    p->mark = copy_list(r->arena, &r->mark);
    p->step = copy_list(r->arena, &r->step);
    p->kept = copy_list(r->arena, &r->kept);
    p->kept_at = copy_list(r->arena, &r->kept_at);
    p->fault = copy_list(r->arena, &r->fault);
    r->mark.n = r->step.n = r->kept.n = r->kept_at.n = r->fault.n = 0;
    return p->mark && p->step && p->kept && p->kept_at && p->fault ? POD_OK : POD_E_NOMEM;
}

/* *begun is false for a file without a whole head. */
static pod_status read_part(reading *r, pod_job_name name, bool *begun)
{
    pod_job_part *p = r->part;
    bool more;
    POD_TRY(pod__job_reader_next(r->from, begun));
    if (!*begun) return POD_OK;
    *p = (pod_job_part){.first_step = -1, .end_text = ""};
    POD_TRY(take_head(r->from, name, r->arena, &p->head));
    p->last = p->head.begin;
    POD_TRY(pod__job_reader_next(r->from, &more));
    while (more) {
        POD_TRY(take_record(r));
        POD_TRY(pod__job_reader_next(r->from, &more));
    }
    p->is_torn = r->from->is_torn;
    return finish_part(r);
}

/* rank -1: all ranks. */
static pod_status read_parts(reading *r, const char *dir, struct dirent **name, int n, int rank,
                             pod_job *j)
{
    pod_job_part *part = POD_ARENA_NEW(r->arena, pod_job_part, n);
    if (!part) return POD_E_NOMEM;
    j->part = part;
    for (int i = 0; i < n; i++) {
        pod_job_name which = {0};
        (void)pod_job_name_parse(name[i]->d_name, &which);
        if (rank >= 0 && which.rank != rank) continue;
        const char *path = pod_arena_text(r->arena, "%s/job/%s", dir, name[i]->d_name);
        pod__job_reader from;
        bool begun = false;
        if (!path) return POD_E_NOMEM;
        POD_TRY(pod__job_reader_open(path, &from));
        r->from = &from;
        r->part = &part[j->n_parts];
        const pod_status s = read_part(r, which, &begun);
        pod__job_reader_close(&from);
        POD_TRY(s);
        j->n_parts += begun;
    }
    return POD_OK;
}

/* ---- launch.jsonl ---------------------------------------------------------------------------- */

static pod_status take_attempt(const pod__job_reader *r, pod_arena *a, int launch, list *attempts)
{
    const pod__job_line *l = &r->line;
    pod_job_attempt *all = attempts->at, *last = attempts->n > 0 ? &all[attempts->n - 1] : NULL;
    if (l->record == POD__JOB_BEGUN) {
        if (last && l->attempt <= last->attempt) return pod__job_reader_bad(r, "attempts go back");
        const pod_job_attempt next = {.attempt = (int)l->attempt,
                                      .launch = launch,
                                      .begin = l->begin_ns,
                                      .reason = "",
                                      .text = ""};
        return push(attempts, &next);
    }
    if (l->record != POD__JOB_ENDED) return pod__job_reader_bad(r, "no record of a launch");
    if (!last || l->attempt != last->attempt || last->end != 0)
        return pod__job_reader_bad(r, "the end of an attempt that is not open");
    POD_TRY(pod__job_reader_within(r, "end_ns", l->end_ns, last->begin, POD__JOB_MAX_STAMP));
    last->end = l->end_ns;
    last->exit_code = (int)l->exit_code;
    POD_TRY(copy_text(a, l->reason, &last->reason));
    return copy_text(a, l->text, &last->text);
}

static pod_status take_launch(const pod__job_reader *r, pod_arena *a, pod_job *j, int *launch,
                              list *attempts)
{
    if (*launch == 0 || r->line.record == POD__JOB_LAUNCH) {
        if (r->line.record != POD__JOB_LAUNCH) return pod__job_reader_bad(r, "want a schema first");
        POD_TRY(check_schema(r, "minipod.launch"));
        if (++*launch == 1) j->launch_begin = r->line.begin_ns;
        return POD_OK;
    }
    return take_attempt(r, a, *launch, attempts);
}

static pod_status read_launch_lines(pod__job_reader *r, pod_arena *a, pod_job *j, list *attempts)
{
    int launch = 0;
    bool more;
    POD_TRY(pod__job_reader_next(r, &more));
    while (more) {
        POD_TRY(take_launch(r, a, j, &launch, attempts));
        POD_TRY(pod__job_reader_next(r, &more));
    }
    j->n_attempts = (int)attempts->n;
    j->attempt = copy_list(a, attempts);
    return j->attempt ? POD_OK : POD_E_NOMEM;
}

static pod_status read_launch(pod_arena *a, const char *dir, pod_job *j)
{
    const char *path = pod_arena_text(a, "%s/job/launch.jsonl", dir);
    if (!path) return POD_E_NOMEM;
    if (access(path, F_OK) != 0 && errno == ENOENT) return POD_OK;
    pod__job_reader from;
    list attempts = {.item_bytes = sizeof(pod_job_attempt)};
    POD_TRY(pod__job_reader_open(path, &from));
    const pod_status status = read_launch_lines(&from, a, j, &attempts);
    pod__job_reader_close(&from);
    free(attempts.at);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static pod_status read_job(pod_arena *a, const char *dir, int rank, pod_job *out)
{
    pod_job j = {.dir = pod_arena_text(a, "%s", dir)};
    struct dirent **name;
    int n;
    if (!j.dir) return POD_E_NOMEM;
    reading r = {.arena = a,
                 .mark.item_bytes = sizeof(pod_job_mark),
                 .step.item_bytes = sizeof(pod_job_step),
                 .kept.item_bytes = sizeof(int64_t),
                 .kept_at.item_bytes = sizeof(pod_stamp),
                 .fault.item_bytes = sizeof(int)};
    POD_TRY(pod__job_list(dir, &name, &n));
    pod_status status = read_launch(a, dir, &j);
    if (status == POD_OK) status = read_parts(&r, dir, name, n, rank, &j);
    pod__job_list_free(name, n);
    list *const lists[] = {&r.mark, &r.step, &r.kept, &r.kept_at, &r.fault};
    for (int i = 0; i < 5; i++) free(lists[i]->at);
    POD_TRY(status);
    if (n == 0 && j.launch_begin == 0)
        return pod_fail(POD_E_IO, "%s/job: no job log: the folder is empty", dir);
    *out = j;
    return POD_OK;
}

int pod_job_attempt_end(const pod_job *j, int first)
{
    int end = first + 1;
    while (end < j->n_parts && j->part[end].head.attempt == j->part[first].head.attempt) end++;
    return end;
}

pod_status pod_job_read(pod_arena *a, const char *dir, pod_job *out)
{
    return read_job(a, dir, -1, out);
}

pod_status pod_job_read_rank(pod_arena *a, const char *dir, int rank, pod_job *out)
{
    return read_job(a, dir, rank, out);
}

pod_status pod__job_last_launched(const char *dir, int *last)
{
    pod_arena *a;
    pod_job j = {0};
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_status status = read_launch(a, dir, &j);
    *last = status == POD_OK && j.n_attempts > 0 ? j.attempt[j.n_attempts - 1].attempt : 0;
    pod_arena_destroy(a);
    return status;
}
