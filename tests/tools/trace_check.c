#include "tests/tools/trace_check.h"

#include <cJSON.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry { /* one event, as far as it matters here */
    char ph;
    const char *name, *cat;
    int pid, tid, id;
    int64_t ts, end; /* nanoseconds */
    bool has_enclosing;
} entry;

typedef struct trace {
    char *text;
    cJSON *root;
    entry *all;
    int n;
    char *why;
    size_t bytes;
} trace;

static bool fault(trace *t, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(t->why, t->bytes, fmt, args);
    va_end(args);
    return false;
}

static char *read_all(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    const long n = ftell(f);
    rewind(f);
    char *text = calloc(1, (size_t)n + 1);
    if (text && fread(text, 1, (size_t)n, f) != (size_t)n) text[0] = '\0';
    fclose(f);
    return text;
}

/* Every time is written with the digits of picoseconds, a begin with half of one more. */
static bool check_digits(trace *t)
{
    static const char *const keys[] = {"\"ts\": ", "\"dur\": "};
    static const size_t want[] = {7, 6};
    for (int k = 0; k < 2; k++) {
        for (const char *at = strstr(t->text, keys[k]); at; at = strstr(at, keys[k])) {
            at += strlen(keys[k]);
            const size_t whole = strspn(at, "0123456789");
            const size_t places = at[whole] == '.' ? strspn(at + whole + 1, "0123456789") : 0;
            if (whole == 0 || places != want[k])
                return fault(t, "%s%.24s: want digits and %zu places", keys[k], at, want[k]);
        }
    }
    return true;
}

static const char *text_of(const cJSON *e, const char *key)
{
    const cJSON *item = cJSON_GetObjectItem(e, key);
    return cJSON_IsString(item) ? item->valuestring : "";
}

static double number_of(const cJSON *e, const char *key, double fallback)
{
    const cJSON *item = cJSON_GetObjectItem(e, key);
    return cJSON_IsNumber(item) ? item->valuedouble : fallback;
}

/* As Perfetto does. */
static int64_t cut(double us) { return us < 0 ? -1 : (int64_t)(us * 1000); }

static bool read_entry(trace *t, const cJSON *e, entry *out)
{
    const char *ph = text_of(e, "ph");
    *out = (entry){.ph = ph[0],
                   .name = text_of(e, "name"),
                   .cat = text_of(e, "cat"),
                   .pid = (int)number_of(e, "pid", -1),
                   .tid = (int)number_of(e, "tid", -1),
                   .id = (int)number_of(e, "id", -1),
                   .ts = cut(number_of(e, "ts", -1)),
                   .has_enclosing = strcmp(text_of(e, "bp"), "e") == 0};
    if (strlen(ph) != 1 || !strchr("XMsfCi", ph[0])) return fault(t, "an event of kind '%s'", ph);
    if (!out->name[0] || out->pid < 0) return fault(t, "an event without name or rank");
    if (ph[0] == 'M') return true;
    if (out->ts < 0) return fault(t, "'%s' at no time", out->name);
    if (out->tid < 1) return fault(t, "'%s' in no lane", out->name);
    const int64_t dur = cut(number_of(e, "dur", -1));
    if (ph[0] == 'X' && dur < 0) return fault(t, "'%s' takes no time", out->name);
    out->end = out->ts + (ph[0] == 'X' ? dur : 0);
    return true;
}

static bool read_entries(trace *t)
{
    const cJSON *events = cJSON_GetObjectItem(t->root, "traceEvents"), *e;
    const cJSON *other = cJSON_GetObjectItem(t->root, "otherData");
    if (!cJSON_IsArray(events)) return fault(t, "no traceEvents");
    if (strcmp(text_of(t->root, "displayTimeUnit"), "ms") != 0) return fault(t, "no time unit");
    if (!other || !text_of(other, "clock")[0]) return fault(t, "no clock is named");
    t->all = calloc((size_t)cJSON_GetArraySize(events) + 1, sizeof t->all[0]);
    if (!t->all) return fault(t, "no memory");
    cJSON_ArrayForEach(e, events)
    {
        if (!read_entry(t, e, &t->all[t->n++])) return false;
    }
    return true;
}

/* By row, then time; names of a row before all else in it. */
static int in_order(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->pid != y->pid) return x->pid - y->pid;
    if (x->tid != y->tid) return x->tid - y->tid;
    if ((x->ph == 'M') != (y->ph == 'M')) return x->ph == 'M' ? -1 : 1;
    if (x->ts != y->ts) return x->ts < y->ts ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static int by_tid(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return x->tid != y->tid ? x->tid - y->tid : x->pid - y->pid;
}

static bool check_tids(trace *t)
{
    qsort(t->all, (size_t)t->n, sizeof t->all[0], by_tid);
    for (int i = 1; i < t->n; i++)
        if (t->all[i].tid == t->all[i - 1].tid && t->all[i].pid != t->all[i - 1].pid)
            return fault(t, "ranks %d and %d share the row %d", t->all[i - 1].pid, t->all[i].pid,
                         t->all[i].tid);
    return true;
}

/* Rows have a name and a place; their slices follow one another. */
static bool check_rows(trace *t)
{
    const entry *before = NULL;
    bool is_named = false, is_placed = false;
    int pid = -1, tid = -2;
    for (int i = 0; i < t->n; i++) {
        const entry *e = &t->all[i];
        if (e->pid != pid || e->tid != tid) {
            is_named = is_placed = false;
            before = NULL;
        }
        pid = e->pid;
        tid = e->tid;
        is_named = is_named || strcmp(e->name, "thread_name") == 0;
        is_placed = is_placed || strcmp(e->name, "thread_sort_index") == 0;
        if (e->ph == 'M' || e->ph == 'C') continue;
        if (!is_named || !is_placed)
            return fault(t, "rank %d: row %d of '%s' has no name or place", pid, tid, e->name);
        if (e->ph != 'X') continue;
        if (before && e->ts < before->end)
            return fault(t,
                         "rank %d, row %d: '%s' at %" PRId64 " ns begins within '%s', which ends at"
                         " %" PRId64,
                         pid, tid, e->name, e->ts, before->name, before->end);
        before = e;
    }
    return true;
}

static bool is_in_slice(const trace *t, const entry *end)
{
    for (int i = 0; i < t->n; i++) {
        const entry *e = &t->all[i];
        if (e->ph == 'X' && e->pid == end->pid && e->tid == end->tid && e->ts <= end->ts &&
            end->ts < e->end)
            return true;
    }
    return false;
}

static int by_id(const void *a, const void *b)
{
    const entry *x = *(const entry *const *)a, *y = *(const entry *const *)b;
    if (x->id != y->id) return x->id - y->id;
    return y->ph - x->ph; /* s before f */
}

static bool check_arrow(trace *t, const entry *s, const entry *f)
{
    if (s->ph != 's' || f->ph != 'f' || s->id != f->id)
        return fault(t, "arrow %d has not two ends", s->id);
    if (strcmp(s->name, f->name) != 0 || strcmp(s->cat, f->cat) != 0)
        return fault(t, "arrow %d: '%s' ends as '%s'", s->id, s->name, f->name);
    if (f->ts < s->ts) return fault(t, "arrow %d goes back in time", s->id);
    if (!f->has_enclosing) return fault(t, "arrow %d ends in what follows", s->id);
    if (!is_in_slice(t, s) || !is_in_slice(t, f))
        return fault(t, "arrow %d, '%s', from %" PRId64 " to %" PRId64 " ns: an end is in no slice",
                     s->id, s->name, s->ts, f->ts);
    return true;
}

static bool check_arrows(trace *t, int *n_arrows)
{
    const entry **end = calloc((size_t)t->n + 1, sizeof(const entry *));
    int n = 0;
    bool holds = end != NULL;
    for (int i = 0; end && i < t->n; i++)
        if (t->all[i].ph == 's' || t->all[i].ph == 'f') end[n++] = &t->all[i];
    if (end) qsort(end, (size_t)n, sizeof(const entry *), by_id);
    if (n % 2 != 0) holds = fault(t, "%d ends of arrows", n);
    for (int i = 0; holds && i < n; i += 2) holds = check_arrow(t, end[i], end[i + 1]);
    free(end);
    *n_arrows = n / 2;
    return holds;
}

/* The last count of each rank; the file's order is that of time within a rank. */
static bool check_counters(trace *t)
{
    enum { MAX_RANKS = 4096 };
    static double last[MAX_RANKS];
    memset(last, 0, sizeof last);
    const cJSON *e;
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(t->root, "traceEvents"))
    {
        if (strcmp(text_of(e, "ph"), "C") != 0) continue;
        const double bytes = number_of(cJSON_GetObjectItem(e, "args"), "bytes", -1);
        const int pid = (int)number_of(e, "pid", -1);
        if (bytes < 0 || pid < 0 || pid >= MAX_RANKS) return fault(t, "%g bytes in flight", bytes);
        last[pid] = bytes;
    }
    for (int r = 0; r < MAX_RANKS; r++)
        if (last[r] > 0) return fault(t, "rank %d: %g bytes in flight at the end", r, last[r]);
    return true;
}

static void count(const trace *t, pod_trace_counts *c)
{
    for (int i = 0; i < t->n; i++) {
        const entry *e = &t->all[i];
        c->ranks += strcmp(e->name, "process_name") == 0;
        c->slices += e->ph == 'X';
        c->counters += e->ph == 'C';
        c->instants += e->ph == 'i';
        c->steps += e->ph == 'X' && strcmp(e->cat, "step") == 0;
        c->data += e->ph == 'X' && strcmp(e->cat, "data") == 0;
        c->file += e->ph == 'X' && strcmp(e->cat, "file") == 0;
    }
}

bool pod_trace_check(const char *path, pod_trace_counts *out, char *why, size_t bytes)
{
    trace t = {.why = why, .bytes = bytes};
    *out = (pod_trace_counts){0};
    t.text = read_all(path);
    t.root = t.text ? cJSON_Parse(t.text) : NULL;
    bool holds = t.root ? check_digits(&t) && read_entries(&t) : fault(&t, "%s: no JSON", path);
    holds = holds && check_tids(&t);
    if (holds) qsort(t.all, (size_t)t.n, sizeof t.all[0], in_order);
    holds = holds && check_rows(&t) && check_arrows(&t, &out->arrows) && check_counters(&t);
    if (holds) count(&t, out);
    cJSON_Delete(t.root);
    free(t.all);
    free(t.text);
    return holds;
}
