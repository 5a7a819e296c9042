#include "runtime/config/config_parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/parse.h"
#include "runtime/core/words.h"

enum { ONLY_TYPED = 1 << 20, WRITES_FILE = 1 << 22, SHAPES = 1 << 23, RECORDS = 1 << 24 };
enum { MAX_TEXT_BYTES = 4096 };

#define ANY          .min = 0, .max = 0
#define WITHIN(a, b) .min = (a), .max = (b)
#define CHOICES(c)   .choices = (c)
const pod_option pod_options[POD_N_OPTS] = {
#define POD_OPTION(id, n, l, t, u, d, limits, g, who, h)       \
    [POD_OPT_##id] = {.name = (n),                             \
                      .letter = (l),                           \
                      .type = POD_OPTION_##t,                  \
                      .unit = (u),                             \
                      .fallback = (d),                         \
                      limits,                                  \
                      .group = (g),                            \
                      .only_typed = ((who)&ONLY_TYPED) != 0,   \
                      .writes_file = ((who)&WRITES_FILE) != 0, \
                      .shapes = ((who)&SHAPES) != 0,           \
                      .records = ((who)&RECORDS) != 0,         \
                      .commands = (who)&POD_CMD_ALL,           \
                      .help = (h)},
#include "runtime/config/options.def"
};

typedef struct other_name {
    const char *name;
    int option;
} other_name;

static const other_name second_names[] = {
#define POD_OPTION(...)
#define POD_SECOND_NAME(n, id) {(n), POD_OPT_##id},
#include "runtime/config/options.def"
};

static const other_name hints[] = {
#define POD_OPTION(...)
#define POD_HINT(n, id) {(n), POD_OPT_##id},
#include "runtime/config/options.def"
};

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_name(const char *known, const char *name, size_t length)
{
    if (strlen(known) != length) return false;
    for (size_t i = 0; i < length; i++)
        if (known[i] != (name[i] == '_' ? '-' : name[i])) return false;
    return true;
}

int pod__config_find(const char *name, size_t length)
{
    for (int i = 0; i < POD_N_OPTS; i++)
        if (is_name(pod_options[i].name, name, length)) return i;
    for (size_t i = 0; i < sizeof second_names / sizeof second_names[0]; i++)
        if (is_name(second_names[i].name, name, length)) return second_names[i].option;
    return -1;
}

int pod__config_find_letter(char letter, uint32_t command)
{
    for (int i = 0; i < POD_N_OPTS; i++)
        if (pod_options[i].letter == letter && (pod_options[i].commands & command)) return i;
    return -1;
}

/* Returns the command's option that a name of another program stands for, or NULL. */
const char *pod__config_hint(const char *name, uint32_t command)
{
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (is_name(hints[i].name, name, strlen(name)) &&
            pod_options[hints[i].option].commands & command)
            return pod_options[hints[i].option].name;
    return NULL;
}

pod_status pod__config_fail_unknown(const char *spelled, const char *name, uint32_t command)
{
    const char *known[POD_N_OPTS];
    int n = 0;
    for (int i = 0; i < POD_N_OPTS; i++)
        if (pod_options[i].commands & command) known[n++] = pod_options[i].name;
    const char *hint = pod__config_hint(name, command);
    const char *near = hint ? hint : pod_nearest_name(name, known, n);
    return pod_fail(POD_E_INVALID, "%.640s: there is no such option%s%s%s", spelled,
                    near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

/* ---- values --------------------------------------------------------------------------------- */

static bool is_choice(const char *choices, const char *text)
{
    const size_t length = strlen(text);
    for (const char *p = choices; p; p = strchr(p, '|')) {
        if (*p == '|') p++;
        if (length == strcspn(p, "|") && strncmp(p, text, length) == 0) return true;
    }
    return false;
}

pod_status pod__option_check_text(const char *what, const char *text)
{
    if (strlen(text) >= MAX_TEXT_BYTES)
        return pod_fail(POD_E_INVALID, "%s: '%.40s...' has %zu bytes, at most %d are allowed", what,
                        text, strlen(text), MAX_TEXT_BYTES - 1);
    for (const char *p = text; *p != '\0'; p++)
        if (iscntrl((unsigned char)*p))
            return pod_fail(POD_E_INVALID, "%s: '%s' contains the control character %d", what, text,
                            (unsigned char)*p);
    return POD_OK;
}

static pod_status parse_size_within(const pod_option *o, const char *what, const char *text,
                                    int64_t *out)
{
    int64_t bytes;
    POD_TRY(pod_parse_size(what, text, &bytes));
    if ((double)bytes < o->min || (double)bytes > o->max) {
        char low[32], high[32];
        return pod_fail(POD_E_INVALID, "%s: %s is not within %s to %s", what, text,
                        pod_print_size((int64_t)o->min, low, sizeof low),
                        pod_print_size((int64_t)o->max, high, sizeof high));
    }
    *out = bytes;
    return POD_OK;
}

bool pod__is_digits(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* A BOOL that has a range: a number says how often, 0 is off and on is 1. */
bool pod__option_takes_count(const pod_option *o)
{
    return o->type == POD_OPTION_BOOL && o->max > 1;
}

/* `what` is the option as the person spelled it. */
pod_status pod__option_parse(const pod_option *o, const char *what, const char *text,
                             pod__setting *out)
{
    POD_TRY(pod__option_check_text(what, text));
    bool on = false;
    switch (o->type) {
    case POD_OPTION_INT:
        POD_TRY(pod_parse_int(what, text, (int64_t)o->min, (int64_t)o->max, &out->whole));
        break;
    case POD_OPTION_DOUBLE:
        POD_TRY(pod_parse_double(what, text, o->min, o->max, &out->real));
        break;
    case POD_OPTION_SIZE: POD_TRY(parse_size_within(o, what, text, &out->whole)); break;
    case POD_OPTION_BOOL:
        if (pod__option_takes_count(o) && pod__is_digits(text))
            return pod_parse_int(what, text, (int64_t)o->min, (int64_t)o->max, &out->whole);
        POD_TRY(pod_parse_bool(what, text, &on));
        out->whole = on;
        break;
    case POD_OPTION_CHOICE:
        if (!is_choice(o->choices, text))
            return pod_fail(POD_E_INVALID, "%s: '%s' is none of %s", what, text, o->choices);
        break;
    case POD_OPTION_TEXT: break;
    }
    return POD_OK;
}

/* An empty text is most often that of a shell variable that is not set. */
pod_status pod__option_want_text(const pod_option *o, const char *what, const char *text)
{
    if (o->type == POD_OPTION_TEXT && text[0] == '\0')
        return pod_fail(POD_E_INVALID, "%s: the value is empty", what);
    return POD_OK;
}

pod_status pod__config_set(pod_config *c, int option, pod_source source, const char *what,
                           const char *text)
{
    pod__setting value = {.source = source};
    if (source != POD_FROM_DEFAULT)
        POD_TRY(pod__option_want_text(&pod_options[option], what, text));
    const bool is_optimizers = source == POD_FROM_DEFAULT && text[0] == '\0';
    if (!is_optimizers) POD_TRY(pod__option_parse(&pod_options[option], what, text, &value));
    value.text = pod_arena_text(c->arena, "%s", text);
    if (!value.text) return POD_E_NOMEM;
    c->set[option] = value;
    return POD_OK;
}

/* ---- making one ------------------------------------------------------------------------------ */

pod_status pod__config_create(int max_args, int max_warnings, pod_config **out)
{
    pod_arena *arena;
    POD_TRY(pod_arena_create(NULL, &arena));
    pod_config *c = POD_ARENA_NEW(arena, pod_config, 1);
    pod_status s = c ? POD_OK : POD_E_NOMEM;
    if (c) {
        c->arena = arena;
        c->args = POD_ARENA_NEW(arena, const char *, max_args);
        c->warnings = POD_ARENA_NEW(arena, const char *, max_warnings);
        if (!c->args || !c->warnings) s = POD_E_NOMEM;
    }
    for (int i = 0; i < POD_N_OPTS && s == POD_OK; i++)
        s = pod__config_set(c, i, POD_FROM_DEFAULT, pod_options[i].name, pod_options[i].fallback);
    if (s == POD_OK)
        *out = c;
    else
        pod_arena_destroy(arena);
    return s;
}

void pod_config_destroy(pod_config *c)
{
    if (c) pod_arena_destroy(c->arena);
}

const char *pod_option_normal(const pod_option *o, const char *text,
                              char room[POD_OPTION_NORMAL_BYTES])
{
    pod__setting value = {0};
    if (text[0] == '\0' || pod__option_parse(o, o->name, text, &value) != POD_OK) return text;
    switch (o->type) {
    case POD_OPTION_INT:
        snprintf(room, POD_OPTION_NORMAL_BYTES, "%" PRId64, value.whole);
        return room;
    case POD_OPTION_DOUBLE: return pod_print_double(value.real, room, POD_OPTION_NORMAL_BYTES);
    case POD_OPTION_SIZE: return pod_print_size(value.whole, room, POD_OPTION_NORMAL_BYTES);
    case POD_OPTION_BOOL: return value.whole ? "on" : "off";
    case POD_OPTION_TEXT:
    case POD_OPTION_CHOICE: break;
    }
    return text;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static const pod__setting *get(const pod_config *c, pod_opt o, pod_option_type type)
{
    POD_ASSERT(o >= 0 && o < POD_N_OPTS, "option %d of %d", (int)o, (int)POD_N_OPTS);
    POD_ASSERT(pod_options[o].type == type, "--%s has type %d, asked for as %d",
               pod_options[o].name, (int)pod_options[o].type, (int)type);
    return &c->set[o];
}

int64_t pod_config_int(const pod_config *c, pod_opt o) { return get(c, o, POD_OPTION_INT)->whole; }

double pod_config_double(const pod_config *c, pod_opt o)
{
    const pod__setting *found = get(c, o, POD_OPTION_DOUBLE);
    POD_ASSERT(found->text[0] != '\0', "--%s: its default is the optimizer's", pod_options[o].name);
    return found->real;
}

int64_t pod_config_size(const pod_config *c, pod_opt o)
{
    return get(c, o, POD_OPTION_SIZE)->whole;
}

bool pod_config_bool(const pod_config *c, pod_opt o)
{
    return get(c, o, POD_OPTION_BOOL)->whole != 0;
}

int64_t pod_config_count(const pod_config *c, pod_opt o)
{
    return get(c, o, POD_OPTION_BOOL)->whole;
}

const char *pod_config_text(const pod_config *c, pod_opt o)
{
    const bool is_choice_type =
        o >= 0 && o < POD_N_OPTS && pod_options[o].type == POD_OPTION_CHOICE;
    return get(c, o, is_choice_type ? POD_OPTION_CHOICE : POD_OPTION_TEXT)->text;
}

const char *pod_config_value(const pod_config *c, pod_opt o)
{
    POD_ASSERT(o >= 0 && o < POD_N_OPTS, "option %d of %d", (int)o, (int)POD_N_OPTS);
    return c->set[o].text;
}

pod_source pod_config_source(const pod_config *c, pod_opt o)
{
    POD_ASSERT(o >= 0 && o < POD_N_OPTS, "option %d of %d", (int)o, (int)POD_N_OPTS);
    return c->set[o].source;
}

bool pod_config_is_same(const pod_config *a, const pod_config *b, pod_opt o)
{
    const pod_option_type type = pod_options[o].type;
    if (type == POD_OPTION_TEXT || type == POD_OPTION_CHOICE)
        return strcmp(pod_config_value(a, o), pod_config_value(b, o)) == 0;
    return type == POD_OPTION_DOUBLE ? a->set[o].real == b->set[o].real
                                     : a->set[o].whole == b->set[o].whole;
}

bool pod_config_is_set(const pod_config *c, pod_opt o)
{
    return pod_config_source(c, o) != POD_FROM_DEFAULT;
}

int pod_config_n_args(const pod_config *c) { return c->n_args; }

const char *pod_config_arg(const pod_config *c, int i)
{
    POD_ASSERT(i >= 0 && i < c->n_args, "argument %d of %d", i, c->n_args);
    return c->args[i];
}

int pod_config_n_files(const pod_config *c) { return c->n_files; }

const char *pod_config_file(const pod_config *c, int i)
{
    POD_ASSERT(i >= 0 && i < c->n_files, "file %d of %d", i, c->n_files);
    return c->files[i];
}

int pod_config_n_warnings(const pod_config *c) { return c->n_warnings; }

const char *pod_config_warning(const pod_config *c, int i)
{
    POD_ASSERT(i >= 0 && i < c->n_warnings, "warning %d of %d", i, c->n_warnings);
    return c->warnings[i];
}
