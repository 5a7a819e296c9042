/* IDX to HDF5: `data import idx FOLDER -o F.h5`. Which four files of the folder: idx_folder.h.
 * Labels that start at 1, as those of EMNIST's letters, become classes from 0 on, and a line says
 * so. Nothing else is guessed: counts that differ, sizes that differ between train and test, a
 * label outside of the classes, two classes of one name, and whatever idx.h refuses end the import,
 * and no file is left. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_IDX_H
#define MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_IDX_H

#include "runtime/core/log.h"
#include "runtime/data/dataset_write.h"
#include "runtime/data/import/import_text.h"

typedef struct pod_import_options {
    pod_import_text text;
    const char *prefix;  /* of the files' names; NULL: none, or the only one there is */
    const char *classes; /* "T-shirt/top,Trouser,..."; NULL: the labels' numbers */
    pod_progress progress;
    pod_log *log; /* warnings: classes without a sample; NULL: none */
} pod_import_options;

POD_MUST pod_status pod_import_idx(const char *folder, const char *h5_path,
                                   const pod_import_options *options);

#endif
