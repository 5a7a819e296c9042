/* Samples of BERT's pre-training, over a text in which each id occurs once, so that it tells where
 * a token came from. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/rng.h"
#include "runtime/data/loader.h"
#include "runtime/data/text/masked_pairs.h"
#include "tests/harness/harness.h"

enum { N_DOCUMENTS = 60, MAX_SENTENCES = 12, MAX_WORDS = 9, SEQ = 40, MASKED = 5 };
enum { MAX_IDS = POD_N_SPECIALS + N_DOCUMENTS * MAX_SENTENCES * MAX_WORDS };

/* Document d has d mod 12 + 1 sentences; id i is at place i - POD_N_SPECIALS of the text. */
static struct {
    pod_text_arrays text;
    int64_t offset[N_DOCUMENTS * MAX_SENTENCES + 1], document[N_DOCUMENTS + 1];
    int32_t id[MAX_IDS];
    int document_of[MAX_IDS]; /* by id */
} made;

static pod_text_set *make_text(int n_documents)
{
    pod_arena *a;
    pod_rng r = pod_rng_at(1, (pod_place){.stream = POD_STREAM_TEST});
    pod_text_arrays *t = &made.text;
    pod_text_info info = {
        .name = "made", .n_fields = 1, .field = {"tokens"}, .has_documents = true};
    pod_text_set *set = NULL;
    *t = (pod_text_arrays){.offset = {made.offset}, .id = {made.id}, .document = made.document};
    int64_t n = 0;
    for (int d = 0; d < n_documents; d++) {
        for (int s = 0; s <= d % MAX_SENTENCES; s++) {
            const int64_t end = n + 1 + (int64_t)pod_rng_below(&r, MAX_WORDS);
            for (; n < end; n++) {
                made.id[n] = (int32_t)n + POD_N_SPECIALS;
                made.document_of[made.id[n]] = d;
            }
            made.offset[++t->n_rows] = n;
        }
        made.document[++t->n_documents] = t->n_rows;
    }
    POD_NEED_OK(pod_arena_create(NULL, &a));
    const char **token = POD_ARENA_NEW(a, const char *, n + POD_N_SPECIALS);
    for (int i = 0; i < POD_N_SPECIALS; i++) token[i] = pod_special_token[i];
    for (int64_t i = 0; i < n; i++) token[POD_N_SPECIALS + i] = pod_arena_text(a, "w%d", (int)i);
    POD_NEED_OK(pod_vocab_make("made", n + POD_N_SPECIALS, token, a, &info.vocab));
    const pod_text_arrays both[POD_N_SPLITS] = {*t, *t};
    POD_NEED_OK(pod_text_set_make(&info, both, a, &set));
    return set;
}

static pod_masked_pairs usual(void)
{
    return (pod_masked_pairs){
        .seq_len = SEQ, .max_masked = MASKED, .mask_rate = 0.15, .short_share = 0.1, .seed = 7};
}

typedef struct sample {
    int32_t ids[SEQ], segments[SEQ], length, places[MASKED], answers[MASKED], next;
    float weights[MASKED];
} sample;

static sample draw(const pod_samples *s, int64_t epoch, int64_t number)
{
    sample x;
    int32_t scratch[SEQ];
    void *const row[] = {x.ids, x.segments, &x.length, x.places, x.answers, x.weights, &x.next};
    memset(&x, 0xee, sizeof x);
    POD_CHECK_OK(s->fill(s, epoch, number, row, scratch));
    return x;
}

/* ---- what a sample is ------------------------------------------------------------------------ */

typedef struct counts {
    int64_t masked, kept, random, samples, next;
} counts;

/* Puts the answers back, and counts what had been put in their places. */
static void check_masks(const sample *x, int32_t whole[SEQ], counts *c)
{
    const double share = 0.15 * x->length;
    int64_t want = (int64_t)nearbyint(share), n = 0;
    if (want > MASKED) want = MASKED;
    if (want < 1) want = 1;
    memcpy(whole, x->ids, sizeof x->ids);
    for (; n < MASKED && x->weights[n] == 1; n++) {
        const int32_t at = x->places[n], is = x->ids[at];
        CU_ASSERT(at > 0 && at < x->length && (n == 0 || at > x->places[n - 1]));
        whole[at] = x->answers[n];
        c->masked += is == POD_MASK;
        c->kept += is == x->answers[n];
        c->random += is != POD_MASK && is != x->answers[n];
    }
    POD_CHECK(n == want, "%d of %d tokens are masked, want %d", (int)n, x->length, (int)want);
    for (; n < MASKED; n++)
        CU_ASSERT(x->weights[n] == 0 && x->places[n] == 0 && x->answers[n] == 0);
}

/* [CLS] A [SEP] B [SEP], each segment from one document without a gap; B from where A ends, unless
 * tokens were cut there, or from another document. */
static void check_segments(const sample *x, const int32_t whole[SEQ])
{
    int a = 1, b;
    while (whole[a] != POD_SEP) a++;
    b = a + 1;
    CU_ASSERT(whole[0] == POD_CLS && a > 1);
    for (int i = 2; i < a; i++) CU_ASSERT_EQUAL(whole[i], whole[i - 1] + 1);
    while (whole[b] != POD_SEP) b++;
    CU_ASSERT(b > a + 1 && b + 1 == x->length);
    for (int i = a + 2; i < b; i++) CU_ASSERT_EQUAL(whole[i], whole[i - 1] + 1);
    const int of_a = made.document_of[whole[1]], of_b = made.document_of[whole[a + 1]];
    CU_ASSERT(of_a == made.document_of[whole[a - 1]] && of_b == made.document_of[whole[b - 1]]);
    CU_ASSERT((of_a != of_b) == (x->next == 1));
    if (x->next == 0)
        CU_ASSERT(whole[a + 1] > whole[a - 1] &&
                  (x->length == SEQ || whole[a + 1] == whole[a - 1] + 1));
    for (int i = 0; i < SEQ; i++) {
        CU_ASSERT_EQUAL(x->segments[i], i > a && i <= b);
        if (i > b) CU_ASSERT_EQUAL(x->ids[i], POD_PAD);
    }
}

static void is_near(const char *what, int64_t n, int64_t of, double share)
{
    const double want = share * (double)of, bound = 5 * sqrt(want * (1 - share));
    POD_CHECK(fabs((double)n - want) < bound, "%s: %d of %d, want %.1f +- %.1f", what, (int)n,
              (int)of, want, bound);
}

static void samples_are_as_published(void)
{
    enum { EPOCHS = 40 };
    pod_text_set *text = make_text(N_DOCUMENTS);
    const pod_masked_pairs how = usual();
    pod_samples s;
    counts c = {0};
    POD_NEED_OK(pod_masked_pairs_open(text, POD_SPLIT_TRAIN, &how, pod_test_arena(), &s));
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++)
        for (int64_t i = 0; i < s.n; i++) {
            const sample x = draw(&s, epoch, i);
            int32_t whole[SEQ];
            check_masks(&x, whole, &c);
            check_segments(&x, whole);
            c.samples++;
            c.next += x.next;
        }
    const int64_t all = c.masked + c.kept + c.random;
    is_near("[MASK]", c.masked, all, 0.8);
    is_near("unchanged", c.kept, all, 0.1);
    is_near("another token", c.random, all, 0.1);
    /* Half of those of two sentences or more, and all of one sentence. */
    POD_CHECK((double)c.next > 0.5 * (double)c.samples && (double)c.next < 0.75 * (double)c.samples,
              "%d of %d are random", (int)c.next, (int)c.samples);
    pod_text_set_close(text);
}

/* ---- drawn by number ------------------------------------------------------------------------- */

static void epochs_differ_and_repeat(void)
{
    pod_text_set *text = make_text(N_DOCUMENTS);
    pod_masked_pairs how = usual();
    pod_samples anew, fixed;
    int n_equal = 0;
    POD_NEED_OK(pod_masked_pairs_open(text, POD_SPLIT_TRAIN, &how, pod_test_arena(), &anew));
    how.static_passes = 2;
    POD_NEED_OK(pod_masked_pairs_open(text, POD_SPLIT_TRAIN, &how, pod_test_arena(), &fixed));
    CU_ASSERT(anew.n == fixed.n && anew.n > N_DOCUMENTS);
    for (int64_t i = anew.n - 1; i >= 0; i--) { /* in whatever order */
        const sample first = draw(&anew, 0, i), third = draw(&anew, 2, i);
        const sample of_fixed = draw(&fixed, 2, i);
        n_equal += memcmp(first.ids, third.ids, sizeof first.ids) == 0;
        CU_ASSERT(memcmp(first.ids, of_fixed.ids, sizeof first.ids) == 0);
        CU_ASSERT(memcmp(first.answers, of_fixed.answers, sizeof first.answers) == 0);
    }
    POD_CHECK(n_equal < anew.n / 20, "%d of %d are the same again", n_equal, (int)anew.n);
    pod_text_set_close(text);
}

/* Threads and epochs shorter than what is prepared ahead change nothing. */
static void loaders_agree(void)
{
    enum { BATCH = 16, STEPS = 30 };
    pod_text_set *text = make_text(12);
    const pod_masked_pairs how = usual();
    pod_samples s;
    POD_NEED_OK(pod_masked_pairs_open(text, POD_SPLIT_TRAIN, &how, pod_test_arena(), &s));
    pod_loader_options o = {.global_batch = BATCH, .size = 1, .seed = 3, .shuffle = true};
    pod_loader *plain = NULL, *threaded = NULL;
    POD_NEED_OK(pod_loader_open(&s, &o, &plain));
    o.depth = 8;
    o.n_threads = 3;
    POD_NEED_OK(pod_loader_open(&s, &o, &threaded));
    for (int k = 0; k < STEPS; k++) {
        pod_batch a = {0}, b = {0};
        POD_CHECK_OK(pod_loader_next(plain, &a));
        POD_CHECK_OK(pod_loader_next(threaded, &b));
        for (int f = 0; f < s.form.n_fields; f++) {
            const size_t bytes = (size_t)(BATCH * pod_field_row_bytes(&s.form.field[f]));
            POD_CHECK(memcmp(a.field[f], b.field[f], bytes) == 0, "step %d: other %s", k,
                      s.form.field[f].name);
        }
    }
    pod_loader_close(plain);
    pod_loader_close(threaded);
    pod_text_set_close(text);
}

static void padding_counts_nothing(void)
{
    pod_text_set *text = make_text(2);
    const pod_masked_pairs how = usual();
    pod_samples s;
    sample x;
    void *const row[] = {x.ids, x.segments, &x.length, x.places, x.answers, x.weights, &x.next};
    memset(&x, 0xee, sizeof x);
    POD_NEED_OK(pod_masked_pairs_open(text, POD_SPLIT_TEST, &how, pod_test_arena(), &s));
    s.pad(&s, row);
    CU_ASSERT(x.length == 0 && x.next == -1 && x.ids[SEQ - 1] == POD_PAD);
    for (int i = 0; i < MASKED; i++) CU_ASSERT(x.weights[i] == 0);
    pod_text_set_close(text);
}

static void one_document_is_refused(void)
{
    pod_text_set *text = make_text(1);
    const pod_masked_pairs how = usual();
    pod_samples s;
    POD_CHECK_FAILS(
        pod_masked_pairs_open(text, POD_SPLIT_TEST, &how, pod_test_arena(), &s), POD_E_INVALID,
        "made: the test split has 1 documents, masked-lm needs 2: a sentence that does not "
        "follow comes from another one");
    pod_text_set_close(text);
}

POD_TEST_SUITE("runtime.masked_pairs", {"as_published", samples_are_as_published},
               {"epochs", epochs_differ_and_repeat}, {"loaders", loaders_agree},
               {"padding", padding_counts_nothing}, {"one_document", one_document_is_refused});
