#include "runtime/task/task.h"

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

pod_status pod_task_check_target(const pod_task *task, double target)
{
    const pod_metric *m = &task->metric[0];
    if (target == 0 || !pod_metric_is_better(m, target, m->best)) return POD_OK;
    return pod_fail(POD_E_INVALID, "target: %s is at %s %g, found %g", m->name,
                    m->falls ? "least" : "most", m->best, target);
}

int64_t pod_task_text_room(const pod_task *task, const pod_form *form)
{
    int64_t n = 0;
    for (int i = 0; i < task->n_texts; i++) n += form->field[task->text[i].ids].dim[0];
    return n;
}
