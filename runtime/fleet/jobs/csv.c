#include "runtime/fleet/jobs/csv.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/base/parse.h"
#include "runtime/core/words.h"

enum { TEXT_BYTES = 512 };

pod_status pod_csv_bad(const pod_csv *c, const char *fmt, ...)
{
    char text[TEXT_BYTES];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return pod_fail(POD_E_FORMAT, "%s:%d: %s", c->name, c->line, text);
}

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r", text[n - 1])) text[--n] = '\0';
    return text;
}

/* The field at `at`, which ends at a comma or with the line; *rest is behind it, NULL at the end. */
static pod_status take_field(const pod_csv *c, char *at, char **rest, const char **out)
{
    at += strspn(at, " \t");
    if (*at != '"') {
        char *comma = strchr(at, ',');
        if (comma) *comma = '\0';
        *rest = comma ? comma + 1 : NULL;
        *out = trim(at);
        return POD_OK;
    }
    char *from = at + 1, *to = at;
    for (; *from != '"' || from[1] == '"'; from++) {
        if (*from == '\0') return pod_csv_bad(c, "a quote does not end");
        *to++ = *from;
        from += *from == '"';
    }
    from++;
    from += strspn(from, " \t\r");
    if (*from != ',' && *from != '\0') return pod_csv_bad(c, "'%c' behind a quote", *from);
    *rest = *from == ',' ? from + 1 : NULL;
    *to = '\0';
    *out = at;
    return POD_OK;
}

static pod_status split(const pod_csv *c, char *line, const char *field[POD_CSV_COLUMNS], int *n)
{
    *n = 0;
    for (char *at = line; at;) {
        if (*n == POD_CSV_COLUMNS) return pod_csv_bad(c, "more than %d columns", POD_CSV_COLUMNS);
        POD_TRY(take_field(c, at, &at, &field[(*n)++]));
    }
    return POD_OK;
}

/* The next line that says something; NULL behind the last. */
static char *take_line(pod_csv *c)
{
    while (c->next) {
        char *line = c->next, *end = strchr(line, '\n');
        if (end) *end = '\0';
        c->next = end ? end + 1 : NULL;
        c->line++;
        line = trim(line);
        if (*line != '\0' && *line != '#') return line;
    }
    return NULL;
}

pod_status pod_csv_open(const char *name, char *text, pod_csv *out)
{
    pod_csv c = {.name = name, .next = text};
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) c.next += 3; /* UTF-8's mark, of spreadsheets */
    char *line = take_line(&c);
    if (!line) return pod_fail(POD_E_FORMAT, "%s: has no line with the names of columns", name);
    POD_TRY(split(&c, line, c.column, &c.n_columns));
    for (int i = 0; i < c.n_columns; i++)
        if (pod_csv_column(&c, c.column[i]) != i)
            return pod_csv_bad(&c, "column '%.40s' stands twice", c.column[i]);
    *out = c;
    return POD_OK;
}

int pod_csv_column(const pod_csv *c, const char *name)
{
    for (int i = 0; i < c->n_columns; i++)
        if (strcmp(c->column[i], name) == 0) return i;
    return -1;
}

pod_status pod_csv_need(const pod_csv *c, const char *name, int *out)
{
    *out = pod_csv_column(c, name);
    if (*out >= 0) return POD_OK;
    const char *near = pod_nearest_name(name, c->column, c->n_columns);
    return pod_csv_bad(c, "column '%s' is missing%s%.40s%s", name, near ? ", found '" : "",
                       near ? near : "", near ? "'" : "");
}

pod_status pod_csv_next(pod_csv *c, bool *more)
{
    int n;
    char *line = take_line(c);
    *more = line != NULL;
    if (!line) return POD_OK;
    POD_TRY(split(c, line, c->field, &n));
    if (n != c->n_columns)
        return pod_csv_bad(c, "%d fields, want %d as the first line names", n, c->n_columns);
    c->n_rows++;
    return POD_OK;
}

static const char *what_of(const pod_csv *c, int column, char what[TEXT_BYTES])
{
    snprintf(what, TEXT_BYTES, "%.300s:%d: %.60s", c->name, c->line, c->column[column]);
    return what;
}

static pod_status as_format(pod_status s) { return s == POD_E_INVALID ? POD_E_FORMAT : s; }

pod_status pod_csv_int(const pod_csv *c, int column, int64_t min, int64_t max, int64_t *out)
{
    char what[TEXT_BYTES];
    return as_format(pod_parse_int(what_of(c, column, what), c->field[column], min, max, out));
}

pod_status pod_csv_double(const pod_csv *c, int column, double min, double max, double *out)
{
    char what[TEXT_BYTES];
    return as_format(pod_parse_double(what_of(c, column, what), c->field[column], min, max, out));
}

pod_status pod_csv_text(const pod_csv *c, int column, const char **out)
{
    *out = column >= 0 ? c->field[column] : "";
    if (!strpbrk(*out, ",\"\r\n")) return POD_OK;
    return pod_csv_bad(c, "%.60s '%.80s' has a comma, a quote or a line break", c->column[column],
                       *out);
}

bool pod_csv_has(const pod_csv *c, int column) { return column >= 0 && *c->field[column] != '\0'; }
