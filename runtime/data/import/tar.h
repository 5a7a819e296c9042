/* Reads the members of a tar archive, plain or gzip, one after the other: POSIX ustar and GNU's
 * form of it, regular files. For this folder only. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_TAR_H
#define MINIPOD_RUNTIME_DATA_IMPORT_TAR_H

#include "runtime/data/import/gunzip.h"

typedef struct pod_tar {
    const char *path; /* borrowed */
    pod_gunzip file;
    int64_t n_left;    /* bytes of the current member */
    int64_t n_padding; /* behind them */
    bool has_begun;
} pod_tar;

typedef struct pod_tar_member {
    char name[101]; /* its last part, without folders */
    bool is_file;
    int64_t bytes;
} pod_tar_member;

POD_MUST pod_status pod__tar_open(const char *path, pod_tar *out);
void pod__tar_close(pod_tar *t);

/* The next member, or is_end; after the last one the archive has been read to its end and was
 * whole. E_FORMAT where it is no tar archive, damaged, or cut short. */
POD_MUST pod_status pod__tar_next(pod_tar *t, pod_tar_member *out, bool *is_end);
/* The content of the member that came last, once. */
POD_MUST pod_status pod__tar_read(pod_tar *t, uint8_t *out);

#endif
