#include "bench/no_effect.h"

#include <string.h>

#include "runtime/optim/optim.h"

typedef struct need {
    uint32_t commands;
    pod_opt option, other;
    const char *want;
} need;

#define ON_RUNS  (POD_CMD_TRAIN | POD_CMD_EVAL)
#define ON_STEPS (POD_CMD_TRAIN | POD_CMD_PREDICT)
static const need needs[] = {
#define POD_NEEDS(who, id, other_id, want) {(who), POD_OPT_##id, POD_OPT_##other_id, (want)},
#include "bench/no_effect.def"
};

/* Neither 0, off nor nothing. */
static bool is_set(const pod_config *c, pod_opt o)
{
    switch (pod_options[o].type) {
    case POD_OPTION_INT: return pod_config_int(c, o) != 0;
    case POD_OPTION_DOUBLE: return pod_config_double(c, o) != 0;
    case POD_OPTION_SIZE: return pod_config_size(c, o) != 0;
    case POD_OPTION_BOOL: return pod_config_bool(c, o);
    case POD_OPTION_TEXT:
    case POD_OPTION_CHOICE: break;
    }
    return pod_config_text(c, o)[0] != '\0';
}

static bool is_among(const char *choices, const char *text, size_t length)
{
    for (const char *p = choices; *p != '\0'; p += strspn(p, "|")) {
        const size_t n = strcspn(p, "|");
        if (n == length && strncmp(p, text, n) == 0) return true;
        p += n;
    }
    return false;
}

/* An optimizer has a value for each hyper-parameter that it reads. */
static bool reads(const char *optimizer, pod_opt o)
{
    const pod_optim *optim = pod_optim_find(optimizer);
    for (const pod_optim_default *d = optim ? optim->own : NULL; d && d->value; d++)
        if (d->option == o) return true;
    return !optim;
}

static bool is_met(const pod_config *c, int n_ranks, const need *n)
{
    const bool is_not = n->want[0] == '!';
    const char *want = n->want + is_not;
    if (strcmp(want, "ranks") == 0) return n_ranks > 1;
    if (strcmp(want, "set") == 0) return is_set(c, n->other) != is_not;
    const char *text = pod_config_value(c, n->other);
    if (n->other == POD_OPT_DATA && !*text) text = "glyphs"; /* the default is synthetic */
    if (strcmp(want, "reads") == 0) return reads(text, n->option);
    return is_among(want, text, strcspn(text, is_not ? ":" : "")) != is_not;
}

static void check(const pod_config *c, uint32_t command, int n_ranks, const need *n, pod_log *log)
{
    const pod_option *option = &pod_options[n->option], *other = &pod_options[n->other];
    const char *own = pod_config_value(c, n->option), *value = pod_config_value(c, n->other);
    const bool is_of_ranks = strcmp(n->want, "ranks") == 0;
    /* Of a switch that is off, and a text that is absent, the name says all. */
    const bool is_absent =
        n->want[0] != '!' && (other->type == POD_OPTION_BOOL || value[0] == '\0');
    if (!(n->commands & command) || pod_config_source(c, n->option) != POD_FROM_COMMAND_LINE ||
        !(is_of_ranks || is_set(c, n->option)) || is_met(c, n_ranks, n))
        return;
    if (is_of_ranks)
        pod_log_say(log, POD_LOG_WARNING, "--%s %s has no effect on one rank", option->name, own);
    else
        pod_log_say(log, POD_LOG_WARNING, "--%s %s has no effect with%s --%s%s%s", option->name,
                    own, is_absent ? "out" : "", other->name, is_absent ? "" : " ",
                    is_absent ? "" : value);
}

void pod_no_effect_warn(const pod_config *c, uint32_t command, int n_ranks, pod_log *log)
{
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++)
        check(c, command, n_ranks, &needs[i], log);
    for (pod_opt o = 0; o < POD_N_OPTS; o++) {
        const need hparam = {ON_STEPS, o, POD_OPT_OPTIMIZER, "reads"};
        const bool is_hparam =
            pod_options[o].type == POD_OPTION_DOUBLE && !*pod_options[o].fallback;
        if (is_hparam) check(c, command, n_ranks, &hparam, log);
    }
}
