/* What an import says about its data set beside the samples. */
#ifndef MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_TEXT_H
#define MINIPOD_RUNTIME_DATA_IMPORT_IMPORT_TEXT_H

#include "runtime/data/dataset.h"

typedef struct pod_import_text { /* a NULL takes its default */
    const char *name;            /* the folder's name */
    const char *origin;          /* "" */
    const char
        *licence; /* the text of LICENSE, LICENCE or COPYING in the folder or above it, or "" */
} pod_import_text;

/* Fills in name, origin and licence; they are borrowed, or in the arena. */
POD_MUST pod_status pod__import_text_take(const pod_import_text *given, const char *folder,
                                          pod_arena *a, pod_dataset_info *info);

#endif
