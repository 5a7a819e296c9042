#include "runtime/task/task.h"

#include <stdio.h>
#include <string.h>

const pod_task *pod_task_find(const char *name)
{
    static const pod_task *const tasks[] = {
#define POD_TASK(task) &task,
#include "runtime/task/tasks.def"
#undef POD_TASK
    };
    for (size_t i = 0; i < sizeof tasks / sizeof tasks[0]; i++)
        if (strcmp(tasks[i]->name, name) == 0) return tasks[i];
    return NULL;
}

/* The index of the metric that "NAME=..." names; the first without a name; -1: there is none. */
static int find_metric(const pod_task *task, const char *text)
{
    const char *end = strchr(text, '=');
    if (!end) return 0;
    for (int i = 0; i < task->n_metrics; i++) {
        const char *name = task->metric[i].name;
        if (strlen(name) == (size_t)(end - text) && memcmp(name, text, strlen(name)) == 0) return i;
    }
    return -1;
}

pod_status pod_task_find_target(const pod_task *task, pod_setup *s)
{
    const int i = find_metric(task, s->target_of);
    if (i < 0) {
        char names[128] = "";
        for (int k = 0, n = 0; k < task->n_metrics && n < (int)sizeof names; k++)
            n += snprintf(names + n, sizeof names - (size_t)n, "%s%s", k ? ", " : "",
                          task->metric[k].name);
        return pod_fail(POD_E_INVALID, "target: '%.80s' is of no metric of %s, which has %s",
                        s->target_of, task->name, names);
    }
    const pod_metric *m = &task->metric[i];
    if (s->target != 0 && pod_metric_is_better(m, s->target, m->best))
        return pod_fail(POD_E_INVALID, "target: %s is at %s %g, found %g", m->name,
                        m->falls ? "least" : "most", m->best, s->target);
    s->target_metric = i;
    return POD_OK;
}

int64_t pod_task_text_room(const pod_task *task, const pod_form *form)
{
    int64_t n = 0;
    for (int i = 0; i < task->n_texts; i++) n += form->field[task->text[i].ids].dim[0];
    return n;
}
