#include "runtime/train/mllog.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/core/file.h"
#include "runtime/core/json.h"
#include "runtime/core/words.h"

struct pod_mllog {
    pod_file *file; /* NULL: silent */
    pod_clock clock;
    char *held; /* the records put before it began */
    size_t held_bytes;
    FILE *held_stream; /* NULL: it has begun */
    bool is_kept;      /* as it was: nothing is put */
    char path[256];    /* for errors */
    pod_status status;
};

/* The reference checker looks for these anywhere in a line. */
static const char *const searched_words[] = {"global_batch_size", "submission_benchmark",
                                             "eval_accuracy",     "eval_error",
                                             "train_samples",     "run_stop"};

static bool has_searched_word(const char *text)
{
    for (size_t i = 0; i < sizeof searched_words / sizeof searched_words[0]; i++)
        if (strstr(text, searched_words[i])) return true;
    return false;
}

static void release(pod_mllog *l)
{
    if (l->held_stream) fclose(l->held_stream);
    free(l->held);
    free(l);
}

pod_status pod_mllog_open(const char *path, int rank, const pod_clock *clock, pod_mllog **out)
{
    pod_mllog *l = calloc(1, sizeof *l);
    if (!l) return pod_fail(POD_E_NOMEM, "training log: out of memory");
    l->clock = *clock;
    if (path && rank == 0) {
        snprintf(l->path, sizeof l->path, "%s", path);
        l->held_stream = open_memstream(&l->held, &l->held_bytes);
        pod_status s = l->held_stream ? pod_file_hold(path, &l->file)
                                      : pod_fail(POD_E_NOMEM, "%s: out of memory", path);
        if (s != POD_OK) {
            release(l);
            return s;
        }
    }
    *out = l;
    return POD_OK;
}

pod_status pod_mllog_close(pod_mllog *l)
{
    if (l->held_stream) {
        pod_mllog_abandon(l);
        return POD_OK;
    }
    pod_status s = l->status;
    pod_status closed = l->file ? pod_file_close(l->file) : POD_OK;
    release(l);
    return s != POD_OK ? s : closed;
}

void pod_mllog_abandon(pod_mllog *l)
{
    pod_file_abandon(l->file);
    release(l);
}

/* ---- beginning, and going on ---- */

/* One write a record: a reader, or a death in between, never sees half a record of ours. */
static void flush(pod_mllog *l)
{
    if (fflush(pod_file_stream(l->file)) != 0)
        l->status = pod_fail(POD_E_WRITE, "%s: cannot write: %s", l->path, strerror(errno));
}

static pod_status drop_held(pod_mllog *l)
{
    const int failed = fclose(l->held_stream);
    l->held_stream = NULL;
    return failed ? pod_fail(POD_E_NOMEM, "%s: out of memory", l->path) : POD_OK;
}

static bool has_key(const char *line, const char *key)
{
    const char *at = strstr(line, "\"key\": \"");
    const size_t n = strlen(key);
    return at && strncmp(at + 8, key, n) == 0 && at[8 + n] == '"';
}

static bool is_whole(const char *line)
{
    const char *end = strrchr(line, '}');
    return strncmp(line, ":::MLLOG {", 10) == 0 && end && strcmp(end, "}\n") == 0;
}

/* How many steps were done; -1: it does not say. */
static int64_t step_of(const char *line)
{
    static const char mark[] = "\"minipod_step\": ";
    const char *at = strstr(line, mark);
    return at ? strtoll(at + sizeof mark - 1, NULL, 10) : -1;
}

/* A whole record of ours, of no later than behind `step` steps. An epoch that starts there is
 * started by who goes on. */
static bool stays(const char *line, int64_t step)
{
    const int64_t done = step_of(line);
    if (!is_whole(line) || has_key(line, "run_stop")) return false;
    return has_key(line, "epoch_start") && done >= 0 ? done < step : done <= step;
}

static int64_t time_ms_of(const char *line) /* -1: it has none */
{
    static const char name[] = "\"time_ms\": ";
    const char *at = strstr(line, name);
    return at ? strtoll(at + sizeof name - 1, NULL, 10) : -1;
}

/* Of this job, not of one that had the folder before it. */
static bool is_since(const char *line, pod_stamp job_began)
{
    return time_ms_of(line) >= job_began / 1000000;
}

static pod_mllog_left measure(FILE *from, pod_stamp job_began, int64_t step)
{
    pod_mllog_left left = {0}, so_far = {0};
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int64_t at = 0;
    bool in_eval = false;
    while ((n = getline(&line, &room, from)) > 0 && stays(line, step)) {
        if (has_key(line, "run_start") && is_since(line, job_began) && !so_far.has_run) {
            so_far.has_run = true;
            so_far.run_start_ms = time_ms_of(line);
        }
        so_far.in_epoch =
            has_key(line, "epoch_start") || (so_far.in_epoch && !has_key(line, "epoch_stop"));
        in_eval = has_key(line, "eval_start") || (in_eval && !has_key(line, "eval_accuracy"));
        so_far.has_eval |= has_key(line, "eval_accuracy") && step_of(line) == step;
        at += n;
        so_far.bytes = at;
        if (!in_eval) left = so_far;
    }
    left.has_stop = n > 0 && !in_eval && is_whole(line) && has_key(line, "run_stop");
    left.has_success = left.has_stop && strstr(line, "\"status\": \"success\"");
    left.stop_bytes = left.has_stop ? at + n : 0;
    free(line);
    return left;
}

pod_status pod_mllog_find(pod_mllog *l, pod_stamp job_began, int64_t step, pod_mllog_left *out)
{
    *out = (pod_mllog_left){0};
    if (!l->held_stream) return POD_OK;
    *out = measure(pod_file_stream(l->file), job_began, step);
    return POD_OK;
}

pod_status pod_mllog_begin(pod_mllog *l, const pod_mllog_left *left, int attempt, int64_t step)
{
    if (!l->file) return POD_OK;
    POD_TRY(pod_file_cut(l->file, left->has_run ? left->bytes : 0));
    POD_TRY(drop_held(l));
    if (left->has_run) {
        pod_mllog_put(l, "minipod_attempt", pod_mllog_int(attempt),
                      {"minipod_step", pod_mllog_int(step)});
    } else {
        fwrite(l->held, 1, l->held_bytes, pod_file_stream(l->file));
        flush(l);
    }
    return l->status;
}

pod_status pod_mllog_keep(pod_mllog *l, const pod_mllog_left *left)
{
    POD_TRY(pod_file_cut(l->file, left->stop_bytes));
    l->is_kept = true;
    return drop_held(l);
}

/* ---- records ---- */

static void put_value(pod_json *j, const char *name, pod_mllog_value v)
{
    switch (v.kind) {
    case POD_MLLOG_NULL: pod_json_null(j, name); break;
    case POD_MLLOG_INT: pod_json_int(j, name, v.whole); break;
    case POD_MLLOG_REAL: pod_json_double(j, name, v.real); break;
    case POD_MLLOG_BOOL: pod_json_bool(j, name, v.whole != 0); break;
    case POD_MLLOG_TEXT: pod_json_text(j, name, v.text); break;
    }
}

static const char *event_type(const char *key)
{
    if (pod_text_ends_in(key, "_start")) return "INTERVAL_START";
    if (pod_text_ends_in(key, "_stop")) return "INTERVAL_END";
    return "POINT_IN_TIME";
}

void pod__mllog_put(const char *file, int line, pod_mllog *l, const char *key,
                    pod_mllog_value value, const pod_mllog_meta meta[])
{
    file = pod_path_name(file); /* the same wherever the source was built */
    POD_ASSERT(!has_searched_word(file), "a file called %s breaks readers of the log", file);
    POD_ASSERT(strncmp(key, "minipod_", 8) != 0 || !has_searched_word(key),
               "the key %s breaks readers of the log", key);
    if (!l->file || l->is_kept || l->status != POD_OK) return;
    FILE *to = l->held_stream ? l->held_stream : pod_file_stream(l->file);
    fputs(":::MLLOG ", to);
    pod_json j = pod_json_start(to, 0);
    pod_json_open_object(&j, NULL);
    pod_json_text(&j, "namespace", "");
    pod_json_int(&j, "time_ms", pod_clock_stamp(&l->clock) / 1000000);
    pod_json_text(&j, "event_type", event_type(key));
    pod_json_text(&j, "key", key);
    put_value(&j, "value", value);
    pod_json_open_object(&j, "metadata");
    pod_json_text(&j, "file", file);
    pod_json_int(&j, "lineno", line);
    for (int i = 0; meta[i].name; i++) put_value(&j, meta[i].name, meta[i].value);
    pod_json_close(&j);
    pod_json_close(&j);
    fputc('\n', to);
    if (!l->held_stream) flush(l);
}

void pod_mllog_submission(pod_mllog *l, const pod_mllog_run *run)
{
    pod_mllog_put(l, "submission_benchmark", pod_mllog_text(run->benchmark));
    pod_mllog_put(l, "submission_division", pod_mllog_text("open"));
    pod_mllog_put(l, "submission_org", pod_mllog_text(run->org));
    pod_mllog_put(l, "submission_platform", pod_mllog_text(run->platform));
    pod_mllog_put(l, "submission_status", pod_mllog_text("research"));
    pod_mllog_put(l, "minipod_model", pod_mllog_text(run->model));
    pod_mllog_put(l, "minipod_data", pod_mllog_text(run->data));
    pod_mllog_put(l, "minipod_claim",
                  pod_mllog_text("MLPerf-style, open, unverified; not an MLPerf result"));
    pod_mllog_put(l, "cache_clear", pod_mllog_bool(false));
}
