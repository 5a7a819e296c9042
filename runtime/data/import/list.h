/* The images of an import, as a list: which file, which class, which split. Folders or a CSV file
 * say so; no image is opened. Classes are in the order of their numbers where all are numbers, else
 * in byte order. For this folder only.
 *
 * Images stand in the order of their files' names over all classes, numbers in a name by their
 * value: where names tell when, or of whom, pictures were taken, neighbours come to stand on one
 * side of the split. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_LIST_H
#define MINIPOD_RUNTIME_DATA_IMPORT_LIST_H

#include <stdbool.h>

#include "runtime/core/log.h"
#include "runtime/data/dataset.h"

/* ---- what cannot be used --------------------------------------------------------------------- */

/* Files and folders that cannot be used: all of them are counted, and the first few are named, in
 * one error at the end or, where they are skipped, in warnings. */
typedef struct pod_bad_images {
    bool skip;
    pod_log *log;
    int64_t n, n_named;
    char named[768]; /* the first few, each with its reason */
} pod_bad_images;

/* Notes that `path` cannot be used, and why, and returns POD_OK: an error comes at the end. Any
 * status but POD_E_FORMAT (no memory, a disk that fails) is of this process or host, not of the
 * file: it is returned, as a failure that names path and reason. `reason` NULL: the failure on
 * record. */
POD_MUST pod_status pod__bad_image(pod_bad_images *b, const char *path, pod_status s,
                                   const char *reason);
/* After all were looked at: POD_E_FORMAT where some cannot be used and are not skipped. */
POD_MUST pod_status pod__bad_images_end(const pod_bad_images *b, const char *folder);

/* A system call on an image or a folder failed: "WHAT: No such file or directory", as POD_E_FORMAT
 * where that is about this one file: missing, forbidden, of the wrong kind. */
POD_MUST pod_status pod__file_trouble(const char *what, int error);

/* ---- the list -------------------------------------------------------------------------------- */

typedef struct pod_image_file {
    const char *path; /* from the list's folder on, or absolute */
    const char *name; /* its last part */
    int32_t label;
    pod_split split;
} pod_image_file;

typedef struct pod_image_list {
    const char *folder;
    pod_image_file *file; /* (n): the training images, then those of the test, each in order */
    int64_t n, n_split[POD_N_SPLITS];
    bool is_split; /* already; else all are to train until pod__image_list_split */
    int n_classes;
    const char *const *class_names; /* (n_classes) */
    int by_number;     /* the first class whose number is larger than that of the one before it, but
                        whose bytes are less; 0: none */
    int64_t n_ignored; /* files that are no images by their name */
    const char *first_ignored; /* from the folder on */
    int64_t n_stray;           /* images beside the folders of the classes */
    const char *left_out;      /* images of neither split, in words; NULL: none */
} pod_image_list;

/* The images of a folder, in one of two layouts:
 *
 *   FOLDER/<class>/<image>                      split later: the last of an order are the test
 *   FOLDER/{train,<test>}/<class>/<image>       split already; other folders are left out, and said
 *
 * Files that are no images by their name (Thumbs.db, labels.csv, what begins with a dot) are
 * ignored and counted. E_IO when FOLDER cannot be read; E_FORMAT when there are no classes;
 * E_INVALID when `test_folder` is the one of the training images. The list lives in the arena. */
POD_MUST pod_status pod__image_folder_list(const char *folder, const char *test_folder,
                                           pod_bad_images *bad, pod_arena *a, pod_image_list *out);
/* The files of FOLDER itself, without labels and classes, in the same order: all but those whose
 * name is not an image's. Empty where no name ends as that of a JPEG or PNG file. E_IO, E_NOMEM. */
POD_MUST pod_status pod__image_folder_list_flat(const char *folder, pod_arena *a,
                                                pod_image_list *out);

/* The images of a CSV file:
 *
 *   file,label[,split]        cat/1.jpg,cat,train
 *
 * with these columns in this order, or with a header that names them (also path or image, class,
 * set) among others. Paths are relative to `folder`, that of the CSV file, or absolute. Fields may
 * be in quotes (RFC 4180). Where there is a split it is `train` or the test's name; rows of others
 * are left out, and said. E_IO where the file cannot be read; E_FORMAT, with the line, where a row
 * is none. The list lives in the arena. */
POD_MUST pod_status pod__image_labels_list(const char *csv_path, const char *folder,
                                           const char *test_name, pod_arena *a,
                                           pod_image_list *out);

/* Takes away classes without any file, with a warning. */
POD_MUST pod_status pod__image_list_drop_empty(pod_image_list *list, pod_arena *a, pod_log *log);
/* Splits what is not split already, test_share (0 to 1, neither of them) of the end of the order,
 * over all or of each class; the caller may have taken images out of the list, whose order stays.
 * E_FORMAT when a split has no image. */
POD_MUST pod_status pod__image_list_split(pod_image_list *list, double test_share, bool by_class,
                                          pod_arena *a);

/* ---- for those that make a list -------------------------------------------------------------- */

/* Sorts the names of classes; answers by_number of pod_image_list. */
int pod__class_names_sort(const char **name, int64_t n);
bool pod__are_numbers(const char *const *name, int64_t n);
/* The index of a name among sorted ones, which are all numbers or not, or -1. */
int64_t pod__class_name_find(const char *const *name, int64_t n, bool is_numeric,
                             const char *wanted);
/* Puts the files in order, by the names of the files, and counts the splits. */
void pod__image_list_sort(pod_image_list *list);
/* Adds "'validation' (200 images)" to what is left out. */
POD_MUST pod_status pod__image_list_leave_out(pod_image_list *list, const char *what, int64_t n,
                                              pod_arena *a);

#endif
