/* Arrays of one dimension that grow as they are written, for values whose number is not known
 * before. They are read like all others (h5.h). */
#ifndef MINIPOD_RUNTIME_H5_GROW_H
#define MINIPOD_RUNTIME_H5_GROW_H

#include "runtime/h5/h5.h"

/* Creates an empty array of POD_I32 or POD_I64, in chunks, with byte shuffle and deflate, and the
 * groups of its path. E_WRITE. */
POD_MUST pod_status pod_h5_column_create(const pod_h5_file *f, const char *name, pod_dtype t,
                                         pod_h5_array *out);
/* Appends `count` values of type t. E_WRITE. */
POD_MUST pod_status pod_h5_column_append(pod_h5_array *a, pod_dtype t, int64_t count,
                                         const void *value);

#endif
