/* BLEU by hand, and on what sacrebleu's tokenization treats specially. */
#include "runtime/text/bleu.h"

#include <math.h>

#include "tests/harness/harness.h"

static double score(pod_bleu_tokens tokens, bool is_cased, const char *h, const char *r)
{
    pod_bleu_sums sums = {0};
    POD_CHECK_OK(pod_bleu_add(&sums, tokens, is_cased, h, r));
    return pod_bleu_score(&sums);
}

/* 6 words against 6: 5 of 6 words, 3 of 5 pairs, 1 of 4 triples, 0 of 3: that counts 1/2 of 3. */
static void scores_by_hand(void)
{
    const double want = 100 * pow(5.0 / 6 * 3 / 5 * 1 / 4 * 0.5 / 3, 0.25);
    const double got = score(POD_BLEU_13A, true, "the cat sat on a mat", "the cat is on a mat");
    POD_CHECK(fabs(got - want) < 1e-9, "%g, want %g", got, want);
    /* 4 of 4, 3 of 3, 2 of 2, 1 of 1, and 4 words for 6. */
    const double brief = score(POD_BLEU_13A, true, "the cat is on", "the cat is on a mat");
    POD_CHECK(fabs(brief - 100 * exp(1 - 6.0 / 4)) < 1e-9, "%g", brief);
    /* Clipped: "the" counts twice; three orders without a match count 1/2, 1/4 and 1/8. */
    const double clipped = score(POD_BLEU_13A, true, "the the the the the", "the x the y z");
    const double halves = 2.0 / 5 * (0.5 / 4) * (0.25 / 3) * (0.125 / 2);
    POD_CHECK(fabs(clipped - 100 * pow(halves, 0.25)) < 1e-9, "%g", clipped);
    POD_CHECK(score(POD_BLEU_13A, true, "", "a b c d e") == 0, "no words");
    POD_CHECK(score(POD_BLEU_13A, true, "a b c", "a b c") == 0, "no four words");
    POD_CHECK(score(POD_BLEU_13A, true, "v w x y", "a b c d") == 0, "no match");
}

/* A hypothesis with blanks where the tokenization puts them equals the text. */
static void words_are_split(void)
{
    static const struct {
        pod_bleu_tokens tokens;
        bool is_cased;
        const char *text, *words;
    } cases[] = {
        {POD_BLEU_13A, true, "In 1990, it was 3.14 or 1,000.", "In 1990 , it was 3.14 or 1,000 ."},
        {POD_BLEU_13A, true, "It is 1990.", "It is 1990 ."}, /* L11 */
        {POD_BLEU_13A, true, "a-b 3-4 (x)! y/z", "a-b 3 - 4 ( x ) ! y / z"},
        {POD_BLEU_13A, true, "&quot;a&quot; b &amp;lt; c <skipped>d", "\" a \" b < c d"},
        {POD_BLEU_13A, true, "don't „stop“ it – now", "don't „stop“ it – now"},
        {POD_BLEU_13A, false, "THE Cat Über ALL", "the cat über all"},
        {POD_BLEU_INTERNATIONAL, true, "In 1990, it was 3.14 or 1,000",
         "In 1990 , it was 3.14 or 1,000"},
        {POD_BLEU_INTERNATIONAL, true, "so it is 1990.", "so it is 1990."},
        {POD_BLEU_INTERNATIONAL, true, "don't „stop“ – 5€ now", "don ' t „ stop “ – 5 € now"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const double same =
            score(cases[i].tokens, cases[i].is_cased, cases[i].text, cases[i].words);
        pod_bleu_sums sums = {0};
        POD_CHECK_OK(pod_bleu_add(&sums, cases[i].tokens, cases[i].is_cased, cases[i].text, ""));
        int64_t n = 1;
        for (const char *p = cases[i].words; *p; p++) n += *p == ' ';
        POD_CHECK(fabs(same - 100) < 1e-9 && sums.hypothesis_length == n,
                  "'%s': %g, %d words, want %d", cases[i].text, same, (int)sums.hypothesis_length,
                  (int)n);
    }
}

/* Sums of parts are those of the whole. */
static void sums_add_up(void)
{
    pod_bleu_sums sums = {0};
    POD_CHECK_OK(pod_bleu_add(&sums, POD_BLEU_13A, true, "a b c d", "a b c d"));
    POD_CHECK_OK(pod_bleu_add(&sums, POD_BLEU_13A, true, "a b", "a b c d"));
    POD_CHECK(sums.n_matches[0] == 6 && sums.n_possible[0] == 6 && sums.n_matches[3] == 1 &&
                  sums.hypothesis_length == 6 && sums.reference_length == 8,
              "sums");
    POD_CHECK(fabs(pod_bleu_score(&sums) - 100 * exp(1 - 8.0 / 6)) < 1e-9, "%g",
              pod_bleu_score(&sums));
    POD_CHECK(strstr(pod_bleu_name(POD_BLEU_13A, false), "case:lc|tok:13a") != NULL, "name");
}

POD_TEST_SUITE("runtime.bleu", {"scores by hand", scores_by_hand},
               {"words are split", words_are_split}, {"sums add up", sums_add_up});
