/* Compresses and decompresses chunks of 8-bit arrays in any thread, which HDF5 itself would do
 * under its lock. For runtime/data only. */
#ifndef MINIPOD_RUNTIME_H5_CHUNKS_H
#define MINIPOD_RUNTIME_H5_CHUNKS_H

#include <stdint.h>

#include "runtime/h5/h5.h"

/* ---- compression, for arrays whose chunks are single rows ----------------------------------- */

enum { POD_H5_DEFLATE = 4 }; /* the deflate level of everything that is written */

typedef struct pod_h5_packed { /* a compressed row; borrowed */
    const uint8_t *data;
    size_t bytes; /* 0: the row is not compressed */
} pod_h5_packed;

size_t pod_h5_pack_room(size_t bytes);
/* Compresses a row into `out`, which has pod_h5_pack_room(bytes) bytes; returns the compressed
 * bytes. Thread-safe, without the lock. */
size_t pod_h5_pack(const uint8_t *row, size_t bytes, uint8_t *out);
/* Writes a compressed row. The caller holds the lock. */
POD_MUST pod_status pod_h5_write_packed(const pod_h5_array *a, int64_t row,
                                        const pod_h5_packed *packed);

/* ---- decompression -------------------------------------------------------------------------- */

/* A reader gets the compressed bytes of a chunk from HDF5 under its lock and decompresses them
 * without it. This works for arrays as minipod writes them (chunks of whole rows, deflate, at most
 * 64 MiB). Rows of other arrays, of malformed chunks, and for more than n_readers threads at once
 * are read through HDF5, one thread at a time. */
typedef struct pod_h5_rows pod_h5_rows;

/* Allows `n_readers` (at least 1) threads to decompress at once. The caller holds the lock, but not
 * for pod_h5_rows_close. The array is borrowed until close. */
POD_MUST pod_status pod_h5_rows_open(const pod_h5_array *a, int n_readers, pod_arena *arena,
                                     pod_h5_rows **out);
void pod_h5_rows_close(pod_h5_rows *r); /* NULL is allowed; memory stays the arena's */

/* Reads row `index` of dimension 0. Thread-safe; takes the lock itself, allocates nothing. */
POD_MUST pod_status pod_h5_rows_read(pod_h5_rows *r, int64_t index, uint8_t *out);

#endif
