/* A data set of text as what a run trains on. */
#include "kernels/base/hash.h"
#include "runtime/data/inner.h"
#include "runtime/data/text/text_set.h"

#include <stdlib.h>
#include <string.h>

/* Never 0. */
static uint64_t hash_vocabulary(const pod_vocab *v)
{
    uint64_t h = POD_HASH_START;
    for (int32_t i = 0; i < v->n; i++) h = pod_hash_bytes(h, v->token[i], strlen(v->token[i]) + 1);
    return h ? h : 1;
}

static void text_close(pod_dataset *d) { pod_text_set_close(d->text); }

static const pod_dataset_kind text_kind = {.name = "text", .close = text_close};

pod_status pod__dataset_of_text(pod_text_set *t, const pod_alloc *alloc, pod_dataset **out)
{
    const pod_text_info *info = pod_text_set_info(t);
    pod_arena *arena;
    pod_status s = pod_arena_create(alloc, &arena);
    pod_dataset *d = s == POD_OK ? POD_ARENA_NEW(arena, pod_dataset, 1) : NULL;
    if (s == POD_OK && !d) {
        pod_arena_destroy(arena);
        s = POD_E_NOMEM;
    }
    if (s != POD_OK) {
        pod_text_set_close(t);
        return s;
    }
    int64_t n_ids = 0;
    for (int i = 0; i < POD_N_SPLITS * info->n_fields; i++)
        n_ids += info->n_tokens[i / info->n_fields][i % info->n_fields];
    *d = (pod_dataset){.kind = &text_kind,
                       .text = t,
                       .arena = arena,
                       .info = {.name = info->name,
                                .origin = info->origin,
                                .licence = info->licence,
                                .n_samples = {info->n_rows[0], info->n_rows[1]},
                                .n_tokens = info->vocab->n,
                                .vocabulary_hash = hash_vocabulary(info->vocab),
                                .text_bytes = n_ids * (int64_t)sizeof(int32_t)}};
    *out = d;
    return POD_OK;
}

/* The ids of a few rows, evenly from the first on. */
static pod_status hash_rows(const pod_text_set *t, pod_split split, int field, uint64_t *h)
{
    enum { SEEN = 4 };
    const pod_text_info *info = pod_text_set_info(t);
    const int64_t n = info->n_rows[split];
    int32_t *id = malloc((size_t)(info->longest[split][field] + 1) * sizeof *id);
    if (!id) return pod_fail(POD_E_NOMEM, "data: no memory for a row of text");
    pod_status s = POD_OK;
    for (int64_t i = 0; i < n; i++) {
        const int64_t length = pod_text_set_length(t, split, field, i);
        *h = pod_hash_bytes(*h, &length, sizeof length);
    }
    for (int64_t i = 0; i < SEEN && i < n && s == POD_OK; i++) {
        const int64_t row = i * n / (n < SEEN ? n : SEEN);
        const int64_t length = pod_text_set_length(t, split, field, row);
        s = pod_text_set_read(t, split, field, row, 0, length, id);
        if (s == POD_OK) *h = pod_hash_bytes(*h, id, (size_t)length * sizeof *id);
    }
    free(id);
    return s;
}

pod_status pod__text_fingerprint(const pod_text_set *t, uint64_t *out)
{
    const pod_text_info *info = pod_text_set_info(t);
    const uint64_t vocabulary = hash_vocabulary(info->vocab);
    uint64_t h = pod_hash_bytes(POD_HASH_START, &info->is_cased, sizeof info->is_cased);
    h = pod_hash_bytes(h, &vocabulary, sizeof vocabulary);
    for (int split = 0; split < POD_N_SPLITS; split++) {
        const int64_t *document = pod_text_set_documents(t, (pod_split)split);
        const size_t n = (size_t)info->n_documents[split] + 1;
        if (document) h = pod_hash_bytes(h, document, n * sizeof *document);
        for (int f = 0; f < info->n_fields; f++) POD_TRY(hash_rows(t, (pod_split)split, f, &h));
    }
    *out = h ? h : 1;
    return POD_OK;
}
