#include "runtime/data/import/idx.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "kernels/base/assert.h"

enum { TYPE_U8 = 8, TYPE_I32 = 12 };

/* Deflate packs at most so many bytes into one (zlib's technical details), with room to spare. */
enum { MAX_DEFLATE_RATIO = 1100 };

/* All of it, or it is told how much is missing of `of_those`. */
static pod_status read_all(pod_idx *x, int64_t bytes, int64_t of_those, void *out)
{
    int64_t n;
    POD_TRY(pod_gunzip_read(&x->file, bytes, out, &n));
    if (n == bytes) return POD_OK;
    return pod_fail(POD_E_FORMAT, "%s: truncated, %" PRId64 " bytes are missing", x->path,
                    of_those - n);
}

static pod_status check_size(const pod_idx *x)
{
    struct stat info;
    if (stat(x->path, &info) != 0) return pod_fail(POD_E_IO, "%s: %s", x->path, strerror(errno));
    int64_t most = x->file.is_packed ? info.st_size * MAX_DEFLATE_RATIO : info.st_size;
    if (S_ISREG(info.st_mode) && x->n_left > most)
        return pod_fail(POD_E_FORMAT,
                        "%s: truncated: header promises %" PRId64 " bytes, file has %" PRId64
                        " at most",
                        x->path, x->n_left, most);
    return POD_OK;
}

static pod_status read_header(pod_idx *x)
{
    uint8_t magic[4], extent[4 * POD_IDX_MAX_DIMS];
    POD_TRY(read_all(x, sizeof magic, sizeof magic, magic));
    const bool is_known = magic[2] == TYPE_U8 || magic[2] == TYPE_I32;
    if (magic[0] || magic[1] || !is_known || magic[3] < 1 || magic[3] > POD_IDX_MAX_DIMS)
        return pod_fail(POD_E_FORMAT,
                        "%s: magic is 0x%02x%02x%02x%02x, need 0x000008NN (bytes) or "
                        "0x00000cNN (ints), NN 1 to %d dimensions",
                        x->path, magic[0], magic[1], magic[2], magic[3], POD_IDX_MAX_DIMS);
    x->n_dims = magic[3];
    const int64_t extent_bytes = 4 * (int64_t)x->n_dims;
    POD_TRY(read_all(x, extent_bytes, extent_bytes, extent));
    x->n_left = x->element_bytes = magic[2] == TYPE_I32 ? 4 : 1;
    for (int i = 0; i < x->n_dims; i++) {
        const uint8_t *e = extent + 4 * (size_t)i;
        x->dim[i] = (int64_t)e[0] << 24 | e[1] << 16 | e[2] << 8 | e[3];
        if (x->dim[i] == 0)
            return pod_fail(POD_E_FORMAT, "%s: extent %d is 0, need at least 1", x->path, i);
        if (x->n_left > INT64_MAX / MAX_DEFLATE_RATIO / x->dim[i])
            return pod_fail(POD_E_FORMAT, "%s: extents overflow the size", x->path);
        x->n_left *= x->dim[i];
    }
    return check_size(x);
}

pod_status pod_idx_open(const char *path, pod_idx *out)
{
    pod_idx x = {.path = path};
    POD_TRY(pod_gunzip_open(path, &x.file));
    const pod_status s = read_header(&x);
    if (s == POD_OK)
        *out = x;
    else
        pod_idx_close(&x);
    return s;
}

void pod_idx_close(pod_idx *x) { pod_gunzip_close(&x->file); }

pod_status pod_idx_read(pod_idx *x, int64_t bytes, void *out)
{
    POD_ASSERT(bytes >= 0 && bytes <= x->n_left, "%" PRId64 " bytes of %" PRId64, bytes, x->n_left);
    POD_TRY(read_all(x, bytes, x->n_left, out));
    x->n_left -= bytes;
    return POD_OK;
}

pod_status pod_idx_finish(pod_idx *x)
{
    POD_ASSERT(x->n_left == 0, "%" PRId64 " bytes unread", x->n_left);
    uint8_t more;
    int64_t n;
    POD_TRY(pod_gunzip_read(&x->file, 1, &more, &n));
    if (n > 0)
        return pod_fail(POD_E_FORMAT, "%s: bytes behind the end that the header promises", x->path);
    if (!pod_gunzip_is_whole(&x->file))
        return pod_fail(POD_E_FORMAT, "%s: truncated, its gzip stream has no end", x->path);
    return POD_OK;
}
