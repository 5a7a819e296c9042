/* The disk, one operation at a time: what a save does to files goes through here, so that a test
 * can let the first operation fail, then the second, ... or die there.
 *
 * Operations are counted from 1: an open for writing, a write of at most POD_DISK_PIECE bytes, a
 * sync, a rename, a folder made, a file or folder removed. Errors name the path and the system's
 * reason: E_WRITE if a write to an open file fails or the disk is full, E_IO if something cannot be
 * opened, made, renamed or removed. Nothing here takes memory. */
#ifndef MINIPOD_RUNTIME_CHECKPOINT_DISK_H
#define MINIPOD_RUNTIME_CHECKPOINT_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/base/status.h"

enum { POD_DISK_PIECE = 4 << 20, POD_DISK_PATH_BYTES = 4096 };

typedef struct pod_disk {
    int64_t n;         /* operations so far */
    int64_t full_from; /* from this one on there is no space; what removes still works. 0: never */
    int64_t kill_at;   /* as this one begins the process is killed by SIGKILL; 0: never */
    bool is_memory;    /* a test's folder, which need not outlive the machine: syncs only count */
    /* Called as it kills, and as it refuses space for the first time; NULL: nobody is told. */
    void (*strikes)(void *to, bool kills);
    void *to;
    bool is_full; /* it has refused */
} pod_disk;

/* Writes PATH.minipod-part, locked (core/file.h), and renames it: PATH is whole or as it was. `lasting`: its bytes are synced
 * before; its name is by pod_disk_sync of the folder. What was begun is removed on failure. */
POD_MUST pod_status pod_disk_write(pod_disk *d, const char *path, const void *data, size_t bytes,
                                   bool lasting);
POD_MUST pod_status pod_disk_rename(pod_disk *d, const char *from, const char *to);
/* The same, to `to` or, where that is taken, TO.2, TO.3, ...: nothing is replaced. Into `named`. */
POD_MUST pod_status pod_disk_put_aside(pod_disk *d, const char *from, const char *to,
                                       char named[POD_DISK_PATH_BYTES]);
POD_MUST pod_status pod_disk_sync(pod_disk *d, const char *folder); /* the names in it */
POD_MUST pod_status pod_disk_make(pod_disk *d, const char *folder); /* one that exists is fine */
/* A file, or a folder with the files and empty folders in it. What is not there is removed already. */
POD_MUST pod_status pod_disk_remove(pod_disk *d, const char *path);

/* "DIR/NAME" made from a format; E_INVALID when it is too long. */
POD_MUST pod_status pod_disk_path(char out[POD_DISK_PATH_BYTES], const char *fmt, ...)
    POD_PRINTF(2, 3);

#endif
