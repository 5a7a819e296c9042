/* The images of an import as a list of file, class and split, from folders or from a CSV file; no
 * image is opened. Classes are ordered by number if all names are numbers, else by bytes. Private
 * to this folder.
 *
 * Images of all classes are ordered by file name, with numbers in a name compared by value. If
 * names contain the time or the subject of pictures, related pictures thus fall on the same side of
 * the split. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_LIST_H
#define MINIPOD_RUNTIME_DATA_IMPORT_LIST_H

#include <stdbool.h>

#include "runtime/core/log.h"
#include "runtime/data/dataset.h"

/* ---- bad images ------------------------------------------------------------------------------ */

/* Files and folders that cannot be used. All are counted and the first few are named, in one error
 * at the end or, with skip, in warnings. */
typedef struct pod_bad_images {
    bool skip;
    pod_log *log;
    int64_t n, n_named;
    char named[768]; /* the first few, each with its reason */
} pod_bad_images;

/* For s == POD_E_FORMAT: records that `path` cannot be used, and returns POD_OK; the error comes at
 * the end. Any other status (no memory, a disk that fails) concerns this process or host: fails
 * with it and names path and reason. `reason` NULL: the text of the last error. */
POD_MUST pod_status pod__bad_image(pod_bad_images *b, const char *path, pod_status s,
                                   const char *reason);
/* Call it after the last image: POD_E_FORMAT if there are bad images and they are not skipped. */
POD_MUST pod_status pod__bad_images_end(const pod_bad_images *b, const char *folder);

/* Fails for a system call on an image or a folder that set `error`, with "WHAT: No such file or
 * directory". The status is POD_E_FORMAT if the error concerns this file alone (missing, forbidden,
 * of the wrong kind). */
POD_MUST pod_status pod__file_trouble(const char *what, int error);

/* ---- the list -------------------------------------------------------------------------------- */

typedef struct pod_image_file {
    const char *path; /* relative to the list's folder, or absolute */
    const char *name; /* last component of the path */
    int32_t label;
    pod_split split;
} pod_image_file;

typedef struct pod_image_list {
    const char *folder;
    pod_image_file *file; /* (n): the training images, then the test images, each in order */
    int64_t n, n_split[POD_N_SPLITS];
    bool is_split; /* false: all are training images until pod__image_list_split */
    int n_classes;
    const char *const *class_names; /* (n_classes) */
    int by_number;     /* the first class that byte order would put before its predecessor by
                          number; 0: none */
    int64_t n_ignored; /* files whose names are not those of images */
    const char *first_ignored; /* relative to the folder */
    int64_t n_stray;           /* images outside the class folders */
    const char *left_out;      /* describes images of neither split, which are skipped; NULL:
                                  none */
} pod_image_list;

/* Lists the images of a folder, in one of two layouts:
 *
 *   FOLDER/<class>/<image>                      split later: the last in order are the test images
 *   FOLDER/{train,<test>}/<class>/<image>       split already; other folders are in left_out
 *
 * Files whose names are not those of images (Thumbs.db, labels.csv, names that begin with a dot)
 * are ignored and counted. E_IO if FOLDER cannot be read; E_FORMAT if there are no classes, or a
 * folder train without <test>; E_INVALID if `test_folder` is the folder of the training images. The
 * list lives in the arena. */
POD_MUST pod_status pod__image_folder_list(const char *folder, const char *test_folder,
                                           pod_bad_images *bad, pod_arena *a, pod_image_list *out);
/* Lists the images directly in FOLDER, in the same order, without labels and classes. The list is
 * empty if no name ends like that of a JPEG or PNG file. E_IO, E_NOMEM. */
POD_MUST pod_status pod__image_folder_list_flat(const char *folder, pod_arena *a,
                                                pod_image_list *out);

/* Lists the images of a CSV file:
 *
 *   file,label[,split]        cat/1.jpg,cat,train
 *
 * with these columns in this order, or with a header that names them (also path or image, class,
 * set) among other columns. Paths are absolute, or relative to `folder`, the folder of the CSV
 * file. Fields may be quoted (RFC 4180). A split is `train`, `training` or `test_name`, in any
 * case; rows of other splits are skipped and described in left_out. E_IO if the file cannot be
 * read; E_FORMAT for a malformed row, with the line number, for a file in two rows, and for a split
 * without rows. The list lives in the arena. */
POD_MUST pod_status pod__image_labels_list(const char *csv_path, const char *folder,
                                           const char *test_name, pod_arena *a,
                                           pod_image_list *out);

/* Removes classes without any file, with a warning. */
POD_MUST pod_status pod__image_list_drop_empty(pod_image_list *list, pod_arena *a, pod_log *log);
/* Splits a list that is not split yet: the last test_share (above 0, below 1) of the images, of all
 * together or of each class, become test images. The caller may have removed images from the list
 * before, keeping its order. E_FORMAT if a split has no image. */
POD_MUST pod_status pod__image_list_split(pod_image_list *list, double test_share, bool by_class,
                                          pod_arena *a);

/* ---- for the files that build a list --------------------------------------------------------- */

/* Sorts the names of classes; returns pod_image_list.by_number. */
int pod__class_names_sort(const char **name, int64_t n);
int pod__by_bytes(const void *a, const void *b); /* of qsort, for an array of texts */
bool pod__are_numbers(const char *const *name, int64_t n);
/* Returns the index of `wanted` among sorted names, or -1; is_numeric: all names are numbers. */
int64_t pod__class_name_find(const char *const *name, int64_t n, bool is_numeric,
                             const char *wanted);
/* Sorts the files by name and counts the splits. */
void pod__image_list_sort(pod_image_list *list);
/* Adds text such as "'validation' (200 images)" to left_out. */
POD_MUST pod_status pod__image_list_leave_out(pod_image_list *list, const char *what, int64_t n,
                                              pod_arena *a);

#endif
