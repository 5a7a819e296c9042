/* The data set in an HDF5 file; layout in dataset.h. For this folder only. */
#ifndef MINIPOD_RUNTIME_DATA_DATASET_H5_H
#define MINIPOD_RUNTIME_DATA_DATASET_H5_H

#include "runtime/data/dataset.h"

POD_MUST pod_status pod__dataset_open_h5(const char *path, const pod_dataset_options *options,
                                         pod_dataset **out);

#endif
