#include "runtime/data/text/sentence_pairs.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/embed/embed.h"

enum { SOURCE, TARGET, N_SIDES }; /* fields of the text */

typedef struct source {
    const pod_text_set *text;
    pod_split split;
    int64_t seq_len;
    const int64_t *row; /* (n): of each sample; NULL: its own number */
    int32_t pad, sep;
} source;

/* ---- a pair ---------------------------------------------------------------------------------- */

/* Writes a sentence, as much of it as fits, and [SEP]; answers how many ids that is. */
static pod_status put_sentence(const source *s, int side, int64_t row, int32_t id[], int64_t *n)
{
    const int64_t length = pod_text_set_length(s->text, s->split, side, row);
    const int64_t take = length < s->seq_len ? length : s->seq_len - 1;
    POD_TRY(pod_text_set_read(s->text, s->split, side, row, 0, take, id));
    id[take] = s->sep;
    *n = take + 1;
    return POD_OK;
}

static pod_status fill(const pod_samples *samples, int64_t epoch, int64_t sample, void *const row[],
                       void *scratch)
{
    (void)epoch;
    (void)scratch;
    const source *s = samples->source;
    int32_t *from = row[POD_PAIRS_SOURCE], *to = row[POD_PAIRS_TARGET];
    int32_t *answer = row[POD_PAIRS_ANSWERS];
    float *weight = row[POD_PAIRS_WEIGHTS];
    const int64_t at = s->row ? s->row[sample] : sample;
    int64_t n_from, n_to;
    POD_TRY(put_sentence(s, SOURCE, at, from, &n_from));
    POD_TRY(put_sentence(s, TARGET, at, answer, &n_to));
    for (int64_t i = n_from; i < s->seq_len; i++) from[i] = s->pad;
    for (int64_t i = 0; i < s->seq_len; i++) {
        to[i] = i == 0 ? POD_NO_TOKEN : i < n_to ? answer[i - 1] : s->pad;
        weight[i] = i < n_to ? 1 : 0;
    }
    for (int64_t i = n_to; i < s->seq_len; i++) answer[i] = 0;
    *(int32_t *)row[POD_PAIRS_SOURCE_LENGTHS] = (int32_t)n_from;
    *(int32_t *)row[POD_PAIRS_TARGET_LENGTHS] = (int32_t)n_to;
    return POD_OK;
}

static void pad(const pod_samples *samples, void *const row[])
{
    for (int i = 0; i < samples->form.n_fields; i++)
        memset(row[i], 0, (size_t)pod_field_row_bytes(&samples->form.field[i]));
}

/* ---- opening --------------------------------------------------------------------------------- */

pod_form pod_sentence_pairs_form(int64_t seq_len)
{
    return (pod_form){.n_fields = 6,
                      .field = {[POD_PAIRS_SOURCE] = {"source", POD_I32, 1, {seq_len}},
                                [POD_PAIRS_SOURCE_LENGTHS] = {"source_lengths", POD_I32, 0, {0}},
                                [POD_PAIRS_TARGET] = {"target", POD_I32, 1, {seq_len}},
                                [POD_PAIRS_TARGET_LENGTHS] = {"target_lengths", POD_I32, 0, {0}},
                                [POD_PAIRS_ANSWERS] = {"answers", POD_I32, 1, {seq_len}},
                                [POD_PAIRS_WEIGHTS] = {"weights", POD_F32, 1, {seq_len}}}};
}

static pod_status check(const pod_text_info *info, pod_split split)
{
    if (info->n_fields != N_SIDES || strcmp(info->field[SOURCE], "source") != 0 ||
        strcmp(info->field[TARGET], "target") != 0)
        return pod_fail(POD_E_INVALID,
                        "%s: translate needs the fields source and target: `minipod data import "
                        "pairs` makes them",
                        info->name);
    if (info->n_rows[split] > 0) return POD_OK;
    return pod_fail(POD_E_INVALID,
                    "%s: the %s split has no pair; `minipod data import pairs` with --test-share "
                    "or --test-files makes both splits",
                    info->name, pod_split_name(split));
}

static bool fits(const source *s, int64_t row)
{
    for (int side = 0; side < N_SIDES; side++)
        if (pod_text_set_length(s->text, s->split, side, row) >= s->seq_len) return false;
    return true;
}

static pod_status list_fitting(source *s, const pod_text_info *info, pod_arena *a, int64_t *n)
{
    const int64_t n_rows = info->n_rows[s->split];
    int64_t *row = POD_ARENA_NEW(a, int64_t, n_rows);
    if (!row) return POD_E_NOMEM;
    *n = 0;
    for (int64_t i = 0; i < n_rows; i++)
        if (fits(s, i)) row[(*n)++] = i;
    s->row = row;
    if (*n > 0) return POD_OK;
    return pod_fail(POD_E_INVALID,
                    "seq-len: no pair of the %" PRId64 " of %s fits into %" PRId64
                    " tokens, the end token included",
                    n_rows, info->name, s->seq_len);
}

pod_status pod_sentence_pairs_open(const pod_text_set *t, pod_split split, int64_t seq_len,
                                   pod_arena *a, pod_samples *out)
{
    const pod_text_info *info = pod_text_set_info(t);
    POD_TRY(check(info, split));
    source *s = POD_ARENA_NEW(a, source, 1);
    int64_t n = info->n_rows[split];
    if (!s) return POD_E_NOMEM;
    *s = (source){.text = t,
                  .split = split,
                  .seq_len = seq_len,
                  .pad = info->vocab->special[POD_PAD],
                  .sep = info->vocab->special[POD_SEP]};
    if (split == POD_SPLIT_TRAIN) POD_TRY(list_fitting(s, info, a, &n));
    *out = (pod_samples){.form = pod_sentence_pairs_form(seq_len),
                         .n = n,
                         .n_too_long = info->n_rows[split] - n,
                         .source = s,
                         .fill = fill,
                         .pad = pad};
    return POD_OK;
}
