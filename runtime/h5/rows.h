/* Rows of an 8-bit array in a file, unpacked by several threads at once: HDF5 is asked for the
 * packed bytes of a chunk under its lock, and those are unpacked outside of it. That holds for
 * arrays as this program writes them (chunks of whole rows, deflate, no more than 64 MiB); of
 * others, and of a chunk that is not as it should be, rows are read the usual way, one thread at a
 * time. For this folder only. */
#ifndef MINIPOD_RUNTIME_H5_ROWS_H
#define MINIPOD_RUNTIME_H5_ROWS_H

#include "runtime/h5/h5.h"

typedef struct pod_h5_rows pod_h5_rows;

/* `n_readers` threads unpack at once, at least 1; further ones wait. With the lock held. The array
 * is borrowed until close, which is called without the lock. */
POD_MUST pod_status pod_h5_rows_open(const pod_h5_array *a, int n_readers, pod_arena *arena,
                                     pod_h5_rows **out);
void pod_h5_rows_close(pod_h5_rows *r); /* NULL is allowed; memory stays the arena's */

/* Row `index` of dimension 0. Thread-safe; takes the lock itself, asks for no memory. */
POD_MUST pod_status pod_h5_rows_read(pod_h5_rows *r, int64_t index, uint8_t *out);

#endif
