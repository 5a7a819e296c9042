/* A data set: a source of labelled images behind one table of functions, whatever it is made of.
 *
 *   spec                     what
 *   F.h5                     an HDF5 file in the layout below
 *   glyphs[:HxWxC[:N+M]]     the made data set (glyphs.h), drawn on the fly: N training, M test
 *
 * A sample is H x W pixels of C channels, 8 bits each, and a class 0 .. n_classes - 1. All samples
 * of a set have one size.
 *
 * Layout of the file, version 1 (attributes stand at the root and may be absent; doc/datasets.md):
 *
 *   /train/images, /test/images   u8  (N, H, W, C)   written in chunks, deflate
 *   /train/labels, /test/labels   u8 or i32 (N)      any integer type is read
 *   /train/files, /test/files     strings (N)        may be absent: the files that images came from
 *   minipod_dataset               integer 1
 *   name, origin, licence         string; else the file's name, "", ""
 *   class_names                   strings (n_classes); else numbers up to the highest label
 *   mean, std                     float (C): over the training pixels, scaled to [0, 1]; else
 *                                 computed as the file is opened */
#ifndef MINIPOD_RUNTIME_DATA_DATASET_H
#define MINIPOD_RUNTIME_DATA_DATASET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/base/arena.h"
#include "kernels/base/status.h"

typedef enum pod_split { POD_SPLIT_TRAIN, POD_SPLIT_TEST, POD_N_SPLITS } pod_split;

static inline const char *pod_split_name(pod_split s)
{
    return s == POD_SPLIT_TRAIN ? "train" : "test";
}

enum { POD_DATASET_VERSION = 1 };
#define POD_DATASET_MAX_SAMPLE_BYTES ((int64_t)1 << 30)
#define POD_DATASET_CACHE_BYTES      ((int64_t)4 << 30) /* of pod_dataset_open */

typedef struct pod_dataset_info {
    const char *name, *origin, *licence; /* "" when not known */
    int64_t n_samples[POD_N_SPLITS];     /* each at least 1 */
    int64_t height, width, channels;
    int n_classes;
    const char *const *class_names; /* (n_classes) */
    const double *mean, *std;       /* (C), over the training pixels in [0, 1]; std > 0 */
} pod_dataset_info;

typedef struct pod_dataset pod_dataset;

/* What a kind of source does; a kind's own struct begins with a pod_dataset. */
typedef struct pod_dataset_kind {
    const char *name; /* "hdf5" */
    /* Both are called from several threads at once. */
    pod_status (*read)(const pod_dataset *d, pod_split split, int64_t index, uint8_t *pixels);
    int32_t (*label)(const pod_dataset *d, pod_split split, int64_t index);
    void (*close)(pod_dataset *d); /* what is not in the arena */
    /* NULL: a sample has no file. */
    pod_status (*files)(const pod_dataset *d, pod_split split, pod_arena *a,
                        const char *const **out);
} pod_dataset_kind;

struct pod_dataset {
    const pod_dataset_kind *kind;
    pod_dataset_info info;
    const int32_t *class_of; /* by the label as stored; NULL: the same (classes.h) */
    bool is_unlabelled;      /* labels are 0 and mean nothing: only predictions do */
    pod_arena *arena;        /* holds the data set itself and all that it owns */
};

typedef struct pod_dataset_options {
    int64_t cache_bytes;    /* a file whose pixels are more is read sample by sample */
    int n_readers;          /* then so many threads unpack samples at once; at least 1 */
    const pod_alloc *alloc; /* NULL: pod_alloc_default */
} pod_dataset_options;

/* Opens and checks the whole set: dimensions, types, counts, every label. Pixels are loaded at once
 * where the cache takes them all (each process holds its own copy), else a read goes to the file.
 * `seed` draws made data; a file does not look at it. Fails with POD_E_IO, POD_E_FORMAT,
 * POD_E_INVALID (a spec of glyphs) or POD_E_NOMEM, in one line that names the file and the
 * array. */
POD_MUST pod_status pod_dataset_open(const char *spec, uint64_t seed, pod_dataset **out);
POD_MUST pod_status pod_dataset_open_with(const char *spec, uint64_t seed,
                                          const pod_dataset_options *options, pod_dataset **out);
void pod_dataset_close(pod_dataset *d); /* NULL is allowed */

/* pixels: (H, W, C), borrowed for the call. Thread-safe. The index is the caller's to keep in
 * range. */
POD_MUST pod_status pod_dataset_read(const pod_dataset *d, pod_split split, int64_t index,
                                     uint8_t *pixels);
int32_t pod_dataset_label(const pod_dataset *d, pod_split split, int64_t index);

/* The files that the samples were made of, (N), in the arena; *out is NULL where that is not known.
 * E_IO, E_FORMAT, E_NOMEM. */
POD_MUST pod_status pod_dataset_files(const pod_dataset *d, pod_split split, pod_arena *a,
                                      const char *const **out);

/* How many samples each class has; counts: (n_classes). */
void pod_dataset_count_classes(const pod_dataset *d, pod_split split, int64_t counts[]);

/* `data info`: lines of "key  value", with the number of samples of each class; and the same as one
 * JSON object. Fail for want of memory. */
POD_MUST pod_status pod_dataset_print(const pod_dataset *d, FILE *to);
POD_MUST pod_status pod_dataset_print_json(const pod_dataset *d, FILE *to);

/* Of sizes, counts, classes, all labels, and the pixels of some samples of each split: equal where
 * the sets are, other where they are most likely others. Never 0. E_IO, E_FORMAT where a sample
 * cannot be read. */
POD_MUST pod_status pod_dataset_fingerprint(const pod_dataset *d, uint64_t *out);

int64_t pod_dataset_sample_bytes(const pod_dataset_info *info); /* H W C */

/* Checks sizes, counts, names and, where not NULL, mean and std; `where` opens the message. */
POD_MUST pod_status pod_dataset_info_check(const char *where, const pod_dataset_info *info);

enum { POD_DATASET_MAX_SIDE = 16384 };

/* "64" or "48x64", height first: what --image-size says. */
POD_MUST pod_status pod_image_size_parse(const char *text, int64_t *height, int64_t *width);

#endif
