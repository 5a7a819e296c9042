/* Reads an IDX file of bytes or ints, plain or gzip (http://yann.lecun.com/exdb/mnist, "file
 * formats"):
 *
 *   0 0 8 n_dims | n_dims extents, 32 bits each, big-endian | the elements, row-major
 *
 * The third byte is the type of the elements; 8 is an unsigned byte, 12 an int of 4 bytes,
 * big-endian; others are not read here. Strict: a wrong magic, an extent of 0, a size that overflows,
 * too few bytes, bytes behind the end, or a checksum of gzip that does not hold are POD_E_FORMAT. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_IDX_H
#define MINIPOD_RUNTIME_DATA_IMPORT_IDX_H

#include "runtime/data/import/gunzip.h"

enum { POD_IDX_MAX_DIMS = 4 };

typedef struct pod_idx {
    pod_gunzip file;
    const char *path;  /* borrowed */
    int element_bytes; /* 1 or 4 */
    int n_dims;
    int64_t dim[POD_IDX_MAX_DIMS];
    int64_t n_left; /* bytes of elements not yet read */
} pod_idx;

/* Opens, reads the header, and compares the size it promises with the size of the file (for gzip:
 * with the most that can be packed into it), so that a damaged header asks for no absurd memory. */
POD_MUST pod_status pod_idx_open(const char *path, pod_idx *out);
void pod_idx_close(pod_idx *x); /* a zeroed one is allowed */

/* The next `bytes` bytes; the caller does not ask for more than the header promises. */
POD_MUST pod_status pod_idx_read(pod_idx *x, int64_t bytes, void *out);
/* After all was read: nothing may follow, and the checksum of gzip must hold. */
POD_MUST pod_status pod_idx_finish(pod_idx *x);

#endif
