#include "runtime/data/import/list.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what cannot be used --------------------------------------------------------------------- */

enum { N_NAMED = 5 };

pod_status pod__bad_image(pod_bad_images *b, const char *path, pod_status s, const char *reason)
{
    char why[256]; /* the log might replace the record */
    snprintf(why, sizeof why, "%s", reason ? reason : pod_error_text());
    if (s != POD_E_FORMAT) return pod_fail(s, "%s: %s", path, why);
    b->n++;
    if (b->n_named == N_NAMED || b->n_named + 1 < b->n) return POD_OK;
    const size_t used = strlen(b->named), room = sizeof b->named - used;
    if (b->skip) {
        pod_log_say(b->log, POD_LOG_WARNING, "%s: %s; left out", path, why);
    } else {
        const int n = snprintf(b->named + used, room, "%s%s: %s", used ? "; " : "", path, why);
        if (n >= (int)room && used > 0) { /* the first one is cut rather than missing */
            b->named[used] = '\0';
            return POD_OK;
        }
    }
    b->n_named++;
    return POD_OK;
}

pod_status pod__bad_images_end(const pod_bad_images *b, const char *folder)
{
    const int64_t n_more = b->n - b->n_named;
    char more[48] = "";
    if (b->skip && n_more > 0)
        pod_log_say(b->log, POD_LOG_WARNING, "%" PRId64 " more like these are left out", n_more);
    if (b->skip || b->n == 0) return POD_OK;
    if (b->n == 1)
        return pod_fail(POD_E_FORMAT, "%s (--on-bad-image skip leaves it out)", b->named);
    if (n_more > 0) snprintf(more, sizeof more, "; and %" PRId64 " more", n_more);
    return pod_fail(POD_E_FORMAT,
                    "%s: %" PRId64 " files cannot be used (--on-bad-image skip leaves them out): "
                    "%s%s",
                    folder, b->n, b->named, more);
}

pod_status pod__file_trouble(const char *what, int error)
{
    static const int of_one_file[] = {ENOENT, ENOTDIR,      EACCES, EPERM, ELOOP,
                                      EISDIR, ENAMETOOLONG, ENXIO,  ENODEV};
    pod_status s = error == ENOMEM ? POD_E_NOMEM : POD_E_IO;
    for (size_t i = 0; i < sizeof of_one_file / sizeof of_one_file[0]; i++)
        if (error == of_one_file[i]) s = POD_E_FORMAT;
    return pod_fail(s, "%s: %s", what, strerror(error));
}

/* ---- order ----------------------------------------------------------------------------------- */

static const char *skip_zeros(const char *p)
{
    while (*p == '0' && isdigit((unsigned char)p[1])) p++;
    return p;
}

/* Orders names by their bytes, but a run of digits by its value. */
static int compare_names(const char *a, const char *b)
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
    const int names_order = compare_names(x->name, y->name);
    return names_order ? names_order : strcmp(x->path, y->path);
}

void pod__image_list_sort(pod_image_list *list)
{
    if (list->n > 1) qsort(list->file, (size_t)list->n, sizeof *list->file, in_order);
    memset(list->n_split, 0, sizeof list->n_split);
    for (int64_t i = 0; i < list->n; i++) list->n_split[list->file[i].split]++;
}

/* ---- classes --------------------------------------------------------------------------------- */

int pod__by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_number(const void *a, const void *b)
{
    const char *x = *(const char *const *)a, *y = *(const char *const *)b;
    const int order = compare_names(x, y);
    return order ? order : strcmp(x, y);
}

bool pod__are_numbers(const char *const *name, int64_t n)
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
    if (n > 1)
        qsort(name, (size_t)n, sizeof *name, pod__are_numbers(name, n) ? by_number : pod__by_bytes);
    return first_by_number(name, n);
}

int64_t pod__class_name_find(const char *const *name, int64_t n, bool is_numeric,
                             const char *wanted)
{
    if (is_numeric && !pod__are_numbers(&wanted, 1)) return -1;
    const char *const *found = n > 0 ? bsearch(&wanted, name, (size_t)n, sizeof *name,
                                               is_numeric ? by_number : pod__by_bytes)
                                     : NULL;
    return found ? found - name : -1;
}

pod_status pod__image_list_drop_empty(pod_image_list *list, pod_arena *a, pod_log *log)
{
    int32_t *label = POD_ARENA_NEW(a, int32_t, list->n_classes);
    const char **name = POD_ARENA_NEW(a, const char *, list->n_classes), *first = NULL;
    int n = 0;
    if (!label || !name) return POD_E_NOMEM;
    for (int64_t i = 0; i < list->n; i++) label[list->file[i].label] = 1;
    for (int i = 0; i < list->n_classes; i++) {
        if (label[i] == 0 && !first) first = list->class_names[i];
        if (label[i] == 0) continue;
        label[i] = n;
        name[n++] = list->class_names[i];
    }
    for (int64_t i = 0; i < list->n; i++) list->file[i].label = label[list->file[i].label];
    const int n_dropped = list->n_classes - n;
    list->n_classes = n;
    list->class_names = name;
    list->by_number = first_by_number(name, n);
    if (n_dropped == 1)
        pod_log_say(log, POD_LOG_WARNING, "class '%s' has no image that can be used; left out",
                    first);
    if (n_dropped > 1)
        pod_log_say(log, POD_LOG_WARNING,
                    "%d classes have no image that can be used, the first is '%s'; left out",
                    n_dropped, first);
    return POD_OK;
}

pod_status pod__image_list_leave_out(pod_image_list *list, const char *what, int64_t n,
                                     pod_arena *a)
{
    const char *before = list->left_out ? list->left_out : "";
    list->left_out =
        pod_arena_text(a, "%s%s'%s' (%" PRId64 " images)", before, *before ? ", " : "", what, n);
    return list->left_out ? POD_OK : POD_E_NOMEM;
}

/* ---- split ----------------------------------------------------------------------------------- */

static pod_status split_files(pod_image_list *list, double test_share, bool by_class, pod_arena *a)
{
    int64_t *n_of = POD_ARENA_NEW(a, int64_t, list->n_classes);
    int64_t *n_seen = POD_ARENA_NEW(a, int64_t, list->n_classes);
    if (!n_of || !n_seen) return POD_E_NOMEM;
    for (int64_t i = 0; i < list->n; i++) n_of[list->file[i].label]++;
    for (int64_t i = 0; i < list->n; i++) {
        const int32_t k = list->file[i].label;
        const int64_t at = by_class ? n_seen[k]++ : i, n = by_class ? n_of[k] : list->n;
        if (at >= n - (int64_t)llround((double)n * test_share))
            list->file[i].split = POD_SPLIT_TEST;
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

pod_status pod__image_list_split(pod_image_list *list, double test_share, bool by_class,
                                 pod_arena *a)
{
    if (!list->is_split) POD_TRY(split_files(list, test_share, by_class, a));
    pod__image_list_sort(list);
    return check_splits(list);
}
