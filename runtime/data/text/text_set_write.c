#include "runtime/data/text/text_set_write.h"

#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/core/file.h"
#include "runtime/data/defer.h"
#include "runtime/h5/grow.h"

enum { BLOCK_VALUES = 65536 };

typedef struct growing { /* an array in the file, and its last values, which are not there yet */
    pod_h5_array array;
    pod_dtype type;
    void *block; /* (BLOCK_VALUES) */
    int64_t n;
} growing;

typedef struct column {
    growing values, offsets;
    int64_t n_values;
} column;

typedef struct split_state {
    column column[POD_TEXT_MAX_FIELDS];
    growing documents;
    int64_t n_rows, n_documents, n_ended; /* n_ended: rows in documents that have ended */
} split_state;

struct pod_text_writer {
    pod_arena *arena;
    const pod_text_info *info;
    const char *path, *part;
    pod_file *aside; /* holds the name `part`; HDF5 writes into the same file */
    pod_h5_file file;
    split_state split[POD_N_SPLITS];
    bool has_failed; /* to write: nothing of HDF5's is closed then (h5.h) */
    pod_deferred deferred;
};

/* ---- arrays ---------------------------------------------------------------------------------- */

static pod_status create_array(pod_text_writer *w, int split, const char *a, const char *b,
                               pod_dtype t, growing *out)
{
    const char *name = pod_arena_text(w->arena, "/%s/%s%s", pod_split_name((pod_split)split), a, b);
    void *block = pod_arena_get(w->arena, 8, BLOCK_VALUES * pod_dtype_bytes(t));
    if (!name || !block) return POD_E_NOMEM;
    *out = (growing){.type = t, .block = block};
    return pod_h5_column_create(&w->file, name, t, &out->array);
}

static pod_status flush(pod_text_writer *w, growing *g)
{
    if (g->n == 0) return POD_OK;
    pod_h5_lock();
    const pod_status s = pod_h5_column_append(&g->array, g->type, g->n, g->block);
    pod_h5_unlock();
    w->has_failed = w->has_failed || s != POD_OK;
    g->n = 0;
    return s;
}

static pod_status put_i64(pod_text_writer *w, growing *g, int64_t value)
{
    if (g->n == BLOCK_VALUES) POD_TRY(flush(w, g));
    ((int64_t *)g->block)[g->n++] = value;
    return POD_OK;
}

static pod_status put_ids(pod_text_writer *w, growing *g, int64_t n, const int32_t id[])
{
    for (int64_t done = 0, count; done < n; done += count) {
        if (g->n == BLOCK_VALUES) POD_TRY(flush(w, g));
        count = n - done < BLOCK_VALUES - g->n ? n - done : BLOCK_VALUES - g->n;
        memcpy((int32_t *)g->block + g->n, id + done, (size_t)count * sizeof *id);
        g->n += count;
    }
    return POD_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static pod_status create_arrays(pod_text_writer *w)
{
    POD_TRY(pod_h5_create(w->part, &w->file));
    for (int s = 0; s < POD_N_SPLITS; s++) {
        split_state *to = &w->split[s];
        for (int f = 0; f < w->info->n_fields; f++) {
            column *c = &to->column[f];
            POD_TRY(create_array(w, s, w->info->field[f], "/values", POD_I32, &c->values));
            POD_TRY(create_array(w, s, w->info->field[f], "/offsets", POD_I64, &c->offsets));
        }
        if (w->info->has_documents)
            POD_TRY(create_array(w, s, "documents", "", POD_I64, &to->documents));
    }
    return POD_OK;
}

static pod_status put_zeros(pod_text_writer *w)
{
    for (int s = 0; s < POD_N_SPLITS; s++) {
        for (int f = 0; f < w->info->n_fields; f++)
            POD_TRY(put_i64(w, &w->split[s].column[f].offsets, 0));
        if (w->info->has_documents) POD_TRY(put_i64(w, &w->split[s].documents, 0));
    }
    return POD_OK;
}

static pod_status writer_init(pod_text_writer *w, const char *path)
{
    w->path = pod_arena_text(w->arena, "%s", path);
    w->part = pod_arena_text(w->arena, "%s" POD_FILE_PART, path);
    if (!w->path || !w->part) return POD_E_NOMEM;
    POD_TRY(pod_file_open(path, &w->aside));
    pod_h5_lock();
    const pod_status s = create_arrays(w);
    pod_h5_unlock();
    w->has_failed = s != POD_OK;
    POD_TRY(s);
    return put_zeros(w);
}

pod_status pod_text_writer_open(const char *path, const pod_text_info *info, pod_text_writer **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_text_writer *w = POD_ARENA_NEW(arena, pod_text_writer, 1);
    if (!w) {
        pod_arena_destroy(arena);
        return POD_E_NOMEM;
    }
    w->arena = arena;
    w->info = info;
    pod__signals_defer(&w->deferred);
    const pod_status s = writer_init(w, path);
    if (s != POD_OK) {
        pod_text_writer_abort(w);
        return s;
    }
    *out = w;
    return POD_OK;
}

pod_status pod_text_writer_add(pod_text_writer *w, pod_split split, const int64_t n[],
                               const int32_t *const id[])
{
    split_state *to = &w->split[split];
    POD_TRY(pod__signals_check(w->path));
    for (int f = 0; f < w->info->n_fields; f++) {
        column *c = &to->column[f];
        POD_ASSERT(n[f] > 0, "a row without ids in the field %s", w->info->field[f]);
        POD_TRY(put_ids(w, &c->values, n[f], id[f]));
        c->n_values += n[f];
        POD_TRY(put_i64(w, &c->offsets, c->n_values));
    }
    to->n_rows++;
    return POD_OK;
}

pod_status pod_text_writer_end_document(pod_text_writer *w, pod_split split)
{
    split_state *to = &w->split[split];
    if (to->n_rows == to->n_ended) return POD_OK;
    to->n_ended = to->n_rows;
    to->n_documents++;
    return put_i64(w, &to->documents, to->n_rows);
}

int64_t pod_text_writer_rows(const pod_text_writer *w, pod_split split)
{
    return w->split[split].n_rows;
}

int64_t pod_text_writer_documents(const pod_text_writer *w, pod_split split)
{
    return w->split[split].n_documents;
}

/* ---- the end --------------------------------------------------------------------------------- */

static pod_status flush_all(pod_text_writer *w)
{
    for (int s = 0; s < POD_N_SPLITS; s++) {
        split_state *to = &w->split[s];
        for (int f = 0; f < w->info->n_fields; f++) {
            POD_TRY(flush(w, &to->column[f].values));
            POD_TRY(flush(w, &to->column[f].offsets));
        }
        POD_TRY(flush(w, &to->documents));
    }
    return POD_OK;
}

static pod_status put_attributes(pod_text_writer *w)
{
    const pod_text_info *info = w->info;
    POD_TRY(pod_h5_put_i64(&w->file, "minipod_dataset", POD_TEXT_VERSION));
    POD_TRY(pod_h5_put_text(&w->file, "name", info->name));
    POD_TRY(pod_h5_put_text(&w->file, "origin", info->origin));
    POD_TRY(pod_h5_put_text(&w->file, "licence", info->licence));
    POD_TRY(pod_h5_put_i64(&w->file, "is_cased", info->is_cased));
    POD_TRY(pod_h5_put_texts(&w->file, "fields", info->n_fields, info->field));
    return pod_h5_put_list(&w->file, "/vocabulary", info->vocab->n, info->vocab->token);
}

/* With the lock held. */
static pod_status close_file(pod_text_writer *w)
{
    for (int s = 0; s < POD_N_SPLITS; s++) {
        for (int f = 0; f < POD_TEXT_MAX_FIELDS; f++) {
            pod_h5_array_close(&w->split[s].column[f].values.array);
            pod_h5_array_close(&w->split[s].column[f].offsets.array);
        }
        pod_h5_array_close(&w->split[s].documents.array);
    }
    return pod_h5_close(&w->file);
}

static pod_status complete(pod_text_writer *w)
{
    POD_TRY(pod__signals_check(w->path));
    POD_TRY(flush_all(w));
    pod_h5_lock();
    pod_status s = put_attributes(w);
    if (s == POD_OK) s = pod_h5_flush(&w->file);
    w->has_failed = w->has_failed || s != POD_OK;
    if (s == POD_OK) s = close_file(w);
    pod_h5_unlock();
    return s;
}

pod_status pod_text_writer_finish(pod_text_writer *w)
{
    pod_status s = complete(w);
    if (s == POD_OK) {
        pod_file *aside = w->aside;
        w->aside = NULL;
        s = pod_file_close(aside);
    }
    pod_text_writer_abort(w);
    return s;
}

void pod_text_writer_abort(pod_text_writer *w)
{
    if (!w) return;
    pod_h5_lock();
    if (!w->has_failed) (void)close_file(w); /* the file goes away */
    pod_h5_unlock();
    pod_file_abandon(w->aside);
    const pod_deferred deferred = w->deferred;
    pod_arena_destroy(w->arena);
    pod__signals_restore(&deferred); /* may not come back */
}
