#include "bench/no_effect.h"

#include <string.h>

#include "runtime/optim/optim.h"

typedef struct need {
    uint32_t commands;
    pod_opt option, other;
    bool given, not_given, ranks;
    const char *one_of, *none_of; /* "a|b" */
    unsigned trait;               /* POD_OPTIM_ */
} need;

#define ON_RUNS      (POD_CMD_TRAIN | POD_CMD_EVAL)
#define ON_STEPS     (POD_CMD_TRAIN | POD_CMD_PREDICT)
#define GIVEN        .given = true
#define NOT_GIVEN    .not_given = true
#define ONE_OF(all)  .one_of = (all)
#define NONE_OF(all) .none_of = (all)
#define RANKS        .ranks = true
#define READS(what)  .trait = POD_OPTIM_##what
static const need needs[] = {
#define POD_NEEDS(who, id, other_id, ...) {(who), POD_OPT_##id, POD_OPT_##other_id, __VA_ARGS__},
#include "bench/no_effect.def"
};

static const pod_option *option_of(pod_opt o)
{
    int n;
    return &pod_options(&n)[o];
}

/* Neither 0, off nor nothing. */
static bool is_given(const pod_config *c, pod_opt o)
{
    switch (option_of(o)->type) {
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

static bool is_met(const pod_config *c, int n_ranks, const need *n)
{
    if (n->ranks) return n_ranks > 1;
    if (n->given || n->not_given) return is_given(c, n->other) == n->given;
    const char *text = pod_config_text(c, n->other);
    if (n->one_of) return is_among(n->one_of, text, strlen(text));
    if (n->none_of) return !is_among(n->none_of, text, strcspn(text, ":"));
    const pod_optim *optim = pod_optim_find(text);
    return optim && optim->traits & n->trait;
}

void pod_no_effect_warn(const pod_config *c, uint32_t command, int n_ranks, pod_log *log)
{
    for (size_t i = 0; i < sizeof needs / sizeof needs[0]; i++) {
        const need *n = &needs[i];
        const pod_option *option = option_of(n->option), *other = option_of(n->other);
        const char *value = pod_config_value(c, n->other);
        /* Of a switch that is off, and a text that is absent, the name says all. */
        const bool is_absent = n->given && (other->type == POD_OPTION_BOOL || value[0] == '\0');
        if (!(n->commands & command) || is_met(c, n_ranks, n) ||
            pod_config_source(c, n->option) != POD_FROM_COMMAND_LINE ||
            !(n->ranks || is_given(c, n->option)))
            continue;
        if (n->ranks) {
            pod_log_say(log, POD_LOG_WARNING, "--%s %s has no effect on one rank", option->name,
                        pod_config_value(c, n->option));
            continue;
        }
        pod_log_say(log, POD_LOG_WARNING, "--%s %s has no effect with%s --%s%s%s", option->name,
                    pod_config_value(c, n->option), is_absent ? "out" : "", other->name,
                    is_absent ? "" : " ", is_absent ? "" : value);
    }
}
