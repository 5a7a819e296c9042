#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/base/assert.h"
#include "runtime/core/file.h"
#include "runtime/data/import/import.h"
#include "runtime/data/text/text_set_write.h"
#include "runtime/text/chars.h"
#include "runtime/text/sentence.h"
#include "runtime/text/tokenizer.h"

enum { N_COLUMNS = 2 };

typedef struct intake {
    const pod_import_words_options *options;
    pod_log *log;
    pod_arena *arena;
    bool is_pairs;
    pod_text_info info;
    pod_text_files files;
    pod_tokenizer *tokenizer;
    pod_ids ids[N_COLUMNS];
    pod_text_writer *writer;
    pod_invalid_bytes invalid;
    pod_split split;            /* of the document, or pair, that is read */
    int64_t n_units, n_in_file; /* documents or pairs so far; rows of this file */
    int64_t done_bytes;
} intake;

/* ---- splits ---------------------------------------------------------------------------------- */

/* Every 1/share-th document or pair is of the test split: number i if floor(i share) steps up behind
 * it. */
static pod_split split_of(const intake *m, const pod_text_file *file)
{
    if (m->options->test_files) return file->is_test ? POD_SPLIT_TEST : POD_SPLIT_TRAIN;
    const double share = m->options->test_share, rounding = 1e-9;
    const double before = floor((double)m->n_units * share + rounding);
    return floor((double)(m->n_units + 1) * share + rounding) > before ? POD_SPLIT_TEST
                                                                       : POD_SPLIT_TRAIN;
}

/* ---- sentences and documents ----------------------------------------------------------------- */

static pod_status end_document(intake *m, const pod_text_file *file)
{
    const int64_t before = pod_text_writer_documents(m->writer, m->split);
    POD_TRY(pod_text_writer_end_document(m->writer, m->split));
    if (pod_text_writer_documents(m->writer, m->split) > before) m->n_units++;
    m->split = split_of(m, file);
    return POD_OK;
}

static pod_status add_sentence(intake *m, const char *text, size_t bytes)
{
    pod_ids *ids = &m->ids[0];
    ids->n = 0;
    POD_TRY(pod_tokenizer_run(m->tokenizer, text, bytes, ids));
    if (ids->n == 0) return POD_OK;
    const int64_t n = (int64_t)ids->n;
    const int32_t *const id = ids->id;
    m->n_in_file++;
    return pod_text_writer_add(m->writer, m->split, &n, &id);
}

static pod_status take_line(intake *m, const pod_text_file *file, const char *text, size_t bytes)
{
    text = pod_text_strip(text, &bytes);
    if (bytes == 0) return m->options->by_file ? POD_OK : end_document(m, file);
    if (!m->options->splits_sentences) return add_sentence(m, text, bytes);
    for (size_t n; bytes > 0; text += n, bytes -= n) {
        n = pod_sentence_end(text, bytes);
        POD_TRY(add_sentence(m, text, n));
    }
    return POD_OK;
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Field `column` (from 1) of a line of `n_fields`; NULL: it has none. */
static const char *find_field(const char *line, size_t bytes, int column, size_t *field_bytes)
{
    const char *end = line + bytes;
    for (int i = 1; i < column; i++) {
        line = memchr(line, '\t', (size_t)(end - line));
        if (!line) return NULL;
        line++;
    }
    const char *tab = memchr(line, '\t', (size_t)(end - line));
    *field_bytes = (size_t)((tab ? tab : end) - line);
    return line;
}

static int count_fields(const char *line, size_t bytes)
{
    int n = 1;
    for (size_t i = 0; i < bytes; i++) n += line[i] == '\t';
    return n;
}

static pod_status take_pair(intake *m, const pod_text_file *file, int64_t number, const char *line,
                            size_t bytes)
{
    int64_t n[N_COLUMNS];
    const int32_t *id[N_COLUMNS];
    size_t rest = bytes, field_bytes;
    (void)pod_text_strip(line, &rest);
    if (rest == 0)
        return pod_fail(POD_E_FORMAT, "%s: line %" PRId64 " is empty, want a pair", file->path,
                        number);
    for (int k = 0; k < N_COLUMNS; k++) {
        const int column = m->options->column[k];
        const char *field = find_field(line, bytes, column, &field_bytes);
        if (!field)
            return pod_fail(POD_E_FORMAT,
                            "%s: line %" PRId64
                            ": has %d fields separated by tabs, want a sentence in field %d "
                            "(--columns)",
                            file->path, number, count_fields(line, bytes), column);
        m->ids[k].n = 0;
        POD_TRY(pod_tokenizer_run(m->tokenizer, field, field_bytes, &m->ids[k]));
        if (m->ids[k].n == 0)
            return pod_fail(POD_E_FORMAT,
                            "%s: line %" PRId64 ": field %d has no words, want a "
                            "sentence",
                            file->path, number, column);
        n[k] = (int64_t)m->ids[k].n;
        id[k] = m->ids[k].id;
    }
    m->n_units++;
    m->n_in_file++;
    return pod_text_writer_add(m->writer, m->split, n, id);
}

/* ---- files ----------------------------------------------------------------------------------- */

static pod_status read_lines(intake *m, const pod_text_file *file, pod_lines *lines)
{
    const char *line;
    size_t bytes;
    m->n_in_file = 0;
    m->split = split_of(m, file);
    for (;;) {
        POD_TRY(pod_lines_next(lines, &line, &bytes));
        if (!line) break;
        if (m->is_pairs) {
            m->split = split_of(m, file);
            POD_TRY(take_pair(m, file, pod_lines_number(lines), line, bytes));
        } else {
            POD_TRY(take_line(m, file, line, bytes));
        }
        pod_progress_at(m->log, (m->done_bytes + pod_lines_offset(lines)) >> 10, "%s", "");
    }
    m->done_bytes += pod_lines_offset(lines);
    if (m->n_in_file == 0)
        return pod_fail(POD_E_FORMAT, "%s: empty: no line has a word; leave it out", file->path);
    return m->is_pairs ? POD_OK : end_document(m, file);
}

static pod_status read_file(intake *m, const pod_text_file *file)
{
    pod_lines *lines;
    POD_TRY(pod_lines_open(file->path, &m->invalid, &lines));
    const pod_status s = read_lines(m, file, lines);
    pod_lines_close(lines);
    return s;
}

static pod_status read_files(intake *m)
{
    pod_progress_begin(m->log, "importing", "KiB", 0, m->files.bytes >> 10);
    pod_status s = POD_OK;
    for (int i = 0; i < m->files.n && s == POD_OK; i++) s = read_file(m, &m->files.file[i]);
    pod_progress_end(m->log);
    return s;
}

/* ---- what was found -------------------------------------------------------------------------- */

static void tell(const intake *m, const int64_t n_rows[], const int64_t n_documents[])
{
    const int64_t documents = n_documents[0] + n_documents[1], rows = n_rows[0] + n_rows[1];
    pod_text_tell_ignored(&m->files, m->log);
    pod_text_tell_invalid(&m->invalid, m->log);
    if (m->info.vocab->has_capitals != m->options->is_cased)
        pod_log_say(
            m->log, POD_LOG_WARNING,
            m->options->is_cased
                ? "%s: has no tokens with capital letters, so that words with them become "
                  "[UNK]; without --cased words are lower case"
                : "%s: has tokens with capital letters, which lower-case words never match; "
                  "--cased keeps case",
            m->options->vocab);
    for (int s = 0; s < POD_N_SPLITS; s++)
        if (n_rows[s] == 0)
            pod_log_say(m->log, POD_LOG_WARNING,
                        "the %s split is empty: --test-share %g of %" PRId64
                        " %s; --test-files names files for it",
                        pod_split_name((pod_split)s), m->options->test_share, m->n_units,
                        m->is_pairs ? "pairs" : "documents");
    if (m->is_pairs) return;
    if (documents == 1)
        pod_log_say(m->log, POD_LOG_WARNING,
                    "all text is one document: a random next sentence needs two; %s",
                    m->options->by_file ? "give more files" : "empty lines separate documents");
    if (rows < 2 * documents)
        pod_log_say(m->log, POD_LOG_WARNING,
                    "%" PRId64 " documents have %" PRId64
                    " sentences, fewer than two each: no next sentence to predict; %s",
                    documents, rows,
                    m->options->by_file ? "--sentences split divides paragraphs"
                                        : "--documents file ignores empty lines");
}

/* ---- all ------------------------------------------------------------------------------------- */

static pod_status check_output(const intake *m, const char *h5_path)
{
    for (int i = 0; i < m->files.n; i++)
        if (pod_file_is_same(h5_path, m->files.file[i].path))
            return pod_fail(POD_E_INVALID, "%s: is a file that is imported", h5_path);
    if (pod_file_is_same(h5_path, m->options->vocab))
        return pod_fail(POD_E_INVALID, "%s: is the vocabulary", h5_path);
    return pod_file_check(h5_path);
}

static pod_status write_set(intake *m, const char *h5_path)
{
    int64_t n_rows[POD_N_SPLITS], n_documents[POD_N_SPLITS];
    POD_TRY(pod_text_writer_open(h5_path, &m->info, &m->writer));
    pod_status s = read_files(m);
    for (int k = 0; k < POD_N_SPLITS; k++) {
        n_rows[k] = pod_text_writer_rows(m->writer, (pod_split)k);
        n_documents[k] = pod_text_writer_documents(m->writer, (pod_split)k);
    }
    if (s == POD_OK) {
        POD_TRY(pod_text_writer_finish(m->writer));
        tell(m, n_rows, n_documents);
        return POD_OK;
    }
    pod_text_writer_abort(m->writer);
    return s;
}

/* The folder whose licence is that of the data. */
static pod_status take_text(intake *m, const char *from)
{
    struct stat st;
    pod_dataset_info texts = {0};
    const char *slash = strrchr(from, '/');
    const bool is_folder = stat(from, &st) == 0 && S_ISDIR(st.st_mode);
    const char *folder = is_folder ? from
                         : slash   ? pod_arena_text(m->arena, "%.*s", (int)(slash - from) + 1, from)
                                   : ".";
    if (!folder) return POD_E_NOMEM;
    POD_TRY(pod__import_text_take(&m->options->text, folder, m->arena, &texts));
    m->info.name = texts.name;
    m->info.origin = texts.origin;
    m->info.licence = texts.licence;
    return POD_OK;
}

static pod_status import(intake *m, int n, const char *const from[], const char *h5_path)
{
    const pod_import_words_options *o = m->options;
    POD_TRY(pod_text_files_list(n, from, m->is_pairs, o->test_files, m->arena, &m->files));
    POD_TRY(check_output(m, h5_path));
    POD_TRY(pod_vocab_read(o->vocab, m->arena, &m->info.vocab));
    POD_TRY(take_text(m, from[0]));
    m->info.is_cased = o->is_cased;
    m->info.has_documents = !m->is_pairs;
    m->info.n_fields = m->is_pairs ? N_COLUMNS : 1;
    m->info.field[0] = m->is_pairs ? "source" : "tokens";
    m->info.field[1] = "target";
    POD_TRY(pod_tokenizer_create(m->info.vocab, o->is_cased, &m->tokenizer));
    return write_set(m, h5_path);
}

static pod_status import_with(bool is_pairs, int n, const char *const from[], const char *h5_path,
                              const pod_import_words_options *options)
{
    intake m = {.options = options, .log = options->log, .is_pairs = is_pairs};
    POD_ASSERT(n > 0, "%d files", n);
    POD_TRY(pod_arena_create(NULL, &m.arena));
    const pod_status s = import(&m, n, from, h5_path);
    pod_tokenizer_destroy(m.tokenizer);
    for (int k = 0; k < N_COLUMNS; k++) pod_ids_free(&m.ids[k]);
    pod_arena_destroy(m.arena);
    return s;
}

pod_status pod_import_documents(int n, const char *const from[], const char *h5_path,
                                const pod_import_words_options *options)
{
    return import_with(false, n, from, h5_path, options);
}

pod_status pod_import_pairs(int n, const char *const from[], const char *h5_path,
                            const pod_import_words_options *options)
{
    return import_with(true, n, from, h5_path, options);
}
