/* Compares the classes of a data set with the classes that a network was trained on. */
#ifndef MINIPOD_RUNTIME_DATA_CLASSES_H
#define MINIPOD_RUNTIME_DATA_CLASSES_H

#include "runtime/core/log.h"
#include "runtime/data/dataset.h"

typedef enum pod_class_match {
    POD_CLASSES_SAME,      /* each class has the same number in training, which may have more
                              classes */
    POD_CLASSES_REORDERED, /* training has all of them, some with other numbers */
    POD_CLASSES_RENAMED,   /* same count, some names are unknown, and the known ones keep their
                              numbers */
    POD_CLASSES_OTHER      /* none of these */
} pod_class_match;

/* Compares by name. Sets class_of (n) to the number of each class in training, -1 if training has
 * no class of that name, and *first to the first class whose number differs or is -1; n if there is
 * none. */
pod_class_match pod_classes_match(int n, const char *const name[], int n_trained,
                                  const char *const trained[], int32_t class_of[], int *first);

/* Adapts `d`, opened as `spec`, to a network that was trained on `trained`. A text with another
 * vocabulary is E_MISMATCH. For images, classes get their numbers in training, found by name, and
 * mean and std become those of training. With POD_CLASSES_REORDERED `log` gets a line; with
 * POD_CLASSES_RENAMED classes keep their numbers, with a warning; POD_CLASSES_OTHER is E_MISMATCH,
 * naming the first class. is_same: `d` is known to be the training set, so that its numbers are
 * right whatever its names. `trained` must outlive `d`; if it has no classes (checkpoints of
 * earlier versions), nothing changes. */
POD_MUST pod_status pod_dataset_as_trained(pod_dataset *d, const char *spec, bool is_same,
                                           const pod_dataset_info *trained, pod_log *log);

#endif
