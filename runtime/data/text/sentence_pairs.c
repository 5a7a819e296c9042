#include "runtime/data/text/sentence_pairs.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/embed/embed.h"

enum { N_SIDES = POD_TEXT_TARGET + 1 };

typedef struct source {
    const pod_text_set *text;
    pod_split split;
    int64_t seq_len, n_parts;
    const int64_t *row, *begin; /* sample i has the pairs row[begin[i]] to row[begin[i + 1] - 1];
                                   NULL: the pair of its own number */
    int32_t pad, sep;
} source;

/* ---- a sample -------------------------------------------------------------------------------- */

/* Appends a sentence, as much of it as fits behind the *n ids, and [SEP]. */
static pod_status put_sentence(const source *s, int side, int64_t row, int32_t id[], int64_t *n)
{
    const int64_t length = pod_text_set_length(s->text, s->split, side, row);
    const int64_t room = s->seq_len - *n - 1, take = length < room ? length : room;
    POD_TRY(pod_text_set_read(s->text, s->split, side, row, 0, take, id + *n));
    id[*n + take] = s->sep;
    *n += take + 1;
    return POD_OK;
}

static pod_status fill(const pod_samples *samples, int64_t epoch, int64_t sample, void *const row[],
                       void *scratch)
{
    (void)epoch;
    (void)scratch;
    const source *s = samples->source;
    int32_t *from = row[POD_PAIRS_SOURCE], *from_end = row[POD_PAIRS_SOURCE_LENGTHS];
    int32_t *to = row[POD_PAIRS_TARGET], *to_end = row[POD_PAIRS_TARGET_LENGTHS];
    int32_t *answer = row[POD_PAIRS_ANSWERS];
    float *weight = row[POD_PAIRS_WEIGHTS];
    const int64_t first = s->begin ? s->begin[sample] : 0;
    const int64_t n_pairs = s->begin ? s->begin[sample + 1] - first : 1;
    int64_t n_from = 0, n_to = 0;
    for (int64_t p = 0; p < s->n_parts; p++) {
        const int64_t begin = n_to;
        if (p < n_pairs) {
            const int64_t pair = s->row ? s->row[first + p] : sample;
            POD_TRY(put_sentence(s, POD_TEXT_SOURCE, pair, from, &n_from));
            POD_TRY(put_sentence(s, POD_TEXT_TARGET, pair, answer, &n_to));
        }
        for (int64_t i = begin; i < n_to; i++) to[i] = i == begin ? POD_NO_TOKEN : answer[i - 1];
        from_end[p] = (int32_t)n_from;
        to_end[p] = (int32_t)n_to;
    }
    for (int64_t i = n_from; i < s->seq_len; i++) from[i] = s->pad;
    for (int64_t i = 0; i < s->seq_len; i++) weight[i] = i < n_to ? 1 : 0;
    for (int64_t i = n_to; i < s->seq_len; i++) to[i] = s->pad, answer[i] = 0;
    return POD_OK;
}

/* ---- form ------------------------------------------------------------------------------------ */

pod_form pod_sentence_pairs_form(int64_t seq_len, int64_t n_parts)
{
    const int of_parts = n_parts > 1;
    return (pod_form){
        .n_fields = 6,
        .field = {[POD_PAIRS_SOURCE] = {"source", POD_I32, 1, {seq_len}},
                  [POD_PAIRS_SOURCE_LENGTHS] = {"source_lengths", POD_I32, of_parts, {n_parts}},
                  [POD_PAIRS_TARGET] = {"target", POD_I32, 1, {seq_len}},
                  [POD_PAIRS_TARGET_LENGTHS] = {"target_lengths", POD_I32, of_parts, {n_parts}},
                  [POD_PAIRS_ANSWERS] = {"answers", POD_I32, 1, {seq_len}},
                  [POD_PAIRS_WEIGHTS] = {"weights", POD_F32, 1, {seq_len}}}};
}

static pod_status check(const pod_text_info *info, pod_split split)
{
    if (info->n_fields != N_SIDES || strcmp(info->field[POD_TEXT_SOURCE], "source") != 0 ||
        strcmp(info->field[POD_TEXT_TARGET], "target") != 0)
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

/* ---- which pairs share a sample -------------------------------------------------------------- */

enum { N_OPEN = 64 };

typedef struct box { /* a sample that is being filled: its pairs in a list that ends with -1 */
    int64_t room[N_SIDES], n, first, last;
} box;

typedef struct packing {
    const source *of;
    int64_t *next; /* (rows): the pair behind it in its box */
    box open[N_OPEN];
    int n_open;
    int64_t *row, *begin; /* (rows), (rows + 1): of source */
    int64_t n_samples, n_pairs;
} packing;

static void need_of(const source *s, int64_t row, int64_t need[N_SIDES])
{
    for (int side = 0; side < N_SIDES; side++)
        need[side] = 1 + pod_text_set_length(s->text, s->split, side, row);
}

static bool has_room(const packing *k, const box *b, const int64_t need[N_SIDES])
{
    return b->n < k->of->n_parts && b->room[POD_TEXT_SOURCE] >= need[POD_TEXT_SOURCE] &&
           b->room[POD_TEXT_TARGET] >= need[POD_TEXT_TARGET];
}

static void close_box(packing *k, int at)
{
    for (int64_t pair = k->open[at].first; pair >= 0; pair = k->next[pair])
        k->row[k->n_pairs++] = pair;
    k->begin[++k->n_samples] = k->n_pairs;
    k->open[at] = k->open[--k->n_open];
}

/* The fullest of the open boxes. */
static int fullest(const packing *k)
{
    int best = 0;
    for (int i = 1; i < k->n_open; i++)
        if (k->open[i].room[POD_TEXT_SOURCE] + k->open[i].room[POD_TEXT_TARGET] <
            k->open[best].room[POD_TEXT_SOURCE] + k->open[best].room[POD_TEXT_TARGET])
            best = i;
    return best;
}

/* Into the first open box with room, else into a new one. */
static void put_pair(packing *k, int64_t pair, const int64_t need[N_SIDES])
{
    int at = 0;
    while (at < k->n_open && !has_room(k, &k->open[at], need)) at++;
    if (at == N_OPEN) {
        close_box(k, fullest(k));
        at = k->n_open;
    }
    if (at == k->n_open)
        k->open[k->n_open++] = (box){{k->of->seq_len, k->of->seq_len}, 0, pair, -1};
    box *b = &k->open[at];
    if (b->last >= 0) k->next[b->last] = pair;
    b->last = pair;
    b->n++;
    k->next[pair] = -1;
    for (int side = 0; side < N_SIDES; side++) b->room[side] -= need[side];
    if (b->n == k->of->n_parts) close_box(k, at);
}

/* Drops what is too long. */
static pod_status pack(const source *s, int64_t n_rows, pod_arena *scratch, packing **out)
{
    packing *k = POD_ARENA_NEW(scratch, packing, 1);
    if (!k) return POD_E_NOMEM;
    *k = (packing){.of = s,
                   .next = POD_ARENA_NEW(scratch, int64_t, n_rows),
                   .row = POD_ARENA_NEW(scratch, int64_t, n_rows),
                   .begin = POD_ARENA_NEW(scratch, int64_t, n_rows + 1)};
    if (!k->next || !k->row || !k->begin) return POD_E_NOMEM;
    k->begin[0] = 0;
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t need[N_SIDES];
        need_of(s, i, need);
        if (need[POD_TEXT_SOURCE] <= s->seq_len && need[POD_TEXT_TARGET] <= s->seq_len)
            put_pair(k, i, need);
    }
    while (k->n_open > 0) close_box(k, 0);
    *out = k;
    return POD_OK;
}

static pod_status keep(source *s, const packing *k, pod_arena *a, pod_samples *out)
{
    const size_t row_bytes = (size_t)k->n_pairs * sizeof *k->row;
    const size_t begin_bytes = (size_t)(k->n_samples + 1) * sizeof *k->begin;
    s->row = pod_arena_copy(a, k->row, sizeof *k->row, row_bytes);
    s->begin = pod_arena_copy(a, k->begin, sizeof *k->begin, begin_bytes);
    if (!s->row || !s->begin) return POD_E_NOMEM;
    out->n = k->n_samples;
    out->n_too_long = out->n_pairs - k->n_pairs;
    out->kept_bytes = row_bytes + begin_bytes;
    return POD_OK;
}

/* Sets the samples of the training split. */
static pod_status pack_all(source *s, const pod_text_info *info, pod_arena *a, pod_samples *out)
{
    const int64_t n_rows = info->n_rows[s->split];
    pod_arena *scratch;
    packing *k;
    POD_TRY(pod_arena_create(NULL, &scratch));
    pod_status status = pack(s, n_rows, scratch, &k);
    if (status == POD_OK) status = keep(s, k, a, out);
    pod_arena_destroy(scratch);
    POD_TRY(status);
    if (out->n > 0) return POD_OK;
    return pod_fail(POD_E_INVALID,
                    "seq-len: no pair of the %" PRId64 " of %s fits into %" PRId64
                    " tokens, the end token included",
                    n_rows, info->name, s->seq_len);
}

/* ---- opening --------------------------------------------------------------------------------- */

pod_status pod_sentence_pairs_open(const pod_text_set *t, pod_split split, int64_t seq_len,
                                   int64_t n_parts, pod_arena *a, pod_samples *out)
{
    const pod_text_info *info = pod_text_set_info(t);
    POD_TRY(check(info, split));
    source *s = POD_ARENA_NEW(a, source, 1);
    if (!s) return POD_E_NOMEM;
    *s = (source){.text = t,
                  .split = split,
                  .seq_len = seq_len,
                  .n_parts = n_parts,
                  .pad = info->vocab->special[POD_PAD],
                  .sep = info->vocab->special[POD_SEP]};
    pod_samples samples = {.form = pod_sentence_pairs_form(seq_len, n_parts),
                           .n = info->n_rows[split],
                           .n_pairs = info->n_rows[split],
                           .source = s,
                           .fill = fill,
                           .pad = pod_samples_pad_zeros};
    if (split == POD_SPLIT_TRAIN) POD_TRY(pack_all(s, info, a, &samples));
    *out = samples;
    return POD_OK;
}
