/* Reads an IDX file of bytes or ints, plain or gzip (http://yann.lecun.com/exdb/mnist, "file
 * formats"):
 *
 *   0 0 8 n_dims | n_dims extents, 32 bits each, big-endian | the elements, row-major
 *
 * The third byte is the type of the elements: 8 for unsigned bytes, 12 for big-endian ints of 4
 * bytes; other types are refused. POD_E_FORMAT for a wrong magic number, an extent of 0, a size
 * that overflows, too few bytes, bytes behind the end, or a wrong gzip checksum. */
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
    int64_t n_left; /* bytes of elements that are not read yet */
} pod_idx;

/* Opens the file, reads the header, and compares its size with the size of the file (of a gzip
 * file: with the most that it can unpack to), so that a damaged header does not cause a huge
 * allocation. */
POD_MUST pod_status pod_idx_open(const char *path, pod_idx *out);
void pod_idx_close(pod_idx *x); /* a zeroed one is allowed */

/* Reads the next `bytes` bytes, which must not be more than the header promises. */
POD_MUST pod_status pod_idx_read(pod_idx *x, int64_t bytes, void *out);
/* Call it after reading all elements: fails if bytes follow or the gzip checksum is wrong. */
POD_MUST pod_status pod_idx_finish(pod_idx *x);

#endif
