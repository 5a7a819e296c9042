/* A folder of images as the test split of a data set, for evaluation: no file is made, and each
 * image is decoded when it is read, to the size and colours that the network was trained on.
 *
 *   FOLDER/<class>/<image>              classes by name
 *   FOLDER/{train,test}/<class>/...     those of test
 *   FOLDER/<image>                      without labels: of all, 0 stands in; is_unlabelled */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_DATASET_IMAGES_H
#define MINIPOD_RUNTIME_DATA_IMPORT_DATASET_IMAGES_H

#include "runtime/core/log.h"
#include "runtime/data/dataset.h"

/* Whether there is a folder that holds images before anything else that is known. */
bool pod_dataset_images_is(const char *path);

/* `trained` is what a checkpoint says of its data set: size, classes, mean and std, which the data
 * set takes over where it has none of its own. E_INVALID where it says nothing; E_IO, E_FORMAT as
 * the import of images; reading a damaged image fails with its name. */
POD_MUST pod_status pod_dataset_images_open(const char *folder, const pod_dataset_info *trained,
                                            pod_log *log, pod_dataset **out);
/* Decodes every image of what was opened so: E_FORMAT counts those that cannot be used and names the
 * first. For one rank to do before all begin, as a read that fails in a step ends the job. */
POD_MUST pod_status pod_dataset_images_check(const pod_dataset *d);

#endif
