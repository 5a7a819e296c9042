#include "runtime/checkpoint/parts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

int64_t pod_tensor_count(const pod_tensor *t)
{
    int64_t count = 1;
    for (int i = 0; i < t->n_dims; i++) count *= t->dim[i];
    return count;
}

pod_status pod__checkpoint_array(const pod_tensor *t, char name[POD__CHECKPOINT_NAME_BYTES])
{
    const int n = snprintf(name, POD__CHECKPOINT_NAME_BYTES, "/%s/%s",
                           t->is_state ? "state" : "weights", t->name);
    if (n < 0 || n >= POD__CHECKPOINT_NAME_BYTES)
        return pod_fail(POD_E_INVALID, "checkpoint: the name '%.40s...' is too long", t->name);
    return POD_OK;
}

uint32_t pod__checkpoint_crc(uint32_t crc, const void *data, size_t bytes)
{
    return (uint32_t)crc32_z(crc, data, bytes);
}

/* ---- names of folders ---- */

const char *pod__checkpoint_folder(int64_t step, pod__checkpoint_kind kind,
                                   char name[POD__CHECKPOINT_FOLDER_BYTES])
{
    static const char *const ending[] = {[POD__CHECKPOINT_LEFT] = ".left",
                                         [POD__CHECKPOINT_GONE] = ".gone",
                                         [POD__CHECKPOINT_PART] = ".part",
                                         [POD__CHECKPOINT_OLD] = ".old",
                                         [POD__CHECKPOINT_WHOLE] = ""};
    snprintf(name, POD__CHECKPOINT_FOLDER_BYTES, "step-%09" PRId64 "%s", step, ending[kind]);
    return name;
}

pod__checkpoint_kind pod__checkpoint_folder_parse(const char *name, int64_t *step)
{
    char printed[POD__CHECKPOINT_FOLDER_BYTES];
    int64_t found = 0;
    if (sscanf(name, "step-%18" SCNd64, &found) != 1 || found < 0) return POD__CHECKPOINT_NONE;
    for (int kind = POD__CHECKPOINT_GONE; kind <= POD__CHECKPOINT_WHOLE; kind++)
        if (strcmp(name, pod__checkpoint_folder(found, (pod__checkpoint_kind)kind, printed)) == 0) {
            *step = found;
            return (pod__checkpoint_kind)kind;
        }
    return POD__CHECKPOINT_NONE;
}

const char *pod__checkpoint_shard(int rank, const char *ending,
                                  char name[POD__CHECKPOINT_FOLDER_BYTES])
{
    snprintf(name, POD__CHECKPOINT_FOLDER_BYTES, "shard-%04d%s", rank, ending);
    return name;
}

/* ---- `latest` ---- */

size_t pod__latest_print(int64_t step, char *text, size_t room)
{
    char name[POD__CHECKPOINT_FOLDER_BYTES];
    pod__checkpoint_folder(step, POD__CHECKPOINT_WHOLE, name);
    return (size_t)snprintf(text, room, "%s %08" PRIx32 "\n", name,
                            pod__checkpoint_crc(0, name, strlen(name)));
}

bool pod__note_read(const char *path, char text[POD__NOTE_BYTES])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const ssize_t n = read(fd, text, POD__NOTE_BYTES - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

pod_status pod__latest_read(const char *path, int64_t *step)
{
    char text[POD__NOTE_BYTES], name[POD__CHECKPOINT_FOLDER_BYTES];
    char printed[2 * POD__CHECKPOINT_FOLDER_BYTES];
    int64_t found;
    if (!pod__note_read(path, text)) return pod_fail(POD_E_IO, "%s: cannot be read", path);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " "), text);
    const bool is_name = pod__checkpoint_folder_parse(name, &found) == POD__CHECKPOINT_WHOLE;
    if (is_name) pod__latest_print(found, printed, sizeof printed);
    if (!is_name || strcmp(text, printed) != 0) return pod_fail(POD_E_FORMAT, "%s: damaged", path);
    *step = found;
    return POD_OK;
}

/* ---- who writes what ---- */

void pod_checkpoint_cut(const pod_checkpoint_form *f, const bool is_dealt[])
{
    int64_t all = 0, behind = 0;
    for (int i = 0; i < f->n; i++)
        if (!is_dealt[i]) all += pod_tensor_count(&f->tensor[i]);
    for (int i = 0; i < f->n; i++) {
        if (is_dealt[i]) continue;
        const int64_t count = pod_tensor_count(&f->tensor[i]);
        for (int r = 0; r < f->ranks; r++) {
            /* The rank's piece of all, seen from the variable's first element. */
            int64_t first = all / f->ranks * r + all % f->ranks * r / f->ranks - behind;
            int64_t end = all / f->ranks * (r + 1) + all % f->ranks * (r + 1) / f->ranks - behind;
            first = first < 0 ? 0 : first > count ? count : first;
            end = end < 0 ? 0 : end > count ? count : end;
            f->range[i * f->ranks + r] = (pod_checkpoint_range){first, end - first};
        }
        behind += count;
    }
}

/* ---- pieces of arrays ---- */

typedef struct cutter {
    int n_dims;
    const int64_t *dim;
    int64_t at[POD_CHECKPOINT_MAX_DIMS]; /* of the dimensions before the one being cut */
    pod_h5_source *box;
    int n;
    int64_t n_cut; /* elements of the boxes so far */
} cutter;

/* Rows first to end of dimension d, where the ones before stand still. */
static void add_box(cutter *c, int d, int64_t first, int64_t end)
{
    if (first == end) return;
    pod_h5_source *b = &c->box[c->n++];
    int64_t count = 1;
    for (int i = 0; i < c->n_dims; i++) {
        b->first[i] = i < d ? c->at[i] : i == d ? first : 0;
        b->extent[i] = i < d ? 1 : i == d ? end - first : c->dim[i];
        count *= b->extent[i];
    }
    b->at = c->n_cut;
    c->n_cut += count;
}

/* Elements first to end of what dimensions d and behind hold: the end of a row, whole rows, the
 * beginning of a row.
 *
 *       . . # #
 *       # # # #
 *       # # # #
 *       # . . .                                                                                 */
static void cut(cutter *c, int d, int64_t first, int64_t end)
{
    int64_t row = 1;
    for (int i = d + 1; i < c->n_dims; i++) row *= c->dim[i];
    if (first == end) return;
    int64_t from = first / row;
    const int64_t to = end / row;
    if (first % row != 0) {
        c->at[d] = from;
        cut(c, d + 1, first % row, from == to ? end % row : row);
        if (from == to) return;
        from++;
    }
    add_box(c, d, from, to);
    c->at[d] = to;
    if (end % row != 0) cut(c, d + 1, 0, end % row);
}

int pod__boxes_of(int n_dims, const int64_t dim[], pod_checkpoint_range r, const char *file,
                  pod_h5_source box[POD__MAX_BOXES])
{
    cutter c = {.n_dims = n_dims, .dim = dim, .box = box};
    cut(&c, 0, r.first, r.first + r.count);
    for (int i = 0; i < c.n; i++) {
        box[i].file = file;
        box[i].count = r.count;
    }
    return c.n;
}
