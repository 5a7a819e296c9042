/* Finds the four IDX files of a set in a folder by their names:
 *
 *   [PREFIX-]{train,t10k}-images-idx3-ubyte   [PREFIX-]{train,t10k}-labels-idx1-ubyte
 *
 * each plain or with .gz, with a dot before idx (Kaggle's), idx4 for images of several channels,
 * `test` for t10k (EMNIST's), labels also as idx2-int (QMNIST's). Folders of such names are no
 * files. For this folder only. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_IDX_FOLDER_H
#define MINIPOD_RUNTIME_DATA_IMPORT_IDX_FOLDER_H

#include "runtime/data/dataset.h"

typedef struct pod_idx_files { /* paths, in the arena */
    const char *images[POD_N_SPLITS], *labels[POD_N_SPLITS];
} pod_idx_files;

/* prefix: "emnist-letters"; NULL: of a set without one, else of the only one. POD_E_IO where the
 * folder cannot be read or holds no whole set, POD_E_INVALID where it holds several. */
POD_MUST pod_status pod__idx_folder_find(const char *folder, const char *prefix, pod_arena *a,
                                         pod_idx_files *out);

#endif
