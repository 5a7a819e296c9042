/* Converts data in other forms to HDF5: `data import idx|images|list|cifar|text|pairs FROM -o
 * F.h5`. An import that fails leaves no file. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_H
#define MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_H

#include "runtime/core/log.h"
#include "runtime/data/dataset_write.h"
#include "runtime/text/lines.h"

typedef struct pod_import_text { /* descriptive texts of the set; NULL means the default */
    const char *name;            /* the folder's name */
    const char *origin;          /* "" */
    const char
        *licence; /* the text of LICENSE, LICENCE or COPYING in the folder or above it, or "" */
} pod_import_text;

/* ---- IDX: MNIST and data sets in its form ---------------------------------------------------- */

typedef struct pod_import_idx_options {
    pod_import_text text;
    const char *prefix;  /* of the file names; NULL: none, or the only one in the folder */
    const char *classes; /* names, as in "T-shirt/top,Trouser,..."; NULL: the numbers of the
                            labels */
    pod_log *log;        /* progress, and warnings: classes without a sample */
} pod_import_idx_options;

/* Imports four files of the folder
 *
 *   [PREFIX-]{train,t10k}-images-idx3-ubyte   [PREFIX-]{train,t10k}-labels-idx1-ubyte
 *
 * each plain or as .gz. Variants of the names: a dot before idx (Kaggle), idx4 for images of
 * several channels, `test` for t10k (EMNIST), idx2-int for labels (QMNIST). If labels start at 1,
 * as those of EMNIST's letters do, class 0 is label 1, and a line says so. The import fails if the
 * counts of images and labels differ, if sizes differ between train and test, for a label outside
 * the classes, for two classes of one name, and for any file that idx.h refuses. */
POD_MUST pod_status pod_import_idx(const char *folder, const char *h5_path,
                                   const pod_import_idx_options *options);

/* ---- CIFAR-10 and CIFAR-100, binary version (https://www.cs.toronto.edu/~kriz/cifar.html)
 * ------ */

typedef struct pod_import_cifar_options {
    pod_import_text text;
    bool is_coarse;         /* CIFAR-100: its 20 coarse labels instead of the 100 fine ones */
    const char *for_labels; /* the option that asked for is_coarse, for error texts; NULL: none */
    pod_log *log;
} pod_import_cifar_options;

/* `from` is a folder or a tar archive, plain or gzip, with these files:
 *
 *   data_batch_1.bin ... data_batch_5.bin  test_batch.bin  batches.meta.txt              CIFAR-10
 *   train.bin  test.bin  fine_label_names.txt  coarse_label_names.txt                    CIFAR-100
 *
 * A record is a label (CIFAR-100: the coarse, then the fine one) and 32 x 32 pixels: all red
 * values, then green, then blue. The import fails if a .bin file is missing or is not a whole
 * number of records, or if a label has no class. It warns if the number of records differs from the
 * original's, or if the file of names is missing; classes are then named by number. E_INVALID for
 * for_labels with CIFAR-10. */
POD_MUST pod_status pod_import_cifar(const char *from, const char *h5_path,
                                     const pod_import_cifar_options *options);

/* ---- text (text_set.h)
 * ------------------------------------------------------------------------- */

typedef struct pod_import_words_options {
    pod_import_text text;
    const char *vocab; /* file with a token per line (vocab.h) */
    bool is_cased;
    bool by_file;           /* each file is a document; else empty lines separate documents */
    bool splits_sentences;  /* sentences by the rule of sentence.h; else each line is a sentence */
    const char *test_files; /* names of files for the test split, by commas; NULL: by share */
    double test_share;      /* share of documents or pairs for the test split, spread evenly */
    int column[2];          /* of pairs: the fields of source and target, from 1 */
    pod_log *log;
} pod_import_words_options;

/* A text file of an import. */
typedef struct pod_text_file {
    const char *path;
    bool is_test;
} pod_text_file;

typedef struct pod_text_files {
    int n;
    const pod_text_file *file; /* (n) */
    int64_t bytes;             /* of all */
    int n_ignored;             /* files of folders whose names are not those of texts */
    const char *first_ignored;
} pod_text_files;

/* Lists the files from[0] .. from[n - 1]. A folder stands for those of its files that end in .txt,
 * .text, .md or, with `pairs`, .tsv, except README and LICENSE, in the order of their names. A file
 * that test_files names, by its path or the last component of it, becomes a test file; another path
 * in test_files is added to the list. Paths live in the arena. E_IO; E_INVALID for a file that
 * occurs twice, for a name in test_files that is no file, and if no file is left to train on. */
POD_MUST pod_status pod_text_files_list(int n, const char *const from[], bool pairs,
                                        const char *test_files, pod_arena *a, pod_text_files *out);
void pod_text_tell_ignored(const pod_text_files *files, pod_log *log);
/* Fails with E_FORMAT if the file is of another kind that minipod knows, such as a gzip file. */
POD_MUST pod_status pod_text_file_check(const char *path);
/* Warns once about bytes that were no UTF-8, naming the first. */
void pod_text_tell_invalid(const pod_invalid_bytes *invalid, pod_log *log);

/* Imports sentences and documents. A line is a sentence (or a paragraph, with splits_sentences); a
 * line without words is no sentence, and a document without sentences is no document. Warns about
 * invalid UTF-8, about fewer than two sentences per document, and about a single document. Fails as
 * pod_text_files_list and pod_vocab_read do, and with E_FORMAT for a file without a sentence and
 * for a line of more than POD_LINE_MAX_BYTES. */
POD_MUST pod_status pod_import_documents(int n, const char *const from[], const char *h5_path,
                                         const pod_import_words_options *options);
/* Imports pairs of sentences: lines of fields that are separated by tabs, without quoting.
 * E_FORMAT, naming file and line, if a field is missing or has no words. */
POD_MUST pod_status pod_import_pairs(int n, const char *const from[], const char *h5_path,
                                     const pod_import_words_options *options);

/* ---- JPEG and PNG files (list.h, decode.h)
 * ---------------------------------------------------- */

enum { POD_IMPORT_MAX_THREADS = 64 };

typedef struct pod_import_images_options {
    pod_import_text text;
    int64_t height, width; /* of the set's images */
    int channels;          /* 3: colour; 1: grey, computed from colour */
    bool convert;          /* converts grey to colour, CMYK to either; otherwise these are bad
                              images */
    bool skip_bad;
    double test_share; /* for FOLDER/<class>/: this share of the images, the last in order; between
                          0 and 1 */
    bool split_by_class;
    const char *test_folder; /* for FOLDER/{train,<test>}/<class>/: the name of <test> */
    /* An option on the command line that only applies to FOLDER/<class>/, and one that only applies
     * to FOLDER/{train,<test>}/<class>/. The import of a folder of the other layout fails and names
     * it. NULL: no such option was given. */
    const char *for_share, *for_folders;
    int n_threads; /* that decode and compress, besides the one that writes; at least 1 */
    pod_log *log;  /* progress, warnings, and a summary */
} pod_import_images_options;

/* Imports a folder of images. All get one size: the largest box of that shape in the middle of each
 * image, resized (resize.h).
 *
 * At most 2 x 256 images are in memory at a time. Each file is read once; with skip_bad twice, so
 * that classes and shares are computed without the bad images. The result depends on the folder and
 * the options alone, not on the number of threads. A damaged file, a file of another format, grey
 * among colours, or a class folder without images makes the import fail: one line counts all of
 * them and names the first few with their reasons. With skip_bad they are skipped with warnings,
 * which also name only a few. A failure of this process or host (no memory, a disk that cannot be
 * read) ends the import at once in either case. POD_E_INVALID if h5_path is in the folder, if
 * test_folder is the training folder, or for an option of the other layout. */
POD_MUST pod_status pod_import_images(const char *folder, const char *h5_path,
                                      const pod_import_images_options *options);
/* The same for images that a CSV file lists (list.h), except that h5_path may be in the folder of
 * the CSV file. test_folder is the name of the test split in its column of splits; for_share
 * applies to files without such a column, for_folders to files with one. */
POD_MUST pod_status pod_import_list(const char *csv_path, const char *h5_path,
                                    const pod_import_images_options *options);

/* ---- for this folder ------------------------------------------------------------------------- */

/* Sets name, origin and licence of info; they are borrowed from `given`, or in the arena. */
POD_MUST pod_status pod__import_text_take(const pod_import_text *given, const char *folder,
                                          pod_arena *a, pod_dataset_info *info);
/* Warns, in one line per split, of classes without a sample; n_of (POD_N_SPLITS, n_classes) are the
 * counts. `remedy`, which may be "", ends the line. */
void pod__import_tell_missing_classes(pod_log *log, const pod_dataset_info *info,
                                      const int64_t n_of[], const char *remedy);
/* Writes the file from the samples that `fill` computes (dataset_write.h), then warns of classes
 * without samples. */
POD_MUST pod_status pod__import_write(const char *h5_path, const pod_dataset_info *info,
                                      pod_dataset_fill *fill, void *ctx, pod_arena *a,
                                      pod_log *log);

#endif
