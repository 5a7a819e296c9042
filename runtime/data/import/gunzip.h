/* The bytes of a file, unpacked where it is gzip (RFC 1952), as they are where it is not.
 *
 * A gzip file is one member or several, one behind the other, and zeros behind the last of them.
 * What else stands there is refused, as gzread of zlib does not. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_GUNZIP_H
#define MINIPOD_RUNTIME_DATA_IMPORT_GUNZIP_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"

typedef struct pod_gunzip pod_gunzip;

/* Lives in the arena, to be closed before it. E_IO, E_NOMEM. */
POD_MUST pod_status pod_gunzip_open(const char *path, pod_arena *a, pod_gunzip **out);
void pod_gunzip_close(pod_gunzip *z); /* NULL is allowed */

bool pod_gunzip_is_packed(const pod_gunzip *z);

/* The next `bytes` bytes; *n of them, fewer where the file ends. E_FORMAT: no gzip, or a checksum
 * does not hold, or bytes behind the last member. */
POD_MUST pod_status pod_gunzip_read(pod_gunzip *z, int64_t bytes, void *out, int64_t *n);
/* After less than was asked for: whether the last member is whole. */
bool pod_gunzip_is_whole(const pod_gunzip *z);

#endif
