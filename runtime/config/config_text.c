/* A configuration as text, and from it: rank 0 sends it to the others, checkpoints keep it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/base/assert.h"
#include "runtime/config/config_parts.h"

static const char *const source_names[POD_N_SOURCES] = {"default", "checkpoint", "file",
                                                        "environment", "command line"};

static const char arguments_header[] = "arguments";

static void print_all(const pod_config *c, FILE *to)
{
    for (int s = 0; s < POD_N_SOURCES; s++) {
        fprintf(to, "[%s]\n", source_names[s]);
        for (int i = 0; i < POD_N_OPTS; i++)
            if ((int)c->set[i].source == s)
                fprintf(to, "%s = %s\n", pod_options[i].name, c->set[i].text);
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
    const int found = pod__config_find(line, (size_t)(equals - line));
    if (found < 0)
        return pod_fail(POD_E_FORMAT, "printed configuration: there is no option '%s'", line);
    POD_TRY(pod__config_set(c, found, (pod_source)section, pod_options[found].name, value));
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
    POD_TRY(pod__config_create(n_lines, 0, &c));
    c->command = POD_CMD_ALL;
    char *copy = pod_arena_text(c->arena, "%s", printed);
    pod_status s = copy ? parse_lines(c, n_lines, copy) : POD_E_NOMEM;
    if (s != POD_OK) {
        pod_config_destroy(c);
        return s;
    }
    *out = c;
    return POD_OK;
}

/* ---- with settings from elsewhere --------------------------------------------------------- */

/* Returns the text after "NAME = " at the beginning of a line, or NULL. */
static const char *find_value(const char *settings, const char *name, size_t *length)
{
    const size_t name_length = strlen(name);
    for (const char *line = settings; *line;) {
        const size_t bytes = strcspn(line, "\n");
        if (strncmp(line, name, name_length) == 0 && strncmp(line + name_length, " = ", 3) == 0) {
            *length = bytes - name_length - 3;
            return *length > 0 ? line + name_length + 3 : NULL;
        }
        line += bytes + (line[bytes] == '\n');
    }
    return NULL;
}

static void print_missing(const pod_config *c, const char *settings, const pod_opt which[], int n,
                          FILE *to)
{
    for (int i = 0; i < n; i++) {
        size_t length;
        const char *name = pod_options[which[i]].name;
        const char *value =
            pod_config_is_set(c, which[i]) ? NULL : find_value(settings, name, &length);
        if (value) fprintf(to, "%s = %.*s\n", name, (int)length, value);
    }
}

/* Parses the printed text of c, followed by `lines` under `source`. */
static pod_status parse_with(const pod_config *c, const char *source, const char *lines,
                             pod_config **out)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    if (!to) return pod_fail(POD_E_NOMEM, "no memory for the text of a configuration");
    fprintf(to, "%s[%s]\n%s", pod_config_print(c), source, lines);
    fclose(to);
    const pod_status s = pod_config_parse(text, out);
    free(text);
    return s;
}

pod_status pod_config_fill(const pod_config *c, const char *settings, const pod_opt which[], int n,
                           pod_config **out)
{
    char *missing = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&missing, &bytes);
    if (!to) return pod_fail(POD_E_NOMEM, "no memory for the text of a configuration");
    print_missing(c, settings, which, n, to);
    fclose(to);
    const pod_status s = parse_with(c, "checkpoint", missing, out);
    free(missing);
    return s;
}

pod_status pod_config_override(const pod_config *c, const char *settings, pod_config **out)
{
    return parse_with(c, "command line", settings, out);
}
