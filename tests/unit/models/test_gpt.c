/* GPT-2's network: its size, the loss before training, and what each token sees. */
#include <math.h>

#include "tests/unit/models/language_net.h"

enum { N = 3, S = 6, V = 29 };
static const pod_language_size small = {2, 32, 4, 64, S};

/* Of gpt-mini with 8,192 tokens and of the published GPT-2 small: 124,439,808 parameters. */
static void sizes_are_as_published(void)
{
    static const struct {
        pod_language_size size;
        int64_t n_tokens, parameters;
    } rows[] = {{{4, 256, 4, 1024, 512}, 8192, 5387776},
                {{12, 768, 12, 3072, 1024}, 50257, 124439808}};
    const pod_language *m = pod_language_find("gpt-mini");
    CU_ASSERT(m->size.layers == rows[0].size.layers && m->size.hidden == rows[0].size.hidden);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum { TEXTS = 2, LENGTH = 40 };
        const pod_language_size *z = &rows[i].size;
        const double h = (double)z->hidden, f = (double)z->inner, v = (double)rows[i].n_tokens;
        const pod_language_args args = net_args(rows[i].n_tokens);
        pod_graph *g = net_graph();
        const pod_language_in in = {.ids = net_ints(g, "ids", 2, (const int64_t[]){TEXTS, LENGTH})};
        const net_sizes got = net_sizes_of(g, m->build(g, z, &in, &args), TEXTS, LENGTH);
        const double layer = 4 * h * h + 2 * h * f + 2 * LENGTH * h;
        CU_ASSERT_EQUAL(got.parameters, rows[i].parameters);
        CU_ASSERT_EQUAL(got.macs, TEXTS * LENGTH * ((double)z->layers * layer + h * v));
    }
}

typedef struct net {
    pod_interp *it;
    pod_language_in in;
    pod_value logits; /* (n s, V) */
} net;

static net open_net(int64_t n, int64_t s, int64_t n_tokens)
{
    net m = {0};
    pod_graph *g = net_graph();
    const pod_language_args args = net_args(n_tokens);
    m.in.ids = net_ints(g, "ids", 2, (const int64_t[]){n, s});
    m.in.lengths = net_ints(g, "lengths", 1, &n);
    const pod_language_out y = pod_language_find("gpt-mini")->build(g, &small, &m.in, &args);
    m.logits = pod_matmul(g, pod_reshape(g, y.hidden, (pod_shape){2, {n * s, small.hidden}}),
                          y.table, (pod_matmul_attr){.trans_b = true, .c_dtype = POD_F32});
    m.it = net_open(g);
    return m;
}

static void tokens_see_earlier_ones(void)
{
    static const int32_t lengths[N] = {6, 2, 4};
    static float before[N * S * V];
    const net m = open_net(N, S, V);
    int32_t *id = pod_interp_data(m.it, m.in.ids);
    const float *after = pod_interp_data(m.it, m.logits);
    net_put(m.it, m.in.lengths, N, lengths);
    for (int i = 0; i < N * S; i++) id[i] = i * 7 % V;
    pod_interp_run(m.it, -1);
    memcpy(before, after, sizeof before);
    for (int changed = 0; changed < N * S; changed++) {
        const int32_t was = id[changed];
        id[changed] = (was + 1) % V;
        pod_interp_run(m.it, -1);
        id[changed] = was;
        for (int i = 0; i < N * S; i++) {
            const bool sees = i == changed ||
                              (i / S == changed / S && i > changed && changed % S < lengths[i / S]);
            const bool same = memcmp(before + i * V, after + i * V, sizeof *before * V) == 0;
            POD_CHECK(same == !sees, "token %d changed, place %d", changed, i);
        }
    }
}

/* Rows of the final layer norm have length sqrt(H), so that the logits of tokens that are not read are
 * normal with deviation 0.02 sqrt(H), and that of the token itself is at most 0.02 H above: ln V and
 * half their variance, within two deviations for the answers drawn and that one token. */
static void untrained_loss_is_known(void)
{
    enum { TOKENS = 1000 };
    const double deviation = 0.02 * sqrt((double)small.hidden);
    const double want = log(TOKENS) + deviation * deviation / 2;
    const net m = open_net(N, S, TOKENS);
    const int32_t lengths[N] = {S, S, S};
    int32_t *id = pod_interp_data(m.it, m.in.ids);
    double loss = 0;
    net_put(m.it, m.in.lengths, N, lengths);
    for (int i = 0; i < N * S; i++) id[i] = i * 37 % TOKENS;
    pod_interp_run(m.it, -1);
    for (int i = 0; i < N * S; i++) {
        double sum = 0;
        for (int v = 0; v < TOKENS; v++) sum += exp(pod_interp_get(m.it, m.logits, i * TOKENS + v));
        loss += log(sum) - pod_interp_get(m.it, m.logits, i * TOKENS + (i * 91 + 50) % TOKENS);
    }
    loss /= N * S;
    const double near = 2 * deviation / sqrt(N * S) + exp(0.02 * (double)small.hidden) / TOKENS;
    POD_CHECK(fabs(loss - want) < near, "a loss of %.4f, want %.4f", loss, want);
}

POD_TEST_SUITE("models.gpt", {"sizes", sizes_are_as_published},
               {"what_tokens_see", tokens_see_earlier_ones},
               {"untrained_loss", untrained_loss_is_known});
