/* Shared by the files of this folder. No other header includes HDF5's. */
#ifndef MINIPOD_RUNTIME_H5_INNER_H
#define MINIPOD_RUNTIME_H5_INNER_H

#include <hdf5.h>

#include "runtime/h5/h5.h"

/* Releases an id of any kind; does nothing if it was never opened. */
static inline void pod__h5_release(hid_t id)
{
    if (id > 0) H5Idec_ref(id);
}

/* Returns a creation property list without time stamps, so that equal contents give equal bytes. */
static inline hid_t pod__h5_without_times(hid_t kind)
{
    hid_t list = H5Pcreate(kind);
    H5Pset_obj_track_times(list, false);
    return list;
}

/* Returns OK, or fails with a text that names the `kind` ("dataset" or "attribute") and HDF5's
 * reason. Call it at once: the next call of HDF5 loses the reason. */
POD_MUST pod_status pod__h5_check(bool ok, pod_status s, const pod_h5_file *f, const char *kind,
                                  const char *name, const char *what);
POD_MUST pod_status pod__h5_fail_damaged(const pod_h5_file *f);

/* Writes "u8", "i32", "f64", "string", "other", ... to text. */
void pod__h5_describe_type(hid_t type, char text[16]);
/* Creates an array in chunks with deflate, after a byte shuffle if `shuffles`, and the groups of
 * its path. It may grow to `most`; NULL: it keeps its size. */
POD_MUST pod_status pod__h5_create_packed(const pod_h5_file *f, const char *name, hid_t type,
                                          int n_dims, const hsize_t size[], const hsize_t most[],
                                          const hsize_t chunk[], bool shuffles, hid_t *out);

#endif
