/* The images of an import, as a list: which file, which class, which split. image_folder.h makes
 * it of folders, image_labels.h of a CSV file; no image is opened. For this folder only. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_IMAGE_LIST_H
#define MINIPOD_RUNTIME_DATA_IMPORT_IMAGE_LIST_H

#include <stdbool.h>

#include "runtime/data/dataset.h"

typedef struct pod_image_split {
    double test_share; /* 0 to 1, neither of them */
    bool by_class;     /* a share of each class, instead of the end of the order over all */
} pod_image_split;

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

/* Orders names by their bytes, but a run of digits by its value. */
int pod__image_name_compare(const char *a, const char *b);

/* Sorts the names of classes: by number where all are numbers, else by their bytes. Answers the
 * first one at which the two differ, as in pod_image_list. */
int pod__class_names_sort(const char **name, int64_t n);
/* The index of a name among sorted ones, or -1. */
int64_t pod__class_name_find(const char *const *name, int64_t n, const char *wanted);

/* Puts the files in order, by the names of the files, and counts the splits. */
void pod__image_list_sort(pod_image_list *list);
/* Takes away classes without any file, and answers how many they were; `first` is the name of the
 * first of them. POD_E_NOMEM. */
POD_MUST pod_status pod__image_list_drop_empty(pod_image_list *list, pod_arena *a, int *n_dropped,
                                               const char **first);
/* Splits what is not split already; the caller may have taken images out of the list, whose order
 * stays. E_FORMAT when a split has no image. */
POD_MUST pod_status pod__image_list_split(const pod_image_split *split, pod_arena *a,
                                          pod_image_list *list);

#endif
