/* The input of a fuzz target as a file, for what reads files: one a process, written anew. */
#ifndef MINIPOD_TESTS_FUZZ_FUZZ_FILE_H
#define MINIPOD_TESTS_FUZZ_FUZZ_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/base/assert.h"

static char fuzz_file_path[] = "/tmp/minipod_fuzz_XXXXXX";

static inline void fuzz_file_remove(void) { unlink(fuzz_file_path); }

/* Its path; alive, like its content, until the next call. */
static inline const char *fuzz_file(const uint8_t *data, size_t bytes)
{
    static int fd = -1;
    if (fd < 0) {
        fd = mkstemp(fuzz_file_path);
        POD_ASSERT(fd >= 0, "cannot make %s", fuzz_file_path);
        atexit(fuzz_file_remove);
    }
    const bool ok = ftruncate(fd, 0) == 0 && pwrite(fd, data, bytes, 0) == (ssize_t)bytes;
    POD_ASSERT(ok, "cannot write %zu bytes to %s", bytes, fuzz_file_path);
    return fuzz_file_path;
}

#endif
