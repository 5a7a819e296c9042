/* `minipod COMMAND --help` and --help-all, from the table of options. */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "kernels/base/parse.h"
#include "runtime/config/config.h"

const char *pod_option_environment(const pod_option *o, char *text, size_t bytes)
{
    snprintf(text, bytes, "MINIPOD_%s", o->name);
    for (char *p = text; *p != '\0'; p++) *p = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
    return text;
}

enum { COLUMN = 26, WIDTH = 84 };

/* Breaks `text` between words into lines that fit; all but the first begin at COLUMN. */
static void print_wrapped(const char *text, FILE *to)
{
    for (size_t at = COLUMN; *text != '\0';) {
        const size_t word = strcspn(text, " ");
        if (at > COLUMN && at + 1 + word > WIDTH) {
            fprintf(to, "\n%*s", COLUMN, "");
            at = COLUMN;
        }
        at += (size_t)fprintf(to, "%s%.*s", at > COLUMN ? " " : "", (int)word, text);
        text += word + strspn(text + word, " ");
    }
    fputc('\n', to);
}

/* "  -b, --minbytes SIZE" up to COLUMN. */
static void print_form(const pod_option *o, FILE *to)
{
    static const char *const forms[] = {
        [POD_OPTION_INT] = " N",     [POD_OPTION_DOUBLE] = " X", [POD_OPTION_SIZE] = " SIZE",
        [POD_OPTION_TEXT] = " TEXT", [POD_OPTION_BOOL] = "",     [POD_OPTION_CHOICE] = " NAME"};
    char form[64], letter[8] = "";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(form, sizeof form, "%s--%s%s", letter, o->name, forms[o->type]);
    fprintf(to, "  %-*s", COLUMN - 2, form);
    if (strlen(form) + 2 >= COLUMN) fprintf(to, "\n%*s", COLUMN, "");
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

static const char *default_of(const pod_option *o, uint32_t command)
{
    if (o->shapes && command == POD_CMD_EVAL) return "the checkpoint's";
    if (o->fallback[0]) return o->fallback;
    return o->type == POD_OPTION_TEXT ? "none" : "the optimizer's";
}

static void print_in_full(const pod_option *o, uint32_t command, FILE *to)
{
    char environment[64];
    print_form(o, to);
    print_wrapped(o->help, to);
    if (o->only_typed) return;
    fprintf(to, "%*s[", COLUMN, "");
    print_range(o, to);
    fprintf(to, "default %s; %s]\n", default_of(o, command),
            pod_option_environment(o, environment, sizeof environment));
}

static void print_in_short(const pod_option *o, uint32_t command, FILE *to)
{
    char text[512];
    const bool has_unit = o->type != POD_OPTION_TEXT && o->unit[0] && o->fallback[0];
    const char *choices = o->type == POD_OPTION_CHOICE ? o->choices : "";
    print_form(o, to);
    if (o->type == POD_OPTION_TEXT && !o->fallback[0]) {
        print_wrapped(o->help, to);
        return;
    }
    snprintf(text, sizeof text, "%s [%s%sdefault %s%s%s]", o->help, choices, *choices ? ", " : "",
             default_of(o, command), has_unit ? " " : "", has_unit ? o->unit : "");
    print_wrapped(text, to);
}

static void print_group(const char *group, uint32_t command, FILE *to)
{
    fprintf(to, "\n%s\n", group);
    for (int i = 0; i < POD_N_OPTS; i++)
        if ((pod_options[i].commands & command) && strcmp(pod_options[i].group, group) == 0)
            print_in_full(&pod_options[i], command, to);
}

void pod_config_help_all(const pod_command_form *command, FILE *to)
{
    for (int i = 0; i < POD_N_OPTS; i++) {
        if (!(pod_options[i].commands & command->bit)) continue;
        bool is_first = true;
        for (int j = 0; j < i; j++)
            is_first &= !(pod_options[j].commands & command->bit) ||
                        strcmp(pod_options[j].group, pod_options[i].group) != 0;
        if (is_first) print_group(pod_options[i].group, command->bit, to);
    }
}

void pod_config_help(const pod_command_form *command, const char *names, FILE *to)
{
    while (*names != '\0') {
        const size_t length = strcspn(names, " ");
        int i = 0;
        while (i < POD_N_OPTS && (strncmp(pod_options[i].name, names, length) != 0 ||
                                  pod_options[i].name[length] != '\0'))
            i++;
        POD_ASSERT(i < POD_N_OPTS && (pod_options[i].commands & command->bit),
                   "%s has no option %.*s", command->name, (int)length, names);
        print_in_short(&pod_options[i], command->bit, to);
        names += length + (names[length] == ' ');
    }
}
