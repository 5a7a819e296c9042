/* The bytes of a file, unpacked where it is gzip (RFC 1952), as they are where it is not. A gzip file
 * is one member or several, one behind the other; what else stands behind them is passed over, as
 * gzip does. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_GUNZIP_H
#define MINIPOD_RUNTIME_DATA_IMPORT_GUNZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/status.h"

typedef struct pod_gunzip {
    void *file;       /* zlib's */
    const char *path; /* borrowed; for messages */
    bool is_packed;
} pod_gunzip;

/* E_IO, E_NOMEM. */
POD_MUST pod_status pod_gunzip_open(const char *path, pod_gunzip *out);
void pod_gunzip_close(pod_gunzip *z); /* a zeroed one is allowed */

/* The next `bytes` bytes; *n of them, fewer where the file ends. E_FORMAT: a checksum does not
 * hold. */
POD_MUST pod_status pod_gunzip_read(pod_gunzip *z, int64_t bytes, void *out, int64_t *n);
/* After less than was asked for: whether the last member is whole. */
bool pod_gunzip_is_whole(const pod_gunzip *z);

#endif
