#include "bench/result_files.h"

#include <string.h>

#include "bench/kernels_problem.h"
#include "runtime/core/file.h"
#include "runtime/core/machine.h"
#include "runtime/data/glyphs.h"

/* What commands leave in --out, by their own names. */
static const struct {
    uint32_t commands;
    const char *name;
} in_out[] = {{POD_CMD_TRAIN, "run.json"},
              {POD_CMD_TRAIN, "mllog.txt"},
              {POD_CMD_TRAIN, "steps.csv"},
              {POD_CMD_TRAIN, "goodput.json"},
              {POD_CMD_TRAIN | POD_CMD_SIMULATE, "timeline.json"},
              {POD_CMD_SIMULATE, "links.csv"},
              {POD_CMD_SIMULATE, "links.svg"},
              {POD_CMD_SIMULATE, "job.json"},
              {POD_CMD_SIMULATE, "job.svg"},
              {POD_CMD_SCALE, "scale.svg"}};

static const pod_option *option_of(int o)
{
    int n;
    return &pod_options(&n)[o];
}

/* A plot is drawn by a program that makes its file. */
static bool may_be_stdout(int o) { return o != POD_OPT_PLOT; }

/* "": no result goes there. */
static const char *path_of(const pod_config *c, int o)
{
    return option_of(o)->writes_file ? pod_config_text(c, (pod_opt)o) : "";
}

bool pod_result_files_take_stdout(const pod_config *c)
{
    for (int o = 0; o < POD_N_OPTS; o++)
        if (may_be_stdout(o) && pod_file_is_stdout(path_of(c, o))) return true;
    return false;
}

/* ---- beside each other ---- */

static pod_status check_apart(const pod_config *c, int mine, int other)
{
    const char *path = path_of(c, mine), *taken = path_of(c, other);
    if (taken[0] == '\0' || !pod_file_is_same(path, taken)) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: '%s' is %s, which %s takes", option_of(mine)->name, path,
                    pod_file_is_stdout(path) ? "standard output" : "the file",
                    option_of(other)->name);
}

static pod_status check_beside_out(const pod_config *c, uint32_t command, int mine)
{
    const char *out = pod_config_text(c, POD_OPT_OUT), *path = path_of(c, mine);
    for (size_t i = 0; i < sizeof in_out / sizeof in_out[0]; i++) {
        char own[POD_PATH_BYTES];
        if (!(in_out[i].commands & command) || out[0] == '\0') continue;
        POD_TRY(pod_path_join(out, in_out[i].name, own));
        if (pod_file_is_same(path, own))
            return pod_fail(POD_E_INVALID, "%s: '%s' is a file that goes into --out anyway",
                            option_of(mine)->name, path);
    }
    return POD_OK;
}

/* ---- and what is read ---- */

/* The file that the option has the command read: "", or a name of none, where it means another
 * thing. */
static const char *file_read(const pod_config *c, int o, char host[POD_PATH_BYTES])
{
    const char *text = pod_config_text(c, (pod_opt)o);
    switch (o) {
    case POD_OPT_CONF: return ""; /* of which there may be several */
    case POD_OPT_DATA: return pod_glyphs_is_spec(text) ? "" : text;
    case POD_OPT_ALGO: return text[0] == '@' ? text + 1 : "";
    case POD_OPT_MACHINE:
        if (strcmp(text, "host") == 0)
            return pod_machine_host_path(host, POD_PATH_BYTES) == POD_OK ? host : "";
        return pod_machine_known_text(text) ? "" : text;
    case POD_OPT_SHAPES: return pod_problems_is_known(text) ? "" : text;
    default: return text;
    }
}

static pod_status spare(int mine, const char *path, const char *read, const char *by)
{
    if (path[0] == '\0' || read[0] == '\0' || !pod_file_is_over(path, read)) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: '%s' is the file that %s reads", option_of(mine)->name,
                    path, by);
}

static pod_status spare_inputs_of(const pod_config *c, uint32_t command, int mine)
{
    const char *path = path_of(c, mine);
    char host[POD_PATH_BYTES];
    for (int o = 0; o < POD_N_OPTS; o++) {
        if (!option_of(o)->reads_file || !(option_of(o)->commands & command)) continue;
        POD_TRY(spare(mine, path, file_read(c, o, host), option_of(o)->name));
    }
    for (int i = 0; i < pod_config_n_files(c); i++)
        POD_TRY(spare(mine, path, pod_config_file(c, i), option_of(POD_OPT_CONF)->name));
    for (int i = 0; command & (POD_CMD_DATA | POD_CMD_GOODPUT) && i < pod_config_n_args(c); i++)
        POD_TRY(spare(mine, path, pod_config_arg(c, i), "the command"));
    return POD_OK;
}

pod_status pod_result_files_spare_inputs(const pod_config *c, uint32_t command)
{
    for (int o = 0; o < POD_N_OPTS; o++)
        if (option_of(o)->writes_file) POD_TRY(spare_inputs_of(c, command, o));
    return POD_OK;
}

/* Inputs first: to ask whether a file can be written has its PATH.part made, and go. */
pod_status pod_result_files_check(const pod_config *c, uint32_t command)
{
    POD_TRY(pod_result_files_spare_inputs(c, command));
    for (int o = 0; o < POD_N_OPTS; o++) {
        const char *path = path_of(c, o);
        if (path[0] == '\0') continue;
        if (!may_be_stdout(o))
            POD_TRY(pod_file_check(path));
        else if (o != POD_OPT_OUTPUT) /* which may name a folder that is to be made */
            POD_TRY(pod_file_check_result(path));
        for (int other = 0; other < o; other++) POD_TRY(check_apart(c, o, other));
        POD_TRY(check_beside_out(c, command, o));
    }
    return POD_OK;
}
