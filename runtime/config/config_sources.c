/* Reads settings from where people give them: the command line, files, the environment. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "runtime/config/config_parts.h"
#include "runtime/core/ini.h"
#include "runtime/core/words.h"

enum { MAX_NAME_BYTES = 64, PREFIX = 8 /* bytes of MINIPOD_ */ };

/* Names in the environment that mean something elsewhere. */
static const char *const other_names[] = {"MINIPOD_LAUNCHED_BY", "MINIPOD_MAX_ISA",
                                          "MINIPOD_TEST_DATA", "MINIPOD_VERBOSE"};

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
           pod__config_find_letter(given[1], l->command->bit) >= 0;
}

/* Returns whether "b4K" is an option and its value, as in nccl-tests. A word that is an option's
 * name only lacks a minus. */
static bool has_joined_value(const pod_option *o, const char *given)
{
    if (pod__config_find(given, strcspn(given, "=")) >= 0) return false;
    return o->type != POD_OPTION_BOOL ||
           (!o->only_typed &&
            (is_on_or_off(given + 1) || (pod__option_takes_count(o) && pod__is_digits(given + 1))));
}

/* The text after an option without `=`. */
static pod_status take_value(command_line *l, const pod_option *o, const char *spelled,
                             const char **out)
{
    const char *next = l->at < l->argc ? l->argv[l->at] : NULL;
    if (o->type == POD_OPTION_BOOL) {
        /* If the command takes no arguments, a number must be its value, even a bad one. */
        const bool is_its_own = next && l->command->max_args == 0 && pod__is_digits(next);
        const bool given = next && !o->only_typed &&
                           (is_its_own || is_on_or_off(next) ||
                            (pod__option_takes_count(o) && pod__is_digits(next)));
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
    const int found = is_long ? pod__config_find(name, length)
                              : pod__config_find_letter(name[0], l->command->bit);
    const bool is_joined = !is_long && name[1] != '\0';
    if (found < 0 || (is_joined && !has_joined_value(&pod_options[found], name)))
        return pod__config_fail_unknown(is_long ? spelled : given, is_long ? spelled + 2 : name,
                                        l->command->bit);
    const pod_option *o = &pod_options[found];
    if (!(o->commands & l->command->bit))
        return pod_fail(POD_E_INVALID, "%s: not an option of %s", spelled, l->command->name);
    word w = {.option = found, .spelled = spelled};
    if (is_long && name[length] == '=')
        w.text = name + length + 1;
    else if (is_joined)
        w.text = name + 1;
    else
        POD_TRY(take_value(l, o, spelled, &w.text));
    POD_TRY(pod__option_want_text(o, spelled, w.text));
    l->words[l->n_words++] = w;
    return POD_OK;
}

static void set_on(pod_config *c, pod_opt option)
{
    c->set[option] = (pod__setting){.text = "on", .source = POD_FROM_COMMAND_LINE, .whole = 1};
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
            POD_TRY(pod__option_check_text("argument", given));
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
    int found = pod__config_find(key, strlen(key));
    if (found < 0) return pod__config_fail_unknown(what, key, POD_CMD_ALL);
    if (pod_options[found].only_typed || found == POD_OPT_CONF)
        return pod_fail(POD_E_INVALID, "%s: may only be given on the command line", what);
    if (r->line[found])
        return pod_fail(POD_E_INVALID, "%s: stands twice, in line %d too", what, r->line[found]);
    r->line[found] = line_of(place);
    if (pod_options[found].commands & c->command) {
        POD_TRY(pod__config_set(c, found, POD_FROM_FILE, what, value));
    } else {
        pod__setting checked;
        POD_TRY(pod__option_want_text(&pod_options[found], what, value));
        POD_TRY(pod__option_parse(&pod_options[found], what, value, &checked));
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
        if (pod_options[i].only_typed || !(pod_options[i].commands & c->command)) continue;
        behind_prefix[n] =
            pod_option_environment(&pod_options[i], known[n], MAX_NAME_BYTES) + PREFIX;
        n++;
    }
    char as_option[MAX_NAME_BYTES], of_hint[MAX_NAME_BYTES];
    snprintf(as_option, sizeof as_option, "%s", given + PREFIX);
    for (char *p = as_option; *p != '\0'; p++) *p = (char)tolower((unsigned char)*p);
    const char *hint = pod__config_hint(as_option, c->command);
    const char *near =
        hint ? pod_option_environment(&pod_options[pod__config_find(hint, strlen(hint))], of_hint,
                                      sizeof of_hint) +
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
        pod_option_environment(&pod_options[i], known, sizeof known);
        if (!pod_options[i].only_typed && strlen(known) == length &&
            strncmp(known, name, length) == 0)
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
        } else if (entry[length] == '=' && (pod_options[found].commands & c->command)) {
            char what[MAX_NAME_BYTES];
            pod_option_environment(&pod_options[found], what, sizeof what);
            POD_TRY(check_not_quoted(what, entry + length + 1));
            POD_TRY(pod__config_set(c, found, POD_FROM_ENVIRONMENT, what, entry + length + 1));
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
    pod__setting from_environment[POD_N_OPTS];
    memcpy(from_environment, c->set, sizeof from_environment);
    POD_TRY(read_files(c, l));
    for (int i = 0; i < POD_N_OPTS; i++)
        if (from_environment[i].source == POD_FROM_ENVIRONMENT) c->set[i] = from_environment[i];
    for (int i = 0; i < l->n_words; i++)
        POD_TRY(pod__config_set(c, l->words[i].option, POD_FROM_COMMAND_LINE, l->words[i].spelled,
                                l->words[i].text));
    return POD_OK;
}

pod_status pod_config_from_args(const pod_command_form *command, int argc, char *const argv[],
                                char *const environment[], pod_config **out)
{
    int n_environment = 0;
    while (environment[n_environment]) n_environment++;
    pod_config *c;
    POD_TRY(pod__config_create(command->max_args, n_environment, &c));
    c->command = command->bit;
    command_line l = {.command = command,
                      .argc = argc,
                      .argv = argv,
                      .words = POD_ARENA_NEW(c->arena, word, argc)};
    pod_status s = l.words ? read_all(c, &l, environment) : POD_E_NOMEM;
    if (s != POD_OK) {
        pod_config_destroy(c);
        return s;
    }
    *out = c;
    return POD_OK;
}
