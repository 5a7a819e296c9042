#include "runtime/h5/pack.h"

#include <hdf5.h>
#include <inttypes.h>
#include <zlib.h>

#include "kernels/base/assert.h"

size_t pod_h5_pack_room(size_t bytes) { return compressBound(bytes); }

/* To shuffle the bytes of elements of one byte changes nothing: what is left of HDF5's filters is
 * zlib's packing. */
size_t pod_h5_pack(const uint8_t *row, size_t bytes, uint8_t *out)
{
    uLongf n = compressBound(bytes);
    return compress2(out, &n, row, bytes, POD_H5_DEFLATE) == Z_OK ? n : 0;
}

pod_status pod_h5_write_packed(const pod_h5_array *a, int64_t row, const pod_h5_packed *packed)
{
    POD_ASSERT(row >= 0 && row < a->dim[0], "row %" PRId64 " of %" PRId64, row, a->dim[0]);
    const hsize_t at[POD_H5_MAX_DIMS] = {(hsize_t)row};
    if (H5Dwrite_chunk(a->id, H5P_DEFAULT, 0, at, packed->bytes, packed->data) >= 0) return POD_OK;
    return pod_fail(POD_E_WRITE, "%s: dataset '%s': row %" PRId64 " cannot be written%s",
                    a->file->path, a->name, row, pod_h5_last_reason().text);
}
