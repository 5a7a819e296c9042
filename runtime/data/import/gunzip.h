/* Reads a file, and unpacks it if it is gzip (RFC 1952). A gzip file may have several members, one
 * after the other; bytes behind the last one are ignored, as gzip does. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_GUNZIP_H
#define MINIPOD_RUNTIME_DATA_IMPORT_GUNZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/status.h"

typedef struct pod_gunzip {
    void *file;       /* zlib's gzFile */
    const char *path; /* borrowed; for messages */
    bool is_packed;
} pod_gunzip;

/* E_IO, E_NOMEM. */
POD_MUST pod_status pod_gunzip_open(const char *path, pod_gunzip *out);
void pod_gunzip_close(pod_gunzip *z); /* a zeroed one is allowed */

/* Reads the next `bytes` bytes; *n is smaller if the file ends first. E_FORMAT if a checksum is
 * wrong. */
POD_MUST pod_status pod_gunzip_read(pod_gunzip *z, int64_t bytes, void *out, int64_t *n);
/* After a short read: returns whether the last member was complete. */
bool pod_gunzip_is_whole(const pod_gunzip *z);

#endif
