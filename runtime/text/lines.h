/* Reads a text file line by line, in blocks: files may be larger than memory. Bytes that are no
 * part of valid UTF-8 are dropped and counted. Lines end with LF; a CR before it stays. */
#ifndef MINIPOD_RUNTIME_TEXT_LINES_H
#define MINIPOD_RUNTIME_TEXT_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/base/status.h"

enum { POD_LINE_MAX_BYTES = 8 << 20 };

/* The bytes that were dropped from a file, or from several read one after the other. */
typedef struct pod_invalid_bytes {
    int64_t n;
    const char *path;               /* of the first; borrowed from pod_lines_open */
    int64_t first_line, first_byte; /* both from 1; the byte within the line */
} pod_invalid_bytes;

typedef struct pod_lines pod_lines;

/* `path` is borrowed until `invalid` is no longer used. E_IO; E_NOMEM. */
POD_MUST pod_status pod_lines_open(const char *path, pod_invalid_bytes *invalid, pod_lines **out);
void pod_lines_close(pod_lines *l); /* NULL is allowed */
/* Sets *text to the next line, without its LF, borrowed until the next call; NULL at the end.
 * E_IO; E_FORMAT, with file and line, for a line of more than POD_LINE_MAX_BYTES. */
POD_MUST pod_status pod_lines_next(pod_lines *l, const char **text, size_t *bytes);
int64_t pod_lines_number(const pod_lines *l); /* of the line that next has set; from 1 */
int64_t pod_lines_offset(const pod_lines *l); /* bytes of the file before the next line */

#endif
