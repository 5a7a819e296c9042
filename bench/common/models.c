#include "bench/common/models.h"

#include "runtime/config/config.h"
#include "runtime/core/words.h"

enum {
    N_MODELS = 0
#define POD_MODEL(...) +1
#include "models/models.def"
#undef POD_MODEL
};

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
    const char *names[N_MODELS];
    for (int i = 0; i < n; i++) names[i] = models[i].name;
    const char *near = pod_nearest_name(name, names, n);
    if (near)
        return pod_fail(POD_E_INVALID, "model: there is no '%s'; did you mean %s?", name, near);
    return pod_fail(POD_E_INVALID,
                    "model: there is no '%.80s'; `minipod train --help-all` lists them", name);
}

/* What says no more than what every model does is taken by all. */
static pod_status check_scaling(const pod_model *model, const pod_setup *s)
{
    const char *given = s->width != 0 && s->width != 1        ? "width"
                        : s->depth != 0 && s->depth != 1      ? "depth"
                        : s->dropout > 0                      ? "dropout"
                        : s->survival >= 0 && s->survival < 1 ? "survival"
                                                              : NULL;
    if (model->scales || !given) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: of EfficientNets, found --model %s", given, model->name);
}

pod_status pod_network_choose(const pod_setup *s, pod_network_choice *choice, pod_network *out)
{
    const pod_model *model = pod_model_find(s->model);
    if (!model) return fail_unknown(s->model);
    POD_TRY(check_scaling(model, s));
    *choice = (pod_network_choice){.model = model, .setup = s};
    *out = (pod_network){.name = model->name, .build = build, .ctx = choice};
    return POD_OK;
}
