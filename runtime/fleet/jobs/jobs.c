#include "runtime/fleet/jobs/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/core/file.h"
#include "runtime/core/words.h"

typedef pod_status read_fn(pod__jobs_list *l, const char *file, char *text);

static const char *const names[] = {
#define POD_JOBS_FORMAT(name, about) #name,
#include "runtime/fleet/jobs/jobs.def"
};
static read_fn *const readers[] = {
#define POD_JOBS_FORMAT(name, about) pod__jobs_read_##name,
#include "runtime/fleet/jobs/jobs.def"
};

enum { N_FORMATS = sizeof names / sizeof names[0], NAME_BYTES = 16, MAX_BYTES = 1 << 30 };

pod_status pod__jobs_add(pod__jobs_list *l, const pod_fleet_entry *e)
{
    pod_fleet_entry *entry = POD_ARENA_GROW(l->arena, l->entry, l->n);
    if (!entry) return POD_E_NOMEM;
    l->entry = entry;
    entry[l->n++] = *e;
    return POD_OK;
}

typedef struct numbered {
    pod_stamp at;
    int place;
} numbered;

static int by_time(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->place - y->place;
}

pod_status pod__jobs_sort(pod__jobs_list *l)
{
    numbered *order = POD_ARENA_NEW(l->arena, numbered, l->n);
    pod_fleet_entry *sorted = POD_ARENA_NEW(l->arena, pod_fleet_entry, l->n);
    if (!order || !sorted) return POD_E_NOMEM;
    for (int i = 0; i < l->n; i++) order[i] = (numbered){l->entry[i].submit, i};
    qsort(order, (size_t)l->n, sizeof order[0], by_time);
    for (int i = 0; i < l->n; i++) sorted[i] = l->entry[order[i].place];
    l->entry = sorted;
    return POD_OK;
}

static int by_name(const void *a, const void *b)
{
    const pod_fleet_entry *x = *(const pod_fleet_entry *const *)a,
                          *y = *(const pod_fleet_entry *const *)b;
    const int order = strcmp(x->name, y->name);
    return order != 0 ? order : x->line - y->line;
}

static pod_status check_names(const pod__jobs_list *l, const char *file)
{
    const pod_fleet_entry **entry = POD_ARENA_NEW(l->arena, const pod_fleet_entry *, l->n);
    if (!entry) return POD_E_NOMEM;
    for (int i = 0; i < l->n; i++) entry[i] = &l->entry[i];
    qsort(entry, (size_t)l->n, sizeof entry[0], by_name);
    for (int i = 1; i < l->n; i++)
        if (strcmp(entry[i]->name, entry[i - 1]->name) == 0)
            return pod_fail(POD_E_FORMAT, "%s:%d: job '%.80s' again: line %d has one of that name",
                            file, entry[i]->line, entry[i]->name, entry[i - 1]->line);
    return POD_OK;
}

static int find_format(const char *name)
{
    for (int i = 0; i < N_FORMATS; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

pod_status pod_fleet_jobs_parse(pod_arena *a, const char *format, const char *name, char *text,
                                pod_fleet_jobs *out)
{
    pod__jobs_list l = {.arena = a};
    const int f = find_format(format);
    if (f < 0) {
        const char *near = pod_nearest_name(format, names, N_FORMATS);
        return pod_fail(POD_E_INVALID,
                        "jobs: there is no format '%.20s'%s%s; want csv, philly, openb or swf",
                        format, near ? "; did you mean " : "", near ? near : "");
    }
    POD_TRY(readers[f](&l, name, text));
    if (l.n == 0) return pod_fail(POD_E_FORMAT, "%s: has no jobs", name);
    POD_TRY(check_names(&l, name));
    POD_TRY(pod__jobs_sort(&l));
    *out = (pod_fleet_jobs){
        .file = name, .n = l.n, .entry = l.entry, .n_skipped = l.n_skipped, .is_foreign = f > 0};
    return POD_OK;
}

/* A colon ends a format only if neither a slash nor a dot is before it. */
pod_status pod_fleet_jobs_read(pod_arena *a, const char *what, pod_fleet_jobs *out)
{
    char format[NAME_BYTES] = "csv", *text;
    const char *colon = strchr(what, ':'), *path = what;
    const size_t n = colon ? (size_t)(colon - what) : 0;
    if (colon && n > 0 && n < sizeof format && !memchr(what, '/', n) && !memchr(what, '.', n)) {
        memcpy(format, what, n);
        format[n] = '\0';
        path = colon + 1;
    }
    POD_TRY(pod_file_read_text(a, path, MAX_BYTES, &text));
    return pod_fleet_jobs_parse(a, format, path, text, out);
}
