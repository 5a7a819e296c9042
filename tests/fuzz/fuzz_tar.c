/* The reader of tar archives on any file, and on the same with checksums put right: it neither
 * crashes nor reads more than there is. */
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/data/import/tar.h"
#include "tests/fuzz/fuzz_file.h"

enum { BLOCK = 512, SUM_AT = 148, MAX_MEMBER = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void set_checksums(uint8_t *file, size_t bytes)
{
    for (size_t at = 0; at + BLOCK <= bytes; at += BLOCK) {
        unsigned sum = 0;
        if (file[at] == 0) continue;
        memset(file + at + SUM_AT, ' ', 8);
        for (size_t i = 0; i < BLOCK; i++) sum += file[at + i];
        snprintf((char *)file + at + SUM_AT, 8, "%06o", sum);
    }
}

static void try_file(const uint8_t *data, size_t bytes)
{
    static uint8_t content[MAX_MEMBER];
    pod_tar t;
    pod_tar_member m;
    bool is_end = false;
    if (pod__tar_open(fuzz_file(data, bytes), &t) == POD_OK) {
        for (int n = 0; n < 1000 && !is_end && pod__tar_next(&t, &m, &is_end) == POD_OK; n++) {
            if (is_end) break;
            POD_ASSERT(strlen(m.name) < sizeof m.name && m.bytes >= 0, "member %d", n);
            if (m.bytes <= MAX_MEMBER && n % 2 == 0 && pod__tar_read(&t, content) != POD_OK) break;
        }
        pod__tar_close(&t);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    try_file(data, bytes);
    uint8_t *own = malloc(bytes ? bytes : 1);
    POD_ASSERT(own, "no memory for %zu bytes", bytes);
    if (bytes) memcpy(own, data, bytes);
    set_checksums(own, bytes);
    try_file(own, bytes);
    free(own);
    return 0;
}
