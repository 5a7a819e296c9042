#include "runtime/search/beam.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct candidate { /* a hypothesis and its next token */
    double sum;            /* of log probabilities */
    int64_t from;          /* which of the alive ones it continues */
    int32_t token;
} candidate;

typedef struct hypothesis {
    double sum, score; /* score: of a finished one */
    int64_t n;         /* tokens, of a finished one without the end token */
    int32_t *token;    /* (room) */
} hypothesis;

typedef struct sentence {
    hypothesis *alive, *next; /* (width): by falling sum, and those after the step that is made */
    hypothesis *finished;     /* (width + 1): by falling score; the last one is room for another */
    int64_t n_alive, n_finished, limit;
    bool is_done;
} sentence;

struct pod_beam {
    pod_beam_plan plan;
    sentence *sentence; /* (n_sentences) */
    candidate *best;    /* (2 width) */
    int32_t *last;      /* (n_sentences, width) */
    int64_t n;          /* tokens of each alive hypothesis */
};

/* ---- memory ---------------------------------------------------------------------------------- */

static hypothesis *take_hypotheses(const pod_beam *b, int64_t n, pod_arena *a)
{
    hypothesis *h = POD_ARENA_NEW(a, hypothesis, n);
    for (int64_t i = 0; h && i < n; i++) {
        h[i].token = POD_ARENA_NEW(a, int32_t, b->plan.room);
        if (!h[i].token) return NULL;
    }
    return h;
}

pod_status pod_beam_create(const pod_beam_plan *plan, pod_arena *a, pod_beam **out)
{
    pod_beam *b = POD_ARENA_NEW(a, pod_beam, 1);
    if (!b) return POD_E_NOMEM;
    b->plan = *plan;
    b->sentence = POD_ARENA_NEW(a, sentence, plan->n_sentences);
    b->best = POD_ARENA_NEW(a, candidate, 2 * plan->width);
    b->last = POD_ARENA_NEW(a, int32_t, plan->n_sentences * plan->width);
    if (!b->sentence || !b->best || !b->last) return POD_E_NOMEM;
    for (int64_t i = 0; i < plan->n_sentences; i++) {
        sentence *s = &b->sentence[i];
        s->alive = take_hypotheses(b, plan->width, a);
        s->next = take_hypotheses(b, plan->width, a);
        s->finished = take_hypotheses(b, plan->width + 1, a);
        if (!s->alive || !s->next || !s->finished) return POD_E_NOMEM;
    }
    *out = b;
    return POD_OK;
}

void pod_beam_begin(pod_beam *b, const int64_t limit[])
{
    b->n = 0;
    for (int64_t i = 0; i < b->plan.n_sentences; i++) {
        sentence *s = &b->sentence[i];
        s->limit = limit[i];
        s->is_done = limit[i] == 0;
        s->n_finished = 0;
        s->n_alive = 1; /* the others would be equal to it */
        s->alive[0].sum = 0;
        s->alive[0].n = 0;
        for (int64_t k = 0; k < b->plan.width; k++) b->last[i * b->plan.width + k] = b->plan.start;
    }
}

bool pod_beam_is_done(const pod_beam *b)
{
    for (int64_t i = 0; i < b->plan.n_sentences; i++)
        if (!b->sentence[i].is_done) return false;
    return true;
}

const int32_t *pod_beam_tokens(const pod_beam *b) { return b->last; }

/* ---- candidates ------------------------------------------------------------------------------ */

static double log_sum_exp(const float x[], int64_t n)
{
    float max = x[0];
    double sum = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > max) max = x[i];
    for (int64_t i = 0; i < n; i++) sum += (double)expf(x[i] - max);
    return (double)max + log(sum);
}

/* Puts a candidate behind those that are as good, and drops what is then one too many. */
static int64_t insert(candidate best[], int64_t n, int64_t most, candidate c)
{
    int64_t at = n;
    while (at > 0 && c.sum > best[at - 1].sum) at--;
    if (at == most) return n;
    const int64_t moved = (n < most ? n : most - 1) - at;
    memmove(best + at + 1, best + at, (size_t)moved * sizeof best[0]);
    best[at] = c;
    return n < most ? n + 1 : n;
}

/* Fills b->best; answers how many, or -1 if a logit is not finite. */
static int64_t find_candidates(pod_beam *b, const sentence *s, const float logits[])
{
    const int64_t v = b->plan.n_tokens, most = b->plan.width == 1 ? 1 : 2 * b->plan.width;
    int64_t n = 0;
    for (int64_t from = 0; from < s->n_alive; from++) {
        const float *x = logits + from * v;
        const double lse = log_sum_exp(x, v), sum = s->alive[from].sum - lse;
        if (!isfinite(lse)) return -1;
        for (int64_t i = 0; i < v; i++) {
            const candidate c = {sum + (double)x[i], from, (int32_t)i};
            if (n < most || c.sum > b->best[n - 1].sum) n = insert(b->best, n, most, c);
        }
    }
    return n;
}

/* ---- one step -------------------------------------------------------------------------------- */

static double penalty(const pod_beam *b, int64_t length)
{
    return pow((5 + (double)length) / 6, b->plan.alpha);
}

static void finish(const pod_beam *b, sentence *s, const candidate *c)
{
    hypothesis made = s->finished[b->plan.width];
    int64_t at = s->n_finished;
    made.n = b->n;
    made.sum = c->sum;
    made.score = c->sum / penalty(b, b->n + 1);
    memcpy(made.token, s->alive[c->from].token, (size_t)b->n * sizeof made.token[0]);
    while (at > 0 && made.score > s->finished[at - 1].score) at--;
    memmove(s->finished + at + 1, s->finished + at,
            (size_t)(b->plan.width - at) * sizeof s->finished[0]);
    s->finished[at] = made;
    if (s->n_finished < b->plan.width) s->n_finished++;
}

static void continue_with(const pod_beam *b, sentence *s, const candidate *c, int64_t n)
{
    hypothesis *to = &s->next[n];
    memcpy(to->token, s->alive[c->from].token, (size_t)b->n * sizeof to->token[0]);
    to->token[b->n] = c->token;
    to->n = b->n + 1;
    to->sum = c->sum;
}

/* b->n counts the tokens with those of this step. */
static bool is_over(const pod_beam *b, const sentence *s)
{
    if (s->n_alive == 0 || b->n >= s->limit) return true;
    return s->n_finished > 0 &&
           s->finished[s->n_finished - 1].score > s->alive[0].sum / penalty(b, s->limit);
}

static bool step(pod_beam *b, int64_t i, const float logits[], int64_t parent[])
{
    sentence *s = &b->sentence[i];
    const int64_t width = b->plan.width, n = find_candidates(b, s, logits);
    int64_t n_next = 0;
    for (int64_t k = 0; k < n; k++) {
        const candidate *c = &b->best[k];
        if (c->token == b->plan.end) {
            finish(b, s, c);
        } else if (n_next < width) {
            parent[n_next] = i * width + c->from;
            b->last[i * width + n_next] = c->token;
            continue_with(b, s, c, n_next++);
        }
    }
    hypothesis *const before = s->alive;
    s->alive = s->next;
    s->next = before;
    s->n_alive = n_next;
    return n >= 0;
}

pod_status pod_beam_advance(pod_beam *b, const float logits[], int64_t parent[])
{
    const int64_t width = b->plan.width;
    for (int64_t i = 0; i < b->plan.n_sentences; i++) {
        for (int64_t k = i * width; k < (i + 1) * width; k++) parent[k] = k;
        if (b->sentence[i].is_done) continue;
        if (!step(b, i, logits + i * width * b->plan.n_tokens, parent + i * width))
            return pod_fail(POD_E_NUMERIC,
                            "search: logits behind %" PRId64 " tokens are not finite", b->n);
    }
    b->n++;
    for (int64_t i = 0; i < b->plan.n_sentences; i++)
        b->sentence[i].is_done = b->sentence[i].is_done || is_over(b, &b->sentence[i]);
    return POD_OK;
}

const int32_t *pod_beam_answer(const pod_beam *b, int64_t sentence_number, int64_t *n,
                               double *score)
{
    const sentence *s = &b->sentence[sentence_number];
    const bool is_empty = s->limit == 0, is_finished = s->n_finished > 0;
    const hypothesis *h = is_finished ? &s->finished[0] : &s->alive[0];
    *n = is_empty ? 0 : h->n;
    if (score) *score = is_finished ? h->score : h->sum / penalty(b, *n);
    return h->token;
}
