/* What the files of this folder share; the only other file that knows HDF5's types. */
#ifndef MINIPOD_RUNTIME_H5_INNER_H
#define MINIPOD_RUNTIME_H5_INNER_H

#include <hdf5.h>

#include "runtime/h5/h5.h"

/* Ids of any kind; those never opened are let alone. */
static inline void pod__h5_release(hid_t id)
{
    if (id > 0) H5Idec_ref(id);
}

/* How something is made: the same contents are the same bytes, whenever they were written. */
static inline hid_t pod__h5_without_times(hid_t kind)
{
    hid_t list = H5Pcreate(kind);
    H5Pset_obj_track_times(list, false);
    return list;
}

/* OK, or the failure of `kind` "dataset" or "attribute" with HDF5's reason, which the next call of
 * HDF5 would forget. */
POD_MUST pod_status pod__h5_check(bool ok, pod_status s, const pod_h5_file *f, const char *kind,
                                  const char *name, const char *what);
POD_MUST pod_status pod__h5_fail_damaged(const pod_h5_file *f);

/* "u8", "i32", "f64", "string", "other" */
void pod__h5_describe_type(hid_t type, char text[16]);
/* In chunks, deflated; bytes of larger elements are shuffled first. Groups on the way are made. */
POD_MUST pod_status pod__h5_create_packed(const pod_h5_file *f, const char *name, hid_t type,
                                          int n_dims, const hsize_t size[], const hsize_t chunk[],
                                          bool shuffles, hid_t *out);

#endif
