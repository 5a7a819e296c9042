/* Files that are whole or not there, and files of lines that grow.
 *
 * The former are written aside, as PATH.minipod-part, then synced and renamed: a killed run leaves
 * no half file under a final name. Nobody else gives that ending, so that what goes by PATH.part
 * (a browser's download) stays. The latter stand under their own name from their first line on, each of
 * which is one write. Errors are E_IO, of what could be opened and was not written in
 * full E_WRITE, and name the path and the system's reason. */
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

/* Opens PATH.minipod-part for writing; the directory must exist. What stands at PATH may only be a regular
 * file: a device or a link would be replaced by one. E_IO while it is open anywhere else; that ends
 * when it is closed, or when its process ends, however that happens. */
POD_MUST pod_status pod_file_open(const char *path, pod_file **out);
/* Checks, before long work, whether pod_file_open would succeed. Leaves nothing. */
POD_MUST pod_status pod_file_check(const char *path);

/* Returns whether it is open for that, or locked; false if that cannot be known. */
bool pod_file_is_taken(const char *path);

/* A file of results, which a person names: as pod_file_open, but `-` and a link to what standard
 * output is (/dev/stdout) are standard output, and what is there as a device or a pipe, or a link
 * to one, is written directly. Those have what was written so far, whatever comes of the rest. */
POD_MUST pod_status pod_file_open_result(const char *path, pod_file **out);
/* Checks whether it would succeed, without waiting for the reader of a pipe. Leaves nothing. */
POD_MUST pod_status pod_file_check_result(const char *path);
POD_MUST pod_status pod_file_write_result(const char *path, const void *data, size_t bytes);
bool pod_file_is_stdout(const char *path);
/* Returns whether writing to one overwrites the other, even if neither exists yet. */
bool pod_file_is_same(const char *path, const char *other);

FILE *pod_file_stream(pod_file *f); /* borrowed until close; its errors are found by close */
/* Syncs and renames to PATH. On failure PATH is untouched, and PATH.minipod-part goes away; a file that was
 * held stays as it is. Releases f either way. */
POD_MUST pod_status pod_file_close(pod_file *f);
/* Removes PATH.minipod-part, or the file that was held if nothing is in it, and releases f; NULL is
 * allowed. */
void pod_file_abandon(pod_file *f);

/* ---- one writer at a time, for who writes PATH.minipod-part by other means ---- */

/* Opens the file, made where there is none, for reading and writing, and locks it until the
 * descriptor is closed or the process ends. What stands in it stays. Answers -1 with errno, which
 * is EBUSY while another has it locked. A file system without locks gives none. */
int pod_part_open(const char *part);
/* Returns whether the name still belongs to the open file, which may have been removed or replaced.
 * */
bool pod_part_is_named(int fd, const char *part);
const char *pod_part_reason(int error); /* strerror's, and of EBUSY that another is writing */

/* ---- a file that grows over several processes, each of which may be killed ---- */

/* Opens PATH itself, made where there is none, and locks it as pod_file_open does. What stands in it
 * stays, and the stream is at its beginning, to be read. */
POD_MUST pod_status pod_file_hold(const char *path, pod_file **out);
/* The first `bytes` stay; what is put follows them. */
POD_MUST pod_status pod_file_cut(pod_file *f, int64_t bytes);

POD_MUST pod_status pod_file_write_atomic(const char *path, const void *data, size_t bytes);

/* The whole file as text with a closing 0, from the arena; E_FORMAT when longer than max_bytes
 * or with a 0 in it. */
POD_MUST pod_status pod_file_read_text(pod_arena *a, const char *path, size_t max_bytes,
                                       char **out);

enum { POD_PATH_BYTES = 4096 };
/* "DIR/NAME"; E_INVALID, naming the directory, where that is too long. */
POD_MUST pod_status pod_path_join(const char *dir, const char *name, char path[POD_PATH_BYTES]);
/* Returns whether it is the folder or below it, under any names; neither needs to exist yet. */
bool pod_path_is_within(const char *path, const char *folder);

/* Returns whether the directory of `path` does not exist yet, but will once `folder` is made. */
bool pod_file_comes_with(const char *path, const char *folder);

/* Makes the directory and those above it; one that exists is fine. E_IO unless files can be made in
 * it afterwards. */
POD_MUST pod_status pod_dir_make(const char *path);
/* The same for the directory that `path` stands in. */
POD_MUST pod_status pod_dir_make_for(const char *path);

#endif
