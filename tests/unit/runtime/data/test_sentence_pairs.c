/* Samples of translation, over the made language: what its pairs are, what a sample is made of them,
 * and which pairs are none. */
#include <string.h>

#include "kernels/base/rng.h"
#include "kernels/embed/embed.h"
#include "runtime/data/text/cipher.h"
#include "runtime/data/text/phrases.h"
#include "runtime/data/text/sentence_pairs.h"
#include "tests/harness/harness.h"

enum { MAX_SEQ = 32, MAX_WORDS = 40, A = POD_N_SPECIALS };

static pod_text_set *opened(const char *spec, uint64_t seed)
{
    pod_cipher_options o = {0};
    pod_text_set *text = NULL;
    POD_NEED_OK(pod_cipher_parse(spec, &o));
    POD_NEED_OK(pod_cipher_open(&o, seed, NULL, &text));
    return text;
}

static void specs_are_parsed(void)
{
    pod_cipher_options o = {0};
    POD_CHECK_OK(pod_cipher_parse("cipher", &o));
    CU_ASSERT(o.n_words == 100 && o.n_pairs[0] == 20000 && o.n_pairs[1] == 500);
    POD_CHECK_OK(pod_cipher_parse("cipher:2450:30+2", &o));
    CU_ASSERT(o.n_words == 2450 && o.n_pairs[0] == 30 && o.n_pairs[1] == 2);
    POD_CHECK_FAILS(pod_cipher_parse("cipher:2451", &o), POD_E_INVALID, "cipher: WORDS");
    POD_CHECK_FAILS(pod_cipher_parse("cipher:9:30", &o), POD_E_INVALID,
                    "cipher: pairs '30', need TRAIN+TEST");
    POD_CHECK_FAILS(pod_cipher_parse("cipher:9:1+9", &o), POD_E_INVALID, "cipher: TRAIN pairs");
    CU_ASSERT(pod_cipher_is_spec("cipher:7") && !pod_cipher_is_spec("cipher.h5"));
}

static int64_t read_row(const pod_text_set *t, pod_split split, int side, int64_t row,
                        int32_t id[MAX_WORDS])
{
    const int64_t n = pod_text_set_length(t, split, side, row);
    CU_ASSERT_FATAL(n >= 1 && n <= MAX_WORDS);
    POD_CHECK_OK(pod_text_set_read(t, split, side, row, 0, n, id));
    return n;
}

/* Every word always has the same translation, another one than any other word; the order is turned
 * round; another seed makes another language. */
static void language_has_one_dictionary(void)
{
    enum { WORDS = 20, PAIRS = 400 };
    int32_t of[WORDS] = {0}, source[MAX_WORDS], target[MAX_WORDS], first[MAX_WORDS];
    bool is_taken[WORDS] = {false};
    pod_text_set *t = opened("cipher:20:400+10", 5), *other = opened("cipher:20:400+10", 6);
    for (int64_t row = 0; row < PAIRS; row++) {
        const int64_t n = read_row(t, POD_SPLIT_TRAIN, 0, row, source);
        CU_ASSERT(n >= 4 && n <= 7);
        CU_ASSERT_EQUAL(read_row(t, POD_SPLIT_TRAIN, 1, row, target), n);
        for (int64_t i = 0; i < n; i++) {
            const int32_t word = source[i] - A, to = target[n - 1 - i] - A - WORDS;
            CU_ASSERT_FATAL(word >= 0 && word < WORDS && to >= 0 && to < WORDS);
            CU_ASSERT(of[word] == 0 || of[word] == to + 1);
            CU_ASSERT(of[word] != 0 || !is_taken[to]);
            of[word] = to + 1;
            is_taken[to] = true;
        }
    }
    const int64_t n = read_row(t, POD_SPLIT_TRAIN, 0, 0, first);
    CU_ASSERT(read_row(other, POD_SPLIT_TRAIN, 0, 0, source) != n ||
              memcmp(first, source, (size_t)n * sizeof *first) != 0);
    CU_ASSERT(read_row(t, POD_SPLIT_TEST, 0, 0, source) != n ||
              memcmp(first, source, (size_t)n * sizeof *first) != 0);
    pod_text_set_close(t);
    pod_text_set_close(other);
}

typedef struct sample {
    int32_t source[MAX_SEQ], source_length, target[MAX_SEQ], target_length, answers[MAX_SEQ];
    float weights[MAX_SEQ];
} sample;

static sample draw(const pod_samples *s, int64_t number)
{
    sample x;
    void *const row[] = {x.source,         &x.source_length, x.target,
                         &x.target_length, x.answers,        x.weights};
    memset(&x, 0xee, sizeof x);
    POD_CHECK_OK(s->fill(s, 0, number, row, NULL));
    return x;
}

static void check_sample(const pod_text_set *t, pod_split split, int64_t row, int64_t seq_len,
                         const sample *x)
{
    int32_t source[MAX_WORDS], answer[MAX_WORDS];
    const int64_t n = read_row(t, split, 0, row, source), take = n < seq_len ? n : seq_len - 1;
    (void)read_row(t, split, 1, row, answer);
    CU_ASSERT(x->source_length == take + 1 && x->target_length == take + 1);
    for (int64_t i = 0; i < seq_len; i++) {
        const bool is_in = i <= take;
        const int32_t from = i < take ? source[i] : i == take ? POD_SEP : POD_PAD;
        const int32_t to = i < take ? answer[i] : i == take ? POD_SEP : 0;
        const int32_t before = i == 0 ? POD_NO_TOKEN : is_in ? answer[i - 1] : POD_PAD;
        POD_CHECK(x->source[i] == from && x->answers[i] == to && x->target[i] == before &&
                      x->weights[i] == (is_in ? 1 : 0),
                  "row %d, place %d: %d, %d, %d", (int)row, (int)i, x->source[i], x->target[i],
                  x->answers[i]);
    }
}

/* What fills a batch up has no tokens and counts nothing. */
static void check_padding(const pod_samples *s, int64_t seq_len)
{
    sample x;
    void *const row[] = {x.source,         &x.source_length, x.target,
                         &x.target_length, x.answers,        x.weights};
    memset(&x, 0xee, sizeof x);
    s->pad(s, row);
    CU_ASSERT(x.source_length == 0 && x.target_length == 0);
    for (int64_t i = 0; i < seq_len; i++) CU_ASSERT(x.weights[i] == 0);
}

/* Of training, those that fit, in order; of evaluation all. */
static void samples_of(int64_t seq_len)
{
    pod_text_set *t = opened("cipher:20:60+40", 5);
    pod_samples s;
    int64_t n = 0;
    POD_NEED_OK(pod_sentence_pairs_open(t, POD_SPLIT_TRAIN, seq_len, 1, pod_test_arena(), &s));
    for (int64_t row = 0; row < 60; row++) {
        if (pod_text_set_length(t, POD_SPLIT_TRAIN, 0, row) >= seq_len) continue;
        const sample x = draw(&s, n++);
        check_sample(t, POD_SPLIT_TRAIN, row, seq_len, &x);
    }
    POD_CHECK(s.n == n && s.n_too_long == 60 - n, "%d samples, %d too long", (int)s.n,
              (int)s.n_too_long);
    POD_NEED_OK(pod_sentence_pairs_open(t, POD_SPLIT_TEST, seq_len, 1, pod_test_arena(), &s));
    CU_ASSERT(s.n == 40 && s.n_too_long == 0);
    for (int64_t row = 0; row < s.n; row++) {
        const sample x = draw(&s, row);
        check_sample(t, POD_SPLIT_TEST, row, seq_len, &x);
    }
    check_padding(&s, seq_len);
    pod_text_set_close(t);
}

static void samples_are_whole(void) { samples_of(MAX_SEQ); }
static void long_ones_are_none(void) { samples_of(7); }

/* ---- several pairs to a sample --------------------------------------------------------------- */

enum { SEQ = 40, PARTS = 8, ROWS = 600, LONGEST = SEQ };

static int64_t draw_offsets(pod_rng *r, int64_t offset[ROWS + 1])
{
    offset[0] = 0;
    for (int i = 0; i < ROWS; i++)
        offset[i + 1] = offset[i] + 1 + (int64_t)pod_rng_below(r, LONGEST);
    return offset[ROWS];
}

/* Sentences of 1 to LONGEST words, on both sides of a pair as drawn, in the words of `t`. */
static pod_text_set *make_ragged(const pod_text_set *t)
{
    enum { N_WORDS = 20 };
    pod_arena *a;
    pod_text_set *set;
    pod_rng r = pod_rng_at(11, (pod_place){.stream = POD_STREAM_CIPHER});
    const pod_text_info info = {.name = "ragged",
                                .n_fields = 2,
                                .field = {"source", "target"},
                                .vocab = pod_text_set_info(t)->vocab};
    POD_NEED_OK(pod_arena_create(NULL, &a));
    pod_text_arrays train = {.n_rows = ROWS};
    for (int side = 0; side < 2; side++) {
        int64_t *offset = POD_ARENA_NEW(a, int64_t, ROWS + 1);
        const int64_t n = draw_offsets(&r, offset);
        int32_t *id = POD_ARENA_NEW(a, int32_t, n);
        for (int64_t i = 0; i < n; i++) id[i] = A + (int32_t)pod_rng_below(&r, N_WORDS);
        train.offset[side] = offset;
        train.id[side] = id;
    }
    const pod_text_arrays both[POD_N_SPLITS] = {train, train};
    POD_NEED_OK(pod_text_set_make(&info, both, a, &set));
    return set;
}

/* Returns the pair that has these words, -1 without one. */
static int64_t find_pair(const pod_text_set *t, const bool is_seen[], int64_t n_from,
                         const int32_t from[], int64_t n_to, const int32_t to[])
{
    int32_t source[MAX_WORDS], target[MAX_WORDS];
    for (int64_t r = 0; r < ROWS; r++)
        if (!is_seen[r] && pod_text_set_length(t, POD_SPLIT_TRAIN, 0, r) == n_from &&
            pod_text_set_length(t, POD_SPLIT_TRAIN, 1, r) == n_to &&
            read_row(t, POD_SPLIT_TRAIN, 0, r, source) == n_from &&
            memcmp(source, from, sizeof *from * (size_t)n_from) == 0 &&
            read_row(t, POD_SPLIT_TRAIN, 1, r, target) == n_to &&
            memcmp(target, to, sizeof *to * (size_t)n_to) == 0)
            return r;
    return -1;
}

/* Each pair that fits is once in a sample, whole and as it is alone, and little is padding. Boxes
 * refuse pairs by tokens, of either side, and many more are needed than are open at once. */
static void pairs_share_samples(void)
{
    enum { LEAST_FILLED = 80 };
    pod_text_set *words = opened("cipher:20:4+4", 5), *t = make_ragged(words);
    pod_samples s;
    static int32_t source[SEQ], target[SEQ], answers[SEQ];
    static float weights[SEQ];
    static bool is_seen[ROWS];
    int32_t source_ends[PARTS], target_ends[PARTS];
    void *const row[] = {source, source_ends, target, target_ends, answers, weights};
    int64_t n_seen = 0, n_tokens = 0, n_too_long = 0;
    POD_NEED_OK(pod_sentence_pairs_open(t, POD_SPLIT_TRAIN, SEQ, PARTS, pod_test_arena(), &s));
    for (int64_t i = 0; i < s.n; i++) {
        POD_CHECK_OK(s.fill(&s, 0, i, row, NULL));
        for (int p = 0, begin = 0, from = 0; p < PARTS;
             begin = target_ends[p], from = source_ends[p++]) {
            if (target_ends[p] == begin) {
                CU_ASSERT(p > 0 && source_ends[p] == from);
                continue;
            }
            const int64_t found = find_pair(t, is_seen, source_ends[p] - 1 - from, source + from,
                                            target_ends[p] - 1 - begin, answers + begin);
            POD_CHECK(found >= 0, "sample %d, part %d is no pair", (int)i, p);
            if (found >= 0) is_seen[found] = true, n_seen++;
            CU_ASSERT(source[source_ends[p] - 1] == POD_SEP &&
                      answers[target_ends[p] - 1] == POD_SEP);
            CU_ASSERT(target[begin] == POD_NO_TOKEN);
            for (int k = begin + 1; k < target_ends[p]; k++) CU_ASSERT(target[k] == answers[k - 1]);
        }
        n_tokens += source_ends[PARTS - 1] + target_ends[PARTS - 1];
        for (int k = 0; k < SEQ; k++) CU_ASSERT(weights[k] == (k < target_ends[PARTS - 1] ? 1 : 0));
        for (int k = source_ends[PARTS - 1]; k < SEQ; k++) CU_ASSERT(source[k] == POD_PAD);
        for (int k = target_ends[PARTS - 1]; k < SEQ; k++)
            CU_ASSERT(target[k] == POD_PAD && answers[k] == 0);
    }
    for (int64_t r = 0; r < ROWS; r++)
        n_too_long += pod_text_set_length(t, POD_SPLIT_TRAIN, 0, r) >= SEQ ||
                      pod_text_set_length(t, POD_SPLIT_TRAIN, 1, r) >= SEQ;
    CU_ASSERT(n_too_long > 0 && s.n_too_long == n_too_long && n_seen == ROWS - n_too_long);
    POD_CHECK(100 * n_tokens >= LEAST_FILLED * s.n * 2 * SEQ,
              "%d samples of %d tokens a side hold %d", (int)s.n, SEQ, (int)n_tokens);
    CU_ASSERT_EQUAL(s.kept_bytes, sizeof(int64_t) * (size_t)(n_seen + s.n + 1));
    pod_text_set_close(t);
    pod_text_set_close(words);
}

static void what_is_no_pair_is_refused(void)
{
    pod_phrases_options o = {0};
    pod_text_set *t = opened("cipher:20:60+40", 5), *text;
    pod_samples s;
    POD_CHECK_FAILS(pod_sentence_pairs_open(t, POD_SPLIT_TRAIN, 4, 1, pod_test_arena(), &s),
                    POD_E_INVALID, "no pair of the 60 of cipher fits into 4 tokens");
    POD_NEED_OK(pod_phrases_parse("phrases:20:5+5", &o));
    POD_NEED_OK(pod_phrases_open(&o, 3, NULL, &text));
    POD_CHECK_FAILS(pod_sentence_pairs_open(text, POD_SPLIT_TRAIN, 8, 1, pod_test_arena(), &s),
                    POD_E_INVALID, "phrases: translate needs the fields source and target");
    pod_text_set_close(text);
    pod_text_set_close(t);
}

POD_TEST_SUITE("runtime.sentence_pairs", {"specs", specs_are_parsed},
               {"language", language_has_one_dictionary}, {"whole", samples_are_whole},
               {"too_long", long_ones_are_none}, {"refused", what_is_no_pair_is_refused},
               {"pairs share samples", pairs_share_samples});
