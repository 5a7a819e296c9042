/* The job log, reading: each file twice, to count its records and to take them, so that what is
 * read stands in arrays of its size. A file that grows meanwhile is read as far as it was
 * counted. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/file.h"
#include "runtime/goodput/job_file.h"
#include "runtime/goodput/job_line.h"
#include "runtime/goodput/job_name.h"
#include "runtime/goodput/launch_file.h"

enum { MAX_RANKS = 1 << 20 };

/* Any difference of two stamps fits into an int64_t; the year 2096. */
static const pod_stamp max_stamp = 4000000000000000000;

/* ---- names of files ---- */

static int is_part(const struct dirent *e)
{
    pod_job_name n;
    return pod_job_name_parse(e->d_name, &n);
}

static int by_attempt(const struct dirent **a, const struct dirent **b)
{
    pod_job_name x = {0}, y = {0};
    (void)pod_job_name_parse((*a)->d_name, &x);
    (void)pod_job_name_parse((*b)->d_name, &y);
    if (x.attempt != y.attempt) return x.attempt < y.attempt ? -1 : 1;
    return (x.rank > y.rank) - (x.rank < y.rank);
}

static void free_names(struct dirent **name, int n)
{
    for (int i = 0; i < n; i++) free(name[i]);
    free(name);
}

/* ---- one rank of one attempt ---- */

typedef struct part_arrays { /* pod_job_part's while they are filled; NULL while counting */
    pod_job_mark *mark;
    pod_job_step *step;
    int64_t *kept;
    pod_stamp *kept_at;
    int *fault;
} part_arrays;

typedef struct reading {
    const pod__job_line *line;
    pod_arena *arena;
    pod_job_part *part;
    part_arrays *to; /* NULL: counts */
} reading;

static pod_status bad(const pod__job_line *l, const char *what)
{
    return pod_fail(POD_E_FORMAT, "%s:%d: %s", l->path, l->number, what);
}

static void note_time(pod_job_part *p, pod_stamp at)
{
    if (at > p->last) p->last = at;
}

static pod_status read_at(const reading *r, const char *key, pod_stamp *out)
{
    POD_TRY(pod__job_line_int(r->line, key, r->part->head.begin, max_stamp, out));
    note_time(r->part, *out);
    return POD_OK;
}

static pod_status read_period(const reading *r, pod_stamp *begin, pod_stamp *end)
{
    POD_TRY(read_at(r, "begin_ns", begin));
    POD_TRY(pod__job_line_int(r->line, "end_ns", *begin, max_stamp, end));
    note_time(r->part, *end);
    return POD_OK;
}

static pod_status read_from(const reading *r)
{
    pod_stamp at;
    if (r->part->first_step >= 0) return bad(r->line, "from stands twice");
    POD_TRY(pod__job_line_int(r->line, "from", 0, INT64_MAX, &r->part->first_step));
    if (pod__job_line_has(r->line, "ideal_ps"))
        POD_TRY(pod__job_line_int(r->line, "ideal_ps", 1, INT64_MAX, &r->part->ideal));
    return read_at(r, "at_ns", &at);
}

/* Those that a rank tells; the others are worked out, and steps have lines of their own. */
static pod_status read_span_name(const pod__job_line *l, pod_job_span *out)
{
    const char *name;
    POD_TRY(pod__job_line_text(l, "span", &name));
    for (int s = 0; s < POD_N_JOB_SPANS; s++) {
        if (s == POD_JOB_STEP || !pod_job_span_is_logged((pod_job_span)s) ||
            strcmp(name, pod_job_span_name((pod_job_span)s)) != 0)
            continue;
        *out = (pod_job_span)s;
        return POD_OK;
    }
    return pod_fail(POD_E_FORMAT, "%s:%d: '%.60s' is no span of a job log", l->path, l->number,
                    name);
}

static pod_status read_span(const reading *r)
{
    pod_job_mark m;
    POD_TRY(read_span_name(r->line, &m.span));
    POD_TRY(read_period(r, &m.begin, &m.end));
    if (r->to) r->to->mark[r->part->n_marks] = m;
    r->part->n_marks++;
    return POD_OK;
}

static pod_status read_step(const reading *r)
{
    pod_job_step s = {0};
    POD_TRY(pod__job_line_int(r->line, "step", 1, INT64_MAX, &s.step));
    POD_TRY(read_period(r, &s.begin, &s.end));
    const pod_stamp took = s.end - s.begin;
    POD_TRY(pod__job_line_int(r->line, "input_ns", 0, took, &s.input));
    POD_TRY(pod__job_line_int(r->line, "reduce_ns", 0, took, &s.reduce));
    POD_TRY(pod__job_line_int(r->line, "save_ns", 0, took - s.input, &s.save));
    if (pod__job_line_has(r->line, "core_wait_ns"))
        POD_TRY(pod__job_line_int(r->line, "core_wait_ns", 0, took, &s.core_wait));
    if (r->to) r->to->step[r->part->n_steps] = s;
    r->part->n_steps++;
    return POD_OK;
}

static pod_status read_kept(const reading *r)
{
    int64_t step;
    pod_stamp at;
    POD_TRY(pod__job_line_int(r->line, "kept", 0, INT64_MAX, &step));
    POD_TRY(read_at(r, "at_ns", &at));
    if (r->to) r->to->kept[r->part->n_kept] = step;
    if (r->to) r->to->kept_at[r->part->n_kept] = at;
    r->part->n_kept++;
    return POD_OK;
}

static pod_status read_fault(const reading *r)
{
    int64_t fault;
    pod_stamp at;
    POD_TRY(pod__job_line_int(r->line, "fault", 0, INT32_MAX, &fault));
    POD_TRY(read_at(r, "at_ns", &at));
    if (r->to) r->to->fault[r->part->n_faults] = (int)fault;
    r->part->n_faults++;
    return POD_OK;
}

static pod_status read_end(const reading *r)
{
    static const char *const names[] = {"", "ok", "stopped", "failed"};
    const char *name, *text;
    pod_stamp at;
    pod_job_part *p = r->part;
    if (p->end != POD_JOB_END_NONE) return bad(r->line, "a second end");
    POD_TRY(pod__job_line_text(r->line, "end", &name));
    POD_TRY(pod__job_line_text(r->line, "text", &text));
    POD_TRY(read_at(r, "at_ns", &at));
    for (int k = POD_JOB_END_OK; k <= POD_JOB_END_FAILED; k++)
        if (strcmp(name, names[k]) == 0) p->end = (pod_job_end_kind)k;
    if (p->end == POD_JOB_END_NONE) return bad(r->line, "end: want ok, stopped or failed");
    if (!r->to) return POD_OK;
    p->end_text = pod_arena_text(r->arena, "%s", text);
    return p->end_text ? POD_OK : POD_E_NOMEM;
}

static const struct {
    const char *key;
    pod_status (*read)(const reading *r);
} records[] = {{"step", read_step}, {"span", read_span},   {"kept", read_kept},
               {"from", read_from}, {"fault", read_fault}, {"end", read_end}};

static pod_status read_record(const reading *r)
{
    for (size_t i = 0; i < sizeof records / sizeof records[0]; i++)
        if (pod__job_line_has(r->line, records[i].key)) return records[i].read(r);
    return bad(r->line, "no record of a job log");
}

static pod_status read_schema(const pod__job_line *l, const char *want)
{
    const char *schema;
    int64_t version;
    POD_TRY(pod__job_line_text(l, "schema", &schema));
    if (strcmp(schema, want) != 0)
        return pod_fail(POD_E_FORMAT, "%s:%d: schema: want %s, found '%.40s'", l->path, l->number,
                        want, schema);
    return pod__job_line_int(l, "version", 1, 1, &version);
}

static pod_status read_head(const pod__job_line *l, pod_job_name name, pod_arena *a,
                            pod_job_head *out)
{
    pod_job_head h = {.attempt = name.attempt, .rank = name.rank};
    int64_t ranks, same;
    POD_TRY(read_schema(l, "minipod.job"));
    POD_TRY(pod__job_line_int(l, "attempt", name.attempt, name.attempt, &same));
    POD_TRY(pod__job_line_int(l, "rank", name.rank, name.rank, &same));
    POD_TRY(pod__job_line_int(l, "ranks", name.rank + 1, MAX_RANKS, &ranks));
    POD_TRY(pod__job_line_int(l, "pid", 0, INT64_MAX, &h.pid));
    POD_TRY(pod__job_line_int(l, "begin_ns", 0, max_stamp, &h.begin));
    h.ranks = (int)ranks;
    const struct {
        const char *key, **to;
    } texts[] = {{"mesh", &h.mesh}, {"model", &h.model}, {"data", &h.data}, {"host", &h.host}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const char *text;
        POD_TRY(pod__job_line_text(l, texts[i].key, &text));
        *texts[i].to = pod_arena_text(a, "%s", text);
        if (!*texts[i].to) return POD_E_NOMEM;
    }
    *out = h;
    return POD_OK;
}

/* Records behind the head, up to `n_lines` lines. */
static pod_status read_records(pod__job_line *l, const reading *r, int n_lines)
{
    bool more;
    *r->part = (pod_job_part){
        .head = r->part->head, .first_step = -1, .end_text = "", .last = r->part->head.begin};
    POD_TRY(pod__job_line_next(l, &more));
    while (more && l->number <= n_lines) {
        POD_TRY(read_record(r));
        POD_TRY(pod__job_line_next(l, &more));
    }
    r->part->is_torn = l->is_torn;
    return POD_OK;
}

static pod_status take_records(pod__job_line *l, const reading *counted)
{
    pod_job_part *p = counted->part;
    part_arrays to = {
        .mark = POD_ARENA_NEW(counted->arena, pod_job_mark, p->n_marks),
        .step = POD_ARENA_NEW(counted->arena, pod_job_step, p->n_steps),
        .kept = POD_ARENA_NEW(counted->arena, int64_t, p->n_kept),
        .kept_at = POD_ARENA_NEW(counted->arena, pod_stamp, p->n_kept),
        .fault = POD_ARENA_NEW(counted->arena, int, p->n_faults),
    };
    if (!to.mark || !to.step || !to.kept || !to.kept_at || !to.fault) return POD_E_NOMEM;
    reading r = *counted;
    r.to = &to;
    const int n_lines = l->number;
    bool more;
    pod__job_line_rewind(l);
    POD_TRY(pod__job_line_next(l, &more)); /* the head again */
    POD_TRY(read_records(l, &r, n_lines));
    p->mark = to.mark;
    p->step = to.step;
    p->kept = to.kept;
    p->kept_at = to.kept_at;
    p->fault = to.fault;
    return POD_OK;
}

/* *begun is false for a file without a whole head. */
static pod_status read_lines(pod__job_line *l, pod_job_name name, pod_arena *a, pod_job_part *p,
                             bool *begun)
{
    POD_TRY(pod__job_line_next(l, begun));
    if (!*begun) return POD_OK;
    POD_TRY(read_head(l, name, a, &p->head));
    const reading r = {.line = l, .arena = a, .part = p};
    POD_TRY(read_records(l, &r, INT32_MAX));
    return take_records(l, &r);
}

static pod_status read_part(pod_arena *a, const char *dir, const char *file, pod_job *j,
                            pod_job_part *part)
{
    pod_job_name name = {0};
    (void)pod_job_name_parse(file, &name);
    const char *path = pod_arena_text(a, "%s/job/%s", dir, file);
    if (!path) return POD_E_NOMEM;
    pod__job_line line;
    bool begun;
    POD_TRY(pod__job_line_open(path, &line));
    const pod_status status = read_lines(&line, name, a, &part[j->n_parts], &begun);
    pod__job_line_close(&line);
    if (status == POD_OK && begun) j->n_parts++;
    return status;
}

/* ---- launch.jsonl ---- */

static pod_status read_attempt(const pod__job_line *l, pod_arena *a, int launch,
                               pod_job_attempt *attempt, int *n)
{
    int64_t number, code;
    pod_job_attempt *last = *n > 0 ? &attempt[*n - 1] : NULL;
    POD_TRY(pod__job_line_int(l, "attempt", 1, POD_JOB_MAX_ATTEMPTS, &number));
    if (pod__job_line_has(l, "begin_ns")) {
        if (last && number <= last->attempt) return bad(l, "attempts go back");
        pod_job_attempt next = {.attempt = (int)number, .launch = launch, .reason = "", .text = ""};
        POD_TRY(pod__job_line_int(l, "begin_ns", 0, max_stamp, &next.begin));
        attempt[(*n)++] = next;
        return POD_OK;
    }
    if (!last || number != last->attempt || last->end != 0)
        return bad(l, "the end of an attempt that is not open");
    const char *reason, *text;
    POD_TRY(pod__job_line_int(l, "exit_code", INT32_MIN, INT32_MAX, &code));
    POD_TRY(pod__job_line_text(l, "reason", &reason));
    POD_TRY(pod__job_line_text(l, "text", &text));
    POD_TRY(pod__job_line_int(l, "end_ns", last->begin, max_stamp, &last->end));
    last->exit_code = (int)code;
    last->reason = pod_arena_text(a, "%s", reason);
    last->text = pod_arena_text(a, "%s", text);
    return last->reason && last->text ? POD_OK : POD_E_NOMEM;
}

static pod_status read_launch_lines(pod__job_line *l, pod_arena *a, pod_job *j)
{
    bool more = true;
    while (more) POD_TRY(pod__job_line_next(l, &more));
    const int n_lines = l->number;
    int launch = 0;
    pod_job_attempt *attempt = POD_ARENA_NEW(a, pod_job_attempt, n_lines);
    if (!attempt) return POD_E_NOMEM;
    j->attempt = attempt;
    pod__job_line_rewind(l);
    while (l->number < n_lines) {
        POD_TRY(pod__job_line_next(l, &more));
        if (!pod__job_line_has(l, "schema")) {
            if (launch == 0) return bad(l, "want a schema first");
            POD_TRY(read_attempt(l, a, launch, attempt, &j->n_attempts));
            continue;
        }
        pod_stamp begin;
        POD_TRY(read_schema(l, "minipod.launch"));
        POD_TRY(pod__job_line_int(l, "begin_ns", 1, max_stamp, &begin));
        if (++launch == 1) j->launch_begin = begin;
    }
    return POD_OK;
}

static pod_status read_launch(pod_arena *a, const char *dir, pod_job *j)
{
    const char *path = pod_arena_text(a, "%s/job/launch.jsonl", dir);
    if (!path) return POD_E_NOMEM;
    if (access(path, F_OK) != 0 && errno == ENOENT) return POD_OK;
    pod__job_line line;
    POD_TRY(pod__job_line_open(path, &line));
    const pod_status status = read_launch_lines(&line, a, j);
    pod__job_line_close(&line);
    return status;
}

/* ---- all of it ---- */

/* -1: all ranks. */
static pod_status read_parts(pod_arena *a, const char *dir, struct dirent **name, int n, int rank,
                             pod_job *j)
{
    pod_job_part *part = POD_ARENA_NEW(a, pod_job_part, n);
    if (!part) return POD_E_NOMEM;
    j->part = part;
    for (int i = 0; i < n; i++) {
        pod_job_name which = {0};
        (void)pod_job_name_parse(name[i]->d_name, &which);
        if (rank >= 0 && which.rank != rank) continue;
        POD_TRY(read_part(a, dir, name[i]->d_name, j, part));
    }
    return POD_OK;
}

static pod_status list_parts(const char *dir, struct dirent ***name, int *n)
{
    char path[POD_PATH_BYTES];
    POD_TRY(pod_path_join(dir, "job", path));
    *n = scandir(path, name, is_part, by_attempt);
    if (*n < 0) return pod_fail(POD_E_IO, "%s: no job log: %s", path, strerror(errno));
    return POD_OK;
}

static pod_status read_job(pod_arena *a, const char *dir, int rank, pod_job *out)
{
    pod_job j = {.dir = pod_arena_text(a, "%s", dir)};
    if (!j.dir) return POD_E_NOMEM;
    struct dirent **name;
    int n;
    POD_TRY(list_parts(dir, &name, &n));
    pod_status status = read_launch(a, dir, &j);
    if (status == POD_OK) status = read_parts(a, dir, name, n, rank, &j);
    free_names(name, n);
    POD_TRY(status);
    if (n == 0 && j.launch_begin == 0)
        return pod_fail(POD_E_IO, "%s/job: no job log: the folder is empty", dir);
    *out = j;
    return POD_OK;
}

pod_status pod_job_read(pod_arena *a, const char *dir, pod_job *out)
{
    return read_job(a, dir, -1, out);
}

pod_status pod_job_read_rank(pod_arena *a, const char *dir, int rank, pod_job *out)
{
    return read_job(a, dir, rank, out);
}

/* ---- what there is ---- */

static bool has_folder(const char *dir)
{
    char path[POD_PATH_BYTES];
    struct stat st;
    return pod_path_join(dir, "job", path) == POD_OK && stat(path, &st) == 0;
}

static pod_status last_launched(const char *dir, int *last)
{
    pod_arena *a;
    pod_job j = {0};
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_status status = read_launch(a, dir, &j);
    if (status == POD_OK && j.n_attempts > 0 && j.attempt[j.n_attempts - 1].attempt > *last)
        *last = j.attempt[j.n_attempts - 1].attempt;
    pod_arena_destroy(a);
    return status;
}

pod_status pod_job_last_attempt(const char *dir, int *last)
{
    struct dirent **name;
    int n;
    pod_job_name newest = {0};
    if (!has_folder(dir)) {
        *last = 0;
        return POD_OK;
    }
    POD_TRY(list_parts(dir, &name, &n));
    if (n > 0) (void)pod_job_name_parse(name[n - 1]->d_name, &newest);
    free_names(name, n);
    POD_TRY(last_launched(dir, &newest.attempt));
    *last = newest.attempt;
    return POD_OK;
}

static pod_status remove_file(const char *dir, const char *file)
{
    char folder[POD_PATH_BYTES], path[POD_PATH_BYTES];
    POD_TRY(pod_path_join(dir, "job", folder));
    POD_TRY(pod_path_join(folder, file, path));
    if (unlink(path) == 0 || errno == ENOENT) return POD_OK;
    return pod_fail(POD_E_IO, "%s: cannot be removed: %s", path, strerror(errno));
}

pod_status pod_job_clear(const char *dir)
{
    char path[POD_PATH_BYTES];
    POD_TRY(pod_path_join(dir, "job", path));
    POD_TRY(pod_dir_make(path));
    POD_TRY(pod_path_join(dir, "job/launch.jsonl", path));
    POD_TRY(pod_launch_file_check(path));
    struct dirent **name;
    int n;
    POD_TRY(list_parts(dir, &name, &n));
    pod_status status = remove_file(dir, "launch.jsonl");
    for (int i = 0; i < n && status == POD_OK; i++) status = remove_file(dir, name[i]->d_name);
    free_names(name, n);
    return status;
}

/* ---- an older job's, until a newer one has begun ---- */

typedef struct places {
    char job[POD_PATH_BYTES], aside[POD_PATH_BYTES];
    int n_parts;   /* in job */
    bool is_aside; /* there is something */
} places;

static pod_status find_places(const char *dir, places *at)
{
    struct dirent **name;
    POD_TRY(pod_path_join(dir, "job", at->job));
    POD_TRY(pod_path_join(dir, "job.until-begun", at->aside));
    at->is_aside = access(at->aside, F_OK) == 0;
    if (!at->is_aside && !has_folder(dir)) return POD_OK;
    POD_TRY(pod_dir_make(at->job));
    POD_TRY(list_parts(dir, &name, &at->n_parts));
    free_names(name, at->n_parts);
    return POD_OK;
}

static pod_status move(const char *from, const char *to)
{
    if (rename(from, to) == 0) return POD_OK;
    return pod_fail(POD_E_IO, "%s: cannot be renamed to %s: %s", from, to, strerror(errno));
}

bool pod_job_has_file(const char *name)
{
    pod_job_name n;
    return pod_job_name_parse(name, &n) || strcmp(name, "launch.jsonl") == 0;
}

/* What is no log's is the person's, and stays in the job's folder. */
static pod_status drop_one(const places *at, const char *name)
{
    char from[POD_PATH_BYTES], to[POD_PATH_BYTES];
    POD_TRY(pod_path_join(at->aside, name, from));
    POD_TRY(pod_path_join(at->job, name, to));
    if (!pod_job_has_file(name)) return move(from, to);
    if (unlink(from) == 0) return POD_OK;
    return pod_fail(POD_E_IO, "%s: cannot be removed: %s", from, strerror(errno));
}

static pod_status drop_aside(const places *at)
{
    DIR *dir = opendir(at->aside);
    if (!dir) return pod_fail(POD_E_IO, "%s: %s", at->aside, strerror(errno));
    pod_status status = POD_OK;
    for (const struct dirent *e; status == POD_OK && (e = readdir(dir));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            status = drop_one(at, e->d_name);
    closedir(dir);
    if (status == POD_OK && rmdir(at->aside) != 0)
        status = pod_fail(POD_E_IO, "%s: cannot be removed: %s", at->aside, strerror(errno));
    return status;
}

pod_status pod_job_put_aside(const char *dir)
{
    places at = {.n_parts = 0};
    POD_TRY(find_places(dir, &at));
    if (at.n_parts == 0) return pod_job_clear(dir); /* nobody began it */
    char path[POD_PATH_BYTES];
    POD_TRY(pod_path_join(at.job, "launch.jsonl", path));
    POD_TRY(pod_launch_file_check(path));
    if (at.is_aside) POD_TRY(drop_aside(&at));
    return move(at.job, at.aside);
}

pod_status pod_job_settle(const char *dir)
{
    places at = {.n_parts = 0};
    POD_TRY(find_places(dir, &at));
    if (!at.is_aside) return POD_OK;
    if (at.n_parts > 0) return drop_aside(&at);
    POD_TRY(pod_job_clear(dir));
    (void)rmdir(at.job);
    return move(at.aside, at.job);
}
