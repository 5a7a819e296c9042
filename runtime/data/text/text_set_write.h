/* Writes a data set of text (layout in text_set.h), row by row: only a block of each array is in
 * memory. As for images (dataset_write.h), PATH never names an incomplete file, a process has at
 * most one writer at a time, and signals are deferred while it has one. Takes the HDF5 lock
 * itself. */
#ifndef MINIPOD_RUNTIME_DATA_TEXT_TEXT_SET_WRITE_H
#define MINIPOD_RUNTIME_DATA_TEXT_TEXT_SET_WRITE_H

#include "runtime/data/text/text_set.h"

typedef struct pod_text_writer pod_text_writer;

/* The counts in `info` are ignored. `info` and its texts and vocabulary are borrowed until the
 * writer ends. E_IO, E_WRITE, E_NOMEM. */
POD_MUST pod_status pod_text_writer_open(const char *path, const pod_text_info *info,
                                         pod_text_writer **out);
/* Appends a row to a split: id[f] are the n[f] ids of field f, at least one. E_WRITE, also when a
 * signal came. */
POD_MUST pod_status pod_text_writer_add(pod_text_writer *w, pod_split split, const int64_t n[],
                                        const int32_t *const id[]);
/* Ends a document: the rows added to the split since the last end. Does nothing if there are
 * none. */
POD_MUST pod_status pod_text_writer_end_document(pod_text_writer *w, pod_split split);
/* Return the number of rows, or of documents, that the split has so far. */
int64_t pod_text_writer_rows(const pod_text_writer *w, pod_split split);
int64_t pod_text_writer_documents(const pod_text_writer *w, pod_split split);

/* Destroys the writer, whatever the status. On success the complete file is on disk under its
 * name. */
POD_MUST pod_status pod_text_writer_finish(pod_text_writer *w);
void pod_text_writer_abort(pod_text_writer *w); /* and its file; NULL is allowed */

#endif
