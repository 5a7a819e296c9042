#include "runtime/data/import/gunzip.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

enum { BUFFER_BYTES = 256 * 1024, MAX_READ_BYTES = 1 << 30 };

pod_status pod_gunzip_open(const char *path, pod_gunzip *out)
{
    errno = 0;
    gzFile file = gzopen(path, "rbe");
    if (!file)
        return errno ? pod_fail(POD_E_IO, "%s: %s", path, strerror(errno))
                     : pod_fail(POD_E_NOMEM, "%s: no memory to read it", path);
    gzbuffer(file, BUFFER_BYTES);
    *out = (pod_gunzip){file, path, gzdirect(file) == 0};
    return POD_OK;
}

void pod_gunzip_close(pod_gunzip *z)
{
    if (z->file) gzclose(z->file);
    z->file = NULL;
}

bool pod_gunzip_is_whole(const pod_gunzip *z)
{
    int code;
    gzerror(z->file, &code);
    return code != Z_BUF_ERROR;
}

/* zlib's text begins with the path. */
static pod_status fail(const pod_gunzip *z)
{
    int code;
    const char *text = gzerror(z->file, &code);
    return pod_fail(code == Z_ERRNO       ? POD_E_IO
                    : code == Z_MEM_ERROR ? POD_E_NOMEM
                                          : POD_E_FORMAT,
                    "%s", text);
}

pod_status pod_gunzip_read(pod_gunzip *z, int64_t bytes, void *out, int64_t *n)
{
    int64_t done = 0;
    int got = 1;
    while (done < bytes && got > 0) {
        const int64_t left = bytes - done;
        got = gzread(z->file, (uint8_t *)out + done,
                     (unsigned)(left < MAX_READ_BYTES ? left : MAX_READ_BYTES));
        if (got < 0) return fail(z);
        done += got;
    }
    *n = done;
    return POD_OK;
}
