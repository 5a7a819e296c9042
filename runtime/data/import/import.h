/* Data in other forms to HDF5: `data import idx|images|list|cifar FROM -o F.h5`. Where one fails no
 * file is left. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_H
#define MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_H

#include "runtime/core/log.h"
#include "runtime/data/dataset_write.h"

typedef struct pod_import_text { /* what a set says beside its samples; a NULL takes its default */
    const char *name;            /* the folder's name */
    const char *origin;          /* "" */
    const char
        *licence; /* the text of LICENSE, LICENCE or COPYING in the folder or above it, or "" */
} pod_import_text;

/* ---- IDX: MNIST and those in its form -------------------------------------------------------- */

typedef struct pod_import_idx_options {
    pod_import_text text;
    const char *prefix;  /* of the files' names; NULL: none, or the only one there is */
    const char *classes; /* "T-shirt/top,Trouser,..."; NULL: the labels' numbers */
    pod_log *log;        /* progress, and warnings: classes without a sample */
} pod_import_idx_options;

/* The four files of the folder
 *
 *   [PREFIX-]{train,t10k}-images-idx3-ubyte   [PREFIX-]{train,t10k}-labels-idx1-ubyte
 *
 * each plain or with .gz, with a dot before idx (Kaggle's), idx4 for images of several channels,
 * `test` for t10k (EMNIST's), labels also as idx2-int (QMNIST's). Labels that start at 1, as those of
 * EMNIST's letters, become classes from 0 on, and a line says so. Nothing else is guessed: counts
 * that differ, sizes that differ between train and test, a label outside of the classes, two classes
 * of one name, and whatever idx.h refuses end the import. */
POD_MUST pod_status pod_import_idx(const char *folder, const char *h5_path,
                                   const pod_import_idx_options *options);

/* ---- CIFAR-10 and CIFAR-100, binary version (https://www.cs.toronto.edu/~kriz/cifar.html) ------ */

typedef struct pod_import_cifar_options {
    pod_import_text text;
    bool is_coarse;         /* CIFAR-100's 20 labels instead of its 100 */
    const char *for_labels; /* the option that says so, where it was given; NULL: none */
    pod_log *log;
} pod_import_cifar_options;

/* The folder, or the archive, plain or gzip, holds
 *
 *   data_batch_1.bin ... data_batch_5.bin  test_batch.bin  batches.meta.txt              CIFAR-10
 *   train.bin  test.bin  fine_label_names.txt  coarse_label_names.txt                    CIFAR-100
 *
 * A record is a label (CIFAR-100: the coarse, then the fine one) and 32 x 32 pixels, all red ones
 * first, then green, then blue. A file that is no whole number of records, a label that no class
 * has, a file that is missing end the import; a number of records other than the original's is
 * warned of. */
POD_MUST pod_status pod_import_cifar(const char *from, const char *h5_path,
                                     const pod_import_cifar_options *options);

/* ---- JPEG and PNG files (list.h, decode.h) ---------------------------------------------------- */

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

/* All images of the set come out at one size: the largest box of its shape in the middle of a
 * picture, brought to that size (resize.h).
 *
 * A few files are in memory at a time, and each is read once; twice where the bad ones are skipped,
 * so that classes and shares are those of what is left. The result depends on the folder and the
 * options alone, not on the number of threads. What cannot be used, a damaged file, one of another
 * format, grey among colours, a class folder without images, ends the import: one line names the
 * first few with their reasons and counts all. Or they are left out, with as few warnings. A failure
 * of this process or host (no memory, a disk that cannot be read) ends the import at once in either
 * case. POD_E_INVALID where h5_path lies in the folder, the test's folder is that of training, or an
 * option is for another layout. */
POD_MUST pod_status pod_import_images(const char *folder, const char *h5_path,
                                      const pod_import_images_options *options);
/* Likewise of the images that a CSV file lists: test_folder is the name of the test's split,
 * for_share and for_folders are of files without and with a column of splits. */
POD_MUST pod_status pod_import_list(const char *csv_path, const char *h5_path,
                                    const pod_import_images_options *options);

/* ---- for this folder ------------------------------------------------------------------------- */

/* Fills in name, origin and licence; they are borrowed, or in the arena. */
POD_MUST pod_status pod__import_text_take(const pod_import_text *given, const char *folder,
                                          pod_arena *a, pod_dataset_info *info);
/* A warning for each split in which classes have no sample of n_of (POD_N_SPLITS, n_classes);
 * `remedy`: "" or what follows in the line. One line, however many they are. */
void pod__import_tell_missing_classes(pod_log *log, const pod_dataset_info *info,
                                      const int64_t n_of[], const char *remedy);
/* Writes the file from what `fill` makes (dataset_write.h), then tells which classes are missing. */
POD_MUST pod_status pod__import_write(const char *h5_path, const pod_dataset_info *info,
                                      pod_dataset_fill *fill, void *ctx, pod_arena *a,
                                      pod_log *log);

#endif
