/* Files that are complete or absent, and files of lines that grow.
 *
 * The former are written as PATH.minipod-part, synced and renamed, so a killed run leaves no
 * half-written file under a final name. No other program uses that ending, so a PATH.part (a
 * browser's download) stays. The latter have their own name from their first line on, and each line
 * is one write. Errors are E_IO, or E_WRITE if a file was opened and not written in full, and name
 * the path and the system's reason. */
#ifndef MINIPOD_RUNTIME_CORE_FILE_H
#define MINIPOD_RUNTIME_CORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"

typedef struct pod_file pod_file;

#define POD_FILE_PART ".minipod-part"

/* Opens PATH.minipod-part for writing; the directory must exist. PATH may only be a regular file: a
 * device or a link would be replaced by one. E_IO while any process has it open. */
POD_MUST pod_status pod_file_open(const char *path, pod_file **out);
/* Checks, before long work, whether pod_file_open would succeed. Leaves nothing. */
POD_MUST pod_status pod_file_check(const char *path);

/* Returns whether a process has PATH or PATH.minipod-part locked, as pod_file_open and
 * pod_file_hold do; false if that cannot be known. */
bool pod_file_is_taken(const char *path);

/* Opens a result file that a user names, like pod_file_open. But `-` and a link to standard output
 * (/dev/stdout) are standard output, and a device, a pipe, or a link to one is written directly. A
 * failure leaves there what was already written. */
POD_MUST pod_status pod_file_open_result(const char *path, pod_file **out);
/* Checks whether it would succeed, without waiting for the reader of a pipe. Leaves nothing. */
POD_MUST pod_status pod_file_check_result(const char *path);
POD_MUST pod_status pod_file_write_result(const char *path, const void *data, size_t bytes);
bool pod_file_is_stdout(const char *path);
/* Returns whether writing to one overwrites the other, even if neither exists yet. */
bool pod_file_is_same(const char *path, const char *other);

FILE *pod_file_stream(pod_file *f); /* borrowed until close, which finds its errors */
/* Syncs and renames to PATH. On failure PATH is untouched and PATH.minipod-part is removed; a file
 * of pod_file_hold stays as it is. Releases f either way. */
POD_MUST pod_status pod_file_close(pod_file *f);
/* Removes PATH.minipod-part, or an empty file of pod_file_hold, and releases f; NULL is allowed. */
void pod_file_abandon(pod_file *f);

/* ---- one writer at a time, for code that writes PATH.minipod-part by other means ---- */

/* Opens or creates the file for reading and writing, and locks it until the descriptor is closed or
 * the process ends. Its content stays. Returns -1 with errno, which is EBUSY while another process
 * has it locked. A file system without locks does not lock
 * it. */
int pod_part_open(const char *part);
/* Returns whether the name still belongs to the open file, or was removed or replaced. */
bool pod_part_is_named(int fd, const char *part);
const char *pod_part_reason(
    int error); /* strerror's text, and for EBUSY that another process is writing */

/* ---- a file that grows over several processes, each of which may be killed ---- */

/* Opens or creates PATH itself and locks it as pod_file_open does. Its content stays, and the
 * stream is at its beginning, for reading. */
POD_MUST pod_status pod_file_hold(const char *path, pod_file **out);
/* Cuts the file to its first `bytes`; later writes follow them. */
POD_MUST pod_status pod_file_cut(pod_file *f, int64_t bytes);

POD_MUST pod_status pod_file_write_atomic(const char *path, const void *data, size_t bytes);

/* Reads the whole file as text with a closing 0, into the arena; E_FORMAT if it is longer than
 * max_bytes or contains a 0. */
POD_MUST pod_status pod_file_read_text(pod_arena *a, const char *path, size_t max_bytes,
                                       char **out);

enum { POD_PATH_BYTES = 4096 };
/* Joins "DIR/NAME"; E_INVALID, naming the directory, if that is too long. */
POD_MUST pod_status pod_path_join(const char *dir, const char *name, char path[POD_PATH_BYTES]);
/* Returns what follows the last '/', all of a path without one. */
const char *pod_path_name(const char *path);
/* Returns whether `path` is `folder` or below it, however either is spelled (links, ..); neither
 * needs to exist yet. */
bool pod_path_is_within(const char *path, const char *folder);

/* Returns whether the directory of `path` does not exist yet, but will once `folder` is made. */
bool pod_file_comes_with(const char *path, const char *folder);

/* Makes the directory and those above it; an existing one is fine. E_IO if files cannot be made in
 * it. */
POD_MUST pod_status pod_dir_make(const char *path);
/* The same for the directory of `path`. */
POD_MUST pod_status pod_dir_make_for(const char *path);

#endif
