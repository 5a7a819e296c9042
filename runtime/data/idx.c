#include "runtime/data/idx.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "kernels/base/arena.h"
#include "kernels/base/assert.h"

enum { TYPE_U8 = 8, BUFFER_BYTES = 256 * 1024, MAX_READ_BYTES = 1 << 30 };

/* Deflate packs at most so many bytes into one (zlib's technical details), with room to spare. */
enum { MAX_DEFLATE_RATIO = 1100 };

struct pod_idx {
    pod_arena *arena;
    const char *path;
    gzFile file; /* reads plain files as well */
    int n_dims;
    int64_t dim[POD_IDX_MAX_DIMS];
    int64_t n_left; /* bytes of elements not yet read */
};

static pod_status fail_short(const pod_idx *x, int64_t n_missing)
{
    int code;
    const char *why = gzerror(x->file, &code);
    if (code != Z_OK && code != Z_BUF_ERROR)
        return pod_fail(POD_E_FORMAT, "%s: cannot be read (%s)", x->path,
                        code == Z_ERRNO ? strerror(errno) : why);
    return pod_fail(POD_E_FORMAT, "%s: truncated, %" PRId64 " bytes are missing", x->path,
                    n_missing);
}

/* Answers how many bytes came. */
static int64_t read_some(pod_idx *x, int64_t bytes, uint8_t *out)
{
    int64_t n = 0;
    while (n < bytes) {
        int64_t want = bytes - n < MAX_READ_BYTES ? bytes - n : MAX_READ_BYTES;
        int got = gzread(x->file, out + n, (unsigned)want);
        if (got <= 0) break;
        n += got;
    }
    return n;
}

static pod_status check_size(const pod_idx *x)
{
    struct stat info;
    if (stat(x->path, &info) != 0) return pod_fail(POD_E_IO, "%s: %s", x->path, strerror(errno));
    int64_t most = gzdirect(x->file) ? info.st_size : info.st_size * MAX_DEFLATE_RATIO;
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
    int64_t n = read_some(x, sizeof magic, magic);
    if (n < (int64_t)sizeof magic) return fail_short(x, (int64_t)sizeof magic - n);
    if (magic[0] || magic[1] || magic[2] != TYPE_U8 || magic[3] < 1 || magic[3] > POD_IDX_MAX_DIMS)
        return pod_fail(POD_E_FORMAT,
                        "%s: magic is 0x%02x%02x%02x%02x, need 0x000008NN, NN 1 to %d dimensions",
                        x->path, magic[0], magic[1], magic[2], magic[3], POD_IDX_MAX_DIMS);
    x->n_dims = magic[3];
    const int64_t extent_bytes = 4 * (int64_t)x->n_dims;
    n = read_some(x, extent_bytes, extent);
    if (n < extent_bytes) return fail_short(x, extent_bytes - n);
    x->n_left = 1;
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

static pod_status open_file(pod_idx *x, const char *path)
{
    if (!(x->path = pod_arena_text(x->arena, "%s", path))) return POD_E_NOMEM;
    errno = 0;
    x->file = gzopen(path, "rb");
    if (!x->file)
        return pod_fail(errno ? POD_E_IO : POD_E_NOMEM, "%s: %s", path,
                        errno ? strerror(errno) : "out of memory");
    gzbuffer(x->file, BUFFER_BYTES);
    return read_header(x);
}

pod_status pod_idx_open(const char *path, pod_idx **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_idx *x = POD_ARENA_NEW(arena, pod_idx, 1);
    if (!x) {
        pod_arena_destroy(arena);
        return POD_E_NOMEM;
    }
    x->arena = arena;
    pod_status s = open_file(x, path);
    if (s != POD_OK) {
        pod_idx_close(x);
        return s;
    }
    *out = x;
    return POD_OK;
}

void pod_idx_close(pod_idx *x)
{
    if (!x) return;
    if (x->file) gzclose_r(x->file);
    pod_arena_destroy(x->arena);
}

int pod_idx_n_dims(const pod_idx *x) { return x->n_dims; }
const int64_t *pod_idx_dims(const pod_idx *x) { return x->dim; }
const char *pod_idx_path(const pod_idx *x) { return x->path; }

pod_status pod_idx_read(pod_idx *x, int64_t bytes, void *out)
{
    POD_ASSERT(bytes >= 0 && bytes <= x->n_left, "%" PRId64 " bytes of %" PRId64, bytes, x->n_left);
    int64_t n = read_some(x, bytes, out);
    x->n_left -= n;
    return n == bytes ? POD_OK : fail_short(x, x->n_left);
}

pod_status pod_idx_finish(pod_idx *x)
{
    POD_ASSERT(x->n_left == 0, "%" PRId64 " bytes unread", x->n_left);
    uint8_t more;
    int got = gzread(x->file, &more, 1);
    if (got < 0) return fail_short(x, 0);
    if (got > 0)
        return pod_fail(POD_E_FORMAT, "%s: bytes behind the end that the header promises", x->path);
    /* A gzip stream that stops before its checksum reads as an end. */
    int code;
    (void)gzerror(x->file, &code);
    if (code != Z_OK && code != Z_STREAM_END) return fail_short(x, 1);
    return POD_OK;
}
