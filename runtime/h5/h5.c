#include "runtime/h5/h5.h"

#include <errno.h>
#include <fcntl.h>
#include <hdf5.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/base/assert.h"
#include "runtime/h5/pack.h"

_Static_assert(sizeof(hid_t) == sizeof(pod_h5_id), "ids of HDF5 1.10 and later have 64 bits");

enum { MAX_NAME_BYTES = 256, MAX_TEXTS = 1 << 20, MAX_TEXT_BYTES = 1 << 20 };
enum { MAX_ATTRIBUTE_BYTES = 60000 }; /* HDF5 writes less than 64 KiB, its own header included */

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

static herr_t take_innermost(unsigned n, const H5E_error2_t *e, void *ctx)
{
    static const char of_system[] = "error message = '";
    pod_h5_reason *r = ctx;
    const char *text = e->desc ? e->desc : "no reason given", *from = strstr(text, of_system);
    if (n > 0) return 0;
    if (from) text = from + sizeof of_system - 1;
    snprintf(r->text, sizeof r->text, " (%.*s)", (int)strcspn(text, from ? "'" : ""), text);
    return 0;
}

pod_h5_reason pod_h5_last_reason(void)
{
    pod_h5_reason r = {""};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_innermost, &r);
    return r;
}

static pod_status fail_array(const pod_h5_file *f, const char *name, pod_status s, const char *what)
{
    return pod_fail(s, "%s: dataset '%s' %s%s", f->path, name, what, pod_h5_last_reason().text);
}

/* Ids of any kind; those never opened are let alone. */
static void release(hid_t id)
{
    if (id > 0) H5Idec_ref(id);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Whether HDF5's record of its last failure has the text, at any depth. */
typedef struct text_search {
    const char *text, *found;
} text_search;

static herr_t search_text(unsigned n, const H5E_error2_t *e, void *ctx)
{
    text_search *s = ctx;
    (void)n;
    if (!s->found && e->desc) s->found = strstr(e->desc, s->text);
    return 0;
}

static const char *find_reason(const char *text)
{
    text_search s = {.text = text};
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, search_text, &s);
    return s.found;
}

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
        if (find_reason(troubles[i].found))
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

bool pod_h5_is_taken(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    const bool is_taken = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    close(fd);
    return is_taken;
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
    release(list);
    POD_TRY(s);
    *out = (pod_h5_file){id, path};
    return POD_OK;
}

/* How something is made: the same contents are the same bytes, whenever they were written. */
static hid_t without_times(hid_t kind)
{
    hid_t list = H5Pcreate(kind);
    H5Pset_obj_track_times(list, false);
    return list;
}

pod_status pod_h5_create(const char *path, pod_h5_file *out)
{
    POD_TRY(ask_system(path, O_WRONLY | O_CREAT));
    hid_t list = access_list(), root = without_times(H5P_FILE_CREATE);
    H5Pset_file_locking(list, false, true); /* a file system may take its lock for ours */
    hid_t id = H5Fcreate(path, H5F_ACC_TRUNC, root, list);
    pod_h5_reason why = pod_h5_last_reason();
    release(list);
    release(root);
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

/* "u8", "i32", "f64", "string", "other" */
static void describe_type(hid_t type, char *text, size_t text_bytes)
{
    size_t bits = 8 * H5Tget_size(type);
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
        snprintf(text, text_bytes, "%c%zu", H5Tget_sign(type) == H5T_SGN_NONE ? 'u' : 'i', bits);
        break;
    case H5T_FLOAT: snprintf(text, text_bytes, "f%zu", bits); break;
    case H5T_STRING: snprintf(text, text_bytes, "string"); break;
    default: snprintf(text, text_bytes, "other"); break;
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

bool pod_h5_has_array(const pod_h5_file *f, const char *name)
{
    hid_t id = H5Dopen2(f->id, name, H5P_DEFAULT);
    release(id);
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
    if (found < 0)
        return pod_fail(POD_E_FORMAT, "%s: damaged%s", f->path, pod_h5_last_reason().text);
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
    release(id);
    if (id > 0) v->status = v->visit(v->ctx, name);
    return v->status == POD_OK ? 0 : 1;
}

pod_status pod_h5_each_array(const pod_h5_file *f, const char *group,
                             pod_status (*visit)(void *ctx, const char *name), void *ctx)
{
    visitor v = {visit, ctx, POD_OK};
    if (H5Lvisit_by_name(f->id, group, H5_INDEX_NAME, H5_ITER_INC, visit_link, &v, H5P_DEFAULT) < 0)
        return pod_fail(POD_E_FORMAT, "%s: group '%s' cannot be read%s", f->path, group,
                        pod_h5_last_reason().text);
    return v.status;
}

pod_status pod_h5_array_open(const pod_h5_file *f, const char *name, pod_h5_array *out)
{
    pod_h5_array a = {.file = f, .name = name};
    a.id = H5Dopen2(f->id, name, H5P_DEFAULT);
    if (a.id < 0)
        return fail_array(f, name, POD_E_FORMAT,
                          find_reason("version number")
                              ? "is of a later version of HDF5, or damaged"
                              : "is missing or damaged");
    hid_t space = H5Dget_space(a.id), type = H5Dget_type(a.id);
    bool ok = space > 0 && type > 0 && read_dims(space, &a.n_dims, a.dim);
    if (ok) describe_type(type, a.type, sizeof a.type);
    release(space);
    release(type);
    if (!ok) {
        release(a.id);
        return fail_array(f, name, POD_E_FORMAT, "has no plain shape");
    }
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
    release(layout);
    return s;
}

static hid_t type_in_file(pod_dtype t)
{
    switch (t) {
    case POD_F32: return H5T_IEEE_F32LE;
    case POD_BF16: return H5T_STD_U16LE;
    case POD_I32: return H5T_STD_I32LE;
    default: return H5T_STD_U8LE;
    }
}

static hid_t type_in_memory(pod_dtype t)
{
    switch (t) {
    case POD_F32: return H5T_NATIVE_FLOAT;
    case POD_BF16: return H5T_NATIVE_UINT16;
    case POD_I32: return H5T_NATIVE_INT32;
    default: return H5T_NATIVE_UINT8;
    }
}

/* Those on the way to `name` that are not there. */
static bool make_groups(const pod_h5_file *f, const char *name)
{
    char path[MAX_NAME_BYTES];
    hid_t how = without_times(H5P_GROUP_CREATE);
    bool ok = strlen(name) < sizeof path;
    for (const char *p = strchr(name + 1, '/'); p && ok; p = strchr(p + 1, '/')) {
        snprintf(path, sizeof path, "%.*s", (int)(p - name), name);
        if (H5Lexists(f->id, path, H5P_DEFAULT) > 0) continue;
        hid_t group = H5Gcreate2(f->id, path, H5P_DEFAULT, how, H5P_DEFAULT);
        ok = group > 0;
        release(group);
    }
    release(how);
    return ok;
}

pod_status pod_h5_array_create(const pod_h5_file *f, const char *name, pod_dtype t, int n_dims,
                               const int64_t dim[], int64_t chunk_rows, pod_h5_array *out)
{
    POD_ASSERT(n_dims >= 1 && n_dims <= POD_H5_MAX_DIMS && chunk_rows >= 1, "%d dimensions",
               n_dims);
    pod_h5_array a = {.file = f, .name = name, .n_dims = n_dims};
    hsize_t size[POD_H5_MAX_DIMS], chunk[POD_H5_MAX_DIMS];
    for (int i = 0; i < n_dims; i++) {
        a.dim[i] = dim[i];
        size[i] = (hsize_t)dim[i];
        chunk[i] = (hsize_t)(i == 0 && chunk_rows < dim[0] ? chunk_rows : dim[i]);
    }
    hid_t space = H5Screate_simple(n_dims, size, NULL);
    hid_t layout = without_times(H5P_DATASET_CREATE);
    if (make_groups(f, name) && H5Pset_chunk(layout, n_dims, chunk) >= 0 &&
        H5Pset_shuffle(layout) >= 0 && H5Pset_deflate(layout, POD_H5_DEFLATE) >= 0)
        a.id = H5Dcreate2(f->id, name, type_in_file(t), space, H5P_DEFAULT, layout, H5P_DEFAULT);
    pod_h5_reason why = pod_h5_last_reason();
    release(space);
    release(layout);
    if (a.id <= 0)
        return pod_fail(POD_E_WRITE, "%s: dataset '%s' cannot be made%s", f->path, name, why.text);
    describe_type(type_in_file(t), a.type, sizeof a.type);
    *out = a;
    return POD_OK;
}

void pod_h5_array_close(pod_h5_array *a)
{
    release(a->id);
    a->id = 0;
}

pod_status pod_h5_array_cut(pod_h5_array *a, int64_t n_rows)
{
    POD_ASSERT(n_rows >= 0 && n_rows <= a->dim[0], "%" PRId64 " of %" PRId64 " rows", n_rows,
               a->dim[0]);
    hsize_t size[POD_H5_MAX_DIMS];
    for (int i = 0; i < a->n_dims; i++) size[i] = (hsize_t)(i == 0 ? n_rows : a->dim[i]);
    if (H5Dset_extent(a->id, size) < 0)
        return fail_array(a->file, a->name, POD_E_WRITE, "cannot be shortened");
    a->dim[0] = n_rows;
    return POD_OK;
}

/* The rows as a selection in the file and a plain block in memory; false: out of memory. */
static bool select_rows(const pod_h5_array *a, int64_t first, int64_t count, hid_t *in_file,
                        hid_t *in_memory)
{
    POD_ASSERT(a->n_dims >= 1 && first >= 0 && count >= 0 && count <= a->dim[0] - first,
               "rows %" PRId64 " + %" PRId64 " of %" PRId64, first, count, a->dim[0]);
    hsize_t start[POD_H5_MAX_DIMS] = {(hsize_t)first}, size[POD_H5_MAX_DIMS];
    for (int i = 0; i < a->n_dims; i++) size[i] = (hsize_t)(i == 0 ? count : a->dim[i]);
    *in_file = H5Dget_space(a->id);
    *in_memory = H5Screate_simple(a->n_dims, size, NULL);
    return *in_file > 0 && *in_memory > 0 &&
           H5Sselect_hyperslab(*in_file, H5S_SELECT_SET, start, NULL, size, NULL) >= 0;
}

pod_status pod_h5_read_rows(const pod_h5_array *a, pod_dtype t, int64_t first, int64_t count,
                            void *out)
{
    hid_t in_file = 0, in_memory = 0;
    bool ok = select_rows(a, first, count, &in_file, &in_memory) &&
              H5Dread(a->id, type_in_memory(t), in_memory, in_file, H5P_DEFAULT, out) >= 0;
    pod_h5_reason why = pod_h5_last_reason();
    release(in_file);
    release(in_memory);
    if (ok) return POD_OK;
    return pod_fail(POD_E_FORMAT,
                    "%s: dataset '%s': rows %" PRId64 " to %" PRId64 " cannot be read%s",
                    a->file->path, a->name, first, first + count - 1, why.text);
}

pod_status pod_h5_write_rows(const pod_h5_array *a, pod_dtype t, int64_t first, int64_t count,
                             const void *data)
{
    hid_t in_file = 0, in_memory = 0;
    bool ok = select_rows(a, first, count, &in_file, &in_memory) &&
              H5Dwrite(a->id, type_in_memory(t), in_memory, in_file, H5P_DEFAULT, data) >= 0;
    pod_h5_reason why = pod_h5_last_reason();
    release(in_file);
    release(in_memory);
    if (ok) return POD_OK;
    return pod_fail(POD_E_WRITE,
                    "%s: dataset '%s': rows %" PRId64 " to %" PRId64 " cannot be written%s",
                    a->file->path, a->name, first, first + count - 1, why.text);
}

/* ---- attributes, written --------------------------------------------------------------------- */

bool pod_h5_has(const pod_h5_file *f, const char *name) { return H5Aexists(f->id, name) > 0; }

bool pod_h5_has_texts(const pod_h5_file *f, const char *name)
{
    return pod_h5_has(f, name) || pod_h5_has_array(f, name);
}

pod_status pod_h5_find(const pod_h5_file *f, const char *name, bool *is_there)
{
    const htri_t found = H5Aexists(f->id, name);
    if (found < 0)
        return pod_fail(POD_E_FORMAT, "%s: damaged%s", f->path, pod_h5_last_reason().text);
    *is_there = found > 0;
    return POD_OK;
}

/* n < 0: a single value. */
static pod_status put(const pod_h5_file *f, const char *name, hid_t in_file, hid_t in_memory,
                      int64_t n, const void *data)
{
    hsize_t size = (hsize_t)n;
    hid_t space = n < 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL);
    hid_t id = H5Acreate2(f->id, name, in_file, space, H5P_DEFAULT, H5P_DEFAULT);
    bool ok = id > 0 && H5Awrite(id, in_memory, data) >= 0;
    pod_h5_reason why = pod_h5_last_reason();
    release(id);
    release(space);
    if (ok) return POD_OK;
    return pod_fail(POD_E_WRITE, "%s: attribute '%s' cannot be written%s", f->path, name, why.text);
}

pod_status pod_h5_put_i64(const pod_h5_file *f, const char *name, int64_t value)
{
    return put(f, name, H5T_STD_I64LE, H5T_NATIVE_INT64, -1, &value);
}

pod_status pod_h5_put_f64(const pod_h5_file *f, const char *name, int64_t n, const double value[])
{
    return put(f, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, n, value);
}

static pod_status change(const pod_h5_file *f, const char *name, hid_t in_memory, const void *data)
{
    hid_t id = H5Aopen(f->id, name, H5P_DEFAULT);
    bool ok = id > 0 && H5Awrite(id, in_memory, data) >= 0;
    pod_h5_reason why = pod_h5_last_reason();
    release(id);
    if (ok) return POD_OK;
    return pod_fail(POD_E_WRITE, "%s: attribute '%s' cannot be changed%s", f->path, name, why.text);
}

pod_status pod_h5_change_i64(const pod_h5_file *f, const char *name, int64_t value)
{
    return change(f, name, H5T_NATIVE_INT64, &value);
}

pod_status pod_h5_change_f64(const pod_h5_file *f, const char *name, double value)
{
    return change(f, name, H5T_NATIVE_DOUBLE, &value);
}

static hid_t text_type(size_t bytes)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, bytes);
    H5Tset_cset(type, H5T_CSET_UTF8);
    H5Tset_strpad(type, H5T_STR_NULLTERM);
    return type;
}

/* Strings of one length, zeros behind each; to be freed. NULL: no memory. */
static char *make_table(int64_t n, const char *const text[], size_t *bytes)
{
    size_t longest = 0;
    for (int64_t i = 0; i < n; i++)
        if (strlen(text[i]) > longest) longest = strlen(text[i]);
    *bytes = longest + 1;
    char *table = calloc((size_t)n + 1, *bytes);
    for (int64_t i = 0; table && i < n; i++)
        memcpy(table + (size_t)i * *bytes, text[i], strlen(text[i]));
    return table;
}

pod_status pod_h5_put_text(const pod_h5_file *f, const char *name, const char *text)
{
    hid_t type = text_type(strlen(text) + 1);
    pod_status s = put(f, name, type, type, -1, text);
    release(type);
    return s;
}

pod_status pod_h5_put_texts(const pod_h5_file *f, const char *name, int64_t n,
                            const char *const text[])
{
    POD_ASSERT(n >= 0 && n <= MAX_TEXTS, "%" PRId64 " texts", n);
    size_t bytes;
    char *table = make_table(n, text, &bytes);
    if (!table) return pod_fail(POD_E_NOMEM, "%s: no memory for attribute '%s'", f->path, name);
    if ((size_t)n * bytes > MAX_ATTRIBUTE_BYTES) {
        free(table);
        return pod_h5_put_list(f, name, n, text);
    }
    hid_t type = text_type(bytes);
    pod_status s = put(f, name, type, type, n, table);
    release(type);
    free(table);
    return s;
}

/* ---- attributes, read ------------------------------------------------------------------------ */

typedef struct attribute {
    const pod_h5_file *file;
    const char *name;
    hid_t id, type, space;
    int64_t n; /* how many values */
} attribute;

static void attribute_close(attribute *a)
{
    release(a->space);
    release(a->type);
    release(a->id);
}

static pod_status fail_attribute(const attribute *a, const char *what)
{
    return pod_fail(POD_E_FORMAT, "%s: attribute '%s' %s%s", a->file->path, a->name, what,
                    pod_h5_last_reason().text);
}

static pod_status attribute_open(const pod_h5_file *f, const char *name, attribute *out)
{
    attribute a = {.file = f, .name = name};
    if (!pod_h5_has(f, name)) return fail_attribute(&a, "is missing");
    a.id = H5Aopen(f->id, name, H5P_DEFAULT);
    if (a.id > 0) {
        a.type = H5Aget_type(a.id);
        a.space = H5Aget_space(a.id);
        a.n = a.space > 0 ? H5Sget_simple_extent_npoints(a.space) : -1;
    }
    if (a.id <= 0 || a.type <= 0 || a.n < 0) {
        pod_status s = fail_attribute(&a, "is damaged");
        attribute_close(&a);
        return s;
    }
    *out = a;
    return POD_OK;
}

static pod_status get_numbers(const pod_h5_file *f, const char *name, H5T_class_t wanted, hid_t as,
                              int64_t n, void *out)
{
    attribute a;
    POD_TRY(attribute_open(f, name, &a));
    char type[16];
    describe_type(a.type, type, sizeof type);
    bool fits = a.n == n && (H5Tget_class(a.type) == H5T_INTEGER || H5Tget_class(a.type) == wanted);
    bool ok = fits && H5Aread(a.id, as, out) >= 0;
    int64_t found = a.n;
    pod_h5_reason why = pod_h5_last_reason();
    attribute_close(&a);
    if (!fits)
        return pod_fail(POD_E_FORMAT,
                        "%s: attribute '%s' holds %" PRId64 " values of type %s, need %" PRId64
                        " numbers%s",
                        f->path, name, found, type, n, wanted == H5T_INTEGER ? " (integer)" : "");
    if (!ok)
        return pod_fail(POD_E_FORMAT, "%s: attribute '%s' cannot be read%s", f->path, name,
                        why.text);
    return POD_OK;
}

pod_status pod_h5_get_i64(const pod_h5_file *f, const char *name, int64_t *out)
{
    return get_numbers(f, name, H5T_INTEGER, H5T_NATIVE_INT64, 1, out);
}

pod_status pod_h5_get_f64(const pod_h5_file *f, const char *name, int64_t n, double out[])
{
    return get_numbers(f, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, n, out);
}

/* Strings of variable length: HDF5 allocates each. */
static pod_status copy_variable(const attribute *at, pod_arena *a, const char **text)
{
    char **found = calloc((size_t)at->n + 1, sizeof *found);
    if (!found) return fail_attribute(at, "does not fit into memory");
    pod_status s = POD_OK;
    if (H5Aread(at->id, at->type, found) < 0) {
        s = fail_attribute(at, "cannot be read");
    } else {
        for (int64_t i = 0; s == POD_OK && i < at->n; i++)
            if (!(text[i] = pod_arena_text(a, "%s", found[i] ? found[i] : ""))) s = POD_E_NOMEM;
        H5Dvlen_reclaim(at->type, at->space, H5P_DEFAULT, found);
    }
    free(found);
    return s;
}

static pod_status copy_fixed(const attribute *at, pod_arena *a, const char **text)
{
    const size_t bytes = H5Tget_size(at->type), n = (size_t)at->n;
    char *table =
        bytes >= 1 && bytes <= MAX_TEXT_BYTES && n <= MAX_TEXTS ? calloc(n + 1, bytes) : NULL;
    if (!table) return fail_attribute(at, "does not fit into memory");
    pod_status s = POD_OK;
    if (H5Aread(at->id, at->type, table) < 0) s = fail_attribute(at, "cannot be read");
    for (int64_t i = 0; s == POD_OK && i < at->n; i++)
        if (!(text[i] = pod_arena_text(a, "%.*s", (int)bytes, table + (size_t)i * bytes)))
            s = POD_E_NOMEM;
    free(table);
    return s;
}

static pod_status get_texts(const pod_h5_file *f, const char *name, pod_arena *a, int64_t *n,
                            const char *const **out)
{
    attribute at;
    POD_TRY(attribute_open(f, name, &at));
    const char **text = NULL;
    pod_status s = POD_OK;
    if (H5Tget_class(at.type) != H5T_STRING || at.n > MAX_TEXTS)
        s = fail_attribute(&at, "does not hold strings");
    else if (!(text = POD_ARENA_NEW(a, const char *, at.n + 1)))
        s = POD_E_NOMEM;
    else
        s = (H5Tis_variable_str(at.type) > 0 ? copy_variable : copy_fixed)(&at, a, text);
    int64_t found = at.n;
    attribute_close(&at);
    POD_TRY(s);
    *n = found;
    *out = text;
    return POD_OK;
}

pod_status pod_h5_get_text(const pod_h5_file *f, const char *name, pod_arena *a, const char **out)
{
    int64_t n;
    const char *const *text;
    POD_TRY(get_texts(f, name, a, &n, &text));
    if (n != 1)
        return pod_fail(POD_E_FORMAT, "%s: attribute '%s' holds %" PRId64 " strings, need 1",
                        f->path, name, n);
    *out = text[0];
    return POD_OK;
}

/* ---- lists of strings ------------------------------------------------------------------------ */

enum { LIST_CHUNK_BYTES = 64 * 1024 };

pod_status pod_h5_put_list(const pod_h5_file *f, const char *name, int64_t n,
                           const char *const text[])
{
    size_t bytes;
    char *table = make_table(n, text, &bytes);
    if (!table) return pod_fail(POD_E_NOMEM, "%s: no memory for dataset '%s'", f->path, name);
    const hsize_t size = (hsize_t)n, most = LIST_CHUNK_BYTES / bytes + 1;
    const hsize_t chunk = size < most ? size : most;
    hid_t type = text_type(bytes), space = H5Screate_simple(1, &size, NULL), id = 0;
    hid_t layout = without_times(H5P_DATASET_CREATE);
    if (make_groups(f, name) && H5Pset_chunk(layout, 1, &chunk) >= 0 &&
        H5Pset_deflate(layout, POD_H5_DEFLATE) >= 0)
        id = H5Dcreate2(f->id, name, type, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    const bool ok = id > 0 && H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, table) >= 0;
    const pod_h5_reason why = pod_h5_last_reason();
    release(id);
    release(layout);
    release(space);
    release(type);
    free(table);
    if (ok) return POD_OK;
    return pod_fail(POD_E_WRITE, "%s: dataset '%s' cannot be written%s", f->path, name, why.text);
}

typedef struct list {
    hid_t id, type, space;
    int64_t n;
    const char *fault; /* NULL: none */
} list;

/* `text` (n) of the arena. */
static pod_status read_fixed(list *l, pod_arena *a, const char **text)
{
    const size_t bytes = H5Tget_size(l->type);
    char *table = bytes >= 1 && bytes <= MAX_TEXT_BYTES ? calloc((size_t)l->n + 1, bytes) : NULL;
    if (!table) return pod_fail(POD_E_NOMEM, "no memory for %" PRId64 " strings", l->n);
    if (H5Dread(l->id, l->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, table) < 0)
        l->fault = "cannot be read";
    pod_status s = POD_OK;
    for (int64_t i = 0; s == POD_OK && !l->fault && i < l->n; i++)
        if (!(text[i] = pod_arena_text(a, "%.*s", (int)bytes, table + (size_t)i * bytes)))
            s = POD_E_NOMEM;
    free(table);
    return s;
}

static pod_status read_variable(list *l, pod_arena *a, const char **text)
{
    char **found = calloc((size_t)l->n + 1, sizeof *found);
    if (!found) return pod_fail(POD_E_NOMEM, "no memory for %" PRId64 " strings", l->n);
    pod_status s = POD_OK;
    if (H5Dread(l->id, l->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, found) < 0)
        l->fault = "cannot be read";
    for (int64_t i = 0; s == POD_OK && !l->fault && i < l->n; i++)
        if (!(text[i] = pod_arena_text(a, "%s", found[i] ? found[i] : ""))) s = POD_E_NOMEM;
    if (!l->fault) H5Dvlen_reclaim(l->type, l->space, H5P_DEFAULT, found);
    free(found);
    return s;
}

/* `*n` strings, or where it is -1 as many as there are, which it becomes. */
static pod_status get_list(const pod_h5_file *f, const char *name, pod_arena *a, int64_t *n,
                           const char *const **out)
{
    list l = {.id = H5Dopen2(f->id, name, H5P_DEFAULT)};
    char length[80] = "";
    const char **text = NULL;
    pod_status s = POD_OK;
    if (l.id > 0) l.type = H5Dget_type(l.id);
    if (l.id > 0) l.space = H5Dget_space(l.id);
    if (l.space > 0) l.n = H5Sget_simple_extent_npoints(l.space);
    if (l.type <= 0 || l.space <= 0)
        l.fault = "cannot be opened";
    else if (H5Tget_class(l.type) != H5T_STRING || H5Sget_simple_extent_ndims(l.space) != 1)
        l.fault = "is no list of strings";
    else if (*n >= 0 && l.n != *n)
        snprintf(length, sizeof length, "has %" PRId64 " names for %" PRId64 " images", l.n, *n);
    else if (*n < 0 && l.n > MAX_TEXTS)
        l.fault = "is too long";
    else if (!(text = POD_ARENA_NEW(a, const char *, l.n + 1)))
        s = POD_E_NOMEM;
    else
        s = (H5Tis_variable_str(l.type) > 0 ? read_variable : read_fixed)(&l, a, text);
    if (*length) l.fault = length;
    if (l.fault) s = fail_array(f, name, POD_E_FORMAT, l.fault);
    release(l.space);
    release(l.type);
    release(l.id);
    POD_TRY(s);
    *n = l.n;
    *out = text;
    return POD_OK;
}

pod_status pod_h5_get_list(const pod_h5_file *f, const char *name, int64_t n, pod_arena *a,
                           const char *const **out)
{
    return get_list(f, name, a, &n, out);
}

pod_status pod_h5_get_texts(const pod_h5_file *f, const char *name, pod_arena *a, int64_t *n,
                            const char *const **out)
{
    if (pod_h5_has(f, name) || !pod_h5_has_array(f, name)) return get_texts(f, name, a, n, out);
    int64_t found = -1;
    POD_TRY(get_list(f, name, a, &found, out));
    *n = found;
    return POD_OK;
}
