#include "models/language.h"

#include <string.h>

#include "models/language_parts.h"

static const pod_language languages[] = {
#define POD_LANGUAGE(name, task, build, n_tokens, layers, hidden, heads, inner, positions, about) \
    {name, about, task, n_tokens, {layers, hidden, heads, inner, positions}, build},
#include "models/languages.def"
#undef POD_LANGUAGE
};

const pod_language *pod_languages(int *n)
{
    *n = (int)(sizeof languages / sizeof languages[0]);
    return languages;
}

const pod_language *pod_language_find(const char *name)
{
    int n;
    const pod_language *all = pod_languages(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0) return &all[i];
    return NULL;
}

/* ---- pieces of a network --------------------------------------------------------------------- */

pod_value pod__kernel(pod_graph *g, const char *name, pod_shape shape)
{
    return pod_weight(g, name, shape, (pod_init){POD_INIT_TRUNCATED, 0.02f}, POD_ROLE_WEIGHT);
}

pod_dtype pod__product_type(const pod_language_args *args)
{
    return args->bf16_products ? POD_BF16 : args->travel;
}

pod_value pod__project(pod_graph *g, pod_value x, const char *name, int64_t units, pod_dtype to,
                       const pod_language_args *args)
{
    if (!x.id) return x;
    const pod_shape *s = &pod_graph_type(g, x)->shape;
    const pod_dtype t = pod__product_type(args);
    pod_scope_begin(g, "%s", name);
    pod_value w = pod__kernel(g, "kernel", (pod_shape){2, {s->dim[s->n_dims - 1], units}});
    pod_value b =
        pod_weight(g, "bias", (pod_shape){1, {units}}, (pod_init){POD_INIT_ZERO, 0}, POD_ROLE_BIAS);
    x = pod_matmul(g, pod_cast(g, x, t), pod_cast(g, w, t), (pod_matmul_attr){.c_dtype = to});
    x = pod_bias_add(g, x, b);
    pod_scope_end(g);
    return x;
}

pod_value pod__drop(pod_graph *g, pod_value x, float rate, const pod_language_args *args)
{
    return args->draws.id ? pod_dropout(g, x, args->draws, rate) : x;
}
