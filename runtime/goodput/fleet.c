#include "runtime/goodput/fleet.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "runtime/core/file.h"
#include "runtime/core/words.h"

enum { N_FIELDS = 4, TEXT_BYTES = 512, MAX_RANKS = 1 << 30 };

static const char heading[] = "job,event,time_s,ranks";

typedef struct follower { /* a job while the file is read */
    pod_fleet_job job;
    int64_t asked, has; /* ranks; asked 0: it is not there */
    double since_s;     /* when they last changed */
    int submit_line;
    bool was_together; /* since its submit */
} follower;

typedef struct reader {
    pod_arena *arena;
    const char *name;
    int line;
    follower *job;
    int n_jobs;
    int *slot; /* (n_slots) by hash: job + 1, 0: free */
    uint32_t n_slots;
    int64_t capacity, allocated; /* ranks */
    bool has_capacity, has_time;
    double capacity_s, capacity_since_s, now_s;
} reader;

typedef struct event {
    const char *job, *what, *ranks;
} event;

/* E_FORMAT with "FILE:LINE: " before the text. */
static pod_status POD_PRINTF(2, 3) bad(const reader *r, const char *fmt, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return pod_fail(POD_E_FORMAT, "%s:%d: %s", r->name, r->line, text);
}

static pod_status bad_event(const reader *r, const event *e, const char *why)
{
    return bad(r, "%s '%.80s' %s", e->what, e->job, why);
}

/* ---- jobs by name ---------------------------------------------------------------------------- */

static uint32_t hash_of(const char *name) /* FNV-1a */
{
    uint32_t h = 2166136261u;
    for (; *name != '\0'; name++) h = (h ^ (unsigned char)*name) * 16777619u;
    return h;
}

/* Its slot, or the free one where it would stand. */
static int *slot_of(const reader *r, const char *name)
{
    uint32_t i = hash_of(name) & (r->n_slots - 1);
    while (r->slot[i] && strcmp(r->job[r->slot[i] - 1].job.name, name) != 0)
        i = (i + 1) & (r->n_slots - 1);
    return &r->slot[i];
}

static pod_status make_room(reader *r, const char *text)
{
    size_t n_lines = 1;
    for (const char *p = text; *p != '\0'; p++) n_lines += *p == '\n';
    r->n_slots = 4;
    while (r->n_slots < 2 * n_lines) r->n_slots *= 2;
    r->slot = POD_ARENA_NEW(r->arena, int, r->n_slots);
    r->job = POD_ARENA_NEW(r->arena, follower, n_lines);
    return r->slot && r->job ? POD_OK : POD_E_NOMEM;
}

/* ---- what events do -------------------------------------------------------------------------- */

/* Adds up what the job held until now, before that changes. */
static void settle(follower *f, double now_s)
{
    const double took_s = now_s - f->since_s;
    f->since_s = now_s;
    if (f->asked == 0) return;
    f->job.asked_s += (double)f->asked * took_s;
    if (f->has == f->asked)
        f->job.together_s += (double)f->has * took_s;
    else
        f->job.partial_s += (double)f->has * took_s;
    if (!f->was_together) f->job.queue_s += took_s;
}

static pod_status parse_ranks(const reader *r, const event *e, int64_t least, int64_t *out)
{
    char what[TEXT_BYTES];
    snprintf(what, sizeof what, "%.300s:%d: ranks", r->name, r->line);
    return pod_parse_int(what, e->ranks, least, MAX_RANKS, out);
}

static pod_status check_capacity(const reader *r)
{
    if (!r->has_capacity || r->allocated <= r->capacity) return POD_OK;
    return bad(r, "capacity of %" PRId64 " ranks, but jobs have %" PRId64, r->capacity,
               r->allocated);
}

static pod_status on_capacity(reader *r, const event *e)
{
    int64_t ranks;
    if (*e->job) return bad_event(r, e, "is the fleet's: the job's name must be empty");
    if (!r->has_capacity && r->n_jobs > 0) return bad_event(r, e, "comes after the first submit");
    POD_TRY(parse_ranks(r, e, 0, &ranks));
    r->capacity_s += (double)r->capacity * (r->now_s - r->capacity_since_s);
    r->capacity_since_s = r->now_s;
    r->capacity = ranks;
    r->has_capacity = true;
    return check_capacity(r);
}

static pod_status on_submit(reader *r, const event *e)
{
    int *slot = slot_of(r, e->job);
    int64_t ranks;
    POD_TRY(parse_ranks(r, e, 1, &ranks));
    if (*slot && r->job[*slot - 1].asked)
        return bad(r, "%s '%.80s' again: that of line %d has not ended", e->what, e->job,
                   r->job[*slot - 1].submit_line);
    if (!*slot) {
        r->job[r->n_jobs] = (follower){.job = {.name = e->job, .together_from_s = (double)NAN}};
        *slot = ++r->n_jobs;
    }
    follower *f = &r->job[*slot - 1];
    settle(f, r->now_s);
    f->asked = ranks;
    f->job.ended_s = (double)NAN;
    f->was_together = false;
    f->submit_line = r->line;
    return POD_OK;
}

static const char not_submitted[] = "of a job that was not submitted";

static follower *find_job(const reader *r, const event *e) /* NULL: there is none */
{
    const int *slot = slot_of(r, e->job);
    return *slot && r->job[*slot - 1].asked ? &r->job[*slot - 1] : NULL;
}

static pod_status on_allocate(reader *r, const event *e)
{
    follower *f = find_job(r, e);
    int64_t ranks;
    if (!f) return bad_event(r, e, not_submitted);
    POD_TRY(parse_ranks(r, e, 0, &ranks));
    if (ranks > f->asked)
        return bad(r, "%s '%.80s' %" PRId64 " ranks, but it asked for %" PRId64, e->what, e->job,
                   ranks, f->asked);
    settle(f, r->now_s);
    r->allocated += ranks - f->has;
    f->has = ranks;
    if (ranks == f->asked) {
        f->was_together = true;
        if (isnan(f->job.together_from_s)) f->job.together_from_s = r->now_s;
        if (ranks > f->job.most_ranks) f->job.most_ranks = ranks;
    }
    return check_capacity(r);
}

static pod_status on_end(reader *r, const event *e)
{
    follower *f = find_job(r, e);
    if (*e->ranks && strcmp(e->ranks, "0") != 0) return bad_event(r, e, "leaves no ranks");
    if (!f) return bad_event(r, e, not_submitted);
    settle(f, r->now_s);
    r->allocated -= f->has;
    f->asked = f->has = 0;
    f->job.ended_s = r->now_s;
    return POD_OK;
}

static const char *const event_names[] = {"capacity", "submit", "allocate", "end"};
static pod_status (*const event_fns[])(reader *r, const event *e) = {on_capacity, on_submit,
                                                                     on_allocate, on_end};

enum { N_EVENTS = sizeof event_names / sizeof event_names[0] };

/* ---- lines ----------------------------------------------------------------------------------- */

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r", text[n - 1])) text[--n] = '\0';
    return text;
}

static pod_status split(const reader *r, char *line, char *field[N_FIELDS])
{
    int n = 0;
    for (char *at = line; at; n++) {
        char *comma = strchr(at, ',');
        if (comma) *comma = '\0';
        if (n < N_FIELDS) field[n] = trim(at);
        at = comma ? comma + 1 : NULL;
    }
    return n == N_FIELDS ? POD_OK : bad(r, "want the 4 fields of a line, found %d", n);
}

static pod_status take_time(reader *r, const char *field)
{
    char what[TEXT_BYTES];
    double at_s;
    snprintf(what, sizeof what, "%.300s:%d: time_s", r->name, r->line);
    POD_TRY(pod_parse_double(what, field, -1e12, 1e12, &at_s));
    if (r->has_time && at_s < r->now_s)
        return bad(r, "time_s %s goes back, the line before has %.9g", field, r->now_s);
    if (!r->has_time) r->capacity_since_s = at_s;
    r->has_time = true;
    r->now_s = at_s;
    return POD_OK;
}

static pod_status take_event(reader *r, char *line)
{
    char *field[N_FIELDS];
    POD_TRY(split(r, line, field));
    const event e = {.job = field[0], .what = field[1], .ranks = field[3]};
    for (int i = 0; i < N_EVENTS; i++)
        if (strcmp(event_names[i], e.what) == 0) {
            if (!*e.job && event_fns[i] != on_capacity) return bad_event(r, &e, "of which job?");
            POD_TRY(take_time(r, field[2]));
            return event_fns[i](r, &e);
        }
    const char *near = pod_nearest_name(e.what, event_names, N_EVENTS);
    return bad(r, "there is no event '%.80s'%s%s", e.what, near ? "; did you mean " : "",
               near ? near : "");
}

static pod_status take_lines(reader *r, char *text)
{
    bool has_heading = false;
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) text += 3; /* UTF-8's mark, of spreadsheets */
    for (char *line = text; line;) {
        char *next = strchr(line, '\n');
        if (next) *next++ = '\0';
        r->line++;
        line = trim(line);
        if (*line != '\0' && *line != '#') {
            if (has_heading)
                POD_TRY(take_event(r, line));
            else if (strcmp(line, heading) != 0)
                return bad(r, "want the heading '%s', found '%.80s'", heading, line);
            has_heading = true;
        }
        line = next;
    }
    return has_heading ? POD_OK : bad(r, "want the heading '%s', found an end", heading);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static pod_status add_up(reader *r, pod_fleet *out)
{
    double asked_s = 0;
    pod_fleet_job *job = POD_ARENA_NEW(r->arena, pod_fleet_job, r->n_jobs);
    if (!job) return POD_E_NOMEM;
    *out = (pod_fleet){.path = r->name, .n_jobs = r->n_jobs, .job = job};
    for (int i = 0; i < r->n_jobs; i++) {
        settle(&r->job[i], r->now_s);
        job[i] = r->job[i].job;
        asked_s += job[i].asked_s;
        out->together_s += job[i].together_s;
        out->partial_s += job[i].partial_s;
    }
    r->capacity_s += (double)r->capacity * (r->now_s - r->capacity_since_s);
    out->has_capacity = r->has_capacity;
    out->capacity_s = r->has_capacity ? r->capacity_s : asked_s;
    return POD_OK;
}

pod_status pod_fleet_parse(pod_arena *a, const char *name, char *text, pod_fleet *out)
{
    reader r = {.arena = a, .name = name};
    POD_TRY(make_room(&r, text));
    POD_TRY(take_lines(&r, text));
    return add_up(&r, out);
}

pod_status pod_fleet_read(pod_arena *a, const char *path, pod_fleet *out)
{
    enum { MAX_BYTES = 1 << 28 };
    char *text;
    POD_TRY(pod_file_read_text(a, path, MAX_BYTES, &text));
    return pod_fleet_parse(a, path, text, out);
}

const pod_fleet_job *pod_fleet_find(const pod_fleet *f, const char *name)
{
    for (int i = 0; i < f->n_jobs; i++)
        if (strcmp(f->job[i].name, name) == 0) return &f->job[i];
    return NULL;
}

/* ---- against a run's log --------------------------------------------------------------------- */

static pod_status deny(const pod_fleet *f, const pod_fleet_job *j, const pod_fleet_run *r,
                       const char *what, double had, double worked)
{
    return pod_fail(POD_E_INVALID, "%s: job '%s' %s %.10g, but the log of %s says %.10g", f->path,
                    j->name, what, had, r->name, worked);
}

pod_status pod_fleet_check(const pod_fleet *f, const pod_fleet_job *j, const pod_fleet_run *r)
{
    const double since_1970_s = 1e9, slack_s = 1, from_s = j->together_from_s;
    if (r->ranks > j->most_ranks)
        return deny(f, j, r, "had at most so many ranks together:", (double)j->most_ranks,
                    r->ranks);
    if (from_s >= since_1970_s && r->begin_s < from_s - slack_s)
        return deny(f, j, r, "is together from second", from_s, r->begin_s);
    if (r->runs) return POD_OK;
    if (isnan(j->ended_s) && r->used_s > j->together_s + slack_s * r->ranks)
        return deny(f, j, r, "has no end, and till the last line so many rank-seconds together:",
                    j->together_s, r->used_s);
    if (from_s >= since_1970_s && r->end_s > j->ended_s + slack_s)
        return deny(f, j, r, "ends at second", j->ended_s, r->end_s);
    if (r->used_s > j->together_s + slack_s * r->ranks)
        return deny(f, j, r, "was together for so many rank-seconds:", j->together_s, r->used_s);
    return POD_OK;
}

double pod_fleet_goodput(const pod_fleet *f)
{
    return f->capacity_s > 0 ? f->together_s / f->capacity_s : (double)NAN;
}
