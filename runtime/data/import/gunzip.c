#include "runtime/data/import/gunzip.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { BUFFER_BYTES = 256 * 1024, MAX_OUT_BYTES = 1 << 30, WINDOW_BITS = 15, GZIP_ONLY = 16 };

static const uint8_t magic[] = {0x1f, 0x8b};

struct pod_gunzip {
    const char *path;
    FILE *file;
    z_stream stream;           /* its next_in and avail_in are of a plain file, too */
    bool is_packed, is_inside; /* of a member */
    uint8_t in[BUFFER_BYTES];
};

/* Leaves avail_in 0 at the end of the file. */
static pod_status refill(pod_gunzip *z)
{
    if (z->stream.avail_in > 0) return POD_OK;
    errno = 0;
    z->stream.next_in = z->in;
    z->stream.avail_in = (uInt)fread(z->in, 1, sizeof z->in, z->file);
    if (ferror(z->file))
        return pod_fail(POD_E_IO, "%s: cannot be read (%s)", z->path, strerror(errno));
    return POD_OK;
}

static pod_status open_file(pod_gunzip *z)
{
    z->file = fopen(z->path, "rb");
    if (!z->file) return pod_fail(POD_E_IO, "%s: %s", z->path, strerror(errno));
    POD_TRY(refill(z));
    z->is_packed = z->stream.avail_in >= sizeof magic && memcmp(z->in, magic, sizeof magic) == 0;
    if (!z->is_packed) return POD_OK;
    return inflateInit2(&z->stream, WINDOW_BITS + GZIP_ONLY) == Z_OK ? POD_OK : POD_E_NOMEM;
}

pod_status pod_gunzip_open(const char *path, pod_arena *a, pod_gunzip **out)
{
    pod_gunzip *z = POD_ARENA_NEW(a, pod_gunzip, 1);
    if (!z) return POD_E_NOMEM;
    z->path = pod_arena_text(a, "%s", path);
    const pod_status s = z->path ? open_file(z) : POD_E_NOMEM;
    if (s == POD_OK)
        *out = z;
    else
        pod_gunzip_close(z);
    return s;
}

void pod_gunzip_close(pod_gunzip *z)
{
    if (!z) return;
    inflateEnd(&z->stream);
    if (z->file) fclose(z->file);
}

bool pod_gunzip_is_packed(const pod_gunzip *z) { return z->is_packed; }
bool pod_gunzip_is_whole(const pod_gunzip *z) { return !z->is_inside; }

static void copy(pod_gunzip *z)
{
    z_stream *s = &z->stream;
    const uInt n = s->avail_in < s->avail_out ? s->avail_in : s->avail_out;
    memcpy(s->next_out, s->next_in, n);
    s->next_in += n;
    s->avail_in -= n;
    s->next_out += n;
    s->avail_out -= n;
}

/* Between members; avail_in is 0 where none follows. */
static pod_status find_member(pod_gunzip *z)
{
    z_stream *s = &z->stream;
    bool is_padded = false;
    while (s->avail_in > 0 && *s->next_in == 0) {
        is_padded = true;
        s->next_in++;
        s->avail_in--;
        POD_TRY(refill(z));
    }
    if (s->avail_in == 0) return POD_OK;
    if (is_padded || *s->next_in != magic[0])
        return pod_fail(POD_E_FORMAT, "%s: bytes behind the end of its gzip stream", z->path);
    z->is_inside = true;
    return POD_OK;
}

static pod_status unpack(pod_gunzip *z)
{
    if (!z->is_inside) POD_TRY(find_member(z));
    if (!z->is_inside) return POD_OK;
    const int code = inflate(&z->stream, Z_NO_FLUSH);
    if (code == Z_MEM_ERROR) return POD_E_NOMEM;
    if (code == Z_STREAM_END) {
        z->is_inside = false;
        (void)inflateReset(&z->stream);
    } else if (code != Z_OK) {
        return pod_fail(POD_E_FORMAT, "%s: cannot be read (%s)", z->path,
                        z->stream.msg ? z->stream.msg : zError(code));
    }
    return POD_OK;
}

pod_status pod_gunzip_read(pod_gunzip *z, int64_t bytes, void *out, int64_t *n)
{
    uint8_t *to = out;
    z_stream *s = &z->stream;
    int64_t done = 0;
    while (done < bytes) {
        POD_TRY(refill(z));
        if (s->avail_in == 0) break;
        const int64_t left = bytes - done;
        const uInt room = (uInt)(left < MAX_OUT_BYTES ? left : MAX_OUT_BYTES);
        s->next_out = to + done;
        s->avail_out = room;
        if (z->is_packed)
            POD_TRY(unpack(z));
        else
            copy(z);
        done += room - s->avail_out;
    }
    *n = done;
    return POD_OK;
}
