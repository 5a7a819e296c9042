#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench/fleet/fleet.h"
#include "runtime/core/file.h"

enum { PATH_BYTES = POD_PATH_BYTES, TIME_BYTES = 32 };
static const pod_stamp SECOND = 1000000000;

/* Seconds to the nanosecond; "" for never. */
static const char *seconds(pod_stamp t, char text[TIME_BYTES])
{
    if (t == POD_NEVER)
        text[0] = '\0';
    else
        snprintf(text, TIME_BYTES, "%" PRId64 ".%09" PRId64, t / SECOND, t % SECOND);
    return text;
}

static int64_t capacity_of(const pod_fleet_study *s)
{
    int64_t chips = 0;
    for (int k = 0; k < s->n_kinds; k++)
        chips += pod_topology_chips(&s->kind[k].topology) * s->kind[k].n_pods;
    return chips;
}

/* The kind whose next event is first; -1: all are written. */
static int next_kind(const pod_fleet_study *s, const int64_t at[])
{
    int first = -1;
    for (int k = 0; k < s->n_kinds; k++) {
        const pod_fleet_result *r = &s->kind[k].result;
        if (at[k] == r->n_events) continue;
        if (first < 0 || r->event[at[k]].at < s->kind[first].result.event[at[first]].at) first = k;
    }
    return first;
}

/* The capacity stands at the horizon once more, so that what has not ended counts up to there. */
static void put_events(const pod_fleet_study *s, FILE *to)
{
    static const char *const names[] = {
        [POD_FLEET_SUBMIT] = "submit", [POD_FLEET_ALLOCATE] = "allocate", [POD_FLEET_END] = "end"};
    int64_t at[POD_FLEET_KINDS] = {0};
    char time[TIME_BYTES];
    const int64_t capacity = capacity_of(s);
    fprintf(to, "job,event,time_s,ranks\n,capacity,0,%" PRId64 "\n", capacity);
    for (int k; (k = next_kind(s, at)) >= 0;) {
        const pod_fleet_event *e = &s->kind[k].result.event[at[k]++];
        fprintf(to, "%s,%s,%s,", s->kind[k].request[e->request].name, names[e->kind],
                seconds(e->at, time));
        if (e->kind == POD_FLEET_END)
            fputc('\n', to);
        else
            fprintf(to, "%" PRId64 "\n", e->chips);
    }
    fprintf(to, ",capacity,%s,%" PRId64 "\n", seconds(s->horizon, time), capacity);
}

static const char *state_of(const pod_fleet_outcome *o)
{
    if (o->end != POD_NEVER) return "ended";
    if (o->waits) return "waits";
    return o->first_start == POD_NEVER ? "waits" : "runs";
}

static void put_job(const pod_fleet_kind *k, int i, FILE *to)
{
    char a[TIME_BYTES], b[TIME_BYTES], c[TIME_BYTES], shape[POD_SLICE_SHAPE_BYTES];
    const pod_fleet_request *r = &k->request[i];
    const pod_fleet_outcome *o = &k->result.outcome[i];
    const pod_fleet_entry *e = k->entry[i];
    fprintf(to, "%s,%s,%s,%s,%s,%s,%" PRId64 ",%s,%d,%s,%s,%s,%s,%s", r->name, k->topology.name,
            pod_fleet_class_name(pod_fleet_class(&k->topology, r->chips)), e->model, e->phase,
            e->outcome, r->chips, pod_slice_shape_print(&k->topology, &o->shape, shape),
            r->priority, seconds(r->submit, a), seconds(o->first_start, b), seconds(o->end, c),
            state_of(o), o->waits ? pod_wait_name(o->reason) : "");
    for (int w = 0; w < POD_N_WAITS; w++) fprintf(to, ",%s", seconds(o->wait[w], a));
    fprintf(to, ",%s,%s,%s,%d,%d,%d,%d\n", seconds(o->rewait, a), seconds(o->span[POD_JOB_STEP], b),
            seconds(o->span[POD_JOB_LOST_STEP], c), o->n_starts, o->n_failures, o->n_evictions,
            o->n_moves);
}

static void put_jobs(const pod_fleet_study *s, FILE *to)
{
    fprintf(to,
            "# minipod %s fleet: a row a job; wait_..._s: before its first start, by reason; "
            "reason: of one that waits at the end; shape: of its last slice\n"
            "job,machine,class,model,phase,outcome,chips,shape,priority,submit_s,start_s,end_s,"
            "state,reason",
            POD_VERSION);
    for (int w = 0; w < POD_N_WAITS; w++) fprintf(to, ",wait_%s_s", pod_wait_name((pod_wait)w));
    fprintf(to, ",rewait_s,productive_s,lost_s,starts,failures,evictions,moves\n");
    for (int k = 0; k < s->n_kinds; k++)
        for (int i = 0; i < s->kind[k].n_jobs; i++) put_job(&s->kind[k], i, to);
}

static pod_status write_file(const pod_fleet_study *s, const char *folder, const char *name,
                             void (*put)(const pod_fleet_study *s, FILE *to))
{
    char path[PATH_BYTES];
    pod_file *f;
    POD_TRY(pod_path_join(folder, name, path));
    POD_TRY(pod_file_open(path, &f));
    put(s, pod_file_stream(f));
    return pod_file_close(f);
}

pod_status pod_fleet_write_files(const pod_fleet_study *s, const char *folder)
{
    POD_TRY(write_file(s, folder, "events.csv", put_events));
    return write_file(s, folder, "jobs.csv", put_jobs);
}
