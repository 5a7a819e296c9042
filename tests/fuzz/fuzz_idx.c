/* The IDX reader on any file, plain or gzip: it neither crashes nor lies. What opens has extents
 * whose product it can read, and a plain file that is whole is as long as its header says. */
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "kernels/base/assert.h"
#include "runtime/data/import/idx.h"

enum { MAX_ELEMENTS = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void read_all(pod_idx *x, const uint8_t *data, size_t bytes)
{
    static uint8_t element[MAX_ELEMENTS];
    int64_t n = x->element_bytes; /* bytes */
    for (int i = 0; i < x->n_dims; i++) {
        POD_ASSERT(x->dim[i] > 0 && n <= INT64_MAX / x->dim[i], "extent %d", i);
        n *= x->dim[i];
    }
    /* 1100 is more than deflate can pack into a byte */
    POD_ASSERT(n <= (int64_t)bytes * 1100, "%lld bytes of %zu bytes", (long long)n, bytes);
    if (n > MAX_ELEMENTS || pod_idx_read(x, n, element) != POD_OK) return;
    bool is_whole = pod_idx_finish(x) == POD_OK, is_plain = data[0] == 0;
    size_t header = 4 + 4 * (size_t)x->n_dims;
    if (is_plain)
        POD_ASSERT(is_whole == (bytes == header + (size_t)n), "%zu bytes, %lld elements", bytes,
                   (long long)n);
    for (int64_t i = 0; is_plain && i < n; i++)
        POD_ASSERT(element[i] == data[header + (size_t)i], "element %lld", (long long)i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static FILE *file; /* without a name; made once */
    static char path[64];
    if (!file) {
        file = tmpfile();
        POD_ASSERT(file, "no temporary file");
        snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    }
    if (ftruncate(fileno(file), 0) != 0 || pwrite(fileno(file), data, bytes, 0) != (ssize_t)bytes)
        return 0;
    pod_idx x;
    if (pod_idx_open(path, &x) != POD_OK) return 0;
    read_all(&x, data, bytes);
    pod_idx_close(&x);
    return 0;
}
