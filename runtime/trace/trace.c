#include "runtime/trace/trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include "runtime/core/file.h"
#include "runtime/core/json.h"

enum {
    PICOSECOND_PLACES = 6, /* of a microsecond */
    HALF_PLACES = 7,
    MAX_ROWS = 256, /* of a lane; what overlaps beyond shares the last */
    TIDS_OF_A_LANE = 1000,
    TIDS_OF_A_RANK = POD_N_LANES * TIDS_OF_A_LANE,
    NAME_BYTES = 96
};

static const pod_time LEAST_WAIT = 20000000; /* that gets an arrow; 20 us */
static const pod_time BEFORE_END = 1000000;  /* of a wait an arrow points; 1 us */
static const pod_time SHORTEST = 2000;       /* that an arrow starts from; 2 ns */

/* In the order of the file: steps on top. */
static const struct {
    pod_lane lane;
    const char *name;
} lanes[POD_N_LANES] = {{POD_LANE_STEPS, "steps"},
                        {POD_LANE_COMPUTE, "compute"},
                        {POD_LANE_COMM, "comm"},
                        {POD_LANE_DATA, "data"},
                        {POD_LANE_FILE, "file"}};

struct pod_trace {
    pod_arena *arena;
    pod_trace_plan plan;
    pod_file *file;
    pod_json json;
    bool *has_row; /* (n_ranks, POD_N_LANES, MAX_ROWS) that something stands in */
    int64_t n_arrows;
};

static int place_of(int lane)
{
    int i = 0;
    while ((int)lanes[i].lane != lane) i++;
    return i;
}

static int tid_of(int rank, int lane, int row)
{
    return rank * TIDS_OF_A_RANK + place_of(lane) * TIDS_OF_A_LANE + row + 1;
}

/* ---- one event ------------------------------------------------------------------------------- */

typedef struct spot { /* where an event stands */
    int i, lane, row; /* i: of the plan's ranks */
} spot;

static void put_begin(pod_trace *t, pod_time at)
{
    pod_json_decimal(&t->json, "ts", 10 * (at - t->plan.origin) + 5, HALF_PLACES);
}

/* Leaves the event open. */
static void open_event(pod_trace *t, const char *name, const char *cat, const char *ph, spot at,
                       pod_time ts)
{
    pod_json *j = &t->json;
    t->has_row[(at.i * POD_N_LANES + at.lane) * MAX_ROWS + at.row] = true;
    pod_json_open_object(j, NULL);
    pod_json_text(j, "name", name);
    pod_json_text(j, "cat", cat);
    pod_json_text(j, "ph", ph);
    put_begin(t, ts);
    pod_json_int(j, "pid", t->plan.rank[at.i]);
    pod_json_int(j, "tid", tid_of(t->plan.rank[at.i], at.lane, at.row));
}

static void put_duration(pod_trace *t, pod_time took)
{
    pod_json_decimal(&t->json, "dur", took, PICOSECOND_PLACES);
}

static int64_t bytes_of(const pod_program *p, int32_t instr)
{
    return (int64_t)p->slot[p->coll[p->instr[instr].ticket].slot].bytes;
}

static const pod_trace_work *work_of(const pod_trace *t, const pod_event *e)
{
    const bool runs = e->instr >= 0 && t->plan.program->instr[e->instr].kind == POD_I_RUN;
    return runs && t->plan.work ? &t->plan.work[e->instr] : NULL;
}

static void put_work(pod_json *j, const pod_trace_work *w)
{
    pod_json_text(j, "bound_by", w->bound);
    pod_json_double(j, "flops", w->flops);
    pod_json_double(j, "vector_ops", w->vector_ops);
    pod_json_double(j, "memory_bytes", w->bytes);
    pod_json_int(j, "joined", w->n_joined);
}

/* Of a step; what has no instruction is the wait for input, WAIT_FOR_DATA as Horovod's timeline has it,
 * or the sum of the weights that the loss is a mean over. `number` of a collective in flight, else 0. */
static void put_own(pod_trace *t, spot at, const pod_event *e, int number)
{
    const pod_program *p = t->plan.program;
    const pod_instr *in = e->instr >= 0 ? &p->instr[e->instr] : NULL;
    const char *phase = pod_phase_name((pod_phase)e->phase);
    const char *bare = e->phase == POD_PHASE_INPUT    ? "WAIT_FOR_DATA"
                       : e->phase == POD_PHASE_REDUCE ? "sum of the loss's weights"
                                                      : phase;
    open_event(t, in ? in->label : bare, phase, "X", at, e->begin);
    put_duration(t, e->end - e->begin);
    pod_json_open_object(&t->json, "args");
    pod_json_int(&t->json, "step", e->step + 1);
    if (in) {
        pod_json_int(&t->json, "instr", e->instr);
        pod_json_text(&t->json, "op", in->op);
    }
    const pod_trace_work *work = work_of(t, e);
    if (work)
        put_work(&t->json, work);
    else if (in)
        pod_json_text(&t->json, "kernel", in->impl);
    if (in && number > 0) {
        pod_json_int(&t->json, "number", number);
        pod_json_int(&t->json, "bytes", bytes_of(p, e->instr));
    }
    pod_json_close(&t->json);
    pod_json_close(&t->json);
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void put_step_itself(pod_trace *t, int i, const pod_trace_part *p)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "step %" PRId64, p->step + 1);
    open_event(t, name, "step", "X", (spot){i, POD_LANE_STEPS, 0}, p->begin);
    put_duration(t, p->end - p->begin);
    pod_json_close(&t->json);
}

/* Events of a lane come in the order of their ends: one that begins before a row is free goes on to
 * the next row. */
static int row_for(const pod_event *e, pod_time free_at[MAX_ROWS])
{
    int row = 0;
    while (row < MAX_ROWS - 1 && e->begin < free_at[row]) row++;
    free_at[row] = e->end;
    return row;
}

/* Into row[]: which row of its lane each event stands in. */
static void put_events(pod_trace *t, int i, const pod_trace_part *p, int *row)
{
    pod_time free_at[MAX_ROWS];
    int number = 0;
    for (int k = 0; k < MAX_ROWS; k++) free_at[k] = p->begin;
    for (int64_t k = 0; k < p->n; k++) {
        const pod_event *e = &p->event[k];
        const bool flies = e->lane == POD_LANE_COMM;
        const pod_trace_work *work = work_of(t, e);
        row[k] = flies ? row_for(e, free_at) : 0;
        if (work && work->n_joined == 0) continue;
        put_own(t, (spot){i, e->lane, row[k]}, e, flies ? ++number : 0);
    }
}

typedef struct change { /* of the bytes in flight */
    pod_time at;
    int64_t bytes;
} change;

static int by_time(const void *a, const void *b)
{
    const change *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

static void put_count(pod_trace *t, int i, pod_time at, int64_t bytes)
{
    pod_json *j = &t->json;
    pod_json_open_object(j, NULL);
    pod_json_text(j, "name", "bytes in flight");
    pod_json_text(j, "ph", "C");
    put_begin(t, at);
    pod_json_int(j, "pid", t->plan.rank[i]);
    pod_json_int(j, "tid", tid_of(t->plan.rank[i], POD_LANE_COMM, 0));
    pod_json_open_object(j, "args");
    pod_json_int(j, "bytes", bytes);
    pod_json_close(j);
    pod_json_close(j);
}

static pod_status put_counts(pod_trace *t, pod_arena *a, int i, const pod_trace_part *p)
{
    change *c = POD_ARENA_NEW(a, change, 2 * p->n);
    if (!c) return POD_E_NOMEM;
    size_t n = 0;
    for (int64_t k = 0; k < p->n; k++) {
        const pod_event *e = &p->event[k];
        if (e->lane != POD_LANE_COMM) continue;
        const int64_t bytes = bytes_of(t->plan.program, e->instr);
        c[n++] = (change){e->begin, bytes};
        c[n++] = (change){e->end, -bytes};
    }
    qsort(c, n, sizeof c[0], by_time);
    int64_t in_flight = 0;
    for (size_t k = 0; k < n; k++) {
        in_flight += c[k].bytes;
        if (k + 1 == n || c[k + 1].at > c[k].at) put_count(t, i, c[k].at, in_flight);
    }
    return POD_OK;
}

static void put_arrow_end(pod_trace *t, const char *name, bool is_head, spot at, pod_time ts)
{
    open_event(t, name, "collective", is_head ? "f" : "s", at, ts);
    if (is_head) pod_json_text(&t->json, "bp", "e"); /* ends in the event that it points into */
    pod_json_int(&t->json, "id", t->n_arrows);
    pod_json_close(&t->json);
}

/* From where the last one came into the end of the other's wait. An event that takes no time, as a
 * reader sees it, holds no arrow. */
static void put_arrow(pod_trace *t, const pod_trace_part part[], int *const row[],
                      const pod_flow *f)
{
    const pod_event *flight = &part[f->from].event[f->flight];
    const pod_event *wait = &part[f->to].event[f->wait];
    const pod_instr *in = &t->plan.program->instr[wait->instr];
    if (flight->end - flight->begin < SHORTEST) return;
    const pod_time half = (wait->end - flight->begin + 1) / 2;
    const pod_time ends = wait->end - (half < BEFORE_END ? half : BEFORE_END);
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s %s #%d", in->op, in->impl, f->number);
    t->n_arrows++;
    put_arrow_end(t, name, false, (spot){f->from, POD_LANE_COMM, row[f->from][f->flight]},
                  flight->begin);
    put_arrow_end(t, name, true, (spot){f->to, POD_LANE_COMPUTE, 0}, ends);
}

static pod_status put_step(pod_trace *t, pod_arena *a, const pod_trace_part part[])
{
    const int n_ranks = t->plan.n_ranks;
    const pod_flow *flow;
    int n_flows;
    int **row = POD_ARENA_NEW(a, int *, n_ranks);
    if (!row) return POD_E_NOMEM;
    for (int i = 0; i < n_ranks; i++) {
        row[i] = POD_ARENA_NEW(a, int, part[i].n);
        if (!row[i]) return POD_E_NOMEM;
        put_step_itself(t, i, &part[i]);
        put_events(t, i, &part[i], row[i]);
        POD_TRY(put_counts(t, a, i, &part[i]));
    }
    POD_TRY(pod_flows_find(a, t->plan.program, part, n_ranks, LEAST_WAIT, &flow, &n_flows));
    for (int k = 0; k < n_flows; k++) put_arrow(t, part, row, &flow[k]);
    return POD_OK;
}

pod_status pod_trace_put_step(pod_trace *t, const pod_trace_part part[])
{
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_status s = put_step(t, a, part);
    pod_arena_destroy(a);
    return s;
}

/* ---- beside the steps ------------------------------------------------------------------------ */

void pod_trace_put_beside(pod_trace *t, int i, const pod_event event[], int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        const pod_event *e = &event[k];
        const spot at = {i, e->lane, e->thread};
        const bool is_instant = e->lane == POD_LANE_STEPS && e->begin == e->end;
        char name[NAME_BYTES];
        snprintf(name, sizeof name, "%s %" PRId64, pod_deed_name((pod_deed)e->deed), e->step);
        open_event(t, name, lanes[place_of(e->lane)].name, is_instant ? "i" : "X", at, e->begin);
        if (is_instant)
            pod_json_text(&t->json, "s", "p"); /* drawn across the rank */
        else
            put_duration(t, e->end - e->begin);
        pod_json_close(&t->json);
    }
}

/* ---- names, beginning and end ---------------------------------------------------------------- */

/* `text` NULL: the value is `number`. */
static void put_meta(pod_json *j, const char *what, int pid, int tid, const char *key,
                     const char *text, int number)
{
    pod_json_open_object(j, NULL);
    pod_json_text(j, "name", what);
    pod_json_text(j, "ph", "M");
    pod_json_int(j, "pid", pid);
    pod_json_int(j, "tid", tid);
    pod_json_open_object(j, "args");
    if (text)
        pod_json_text(j, key, text);
    else
        pod_json_int(j, key, number);
    pod_json_close(j);
    pod_json_close(j);
}

static void put_row_name(pod_trace *t, int i, int lane, int row)
{
    char name[NAME_BYTES];
    const int pid = t->plan.rank[i], tid = tid_of(pid, lane, row);
    snprintf(name, sizeof name, row ? "%s %d" : "%s", lanes[place_of(lane)].name, row);
    put_meta(&t->json, "thread_name", pid, tid, "name", name, 0);
    put_meta(&t->json, "thread_sort_index", pid, tid, "sort_index", NULL, tid);
}

static void put_names(pod_trace *t, int i)
{
    char text[NAME_BYTES];
    const int pid = t->plan.rank[i], tid = tid_of(pid, POD_LANE_STEPS, 0);
    snprintf(text, sizeof text, "rank %d", pid);
    put_meta(&t->json, "process_name", pid, tid, "name", text, 0);
    put_meta(&t->json, "process_sort_index", pid, tid, "sort_index", NULL, pid);
    if (t->plan.attempt > 0) {
        snprintf(text, sizeof text, "attempt %d", t->plan.attempt);
        put_meta(&t->json, "process_labels", pid, tid, "labels", text, 0);
    }
    for (int k = 0; k < POD_N_LANES * MAX_ROWS; k++)
        if (t->has_row[i * POD_N_LANES * MAX_ROWS + k])
            put_row_name(t, i, k / MAX_ROWS, k % MAX_ROWS);
}

static pod_status open_in(pod_arena *a, const char *path, const pod_trace_plan *plan,
                          pod_trace **out)
{
    pod_trace *t = POD_ARENA_NEW(a, pod_trace, 1);
    bool *has_row = POD_ARENA_NEW(a, bool, (int64_t)plan->n_ranks *POD_N_LANES *MAX_ROWS);
    if (!t || !has_row) return POD_E_NOMEM;
    *t = (pod_trace){.arena = a, .plan = *plan, .has_row = has_row};
    POD_TRY(pod_file_open(path, &t->file));
    t->json = pod_json_start(pod_file_stream(t->file), 2);
    pod_json_open_object(&t->json, NULL);
    pod_json_text(&t->json, "displayTimeUnit", "ms");
    pod_json_open_object(&t->json, "otherData");
    pod_json_text(&t->json, "clock", plan->clock);
    if (plan->attempt > 0) pod_json_int(&t->json, "attempt", plan->attempt);
    if (plan->n_dropped > 0) pod_json_int(&t->json, "dropped_records", plan->n_dropped);
    if (plan->stamp > 0) pod_json_int(&t->json, "origin_ns_since_epoch", plan->stamp);
    pod_json_close(&t->json);
    pod_json_open_array(&t->json, "traceEvents");
    *out = t;
    return POD_OK;
}

pod_status pod_trace_open(const char *path, const pod_trace_plan *plan, pod_trace **out)
{
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    const pod_status s = open_in(a, path, plan, out);
    if (s != POD_OK) pod_arena_destroy(a);
    return s;
}

pod_status pod_trace_close(pod_trace *t)
{
    for (int i = 0; i < t->plan.n_ranks; i++) put_names(t, i);
    pod_json_close(&t->json);
    pod_json_close(&t->json);
    const pod_status s = pod_file_close(t->file);
    pod_arena_destroy(t->arena);
    return s;
}

void pod_trace_abandon(pod_trace *t)
{
    if (!t) return;
    pod_file_abandon(t->file);
    pod_arena_destroy(t->arena);
}
