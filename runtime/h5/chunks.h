/* Chunks of an 8-bit array, packed and unpacked by any thread: HDF5 itself would do it under its
 * lock. For the data room only. */
#ifndef MINIPOD_RUNTIME_H5_CHUNKS_H
#define MINIPOD_RUNTIME_H5_CHUNKS_H

#include <stdint.h>

#include "runtime/h5/h5.h"

/* ---- packing, of arrays whose chunks are single rows ---------------------------------------- */

enum { POD_H5_DEFLATE = 4 }; /* the level of all that is written */

typedef struct pod_h5_packed { /* one row; borrowed */
    const uint8_t *data;
    size_t bytes; /* 0: it is not packed */
} pod_h5_packed;

size_t pod_h5_pack_room(size_t bytes);
/* Bytes of `out`, which has that room. Thread-safe, without the lock. */
size_t pod_h5_pack(const uint8_t *row, size_t bytes, uint8_t *out);
/* With the lock held. */
POD_MUST pod_status pod_h5_write_packed(const pod_h5_array *a, int64_t row,
                                        const pod_h5_packed *packed);

/* ---- unpacking ------------------------------------------------------------------------------ */

/* HDF5 is asked for the packed bytes of a chunk under its lock, and those are unpacked outside of
 * it. That holds for arrays as this program writes them (chunks of whole rows, deflate, no more than
 * 64 MiB); of others, of a chunk that is not as it should be, and where more threads read than were
 * said, rows are read the usual way, one thread at a time. */
typedef struct pod_h5_rows pod_h5_rows;

/* `n_readers` threads unpack at once, at least 1. With the lock held. The array is borrowed until
 * close, which is called without the lock. */
POD_MUST pod_status pod_h5_rows_open(const pod_h5_array *a, int n_readers, pod_arena *arena,
                                     pod_h5_rows **out);
void pod_h5_rows_close(pod_h5_rows *r); /* NULL is allowed; memory stays the arena's */

/* Row `index` of dimension 0. Thread-safe; takes the lock itself, asks for no memory. */
POD_MUST pod_status pod_h5_rows_read(pod_h5_rows *r, int64_t index, uint8_t *out);

#endif
