#include "runtime/train/steps.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/file.h"

enum { PATH_BYTES = 256 };

struct pod_steps {
    pod_file *file;
    bool has_begun;
    double run_began_s;
    int failure; /* errno of the first */
    char path[PATH_BYTES];
};

/* ---- going on ---- */

/* A whole line: a remark, the names of the columns, or a row of a step up to this. */
static bool stays(const char *line, int64_t step)
{
    char *end;
    if (!strchr(line, '\n')) return false;
    const long long number = strtoll(line, &end, 10);
    return end == line || number <= step;
}

static int64_t measure(FILE *from, int64_t step)
{
    char *line = NULL;
    size_t room = 0;
    int64_t bytes = 0;
    ssize_t n;
    while ((n = getline(&line, &room, from)) > 0 && stays(line, step)) bytes += n;
    free(line);
    return bytes;
}

static void print_head(FILE *to, const pod_steps_plan *p)
{
    fprintf(to, "# clock wall, machine %s, model %s, rank 0\n", p->machine, p->model);
    fprintf(
        to,
        "# steps count from 1; begin_s counts from run_start of mllog.txt; reduce_s is what was "
        "not "
        "hidden; allreduce_s is the time in flight; loss and accuracy are those of the training "
        "batch, empty where not finite\n");
    fprintf(to, "step,begin_s,total_s");
    for (int i = 0; i < POD_N_PHASES; i++) fprintf(to, ",%s_s", pod_phase_name((pod_phase)i));
    fprintf(to, ",other_s,allreduce_s,lr,loss,accuracy\n");
}

pod_status pod_steps_begin(pod_steps *s, const pod_steps_plan *p)
{
    FILE *to;
    int64_t bytes = 0;
    if (p->goes_on) bytes = measure(pod_file_stream(s->file), p->first_step);
    POD_TRY(pod_file_cut(s->file, bytes));
    s->has_begun = true;
    s->run_began_s = p->run_began_s;
    to = pod_file_stream(s->file);
    if (bytes == 0) print_head(to, p);
    fprintf(to, "# attempt %d goes on behind step %" PRId64 ": mesh %s, %d ranks\n", p->attempt,
            p->first_step, p->mesh, p->ranks);
    if (fflush(to) == 0) return POD_OK;
    return pod_fail(POD_E_WRITE, "%s: cannot write: %s", s->path, strerror(errno));
}

pod_status pod_steps_open(const char *path, pod_steps **out)
{
    pod_steps *s = calloc(1, sizeof *s);
    if (!s) return pod_fail(POD_E_NOMEM, "%s: out of memory", path);
    snprintf(s->path, sizeof s->path, "%s", path);
    const pod_status status = pod_file_hold(path, &s->file);
    if (status == POD_OK)
        *out = s;
    else
        free(s);
    return status;
}

/* ---- rows ---- */

static void put_finite(FILE *to, double value)
{
    fputc(',', to);
    if (isfinite(value)) fprintf(to, "%.9g", value);
}

/* A row is flushed by one write, as a kill leaves it. */
void pod_steps_put(pod_steps *s, const pod_step_row *row, double lr, double loss, double accuracy)
{
    if (!s || s->failure) return;
    FILE *to = pod_file_stream(s->file);
    fprintf(to, "%" PRId64 ",%.9f,%.9f", row->step + 1,
            pod_time_seconds(row->begin) - s->run_began_s, pod_time_seconds(row->end - row->begin));
    for (int p = 0; p < POD_N_PHASES; p++) fprintf(to, ",%.9f", pod_time_seconds(row->phase[p]));
    fprintf(to, ",%.9f,%.9f", pod_time_seconds(row->other), pod_time_seconds(row->comm));
    put_finite(to, lr);
    put_finite(to, loss);
    put_finite(to, accuracy);
    fputc('\n', to);
    if (fflush(to) != 0) s->failure = errno;
}

pod_status pod_steps_close(pod_steps *s)
{
    pod_status status = POD_OK;
    if (!s) return POD_OK;
    if (s->has_begun)
        status = pod_file_close(s->file);
    else
        pod_file_abandon(s->file);
    const int failure = s->failure;
    if (failure) status = pod_fail(POD_E_WRITE, "%s: cannot write: %s", s->path, strerror(failure));
    free(s);
    return status;
}
