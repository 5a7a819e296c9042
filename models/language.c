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
