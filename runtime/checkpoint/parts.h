/* Shared by the files that write and read checkpoints: names, manifest, notes, boxes. Private to
 * this folder. */
#ifndef MINIPOD_RUNTIME_CHECKPOINT_PARTS_H
#define MINIPOD_RUNTIME_CHECKPOINT_PARTS_H

#include "runtime/checkpoint/write.h"
#include "runtime/h5/image.h"

enum {
    POD__CHECKPOINT_NAME_BYTES = 512,  /* of an array */
    POD__CHECKPOINT_FOLDER_BYTES = 64, /* of the name of a folder or file */
    POD__NOTE_BYTES = 1024,            /* of a receipt, of an error text */
    POD__CHECKPOINT_MAX_RANKS = 1 << 16,
    POD__CHECKPOINT_KEPT_EVALS = 1 << 16, /* most in a manifest that is written */
    POD__CHECKPOINT_MAX_EVALS = 1 << 20   /* most in a manifest that is read */
};

/* Writes the name of the tensor's array, "/weights/stem/conv/w"; E_INVALID if it is too long. */
POD_MUST pod_status pod__checkpoint_array(const pod_tensor *t,
                                          char name[POD__CHECKPOINT_NAME_BYTES]);

uint32_t pod__checkpoint_crc(uint32_t crc, const void *data, size_t bytes); /* zlib's; begin with
                                                                               crc 0 */

/* ---- names of folders ---- */

typedef enum pod__checkpoint_kind {
    POD__CHECKPOINT_NONE, /* not the name of a checkpoint */
    POD__CHECKPOINT_LEFT, /* could not be removed; parsed as NONE */
    POD__CHECKPOINT_GONE, /* being removed; another one of this step may be written */
    POD__CHECKPOINT_PART, /* being written */
    POD__CHECKPOINT_OLD,  /* being replaced */
    POD__CHECKPOINT_WHOLE
} pod__checkpoint_kind;

/* Writes "step-000000120" with ".part", ".old", ".gone", ".left" or nothing behind it; returns
 * `name`. */
const char *pod__checkpoint_folder(int64_t step, pod__checkpoint_kind kind,
                                   char name[POD__CHECKPOINT_FOLDER_BYTES]);
/* The inverse. */
pod__checkpoint_kind pod__checkpoint_folder_parse(const char *name, int64_t *step);

/* Writes "shard-0001" and `ending`; returns `name`. */
const char *pod__checkpoint_shard(int rank, const char *ending,
                                  char name[POD__CHECKPOINT_FOLDER_BYTES]);

/* ---- the manifest ---- */

typedef struct pod__manifest {
    int64_t step;
    int ranks;
    const pod_checkpoint_receipt *shard; /* (ranks) */
    pod_checkpoint_receipt index;
    pod_eval_rows evals; /* none in manifests of earlier versions */
} pod__manifest;

size_t pod__manifest_room(int ranks, int64_t n_evals); /* bytes that are enough for its text */
/* Returns the bytes of the text. Prints the last POD__CHECKPOINT_KEPT_EVALS evaluations only. */
size_t pod__manifest_print(const pod__manifest *m, char *text, size_t room);
/* Parses `text`, which ends with a 0 that `bytes` does not count. E_FORMAT, naming `path`, unless
 * it is a complete text of pod__manifest_print; white space may differ except in the last line. */
POD_MUST pod_status pod__manifest_parse(const char *path, const char *text, size_t bytes,
                                        pod_arena *a, pod__manifest *out);

/* ---- `latest` and `best` ---- */

size_t pod__latest_print(int64_t step, char *text, size_t room);
/* Reads the step to which the file at `path` points. E_IO if it cannot be read, E_FORMAT if it is
 * damaged. */
POD_MUST pod_status pod__latest_read(const char *path, int64_t *step);
/* Reads a text of at most POD__NOTE_BYTES - 1 bytes; false if there is none. Allocates nothing. */
bool pod__note_read(const char *path, char text[POD__NOTE_BYTES]);

/* ---- the index ---- */

/* Write and read the attributes of the run, i.e. all but evaluations and folder. The caller holds
 * the HDF5 lock. */
POD_MUST pod_status pod__info_put(const pod_h5_file *f, const pod_checkpoint_info *info, int ranks);
POD_MUST pod_status pod__info_get(const pod_h5_file *f, pod_arena *a, pod_checkpoint_info *out);
/* Checks that it is an index of this version. */
POD_MUST pod_status pod__info_check(const pod_h5_file *f);
double pod__epoch_at(int64_t step, int64_t steps_per_epoch);

/* ---- pieces of arrays ---- */

enum { POD__MAX_BOXES = 2 * POD_CHECKPOINT_MAX_DIMS - 1 };

/* Splits the range r of an array, whose elements are in `file`, into boxes in the order of the
 * elements; returns their number. */
int pod__boxes_of(int n_dims, const int64_t dim[], pod_checkpoint_range r, const char *file,
                  pod_h5_source box[POD__MAX_BOXES]);

#endif
