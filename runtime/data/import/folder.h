/* The images of a folder, as a list (image_list.h). Two layouts:
 *
 *   FOLDER/<class>/<image>                      split later: the last of an order are the test
 *   FOLDER/{train,<test>}/<class>/<image>       split already; other folders are left out, and said
 *
 * Classes are the folders' names, by number where all are numbers, else in byte order. Images stand
 * in the order of their files' names over all classes, numbers in a name by their value: where
 * names tell when, or of whom, pictures were taken, neighbours come to stand on one side of the
 * split. Files that are no images by their name (Thumbs.db, labels.csv, what begins with a dot) are
 * ignored and counted. For this folder only. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_FOLDER_H
#define MINIPOD_RUNTIME_DATA_IMPORT_FOLDER_H

#include "runtime/data/import/bad_images.h"
#include "runtime/data/import/image_list.h"

/* E_IO when FOLDER cannot be read; E_FORMAT when there are no classes; E_INVALID when `test_folder`
 * is the one of the training images. The list lives in the arena. */
POD_MUST pod_status pod__image_folder_list(const char *folder, const char *test_folder,
                                           pod_bad_images *bad, pod_arena *a, pod_image_list *out);
/* The files of FOLDER itself, without labels and classes, in the same order: all but those whose name
 * is not an image's. Empty where no name ends as that of a JPEG or PNG file. E_IO, E_NOMEM. The list
 * lives in the arena. */
POD_MUST pod_status pod__image_folder_list_flat(const char *folder, pod_arena *a,
                                                pod_image_list *out);

#endif
