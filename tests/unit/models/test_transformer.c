/* The Transformer: sizes as published, the loss before training, what each token sees, and search,
 * whose steps give the logits of the whole decoder. Small networks of the same form, without passes. */
#include <math.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "kernels/embed/embed.h"
#include "tests/unit/models/language_net.h"

enum { N = 3, S = 5, T = 4, V = 29, LAYERS = 2, HIDDEN = 32, INNER = 64 };
static const pod_language_size small = {LAYERS, HIDDEN, 4, INNER, 0};

static pod_language_in inputs(pod_graph *g, int64_t n, int64_t s, int64_t t)
{
    const int64_t source[] = {n, s}, target[] = {n, t};
    return (pod_language_in){.ids = net_ints(g, "source", 2, source),
                             .lengths = net_ints(g, "source_lengths", 1, &n),
                             .target = net_ints(g, "target", 2, target),
                             .target_lengths = net_ints(g, "target_lengths", 1, &n)};
}

static const pod_language *model(void) { return pod_language_find("transformer-base"); }

/* ---- sizes --------------------------------------------------------------------------------- */

static net_sizes sizes_of(const pod_language *m, int64_t n, int64_t s, int64_t t)
{
    pod_graph *g = net_graph();
    const pod_language_args args = net_args(m->n_tokens);
    const pod_language_in in = inputs(g, n, s, t);
    return net_sizes_of(g, m->build(g, &m->size, &in, &args), n, t);
}

/* Vaswani et al. 2017, table 3, with 33,708 tokens as MLPerf has them. Multiply-adds: of a token in
 * each layer of width H and inner width F, attention's four projections and two layers of F; keys and
 * values of the source once a decoder layer; two products of scores; the vocabulary. */
static void sizes_are_as_published(void)
{
    static const struct {
        const char *name;
        int64_t parameters;
    } rows[] = {{"transformer-base", 61362176}, {"transformer-big", 210804736}};
    enum { SENTENCES = 2, SOURCE = 20, TARGET = 30 };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const pod_language *m = pod_language_find(rows[i].name);
        const double h = (double)m->size.hidden, f = (double)m->size.inner;
        const double s = SOURCE, t = TARGET, v = (double)m->n_tokens;
        const net_sizes got = sizes_of(m, SENTENCES, SOURCE, TARGET);
        const double encoder = s * (4 * h * h + 2 * h * f) + 2 * s * s * h;
        const double decoder = t * (6 * h * h + 2 * h * f) + s * 2 * h * h + 2 * t * (t + s) * h;
        const double want = SENTENCES * ((double)m->size.layers * (encoder + decoder) + t * h * v);
        POD_CHECK(got.parameters == rows[i].parameters, "%s: %lld parameters", m->name,
                  (long long)got.parameters);
        POD_CHECK(got.macs == want, "%s: %.0f multiply-adds, want %.0f", m->name, got.macs, want);
    }
}

/* ---- the decoder --------------------------------------------------------------------------- */

typedef struct whole {
    pod_graph *g;
    pod_interp *it;
    pod_language_in in;
    pod_value logits; /* (N T, V) */
    int64_t n;
} whole;

static whole open_whole(const pod_language_size *size, int64_t n, int64_t t, int64_t n_tokens)
{
    whole w = {.g = net_graph(), .n = n};
    const pod_language_args args = net_args(n_tokens);
    w.in = inputs(w.g, n, S, t);
    const pod_language_out y = model()->build(w.g, size, &w.in, &args);
    w.logits = pod_matmul(w.g, pod_reshape(w.g, y.hidden, (pod_shape){2, {n * t, size->hidden}}),
                          y.table, (pod_matmul_attr){.trans_b = true, .c_dtype = POD_F32});
    w.it = net_open(w.g);
    return w;
}

static const int32_t source[N * S] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9};
static const int32_t source_lengths[N] = {5, 2, 3};
static const int32_t target[N * T] = {-1, 27, 18, 28, -1, 14, 14, 21, -1, 3, 5, 3};
static const int32_t target_lengths[N] = {4, 4, 4};

/* Copies the logits (N T, V) of these sentences. */
static void run_whole(const whole *w, const int32_t from[], const int32_t to[], float logits[])
{
    net_put(w->it, w->in.ids, N * S, from);
    net_put(w->it, w->in.lengths, N, source_lengths);
    net_put(w->it, w->in.target, N * T, to);
    net_put(w->it, w->in.target_lengths, N, target_lengths);
    pod_interp_run(w->it, -1);
    memcpy(logits, pod_interp_data(w->it, w->logits), sizeof *logits * N * T * V);
}

static bool same(const float a[], const float b[], int sentence, int token)
{
    return memcmp(a + (sentence * T + token) * V, b + (sentence * T + token) * V, sizeof *a * V) ==
           0;
}

/* A target token changes the logits at its own place and later ones of its sentence, and no other. A
 * source token changes all of its sentence, unless it lies beyond its length. */
static void tokens_see_what_they_may(void)
{
    static float before[N * T * V], after[N * T * V];
    const whole w = open_whole(&small, N, T, V);
    run_whole(&w, source, target, before);
    for (int changed = 0; changed < N * T; changed++) {
        int32_t to[N * T];
        memcpy(to, target, sizeof to);
        to[changed] = 11;
        run_whole(&w, source, to, after);
        for (int i = 0; i < N * T; i++) {
            const bool sees = i / T == changed / T && i >= changed;
            POD_CHECK(same(before, after, i / T, i % T) == !sees, "target %d changed, place %d",
                      changed, i);
        }
    }
    for (int changed = 0; changed < N * S; changed++) {
        int32_t from[N * S];
        memcpy(from, source, sizeof from);
        from[changed] = 11;
        run_whole(&w, from, target, after);
        for (int i = 0; i < N * T; i++) {
            const bool sees = i / T == changed / S && changed % S < source_lengths[i / T];
            POD_CHECK(same(before, after, i / T, i % T) == !sees, "source %d changed, place %d",
                      changed, i);
        }
    }
}

/* How far apart logits may be whose sums are the same but for their order: in each layer of width H at
 * most TERMS numbers of a size near 1 follow each other, and the logits are products of rows of length
 * sqrt(H) and 1. */
static double logits_bound(void)
{
    enum { TERMS = LAYERS * (4 * HIDDEN + 2 * HIDDEN + INNER + 2 * T + S) };
    return TERMS * pod_test_roundoff(POD_F32) * sqrt(HIDDEN);
}

/* Sentences that share a sequence give the logits that they give alone: source padding between them is
 * gone, each begins at place 0, and none sees another. */
static void sentences_share_a_sequence(void)
{
    enum { PARTS = 4, S_ALL = 12, T_ALL = 14 };
    static const int32_t source_ends[PARTS] = {5, 7, 10, 10}, target_ends[PARTS] = {4, 8, 12, 12};
    static float alone[N * T * V];
    int32_t from[S_ALL] = {0}, to[T_ALL] = {0};
    for (int i = 0; i < N; i++) {
        const int begin = i == 0 ? 0 : source_ends[i - 1];
        memcpy(from + begin, source + i * S, sizeof *from * (size_t)source_lengths[i]);
        memcpy(to + i * T, target + i * T, sizeof *to * T);
    }
    const whole w = open_whole(&small, N, T, V);
    run_whole(&w, source, target, alone);
    pod_graph *g = net_graph();
    const pod_language_args args = net_args(V);
    const pod_language_in in = {.ids = net_ints(g, "source", 2, (const int64_t[]){1, S_ALL}),
                                .lengths = net_ints(g, "ends", 2, (const int64_t[]){1, PARTS}),
                                .target = net_ints(g, "target", 2, (const int64_t[]){1, T_ALL}),
                                .target_lengths =
                                    net_ints(g, "target_ends", 2, (const int64_t[]){1, PARTS})};
    const pod_language_out y = model()->build(g, &small, &in, &args);
    pod_value logits = pod_matmul(g, pod_reshape(g, y.hidden, (pod_shape){2, {T_ALL, HIDDEN}}),
                                  y.table, (pod_matmul_attr){.trans_b = true, .c_dtype = POD_F32});
    pod_interp *it = net_open(g);
    net_put(it, in.ids, S_ALL, from);
    net_put(it, in.lengths, PARTS, source_ends);
    net_put(it, in.target, T_ALL, to);
    net_put(it, in.target_lengths, PARTS, target_ends);
    pod_interp_run(it, -1);
    for (int i = 0; i < N * T * V; i++)
        POD_CHECK(fabs(pod_interp_get(it, logits, i) - (double)alone[i]) <= logits_bound(),
                  "token %d: %.7f, alone %.7f", i / V, pod_interp_get(it, logits, i),
                  (double)alone[i]);
}

/* Rows of the final layer norm have length sqrt(H), those of the table are normal with variance 1 / H:
 * logits are normal with variance 1, and the loss of any answer is ln V + 1/2 in the mean. A decoder
 * that reads no tokens knows none of the rows. Within four deviations of the mean of as many logits as
 * there are answers. */
static void untrained_loss_is_known(void)
{
    enum { SENTENCES = 24, PLACES = 3, TOKENS = 2000, ANSWERS = SENTENCES * PLACES };
    const whole w = open_whole(&small, SENTENCES, PLACES, TOKENS);
    pod_rng r = pod_rng_at(4, (pod_place){.stream = POD_STREAM_TEST});
    for (int i = 0; i < SENTENCES; i++) {
        ((int32_t *)pod_interp_data(w.it, w.in.lengths))[i] = S;
        ((int32_t *)pod_interp_data(w.it, w.in.target_lengths))[i] = PLACES;
        for (int j = 0; j < S; j++)
            ((int32_t *)pod_interp_data(w.it, w.in.ids))[i * S + j] =
                (int32_t)pod_rng_below(&r, TOKENS);
        for (int j = 0; j < PLACES; j++)
            ((int32_t *)pod_interp_data(w.it, w.in.target))[i * PLACES + j] = POD_NO_TOKEN;
    }
    pod_interp_run(w.it, -1);
    double loss = 0;
    for (int i = 0; i < ANSWERS; i++) {
        double sum = 0;
        for (int v = 0; v < TOKENS; v++) sum += exp(pod_interp_get(w.it, w.logits, i * TOKENS + v));
        const int64_t answer = (int64_t)pod_rng_below(&r, TOKENS);
        loss += (log(sum) - pod_interp_get(w.it, w.logits, i * TOKENS + answer)) / ANSWERS;
    }
    const double want = log(TOKENS) + 0.5;
    POD_CHECK(fabs(loss - want) < 4 / sqrt(ANSWERS), "a loss of %.4f, want %.4f", loss, want);
}

/* Dropout stands in four places: behind embeddings, on attention's probabilities, behind the ReLU and in
 * front of each residual sum. Scopes are part of the random key, so that no two are the same. */
static void drops_in_all_places(void)
{
    enum { EMBEDDINGS = 2, MAX_DROPS = 64 };
    const pod_language *m = model();
    pod_graph *g = net_graph();
    pod_language_args args = net_args(V);
    args.draws = net_ints(g, "draws", 1, (const int64_t[]){N});
    const pod_language_in in = inputs(g, N, S, T);
    m->build(g, &m->size, &in, &args);
    POD_CHECK_OK(pod_graph_finish(g));
    const char *label[MAX_DROPS];
    int n_drops = 0, n_attentions = 0;
    for (int32_t i = 0; i < pod_graph_n_nodes(g); i++) {
        const pod_node *n = pod_graph_node(g, i);
        const bool is_attention = n->op == pod_op_named.attention;
        if (n->n_in == 0 || n->in[n->n_in - 1].id != args.draws.id) continue;
        for (int k = 0; k < n_drops + n_attentions; k++)
            POD_CHECK(strcmp(label[k], n->label) != 0, "%s drops twice", n->label);
        label[n_drops + n_attentions] = n->label;
        n_attentions += is_attention;
        n_drops += !is_attention;
    }
    CU_ASSERT_EQUAL(n_attentions, m->size.layers * 3);
    CU_ASSERT_EQUAL(n_drops, EMBEDDINGS + m->size.layers * (3 + 4));
}

/* ---- search -------------------------------------------------------------------------------- */

enum { B = 2, SIDES = 2 * LAYERS };

typedef struct searching {
    pod_interp *encoder, *it;
    pod_language_in in;
    pod_language_step step;
    pod_value encoded[SIDES], source[SIDES], earlier[SIDES], rows[SIDES], logits;
} searching;

static pod_value floats(pod_graph *g, const char *name, int i, int n_dims, const int64_t dim[])
{
    return pod_input(g, pod_test_text("%s%d", name, i), pod_type_of(POD_F32, n_dims, dim), 0);
}

static void open_search(searching *s)
{
    const int64_t n = N, hypotheses[] = {N, B}, seen[] = {N, S, HIDDEN},
                  so_far[] = {N, B, T, HIDDEN};
    const pod_language_args args = net_args(V);
    pod_graph *g = net_graph();
    s->in = inputs(g, N, S, T);
    model()->search->encode(g, &small, &s->in, &args, s->encoded);
    s->encoder = net_open(g);

    g = net_graph();
    for (int i = 0; i < SIDES; i++) {
        s->source[i] = floats(g, "source", i, 3, seen);
        s->earlier[i] = floats(g, "earlier", i, 4, so_far);
    }
    s->step = (pod_language_step){.token = net_ints(g, "token", 2, hypotheses),
                                  .count = net_ints(g, "count", 2, hypotheses),
                                  .lengths = net_ints(g, "lengths", 1, &n),
                                  .source = s->source,
                                  .earlier = s->earlier};
    s->logits = model()->search->step(g, &small, &s->step, &args, s->rows);
    pod_output(g, "logits", s->logits);
    for (int i = 0; i < SIDES; i++) pod_output(g, pod_test_text("rows%d", i), s->rows[i]);
    s->it = net_open(g);
}

static void run_encoder(const searching *s)
{
    net_put(s->encoder, s->in.ids, N * S, source);
    net_put(s->encoder, s->in.lengths, N, source_lengths);
    pod_interp_run(s->encoder, -1);
    net_put(s->it, s->step.lengths, N, source_lengths);
    for (int i = 0; i < SIDES; i++)
        memcpy(pod_interp_data(s->it, s->source[i]), pod_interp_data(s->encoder, s->encoded[i]),
               sizeof(float) * N * S * HIDDEN);
}

/* The tokens of hypotheses (N B) at place t; puts their rows among the earlier ones. */
static void run_step(const searching *s, int t, const int32_t token[N * B])
{
    const int32_t count[N * B] = {t + 1, t + 1, t + 1, t + 1, t + 1, t + 1};
    net_put(s->it, s->step.token, N * B, token);
    net_put(s->it, s->step.count, N * B, count);
    pod_interp_run(s->it, -1);
    for (int i = 0; i < SIDES; i++)
        for (int h = 0; h < N * B; h++)
            memcpy((float *)pod_interp_data(s->it, s->earlier[i]) + (h * T + t) * HIDDEN,
                   (float *)pod_interp_data(s->it, s->rows[i]) + h * HIDDEN,
                   sizeof(float) * HIDDEN);
}

/* Of two hypotheses for each source, the second with other tokens, whose decoder gets them as targets
 * of their own. Rows that are not written yet are large. */
static void steps_are_the_whole_decoder(void)
{
    static float want[B][N * T * V];
    int32_t to[B][N * T];
    searching s;
    const whole w = open_whole(&small, N, T, V);
    open_search(&s);
    for (int b = 0; b < B; b++) {
        for (int i = 0; i < N * T; i++)
            to[b][i] = i % T == 0 ? POD_NO_TOKEN : (target[i] + 5 * b) % V;
        run_whole(&w, source, to[b], want[b]);
    }
    run_encoder(&s);
    for (int i = 0; i < SIDES; i++)
        for (int k = 0; k < N * B * T * HIDDEN; k++)
            ((float *)pod_interp_data(s.it, s.earlier[i]))[k] = 1e30f;
    const double bound = logits_bound();
    for (int t = 0; t < T; t++) {
        int32_t token[N * B];
        for (int h = 0; h < N * B; h++) token[h] = to[h % B][h / B * T + t];
        run_step(&s, t, token);
        for (int h = 0; h < N * B; h++)
            for (int v = 0; v < V; v++) {
                const double got = pod_interp_get(s.it, s.logits, h * V + v);
                const double exact = (double)want[h % B][(h / B * T + t) * V + v];
                POD_CHECK(fabs(got - exact) <= bound, "token %d of %d: %.6f, want %.6f within %.1e",
                          t, h, got, exact, bound);
            }
    }
}

POD_TEST_SUITE("models.transformer", {"sizes", sizes_are_as_published},
               {"what_tokens_see", tokens_see_what_they_may},
               {"shared", sentences_share_a_sequence}, {"untrained_loss", untrained_loss_is_known},
               {"dropout", drops_in_all_places}, {"steps", steps_are_the_whole_decoder});
