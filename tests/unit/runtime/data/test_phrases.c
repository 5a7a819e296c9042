/* The made language: what is drawn, and how much of it follows from the word before. */
#include <stdlib.h>
#include <string.h>

#include "runtime/data/text/phrases.h"
#include "tests/harness/harness.h"

static pod_text_set *opened(const char *spec, uint64_t seed)
{
    pod_phrases_options o = {0};
    pod_text_set *text = NULL;
    POD_NEED_OK(pod_phrases_parse(spec, &o));
    POD_NEED_OK(pod_phrases_open(&o, seed, NULL, &text));
    return text;
}

/* All ids of a split; returns how many. */
static int64_t read_all(const pod_text_set *t, pod_split split, int32_t **out)
{
    const pod_text_info *info = pod_text_set_info(t);
    int32_t *id = POD_ARENA_NEW(pod_test_arena(), int32_t, info->n_tokens[split][0]);
    int64_t n = 0;
    for (int64_t row = 0; row < info->n_rows[split]; row++) {
        const int64_t length = pod_text_set_length(t, split, 0, row);
        POD_CHECK_OK(pod_text_set_read(t, split, 0, row, 0, length, id + n));
        n += length;
    }
    *out = id;
    return n;
}

static void specs_are_parsed(void)
{
    static const struct {
        const char *spec, *part; /* NULL: it is one */
        int64_t words, train, test;
    } rows[] = {
        {"phrases", NULL, 200, 2000, 200},
        {"phrases:50", NULL, 50, 2000, 200},
        {"phrases:4900:30+2", NULL, 4900, 30, 2},
        {"phrases:", "WORDS", 0, 0, 0},
        {"phrases:1", "WORDS", 0, 0, 0},
        {"phrases:4901", "WORDS", 0, 0, 0},
        {"phrases:9:30", "need TRAIN+TEST", 0, 0, 0},
        {"phrases:9:30+1", "TEST documents", 0, 0, 0},
        {"phrases:9:0+9", "TRAIN documents", 0, 0, 0},
        {"phrases:9:30+9x", "TEST documents", 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pod_phrases_options o = {0};
        const pod_status s = pod_phrases_parse(rows[i].spec, &o);
        if (rows[i].part)
            POD_CHECK(s == POD_E_INVALID && strstr(pod_error_text(), rows[i].part), "%s: %s",
                      rows[i].spec, s == POD_OK ? "is one" : pod_error_text());
        else
            POD_CHECK(s == POD_OK && o.n_words == rows[i].words &&
                          o.n_documents[0] == rows[i].train && o.n_documents[1] == rows[i].test,
                      "%s", rows[i].spec);
    }
    CU_ASSERT(pod_phrases_is_spec("phrases:7") && !pod_phrases_is_spec("phrases.h5"));
}

/* Words are distinct (pod_vocab_make checks it), each word has one that follows it in most cases,
 * and none is frequent. */
static void words_follow_each_other(void)
{
    enum { WORDS = 40 };
    pod_text_set *text = opened("phrases:40:400+20", 5);
    int32_t *id;
    const int64_t n = read_all(text, POD_SPLIT_TRAIN, &id);
    static int follows[WORDS][WORDS], seen[WORDS];
    memset(follows, 0, sizeof follows);
    memset(seen, 0, sizeof seen);
    for (int64_t i = 0; i < n; i++) {
        CU_ASSERT_FATAL(id[i] >= POD_N_SPECIALS && id[i] < POD_N_SPECIALS + WORDS);
        seen[id[i] - POD_N_SPECIALS]++;
        if (i > 0) follows[id[i - 1] - POD_N_SPECIALS][id[i] - POD_N_SPECIALS]++;
    }
    for (int w = 0; w < WORDS; w++) {
        int most = 0;
        for (int v = 0; v < WORDS; v++)
            if (follows[w][v] > most) most = follows[w][v];
        POD_CHECK(most > 0.75 * seen[w] && most < 0.92 * seen[w], "word %d: %d of %d", w, most,
                  seen[w]);
        POD_CHECK((double)seen[w] < 2.0 * (double)n / WORDS, "word %d: %d of %d", w, seen[w],
                  (int)n);
    }
    pod_text_set_close(text);
}

static void the_seed_decides(void)
{
    pod_text_set *a = opened("phrases:30:50+5", 1), *b = opened("phrases:30:50+5", 1),
                 *c = opened("phrases:30:50+5", 2);
    int32_t *of_a, *of_b, *of_c;
    const int64_t n = read_all(a, POD_SPLIT_TRAIN, &of_a);
    const size_t bytes = (size_t)n * sizeof *of_a;
    CU_ASSERT(read_all(b, POD_SPLIT_TRAIN, &of_b) == n && memcmp(of_a, of_b, bytes) == 0);
    const int64_t n_c = read_all(c, POD_SPLIT_TRAIN, &of_c);
    CU_ASSERT(n_c != n || memcmp(of_a, of_c, bytes) != 0);
    pod_text_set_close(a);
    pod_text_set_close(b);
    pod_text_set_close(c);
}

POD_TEST_SUITE("runtime.phrases", {"specs", specs_are_parsed}, {"words", words_follow_each_other},
               {"seed", the_seed_decides});
