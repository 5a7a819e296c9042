#include "runtime/h5/grow.h"

#include "kernels/base/assert.h"
#include "runtime/h5/inner.h"

enum { CHUNK_VALUES = 32 * 1024 };

pod_status pod_h5_column_create(const pod_h5_file *f, const char *name, pod_dtype t,
                                pod_h5_array *out)
{
    POD_ASSERT(t == POD_I32 || t == POD_I64, "%s", pod_dtype_name(t));
    const hid_t type = t == POD_I32 ? H5T_STD_I32LE : H5T_STD_I64LE;
    const hsize_t none = 0, most = H5S_UNLIMITED, chunk = CHUNK_VALUES;
    pod_h5_array a = {.file = f, .name = name, .n_dims = 1};
    hid_t id;
    POD_TRY(pod__h5_create_packed(f, name, type, 1, &none, &most, &chunk, true, &id));
    a.id = id;
    pod__h5_describe_type(type, a.type);
    *out = a;
    return POD_OK;
}

pod_status pod_h5_column_append(pod_h5_array *a, pod_dtype t, int64_t count, const void *value)
{
    const hsize_t size = (hsize_t)(a->dim[0] + count);
    const bool ok = H5Dset_extent(a->id, &size) >= 0;
    POD_TRY(pod__h5_check(ok, POD_E_WRITE, a->file, "dataset", a->name, "cannot grow"));
    const int64_t first = a->dim[0];
    a->dim[0] += count;
    return pod_h5_write_rows(a, t, first, count, value);
}
