/* Samples of a language model: the rows of a small text by hand, and of a larger one that each token
 * is predicted once, behind those that stand before it. */
#include <string.h>

#include "runtime/data/text/cipher.h"
#include "runtime/data/text/next_tokens.h"
#include "runtime/data/text/phrases.h"
#include "tests/harness/harness.h"

enum { MAX_SEQ = 64, MAX_STREAM = 1 << 14, A = POD_N_SPECIALS, N_WORDS = 8 };

typedef struct sample {
    int32_t ids[MAX_SEQ], length, answers[MAX_SEQ];
    float weights[MAX_SEQ];
} sample;

static sample draw(const pod_samples *s, int64_t epoch, int64_t number)
{
    sample x;
    int32_t scratch[MAX_SEQ + 1];
    void *const row[] = {x.ids, &x.length, x.answers, x.weights};
    memset(&x, 0xee, sizeof x);
    POD_CHECK_OK(s->fill(s, epoch, number, row, scratch));
    return x;
}

/* Documents of two sentences and of one; no test document. */
static pod_text_set *make_text(void)
{
    static const int64_t offset[] = {0, 1, 4, 6}, document[] = {0, 2, 3}, zero[] = {0};
    static const int32_t id[] = {A, A + 1, A + 2, A + 3, A + 4, A + 5};
    const pod_text_arrays split[POD_N_SPLITS] = {
        {.n_rows = 3, .n_documents = 2, .offset = {offset}, .id = {id}, .document = document},
        {.offset = {zero}, .id = {id}, .document = zero}};
    pod_text_info info = {
        .name = "made", .n_fields = 1, .field = {"tokens"}, .has_documents = true};
    pod_arena *a;
    pod_text_set *set = NULL;
    POD_NEED_OK(pod_arena_create(NULL, &a));
    const char **token = POD_ARENA_NEW(a, const char *, POD_N_SPECIALS + N_WORDS);
    for (int i = 0; i < POD_N_SPECIALS; i++) token[i] = pod_special_token[i];
    for (int i = 0; i < N_WORDS; i++) token[A + i] = pod_arena_text(a, "w%d", i);
    POD_NEED_OK(pod_vocab_make("made", POD_N_SPECIALS + N_WORDS, token, a, &info.vocab));
    POD_NEED_OK(pod_text_set_make(&info, split, a, &set));
    return set;
}

/* The stream is [SEP] 0 1 2 3 [SEP] 4 5 [SEP]. */
static void rows_by_hand(void)
{
    enum { SEQ = 3, P = POD_PAD, S = POD_SEP };
    static const struct {
        int32_t ids[SEQ], answers[SEQ], length;
    } want[] = {{{S, A, A + 1}, {A, A + 1, A + 2}, 3},
                {{A + 2, A + 3, S}, {A + 3, S, A + 4}, 3},
                {{A + 4, A + 5, P}, {A + 5, S, 0}, 2}};
    pod_text_set *t = make_text();
    pod_samples s, none;
    POD_NEED_OK(pod_next_tokens_open(t, POD_SPLIT_TRAIN, SEQ, pod_test_arena(), &s));
    CU_ASSERT_EQUAL(s.n, 3);
    for (int k = 0; k < 3; k++) {
        const sample x = draw(&s, 0, k);
        CU_ASSERT_EQUAL(x.length, want[k].length);
        for (int i = 0; i < SEQ; i++)
            POD_CHECK(x.ids[i] == want[k].ids[i] && x.answers[i] == want[k].answers[i] &&
                          x.weights[i] == (i < want[k].length ? 1 : 0),
                      "row %d, place %d: %d, %d, %g", k, i, x.ids[i], x.answers[i],
                      (double)x.weights[i]);
    }
    sample x;
    memset(&x, 0xee, sizeof x);
    s.pad(&s, (void *const[]){x.ids, &x.length, x.answers, x.weights});
    CU_ASSERT(x.length == 0);
    for (int i = 0; i < SEQ; i++) CU_ASSERT(x.weights[i] == 0);
    POD_CHECK_FAILS(pod_next_tokens_open(t, POD_SPLIT_TEST, SEQ, pod_test_arena(), &none),
                    POD_E_INVALID, "made: the test split has no document");
    pod_text_set_close(t);
}

/* Answers follow each other as the text does, over all rows, and inputs are the answers before. */
static void every_token_once(void)
{
    static int32_t flat[MAX_STREAM];
    static const int64_t lengths[] = {5, 17, MAX_SEQ};
    pod_phrases_options o = {0};
    pod_text_set *t;
    POD_NEED_OK(pod_phrases_parse("phrases:30:12+2", &o));
    POD_NEED_OK(pod_phrases_open(&o, 3, NULL, &t));
    const pod_text_info *info = pod_text_set_info(t);
    const int64_t *document = pod_text_set_documents(t, POD_SPLIT_TRAIN);
    const int64_t n = info->n_tokens[POD_SPLIT_TRAIN][0];
    CU_ASSERT_FATAL(n <= MAX_STREAM);
    POD_NEED_OK(pod_text_set_read_flat(t, POD_SPLIT_TRAIN, 0, 0, n, flat));
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
        pod_samples s;
        int64_t at = 0, d = 1, n_answers = 0;
        int32_t before = POD_SEP;
        POD_NEED_OK(pod_next_tokens_open(t, POD_SPLIT_TRAIN, lengths[k], pod_test_arena(), &s));
        for (int64_t row = 0; row < s.n; row++) {
            const sample x = draw(&s, 7, row);
            CU_ASSERT(x.length == lengths[k] || row == s.n - 1);
            for (int i = 0; i < x.length; i++, n_answers++) {
                const bool ends = d <= info->n_documents[0] && document[d] < info->n_rows[0]
                                      ? at == pod_text_set_offset(t, 0, 0, document[d])
                                      : at == n;
                const int32_t want = ends ? POD_SEP : flat[at++];
                d += ends;
                if (x.ids[i] != before || x.answers[i] != want) CU_FAIL("not as the text");
                before = want;
            }
        }
        CU_ASSERT_EQUAL(n_answers, n + info->n_documents[POD_SPLIT_TRAIN]);
    }
    pod_text_set_close(t);
}

static void pairs_are_refused(void)
{
    pod_cipher_options o = {0};
    pod_text_set *t;
    pod_samples s;
    POD_NEED_OK(pod_cipher_parse("cipher:9:20+5", &o));
    POD_NEED_OK(pod_cipher_open(&o, 3, NULL, &t));
    POD_CHECK_FAILS(pod_next_tokens_open(t, POD_SPLIT_TRAIN, 8, pod_test_arena(), &s),
                    POD_E_INVALID, "cipher: language-model needs sentences in documents");
    pod_text_set_close(t);
}

POD_TEST_SUITE("runtime.next_tokens", {"by_hand", rows_by_hand}, {"once", every_token_once},
               {"refused", pairs_are_refused});
