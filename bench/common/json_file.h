/* A JSON file of one value, whole or not there. */
#ifndef MINIPOD_BENCH_COMMON_JSON_FILE_H
#define MINIPOD_BENCH_COMMON_JSON_FILE_H

#include "kernels/base/status.h"
#include "runtime/core/json.h"

/* `put` puts `what`, with an item a line down to line_depth. E_IO. */
POD_MUST pod_status pod_json_file_write(const char *path, int line_depth,
                                        void (*put)(const void *what, pod_json *j),
                                        const void *what);

#endif
