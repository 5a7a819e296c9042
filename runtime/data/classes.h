/* The classes of a data set beside those that a network was trained on. */
#ifndef MINIPOD_RUNTIME_DATA_CLASSES_H
#define MINIPOD_RUNTIME_DATA_CLASSES_H

#include "runtime/core/log.h"
#include "runtime/data/dataset.h"

typedef enum pod_class_match {
    POD_CLASSES_SAME,      /* each has its number, though training may have had more */
    POD_CLASSES_REORDERED, /* training had all of them, under other numbers */
    POD_CLASSES_RENAMED,   /* as many, and none that training had has another number */
    POD_CLASSES_OTHER      /* none of these */
} pod_class_match;

/* Compares by name. class_of: (n), the number in training of each class, -1 where training had none
 * of that name. first: the first class whose number or name is another one; n: none. */
pod_class_match pod_classes_match(int n, const char *const name[], int n_trained,
                                  const char *const trained[], int32_t class_of[], int *first);

/* Makes `d`, which was opened as `spec`, present itself as a network needs it that was trained on
 * `trained`: its classes numbered as in training, by name, and its mean and deviation those of
 * training. Classes in another order are a line in `log`; where only the names are others they are
 * taken by number, with a warning; E_MISMATCH, naming the first class, where they cannot be
 * matched. is_same: it is known to be the same set, whose numbers are right. `trained` must outlive
 * `d`; one without classes, of an earlier version, changes nothing. */
POD_MUST pod_status pod_dataset_as_trained(pod_dataset *d, const char *spec, bool is_same,
                                           const pod_dataset_info *trained, pod_log *log);

#endif
