#include "runtime/data/import/tar.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/core/file.h"

/* Of a header: name at 0 (100 bytes), size at 124 (12, octal), checksum at 148 (8, octal), type at
 * 156. Content follows in whole blocks; two blocks of zeros end the archive. */
enum { BLOCK = 512, NAME_BYTES = 100, SIZE_AT = 124, SUM_AT = 148, SUM_BYTES = 8, TYPE_AT = 156 };

pod_status pod__tar_open(const char *path, pod_tar *out)
{
    *out = (pod_tar){.path = path};
    return pod_gunzip_open(path, &out->file);
}

void pod__tar_close(pod_tar *t) { pod_gunzip_close(&t->file); }

static pod_status read_exactly(pod_tar *t, int64_t bytes, void *out)
{
    int64_t n;
    POD_TRY(pod_gunzip_read(&t->file, bytes, out, &n));
    if (n == bytes) return POD_OK;
    return pod_fail(POD_E_FORMAT, "%s: %s", t->path,
                    t->has_begun ? "truncated: the tar archive has no end" : "no tar archive");
}

static pod_status skip(pod_tar *t, int64_t bytes)
{
    uint8_t block[BLOCK];
    for (int64_t n; bytes > 0; bytes -= n) {
        n = bytes < BLOCK ? bytes : BLOCK;
        POD_TRY(read_exactly(t, n, block));
    }
    return POD_OK;
}

/* -1: no number, or one of 8 GiB and more, which is written in another way. */
static int64_t octal(const uint8_t *p, int n)
{
    int64_t value = 0;
    int i = 0;
    while (i < n && p[i] == ' ') i++;
    if (i == n || p[i] < '0' || p[i] > '7') return -1;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) value = 8 * value + (p[i] - '0');
    return value;
}

/* The sum of all bytes, its own field taken as spaces. */
static bool has_good_sum(const uint8_t block[BLOCK])
{
    int64_t sum = 0;
    for (int i = 0; i < BLOCK; i++) sum += i >= SUM_AT && i < SUM_AT + SUM_BYTES ? ' ' : block[i];
    return octal(block + SUM_AT, SUM_BYTES) == sum;
}

static bool is_zero(const uint8_t block[BLOCK])
{
    for (int i = 0; i < BLOCK; i++)
        if (block[i]) return false;
    return true;
}

/* To the end, where gzip's checksum stands. */
static pod_status finish(pod_tar *t)
{
    uint8_t block[BLOCK];
    int64_t n = BLOCK;
    while (n == BLOCK) POD_TRY(pod_gunzip_read(&t->file, BLOCK, block, &n));
    if (pod_gunzip_is_whole(&t->file)) return POD_OK;
    return pod_fail(POD_E_FORMAT, "%s: truncated, its gzip stream has no end", t->path);
}

pod_status pod__tar_next(pod_tar *t, pod_tar_member *out, bool *is_end)
{
    uint8_t block[BLOCK];
    POD_TRY(skip(t, t->n_left));
    POD_TRY(skip(t, t->n_padding));
    t->n_left = t->n_padding = 0;
    POD_TRY(read_exactly(t, BLOCK, block));
    *is_end = t->has_begun && is_zero(block);
    if (*is_end) return finish(t);
    const int64_t bytes = octal(block + SIZE_AT, 12);
    if (!has_good_sum(block) || bytes < 0)
        return pod_fail(POD_E_FORMAT, "%s: %s", t->path,
                        t->has_begun ? "damaged: a header of the tar archive is wrong"
                                     : "no tar archive");
    t->has_begun = true;
    t->n_left = bytes;
    t->n_padding = (BLOCK - bytes % BLOCK) % BLOCK;
    char name[NAME_BYTES + 1] = "";
    memcpy(name, block, NAME_BYTES);
    *out =
        (pod_tar_member){.is_file = block[TYPE_AT] == '0' || block[TYPE_AT] == 0, .bytes = bytes};
    memcpy(out->name, pod_path_name(name), strlen(pod_path_name(name)));
    return POD_OK;
}

pod_status pod__tar_read(pod_tar *t, uint8_t *out)
{
    const int64_t bytes = t->n_left;
    t->n_left = 0;
    return read_exactly(t, bytes, out);
}
