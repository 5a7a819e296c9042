#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/fleet/fleet.h"
#include "kernels/base/arith.h"

static const double HOUR_NS = 3600e9;
static const pod_stamp WEEK = INT64_C(7) * 86400 * 1000000000;

int64_t pod_fleet_class_begin(const pod_topology *t, int class)
{
    static const int64_t shares[POD_FLEET_CLASSES] = {0, 64, 8, 2};
    return class == 0 ? 1 : pod_div_up(pod_topology_chips(t), shares[class]);
}

int pod_fleet_class(const pod_topology *t, int64_t chips)
{
    int class = POD_FLEET_CLASSES - 1;
    while (class > 0 && chips < pod_fleet_class_begin(t, class)) class --;
    return class;
}

const char *pod_fleet_class_name(int class)
{
    static const char *const names[] = {"small", "medium", "large", "extra-large"};
    return names[class];
}

/* ---- segments -------------------------------------------------------------------------------- */

enum { NAME_BYTES = sizeof((pod_fleet_segment *)0)->name };

/* The name of a job's segment, and what segments are sorted by: its class of size or its priority. */
static int name_segment(const pod_fleet_study *s, const pod_fleet_kind *k, int i,
                        char name[NAME_BYTES])
{
    const char *by = pod_config_text(s->config, POD_OPT_SEGMENTS), *text;
    char shape[POD_SLICE_SHAPE_BYTES];
    const pod_fleet_request *r = &k->request[i];
    const int class = pod_fleet_class(&k->topology, r->chips);
    if (strcmp(by, "priority") == 0) {
        snprintf(name, NAME_BYTES, "priority %d", r->priority);
        return -r->priority;
    }
    if (s->n_weeks > 0) {
        const int week = (int)((r->submit - s->warm_up) / WEEK);
        const int at = r->submit < s->warm_up ? 0 : week < s->n_weeks ? week : s->n_weeks - 1;
        snprintf(name, NAME_BYTES, "week %d", at + 1);
        return at;
    }
    if (strcmp(by, "size") == 0)
        text = pod_fleet_class_name(class);
    else if (strcmp(by, "model") == 0)
        text = k->entry[i]->model;
    else if (strcmp(by, "phase") == 0)
        text = k->entry[i]->phase;
    else if (strcmp(by, "outcome") == 0)
        text = k->entry[i]->outcome;
    else if (strcmp(by, "shape") == 0)
        text = pod_slice_shape_print(&k->topology, &k->result.outcome[i].shape, shape);
    else
        text = k->topology.name;
    snprintf(name, NAME_BYTES, "%.*s", NAME_BYTES - 1, *text ? text : "not known");
    return strcmp(by, "size") == 0 ? class : 0;
}

typedef struct segments {
    pod_fleet_segment *at;
    int *key;
    int n;
} segments;

/* The segment of that name, which is inserted where it belongs. */
static int find_segment(segments *g, const char *name, int key)
{
    int at = 0;
    for (int i = 0; i < g->n; i++)
        if (strcmp(g->at[i].name, name) == 0) return i;
    if (g->n == POD_FLEET_SEGMENTS - 1) name = "others";
    if (g->n == POD_FLEET_SEGMENTS) return g->n - 1;
    while (at < g->n && strcmp(name, "others") != 0 &&
           (g->key[at] < key || (g->key[at] == key && strcmp(g->at[at].name, name) < 0)))
        at++;
    if (strcmp(name, "others") == 0) at = g->n;
    memmove(&g->at[at + 1], &g->at[at], sizeof g->at[0] * (size_t)(g->n - at));
    memmove(&g->key[at + 1], &g->key[at], sizeof g->key[0] * (size_t)(g->n - at));
    g->at[at] = (pod_fleet_segment){0};
    snprintf(g->at[at].name, sizeof g->at[at].name, "%s", name);
    g->key[at] = key;
    g->n++;
    return at;
}

/* ---- waits ----------------------------------------------------------------------------------- */

typedef struct wait { /* of a job before its first start, in hours */
    double h;
    int segment;
} wait;

static int by_length(const void *a, const void *b)
{
    const wait *x = a, *y = b;
    return (x->h > y->h) - (x->h < y->h);
}

/* The smallest that so large a share does not exceed (nearest rank), of the n of the segment. */
static int64_t rank_of(double share, int64_t n)
{
    const int64_t rank = (int64_t)ceil(share * (double)n);
    return rank > 0 ? rank : 1;
}

/* `w` is sorted; segment -1 is all. */
static void add_spread(pod_fleet_segment *g, const wait w[], int64_t n, int segment)
{
    int64_t seen = 0, n_all = 0;
    double sum = 0;
    g->mean_h = g->p50_h = g->p90_h = g->p99_h = g->max_h = (double)NAN;
    for (int64_t i = 0; i < n; i++) n_all += segment < 0 || w[i].segment == segment;
    for (int64_t i = 0; i < n; i++) {
        if (segment >= 0 && w[i].segment != segment) continue;
        seen++;
        sum += w[i].h;
        if (seen == rank_of(0.50, n_all)) g->p50_h = w[i].h;
        if (seen == rank_of(0.90, n_all)) g->p90_h = w[i].h;
        if (seen == rank_of(0.99, n_all)) g->p99_h = w[i].h;
        g->max_h = w[i].h;
    }
    if (seen > 0) g->mean_h = sum / (double)seen;
}

pod_status pod_fleet_segments(const pod_fleet_study *s, pod_arena *a,
                              pod_fleet_segment out[POD_FLEET_SEGMENTS + 1], int *n)
{
    int key[POD_FLEET_SEGMENTS], n_jobs = 0;
    int64_t n_waits = 0;
    segments g = {.at = &out[1], .key = key};
    char name[NAME_BYTES];
    pod_fleet_segment week;
    for (int k = 0; k < s->n_kinds; k++) n_jobs += s->kind[k].n_jobs;
    wait *w = POD_ARENA_NEW(a, wait, n_jobs);
    if (!w) return POD_E_NOMEM;
    pod_fleet_sum(s, &out[0]);
    for (int k = 0; k < s->n_kinds; k++) /* first which there are: an insertion moves others */
        for (int i = 0; i < s->kind[k].n_jobs; i++) {
            const int order = name_segment(s, &s->kind[k], i, name);
            find_segment(&g, name, order);
        }
    for (int i = 0; i < s->n_weeks; i++) {
        pod_fleet_week(s, i, &week);
        g.at[find_segment(&g, week.name, i)] = week;
    }
    for (int k = 0; k < s->n_kinds; k++)
        for (int i = 0; i < s->kind[k].n_jobs; i++) {
            const pod_fleet_outcome *o = &s->kind[k].result.outcome[i];
            const int order = name_segment(s, &s->kind[k], i, name);
            const int at = find_segment(&g, name, order);
            if (s->n_weeks == 0) pod_fleet_add_job(s, &s->kind[k], i, &g.at[at]);
            if (o->first_start != POD_NEVER && s->kind[k].request[i].submit >= s->warm_up)
                w[n_waits++] = (wait){(double)pod_fleet_first_wait(o) / HOUR_NS, at};
        }
    qsort(w, (size_t)n_waits, sizeof w[0], by_length);
    for (int i = 0; i <= g.n; i++) add_spread(&out[i], w, n_waits, i - 1);
    *n = g.n + 1;
    return POD_OK;
}
