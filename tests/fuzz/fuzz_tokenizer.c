/* Arbitrary bytes as text: words are valid UTF-8 without spaces, ids are of the vocabulary, and what
 * comes of ids is text again. */
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/text/basic.h"
#include "runtime/text/chars.h"
#include "runtime/text/detokenize.h"
#include "runtime/text/sentence.h"
#include "runtime/text/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static const char *const tokens[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a",
                                     "##a",   "##b",   "ab",    ".",     "'",      "-",
                                     "\"",    "é",     "##é",   "漢"};

static pod_status check_word(void *ctx, const char *word, size_t bytes, size_t n_chars)
{
    size_t n = 0;
    int32_t c = 0;
    (void)ctx;
    for (size_t i = 0; i < bytes; n++) {
        const int used = pod_utf8_decode(word + i, bytes - i, &c);
        POD_ASSERT(used > 0 && !pod_char_is_space(c) && !pod_char_is_dropped(c), "byte %zu", i);
        i += (size_t)used;
    }
    POD_ASSERT(n == n_chars && n > 0, "%zu characters, told %zu", n, n_chars);
    return POD_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static pod_arena *arena;
    static const pod_vocab *v;
    const char *text = (const char *)data;
    if (!arena &&
        (pod_arena_create(NULL, &arena) != POD_OK ||
         pod_vocab_make("tokens", sizeof tokens / sizeof tokens[0], tokens, arena, &v) != POD_OK))
        abort();
    for (int is_cased = 0; is_cased < 2; is_cased++) {
        pod_basic *b;
        pod_tokenizer *t;
        pod_ids ids = {0};
        pod_chars out = {0};
        if (pod_basic_create(is_cased, &b) != POD_OK) return 0;
        if (pod_basic_run(b, text, bytes, check_word, NULL) != POD_OK) abort();
        pod_basic_destroy(b);
        if (pod_tokenizer_create(v, is_cased, &t) != POD_OK) return 0;
        if (pod_tokenizer_run(t, text, bytes, &ids) != POD_OK) abort();
        for (size_t i = 0; i < ids.n; i++)
            POD_ASSERT(ids.id[i] >= 0 && ids.id[i] < v->n, "id %d", ids.id[i]);
        if (pod_detokenize(v, (int64_t)ids.n, ids.id, &out) != POD_OK) abort();
        pod_chars_free(&out);
        pod_ids_free(&ids);
        pod_tokenizer_destroy(t);
    }
    for (size_t n; bytes > 0; text += n, bytes -= n) {
        n = pod_sentence_end(text, bytes);
        POD_ASSERT(n > 0 && n <= bytes, "a sentence of %zu of %zu bytes", n, bytes);
    }
    return 0;
}
