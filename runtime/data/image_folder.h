/* The images of a folder, as a list: which file, which class, which split. Two layouts:
 *
 *   FOLDER/<class>/<image>                      split here: the last of an order are the test
 *   FOLDER/{train,<test>}/<class>/<image>       split already; other folders are left alone
 *
 * Classes are the folders' names in byte order. Images stand in the order of their files' names
 * over all classes, numbers in a name by their value: where names tell when, or of whom, pictures
 * were taken, neighbours come to stand on one side of the split. Names that begin with a dot, and
 * files beside the class folders, are no images. No image is opened here. For this folder only. */
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

/* What could not be used or looked at, which `s` says, and why, in one line behind `path`.
 * POD_E_FORMAT is about the image: POD_OK where it is skipped. Any other failure (no memory, a disk
 * that fails) is of this process or host, and ends the import. */
POD_MUST pod_status pod__bad_image(const pod_bad_images *b, const char *path, pod_status s,
                                   const char *reason);
/* A system call on an image or a folder failed: "WHAT: No such file or directory", as POD_E_FORMAT
 * where that is about this one file: missing, forbidden, of the wrong kind. */
POD_MUST pod_status pod__file_trouble(const char *what, int error);

typedef struct pod_image_split {
    double test_share; /* 0 to 1, neither of them */
    bool by_class;     /* a share of each class, instead of the end of the order over all */
} pod_image_split;

typedef struct pod_image_file {
    const char *path; /* from FOLDER on */
    const char *name; /* its last part */
    int32_t label;
    pod_split split;
} pod_image_file;

typedef struct pod_image_folder {
    const char *path;     /* of all; borrowed */
    pod_image_file *file; /* (n): the training images, then those of the test, each in order */
    int64_t n, n_split[POD_N_SPLITS];
    bool is_split; /* by its folders; else all are to train until pod__image_folder_split */
    int n_classes;
    const char *const *class_names; /* (n_classes) */
} pod_image_folder;

/* E_IO when FOLDER cannot be read; E_FORMAT when there are no classes; E_INVALID when `test_folder`
 * is the one of the training images. The list lives in the arena. */
POD_MUST pod_status pod__image_folder_list(const char *folder, const char *test_folder,
                                           const pod_bad_images *bad, pod_arena *a,
                                           pod_image_folder *out);
/* Splits what is not split by its folders; the caller may have taken images out of the list, whose
 * order stays. E_FORMAT when a split has no image. */
POD_MUST pod_status pod__image_folder_split(const pod_image_split *split, pod_arena *a,
                                            pod_image_folder *f);

#endif
