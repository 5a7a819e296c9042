/* `minipod COMMAND --help`, from the table of options. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "runtime/core/config.h"

const char *pod_option_environment(const pod_option *o, char *text, size_t bytes)
{
    snprintf(text, bytes, "MINIPOD_%s", o->name);
    for (char *p = text; *p != '\0'; p++) *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
    return text;
}

/* What a value looks like: "N", "X", "SIZE", "TEXT", "[on|off]", "sgd|lars". */
static void print_form(const pod_option *o, char *text, size_t bytes)
{
    static const char *const forms[] = {
        [POD_OPTION_INT] = " N",     [POD_OPTION_DOUBLE] = " X", [POD_OPTION_SIZE] = " SIZE",
        [POD_OPTION_TEXT] = " TEXT", [POD_OPTION_BOOL] = "",     [POD_OPTION_CHOICE] = " NAME"};
    if (o->letter)
        snprintf(text, bytes, "-%c, --%s%s", o->letter, o->name, forms[o->type]);
    else
        snprintf(text, bytes, "--%s%s", o->name, forms[o->type]);
}

static void print_range(const pod_option *o, FILE *to)
{
    char low[32], high[32];
    switch (o->type) {
    case POD_OPTION_INT:
        fprintf(to, "%" PRId64 " to %" PRId64 "%s%s; ", (int64_t)o->min, (int64_t)o->max,
                o->unit[0] ? " " : "", o->unit);
        break;
    case POD_OPTION_DOUBLE:
        fprintf(to, "%g to %g%s%s; ", o->min, o->max, o->unit[0] ? " " : "", o->unit);
        break;
    case POD_OPTION_SIZE:
        fprintf(to, "%s to %s %s; ", pod_print_size((int64_t)o->min, low, sizeof low),
                pod_print_size((int64_t)o->max, high, sizeof high), o->unit);
        break;
    case POD_OPTION_CHOICE: fprintf(to, "%s; ", o->choices); break;
    case POD_OPTION_BOOL: fprintf(to, o->max > 1 ? "on|off, or how often; " : "on|off; "); break;
    case POD_OPTION_TEXT: break;
    }
}

static void print_option(const pod_option *o, uint32_t command, FILE *to)
{
    enum { COLUMN = 26 };
    char form[64], environment[64];
    print_form(o, form, sizeof form);
    fprintf(to, "  %-*s%s\n", COLUMN - 2, form, o->help);
    if (o->only_typed) return;
    fprintf(to, "%*s[", COLUMN, "");
    print_range(o, to);
    const char *absent = o->type == POD_OPTION_TEXT ? "none" : "the optimizer's, see below";
    const char *fallback = o->fallback[0] ? o->fallback : absent;
    if (o->shapes && command == POD_CMD_EVAL) fallback = "the checkpoint's";
    fprintf(to, "default %s; %s]\n", fallback,
            pod_option_environment(o, environment, sizeof environment));
}

void pod_config_help(const pod_command_form *command, FILE *to)
{
    fprintf(to, "usage: minipod %s [options]%s%s\n%s\n", command->name, command->args[0] ? " " : "",
            command->args, command->summary);
    fprintf(to,
            "\nAn option may also stand in a --conf file, as `name = value`, or in the environment"
            " by the\nname shown; the command line overrides the environment, the environment"
            " the file.\nSizes take K, M, G (binary).\n");
    int n;
    const pod_option *options = pod_options(&n);
    const char *group = "";
    for (int i = 0; i < n; i++) {
        if (!(options[i].commands & command->bit)) continue;
        if (strcmp(group, options[i].group) != 0) fprintf(to, "\n%s\n", options[i].group);
        group = options[i].group;
        print_option(&options[i], command->bit, to);
    }
}
