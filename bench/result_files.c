#include "bench/result_files.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/core/file.h"

enum { HEAD_BYTES = 4096 };

/* The files that commands write into --out under names of their own, and a text that stands in the
 * first 4 KiB of each. */
static const struct {
    uint32_t commands;
    const char *name, *mark;
} in_out[] = {
    {POD_CMD_TRAIN, "run.json", "\"minipod.run\""},
    {POD_CMD_TRAIN, "mllog.txt", ":::MLLOG "},
    {POD_CMD_TRAIN, "steps.csv", "\nstep,begin"},
    {POD_CMD_TRAIN, "goodput.json", "\"minipod.goodput\""},
    {POD_CMD_TRAIN, "checkpoint/latest", "step-"},
    {POD_CMD_TRAIN | POD_CMD_SIMULATE | POD_CMD_FLEET, "timeline.json", "\"displayTimeUnit\""},
    {POD_CMD_SIMULATE, "simulate.json", "\"minipod.simulate\""},
    {POD_CMD_SIMULATE, "links.csv", "# minipod "},
    {POD_CMD_SIMULATE, "links.svg", "GNUPLOT"},
    {POD_CMD_SIMULATE, "job.json", "\"minipod."},
    {POD_CMD_SIMULATE, "job.svg", "GNUPLOT"},
    {POD_CMD_SCALE, "scale.svg", "GNUPLOT"},
    {POD_CMD_FLEET, "fleet.json", "\"minipod.fleet\""},
    {POD_CMD_FLEET, "events.csv", "job,event,time_s,ranks"},
    {POD_CMD_FLEET, "jobs.csv", "# minipod "},
    {POD_CMD_MLPERF, "mlperf.json", "\"minipod."},
    {POD_CMD_MLPERF, "result_0.txt", ":::MLLOG "}};

/* The same for the files that options name. Records of different commands are different kinds, so
 * that no result replaces a file of a run that is read. */
static const struct {
    uint32_t commands;
    pod_opt option;
    const char *mark, *what;
    const char *endings; /* of names, with blanks around each; NULL: any */
    const char *word;    /* the command's second word, or with ! any other; NULL: any */
} named[] = {
    {POD_CMD_DATA, POD_OPT_OUTPUT, "\x89HDF\r\n", "an HDF5 file", NULL, "!vocab"},
    {POD_CMD_DATA, POD_OPT_OUTPUT, "[PAD]", "a vocabulary", NULL, "vocab"},
    {POD_CMD_REPORT, POD_OPT_OUTPUT, "minipod", "a page of minipod", " .html .htm ", NULL},
    {POD_CMD_CALIBRATE, POD_OPT_OUTPUT, "clock = ", "a machine file", NULL, NULL},
    {POD_CMD_DATA, POD_OPT_JSON, "\"n_train\"", "minipod's JSON of a data set", NULL, NULL},
    {POD_CMD_TRAIN, POD_OPT_JSON, "\"minipod.run\"", "a JSON record of train", NULL, NULL},
    {POD_CMD_EVAL, POD_OPT_JSON, "\"minipod.eval\"", "a JSON record of eval", NULL, NULL},
    {POD_CMD_COLL, POD_OPT_JSON, "\"minipod.coll\"", "a JSON record of coll", NULL, NULL},
    {POD_CMD_KERNELS, POD_OPT_JSON, "\"minipod.kernels\"", "a JSON record of kernels", NULL, NULL},
    {POD_CMD_SIMULATE, POD_OPT_JSON, "\"minipod.simulate", "a JSON record of simulate", NULL, NULL},
    {POD_CMD_SCALE, POD_OPT_JSON, "\"minipod.scale\"", "a JSON record of scale", NULL, NULL},
    {POD_CMD_PREDICT, POD_OPT_JSON, "\"minipod.predict\"", "a JSON record of predict", NULL, NULL},
    {POD_CMD_CALIBRATE, POD_OPT_JSON, "\"minipod.calibrate\"", "calibrate's JSON record", NULL,
     NULL},
    {POD_CMD_GOODPUT, POD_OPT_JSON, "\"minipod.goodput_report\"", "goodput's JSON record", NULL,
     NULL},
    {POD_CMD_EXPLAIN, POD_OPT_JSON, "\"minipod.samples\"", "a JSON file of samples", NULL, NULL},
    {POD_CMD_FLEET, POD_OPT_JSON, "\"minipod.fleet", "a JSON record of fleet", NULL, NULL},
    {POD_CMD_MLPERF, POD_OPT_JSON, "\"minipod.mlperf\"", "a JSON record of mlperf", NULL, NULL},
    {POD_CMD_ALL, POD_OPT_CSV, "# minipod ", "a CSV file of minipod", NULL, NULL},
    {POD_CMD_ALL, POD_OPT_PREDICTIONS, "index,label,answer", "a file of predictions", NULL, NULL},
    {POD_CMD_ALL, POD_OPT_PLOT, "GNUPLOT", "a picture of minipod", " .svg ", NULL},
    {POD_CMD_ALL, POD_OPT_AUTOTUNE, "minipod coll", "a file of rules of minipod", NULL, NULL},
    {POD_CMD_ALL, POD_OPT_PROMETHEUS, "minipod_", "a file of minipod's metrics", NULL, NULL}};

enum { N_IN_OUT = sizeof in_out / sizeof in_out[0], N_NAMED = sizeof named / sizeof named[0] };

/* "": no result goes there. */
static const char *path_of(const pod_config *c, pod_opt o)
{
    return pod_options[o].writes_file ? pod_config_text(c, o) : "";
}

/* A plot is drawn by a program that makes its file. */
static bool may_be_stdout(pod_opt o) { return o != POD_OPT_PLOT; }

bool pod_result_files_take_stdout(const pod_config *c)
{
    for (int o = 0; o < POD_N_OPTS; o++)
        if (may_be_stdout((pod_opt)o) && pod_file_is_stdout(path_of(c, (pod_opt)o))) return true;
    return false;
}

/* ---- what is there ---- */

/* Whether the file can be replaced by one with this mark. One that is not there, is empty, is a link
 * or cannot be read can, as far as this goes: opening it will tell. */
static bool has_mark(const char *path, const char *mark)
{
    char head[HEAD_BYTES + 1];
    struct stat st;
    FILE *f = lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "r") : NULL;
    const size_t n = f ? fread(head, 1, HEAD_BYTES, f) : 0;
    if (f) fclose(f);
    head[n] = '\0';
    return n == 0 || strstr(head, mark) != NULL;
}

static bool has_ending(const char *path, const char *endings)
{
    const char *name = pod_path_name(path), *dot = strrchr(name, '.');
    char ending[16];
    if (!endings || !dot || dot == name) return true;
    snprintf(ending, sizeof ending, " %.12s ", dot);
    for (char *p = ending; *p; p++) *p = (char)tolower((unsigned char)*p);
    return strstr(endings, ending) != NULL;
}

static bool has_word(const pod_config *c, const char *word)
{
    if (!word) return true;
    const char *second = pod_config_n_args(c) > 1 ? pod_config_arg(c, 1) : "";
    return word[0] == '!' ? strcmp(second, word + 1) != 0 : strcmp(second, word) == 0;
}

static pod_status check_kinds(const pod_config *c, uint32_t command)
{
    for (int i = 0; i < N_NAMED; i++) {
        const char *path = path_of(c, named[i].option), *option = pod_options[named[i].option].name;
        if (!has_word(c, named[i].word)) continue;
        if (!(named[i].commands & command) || *path == '\0' || pod_file_is_stdout(path)) continue;
        if (!has_ending(path, named[i].endings))
            return pod_fail(POD_E_INVALID, "%s: '%s' will be %s, want a name in%s", option, path,
                            named[i].what, named[i].endings);
        if (!has_mark(path, named[i].mark))
            return pod_fail(POD_E_INVALID,
                            "%s: '%s' is there and is not %s: move it away, or take another name",
                            option, path, named[i].what);
    }
    return POD_OK;
}

pod_status pod_result_files_check_out(const char *out, uint32_t command)
{
    for (int i = 0; i < N_IN_OUT && *out; i++) {
        char path[POD_PATH_BYTES];
        if (!(in_out[i].commands & command)) continue;
        POD_TRY(pod_path_join(out, in_out[i].name, path));
        if (!has_mark(path, in_out[i].mark))
            return pod_fail(POD_E_INVALID,
                            "out: %s is there, and no run of minipod wrote it: move it away, or "
                            "take another --out",
                            path);
    }
    return POD_OK;
}

/* ---- beside each other ---- */

/* The text of an option that writes nothing, if a file has that name: the command may read it. */
static const char *read_by(const pod_config *c, pod_opt o)
{
    struct stat st;
    const pod_option *option = &pod_options[o];
    if (option->type != POD_OPTION_TEXT || option->writes_file) return "";
    const char *text = pod_config_text(c, o);
    return stat(text, &st) == 0 && S_ISREG(st.st_mode) ? text : "";
}

static pod_status check_beside(const pod_config *c, uint32_t command, pod_opt mine)
{
    const char *path = path_of(c, mine), *out = pod_config_text(c, POD_OPT_OUT);
    for (int o = 0; o < POD_N_OPTS; o++) {
        const char *other = o < (int)mine ? path_of(c, (pod_opt)o) : "";
        if (*other == '\0') other = read_by(c, (pod_opt)o);
        if (*other == '\0' || !pod_file_is_same(path, other)) continue;
        return pod_fail(POD_E_INVALID, "%s: '%s' is %s, which %s takes", pod_options[mine].name,
                        path, pod_file_is_stdout(path) ? "standard output" : "the file",
                        pod_options[(pod_opt)o].name);
    }
    for (int i = 0; i < 2 * N_IN_OUT; i++) {
        char own[POD_PATH_BYTES];
        const char *folder = i < N_IN_OUT ? out : pod_config_text(c, POD_OPT_RESUME);
        if (!(in_out[i % N_IN_OUT].commands & command) || *folder == '\0') continue;
        POD_TRY(pod_path_join(folder, in_out[i % N_IN_OUT].name, own));
        if (pod_file_is_same(path, own))
            return pod_fail(POD_E_INVALID, "%s: '%s' is a file of the run in %s",
                            pod_options[mine].name, path, folder);
    }
    return POD_OK;
}

/* The folder of --out may be yet to be made, by the command and before its work. */
static pod_status check_writable(const pod_config *c, pod_opt mine)
{
    const char *out = pod_config_text(c, POD_OPT_OUT), *path = path_of(c, mine);
    if (mine == POD_OPT_OUTPUT) return POD_OK; /* which may name a folder that is to be made */
    if (out[0] != '\0' && pod_file_comes_with(path, out)) return POD_OK;
    return may_be_stdout(mine) ? pod_file_check_result(path) : pod_file_check(path);
}

pod_status pod_result_files_check(const pod_config *c, uint32_t command)
{
    POD_TRY(check_kinds(c, command));
    POD_TRY(pod_result_files_check_out(pod_config_text(c, POD_OPT_OUT), command));
    for (int o = 0; o < POD_N_OPTS; o++) {
        if (path_of(c, (pod_opt)o)[0] == '\0') continue;
        POD_TRY(check_beside(c, command, (pod_opt)o));
        POD_TRY(check_writable(c, (pod_opt)o));
    }
    return POD_OK;
}
