/* IDX to HDF5: `data import idx FOLDER -o F.h5`. The folder holds the four usual files, each plain
 * or with .gz, 3 for images (N, H, W) or 4 for (N, H, W, C):
 *
 *   train-images-idx3-ubyte  train-labels-idx1-ubyte
 *   t10k-images-idx3-ubyte   t10k-labels-idx1-ubyte
 *
 * or the same with a dot before idx. Nothing is guessed: counts that differ, sizes that differ
 * between train and test, a label outside of the classes, two classes of one name, and whatever
 * idx.h refuses end the import, and no file is left. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_IDX_H
#define MINIPOD_RUNTIME_DATA_IMPORT_IDX_H

#include "runtime/core/log.h"
#include "runtime/data/dataset_write.h"
#include "runtime/data/import_text.h"

typedef struct pod_import_options {
    pod_import_text text;
    const char
        *classes; /* "T-shirt/top,Trouser,..."; NULL: "0", "1", ... up to the largest label */
    pod_progress progress;
    pod_log *log; /* warnings: classes without a sample; NULL: none */
} pod_import_options;

POD_MUST pod_status pod_import_idx(const char *folder, const char *h5_path,
                                   const pod_import_options *options);

#endif
