#include "runtime/h5/chunks.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <zlib.h>

#include "kernels/base/assert.h"
#include "runtime/h5/inner.h"

/* ---- packing --------------------------------------------------------------------------------- */

size_t pod_h5_pack_room(size_t bytes) { return compressBound(bytes); }

/* To shuffle the bytes of elements of one byte changes nothing: what is left of HDF5's filters is
 * zlib's packing. */
size_t pod_h5_pack(const uint8_t *row, size_t bytes, uint8_t *out)
{
    uLongf n = compressBound(bytes);
    return compress2(out, &n, row, bytes, POD_H5_DEFLATE) == Z_OK ? n : 0;
}

pod_status pod_h5_write_packed(const pod_h5_array *a, int64_t row, const pod_h5_packed *packed)
{
    POD_ASSERT(row >= 0 && row < a->dim[0], "row %" PRId64 " of %" PRId64, row, a->dim[0]);
    const hsize_t at[POD_H5_MAX_DIMS] = {(hsize_t)row};
    const bool ok = H5Dwrite_chunk(a->id, H5P_DEFAULT, 0, at, packed->bytes, packed->data) >= 0;
    return pod__h5_check(ok, POD_E_WRITE, a->file, "dataset", a->name, "cannot be written");
}

/* ---- unpacking, opened ----------------------------------------------------------------------- */

#define MAX_CHUNK_BYTES ((int64_t)64 << 20) /* larger ones, of others' files, are HDF5's business */

typedef struct unpacker { /* one reader's own */
    z_stream zip;
    bool has_zip;
    uint8_t *packed, *rows; /* one chunk's */
    struct unpacker *next;  /* that is free */
} unpacker;

struct pod_h5_rows {
    const pod_h5_array *array;
    bool is_plain; /* chunks are as above */
    int64_t row_bytes, chunk_rows;
    size_t chunk_bytes, packed_room;
    unpacker *unpacker;
    int n_unpackers;
    pthread_mutex_t lock; /* of `free` */
    unpacker *free;
};

/* Bytes have nothing to shuffle. */
static bool is_deflated(hid_t layout)
{
    bool deflated = false;
    const int n = H5Pget_nfilters(layout);
    for (int i = 0; i < n; i++) {
        unsigned flags, config;
        size_t n_values = 0;
        const H5Z_filter_t f =
            H5Pget_filter2(layout, (unsigned)i, &flags, &n_values, NULL, 0, NULL, &config);
        if (f != H5Z_FILTER_SHUFFLE && f != H5Z_FILTER_DEFLATE) return false;
        deflated = deflated || f == H5Z_FILTER_DEFLATE;
    }
    return deflated;
}

/* The rows of a chunk; 0 where chunks are something else. */
static int64_t find_chunk_rows(const pod_h5_array *a)
{
    hsize_t chunk[POD_H5_MAX_DIMS] = {0};
    const hid_t layout = H5Dget_create_plist(a->id);
    const bool is_chunked = layout > 0 && H5Pget_layout(layout) == H5D_CHUNKED &&
                            H5Pget_chunk(layout, POD_H5_MAX_DIMS, chunk) == a->n_dims &&
                            is_deflated(layout);
    pod__h5_release(layout);
    if (!is_chunked || strcmp(a->type, "u8") != 0) return 0;
    for (int i = 1; i < a->n_dims; i++)
        if (chunk[i] != (hsize_t)a->dim[i]) return 0;
    return (int64_t)chunk[0];
}

static pod_status take_unpackers(pod_h5_rows *r, int n, pod_arena *arena)
{
    r->unpacker = POD_ARENA_NEW(arena, unpacker, n);
    if (!r->unpacker) return POD_E_NOMEM;
    for (r->n_unpackers = 0; r->n_unpackers < n; r->n_unpackers++) {
        unpacker *u = &r->unpacker[r->n_unpackers];
        u->packed = POD_ARENA_NEW(arena, uint8_t, r->packed_room);
        u->rows = POD_ARENA_NEW(arena, uint8_t, r->chunk_bytes);
        if (!u->packed || !u->rows) return POD_E_NOMEM;
        if (inflateInit(&u->zip) != Z_OK) return pod_fail(POD_E_NOMEM, "no memory to unpack rows");
        u->has_zip = true;
        u->next = r->free;
        r->free = u;
    }
    return POD_OK;
}

static void end_unpackers(pod_h5_rows *r)
{
    for (int i = 0; r->unpacker && i < r->n_unpackers; i++)
        if (r->unpacker[i].has_zip) inflateEnd(&r->unpacker[i].zip);
}

pod_status pod_h5_rows_open(const pod_h5_array *a, int n_readers, pod_arena *arena,
                            pod_h5_rows **out)
{
    pod_h5_rows *r = POD_ARENA_NEW(arena, pod_h5_rows, 1);
    if (!r) return POD_E_NOMEM;
    r->array = a;
    r->row_bytes = 1;
    for (int i = 1; i < a->n_dims; i++) r->row_bytes *= a->dim[i];
    r->chunk_rows = find_chunk_rows(a);
    r->is_plain = r->chunk_rows > 0 && r->row_bytes <= MAX_CHUNK_BYTES / r->chunk_rows;
    if (r->is_plain) {
        r->chunk_bytes = (size_t)(r->chunk_rows * r->row_bytes);
        r->packed_room = compressBound(r->chunk_bytes);
        const pod_status s = take_unpackers(r, n_readers > 0 ? n_readers : 1, arena);
        if (s != POD_OK) {
            end_unpackers(r);
            return s;
        }
    }
    pthread_mutex_init(&r->lock, NULL); /* with default attributes it cannot fail */
    *out = r;
    return POD_OK;
}

void pod_h5_rows_close(pod_h5_rows *r)
{
    if (!r) return;
    end_unpackers(r);
    pthread_mutex_destroy(&r->lock);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* NULL: all are at work. */
static unpacker *take_unpacker(pod_h5_rows *r)
{
    pthread_mutex_lock(&r->lock);
    unpacker *u = r->free;
    if (u) r->free = u->next;
    pthread_mutex_unlock(&r->lock);
    return u;
}

static void give_back(pod_h5_rows *r, unpacker *u)
{
    pthread_mutex_lock(&r->lock);
    u->next = r->free;
    r->free = u;
    pthread_mutex_unlock(&r->lock);
}

/* The bytes of a chunk as they lie in the file; 0 where they are not a deflated chunk. */
static size_t fetch(const pod_h5_rows *r, int64_t first_row, uint8_t *packed)
{
    const hsize_t at[POD_H5_MAX_DIMS] = {(hsize_t)first_row};
    hsize_t bytes = 0;
    uint32_t skipped_filters = 0;
    pod_h5_lock();
    const bool ok = H5Dget_chunk_storage_size(r->array->id, at, &bytes) >= 0 && bytes > 0 &&
                    bytes <= r->packed_room &&
                    H5Dread_chunk(r->array->id, H5P_DEFAULT, at, &skipped_filters, packed) >= 0;
    pod_h5_unlock();
    return ok && skipped_filters == 0 ? (size_t)bytes : 0;
}

/* The whole chunk, for its checksum stands at the end. */
static bool unpack(const pod_h5_rows *r, unpacker *u, size_t bytes)
{
    z_stream *z = &u->zip;
    if (inflateReset(z) != Z_OK) return false;
    z->next_in = u->packed;
    z->avail_in = (uInt)bytes;
    z->next_out = u->rows;
    z->avail_out = (uInt)r->chunk_bytes;
    return inflate(z, Z_FINISH) == Z_STREAM_END && z->avail_out == 0;
}

static pod_status read_usual(const pod_h5_rows *r, int64_t index, uint8_t *out)
{
    pod_h5_lock();
    const pod_status s = pod_h5_read_rows(r->array, POD_U8, index, 1, out);
    pod_h5_unlock();
    return s;
}

pod_status pod_h5_rows_read(pod_h5_rows *r, int64_t index, uint8_t *out)
{
    unpacker *u = r->is_plain ? take_unpacker(r) : NULL;
    if (!u) return read_usual(r, index, out);
    const int64_t first_row = index / r->chunk_rows * r->chunk_rows;
    const size_t bytes = fetch(r, first_row, u->packed);
    const bool ok = bytes > 0 && unpack(r, u, bytes);
    if (ok) memcpy(out, u->rows + (index - first_row) * r->row_bytes, (size_t)r->row_bytes);
    give_back(r, u);
    return ok ? POD_OK : read_usual(r, index, out);
}
