#include "runtime/h5/image.h"

#include <math.h>
#include <stdio.h>

#include "kernels/base/assert.h"
#include "runtime/h5/inner.h"

enum { GROWTH_BYTES = 1 << 20, ALIGN = 64, NAME_BYTES = 4096 + 8 };

/* ---- files ----------------------------------------------------------------------------------- */

/* The format of before HDF5 1.10 wherever it will do: an image of the newer one has a checksum in
 * its first block that H5Fget_file_image of 1.10 leaves wrong. */
pod_status pod_h5_image_create(const char *name, pod_h5_file *out)
{
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(list, H5F_CLOSE_STRONG);
    H5Pset_libver_bounds(list, H5F_LIBVER_EARLIEST, H5F_LIBVER_V110);
    H5Pset_alignment(list, 1, ALIGN);
    H5Pset_fapl_core(list, GROWTH_BYTES, false);
    char own_name[NAME_BYTES]; /* two of one name are one file to HDF5; the lock is held */
    static unsigned n_made;
    snprintf(own_name, sizeof own_name, "%s#%u", name, n_made++);
    hid_t id = H5Fcreate(own_name, H5F_ACC_TRUNC, H5P_DEFAULT, list);
    pod_h5_reason why = pod_h5_last_reason();
    pod__h5_release(list);
    if (id < 0) return pod_fail(POD_E_NOMEM, "%s: cannot be made in memory%s", name, why.text);
    *out = (pod_h5_file){id, name};
    return POD_OK;
}

pod_status pod_h5_image_take(const pod_h5_file *f, void *room, size_t room_bytes, size_t *bytes)
{
    ssize_t n = -1;
    if (H5Fflush(f->id, H5F_SCOPE_GLOBAL) >= 0) n = H5Fget_file_image(f->id, NULL, 0);
    if (n >= 0 && room && (size_t)n <= room_bytes) n = H5Fget_file_image(f->id, room, (size_t)n);
    if (n < 0)
        return pod_fail(POD_E_NOMEM, "%s: has no image%s", f->path, pod_h5_last_reason().text);
    if (room && (size_t)n > room_bytes)
        return pod_fail(POD_E_NOMEM, "%s: has %zd bytes, there is room for %zu", f->path, n,
                        room_bytes);
    *bytes = (size_t)n;
    return POD_OK;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static pod_status make_array(const pod_h5_file *f, const char *name, hid_t space, hid_t layout,
                             hid_t *out)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_obj_track_times(layout, false); /* the same bytes whenever it is made */
    *out = H5Dcreate2(f->id, name, H5T_NATIVE_FLOAT, space, links, layout, H5P_DEFAULT);
    const pod_status s =
        pod__h5_check(*out > 0, POD_E_INVALID, f, "dataset", name, "cannot be made");
    pod__h5_release(links);
    return s;
}

pod_status pod_h5_flat_create(const pod_h5_file *f, const char *name, int64_t count, int64_t first,
                              size_t *offset)
{
    const hsize_t size = (hsize_t)count;
    hid_t space = H5Screate_simple(1, &size, NULL), layout = H5Pcreate(H5P_DATASET_CREATE);
    hid_t array = -1;
    H5Pset_alloc_time(layout, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(layout, H5D_FILL_TIME_NEVER);
    pod_status s = make_array(f, name, space, layout, &array);
    pod__h5_release(space);
    pod__h5_release(layout);
    if (s != POD_OK) return s;
    const haddr_t at = H5Dget_offset(array);
    s = pod_h5_put_i64(&(pod_h5_file){array, f->path}, "first", first);
    pod__h5_release(array);
    if (s != POD_OK) return s;
    POD_ASSERT(at != HADDR_UNDEF && at % ALIGN == 0, "%s: '%s' at %llu", f->path, name,
               (unsigned long long)at);
    *offset = (size_t)at;
    return POD_OK;
}

pod_status pod_h5_flat_first(const pod_h5_array *a, int64_t *first)
{
    return pod_h5_get_i64(&(pod_h5_file){a->id, a->file->path}, "first", first);
}

/* The source's elements behind one another fill its box of `space`. */
static bool add_source(hid_t layout, hid_t space, const char *name, const pod_h5_source *s,
                       int n_dims)
{
    hsize_t first[POD_H5_MAX_DIMS], extent[POD_H5_MAX_DIMS], n = 1;
    for (int i = 0; i < n_dims; i++) {
        first[i] = (hsize_t)s->first[i];
        extent[i] = (hsize_t)s->extent[i];
        n *= extent[i];
    }
    const hsize_t size = (hsize_t)s->count, at = (hsize_t)s->at;
    hid_t from = H5Screate_simple(1, &size, NULL);
    const bool ok = H5Sselect_hyperslab(from, H5S_SELECT_SET, &at, NULL, &n, NULL) >= 0 &&
                    H5Sselect_hyperslab(space, H5S_SELECT_SET, first, NULL, extent, NULL) >= 0 &&
                    H5Pset_virtual(layout, space, s->file, name, from) >= 0;
    pod__h5_release(from);
    return ok;
}

pod_status pod_h5_virtual_create(const pod_h5_file *f, const char *name, int n_dims,
                                 const int64_t dim[], int n, const pod_h5_source source[])
{
    static const float missing = NAN;
    hsize_t size[POD_H5_MAX_DIMS];
    POD_ASSERT(n_dims >= 1 && n_dims <= POD_H5_MAX_DIMS, "%d dimensions", n_dims);
    for (int i = 0; i < n_dims; i++) size[i] = (hsize_t)dim[i];
    hid_t space = H5Screate_simple(n_dims, size, NULL), layout = H5Pcreate(H5P_DATASET_CREATE);
    hid_t array = -1;
    bool ok = space > 0 && H5Pset_fill_value(layout, H5T_NATIVE_FLOAT, &missing) >= 0;
    for (int i = 0; i < n && ok; i++) ok = add_source(layout, space, name, &source[i], n_dims);
    pod_status s = pod__h5_check(ok, POD_E_NOMEM, f, "dataset", name, "takes no source");
    if (s == POD_OK) s = make_array(f, name, space, layout, &array);
    pod__h5_release(array);
    pod__h5_release(space);
    pod__h5_release(layout);
    return s;
}
