#include "bench/result_files.h"

#include "runtime/core/file.h"

static const pod_opt takes_file[] = {POD_OPT_CSV, POD_OPT_JSON, POD_OPT_AUTOTUNE,
                                     POD_OPT_PROMETHEUS, POD_OPT_PLOT};

enum { N_FILES = sizeof takes_file / sizeof takes_file[0] };

/* A plot is drawn by a program that makes its file. */
static bool may_be_stdout(pod_opt o) { return o != POD_OPT_PLOT; }

bool pod_result_files_take_stdout(const pod_config *c)
{
    for (int i = 0; i < N_FILES; i++)
        if (may_be_stdout(takes_file[i]) && pod_file_is_stdout(pod_config_text(c, takes_file[i])))
            return true;
    return false;
}

static pod_status check_apart(const pod_config *c, int mine, int other)
{
    int n;
    const pod_option *options = pod_options(&n);
    const char *path = pod_config_text(c, takes_file[mine]);
    const char *taken = pod_config_text(c, takes_file[other]);
    if (taken[0] == '\0' || !pod_file_is_same(path, taken)) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: '%s' is %s, which %s takes", options[takes_file[mine]].name,
                    path, pod_file_is_stdout(path) ? "standard output" : "the file",
                    options[takes_file[other]].name);
}

pod_status pod_result_files_check(const pod_config *c)
{
    for (int i = 0; i < N_FILES; i++) {
        const char *path = pod_config_text(c, takes_file[i]);
        if (path[0] == '\0') continue;
        POD_TRY(may_be_stdout(takes_file[i]) ? pod_file_check_result(path) : pod_file_check(path));
        for (int other = 0; other < i; other++) POD_TRY(check_apart(c, i, other));
    }
    return POD_OK;
}
