#include "runtime/data/text/next_tokens.h"

typedef struct source {
    const pod_text_set *text;
    pod_split split;
    int64_t seq_len, n_documents;
    const int64_t *begin; /* (n_documents + 1): where a document begins in the stream; its end */
    int32_t pad, sep;
} source;

/* ---- the stream ------------------------------------------------------------------------------ */

/* The document that has place `at` of the stream, its [SEP] included; at is not 0. */
static int64_t document_at(const source *s, int64_t at)
{
    int64_t low = 0, high = s->n_documents;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (s->begin[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static pod_status read_stream(const source *s, int64_t first, int64_t count, int32_t *id)
{
    for (int64_t take; count > 0; first += take, count -= take, id += take) {
        const int64_t d = first > 0 ? document_at(s, first) : 0;
        const int64_t left = first > 0 ? s->begin[d + 1] - 1 - first : 0; /* before its [SEP] */
        take = left == 0 ? 1 : left < count ? left : count;
        if (left == 0)
            *id = s->sep;
        else
            POD_TRY(pod_text_set_read_flat(s->text, s->split, 0, first - 1 - d, take, id));
    }
    return POD_OK;
}

static int64_t stream_length(const source *s) { return s->begin[s->n_documents]; }

/* ---- a row ----------------------------------------------------------------------------------- */

static pod_status fill(const pod_samples *samples, int64_t epoch, int64_t sample, void *const row[],
                       void *scratch)
{
    (void)epoch;
    const source *s = samples->source;
    int32_t *stream = scratch, *id = row[POD_NEXT_IDS], *answer = row[POD_NEXT_ANSWERS];
    float *weight = row[POD_NEXT_WEIGHTS];
    const int64_t first = sample * s->seq_len, left = stream_length(s) - 1 - first;
    const int64_t n = left < s->seq_len ? left : s->seq_len;
    POD_TRY(read_stream(s, first, n + 1, stream));
    for (int64_t i = 0; i < s->seq_len; i++) {
        id[i] = i < n ? stream[i] : s->pad;
        answer[i] = i < n ? stream[i + 1] : 0;
        weight[i] = i < n ? 1 : 0;
    }
    *(int32_t *)row[POD_NEXT_LENGTHS] = (int32_t)n;
    return POD_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

pod_form pod_next_tokens_form(int64_t seq_len)
{
    return (pod_form){.n_fields = 4,
                      .field = {[POD_NEXT_IDS] = {"ids", POD_I32, 1, {seq_len}},
                                [POD_NEXT_LENGTHS] = {"lengths", POD_I32, 0, {0}},
                                [POD_NEXT_ANSWERS] = {"answers", POD_I32, 1, {seq_len}},
                                [POD_NEXT_WEIGHTS] = {"weights", POD_F32, 1, {seq_len}}}};
}

static pod_status check(const pod_text_info *info, pod_split split)
{
    if (info->n_fields != 1 || !info->has_documents)
        return pod_fail(POD_E_INVALID,
                        "%s: language-model needs sentences in documents: `minipod data import "
                        "text` makes them",
                        info->name);
    if (info->n_documents[split] > 0) return POD_OK;
    return pod_fail(POD_E_INVALID,
                    "%s: the %s split has no document; `minipod data import text` with "
                    "--test-share or --test-files makes both splits",
                    info->name, pod_split_name(split));
}

pod_status pod_next_tokens_open(const pod_text_set *t, pod_split split, int64_t seq_len,
                                pod_arena *a, pod_samples *out)
{
    const pod_text_info *info = pod_text_set_info(t);
    POD_TRY(check(info, split));
    const int64_t n = info->n_documents[split], *document = pod_text_set_documents(t, split);
    source *s = POD_ARENA_NEW(a, source, 1);
    int64_t *begin = POD_ARENA_NEW(a, int64_t, n + 1);
    if (!s || !begin) return POD_E_NOMEM;
    for (int64_t d = 0; d < n; d++)
        begin[d] = 1 + d + pod_text_set_offset(t, split, 0, document[d]);
    begin[n] = 1 + n + info->n_tokens[split][0];
    *s = (source){.text = t,
                  .split = split,
                  .seq_len = seq_len,
                  .n_documents = n,
                  .begin = begin,
                  .pad = info->vocab->special[POD_PAD],
                  .sep = info->vocab->special[POD_SEP]};
    *out = (pod_samples){.form = pod_next_tokens_form(seq_len),
                         .n = (stream_length(s) - 1 + seq_len - 1) / seq_len,
                         .scratch_bytes = (size_t)(seq_len + 1) * sizeof(int32_t),
                         .kept_bytes = (size_t)(n + 1) * sizeof *begin,
                         .source = s,
                         .fill = fill,
                         .pad = pod_samples_pad_zeros};
    return POD_OK;
}
