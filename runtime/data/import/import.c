#include "runtime/data/import/import.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PATH_BYTES = 4096, MAX_LICENCE_BYTES = 32 * 1024 };

/* Of the folder, or of the one that holds it; "" when there is none. */
static const char *licence_in(const char *folder, pod_arena *a)
{
    static const char *const names[] = {"LICENSE",    "LICENSE.txt",    "LICENCE",    "COPYING",
                                        "../LICENSE", "../LICENSE.txt", "../LICENCE", "../COPYING"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[MAX_PATH_BYTES];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FILE *f = fopen(path, "r");
        if (!f) continue;
        char *text = pod_arena_get(a, 1, MAX_LICENCE_BYTES + 1);
        size_t n = text ? fread(text, 1, MAX_LICENCE_BYTES, f) : 0;
        fclose(f);
        while (n > 0 && text[n - 1] == '\n') text[--n] = '\0';
        if (n > 0) return text;
    }
    return "";
}

static const char *name_of(const char *folder, pod_arena *a)
{
    size_t end = strlen(folder);
    while (end > 1 && folder[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && folder[begin - 1] != '/') begin--;
    return pod_arena_text(a, "%.*s", (int)(end - begin), folder + begin);
}

pod_status pod__import_text_take(const pod_import_text *given, const char *folder, pod_arena *a,
                                 pod_dataset_info *info)
{
    info->name = given->name ? given->name : name_of(folder, a);
    info->origin = given->origin ? given->origin : "";
    info->licence = given->licence ? given->licence : licence_in(folder, a);
    return info->name ? POD_OK : POD_E_NOMEM;
}

void pod__import_tell_missing_classes(pod_log *log, const pod_dataset_info *info,
                                      const int64_t n_of[], const char *remedy)
{
    for (int s = 0; s < POD_N_SPLITS; s++) {
        const char *side = pod_split_name((pod_split)s), *first = NULL;
        int n = 0;
        for (int i = 0; i < info->n_classes; i++)
            if (n_of[s * info->n_classes + i] == 0 && n++ == 0) first = info->class_names[i];
        if (n == 1)
            pod_log_say(log, POD_LOG_WARNING, "class '%s' has no image to %s%s", first, side,
                        remedy);
        if (n > 1)
            pod_log_say(log, POD_LOG_WARNING, "%d classes have no image to %s, the first is '%s'%s",
                        n, side, first, remedy);
    }
}

pod_status pod__import_write(const char *h5_path, const pod_dataset_info *info,
                             pod_dataset_fill *fill, void *ctx, pod_arena *a, pod_log *log)
{
    int64_t *n_of = POD_ARENA_NEW(a, int64_t, POD_N_SPLITS * (int64_t)info->n_classes);
    if (!n_of) return POD_E_NOMEM;
    POD_TRY(pod_dataset_write(h5_path, info, fill, ctx, n_of, log));
    pod__import_tell_missing_classes(log, info, n_of, "");
    return POD_OK;
}
