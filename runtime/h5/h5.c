#include "runtime/h5/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/assert.h"
#include "runtime/h5/chunks.h"
#include "runtime/h5/inner.h"

_Static_assert(sizeof(hid_t) == sizeof(pod_h5_id), "ids of HDF5 1.10 and later have 64 bits");

enum { MAX_NAME_BYTES = 256 };

static pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;

void pod_h5_lock(void)
{
    pthread_mutex_lock(&the_lock);
    /* Its clean-up at exit closes again what could not be closed for want of room, and crashes.
     * Only the first call before all others counts. */
    H5dont_atexit();
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void pod_h5_unlock(void) { pthread_mutex_unlock(&the_lock); }

/* ---- failing --------------------------------------------------------------------------------- */

/* What a walk over HDF5's record of its last failure finds: the innermost text, and whether any has
 * `wanted`. */
typedef struct findings {
    pod_h5_reason innermost;
    const char *wanted;
    bool has_wanted;
} findings;

static herr_t take_entry(unsigned n, const H5E_error2_t *e, void *ctx)
{
    static const char of_system[] = "error message = '";
    findings *f = ctx;
    const char *text = e->desc ? e->desc : "no reason given", *from = strstr(text, of_system);
    if (f->wanted && strstr(text, f->wanted)) f->has_wanted = true;
    if (n > 0) return 0;
    if (from) text = from + sizeof of_system - 1;
    snprintf(f->innermost.text, sizeof f->innermost.text, " (%.*s)",
             (int)strcspn(text, from ? "'" : ""), text);
    return 0;
}

static findings walk(const char *wanted)
{
    findings f = {.wanted = wanted};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_entry, &f);
    return f;
}

pod_h5_reason pod_h5_last_reason(void) { return walk(NULL).innermost; }

pod_status pod__h5_check(bool ok, pod_status s, const pod_h5_file *f, const char *kind,
                         const char *name, const char *what)
{
    return ok ? POD_OK
              : pod_fail(s, "%s: %s '%s' %s%s", f->path, kind, name, what,
                         pod_h5_last_reason().text);
}

pod_status pod__h5_fail_damaged(const pod_h5_file *f)
{
    return pod_fail(POD_E_FORMAT, "%s: damaged%s", f->path, pod_h5_last_reason().text);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* What HDF5 finds wrong with a file as a whole, and what that means. */
static const struct {
    const char *found;
    pod_status status;
    const char *means;
} troubles[] = {
    {"unable to lock file, errno = 11,", POD_E_IO,
     "another process has it open for writing (HDF5_USE_FILE_LOCKING=FALSE reads it all the same)"},
    {"unable to lock file", POD_E_IO,
     "its file system has no locks (HDF5_USE_FILE_LOCKING=FALSE reads it all the same)"},
    {"file is already open for write", POD_E_IO,
     "another process has it open for writing, or was killed meanwhile (h5clear -s removes that "
     "mark)"},
    {"truncated file", POD_E_FORMAT, "cut short, or still being written"},
    {"bad superblock version number", POD_E_FORMAT,
     "of a later version of HDF5 than this program reads"},
};

static pod_status fail_open(const char *path)
{
    for (size_t i = 0; i < sizeof troubles / sizeof troubles[0]; i++)
        if (walk(troubles[i].found).has_wanted)
            return pod_fail(troubles[i].status, "%s: %s%s", path, troubles[i].means,
                            troubles[i].status == POD_E_FORMAT ? pod_h5_last_reason().text : "");
    return pod_fail(POD_E_FORMAT, "%s: not a whole HDF5 file%s", path, pod_h5_last_reason().text);
}

/* HDF5 hides errno; the system is asked first. */
static pod_status ask_system(const char *path, int flags)
{
    /* Without waiting for the other end of a pipe. */
    int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0666);
    if (fd < 0) return pod_fail(POD_E_IO, "%s: %s", path, strerror(errno));
    struct stat st;
    const bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    close(fd);
    if (!is_file) return pod_fail(POD_E_IO, "%s: is no regular file", path);
    return POD_OK;
}

static hid_t access_list(void)
{
    hid_t list = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fclose_degree(list, H5F_CLOSE_STRONG);
    H5Pset_libver_bounds(list, H5F_LIBVER_V110, H5F_LIBVER_V110);
    return list;
}

pod_status pod_h5_open(const char *path, pod_h5_file *out)
{
    POD_TRY(ask_system(path, O_RDONLY));
    hid_t list = access_list();
    hid_t id = H5Fopen(path, H5F_ACC_RDONLY, list);
    const pod_status s = id < 0 ? fail_open(path) : POD_OK;
    pod__h5_release(list);
    POD_TRY(s);
    *out = (pod_h5_file){id, path};
    return POD_OK;
}

pod_status pod_h5_open_fd(int fd, const char *path, pod_h5_file *out)
{
    char name[32];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    hid_t list = access_list();
    H5Pset_file_locking(list, false, true);
    hid_t id = H5Fopen(name, H5F_ACC_RDONLY, list);
    const pod_status s = id < 0 ? fail_open(path) : POD_OK;
    pod__h5_release(list);
    POD_TRY(s);
    *out = (pod_h5_file){id, path};
    return POD_OK;
}

pod_status pod_h5_create(const char *path, pod_h5_file *out)
{
    POD_TRY(ask_system(path, O_WRONLY | O_CREAT));
    hid_t list = access_list(), root = pod__h5_without_times(H5P_FILE_CREATE);
    H5Pset_file_locking(list, false, true); /* a file system may take its lock for ours */
    hid_t id = H5Fcreate(path, H5F_ACC_TRUNC, root, list);
    pod_h5_reason why = pod_h5_last_reason();
    pod__h5_release(list);
    pod__h5_release(root);
    if (id < 0) return pod_fail(POD_E_WRITE, "%s: cannot be made%s", path, why.text);
    *out = (pod_h5_file){id, path};
    return POD_OK;
}

pod_status pod_h5_flush(const pod_h5_file *f)
{
    if (H5Fflush(f->id, H5F_SCOPE_LOCAL) >= 0) return POD_OK;
    return pod_fail(POD_E_WRITE, "%s: cannot be written%s", f->path, pod_h5_last_reason().text);
}

pod_status pod_h5_close(pod_h5_file *f)
{
    if (f->id <= 0) return POD_OK;
    herr_t closed = H5Fclose(f->id);
    f->id = 0;
    if (closed < 0)
        return pod_fail(POD_E_WRITE, "%s: cannot be closed%s", f->path, pod_h5_last_reason().text);
    return POD_OK;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

void pod__h5_describe_type(hid_t type, char text[16])
{
    size_t bits = 8 * H5Tget_size(type);
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        snprintf(text, 16, "%c%zu", H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i', bits);
        break;
    case H5T_FLOAT: snprintf(text, 16, "f%zu", bits); break;
    case H5T_STRING: snprintf(text, 16, "string"); break;
    default: snprintf(text, 16, "other"); break;
    }
}

static bool read_dims(hid_t space, int *n_dims, int64_t dim[])
{
    hsize_t size[POD_H5_MAX_DIMS];
    int n = H5Sget_simple_extent_ndims(space);
    if (n < 0 || n > POD_H5_MAX_DIMS || H5Sget_simple_extent_dims(space, size, NULL) < 0)
        return false;
    for (int i = 0; i < n; i++) {
        if (size[i] > INT64_MAX) return false;
        dim[i] = (int64_t)size[i];
    }
    *n_dims = n;
    return true;
}

const char *pod_h5_print_dims(int n, const int64_t dim[], char text[POD_H5_DIMS_BYTES])
{
    int used = snprintf(text, POD_H5_DIMS_BYTES, "%s", n == 0 ? "one value" : "");
    for (int i = 0; i < n; i++)
        used += snprintf(text + used, (size_t)(POD_H5_DIMS_BYTES - used), "%s%" PRId64,
                         i ? "x" : "", dim[i]);
    return text;
}

bool pod_h5_has_array(const pod_h5_file *f, const char *name)
{
    hid_t id = H5Dopen2(f->id, name, H5P_DEFAULT);
    pod__h5_release(id);
    return id > 0;
}

/* HDF5 wants each group on the way to be asked for. */
pod_status pod_h5_find_link(const pod_h5_file *f, const char *name, bool *is_there)
{
    char path[MAX_NAME_BYTES];
    htri_t found = true;
    for (size_t n = 0; name[n] != '\0' && found > 0;) {
        n += 1 + strcspn(name + n + 1, "/");
        snprintf(path, sizeof path, "%.*s", (int)n, name);
        found = H5Lexists(f->id, path, H5P_DEFAULT);
    }
    if (found < 0) return pod__h5_fail_damaged(f);
    *is_there = found > 0;
    return POD_OK;
}

typedef struct visitor {
    pod_status (*visit)(void *ctx, const char *name);
    void *ctx;
    pod_status status;
} visitor;

static herr_t visit_link(hid_t group, const char *name, const H5L_info_t *info, void *ctx)
{
    (void)info;
    visitor *v = ctx;
    const hid_t id = H5Dopen2(group, name, H5P_DEFAULT); /* a group is no array */
    pod__h5_release(id);
    if (id > 0) v->status = v->visit(v->ctx, name);
    return v->status == POD_OK ? 0 : 1;
}

pod_status pod_h5_each_array(const pod_h5_file *f, const char *group,
                             pod_status (*visit)(void *ctx, const char *name), void *ctx)
{
    visitor v = {visit, ctx, POD_OK};
    const herr_t done =
        H5Lvisit_by_name(f->id, group, H5_INDEX_NAME, H5_ITER_INC, visit_link, &v, H5P_DEFAULT);
    POD_TRY(pod__h5_check(done >= 0, POD_E_FORMAT, f, "group", group, "cannot be read"));
    return v.status;
}

pod_status pod_h5_array_open(const pod_h5_file *f, const char *name, pod_h5_array *out)
{
    pod_h5_array a = {.file = f, .name = name};
    a.id = H5Dopen2(f->id, name, H5P_DEFAULT);
    POD_TRY(pod__h5_check(a.id > 0, POD_E_FORMAT, f, "dataset", name,
                          a.id < 0 && walk("version number").has_wanted
                              ? "is of a later version of HDF5, or damaged"
                              : "is missing or damaged"));
    hid_t space = H5Dget_space(a.id), type = H5Dget_type(a.id);
    bool ok = space > 0 && type > 0 && read_dims(space, &a.n_dims, a.dim);
    if (ok) pod__h5_describe_type(type, a.type);
    pod__h5_release(space);
    pod__h5_release(type);
    if (!ok) pod__h5_release(a.id);
    POD_TRY(pod__h5_check(ok, POD_E_FORMAT, f, "dataset", name, "has no plain shape"));
    *out = a;
    return POD_OK;
}

/* What is packed by a filter that is neither built in nor a plug-in here. Those who name theirs
 * give the name to the file, too. */
pod_status pod_h5_check_filters(const pod_h5_array *a)
{
    pod_status s = POD_OK;
    hid_t layout = H5Dget_create_plist(a->id);
    const int n = layout > 0 ? H5Pget_nfilters(layout) : 0;
    for (int i = 0; i < n && s == POD_OK; i++) {
        unsigned flags, config;
        size_t n_values = 0;
        char name[64] = "";
        const H5Z_filter_t id = H5Pget_filter2(layout, (unsigned)i, &flags, &n_values, NULL,
                                               sizeof name, name, &config);
        if (id >= 0 && H5Zfilter_avail(id) <= 0)
            s = pod_fail(POD_E_FORMAT,
                         "%s: dataset '%s' is packed by the filter %.*s (%d), which HDF5 has not "
                         "here: h5py can write it with compression='gzip'",
                         a->file->path, a->name, (int)sizeof name, name[0] ? name : "number",
                         (int)id);
    }
    pod__h5_release(layout);
    return s;
}

static hid_t type_of(pod_dtype t, bool in_file)
{
    switch (t) {
    case POD_F32: return in_file ? H5T_IEEE_F32LE : H5T_NATIVE_FLOAT;
    case POD_BF16: return in_file ? H5T_STD_U16LE : H5T_NATIVE_UINT16;
    case POD_I64: return in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64;
    case POD_I32: return in_file ? H5T_STD_I32LE : H5T_NATIVE_INT32;
    default: return in_file ? H5T_STD_U8LE : H5T_NATIVE_UINT8;
    }
}

/* Those on the way to `name` that are not there. */
static bool make_groups(const pod_h5_file *f, const char *name)
{
    char path[MAX_NAME_BYTES];
    hid_t how = pod__h5_without_times(H5P_GROUP_CREATE);
    bool ok = strlen(name) < sizeof path;
    for (const char *p = strchr(name + 1, '/'); p && ok; p = strchr(p + 1, '/')) {
        snprintf(path, sizeof path, "%.*s", (int)(p - name), name);
        if (H5Lexists(f->id, path, H5P_DEFAULT) > 0) continue;
        hid_t group = H5Gcreate2(f->id, path, H5P_DEFAULT, how, H5P_DEFAULT);
        ok = group > 0;
        pod__h5_release(group);
    }
    pod__h5_release(how);
    return ok;
}

pod_status pod__h5_create_packed(const pod_h5_file *f, const char *name, hid_t type, int n_dims,
                                 const hsize_t size[], const hsize_t most[], const hsize_t chunk[],
                                 bool shuffles, hid_t *out)
{
    hid_t space = H5Screate_simple(n_dims, size, most), id = 0;
    hid_t layout = pod__h5_without_times(H5P_DATASET_CREATE);
    if (make_groups(f, name) && H5Pset_chunk(layout, n_dims, chunk) >= 0 &&
        (!shuffles || H5Pset_shuffle(layout) >= 0) && H5Pset_deflate(layout, POD_H5_DEFLATE) >= 0)
        id = H5Dcreate2(f->id, name, type, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    const pod_status s = pod__h5_check(id > 0, POD_E_WRITE, f, "dataset", name, "cannot be made");
    pod__h5_release(space);
    pod__h5_release(layout);
    *out = id;
    return s;
}

pod_status pod_h5_array_create(const pod_h5_file *f, const char *name, pod_dtype t, int n_dims,
                               const int64_t dim[], int64_t chunk_rows, pod_h5_array *out)
{
    POD_ASSERT(n_dims >= 1 && n_dims <= POD_H5_MAX_DIMS && chunk_rows >= 1, "%d dimensions",
               n_dims);
    pod_h5_array a = {.file = f, .name = name, .n_dims = n_dims};
    hsize_t size[POD_H5_MAX_DIMS], chunk[POD_H5_MAX_DIMS];
    hid_t id;
    for (int i = 0; i < n_dims; i++) {
        a.dim[i] = dim[i];
        size[i] = (hsize_t)dim[i];
        chunk[i] = (hsize_t)(i == 0 && chunk_rows < dim[0] ? chunk_rows : dim[i]);
    }
    POD_TRY(pod__h5_create_packed(f, name, type_of(t, true), n_dims, size, NULL, chunk, true, &id));
    a.id = id;
    pod__h5_describe_type(type_of(t, true), a.type);
    *out = a;
    return POD_OK;
}

void pod_h5_array_close(pod_h5_array *a)
{
    pod__h5_release(a->id);
    a->id = 0;
}

/* The rows as a selection in the file and a plain block in memory, `to` or `from`. */
static pod_status move_rows(const pod_h5_array *a, pod_dtype t, int64_t first, int64_t count,
                            void *to, const void *from)
{
    POD_ASSERT(a->n_dims >= 1 && first >= 0 && count >= 0 && count <= a->dim[0] - first,
               "rows %" PRId64 " + %" PRId64 " of %" PRId64, first, count, a->dim[0]);
    hsize_t start[POD_H5_MAX_DIMS] = {(hsize_t)first}, size[POD_H5_MAX_DIMS];
    for (int i = 0; i < a->n_dims; i++) size[i] = (hsize_t)(i == 0 ? count : a->dim[i]);
    const hid_t file = H5Dget_space(a->id), memory = H5Screate_simple(a->n_dims, size, NULL);
    const hid_t type = type_of(t, false);
    char what[80];
    snprintf(what, sizeof what, "rows %" PRId64 " to %" PRId64, first, first + count - 1);
    const bool ok = file > 0 && memory > 0 &&
                    H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, size, NULL) >= 0 &&
                    (to ? H5Dread(a->id, type, memory, file, H5P_DEFAULT, to)
                        : H5Dwrite(a->id, type, memory, file, H5P_DEFAULT, from)) >= 0;
    const pod_status s =
        ok ? POD_OK
           : pod_fail(to ? POD_E_FORMAT : POD_E_WRITE, "%s: dataset '%s': %s cannot be %s%s",
                      a->file->path, a->name, what, to ? "read" : "written",
                      pod_h5_last_reason().text);
    pod__h5_release(file);
    pod__h5_release(memory);
    return s;
}

pod_status pod_h5_read_rows(const pod_h5_array *a, pod_dtype t, int64_t first, int64_t count,
                            void *out)
{
    return move_rows(a, t, first, count, out, NULL);
}

pod_status pod_h5_write_rows(const pod_h5_array *a, pod_dtype t, int64_t first, int64_t count,
                             const void *data)
{
    return move_rows(a, t, first, count, NULL, data);
}
