#include "models/language.h"

#include <string.h>

#include "models/language_parts.h"

static const pod_language languages[] = {
#define POD_LANGUAGE(name, task, build, search, n_tokens, layers, hidden, heads, inner, positions, \
                     about)                                                                        \
    {name, about, task, n_tokens, {layers, hidden, heads, inner, positions}, build, search},
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

static pod_value input(const pod_graph *g, const char *name)
{
    for (int i = 0; i < pod_graph_n_inputs(g); i++)
        if (strcmp(pod_graph_input(g, i)->name, name) == 0) return pod_graph_input(g, i)->value;
    return (pod_value){0};
}

pod_language_in pod_language_read(const pod_graph *g)
{
    pod_language_in in = {.ids = input(g, "source"), .lengths = input(g, "source_lengths")};
    if (!in.ids.id) in.ids = input(g, "ids");
    if (!in.lengths.id) in.lengths = input(g, "lengths");
    in.segments = input(g, "segments");
    in.positions = input(g, "positions");
    in.target = input(g, "target");
    in.target_lengths = input(g, "target_lengths");
    return in;
}
