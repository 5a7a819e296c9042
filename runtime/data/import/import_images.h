/* Folders of JPEG and PNG files to HDF5: `data import images FOLDER -o F.h5`. Which files, classes
 * and splits: image_folder.h. All images of the set come out at one size: the largest box of its
 * shape in the middle of a picture, brought to that size (resize.h).
 *
 * A few files are in memory at a time, and each is read once; twice where the bad ones are skipped,
 * so that classes and shares are those of what is left. The result depends on the folder and the
 * options alone, not on the number of threads. What cannot be used, a damaged file (jpeg.h, png.h),
 * one of another format, grey among colours, a class folder without images, ends the import: one
 * line names the first few with their reasons and counts all, and no file is left. Or they are left
 * out, with as few warnings. A failure of this process or host (no memory, a disk that cannot be
 * read) ends the import at once in either case. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_IMAGES_H
#define MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_IMAGES_H

#include <stdbool.h>

#include "runtime/core/log.h"
#include "runtime/data/import/import_text.h"

enum { POD_IMPORT_MAX_THREADS = 64 };

typedef struct pod_import_images_options {
    pod_import_text text;
    int64_t height, width; /* of the set's images */
    int channels;          /* 3: colour; 1: grey, to which colour is reduced */
    bool convert;          /* grey to colour, CMYK to either; else they are bad images */
    bool skip_bad;
    double test_share; /* of FOLDER/<class>/: the last of the order; above 0 and below 1 */
    bool split_by_class;
    const char *test_folder; /* of FOLDER/{train,<test>}/<class>/ */
    /* The name of an option that was given on purpose and says nothing of the other layout than
     * FOLDER/<class>/, or than FOLDER/{train,<test>}/<class>/, which it so refuses; NULL: none. */
    const char *for_share, *for_folders;
    int n_threads; /* that decode and pack, beside the one that writes; at least 1 */
    pod_log *log;  /* progress, warnings, and what was found */
} pod_import_images_options;

/* POD_E_INVALID where h5_path lies in the folder, the test's folder is that of training, or an
 * option is for another layout. */
POD_MUST pod_status pod_import_images(const char *folder, const char *h5_path,
                                      const pod_import_images_options *options);
/* Likewise of the images that a CSV file lists (image_labels.h): test_folder is the name of the
 * test's split, for_share and for_folders are of files without and with a column of splits.
 * POD_E_INVALID also where h5_path is one of the files that are read. */
POD_MUST pod_status pod_import_list(const char *csv_path, const char *h5_path,
                                    const pod_import_images_options *options);

#endif
