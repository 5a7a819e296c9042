/* The file operations of a save, which all go through here, so that a test can make the first
 * operation fail, then the second and so on, or kill the process there.
 *
 * Operations are counted from 1: an open for writing, a write of at most POD_DISK_PIECE bytes, a
 * sync, a rename, the creation of a folder, the removal of a file or folder. Errors name the path
 * and the system's reason: E_WRITE if pod_disk_write or a sync fails after the open, or the disk is
 * full; E_IO if something cannot be opened, created, renamed or removed. Nothing here allocates
 * memory. */
#ifndef MINIPOD_RUNTIME_CHECKPOINT_DISK_H
#define MINIPOD_RUNTIME_CHECKPOINT_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/status.h"

enum { POD_DISK_PIECE = 4 << 20, POD_DISK_PATH_BYTES = 4096 };

typedef struct pod_disk {
    int64_t n;         /* operations so far */
    int64_t full_from; /* from this operation on all but removals fail with ENOSPC; 0: never */
    int64_t kill_at;   /* SIGKILL when this operation begins; 0: never */
    bool is_memory;    /* for tests: syncs are counted and not carried out */
    /* Called before it kills, and when it refuses space for the first time; may be NULL. */
    void (*strikes)(void *to, bool kills);
    void *to;
    bool is_full; /* it has refused space */
} pod_disk;

/* Writes PATH.minipod-part, locked (core/file.h), and renames it to PATH, which is thus complete or
 * unchanged. `lasting`: syncs the bytes before the rename; call pod_disk_sync on the folder to sync
 * the name. On failure the temporary file is removed. */
POD_MUST pod_status pod_disk_write(pod_disk *d, const char *path, const void *data, size_t bytes,
                                   bool lasting);
POD_MUST pod_status pod_disk_rename(pod_disk *d, const char *from, const char *to);
/* Renames to `to` or, if that exists, to TO.2, TO.3, ..., so that nothing is replaced. Writes the
 * name to `named`. */
POD_MUST pod_status pod_disk_put_aside(pod_disk *d, const char *from, const char *to,
                                       char named[POD_DISK_PATH_BYTES]);
POD_MUST pod_status pod_disk_sync(pod_disk *d, const char *folder); /* syncs the names in it */
POD_MUST pod_status pod_disk_make(pod_disk *d, const char *folder); /* it may exist */
/* Removes a file, or a folder with the files and empty folders in it. OK if it does not exist. */
POD_MUST pod_status pod_disk_remove(pod_disk *d, const char *path);

/* Prints a path such as "DIR/NAME" by a format; E_INVALID if it is too long. */
POD_MUST pod_status pod_disk_path(char out[POD_DISK_PATH_BYTES], const char *fmt, ...)
    POD_PRINTF(2, 3);

#endif
