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
