/* Reads the regular files of a tar archive, plain or gzip, one after the other: POSIX ustar and GNU
 * format. Private to this folder. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_TAR_H
#define MINIPOD_RUNTIME_DATA_IMPORT_TAR_H

#include "runtime/data/import/gunzip.h"

typedef struct pod_tar {
    const char *path; /* borrowed */
    pod_gunzip file;
    int64_t n_left;    /* unread bytes of the current member */
    int64_t n_padding; /* bytes behind them, up to the next block */
    bool has_begun;
} pod_tar;

typedef struct pod_tar_member {
    char name[101]; /* without folders */
    bool is_file;
    int64_t bytes;
} pod_tar_member;

POD_MUST pod_status pod__tar_open(const char *path, pod_tar *out);
void pod__tar_close(pod_tar *t);

/* Moves to the next member. Sets *is_end instead if the archive has been read to its end and is
 * complete. E_FORMAT if it is not a tar archive, damaged or truncated. */
POD_MUST pod_status pod__tar_next(pod_tar *t, pod_tar_member *out, bool *is_end);
/* Reads the content of the current member; at most once per member. */
POD_MUST pod_status pod__tar_read(pod_tar *t, uint8_t *out);

#endif
