#include "models/model.h"

#include <string.h>

#include "models/family.h"

static const pod_model models[] = {
#define POD_MODEL(name, h, w, c, n_classes, param, build, scales, about) \
    {name, about, h, w, c, n_classes, param, scales, build},
#include "models/models.def"
#undef POD_MODEL
};

const pod_model *pod_models(int *n)
{
    *n = (int)(sizeof models / sizeof models[0]);
    return models;
}

const pod_model *pod_model_find(const char *name)
{
    int n;
    const pod_model *all = pod_models(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0) return &all[i];
    return NULL;
}
