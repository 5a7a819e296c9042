#include "bench/data/text.h"

#include <inttypes.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "runtime/core/file.h"
#include "runtime/core/words.h"
#include "runtime/text/basic.h"
#include "runtime/text/lines.h"
#include "runtime/text/vocab.h"
#include "runtime/text/vocab_train.h"

enum { FIRST_FILE = 2, MIN_COUNT = 2, N_ALPHABET = 1000, MAX_COLUMN = 1000 };

/* The words of the command line behind "import text" or "make vocab"; in the arena. */
static pod_status take_files(const pod_config *c, pod_arena *a, int *n, const char *const **out)
{
    const char **from = POD_ARENA_NEW(a, const char *, pod_config_n_args(c));
    if (!from) return POD_E_NOMEM;
    *n = pod_config_n_args(c) - FIRST_FILE;
    for (int i = 0; i < *n; i++) from[i] = pod_config_arg(c, FIRST_FILE + i);
    *out = from;
    return POD_OK;
}

static const char *test_files_of(const pod_config *c)
{
    return pod_config_is_set(c, POD_OPT_TEST_FILES) ? pod_config_text(c, POD_OPT_TEST_FILES) : NULL;
}

/* ---- import ---------------------------------------------------------------------------------- */

static pod_status parse_columns(const char *text, int column[2])
{
    char word[32];
    int64_t value;
    const char *rest = text;
    for (int k = 0; k < 2; k++) {
        if (!*rest) return pod_fail(POD_E_INVALID, "columns: '%s' is one number, want two", text);
        POD_TRY(pod_word_take("columns", &rest, word, sizeof word));
        POD_TRY(pod_parse_int("columns", word, 1, MAX_COLUMN, &value));
        column[k] = (int)value;
    }
    if (*rest) return pod_fail(POD_E_INVALID, "columns: '%s' is more than two numbers", text);
    if (column[0] == column[1])
        return pod_fail(POD_E_INVALID, "columns: '%s' names one column twice", text);
    return POD_OK;
}

pod_status pod__data_import_text(pod_call *call, const char *path, const pod_import_text *text)
{
    const pod_config *c = call->config;
    const bool is_pairs = strcmp(pod_config_arg(c, 1), "pairs") == 0;
    pod_import_words_options o = {
        .text = *text,
        .vocab = pod_config_text(c, POD_OPT_VOCAB),
        .is_cased = pod_config_bool(c, POD_OPT_CASED),
        .by_file = strcmp(pod_config_text(c, POD_OPT_DOCUMENTS), "file") == 0,
        .splits_sentences = strcmp(pod_config_text(c, POD_OPT_SENTENCES), "split") == 0,
        .test_files = test_files_of(c),
        .test_share = pod_config_double(c, POD_OPT_TEST_SHARE),
        .log = call->log};
    if (o.vocab[0] == '\0')
        return pod_fail(POD_E_INVALID,
                        "import %s needs --vocab V.txt; minipod data make vocab makes one",
                        pod_config_arg(c, 1));
    if (o.test_files && pod_config_source(c, POD_OPT_TEST_SHARE) == POD_FROM_COMMAND_LINE)
        return pod_fail(POD_E_INVALID, "test-share: test-files names the test split");
    POD_TRY(parse_columns(pod_config_text(c, POD_OPT_COLUMNS), o.column));
    pod_arena *a;
    POD_TRY(pod_arena_create(NULL, &a));
    const char *const *from;
    int n;
    pod_status s = take_files(c, a, &n, &from);
    if (s == POD_OK)
        s = is_pairs ? pod_import_pairs(n, from, path, &o)
                     : pod_import_documents(n, from, path, &o);
    pod_arena_destroy(a);
    return s;
}

/* ---- a vocabulary ---------------------------------------------------------------------------- */

typedef struct counter {
    pod_arena *arena;
    pod_basic *basic;
    pod_word_counts *counts;
    pod_invalid_bytes invalid;
    pod_log *log;
    int64_t done_bytes;
} counter;

static pod_status count_lines(counter *k, pod_lines *lines)
{
    const char *line;
    size_t bytes;
    for (;;) {
        POD_TRY(pod_lines_next(lines, &line, &bytes));
        if (!line) return POD_OK;
        POD_TRY(pod_basic_run(k->basic, line, bytes, pod_word_counts_add, k->counts));
        pod_progress_at(k->log, (k->done_bytes + pod_lines_offset(lines)) >> 10, "%s", "");
    }
}

static pod_status count_files(counter *k, int n, const pod_text_file *file)
{
    const pod_word_count *word;
    const char *text;
    for (int i = 0; i < n; i++) {
        pod_lines *lines;
        POD_TRY(pod_lines_open(file[i].path, &k->invalid, &lines));
        const pod_status s = count_lines(k, lines);
        k->done_bytes += pod_lines_offset(lines);
        pod_lines_close(lines);
        POD_TRY(s);
    }
    if (pod_word_counts_list(k->counts, &word, &text) > 0) return POD_OK;
    return pod_fail(POD_E_FORMAT, "%s: empty: no line has a word", file[0].path);
}

static pod_status make_vocab(counter *k, const pod_config *c, const char *path)
{
    const pod_vocab_options options = {pod_config_size(c, POD_OPT_SIZE), MIN_COUNT, N_ALPHABET};
    const char *const *from, *const *token;
    pod_text_files files;
    const pod_word_count *word;
    const char *text;
    int n;
    int64_t n_tokens;
    if (!pod_config_is_set(c, POD_OPT_SIZE))
        return pod_fail(POD_E_INVALID, "make vocab needs --size N, the number of tokens");
    if (options.size > POD_VOCAB_MAX)
        return pod_fail(POD_E_INVALID, "size: %" PRId64 " tokens, want at most %d", options.size,
                        POD_VOCAB_MAX);
    POD_TRY(take_files(c, k->arena, &n, &from));
    POD_TRY(pod_text_files_list(n, from, true, NULL, k->arena, &files));
    for (int i = 0; i < files.n; i++)
        if (pod_file_is_same(path, files.file[i].path))
            return pod_fail(POD_E_INVALID, "%s: is a file that is read", path);
    POD_TRY(pod_file_check(path));
    POD_TRY(pod_basic_create(pod_config_bool(c, POD_OPT_CASED), &k->basic));
    POD_TRY(pod_word_counts_create(&k->counts));
    pod_progress_begin(k->log, "counting words", "KiB", 0, files.bytes >> 10);
    const pod_status s = count_files(k, files.n, files.file);
    pod_progress_end(k->log);
    POD_TRY(s);
    POD_TRY(pod_vocab_train(k->counts, &options, k->arena, &n_tokens, &token));
    POD_TRY(pod_vocab_write(path, n_tokens, token));
    pod_text_tell_ignored(&files, k->log);
    pod_text_tell_invalid(&k->invalid, k->log);
    if (n_tokens < options.size)
        pod_log_say(k->log, POD_LOG_WARNING,
                    "%s: %" PRId64 " tokens instead of %" PRId64 ": no other pair occurs %d times",
                    path, n_tokens, options.size, MIN_COUNT);
    pod_log_say(k->log, POD_LOG_RESULT,
                "%s: %" PRId64 " tokens, from %zu different words in %d files", path, n_tokens,
                pod_word_counts_list(k->counts, &word, &text), files.n);
    return POD_OK;
}

pod_status pod__data_make_vocab(pod_call *call, const char *path)
{
    counter k = {.log = call->log};
    POD_TRY(pod_arena_create(NULL, &k.arena));
    const pod_status s = make_vocab(&k, call->config, path);
    pod_word_counts_destroy(k.counts);
    pod_basic_destroy(k.basic);
    pod_arena_destroy(k.arena);
    return s;
}
