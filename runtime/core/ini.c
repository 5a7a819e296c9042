#include "runtime/core/ini.h"

#include <errno.h>
#include <ini.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reading {
    const char *path;
    FILE *file;
    int line;
    pod_status status;
    pod_ini_fn *fn;
    void *ctx;
} reading;

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

static bool is_comment(char c) { return c == '#' || c == ';'; }

/* Cuts off a comment and the blanks before it; inih has cut one that begins with " ;". */
static void cut_comment(char *value)
{
    size_t n = 0;
    while (value[n] != '\0' && !(is_comment(value[n]) && (n == 0 || is_blank(value[n - 1])))) n++;
    while (n > 0 && is_blank(value[n - 1])) n--;
    value[n] = '\0';
}

/* Returns the text between quotes, or NULL if they do not close or something follows them. */
static char *unquote(char *value)
{
    char *end = strchr(value + 1, value[0]);
    if (!end) return NULL;
    char *behind = end + 1;
    while (is_blank(*behind)) behind++;
    if (*behind != '\0' && (behind == end + 1 || !is_comment(*behind))) return NULL;
    *end = '\0';
    return value + 1;
}

/* The quotes of a word processor, U+2018 to U+201F, are no quotes here, and surely no value. */
static bool begins_with_printed_quote(const char *value)
{
    return strncmp(value, "\xe2\x80", 2) == 0 && (unsigned char)value[2] >= 0x98 &&
           (unsigned char)value[2] <= 0x9f;
}

static pod_status clean_value(const char *place, const char *key, char *value, const char **out)
{
    const bool is_quoted = value[0] == '"' || value[0] == '\'';
    *out = value;
    if (is_quoted) *out = unquote(value);
    if (!*out || begins_with_printed_quote(value))
        return pod_fail(POD_E_FORMAT,
                        "%s: %s: the value begins with a quote, found %s; it stands without quotes,"
                        " or whole between two of \" or of '",
                        place, key, value);
    if (!is_quoted) cut_comment(value);
    return POD_OK;
}

/* inih's line source; NULL ends the file. It is ours in order to count lines, to refuse what inih
 * would cut or join silently, and to stop at the first failure. */
static char *read_line(char *text, int room, void *stream)
{
    reading *r = stream;
    if (r->status != POD_OK) return NULL;
    r->line++;
    int c, n = 0;
    while ((c = getc(r->file)) != EOF && c != '\n') {
        bool blank = c == ' ' || c == '\t' || c == '\r';
        if (n == 0 && blank) continue;
        if (c < ' ' && !blank) {
            r->status = pod_fail(POD_E_FORMAT, "%s:%d: byte %d is not text", r->path, r->line, c);
            return NULL;
        }
        if (n + 2 >= room) {
            r->status = pod_fail(POD_E_FORMAT, "%s:%d: the line is longer than %d bytes", r->path,
                                 r->line, room - 2);
            return NULL;
        }
        text[n++] = (char)c;
    }
    if (ferror(r->file)) {
        r->status = pod_fail(POD_E_IO, "%s: cannot read: %s", r->path, strerror(errno));
        return NULL;
    }
    if (c == EOF && n == 0) return NULL;
    text[n++] = '\n';
    text[n] = '\0';
    return text;
}

static int hand_on(void *user, const char *section, const char *key, const char *value)
{
    reading *r = user;
    if (r->status != POD_OK) return 0;
    char place[512], copy[INI_MAX_LINE];
    const char *clean;
    snprintf(place, sizeof place, "%s:%d", r->path, r->line);
    snprintf(copy, sizeof copy, "%s", value ? value : "");
    r->status = clean_value(place, key, copy, &clean);
    if (r->status == POD_OK) r->status = r->fn(r->ctx, place, section, key, clean);
    return r->status == POD_OK;
}

static pod_status read_all(const char *path, FILE *file, pod_ini_fn *fn, void *ctx)
{
    reading r = {.path = path, .file = file, .fn = fn, .ctx = ctx};
    int bad_line = ini_parse_stream(read_line, &r, hand_on, &r);
    fclose(file);
    if (r.status != POD_OK) return r.status;
    if (bad_line < 0) return pod_fail(POD_E_NOMEM, "%s: out of memory", path);
    if (bad_line > 0)
        return pod_fail(POD_E_FORMAT, "%s:%d: neither 'key = value' nor a comment", path, bad_line);
    return POD_OK;
}

pod_status pod_ini_read(const char *path, pod_ini_fn *fn, void *ctx)
{
    FILE *file = fopen(path, "r");
    if (!file) return pod_fail(POD_E_IO, "%s: cannot read: %s", path, strerror(errno));
    return read_all(path, file, fn, ctx);
}

pod_status pod_ini_read_text(const char *name, const char *text, pod_ini_fn *fn, void *ctx)
{
    char *copy = strdup(text); /* fmemopen takes no const, and reads only */
    FILE *file = copy ? fmemopen(copy, strlen(copy), "r") : NULL;
    pod_status status =
        file ? read_all(name, file, fn, ctx) : pod_fail(POD_E_NOMEM, "%s: out of memory", name);
    free(copy);
    return status;
}
