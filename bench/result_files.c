#include "bench/result_files.h"

#include "runtime/core/file.h"

static const pod_opt takes_file[] = {POD_OPT_CSV, POD_OPT_JSON, POD_OPT_AUTOTUNE,
                                     POD_OPT_PROMETHEUS};

enum { N_FILES = sizeof takes_file / sizeof takes_file[0] };

bool pod_result_files_take_stdout(const pod_config *c)
{
    for (int i = 0; i < N_FILES; i++)
        if (pod_file_is_stdout(pod_config_text(c, takes_file[i]))) return true;
    return false;
}

pod_status pod_result_files_check(const pod_config *c)
{
    int n;
    const char *plot = pod_config_text(c, POD_OPT_PLOT), *has_stdout = NULL;
    for (int i = 0; i < N_FILES; i++) {
        const char *path = pod_config_text(c, takes_file[i]);
        const char *name = pod_options(&n)[takes_file[i]].name;
        if (path[0] == '\0') continue;
        POD_TRY(pod_file_check_result(path));
        if (!pod_file_is_stdout(path)) continue;
        if (has_stdout)
            return pod_fail(POD_E_INVALID, "%s: '%s' is standard output, which %s takes", name,
                            path, has_stdout);
        has_stdout = name;
    }
    return plot[0] != '\0' ? pod_file_check(plot) : POD_OK;
}
