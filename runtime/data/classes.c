#include "runtime/data/classes.h"

#include <string.h>

static int32_t number_of(const char *name, int i, int n_trained, const char *const trained[])
{
    if (i < n_trained && strcmp(name, trained[i]) == 0) return i;
    for (int k = 0; k < n_trained; k++)
        if (strcmp(name, trained[k]) == 0) return k;
    return -1;
}

pod_class_match pod_classes_match(int n, const char *const name[], int n_trained,
                                  const char *const trained[], int32_t class_of[], int *first)
{
    int n_known = 0, n_moved = 0;
    *first = n;
    for (int i = n - 1; i >= 0; i--) {
        class_of[i] = number_of(name[i], i, n_trained, trained);
        n_known += class_of[i] >= 0;
        n_moved += class_of[i] >= 0 && class_of[i] != i;
        if (class_of[i] != i) *first = i;
    }
    if (n_known == n) return n_moved > 0 ? POD_CLASSES_REORDERED : POD_CLASSES_SAME;
    return n == n_trained && n_moved == 0 ? POD_CLASSES_RENAMED : POD_CLASSES_OTHER;
}

/* "x.h5: class 3 is 'cat', and was 'dog' in training" */
static const char *describe(const char *spec, const pod_dataset_info *own, int first,
                            const pod_dataset_info *trained, pod_arena *a)
{
    const char *was = first < trained->n_classes ? trained->class_names[first] : "no class";
    const char *text = pod_arena_text(a, "%s: class %d is '%s', and was '%s' in training", spec,
                                      first, own->class_names[first], was);
    return text ? text : spec;
}

pod_status pod_dataset_as_trained(pod_dataset *d, const char *spec, bool is_same,
                                  const pod_dataset_info *trained, pod_log *log)
{
    pod_dataset_info *own = &d->info;
    int first;
    if (trained->vocabulary_hash && own->vocabulary_hash != trained->vocabulary_hash)
        return pod_fail(POD_E_MISMATCH,
                        "%s: its vocabulary is not the one of training: import the text with the "
                        "same --vocab",
                        spec);
    if (trained->n_classes == 0) return POD_OK;
    int32_t *class_of = POD_ARENA_NEW(d->arena, int32_t, own->n_classes);
    if (!class_of) return POD_E_NOMEM;
    pod_class_match match = pod_classes_match(own->n_classes, own->class_names, trained->n_classes,
                                              trained->class_names, class_of, &first);
    if (is_same && match != POD_CLASSES_SAME) match = POD_CLASSES_RENAMED;
    const char *what =
        match == POD_CLASSES_SAME ? "" : describe(spec, own, first, trained, d->arena);
    if (match == POD_CLASSES_OTHER)
        return pod_fail(POD_E_MISMATCH,
                        "%s: its %d classes cannot be matched with the %d of the checkpoint by "
                        "their names",
                        what, own->n_classes, trained->n_classes);
    if (match == POD_CLASSES_REORDERED)
        pod_log_say(log, POD_LOG_INFO, "%s: classes are matched by name", what);
    if (match == POD_CLASSES_RENAMED)
        pod_log_say(log, POD_LOG_WARNING, "%s: labels are taken by number", what);
    if (match == POD_CLASSES_REORDERED) d->class_of = class_of;
    if (match != POD_CLASSES_RENAMED) own->class_names = trained->class_names;
    own->n_classes = trained->n_classes;
    if (own->channels != trained->channels) return POD_OK; /* the weights will not fit */
    own->mean = trained->mean;
    own->std = trained->std;
    return POD_OK;
}
