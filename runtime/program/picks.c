#include "runtime/program/picks.h"

#include <stdio.h>
#include <string.h>

static bool is_pick(const pod_instr *in)
{
    return in->kind == POD_I_RUN || in->kind == POD_I_COLL_START;
}

static bool is_first(const pod_program *p, int32_t i)
{
    for (int32_t k = 0; k < i; k++)
        if (is_pick(&p->instr[k]) && strcmp(p->instr[k].op, p->instr[i].op) == 0 &&
            strcmp(p->instr[k].impl, p->instr[i].impl) == 0)
            return false;
    return true;
}

/* Into `text`, or with NULL only how many bytes. */
static size_t print(const pod_program *p, char *text, size_t room)
{
    size_t n = 0;
    for (int32_t i = 0; i < p->n_instrs; i++)
        if (is_pick(&p->instr[i]) && is_first(p, i))
            n += (size_t)snprintf(text ? text + n : NULL, text ? room - n : 0, "%s = %s\n",
                                  p->instr[i].op, p->instr[i].impl);
    return n;
}

const char *pod_program_picks(const pod_program *p, pod_arena *a)
{
    const size_t room = print(p, NULL, 0) + 1;
    char *text = pod_arena_get(a, 1, room);
    if (text) print(p, text, room);
    return text;
}
