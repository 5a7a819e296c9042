/* IDX to HDF5: `data import idx FOLDER -o F.h5`. The folder holds the four usual files, each plain
 * or with .gz, 3 for images (N, H, W) or 4 for (N, H, W, C):
 *
 *   train-images-idx3-ubyte  train-labels-idx1-ubyte
 *   t10k-images-idx3-ubyte   t10k-labels-idx1-ubyte
 *
 * or the same with a dot before idx. Nothing is guessed: counts that differ, sizes that differ
 * between train and test, a label outside of the classes, and whatever idx.h refuses end the
 * import, and no file is left. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_IDX_H
#define MINIPOD_RUNTIME_DATA_IMPORT_IDX_H

#include "runtime/data/dataset_write.h"

typedef struct pod_import_options { /* a NULL takes its default */
    const char *name;               /* the folder's name */
    const char *classes; /* "T-shirt/top,Trouser,..."; "0", "1", ... up to the largest label */
    const char *origin;  /* "" */
    const char *licence; /* the text of LICENSE, LICENCE or COPYING in the folder, or "" */
    pod_progress progress;
} pod_import_options;

POD_MUST pod_status pod_import_idx(const char *folder, const char *h5_path,
                                   const pod_import_options *options);

#endif
