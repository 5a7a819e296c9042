/* Opens a folder of images as the test split of a data set, for evaluation. No file is written;
 * each image is decoded when it is read, to the size and colours that the network was trained on.
 *
 *   FOLDER/<class>/<image>              classes by name
 *   FOLDER/{train,test}/<class>/...     the images of test
 *   FOLDER/<image>                      no labels: is_unlabelled, all labels are 0 */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_DATASET_IMAGES_H
#define MINIPOD_RUNTIME_DATA_IMPORT_DATASET_IMAGES_H

#include "runtime/core/log.h"
#include "runtime/data/dataset.h"

/* Returns whether `path` is a folder in which a search finds an image before any other known
 * form. */
bool pod_dataset_images_is(const char *path);

/* `trained` describes the training set, from the checkpoint; size, mean and std are taken from it,
 * and the classes of a folder without labels. E_INVALID if it has no classes, or other than 1 or 3
 * channels; E_IO and E_FORMAT as pod_import_images. Reading a damaged image later fails with its
 * name. */
POD_MUST pod_status pod_dataset_images_open(const char *folder, const pod_dataset_info *trained,
                                            pod_log *log, pod_dataset **out);
/* Decodes every image of such a data set. E_FORMAT counts the images that cannot be used and names
 * the first. One rank does this before all begin, because a read that fails in a step ends the
 * job. */
POD_MUST pod_status pod_dataset_images_check(const pod_dataset *d);

#endif
