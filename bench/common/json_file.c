#include "bench/common/json_file.h"

#include "runtime/core/file.h"

pod_status pod_json_file_write(const char *path, int line_depth,
                               void (*put)(const void *what, pod_json *j), const void *what)
{
    pod_file *f;
    POD_TRY(pod_file_open_result(path, &f));
    pod_json j = pod_json_start(pod_file_stream(f), line_depth);
    put(what, &j);
    return pod_file_close(f);
}
