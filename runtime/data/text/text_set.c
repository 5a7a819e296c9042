#include "runtime/data/text/text_set.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/core/file.h"
#include "runtime/data/data_form.h"
#include "runtime/data/inner.h"
#include "runtime/h5/h5.h"

enum { NAME_BYTES = 64 };

typedef struct column { /* a field of a split */
    pod_h5_array values;
    const int64_t *offset; /* (N + 1) */
    const int32_t *id;     /* (T), or NULL: in the file */
} column;

struct pod_text_set {
    pod_arena *arena;
    pod_h5_file file; /* open while ids stay in it */
    pod_text_info info;
    column column[POD_N_SPLITS][POD_TEXT_MAX_FIELDS];
    const int64_t *document[POD_N_SPLITS];
};

const pod_text_info *pod_text_set_info(const pod_text_set *t) { return &t->info; }

const int64_t *pod_text_set_documents(const pod_text_set *t, pod_split split)
{
    return t->document[split];
}

/* With the lock held. */
static void close_file(pod_text_set *t)
{
    for (int s = 0; s < POD_N_SPLITS; s++)
        for (int f = 0; f < POD_TEXT_MAX_FIELDS; f++) pod_h5_array_close(&t->column[s][f].values);
    (void)pod_h5_close(&t->file); /* nothing was written */
}

void pod_text_set_close(pod_text_set *t)
{
    if (!t) return;
    pod_h5_lock();
    close_file(t);
    pod_h5_unlock();
    pod_arena_destroy(t->arena);
}

/* ---- reading --------------------------------------------------------------------------------- */

static const column *column_of(const pod_text_set *t, pod_split split, int field)
{
    POD_ASSERT(field >= 0 && field < t->info.n_fields, "field %d of %d", field, t->info.n_fields);
    return &t->column[split][field];
}

int64_t pod_text_set_offset(const pod_text_set *t, pod_split split, int field, int64_t row)
{
    POD_ASSERT(row >= 0 && row < t->info.n_rows[split], "row %" PRId64 " of %" PRId64 " in %s", row,
               t->info.n_rows[split], pod_split_name(split));
    return column_of(t, split, field)->offset[row];
}

int64_t pod_text_set_length(const pod_text_set *t, pod_split split, int field, int64_t row)
{
    const int64_t begin = pod_text_set_offset(t, split, field, row);
    return t->column[split][field].offset[row + 1] - begin;
}

static pod_status check_ids(const pod_text_set *t, const column *c, int64_t first, int64_t n,
                            const int32_t id[])
{
    for (int64_t i = 0; i < n; i++)
        if (id[i] < 0 || id[i] >= t->info.vocab->n)
            return pod_fail(POD_E_FORMAT,
                            "%s: dataset '%s': value %" PRId64 " is %" PRId32
                            ", want an id of its vocabulary, 0 to %" PRId32,
                            c->values.file->path, c->values.name, first + i, id[i],
                            t->info.vocab->n - 1);
    return POD_OK;
}

pod_status pod_text_set_read_flat(const pod_text_set *t, pod_split split, int field, int64_t first,
                                  int64_t count, int32_t id[])
{
    const column *c = column_of(t, split, field);
    POD_ASSERT(first >= 0 && count >= 0 && count <= t->info.n_tokens[split][field] - first,
               "ids %" PRId64 " + %" PRId64 " of %" PRId64, first, count,
               t->info.n_tokens[split][field]);
    if (c->id) {
        memcpy(id, c->id + first, (size_t)count * sizeof *id);
        return POD_OK;
    }
    pod_h5_lock();
    const pod_status s = pod_h5_read_rows(&c->values, POD_I32, first, count, id);
    pod_h5_unlock();
    POD_TRY(s);
    return check_ids(t, c, first, count, id);
}

pod_status pod_text_set_read(const pod_text_set *t, pod_split split, int field, int64_t row,
                             int64_t first, int64_t count, int32_t id[])
{
    const int64_t length = pod_text_set_length(t, split, field, row);
    POD_ASSERT(first >= 0 && count >= 0 && count <= length - first,
               "ids %" PRId64 " + %" PRId64 " of row %" PRId64, first, count, row);
    return pod_text_set_read_flat(t, split, field, t->column[split][field].offset[row] + first,
                                  count, id);
}

/* ---- opening, with the lock held ------------------------------------------------------------- */

static const char *array_name(const pod_text_set *t, int split, const char *a, const char *b)
{
    return pod_arena_text(t->arena, "/%s/%s%s%s", pod_split_name((pod_split)split), a, b ? "/" : "",
                          b ? b : "");
}

/* Opens an array of integers of one dimension. */
static pod_status open_integers(pod_text_set *t, const char *name, pod_h5_array *out)
{
    char dims[POD_H5_DIMS_BYTES];
    pod_h5_array a;
    if (!name) return POD_E_NOMEM;
    POD_TRY(pod_h5_array_open(&t->file, name, &a));
    pod_status s = pod_h5_check_filters(&a);
    if (s == POD_OK && (a.n_dims != 1 || (a.type[0] != 'i' && a.type[0] != 'u')))
        s = pod_fail(
            POD_E_FORMAT, "%s: dataset '%s' has %d dimensions (%s) of type %s, need 1 of integers",
            t->file.path, name, a.n_dims, pod_h5_print_dims(a.n_dims, a.dim, dims), a.type);
    if (s != POD_OK) pod_h5_array_close(&a);
    if (s == POD_OK) *out = a;
    return s;
}

/* Reads offsets, which ascend from 0. */
static pod_status read_offsets(pod_text_set *t, const char *name, int64_t *n, const int64_t **out)
{
    pod_h5_array a;
    POD_TRY(open_integers(t, name, &a));
    int64_t *offset = a.dim[0] > 0 ? POD_ARENA_NEW(t->arena, int64_t, a.dim[0]) : NULL;
    pod_status s = a.dim[0] == 0 ? pod_fail(POD_E_FORMAT, "%s: dataset '%s' is empty, need a 0",
                                            t->file.path, name)
                   : !offset     ? POD_E_NOMEM
                                 : pod_h5_read_rows(&a, POD_I64, 0, a.dim[0], offset);
    pod_h5_array_close(&a);
    POD_TRY(s);
    for (int64_t i = 0; i < a.dim[0]; i++)
        if (i == 0 ? offset[i] != 0 : offset[i] <= offset[i - 1])
            return pod_fail(POD_E_FORMAT,
                            "%s: dataset '%s': value %" PRId64 " is %" PRId64
                            ", need offsets that ascend from 0",
                            t->file.path, name, i, offset[i]);
    *n = a.dim[0] - 1;
    *out = offset;
    return POD_OK;
}

static int64_t longest_of(const int64_t offset[], int64_t n_rows)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < n_rows; i++)
        if (offset[i + 1] - offset[i] > longest) longest = offset[i + 1] - offset[i];
    return longest;
}

static pod_status open_column(pod_text_set *t, int split, int field)
{
    pod_text_info *info = &t->info;
    column *c = &t->column[split][field];
    int64_t n;
    const char *name = array_name(t, split, info->field[field], "offsets");
    POD_TRY(read_offsets(t, name, &n, &c->offset));
    if (field > 0 && n != info->n_rows[split])
        return pod_fail(POD_E_FORMAT,
                        "%s: dataset '%s' has %" PRId64 " rows, field '%s' has %" PRId64,
                        t->file.path, name, n, info->field[0], info->n_rows[split]);
    info->n_rows[split] = n;
    POD_TRY(open_integers(t, array_name(t, split, info->field[field], "values"), &c->values));
    info->n_tokens[split][field] = c->values.dim[0];
    if (c->offset[n] != c->values.dim[0])
        return pod_fail(POD_E_FORMAT,
                        "%s: dataset '%s' has %" PRId64 " values, its offsets end at %" PRId64,
                        t->file.path, c->values.name, c->values.dim[0], c->offset[n]);
    info->longest[split][field] = longest_of(c->offset, n);
    return POD_OK;
}

static pod_status read_documents(pod_text_set *t, int split)
{
    int64_t n;
    bool is_there;
    const char *name = array_name(t, split, "documents", NULL);
    if (!name) return POD_E_NOMEM;
    POD_TRY(pod_h5_find_link(&t->file, name, &is_there));
    if (split == 0) t->info.has_documents = is_there;
    if (!t->info.has_documents) return POD_OK;
    POD_TRY(read_offsets(t, name, &n, &t->document[split]));
    t->info.n_documents[split] = n;
    if (t->document[split][n] == t->info.n_rows[split]) return POD_OK;
    return pod_fail(POD_E_FORMAT, "%s: dataset '%s' ends at row %" PRId64 ", need %" PRId64,
                    t->file.path, name, t->document[split][n], t->info.n_rows[split]);
}

static pod_status read_vocabulary(pod_text_set *t)
{
    static const char name[] = "/vocabulary";
    pod_h5_array a;
    const char *const *token;
    const char *where = pod_arena_text(t->arena, "%s: dataset '%s'", t->file.path, name);
    if (!where) return POD_E_NOMEM;
    POD_TRY(pod_h5_array_open(&t->file, name, &a));
    const int64_t n = a.n_dims == 1 ? a.dim[0] : 0;
    pod_h5_array_close(&a);
    POD_TRY(pod_h5_get_list(&t->file, name, n, t->arena, &token));
    return pod_vocab_make(where, n, token, t->arena, &t->info.vocab);
}

static pod_status read_fields(pod_text_set *t)
{
    int64_t n;
    const char *const *name;
    POD_TRY(pod_h5_get_texts(&t->file, "fields", t->arena, &n, &name));
    if (n < 1 || n > POD_TEXT_MAX_FIELDS)
        return pod_fail(POD_E_FORMAT, "%s: attribute 'fields' has %" PRId64 " names, need 1 or %d",
                        t->file.path, n, POD_TEXT_MAX_FIELDS);
    t->info.n_fields = (int)n;
    for (int i = 0; i < n; i++) {
        t->info.field[i] = name[i];
        if (strlen(name[i]) < 1 || strlen(name[i]) > NAME_BYTES || strchr(name[i], '/'))
            return pod_fail(POD_E_FORMAT, "%s: attribute 'fields': '%.80s' is no name of a field",
                            t->file.path, name[i]);
    }
    return POD_OK;
}

static pod_status read_attributes(pod_text_set *t)
{
    int64_t is_cased;
    pod_text_info *info = &t->info;
    POD_TRY(pod_h5_get_text(&t->file, "name", t->arena, &info->name));
    POD_TRY(pod_h5_get_text(&t->file, "origin", t->arena, &info->origin));
    POD_TRY(pod_h5_get_text(&t->file, "licence", t->arena, &info->licence));
    POD_TRY(pod_h5_get_i64(&t->file, "is_cased", &is_cased));
    info->is_cased = is_cased != 0;
    return read_fields(t);
}

static pod_status load_ids(pod_text_set *t, column *c)
{
    const int64_t n = c->values.dim[0];
    int32_t *id = POD_ARENA_NEW(t->arena, int32_t, n > 0 ? n : 1);
    if (!id) return POD_E_NOMEM;
    if (n > 0) POD_TRY(pod_h5_read_rows(&c->values, POD_I32, 0, n, id));
    POD_TRY(check_ids(t, c, 0, n, id));
    c->id = id;
    return POD_OK;
}

static pod_status load(pod_text_set *t, int64_t cache_bytes)
{
    int64_t n_tokens = 0;
    bool is_text;
    POD_TRY(pod__layout_is_text(&t->file, &is_text));
    if (!is_text)
        return pod_fail(POD_E_FORMAT,
                        "%s: is no data set of text: minipod data import text makes "
                        "one (doc/datasets.md)",
                        t->file.path);
    POD_TRY(read_attributes(t));
    POD_TRY(read_vocabulary(t));
    for (int s = 0; s < POD_N_SPLITS; s++) {
        for (int f = 0; f < t->info.n_fields; f++) {
            POD_TRY(open_column(t, s, f));
            n_tokens += t->info.n_tokens[s][f];
        }
        POD_TRY(read_documents(t, s));
    }
    if (n_tokens > cache_bytes / (int64_t)sizeof(int32_t)) return POD_OK;
    for (int s = 0; s < POD_N_SPLITS; s++)
        for (int f = 0; f < t->info.n_fields; f++) POD_TRY(load_ids(t, &t->column[s][f]));
    close_file(t);
    return POD_OK;
}

static pod_status open_in(pod_arena *arena, const char *path, int64_t cache_bytes,
                          pod_text_set **out)
{
    pod_text_set *t = POD_ARENA_NEW(arena, pod_text_set, 1);
    char *own_path = pod_arena_text(arena, "%s", path);
    if (!t || !own_path) return POD_E_NOMEM;
    POD_TRY(pod__data_form_check(path));
    t->arena = arena;
    pod_h5_lock();
    pod_status s = pod_h5_open(own_path, &t->file);
    if (s == POD_OK) s = load(t, cache_bytes);
    if (s != POD_OK) close_file(t);
    pod_h5_unlock();
    POD_TRY(s);
    *out = t;
    return POD_OK;
}

pod_status pod_text_set_open(const char *path, int64_t cache_bytes, const pod_alloc *alloc,
                             pod_text_set **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(alloc, &arena));
    const pod_status s = open_in(arena, path, cache_bytes, out);
    if (s != POD_OK) pod_arena_destroy(arena);
    return s;
}

pod_status pod_text_set_make(const pod_text_info *info, const pod_text_arrays split[POD_N_SPLITS],
                             pod_arena *arena, pod_text_set **out)
{
    pod_text_set *t = POD_ARENA_NEW(arena, pod_text_set, 1);
    if (!t) return POD_E_NOMEM;
    t->arena = arena;
    t->info = *info;
    for (int s = 0; s < POD_N_SPLITS; s++) {
        t->info.n_rows[s] = split[s].n_rows;
        t->info.n_documents[s] = split[s].n_documents;
        t->document[s] = split[s].document;
        for (int f = 0; f < info->n_fields; f++) {
            const int64_t *offset = split[s].offset[f];
            t->column[s][f] = (column){.offset = offset, .id = split[s].id[f]};
            t->info.n_tokens[s][f] = offset[split[s].n_rows];
            t->info.longest[s][f] = longest_of(offset, split[s].n_rows);
        }
    }
    *out = t;
    return POD_OK;
}

pod_status pod_text_set_is(const char *path, bool *out)
{
    pod_h5_file f = {0};
    POD_TRY(pod__data_form_check(path));
    pod_h5_lock();
    pod_status s = pod_h5_open(path, &f);
    if (s == POD_OK) s = pod__layout_is_text(&f, out);
    (void)pod_h5_close(&f); /* nothing was written */
    pod_h5_unlock();
    return s;
}
