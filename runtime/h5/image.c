#include "runtime/h5/image.h"

#include <hdf5.h>
#include <math.h>
#include <stdio.h>

#include "kernels/base/assert.h"

enum { GROWTH_BYTES = 1 << 20, ALIGN = 64, NAME_BYTES = 4096 + 8 };

static void release(hid_t id)
{
    if (id > 0) H5Idec_ref(id);
}

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
    release(list);
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

/* HDF5 asks these for memory and copies of the image, and is given the one there is: udata. Nobody
 * grows a file that is only read. */
static void *give(size_t bytes, H5FD_file_image_op_t op, void *udata)
{
    (void)bytes;
    (void)op;
    return udata;
}
static void *copy_none(void *to, const void *from, size_t bytes, H5FD_file_image_op_t op,
                       void *udata)
{
    (void)bytes;
    (void)op;
    (void)udata;
    return to == from ? to : NULL;
}
static void *grow_none(void *p, size_t bytes, H5FD_file_image_op_t op, void *udata)
{
    (void)p;
    (void)bytes;
    (void)op;
    (void)udata;
    return NULL;
}
static herr_t free_none(void *p, H5FD_file_image_op_t op, void *udata)
{
    (void)p;
    (void)op;
    (void)udata;
    return 0;
}
static void *same(void *udata) { return udata; }
static herr_t keep(void *udata)
{
    (void)udata;
    return 0;
}

pod_status pod_h5_image_open(const char *name, void *image, size_t bytes, pod_h5_file *out)
{
    H5FD_file_image_callbacks_t borrow = {give, copy_none, grow_none, free_none, same, keep, image};
    hid_t list = H5Pcreate(H5P_FILE_ACCESS), id = -1;
    char nowhere[NAME_BYTES]; /* HDF5 refuses an image with the name of a file that is there */
    snprintf(nowhere, sizeof nowhere, "%s/image", name);
    H5Pset_fclose_degree(list, H5F_CLOSE_STRONG);
    H5Pset_fapl_core(list, GROWTH_BYTES, false);
    if (H5Pset_file_image_callbacks(list, &borrow) >= 0 &&
        H5Pset_file_image(list, image, bytes) >= 0)
        id = H5Fopen(nowhere, H5F_ACC_RDONLY, list);
    pod_h5_reason why = pod_h5_last_reason();
    release(list);
    if (id < 0) return pod_fail(POD_E_FORMAT, "%s: not a whole HDF5 file%s", name, why.text);
    *out = (pod_h5_file){id, name};
    return POD_OK;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static pod_status make_array(const pod_h5_file *f, const char *name, hid_t space, hid_t layout,
                             hid_t *out)
{
    hid_t links = H5Pcreate(H5P_LINK_CREATE);
    H5Pset_create_intermediate_group(links, 1);
    H5Pset_obj_track_times(layout, false); /* the same bytes whenever it is made */
    hid_t id = H5Dcreate2(f->id, name, H5T_NATIVE_FLOAT, space, links, layout, H5P_DEFAULT);
    pod_h5_reason why = pod_h5_last_reason();
    release(links);
    if (id < 0)
        return pod_fail(POD_E_INVALID, "%s: dataset '%s' cannot be made%s", f->path, name,
                        why.text);
    *out = id;
    return POD_OK;
}

static pod_status put_first(const pod_h5_file *f, hid_t array, int64_t first)
{
    const pod_h5_file at = {array, f->path};
    return pod_h5_put_i64(&at, "first", first);
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
    release(space);
    release(layout);
    if (s != POD_OK) return s;
    const haddr_t at = H5Dget_offset(array);
    s = put_first(f, array, first);
    release(array);
    if (s != POD_OK) return s;
    POD_ASSERT(at != HADDR_UNDEF && at % ALIGN == 0, "%s: '%s' at %llu", f->path, name,
               (unsigned long long)at);
    *offset = (size_t)at;
    return POD_OK;
}

pod_status pod_h5_flat_first(const pod_h5_array *a, int64_t *first)
{
    const pod_h5_file at = {a->id, a->file->path};
    return pod_h5_get_i64(&at, "first", first);
}

pod_status pod_h5_virtual_begin(const pod_h5_file *f, const char *name, int n_dims,
                                const int64_t dim[], pod_h5_virtual *out)
{
    static const float missing = NAN;
    hsize_t size[POD_H5_MAX_DIMS];
    POD_ASSERT(n_dims >= 1 && n_dims <= POD_H5_MAX_DIMS, "%d dimensions", n_dims);
    for (int i = 0; i < n_dims; i++) size[i] = (hsize_t)dim[i];
    pod_h5_virtual v = {.file = f, .name = name, .n_dims = n_dims};
    v.space = H5Screate_simple(n_dims, size, NULL);
    v.layout = H5Pcreate(H5P_DATASET_CREATE);
    if (v.space < 0 || H5Pset_fill_value(v.layout, H5T_NATIVE_FLOAT, &missing) < 0) {
        release(v.space);
        release(v.layout);
        return pod_fail(POD_E_NOMEM, "%s: dataset '%s' cannot be begun%s", f->path, name,
                        pod_h5_last_reason().text);
    }
    *out = v;
    return POD_OK;
}

void pod_h5_virtual_add(pod_h5_virtual *v, const pod_h5_source *s)
{
    hsize_t first[POD_H5_MAX_DIMS], extent[POD_H5_MAX_DIMS], n = 1;
    for (int i = 0; i < v->n_dims; i++) {
        first[i] = (hsize_t)s->first[i];
        extent[i] = (hsize_t)s->extent[i];
        n *= extent[i];
    }
    const hsize_t size = (hsize_t)s->count, at = (hsize_t)s->at;
    hid_t from = H5Screate_simple(1, &size, NULL);
    if (H5Sselect_hyperslab(from, H5S_SELECT_SET, &at, NULL, &n, NULL) < 0 ||
        H5Sselect_hyperslab(v->space, H5S_SELECT_SET, first, NULL, extent, NULL) < 0 ||
        H5Pset_virtual(v->layout, v->space, s->file, v->name, from) < 0)
        v->failed = true;
    release(from);
}

pod_status pod_h5_virtual_end(pod_h5_virtual *v)
{
    hid_t array = -1;
    pod_status s = v->failed ? pod_fail(POD_E_NOMEM, "%s: dataset '%s' takes no source%s",
                                        v->file->path, v->name, pod_h5_last_reason().text)
                             : make_array(v->file, v->name, v->space, v->layout, &array);
    release(array);
    release(v->space);
    release(v->layout);
    return s;
}
