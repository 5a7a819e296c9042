/* Vocabularies: files of them, and their training; and the lines of text files. */
#include "runtime/text/vocab.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/text/basic.h"
#include "runtime/text/lines.h"
#include "runtime/text/vocab_train.h"
#include "tests/harness/harness.h"

static const char specials[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";

static pod_status read(const char *text, size_t bytes, const pod_vocab **v)
{
    const char *path = pod_test_path("vocab.txt");
    pod_test_spill(path, text, bytes);
    return pod_vocab_read(path, pod_test_arena(), v);
}

static void files_are_read(void)
{
    const pod_vocab *v;
    static const char text[] = "a\r\n[MASK] \n[SEP]\n\t##b\n[CLS]\n[UNK]\n[PAD]\n\u3000é";
    POD_NEED_OK(read(text, sizeof text - 1, &v));
    POD_CHECK(v->n == 8 && v->special[POD_PAD] == 6 && v->special[POD_MASK] == 1 && v->longest == 6,
              "%d tokens, longest %zu", v->n, v->longest);
    POD_CHECK(pod_vocab_find(v, "##b") == 3 && pod_vocab_find(v, "é") == 7 &&
                  pod_vocab_find(v, "a") == 0 && pod_vocab_find(v, "b") == -1,
              "ids");
    POD_CHECK(!v->has_capitals, "capitals of special tokens count");
}

static void files_are_refused(void)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"", "vocab.txt: has 0 tokens, want 1 to 4194304, one per line"},
        {"[PAD]\n[UNK]\n[CLS]\n[SEP]\na\n",
         "vocab.txt: lines 1 to 5 have no [MASK]; want [PAD], [UNK], [CLS], [SEP] and [MASK]"},
        {"a\n", "have no [PAD]"},
        {"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\na\n",
         "vocab.txt: line 8: 'a' is in line 6 too, want it once"},
        {"[PAD]\n[UNK]\n\n[CLS]\n", "vocab.txt: line 3 is empty, want a token"},
        {"[PAD]\n[UNK]\n \t\n[CLS]\n", "line 3 is empty"},
        {"[PAD]\nb\xff\n", "vocab.txt: line 2, byte 2: invalid UTF-8, byte ff"},
    };
    const pod_vocab *v;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        POD_CHECK_FAILS(read(cases[i].text, strlen(cases[i].text), &v), POD_E_FORMAT, cases[i].why);
    char large[sizeof specials + POD_TOKEN_MAX_BYTES + 1];
    snprintf(large, sizeof large, "%s", specials);
    memset(large + sizeof specials - 1, 'x', POD_TOKEN_MAX_BYTES + 1);
    POD_CHECK_FAILS(read(large, sizeof large - 1, &v), POD_E_FORMAT,
                    "line 6: a token of 1025 bytes, want at most 1024");
    POD_CHECK_FAILS(read("a\0b\n", 4, &v), POD_E_FORMAT, "vocab.txt");
    POD_CHECK_FAILS(pod_vocab_read(pod_test_path("nowhere"), pod_test_arena(), &v), POD_E_IO,
                    "nowhere");
}

/* ---- training -------------------------------------------------------------------------------- */

static pod_status train(const char *text, int64_t size, int n_alphabet, char *out)
{
    const pod_vocab_options options = {size, 2, n_alphabet};
    const char *const *token;
    pod_word_counts *c;
    pod_basic *b;
    int64_t n = 0;
    POD_NEED_OK(pod_word_counts_create(&c));
    POD_NEED_OK(pod_basic_create(true, &b));
    POD_CHECK_OK(pod_basic_run(b, text, strlen(text), pod_word_counts_add, c));
    const pod_status s = pod_vocab_train(c, &options, pod_test_arena(), &n, &token);
    out[0] = '\0';
    for (int64_t i = POD_N_SPECIALS; i < n; i++) sprintf(out + strlen(out), " %s", token[i]);
    pod_word_counts_destroy(c);
    pod_basic_destroy(b);
    return s;
}

/* By hand. Counts: low 3, lower 2, new 1. Pairs: (l, ##o) 5, (##o, ##w) 5; the lower left id first:
 * ids are e 5, l 6, n 7, o 8, r 9, w 10, ##e 11, ##o 12, ##r 13, ##w 14. Then (lo, ##w) 5; then
 * (##e, ##r) 2 and (low, ##e) 2: the lower left id is ##e's. Then (low, ##er) 2. (n, ##e) occurs
 * once. */
static void pairs_are_merged(void)
{
    static const char text[] = "low lower low new low lower";
    static const char *const all = " e l n o r w ##e ##o ##r ##w lo low ##er lower";
    char got[1024];
    POD_CHECK_OK(train(text, 100, 1000, got));
    POD_CHECK(strcmp(got, all) == 0, "'%s', want '%s'", got, all);
    POD_CHECK_OK(train("new lower lower low low low", 100, 1000, got));
    POD_CHECK(strcmp(got, all) == 0, "in another order: '%s'", got);
    POD_CHECK_OK(train(text, 17, 1000, got));
    POD_CHECK(strcmp(got, " e l n o r w ##e ##o ##r ##w lo low") == 0, "size 17: '%s'", got);
    /* An alphabet of five leaves out n, and the word with it. */
    POD_CHECK_OK(train(text, 100, 5, got));
    POD_CHECK(strcmp(got, " e l o r w ##e ##o ##r ##w lo low ##er lower") == 0, "'%s'", got);
    POD_CHECK_FAILS(train(text, 14, 1000, got), POD_E_INVALID,
                    "14 tokens has no room for 5 special tokens and 6 characters, want 15");
    /* (##a, ##a) occurs twice in a word; the left one is merged. */
    POD_CHECK_OK(train("aaaa aaaa", 100, 1000, got));
    POD_CHECK(strcmp(got, " a ##a ##aa aaa aaaa") == 0, "'%s'", got);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void lines_are_read(void)
{
    enum { LONG = 3 << 20 }; /* longer than two blocks */
    const char *path = pod_test_path("lines.txt"), *line;
    char *text = malloc(LONG + 64);
    size_t bytes;
    pod_invalid_bytes invalid = {0};
    pod_lines *l;
    CU_ASSERT_FATAL(text != NULL);
    memset(text, 'x', LONG);
    memcpy(text + LONG,
           "\n\n\xff"
           "b\xc3\r\nlast",
           12);
    pod_test_spill(path, text, LONG + 11);
    POD_NEED_OK(pod_lines_open(path, &invalid, &l));
    POD_CHECK_OK(pod_lines_next(l, &line, &bytes));
    POD_CHECK(bytes == LONG, "%zu bytes", bytes);
    POD_CHECK_OK(pod_lines_next(l, &line, &bytes));
    POD_CHECK(bytes == 0 && line && pod_lines_number(l) == 2, "line 2 has %zu bytes", bytes);
    POD_CHECK_OK(pod_lines_next(l, &line, &bytes));
    POD_CHECK(bytes == 2 && memcmp(line, "b\r", 2) == 0, "line 3 has %zu bytes", bytes);
    POD_CHECK_OK(pod_lines_next(l, &line, &bytes));
    POD_CHECK(bytes == 4 && memcmp(line, "last", 4) == 0 && pod_lines_offset(l) == LONG + 11,
              "line 4 has %zu bytes", bytes);
    POD_CHECK_OK(pod_lines_next(l, &line, &bytes));
    POD_CHECK(!line, "a line behind the end");
    POD_CHECK(invalid.n == 2 && invalid.first_line == 3 && invalid.first_byte == 1,
              "%d invalid bytes", (int)invalid.n);
    pod_lines_close(l);
    free(text);
}

static void lines_are_refused(void)
{
    const char *path = pod_test_path("long.txt"), *line;
    char *text = malloc(POD_LINE_MAX_BYTES + 3);
    size_t bytes;
    pod_invalid_bytes invalid = {0};
    pod_lines *l;
    CU_ASSERT_FATAL(text != NULL);
    memset(text, 'x', POD_LINE_MAX_BYTES + 3);
    for (int extra = 0; extra < 2; extra++) {
        memcpy(text, "a\n", 2);
        pod_test_spill(path, text, (size_t)POD_LINE_MAX_BYTES + 2 + (size_t)extra);
        POD_NEED_OK(pod_lines_open(path, &invalid, &l));
        POD_CHECK_OK(pod_lines_next(l, &line, &bytes));
        if (extra)
            POD_CHECK_FAILS(pod_lines_next(l, &line, &bytes), POD_E_FORMAT,
                            "long.txt: line 2 has more than 8 MiB");
        else
            POD_CHECK_OK(pod_lines_next(l, &line, &bytes));
        pod_lines_close(l);
    }
    free(text);
    POD_CHECK_FAILS(pod_lines_open(pod_test_path("none.txt"), &invalid, &l), POD_E_IO, "none.txt");
    POD_CHECK_FAILS(pod_lines_open(pod_test_folder(), &invalid, &l), POD_E_IO, "is a folder");
}

POD_TEST_SUITE("runtime.vocab", {"files are read", files_are_read},
               {"files are refused", files_are_refused}, {"pairs are merged", pairs_are_merged},
               {"lines are read", lines_are_read}, {"lines are refused", lines_are_refused});
