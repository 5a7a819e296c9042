/* The images of a folder, as a list: which file, which class, which split. Two layouts:
 *
 *   FOLDER/<class>/<image>                      split here: the last of an order are the test
 *   FOLDER/{train,<test>}/<class>/<image>       split already; other folders are left alone
 *
 * Classes are the folders' names in byte order. Images stand in the order of their files' names
 * over all classes, numbers in a name by their value: where names tell when, or of whom, pictures
 * were taken, neighbours come to stand on one side of the split. Names that begin with a dot, and
 * files beside the class folders, are no images. Nothing is opened here. For this folder only. */
#ifndef MINIPOD_RUNTIME_DATA_IMAGE_FOLDER_H
#define MINIPOD_RUNTIME_DATA_IMAGE_FOLDER_H

#include <stdbool.h>

#include "runtime/core/log.h"
#include "runtime/data/dataset.h"

/* What is done about an image, or a folder, that cannot be used: the import ends, or it is left out
 * with a line of warning. */
typedef struct pod_bad_images {
    bool skip;
    pod_log *log;
} pod_bad_images;

/* `path` and the reason in one line; POD_OK when it is skipped. */
POD_MUST pod_status pod__bad_image(const pod_bad_images *b, const char *path, const char *reason);

typedef struct pod_image_split {
    double test_share; /* of a folder that is not split already; 0 to 1, neither of them */
    bool by_class;     /* a share of each class, instead of the end of the order over all */
    const char *test_folder;
} pod_image_split;

typedef struct pod_image_file {
    const char *path; /* from FOLDER on */
    const char *name; /* its last part */
    int32_t label;
    pod_split split;
} pod_image_file;

typedef struct pod_image_folder {
    const pod_image_file
        *file; /* (n): the training images, then those of the test, each in order */
    int64_t n, n_split[POD_N_SPLITS];
    int n_classes;
    const char *const *class_names; /* (n_classes) */
} pod_image_folder;

/* E_IO when a folder cannot be read; E_FORMAT when there are no classes, or a split has no image.
 * The list lives in the arena. */
POD_MUST pod_status pod__image_folder_list(const char *folder, const pod_image_split *split,
                                           const pod_bad_images *bad, pod_arena *a,
                                           pod_image_folder *out);

#endif
