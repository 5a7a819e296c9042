/* Beam search over a made language model, whose next token depends on the last one and its place:
 * against all sequences, where the beam is wide enough for all; against a plain twin, where it is not;
 * and by hand. */
#include <math.h>
#include <stdlib.h>

#include "kernels/base/rng.h"
#include "runtime/search/beam.h"
#include "tests/harness/harness.h"

enum { MAX_V = 8, MAX_T = 6, MAX_WIDTH = 40, MAX_SENTENCES = 5, END = 2, START = -1 };

typedef struct model { /* logits by sentence, place, last token (start: 0) and next token */
    int64_t v, t;
    float logit[MAX_SENTENCES][MAX_T][MAX_V][MAX_V];
} model;

static void draw_model(model *m, int64_t v, int64_t t, uint64_t seed, float spread)
{
    pod_rng r = pod_rng_at(seed, (pod_place){.stream = POD_STREAM_TEST});
    float *x = &m->logit[0][0][0][0];
    m->v = v;
    m->t = t;
    for (size_t i = 0; i < sizeof m->logit / sizeof *x; i++)
        x[i] = spread * (pod_rng_uniform(&r) - 0.5f);
}

static const float *logits_of(const model *m, int64_t sentence, int64_t place, int32_t last)
{
    return m->logit[sentence][place][last < 0 ? 0 : last];
}

static double log_p(const model *m, int64_t sentence, int64_t place, int32_t last, int32_t next)
{
    const float *x = logits_of(m, sentence, place, last);
    double sum = 0;
    for (int64_t v = 0; v < m->v; v++) sum += exp((double)x[v]);
    return (double)x[next] - log(sum);
}

static double penalty(double alpha, int64_t length) { return pow((5 + (double)length) / 6, alpha); }

typedef struct found {
    int32_t token[MAX_T];
    int64_t n;
    double score;
} found;

/* All sentences, each row checked to continue its parent. */
static void search(const model *m, const pod_beam_plan *plan, const int64_t limit[], found out[])
{
    pod_beam *b;
    const int64_t n_rows = plan->n_sentences * plan->width;
    int64_t parent[MAX_SENTENCES * MAX_WIDTH];
    static float logits[MAX_SENTENCES * MAX_WIDTH * MAX_V];
    POD_NEED_OK(pod_beam_create(plan, pod_test_arena(), &b));
    pod_beam_begin(b, limit);
    for (int64_t place = 0; !pod_beam_is_done(b); place++) {
        CU_ASSERT_FATAL(place < m->t);
        const int32_t *last = pod_beam_tokens(b);
        for (int64_t row = 0; row < n_rows; row++) {
            const float *x = logits_of(m, row / plan->width, place, last[row]);
            memcpy(logits + row * m->v, x, (size_t)m->v * sizeof *x);
        }
        POD_CHECK_OK(pod_beam_advance(b, logits, parent));
        for (int64_t row = 0; row < n_rows; row++)
            CU_ASSERT(parent[row] / plan->width == row / plan->width);
    }
    for (int64_t i = 0; i < plan->n_sentences; i++) {
        const int32_t *token = pod_beam_answer(b, i, &out[i].n, &out[i].score);
        memcpy(out[i].token, token, (size_t)out[i].n * sizeof *token);
    }
}

static bool is_same(const found *a, const found *b)
{
    return a->n == b->n && memcmp(a->token, b->token, (size_t)a->n * sizeof a->token[0]) == 0 &&
           fabs(a->score - b->score) < 1e-5;
}

/* ---- all sequences --------------------------------------------------------------------------- */

static void try_all(const model *m, int64_t sentence, double alpha, found *at, double sum,
                    found *best)
{
    const int32_t last = at->n > 0 ? at->token[at->n - 1] : START;
    for (int32_t v = 0; v < m->v && at->n < m->t; v++) {
        const double with = sum + log_p(m, sentence, at->n, last, v);
        if (v == END) {
            at->score = with / penalty(alpha, at->n + 1);
            if (at->score > best->score) *best = *at;
            continue;
        }
        at->token[at->n++] = v;
        try_all(m, sentence, alpha, at, with, best);
        at->n--;
    }
}

static void a_wide_beam_finds_the_best(void)
{
    static const double alphas[] = {0, 0.6, 1.5};
    model m;
    for (uint64_t seed = 0; seed < 40; seed++) {
        found got[MAX_SENTENCES];
        const double alpha = alphas[seed % 3];
        const pod_beam_plan plan = {.n_sentences = 3,
                                    .width = 3 * 3 * 3 + 1,
                                    .n_tokens = 4,
                                    .room = 4,
                                    .start = START,
                                    .end = END,
                                    .alpha = alpha};
        const int64_t limit[] = {4, 4, 4};
        draw_model(&m, 4, 4, seed, 6);
        search(&m, &plan, limit, got);
        for (int64_t i = 0; i < plan.n_sentences; i++) {
            found at = {.n = 0}, best = {.score = (double)-INFINITY};
            try_all(&m, i, alpha, &at, 0, &best);
            POD_CHECK(is_same(&got[i], &best), "seed %d: score %g, best %g", (int)seed,
                      got[i].score, best.score);
        }
    }
}

/* ---- a plain twin ---------------------------------------------------------------------------- */

typedef struct hyp {
    found f;
    double sum;
    bool is_ended;
} hyp;

/* Best first; stable, so that those that come first stay before their equals. */
static void sort(hyp h[], int64_t n, bool by_score)
{
    for (int64_t i = 1; i < n; i++)
        for (int64_t k = i;
             k > 0 && (by_score ? h[k].f.score > h[k - 1].f.score : h[k].sum > h[k - 1].sum); k--) {
            const hyp x = h[k];
            h[k] = h[k - 1];
            h[k - 1] = x;
        }
}

static found plain_search(const model *m, int64_t sentence, int64_t width, double alpha,
                          int64_t limit)
{
    static hyp alive[MAX_WIDTH], all[MAX_WIDTH * MAX_V], done[4 * MAX_WIDTH];
    int64_t n_alive = 1, n_done = 0;
    alive[0] = (hyp){.sum = 0};
    for (int64_t place = 0; place < limit && n_alive > 0; place++) {
        int64_t n = 0;
        for (int64_t b = 0; b < n_alive; b++)
            for (int32_t v = 0; v < m->v; v++) {
                hyp x = alive[b];
                const int32_t last = place > 0 ? x.f.token[place - 1] : START;
                x.sum += log_p(m, sentence, place, last, v);
                x.is_ended = v == END;
                x.f.score = x.sum / penalty(alpha, place + 1);
                if (!x.is_ended) x.f.token[x.f.n++] = v;
                all[n++] = x;
            }
        sort(all, n, false);
        const int64_t most = width == 1 ? 1 : 2 * width;
        n_alive = 0;
        for (int64_t i = 0; i < n && i < most; i++) {
            if (all[i].is_ended)
                done[n_done++] = all[i];
            else if (n_alive < width)
                alive[n_alive++] = all[i];
        }
        sort(done, n_done, true);
        if (n_done > width) n_done = width;
        if (n_done > 0 && n_alive > 0 &&
            done[n_done - 1].f.score > alive[0].sum / penalty(alpha, limit))
            break;
    }
    return n_done > 0 ? done[0].f : alive[0].f;
}

static void equals_its_plain_twin(void)
{
    model m;
    for (uint64_t seed = 0; seed < 200; seed++) {
        found got[MAX_SENTENCES];
        const int64_t width = 1 + (int64_t)seed % 4, limit[] = {6, 1, 3, 0, 6};
        const double alpha = seed % 2 ? 0.6 : 0;
        const pod_beam_plan plan = {.n_sentences = MAX_SENTENCES,
                                    .width = width,
                                    .n_tokens = 7,
                                    .room = MAX_T,
                                    .start = START,
                                    .end = END,
                                    .alpha = alpha};
        draw_model(&m, 7, MAX_T, 1000 + seed, seed % 3 ? 4 : 12);
        search(&m, &plan, limit, got);
        for (int64_t i = 0; i < plan.n_sentences; i++) {
            if (limit[i] == 0) {
                CU_ASSERT_EQUAL(got[i].n, 0);
                continue;
            }
            const found want = plain_search(&m, i, width, alpha, limit[i]);
            POD_CHECK(is_same(&got[i], &want), "seed %d, width %d, sentence %d: %g of %d, want %g",
                      (int)seed, (int)width, (int)i, got[i].score, (int)got[i].n, want.score);
        }
    }
}

/* ---- by hand --------------------------------------------------------------------------------- */

/* The likeliest first token leads to a bad end, which greedy search does not see. Equal tokens: the
 * lower id. */
static void greedy_is_led_astray(void)
{
    static model m = {.v = 4, .t = 3};
    const int64_t limit[] = {3};
    found got;
    pod_beam_plan plan = {.n_sentences = 1,
                          .width = 1,
                          .n_tokens = 4,
                          .room = 3,
                          .start = START,
                          .end = END,
                          .alpha = 0};
    memset(m.logit, 0, sizeof m.logit);
    m.logit[0][0][0][0] = 1.2f; /* first token: 0 rather than 1 */
    m.logit[0][0][0][1] = 1.0f;
    m.logit[0][1][1][END] = 9; /* behind 1 it ends; behind 0 all are alike */
    search(&m, &plan, limit, &got);
    CU_ASSERT(got.n == 3 && got.token[0] == 0 && got.token[1] == 0 && got.token[2] == 0);
    plan.width = 2;
    search(&m, &plan, limit, &got);
    CU_ASSERT(got.n == 1 && got.token[0] == 1);
}

static void what_is_not_finite_is_told(void)
{
    pod_beam *b;
    int64_t parent[2];
    const int64_t limit[] = {3};
    const pod_beam_plan plan = {.n_sentences = 1,
                                .width = 2,
                                .n_tokens = 4,
                                .room = 3,
                                .start = START,
                                .end = END,
                                .alpha = 0};
    float logits[8] = {0};
    POD_NEED_OK(pod_beam_create(&plan, pod_test_arena(), &b));
    pod_beam_begin(b, limit);
    POD_CHECK_OK(pod_beam_advance(b, logits, parent));
    logits[6] = NAN;
    POD_CHECK_FAILS(pod_beam_advance(b, logits, parent), POD_E_NUMERIC, "behind 1 tokens");
}

POD_TEST_SUITE("runtime.beam", {"all", a_wide_beam_finds_the_best}, {"twin", equals_its_plain_twin},
               {"greedy", greedy_is_led_astray}, {"not_finite", what_is_not_finite_is_told});
