#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/config/config.h"

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
    int n_options;
    const pod_option *options = pod_options(&n_options);
    for (int i = 0; i < n; i++) {
        size_t length;
        const char *name = options[which[i]].name;
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
