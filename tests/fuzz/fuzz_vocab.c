/* Arbitrary bytes as a file of a vocabulary: what is taken finds each of its tokens under its line. */
#include "kernels/base/assert.h"
#include "runtime/text/vocab.h"
#include "tests/fuzz/fuzz_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pod_arena *a;
    const pod_vocab *v;
    if (pod_arena_create(NULL, &a) != POD_OK) return 0;
    if (pod_vocab_read(fuzz_file(data, bytes), a, &v) == POD_OK)
        for (int32_t i = 0; i < v->n; i++)
            POD_ASSERT(pod_vocab_find(v, v->token[i]) == i, "token %d", i);
    pod_arena_destroy(a);
    return 0;
}
