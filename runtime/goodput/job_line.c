#include "runtime/goodput/job_line.h"

#include <cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

pod_status pod__job_line_open(const char *path, pod__job_line *out)
{
    FILE *f = fopen(path, "r");
    if (!f) return pod_fail(POD_E_IO, "%s: cannot read: %s", path, strerror(errno));
    *out = (pod__job_line){.from = f, .path = path};
    return POD_OK;
}

void pod__job_line_close(pod__job_line *l)
{
    free(l->text);
    fclose(l->from);
}

void pod__job_line_rewind(pod__job_line *l)
{
    rewind(l->from);
    l->number = 0;
}

static char *skip_blanks(char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\r') p++;
    return p;
}

/* The text that begins with the quote at p, unescaped in place: it only becomes shorter. What
 * follows it, or NULL. */
static char *take_text(char *p, const char **out)
{
    char *const first = p + 1, *end = first;
    bool has_escapes = false;
    for (; *end != '"'; end++) {
        if ((unsigned char)*end < 0x20) return NULL;
        if (*end != '\\') continue;
        has_escapes = true;
        if (*++end == '\0') return NULL;
    }
    if (has_escapes) {
        cJSON *text = cJSON_ParseWithLength(p, (size_t)(end + 1 - p));
        const bool ok = cJSON_IsString(text) && strlen(text->valuestring) <= (size_t)(end - first);
        if (ok) memcpy(first, text->valuestring, strlen(text->valuestring) + 1);
        cJSON_Delete(text);
        if (!ok) return NULL;
    }
    *end = '\0';
    *out = first;
    return end + 1;
}

/* A whole number as JSON has it: no plus, no zeros before it. */
static char *take_number(char *p, int64_t *out)
{
    const char *digits = p + (*p == '-');
    if (*digits < '0' || *digits > '9') return NULL;
    if (*digits == '0' && digits[1] >= '0' && digits[1] <= '9') return NULL;
    char *end;
    errno = 0;
    *out = strtoll(p, &end, 10);
    return errno == 0 ? end : NULL;
}

static char *take_field(char *p, pod__job_field *f)
{
    *f = (pod__job_field){0};
    if (*p != '"') return NULL;
    p = take_text(p, &f->key);
    if (!p) return NULL;
    p = skip_blanks(p);
    if (*p != ':') return NULL;
    p = skip_blanks(p + 1);
    p = *p == '"' ? take_text(p, &f->text) : take_number(p, &f->number);
    return p ? skip_blanks(p) : NULL;
}

static const pod__job_field *find(const pod__job_line *l, const char *key)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->field[i].key, key) == 0) return &l->field[i];
    return NULL;
}

/* What keeps the text from being such an object, or NULL. */
static const char *split(pod__job_line *l)
{
    char *p = skip_blanks(l->text);
    l->n = 0;
    if (*p != '{') return "no JSON object";
    do {
        if (l->n == POD__JOB_MAX_FIELDS) return "too many keys";
        pod__job_field f;
        p = take_field(skip_blanks(p + 1), &f);
        if (!p) return "not an object of texts and whole numbers";
        if (find(l, f.key)) return "a key stands twice";
        l->field[l->n++] = f;
    } while (*p == ',');
    if (*p != '}' || *skip_blanks(p + 1) != '\0') return "not one whole JSON object";
    return NULL;
}

pod_status pod__job_line_next(pod__job_line *l, bool *more)
{
    errno = 0;
    const ssize_t bytes = getline(&l->text, &l->room, l->from);
    if (bytes < 0 && !feof(l->from))
        return pod_fail(POD_E_IO, "%s: cannot read: %s", l->path, strerror(errno));
    *more = bytes > 0 && l->text[bytes - 1] == '\n';
    l->is_torn = !*more && bytes > 0;
    if (!*more) return POD_OK;
    l->number++;
    l->text[bytes - 1] = '\0';
    const char *why = strlen(l->text) + 1 == (size_t)bytes ? split(l) : "a byte of value 0";
    if (why) return pod_fail(POD_E_FORMAT, "%s:%d: %s", l->path, l->number, why);
    return POD_OK;
}

bool pod__job_line_has(const pod__job_line *l, const char *key) { return find(l, key) != NULL; }

pod_status pod__job_line_int(const pod__job_line *l, const char *key, int64_t min, int64_t max,
                             int64_t *out)
{
    const pod__job_field *f = find(l, key);
    if (!f) return pod_fail(POD_E_FORMAT, "%s:%d: %s is missing", l->path, l->number, key);
    if (f->text)
        return pod_fail(POD_E_FORMAT, "%s:%d: %s: want a whole number, found '%.40s'", l->path,
                        l->number, key, f->text);
    if (f->number < min || f->number > max)
        return pod_fail(POD_E_FORMAT, "%s:%d: %s: want %" PRId64 " to %" PRId64 ", found %" PRId64,
                        l->path, l->number, key, min, max, f->number);
    *out = f->number;
    return POD_OK;
}

pod_status pod__job_line_text(const pod__job_line *l, const char *key, const char **out)
{
    const pod__job_field *f = find(l, key);
    if (!f) return pod_fail(POD_E_FORMAT, "%s:%d: %s is missing", l->path, l->number, key);
    if (!f->text)
        return pod_fail(POD_E_FORMAT, "%s:%d: %s: want a text, found %" PRId64, l->path, l->number,
                        key, f->number);
    *out = f->text;
    return POD_OK;
}
