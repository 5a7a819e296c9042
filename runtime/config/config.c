#include "runtime/config/config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/arena.h"
#include "kernels/base/assert.h"
#include "kernels/base/parse.h"
#include "runtime/core/ini.h"
#include "runtime/core/nearest.h"

enum {
    ONLY_TYPED = 1 << 20,
    READS_FILE = 1 << 21,
    WRITES_FILE = 1 << 22,
    SHAPES = 1 << 23,
    RECORDS = 1 << 24
};
enum { MAX_TEXT_BYTES = 4096, MAX_NAME_BYTES = 64, PREFIX = 8 /* bytes of MINIPOD_ */ };

#define ANY          .min = 0, .max = 0
#define WITHIN(a, b) .min = (a), .max = (b)
#define CHOICES(c)   .choices = (c)
static const pod_option options[POD_N_OPTS] = {
#define POD_OPTION(id, n, l, t, u, d, limits, g, who, h)       \
    [POD_OPT_##id] = {.name = (n),                             \
                      .letter = (l),                           \
                      .type = POD_OPTION_##t,                  \
                      .unit = (u),                             \
                      .fallback = (d),                         \
                      limits,                                  \
                      .group = (g),                            \
                      .only_typed = ((who)&ONLY_TYPED) != 0,   \
                      .reads_file = ((who)&READS_FILE) != 0,   \
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

static const char *const source_names[POD_N_SOURCES] = {"default", "checkpoint", "file",
                                                        "environment", "command line"};

/* Names in the environment that mean something elsewhere. */
static const char *const other_names[] = {"MINIPOD_LAUNCHED_BY", "MINIPOD_MAX_ISA",
                                          "MINIPOD_TEST_DATA", "MINIPOD_VERBOSE"};

typedef struct setting {
    const char *text; /* as it was written */
    pod_source source;
    int64_t whole; /* INT, SIZE, BOOL */
    double real;
} setting;

struct pod_config {
    pod_arena *arena;
    uint32_t command; /* POD_CMD_ bit; all of them when it came from a print */
    setting set[POD_N_OPTS];
    const char **args;
    int n_args;
    const char **files; /* of --conf; only of who read them */
    int n_files;
    const char **warnings;
    int n_warnings;
};

const pod_option *pod_options(int *n)
{
    *n = POD_N_OPTS;
    return options;
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool is_name(const char *known, const char *name, size_t length)
{
    if (strlen(known) != length) return false;
    for (size_t i = 0; i < length; i++)
        if (known[i] != (name[i] == '_' ? '-' : name[i])) return false;
    return true;
}

static int find_option(const char *name, size_t length)
{
    for (int i = 0; i < POD_N_OPTS; i++)
        if (is_name(options[i].name, name, length)) return i;
    for (size_t i = 0; i < sizeof second_names / sizeof second_names[0]; i++)
        if (is_name(second_names[i].name, name, length)) return second_names[i].option;
    return -1;
}

static int find_letter(char letter, uint32_t command)
{
    for (int i = 0; i < POD_N_OPTS; i++)
        if (options[i].letter == letter && (options[i].commands & command)) return i;
    return -1;
}

/* Returns the command's option that a name of another program stands for, or NULL. */
static const char *find_hint(const char *name, uint32_t command)
{
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (is_name(hints[i].name, name, strlen(name)) &&
            options[hints[i].option].commands & command)
            return options[hints[i].option].name;
    return NULL;
}

static pod_status fail_unknown(const char *spelled, const char *name, uint32_t command)
{
    const char *known[POD_N_OPTS];
    int n = 0;
    for (int i = 0; i < POD_N_OPTS; i++)
        if (options[i].commands & command) known[n++] = options[i].name;
    const char *hint = find_hint(name, command);
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

static pod_status check_text(const char *what, const char *text)
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

static bool is_digits(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* A BOOL that has a range: a number says how often, 0 is off and on is 1. */
static bool takes_count(const pod_option *o) { return o->type == POD_OPTION_BOOL && o->max > 1; }

/* `what` is the option as the person spelled it. */
static pod_status parse_value(const pod_option *o, const char *what, const char *text, setting *out)
{
    POD_TRY(check_text(what, text));
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
        if (takes_count(o) && is_digits(text))
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
static pod_status check_not_empty(const pod_option *o, const char *what, const char *text)
{
    if (o->type == POD_OPTION_TEXT && text[0] == '\0')
        return pod_fail(POD_E_INVALID, "%s: the value is empty", what);
    return POD_OK;
}

static pod_status set_option(pod_config *c, int option, pod_source source, const char *what,
                             const char *text)
{
    setting value = {.source = source};
    if (source != POD_FROM_DEFAULT) POD_TRY(check_not_empty(&options[option], what, text));
    const bool is_optimizers = source == POD_FROM_DEFAULT && text[0] == '\0';
    if (!is_optimizers) POD_TRY(parse_value(&options[option], what, text, &value));
    value.text = pod_arena_text(c->arena, "%s", text);
    if (!value.text) return POD_E_NOMEM;
    c->set[option] = value;
    return POD_OK;
}

/* ---- where values come from ----------------------------------------------------------------- */

typedef struct word { /* an option found on the command line */
    int option;
    const char *spelled; /* "--lr", "-o" */
    const char *text;
} word;

typedef struct command_line {
    const pod_command_form *command;
    int argc;
    char *const *argv;
    int at; /* next to be read */
    word *words;
    int n_words;
} command_line;

static bool is_on_or_off(const char *text)
{
    bool on;
    return pod_parse_bool("", text, &on) == POD_OK;
}

/* A minus alone is standard output, and one before a digit a number's. A letter may have its
 * number joined: -n20. */
static bool is_option(const command_line *l, const char *given)
{
    if (given[0] != '-' || given[1] == '\0') return false;
    if (given[1] == '-') return true;
    return (given[2] == '\0' || isdigit((unsigned char)given[2])) &&
           find_letter(given[1], l->command->bit) >= 0;
}

/* Returns whether "b4K" is an option and its value, as in nccl-tests. A word that is an option's
 * name only lacks a minus. */
static bool has_joined_value(const pod_option *o, const char *given)
{
    if (find_option(given, strcspn(given, "=")) >= 0) return false;
    return o->type != POD_OPTION_BOOL ||
           (!o->only_typed &&
            (is_on_or_off(given + 1) || (takes_count(o) && is_digits(given + 1))));
}

/* The text after an option without `=`. */
static pod_status take_value(command_line *l, const pod_option *o, const char *spelled,
                             const char **out)
{
    const char *next = l->at < l->argc ? l->argv[l->at] : NULL;
    if (o->type == POD_OPTION_BOOL) {
        /* If the command takes no arguments, a number must be its value, even a bad one. */
        const bool is_its_own = next && l->command->max_args == 0 && is_digits(next);
        const bool given =
            next && !o->only_typed &&
            (is_its_own || is_on_or_off(next) || (takes_count(o) && is_digits(next)));
        *out = given ? l->argv[l->at++] : "on";
        return POD_OK;
    }
    if (!next || is_option(l, next))
        return pod_fail(POD_E_INVALID, "%s: a value is missing behind it", spelled);
    *out = l->argv[l->at++];
    return POD_OK;
}

static pod_status read_option(pod_config *c, command_line *l, const char *given)
{
    const bool is_long = given[1] == '-';
    const char *name = given + (is_long ? 2 : 1);
    const size_t length = is_long ? strcspn(name, "=") : 1;
    const char *spelled =
        pod_arena_text(c->arena, "%.*s", (int)(name - given + (long)length), given);
    if (!spelled) return POD_E_NOMEM;
    const int found = is_long ? find_option(name, length) : find_letter(name[0], l->command->bit);
    const bool is_joined = !is_long && name[1] != '\0';
    if (found < 0 || (is_joined && !has_joined_value(&options[found], name)))
        return fail_unknown(is_long ? spelled : given, is_long ? spelled + 2 : name,
                            l->command->bit);
    const pod_option *o = &options[found];
    if (!(o->commands & l->command->bit))
        return pod_fail(POD_E_INVALID, "%s: not an option of %s", spelled, l->command->name);
    word w = {.option = found, .spelled = spelled};
    if (is_long && name[length] == '=')
        w.text = name + length + 1;
    else if (is_joined)
        w.text = name + 1;
    else
        POD_TRY(take_value(l, o, spelled, &w.text));
    POD_TRY(check_not_empty(o, spelled, w.text));
    l->words[l->n_words++] = w;
    return POD_OK;
}

static void set_on(pod_config *c, pod_opt option)
{
    c->set[option] = (setting){.text = "on", .source = POD_FROM_COMMAND_LINE, .whole = 1};
}

static bool asks_only(int argc, char *const argv[], pod_config *c)
{
    static const struct {
        const char *spelled;
        pod_opt option;
    } asks[] = {{"--help", POD_OPT_HELP},
                {"-h", POD_OPT_HELP},
                {"--help-all", POD_OPT_HELP_ALL},
                {"--version", POD_OPT_VERSION}};
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        for (size_t j = 0; j < sizeof asks / sizeof asks[0]; j++)
            if (strcmp(argv[i], asks[j].spelled) == 0) {
                set_on(c, asks[j].option);
                if (asks[j].option == POD_OPT_HELP_ALL) set_on(c, POD_OPT_HELP);
                return true;
            }
    return false;
}

static pod_status read_words(pod_config *c, command_line *l)
{
    bool ended = false;
    while (l->at < l->argc) {
        const char *given = l->argv[l->at++];
        if (!ended && strcmp(given, "--") == 0) {
            ended = true;
        } else if (!ended && given[0] == '-' && given[1] != '\0') {
            POD_TRY(read_option(c, l, given));
        } else {
            POD_TRY(check_text("argument", given));
            if (c->n_args == l->command->max_args)
                return pod_fail(POD_E_INVALID, "unexpected argument '%s': %s takes %s", given,
                                l->command->name,
                                l->command->max_args ? l->command->args : "options only");
            c->args[c->n_args] = pod_arena_text(c->arena, "%s", given);
            if (!c->args[c->n_args++]) return POD_E_NOMEM;
        }
    }
    return POD_OK;
}

typedef struct file_reading {
    pod_config *c;
    int line[POD_N_OPTS]; /* of the file at hand, where the option stands; 0: not yet */
} file_reading;

static int line_of(const char *place) /* "FILE:LINE" */
{
    const char *colon = strrchr(place, ':');
    return colon ? atoi(colon + 1) : 0;
}

static pod_status set_from_file(void *ctx, const char *place, const char *section, const char *key,
                                const char *value)
{
    file_reading *r = ctx;
    pod_config *c = r->c;
    char what[640];
    snprintf(what, sizeof what, "%s: %.80s", place, key);
    if (section[0] != '\0')
        return pod_fail(POD_E_FORMAT, "%s: options stand in no [section], found [%s]", what,
                        section);
    int found = find_option(key, strlen(key));
    if (found < 0) return fail_unknown(what, key, POD_CMD_ALL);
    if (options[found].only_typed || found == POD_OPT_CONF)
        return pod_fail(POD_E_INVALID, "%s: may only be given on the command line", what);
    if (r->line[found])
        return pod_fail(POD_E_INVALID, "%s: stands twice, in line %d too", what, r->line[found]);
    r->line[found] = line_of(place);
    if (options[found].commands & c->command) {
        POD_TRY(set_option(c, found, POD_FROM_FILE, what, value));
    } else {
        setting checked;
        POD_TRY(check_not_empty(&options[found], what, value));
        POD_TRY(parse_value(&options[found], what, value, &checked));
    }
    return POD_OK;
}

static pod_status warn_of(pod_config *c, const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof other_names / sizeof other_names[0]; i++)
        if (strlen(other_names[i]) == length && strncmp(other_names[i], name, length) == 0)
            return POD_OK;
    const char *given = pod_arena_text(c->arena, "%.*s", (int)length, name);
    if (!given) return POD_E_NOMEM;
    char known[POD_N_OPTS][MAX_NAME_BYTES];
    const char *behind_prefix[POD_N_OPTS];
    int n = 0;
    for (int i = 0; i < POD_N_OPTS; i++) {
        if (options[i].only_typed || !(options[i].commands & c->command)) continue;
        behind_prefix[n] = pod_option_environment(&options[i], known[n], MAX_NAME_BYTES) + PREFIX;
        n++;
    }
    char as_option[MAX_NAME_BYTES], of_hint[MAX_NAME_BYTES];
    snprintf(as_option, sizeof as_option, "%s", given + PREFIX);
    for (char *p = as_option; *p != '\0'; p++) *p = (char)tolower((unsigned char)*p);
    const char *hint = find_hint(as_option, c->command);
    const char *near = hint ? pod_option_environment(&options[find_option(hint, strlen(hint))],
                                                     of_hint, sizeof of_hint) +
                                  PREFIX
                            : pod_nearest_name(given + PREFIX, behind_prefix, n);
    const char *text =
        pod_arena_text(c->arena, "%s in the environment means nothing to minipod%s%s%s", given,
                       near ? "; did you mean MINIPOD_" : "", near ? near : "", near ? "?" : "");
    if (!text) return POD_E_NOMEM;
    c->warnings[c->n_warnings++] = text;
    return POD_OK;
}

static int find_environment(const char *name, size_t length)
{
    for (int i = 0; i < POD_N_OPTS; i++) {
        char known[MAX_NAME_BYTES];
        pod_option_environment(&options[i], known, sizeof known);
        if (!options[i].only_typed && strlen(known) == length && strncmp(known, name, length) == 0)
            return i;
    }
    return -1;
}

/* As an env-file of a container leaves it, where no shell has taken the quotes away. */
static pod_status check_not_quoted(const char *what, const char *text)
{
    const size_t n = strlen(text);
    if (n < 2 || (text[0] != '"' && text[0] != '\'') || text[n - 1] != text[0]) return POD_OK;
    return pod_fail(POD_E_INVALID, "%s: the quotes of %s are part of its value: leave them out",
                    what, text);
}

static pod_status read_environment(pod_config *c, char *const environment[])
{
    for (int i = 0; environment[i]; i++) {
        const char *entry = environment[i];
        if (strncmp(entry, "MINIPOD_", PREFIX) != 0) continue;
        const size_t length = strcspn(entry, "=");
        const int found = find_environment(entry, length);
        if (found < 0) {
            POD_TRY(warn_of(c, entry, length));
        } else if (entry[length] == '=' && (options[found].commands & c->command)) {
            char what[MAX_NAME_BYTES];
            pod_option_environment(&options[found], what, sizeof what);
            POD_TRY(check_not_quoted(what, entry + length + 1));
            POD_TRY(set_option(c, found, POD_FROM_ENVIRONMENT, what, entry + length + 1));
        }
    }
    return POD_OK;
}

static pod_status read_file(pod_config *c, const char *path)
{
    file_reading r = {.c = c};
    POD_TRY(pod_ini_read(path, set_from_file, &r));
    c->files[c->n_files] = pod_arena_text(c->arena, "%s", path);
    return c->files[c->n_files++] ? POD_OK : POD_E_NOMEM;
}

/* Files in the order they were typed; the one of the environment when none was. */
static pod_status read_files(pod_config *c, const command_line *l)
{
    c->files = POD_ARENA_NEW(c->arena, const char *, l->n_words + 1);
    if (!c->files) return POD_E_NOMEM;
    for (int i = 0; i < l->n_words; i++) {
        if (l->words[i].option != POD_OPT_CONF) continue;
        POD_TRY(read_file(c, l->words[i].text));
    }
    const char *other = c->set[POD_OPT_CONF].text;
    if (c->n_files == 0 && other[0] != '\0') POD_TRY(read_file(c, other));
    return POD_OK;
}

static pod_status read_all(pod_config *c, command_line *l, char *const environment[])
{
    if (asks_only(l->argc, l->argv, c)) return POD_OK;
    POD_TRY(read_words(c, l));
    /* The environment is read first, since it may name the file; a value set in it is kept aside
     * while the file is read, and overrides it. */
    POD_TRY(read_environment(c, environment));
    setting from_environment[POD_N_OPTS];
    memcpy(from_environment, c->set, sizeof from_environment);
    POD_TRY(read_files(c, l));
    for (int i = 0; i < POD_N_OPTS; i++)
        if (from_environment[i].source == POD_FROM_ENVIRONMENT) c->set[i] = from_environment[i];
    for (int i = 0; i < l->n_words; i++)
        POD_TRY(set_option(c, l->words[i].option, POD_FROM_COMMAND_LINE, l->words[i].spelled,
                           l->words[i].text));
    return POD_OK;
}

/* ---- making one ------------------------------------------------------------------------------ */

static pod_status create_with_defaults(int max_args, int max_warnings, pod_config **out)
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
        s = set_option(c, i, POD_FROM_DEFAULT, options[i].name, options[i].fallback);
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

pod_status pod_config_from_args(const pod_command_form *command, int argc, char *const argv[],
                                char *const environment[], pod_config **out)
{
    int n_environment = 0;
    while (environment[n_environment]) n_environment++;
    pod_config *c;
    POD_TRY(create_with_defaults(command->max_args, n_environment, &c));
    c->command = command->bit;
    command_line l = {.command = command,
                      .argc = argc,
                      .argv = argv,
                      .words = POD_ARENA_NEW(c->arena, word, argc)};
    pod_status s = l.words ? read_all(c, &l, environment) : POD_E_NOMEM;
    if (s != POD_OK) {
        pod_config_destroy(c);
        return pod__trace(__FILE__, __LINE__, s);
    }
    *out = c;
    return POD_OK;
}

/* ---- as text --------------------------------------------------------------------------------- */

static const char arguments_header[] = "arguments";

static void print_all(const pod_config *c, FILE *to)
{
    for (int s = 0; s < POD_N_SOURCES; s++) {
        fprintf(to, "[%s]\n", source_names[s]);
        for (int i = 0; i < POD_N_OPTS; i++)
            if ((int)c->set[i].source == s)
                fprintf(to, "%s = %s\n", options[i].name, c->set[i].text);
    }
    fprintf(to, "[%s]\n", arguments_header);
    for (int i = 0; i < c->n_args; i++) fprintf(to, "%d = %s\n", i, c->args[i]);
}

const char *pod_config_print(const pod_config *c)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    POD_ASSERT(to, "no memory for a stream of %d options", (int)POD_N_OPTS);
    print_all(c, to);
    fclose(to);
    const char *kept = pod_arena_text(c->arena, "%s", text);
    free(text);
    POD_ASSERT(kept, "no memory for the text of %d options", (int)POD_N_OPTS);
    return kept;
}

/* [file], [arguments]: the source that follows; POD_N_SOURCES stands for the arguments. */
static pod_status parse_header(const char *line, int *section)
{
    for (int s = 0; s <= POD_N_SOURCES; s++) {
        const char *name = s < POD_N_SOURCES ? source_names[s] : arguments_header;
        const size_t length = strlen(name);
        if (strncmp(line + 1, name, length) != 0 || strcmp(line + 1 + length, "]") != 0) continue;
        *section = s;
        return POD_OK;
    }
    return pod_fail(POD_E_FORMAT, "printed configuration: no section is called '%s'", line);
}

static pod_status parse_line(pod_config *c, int section, int max_args, char *line)
{
    char *equals = strstr(line, " = ");
    if (!equals || section < 0)
        return pod_fail(POD_E_FORMAT, "printed configuration: '%s' is no 'name = value'", line);
    const char *value = equals + 3;
    if (section == POD_N_SOURCES) {
        POD_ASSERT(c->n_args < max_args, "%d arguments", c->n_args);
        c->args[c->n_args] = pod_arena_text(c->arena, "%s", value);
        return c->args[c->n_args++] ? POD_OK : POD_E_NOMEM;
    }
    const int found = find_option(line, (size_t)(equals - line));
    if (found < 0)
        return pod_fail(POD_E_FORMAT, "printed configuration: there is no option '%s'", line);
    POD_TRY(set_option(c, found, (pod_source)section, options[found].name, value));
    return POD_OK;
}

static pod_status parse_lines(pod_config *c, int max_args, char *text)
{
    int section = -1;
    for (char *line = text; *line != '\0';) {
        char *end = strchr(line, '\n');
        if (!end) return pod_fail(POD_E_FORMAT, "printed configuration: cut off at '%s'", line);
        *end = '\0';
        if (line[0] == '[')
            POD_TRY(parse_header(line, &section));
        else
            POD_TRY(parse_line(c, section, max_args, line));
        line = end + 1;
    }
    return POD_OK;
}

pod_status pod_config_parse(const char *printed, pod_config **out)
{
    int n_lines = 0;
    for (const char *p = printed; *p != '\0'; p++) n_lines += *p == '\n';
    pod_config *c;
    POD_TRY(create_with_defaults(n_lines, 0, &c));
    c->command = POD_CMD_ALL;
    char *copy = pod_arena_text(c->arena, "%s", printed);
    pod_status s = copy ? parse_lines(c, n_lines, copy) : POD_E_NOMEM;
    if (s != POD_OK) {
        pod_config_destroy(c);
        return pod__trace(__FILE__, __LINE__, s);
    }
    *out = c;
    return POD_OK;
}

const char *pod_option_normal(const pod_option *o, const char *text,
                              char room[POD_OPTION_NORMAL_BYTES])
{
    setting value = {0};
    if (text[0] == '\0' || parse_value(o, o->name, text, &value) != POD_OK) return text;
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

static const setting *get(const pod_config *c, pod_opt o, pod_option_type type)
{
    POD_ASSERT(o >= 0 && o < POD_N_OPTS, "option %d of %d", (int)o, (int)POD_N_OPTS);
    POD_ASSERT(options[o].type == type, "--%s has type %d, asked for as %d", options[o].name,
               (int)options[o].type, (int)type);
    return &c->set[o];
}

int64_t pod_config_int(const pod_config *c, pod_opt o) { return get(c, o, POD_OPTION_INT)->whole; }

double pod_config_double(const pod_config *c, pod_opt o)
{
    const setting *found = get(c, o, POD_OPTION_DOUBLE);
    POD_ASSERT(found->text[0] != '\0', "--%s: its default is the optimizer's", options[o].name);
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
    const bool is_choice_type = o >= 0 && o < POD_N_OPTS && options[o].type == POD_OPTION_CHOICE;
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
    const pod_option_type type = options[o].type;
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
