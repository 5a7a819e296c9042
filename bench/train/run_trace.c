#include "bench/train/run_trace.h"

#include "kernels/base/arena.h"
#include "runtime/trace/trace.h"

typedef struct gathering { /* of rank 0; others have their own events alone */
    const pod_run_trace *run;
    pod_clock_offset early, late; /* of this rank's clock */
    int size;
    bool is_root;
    pod_event *own;       /* of this rank, on the clock of rank 0 */
    pod_event *event;     /* (size, max_events) of one step */
    pod_event *beside;    /* (size, beside_room) */
    int64_t *n_beside;    /* (size) */
    int *rank;            /* (size) 0, 1, .. */
    pod_trace_part *part; /* (size) */
    pod_trace *trace;     /* NULL: it could not be opened */
} gathering;

static int64_t now(const void *clock) { return pod_clock_now(clock); }

pod_status pod_run_trace_clock(pod_comm *comm, const pod_clock *clock, pod_clock_offset *out)
{
    const pod_clock_source own = {.now = now, .ctx = clock};
    return pod_clock_offset_find(comm, &own, out);
}

static pod_status take_memory(pod_arena *a, gathering *g)
{
    const int64_t events = pod_timeline_max_events(g->run->timeline),
                  beside = pod_timeline_beside_room(g->run->timeline);
    const int64_t n = g->is_root ? g->size : 0;
    g->own = POD_ARENA_NEW(a, pod_event, events > beside ? events : beside);
    g->event = POD_ARENA_NEW(a, pod_event, n * events);
    g->beside = POD_ARENA_NEW(a, pod_event, n * beside);
    g->n_beside = POD_ARENA_NEW(a, int64_t, n);
    g->rank = POD_ARENA_NEW(a, int, n);
    g->part = POD_ARENA_NEW(a, pod_trace_part, n);
    const bool ok = g->own && g->event && g->beside && g->n_beside && g->rank && g->part;
    for (int r = 0; ok && r < n; r++) g->rank[r] = r;
    return ok ? POD_OK : POD_E_NOMEM;
}

static pod_time aligned(const gathering *g, pod_time t)
{
    return t + pod_clock_offset_at(&g->early, &g->late, t);
}

/* Each rank's into its part of `all`, on the clock of rank 0. */
static void gather_events(gathering *g, const pod_event *event, int64_t n, int64_t room,
                          pod_event *all)
{
    for (int64_t i = 0; i < n; i++) {
        g->own[i] = event[i];
        g->own[i].begin = aligned(g, event[i].begin);
        g->own[i].end = aligned(g, event[i].end);
    }
    pod_comm_gather(g->run->comm, g->own, sizeof *all * (size_t)room, all);
}

static void gather_beside(gathering *g)
{
    const pod_timeline *tl = g->run->timeline;
    const int64_t n = pod_timeline_copy_beside(tl, g->own);
    pod_comm_gather(g->run->comm, &n, sizeof n, g->n_beside);
    gather_events(g, g->own, n, pod_timeline_beside_room(tl), g->beside);
}

/* The i-th kept step of all ranks into `part`. */
static void gather_step(gathering *g, int64_t i)
{
    const pod_timeline *tl = g->run->timeline;
    const int64_t room = pod_timeline_max_events(tl);
    int64_t n_rows, n;
    const pod_step_row *row = pod_timeline_rows(tl, &n_rows);
    const pod_event *event = pod_timeline_kept(tl, i, &n);
    row += n_rows - pod_timeline_n_kept(tl) + i;
    const pod_trace_part own = {.rank = pod_comm_rank(g->run->comm),
                                .step = row->step,
                                .begin = aligned(g, row->begin),
                                .end = aligned(g, row->end),
                                .n = n};
    pod_comm_gather(g->run->comm, &own, sizeof own, g->part);
    gather_events(g, event, n, room, g->event);
    for (int r = 0; g->is_root && r < g->size; r++) g->part[r].event = g->event + r * room;
}

/* What begins first. */
static pod_time origin_of(const gathering *g)
{
    const int64_t room = pod_timeline_beside_room(g->run->timeline);
    pod_time first = g->part[0].begin;
    for (int r = 0; r < g->size; r++) {
        if (g->part[r].begin < first) first = g->part[r].begin;
        for (int64_t i = 0; i < g->n_beside[r]; i++)
            if (g->beside[r * room + i].begin < first) first = g->beside[r * room + i].begin;
    }
    return first;
}

static pod_status open_trace(gathering *g, const char *path)
{
    const pod_time origin = origin_of(g);
    const pod_trace_plan plan = {.clock = "wall",
                                 .program = g->run->program,
                                 .rank = g->rank,
                                 .n_ranks = g->size,
                                 .attempt = g->run->attempt,
                                 .n_dropped = g->run->n_dropped,
                                 .origin = origin,
                                 .stamp = g->run->clock->stamp + origin / 1000};
    return pod_trace_open(path, &plan, &g->trace);
}

static pod_status end_trace(gathering *g, pod_status so_far)
{
    if (so_far != POD_OK) {
        pod_trace_abandon(g->trace);
        return so_far;
    }
    const int64_t room = pod_timeline_beside_room(g->run->timeline);
    for (int r = 0; r < g->size; r++)
        pod_trace_put_beside(g->trace, r, g->beside + r * room, g->n_beside[r]);
    return pod_trace_close(g->trace);
}

/* Every rank hands out all of its steps, whatever becomes of the file. */
static pod_status write_steps(gathering *g, const char *path)
{
    pod_status s = POD_OK;
    for (int64_t i = 0; i < pod_timeline_n_kept(g->run->timeline); i++) {
        gather_step(g, i);
        if (!g->is_root) continue;
        if (i == 0) s = open_trace(g, path);
        if (s == POD_OK) s = pod_trace_put_step(g->trace, g->part);
    }
    if (g->is_root && pod_timeline_n_kept(g->run->timeline) > 0) s = end_trace(g, s);
    return pod_comm_agree(g->run->comm, s);
}

/* What all ranks must have alike, or gathering them would mix up steps. */
static pod_status check_alike(const pod_run_trace *t)
{
    int64_t n_rows;
    const pod_step_row *row = pod_timeline_rows(t->timeline, &n_rows);
    const int64_t mine[] = {n_rows, n_rows > 0 ? row[n_rows - 1].step : 0,
                            pod_timeline_n_kept(t->timeline), pod_timeline_max_events(t->timeline)};
    return pod_comm_same(t->comm, "the steps of the timeline", mine, sizeof mine);
}

pod_status pod_run_trace_write(const pod_run_trace *t, const pod_clock_offset *early,
                               const char *path)
{
    gathering g = {.run = t,
                   .early = *early,
                   .size = pod_comm_size(t->comm),
                   .is_root = pod_comm_rank(t->comm) == 0};
    pod_arena *a = NULL;
    pod_status s = check_alike(t);
    if (s == POD_OK) s = pod_comm_agree(t->comm, pod_arena_create(NULL, &a));
    if (s == POD_OK) s = pod_comm_agree(t->comm, take_memory(a, &g));
    if (s == POD_OK) s = pod_run_trace_clock(t->comm, t->clock, &g.late);
    if (s == POD_OK) {
        gather_beside(&g);
        s = write_steps(&g, path);
    }
    pod_arena_destroy(a);
    return s;
}
