/* The images of a CSV file, as a list (image_list.h):
 *
 *   file,label[,split]        cat/1.jpg,cat,train
 *
 * with these columns in this order, or with a header that names them (also path or image, class,
 * set) among others. Paths are relative to the CSV's folder, or absolute. Fields may be in quotes
 * (RFC 4180). Where there is a split it is `train` or the test's name; rows of others are left out,
 * and said. Classes are the labels, by number where all are numbers, else in byte order. For this
 * folder only. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_LABELS_H
#define MINIPOD_RUNTIME_DATA_IMPORT_LABELS_H

#include "runtime/data/import/image_list.h"

/* folder: that of the CSV file, kept in the list. E_IO where the file cannot be read; E_FORMAT, with
 * the line, where a row is none. The list lives in the arena. */
POD_MUST pod_status pod__image_labels_list(const char *csv_path, const char *folder,
                                           const char *test_name, pod_arena *a,
                                           pod_image_list *out);

#endif
