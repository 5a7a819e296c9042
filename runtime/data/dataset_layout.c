#include "runtime/data/inner.h"
#include "runtime/data/text/text_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_BYTES = 320, MOST_SEEN = 1 << 20 };

/* ---- what is there --------------------------------------------------------------------------- */

static void add_name(char list[LIST_BYTES], const char *name)
{
    const size_t used = strlen(list);
    if (used + strlen(name) + 6 < LIST_BYTES)
        snprintf(list + used, LIST_BYTES - used, "%s%s", used ? ", " : "", name);
    else if (!strstr(list, " ..."))
        snprintf(list + used, LIST_BYTES - used, " ...");
}

static pod_status list_array(void *ctx, const char *name)
{
    char rooted[LIST_BYTES];
    snprintf(rooted, sizeof rooted, "/%s", name);
    add_name(ctx, rooted);
    return POD_OK;
}

pod_status pod__layout_is_text(const pod_h5_file *f, bool *out)
{
    bool is_there;
    int64_t version = POD_DATASET_VERSION;
    POD_TRY(pod_h5_find(f, "minipod_dataset", &is_there));
    if (is_there) POD_TRY(pod_h5_get_i64(f, "minipod_dataset", &version));
    if (version != POD_DATASET_VERSION && version != POD_TEXT_VERSION)
        return pod_fail(POD_E_FORMAT, "%s: layout version %" PRId64 ", need %d or %d", f->path,
                        version, POD_DATASET_VERSION, POD_TEXT_VERSION);
    *out = version == POD_TEXT_VERSION;
    return POD_OK;
}

pod_status pod__layout_check_arrays(const pod_h5_file *f, int n, const char *const name[])
{
    char missing[LIST_BYTES] = "", found[LIST_BYTES] = "";
    for (int i = 0; i < n; i++) {
        bool is_there;
        POD_TRY(pod_h5_find_link(f, name[i], &is_there));
        if (!is_there) add_name(missing, name[i]);
    }
    if (!missing[0]) return POD_OK;
    if (pod_h5_has(f, "minipod_checkpoint"))
        return pod_fail(POD_E_FORMAT, "%s: is of a checkpoint, for --resume; need a data set",
                        f->path);
    POD_TRY(pod_h5_each_array(f, "/", list_array, found));
    return pod_fail(POD_E_FORMAT, "%s: lacks %s (doc/datasets.md); it has %s", f->path, missing,
                    found[0] ? found : "no dataset");
}

/* ---- images ---------------------------------------------------------------------------------- */

/* "; its first values run from 0 to 1: (255 * x).round().astype('u1')"; "" where they cannot be
 * read. */
static void advise_on_values(const pod_h5_array *a, char text[LIST_BYTES])
{
    int64_t row = 1;
    text[0] = '\0';
    for (int i = 1; i < a->n_dims; i++) {
        if (a->dim[i] < 1 || a->dim[i] > MOST_SEEN / row) return;
        row *= a->dim[i];
    }
    const int64_t rows = a->dim[0] < MOST_SEEN / row ? a->dim[0] : MOST_SEEN / row;
    float *value = rows > 0 ? malloc((size_t)(rows * row) * sizeof *value) : NULL;
    if (value && pod_h5_read_rows(a, POD_F32, 0, rows, value) == POD_OK) {
        float low = value[0], high = value[0];
        for (int64_t i = 1; i < rows * row; i++) {
            if (value[i] < low) low = value[i];
            if (value[i] > high) high = value[i];
        }
        const char *remedy = low >= 0 && high <= 1     ? "(255 * x).round().astype('u1')"
                             : low >= 0 && high <= 255 ? "x.round().astype('u1')"
                                                       : "need pixels 0 to 255, not normalized";
        snprintf(text, LIST_BYTES, "; its first values run from %g to %g: %s", (double)low,
                 (double)high, remedy);
    }
    free(value);
}

static pod_status check_shape(const pod_h5_array *a)
{
    char dims[POD_H5_DIMS_BYTES];
    const char *remedy = a->n_dims == 3   ? ": x[..., None] adds C = 1"
                         : a->n_dims == 2 ? ": x.reshape(-1, H, W, C)"
                                          : "";
    if (a->n_dims != 4)
        return pod_fail(POD_E_FORMAT, "%s: dataset '%s' has %d dimensions (%s), need 4 (N,H,W,C)%s",
                        a->file->path, a->name, a->n_dims,
                        pod_h5_print_dims(a->n_dims, a->dim, dims), remedy);
    /* 3 pixels high, or 1, and more than 4 channels: nobody has such images. */
    if ((a->dim[1] == 1 || a->dim[1] == 3) && a->dim[3] > 4)
        return pod_fail(POD_E_FORMAT,
                        "%s: dataset '%s' is %s, which looks like N,C,H,W, need N,H,W,C: "
                        "x.transpose(0, 2, 3, 1)",
                        a->file->path, a->name, pod_h5_print_dims(a->n_dims, a->dim, dims));
    return POD_OK;
}

pod_status pod__layout_check_images(const pod_h5_array *a)
{
    POD_TRY(check_shape(a));
    POD_TRY(pod_h5_check_filters(a));
    if (strcmp(a->type, "u8") == 0) return POD_OK;
    char advice[LIST_BYTES] = ": x.astype('u1')"; /* of truth values */
    if (strcmp(a->type, "string") != 0 && strcmp(a->type, "other") != 0)
        advise_on_values(a, advice);
    return pod_fail(POD_E_FORMAT, "%s: dataset '%s' has type %s, need u8%s", a->file->path, a->name,
                    a->type, advice);
}

/* ---- labels ---------------------------------------------------------------------------------- */

pod_status pod__layout_check_labels(const pod_h5_array *a, int64_t n_images)
{
    char dims[POD_H5_DIMS_BYTES];
    const bool is_integer = a->type[0] == 'u' || a->type[0] == 'i';
    const char *remedy = a->n_dims == 2 && a->dim[1] == 1 ? ": y[:, 0]"
                         : a->n_dims == 2                 ? ": y.argmax(1) if it is one-hot"
                         : a->type[0] == 'f'              ? ": y.astype('i4')"
                         : !is_integer ? ": np.unique(y, return_inverse=True) numbers them"
                                       : "";
    if (a->n_dims != 1 || !is_integer)
        return pod_fail(POD_E_FORMAT,
                        "%s: dataset '%s' has %d dimensions (%s) of type %s, need 1 of integers%s",
                        a->file->path, a->name, a->n_dims,
                        pod_h5_print_dims(a->n_dims, a->dim, dims), a->type, remedy);
    POD_TRY(pod_h5_check_filters(a));
    if (a->dim[0] == n_images) return POD_OK;
    return pod_fail(POD_E_FORMAT, "%s: dataset '%s' has %" PRId64 " labels for %" PRId64 " images",
                    a->file->path, a->name, a->dim[0], n_images);
}
