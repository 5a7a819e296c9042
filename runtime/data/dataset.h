/* A data set: a source of labelled images, behind one table of functions for all kinds of sources,
 * or a text.
 *
 *   spec                     what
 *   F.h5                     an HDF5 file in the layout below
 *   glyphs[:HxWxC[:N+M]]     synthetic images (glyphs.h), drawn on the fly: N training, M test
 *   phrases[:WORDS[:N+M]]    synthetic text (phrases.h) of N training and M test documents
 *   cipher[:WORDS[:N+M]]     synthetic pairs of sentences (cipher.h), N training and M test
 *
 * An HDF5 file of text has the layout of text_set.h. A sample of images has H x W pixels of C
 * channels, 8 bits each, and a class 0 .. n_classes - 1. All samples of a set have the same size.
 *
 * Layout of the file, version 1 (doc/datasets.md). minipod_dataset and what follows it are
 * attributes of the root group, all optional:
 *
 *   /train/images, /test/images   u8  (N, H, W, C)   written in chunks, deflate
 *   /train/labels, /test/labels   u8 or i32 (N)      any integer type is read
 *   /train/files, /test/files     strings (N)        may be absent: the files that images came from
 *   minipod_dataset               integer 1
 *   name, origin, licence         string; else the file's name, "", ""
 *   class_names                   strings (n_classes); else numbers up to the highest label
 *   mean, std                     float (C): of the training pixels, scaled to [0, 1]; else
 *                                 computed when the file is opened */
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
#define POD_DATASET_CACHE_BYTES      ((int64_t)4 << 30) /* cache_bytes of pod_dataset_open */

typedef struct pod_text_set pod_text_set; /* text_set.h */

typedef struct pod_dataset_info {
    const char *name, *origin, *licence; /* "" when not known */
    int64_t n_samples[POD_N_SPLITS];     /* at least 1, but 0 for training in
                                            dataset_images.h; of a text: rows */
    int64_t height, width, channels;
    int n_classes;
    const char *const *class_names; /* (n_classes) */
    int32_t n_tokens;               /* of a text: size of the vocabulary; fields of images are 0 */
    uint64_t vocabulary_hash;       /* of its tokens, in order; 0: unknown */
    int64_t text_bytes;             /* of the ids of a text in memory */
    const double *mean, *std;       /* (C), of the training pixels scaled to [0, 1]; std > 0 */
} pod_dataset_info;

typedef struct pod_dataset pod_dataset;

/* The functions of a kind of source. The struct of a kind begins with a pod_dataset. */
typedef struct pod_dataset_kind {
    const char *name; /* "hdf5" */
    /* Both are called from several threads at once. */
    pod_status (*read)(const pod_dataset *d, pod_split split, int64_t index, uint8_t *pixels);
    int32_t (*label)(const pod_dataset *d, pod_split split, int64_t index);
    void (*close)(pod_dataset *d); /* releases what is not in the arena */
    /* NULL: samples do not come from files. */
    pod_status (*files)(const pod_dataset *d, pod_split split, pod_arena *a,
                        const char *const **out);
} pod_dataset_kind;

struct pod_dataset {
    const pod_dataset_kind *kind;
    pod_dataset_info info;
    const int32_t *class_of; /* by stored label: the class; NULL: the label itself (classes.h) */
    bool is_unlabelled;      /* all labels are 0 and mean nothing; use predictions only */
    pod_text_set *text;      /* NULL: images; else only close and fingerprint below apply */
    pod_arena *arena;        /* holds the data set itself and all that it owns */
};

typedef struct pod_dataset_options {
    int64_t cache_bytes;    /* a file with more bytes of pixels is read sample by sample */
    int n_readers;          /* threads that may then unpack samples at once; at least 1 */
    const pod_alloc *alloc; /* NULL: pod_alloc_default */
} pod_dataset_options;

bool pod_dataset_is_synthetic(const char *spec); /* of no file */

/* Opens a data set and checks dimensions, types, counts and every label. If all pixels fit in
 * cache_bytes they are loaded at once (each process holds its own copy); otherwise each read goes
 * to the file. `seed` is for glyphs; files ignore it. Fails with POD_E_IO, POD_E_FORMAT,
 * POD_E_INVALID (a spec of glyphs) or POD_E_NOMEM; the text names the file and the array. */
POD_MUST pod_status pod_dataset_open(const char *spec, uint64_t seed, pod_dataset **out);
POD_MUST pod_status pod_dataset_open_with(const char *spec, uint64_t seed,
                                          const pod_dataset_options *options, pod_dataset **out);
void pod_dataset_close(pod_dataset *d); /* NULL is allowed */

/* Writes sample `index` to pixels (H, W, C). Thread-safe. An index out of range aborts. */
POD_MUST pod_status pod_dataset_read(const pod_dataset *d, pod_split split, int64_t index,
                                     uint8_t *pixels);
int32_t pod_dataset_label(const pod_dataset *d, pod_split split, int64_t index);

/* Sets *out to the names of the files that the samples came from, (N), in the arena, or to NULL if
 * they are not known. E_IO, E_FORMAT, E_NOMEM. */
POD_MUST pod_status pod_dataset_files(const pod_dataset *d, pod_split split, pod_arena *a,
                                      const char *const **out);

/* Counts the samples of each class; counts: (n_classes). */
void pod_dataset_count_classes(const pod_dataset *d, pod_split split, int64_t counts[]);

/* Print what `data info` shows, with the number of samples of each class: lines "key  value", or
 * one JSON object. E_NOMEM. */
POD_MUST pod_status pod_dataset_print(const pod_dataset *d, FILE *to);
POD_MUST pod_status pod_dataset_print_json(const pod_dataset *d, FILE *to);

/* Hashes sizes, counts, the number of classes, all labels, and the pixels of four samples of each
 * split. Equal data sets have equal fingerprints; different ones differ unless they agree in all of
 * these. Never 0. Fails if a sample cannot be read, and with E_NOMEM. */
POD_MUST pod_status pod_dataset_fingerprint(const pod_dataset *d, uint64_t *out);

int64_t pod_dataset_sample_bytes(const pod_dataset_info *info); /* H W C */

/* Checks sizes, counts, class names and, unless NULL, mean and std. E_FORMAT with a text that
 * begins with `where`; E_NOMEM. */
POD_MUST pod_status pod_dataset_info_check(const char *where, const pod_dataset_info *info);

enum { POD_DATASET_MAX_SIDE = 16384 };

/* Parses the value of --image-size: "64", or "48x64" with the height first. E_INVALID. */
POD_MUST pod_status pod_image_size_parse(const char *text, int64_t *height, int64_t *width);

#endif
