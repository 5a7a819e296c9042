/* Rows of an 8-bit array packed by any thread, as HDF5 itself would pack them, for arrays whose
 * chunks are single rows: packing is most of what writing images takes, and HDF5 does it under its
 * lock. For this folder only. */
#ifndef MINIPOD_RUNTIME_H5_PACK_H
#define MINIPOD_RUNTIME_H5_PACK_H

#include <stdint.h>

#include "runtime/h5/h5.h"

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

#endif
