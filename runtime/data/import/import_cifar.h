/* CIFAR-10 and CIFAR-100, binary version, to HDF5: `data import cifar FOLDER|TAR -o F.h5`
 * (https://www.cs.toronto.edu/~kriz/cifar.html). The folder, or the archive, plain or gzip, holds
 *
 *   data_batch_1.bin ... data_batch_5.bin  test_batch.bin  batches.meta.txt              CIFAR-10
 *   train.bin  test.bin  fine_label_names.txt  coarse_label_names.txt                    CIFAR-100
 *
 * A record is a label (CIFAR-100: the coarse, then the fine one) and 32 x 32 pixels, all red ones
 * first, then green, then blue. A file that is no whole number of records, a label that no class
 * has, a file that is missing end the import, and no file is left; a number of records other than
 * the original's is warned of. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_CIFAR_H
#define MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_CIFAR_H

#include <stdbool.h>

#include "runtime/core/log.h"
#include "runtime/data/dataset_write.h"
#include "runtime/data/import/import_text.h"

typedef struct pod_import_cifar_options {
    pod_import_text text;
    bool is_coarse;         /* CIFAR-100's 20 labels instead of its 100 */
    const char *for_labels; /* the option that says so, where it was given; NULL: none */
    pod_progress progress;
    pod_log *log;
} pod_import_cifar_options;

POD_MUST pod_status pod_import_cifar(const char *from, const char *h5_path,
                                     const pod_import_cifar_options *options);

#endif
