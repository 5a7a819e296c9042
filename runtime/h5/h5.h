/* HDF5, wrapped: one lock, one way to fail, and the few shapes of reading and writing that the data
 * folder needs.
 *
 * Debian's serial HDF5 is not thread-safe, so every function here, and every direct call of HDF5,
 * stands between pod_h5_lock and pod_h5_unlock. HDF5's own error printing is switched off; the
 * innermost reason it gives stands at the end of our one line: "F.h5: dataset '/train/images':
 * cannot be read (inflate() failed)".
 *
 * Files are written in the format of HDF5 1.10, whose metadata carries checksums; with strings of
 * fixed length and compressed chunks (a checksum each) no flipped byte goes unseen. A file of the
 * older formats, as others write them, is read too, but has no such guard: HDF5 1.10 may even crash
 * on a damaged one.
 *
 * Attributes are those of the file's root. An id of 0 or below means none, so a zeroed struct is an
 * empty one. */
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

/* What HDF5 says of its last failure: " (file signature not found)", of one of the system's that
 * one: " (No space left on device)", or nothing. */
typedef struct pod_h5_reason {
    char text[160];
} pod_h5_reason;
pod_h5_reason pod_h5_last_reason(void);

typedef struct pod_h5_file {
    pod_h5_id id;
    const char *path; /* borrowed; for messages */
} pod_h5_file;

/* E_IO with the system's reason (missing, not permitted), or where another process has it open for
 * writing; E_FORMAT with HDF5's (no HDF5 file, truncated, of a later version). */
POD_MUST pod_status pod_h5_open(const char *path, pod_h5_file *out); /* read only */
/* What is open as `fd`, whatever becomes of its name; `path` is for messages. */
POD_MUST pod_status pod_h5_open_fd(int fd, const char *path, pod_h5_file *out);
/* Makes the file, or empties it. */
POD_MUST pod_status pod_h5_create(const char *path, pod_h5_file *out);
/* Writes what waits in caches. While this or other writing fails nothing of the file is to be
 * closed: HDF5 would try again, free what it cannot write and keep its id. E_WRITE. */
POD_MUST pod_status pod_h5_flush(const pod_h5_file *f);
/* Closes the file and all that is open in it. What still waits in caches is written here, of arrays
 * without a word where that fails, so a writer flushes before. An empty one is allowed. */
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

/* "20x3x32x32"; "one value" without dimensions. */
enum { POD_H5_DIMS_BYTES = 24 * POD_H5_MAX_DIMS };
const char *pod_h5_print_dims(int n, const int64_t dim[], char text[POD_H5_DIMS_BYTES]);

bool pod_h5_has_array(const pod_h5_file *f, const char *name);
/* Whether the path from the root on ("/train/images") is that of anything. E_FORMAT where that
 * cannot be known; HDF5 1.10 reports a damaged root once and then takes what is behind the damage
 * for absent, so that no such failure may be passed over. */
POD_MUST pod_status pod_h5_find_link(const pod_h5_file *f, const char *name, bool *is_there);
/* Calls `visit` with the name of each array below `group`, seen from there ("fc/w"), by name, and
 * answers the first status that is not E_OK; E_FORMAT where the group cannot be read. */
POD_MUST pod_status pod_h5_each_array(const pod_h5_file *f, const char *group,
                                      pod_status (*visit)(void *ctx, const char *name), void *ctx);
POD_MUST pod_status pod_h5_array_open(const pod_h5_file *f, const char *name, pod_h5_array *out);
/* E_FORMAT, naming the filter, where what packed it is not at hand. */
POD_MUST pod_status pod_h5_check_filters(const pod_h5_array *a);
/* Chunks of chunk_rows along dimension 0, shuffled bytes, deflate 4; groups on the way are made. */
POD_MUST pod_status pod_h5_array_create(const pod_h5_file *f, const char *name, pod_dtype t,
                                        int n_dims, const int64_t dim[], int64_t chunk_rows,
                                        pod_h5_array *out);
void pod_h5_array_close(pod_h5_array *a);
/* Rows first .. first + count - 1 of dimension 0 as elements of t (numbers out of range are
 * clipped; POD_BF16 stands for its 16 bits). */
POD_MUST pod_status pod_h5_read_rows(const pod_h5_array *a, pod_dtype t, int64_t first,
                                     int64_t count, void *out);
POD_MUST pod_status pod_h5_write_rows(const pod_h5_array *a, pod_dtype t, int64_t first,
                                      int64_t count, const void *data);

/* A list of strings as an array: of fixed length, compressed. */
POD_MUST pod_status pod_h5_put_list(const pod_h5_file *f, const char *name, int64_t n,
                                    const char *const text[]);
/* The array must hold exactly n strings, of fixed or variable length; copied into the arena. */
POD_MUST pod_status pod_h5_get_list(const pod_h5_file *f, const char *name, int64_t n, pod_arena *a,
                                    const char *const **out);

/* ---- attributes ------------------------------------------------------------------------------ */

bool pod_h5_has(const pod_h5_file *f, const char *name);
/* The same, with E_FORMAT as above. */
POD_MUST pod_status pod_h5_find(const pod_h5_file *f, const char *name, bool *is_there);

POD_MUST pod_status pod_h5_put_i64(const pod_h5_file *f, const char *name, int64_t value);
/* n values; n -1: one that is no list. */
POD_MUST pod_status pod_h5_put_f64(const pod_h5_file *f, const char *name, int64_t n,
                                   const double value[]);
POD_MUST pod_status pod_h5_put_text(const pod_h5_file *f, const char *name, const char *text);
/* As an attribute or, where HDF5 allows none so large, as an array of this name (put_list);
 * pod_h5_get_texts reads both. */
POD_MUST pod_status pod_h5_put_texts(const pod_h5_file *f, const char *name, int64_t n,
                                     const char *const text[]);
bool pod_h5_has_texts(const pod_h5_file *f, const char *name);

/* Another value of a single number that is there. */
POD_MUST pod_status pod_h5_change_i64(const pod_h5_file *f, const char *name, int64_t value);
POD_MUST pod_status pod_h5_change_f64(const pod_h5_file *f, const char *name, double value);

POD_MUST pod_status pod_h5_get_i64(const pod_h5_file *f, const char *name, int64_t *out);
/* The attribute must hold exactly n numbers. */
POD_MUST pod_status pod_h5_get_f64(const pod_h5_file *f, const char *name, int64_t n, double out[]);
/* Strings of fixed or variable length (what h5py writes); copied into the arena. */
POD_MUST pod_status pod_h5_get_text(const pod_h5_file *f, const char *name, pod_arena *a,
                                    const char **out);
POD_MUST pod_status pod_h5_get_texts(const pod_h5_file *f, const char *name, pod_arena *a,
                                     int64_t *n, const char *const **out);

#endif
