/* What a data set is, for a person and for a program: `data info`. */
#ifndef MINIPOD_RUNTIME_DATA_DATASET_PRINT_H
#define MINIPOD_RUNTIME_DATA_DATASET_PRINT_H

#include <stdio.h>

#include "runtime/data/dataset.h"

/* Lines of "key  value", with the number of samples of each class. Fails for want of memory. */
POD_MUST pod_status pod_dataset_print(const pod_dataset *d, FILE *to);
/* The same as one JSON object. */
POD_MUST pod_status pod_dataset_print_json(const pod_dataset *d, FILE *to);

#endif
