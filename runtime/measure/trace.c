#include "runtime/measure/trace.h"

#include "runtime/core/file.h"
#include "runtime/core/json.h"

enum { PICOSECOND_PLACES = 6 }; /* of a microsecond */

static const char *const lane_names[POD_N_LANES] = {"compute", "comm", "data"};

/* What has no instruction, by phase; WAIT_FOR_DATA as Horovod's timeline has it. */
static const char *name_without_instr(int phase)
{
    return phase == POD_PHASE_INPUT ? "WAIT_FOR_DATA" : pod_phase_name((pod_phase)phase);
}

static void write_name(pod_json *j, const char *what, int pid, int tid, const char *name)
{
    pod_json_open_object(j, NULL);
    pod_json_text(j, "name", what);
    pod_json_text(j, "ph", "M");
    pod_json_int(j, "pid", pid);
    pod_json_int(j, "tid", tid);
    pod_json_open_object(j, "args");
    pod_json_text(j, "name", name);
    pod_json_close(j);
    pod_json_close(j);
}

static void write_names(pod_json *j, int rank)
{
    char name[32];
    snprintf(name, sizeof name, "rank %d", rank);
    write_name(j, "process_name", rank, 0, name);
    for (int lane = 0; lane < POD_N_LANES; lane++)
        write_name(j, "thread_name", rank, lane, lane_names[lane]);
}

static void write_event(pod_json *j, const pod_trace_rank *r, const pod_event *e,
                        pod_trace_what what)
{
    pod_json_open_object(j, NULL);
    pod_json_text(j, "name", what.label);
    pod_json_text(j, "cat", pod_phase_name((pod_phase)e->phase));
    pod_json_text(j, "ph", "X");
    pod_json_decimal(j, "ts", e->begin + r->shift, PICOSECOND_PLACES);
    pod_json_decimal(j, "dur", e->end - e->begin, PICOSECOND_PLACES);
    pod_json_int(j, "pid", r->rank);
    pod_json_int(j, "tid", e->lane);
    pod_json_open_object(j, "args");
    pod_json_int(j, "step", e->step + 1);
    if (e->instr >= 0) {
        pod_json_int(j, "instr", e->instr);
        pod_json_text(j, "op", what.op);
        pod_json_text(j, "kernel", what.kernel);
    }
    pod_json_close(j);
    pod_json_close(j);
}

pod_status pod_trace_write(const char *path, const char *clock, const pod_trace_rank ranks[],
                           int n_ranks, pod_trace_what_fn *what, const void *ctx)
{
    pod_file *f;
    POD_TRY(pod_file_open(path, &f));
    pod_json j = pod_json_start(pod_file_stream(f), 2);
    pod_json_open_object(&j, NULL);
    pod_json_text(&j, "displayTimeUnit", "ms");
    pod_json_open_object(&j, "otherData");
    pod_json_text(&j, "clock", clock);
    pod_json_close(&j);
    pod_json_open_array(&j, "traceEvents");
    for (int r = 0; r < n_ranks; r++) {
        write_names(&j, ranks[r].rank);
        for (int64_t i = 0; i < ranks[r].n; i++) {
            const pod_event *e = &ranks[r].event[i];
            const pod_trace_what none = {.label = name_without_instr(e->phase)};
            write_event(&j, &ranks[r], e, e->instr >= 0 ? what(ctx, e->instr) : none);
        }
    }
    pod_json_close(&j);
    pod_json_close(&j);
    POD_TRY(pod_file_close(f));
    return POD_OK;
}
