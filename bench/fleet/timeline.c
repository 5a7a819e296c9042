/* Who held what, in Chrome's trace format for Perfetto (ui.perfetto.dev): a process a kind of pods, a
 * row a cube (a node, or a line of hosts of a torus), and more rows where several jobs share it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/fleet/fleet.h"
#include "runtime/core/file.h"

enum { LANES = 64, NAME_BYTES = 64 };

typedef struct writer {
    pod_json json;
    const pod_fleet_study *study;
    int kind, first_row; /* of the kind: some readers ignore the pid, so no two rows share a tid */
    pod_stamp *end;      /* (rows, LANES): of the last stay; 0: the row has none */
} writer;

static int64_t tid_of(const writer *w, int row, int lane)
{
    return (int64_t)(w->first_row + row) * LANES + lane;
}

static const pod_fleet_kind *kind_of(const writer *w) { return &w->study->kind[w->kind]; }

static int by_begin(const void *a, const void *b)
{
    const pod_fleet_stay *x = a, *y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->row != y->row) return x->row - y->row;
    return x->request - y->request;
}

/* Slices of one row must not overlap. */
static int take_lane(const writer *w, const pod_fleet_stay *s)
{
    pod_stamp *end = &w->end[s->row * LANES];
    int lane = 0;
    while (lane < LANES - 1 && end[lane] > s->from) lane++;
    end[lane] = s->until;
    return lane;
}

static void put_stay(writer *w, const pod_fleet_stay *s)
{
    pod_json *j = &w->json;
    const pod_fleet_kind *k = kind_of(w);
    const pod_fleet_request *r = s->request < 0 ? NULL : &k->request[s->request];
    pod_json_open_object(j, NULL);
    pod_json_text(j, "name", r ? r->name : "down");
    pod_json_text(j, "ph", "X");
    pod_json_int(j, "pid", w->kind);
    pod_json_int(j, "tid", tid_of(w, s->row, take_lane(w, s)));
    pod_json_decimal(j, "ts", s->from, 3);
    pod_json_decimal(j, "dur", s->until - s->from, 3);
    pod_json_open_object(j, "args");
    pod_json_int(j, "chips here", (int64_t)s->n_cells * k->topology.chips_per_cell);
    if (r) pod_json_int(j, "chips", r->chips);
    if (r) pod_json_int(j, "priority", r->priority);
    if (r) pod_json_text(j, "model", k->entry[s->request]->model);
    pod_json_close(j);
    pod_json_close(j);
}

static void put_name(writer *w, const char *what, int64_t tid, const char *name)
{
    pod_json *j = &w->json;
    pod_json_open_object(j, NULL);
    pod_json_text(j, "name", what);
    pod_json_text(j, "ph", "M");
    pod_json_int(j, "pid", w->kind);
    pod_json_int(j, "tid", tid);
    pod_json_open_object(j, "args");
    pod_json_text(j, "name", name);
    pod_json_close(j);
    pod_json_close(j);
}

static void put_names(writer *w, int n_rows)
{
    static const char *const words[] = {[POD_TOPOLOGY_POOL] = "pool",
                                        [POD_TOPOLOGY_NODES] = "node",
                                        [POD_TOPOLOGY_CUBES] = "cube",
                                        [POD_TOPOLOGY_GRID] = "line"};
    const pod_fleet_kind *k = kind_of(w);
    const int a_pod = n_rows / k->n_pods;
    char name[NAME_BYTES];
    put_name(w, "process_name", tid_of(w, 0, 0), k->topology.name);
    for (int row = 0; row < n_rows; row++)
        for (int lane = 0; lane < LANES && w->end[row * LANES + lane] > 0; lane++) {
            snprintf(name, sizeof name, "pod %d %s %d%s", row / a_pod, words[k->topology.kind],
                     row % a_pod, lane > 0 ? " +" : "");
            put_name(w, "thread_name", tid_of(w, row, lane), name);
        }
}

static pod_status put_kind(writer *w, pod_arena *a)
{
    const pod_fleet_kind *k = kind_of(w);
    const int n_rows = k->n_pods * k->topology.n_cells / pod_topology_row_cells(&k->topology);
    const int64_t n = k->result.n_stays;
    pod_fleet_stay *stay = POD_ARENA_NEW(a, pod_fleet_stay, n);
    w->end = POD_ARENA_NEW(a, pod_stamp, (int64_t)n_rows * LANES);
    if (!stay || !w->end) return POD_E_NOMEM;
    for (int64_t i = 0; i < n; i++) stay[i] = k->result.stay[i];
    qsort(stay, (size_t)n, sizeof stay[0], by_begin);
    for (int64_t i = 0; i < n; i++) put_stay(w, &stay[i]);
    put_names(w, n_rows);
    w->first_row += n_rows;
    return POD_OK;
}

pod_status pod_fleet_write_timeline(const pod_fleet_study *s, pod_arena *a, const char *folder)
{
    char path[POD_PATH_BYTES];
    pod_file *f;
    pod_status status = POD_OK;
    POD_TRY(pod_path_join(folder, "timeline.json", path));
    POD_TRY(pod_file_open(path, &f));
    writer w = {.json = pod_json_start(pod_file_stream(f), 2), .study = s};
    pod_json_open_object(&w.json, NULL);
    pod_json_text(&w.json, "displayTimeUnit", "ms");
    pod_json_open_array(&w.json, "traceEvents");
    for (w.kind = 0; w.kind < s->n_kinds && status == POD_OK; w.kind++) status = put_kind(&w, a);
    pod_json_close(&w.json);
    pod_json_close(&w.json);
    if (status == POD_OK) return pod_file_close(f);
    pod_file_abandon(f);
    return status;
}
