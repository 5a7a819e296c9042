#include "runtime/text/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/text/chars.h"
#include "runtime/text/inner.h"

enum { BLOCK_BYTES = 1 << 20 };

struct pod_lines {
    int fd;
    const char *path;
    pod_invalid_bytes *invalid;
    void *buffer; /* char: the block, behind the begin of a line that an earlier block had */
    size_t room, begin, end;
    bool is_at_end; /* of the file */
    int64_t n_lines, offset;
};

pod_status pod_lines_open(const char *path, pod_invalid_bytes *invalid, pod_lines **out)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return pod_fail(POD_E_IO, "%s: %s", path, strerror(errno));
    const bool is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    pod_lines *l = is_file ? calloc(1, sizeof *l) : NULL;
    if (!l) close(fd);
    if (!is_file)
        return pod_fail(POD_E_IO, "%s: is %s, want a text file", path,
                        S_ISDIR(st.st_mode) ? "a folder" : "no regular file");
    if (!l) return pod_fail(POD_E_NOMEM, "%s: no memory to read it", path);
    *l = (pod_lines){.fd = fd, .path = path, .invalid = invalid};
    *out = l;
    return POD_OK;
}

void pod_lines_close(pod_lines *l)
{
    if (!l) return;
    close(l->fd);
    free(l->buffer);
    free(l);
}

int64_t pod_lines_number(const pod_lines *l) { return l->n_lines; }
int64_t pod_lines_offset(const pod_lines *l) { return l->offset; }

static pod_status fail_long(const pod_lines *l)
{
    return pod_fail(POD_E_FORMAT,
                    "%s: line %" PRId64 " has more than %d MiB, want a sentence or a paragraph per "
                    "line",
                    l->path, l->n_lines + 1, POD_LINE_MAX_BYTES >> 20);
}

/* Appends a block to what is left of the buffer. */
static pod_status read_block(pod_lines *l)
{
    if (l->end - l->begin > POD_LINE_MAX_BYTES) return fail_long(l);
    if (l->begin > 0) {
        memmove(l->buffer, (char *)l->buffer + l->begin, l->end - l->begin);
        l->end -= l->begin;
        l->begin = 0;
    }
    POD_TRY(pod__make_room(&l->buffer, 1, &l->room, l->end + BLOCK_BYTES));
    ssize_t n;
    do n = read(l->fd, (char *)l->buffer + l->end, BLOCK_BYTES);
    while (n < 0 && errno == EINTR);
    if (n < 0) return pod_fail(POD_E_IO, "%s: %s", l->path, strerror(errno));
    l->end += (size_t)n;
    l->is_at_end = n == 0;
    return POD_OK;
}

static void drop_invalid(pod_lines *l, char *text, size_t *bytes)
{
    size_t first = 0;
    const size_t kept = pod_utf8_drop_invalid(text, *bytes, &first);
    if (kept < *bytes && l->invalid->n == 0)
        *l->invalid = (pod_invalid_bytes){0, l->path, l->n_lines, (int64_t)first + 1};
    l->invalid->n += (int64_t)(*bytes - kept);
    *bytes = kept;
}

pod_status pod_lines_next(pod_lines *l, const char **text, size_t *bytes)
{
    const char *feed = NULL;
    for (size_t seen = 0;;) { /* bytes of the line that have no LF */
        const size_t left = l->end - l->begin;
        if (left > seen) feed = memchr((char *)l->buffer + l->begin + seen, '\n', left - seen);
        if (feed || l->is_at_end) break;
        seen = left;
        POD_TRY(read_block(l));
    }
    if (!feed && l->begin == l->end) {
        *text = NULL;
        return POD_OK;
    }
    char *line = (char *)l->buffer + l->begin;
    *bytes = feed ? (size_t)(feed - line) : l->end - l->begin;
    if (*bytes > POD_LINE_MAX_BYTES) return fail_long(l);
    l->begin += *bytes + (feed != NULL);
    l->offset += (int64_t)*bytes + (feed != NULL);
    l->n_lines++;
    drop_invalid(l, line, bytes);
    *text = line;
    return POD_OK;
}
