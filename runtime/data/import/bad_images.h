/* Files and folders of an import that cannot be used: all of them are named in one error at the
 * end, or they are skipped with warnings. Either way the first few are named and all are counted.
 * For this folder only. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_BAD_IMAGES_H
#define MINIPOD_RUNTIME_DATA_IMPORT_BAD_IMAGES_H

#include <stdbool.h>

#include "runtime/core/log.h"

enum { POD_BAD_IMAGES_TEXT_BYTES = 768 };

typedef struct pod_bad_images {
    bool skip;
    pod_log *log;
    int64_t n, n_named;
    char named[POD_BAD_IMAGES_TEXT_BYTES]; /* the first few, each with its reason */
} pod_bad_images;

/* Notes that `path` cannot be used, and why, and returns POD_OK: an error comes at the end. Any
 * status but POD_E_FORMAT (no memory, a disk that fails) is of this process or host, not of the
 * file: it is returned, as a failure that names path and reason. */
POD_MUST pod_status pod__bad_image(pod_bad_images *b, const char *path, pod_status s,
                                   const char *reason);
/* After all were looked at: POD_E_FORMAT where some cannot be used and are not skipped. */
POD_MUST pod_status pod__bad_images_end(const pod_bad_images *b, const char *folder);

/* A system call on an image or a folder failed: "WHAT: No such file or directory", as POD_E_FORMAT
 * where that is about this one file: missing, forbidden, of the wrong kind. */
POD_MUST pod_status pod__file_trouble(const char *what, int error);

#endif
