#include "bench/models.h"

#include "runtime/core/config.h"
#include "runtime/core/nearest.h"

enum { MAX_MODELS = 64 };

static pod_value build(const void *ctx, pod_graph *g, pod_value images, pod_value draws,
                       int64_t n_classes, bool train)
{
    const pod_network_choice *choice = ctx;
    const pod_setup *s = choice->setup;
    pod_model_args args = {.n_classes = n_classes,
                           .train = train,
                           .bn_momentum = s->bn_momentum,
                           .bn_epsilon = s->bn_epsilon,
                           .bf16_products = s->bf16_products,
                           .draws = draws,
                           .dropout = s->dropout,
                           .survival = s->survival,
                           .width = s->width,
                           .depth = s->depth};
    return choice->model->build(g, choice->model->param, images, &args);
}

static pod_status fail_unknown(const char *name)
{
    int n;
    const pod_model *models = pod_models(&n);
    const char *names[MAX_MODELS];
    for (int i = 0; i < n && i < MAX_MODELS; i++) names[i] = models[i].name;
    const char *near = pod_nearest_name(name, names, n < MAX_MODELS ? n : MAX_MODELS);
    if (near)
        return pod_fail(POD_E_INVALID, "model: there is no '%s'; did you mean %s?", name, near);
    return pod_fail(POD_E_INVALID, "model: there is no '%.80s'; `minipod train --help` lists them",
                    name);
}

pod_status pod_network_choose(const pod_setup *s, pod_network_choice *choice, pod_network *out)
{
    const pod_model *model = pod_model_find(s->model);
    if (!model) return fail_unknown(s->model);
    *choice = (pod_network_choice){.model = model, .setup = s};
    *out = (pod_network){.name = model->name, .build = build, .ctx = choice};
    return POD_OK;
}
