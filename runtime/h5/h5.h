/* A wrapper of HDF5: one lock, errors as pod_status, and the few kinds of reading and writing that
 * data sets and checkpoints need.
 *
 * Debian's serial HDF5 is not thread-safe: call every function here, and HDF5 itself, between
 * pod_h5_lock and pod_h5_unlock. HDF5's own error printing is switched off; an error text ends with
 * the innermost reason that HDF5 gives: "F.h5: dataset '/train/images': cannot be read (inflate()
 * failed)".
 *
 * Files are written in the format of HDF5 1.10, whose metadata has checksums; with strings of fixed
 * length and compressed chunks, which have a checksum each, every flipped byte is detected. Files
 * of older formats, as other programs write them, can be read too but have no such protection: HDF5
 * 1.10 may even crash on a damaged one.
 *
 * Attributes are those of the root group. An id of 0 or below means none, so that a zeroed struct
 * is an empty one. */
#ifndef MINIPOD_RUNTIME_H5_H5_H
#define MINIPOD_RUNTIME_H5_H5_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/base/arena.h"
#include "kernels/base/dtype.h"
#include "kernels/base/status.h"

enum { POD_H5_MAX_DIMS = 8 };

typedef int64_t pod_h5_id; /* HDF5's hid_t */

void pod_h5_lock(void); /* not recursive */
void pod_h5_unlock(void);

/* The reason of HDF5's last failure, " (file signature not found)", or of the system call behind
 * it, " (No space left on device)"; or "". */
typedef struct pod_h5_reason {
    char text[160];
} pod_h5_reason;
pod_h5_reason pod_h5_last_reason(void);

typedef struct pod_h5_file {
    pod_h5_id id;
    const char *path; /* borrowed; for messages */
} pod_h5_file;

/* Opens a file. E_IO with the system's reason (missing, not permitted), or if another process has
 * it open for writing; E_FORMAT with HDF5's reason (no HDF5 file, truncated, of a later
 * version). */
POD_MUST pod_status pod_h5_open(const char *path, pod_h5_file *out); /* read only */
/* Opens the file of descriptor `fd`, whatever its name is by now; `path` is for messages. */
POD_MUST pod_status pod_h5_open_fd(int fd, const char *path, pod_h5_file *out);
/* Creates the file, or truncates it. */
POD_MUST pod_status pod_h5_create(const char *path, pod_h5_file *out);
/* Writes HDF5's caches to the file. E_WRITE. After a failure of this or any other write, close
 * nothing of the file: HDF5 would try again, free what it cannot write and keep its id. */
POD_MUST pod_status pod_h5_flush(const pod_h5_file *f);
/* Closes the file and all objects in it. A writer must flush before: data of arrays that are still
 * in caches are written here, and a failure of that is not reported. An empty one is allowed. */
pod_status pod_h5_close(pod_h5_file *f);

/* ---- arrays: what HDF5 calls datasets -------------------------------------------------------- */

typedef struct pod_h5_array {
    pod_h5_id id;
    const pod_h5_file *file; /* borrowed */
    const char *name;        /* borrowed: "/train/images" */
    char type[16];           /* in the file: "u8", "i32", "f64"; "string", "other" */
    int n_dims;
    int64_t dim[POD_H5_MAX_DIMS];
} pod_h5_array;

/* Writes "20x3x32x32", or "one value" without dimensions, to text; returns text. */
enum { POD_H5_DIMS_BYTES = 24 * POD_H5_MAX_DIMS };
const char *pod_h5_print_dims(int n, const int64_t dim[], char text[POD_H5_DIMS_BYTES]);

bool pod_h5_has_array(const pod_h5_file *f, const char *name);
/* Finds whether there is an object at this path from the root ("/train/images"). E_FORMAT if the
 * file is damaged there. Do not ignore that error: HDF5 1.10 reports a damaged root once and then
 * treats everything behind the damage as absent. */
POD_MUST pod_status pod_h5_find_link(const pod_h5_file *f, const char *name, bool *is_there);
/* Calls `visit` for each array below `group`, in the order of names, with its name relative to the
 * group ("fc/w"). Returns the first status that is not POD_OK; E_FORMAT if the group cannot be
 * read. */
POD_MUST pod_status pod_h5_each_array(const pod_h5_file *f, const char *group,
                                      pod_status (*visit)(void *ctx, const char *name), void *ctx);
POD_MUST pod_status pod_h5_array_open(const pod_h5_file *f, const char *name, pod_h5_array *out);
/* Fails with E_FORMAT, naming the filter, if the array was compressed by a filter that is not
 * available. */
POD_MUST pod_status pod_h5_check_filters(const pod_h5_array *a);
/* Creates an array in chunks of chunk_rows along dimension 0, with byte shuffle and deflate 4, and
 * the groups of its path. */
POD_MUST pod_status pod_h5_array_create(const pod_h5_file *f, const char *name, pod_dtype t,
                                        int n_dims, const int64_t dim[], int64_t chunk_rows,
                                        pod_h5_array *out);
void pod_h5_array_close(pod_h5_array *a);
/* Read and write rows first .. first + count - 1 of dimension 0 as elements of type t. Numbers out
 * of range are clipped; POD_BF16 is stored as its 16 bits. */
POD_MUST pod_status pod_h5_read_rows(const pod_h5_array *a, pod_dtype t, int64_t first,
                                     int64_t count, void *out);
POD_MUST pod_status pod_h5_write_rows(const pod_h5_array *a, pod_dtype t, int64_t first,
                                      int64_t count, const void *data);

/* Writes a list of strings as an array: fixed length, compressed. */
POD_MUST pod_status pod_h5_put_list(const pod_h5_file *f, const char *name, int64_t n,
                                    const char *const text[]);
/* Reads an array of exactly n strings, of fixed or variable length; copied into the arena. */
POD_MUST pod_status pod_h5_get_list(const pod_h5_file *f, const char *name, int64_t n, pod_arena *a,
                                    const char *const **out);

/* ---- attributes ------------------------------------------------------------------------------ */

bool pod_h5_has(const pod_h5_file *f, const char *name);
/* The same; E_FORMAT as in pod_h5_find_link. */
POD_MUST pod_status pod_h5_find(const pod_h5_file *f, const char *name, bool *is_there);

POD_MUST pod_status pod_h5_put_i64(const pod_h5_file *f, const char *name, int64_t value);
/* Writes n values; n -1: a scalar. */
POD_MUST pod_status pod_h5_put_f64(const pod_h5_file *f, const char *name, int64_t n,
                                   const double value[]);
POD_MUST pod_status pod_h5_put_text(const pod_h5_file *f, const char *name, const char *text);
/* Writes an attribute or, if it is too large for HDF5, an array of this name (pod_h5_put_list).
 * pod_h5_get_texts reads both. */
POD_MUST pod_status pod_h5_put_texts(const pod_h5_file *f, const char *name, int64_t n,
                                     const char *const text[]);
bool pod_h5_has_texts(const pod_h5_file *f, const char *name);

/* Change the value of an existing scalar attribute. */
POD_MUST pod_status pod_h5_change_i64(const pod_h5_file *f, const char *name, int64_t value);
POD_MUST pod_status pod_h5_change_f64(const pod_h5_file *f, const char *name, double value);

POD_MUST pod_status pod_h5_get_i64(const pod_h5_file *f, const char *name, int64_t *out);
/* The attribute must hold exactly n numbers. */
POD_MUST pod_status pod_h5_get_f64(const pod_h5_file *f, const char *name, int64_t n, double out[]);
/* Read strings of fixed length or of variable length, which h5py writes; copied into the arena. */
POD_MUST pod_status pod_h5_get_text(const pod_h5_file *f, const char *name, pod_arena *a,
                                    const char **out);
POD_MUST pod_status pod_h5_get_texts(const pod_h5_file *f, const char *name, pod_arena *a,
                                     int64_t *n, const char *const **out);

#endif
