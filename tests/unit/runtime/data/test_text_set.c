/* Data sets of text: written, read back, and refused when something is wrong. */
#include "runtime/data/text/text_set.h"

#include <string.h>

#include "runtime/data/text/text_set_write.h"
#include "runtime/h5/h5.h"
#include "tests/harness/harness.h"

static const char *const tokens[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"};

static const char *path(void) { return pod_test_path("text.h5"); }

static pod_text_info info_of(bool is_pairs)
{
    pod_text_info info = {.name = "made",
                          .origin = "here",
                          .licence = "none",
                          .n_fields = is_pairs ? 2 : 1,
                          .field = {is_pairs ? "source" : "tokens", "target"},
                          .has_documents = !is_pairs,
                          .is_cased = is_pairs};
    POD_NEED_OK(pod_vocab_make("tokens", 7, tokens, pod_test_arena(), &info.vocab));
    return info;
}

/* Row i of field f: i % 90 + 1 + f ids, which follow from i. */
static int64_t make_row(int64_t i, int f, int32_t id[])
{
    const int64_t n = i % 90 + 1 + f;
    for (int64_t k = 0; k < n; k++) id[k] = (int32_t)((i + k) % 7);
    return n;
}

enum { N_TRAIN = 3000, N_TEST = 7, PER_DOCUMENT = 4, ROOM = 100 }; /* more than a block of ids */

static void write_set(bool is_pairs)
{
    const pod_text_info info = info_of(is_pairs);
    pod_text_writer *w;
    int32_t room[2][ROOM];
    const int32_t *const id[] = {room[0], room[1]};
    POD_NEED_OK(pod_text_writer_open(path(), &info, &w));
    for (int64_t i = 0; i < N_TRAIN + N_TEST; i++) {
        const pod_split s = i < N_TRAIN ? POD_SPLIT_TRAIN : POD_SPLIT_TEST;
        const int64_t n[] = {make_row(i, 0, room[0]), make_row(i, 1, room[1])};
        POD_CHECK_OK(pod_text_writer_add(w, s, n, id));
        if (!is_pairs && i % PER_DOCUMENT == PER_DOCUMENT - 1)
            POD_CHECK_OK(pod_text_writer_end_document(w, s));
    }
    for (int s = 0; !is_pairs && s < POD_N_SPLITS; s++)
        for (int k = 0; k < 2; k++) /* an empty document is none */
            POD_CHECK_OK(pod_text_writer_end_document(w, (pod_split)s));
    POD_NEED_OK(pod_text_writer_finish(w));
}

static void check_rows(const pod_text_set *t, int n_fields)
{
    int64_t n_wrong = 0;
    for (int64_t i = 0; i < N_TRAIN + N_TEST; i++)
        for (int f = 0; f < n_fields; f++) {
            const pod_split s = i < N_TRAIN ? POD_SPLIT_TRAIN : POD_SPLIT_TEST;
            const int64_t row = i < N_TRAIN ? i : i - N_TRAIN;
            int32_t want[ROOM], got[ROOM];
            const int64_t n = make_row(i, f, want);
            const bool ok = pod_text_set_length(t, s, f, row) == n &&
                            pod_text_set_read(t, s, f, row, 0, n, got) == POD_OK &&
                            memcmp(got, want, (size_t)n * sizeof *got) == 0;
            n_wrong += !ok;
        }
    POD_CHECK(n_wrong == 0, "%d rows differ", (int)n_wrong);
}

static void sets_are_read_back(void)
{
    for (int is_pairs = 0; is_pairs < 2; is_pairs++) {
        write_set(is_pairs);
        for (int in_memory = 0; in_memory < 2; in_memory++) {
            pod_text_set *t;
            int32_t id[2];
            POD_NEED_OK(pod_text_set_open(path(), in_memory ? 1 << 30 : 0, NULL, &t));
            const pod_text_info *info = pod_text_set_info(t);
            POD_CHECK(info->n_rows[0] == N_TRAIN && info->n_rows[1] == N_TEST &&
                          info->n_fields == 1 + is_pairs && info->is_cased == is_pairs &&
                          info->has_documents == !is_pairs && info->longest[0][0] == 90 &&
                          info->vocab->n == 7 && strcmp(info->origin, "here") == 0,
                      "info, pairs %d", is_pairs);
            check_rows(t, info->n_fields);
            POD_CHECK_OK(pod_text_set_read(t, POD_SPLIT_TRAIN, 0, 50, 3, 2, id));
            POD_CHECK(id[0] == 53 % 7 && id[1] == 54 % 7, "a part of a row: %d %d", id[0], id[1]);
            const int64_t *document = pod_text_set_documents(t, POD_SPLIT_TEST);
            POD_CHECK(is_pairs
                          ? !document
                          : info->n_documents[0] == N_TRAIN / PER_DOCUMENT &&
                                info->n_documents[1] == 2 && document[1] == 4 && document[2] == 7,
                      "documents");
            pod_text_set_close(t);
        }
    }
}

/* ---- refused --------------------------------------------------------------------------------- */

typedef struct form { /* a file with one thing wrong; zeros are right */
    const char *why;
    int version;
    int32_t id;
    int64_t offset, document, n_values;
    bool no_offset, pads_token, has_no_mask, is_2d;
} form;

static pod_status put(const pod_h5_file *f, const char *name, pod_dtype t, int64_t n, bool is_2d,
                      const void *data)
{
    pod_h5_array a;
    const int64_t dim[] = {n, 1};
    POD_TRY(pod_h5_array_create(f, name, t, is_2d ? 2 : 1, dim, 16, &a));
    const pod_status s = pod_h5_write_rows(&a, t, 0, n, data);
    pod_h5_array_close(&a);
    return s;
}

static pod_status put_split(const form *x, const pod_h5_file *f, bool is_train)
{
    const int32_t id[] = {5, is_train && x->id ? x->id : 6, 5, 5, 5};
    const int32_t offset[] = {0, is_train && x->offset ? (int32_t)x->offset : 2, 3};
    const int32_t document[] = {0, is_train && x->document ? (int32_t)x->document : 2};
    const int64_t n_values = is_train && x->n_values ? x->n_values : 3;
    POD_TRY(put(f, is_train ? "/train/tokens/values" : "/test/tokens/values", POD_I32, n_values,
                is_train && x->is_2d, id));
    if (!is_train || !x->no_offset)
        POD_TRY(put(f, is_train ? "/train/tokens/offsets" : "/test/tokens/offsets", POD_I32, 3,
                    false, offset));
    return put(f, is_train ? "/train/documents" : "/test/documents", POD_I32, 2, false, document);
}

static pod_status put_all(const form *x, const pod_h5_file *f)
{
    static const char *const field[] = {"tokens"};
    const char *token[7];
    memcpy(token, tokens, sizeof token);
    if (x->pads_token) token[6] = "a";
    if (x->has_no_mask) token[4] = "c";
    POD_TRY(put_split(x, f, true));
    POD_TRY(put_split(x, f, false));
    POD_TRY(pod_h5_put_list(f, "/vocabulary", 7, token));
    POD_TRY(pod_h5_put_i64(f, "minipod_dataset", x->version ? x->version : POD_TEXT_VERSION));
    POD_TRY(pod_h5_put_i64(f, "is_cased", 0));
    POD_TRY(pod_h5_put_text(f, "name", "n"));
    POD_TRY(pod_h5_put_text(f, "origin", ""));
    POD_TRY(pod_h5_put_text(f, "licence", ""));
    return pod_h5_put_texts(f, "fields", 1, field);
}

static pod_status open_form(const form *x)
{
    pod_h5_file f;
    pod_text_set *t;
    pod_h5_lock();
    POD_CHECK_OK(pod_h5_create(path(), &f));
    POD_CHECK_OK(put_all(x, &f));
    POD_CHECK_OK(pod_h5_flush(&f));
    POD_CHECK_OK(pod_h5_close(&f));
    pod_h5_unlock();
    POD_TRY(pod_text_set_open(path(), 1 << 20, NULL, &t));
    pod_text_set_close(t);
    return POD_OK;
}

static void sets_are_refused(void)
{
    static const form forms[] = {
        {"text.h5: layout version 3, need 1 or 2", .version = 3},
        {"text.h5: is no data set of text: minipod data import text makes one", .version = 1},
        {"dataset '/train/tokens/values': value 1 is 7, want an id of its vocabulary, 0 to 6",
         .id = 7},
        {"'/train/tokens/values': value 1 is -1", .id = -1},
        {"dataset '/train/tokens/offsets': value 2 is 3, need offsets that ascend", .offset = 3},
        {"dataset '/train/tokens/values' has 5 values, its offsets end at 3", .n_values = 5},
        {"'/train/tokens/values' has 2 dimensions (3x1) of type i32, need 1", .is_2d = true},
        {"dataset '/train/tokens/offsets' is missing", .no_offset = true},
        {"dataset '/train/documents' ends at row 1, need 2", .document = 1},
        {"text.h5: dataset '/vocabulary': line 7: 'a' is in line 6 too", .pads_token = true},
        {"have no [MASK]", .has_no_mask = true},
    };
    const form right = {0};
    POD_CHECK_OK(open_form(&right));
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        POD_CHECK_FAILS(open_form(&forms[i]), POD_E_FORMAT, forms[i].why);
    pod_dataset *d;
    POD_CHECK_OK(open_form(&right));
    POD_NEED_OK(pod_dataset_open(path(), 1, &d));
    POD_CHECK(d->text && d->info.n_tokens == 7 && d->info.n_samples[POD_SPLIT_TRAIN] == 2,
              "as text");
    pod_dataset_close(d);
}

/* The first request for memory fails, then the second, ... */
static void memory_ends(void)
{
    write_set(false);
    for (int n = 0;; n++) {
        pod_test_budget budget = {.n_left = n};
        const pod_alloc alloc = pod_test_budget_alloc(&budget);
        pod_text_set *t = NULL;
        const pod_status s = pod_text_set_open(path(), 1 << 30, &alloc, &t);
        POD_CHECK(s == POD_OK || s == POD_E_NOMEM, "%s", pod_error_text());
        if (s == POD_OK) pod_text_set_close(t);
        POD_CHECK(budget.n_alive == 0, "%d blocks stay", budget.n_alive);
        if (s == POD_OK || n > 200) break;
    }
}

POD_TEST_SUITE("runtime.text_set", {"sets are read back", sets_are_read_back},
               {"sets are refused", sets_are_refused}, {"memory ends", memory_ends});
