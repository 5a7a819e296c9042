/* What all imports say of the classes that their samples have. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_CLASSES_H
#define MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_CLASSES_H

#include "runtime/core/log.h"
#include "runtime/data/dataset.h"

/* A warning where classes have no sample in the split; n_of: (n_classes) samples, remedy: "" or
 * what follows in the line. One line, however many they are: their names may be a thousand. */
void pod__import_tell_missing_classes(pod_log *log, const pod_dataset_info *info, pod_split split,
                                      const int64_t n_of[], const char *remedy);

#endif
