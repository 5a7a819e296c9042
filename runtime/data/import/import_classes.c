#include "runtime/data/import/import_classes.h"

void pod__import_tell_missing_classes(pod_log *log, const pod_dataset_info *info, pod_split split,
                                      const int64_t n_of[], const char *remedy)
{
    const char *side = pod_split_name(split), *first = NULL;
    int n = 0;
    for (int i = 0; i < info->n_classes; i++)
        if (n_of[i] == 0 && n++ == 0) first = info->class_names[i];
    if (n == 1)
        pod_log_say(log, POD_LOG_WARNING, "class '%s' has no image to %s%s", first, side, remedy);
    if (n > 1)
        pod_log_say(log, POD_LOG_WARNING, "%d classes have no image to %s, the first is '%s'%s", n,
                    side, first, remedy);
}
