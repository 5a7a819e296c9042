/* Folders of images made here, and what the import makes of them. */
#ifndef MINIPOD_TESTS_UNIT_RUNTIME_DATA_IMAGE_FOLDERS_H
#define MINIPOD_TESTS_UNIT_RUNTIME_DATA_IMAGE_FOLDERS_H

#include "runtime/data/import/import.h"

enum { TEXT_BYTES = 8192 };

const char *in_folder(const char *f, const char *name);
void make_folder(const char *f, const char *name);
/* An image whose left half has the grey level `tag`, by which it is known again. */
void add_image(const char *f, const char *name, int tag);
/* Classes a, b and c with the images n1, n2, ... n10 in turn: n1 in a, n2 in b, ...; the number of
 * an image times 10 is its tag. */
const char *numbered_folder(void);
void make_grey(const char *path);
void make_cmyk(const char *path);
void make_text(const char *path); /* no image */

/* A file beside the folder, as the one that it becomes. */
const char *beside(const char *f, const char *name);
bool is_there(const char *f, const char *name);

typedef struct outcome {
    pod_dataset *d;
    char said[TEXT_BYTES]; /* on the log */
} outcome;

/* Imports it as `o` says, whose zeros are replaced by usual values, and opens what comes of it. */
pod_status run_import(const char *f, pod_import_images_options o, outcome *out);
/* The same where it must succeed. */
outcome imported(const char *f, pod_import_images_options o);
#define IMPORTED(f, ...) imported((f), (pod_import_images_options){__VA_ARGS__})
/* The tags, divided by ten, and the classes, like "1a 2b 3c ...". */
void check_splits(const pod_dataset *d, const char *train, const char *test);

#endif
