/* Words, word pieces, and text made of them again. */
#include "runtime/text/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/text/basic.h"
#include "runtime/text/chars.h"
#include "runtime/text/detokenize.h"
#include "runtime/text/sentence.h"
#include "tests/harness/harness.h"

/* ---- words ----------------------------------------------------------------------------------- */

enum { ROOM = 4096 };

typedef struct words { /* joined by '|' */
    char text[ROOM];
    size_t n, n_chars;
} words;

static pod_status join(void *ctx, const char *word, size_t bytes, size_t n_chars)
{
    words *w = ctx;
    POD_CHECK(bytes > 0, "an empty word");
    w->n_chars = n_chars;
    if (w->n + bytes + 2 < ROOM)
        w->n += (size_t)snprintf(w->text + w->n, ROOM - w->n, "%s%.*s", w->n ? "|" : "", (int)bytes,
                                 word);
    return POD_OK;
}

static void split(bool is_cased, const char *text, size_t bytes, words *out)
{
    pod_basic *b;
    *out = (words){0};
    POD_NEED_OK(pod_basic_create(is_cased, &b));
    POD_CHECK_OK(pod_basic_run(b, text, bytes, join, out));
    pod_basic_destroy(b);
}

static void words_of_text(void)
{
    static const struct {
        const char *text, *uncased, *cased;
    } cases[] = {
        {"", "", ""},
        {" \t\r\n ", "", ""},
        {"Hello, World!", "hello|,|world|!", "Hello|,|World|!"},
        {"don't-stop_now $5", "don|'|t|-|stop|_|now|$|5", "don|'|t|-|stop|_|now|$|5"},
        /* L7: the whole of NFD. */
        {"Kantō lǜshi", "kanto|lushi", "Kantō|lǜshi"},
        {"ÅNGSTRÖM İstanbul ẞ ǅ", "angstrom|istanbul|ß|ǆ", "ÅNGSTRÖM|İstanbul|ẞ|ǅ"},
        {"e\u0301a \u0301\u0323 x\u0301", "ea|x", "e\u0301a|\u0301\u0323|x\u0301"},
        {"한", "\u1112\u1161\u11ab", "한"},                        /* Hangul decomposes */
        {"Σίσυφος ΣΙΣΥΦΟΣ", "σισυφος|σισυφοσ", "Σίσυφος|ΣΙΣΥΦΟΣ"}, /* no rule for a last sigma */
        /* L8: punctuation is a word in both cases. */
        {"a–b “c” ¿d", "a|–|b|“|c|”|¿|d", "a|–|b|“|c|”|¿|d"},
        /* L9: all of extension E, and what the library drops. */
        {"a\U0002b820b\U0002b91fc", "a|\U0002b820|b|\U0002b91f|c", "a|\U0002b820|b|\U0002b91f|c"},
        {"a\ue000b \U000e0fffx", "a\ue000b|\U000e0fffx", "a\ue000b|\U000e0fffx"},
        {"漢字kana かな\U0002f800", "漢|字|kana|かな|丽", "漢|字|kana|かな|\U0002f800"},
        /* Controls vanish within a word; spaces of Unicode separate. */
        {"a\x01z\u200b\u00ad\ufeff\ufffd"
         "d\x7f\xc2\x85"
         "e",
         "azde", "azde"},
        {"a\u00a0b\u3000c\u2028d\u2029e", "a|b|c|d|e", "a|b|c|d|e"},
        {"[MASK]", "[|mask|]", "[|MASK|]"},
        {"Ａ１ ½ ⅷ €", "ａ１|½|ⅷ|€", "Ａ１|½|ⅷ|€"},
        /* Invalid: a lone byte, a cut character, a surrogate, a form that is too long. */
        {"a\xff"
         "b\xe2\x82"
         "c\xed\xa0\x80"
         "d\xc0\xaf"
         "e",
         "abcde", "abcde"},
        /* Marks that NFD sorts, and that stay: class 224 behind class 9. */
        {"a\u302e\u1b44", "a\u1b44\u302e", "a\u302e\u1b44"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (int is_cased = 0; is_cased < 2; is_cased++) {
            const char *want = is_cased ? cases[i].cased : cases[i].uncased;
            words got;
            split(is_cased, cases[i].text, strlen(cases[i].text), &got);
            POD_CHECK(strcmp(got.text, want) == 0, "'%s' cased %d: '%s', want '%s'", cases[i].text,
                      is_cased, got.text, want);
        }
    words got;
    split(true, "a\0b", 3, &got);
    POD_CHECK(strcmp(got.text, "ab") == 0, "code point 0: '%s'", got.text);
}

/* Alternating marks are sorted in one pass: this takes no quadratic time. */
static void many_marks(void)
{
    enum { N = 200000 };
    char *text = malloc(6 * N + 1);
    words got;
    CU_ASSERT_FATAL(text != NULL);
    for (int i = 0; i < N; i++) memcpy(text + 6 * (size_t)i, "\u302e\u1b44", 6);
    split(false, text, 6 * N, &got);
    POD_CHECK(got.n_chars == 2 * N, "%zu characters", got.n_chars);
    free(text);
}

static void invalid_bytes_are_dropped(void)
{
    static const struct {
        const char *text, *want;
        size_t first;
    } cases[] = {{"plain", "plain", 99}, {"a\xff", "a", 1},       {"\x80\x80", "", 0},
                 {"é\xc3", "é", 2},      {"\xf0\x9f\x98", "", 0}, {"é\xf0\x9f\x98zé", "ézé", 2}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[32];
        size_t first = 99;
        strcpy(text, cases[i].text);
        const size_t n = pod_utf8_drop_invalid(text, strlen(text), &first);
        POD_CHECK(n == strlen(cases[i].want) && memcmp(text, cases[i].want, n) == 0 &&
                      first == cases[i].first,
                  "case %zu: %zu bytes, first %zu", i, n, first);
    }
}

/* ---- word pieces ----------------------------------------------------------------------------- */

static const char *const tokens[] = {
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un",  "##aff", "##able", "##a", "want", "##want",
    "##ed",  "runn",  "##ing", ",",     "x",      "##x", "é",     "mask",   "[",   "]"};
enum { N_TOKENS = sizeof tokens / sizeof tokens[0] };

static const pod_vocab *vocab(void)
{
    const pod_vocab *v;
    POD_NEED_OK(pod_vocab_make("tokens", N_TOKENS, tokens, pod_test_arena(), &v));
    return v;
}

static void check_ids(bool is_cased, const char *text, const char *want)
{
    pod_tokenizer *t;
    pod_ids ids = {0};
    char got[ROOM] = "";
    POD_NEED_OK(pod_tokenizer_create(vocab(), is_cased, &t));
    POD_CHECK_OK(pod_tokenizer_run(t, text, strlen(text), &ids));
    for (size_t i = 0; i < ids.n; i++)
        snprintf(got + strlen(got), ROOM - strlen(got), "%s%s", i ? " " : "", tokens[ids.id[i]]);
    POD_CHECK(strcmp(got, want) == 0, "'%.60s': '%s', want '%s'", text, got, want);
    pod_ids_free(&ids);
    pod_tokenizer_destroy(t);
}

static void pieces_of_words(void)
{
    check_ids(false, "UNwantéd,running",
              "un ##want ##ed , runn ##ing"); /* of the original's tests */
    check_ids(false, "unaffable unaffa unwantedy", "un ##aff ##able un ##aff ##a [UNK]");
    check_ids(false, "unwantedx", "un ##want ##ed ##x");
    check_ids(true, "Un un é", "[UNK] un é");
    check_ids(false, "é", "[UNK]"); /* without accent it is no token */
    check_ids(false, "[MASK]", "[ mask ]");
    check_ids(false, "", "");
}

/* 200 characters are a word, 201 are [UNK]; the accents do not count where they vanish. */
static void long_words(void)
{
    static const struct {
        int n;
        bool is_unknown;
    } cases[] = {{100, false}, {101, false}, {200, false}, {201, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[3 * 201 + 1] = "", want[7 * 201] = "x";
        for (int k = 0; k < cases[i].n; k++) strcat(text, "x\u0301");
        for (int k = 1; k < cases[i].n; k++) strcat(want, " ##x");
        check_ids(false, text, cases[i].is_unknown ? "[UNK]" : want);
        check_ids(true, text, "[UNK]");
    }
}

/* ---- sentences and text ---------------------------------------------------------------------- */

static void sentences_end(void)
{
    static const char *const cases[] = {"One.|Two!|Three?",
                                        "\"Go.\" |He went.",
                                        "Mr. Knightley came. |J. Smith left.",
                                        "It was 3.14 or so. |Yes...|no",
                                        "He said \"why?\" and left.|",
                                        "no end",
                                        "It was I. |Then 5 came. |5 left.",
                                        "Was ist los? |„Nichts.“ |Gut.",
                                        ""};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128] = "", got[128] = "", want[128] = "";
        for (const char *p = cases[i]; *p; p++)
            if (*p != '|') strncat(text, p, 1);
        const char *at = text;
        for (size_t left = strlen(text); left > 0;) {
            const size_t n = pod_sentence_end(at, left);
            POD_CHECK(n > 0 && n <= left, "'%s': %zu", text, n);
            snprintf(got + strlen(got), sizeof got - strlen(got), "%.*s%s", (int)n, at,
                     n < left ? "|" : "");
            at += n;
            left -= n;
        }
        /* A '|' that no blank precedes is where no sentence ends. */
        for (const char *p = cases[i]; *p; p++)
            if (*p != '|' || (p > cases[i] && p[-1] == ' ' && p[1])) strncat(want, p, 1);
        POD_CHECK(strcmp(got, want) == 0, "'%s', want '%s'", got, want);
    }
}

static void text_of_pieces(void)
{
    static const char *const cases[] = {"don't stop, Tom's well-known dog!",
                                        "He said \"yes\" (twice), at 3.14 or 1,000.",
                                        "Is it 5%? No: 10:30.",
                                        "„Gut“, sagte er; geht's?",
                                        "O'Brien and the students' books.",
                                        "Ich hab’s, sagt ‘er’."};
    static const char *const pieces[] = {"don ' t stop , Tom ' s well - known do ##g !",
                                         "He said \" yes \" ( t ##wice ) , at 3 . 14 or 1 , 000 .",
                                         "Is it 5 % ? No : 10 : 30 .",
                                         "„ Gut “ , sagte er ; geht ' s ?",
                                         "O ' Brien and the students ' books .",
                                         "Ich hab ’ s , sagt ‘ er ’ ."};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        const char *token[64];
        int32_t id[64];
        int n = POD_N_SPECIALS, n_ids = 0;
        for (int k = 0; k < POD_N_SPECIALS; k++) token[k] = pod_special_token[k];
        id[n_ids++] = POD_CLS;
        strcpy(text, pieces[i]);
        for (char *w = strtok(text, " "); w; w = strtok(NULL, " ")) {
            int k = 0;
            while (k < n && strcmp(token[k], w) != 0) k++;
            if (k == n) token[n++] = w;
            id[n_ids++] = k;
        }
        id[n_ids++] = POD_SEP;
        id[n_ids++] = POD_PAD;
        const pod_vocab *v;
        pod_chars out = {0};
        POD_NEED_OK(pod_vocab_make("pieces", n, token, pod_test_arena(), &v));
        POD_CHECK_OK(pod_detokenize(v, n_ids, id, &out));
        POD_CHECK(strcmp(out.text, cases[i]) == 0, "'%s', want '%s'", out.text, cases[i]);
        POD_CHECK_OK(pod_detokenize(v, 0, id, &out));
        POD_CHECK(out.n == 0 && out.text[0] == '\0', "no ids: '%s'", out.text);
        pod_chars_free(&out);
    }
}

POD_TEST_SUITE("runtime.tokenizer", {"words of text", words_of_text}, {"many marks", many_marks},
               {"invalid bytes are dropped", invalid_bytes_are_dropped},
               {"pieces of words", pieces_of_words}, {"long words", long_words},
               {"sentences end", sentences_end}, {"text of pieces", text_of_pieces});
