/* What the files of this folder that write and read checkpoints share: names, texts, boxes. */
#ifndef MINIPOD_RUNTIME_CHECKPOINT_PARTS_H
#define MINIPOD_RUNTIME_CHECKPOINT_PARTS_H

#include "runtime/checkpoint/write.h"
#include "runtime/h5/image.h"

enum {
    POD__CHECKPOINT_NAME_BYTES = 512,  /* of an array */
    POD__CHECKPOINT_FOLDER_BYTES = 64, /* of a folder's or a file's name */
    POD__NOTE_BYTES = 1024,            /* of a receipt, of what an error says */
    POD__CHECKPOINT_MAX_RANKS = 1 << 16,
    POD__CHECKPOINT_KEPT_EVALS = 1 << 16, /* that a manifest is written with */
    POD__CHECKPOINT_MAX_EVALS = 1 << 20   /* that one is read with */
};

/* "/weights/stem/conv/w"; E_INVALID when it is too long. */
POD_MUST pod_status pod__checkpoint_array(const pod_tensor *t,
                                          char name[POD__CHECKPOINT_NAME_BYTES]);

uint32_t pod__checkpoint_crc(uint32_t crc, const void *data, size_t bytes); /* zlib's; 0 begins */

/* ---- names of folders ---- */

typedef enum pod__checkpoint_kind {
    POD__CHECKPOINT_NONE, /* no name of a checkpoint */
    POD__CHECKPOINT_LEFT, /* what could not be removed; parse takes it for none */
    POD__CHECKPOINT_GONE, /* being removed, while one of the same step may be written */
    POD__CHECKPOINT_PART, /* being written */
    POD__CHECKPOINT_OLD,  /* being replaced */
    POD__CHECKPOINT_WHOLE
} pod__checkpoint_kind;

/* "step-000000120", ".part", ".old", ".gone" or ".left" behind it; returns `name`. */
const char *pod__checkpoint_folder(int64_t step, pod__checkpoint_kind kind,
                                   char name[POD__CHECKPOINT_FOLDER_BYTES]);
/* The inverse. */
pod__checkpoint_kind pod__checkpoint_folder_parse(const char *name, int64_t *step);

/* "shard-0001" and what is behind it; returns `name`. */
const char *pod__checkpoint_shard(int rank, const char *ending,
                                  char name[POD__CHECKPOINT_FOLDER_BYTES]);

/* ---- the manifest ---- */

typedef struct pod__manifest {
    int64_t step;
    int ranks;
    const pod_checkpoint_receipt *shard; /* (ranks) */
    pod_checkpoint_receipt index;
    pod_eval_rows evals; /* none in one of an earlier version */
} pod__manifest;

size_t pod__manifest_room(int ranks, int64_t n_evals); /* bytes that hold its text */
/* Answers the bytes of the text. Of more evaluations than KEPT_EVALS the latest are kept. */
size_t pod__manifest_print(const pod__manifest *m, char *text, size_t room);
/* `text` ends with a 0, which `bytes` does not count. E_FORMAT, naming `path`, unless the text is
 * whole and what print made (white space aside, but for the last line). */
POD_MUST pod_status pod__manifest_parse(const char *path, const char *text, size_t bytes,
                                        pod_arena *a, pod__manifest *out);

/* ---- `latest` and `best` ---- */

size_t pod__latest_print(int64_t step, char *text, size_t room);
/* The step that the file at `path` points to. E_IO where it cannot be read, E_FORMAT where it is
 * damaged. */
POD_MUST pod_status pod__latest_read(const char *path, int64_t *step);
/* A text of at most NOTE_BYTES - 1; false where there is none. Takes no memory. */
bool pod__note_read(const char *path, char text[POD__NOTE_BYTES]);

/* ---- the index ---- */

/* What it says of the run, but for the evaluations and the folder; with HDF5's lock held. */
POD_MUST pod_status pod__info_put(const pod_h5_file *f, const pod_checkpoint_info *info, int ranks);
POD_MUST pod_status pod__info_get(const pod_h5_file *f, pod_arena *a, pod_checkpoint_info *out);
/* That it is one of this version. */
POD_MUST pod_status pod__info_check(const pod_h5_file *f);
double pod__epoch_at(int64_t step, int64_t steps_per_epoch);

/* ---- pieces of arrays ---- */

enum { POD__MAX_BOXES = 2 * POD_CHECKPOINT_MAX_DIMS - 1 };

/* Elements first .. first + count - 1, which `file` has, as boxes behind one another; answers how
 * many. */
int pod__boxes_of(int n_dims, const int64_t dim[], pod_checkpoint_range r, const char *file,
                  pod_h5_source box[POD__MAX_BOXES]);

#endif
