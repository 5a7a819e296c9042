#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/h5/inner.h"

enum { MAX_TEXTS = 1 << 20, MAX_TEXT_BYTES = 1 << 20 };
enum { MAX_ATTRIBUTE_BYTES = 60000 }; /* HDF5 writes less than 64 KiB, its own header included */

/* ---- attributes ------------------------------------------------------------------------------ */

bool pod_h5_has(const pod_h5_file *f, const char *name) { return H5Aexists(f->id, name) > 0; }

bool pod_h5_has_texts(const pod_h5_file *f, const char *name)
{
    return pod_h5_has(f, name) || pod_h5_has_array(f, name);
}

pod_status pod_h5_find(const pod_h5_file *f, const char *name, bool *is_there)
{
    const htri_t found = H5Aexists(f->id, name);
    if (found < 0) return pod__h5_fail_damaged(f);
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
    const pod_status s = pod__h5_check(id > 0 && H5Awrite(id, in_memory, data) >= 0, POD_E_WRITE, f,
                                       "attribute", name, "cannot be written");
    pod__h5_release(id);
    pod__h5_release(space);
    return s;
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
    const pod_status s = pod__h5_check(id > 0 && H5Awrite(id, in_memory, data) >= 0, POD_E_WRITE, f,
                                       "attribute", name, "cannot be changed");
    pod__h5_release(id);
    return s;
}

pod_status pod_h5_change_i64(const pod_h5_file *f, const char *name, int64_t value)
{
    return change(f, name, H5T_NATIVE_INT64, &value);
}

pod_status pod_h5_change_f64(const pod_h5_file *f, const char *name, double value)
{
    return change(f, name, H5T_NATIVE_DOUBLE, &value);
}

/* What is read: an attribute, or an array of one dimension. */
typedef struct source {
    const pod_h5_file *file;
    const char *name;
    bool is_array;
    hid_t id, type, space;
    int64_t n; /* how many values */
} source;

static void source_close(source *a)
{
    pod__h5_release(a->space);
    pod__h5_release(a->type);
    pod__h5_release(a->id);
}

static pod_status check_source(bool ok, const source *a, const char *what)
{
    return pod__h5_check(ok, POD_E_FORMAT, a->file, a->is_array ? "dataset" : "attribute", a->name,
                         what);
}

static pod_status source_open(const pod_h5_file *f, const char *name, bool is_array, source *out)
{
    source a = {.file = f, .name = name, .is_array = is_array, .n = -1};
    if (!is_array) POD_TRY(check_source(pod_h5_has(f, name), &a, "is missing"));
    a.id = is_array ? H5Dopen2(f->id, name, H5P_DEFAULT) : H5Aopen(f->id, name, H5P_DEFAULT);
    if (a.id > 0) {
        a.type = is_array ? H5Dget_type(a.id) : H5Aget_type(a.id);
        a.space = is_array ? H5Dget_space(a.id) : H5Aget_space(a.id);
        if (a.space > 0) a.n = H5Sget_simple_extent_npoints(a.space);
    }
    const pod_status s = check_source(a.id > 0 && a.type > 0 && a.n >= 0, &a,
                                      is_array ? "cannot be opened" : "is damaged");
    if (s == POD_OK)
        *out = a;
    else
        source_close(&a);
    return s;
}

static pod_status get_numbers(const pod_h5_file *f, const char *name, H5T_class_t wanted, hid_t as,
                              int64_t n, void *out)
{
    source a;
    char type[16];
    POD_TRY(source_open(f, name, false, &a));
    const H5T_class_t class = H5Tget_class(a.type);
    pod__h5_describe_type(a.type, type);
    pod_status s;
    if (a.n != n || (class != H5T_INTEGER && class != wanted))
        s = pod_fail(POD_E_FORMAT,
                     "%s: attribute '%s' holds %" PRId64 " values of type %s, need %" PRId64
                     " numbers%s",
                     f->path, name, a.n, type, n, wanted == H5T_INTEGER ? " (integer)" : "");
    else
        s = check_source(H5Aread(a.id, as, out) >= 0, &a, "cannot be read");
    source_close(&a);
    return s;
}

pod_status pod_h5_get_i64(const pod_h5_file *f, const char *name, int64_t *out)
{
    return get_numbers(f, name, H5T_INTEGER, H5T_NATIVE_INT64, 1, out);
}

pod_status pod_h5_get_f64(const pod_h5_file *f, const char *name, int64_t n, double out[])
{
    return get_numbers(f, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, n, out);
}

/* ---- strings --------------------------------------------------------------------------------- */

enum { LIST_CHUNK_BYTES = 64 * 1024 };

static hid_t text_type(size_t bytes)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, bytes);
    H5Tset_cset(type, H5T_CSET_UTF8);
    H5Tset_strpad(type, H5T_STR_NULLTERM);
    return type;
}

/* Strings of one length, zeros behind each; to be freed. */
static pod_status make_table(const pod_h5_file *f, const char *name, int64_t n,
                             const char *const text[], size_t *bytes, char **table)
{
    size_t longest = 0;
    for (int64_t i = 0; i < n; i++)
        if (strlen(text[i]) > longest) longest = strlen(text[i]);
    *bytes = longest + 1;
    *table = calloc((size_t)n + 1, *bytes);
    if (!*table) return pod_fail(POD_E_NOMEM, "%s: no memory for '%s'", f->path, name);
    for (int64_t i = 0; i < n; i++) memcpy(*table + (size_t)i * *bytes, text[i], strlen(text[i]));
    return POD_OK;
}

pod_status pod_h5_put_text(const pod_h5_file *f, const char *name, const char *text)
{
    hid_t type = text_type(strlen(text) + 1);
    pod_status s = put(f, name, type, type, -1, text);
    pod__h5_release(type);
    return s;
}

pod_status pod_h5_put_texts(const pod_h5_file *f, const char *name, int64_t n,
                            const char *const text[])
{
    POD_ASSERT(n >= 0 && n <= MAX_TEXTS, "%" PRId64 " texts", n);
    size_t bytes;
    char *table;
    POD_TRY(make_table(f, name, n, text, &bytes, &table));
    if ((size_t)n * bytes > MAX_ATTRIBUTE_BYTES) {
        free(table);
        return pod_h5_put_list(f, name, n, text);
    }
    hid_t type = text_type(bytes);
    pod_status s = put(f, name, type, type, n, table);
    pod__h5_release(type);
    free(table);
    return s;
}

pod_status pod_h5_put_list(const pod_h5_file *f, const char *name, int64_t n,
                           const char *const text[])
{
    size_t bytes;
    char *table;
    POD_TRY(make_table(f, name, n, text, &bytes, &table));
    const hsize_t size = (hsize_t)n, most = LIST_CHUNK_BYTES / bytes + 1;
    const hsize_t chunk = size < most ? size : most;
    hid_t type = text_type(bytes), id;
    pod_status s = pod__h5_create_packed(f, name, type, 1, &size, NULL, &chunk, false, &id);
    if (s == POD_OK)
        s = pod__h5_check(H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, table) >= 0,
                          POD_E_WRITE, f, "dataset", name, "cannot be written");
    pod__h5_release(id);
    pod__h5_release(type);
    free(table);
    return s;
}

/* All of them into `text` (n), of the arena. Those of variable length HDF5 allocates. */
static pod_status copy_texts(const source *from, pod_arena *a, const char **text)
{
    const bool varies = H5Tis_variable_str(from->type) > 0;
    const size_t bytes = varies ? sizeof(char *) : H5Tget_size(from->type);
    const int most = varies ? INT_MAX : (int)bytes;
    void *table = bytes >= 1 && bytes <= MAX_TEXT_BYTES ? calloc((size_t)from->n + 1, bytes) : NULL;
    POD_TRY(check_source(table, from, "does not fit into memory"));
    const bool is_read =
        (from->is_array ? H5Dread(from->id, from->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, table)
                        : H5Aread(from->id, from->type, table)) >= 0;
    pod_status s = check_source(is_read, from, "cannot be read");
    for (int64_t i = 0; s == POD_OK && i < from->n; i++) {
        const char *at = varies ? ((char **)table)[i] : (char *)table + (size_t)i * bytes;
        if (!(text[i] = pod_arena_text(a, "%.*s", most, at ? at : ""))) s = POD_E_NOMEM;
    }
    if (varies && is_read) H5Dvlen_reclaim(from->type, from->space, H5P_DEFAULT, table);
    free(table);
    return s;
}

/* `*n` strings, or where it is -1 as many as there are, which it becomes. */
static pod_status get_strings(const pod_h5_file *f, const char *name, bool is_array, pod_arena *a,
                              int64_t *n, const char *const **out)
{
    source from;
    const char **text = NULL;
    char length[80];
    POD_TRY(source_open(f, name, is_array, &from));
    snprintf(length, sizeof length, "has %" PRId64 " names for %" PRId64 " images", from.n, *n);
    pod_status s = check_source(H5Tget_class(from.type) == H5T_STRING &&
                                    (!is_array || H5Sget_simple_extent_ndims(from.space) == 1),
                                &from, "does not hold strings");
    if (s == POD_OK) s = check_source(*n < 0 || from.n == *n, &from, length);
    if (s == POD_OK) s = check_source(*n >= 0 || from.n <= MAX_TEXTS, &from, "is too long");
    if (s == POD_OK && !(text = POD_ARENA_NEW(a, const char *, from.n + 1))) s = POD_E_NOMEM;
    if (s == POD_OK) s = copy_texts(&from, a, text);
    source_close(&from);
    POD_TRY(s);
    *n = from.n;
    *out = text;
    return POD_OK;
}

pod_status pod_h5_get_text(const pod_h5_file *f, const char *name, pod_arena *a, const char **out)
{
    int64_t n = -1;
    const char *const *text;
    POD_TRY(get_strings(f, name, false, a, &n, &text));
    if (n != 1)
        return pod_fail(POD_E_FORMAT, "%s: attribute '%s' holds %" PRId64 " strings, need 1",
                        f->path, name, n);
    *out = text[0];
    return POD_OK;
}

pod_status pod_h5_get_list(const pod_h5_file *f, const char *name, int64_t n, pod_arena *a,
                           const char *const **out)
{
    return get_strings(f, name, true, a, &n, out);
}

pod_status pod_h5_get_texts(const pod_h5_file *f, const char *name, pod_arena *a, int64_t *n,
                            const char *const **out)
{
    int64_t found = -1;
    const bool is_array = !pod_h5_has(f, name) && pod_h5_has_array(f, name);
    POD_TRY(get_strings(f, name, is_array, a, &found, out));
    *n = found;
    return POD_OK;
}
