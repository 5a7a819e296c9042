#include "runtime/text/tokenizer.h"

#include <stdlib.h>

#include "runtime/text/basic.h"
#include "runtime/text/inner.h"

struct pod_tokenizer {
    pod_basic *basic;
    const pod_vocab *vocab;
    pod_ids *ids; /* of the call that runs */
};

void pod_ids_free(pod_ids *ids)
{
    free(ids->id);
    *ids = (pod_ids){0};
}

pod_status pod_tokenizer_create(const pod_vocab *v, bool is_cased, pod_tokenizer **out)
{
    pod_tokenizer *t = calloc(1, sizeof *t);
    if (!t) return pod_fail(POD_E_NOMEM, "no memory for a tokenizer");
    t->vocab = v;
    const pod_status s = pod_basic_create(is_cased, &t->basic);
    if (s != POD_OK) {
        free(t);
        return s;
    }
    *out = t;
    return POD_OK;
}

void pod_tokenizer_destroy(pod_tokenizer *t)
{
    if (!t) return;
    pod_basic_destroy(t->basic);
    free(t);
}

static pod_status add_word(void *ctx, const char *word, size_t bytes, size_t n_chars)
{
    pod_tokenizer *t = ctx;
    pod_ids *ids = t->ids;
    void *at = ids->id;
    const bool is_long = n_chars > POD_WORD_MAX_CHARS;
    const pod_status s =
        pod__make_room(&at, sizeof *ids->id, &ids->room, ids->n + (is_long ? 1 : bytes));
    ids->id = at;
    POD_TRY(s);
    const size_t n = is_long ? 0 : pod_vocab_split(t->vocab, word, bytes, ids->id + ids->n);
    if (n == 0) ids->id[ids->n] = t->vocab->special[POD_UNK];
    ids->n += n > 0 ? n : 1;
    return POD_OK;
}

pod_status pod_tokenizer_run(pod_tokenizer *t, const char *text, size_t bytes, pod_ids *ids)
{
    t->ids = ids;
    return pod_basic_run(t->basic, text, bytes, add_word, t);
}
