#include "runtime/data/import/image_list.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- order ----------------------------------------------------------------------------------- */

static const char *skip_zeros(const char *p)
{
    while (*p == '0' && isdigit((unsigned char)p[1])) p++;
    return p;
}

int pod__image_name_compare(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            a = skip_zeros(a);
            b = skip_zeros(b);
            const size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            const int order = n != m ? (n < m ? -1 : 1) : strncmp(a, b, n);
            if (order) return order;
            a += n;
            b += m;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return (*a != 0) - (*b != 0);
}

static int in_order(const void *a, const void *b)
{
    const pod_image_file *x = a, *y = b;
    if (x->split != y->split) return x->split < y->split ? -1 : 1;
    const int names_order = pod__image_name_compare(x->name, y->name);
    return names_order ? names_order : strcmp(x->path, y->path);
}

void pod__image_list_sort(pod_image_list *list)
{
    if (list->n > 1) qsort(list->file, (size_t)list->n, sizeof *list->file, in_order);
    memset(list->n_split, 0, sizeof list->n_split);
    for (int64_t i = 0; i < list->n; i++) list->n_split[list->file[i].split]++;
}

/* ---- classes --------------------------------------------------------------------------------- */

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_number(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    const int order = pod__image_name_compare(x, y);
    return order ? order : strcmp(x, y);
}

static bool are_numbers(const char *const *name, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!name[i][0] || name[i][strspn(name[i], "0123456789")]) return false;
    return true;
}

static int first_by_number(const char *const *name, int64_t n)
{
    for (int64_t i = 1; i < n; i++)
        if (strcmp(name[i - 1], name[i]) > 0) return (int)i;
    return 0;
}

int pod__class_names_sort(const char **name, int64_t n)
{
    if (n > 1) qsort(name, (size_t)n, sizeof *name, are_numbers(name, n) ? by_number : by_bytes);
    return first_by_number(name, n);
}

int64_t pod__class_name_find(const char *const *name, int64_t n, const char *wanted)
{
    const bool is_numeric = are_numbers(name, n);
    if (is_numeric && !are_numbers(&wanted, 1)) return -1;
    const char *const *found =
        n > 0 ? bsearch(&wanted, name, (size_t)n, sizeof *name, is_numeric ? by_number : by_bytes)
              : NULL;
    return found ? found - name : -1;
}

pod_status pod__image_list_drop_empty(pod_image_list *list, pod_arena *a, int *n_dropped,
                                      const char **first)
{
    int32_t *label = POD_ARENA_NEW(a, int32_t, list->n_classes);
    const char **name = POD_ARENA_NEW(a, const char *, list->n_classes);
    int n = 0;
    if (!label || !name) return POD_E_NOMEM;
    for (int64_t i = 0; i < list->n; i++) label[list->file[i].label] = 1;
    *n_dropped = 0;
    for (int i = 0; i < list->n_classes; i++) {
        if (label[i] == 0 && (*n_dropped)++ == 0) *first = list->class_names[i];
        if (label[i] == 0) continue;
        label[i] = n;
        name[n++] = list->class_names[i];
    }
    for (int64_t i = 0; i < list->n; i++) list->file[i].label = label[list->file[i].label];
    list->n_classes = n;
    list->class_names = name;
    list->by_number = first_by_number(name, n);
    return POD_OK;
}

/* ---- split ----------------------------------------------------------------------------------- */

/* Of n images in order, so many are for training. */
static int64_t n_to_train(int64_t n, double test_share)
{
    return n - (int64_t)llround((double)n * test_share);
}

static pod_status split_files(const pod_image_split *split, pod_arena *a, pod_image_list *list)
{
    int64_t *n_of = POD_ARENA_NEW(a, int64_t, list->n_classes);
    int64_t *n_seen = POD_ARENA_NEW(a, int64_t, list->n_classes);
    if (!n_of || !n_seen) return POD_E_NOMEM;
    for (int64_t i = 0; i < list->n; i++) n_of[list->file[i].label]++;
    for (int64_t i = 0; i < list->n; i++) {
        const int32_t k = list->file[i].label;
        const int64_t at = split->by_class ? n_seen[k]++ : i;
        const int64_t n = split->by_class ? n_of[k] : list->n;
        if (at >= n_to_train(n, split->test_share)) list->file[i].split = POD_SPLIT_TEST;
    }
    return POD_OK;
}

static pod_status check_splits(const pod_image_list *list)
{
    for (int s = 0; s < POD_N_SPLITS; s++)
        if (list->n > 0 && list->n_split[s] == 0)
            return pod_fail(POD_E_FORMAT, "%s: %" PRId64 " file%s, none of them to %s",
                            list->folder, list->n, list->n == 1 ? "" : "s",
                            pod_split_name((pod_split)s));
    return list->n > 0 ? POD_OK : pod_fail(POD_E_FORMAT, "%s: no image is left", list->folder);
}

pod_status pod__image_list_split(const pod_image_split *split, pod_arena *a, pod_image_list *list)
{
    if (!list->is_split) POD_TRY(split_files(split, a, list));
    pod__image_list_sort(list);
    return check_splits(list);
}
