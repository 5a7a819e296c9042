#include "runtime/study/fault_trace.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/file.h"

enum { MAX_BYTES = 1 << 28, MAX_DAYS = 36525 };
static const pod_stamp SHORTEST = (pod_stamp)3600 * 1000000000;

typedef struct raw { /* an event as it stands in the file */
    const char *node;
    pod_stamp at;
    int place; /* in the file */
    bool is_down;
} raw;

static pod_status read_event(const char *name, int place, const cJSON *from, raw *out)
{
    const double ns_of_a_day = 86400e9;
    const cJSON *node = cJSON_GetObjectItemCaseSensitive(from, "node_id");
    const cJSON *time = cJSON_GetObjectItemCaseSensitive(from, "event_time");
    const char *type = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(from, "event_type"));
    if (!cJSON_IsString(node))
        return pod_fail(POD_E_FORMAT, "%s: event %d has no text 'node_id'", name, place + 1);
    if (!cJSON_IsNumber(time) || !(time->valuedouble >= 0 && time->valuedouble <= MAX_DAYS))
        return pod_fail(POD_E_FORMAT, "%s: event %d has no 'event_time' within 0 to %d days", name,
                        place + 1, MAX_DAYS);
    if (!type || (strcmp(type, "fault_start") != 0 && strcmp(type, "fault_end") != 0))
        return pod_fail(POD_E_FORMAT,
                        "%s: event %d: 'event_type' is '%.40s', want fault_start or fault_end",
                        name, place + 1, type ? type : "");
    *out = (raw){.node = node->valuestring,
                 .at = (pod_stamp)llround(time->valuedouble * ns_of_a_day),
                 .place = place,
                 .is_down = strcmp(type, "fault_start") == 0};
    return POD_OK;
}

static int by_time(const void *a, const void *b)
{
    const raw *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->place - y->place;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names of the nodes in order, each once; answers how many. */
static int list_nodes(const raw from[], int n, const char *id[])
{
    int n_nodes = 0;
    for (int i = 0; i < n; i++) id[i] = from[i].node;
    qsort(id, (size_t)n, sizeof id[0], by_text);
    for (int i = 0; i < n; i++)
        if (i == 0 || strcmp(id[i], id[n_nodes - 1]) != 0) id[n_nodes++] = id[i];
    return n_nodes;
}

/* open[node]: faults that have not ended. What is open at the end ends there. */
static pod_status number_events(const char *name, const raw from[], int n, const char *const id[],
                                int n_nodes, int open[], pod_node_event event[], pod_fault_trace *t)
{
    for (int i = 0; i < n; i++) {
        const char **found = bsearch(&from[i].node, id, (size_t)n_nodes, sizeof id[0], by_text);
        const int node = (int)(found - (const char **)(const void *)id);
        if (!from[i].is_down && open[node] == 0)
            return pod_fail(POD_E_FORMAT,
                            "%s: event %d: a fault of node %.40s ends that did not begin", name,
                            from[i].place + 1, from[i].node);
        open[node] += from[i].is_down ? 1 : -1;
        t->n_faults += from[i].is_down;
        event[t->n_events++] = (pod_node_event){from[i].at, node, from[i].is_down};
    }
    t->end = from[n - 1].at;
    for (int node = 0; node < n_nodes; node++)
        for (; open[node] > 0; open[node]--)
            event[t->n_events++] = (pod_node_event){t->end, node, false};
    return POD_OK;
}

static pod_status convert(pod_arena *a, const char *name, const cJSON *array, pod_fault_trace *out)
{
    const int n = cJSON_IsArray(array) ? cJSON_GetArraySize(array) : 0;
    if (n == 0)
        return pod_fail(POD_E_FORMAT, "%s: is no JSON array of node faults with at least one",
                        name);
    pod_fault_trace t = {0};
    raw *from = POD_ARENA_NEW(a, raw, n);
    const char **id = POD_ARENA_NEW(a, const char *, n);
    int *open = POD_ARENA_NEW(a, int, n);
    pod_node_event *event = POD_ARENA_NEW(a, pod_node_event, 2 * (size_t)n);
    if (!from || !id || !open || !event) return POD_E_NOMEM;
    const cJSON *item = array->child;
    for (int i = 0; i < n; i++, item = item->next) POD_TRY(read_event(name, i, item, &from[i]));
    qsort(from, (size_t)n, sizeof from[0], by_time);
    if (from[n - 1].at < SHORTEST)
        return pod_fail(POD_E_FORMAT, "%s: ends %g days after its beginning, want an hour at least",
                        name, (double)from[n - 1].at / (24 * (double)SHORTEST));
    t.n_nodes = list_nodes(from, n, id);
    t.event = event;
    POD_TRY(number_events(name, from, n, id, t.n_nodes, open, event, &t));
    *out = t;
    return POD_OK;
}

pod_status pod_fault_trace_parse(pod_arena *a, const char *name, const char *text,
                                 pod_fault_trace *out)
{
    cJSON *array = cJSON_Parse(text);
    const pod_status s = convert(a, name, array, out);
    cJSON_Delete(array);
    return s;
}

pod_status pod_fault_trace_read(pod_arena *a, const char *path, pod_fault_trace *out)
{
    char *text;
    POD_TRY(pod_file_read_text(a, path, MAX_BYTES, &text));
    return pod_fault_trace_parse(a, path, text, out);
}
