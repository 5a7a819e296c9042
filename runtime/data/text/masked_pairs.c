#include "runtime/data/text/masked_pairs.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "runtime/data/text/made.h"

enum { N_SPECIAL = 3, N_PLANS = 2, NO_PASS = -1 };

typedef struct piece { /* sentences that follow each other, by row */
    int64_t first, n;
} piece;

typedef struct pair { /* a sample before anything is cut or masked */
    piece a, b;
    bool is_random;
} pair;

typedef struct plan {      /* the samples of a pass */
    int64_t pass, n, used; /* used: when, by the source's count */
    bool is_in_work;       /* a thread makes it; others wait for it, or use another one */
    pair *pair;            /* (room) */
} plan;

typedef struct source {
    const pod_text_set *text;
    const int64_t *document; /* (n_documents + 1), rows */
    int64_t n_documents, room;
    pod_split split;
    pod_masked_pairs how;
    int32_t n_tokens, special[POD_N_SPECIALS];
    pthread_mutex_t lock; /* of the plans: an epoch's last batches are made beside the next one's */
    pthread_cond_t made;  /* a plan */
    int64_t n_uses;
    plan plan[N_PLANS];
} source;

static int64_t length_of(const source *s, int64_t row)
{
    return pod_text_set_length(s->text, s->split, 0, row);
}

static int64_t tokens_of(const source *s, piece p)
{
    int64_t n = 0;
    for (int64_t i = 0; i < p.n; i++) n += length_of(s, p.first + i);
    return n;
}

/* ---- which sentences ------------------------------------------------------------------------- */

static piece draw_other(const source *s, int64_t document, int64_t n_wanted, pod_rng *r)
{
    int64_t other = pod__made_between(r, 0, s->n_documents - 2);
    other += other >= document;
    const int64_t end = s->document[other + 1];
    piece p = {.first = pod__made_between(r, s->document[other], end - 1)};
    for (int64_t n = 0; p.n == 0 || (n < n_wanted && p.first + p.n < end); p.n++)
        n += length_of(s, p.first + p.n);
    return p;
}

/* Splits what was collected; returns how many of its sentences are used. */
static int64_t draw_pair(const source *s, int64_t document, piece all, int64_t target, pod_rng *r,
                         pair *out)
{
    out->a = (piece){all.first, all.n >= 2 ? pod__made_between(r, 1, all.n - 1) : 1};
    out->b = (piece){all.first + out->a.n, all.n - out->a.n};
    out->is_random = all.n == 1 || pod_rng_uniform(r) < 0.5f;
    if (!out->is_random) return all.n;
    out->b = draw_other(s, document, target - tokens_of(s, out->a), r);
    return out->a.n;
}

/* Appends the samples of a document to the plan, and counts those that it has no room for. */
static void plan_document(const source *s, int64_t document, plan *p)
{
    const pod_place at = {POD_STREAM_PAIRS, 0, (uint32_t)p->pass, (uint64_t)document};
    const int64_t end = s->document[document + 1], max = s->how.seq_len - N_SPECIAL;
    pod_rng r = pod_rng_at(s->how.seed, at);
    const bool is_short = (double)pod_rng_uniform(&r) < s->how.short_share;
    const int64_t target = is_short ? pod__made_between(&r, 2, max) : max;
    piece all = {.first = s->document[document]};
    int64_t n = 0;
    while (all.first + all.n < end) {
        n += length_of(s, all.first + all.n++);
        if (n < target && all.first + all.n < end) continue;
        pair made;
        all.first += draw_pair(s, document, all, target, &r, &made);
        all.n = n = 0;
        if (p->n < s->room) p->pair[p->n] = made;
        p->n++;
    }
}

/* Begins with another document in each pass, so that it is not always the same samples for which a
 * plan has no room. */
static void make_plan(const source *s, plan *p)
{
    const int64_t pass = p->pass;
    pod_rng r = pod_rng_at(s->how.seed, (pod_place){POD_STREAM_PAIRS, 1, (uint32_t)pass, 0});
    const int64_t first = pass == 0 ? 0 : pod__made_between(&r, 0, s->n_documents - 1);
    p->n = 0;
    for (int64_t i = 0; i < s->n_documents; i++) plan_document(s, (first + i) % s->n_documents, p);
    if (p->n > s->room && s->room > 0) p->n = s->room;
}

/* That of the pass, or the one that was used longest ago. */
static plan *choose_plan(source *s, int64_t pass)
{
    plan *oldest = &s->plan[0];
    for (plan *p = s->plan; p < s->plan + N_PLANS; p++) {
        if (p->pass == pass) return p;
        if (p->used < oldest->used) oldest = p;
    }
    return oldest;
}

/* The plan of the pass, complete. It is made without the lock, so that other threads go on with the
 * pass before. */
static plan *find_plan(source *s, int64_t pass)
{
    plan *p = choose_plan(s, pass);
    for (; p->is_in_work; p = choose_plan(s, pass)) pthread_cond_wait(&s->made, &s->lock);
    p->used = ++s->n_uses;
    if (p->pass == pass) return p;
    p->pass = pass;
    p->is_in_work = true;
    pthread_mutex_unlock(&s->lock);
    make_plan(s, p);
    pthread_mutex_lock(&s->lock);
    p->is_in_work = false;
    pthread_cond_broadcast(&s->made);
    return p;
}

static pair find_pair(source *s, int64_t pass, int64_t sample)
{
    pthread_mutex_lock(&s->lock);
    const plan *p = find_plan(s, pass);
    const pair found = p->pair[sample % p->n];
    pthread_mutex_unlock(&s->lock);
    return found;
}

/* ---- the tokens ------------------------------------------------------------------------------ */

typedef struct cut { /* tokens of a piece that are left: from `first` on */
    int64_t first, n;
} cut;

/* Drops tokens of the longer one, at either end, until both fit. */
static void cut_to(int64_t max, cut *a, cut *b, pod_rng *r)
{
    while (a->n + b->n > max) {
        cut *longer = a->n > b->n ? a : b;
        longer->n--;
        if (pod_rng_uniform(r) < 0.5f) longer->first++;
    }
}

static pod_status read_cut(const source *s, piece p, cut c, int32_t *id)
{
    for (int64_t row = p.first; c.n > 0; row++) {
        const int64_t n = length_of(s, row);
        if (c.first >= n) {
            c.first -= n;
            continue;
        }
        const int64_t take = n - c.first < c.n ? n - c.first : c.n;
        POD_TRY(pod_text_set_read(s->text, s->split, 0, row, c.first, take, id));
        id += take;
        c = (cut){0, c.n - take};
    }
    return POD_OK;
}

static pod_status put_tokens(const source *s, const pair *p, void *const row[], pod_rng *r,
                             int64_t *n_a, int64_t *n)
{
    int32_t *id = row[POD_MASKED_IDS], *segment = row[POD_MASKED_SEGMENTS];
    cut a = {0, tokens_of(s, p->a)}, b = {0, tokens_of(s, p->b)};
    cut_to(s->how.seq_len - N_SPECIAL, &a, &b, r);
    *n_a = a.n;
    *n = a.n + b.n + N_SPECIAL;
    id[0] = s->special[POD_CLS];
    id[1 + a.n] = s->special[POD_SEP];
    id[*n - 1] = s->special[POD_SEP];
    POD_TRY(read_cut(s, p->a, a, id + 1));
    POD_TRY(read_cut(s, p->b, b, id + 2 + a.n));
    for (int64_t i = 0; i < s->how.seq_len; i++) {
        segment[i] = i >= 2 + a.n && i < *n;
        if (i >= *n) id[i] = s->special[POD_PAD];
    }
    *(int32_t *)row[POD_MASKED_LENGTHS] = (int32_t)*n;
    *(int32_t *)row[POD_MASKED_NEXT] = p->is_random;
    return POD_OK;
}

/* ---- masking --------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static int32_t masked(const source *s, int32_t id, pod_rng *r)
{
    const float u = pod_rng_uniform(r);
    if (u < 0.8f) return s->special[POD_MASK];
    return u < 0.9f ? id : (int32_t)pod_rng_below(r, (uint64_t)s->n_tokens);
}

/* Of the n tokens all but [CLS] and the two [SEP] are candidates. `order` has room for them. */
static void mask(const source *s, int64_t n_a, int64_t n, void *const row[], int32_t *order,
                 pod_rng *r)
{
    int32_t *id = row[POD_MASKED_IDS], *place = row[POD_MASKED_POSITIONS];
    int32_t *answer = row[POD_MASKED_ANSWERS];
    float *weight = row[POD_MASKED_WEIGHTS];
    const int64_t n_candidates = n - N_SPECIAL, max = s->how.max_masked;
    int64_t count = (int64_t)nearbyint(s->how.mask_rate * (double)n); /* half to even */
    if (count < 1) count = 1;
    if (count > max) count = max;
    if (count > n_candidates) count = n_candidates;
    for (int64_t i = 0; i < n_candidates; i++) order[i] = (int32_t)(i < n_a ? i + 1 : i + 2);
    for (int64_t i = 0; i < count; i++) {
        const int64_t k = pod__made_between(r, i, n_candidates - 1);
        const int32_t taken = order[k];
        order[k] = order[i];
        order[i] = taken;
    }
    qsort(order, (size_t)count, sizeof *order, ascending);
    for (int64_t i = 0; i < max; i++) {
        const bool is_used = i < count;
        place[i] = is_used ? order[i] : 0;
        answer[i] = is_used ? id[order[i]] : 0;
        weight[i] = is_used ? 1 : 0;
    }
    for (int64_t i = 0; i < count; i++) id[place[i]] = masked(s, answer[i], r);
}

static pod_status fill(const pod_samples *samples, int64_t epoch, int64_t sample, void *const row[],
                       void *scratch)
{
    source *s = samples->source;
    const int64_t pass = s->how.static_passes > 0 ? epoch % s->how.static_passes : epoch;
    const pair p = find_pair(s, pass, sample);
    pod_rng r =
        pod_rng_at(s->how.seed, (pod_place){POD_STREAM_MASKS, 0, (uint32_t)pass, (uint64_t)sample});
    int64_t n_a, n;
    POD_TRY(put_tokens(s, &p, row, &r, &n_a, &n));
    mask(s, n_a, n, row, scratch, &r);
    return POD_OK;
}

static void pad(const pod_samples *samples, void *const row[])
{
    pod_samples_pad_zeros(samples, row);
    *(int32_t *)row[POD_MASKED_NEXT] = -1;
}

/* ---- opening --------------------------------------------------------------------------------- */

pod_form pod_masked_pairs_form(const pod_masked_pairs *m)
{
    const int64_t s = m->seq_len, n = m->max_masked;
    return (pod_form){.n_fields = 7,
                      .field = {[POD_MASKED_IDS] = {"ids", POD_I32, 1, {s}},
                                [POD_MASKED_SEGMENTS] = {"segments", POD_I32, 1, {s}},
                                [POD_MASKED_LENGTHS] = {"lengths", POD_I32, 0, {0}},
                                [POD_MASKED_POSITIONS] = {"positions", POD_I32, 1, {n}},
                                [POD_MASKED_ANSWERS] = {"answers", POD_I32, 1, {n}},
                                [POD_MASKED_WEIGHTS] = {"weights", POD_F32, 1, {n}},
                                [POD_MASKED_NEXT] = {"next", POD_I32, 0, {0}}}};
}

static pod_status check(const pod_text_info *info, pod_split split)
{
    if (info->n_fields != 1 || !info->has_documents)
        return pod_fail(POD_E_INVALID,
                        "%s: masked-lm needs sentences in documents: `minipod data import text` "
                        "makes them",
                        info->name);
    if (info->n_documents[split] < 2)
        return pod_fail(POD_E_INVALID,
                        "%s: the %s split has %" PRId64
                        " documents, masked-lm needs 2: a sentence that does "
                        "not follow comes from another one",
                        info->name, pod_split_name(split), info->n_documents[split]);
    return POD_OK;
}

pod_status pod_masked_pairs_open(const pod_text_set *t, pod_split split, const pod_masked_pairs *m,
                                 pod_arena *a, pod_samples *out)
{
    const pod_text_info *info = pod_text_set_info(t);
    POD_TRY(check(info, split));
    source *s = POD_ARENA_NEW(a, source, 1);
    if (!s) return POD_E_NOMEM;
    *s = (source){.text = t,
                  .document = pod_text_set_documents(t, split),
                  .n_documents = info->n_documents[split],
                  .split = split,
                  .how = *m,
                  .n_tokens = info->vocab->n};
    memcpy(s->special, info->vocab->special, sizeof s->special);
    plan first = {0};
    make_plan(s, &first); /* no room: it counts */
    s->room = first.n;
    for (int i = 0; i < N_PLANS; i++) {
        s->plan[i] = (plan){.pass = NO_PASS, .pair = POD_ARENA_NEW(a, pair, s->room)};
        if (!s->plan[i].pair) return POD_E_NOMEM;
    }
    /* With default attributes they cannot fail, and hold nothing. */
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->made, NULL);
    *out = (pod_samples){.form = pod_masked_pairs_form(m),
                         .n = s->room,
                         .scratch_bytes = (size_t)m->seq_len * sizeof(int32_t),
                         .kept_bytes = N_PLANS * (size_t)s->room * sizeof(pair),
                         .source = s,
                         .fill = fill,
                         .pad = pad};
    return POD_OK;
}
