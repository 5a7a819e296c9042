#include "bench/result_files.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/kernels/problem.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/core/file.h"
#include "runtime/core/machine.h"
#include "runtime/data/glyphs.h"
#include "runtime/goodput/job_file.h"

enum { HEAD_BYTES = 4096 };

/* What commands leave in --out, by their own names, and what stands in the first 4 KiB of each file
 * that one of them wrote. */
static const struct {
    uint32_t commands;
    const char *name, *mark;
} in_out[] = {{POD_CMD_TRAIN, "run.json", "\"minipod.run\""},
              {POD_CMD_TRAIN, "mllog.txt", ":::MLLOG "},
              {POD_CMD_TRAIN, "steps.csv", "\nstep,begin"},
              {POD_CMD_TRAIN, "goodput.json", "\"minipod.goodput\""},
              {POD_CMD_TRAIN | POD_CMD_SIMULATE, "timeline.json", "\"displayTimeUnit\""},
              {POD_CMD_SIMULATE, "simulate.json", "\"minipod.simulate\""},
              {POD_CMD_SIMULATE, "links.csv", "# minipod "},
              {POD_CMD_SIMULATE, "links.svg", "GNUPLOT"},
              {POD_CMD_SIMULATE, "job.json", "\"minipod."},
              {POD_CMD_SIMULATE, "job.svg", "GNUPLOT"},
              {POD_CMD_SCALE, "scale.svg", "GNUPLOT"},
              {POD_CMD_MLPERF, "mlperf.json", "\"minipod."},
              {POD_CMD_MLPERF, "result_0.txt", ":::MLLOG "}};
/* And folders of it whose every file is theirs. */
static const struct {
    uint32_t commands;
    const char *name;
} folder_in_out[] = {{POD_CMD_TRAIN, "job"}, {POD_CMD_TRAIN, "checkpoint"}, {POD_CMD_MLPERF, "."}};

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

/* ---- names ---- */

/* Pictures and pages are of one kind: a name that promises another is refused. */
static const struct {
    uint32_t commands;
    pod_opt option;
    const char *suffixes; /* with blanks around each */
    const char *what;
} kinds[] = {
    {POD_CMD_ALL, POD_OPT_PLOT, " .svg ", "pictures are SVG, want a name in .svg"},
    {POD_CMD_REPORT, POD_OPT_OUTPUT, " .html .htm ", "the page is HTML, want a name in .html"}};

static pod_status check_suffixes(const pod_config *c, uint32_t command)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const char *path = pod_config_text(c, kinds[i].option);
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        const char *dot = strrchr(name, '.');
        char suffix[16];
        if (!(kinds[i].commands & command) || !dot || dot == name) continue;
        snprintf(suffix, sizeof suffix, " %.12s ", dot);
        for (char *p = suffix; *p; p++) *p = (char)tolower((unsigned char)*p);
        if (!strstr(kinds[i].suffixes, suffix))
            return pod_fail(POD_E_INVALID, "%s: '%s': %s", option_of((int)kinds[i].option)->name,
                            path, kinds[i].what);
    }
    return POD_OK;
}

/* ---- what is there ---- */

/* The first bytes of a regular file; none where it is not there, empty, a link or cannot be read,
 * which opening it tells. */
static size_t read_head(const char *path, char *head, size_t room)
{
    struct stat st;
    FILE *f = lstat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "r") : NULL;
    const size_t n = f ? fread(head, 1, room, f) : 0;
    if (f) fclose(f);
    return n;
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

static pod_status check_outside(const char *out, uint32_t command, int mine, const char *path)
{
    for (size_t i = 0; i < sizeof folder_in_out / sizeof folder_in_out[0]; i++) {
        char own[POD_PATH_BYTES];
        if (!(folder_in_out[i].commands & command)) continue;
        POD_TRY(pod_path_join(out, folder_in_out[i].name, own));
        if (pod_path_is_within(path, own))
            return pod_fail(POD_E_INVALID, "%s: '%s' is in %s/ of --out, where the command writes",
                            option_of(mine)->name, path, folder_in_out[i].name);
    }
    return POD_OK;
}

static pod_status check_beside_out(const pod_config *c, uint32_t command, int mine)
{
    const char *out = pod_config_text(c, POD_OPT_OUT), *path = path_of(c, mine);
    if (out[0] == '\0' || pod_file_is_stdout(path)) return POD_OK;
    if (pod_path_is_within(out, path))
        return pod_fail(POD_E_INVALID, "%s: '%s' is a folder: --out is '%s'", option_of(mine)->name,
                        path, out);
    for (size_t i = 0; i < sizeof in_out / sizeof in_out[0]; i++) {
        char own[POD_PATH_BYTES];
        if (!(in_out[i].commands & command)) continue;
        POD_TRY(pod_path_join(out, in_out[i].name, own));
        if (pod_file_is_same(path, own))
            return pod_fail(POD_E_INVALID, "%s: '%s' is a file that goes into --out anyway",
                            option_of(mine)->name, path);
    }
    return check_outside(out, command, mine, path);
}

/* Without --output calibrate writes the host's machine file. */
static pod_status check_beside_host(const pod_config *c, uint32_t command, int mine)
{
    char host[POD_PATH_BYTES];
    if (!(command & POD_CMD_CALIBRATE) || path_of(c, POD_OPT_OUTPUT)[0] != '\0' ||
        pod_machine_host_path(host, sizeof host) != POD_OK ||
        !pod_file_is_same(path_of(c, mine), host))
        return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: '%s' is the machine file, which calibrate writes",
                    option_of(mine)->name, path_of(c, mine));
}

/* ---- and what is in --out already ---- */

/* Also where nothing can be read. */
static bool has_mark(const char *path, const char *mark)
{
    char head[HEAD_BYTES + 1];
    const size_t n = read_head(path, head, HEAD_BYTES);
    head[n] = '\0';
    return n == 0 || strstr(head, mark) != NULL;
}

static pod_status refuse_foreign(const char *path)
{
    return pod_fail(POD_E_INVALID,
                    "out: %s is there, and no run of minipod wrote it: move it away, or take "
                    "another --out",
                    path);
}

/* A folder of logs has a log in it, one of checkpoints a `latest` that is a pointer. */
static pod_status spare_foreign_folders(const char *out)
{
    char path[POD_PATH_BYTES];
    int n_entries = 0, n_logs = 0;
    POD_TRY(pod_path_join(out, "checkpoint/latest", path));
    if (!has_mark(path, "step-")) return refuse_foreign(path);
    POD_TRY(pod_path_join(out, "job", path));
    DIR *d = opendir(path);
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        n_entries += e->d_name[0] != '.';
        n_logs += pod_job_has_file(e->d_name);
    }
    if (d) closedir(d);
    return n_entries > 0 && n_logs == 0 ? refuse_foreign(path) : POD_OK;
}

/* What a person has put into the folder under a name of ours is not overwritten. */
pod_status pod_result_files_spare_foreign(const char *out, uint32_t command)
{
    if (out[0] == '\0') return POD_OK;
    for (size_t i = 0; i < sizeof in_out / sizeof in_out[0]; i++) {
        char path[POD_PATH_BYTES];
        if (!(in_out[i].commands & command)) continue;
        POD_TRY(pod_path_join(out, in_out[i].name, path));
        if (!has_mark(path, in_out[i].mark)) return refuse_foreign(path);
    }
    return command & POD_CMD_TRAIN ? spare_foreign_folders(out) : POD_OK;
}

/* What stands in the first 4 KiB of each file that a command wrote where the option says. */
static const struct {
    uint32_t commands;
    pod_opt option;
    const char *mark, *what;
} written[] = {{POD_CMD_DATA, POD_OPT_OUTPUT, "\x89HDF\r\n", "an HDF5 file"},
               {POD_CMD_REPORT, POD_OPT_OUTPUT, "minipod", "a page of minipod"},
               {POD_CMD_CALIBRATE, POD_OPT_OUTPUT, "clock = ", "a machine file"},
               {POD_CMD_DATA, POD_OPT_JSON, "\"n_train\"", "minipod's JSON of a data set"},
               {POD_CMD_ALL & ~POD_CMD_DATA, POD_OPT_JSON, "\"minipod", "a JSON record of minipod"},
               {POD_CMD_ALL, POD_OPT_CSV, "minipod", "a CSV file of minipod"},
               {POD_CMD_ALL, POD_OPT_PREDICTIONS, "index,label,answer", "a file of predictions"},
               {POD_CMD_ALL, POD_OPT_PLOT, "GNUPLOT", "a picture of minipod"},
               {POD_CMD_ALL, POD_OPT_AUTOTUNE, "minipod coll", "a file of rules of minipod"},
               {POD_CMD_ALL, POD_OPT_PROMETHEUS, "minipod_", "a file of minipod's metrics"}};

/* A name typed by mistake does not replace a file of somebody else. */
static pod_status spare_other_kinds(const pod_config *c, uint32_t command)
{
    for (size_t i = 0; i < sizeof written / sizeof written[0]; i++) {
        const char *path = path_of(c, (int)written[i].option);
        if (!(written[i].commands & command) || pod_file_is_stdout(path) ||
            has_mark(path, written[i].mark))
            continue;
        return pod_fail(POD_E_INVALID,
                        "%s: '%s' is there and is not %s: move it away, or take another name",
                        option_of((int)written[i].option)->name, path, written[i].what);
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

/* A run's folder, or of --resume one of checkpoints. */
typedef struct run_folder {
    int mine;
    const char *path; /* of the result */
    const char *run, *by;
} run_folder;

static pod_status spare_in(const run_folder *f, const char *dir, const char *name)
{
    char file[POD_PATH_BYTES];
    POD_TRY(pod_path_join(dir, name, file));
    if (!pod_file_is_over(f->path, file)) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: '%s' is a file of %s, which %s reads",
                    option_of(f->mine)->name, f->path, f->run, f->by);
}

static bool is_any(const char *name) { return name[0] != '\0'; }

static pod_status spare_those(const run_folder *f, const char *dir, bool (*is_one)(const char *))
{
    pod_status s = POD_OK;
    DIR *d = opendir(dir);
    if (!d) return POD_OK;
    for (const struct dirent *e = readdir(d); e && s == POD_OK; e = readdir(d))
        if (is_one(e->d_name)) s = spare_in(f, dir, e->d_name);
    closedir(d);
    return s;
}

static pod_status spare_checkpoints(const run_folder *f)
{
    pod_arena *a;
    pod_checkpoint_list list;
    POD_TRY(pod_arena_create(NULL, &a));
    pod_status s = POD_OK;
    if (pod_checkpoint_find(f->run, a, NULL, &list) == POD_OK) {
        s = spare_those(f, list.where, pod_checkpoint_has_file);
        for (int i = 0; i < list.n && s == POD_OK; i++)
            s = spare_those(f, list.folder[i], pod_checkpoint_has_file);
    }
    pod_arena_destroy(a);
    return s;
}

/* What else is in the folder is nobody's: a result may go there. */
static pod_status spare_run(int mine, const char *path, const char *run, const char *by)
{
    const run_folder f = {mine, path, run, by};
    char job[POD_PATH_BYTES];
    if (path[0] == '\0' || run[0] == '\0') return POD_OK;
    for (size_t i = 0; i < sizeof in_out / sizeof in_out[0]; i++)
        if (in_out[i].commands & POD_CMD_TRAIN) POD_TRY(spare_in(&f, run, in_out[i].name));
    POD_TRY(pod_path_join(run, "job", job));
    POD_TRY(spare_those(&f, job, is_any));
    return spare_checkpoints(&f);
}

static const char *folder_resumed(const pod_config *c)
{
    const char *resume = pod_config_text(c, POD_OPT_RESUME);
    return strcmp(resume, "auto") == 0 ? pod_config_text(c, POD_OPT_OUT) : resume;
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
    const uint32_t reads_runs = POD_CMD_GOODPUT | POD_CMD_MLPERF | POD_CMD_REPORT;
    for (int i = 0; command & (POD_CMD_DATA | reads_runs) && i < pod_config_n_args(c); i++)
        POD_TRY(spare(mine, path, pod_config_arg(c, i), "the command"));
    for (int i = 0; command & reads_runs && i < pod_config_n_args(c); i++)
        POD_TRY(spare_run(mine, path, pod_config_arg(c, i), "the command"));
    if (option_of(POD_OPT_RESUME)->commands & command)
        POD_TRY(spare_run(mine, path, folder_resumed(c), option_of(POD_OPT_RESUME)->name));
    return POD_OK;
}

pod_status pod_result_files_spare_inputs(const pod_config *c, uint32_t command)
{
    for (int o = 0; o < POD_N_OPTS; o++)
        if (option_of(o)->writes_file) POD_TRY(spare_inputs_of(c, command, o));
    return POD_OK;
}

/* The folder of --out may be yet to be made, by the command and before its work. */
static pod_status check_writable(const pod_config *c, int mine)
{
    const char *out = pod_config_text(c, POD_OPT_OUT), *path = path_of(c, mine);
    if (!may_be_stdout(mine)) return pod_file_check(path);
    if (mine == POD_OPT_OUTPUT) return POD_OK; /* which may name a folder that is to be made */
    if (out[0] != '\0' && pod_file_comes_with(path, out)) return POD_OK;
    return pod_file_check_result(path);
}

pod_status pod_result_files_check(const pod_config *c, uint32_t command)
{
    POD_TRY(pod_result_files_spare_inputs(c, command));
    POD_TRY(check_suffixes(c, command));
    if (option_of(POD_OPT_OUT)->commands & command)
        POD_TRY(pod_result_files_spare_foreign(pod_config_text(c, POD_OPT_OUT), command));
    for (int o = 0; o < POD_N_OPTS; o++) {
        const char *path = path_of(c, o);
        if (path[0] == '\0') continue;
        POD_TRY(check_beside_out(c, command, o));
        POD_TRY(check_writable(c, o));
        for (int other = 0; other < o; other++) POD_TRY(check_apart(c, o, other));
        POD_TRY(check_beside_host(c, command, o));
    }
    return spare_other_kinds(c, command);
}
