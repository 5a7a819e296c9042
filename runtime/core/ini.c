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

/* inih starts a comment at a ';' behind a blank, but not at one right behind the '='. */
static const char *without_comment(const char *value)
{
    return value && value[0] != ';' ? value : "";
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
    char place[512];
    snprintf(place, sizeof place, "%s:%d", r->path, r->line);
    r->status = r->fn(r->ctx, place, section, key, without_comment(value));
    return r->status == POD_OK;
}

static pod_status read_all(const char *path, FILE *file, pod_ini_fn *fn, void *ctx)
{
    reading r = {.path = path, .file = file, .fn = fn, .ctx = ctx};
    int bad_line = ini_parse_stream(read_line, &r, hand_on, &r);
    fclose(file);
    if (r.status != POD_OK) return pod__trace(__FILE__, __LINE__, r.status);
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
