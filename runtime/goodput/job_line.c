#include "runtime/goodput/job_line.h"

#include <cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/core/json.h"

typedef enum type { NUMBER, TEXT } type;

static const struct {
    const char *name;
    type type;
    size_t offset; /* in a line */
    int64_t least, most;
} keys[POD__N_JOB_KEYS] = {
#define POD_X(key, type, least, most) {#key, type, offsetof(pod__job_line, key), least, most},
    POD__JOB_KEYS(POD_X)
#undef POD_X
};

_Static_assert(POD__N_JOB_KEYS <= 32, "a bit a key");

static const struct {
    uint32_t tells, has, may_have;
} records[POD__JOB_OTHER] = {
#define POD_X(record, key, has, may_have) {POD__BIT(key), POD__BIT(key) | has, may_have},
    POD__JOB_RECORDS(POD_X)
#undef POD_X
};

static int64_t *number_of(pod__job_line *l, int key)
{
    return (int64_t *)(void *)((char *)l + keys[key].offset);
}

static const char **text_of(pod__job_line *l, int key)
{
    return (const char **)(void *)((char *)l + keys[key].offset);
}

/* ---- writing --------------------------------------------------------------------------------- */

pod_status pod__job_lines_open(const char *dir, const char *name, int flags, const char *blank,
                               pod__job_lines *out)
{
    const size_t room = strlen(dir) + sizeof "/job/" + strlen(name);
    struct stat st;
    *out = (pod__job_lines){.fd = -1, .blank = blank, .path = malloc(room)};
    pthread_mutex_init(&out->lock, NULL); /* with default attributes it cannot fail */
    out->text = open_memstream(&out->line, &out->room);
    if (!out->path || !out->text) return pod_fail(POD_E_NOMEM, "%s: out of memory", dir);
    snprintf(out->path, room, "%s/job/%s", dir, name);
    out->fd = open(out->path, flags | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (out->fd < 0 || fstat(out->fd, &st) != 0)
        return pod_fail(POD_E_IO, "%s: cannot write: %s", out->path, strerror(errno));
    out->bytes = st.st_size;
    return POD_OK;
}

void pod__job_lines_close(pod__job_lines *l)
{
    if (!l->path) return;
    if (l->fd >= 0) close(l->fd);
    if (l->text) fclose(l->text);
    pthread_mutex_destroy(&l->lock);
    free(l->line);
    free(l->path);
}

/* Into the memory of l->text; answers its bytes, 0 where there is no memory. */
static size_t print(pod__job_lines *l, pod__job_line line)
{
    const char *before = "{";
    rewind(l->text);
    for (int k = 0; k < POD__N_JOB_KEYS; k++) {
        const bool may_have = records[line.record].may_have >> k & 1;
        if (!(records[line.record].has >> k & 1) && !(may_have && *number_of(&line, k))) continue;
        fprintf(l->text, "%s\"%s\":%s", before, keys[k].name, l->blank);
        if (keys[k].type == TEXT)
            pod_json_quote(l->text, *text_of(&line, k));
        else
            fprintf(l->text, "%" PRId64, *number_of(&line, k));
        before = *l->blank ? ", " : ",";
    }
    fputs("}\n", l->text);
    const long bytes = ftell(l->text);
    return fflush(l->text) == 0 && bytes > 0 ? (size_t)bytes : 0;
}

/* NULL, or what went wrong. */
static const char *append(pod__job_lines *l, size_t bytes)
{
    ssize_t written;
    if (l->is_torn) return "its last line is torn";
    if (bytes == 0) return "no memory for a line";
    do {
        written = write(l->fd, l->line, bytes);
    } while (written < 0 && errno == EINTR);
    if (written == (ssize_t)bytes) {
        l->bytes += written;
        return NULL;
    }
    const char *why = written < 0 ? strerror(errno) : "no space for a whole record";
    l->is_torn = written > 0 && ftruncate(l->fd, l->bytes) != 0;
    return why;
}

pod_status pod__job_lines_put(pod__job_lines *l, const pod__job_line *line)
{
    pthread_mutex_lock(&l->lock);
    const char *why = append(l, print(l, *line));
    if (why && !*l->failed) snprintf(l->failed, sizeof l->failed, "%s", why);
    pthread_mutex_unlock(&l->lock);
    return why ? pod_fail(POD_E_WRITE, "%s: cannot write: %s", l->path, why) : POD_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

pod_status pod__job_reader_open(const char *path, pod__job_reader *out)
{
    FILE *f = fopen(path, "r");
    if (!f) return pod_fail(POD_E_IO, "%s: cannot read: %s", path, strerror(errno));
    *out = (pod__job_reader){.from = f, .path = path};
    return POD_OK;
}

void pod__job_reader_close(pod__job_reader *r)
{
    free(r->text);
    fclose(r->from);
}

pod_status pod__job_reader_bad(const pod__job_reader *r, const char *what)
{
    return pod_fail(POD_E_FORMAT, "%s:%d: %s", r->path, r->number, what);
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

/* A whole number as JSON has it: no plus, no zeros before it. Not by cJSON, whose numbers are
 * doubles: a time in nanoseconds since 1970 would be up to 128 ns off today, and seconds by category
 * could not be summed to the wall clock. */
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

pod_status pod__job_reader_within(const pod__job_reader *r, const char *key, int64_t number,
                                  int64_t least, int64_t most)
{
    if (number >= least && number <= most) return POD_OK;
    return pod_fail(POD_E_FORMAT, "%s:%d: %s: want %" PRId64 " to %" PRId64 ", found %" PRId64,
                    r->path, r->number, key, least, most, number);
}

/* `text` NULL: a number. */
static pod_status take_value(pod__job_reader *r, const char *name, const char *text, int64_t number)
{
    int k = 0;
    while (k < POD__N_JOB_KEYS && strcmp(keys[k].name, name) != 0) k++;
    if (k == POD__N_JOB_KEYS) return POD_OK;
    if (r->has >> k & 1)
        return pod_fail(POD_E_FORMAT, "%s:%d: %s stands twice", r->path, r->number, name);
    if ((keys[k].type == TEXT) != (text != NULL))
        return pod_fail(POD_E_FORMAT, "%s:%d: %s: want a %s", r->path, r->number, name,
                        text ? "whole number" : "text");
    r->has |= UINT32_C(1) << k;
    if (text)
        *text_of(&r->line, k) = text;
    else
        *number_of(&r->line, k) = number;
    return text ? POD_OK : pod__job_reader_within(r, name, number, keys[k].least, keys[k].most);
}

/* "KEY": VALUE at *p, which moves behind it, or to NULL where there is none. */
static pod_status take_field(pod__job_reader *r, char **p)
{
    const char *name, *text = NULL;
    int64_t number = 0;
    char *at = skip_blanks(*p);
    at = *at == '"' ? take_text(at, &name) : NULL;
    at = at ? skip_blanks(at) : NULL;
    at = at && *at == ':' ? skip_blanks(at + 1) : NULL;
    if (at) at = *at == '"' ? take_text(at, &text) : take_number(at, &number);
    *p = at ? skip_blanks(at) : NULL;
    return *p ? take_value(r, name, text, number) : POD_OK;
}

static pod_status split(pod__job_reader *r)
{
    char *p = skip_blanks(r->text);
    r->line = (pod__job_line){.record = POD__JOB_OTHER};
    r->has = 0;
    if (*p != '{') return pod__job_reader_bad(r, "no JSON object");
    do {
        p++;
        POD_TRY(take_field(r, &p));
    } while (p && *p == ',');
    if (!p || *p != '}' || *skip_blanks(p + 1) != '\0')
        return pod__job_reader_bad(r, "not one whole JSON object of texts and whole numbers");
    return POD_OK;
}

/* Which record the line is, by the first key of the table that it has. */
static pod_status name_record(pod__job_reader *r)
{
    int n = 0;
    while (n < POD__JOB_OTHER && !(r->has & records[n].tells)) n++;
    r->line.record = (pod__job_record)n;
    for (int k = 0; k < POD__N_JOB_KEYS && n < POD__JOB_OTHER; k++)
        if (records[n].has & ~r->has & UINT32_C(1) << k)
            return pod_fail(POD_E_FORMAT, "%s:%d: %s is missing", r->path, r->number, keys[k].name);
    return POD_OK;
}

pod_status pod__job_reader_next(pod__job_reader *r, bool *more)
{
    errno = 0;
    const ssize_t bytes = getline(&r->text, &r->room, r->from);
    if (bytes < 0 && !feof(r->from))
        return pod_fail(POD_E_IO, "%s: cannot read: %s", r->path, strerror(errno));
    *more = bytes > 0 && r->text[bytes - 1] == '\n';
    r->is_torn = !*more && bytes > 0;
    if (!*more) return POD_OK;
    r->number++;
    r->text[bytes - 1] = '\0';
    if (strlen(r->text) + 1 != (size_t)bytes) return pod__job_reader_bad(r, "a byte of value 0");
    POD_TRY(split(r));
    return name_record(r);
}
